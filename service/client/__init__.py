"""
A client library: plays over HTTP, signs moves, stores receipts and verifies each answer.

`Player` registers, opens tables and takes seats; `Hand` plays a hand, also across lost
connections; `Spectator` follows a game without a seat; `Api` makes single calls. Views, moves and
events are the JSON objects of the API, with types in `answers`.

In the order in which to read: `api` (calls), `answers`, `player_files`, `signing`, `player`,
`local_log` (checks of answers) and `hand`; `moments` (those that a player keeps); `decisions` (a
search).

Errors: `Refused` (the service refused a request), `NotAnswered` (it cannot be reached),
`Contradicted` (it contradicts an earlier answer or signature), `NotSeated`, `BadFile` and
`NotSigned` (a request to a receiver is not the service's).
"""

from service.client.answers import (
    Event,
    GameView,
    KnownPlayer,
    Move,
    OwnChallenge,
    OwnInvitation,
    OwnNotice,
    SeatView,
    Table,
    WebhookEvent,
)
from service.client.api import Api, NotAnswered, Refused
from service.client.decisions import DecisionsAnswer, search_decisions
from service.client.hand import Hand, NotSeated
from service.client.local_log import Contradicted
from service.client.moments import KeptMoment, KeptMoments
from service.client.player import NotSigned, Player, Spectator, webhook_event
from service.client.player_files import BadFile

__all__ = [
    "Api",
    "BadFile",
    "Contradicted",
    "DecisionsAnswer",
    "Event",
    "GameView",
    "Hand",
    "KeptMoment",
    "KeptMoments",
    "KnownPlayer",
    "Move",
    "NotAnswered",
    "NotSeated",
    "NotSigned",
    "OwnChallenge",
    "OwnInvitation",
    "OwnNotice",
    "Player",
    "Refused",
    "SeatView",
    "Spectator",
    "Table",
    "WebhookEvent",
    "search_decisions",
    "webhook_event",
]

"""A running hand with very many actions, for benchmarks."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from uuid import UUID

import orjson

from ops.bench.requests import plain_table
from schemas.events import data_of, type_of
from service.application.calls import RegisteredPlayer
from service.application.games.commits import Change, commit_of
from service.application.games.entry import GameEntry
from service.application.games.record import load, secrets_of
from service.bootstrap import Services
from service.domain.commands import Command, CommandRefused, PickUp, Play, Ready, Seat
from service.domain.decide import decide
from service.domain.evolve import evolve
from service.domain.game import Game, Status
from service.domain.legal import legal_moves, may_act
from service.domain.ruleset import MAX_TURN_LIMIT
from service.shx.canonical import format_time
from service.shx.chain import encode_event, head

ACTIONS = MAX_TURN_LIMIT - 20
"""The length of the longest hand that still allows some more actions."""

TRIES = 10


def long_hand(
    services: Services,
    players: Sequence[RegisteredPlayer],
    *,
    actions: int = ACTIONS,
    ruleset: str = "shithead",
) -> UUID:
    """
    Store a running hand of `players` with at least `actions` actions, and return its id.

    Each seat takes the pile whenever the rules allow it, so that seats rarely go out. Raises
    ValueError if TRIES hands ended before.
    The events are those that the same moves over HTTP would have written, stored in one commit.
    """
    for _ in range(TRIES):
        found = _tried(services, players, actions, ruleset)
        if found is not None:
            return found
    raise ValueError("every hand ended before it was long")


def _tried(
    services: Services, players: Sequence[RegisteredPlayer], actions: int, ruleset: str
) -> UUID | None:
    """Store a hand with so many actions and return its id; None if it ended before."""
    entry = opened(services, players, ruleset)
    record, at = entry.record, format_time(services.world.now())
    first = services.game_cache.lines(record.identity)
    lines, prev, game = list(first), record.head, record.game
    secrets = secrets_of(record)
    while game.actions < actions:
        if game.over:
            return None
        command = _command(game)
        for event in decide(command, game):
            server = type_of(event) == "play_started"
            line = encode_event(
                game=record.identity,
                seq=len(lines),
                prev=prev,
                at=at,
                by=None if server else command.seat,
                type=type_of(event),
                data=data_of(event, secrets),
            )
            lines.append(line)
            prev, game = head(line), evolve(game, event)
    after = load(record.identity, lines, seed=record.seed)
    change = Change(before=entry, record=after, lines=tuple(lines[len(first) :]))
    services.store.commit(commit_of(change))
    return record.identity


def opened(services: Services, players: Sequence[RegisteredPlayer], ruleset: str) -> GameEntry:
    """Return a hand between players that has been dealt."""
    host, *guests = players
    request = replace(
        plain_table(ruleset, ("me", *("open" for _ in guests))), turn_limit=MAX_TURN_LIMIT
    )
    table = orjson.loads(services.tables.open(host, request).body)
    for guest in guests:
        table = orjson.loads(
            services.tables.sit(
                guest, UUID(table["id"]), seat=None, entropy=request.entropy, key=None, invite=None
            ).body
        )
    entry = services.game_cache.fresh(UUID(table["game"]))
    if entry is None:
        raise ValueError("the hand was not dealt")
    return entry


def _command(game: Game) -> Command:
    """Return a move that prolongs the hand: the pile is taken whenever the rules allow it."""
    seat = next(seat for seat in range(len(game.seats)) if may_act(game, seat))
    if game.status is Status.SWAPPING:
        return Ready(seat=seat)
    taking = PickUp(seat=seat)
    try:
        decide(taking, game)
    except CommandRefused:
        return _card_played(game, seat)
    return taking


def _card_played(game: Game, seat: Seat) -> Command:
    """Return the play of one card of the hand, or else the first legal move."""
    for card in game.seats[seat].hand:
        play = Play(seat=seat, cards=(card,))
        with suppress(CommandRefused):
            decide(play, game)
            return play
    return legal_moves(game, seat)[0]

"""Games as streams of events, and a game's folded record."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from schemas.events import Secrets, data_of, event_of, type_of
from service.application.errors import InvalidHistory
from service.application.streams import Envelope, Heads, Stream
from service.domain.cards import Card, ordered_deck
from service.domain.commands import Seat
from service.domain.events import (
    CardsPlayed,
    EndReason,
    Event,
    GameAborted,
    GameCreated,
    GameEnded,
    GameSealed,
    TurnTimedOut,
)
from service.domain.evolve import evolve
from service.domain.game import Game, new_game
from service.rulesets.catalogue import read_ruleset, shared
from service.shx.canonical import microseconds_between
from service.shx.event_shapes import ACTIONS, BY_SERVER, SEALS, SIGNED
from service.shx.moves import SealedRefusals, sealed_refusals
from service.shx.shuffle import Shuffle, derive
from service.store.events import StreamKind

_BEGINS_SERVER_EVENTS: Final = frozenset({TurnTimedOut, GameEnded})
_SEALS: Final = frozenset({GameSealed, GameAborted})


class GameRecord(Struct, frozen=True, kw_only=True):
    """
    A game's state with its position in the chain.

    `game` is folded with the deck as far as the server knows it. `entropy` has the revealed
    values; `shuffle` is set from `deck_committed` on.
    """

    identity: UUID
    game: Game
    created: Mapping[str, Any]  # data of game_created
    heads: Heads
    created_at: str
    at: str  # of the last event
    dealt_at: str | None  # of cards_dealt
    turn_since: str | None  # when the present turn began
    reserve_used: Mapping[Seat, int]  # by turns before the present one, in microseconds
    seed: bytes | None
    commitments: Mapping[Seat, str]
    entropy: Mapping[Seat, bytes]
    shuffle: Shuffle | None
    last_action: int  # seq of the last action of any seat, -1 if none
    last_own: Mapping[Seat, int]  # seq of each seat's last action
    swaps: Mapping[Seat, int]  # how often each seat has swapped
    nonces: frozenset[str]
    refusals: SealedRefusals | None = None  # named in the seal
    moved: bool = False  # whether a person has acted, and no bot or time-out instead

    @property
    def version(self) -> int:
        """Return the number of events."""
        return self.game.version

    @property
    def head(self) -> bytes:
        """Return the head after the last event."""
        return self.heads.last

    @property
    def sealed(self) -> bool:
        """Return whether the game is sealed or aborted."""
        return self.game.over


def with_cites(record: GameRecord, cites: Mapping[str, str]) -> GameRecord:
    """Return the record with the statements behind its settings, which are not in the log."""
    ruleset = dataclasses.replace(record.game.ruleset, cites=cites)
    return replace(record, game=replace(record.game, ruleset=ruleset))


def secrets_of(record: GameRecord) -> Secrets | None:
    """Return the secrets that events of this game reveal; None without the seed."""
    if record.seed is None:
        return None
    shuffle = record.shuffle
    if shuffle is None:
        return Secrets(salt=_no_salt, seed=record.seed.hex(), deck=None)
    return Secrets(salt=lambda p: shuffle.salt(p).hex(), seed=record.seed.hex(), deck=shuffle.deck)


def load(identity: UUID, lines: Sequence[bytes], *, seed: bytes | None) -> GameRecord:
    """
    Return the record that stored lines lead to; `seed` is the server's seed, S of SHX/1.

    Without the seed, hands and stock stay hidden, as for a public reader. Raises ValueError if the
    first event is not `game_created`, InvalidHistory for a later line that is invalid.
    """
    begun = GAMES.load(identity, lines[:1])
    return follow(replace(begun, seed=seed), lines[1:])


def follow(record: GameRecord, lines: Iterable[bytes]) -> GameRecord:
    """Return the record after further stored lines; raises InvalidHistory for an invalid line."""
    for line in lines:
        try:
            record = GAMES.follow(record, (line,))
        except (ValueError, LookupError, TypeError) as error:
            raise InvalidHistory(record.identity, record.version) from error
    return record


def advance(record: GameRecord, event: Event, envelope: Envelope, head: bytes) -> GameRecord:
    """Return the record after one event; `head` is the head after it."""
    type_, at, data = envelope["type"], envelope["at"], envelope["data"]
    if type_ == "entropy_revealed":
        value = bytes.fromhex(data["value"])
        record = replace(record, entropy={**record.entropy, data["seat"]: value})
    elif type_ == "entropy_committed":
        commitments = {**record.commitments, data["seat"]: data["commit"]}
        record = replace(record, commitments=commitments)
    elif type_ == "deck_committed":
        record = shuffled(record)
    elif type_ == "cards_dealt":
        record = replace(record, dealt_at=at)
    game = evolve(record.game, event)
    last_own, last_action = record.last_own, record.last_action
    if type_ in ACTIONS:
        last_action = record.version
        last_own = {**last_own, data["seat"]: record.version}
    swaps = record.swaps
    if type_ == "cards_swapped":
        swaps = {**swaps, data["seat"]: swaps.get(data["seat"], 0) + 1}
    nonces, refusals = record.nonces, record.refusals
    if type_ in SEALS:
        refusals = sealed_refusals(envelope)
    if "auth" in envelope:
        nonces = nonces | {envelope["auth"]["intent"]["nonce"]}
    return replace(
        _timed(record, event, game, at),
        game=game,
        heads=record.heads.followed_by(head),
        at=at,
        last_action=last_action,
        last_own=last_own,
        swaps=swaps,
        nonces=nonces,
        refusals=refusals,
        moved=record.moved or _is_by_person(game, envelope),
    )


def _is_by_person(game: Game, envelope: Envelope) -> bool:
    """Return whether an event is an act of a person, and not of a bot or a time-out."""
    if envelope["type"] == "game_ended":
        return bool(envelope["data"]["reason"] == EndReason.FORFEIT)
    by = envelope["by"]
    is_act = envelope["type"] in SIGNED and by is not None
    return is_act and game.setup.seats[by].kind == "human"


def write(
    record: GameRecord,
    events: Iterable[Event],
    *,
    at: str,
    auth: Mapping[str, Any] | None = None,
    refusals: SealedRefusals | None = None,
) -> tuple[GameRecord, tuple[bytes, ...]]:
    """
    Return the record after the events of one move, and their lines.

    `at` is raised to the time of the last event if it is earlier. The first event gets `auth`.
    In all events from `turn_timed_out` or `game_ended` on, `by` is null. The seal of a game
    names `refusals`. Raises ValueError if they are missing.
    """
    by_server = False

    def encode(record: GameRecord, event: Event) -> Envelope:
        nonlocal auth, by_server
        type_ = type_of(event)
        by_server = by_server or type(event) in _BEGINS_SERVER_EVENTS
        seat = None if by_server or type_ in BY_SERVER else getattr(event, "seat", None)
        if type(event) in _SEALS:
            secrets = _sealing(record, refusals)
        else:
            secrets = secrets_of(record) if record.shuffle else None
        fields = {"by": seat, "type": type_, "data": data_of(event, secrets)}
        if auth is not None:
            fields["auth"], auth = auth, None
        return fields

    return GAMES.write(record, events, at=at, encode=encode)


def shuffled(record: GameRecord) -> GameRecord:
    """Return the record with the deck derived from all entropy; unchanged without the seed."""
    if record.seed is None or record.shuffle is not None:
        return record
    setup = record.game.setup
    shuffle = derive(
        game=record.identity,
        seed=record.seed,
        head0=record.heads[0],
        codes=ordered_deck(decks=setup.decks, jokers=setup.jokers, partial=setup.partial),
        entropy=[record.entropy.get(seat) for seat in range(len(setup.seats))],
    )
    game = replace(record.game, deck=tuple(Card(code) for code in shuffle.deck))
    return replace(record, shuffle=shuffle, game=game)


def _begun(identity: UUID, event: Event, envelope: Envelope, head: bytes) -> GameRecord:
    if not isinstance(event, GameCreated):
        raise ValueError("a game begins with game_created")
    return GameRecord(
        identity=identity,
        game=new_game(event),
        created={**envelope["data"], "ruleset": shared(envelope["data"]["ruleset"])},
        heads=Heads(rest=head),
        created_at=envelope["at"],
        at=envelope["at"],
        dealt_at=None,
        turn_since=None,
        reserve_used={},
        seed=None,
        commitments={},
        entropy={},
        shuffle=None,
        last_action=-1,
        last_own={},
        swaps={},
        nonces=frozenset(),
    )


def seals(events: Iterable[Event]) -> bool:
    """Return whether events end their game."""
    return any(type(event) in _SEALS for event in events)


def _sealing(record: GameRecord, refusals: SealedRefusals | None) -> Secrets | None:
    """Return the secrets in a seal, with the refused attempts that it names."""
    secrets = secrets_of(record)
    if secrets is None or refusals is None:
        return secrets
    return replace(secrets, refusals=refusals.as_json())


def _timed(record: GameRecord, event: Event, game: Game, at: str) -> GameRecord:
    """Return the record with the times of the turn that runs after an event."""
    since = _turn_since(record, event, game, at)
    if since == record.turn_since:
        return record
    return replace(record, turn_since=since, reserve_used=_reserve_used(record, since))


def _turn_since(record: GameRecord, event: Event, game: Game, at: str) -> str | None:
    """Return when the present turn began; a follow-up by another seat does not restart it."""
    type_ = type_of(event)
    if type_ == "play_started":
        return at
    if type_ not in ACTIONS or game.turn is None:
        return record.turn_since
    follow_up = isinstance(event, CardsPlayed) and record.game.turn not in (None, event.seat)
    if follow_up and game.turn == record.game.turn:
        return record.turn_since
    return at


def _reserve_used(record: GameRecord, end: str | None) -> Mapping[Seat, int]:
    """
    Return what each seat has used of its reserve, after the present turn ended at a time.

    At a first-come opening no seat uses any: the log does not show for whom the game waits.
    """
    clock, seat, began = record.game.setup.clock, record.game.turn, record.turn_since
    if clock is None or seat is None or began is None or end is None:
        return record.reserve_used
    took = microseconds_between(began, end)
    used = clock.used_after(record.reserve_used.get(seat, 0), took)
    return {**record.reserve_used, seat: used} if used else record.reserve_used


def _no_salt(p: int) -> str:
    raise ValueError(f"there is no deck yet, and no salt {p}")


GAMES: Final[Stream[GameRecord, Event]] = Stream(
    kind=StreamKind.GAME,
    encode=lambda _, event: {"type": type_of(event), "data": data_of(event, None)},
    decode=lambda type_, data: event_of(type_, data, read_ruleset),
    begin=_begun,
    evolve=advance,
)
"""Games. `write` encodes their events: fields depend on the deck, the seed and the signature."""

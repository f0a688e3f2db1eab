"""Generated games for tests: seats play random legal moves, and the log is valid."""

from __future__ import annotations

import random
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any
from uuid import UUID

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from schemas.events import Secrets, data_of, event_of, type_of
from schemas.moves import move_json
from service.domain.cards import Card, ordered_deck
from service.domain.commands import Forfeit, Move, PickUp, TimeOut
from service.domain.deal import deal
from service.domain.decide import decide
from service.domain.events import (
    AbortCause,
    Event,
    GameAborted,
    GameCreated,
    TurnTimedOut,
)
from service.domain.evolve import evolve
from service.domain.game import Game, Status, new_game
from service.domain.legal import legal_moves, may_act
from service.domain.ruleset import deck_of
from service.shx.canonical import custom_ruleset_id, format_time, ruleset_hash, sha256
from service.shx.chain import encode_event, genesis, head
from service.shx.event_shapes import BY_SERVER
from service.shx.moves import NONE_REFUSED, intent, sign_intent
from service.shx.shuffle import Shuffle, derive, server_commit
from service.verify.log import pinned_ruleset
from tests.changed import replace

START = datetime(2026, 11, 21, 2, 46, tzinfo=UTC)
TABLE = "9e353f64-56ba-4304-9ff8-65a94f945210"


@dataclass(frozen=True, kw_only=True, eq=False)
class Plan:
    """The parameters of a generated game; a plan equals only itself."""

    name: str = "made"  # game id, seed and moves follow from it
    ruleset: str = "shithead"
    options: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] | None = None
    seats: int = 3
    bots: bool = False
    keys: Mapping[int, Ed25519PrivateKey] = field(default_factory=dict)
    clock: Mapping[str, int] | None = None
    turn_limit: int | None = None  # None: 400 moves a seat
    silent: int | None = None  # the seat whose every move follows a time-out
    silent_after: int = 0  # the number of moves before its time-outs begin
    table: str = TABLE
    hand: int = 1
    dealer: int | None = None
    prev_game: str | None = None
    start: datetime = START
    abort: bool = False  # abort the set-up after the deck is committed
    seed: bytes | None = None
    forfeit_by: int | None = None  # the seat that forfeits after twelve moves
    said: Mapping[int, Sequence[Move]] = field(default_factory=dict)  # by number of moves before
    stop: int | None = None  # stop after this many moves, without a seal
    shuffled: Callable[..., Shuffle] = derive  # attacks replace it by a stacked deck
    drawn: int | None = None  # the seat that deals instead of the drawn one


def made_game(plan: Plan) -> list[bytes]:
    """Return the log lines of a generated game, which is played once for each plan."""
    return list(_lines_of(plan))


@lru_cache(maxsize=64)
def _lines_of(plan: Plan) -> tuple[bytes, ...]:
    return tuple(_Maker(plan).make())


def private_key(name: str) -> Ed25519PrivateKey:
    """Return a key derived from a name."""
    return Ed25519PrivateKey.from_private_bytes(sha256(name.encode()))


def public_text(key: Ed25519PrivateKey) -> str:
    """Return the public half as `game_created` pins it."""
    return b64encode(key.public_key().public_bytes_raw()).decode("ascii")


def _time_of(clock: Mapping[str, int], status: Status) -> int:
    """Return the seconds until a time-out; in play with the whole reserve, which may be gone."""
    if status is Status.SWAPPING:
        return clock["swap_seconds"]
    return clock["turn_seconds"] + clock.get("reserve_seconds", 0)


class _Maker:
    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        digest = sha256(b"game " + plan.name.encode())
        self.game = UUID(bytes=digest[:16], version=4)
        self.seed = plan.seed or sha256(b"seed " + plan.name.encode())
        self.chance = random.Random(plan.name)
        self.lines: list[bytes] = []
        self.at = plan.start
        self.nonce = 0

    def make(self) -> list[bytes]:
        plan, created = self.plan, self._created()
        self._write("game_created", created, None)
        entropy = [None if plan.bots else sha256(bytes([s])) for s in range(plan.seats)]
        for seat, value in enumerate(entropy):
            if value is not None:
                self._wait()
                self._write("entropy_revealed", {"seat": seat, "value": value.hex()}, seat)
        deck = created["deck"]
        codes = ordered_deck(decks=deck["decks"], jokers=deck["jokers"], partial=deck["partial"])
        self.shuffle = plan.shuffled(self.game, self.seed, head(self.lines[0]), codes, entropy)
        self._write(
            "deck_committed", {"cards": [c.hex() for c in self.shuffle.commitments()]}, None
        )
        self._play(created, self.shuffle)
        return self.lines

    def _created(self) -> dict[str, Any]:
        plan = self.plan
        settings = None if plan.settings is None else dict(plan.settings)
        identity = plan.ruleset if settings is None else custom_ruleset_id(settings)
        pinned = {"id": identity, "options": dict(plan.options), "settings": settings}
        decks, jokers, partial = deck_of(pinned_ruleset(pinned, plan.hand), plan.seats)
        kind = "bot" if plan.bots else "human"
        seats = [
            {
                "kind": kind,
                "bot": "random" if plan.bots else None,
                "key": public_text(plan.keys[s]) if s in plan.keys else None,
                "entropy": "none" if plan.bots else "value",
            }
            for s in range(plan.seats)
        ]
        return {
            "table": plan.table,
            "hand": plan.hand,
            "ruleset": pinned,
            "ruleset_hash": ruleset_hash(pinned).hex(),
            "deck": {"decks": decks, "jokers": jokers, "partial": list(partial)},
            "engine": {"name": "made", "version": "1"},
            "seats": seats,
            "dealer": plan.dealer,
            "prev_game": plan.prev_game,
            "commit": server_commit(self.game, self.seed).hex(),
            "clock": None if plan.clock is None else dict(plan.clock),
            "turn_limit": plan.turn_limit or 400 * plan.seats,
        }

    def _play(self, created: dict[str, Any], shuffle: Shuffle) -> None:
        plan = self.plan
        ruleset = pinned_ruleset(created["ruleset"], plan.hand)
        first = event_of("game_created", created, lambda *_: ruleset)
        assert isinstance(first, GameCreated)
        game = replace(new_game(first), deck=tuple(Card(code) for code in shuffle.deck))
        if plan.abort:
            self._move((GameAborted(cause=AbortCause.OPERATOR, seat=None),), None)
            return
        drawn = shuffle.dealer(plan.seats) if plan.dealer is None else plan.dealer
        drawn = drawn if plan.drawn is None else plan.drawn
        for event in deal(game, drawn):
            self._wait()
            self._move((event,), None)
            game = evolve(game, event)
        moves = 0
        while True:
            for word in plan.said.get(moves, ()):
                events = decide(word, game)
                self._wait()
                self._move(events, word.seat, move=word)
                for event in events:
                    game = evolve(game, event)
            if game.over or moves == plan.stop:
                return
            command = self._choice(game, moves)
            events = decide(command, game)
            by: int | None = command.seat
            silent = command.seat == plan.silent and moves >= plan.silent_after
            if silent and (plan.clock is not None or command.seat in game.absent):
                if plan.clock is not None:
                    self._wait(_time_of(plan.clock, game.status))
                if game.status is Status.SWAPPING:
                    events, by = decide(TimeOut(seat=command.seat), game), None
                else:
                    events, by = (TurnTimedOut(seat=command.seat), *events), None
            self._wait()
            self._move(events, by, move=command)
            for event in events:
                game = evolve(game, event)
            moves += 1

    def _choice(self, game: Game, moves: int) -> Move:
        if self.plan.forfeit_by is not None and moves == 12:
            return Forfeit(seat=self.plan.forfeit_by)
        seats = [s for s in range(self.plan.seats) if may_act(game, s)]
        seat = self.chance.choice(seats)
        listed = legal_moves(game, seat)
        if game.status is Status.SWAPPING and self.chance.random() < 0.7:
            return listed[-1]
        plays = [move for move in listed if not isinstance(move, PickUp)]
        return self.chance.choice(plays or listed)

    def _move(self, events: Sequence[Event], by: int | None, move: Move | None = None) -> None:
        secrets = Secrets(
            salt=lambda p: self.shuffle.salt(p).hex(),
            seed=self.seed.hex(),
            deck=self.shuffle.deck,
            refusals=NONE_REFUSED.as_json(),
        )
        auth = None
        if move is not None and by in self.plan.keys:
            auth = self._signed(move)
        for event in events:
            kind = type_of(event)
            server = kind in BY_SERVER
            self._write(kind, data_of(event, secrets), None if server else by, auth)
            auth = None

    def _signed(self, move: Move) -> dict[str, Any]:
        self.nonce += 1
        value = intent(
            game=self.game,
            seat=move.seat,
            seen_seq=len(self.lines) - 1,
            seen_head=head(self.lines[-1]),
            move=move_json(move),
            nonce=f"{self.nonce:032x}",
        )
        return sign_intent(self.plan.keys[move.seat], value)

    def _wait(self, seconds: float = 0.25) -> None:
        self.at += timedelta(seconds=seconds)

    def _write(
        self, kind: str, data: dict[str, Any], by: int | None, auth: dict[str, Any] | None = None
    ) -> None:
        line = encode_event(
            game=self.game,
            seq=len(self.lines),
            prev=head(self.lines[-1]) if self.lines else genesis(self.game),
            at=format_time(self.at),
            by=by,
            type=kind,
            data=data,
            auth=auth,
        )
        self.lines.append(line)

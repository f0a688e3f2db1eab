"""
Three hands dealt by a cheating server, with the evidence of its players: log, receipts, keys.

The server cheats in favour of one player, and computes all hashes and signatures itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final
from unittest import mock
from uuid import UUID

import orjson

from service.application.calls import Caller, RegisteredPlayer
from service.bootstrap import Services
from service.domain.cards import Card, rank_of
from service.domain.events import Zone
from service.domain.game import Game, Status
from service.domain.legal import may_act
from service.domain.plays import can_play
from service.store.database import Database
from tests.changed import replace
from tests.streams import cut_back
from tests.worlds.fake_world import (
    SetWorld,
    entry_of,
    legal,
    lines_of,
    open_game,
    person,
    post,
    services_over,
)

ORIGIN: Final = "crooked.example"
NAMES: Final = ("Ada", "Bob", "Cleo")
FAVOURED: Final = 1
"""The seat in whose favour the server cheats."""


@dataclass(kw_only=True)
class Case:
    """The evidence of the players, and the event at which the server cheated."""

    game: UUID
    bundle: bytes
    keys: bytes  # the answer of /v1/keys
    receipts: list[bytes]  # all that seat 0 received
    seq: int
    seen: tuple[bytes, ...] = ()  # the events that seat 0 received before the server changed them


@dataclass(kw_only=True)
class _Hand:
    services: Services
    url: str
    world: SetWorld
    players: list[RegisteredPlayer]
    game: UUID
    receipts: list[bytes] = field(default_factory=list)

    def state(self) -> Game:
        return entry_of(self.services, self.game).record.game

    def version(self) -> int:
        return entry_of(self.services, self.game).record.version

    def play(self, until: Callable[[Game, int], bool], *, last: bool = False) -> int | None:
        """
        Play until `until(game, seat)` is true for the seat that acts next, and return that seat.

        Returns None if the hand ends first. Each move is the first legal one, or the last one if
        `last`, without swaps and pick-ups.
        """
        while not self.state().over:
            game = self.state()
            seat = next(s for s in range(len(self.players)) if may_act(game, s))
            if game.status is Status.PLAYING and until(game, seat):
                return seat
            moves = legal(self.services, self.game, seat)
            usual = [move for move in moves if move["type"] not in ("swap", "pick_up")]
            self.post(seat, (usual or moves)[-1 if last else 0])
        return None

    def post(self, seat: int, move: dict[str, Any]) -> None:
        self.world.wait(2.5)
        answer = orjson.loads(post(self.services, self.players[seat], self.game, move).body)
        if seat == 0:
            self.receipts.append(answer["receipt"].encode())

    def case(self, seq: int) -> Case:
        """Return the evidence, and end the server."""
        name, content = self.services.evidence.bundle(Caller(), self.game, "public")
        assert name == f"{self.game}.shx"
        keys = orjson.dumps({"items": self.services.keys(), "next": None})
        self.services.close()
        return Case(game=self.game, bundle=content, keys=keys, receipts=self.receipts, seq=seq)


def reneged_pick_up(url: str) -> Case:
    """The server lets a seat take the pile that can play, and under Leeds rules must (L10)."""
    hand = _hand(url, "leeds", 7)
    hand.play(lambda game, seat: seat == FAVOURED and _could_play(game, seat))
    seq = hand.version()
    with mock.patch("service.domain.legal.can_play", return_value=False):
        hand.post(FAVOURED, {"type": "pick_up", "with": []})
    hand.play(_never)
    return hand.case(seq)


def substituted_draw(url: str, *, times: int = 1) -> Case:
    """The server gives a seat a better card of the stock than the top one."""
    hand = _hand(url, "shithead", 8)
    hand.play(_favoured_will_draw)
    seq = hand.version()
    with _cache_without_refresh(hand.services):
        _substitute(hand)
        for _ in range(times - 1):
            hand.post(FAVOURED, legal(hand.services, hand.game, FAVOURED)[0])
            hand.play(_favoured_will_draw)
            _substitute(hand)
        hand.play(_never)
    return hand.case(seq)


def deleted_play(url: str) -> Case:
    """The server deletes a play of seat 0 and all later events, and continues differently."""
    hand = _hand(url, "shithead", 9)
    hand.play(lambda game, seat: seat == 0 and len(game.burned) + len(game.pile) > 12)
    hand.post(0, legal(hand.services, hand.game, 0)[0])
    seq = hand.version()
    hand.play(lambda _game, seat: seat == 0)
    hand.post(0, legal(hand.services, hand.game, 0)[0])
    seen = lines_of(hand.services, hand.game)
    hand.services.close()
    cut_back(hand.url, hand.game, seq)
    hand.services = _services(hand.url, hand.world)
    kept = list(hand.receipts)
    hand.play(_never, last=True)
    return replace(hand.case(seq), receipts=kept, seen=seen)


def _hand(url: str, ruleset: str, seed: int) -> _Hand:
    world = SetWorld(seed)
    services = _services(url, world)
    players = [person(services, name) for name in NAMES]
    seats = ("me", "open", "open")
    game = open_game(
        services, players[0], seats, ruleset=ruleset, window_seconds=0, guests=tuple(players[1:])
    )
    return _Hand(services=services, url=url, world=world, players=players, game=game)


def _services(url: str, world: SetWorld) -> Services:
    """Return the services of a server that cheats."""
    return services_over(Database(url, size=2), origin=ORIGIN, world=world)


def _never(_game: Game, _seat: int) -> bool:
    return False


def _could_play(game: Game, seat: int) -> bool:
    in_hand = game.seats[seat].zone is Zone.HAND
    return in_hand and len(game.pile) > 2 and not game.covering and can_play(game, seat)


def _favoured_will_draw(game: Game, seat: int) -> bool:
    return seat == FAVOURED and _will_draw(game, seat)


def _substitute(hand: _Hand) -> None:
    """Put a better card on top of the stock in the server's cache of games, not in the log."""
    entry, wanted = entry_of(hand.services, hand.game), _better_card(hand.state())
    deck = list(entry.record.game.deck)
    top = entry.record.game.stock[0]
    deck[top], deck[wanted] = deck[wanted], deck[top]
    game = replace(entry.record.game, deck=tuple(deck))
    hand.services.game_cache.keep(replace(entry, record=replace(entry.record, game=game)))


def _will_draw(game: Game, seat: int) -> bool:
    return len(game.seats[seat].hand) <= 3 and len(game.stock) > 6 and can_play(game, seat)


def _better_card(game: Game) -> int:
    """Return the deck position of a better card in the stock."""
    wanted: list[Card] = [game.deck[p] for p in game.stock[3:]]
    best = next(card for card in wanted if rank_of(card) in ("2", "T", "A", "K"))
    return game.deck.index(best)


@contextmanager
def _cache_without_refresh(services: Services) -> Iterator[None]:
    """Let the server continue from its cache, even if the log contradicts it."""
    with mock.patch.object(services.game_cache, "fresh", services.game_cache.cached):
        yield

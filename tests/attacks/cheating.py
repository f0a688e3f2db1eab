"""Cheating by an operator with all keys: one move by other rules, then an honest game."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from datetime import timedelta
from functools import cache
from itertools import zip_longest

from schemas.events import Secrets, data_of, event_of, type_of
from service.domain.cards import Card
from service.domain.commands import CommandRefused, Move
from service.domain.decide import decide
from service.domain.events import Event as GameEvent
from service.domain.evolve import evolve
from service.domain.game import Game, Status, new_game
from service.domain.legal import legal_moves, may_act
from service.domain.ruleset import Ruleset
from service.replay.history import move_behind, moves_of
from service.shx.canonical import format_time, parse_time
from service.shx.event_shapes import BY_SERVER
from service.shx.moves import NONE_REFUSED
from service.verify.log import pinned_ruleset
from tests.changed import replace
from tests.random_games import Plan, made_game
from tests.tamper import Event, Forgery

MAX_MOVES = 1500
TURN_LIMIT = 200
"""Actions of a generated game, a quarter of the usual number: each is verified several times."""

PLACES = 20
"""The number of first positions, and of random later ones, at which all legal moves are tried."""

Loosened = Callable[[Ruleset], Ruleset]


class NoPlace(Exception):
    """The log has no position in which the other rules would change a move."""


def decoded(f: Forgery) -> tuple[GameEvent, ...]:
    """Return the events of a log as the domain knows them."""
    created = f.data(0)
    ruleset = pinned_ruleset(created["ruleset"], created["hand"])
    return tuple(event_of(e["type"], e["data"], lambda *_: ruleset) for e in f.events)


def positions(f: Forgery) -> Iterator[tuple[int, Game]]:
    """Yield the seq at which each move of a sealed log begins, with the game before it."""
    events = decoded(f)
    game = new_game(events[0])  # type: ignore[arg-type] # a log begins with game_created
    game = replace(game, deck=tuple(Card(c) for c in f.events[-1]["data"]["deck"]))
    starts = {move.first for move in moves_of(f.events)[0]}
    for seq, event in enumerate(events[1:], start=1):
        if seq in starts:
            yield seq, game
        game = evolve(game, event)


def cheat(f: Forgery, loosened: Loosened) -> int:
    """
    Decide one move by `loosened` rules, and continue by the true ones to the seal.

    Returns the seq of the first event that contradicts the true rules. The move is one of the
    log, or else another that `loosened` allows; the true rules refuse it or give other events.
    Raises NoPlace if there is no such move.
    """
    events, found = decoded(f), list(positions(f))
    playing = [p for p in found if p[1].status in (Status.PLAYING, Status.SWAPPING)]
    for wide in (False, True):
        for seq, game in _spread(playing) if wide else playing:
            loose = replace(game, ruleset=loosened(game.ruleset))
            for move in _candidates(loose, None if wide else move_behind(events[seq])):
                forged, true = outcome(move, loose), outcome(move, game)
                if forged and forged != true and _replaced(f, seq, game, forged):
                    pairs = zip_longest(forged, true)
                    first = next(n for n, (one, other) in enumerate(pairs) if one != other)
                    return seq + min(first, len(forged) - 1) * bool(true)
    raise NoPlace


def cheated(ruleset: str, loosened: Loosened, *, tries: int = 12) -> tuple[Forgery, int]:
    """Return a sealed log with one move by other rules than those of its ruleset, and its seq."""
    for number in range(tries):
        f = Forgery(honest(ruleset, number))
        try:
            return f, cheat(f, loosened)
        except NoPlace:
            continue
    raise NoPlace(f"{ruleset}: no place in {tries} games")


def options_of(ruleset: str) -> dict[str, object]:
    """Return the options of the honest games: with jokers if the ruleset has rules for them."""
    return {"jokers": 2} if ruleset.partition("-second")[0] in ("morehead", "reverse") else {}


@cache
def honest(ruleset: str, number: int) -> tuple[bytes, ...]:
    """Return the log of an honest game; `reverse-second` is a second hand of `reverse`."""
    name, second, _ = ruleset.partition("-second")
    plan = Plan(
        name=f"honest {ruleset} {number}",
        ruleset=name,
        options=options_of(ruleset),
        seats=6 if name == "shithead-six" else (2, 3)[number % 2],
        turn_limit=TURN_LIMIT,
        hand=2 if second else 1,
        dealer=0 if second else None,
        prev_game="5b7f90c3-5ccd-4995-9042-3b8b34d9aef9" if second else None,
    )
    return tuple(made_game(plan))


def go_on(f: Forgery, seq: int) -> bool:
    """
    Drop the events after the move of `seq` and play honestly to the seal.

    Returns False if no honest game can follow that move.
    """
    end = f.move_end(seq)
    seal = f.events[-1]
    if seal["data"].get("deck") is None:
        return False
    try:
        return _played_out(f, end, _folded(f, end, seal), seal)
    except ValueError:
        return False


def outcome(move: Move, game: Game) -> tuple[GameEvent, ...]:
    """Return the events of a move; none if it is refused."""
    try:
        return decide(move, game)
    except (CommandRefused, ValueError, LookupError):
        return ()


def _spread(places: Sequence[tuple[int, Game]]) -> Iterator[tuple[int, Game]]:
    """Yield the first positions, which include the openings, and some of the others."""
    yield from places[:PLACES]
    rest = places[PLACES:]
    yield from random.Random(0).sample(rest, min(PLACES, len(rest)))


def _candidates(loose: Game, made: Move | None) -> Iterator[Move]:
    if made is not None:
        yield made
        return
    for seat in range(len(loose.seats)):
        if may_act(loose, seat):
            yield from legal_moves(loose, seat)


def _replaced(f: Forgery, seq: int, game: Game, forged: Sequence[GameEvent]) -> bool:
    before = deepcopy(f.events)
    seal = f.events[-1]
    del f.events[seq:]
    try:
        for event in forged:
            _write(f, event, before[seq]["at"], seal)
            game = evolve(game, event)
        if _played_out(f, len(f.events) - 1, game, seal):
            return True
    except (ValueError, IndexError):
        pass
    f.events = before
    return False


def _folded(f: Forgery, end: int, seal: Event) -> Game:
    """Return the game after the event `end`."""
    events = decoded(f)
    game = new_game(events[0])  # type: ignore[arg-type] # a log begins with game_created
    game = replace(game, deck=tuple(Card(c) for c in seal["data"]["deck"]))
    for event in events[1 : end + 1]:
        game = evolve(game, event)
    return game


def _played_out(f: Forgery, end: int, game: Game, seal: Event) -> bool:
    """Play on after the event `end`; return whether the game ended."""
    del f.events[end + 1 :]
    chance = random.Random(end)
    at = parse_time(f.events[end]["at"])
    for _ in range(MAX_MOVES):
        if game.over:
            return True
        moves = [m for s in range(len(game.seats)) for m in legal_moves(game, s)]
        if not moves:
            return False
        at += timedelta(seconds=1)
        for event in decide(chance.choice(moves), game):
            _write(f, event, format_time(at), seal)
            game = evolve(game, event)
    return False


def _write(f: Forgery, event: GameEvent, at: str, seal: Event) -> None:
    shuffle = f.shuffle(bytes.fromhex(seal["data"]["seed"])) if _opens(event) else None
    secrets = Secrets(
        salt=lambda p: shuffle.salt(p).hex() if shuffle else "",
        seed=seal["data"]["seed"],
        deck=tuple(seal["data"]["deck"]),
        refusals=NONE_REFUSED.as_json(),
    )
    kind, first = type_of(event), f.events[0]
    seat = getattr(event, "seat", None)
    new = {"at": at, "by": None if kind in BY_SERVER else seat, "data": data_of(event, secrets)}
    f.events.append({**new, "game": first["game"], "type": kind, "v": 1})


def _opens(event: GameEvent) -> bool:
    return getattr(event, "opening", None) is not None

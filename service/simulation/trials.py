"""Trial hands: a custom ruleset is played at random before it is accepted."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from schemas.moves import move_json, move_of
from schemas.settings import Tree, ruleset_of
from schemas.views import ViewFacts, view_json
from service.application.games.schedule import INTERVAL_SECONDS, turn_intervals
from service.bots.bot import with_settings
from service.bots.registry import bots, quick_bots
from service.domain.cards import Card
from service.domain.commands import Command, CommandRefused, Lay, Move, Ready, Seat, Swap, TimeOut
from service.domain.deal import dealt_hand, whole_deck
from service.domain.decide import decide
from service.domain.events import EndReason
from service.domain.game import Game, Status
from service.domain.legal import acting_seats, default_moves, default_opener, legal_moves
from service.domain.ruleset import Layout, Ruleset
from service.domain.view import seen_by
from service.simulation.simulate import play_out


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """
    Limits of trial hands: actions in a hand per seat, cards in a deck, seconds for all hands.

    `interval_seconds` is the length of an interval, in which a bot has to decide.
    """

    actions_per_seat: int = 200
    cards: int = 640
    seconds: float = 4.0
    interval_seconds: float = INTERVAL_SECONDS


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialReport:
    """Results of the trial hands; `refusal` is None if the ruleset can be played."""

    hands: int  # played to an end
    stalemates: int  # of these
    longest: int  # actions of the longest hand
    refusal: str | None

    @property
    def accepted(self) -> bool:
        """Return whether the ruleset can be played."""
        return self.refusal is None


@dataclass(slots=True, kw_only=True)
class _Widest:
    """The position of the trial hands in which a seat had the most legal moves."""

    game: Game | None = None
    seat: Seat = 0
    moves: int = 0

    def add(self, game: Game, seat: Seat, moves: int) -> None:
        """Keep the position if it has more legal moves than those before."""
        if moves > self.moves:
            self.game, self.seat, self.moves = game, seat, moves


class _Unplayable(Exception):
    """A trial hand could not continue."""


DEFAULT_LIMITS: Final = Limits()
DEFAULT_MOVE_PROBABILITY: Final = 0.8
"""Probability of choosing the default move of a time-out; otherwise any legal move is chosen."""


def play_trials(
    settings: Tree,
    hands: int,
    limits: Limits = DEFAULT_LIMITS,
    *,
    now: Callable[[], float] = time.monotonic,
) -> TrialReport:
    """
    Return the results of random hands with these settings.

    The hands have in turn the fewest, the most and a middle number of seats; each number is played
    as the first and as the second hand of a table. A ruleset is refused if a hand cannot continue,
    if a card is lost or duplicated, if every hand ends in a stalemate, if no hand ends in the
    time limit, or if a bot would need longer than the constant time of its turn: the time in the
    log would then depend on its cards.

    Raises SettingsError for settings that cannot be read.
    """
    played = stalemates = longest = 0
    end, widest = now() + limits.seconds, _Widest()
    for number in range(hands):
        ruleset = ruleset_of("trial", {}, settings, hand=1 + number % 2)
        seats = _seats(ruleset, number // 2)
        try:
            game = _play(ruleset, seats, number, limits, lambda: now() > end, widest)
        except _Unplayable as error:
            return _report(played, stalemates, longest, f"with {seats} players {error}")
        if game is None:
            break  # out of time
        played += 1
        longest = max(longest, game.actions)
        stalemates += game.result is not None and game.result.reason is EndReason.STALEMATE
    if not played:
        return _report(played, stalemates, longest, "no trial hand ended in the time limit")
    if played == stalemates:
        return _report(played, stalemates, longest, "every trial hand ended in a stalemate")
    return _report(played, stalemates, longest, _bot_fault(settings, widest, limits))


def _report(played: int, stalemates: int, longest: int, refusal: str | None) -> TrialReport:
    return TrialReport(hands=played, stalemates=stalemates, longest=longest, refusal=refusal)


def _seats(ruleset: Ruleset, number: int) -> int:
    """Return the number of seats of a trial: fewest, most, middle, and so on."""
    fewest, most = ruleset.seats_min, ruleset.seats_max
    return (fewest, most, (fewest + most) // 2)[number % 3]


def _play(
    ruleset: Ruleset,
    seats: int,
    seed: int,
    limits: Limits,
    late: Callable[[], bool],
    widest: _Widest,
) -> Game | None:
    """Play a hand to its end with random moves and return it; None if the time ran out."""
    chance = random.Random(seed)  # noqa: S311 - trials need no secrets, and repeat
    game = _dealt(ruleset, seats, chance, limits)
    every = sorted(game.deck)
    try:
        for _, game in play_out(game, lambda game: _command(game, chance, widest)):
            if sorted(_all_cards(game)) != every:
                raise _Unplayable("a card is lost or duplicated")
            if late() and not game.over:
                return None
    except CommandRefused as refused:
        raise _Unplayable(f"a legal move is refused: {refused.reason}") from None
    except (ValueError, LookupError, ArithmeticError, AssertionError) as error:
        raise _Unplayable(f"a hand fails: {error}") from error
    return game


def _dealt(ruleset: Ruleset, seats: int, chance: random.Random, limits: Limits) -> Game:
    deck = list(whole_deck(ruleset, seats))
    if len(deck) > limits.cards:
        raise _Unplayable(f"the deck has more than {limits.cards} cards")
    chance.shuffle(deck)
    return dealt_hand(
        ruleset,
        tuple(deck),
        seats=seats,
        dealer=chance.randrange(seats),
        turn_limit=limits.actions_per_seat * seats,
    )


def _command(game: Game, chance: random.Random, widest: _Widest) -> Command:
    """Return a random legal move, or now and then a time-out."""
    able = acting_seats(game)
    if not able:
        raise _Unplayable("no seat may act")
    seat = chance.choice(able)
    if game.status is Status.PLAYING and game.turn is not None and chance.random() < 0.8:
        seat = game.turn  # usually; otherwise any seat that may act, for example with a follow-up
    if chance.random() < 0.05:
        return TimeOut(seat=_overdue(game, seat))
    moves = legal_moves(game, seat)
    if not moves:
        raise _Unplayable("a seat has no legal move")
    widest.add(game, seat, len(moves))
    return _chosen(game, moves, seat, chance)


def _bot_fault(settings: Tree, widest: _Widest, limits: Limits) -> str | None:
    """
    Return why bots cannot play in constant time; None if they can.

    Every bot that does not search decides in the widest position; the shortest of three times
    counts, so that a busy machine does not make rules fail.
    """
    game = widest.game
    if game is None:
        return None
    allowed = turn_intervals(game) * limits.interval_seconds
    for name in quick_bots():
        taken = min(_decision_seconds(game, widest.seat, settings, name) for _ in range(3))
        if taken > allowed:
            return (
                f"a bot takes too long to decide among {widest.moves} legal moves: the time of its"
                " moves would reveal its cards"
            )
    return None


def _decision_seconds(game: Game, seat: Seat, settings: Tree, name: str) -> float:
    """Return how long a bot needs for a move, in seconds of processor time, as in `Turns`."""
    begun, facts = time.process_time(), ViewFacts(id="", head="", ruleset_hash="")
    view = view_json(seen_by(game, seat), seat, facts, legal_moves(game, seat))
    chance = random.Random(0)  # noqa: S311 - as above
    moves = [move_json(move) for move in legal_moves(game, seat)]
    chosen = bots()[name].choose(with_settings(view, settings), moves, chance)
    decide(move_of(chosen, seat), game)
    return time.process_time() - begun


def _overdue(game: Game, seat: Seat) -> Seat:
    """Return the seat whose time can run out; in the exchange every seat's can, so `seat`."""
    if game.status is Status.PLAYING:
        return default_opener(game) if game.turn is None else game.turn
    return seat


def _chosen(game: Game, moves: tuple[Move, ...], seat: Seat, chance: random.Random) -> Move:
    """
    Return one of the moves: usually the default move of a time-out, else any.

    Hands of purely random moves seldom end. In the exchange, stacks are laid if they are
    allowed, and swapping ends by chance.
    """
    if game.status is Status.SWAPPING:
        if (stacked := _stacked(game, seat)) is not None and chance.random() < 0.5:
            return stacked
        swaps = [move for move in moves if isinstance(move, Swap)]
        if swaps and chance.random() < 0.5:
            return chance.choice(swaps)
        return next(move for move in moves if isinstance(move, Lay | Ready))
    if chance.random() < DEFAULT_MOVE_PROBABILITY:
        return default_moves(game, seat)[0]
    return chance.choice(moves)


def _stacked(game: Game, seat: Seat) -> Lay | None:
    """
    Return a lay with all cards of a rank on one slot.

    None if stacks are not allowed, if the seat has laid, or if it has fewer ranks than slots.
    """
    state = game.seats[seat]
    if game.ruleset.deal.layout is not Layout.STACKS or state.laid:
        return None
    by_rank: dict[str, list[Card]] = {}
    for card in state.hand:
        by_rank.setdefault(card[0], []).append(card)
    stacks = [tuple(cards) for cards in by_rank.values()]
    slots = len(state.down)
    return Lay(seat=seat, stacks=tuple(stacks[:slots])) if len(stacks) >= slots else None


def _all_cards(game: Game) -> list[Card]:
    """Return the cards of all zones."""
    cards = [*game.pile, *game.burned, *(game.deck[p] for p in game.stock)]
    for state in game.seats:
        cards += [*state.hand, *state.up_cards]
        cards += [game.deck[p] for p in state.down if p is not None]
    return cards

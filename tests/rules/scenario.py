"""Scenarios for tests of rules: given a table, when a command, then events or a refusal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from service.domain.commands import (
    Command,
    CommandRefused,
    Lay,
    NotYourTurn,
    PickUp,
    Play,
    PlayBlind,
    RuleRefused,
    Seat,
    Swap,
)
from service.domain.decide import decide
from service.domain.events import BlindFailed, CardsPlayed, Event, Opening, StockFailed
from service.domain.evolve import evolve
from service.domain.game import Game
from service.domain.legal import legal_moves
from service.domain.ruleset import Ruleset
from tests.changed import replace
from tests.rules.tables import Table, check_custody, game_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """An expected refusal, with the statements that it may cite."""

    kind: type[CommandRefused]
    rules: tuple[str, ...]


def scenario(
    ruleset: Ruleset,
    *,
    given: Table | Game,
    when: Command | Sequence[Command],
    then: Refusal | Sequence[Event] | None = None,
) -> Game:
    """
    Execute the commands `when` and compare the events of the last one with `then`.

    Returns the game after it; custody of all cards is checked at every event.
    """
    game = given if isinstance(given, Game) else game_of(ruleset, given)
    *before, last = [when] if not isinstance(when, Sequence) else when
    for command in before:
        game = _after(game, decide(command, game))
    if isinstance(then, Refusal):
        _refused(game, last, then)
        return game
    events = decide(last, game)
    if then is not None:
        assert list(events) == [_placed(event, game) for event in then]
    return _after(game, events)


def moves(ruleset: Ruleset, given: Table | Game, seat: Seat = 0) -> set[str]:
    """Return a seat's legal moves in words: `Th`, `4c 4d`, `take`, `take Kh`, `turn 0`, …"""
    game = given if isinstance(given, Game) else game_of(ruleset, given)
    return {words(move) for move in legal_moves(game, seat)}


def words(move: Command) -> str:
    """Return a move as a player writes it."""
    match move:
        case Play(cards=laid):
            return " ".join(laid)
        case PickUp(along=along):
            return " ".join(["take", *along])
        case PlayBlind(slot=slot):
            return f"turn {slot}"
        case Swap(up=up, hand=hand):
            return f"swap {' '.join(up)} for {' '.join(hand)}"
        case Lay(stacks=stacks):
            return "lay " + " ".join("+".join(stack) for stack in stacks)
        case _:
            return type(move).__name__.lower()


def refused(*rules: str, kind: type[CommandRefused] = RuleRefused) -> Refusal:
    """Expect a refusal, which cites one of `rules` if any are given."""
    return Refusal(kind=kind, rules=rules)


def not_your_turn() -> Refusal:
    """Expect a refusal because the seat may not act now."""
    return Refusal(kind=NotYourTurn, rules=())


def _placed(event: Event, game: Game) -> Event:
    """Return an expected event with the deck position of the card that it opens."""
    if not isinstance(event, CardsPlayed | BlindFailed | StockFailed) or event.opening is None:
        return event
    p = game.deck.index(event.opening.card)
    return replace(event, opening=Opening(p=p, card=event.opening.card))


def _refused(game: Game, command: Command, expected: Refusal) -> None:
    with pytest.raises(expected.kind) as caught:
        decide(command, game)
    assert type(caught.value) is expected.kind
    if expected.rules:
        assert isinstance(caught.value, RuleRefused)
        assert caught.value.rule in expected.rules


def _after(game: Game, events: Sequence[Event]) -> Game:
    for event in events:
        game = evolve(game, event)
        check_custody(game)
    return game

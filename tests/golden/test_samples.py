"""The sample logs: `decide` gives the events of each move, and the legal moves are as listed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from schemas.events import event_of
from schemas.moves import move_json
from service.domain.cards import Card
from service.domain.commands import Move, TimeOut
from service.domain.deal import deal
from service.domain.decide import decide
from service.domain.events import (
    AbsenceClaimed,
    CardsDealt,
    DeckCommitted,
    EndAgreed,
    EntropyCommitted,
    EntropyRevealed,
    Event,
    GameAborted,
    GameCreated,
    SeatReady,
    TableLaid,
    TurnTimedOut,
)
from service.domain.evolve import evolve, fold
from service.domain.game import Game, new_game
from service.domain.legal import legal_moves
from service.domain.ruleset import Ruleset
from service.replay.history import move_behind
from service.rulesets.catalogue import catalogue
from tests.changed import replace
from tests.tamper import LOGS, SAMPLES

NAMES = [path.stem for path in LOGS]
MOVES: dict[str, list[dict[str, Any]]] = json.loads((SAMPLES / "moves.json").read_text("utf-8"))
SETUP = (EntropyCommitted, EntropyRevealed, DeckCommitted, GameAborted)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A log: its events by the moves that made them, and the game before the first."""

    start: Game
    groups: tuple[tuple[Event, ...], ...]


@pytest.mark.parametrize("name", NAMES)
def test_a_sample_is_reproduced_move_by_move(name: str) -> None:
    """Every move of the log, decided again, gives the events in the log."""
    for game, group in _steps(_sample(name)):
        if isinstance(group[0], SETUP):
            continue
        if isinstance(group[0], CardsDealt):
            assert deal(game, group[0].dealer) == group
            continue
        command = _command(group, game)
        assert decide(command, game) == group, f"{name} at version {game.version}"


@pytest.mark.parametrize("name", sorted(MOVES))
def test_the_legal_moves_of_a_sample_are_the_listed_moves(name: str) -> None:
    """Every entry of moves.json, as a set."""
    entries: dict[int, list[dict[str, Any]]] = {}
    for entry in MOVES[name]:
        entries.setdefault(entry["version"], []).append(entry)
    for game, _ in _steps(_sample(name)):
        for entry in entries.pop(game.version, []):
            ours = {_key(move_json(move)) for move in legal_moves(game, entry["seat"])}
            assert ours == {_key(move) for move in entry["moves"]}
    assert not entries


@pytest.mark.parametrize("name", NAMES)
def test_a_sample_folds_without_the_deck_to_the_same_result(name: str) -> None:
    """The log alone is enough to follow the game."""
    sample = _sample(name)
    whole = [event for group in sample.groups for event in group]
    with_deck = fold([sample.start.setup, *whole], sample.start.deck)
    without = fold([sample.start.setup, *whole])
    assert without.result == with_deck.result
    assert without.version == with_deck.version
    assert without.result is not None


def _sample(name: str) -> Sample:
    lines = [json.loads(line) for line in (SAMPLES / f"{name}.jsonl").read_text().splitlines()]
    events = [event_of(line["type"], line["data"], _ruleset) for line in lines]
    first, deck = events[0], lines[-1]["data"]["deck"]
    assert isinstance(first, GameCreated)
    start = new_game(first)
    if deck:
        start = replace(start, deck=tuple(Card(code) for code in deck))
    groups: list[list[Event]] = []
    times: list[str] = []
    for event, line in zip(events[1:], lines[1:], strict=True):
        alone = isinstance(event, (*SETUP, CardsDealt))
        dealt = groups and isinstance(groups[-1][0], CardsDealt) and line["type"] == "cards_thrown"
        same = groups and times[-1] == line["at"] and not isinstance(groups[-1][0], SETUP)
        said = groups and isinstance(groups[-1][0], EndAgreed | AbsenceClaimed)
        ended = said and line["type"] == "game_aborted" and times[-1] == line["at"]
        if dealt or ended or (same and not alone and not isinstance(groups[-1][0], CardsDealt)):
            groups[-1].append(event)
        else:
            groups.append([event])
            times.append(line["at"])
    return Sample(start=start, groups=tuple(tuple(group) for group in groups))


def _steps(sample: Sample) -> Iterator[tuple[Game, tuple[Event, ...]]]:
    game = sample.start
    for group in sample.groups:
        yield game, group
        for event in group:
            game = evolve(game, event)


def _ruleset(pinned: Mapping[str, Any], hand: int) -> Ruleset:
    definition = catalogue()[pinned["id"]]
    return definition.ruleset(definition.chosen(pinned["options"]), hand=hand)


def _command(group: Sequence[Event], game: Game) -> Move | TimeOut:
    """Return the command; after a time-out any legal move is one."""
    first = group[0]
    if not isinstance(first, TurnTimedOut):
        return _move(first)
    if isinstance(group[1], SeatReady | TableLaid):
        return TimeOut(seat=first.seat)
    return TimeOut(seat=first.seat, move=_move(group[1]))


def _move(event: Event) -> Move:
    move = move_behind(event)
    assert move is not None, f"no move begins with {event}"
    return move


def _key(move: Mapping[str, Any]) -> str:
    sets = {key: sorted(move[key]) for key in ("cards", "with") if key in move}
    return json.dumps({**move, **sets}, sort_keys=True)

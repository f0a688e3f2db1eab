"""The audit explains every decision of every ruleset, and cites a rule for each line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from schemas.audit import DecisionSchema
from schemas.views import Json
from service.audit.decision import decision
from service.domain.game import Status
from service.domain.plays import source_cards
from service.domain.ruleset import Layout, Ruleset
from service.replay.history import History
from service.replay.sentences import card_name
from service.rulesets.catalogue import Definition, catalogue, definition
from service.rulesets.statements import FALLBACK, SHARED
from tests.changed import replace
from tests.examples import spread, stride
from tests.unit.audit.histories import NAMES, OF_THE_RECORD, history_of, sample
from tests.unit.playing import play, seat_counts


def decisions(history: History) -> Iterator[Json]:
    for move in history.moves:
        yield decision(history, move.first)


def check(history: History, found: Json) -> None:
    """Check the properties that every decision must have."""
    ruleset = history.games[0].ruleset
    known = definition(ruleset.id)
    assert [effect["seq"] for effect in found["effects"]] == list(
        range(found["first"], found["last"] + 1)
    )
    assert all(effect["text"].endswith(".") for effect in found["effects"])
    for line in (*found["effects"], *(found["legal"] or ()), *(found["not_legal"] or ())):
        assert line["rules"] or line.get("type") in OF_THE_RECORD, line
        assert all(known.text_of(rule) for rule in line["rules"]), line
    for effect in found["effects"]:
        shared = [rule.startswith(SHARED) for rule in effect["rules"]]
        assert shared == sorted(shared), effect
        if effect["type"] in ("cards_played", "pile_picked_up"):
            assert not shared[0], effect
    if found["did"] is not None:
        check_choice(history, found)


def check_choice(history: History, found: Json) -> None:
    game, seat = history.games[found["first"] - 1], found["seat"]
    moves = [option["move"] for option in found["legal"]]
    assert canonical(found["did"]) in [canonical(move) for move in moves]
    assert found["saw"]["as"] == seat
    assert found["saw"]["version"] == found["first"]
    named = {card for move in moves for card in cards_in(move)}
    not_legal = [line["card"] for line in found["not_legal"]]
    assert len(set(not_legal)) == len(not_legal)
    assert all(line["text"] for line in found["not_legal"])
    laying = game.status is Status.SWAPPING and game.ruleset.deal.layout is not Layout.NONE
    if not laying:
        # Not every legal layout is listed, so a card missing in the list need not be illegal.
        assert set(source_cards(game.seats[seat])) <= named | set(not_legal)
    used = [move for move in moves if move["type"] in ("play", "swap", "lay")]
    assert not {card for move in used for card in cards_in(move)} & set(not_legal)


def cards_in(move: Json) -> Iterator[str]:
    for name in ("cards", "with", "up", "hand"):
        yield from move.get(name, ())
    for stack in move.get("stacks", ()):
        yield from stack


def canonical(move: Json) -> Any:
    return {**move, "cards": sorted(move["cards"])} if "cards" in move else move


def variants(known: Definition) -> Iterator[Ruleset]:
    """Yield a ruleset for each value of each option, and for the second hand if it differs."""
    chosen: list[dict[str, object]] = [{}]
    for option in known.options.values():
        several = option.kind != "choice"
        chosen += [{option.name: [v] if several else v} for v in option.values]
        chosen += [{option.name: []}] if several else []
    for options in chosen:
        for hand in (1, 2) if "second_hand" in known.tree else (1,):
            yield known.ruleset(known.chosen(options), hand=hand)


@pytest.mark.heavy
@pytest.mark.parametrize("name", spread(NAMES, 4))
def test_every_event_of_a_sample_belongs_to_a_decision(name: str) -> None:
    history = sample(name)
    seqs = [seq for move in history.moves for seq in range(move.first, move.last + 1)]
    assert seqs == list(range(len(history.log)))
    for number, move in enumerate(history.moves[:: stride(2)]):
        found = decision(history, move.first)
        check(history, found)
        if number % stride(3) == 0:  # the check of the schema takes most of the time
            assert DecisionSchema().validate(found) == {}


@pytest.mark.heavy
@pytest.mark.parametrize("identity", spread(sorted(catalogue()), 3))
def test_decisions_are_explained_under_every_option_of_a_ruleset(identity: str) -> None:
    for number, ruleset in enumerate(variants(catalogue()[identity])):
        game = play(ruleset, seat_counts(ruleset)[-1], number, turn_limit=60)
        history = history_of(game, game.deck)
        for found in decisions(history):
            check(history, found)


def test_any_event_of_a_move_gives_the_same_decision() -> None:
    history = sample("leeds")
    for move in history.moves:
        assert decision(history, move.last) == decision(history, move.first)


def test_leeds_cites_its_own_statements() -> None:
    """L10: a player who can play must play; L17: a five needs a companion; L21: a ten burns."""
    history = sample("leeds")
    cited = {
        rule
        for found in decisions(history)
        for line in (*found["effects"], *(found["legal"] or ()), *(found["not_legal"] or ()))
        for rule in line["rules"]
    }
    assert {"L4", "L6", "L7", "L9", "L10", "L11", "L13", "L16", "L20", "L21"} <= cited


def test_a_step_of_the_record_cites_no_statement() -> None:
    """The rules say nothing about the commitment to a deck, and nothing about the seal."""
    history = sample("leeds")
    every = [line for found in decisions(history) for line in found["effects"]]
    assert not any(FALLBACK in line["rules"] for line in every)
    assert {line["type"] for line in every if not line["rules"]} <= OF_THE_RECORD
    assert any(line["type"] == "game_sealed" and not line["rules"] for line in every)


def test_private_parts_of_a_decision_are_null_for_others() -> None:
    history = sample("shithead")
    move = next(d for d in history.moves if d.command is not None and d.seat == 1)
    own = decision(history, move.first, viewer=1)
    for viewer in (0, None):
        other = decision(history, move.first, viewer=viewer)
        hidden = {"saw", "legal", "not_legal", "refused"}
        assert {name for name in other if other[name] != own[name]} == hidden
        assert all(other[name] is None for name in hidden)


def test_a_refused_attempt_is_listed_before_the_next_move_of_its_seat() -> None:
    history = sample("shithead")
    moves = [d for d in history.moves if d.command is not None and d.seat == 1][-3:]
    at = history.log[moves[1].first].at
    attempt = {"at": at, "seat": 1, "move": {"type": "try_stock"}, "rule": "P9"}
    other = {**attempt, "seat": 0}
    attempts = [decision(history, d.first, refused=[attempt, other])["refused"] for d in moves]
    [shown] = attempts[1]
    assert (attempts[0], attempts[2]) == ([], [])
    assert (shown["at"], shown["move"], shown["rule"]) == (at, {"type": "try_stock"}, "P9")


def test_a_refused_attempt_is_explained_by_the_position_in_which_it_was_made() -> None:
    """A card that is not held is named, although its refusal cites another statement."""
    history = sample("leeds")
    move = next(
        d
        for d in history.moves
        if d.command is not None
        and decision(history, d.first)["not_legal"]
        and history.games[d.first - 1].status is Status.PLAYING
    )
    assert move.seat is not None
    [unfit, *_] = decision(history, move.first)["not_legal"]
    state = history.games[move.first - 1].seats[move.seat]
    elsewhere = next(
        card
        for seat in history.games[move.first - 1].seats
        for card in seat.hand
        if card not in (*state.hand, *state.up_cards)
    )
    at = history.log[move.first].at
    rows = [
        {"at": at, "seat": move.seat, "move": {"type": "play", "cards": [card]}, "rule": "L12"}
        for card in (unfit["card"], elsewhere)
    ]
    shown = decision(history, move.first, refused=rows)["refused"]
    assert [one["text"] for one in shown] == [
        unfit["text"],
        f"Not held in the hand or face up: the {card_name(elsewhere)}.",
    ]


def test_a_card_that_is_too_high_for_a_seven_cites_the_statement_on_sevens() -> None:
    """L19: after a seven, seven or lower."""
    history = sample("leeds")
    lines = [
        line
        for found in decisions(history)
        if found["saw"] and found["saw"]["demand"]["kind"] == "at_most"
        for line in found["not_legal"]
    ]
    assert lines
    assert any(line["rules"] == ["L19"] for line in lines)


def test_a_custom_ruleset_cites_the_statements_passed_with_its_log() -> None:
    """A log pins settings without statements, so by itself it cites the model."""
    known = definition("leeds")
    game = play(replace(known.ruleset({}), cites={}), 3, 8, turn_limit=60)
    lines = history_of(game).log
    alone, cited = History(lines, game.deck), History(lines, game.deck, cites=known.cites)
    rules = [
        {
            rule
            for found in decisions(history)
            for line in found["effects"]
            for rule in line["rules"]
        }
        for history in (alone, cited)
    ]
    assert all(rule.startswith("1-") and known.text_of(rule) for rule in rules[0])
    assert {"L4", "L9"} <= rules[1]
    refusing = {r for f in decisions(alone) for line in f["not_legal"] or () for r in line["rules"]}
    assert refusing
    assert all(rule.startswith("1-") for rule in refusing)

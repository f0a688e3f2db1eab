"""Custom rulesets: the id binds the settings, statements describe them, refusals give reasons."""

from __future__ import annotations

import hashlib
import random
from typing import Any

import pytest

from schemas.settings import Tree, leaves
from service.domain.cards import Rank
from service.rulesets.catalogue import OptionError, catalogue, definition, read_ruleset
from service.rulesets.custom import RulesetRefused, custom_definition, custom_of
from service.rulesets.statements import model
from service.shx.canonical import canonical, custom_ruleset_id
from service.simulation.trials import Limits, play_trials
from service.verify.finding import Failed
from service.verify.log import pinned_ruleset
from tests.unit.rulesets.random_settings import random_changes

MODEL_IDS = {statement.id for statement in model().statements}


def test_the_id_is_the_hash_of_the_settings() -> None:
    own = custom_definition(definition("leeds"), "Mine", {"burn": {"set_size": 3}})
    digest = hashlib.sha256(canonical(own.settings({}))).hexdigest()
    assert own.id == f"custom-{digest[:16]}"
    assert own.ruleset({}).burn.set_size == 3


def test_equal_rulesets_have_equal_ids_in_any_notation() -> None:
    leeds, jack = definition("leeds"), {"reverses": False}
    one = custom_definition(leeds, "One", {"ranks": {"J": jack}})
    two = custom_definition(leeds, "Two", {"ranks": {"J": jack, "9": {"burns": False}}})
    assert one.id == two.id


@pytest.mark.parametrize(
    "second",
    [
        {"ranks": {}},
        {"deal": {"hand": 6}},
        {"ranks": {"9": {"burns": False}, "T": {"burns": True}}},
        {"players": {"max": 5}, "deal": {"layout": "stacks"}},
        {"end": {"next_dealer": "loser"}},
    ],
)
def test_second_hand_settings_equal_to_the_first_hand_do_not_change_the_id(second: Tree) -> None:
    """Equal rulesets have equal ids, so settings that repeat the first hand are dropped."""
    reverse, changes = definition("reverse"), {"burn": {"set_size": 3}}
    one = custom_definition(reverse, "One", changes)
    assert custom_definition(reverse, "Two", {**changes, "second_hand": second}).id == one.id
    with pytest.raises(RulesetRefused, match="nothing is changed"):
        custom_definition(reverse, "Same", {"second_hand": second})


def test_a_second_hand_may_make_a_special_rank_plain() -> None:
    own = custom_definition(
        definition("reverse"), "Mine", {"second_hand": {"ranks": {"J": {"skips": False}}}}
    )
    assert own.settings({})["second_hand"]["ranks"]["J"] == {"skips": False}
    assert [own.ruleset({}, hand=hand).rank(Rank("J")).skips for hand in (1, 2)] == [True, False]


def test_a_ruleset_is_reproduced_from_its_accepted_settings() -> None:
    own = custom_definition(definition("threes"), "Mine", {"turn": {"follow_up": True}})
    assert custom_of(definition("threes"), "Mine", own.settings({})) == own


def test_a_custom_ruleset_has_only_the_options_of_every_ruleset() -> None:
    own = custom_definition(definition("guarducci"), "Mine", {"burn": {"set_size": 3}})
    assert list(own.options) == ["next_dealer"]
    with pytest.raises(OptionError):
        own.chosen({"joker": "7"})
    assert own.ruleset({}).turn.runs  # the base's options have their defaults


@pytest.mark.parametrize("switches", [[1.0], [True], [[1]], [7], [1, 1], 1])
def test_an_option_has_only_values_of_its_list(switches: object) -> None:
    with pytest.raises(OptionError, match="is not a list of any of 1, 2, 3, 4, 5, 6"):
        definition("guarducci").chosen({"switches": switches})


@pytest.mark.parametrize("base", ["leeds", "morehead"])
def test_the_next_dealer_is_a_table_option_and_does_not_change_the_id(base: str) -> None:
    """rules.md, section 0: every ruleset has `next_dealer`; SHX/1: the id follows from settings."""
    own = custom_definition(definition(base), "Mine", {"burn": {"set_size": 3}})
    usual, other = own.ruleset({}).end.next_dealer, {"leeds": "rotate", "morehead": "loser"}[base]
    assert own.chosen({"next_dealer": str(usual)}) == {}
    chosen = own.chosen({"next_dealer": other})
    pinned = own.pinned(chosen)
    assert own.id == custom_ruleset_id(pinned["settings"])
    for read in (read_ruleset(pinned, 1), pinned_ruleset(pinned, 1), own.ruleset(chosen)):
        assert str(read.end.next_dealer) == other != str(usual)


def test_a_log_alone_gives_the_shared_statements_of_a_custom_ruleset() -> None:
    own = custom_definition(definition("leeds"), "Mine", {"burn": {"set_size": 3}})
    read = pinned_ruleset(own.pinned({}), 1)
    cited = [read.cite("burn.set_size"), read.cite("ranks.7.asks"), read.cite("model.pass")]
    assert cited == ["1-set", "1-demand", "1-pass"]


def test_a_log_with_a_default_or_unknown_option_is_invalid() -> None:
    own = custom_definition(definition("leeds"), "Mine", {"burn": {"set_size": 3}})
    for options in ({"next_dealer": "loser"}, {"next_dealer": "nobody"}, {"joker": "7"}):
        with pytest.raises(Failed):
            pinned_ruleset({**own.pinned({}), "options": options}, 1)


def test_a_changed_setting_replaces_the_statement_that_it_contradicts() -> None:
    own = custom_definition(definition("leeds"), "Mine", {"ranks": {"T": {"plays": "anything"}}})
    ids = {statement.id for statement in own.statements}
    assert "L21" not in ids
    assert {"L16", "L17", "L22"} <= ids
    assert own.text_of(own.rule_of("ranks.T.plays")) == (
        "A ten is played on: anything instead of what it beats."
    )
    assert own.text_of(own.rule_of("ranks.T.burns")) == "A ten burns the pile: yes."
    assert "L19" not in ids, "it lists what answers a seven"
    assert own.text_of(own.rule_of("ranks.7.asks")) == "A seven asks for: at most its rank."


@pytest.mark.parametrize(
    ("base", "changes", "dropped"),
    [
        ("shithead", {"ranks": {"Q": {"covers": True}}}, {"P9", "P10", "P15"}),
        ("shithead", {"ranks": {"Q": {"covers_with_two": True}}}, {"P9", "P10", "P15"}),
        ("shithead", {"ranks": {"7": {"asks": "at_most"}}}, {"P7"}),
        ("shithead", {"ranks": {"5": {"plays": "with_companion"}}}, {"P7"}),
        ("shithead", {"ranks": {"2": {"burns": True}}}, {"P11"}),
        ("shithead", {"ranks": {"9": {"not_on": ["2"]}}}, {"P7", "P11"}),
        ("shithead", {"turn": {"runs": True}}, {"P5", "P6", "P7"}),
        ("shithead", {"turn": {"try_stock": "always"}}, {"P9"}),
        ("shithead", {"turn": {"obligation": "must_play"}}, {"P9", "P14"}),
        ("shithead", {"deal": {"starter": "any"}}, {"P5", "P6"}),
        ("shithead", {"deck": {"decks": 2}}, {"P1/deal"}),
        ("shithead", {"players": {"max": 4}}, {"P1/deal"}),
        ("shithead", {"burn": {"flusher": True}}, {"P13"}),
        ("shithead", {"end": {"played_for": "winner"}}, {"P16", "P2/end", "P2/deal"}),
        ("leeds", {"ranks": {"7": {"asks": "anything"}}}, {"L8", "L18", "L19", "L21"}),
        ("leeds", {"deal": {"hand": 4}}, {"L1", "L4"}),
        ("covered-queen", {"ranks": {"T": {"not_on": ["7", "9"]}}}, {"S5", "S8", "S10", "S12"}),
        ("threes", {"turn": {"runs": True}}, {"T3", "T4"}),
        ("morehead", {"ranks": {"6": {"asks": "below"}}}, {"M5"}),
    ],
)
def test_a_statement_is_dropped_if_a_setting_changes_that_it_speaks_of(
    base: str, changes: Tree, dropped: set[str]
) -> None:
    """A page must not need its changes to override a sentence that they make false."""
    own = custom_definition(definition(base), "Mine", changes)
    here = {one for s in own.statements for one in (s.id, f"{s.id}/{s.section}")}
    assert not dropped & here
    known = {s.id for s in definition(base).statements}
    assert {one.partition("/")[0] for one in dropped} <= known


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"turn": {"runs": True}}, "consecutive cards of one suit"),
        ({"turn": {"follow_up": True}}, "turn up in refilling"),
        ({"ranks": {"Q": {"covers": True}}}, "covered in the same turn"),
        ({"ranks": {"Q": {"covers_with_two": True}}}, "covered in the same turn"),
        ({"burn": {"set_size": 3}}, "when 3 or more cards of one rank"),
    ],
)
def test_a_custom_ruleset_defines_what_its_base_does_not_have(changes: Tree, words: str) -> None:
    own = custom_definition(definition("shithead"), "Mine", changes)
    [(rule, text)] = [(s.id, s.text) for s in own.statements if words in s.text]
    assert rule == "C1"
    assert "yes" not in text
    every = custom_definition(definition("shithead"), "Mine", {"ranks": {"8": {"skips": True}}})
    assert not any(words in s.text for s in every.statements)


def test_sentences_for_further_statements_come_last() -> None:
    """They do not change the ids of the others."""
    changes = {"ranks": {"Q": {"covers": True}}, "refill": {"size": 4}}
    own = custom_definition(definition("shithead"), "Mine", changes)
    settings = [s.text for s in own.statements if s.id in ("C1", "C2", "C3")]
    assert settings[0].startswith("Size of a refilled hand")
    assert "A queen has to be covered" in settings[1]
    assert settings[-1] == "A hand is refilled: to a size."


def test_a_reading_is_removed_with_its_statement() -> None:
    own = custom_definition(definition("leeds"), "Mine", {"ranks": {"5": {"plays": "normal"}}})
    assert not {"L17", "L18"} & {statement.id for statement in own.statements}


def test_parts_of_a_replaced_statement_cite_the_model() -> None:
    """P31 is then cited for the deal only, and P20 not for the plays of jokers."""
    changes = {"pick_up": {"after": "next"}}
    own = custom_definition(definition("karma-radford"), "Mine", changes)
    assert own.rule_of("deal.layout") == "P31"
    assert own.cites["model.stacks"] == "1-stacks"
    assert own.cites["model.normal_play"] == "P7"
    plain = custom_definition(
        definition("shithead-six"), "Mine", {"ranks": {"X": {"reverses": False}}}
    )
    assert "model.jokers" not in plain.cites
    assert plain.ruleset({}).cite("model.jokers", "model.normal_play") == "P7"
    other = custom_definition(definition("shithead-six"), "Mine", {"refill": {"size": 4}})
    assert other.cites["model.jokers"] == "P20"


@pytest.mark.parametrize(
    ("changes", "at"),
    [
        ({"deal": {"starters": "any"}}, "/deal/starters"),
        ({"deal": {"hand": "3"}}, "/deal/hand"),
        ({"ranks": {"1": {}}}, "/ranks/1"),
        ({"ranks": None}, "/ranks"),
        ([], "/"),
        ({"players": {"max": 65}}, "/players/max"),
        ({"order": {"low_to_high": [2, 3, *"456789TJQKA"]}}, "/order/low_to_high"),
        ({"deal": {"hand": 12}}, "/deal"),
        ({}, ""),
        ({"burn": {"set_size": 4}}, ""),
    ],
)
def test_unplayable_settings_are_refused_with_a_pointer(changes: Any, at: str) -> None:
    with pytest.raises(RulesetRefused) as refused:
        custom_definition(definition("shithead"), "Mine", changes)
    assert at in {pointer for pointer, _ in refused.value.reasons}


def accepted(seed: int) -> tuple[str, Tree] | None:
    chance = random.Random(seed)
    base = chance.choice(list(catalogue().values()))
    try:
        own = custom_definition(base, "Any", random_changes(chance))
    except RulesetRefused:
        return None
    ids = {statement.id for statement in own.statements} | MODEL_IDS
    assert set(own.cites.values()) <= ids
    assert all(own.rule_of(setting) in ids for setting, _ in leaves(own.settings({})))
    return base.id, own.settings({})


@pytest.mark.heavy
def test_every_accepted_ruleset_can_be_dealt_opened_and_played() -> None:
    """With random changes, no game gets stuck, raises, or lists a move that is refused."""
    limits, found = Limits(actions_per_seat=50, seconds=2), 0
    for seed in range(80):
        drawn = accepted(seed)
        if drawn is None:
            continue
        found += 1
        report = play_trials(drawn[1], 4, limits)
        assert report.refusal in (None, STALE, SLOW), (seed, drawn[0], report)
    assert found > 4


STALE = "every trial hand ended in a stalemate"
SLOW = "no trial hand ended in the time limit"

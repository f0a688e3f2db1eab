"""The rules in short state what the settings of a ruleset do, also of changed ones."""

from __future__ import annotations

import orjson
import pytest

from service.domain.ruleset import ALL_RANKS, EFFECTS, Asks, Plays, RankRule, Ruleset
from service.rulesets.catalogue import catalogue, definition
from service.rulesets.in_short import in_short
from service.words import FOLDER

LANGUAGES = ("en", "sv", "ja")


def codes_of(ruleset: Ruleset) -> dict[str, tuple[str, ...]]:
    return {str(one.rank): one.does for one in in_short(ruleset).special}


@pytest.mark.parametrize("identity", catalogue())
def test_a_rank_is_named_if_it_differs_from_a_plain_one(identity: str) -> None:
    ruleset = definition(identity).ruleset({})
    found = codes_of(ruleset)
    for rank in ALL_RANKS:
        rule, does = ruleset.rank(rank), found.get(str(rank), ())
        if rank not in ruleset.order and not (ruleset.deck.jokers or ruleset.deck.jokers_then):
            assert not does
            continue
        assert set(rule.effects()) <= set(does)
        assert ("goes_on_anything" in does) is (rule.plays is Plays.ANYTHING)
        assert ("with_companion" in does) is (rule.plays is Plays.WITH_COMPANION)
        asked = [code for code in does if code.startswith("asks_")]
        if "burns" in does or (rule.asks is Asks.AT_LEAST and rule.asks_as is None):
            assert asked == []
        else:
            assert asked == ["asks_as_another" if rule.asks_as else f"asks_{rule.asks.value}"]


def test_every_value_of_every_setting_of_a_rank_has_a_sentence_in_every_language() -> None:
    base = definition("shithead").ruleset({})
    rules = [
        *(RankRule(plays=one) for one in Plays),
        *(RankRule(asks=one) for one in Asks),
        *(RankRule(**{code: True}) for code in EFFECTS),  # type: ignore[arg-type] # names of fields
        RankRule(asks_as=ALL_RANKS[3]),
    ]
    codes = {"title", "turn", "special", "set", "play", "complete", "aim.loser", "aim.winner"}
    codes |= {f"zone.{zone}" for zone in ("hand", "up", "down")}
    for rule in rules:
        changed = Ruleset(id="x", seats_min=2, seats_max=4, ranks={ALL_RANKS[0]: rule})
        codes |= set(codes_of(changed).get(str(ALL_RANKS[0]), ()))
    assert len(codes) == 11 + 5 + 2 + 5
    assert base.end.played_for in ("loser", "winner")
    for language in LANGUAGES:
        words = orjson.loads((FOLDER / f"{language}.json").read_bytes())
        named = {key.removeprefix("short.") for key in words if key.startswith("short.")}
        assert named == codes, language

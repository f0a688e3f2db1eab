"""After a change of any single setting no statement stays on a page that names the setting."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase

import pytest

from schemas.settings import SECTIONS, Tree, setting_kinds
from service.domain.ruleset import ALL_RANKS, RankRule
from service.rulesets.catalogue import Definition, catalogue
from service.rulesets.custom import RulesetRefused, custom_definition
from service.rulesets.labels import NAMES
from service.rulesets.spoken_of import SpokenSettings
from service.rulesets.statements import Statement
from tests.custom_games import values
from tests.examples import stride

SETTINGS = (
    *(f"{section}.{name}" for section, kind in SECTIONS.items() for name in setting_kinds(kind)),
    *("players.min", "players.max", "order.low_to_high"),
)
OF_RANKS = tuple(f"ranks.{rank}.{name}" for rank in ALL_RANKS for name in setting_kinds(RankRule))

WORDS = {
    "players.*": r"players use|use one deck|with three or more",
    "deck.jokers*": r"two jokers|the other one|or both",
    "deck.*": r"\bdecks?\b",
    "deal.down": r"(three|four|five) (cards )?face-down",
    "deal.up": r"(three|four|five) (cards )?face-up",
    "deal.hand": r"hand of (three|four|five|six)\b(?! cards)|the six",
    "deal.layout": r"\blays? (out|any|them)|laying out|stacks? of face-up|whole stacks?",
    "deal.exchange": r"exchang|swap",
    "deal.starter": r"starter|start the pile|card turned",
    "deal.throws": r"thr[eo]w",
    "opening.opener": r"first player is|plays first|may start|starts(, onto| with)",
    "opening.ranks": r"first player is|may start|worst",
    "opening.suits": r"by suit",
    "opening.play": r"opening play",
    "refill.*": r"draws as many|filled up|the hand is then filled",
    "turn.obligation": r"whoever can play|does not want|by choice|who has no legal play",
    "turn.try_stock": r"try the top card|may always try",
    "turn.follow_up": r"turn up in refilling|follow-up",
    "turn.runs": r"\brun\b",
    "pick_up.taker": r"takes the (whole )?pile|take the pile|previous player",
    "pick_up.after": r"next player plays (onto|anything)|makes the next play\b|leads",
    "pick_up.along": r"goes (along|with it)|adds one|one table card",
    "pick_up.show_blind": r"need not be shown|has seen it|get to see",
    "burn.set_size": r"set of four|four (or more )?cards of one rank|four fives|the fourth of",
    "burn.flusher": r"flusher",
    "end.played_for": r"loser|shithead|smeghead|winner|has won|out only",
    "end.next_dealer": r"deals the next|of the last (hand|round) deals|next one",
    "end.paper_bag": r"paper bag",
    "order.low_to_high": r"from low to high|high and low|the ace is high|6 to A",
}
"""For each setting, by pattern, the words with which the statements name it."""

STILL_TRUE = (
    ("deck.*", "L22"),  # "With several decks it is still four": a condition of the sentence itself
    ("deck.*", "S3"),  # "of equal cards of two decks"
    ("ranks.T.plays", "S10"),  # no tens on a seven: neither by the normal rule
    ("ranks.7.*", "S12"),  # a ten is not played on a seven: a setting of the ten
    ("ranks.A.*", "R"),  # an ace is not played on a two in a second hand: a setting of the ace
    ("ranks.X.*", "P20"),  # there are jokers; none makes a player the first
    *(("ranks.X.*", rule) for rule in ("M1", "P35", "R")),  # whether there are jokers
)
"""Words of statements that stay true whatever the setting is: pattern of settings, statement."""

WHAT_MAY_BE_PLAYED = ("L2", "L19", "M5", "S10")
"""Statements that name further ranks only as those that may be played, or are special."""


def words_of(setting: str) -> str:
    """Return the words that name a setting; those of a rank name a card of it, not a number."""
    if setting.startswith("ranks."):
        name = NAMES[setting.split(".")[1]]
        several = f"{name}es" if name == "six" else f"{name}s"
        return rf"^{name}\b(:| is)|\b(an?|another|no) {name}\b|\b{several}\b"
    return next(words for pattern, words in WORDS.items() if fnmatchcase(setting, pattern))


def names(statement: Statement, setting: str) -> bool:
    """Return whether a statement names a setting, and is not one that stays true."""
    if any(fnmatchcase(setting, one) and statement.id == rule for one, rule in STILL_TRUE):
        return False
    if setting.startswith("ranks."):
        if statement.section in ("deal", "opening") and ".X." not in setting:
            return False  # the cards that are thrown, or that let a player open
        if statement.id in WHAT_MAY_BE_PLAYED and not setting.endswith((".plays", ".not_on")):
            return False
    return re.search(words_of(setting), statement.text, re.IGNORECASE) is not None


@pytest.mark.parametrize("ruleset", catalogue().values(), ids=lambda d: d.id)
def test_no_statement_stays_that_names_a_changed_setting(ruleset: Definition) -> None:
    """A page must not need its changes to override a sentence that they make false."""
    wording = SpokenSettings.of(ruleset)
    left = [
        (setting, one.id, one.section, one.text)
        for setting in (*SETTINGS, *OF_RANKS)
        for one in wording.kept([setting])
        if names(one, setting)
    ]
    assert left == []


@pytest.mark.parametrize("pattern", WORDS)
def test_the_words_of_a_setting_occur_in_the_catalogue(pattern: str) -> None:
    """Otherwise the test above would find nothing."""
    texts = [one.text for ruleset in catalogue().values() for one in ruleset.statements]
    assert any(re.search(WORDS[pattern], text, re.IGNORECASE) for text in texts)


REFERENCE = re.compile(r"\(([A-Z][0-9]+)\)")
OF_OPTIONS = re.compile(
    r"[Ss]witch|the table (says|chooses)|[Aa] table may choose a|with or without"
)
"""What sentences about an option of a table say."""

ANSWERS = {"gultnieks": "P30", "leeds": "L19", "covered-queen": "S10", "egilsson": "P37"}
"""Statements that list which ranks answer a demand."""


def custom(base: str, changes: Tree) -> Definition | None:
    """Return a custom ruleset; None if its changes are refused."""
    try:
        return custom_definition(catalogue()[base], "Own", changes)
    except RulesetRefused:
        return None


def single_changes() -> Iterator[Tree]:
    """Yield a change of each single setting, that of a rank for two ranks."""
    for path, value in values():
        section, _, name = path.partition(".")
        if section == "ranks":
            yield from ({"ranks": {rank: {name: value}}} for rank in ("2", "7"))
        elif section != "second_hand" and path != "order.low_to_high":
            yield {section: {name: value}}


@pytest.mark.parametrize("base", catalogue())
def test_no_page_refers_to_a_statement_or_an_option_that_it_has_not(base: str) -> None:
    """After every single change: no "(L16)" without L16, and no option of the base ruleset."""
    found, made = set(), 0
    first = list(catalogue()).index(base) % stride(6)
    for changes in itertools.islice(single_changes(), first, None, stride(6)):
        if (ruleset := custom(base, changes)) is None:
            continue
        made += 1
        ids = {one.id for one in ruleset.statements}
        for one in ruleset.statements:
            found |= {(text, one.text) for text in REFERENCE.findall(one.text) if text not in ids}
            if OF_OPTIONS.search(one.text) and "rotation" not in one.text:
                found.add(("option", one.text))
    assert found == set()
    assert made > 3


@pytest.mark.parametrize("base", ANSWERS)
def test_a_list_of_what_answers_a_demand_goes_if_another_rank_may_be_played_on_anything(
    base: str,
) -> None:
    ruleset = custom(base, {"ranks": {"K": {"plays": "anything"}}})
    assert ruleset is not None
    lists = ("must be seven or lower", "as always", "higher card, and the next play")
    texts = [one.text for one in ruleset.statements if one.id == ANSWERS[base]]
    assert not [text for text in texts if any(words in text for words in lists)]


def test_the_two_is_not_called_high_and_low_if_it_asks_for_something_else() -> None:
    ruleset = custom("egilsson", {"ranks": {"2": {"asks": "at_most"}}})
    assert ruleset is not None
    assert not [one for one in ruleset.statements if "both high and low" in one.text]


def test_a_ten_in_its_rank_is_not_described_by_another_order() -> None:
    order = [*"23T456789JQKA"]
    ruleset = custom("shithead-ten-in-rank", {"order": {"low_to_high": order}})
    assert ruleset is not None
    assert not [one for one in ruleset.statements if "so not on J, Q, K or A" in one.text]

"""The catalogue of sentences: the codes of the program, and every sentence in every language."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from schemas.moves import MOVES
from service.domain.dispute import Party
from service.domain.events import BurnCause
from service.replay.sentences import (
    CARDS,
    CODES,
    EVENTS,
    RANKS,
    SEATS,
    Value,
    Voice,
    catalogue,
    sentence,
)
from service.shx.event_shapes import EVENTS as SHAPES
from service.verify.claims import Claim
from service.verify.clauses import MAX_WORDS
from service.verify.finding import Check
from service.verify.report import LEVELS
from service.verify.stored_findings import detail_of, in_words

ROOT = Path(__file__).parents[3]
STRINGS = ROOT / "service" / "api" / "static" / "app" / "strings"
LANGUAGES = sorted(path.stem for path in STRINGS.glob("*.json"))
REPORT, VERIFY = (
    json.loads((STRINGS / part / "en.json").read_text("utf-8")) for part in ("report", "verify")
)
SOURCES = (
    *sorted((ROOT / "service" / "verify").glob("*.*")),
    *sorted((ROOT / "service" / "audit").glob("*.py")),
    *sorted((ROOT / "service" / "replay").glob("*.py")),
    *sorted((ROOT / "service" / "cli").glob("*.py")),
    *sorted((ROOT / "service" / "application").rglob("*.py")),
)
"""The modules that make sentences from codes."""

REFUSALS = json.loads((STRINGS / "refusals" / "en.json").read_text("utf-8"))
REFUSING = (
    *sorted((ROOT / "service" / "domain").glob("*.py")),
    *sorted((ROOT / "service" / "audit").glob("*.py")),
    *sorted((ROOT / "service" / "application").rglob("*.py")),
)
"""The modules that refuse."""

CODE = re.compile(r"[a-z_]+(\.[a-z_0-9]*[a-z0-9])+|unfollowed|stopped|level|nothing_against")
PARTS = {
    "event": {"happens.other", *(f"happens.{kind}" for kind in SHAPES)},
    "check": {f"{part}.{check}" for part in ("asks", "fails", "passes") for check in Check},
    "cause": {f"legality.{part}_{cause}" for part in ("cause", "unburned") for cause in BurnCause},
    "field": {
        f"legality.other_{name}"
        for name in ("direction", "reason", "seat", "taker", "shithead", "cleared_by")
    }
    | {"legality.count", "legality.place", "sequence.turn_limit", "sequence.clock"},
    "file": {"bytes.changed", "bytes.removed", "bytes.added"},
    "kind": {f"substitution.{kind}" for kind in SHAPES},
    "claim": {f"{part}.{one}" for part in ("claim", "name", "against", "doubted") for one in Claim},
    "level": {f"reached.{level}" for level in LEVELS}
    | {f"{level}.so_far" for level in ("level", "level.up_to")},
    "alone": {f"alone.{part}" for part in ("record", "deck", "entropy", "move", "outcome")}
    | {"alone.other_move", "alone.in_favour", "alone.signature", "alone.no_proof"},
    "move": {f"signed.{kind}" for kind in MOVES if kind != "try_stock"},
    "zone": {f"zones.{zone}" for zone in ("stock", "burned", "pile", "hand", "up", "down")},
    "value": {"value.seat", "value.and", "value.or"},
}
"""The codes that the program puts together from a name."""


def constants(path: Path) -> Iterator[str]:
    """Yield every text of a module or template, and each part of one with values in it."""
    if path.suffix == ".jinja":
        yield from re.findall(r'"([^"]+)"', path.read_text("utf-8"))
        return
    tree = ast.parse(path.read_text("utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


@cache
def used() -> frozenset[str]:
    """Return the codes that the program can produce."""
    families = {key.partition(".")[0] for key in (*REPORT, *VERIFY, "did.")}
    texts = {text for path in SOURCES for text in constants(path)}
    return frozenset(
        text for text in texts if CODE.fullmatch(text) and text.partition(".")[0] in families
    )


OTHERS = re.compile(r"deal\.|report\.html|witness\.(key|state)")
"""Paths of settings and names of files, which look like codes."""


def test_each_code_of_the_program_has_a_sentence() -> None:
    lacking = [code for code in used() if code not in catalogue() and not OTHERS.match(code)]
    assert len(used()) > 200
    assert lacking == []
    assert [code for code in PARTS["check"] if code not in catalogue()] == []
    assert [code for code in PARTS["cause"] | PARTS["field"] if code not in catalogue()] == []


def test_each_sentence_of_the_verifier_belongs_to_a_code_of_the_program() -> None:
    made = used().union(*PARTS.values())
    assert [code for code in REPORT if code not in made] == []


SAMPLE: dict[str, Value] = {name: (1, 2) if name == "seats" else 1 for name in SEATS} | {
    name: ("7h", "X0") if name in ("cards", "fitting") else "Th/2" for name in CARDS
}


def values_of(text: str) -> dict[str, Value]:
    names = re.findall(r"\{(\w+)\}", text)
    named = dict.fromkeys(EVENTS, "pile_burned") | dict.fromkeys(RANKS, "8")
    named |= dict.fromkeys(CODES, "panel.is.open")
    return {name: SAMPLE.get(name, named.get(name, 3)) for name in names}


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_sentence_can_be_shown_with_its_values(language: str) -> None:
    """Also in a language that lacks it: it is then shown in English."""
    for code, text in catalogue().items():
        for n in (1, 2):
            shown = sentence(code, {**values_of(text), "n": n}, Voice(language=language))
            assert shown and not re.search(r"[{}|]|\N{EN DASH}", shown), (code, shown)
            own = code in catalogue(language)
            assert own or shown == sentence(code, {**values_of(text), "n": n})


def test_each_refusal_belongs_to_a_code_of_the_rules() -> None:
    """The codes of the rules, and those that are put together from a side or a unit of time."""
    texts = {text for path in REFUSING for text in constants(path)}
    made = {text for text in texts if re.fullmatch(r"(refused|panel)\.[a-z_.]+[a-z]", text)}
    sides = {f"panel.{part}.{side}" for part in ("refused_by", "already") for side in Party}
    spans = {f"span.{unit}" for unit in ("day", "hour", "minute", "second")}
    assert made | sides | spans == set(REFUSALS)
    assert len(made) > 80


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_sentence_stands_twice_in_a_language(language: str) -> None:
    """To change the words of a finding, a caption or a refusal takes one place a language."""
    parts = [path for path in STRINGS.rglob(f"{language}.json") if path.parent.name in SAID]
    texts = [text for path in parts for text in json.loads(path.read_text("utf-8")).values()]
    texts += [text for code, text in catalogue(language).items() if code.startswith("did.")]
    whole = [text.rstrip(".").lower() for text in texts if len(text) > MIN_LENGTH]
    assert [text for text in set(whole) if whole.count(text) > 1] == []


SAID = ("verify", "report", "refusals")
MIN_LENGTH = 24
"""Characters from which on a text is a sentence, not a label."""


def test_no_sentence_of_the_verifier_is_long() -> None:
    for code, text in REPORT.items():
        for part in re.split(r"(?<=[.!?:])\s|\|", text):
            assert len(part.split()) <= MAX_WORDS - 3, (code, part)


def test_a_language_has_no_sentence_that_english_lacks() -> None:
    for language in LANGUAGES:
        assert set(catalogue(language)) <= set(catalogue()), language


def test_seats_are_named_as_the_caller_names_them() -> None:
    names = ("Ada", "Bob").__getitem__
    assert sentence("outside.seat_keys", {"seats": [0, 1], "n": 2}, Voice(seat_name=names)) == (
        "The keys of Ada and Bob from outside are those in the record."
    )


def test_a_finding_stored_before_it_had_a_code_is_still_shown() -> None:
    """Findings of disputes are stored; those of earlier releases have their texts only."""
    older = {"check": "event", "result": "fail", "seq": 5, "rule": "P7"}
    older["text"] = "legality fails here: not allowed: a 3 does not fit on the pile"
    assert in_words(older) == "The rules do not allow this, or lead to another result."
    assert detail_of(older) == "a 3 does not fit on the pile"
    text = "the game is not sealed: it is unfinished"
    missing = {**older, "check": "seal", "result": "missing", "text": text}
    assert in_words(missing) == "The game is not sealed."
    assert in_words({**missing, "result": "pass"}).startswith("The game is over")

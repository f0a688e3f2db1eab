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
from service.audit.knowledge import KnownBy
from service.domain.dispute import Charge, Party
from service.domain.events import BurnCause
from service.replay.sentences import (
    CARDS,
    CODES,
    EVENTS,
    RANKS,
    SEATS,
    Sentence,
    Value,
    Voice,
    catalogue,
    sentence,
    values_json,
)
from service.shx.bundle import Bundle
from service.shx.event_shapes import EVENTS as SHAPES
from service.store.events import QuotaKind
from service.verify.claims import Claim
from service.verify.clauses import MAX_WORDS
from service.verify.evidence import OutsideEvidence
from service.verify.finding import Check
from service.verify.report import LEVELS
from service.verify.stored_findings import finding_json, in_words
from service.verify.verify import verify_bundle

ROOT = Path(__file__).parents[3]
STRINGS = ROOT / "service" / "words"
LANGUAGES = sorted(path.stem for path in STRINGS.glob("*.json"))
REPORT, FINDINGS, VERIFY, REFUSALS = (
    json.loads((STRINGS / part / "en.json").read_text("utf-8"))
    for part in ("report", "findings", "verify", "refusals")
)
SOURCES = (
    *sorted((ROOT / "service" / "verify").glob("*.*")),
    *sorted((ROOT / "service" / "audit").glob("*.py")),
    *sorted((ROOT / "service" / "replay").glob("*.py")),
    *sorted((ROOT / "service" / "cli").glob("*.py")),
    *sorted((ROOT / "service" / "application").rglob("*.py")),
)
"""The modules that make sentences from codes."""

REFUSING = (
    ROOT / "service" / "job_queue.py",
    *(
        path
        for part in ("domain", "audit", "verify", "application", "api")
        for path in sorted((ROOT / "service" / part).rglob("*.py"))
    ),
)
"""The modules that refuse."""

NAMED = {"not_found": "absent", "stale": "stale", "check_known": "stale"}
"""The families of the functions that put a code together from the name of a thing."""

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
    "value": {"value.and", "value.or"},
    "by": {f"audit.by.{how}" for how in KnownBy},
    "side": {f"receipts.of.{side}" for side in Party},
    "charge": {f"charge.shown.{charge}" for charge in Charge},
}
"""The codes that the program puts together from a name."""


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(ast.parse(path.read_text("utf-8"))))


def constants(path: Path) -> Iterator[str]:
    """Yield every text of a module or template, and each part of one with values in it."""
    if path.suffix == ".jinja":
        yield from re.findall(r'"([^"]+)"', path.read_text("utf-8"))
        return
    for node in nodes(path):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


@cache
def used() -> frozenset[str]:
    """Return the codes that the program can produce."""
    families = {key.partition(".")[0] for key in (*REPORT, *FINDINGS, *VERIFY, "did.")}
    texts = {text for path in SOURCES for text in constants(path)}
    return frozenset(
        text for text in texts if CODE.fullmatch(text) and text.partition(".")[0] in families
    )


OTHERS = re.compile(r"deal\.|report\.html|witness\.(key|state)")
"""Paths of settings and names of files, which look like codes."""


@pytest.mark.heavy
def test_each_code_of_the_program_has_a_sentence() -> None:
    lacking = [code for code in used() if code not in catalogue() and not OTHERS.match(code)]
    assert len(used()) > 200
    assert lacking == []
    assert [code for code in PARTS["check"] | PARTS["charge"] if code not in catalogue()] == []
    assert [code for code in PARTS["cause"] | PARTS["field"] if code not in catalogue()] == []


def test_each_sentence_of_the_verifier_belongs_to_a_code_of_the_program() -> None:
    made = used().union(*PARTS.values(), named())
    assert [code for code in (*REPORT, *FINDINGS) if code not in made] == []


SAMPLE: dict[str, Value] = {name: (1, 2) if name == "seats" else 1 for name in SEATS} | {
    name: ("7h", "X0") if name in ("cards", "fitting") else "Th/2" for name in CARDS
}


MISSING = "\N{EN DASH}"
"""The text in place of a value that is missing."""


def values_of(text: str) -> dict[str, Value]:
    names = re.findall(r"\{(\w+)\}", text)
    named = dict.fromkeys(EVENTS, "pile_burned") | dict.fromkeys(RANKS, "8")
    named |= dict.fromkeys(CODES, "panel.is.open")
    return {name: SAMPLE.get(name, named.get(name, 3)) for name in names}


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_sentence_can_be_shown_with_its_values(language: str) -> None:
    """Also in a language that lacks it: it is then shown in English."""
    for code, text in catalogue().items():
        assert catalogue(language).get(code, text).count("|") <= 1, code
        for n in (1, 2):
            shown = sentence(code, {**values_of(text), "n": n}, Voice(language=language))
            assert shown and not re.search(r"[{}|]", shown), (code, shown)
            assert MISSING in text or MISSING not in shown, (code, shown)
            own = code in catalogue(language)
            assert own or shown == sentence(code, {**values_of(text), "n": n})


@cache
def named() -> frozenset[str]:
    """Return the codes that functions of NAMED put together from the name of a thing."""
    return frozenset(
        f"{NAMED[node.func.id]}.{name.value}"
        for path in REFUSING
        for node in nodes(path)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in NAMED
        for name in ast.walk(node.args[0])
        if isinstance(name, ast.Constant) and isinstance(name.value, str)
    )


def test_each_refusal_belongs_to_a_code_of_the_program() -> None:
    """The codes in the code, and those that are put together from a side, a unit or a thing."""
    families = {code.partition(".")[0] for code in REFUSALS}
    texts = {text for path in REFUSING for text in constants(path)}
    made = {text for text in texts if CODE.fullmatch(text) and text.partition(".")[0] in families}
    sides = {f"panel.{part}.{side}" for part in ("refused_by", "already") for side in Party}
    spans = {f"span.{unit}" for unit in ("day", "hour", "minute", "second")}
    quotas = {f"quota.{kind}" for kind in QuotaKind}
    urls = {
        f"webhook.{part}"
        for part in ("form", "address", "scheme", "host", "login", "port", "private")
    }
    assert made | sides | spans | quotas | urls | named() - set(REPORT) == set(REFUSALS)
    assert len(made) > 200


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_sentence_stands_twice_in_a_language(language: str) -> None:
    """To change the words of a finding, a caption or a refusal takes one place a language."""
    parts = [path for path in STRINGS.rglob(f"{language}.json") if path.parent.name in SAID]
    texts = [text for path in parts for text in json.loads(path.read_text("utf-8")).values()]
    texts += [text for code, text in catalogue(language).items() if code.startswith("did.")]
    whole = [text.rstrip(".").lower() for text in texts if len(text) > MIN_LENGTH]
    assert [text for text in set(whole) if whole.count(text) > 1] == []


SAID = ("verify", "findings", "report", "refusals")
MIN_LENGTH = 24
"""Characters from which on a text is a sentence, not a label."""


def test_no_sentence_of_the_verifier_is_long() -> None:
    for code, text in {**REPORT, **FINDINGS}.items():
        if code.startswith("about."):
            continue  # limits of statistics, which stand under a table
        for part in re.split(r"(?<=[.!?:])\s|\|", text):
            assert len(part.split()) <= MAX_WORDS - 3, (code, part)


def test_a_language_has_no_sentence_that_english_lacks() -> None:
    for language in LANGUAGES:
        assert set(catalogue(language)) <= set(catalogue()), language


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_language_has_every_sentence_but_those_of_the_command_line(language: str) -> None:
    assert set(catalogue()) - set(catalogue(language)) <= set(REPORT)


def test_no_code_stands_in_two_folders() -> None:
    parts = [*STRINGS.rglob("en.json")]
    codes = [code for path in parts for code in json.loads(path.read_text("utf-8"))]
    assert len(codes) == len(set(codes))


def test_no_module_repeats_a_sentence_of_the_catalogue() -> None:
    """To change the words of a sentence takes one place a language."""
    lines = [re.split(r"\{\w+\}|\|", text) for text in {**REPORT, **FINDINGS, **REFUSALS}.values()]
    whole = {part.strip(" .:,;") for parts in lines for part in parts}
    long = {part for part in whole if len(part) > REPEATED and " " in part}
    modules = {path for path in (*SOURCES, *REFUSING) if path.suffix == ".py"}
    texts = {path.name: "\n".join(set(constants(path)) - docstrings(path)) for path in modules}
    repeated = {(name, part) for name, text in texts.items() for part in long if part in text}
    assert repeated == set()


REPEATED = 32
"""Characters from which on a part of a sentence is no common phrase."""


def docstrings(path: Path) -> set[object]:
    found = (node.value for node in nodes(path) if isinstance(node, ast.Expr))
    return {value.value for value in found if isinstance(value, ast.Constant)}


def test_a_stored_sentence_may_have_another_one_in_it() -> None:
    """A finding of a dispute is stored as JSON, and read again."""
    values = values_json({"refusal": Sentence(code="refused.must_play")})
    stored = json.loads(json.dumps({"code": "legality.refused", "values": values}))
    assert in_words({**stored, "check": "event", "result": "fail", "seq": 5, "text": ""}) == (
        "The rules forbid this: a seat that can play must play."
    )


def test_the_number_decides_the_form_of_a_sentence() -> None:
    for code, name in (("legality.cards_drawn", "count"), ("custody.pile", "found")):
        values = {"seat": 1, "expected": 7}
        assert " 1 card " in sentence(code, {**values, name: 1})
        assert " 2 cards " in sentence(code, {**values, name: 2})


def test_a_finding_has_what_is_known_beyond_its_first_sentence() -> None:
    """So a page can write all of it in the language of its reader."""
    bundle = Bundle(lines=(b"no event",) * 3, files={})
    found = next(one for one in verify_bundle(bundle, OutsideEvidence()).findings if one.further)
    shown = finding_json(found)
    assert shown["more"]
    for more in shown["more"]:
        assert sentence(more["code"], more["values"]) == more["text"]
        assert more["text"] in shown["text"]
    assert [one.code for one in found.more] == ["report.others.at"]


def test_seats_are_named_as_the_caller_names_them() -> None:
    names = ("Ada", "Bob").__getitem__
    assert sentence("outside.seat_keys", {"seats": [0, 1], "n": 2}, Voice(seat_name=names)) == (
        "The keys of Ada and Bob from outside are those in the record."
    )

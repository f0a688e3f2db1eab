"""What the two verifiers read: nesting, characters, refused attempts, receipts and cut logs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import orjson
import pytest

from service.shx.bundle import REFUSALS
from service.shx.moves import MAX_REFUSALS_PER_SEAT, refusals_file, seal_of
from service.verify.evidence import OutsideEvidence
from tests.tamper import Forgery, sample, sample_bundle, sample_lines
from tests.unit.verify.test_anchoring import LAST, LINES, SERVER, receipt
from tests.web.node import Answer, Case, answer_of, differences, in_node


def judged(cases: Sequence[Case]) -> dict[str, Answer]:
    """Return the answer for each case, on which both verifiers agree."""
    outputs = in_node(cases)
    assert differences(cases, outputs) == []
    return {case.name: answer_of(output) for case, output in zip(cases, outputs, strict=True)}


def failed(answer: Answer) -> dict[str, int | None]:
    return {check: seq for check, (result, seq) in answer.items() if result == "fail"}


def nested(levels: int, innermost: bytes) -> Case:
    """Return a log whose first event has a number of levels, itself included."""
    forgery = sample("shithead")
    forgery.data(0)["ruleset"]["options"] = {"x": "here"}
    lists = levels - 4  # in the event, its data, the ruleset and the options
    deep = b"[" * lists + innermost + b"]" * lists
    first, *others = forgery.lines()
    return Case(name=f"{levels} {innermost!r}", lines=(first.replace(b'"here"', deep), *others))


def test_a_log_has_64_levels_and_an_empty_list_counts_as_one() -> None:
    cases = [nested(64, b""), nested(64, b"1"), nested(65, b""), nested(65, b"1")]
    found = judged(cases)
    assert [case.name for case in cases if "bytes" in failed(found[case.name])] == [
        "65 b''",
        "65 b'1'",
    ]


def with_string(text: str, *, place: str) -> Case:
    """Return a log with a string in its first event, whose bytes are written without checks."""
    forgery = sample("shithead")
    data = forgery.data(0)
    if place == "name":
        data["engine"]["name"] = "here"
    elif place == "key":
        data["ruleset"]["options"] = {"here": 1}
    else:
        data["ruleset"]["options"] = {"x": ["here"]}
    first, *others = forgery.lines()
    line = first.replace(b'"here"', orjson.dumps(text))
    return Case(name=f"{text[:4]!r} {len(text)} {place}", lines=(line, *others))


@pytest.mark.parametrize(
    "text",
    [
        "\u00e9",  # one code point in normal form C
        "e\u0301",  # the same in two
        "\U00011f00",  # of Unicode 15.0: older runtimes do not know it
        "\u0378",  # unassigned
        "\u0001",
        "\n",
        "\x7f",
        "\U0001f0a1",
    ],
)
def test_a_string_that_is_not_printable_ascii_fails_bytes(text: str) -> None:
    """The normal form of other characters depends on the version of Unicode."""
    cases = [with_string(text, place=place) for place in ("name", "key", "value")]
    for answer in judged(cases).values():
        assert failed(answer)["bytes"] == 0


def test_the_name_of_the_engine_has_1_to_300_characters() -> None:
    cases = [with_string("x" * size, place="name") for size in (0, 1, 300, 301)]
    found = [("bytes" in failed(answer)) for answer in judged(cases).values()]
    assert found == [True, False, False, True]


def sealed_attempts() -> Iterator[tuple[str, bytes]]:
    """Yield files of refused attempts of one game, all but the first two with a fault."""
    rows: list[dict[str, Any]] = [
        orjson.loads(line)
        for line in sample_bundle("shithead-refused-attempts").files[REFUSALS].splitlines()
    ]
    good = refusals_file(rows)
    yield "good", good
    yield "as many as a seat may have", refusals_file([rows[0]] * MAX_REFUSALS_PER_SEAT)
    yield "reordered", refusals_file(rows[::-1])
    yield "junk", good + b"hello\n"
    yield "an empty line", good + b"\n"
    yield "spaces", good.replace(b'"at":', b'"at": ')
    yield "a number as rule", refusals_file([{**rows[0], "rule": 1}])
    yield "an empty rule", refusals_file([{**rows[0], "rule": ""}])
    yield "another field", refusals_file([{**rows[0], "text": "x"}])
    yield "a word as move", refusals_file([{**rows[0], "move": "pass"}])
    yield "no time", refusals_file([{**rows[0], "at": "yesterday"}])
    yield "no seat of the table", refusals_file([{**rows[0], "seat": 9}])
    yield "no last line feed", good[:-1]
    yield "one too many", refusals_file([rows[0]] * (MAX_REFUSALS_PER_SEAT + 1))


@pytest.mark.heavy
def test_refused_attempts_of_another_form_fail_the_seal_under_the_right_hash() -> None:
    cases = []
    for name, data in sealed_attempts():
        forgery = sample("shithead-refused-attempts")
        forgery.events[-1]["data"]["refusals"] = seal_of(data).as_json()
        cases.append(Case(name=name, lines=forgery.lines(), files={REFUSALS: data}))
    for number, (name, answer) in enumerate(judged(cases).items()):
        end = len(cases[0].lines) - 1
        assert failed(answer) == ({} if number < 2 else {"seal": end}), name


def last_moves() -> Iterator[tuple[Case, bool]]:
    """Yield logs cut within their last move, and whether its first event shows that it goes on."""
    for name in ("shithead", "shithead-winner", "leeds-forfeit", "shithead-stalemate"):
        lines = sample_lines(name)
        events = Forgery(lines).events
        ending = [seq for seq, event in enumerate(events) if event["at"] == events[-1]["at"]]
        for end in range(ending[0], len(events)):
            case = Case(name=f"{name} up to {end}", lines=lines[: end + 1])
            yield case, end < len(events) - 1


@pytest.mark.heavy
def test_a_log_that_ends_within_its_last_move_fails_order_at_its_end() -> None:
    cases, open_ends = zip(*last_moves(), strict=True)
    assert sum(open_ends) > 5
    for case, answer, cut in zip(cases, judged(cases).values(), open_ends, strict=True):
        expected = {"order": len(case.lines) - 1} if cut else {}
        assert {check: seq for check, seq in failed(answer).items() if check == "order"} == (
            expected
        ), case.name


def test_a_receipt_with_carriage_returns_is_refused() -> None:
    """A C2SP note has no control character but the line feed."""
    notes = {"LF": receipt(LAST), "CR LF": receipt(LAST).replace(b"\n", b"\r\n")}
    keys = (SERVER.verifier,)
    cases = [
        Case(
            name=f"{name} {'outside' if outside else 'inside'}",
            lines=tuple(LINES),
            files={} if outside else {"receipts/a.note": note},
            evidence=OutsideEvidence(receipts=(note,) if outside else (), server_keys=keys),
        )
        for name, note in notes.items()
        for outside in (True, False)
    ]
    found = {name: "receipts" in failed(answer) for name, answer in judged(cases).items()}
    assert found == {
        "LF outside": False,
        "LF inside": False,
        "CR LF outside": True,
        "CR LF inside": True,
    }

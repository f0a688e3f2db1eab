"""The check `seal`: the seal proves the refused attempts of a bundle."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from service.shx.bundle import REFUSALS, Bundle
from service.shx.canonical import canonical, sha256
from service.shx.moves import NONE_REFUSED, refusals_file, seal_of
from service.verify.finding import Check, Finding, Result
from service.verify.report import Report, audit_object, report_html, report_text
from service.verify.verify import verify_bundle
from tests.tamper import Forgery, failing, sample, sample_bundle, sample_lines, with_short_sentences

Row = dict[str, Any]
UNPROVEN = "unproven: they rest on the file alone"


def rows_of(name: str = "shithead-refused-attempts") -> list[Row]:
    """Return the file of refused attempts of a sample."""
    return [json.loads(line) for line in sample_bundle(name).files[REFUSALS].splitlines()]


def report(forgery: Forgery, files: Mapping[str, bytes]) -> Report:
    """Return the report on a bundle of a forged log and these files."""
    return with_short_sentences(verify_bundle(Bundle(lines=forgery.lines(), files=dict(files))))


def seal_finding(found: Report) -> Finding:
    return next(f for f in found.findings if f.check is Check.SEAL)


def shown(found: Report) -> list[str]:
    """Return the report in all its output formats."""
    return [
        report_text(found),
        report_html([("game", found)]),
        json.dumps(audit_object(found)),
    ]


@pytest.mark.parametrize("name", ["shithead-refused-attempts", "leeds", "shithead-aborted"])
def test_a_sample_passes_with_its_refused_attempts(name: str) -> None:
    found = verify_bundle(sample_bundle(name))
    assert (failing(found), found.level, seal_finding(found).text) == ({}, "L1", None)
    assert not any("unproven" in text for text in shown(found))


@pytest.mark.attack("REFUSALS", "attempts dropped and declared deleted", check="the remarks")
def test_deleted_attempts_are_noted_and_pass() -> None:
    found = verify_bundle(Bundle(lines=sample_lines("shithead-refused-attempts")))
    assert seal_finding(found).result is Result.PASS
    assert (found.result, found.level) == (Result.PASS, "L1")
    for text in shown(found):
        assert "The list of the 2 refused moves is not in the file" in text


def changed(change: Callable[[list[Row]], object]) -> bytes:
    rows = rows_of()
    change(rows)
    return refusals_file(rows)


@pytest.mark.attack(
    "REFUSALS", "an attempt invented, dropped, moved or changed in a bundle", check="seal"
)
@pytest.mark.parametrize(
    "data",
    [
        changed(lambda rows: rows.append({**rows[0], "seat": 0})),
        changed(lambda rows: rows.pop()),
        changed(lambda rows: rows[0].update(seat=1)),
        changed(lambda rows: rows[0].update(rule="P1")),
        changed(lambda rows: rows[1].update(at="2026-11-21T02:46:24.735646Z")),
        changed(lambda rows: rows[0]["move"].update(cards=["9c"])),
        changed(lambda rows: rows.reverse()),
        changed(lambda rows: rows.clear()),
        changed(lambda rows: None)[:-1],
        changed(lambda rows: None) + b"\n",
        changed(lambda rows: None).replace(b'"at"', b'"at" '),
    ],
)
def test_attempts_that_differ_from_the_seal_fail(data: bytes) -> None:
    found = verify_bundle(
        Bundle(lines=sample_lines("shithead-refused-attempts"), files={REFUSALS: data})
    )
    assert failing(found) == {Check.SEAL: 301}
    assert "the supplied evidence proves nothing" in found.wording, "the log itself is valid"
    assert "nothing against the deck, the history or the actions" in found.wording


@pytest.mark.attack("REFUSALS", "attempts although the seal lists none", check="seal")
def test_a_file_of_attempts_not_named_by_the_seal_fails() -> None:
    data = sample_bundle("shithead-refused-attempts").files[REFUSALS]
    for name in ("leeds", "shithead-aborted"):
        found = verify_bundle(Bundle(lines=sample_lines(name), files={REFUSALS: data}))
        assert set(failing(found)) == {Check.SEAL}


@pytest.mark.parametrize(
    ("count", "digest"), [(0, sha256(b"x").hex()), (2, NONE_REFUSED.sha256), (1, sha256(b"").hex())]
)
def test_a_seal_with_contradictory_count_and_hash_fails(count: int, digest: str) -> None:
    forgery = sample("shithead-refused-attempts")
    forgery.events[-1]["data"]["refusals"] = {"count": count, "sha256": digest}
    assert failing(report(forgery, {})) == {Check.SEAL: 301}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda rows: rows.reverse(), "earlier"),
        (lambda rows: rows[1].update(seat=3), "/seat = 3"),
        (lambda rows: rows[0].update(note="more"), "added"),
        (lambda rows: rows[0].pop("rule"), "missing"),
        (lambda rows: rows.__setitem__(slice(None), [rows[0]] * 201), "too many"),
    ],
)
def test_a_malformed_file_fails_even_if_the_seal_matches(
    change: Callable[[list[Row]], object], why: str
) -> None:
    """A seal that matches a malformed file does not make the file valid."""
    data, forgery = changed(change), sample("shithead-refused-attempts")
    forgery.events[-1]["data"]["refusals"] = seal_of(data).as_json()
    found = report(forgery, {REFUSALS: data})
    assert failing(found) == {Check.SEAL: 301}
    assert why in str(seal_finding(found).text)


@pytest.mark.attack("REFUSALS", "attempts invented for a running game", check="the remarks")
def test_refusals_of_a_game_without_a_seal_are_shown_as_unproven() -> None:
    bundle = sample_bundle("shithead-refused-attempts")
    found = verify_bundle(Bundle(lines=bundle.lines[:40], files=bundle.files))
    assert seal_finding(found).result is Result.MISSING
    for text in shown(found):
        assert "it rests on the file alone." in text


@pytest.mark.attack("REFUSALS", "a ruling invented under dispute/", check="the remarks")
@pytest.mark.parametrize("name", ["shithead", "shithead-refused-attempts"])
def test_dispute_files_are_shown_as_unproven(name: str) -> None:
    bundle = sample_bundle(name)
    files = {**bundle.files, "dispute/one.json": canonical({"ruling": "cad"})}
    found = verify_bundle(Bundle(lines=bundle.lines, files=files))
    assert failing(found) == {}
    for text in shown(found):
        assert "1 file about disputes is not covered by any seal: it is unproven." in text


@pytest.mark.parametrize("name", ["shithead-refused-attempts", "shithead-aborted"])
def test_a_record_made_before_the_first_release_is_refused_and_named(name: str) -> None:
    first, last, both = sample(name), sample(name), sample(name)
    end = len(last.events) - 1
    first.events[0]["v"] = 2
    del last.data(end)["refusals"]
    both.events[0]["v"] = both.events[end]["v"] = 2
    for forgery, seq in ((first, 0), (last, end), (both, 0)):
        found = verify_bundle(Bundle(lines=forgery.lines()))
        assert failing(found)[Check.BYTES] == seq
        for text in shown(found):
            assert "This record was made before 0.1.0" in text


@pytest.mark.parametrize("v", [0, 2, 3])
def test_another_version_of_an_event_is_invalid(v: int) -> None:
    other = sample("shithead")
    other.events[1]["v"] = v
    assert failing(report(other, {}))[Check.BYTES] == 1

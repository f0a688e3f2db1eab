"""The conformance corpus: both verifiers give the declared verdict on its files."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from service.cli.narration import People, narrated
from service.shx.bundle import Bundle
from service.verify.finding import Check, Result
from service.verify.verify import verify_bundle
from tests.conformance import bundle_cases, rule_cases
from tests.conformance.case import Case as Declared
from tests.conformance.check import (
    CORPUS,
    declared,
    python_verdict,
    script_verdicts,
    stored,
)
from tests.conformance.verdicts import MODULES, entry, files_of, sample_verdicts
from tests.custom_games import hand_by, rulesets_with, title, values
from tests.examples import is_long, stride
from tests.tamper import SAMPLES, Forgery
from tests.web.node import Case, answer_of, in_node
from tests.write_conformance import FOLDER

VERDICTS = CORPUS / "verdicts.json"
FILES = {path.stem: path for path in sorted(FOLDER.glob("*.jsonl"))}


def corpus() -> list[Case]:
    return [
        Case(name=name, lines=tuple(path.read_bytes().splitlines())) for name, path in FILES.items()
    ]


def accused(cases: Sequence[Case], *, every: int) -> list[str]:
    """
    Return the failed checks of honest hands: in the script of all, in Python of each `every`th.

    The checks of Python take most of the time.
    """
    found = []
    for case, output in zip(cases, in_node(cases), strict=True):
        failed = [check for check, (result, _) in answer_of(output).items() if result == "fail"]
        found += [f"{case.name}: {check} in JavaScript" for check in failed]
    for case in cases[::every]:
        report = verify_bundle(Bundle(lines=case.lines, files={}))
        failed = [f.check.value for f in report.findings if f.result is Result.FAIL]
        found += [f"{case.name}: {check} in Python" for check in failed]
    return found


def test_the_corpus_has_one_hand_for_each_value_of_each_setting() -> None:
    wanted = [title(setting, value) for setting, value in values()]
    assert len(wanted) == len(set(wanted)) > 100
    assert [name.rpartition(".")[0] for name in FILES] == sorted(wanted)


@pytest.mark.heavy
def test_no_hand_of_the_corpus_is_accused_by_a_verifier() -> None:
    assert accused(corpus(), every=stride(12)) == []


@pytest.mark.heavy
def test_the_corpus_is_what_the_command_writes() -> None:
    for setting, value in values()[:: stride(30)]:
        named = title(setting, value)
        [name] = [name for name in FILES if name.rpartition(".")[0] == named]
        trees = dict(rulesets_with(setting, value))
        lines = hand_by(trees[name.rpartition(".")[2]], name=name)
        assert FILES[name].read_bytes() == b"".join(line + b"\n" for line in lines), name


@pytest.mark.long
def test_no_hand_of_any_base_with_any_value_is_accused_by_a_verifier() -> None:
    cases = [
        Case(name=f"{title(*value)}.{base}", lines=tuple(hand_by(tree, name=f"{value} {base}")))
        for value in values()
        for base, tree in rulesets_with(*value)
    ]
    assert accused(cases, every=1) == []


def test_a_failed_stock_card_goes_to_the_seat_that_tried_it_and_the_pile_to_the_taker() -> None:
    """A custom `egilsson` in which the previous player takes the pile, and the same one goes on."""
    tree = dict(rulesets_with("pick_up.taker", "previous"))["egilsson"]
    case = Case(name="previous", lines=tuple(hand_by(tree, name="failed stock card")))
    forgery = Forgery(case.lines)
    failed = [event["data"] for event in forgery.events if event["type"] == "stock_failed"]
    apart = [data for data in failed if data["taker"] != data["seat"] and data["count"]]
    assert apart
    assert accused([case], every=1) == []
    names = ("Ada", "Bob", "Cy")
    [text] = narrated([{"type": "stock_failed", "data": apart[0]}], People(names=names, me=9))
    seat, taker = names[apart[0]["seat"]], names[apart[0]["taker"]]
    assert text.startswith(seat) and text.endswith(f" does not fit, and {taker} took the pile.")


HONEST = "settings/"
MAX_SIZE = 8_000_000
"""Bytes of the whole corpus."""


def with_a_verdict() -> list[Declared]:
    """
    Return the cases other than the honest hands, which other tests verify.

    Those of 100,000 events take half a minute in each verifier: they are left to a long run.
    """
    others = [case for case in stored() if not case.name.startswith(HONEST)]
    return [case for case in others if case.repeat is None or is_long()]


@pytest.mark.heavy
def test_the_python_verifier_gives_every_declared_verdict() -> None:
    cases = with_a_verdict()
    assert len(cases) > 250
    for case in cases:
        assert python_verdict(case) == declared(case), case.name


@pytest.mark.heavy
def test_the_script_gives_every_declared_verdict() -> None:
    cases = with_a_verdict()
    for case, found in zip(cases, script_verdicts(cases), strict=True):
        assert found == declared(case), case.name


@pytest.mark.heavy
def test_the_files_and_verdicts_are_those_that_the_mutations_make() -> None:
    """
    `python -m tests.write_conformance` writes them again.

    The bytes of compressed archives depend on the version of zlib: only verdicts are compared.
    """
    listed = json.loads(VERDICTS.read_text("utf-8"))["cases"]
    for module in MODULES:
        if module is rule_cases and not is_long():
            continue
        for case in module.cases():
            assert entry(case) in listed
            for name, content in ({} if module is bundle_cases else files_of(case)).items():
                assert (CORPUS / name).read_bytes() == content, name


def test_every_file_of_the_corpus_has_a_verdict_and_the_corpus_is_small() -> None:
    listed = json.loads(VERDICTS.read_text("utf-8"))["cases"]
    evidence = [names for one in listed for names in one.get("evidence", {}).values()]
    beside = [name for names in evidence for name in _files(names)]
    named = [one["file"] for one in listed if "repeat" not in one]
    assert len(named) == len(set(named)) > 500
    there = {str(p.relative_to(CORPUS)) for p in CORPUS.rglob("*") if p.is_file()}
    assert there == {*named, *beside, "verdicts.json", "README.md"}
    assert sum((CORPUS / name).stat().st_size for name in there) < MAX_SIZE


def _files(names: object) -> list[str]:
    """Return those of some names that are of files."""
    return [n for n in names if n.startswith("evidence/")] if isinstance(names, list) else []


def test_every_check_fails_in_a_case_that_fails_no_other() -> None:
    alone = {check for case in stored() if len(case.failed) == 1 for check in case.failed}
    assert alone == {check.value for check in Check}


def test_the_samples_have_their_verdicts() -> None:
    text = (SAMPLES / "verdicts.json").read_text("utf-8")
    assert json.loads(text) == sample_verdicts()

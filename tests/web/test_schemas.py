"""What the JavaScript verifier takes for an object of the record fits its schema in ops/spec."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

import pytest

from ops.specification import SPEC
from service.shx.archives import read_zip
from tests.examples import stride
from tests.unit.test_specification_data import event_fits, validator
from tests.web.mutated.records import bases
from tests.web.mutated.values import mutate
from tests.web.node import ROOT, node

Judged = tuple[str, Any]
"""The kind of an object, and the object."""


def accepted(objects: Sequence[Judged]) -> list[bool]:
    """Return for each object whether the script accepts its form."""
    lines = (json.dumps({"kind": kind, "value": value}) for kind, value in objects)
    done = subprocess.run(
        [node(), ROOT / "tests" / "web" / "shapes.js"],
        input="".join(line + "\n" for line in lines),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def fits(kind: str, value: Any) -> bool:
    """Return whether an object fits its schema."""
    if kind != "event":
        return validator(kind).is_valid(value)
    known = isinstance(value, dict) and {"type", "v"} <= value.keys()
    return known and event_fits(json.dumps(value).encode())


def honest() -> Iterator[Judged]:
    """Yield events of all types, a manifest and a refused attempt."""
    files = read_zip((SPEC / "conformance" / "seal" / "honest.shx").read_bytes())
    yield "manifest", json.loads(files["manifest.json"])
    yield "refusals.line", json.loads(files["refusals.jsonl"].splitlines()[0])
    for base in bases():
        base.lines()
        yield from (("event", event) for event in base.events)


def mutated(count: int) -> Iterator[Judged]:
    """Yield objects with one value changed."""
    found = list(honest())
    for number in range(count):
        chance = Random(f"shape {number}")
        holder = [chance.choice(found if chance.random() < 0.8 else found[:2])]
        holder = json.loads(json.dumps(holder))
        mutate(holder, chance, below=(0, 1))
        yield holder[0][0], holder[0][1]


def test_honest_objects_are_accepted_by_the_script_and_fit_their_schemas() -> None:
    objects = list(honest())
    assert all(accepted(objects))
    assert all(fits(kind, value) for kind, value in objects)


@pytest.mark.heavy
def test_every_object_that_the_script_accepts_fits_its_schema() -> None:
    """Not the reverse: a schema cannot state which fields contradict each other."""
    objects = list(mutated(8000 // stride(8)))
    answers = accepted(objects)
    taken = [(kind, value) for (kind, value), ok in zip(objects, answers, strict=True) if ok]
    assert len(objects) / 20 < len(taken) < len(objects)
    assert [one for one in taken if not fits(*one)] == []
    left = [one for one, ok in zip(objects, answers, strict=True) if not ok]
    both = sum(not fits(*one) for one in left)
    assert both > len(left) * 0.8

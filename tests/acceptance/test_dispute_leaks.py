"""A dispute in a running game reveals no hidden information to any viewer."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from uuid import UUID

import pytest

from service.domain.dispute import Charge
from service.shx.archives import read_zip
from tests.acceptance.test_leaks import people_at, viewers_of
from tests.databases import Databases
from tests.indistinguishable_decks import (
    DIGITS,
    Deck,
    RecordedAnswer,
    Service,
    Step,
    Viewer,
    dealt,
    json_of,
    masked,
    script,
    twin_of,
)

STEPS = 18


def judged(service: Service, shown: dict[Viewer, list[RecordedAnswer]]) -> None:
    """Accuse the last seat that acted, request findings, and read the whole dispute."""
    game = f"/v1/games/{service.game}"
    events = json_of(service.ask("GET", f"{game}/events", None))["items"]
    acted = [event for event in events if event["by"] is not None]
    if not acted:
        return
    event = acted[-1]
    for number, charge in enumerate((Charge.ILLEGAL_MOVE, Charge.TIME)):
        accuser = (event["by"] + 1 + number) % service.people
        if accuser == event["by"]:
            continue
        body = {
            "accused": event["by"],
            "seq": event["seq"],
            "charge": charge.value,
            "statement": "I do not believe it.",
        }
        opened = service.ask("POST", f"{game}/disputes", accuser, json=body)
        assert opened.status == 201, opened.body
        if accuser in shown:
            shown[accuser].append(opened)
        dispute = json_of(opened)["id"]
        assert service.services.dispute_jobs.process(UUID(dispute)) == "done"
        for viewer, answers in shown.items():
            answers.append(service.ask("GET", f"/v1/disputes/{dispute}", viewer))
    paths = ("disputes", "evidence?profile=public", "audit/readings")
    for viewer, answers in shown.items():
        answers += [service.ask("GET", f"{game}/{path}", viewer) for path in paths]
        answers.append(service.ask("GET", "/v1/statistics/shuffles", viewer))


def everything_shown(
    service: Service, steps: Sequence[Step], viewers: Iterable[Viewer]
) -> dict[Viewer, list[RecordedAnswer]]:
    """Make the steps and open disputes between them; return every answer that each viewer gets."""
    shown: dict[Viewer, list[RecordedAnswer]] = {viewer: [] for viewer in viewers}
    for number, step in enumerate(steps):
        assert service.make(step).status == 201
        if number % 6 == 5:
            judged(service, shown)
    return shown


def leaves(archive: bytes, under: str = "") -> Iterator[tuple[str, bytes]]:
    """Yield the files of a bundle, and of the frozen ones in it, without the digits of hashes."""
    for name, content in read_zip(archive).items():
        if name.endswith(".shx"):
            yield from leaves(content, f"{under}{name}/")
        else:
            yield under + name, DIGITS.sub(lambda found: b"#" * len(found[0]), content)


@pytest.mark.parametrize("ruleset", ["shithead", "leeds", "covered-queen"])
@pytest.mark.heavy
def test_decks_that_look_equal_to_a_viewer_give_the_same_disputes(
    databases: Databases, ruleset: str
) -> None:
    rng, people = random.Random(f"disputes {ruleset}"), people_at(ruleset)
    twins: dict[Viewer, Deck | None] = {}
    with dealt(databases, ruleset, people) as service:
        steps = []
        for step in script(service, rng, steps=STEPS):
            assert service.make(step).status == 201
            steps.append(step)
        deck = service.entry_game().deck
        for viewer in viewers_of(people):
            twins[viewer] = twin_of(service, steps, viewer, rng)
    compared = 0
    with dealt(databases, ruleset, people, deck) as service:
        answers = everything_shown(service, steps, twins)
    for viewer, twin in twins.items():
        if twin is None:
            continue
        with dealt(databases, ruleset, people, twin) as service:
            [second] = everything_shown(service, steps, [viewer]).values()
        first = answers[viewer]
        assert len(first) == len(second) > 0
        for one, other in zip(first, second, strict=True):
            if one.body.startswith(b"PK"):
                assert dict(leaves(one.body)) == dict(leaves(other.body)), (viewer, one.to)
            else:
                assert masked(one) == masked(other), (viewer, one.to)
            compared += 1
    assert compared

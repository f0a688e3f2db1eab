"""Every change of one value of one event is caught, except changes that amount to a legal move."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import pytest

from service.verify.verify import verify_bundle
from tests.attacks.mutations import Mutation
from tests.attacks.mutations import mutations as mutations_of
from tests.tamper import LOGS, Event, Forgery, failing, sample_bundle, sample_lines

SHARES = 12
"""CI tests one change of every twelfth pattern; the long run four changes of every pattern."""

OTHER_ORDER = ("turned round", "first moved to the end")
EXPLAINED: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("cards_played cards", OTHER_ORDER, "a seat may name the cards of its play in any order"),
    ("cards_swapped up", OTHER_ORDER, "a seat may lay its cards on other slots, if unsigned"),
    ("cards_swapped hand", OTHER_ORDER, "a seat may take its cards from other slots"),
    ("table_laid stacks", OTHER_ORDER, "a seat may lay its stacks on other slots"),
    ("table_laid stacks.*", OTHER_ORDER, "a seat may lay the cards of a stack in any order"),
    ("game_ended shithead", ("to seat",), "a forfeit that no key signed is listed as unproven"),
    ("game_aborted cause", ("to",), "an operator may abort for any cause that the log allows"),
    ("game_aborted seat", ("to",), "an operator may name any seat that the game waits for"),
)  # fmt: skip
"""Changes after which a log may pass: the pattern, the kinds of change, and the reason."""

ChangedPlace = tuple[str, int, Mutation]


@cache
def events_of(name: str) -> tuple[Event, ...]:
    return tuple(json.loads(line) for line in sample_lines(name))


@cache
def patterns() -> dict[str, list[ChangedPlace]]:
    """Return every change of every event of every sample, by event type and pattern."""
    found: dict[str, list[ChangedPlace]] = defaultdict(list)
    for name in [path.stem for path in LOGS]:
        events = events_of(name)
        seats = len(events[0]["data"]["seats"])
        for seq, event in enumerate(events):
            for mutation in mutations_of(event, seats=seats):
                found[f"{event['type']} {mutation.pattern}"].append((name, seq, mutation))
    return dict(sorted(found.items()))


def survivors(pattern: str, tries: int) -> Iterator[ChangedPlace]:
    """Yield the changes of a pattern after which the log passes, each from another sample."""
    chance = random.Random(pattern)
    by_log: dict[str, list[ChangedPlace]] = defaultdict(list)
    for place in patterns()[pattern]:
        by_log[place[0]].append(place)
    for log in chance.sample(sorted(by_log), min(tries, len(by_log))):
        name, seq, mutation = chance.choice(by_log[log])
        forgery = Forgery(())
        forgery.events = [dict(event) for event in events_of(name)]
        forgery.events[seq]["data"] = mutation.applied(forgery.events[seq]["data"])
        bundle = replace(sample_bundle(name), lines=forgery.lines())
        if not failing(verify_bundle(bundle)):
            yield name, seq, mutation


def explained(pattern: str, name: str, seq: int) -> bool:
    """Return whether a change may pass: a legal move that contradicts no signature."""
    events = events_of(name)
    if events[-1]["data"]["deck"] is None and seq == 0:
        return True  # aborted before there was a deck: nothing depends on the first event yet
    if pattern == "entropy_committed commit another ending" and not _revealed(events, seq):
        return "auth" not in events[seq]  # no value opens it, and no key signed it
    if "auth" in events[seq]:
        return pattern.startswith("cards_played cards")  # which are signed as a set
    return any(
        pattern.startswith(f"{place} {kind}") for place, kinds, _ in EXPLAINED for kind in kinds
    )


def _revealed(events: tuple[Event, ...], seq: int) -> bool:
    """Return whether the seat of a commitment reveals its value later."""
    seat = events[seq]["data"]["seat"]
    later = (event for event in events[seq:] if event["type"] == "entropy_revealed")
    return any(event["data"]["seat"] == seat for event in later)


def unexplained(share: list[str], tries: int) -> list[str]:
    return [
        f"{pattern} in {name} at {seq}: {mutation.value}"
        for pattern in share
        for name, seq, mutation in survivors(pattern, tries)
        if not explained(pattern, name, seq)
    ]


@pytest.mark.attack("EDIT", "any one value of any event changed", check="any")
@pytest.mark.heavy
def test_a_log_with_one_changed_value_does_not_pass() -> None:
    """All hashes are recomputed, the seed is unchanged; a fixed share of all patterns."""
    assert unexplained(list(patterns())[::SHARES], tries=1) == []


@pytest.mark.long
@pytest.mark.parametrize("share", range(SHARES))
def test_no_log_with_one_changed_value_passes_in_the_long_run(share: int) -> None:
    assert unexplained(list(patterns())[share::SHARES], tries=4) == []


@pytest.mark.heavy
def test_every_explanation_applies_to_a_pattern_that_occurs() -> None:
    """An explanation without a pattern could hide a later fault."""
    every = list(patterns())
    for place, kinds, _ in EXPLAINED:
        for kind in kinds:
            assert any(pattern.startswith(f"{place} {kind}") for pattern in every), (place, kind)


def test_only_a_commitment_that_was_never_opened_may_be_changed() -> None:
    """In this aborted hand seats 1 and 0 committed, and only seat 0 revealed its value."""
    name, pattern = "shithead-aborted", "entropy_committed commit another ending"
    changed = {seq: mutation for log, seq, mutation in patterns()[pattern] if log == name}
    passed = []
    for seq, mutation in changed.items():
        forgery = Forgery(sample_lines(name))
        forgery.events[seq]["data"] = mutation.applied(forgery.events[seq]["data"])
        if not failing(verify_bundle(replace(sample_bundle(name), lines=forgery.lines()))):
            passed.append(seq)
    assert sorted(changed) == [1, 2]
    assert passed == [seq for seq in changed if explained(pattern, name, seq)] == [1]

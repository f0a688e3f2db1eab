"""Answers to a seat or the public do not depend on cards that the viewer cannot know."""

from __future__ import annotations

import random
from dataclasses import dataclass

import pytest

from service.rulesets.catalogue import catalogue, definition
from tests.databases import Databases
from tests.examples import is_long
from tests.indistinguishable_decks import (
    Deck,
    RecordedAnswer,
    Service,
    Step,
    Viewer,
    dealt,
    masked,
    script,
    twin_of,
)
from tests.views_of import all_responses

FIRST = ("shithead", "leeds", "covered-queen")
OTHERS = tuple(identity for identity in catalogue() if identity not in FIRST)
RULESETS = (*FIRST, *(pytest.param(other, marks=pytest.mark.long) for other in OTHERS))
STEPS = 16
EARLIER = (0, 3, 9)
"""Numbers of steps after which each viewer requests everything, as after the last one."""


@dataclass(frozen=True, kw_only=True)
class Played:
    """A script, the answers to each viewer, and decks that look equal to the viewer."""

    steps: tuple[Step, ...]
    answers: dict[Viewer, list[RecordedAnswer]]
    deck: Deck
    twins: dict[Viewer, Deck | None]


def requested_after(ruleset: str) -> set[int]:
    """Return the numbers of steps: in a short run the last, and another one for each ruleset."""
    return {STEPS, *(EARLIER if is_long() else EARLIER[FIRST.index(ruleset) :][:1])}


def answers_to(
    service: Service, viewers: tuple[Viewer, ...], ruleset: str, step: int
) -> dict[Viewer, list[RecordedAnswer]]:
    """Return all answers to each viewer after a step."""
    is_requested = step in requested_after(ruleset)
    return {v: list(all_responses(service, v)) if is_requested else [] for v in viewers}


def people_at(ruleset: str) -> int:
    """Return the number of players: three, or the minimum of the ruleset if that is larger."""
    return max(3, definition(ruleset).ruleset({}).seats_min)


def viewers_of(people: int) -> tuple[Viewer, ...]:
    """Return the public and every seat."""
    return (None, *range(people))


def play(databases: Databases, ruleset: str, seed: int) -> Played:
    """Play at random, and find an indistinguishable deck for every viewer."""
    people = people_at(ruleset)
    rng, viewers = random.Random(f"{ruleset} {seed}"), viewers_of(people)
    with dealt(databases, ruleset, people) as service:
        answers = answers_to(service, viewers, ruleset, 0)
        steps = []
        for step in script(service, rng, steps=STEPS):
            answer = service.make(step)
            assert answer.status == 201, answer.body
            steps.append(step)
            answers[step.seat].append(answer)
            for viewer, more in answers_to(service, viewers, ruleset, len(steps)).items():
                answers[viewer] += more
        deck = service.entry_game().deck
        twins = {v: twin_of(service, steps, v, rng) for v in viewers}
    return Played(steps=tuple(steps), answers=answers, deck=deck, twins=twins)


def replay(
    databases: Databases, ruleset: str, played: Played, viewer: Viewer, deck: Deck
) -> list[RecordedAnswer]:
    """Return the answers to a viewer if the same script is played with another deck."""
    with dealt(databases, ruleset, people_at(ruleset), deck) as service:
        answers = answers_to(service, (viewer,), ruleset, 0)[viewer]
        for number, step in enumerate(played.steps, start=1):
            answer = service.make(step)
            assert answer.status == 201, answer.body
            if step.seat == viewer:
                answers.append(answer)
            answers += answers_to(service, (viewer,), ruleset, number)[viewer]
    return answers


@pytest.mark.attack(
    "ETAGS", "ETags for indistinguishable decks compared", check="indistinguishable decks"
)
@pytest.mark.attack(
    "ERROR_TEXTS", "refusals for indistinguishable decks compared", check="indistinguishable decks"
)
@pytest.mark.attack(
    "SIZE_AND_ORDER",
    "answers for indistinguishable decks compared",
    check="indistinguishable decks",
)
@pytest.mark.heavy
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.long)])
@pytest.mark.parametrize("ruleset", RULESETS)
def test_two_decks_that_a_viewer_cannot_tell_apart_give_it_the_same_bytes(
    databases: Databases, ruleset: str, seed: int
) -> None:
    """Only the digits of commitments, salts, hashes and signatures differ."""
    played = play(databases, ruleset, seed)
    for viewer, deck in played.twins.items():
        assert deck is not None, f"no twin for {viewer}: the test would show nothing"
        assert sum(a != b for a, b in zip(deck, played.deck, strict=True)) > 3
        twin = replay(databases, ruleset, played, viewer, deck)
        assert len(twin) == len(played.answers[viewer])
        for one, other in zip(played.answers[viewer], twin, strict=True):
            assert masked(one) == masked(other), (
                f"viewer {viewer} can tell the decks apart by {one.to}"
            )

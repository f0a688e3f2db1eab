"""The fast model plays every ruleset as `decide` and `evolve` do, position by position."""

from __future__ import annotations

import random
from functools import cache

import pytest

from service.domain.ruleset import Along, DealSettings, Layout, PickUpSettings, Ruleset, deck_of
from service.rulesets.catalogue import catalogue
from service.rulesets.custom import RulesetRefused, custom_definition
from service.search.rules import can_be_modelled
from tests.changed import replace
from tests.examples import spread, stride
from tests.unit.playing import RULESETS, rules
from tests.unit.rulesets.random_settings import random_changes, random_options
from tests.unit.search.lockstep import play_in_step

LONG_POSITIONS = 1_000_000
"""Positions of the long run, half of them of the catalogue and half of custom rulesets."""

MAX_CARDS = 420


@cache
def tables(identity: str) -> tuple[tuple[Ruleset, int], ...]:
    """Return a ruleset of the catalogue, in first and second hands, at each number of seats."""
    rng, found = random.Random(identity), []
    one = catalogue()[identity]
    for hand in (1, 2):
        for seats in range(rules(identity).seats_min, rules(identity).seats_max + 1):
            for options in ({}, random_options(one, rng)):
                ruleset = one.ruleset(one.chosen(options), hand=hand)
                if seats <= ruleset.seats_max and _enough(ruleset, seats):
                    found.append((ruleset, seats))
    return tuple(found)


def _enough(ruleset: Ruleset, seats: int) -> bool:
    decks, jokers, partial = deck_of(ruleset, seats)
    cards = 52 * decks + jokers + 4 * len(partial)
    deal = ruleset.deal
    needed = seats * (deal.down + deal.up + deal.hand) + (4 * (decks + 1) if deal.throws else 1)
    return needed <= cards <= MAX_CARDS


def custom(rng: random.Random) -> tuple[Ruleset, int]:
    """Return a valid custom ruleset with random settings, and a number of seats."""
    while True:
        base = catalogue()[rng.choice(RULESETS)]
        try:
            own = custom_definition(base, "Own", random_changes(rng))
        except RulesetRefused:
            continue
        ruleset = own.ruleset({}, hand=rng.choice((1, 2)))
        seats = rng.randint(ruleset.seats_min, min(ruleset.seats_max, 6))
        if _enough(ruleset, seats):
            return ruleset, seats


@pytest.mark.heavy
@pytest.mark.parametrize("identity", spread(RULESETS, 3))
def test_the_model_plays_the_catalogue_in_step_with_the_engine(identity: str) -> None:
    for number, (ruleset, seats) in enumerate(tables(identity)[:: stride(4)]):
        assert can_be_modelled(ruleset)
        play_in_step(ruleset, seats, number, turn_limit=60)


@pytest.mark.heavy
def test_the_model_plays_custom_rulesets_in_step_with_the_engine() -> None:
    rng = random.Random("custom")
    for number in range(60 // stride(3)):
        ruleset, seats = custom(rng)
        if can_be_modelled(ruleset):
            play_in_step(ruleset, seats, number, turn_limit=60)


@pytest.mark.long
def test_the_model_keeps_in_step_for_a_million_positions() -> None:
    every = [table for identity in RULESETS for table in tables(identity)]
    done, number, rng = 0, 0, random.Random("long")
    while done < LONG_POSITIONS // 2:
        done += play_in_step(*every[number % len(every)], number)
        number += 1
    while done < LONG_POSITIONS:
        number += 1
        ruleset, seats = custom(rng)
        if can_be_modelled(ruleset):
            done += play_in_step(ruleset, seats, number)
    print(f"{done} positions of {number} hands in step")


def test_single_cards_of_stacks_that_go_along_cannot_be_modelled() -> None:
    """The model counts cards by rank, so it does not know from which of two stacks a card came."""
    stacks = replace(rules("shithead"), deal=DealSettings(layout=Layout.STACKS, up=0, hand=6))
    one_rank = replace(stacks, pick_up=PickUpSettings(along=Along.ONE_RANK))
    one_slot = replace(stacks, pick_up=PickUpSettings(along=Along.ONE_SLOT))
    assert not can_be_modelled(one_rank)
    assert can_be_modelled(one_slot)
    assert can_be_modelled(replace(one_rank, deal=DealSettings()))

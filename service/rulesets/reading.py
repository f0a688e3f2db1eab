"""The rules that a recorded game is played by, from what its first event pins."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from schemas.settings import ruleset_of
from service.domain.ruleset import Ruleset
from service.record.canonical import canonical, parse
from service.rulesets.catalogue import definition
from service.rulesets.options import own_settings
from service.rulesets.statements import shared_cites


def read_ruleset(pinned: Mapping[str, Any], hand: int) -> Ruleset:
    """
    Return the ruleset pinned in a `game_created`, for the hand of this number.

    A game keeps the settings it began with; where an id of the catalogue pins
    none, the catalogue's are meant. Raises KeyError for an unknown id without
    settings, SettingsError or OptionError for what cannot be read.
    """
    return _read(canonical(dict(pinned)), hand % 2)


def own_ruleset(pinned: Mapping[str, Any], hand: int) -> Ruleset:
    """
    Return a ruleset of somebody's own, from its pinned settings and what the table chose.

    It cites the statements that all rulesets share: a log pins no prose. Raises
    SettingsError or OptionError for what cannot be read.
    """
    options = pinned["options"]
    settings = own_settings(pinned["settings"], options)
    return ruleset_of(pinned["id"], options, settings, hand=hand, cites=shared_cites())


@lru_cache(maxsize=1024)
def _read(pinned: bytes, hand: int) -> Ruleset:
    ruleset = parse(pinned)
    try:
        known = definition(ruleset["id"])
    except KeyError:
        known = None
    if ruleset["settings"] is None:
        if known is None:
            raise KeyError(ruleset["id"])
        return known.ruleset(known.chosen(ruleset["options"]), hand=hand)
    settings, options = ruleset["settings"], ruleset["options"]
    if known is None:
        return own_ruleset(ruleset, hand)
    return ruleset_of(ruleset["id"], options, settings, hand=hand, cites=known.cites)

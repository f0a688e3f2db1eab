"""The rules that a game is judged by: the catalogue's for its ids, else the settings it pins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from schemas.settings import SettingsError
from service.domain.ruleset import Ruleset
from service.record.hashing import custom_ruleset_id
from service.rulesets.catalogue import OptionError, catalogue
from service.rulesets.reading import own_ruleset
from service.verify.finding import Failed


def played_by(pinned: Mapping[str, Any], hand: int) -> Ruleset:
    """
    Return the ruleset that `game_created` names, for the hand of this number.

    For an id of the catalogue its settings are ignored, whatever they say: a
    game that claims a known name plays by the known rules. Raises Failed for an
    unknown id, for options that it does not have or that repeat a default, and
    for an id of one's own that does not follow from the settings.
    """
    identity, options, settings = pinned["id"], pinned["options"], pinned["settings"]
    known = catalogue().get(identity)
    try:
        if known is not None:
            if known.chosen(options) != options:
                raise Failed(0, "the options name a default, or are not in their usual form")
            return known.ruleset(options, hand=hand)
        if settings is None or identity != custom_ruleset_id(settings):
            reason = f"{identity} is no ruleset of the catalogue, nor the id of its settings"
            raise Failed(0, reason)
        return own_ruleset(pinned, hand)
    except (OptionError, SettingsError) as error:
        raise Failed(0, f"the ruleset cannot be read: {error}") from None

"""The settings that a statement speaks of, beside those that cite it; definitions of settings."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any, Final

from schemas.settings import leaves, setting_kinds
from service.domain.effects import Acts
from service.domain.ruleset import EFFECTS, RankRule, effects_on
from service.rulesets.catalogue import Definition
from service.rulesets.statements import Statement, sections_of

_COVERING: Final = tuple(f"ranks.*.{code}" for code in effects_on(Acts.COVER))
_DEMANDS: Final = tuple(name for name in setting_kinds(RankRule) if name not in EFFECTS)

SPOKEN_OF: Final[Mapping[str, tuple[str, ...]]] = {
    "model.source_zone": (*_COVERING, "deal.down", "deal.up", "deal.layout"),
    "model.normal_play": (
        *("turn.runs", "order.low_to_high"),
        *(f"ranks.*.{name}" for name in _DEMANDS),
    ),
    "model.blind": (*_COVERING, "pick_up.show_blind", "pick_up.taker", "deal.down"),
    "model.going_out": ("end.*", "pick_up.taker"),
    "players.*": ("players.*", "deck.*"),
    "deck.*": ("players.*", "deck.*"),
    "deal.down": ("deal.layout",),
    "deal.up": ("deal.layout",),
    "deal.hand": ("deal.layout",),
    "deal.exchange": ("deal.layout", "deal.up"),
    "opening.*": ("opening.*", "deal.up", "deal.layout", "deal.starter", "turn.runs"),
    "refill.*": ("refill.*",),
    "turn.obligation": ("turn.try_stock", "pick_up.taker", "pick_up.after", *_COVERING),
    "pick_up.after": ("pick_up.taker",),
    "pick_up.along": ("pick_up.taker", "turn.obligation", "deal.up", "deal.layout"),
    "pick_up.show_blind": ("pick_up.taker", "deal.down"),
    "burn.*": ("burn.*",),
    "end.played_for": ("end.*",),
    "end.next_dealer": ("end.played_for",),
    "end.paper_bag": ("end.played_for",),
}
"""
The settings that a statement behind a setting usually speaks of as well, as patterns.

Statements of a rank speak of the whole rank, and of the ranks that are never played on it. What a
single text speaks of beyond that is in its file, as `about`.
"""

_COVER: Final = (
    "It is covered in the same turn, after the hand is filled up, by any card, which comes from the"
    " next zone if the hand is empty and has its own effects. If the player is out, the next player"
    " must beat what lies there."
)
_DEFINITIONS: Final[Mapping[str, str]] = {
    "turn.runs": (
        "A run is two or more consecutive cards of one suit, ascending, in one play. The first must"
        " fit on the pile, and each following one on the card before it. No card before the last"
        " may burn the pile, also not by completing a set."
    ),
    "turn.follow_up": (
        "Cards of the rank just played that turn up in refilling may be played at once, also out of"
        " turn, with another refill each time, until another player acts. All these cards count as"
        " if they were played at once. After a burn, or a card that has to be covered, there is no"
        " such play."
    ),
    **dict.fromkeys(effects_on(Acts.COVER), _COVER),
}


Place = tuple[str, str]
"""Id and section of statements."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpokenSettings:
    """The settings that the statements of a ruleset state and speak of."""

    ruleset: Definition
    patterns: Mapping[Place, AbstractSet[str]]
    dropped: tuple[str, ...] = ()  # options of the base that the custom ruleset has not

    @classmethod
    def of(cls, ruleset: Definition, dropped: Iterable[str] = ()) -> SpokenSettings:
        """Return the wording of a ruleset of the catalogue, of which some options are dropped."""
        options = tuple(f"options.{one}" for one in dropped)
        return cls(ruleset=ruleset, patterns=_patterns(ruleset), dropped=options)

    def stated(self, changed: Iterable[str]) -> set[Place]:
        """Return the places that describe changed settings."""
        rule_of = self.ruleset.rule_of
        return {(rule_of(setting), part) for setting in changed for part in sections_of(setting)}

    def gone(self, changed: Collection[str]) -> set[Place]:
        """Return the places that describe or speak of changed settings."""
        names = [*_names(changed), *self.dropped]
        return self.stated(changed) | {
            place
            for one in self.ruleset.statements
            if _any_matches(names, self.patterns.get(place := (one.id, one.section), ()))
            or (not one.reading and _any_matches(names, one.about))
        }

    def kept(self, changed: Collection[str]) -> tuple[Statement, ...]:
        """
        Return the statements that name no changed setting.

        All entries of a place are removed together. But what a reading alone speaks of (`about`)
        removes this reading only.
        """
        gone, names = self.gone(changed), [*_names(changed), *self.dropped]
        return tuple(
            one
            for one in self.ruleset.statements
            if not gone & {(one.id, one.section), (one.goes_with, one.section)}
            and not (one.reading and _any_matches(names, one.about))
        )


_REFERENCE: Final = re.compile(r" \(([A-Z][0-9]+)\)")


def without_references(statements: Collection[Statement]) -> list[Statement]:
    """Return statements without references, such as "(L16)", to others that are not among them."""
    ids = {one.id for one in statements}

    def told(text: str) -> str:
        return _REFERENCE.sub(lambda found: found[0] if found[1] in ids else "", text)

    return [replace(one, text=told(one.text)) for one in statements]


def _names(changed: Iterable[str]) -> list[str]:
    return [setting.removeprefix("second_hand.") for setting in changed]


def _any_matches(names: Iterable[str], patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns for name in names)


def definition_of(setting: str, value: Any) -> str | None:
    """Return a sentence that defines what a setting in force means; None if its label does."""
    setting = setting.removeprefix("second_hand.")
    if setting == "burn.set_size":
        return _set_of(value) if value and value != USUAL_SET else None
    name = setting.rpartition(".")[2] if setting.startswith("ranks.") else setting
    return _DEFINITIONS.get(name) if value is True else None


USUAL_SET: Final = 4
"""The size of a set that the statements of all rulesets describe."""


def _set_of(size: int) -> str:
    return (
        f"A set burns when {size} or more cards of one rank lie directly on one another on top of"
        " the pile, the starter included. The same player plays again."
    )


def _patterns(base: Definition) -> dict[Place, set[str]]:
    """Return the patterns of each statement by its id and section, from the settings behind it."""
    found: dict[Place, set[str]] = {}
    for setting, _ in leaves(base.settings({})):
        for section in sections_of(setting):
            found.setdefault((base.rule_of(setting), section), set()).update(_related(setting))
    for setting, rule in base.cites.items():
        if setting.startswith("model.") and setting in SPOKEN_OF:
            for one in base.statements:
                if one.id == rule:
                    found.setdefault((rule, one.section), set()).update(SPOKEN_OF[setting])
    return found


def _related(setting: str) -> Iterator[str]:
    setting = setting.removeprefix("second_hand.")
    if setting.startswith("ranks."):
        yield f"{setting.rpartition('.')[0]}.*"
        if setting.endswith(".asks"):
            yield "ranks.*.not_on"
        return
    for known, patterns in SPOKEN_OF.items():
        if fnmatchcase(setting, known):
            yield from patterns

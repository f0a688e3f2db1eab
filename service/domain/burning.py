"""When the pile burns."""

from __future__ import annotations

from service.domain.cards import Card, rank_of
from service.domain.events import BurnCause
from service.domain.ruleset import Ruleset


def burn_cause(ruleset: Ruleset, pile: tuple[Card, ...]) -> BurnCause | None:
    """Return why a pile burns now that its top card lies there; a rank's own burn comes first."""
    if ruleset.rank(rank_of(pile[-1])).burns:
        return BurnCause.RANK
    size = ruleset.burn.set_size
    top = pile[-size:] if size else ()
    if size and len(top) == size and len({rank_of(card) for card in top}) == 1:
        return BurnCause.SET
    return None

"""How people end a hand without a result: by the agreement of all of them."""

from __future__ import annotations

from service.domain.commands import AgreeEnd, RuleRefused
from service.domain.events import AbortCause, EndAgreed, Event, GameAborted
from service.domain.game import Game, Status


def agree_end(command: AgreeEnd, game: Game) -> tuple[Event, ...]:
    """
    Return the agreement of a person, and the end of the hand if it is the last that was lacking.

    People who are out have to agree as well: the end takes their places from them. One person
    alone cannot agree with anybody, and could otherwise avoid every loss against bots.

    Raises RuleRefused before the deal, for a bot, with one person only, or for a second agreement.
    """
    people, seat = game.people(), command.seat
    refusal = None
    if game.status is Status.SHUFFLING:
        refusal = "refused.agree_early"
    elif seat not in people:
        refusal = "refused.agree_bot"
    elif len(people) == 1:
        refusal = "refused.agree_alone"
    elif seat in game.agreed:
        refusal = "refused.agreed"
    if refusal is not None:
        raise RuleRefused(game.ruleset.cite("model.agreed_end"), refusal)
    agreed = EndAgreed(seat=seat)
    if not game.agreed.issuperset(other for other in people if other != seat):
        return (agreed,)
    return agreed, GameAborted(cause=AbortCause.AGREED, seat=None)

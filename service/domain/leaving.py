"""How people end a hand without a result, or go on without a player who is away."""

from __future__ import annotations

from service.domain.commands import AfterAbsence, AgreeEnd, ClaimAbsence, RuleRefused, Seat
from service.domain.events import AbortCause, AbsenceClaimed, EndAgreed, Event, GameAborted
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


def claim_absence(command: ClaimAbsence, game: Game) -> tuple[Event, ...]:
    """
    Return the claim, and the end of the hand if the last of all others asks for it.

    Whether the player is away is not decided here: no record can show it. People for whom a bot
    stands in after a claim are not asked.

    Raises RuleRefused if the rules do not allow the claim.
    """
    seat, absent, then = command.seat, command.absent, command.then
    refusal = _refusal_of_claim(command, game)
    if refusal is not None:
        raise RuleRefused(game.ruleset.cite("model.absence"), refusal)
    claimed = AbsenceClaimed(seat=seat, absent=absent, then=then)
    if then is AfterAbsence.STAND_IN:
        return (claimed,)
    others = set(game.people()) - game.absent - {absent, seat}
    if not all((other, absent) in game.asked for other in others):
        return (claimed,)
    return claimed, GameAborted(cause=AbortCause.LEFT, seat=absent)


def _refusal_of_claim(command: ClaimAbsence, game: Game) -> str | None:
    people, seat, absent = game.people(), command.seat, command.absent
    if game.status is Status.SHUFFLING:
        return "refused.claim_early"
    if game.setup.clock is not None:
        return "refused.claim_clock"
    if seat not in people or absent not in people or seat == absent:
        return "refused.claim_nobody"
    if not may_be_awaited(game, absent):
        return "refused.claim_not_awaited"
    if command.then is AfterAbsence.STAND_IN:
        return None
    if absent in game.absent:
        return "refused.claim_replaced"
    if game.places():
        return "refused.claim_places"
    if game.seats[seat].count > game.seats[absent].count:
        return "refused.claim_losing"
    return "refused.claimed" if (seat, absent) in game.asked else None


def may_be_awaited(game: Game, seat: Seat) -> bool:
    """
    Return whether the game may wait for a move of a seat, by public information.

    At a first-come opening that may be any seat: who can open would show what a hand holds.
    """
    state = game.seats[seat]
    if game.status is Status.SWAPPING:
        return not state.ready
    return game.status is Status.PLAYING and state.place is None and game.turn in (None, seat)

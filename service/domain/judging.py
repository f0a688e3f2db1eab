"""What may happen in a dispute: each function returns the events that follow, or refuses."""

from __future__ import annotations

from service.domain.dispute import (
    FEWEST_REFEREES,
    Dispute,
    DisputeState,
    Moment,
    Referee,
    evolve_dispute,
)
from service.domain.dispute_events import (
    Appealed,
    DisputeClosed,
    DisputeEvent,
    RefereeRefused,
    RefereeReplaced,
    RefereeSeated,
    Ruled,
    Side,
    StatementMade,
    Verdict,
    Vote,
    VoteCommitted,
    VoteRevealed,
)

HOUR = 3600 * 1_000_000
"""Microseconds."""

REFUSE_WITHIN = 24 * HOUR
VOTE_WITHIN = 48 * HOUR
APPEAL_WITHIN = 7 * 24 * HOUR

MOST_REFUSALS = 3
"""Referees that a side may refuse on each panel: else a side could put off a ruling for ever."""

MOST_STATEMENTS = 20
"""Statements of a side."""

MOST_JUDGES = 9
"""Referees of one panel."""

MOST_REFEREES = 250
"""Referees of one dispute; their number is one byte of a vote's commitment."""


class DisputeRefused(Exception):
    """What was asked for cannot be done in the dispute: not by this person, or not now."""


def say(dispute: Dispute, player: str, commit: str) -> tuple[DisputeEvent, ...]:
    """Return that a side says something; possible until the dispute is final."""
    side = _side(dispute, player)
    if dispute.state is DisputeState.FINAL:
        raise DisputeRefused("the dispute is final")
    if sum(said.side is side for said in dispute.statements) >= MOST_STATEMENTS:
        raise DisputeRefused(f"a side makes {MOST_STATEMENTS} statements at most")
    return (StatementMade(side=side, commit=commit),)


def offer(dispute: Dispute, player: str) -> tuple[DisputeEvent, ...]:
    """
    Return that somebody sits down to judge.

    Recusal: nobody judges who sat at the table, is a side, or judged here before. A panel
    is closed by its first sealed vote, unless it lost a referee and has too few.
    """
    if dispute.side_of(player) is not None or player in dispute.opened.barred:
        raise DisputeRefused("who sat at the table does not judge")
    if any(referee.player == player for referee in dispute.referees):
        raise DisputeRefused("who has been a referee of this dispute is not one again")
    judges = dispute.active.values()
    voting = dispute.state is DisputeState.VOTING and all(j.commit is None for j in judges)
    if not voting and dispute.state not in (DisputeState.OPEN, DisputeState.APPEALED):
        raise DisputeRefused("no referee is wanted now")
    if len(judges) >= MOST_JUDGES or len(dispute.referees) >= MOST_REFEREES:
        raise DisputeRefused("there are as many referees as there can be")
    return (RefereeSeated(player=player),)


def refuse(
    dispute: Dispute, player: str, number: int, now: Moment
) -> tuple[DisputeEvent, ...]:
    """
    Return that a side refuses a referee, within 24 hours after that one sat down.

    It holds after a ruling as well: who was refused in time has not judged. The ruling stays
    as it is, until that of the panel which is then completed supersedes it.
    """
    side = _side(dispute, player)
    referee = dispute.active.get(number)
    if referee is None:
        raise DisputeRefused("there is no such referee, or no longer")
    if now > referee.seated_at + REFUSE_WITHIN:
        raise DisputeRefused("a referee is refused within 24 hours")
    panel = (r for r in dispute.referees if r.panel == dispute.panel)
    if sum(r.refused_by is side for r in panel) >= MOST_REFUSALS:
        raise DisputeRefused(f"a side refuses {MOST_REFUSALS} referees of a panel at most")
    return _and_ruling(dispute, RefereeRefused(referee=number, side=side), now)


def commit_vote(dispute: Dispute, player: str, commit: str) -> tuple[DisputeEvent, ...]:
    """Return that a referee votes, sealed; a vote that is in does not change."""
    number, referee = _judge(dispute, player)
    if dispute.state is not DisputeState.VOTING:
        raise DisputeRefused(f"votes come in once {FEWEST_REFEREES} referees sit, and once each")
    if referee.commit is not None:
        raise DisputeRefused("your vote is in")
    return (VoteCommitted(referee=number, commit=commit),)


def reveal_vote(
    dispute: Dispute, player: str, vote: Vote, salt: str, now: Moment
) -> tuple[DisputeEvent, ...]:
    """
    Return that a referee opens the vote, and the ruling where it was the last.

    Whether vote and salt are what was committed to has been checked.
    """
    number, referee = _judge(dispute, player)
    if dispute.state is not DisputeState.REVEALING:
        raise DisputeRefused("votes are revealed when all are in")
    if referee.vote is not None:
        raise DisputeRefused("your vote is open")
    return _and_ruling(dispute, VoteRevealed(referee=number, vote=vote, salt=salt), now)


def appeal(dispute: Dispute, player: str, now: Moment) -> tuple[DisputeEvent, ...]:
    """Return that a side appeals to other referees; once, within seven days."""
    side = _side(dispute, player)
    if dispute.state is not DisputeState.RULED:
        raise DisputeRefused("a ruling can be appealed once, before it is final")
    if now > _ruled_at(dispute) + APPEAL_WITHIN:
        raise DisputeRefused("an appeal is made within seven days")
    return (Appealed(side=side),)


def overdue(dispute: Dispute, now: Moment) -> tuple[DisputeEvent, ...]:
    """Return what silence has led to by `now`: referees replaced, a ruling that is final."""
    end = due_at(dispute)
    if end is None or now < end:
        return ()
    if dispute.state is DisputeState.RULED:
        return (DisputeClosed(),)
    number = min(_waited_for(dispute), key=lambda n: _patience(dispute, dispute.referees[n]))
    replaced = _and_ruling(dispute, RefereeReplaced(referee=number), now)
    for event in replaced:
        dispute = evolve_dispute(dispute, event, now)
    return (*replaced, *overdue(dispute, now))


def due_at(dispute: Dispute) -> Moment | None:
    """Return when silence leads to something next, None where it leads to nothing."""
    if dispute.state is DisputeState.RULED:
        return _ruled_at(dispute) + APPEAL_WITHIN
    return min(
        (_patience(dispute, dispute.referees[n]) for n in _waited_for(dispute)), default=None
    )


def _waited_for(dispute: Dispute) -> tuple[int, ...]:
    """Return the referees whose vote, or whose opening of it, is awaited."""
    if dispute.state is DisputeState.VOTING:
        return tuple(n for n, r in dispute.active.items() if r.commit is None)
    if dispute.state is DisputeState.REVEALING:
        return tuple(n for n, r in dispute.active.items() if r.vote is None)
    return ()


def _patience(dispute: Dispute, referee: Referee) -> Moment:
    return max(dispute.stage_since, referee.seated_at) + VOTE_WITHIN


def _and_ruling(
    dispute: Dispute, event: DisputeEvent, now: Moment
) -> tuple[DisputeEvent, ...]:
    """Return the event, and the ruling where all votes of the panel are open after it."""
    judges = evolve_dispute(dispute, event, now).active
    votes = [referee.vote for referee in judges.values()]
    if len(votes) < FEWEST_REFEREES or None in votes:
        return (event,)
    # L23: only all referees together find against the accused.
    unanimous = all(vote is Vote.CHEATED for vote in votes)
    verdict = Verdict.CAD if unanimous else Verdict.CLEARED
    return (event, Ruled(verdict=verdict, referees=tuple(judges)))


def _ruled_at(dispute: Dispute) -> Moment:
    return dispute.rulings[-1].at


def _side(dispute: Dispute, player: str) -> Side:
    side = dispute.side_of(player)
    if side is None:
        raise DisputeRefused("this is for the two sides")
    return side


def _judge(dispute: Dispute, player: str) -> tuple[int, Referee]:
    number = dispute.referee_of(player)
    if number is None:
        raise DisputeRefused("you are no referee of this dispute, or no longer")
    return number, dispute.referees[number]

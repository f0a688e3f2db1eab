"""The rules of disputes: referees, votes, rulings, appeals, periods."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from service.domain.dispute import (
    FEWEST_REFEREES,
    Appealed,
    Charge,
    Dispute,
    DisputeClosed,
    DisputeEvent,
    DisputeState,
    DisputeWithdrawn,
    Moment,
    Party,
    Periods,
    ReceiptGiven,
    Referee,
    RefereeRefused,
    RefereeReplaced,
    RefereeSeated,
    Ruled,
    StatementMade,
    Verdict,
    Vote,
    VoteCommitted,
    VoteRevealed,
    VotingOpened,
    evolve_dispute,
)

SECOND = 1_000_000
"""One second in microseconds."""

MAX_STATEMENTS = 20
"""Maximum number of statements of one side."""

MAX_RECEIPTS = 10
"""Maximum number of receipts of one side: the game is verified again after each one."""

MAX_JUDGES = 9
"""Maximum number of referees on a panel."""

MAX_REFEREES = 250
"""Maximum number of referees of a dispute: a vote's commitment has one byte for the index."""

MAX_JUDGED = 50
"""Maximum number of disputes that a referee has judged and that are counted for the sides."""

_WAITING = (DisputeState.OPEN, DisputeState.APPEALED)
"""The states in which a panel is not complete."""

_FINAL = "panel.is.final"

_STATES: Final[Mapping[DisputeState, str]] = {
    DisputeState.OPEN: "panel.is.open",
    DisputeState.VOTING: "panel.is.voting",
    DisputeState.REVEALING: "panel.is.revealing",
    DisputeState.RULED: "panel.is.ruled",
    DisputeState.APPEALED: "panel.is.appealed",
    DisputeState.FINAL: _FINAL,
}
"""The code of the state of the dispute, which many refusals name."""

Timed = tuple[DisputeEvent, Moment]
"""An event and its time."""


class DisputeRefused(Exception):
    """
    The dispute does not allow this call, or not by this player or at this time.

    `reason` is the code of a sentence, and `values` are those in it.
    """

    def __init__(self, reason: str, **values: int | str) -> None:
        super().__init__(reason, *values.values())
        self.reason = reason
        self.values = values


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """The reason that a referee states for a vote, with its commitment; `salt` is in hex."""

    text: str = field(repr=False)
    salt: str = field(repr=False)
    commit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredVote:
    """A vote that the server sealed for a referee, with the salt in hex."""

    vote: Vote
    salt: str = field(repr=False)
    reason: Reason | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class OutsideFacts:
    """Facts that a dispute depends on and that are not in its stream."""

    sealed_at: Moment | None = None  # when the game was sealed, None while it runs
    votes: Mapping[int, StoredVote] = field(default_factory=dict, repr=False)  # by referee's number


RUNNING = OutsideFacts()
"""The game is running and the server stores no vote."""


def side_of(dispute: Dispute, player: str) -> Party:
    """
    Return the side of a player.

    Raises DisputeRefused for a player of neither side.
    """
    side = dispute.side_of(player)
    if side is None:
        raise DisputeRefused("panel.sides_only")
    return side


def make_statement(dispute: Dispute, side: Party, commit: str) -> tuple[DisputeEvent, ...]:
    """
    Return the event of a statement, which a side may make until the dispute is final.

    Raises DisputeRefused.
    """
    if dispute.state is DisputeState.FINAL:
        raise DisputeRefused(_FINAL)
    if sum(one.side is side for one in dispute.statements) >= MAX_STATEMENTS:
        raise DisputeRefused("panel.statements", n=MAX_STATEMENTS)
    return (StatementMade(side=side, commit=commit),)


def give_receipt(dispute: Dispute, side: Party, note: str) -> tuple[DisputeEvent, ...]:
    """
    Return the event of a receipt, which a side may hand in until the dispute is final.

    The partner of the accused hands in none: a receipt shows nothing about collusion. The caller
    has checked that a key of the server signed the receipt for this game.

    Raises DisputeRefused.
    """
    if dispute.state is DisputeState.FINAL:
        raise DisputeRefused(_FINAL)
    if side is Party.PARTNER:
        raise DisputeRefused("panel.partner_receipt")
    if sum(one.side is side for one in dispute.receipts) >= MAX_RECEIPTS:
        raise DisputeRefused("panel.receipts", n=MAX_RECEIPTS)
    return (ReceiptGiven(side=side, receipt=note),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A player who volunteers as a referee: all that the rules ask beside the dispute."""

    of_table: bool  # whether the player has sat at the table, or is its host
    hands: int  # finished ones
    account_seconds: int  # age of the account
    registered_at: str | None = None  # recorded with the seat


def join_panel(
    dispute: Dispute, player: str, candidate: Candidate | None = None
) -> tuple[DisputeEvent, ...]:
    """
    Return the event by which a player joins as a referee, who may then vote.

    A side, a player or the host of the table, and a former referee of this dispute cannot
    join. A complete panel takes no more referees. A referee needs experience: finished hands and
    an account of some age. Without `candidate` only the rules that follow from the dispute itself
    are checked.

    Raises DisputeRefused.
    """
    barred = dispute.side_of(player) is not None or player in dispute.opened.barred
    if barred or (candidate is not None and candidate.of_table):
        raise DisputeRefused("panel.of_table")
    earlier = _latest_entry(dispute, player)
    if earlier is not None:
        raise DisputeRefused("panel.once", why=_why_not_again(earlier))
    if dispute.state not in _WAITING:
        raise DisputeRefused("panel.no_more", state=_STATES[dispute.state])
    if len(dispute.referees) >= MAX_REFEREES:
        raise DisputeRefused("panel.many_referees", n=MAX_REFEREES)
    if candidate is not None:
        _check_experience(dispute.opened.periods, candidate)
    registered_at = None if candidate is None else candidate.registered_at
    return (RefereeSeated(player=player, registered_at=registered_at),)


def _check_experience(periods: Periods, candidate: Candidate) -> None:
    hands, age = candidate.hands, candidate.account_seconds
    if hands >= periods.referee_hands and age >= periods.referee_account_seconds:
        return
    raise DisputeRefused(
        "panel.experience",
        hands=periods.referee_hands,
        age=periods.referee_account_seconds,
        own_hands=hands,
        own_age=age,
    )


def refuse(dispute: Dispute, player: str, number: int) -> tuple[DisputeEvent, ...]:
    """
    Return the event by which a side refuses a referee, which is possible until the voting opens.

    There is no limit: a side that refuses all referees only delays the end of the dispute. Each
    referee can be refused once, by either side, and cannot join again. A referee who voted on a
    panel that then became too small cannot be refused, because the vote still counts.

    Raises DisputeRefused.
    """
    side = side_of(dispute, player)
    if dispute.state not in _WAITING:
        state = _STATES[dispute.state]
        raise DisputeRefused("panel.refuse_late", state=state)
    if number not in dispute.seated:
        raise _no_such_referee(dispute, number)
    if dispute.referees[number].commit is not None:
        raise DisputeRefused("panel.has_voted")
    return (RefereeRefused(referee=number, side=side),)


def commit_vote(
    dispute: Dispute, player: str, commit: str, *, by_server: bool = False
) -> tuple[DisputeEvent, ...]:
    """
    Return the event by which a referee commits to a vote; it cannot be changed later.

    Raises DisputeRefused.
    """
    number, referee = _judge(dispute, player)
    if referee.commit is not None:
        raise DisputeRefused("panel.voted")
    if dispute.state is not DisputeState.VOTING:
        raise DisputeRefused("panel.no_votes", state=_STATES[dispute.state])
    return (VoteCommitted(referee=number, commit=commit, by_server=by_server),)


def needs_reason(dispute: Dispute, vote: Vote) -> bool:
    """
    Return whether a vote needs a reason: `cheated` without a finding that supports it.

    That is a vote against a move that the findings say is allowed, and any against collusion, of
    which a record shows nothing. The findings may not see everything, so referees are free to
    disagree, but they say why.
    """
    unsupported = dispute.allowed or dispute.opened.charge is Charge.COLLUSION
    return unsupported and vote is Vote.CHEATED


def reveal_vote(
    dispute: Dispute, player: str, vote: Vote, salt: str, reason: str | None = None
) -> tuple[DisputeEvent, ...]:
    """
    Return the event by which a referee reveals the vote; `reason` is the commitment to a reason.

    The caller has checked vote and salt against the commitment, and that there is a reason if the
    vote needs one.

    Raises DisputeRefused.
    """
    number, referee = _judge(dispute, player)
    if referee.vote is not None:
        raise DisputeRefused("panel.revealed")
    if dispute.state is not DisputeState.REVEALING:
        waiting = sum(judge.commit is None for judge in dispute.active.values())
        raise DisputeRefused(
            "panel.reveal_early",
            state=_STATES[dispute.state],
            n=waiting,
            of=len(dispute.active),
        )
    return (VoteRevealed(referee=number, vote=vote, salt=salt, reason=reason),)


def appeal(dispute: Dispute, player: str) -> tuple[DisputeEvent, ...]:
    """
    Return the event by which the side that lost appeals to other referees, once.

    Raises DisputeRefused.
    """
    side = side_of(dispute, player)
    ruling = dispute.ruling
    if dispute.state is not DisputeState.RULED or ruling is None:
        state = _STATES[dispute.state]
        raise DisputeRefused("panel.no_appeal", state=state)
    lost = Party.ACCUSER if ruling.verdict is Verdict.CLEARED else Party.ACCUSED
    if side is not lost:
        raise DisputeRefused("panel.loser_only")
    return (Appealed(side=side),)


def withdraw(dispute: Dispute, player: str) -> tuple[DisputeEvent, ...]:
    """
    Return the event by which the accuser withdraws the dispute while it is unanswered.

    Once the other side has acted or a referee was seated, the accused may want a ruling.

    Raises DisputeRefused.
    """
    if side_of(dispute, player) is not Party.ACCUSER:
        raise DisputeRefused("panel.accuser_withdraws")
    if dispute.state is DisputeState.FINAL:
        raise DisputeRefused(_FINAL)
    if dispute.answered:
        raise DisputeRefused("panel.answered")
    return (DisputeWithdrawn(),)


class Act(StrEnum):
    """The commands of a player on a dispute."""

    STATEMENT = "statement"
    RECEIPT = "receipt"
    JUDGE = "judge"
    REFUSE = "refuse"
    VOTE = "vote"
    REVEAL = "reveal"
    APPEAL = "appeal"
    WITHDRAW = "withdraw"


def acts_of(dispute: Dispute, player: str) -> tuple[Act, ...]:
    """
    Return the commands that the rules above allow a player now.

    The number of hands and the age of the account that a referee needs are not checked here.
    """

    def stated() -> object:
        return make_statement(dispute, side_of(dispute, player), "")

    def handed_in() -> object:
        return give_receipt(dispute, side_of(dispute, player), "")

    def revealed() -> object:
        number, referee = _judge(dispute, player)
        if referee.by_server:
            raise DisputeRefused("panel.server_reveals", referee=number)
        return reveal_vote(dispute, player, Vote.NOT_PROVEN, "")

    asked: Mapping[Act, Callable[[], object]] = {
        Act.STATEMENT: stated,
        Act.RECEIPT: handed_in,
        Act.JUDGE: lambda: join_panel(dispute, player),
        Act.REFUSE: lambda: refuse(dispute, player, _refusable(dispute)),
        Act.VOTE: lambda: commit_vote(dispute, player, ""),
        Act.REVEAL: revealed,
        Act.APPEAL: lambda: appeal(dispute, player),
        Act.WITHDRAW: lambda: withdraw(dispute, player),
    }
    return tuple(act for act, ask in asked.items() if _is_allowed(ask))


def due_events(dispute: Dispute, now: Moment, outside: OutsideFacts = RUNNING) -> tuple[Timed, ...]:
    """
    Return the events that are due by `now` without a further call, each with its time.

    They follow from the last event (stored votes are revealed, complete votes become a ruling)
    or from the end of a period. Their times are those of the last event or of the period, not
    `now`: a dispute has the same state before and after they are appended.
    """
    happened: list[Timed] = []
    while events := _next(dispute, now, outside):
        for event, at in events:
            dispute = evolve_dispute(dispute, event, at)
        happened += events
    return tuple(happened)


def due_at(dispute: Dispute, sealed_at: Moment | None) -> Moment | None:
    """Return when the next period ends that has a consequence, None if there is none."""
    times = (deadline(dispute, sealed_at), voting_opens_at(dispute, sealed_at))
    return min((time for time in times if time is not None), default=None)


def deadline(dispute: Dispute, sealed_at: Moment | None) -> Moment | None:
    """Return when the present state ends without a further call, None if it has no end."""
    periods = dispute.opened.periods
    match dispute.state:
        case DisputeState.FINAL:
            return None
        case DisputeState.RULED:
            return dispute.rulings[-1].at + periods.appeal_seconds * SECOND
        case DisputeState.VOTING | DisputeState.REVEALING:
            return dispute.stage_since + periods.vote_seconds * SECOND
        case _:
            if sealed_at is None:
                return None
            begin = max(sealed_at, dispute.appealed_at or dispute.opened_at)
            return begin + periods.dispute_seconds * SECOND


def voting_opens_at(dispute: Dispute, sealed_at: Moment | None) -> Moment | None:
    """
    Return when the voting will open.

    None if the dispute waits for no panel, the game is not sealed, or referees are missing.
    """
    if sealed_at is None or dispute.state not in _WAITING:
        return None
    seated = sorted(referee.seated_at for referee in dispute.seated.values())
    if len(seated) < FEWEST_REFEREES:
        return None
    wait = dispute.opened.periods.referee_seated_seconds * SECOND
    return max(sealed_at, seated[FEWEST_REFEREES - 1] + wait, dispute.stage_since)


def _next(dispute: Dispute, now: Moment, outside: OutsideFacts) -> tuple[Timed, ...]:
    """Return the next events that are due, all of the same time."""
    if dispute.state is DisputeState.REVEALING and (events := _at_once(dispute, outside)):
        return tuple((event, dispute.at) for event in events)
    due = due_at(dispute, outside.sealed_at)
    if due is None or now < due:
        return ()
    at = max(due, dispute.at)
    return tuple((event, at) for event in _at_the_end(dispute, at, outside.sealed_at))


def _at_once(dispute: Dispute, outside: OutsideFacts) -> tuple[DisputeEvent, ...]:
    """Return the events due at once when all have voted: stored votes revealed, then the ruling."""
    judges = dispute.active
    hidden = [n for n, referee in judges.items() if referee.vote is None]
    if hidden:
        return tuple(_revealed(n, outside.votes[n]) for n in hidden if n in outside.votes)
    # L23: only a unanimous panel finds against the accused.
    unanimous = all(referee.vote is Vote.CHEATED for referee in judges.values())
    against = Verdict.PROVEN if dispute.opened.of_server else Verdict.CAD
    return (Ruled(verdict=against if unanimous else Verdict.CLEARED, referees=tuple(judges)),)


def _revealed(number: int, stored: StoredVote) -> VoteRevealed:
    reason = None if stored.reason is None else stored.reason.commit
    return VoteRevealed(referee=number, vote=stored.vote, salt=stored.salt, reason=reason)


def _at_the_end(dispute: Dispute, at: Moment, sealed_at: Moment | None) -> tuple[DisputeEvent, ...]:
    """Return the consequence of the end of a period."""
    match dispute.state:
        case DisputeState.VOTING:
            late = [n for n, referee in dispute.active.items() if referee.commit is None]
        case DisputeState.REVEALING:
            late = [n for n, referee in dispute.active.items() if referee.vote is None]
        case _:
            opens, ends = voting_opens_at(dispute, sealed_at), deadline(dispute, sealed_at)
            if opens is not None and (ends is None or opens <= ends):
                return (VotingOpened(referees=_panel(dispute, at)),)
            return (DisputeClosed(),)
    return tuple(RefereeReplaced(referee=number) for number in late)


def _panel(dispute: Dispute, at: Moment) -> tuple[int, ...]:
    """Return the first MAX_JUDGES of the referees who have been seated for long enough."""
    since = at - dispute.opened.periods.referee_seated_seconds * SECOND
    ready = [n for n, referee in dispute.seated.items() if referee.seated_at <= since]
    return tuple(ready[:MAX_JUDGES])


def _judge(dispute: Dispute, player: str) -> tuple[int, Referee]:
    """
    Return the number and entry of a player who votes on the present panel.

    Raises DisputeRefused, with the reason, for any other player.
    """
    number = dispute.referee_of(player)
    if number is not None:
        return number, dispute.referees[number]
    place = _latest_entry(dispute, player)
    if place is None:
        raise DisputeRefused("panel.no_referee")
    if place.recused:
        raise DisputeRefused(_why_not_again(place))
    if place.panel < dispute.panel:
        raise DisputeRefused("panel.panel_ruled")
    if dispute.state in _WAITING:
        raise DisputeRefused("panel.not_yet", state=_STATES[dispute.state], n=FEWEST_REFEREES)
    raise DisputeRefused("panel.complete", state=_STATES[dispute.state])


def _latest_entry(dispute: Dispute, player: str) -> Referee | None:
    """Return the latest entry of a player in the list of referees, None if there is none."""
    return next((one for one in reversed(dispute.referees) if one.player == player), None)


def _why_not_again(referee: Referee) -> str:
    """Return the code of why a former referee cannot be one again."""
    if referee.refused_by is not None:
        return f"panel.refused_by.{referee.refused_by}"
    if referee.recused:
        return "panel.left_panel"
    return "panel.was_referee"


def _refusable(dispute: Dispute) -> int:
    """Return the number of a referee whom a side may refuse, 0 if there is none."""
    return next(iter(dispute.refusable), 0)


def _no_such_referee(dispute: Dispute, number: int) -> DisputeRefused:
    """Return the refusal of a referee who is not on the present panel."""
    if number >= len(dispute.referees):
        return DisputeRefused("panel.unknown_referee", referee=number)
    referee = dispute.referees[number]
    if referee.refused_by is not None:
        return DisputeRefused(f"panel.already.{referee.refused_by}", referee=number)
    if referee.recused:
        return DisputeRefused("panel.referee_left", referee=number)
    return DisputeRefused("panel.judged_before", referee=number)


def _is_allowed(ask: Callable[[], object]) -> bool:
    try:
        ask()
    except DisputeRefused:
        return False
    return True

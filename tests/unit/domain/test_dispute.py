"""Disputes by their rules: who judges, sealed votes, unanimity, replacement, one appeal."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from schemas.dispute_events import dispute_data_of, dispute_event_of, dispute_type_of
from service.domain.dispute import (
    Dispute,
    DisputeState,
    Moment,
    RefereeState,
    evolve_dispute,
    fold_dispute,
)
from service.domain.dispute_events import (
    Charge,
    DisputeEvent,
    DisputeOpened,
    FindingsMade,
    Verdict,
    Vote,
)
from service.domain.judging import (
    APPEAL_WITHIN,
    HOUR,
    MOST_REFUSALS,
    MOST_STATEMENTS,
    DisputeRefused,
    appeal,
    commit_vote,
    due_at,
    offer,
    overdue,
    refuse,
    reveal_vote,
    say,
)

OPENED = DisputeOpened(
    game="g",
    accuser="ada",
    accuser_seat=0,
    accused="bob",
    accused_seat=1,
    seq=7,
    charge=Charge.ILLEGAL_MOVE,
    version=9,
    bundle="00" * 32,
    barred=("ada", "bob", "cleo"),
)


@dataclass
class Court:
    """A dispute that a test leads on, with a clock."""

    now: Moment = 0
    events: list[tuple[DisputeEvent, Moment]] = field(default_factory=lambda: [(OPENED, 0)])

    @property
    def dispute(self) -> Dispute:
        return fold_dispute(self.events)

    def stands(self, state: DisputeState) -> bool:
        """Return whether the dispute stands there."""
        return self.dispute.state is state

    def then(self, happened: tuple[DisputeEvent, ...]) -> Court:
        self.events += [(event, self.now) for event in happened]
        return self

    def seat(self, *players: str) -> Court:
        for player in players:
            self.then(offer(self.dispute, player))
        return self

    def commit(self, *players: str) -> Court:
        for player in players:
            self.then(commit_vote(self.dispute, player, "aa" * 32))
        return self

    def reveal(self, vote: Vote, *players: str) -> Court:
        for player in players:
            self.then(reveal_vote(self.dispute, player, vote, "bb" * 32, self.now))
        return self

    def ruled(self, *votes: Vote) -> Court:
        judges = [f"judge {n}" for n in range(len(votes))]
        self.seat(*judges).commit(*judges)
        for judge, vote in zip(judges, votes, strict=True):
            self.reveal(vote, judge)
        return self


CHEATED, NOT_PROVEN = Vote.CHEATED, Vote.NOT_PROVEN


def test_three_who_hold_the_same_make_a_cad() -> None:
    """L23: if all referees hold a player to have cheated, that player is a cad."""
    court = Court().ruled(CHEATED, CHEATED, CHEATED)
    assert court.stands(DisputeState.RULED)
    assert court.dispute.ruling is not None
    assert court.dispute.ruling.verdict is Verdict.CAD


@pytest.mark.parametrize("number", range(3))
def test_one_who_doubts_clears(number: int) -> None:
    """L23: anything but all of them clears the accused."""
    votes = [CHEATED] * 3
    votes[number] = NOT_PROVEN
    court = Court().ruled(*votes)
    assert court.dispute.ruling is not None
    assert court.dispute.ruling.verdict is Verdict.CLEARED


def test_two_referees_do_not_vote() -> None:
    court = Court().seat("judge 0", "judge 1")
    assert court.stands(DisputeState.OPEN)
    with pytest.raises(DisputeRefused):
        court.commit("judge 0")


@pytest.mark.parametrize("player", ["ada", "bob", "cleo"])
def test_who_sat_at_the_table_does_not_judge(player: str) -> None:
    with pytest.raises(DisputeRefused):
        Court().seat(player)


def test_a_referee_sits_once() -> None:
    with pytest.raises(DisputeRefused):
        Court().seat("judge 0", "judge 0")


def test_a_fourth_referee_may_join_until_the_first_vote_is_in() -> None:
    court = Court().seat("a", "b", "c", "d").commit("a")
    with pytest.raises(DisputeRefused):
        court.seat("e")
    court.commit("b", "c")
    assert court.stands(DisputeState.VOTING)
    assert court.commit("d").stands(DisputeState.REVEALING)


def test_a_vote_is_revealed_only_when_all_are_in() -> None:
    court = Court().seat("a", "b", "c").commit("a", "b")
    with pytest.raises(DisputeRefused):
        court.reveal(CHEATED, "a")


def test_a_vote_that_is_in_does_not_change() -> None:
    court = Court().seat("a", "b", "c").commit("a")
    with pytest.raises(DisputeRefused):
        court.commit("a")
    court.commit("b", "c").reveal(CHEATED, "a")
    with pytest.raises(DisputeRefused):
        court.reveal(NOT_PROVEN, "a")


def test_a_side_refuses_a_referee_within_a_day() -> None:
    court = Court().seat("a", "b", "c")
    court.now = 24 * HOUR
    court.then(refuse(court.dispute, "bob", 1, court.now))
    assert court.stands(DisputeState.OPEN)
    assert court.dispute.referees[1].state is RefereeState.RECUSED
    with pytest.raises(DisputeRefused):
        court.seat("b")
    assert court.seat("d").stands(DisputeState.VOTING)


def test_a_day_later_a_referee_stays() -> None:
    court = Court(now=24 * HOUR + 1)
    court.events.append((offer(court.dispute, "a")[0], 0))
    with pytest.raises(DisputeRefused):
        refuse(court.dispute, "bob", 0, court.now)


def test_only_the_sides_refuse() -> None:
    court = Court().seat("a")
    with pytest.raises(DisputeRefused):
        refuse(court.dispute, "cleo", 0, 0)


def test_a_side_cannot_put_off_a_ruling_for_ever() -> None:
    court = Court()
    for number in range(MOST_REFUSALS):
        court.seat(f"judge {number}").then(refuse(court.dispute, "bob", number, 0))
    court.seat("last")
    with pytest.raises(DisputeRefused):
        refuse(court.dispute, "bob", MOST_REFUSALS, 0)
    refuse(court.dispute, "ada", MOST_REFUSALS, 0)


def test_who_is_refused_in_time_has_not_judged_even_after_a_quick_ruling() -> None:
    """Three friends of the accuser who vote at once do not take away the right to refuse."""
    court = Court().ruled(CHEATED, CHEATED, CHEATED)
    court.then(refuse(court.dispute, "bob", 0, HOUR))
    assert court.stands(DisputeState.OPEN)
    court.seat("other").commit("other").reveal(NOT_PROVEN, "other")
    assert [ruling.verdict for ruling in court.dispute.rulings] == [Verdict.CAD, Verdict.CLEARED]
    assert court.stands(DisputeState.RULED)


def test_a_refusal_that_leaves_all_votes_open_rules() -> None:
    court = Court().seat("a", "b", "c", "d").commit("a", "b", "c", "d")
    court.reveal(CHEATED, "a", "b", "c")
    court.then(refuse(court.dispute, "bob", 3, 0))
    assert court.stands(DisputeState.RULED)


def test_who_does_not_vote_within_two_days_is_replaced() -> None:
    court = Court().seat("a", "b", "c").commit("a", "b")
    court.now = 48 * HOUR
    assert due_at(court.dispute) == court.now
    court.then(overdue(court.dispute, court.now))
    assert court.stands(DisputeState.OPEN)
    assert court.seat("d").commit("d").stands(DisputeState.REVEALING)


def test_who_does_not_reveal_within_two_days_is_replaced() -> None:
    court = Court().seat("a", "b", "c").commit("a", "b", "c").reveal(CHEATED, "a", "b")
    court.now = 48 * HOUR - 1
    assert overdue(court.dispute, court.now) == ()
    court.now += 1
    court.then(overdue(court.dispute, court.now))
    assert court.stands(DisputeState.OPEN)
    court.seat("d")
    assert court.commit("d").stands(DisputeState.REVEALING)
    assert court.reveal(CHEATED, "d").stands(DisputeState.RULED)


def test_all_who_are_silent_are_replaced_at_once() -> None:
    court = Court().seat("a", "b", "c", "d")
    assert len(overdue(court.dispute, 48 * HOUR)) == 2, "with fewer than three nobody is awaited"


def test_an_appeal_goes_to_other_referees_and_is_the_last() -> None:
    court = Court().ruled(CHEATED, CHEATED, CHEATED)
    court.then(appeal(court.dispute, "bob", court.now))
    assert court.stands(DisputeState.APPEALED)
    with pytest.raises(DisputeRefused):
        court.seat("judge 0")
    others = ("x", "y", "z")
    court.seat(*others).commit(*others).reveal(NOT_PROVEN, *others)
    assert court.stands(DisputeState.FINAL)
    first, second = court.dispute.rulings
    assert (first.verdict, second.verdict) == (Verdict.CAD, Verdict.CLEARED)
    with pytest.raises(DisputeRefused):
        appeal(court.dispute, "ada", court.now)


def test_a_ruling_that_nobody_appeals_is_final_after_a_week() -> None:
    court = Court().ruled(CHEATED, CHEATED, CHEATED)
    court.now = APPEAL_WITHIN
    court.then(overdue(court.dispute, court.now))
    assert court.stands(DisputeState.FINAL)
    assert overdue(court.dispute, 100 * APPEAL_WITHIN) == ()


def test_only_sides_make_statements_and_not_without_end() -> None:
    court = Court()
    with pytest.raises(DisputeRefused):
        say(court.dispute, "cleo", "00" * 32)
    for _ in range(MOST_STATEMENTS):
        court.then(say(court.dispute, "bob", "00" * 32))
    with pytest.raises(DisputeRefused):
        say(court.dispute, "bob", "00" * 32)
    say(court.dispute, "ada", "00" * 32)


def test_every_event_reads_back_as_it_was_written() -> None:
    court = Court().then((FindingsMade(version=9, digest="cc" * 32),))
    court.then(say(court.dispute, "bob", "00" * 32)).seat("refused")
    court.then(refuse(court.dispute, "ada", 0, 0))
    court.seat("a", "b", "c").commit("a", "b")
    court.now = 48 * HOUR
    court.then(overdue(court.dispute, court.now)).seat("d").commit("d")
    court.reveal(CHEATED, "a", "b", "d")
    court.then(appeal(court.dispute, "bob", court.now)).seat("x", "y", "z")
    court.commit("x", "y", "z").reveal(CHEATED, "x", "y", "z")
    later = Court().ruled(CHEATED, CHEATED, CHEATED)
    later.then(overdue(later.dispute, APPEAL_WITHIN))
    events = [event for event, _ in (*court.events, *later.events)]
    assert len({type(event) for event in events}) == 11
    for event in events:
        assert dispute_event_of(dispute_type_of(event), dispute_data_of(event)) == event


def test_a_dispute_is_opened_once() -> None:
    with pytest.raises(ValueError, match="once"):
        evolve_dispute(Court().dispute, OPENED, 0)
    with pytest.raises(ValueError, match="begins"):
        fold_dispute([(FindingsMade(version=1, digest=""), 0)])

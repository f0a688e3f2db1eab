"""The limits of disputes, and the state of a dispute after each of its events."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace

import pytest

from service.domain import dispute, dispute_rules
from service.domain.dispute import (
    FEWEST_REFEREES,
    Charge,
    Dispute,
    DisputeReceipt,
    DisputeState,
    FindingsMade,
    Party,
    Periods,
    ReceiptGiven,
    Referee,
    RefereeSeated,
    SealedBy,
    Verdict,
    Vote,
    VoteCommitted,
    fold_dispute,
)
from service.domain.dispute_rules import (
    MAX_JUDGES,
    MAX_RECEIPTS,
    MAX_REFEREES,
    MAX_STATEMENTS,
    SECOND,
    Act,
    Candidate,
    OutsideFacts,
    Reason,
    StoredVote,
    acts_of,
    appeal,
    give_receipt,
    join_panel,
    make_statement,
    needs_reason,
    refuse,
    reveal_vote,
)
from tests.unit.domain.test_dispute import CHEATED, DAY, NOT_PROVEN, OPENED, THREE, Court, refused

RECORDS = sorted(
    {
        value
        for module in (dispute, dispute_rules)
        for value in vars(module).values()
        if isinstance(value, type) and is_dataclass(value)
    },
    key=lambda record: record.__name__,
)


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.__name__)
def test_events_and_states_of_disputes_are_immutable_and_made_by_keyword(record: type) -> None:
    assert record.__dataclass_params__.frozen  # type: ignore[attr-defined] # of every dataclass
    assert "__slots__" in vars(record)
    assert all(one.kw_only for one in fields(record))


def test_the_limits_and_periods_of_disputes() -> None:
    assert (SECOND, MAX_STATEMENTS, MAX_RECEIPTS) == (1_000_000, 20, 10)
    assert (FEWEST_REFEREES, MAX_JUDGES, MAX_REFEREES) == (3, 9, 250)
    periods = Periods()
    assert (periods.referee_hands, periods.referee_account_seconds) == (5, 3 * 86_400)


def test_the_charges_of_the_format() -> None:
    names = "illegal_move false_pick_up wrong_deal altered_log time collusion other"
    assert [charge.value for charge in Charge] == names.split()


def test_a_sealed_vote_is_in_no_text_of_its_object() -> None:
    """A line of the log could contain that text."""
    stored = StoredVote(vote=CHEATED, salt="cc" * 32)
    assert "cc" not in repr(stored)
    reason = Reason(text="seen", salt="dd" * 32, commit="ee" * 32)
    assert "seen" not in repr(reason)
    assert "dd" not in repr(reason)
    assert "reason" not in repr(StoredVote(vote=CHEATED, salt="cc" * 32, reason=reason))
    assert "cheated" not in repr(OutsideFacts(votes={0: stored}))


def test_a_new_dispute_has_its_initial_values() -> None:
    opened = fold_dispute([(OPENED, 7)])
    assert (opened.opened_at, opened.at, opened.stage_since, opened.version) == (7, 7, 7, 1)
    assert (opened.found_at, opened.found_with, opened.anchored) == (0, 0, False)
    assert (opened.panel, opened.judges, opened.rulings, opened.settled) == (0, (), (), False)
    assert (opened.statements, opened.receipts, opened.referees, opened.closed) == ((), (), (), 0)
    bare = Dispute(opened=OPENED, opened_at=7, at=7)
    assert (bare.stage_since, bare.voting_from, bare.appealed_at) == (0, None, None)
    assert not FindingsMade(version=1, digest="").anchored
    assert not FindingsMade(version=1, digest="").allowed
    assert not opened.allowed
    assert not VoteCommitted(referee=0, commit="").by_server
    referee = Referee(player="a", panel=0, seated_at=0)
    assert (referee.by_server, referee.recused, referee.state.value) == (False, False, "seated")
    assert referee.sealed_by is None


def test_a_referee_is_seated_with_the_time_of_registration_that_was_judged() -> None:
    at = "2026-11-01T00:00:00.000000Z"
    able = Candidate(of_table=False, hands=5, account_seconds=259_200, registered_at=at)
    seated = join_panel(Court().dispute, "judge", able)
    assert seated == (RefereeSeated(player="judge", registered_at=at),)


def test_each_event_raises_the_version_and_only_a_change_of_state_begins_a_stage() -> None:
    court = Court().wait(5)
    for number in range(1, 4):
        court.then(make_statement(court.dispute, Party.ACCUSED, "00" * 32))
        assert court.dispute.version == len(court.events) == number + 1
        assert court.dispute.statements[-1].seq == number
    assert (court.dispute.at, court.dispute.stage_since) == (5, 0)
    court.seat(*THREE).wait(DAY)
    assert court.dispute.stage_since == 5 + DAY


def test_each_side_hands_in_a_limited_number_of_receipts() -> None:
    court = Court()
    for number in range(MAX_RECEIPTS):
        court.wait(1).then(give_receipt(court.dispute, Party.ACCUSED, f"note {number}"))
    with refused("at most 10 receipts"):
        give_receipt(court.dispute, Party.ACCUSED, "one more")
    other = give_receipt(court.dispute, Party.ACCUSER, "another")
    assert other == (ReceiptGiven(side=Party.ACCUSER, receipt="another"),)
    assert len(court.dispute.receipts) == MAX_RECEIPTS
    second = DisputeReceipt(side=Party.ACCUSED, at=2, note="note 1")
    assert court.dispute.receipts[1] == second
    assert Act.RECEIPT not in acts_of(court.dispute, "bob")
    assert Act.RECEIPT in acts_of(court.dispute, "ada")


def test_findings_state_what_they_judged() -> None:
    court = Court().then(give_receipt(Court().dispute, Party.ACCUSER, "note"))
    court.then((FindingsMade(version=12, digest="", anchored=True),))
    found = court.dispute
    assert (found.found_at, found.found_with, found.anchored) == (12, 1, True)


def test_a_vote_against_a_move_that_the_newest_findings_allow_needs_a_reason() -> None:
    court = Court()
    assert not needs_reason(court.dispute, CHEATED)
    court.then((FindingsMade(version=12, digest="", allowed=True),))
    assert needs_reason(court.dispute, CHEATED)
    assert not needs_reason(court.dispute, NOT_PROVEN)
    court.then((FindingsMade(version=13, digest=""),))
    assert not needs_reason(court.dispute, CHEATED)


def test_a_reason_refers_to_the_event_of_the_committed_vote() -> None:
    court = Court().panel(*THREE).commit(*THREE)
    first = next(n for n, (event, _) in enumerate(court.events) if isinstance(event, VoteCommitted))
    assert [one.voted_seq for one in court.dispute.referees] == [first, first + 1, first + 2]
    court.then(reveal_vote(court.dispute, "a", CHEATED, "bb" * 32, "cc" * 32))
    assert [one.reason for one in court.dispute.referees] == ["cc" * 32, None, None]


def test_a_vote_has_the_times_of_its_commitment_and_its_reveal() -> None:
    court = Court().panel(*THREE).wait(1).commit("a")
    assert [one.state.value for one in court.dispute.referees] == ["committed", "seated", "seated"]
    assert [one.sealed_by for one in court.dispute.referees] == [SealedBy.REFEREE, None, None]
    court.wait(1).commit("b", "c").wait(1).reveal(NOT_PROVEN, "b")
    times = [(one.voted_at, one.revealed_at) for one in court.dispute.referees]
    assert times == [(DAY + 1, None), (DAY + 2, DAY + 3), (DAY + 2, None)]
    assert court.dispute.referees[1].vote is Vote.NOT_PROVEN


def test_a_side_does_not_judge_even_if_it_never_sat_at_the_table() -> None:
    court = Court(opened=replace(OPENED, barred=()))
    for side in ("ada", "bob"):
        with refused("player or host of the table"):
            join_panel(court.dispute, side)
    join_panel(court.dispute, "cleo")


def test_a_referee_needs_experience_and_has_never_been_of_the_table() -> None:
    able = Candidate(of_table=False, hands=5, account_seconds=259_200)
    assert join_panel(Court().dispute, "judge", able) == (RefereeSeated(player="judge"),)
    for lacking in (replace(able, hands=4), replace(able, account_seconds=259_199)):
        with refused("needs 5 finished hands and an account of at lea"):
            join_panel(Court().dispute, "judge", lacking)
    with refused("player or host of the table"):
        join_panel(Court().dispute, "judge", replace(able, of_table=True))


def test_a_dispute_has_a_limited_number_of_referees() -> None:
    court = Court()
    court.events += [(RefereeSeated(player=f"judge {n}"), 0) for n in range(MAX_REFEREES - 1)]
    court.then(join_panel(court.dispute, "last"))
    with refused("at most 250 referees"):
        join_panel(court.dispute, "one more")


def test_a_former_referee_is_told_why_the_panel_is_closed_to_them() -> None:
    court = Court().seat("a")
    with refused("already a referee of this dispute"):
        court.seat("a")
    late = Court().panel(*THREE).commit("a", "b").wait(2 * DAY)
    with refused("you left the panel because"):
        late.seat("c")


def test_a_panel_that_would_open_after_the_end_of_the_dispute_does_not() -> None:
    court = Court().wait(29 * DAY + DAY // 2).seat(*THREE).wait(DAY)
    assert court.is_in(DisputeState.FINAL)
    assert court.dispute.judges == ()
    assert court.dispute.at == 30 * DAY


def test_a_side_is_offered_a_refusal_if_any_referee_has_not_voted() -> None:
    court = Court().panel(*THREE).commit("a", "b").wait(2 * DAY)
    assert Act.REFUSE not in acts_of(court.dispute, "bob"), "all referees left have voted"
    court.seat("d")
    assert Act.REFUSE in acts_of(court.dispute, "bob")


def test_an_appeal_begins_a_new_panel_and_keeps_the_first_ruling() -> None:
    court = Court().ruled(CHEATED, CHEATED, CHEATED).wait(1)
    court.then(appeal(court.dispute, "bob"))
    appealed = court.dispute
    assert (appealed.panel, appealed.judges, appealed.appealed_at) == (1, (), DAY + 1)
    with refused("referee 0 judged before the appeal"):
        refuse(appealed, "bob", 0)
    court.seat("x")
    with refused("is appealed and waits for other referees: the vot"):
        court.commit("x")
    court.refused("ada", 3)
    assert court.verdicts() == [Verdict.CAD], "a refusal annuls no ruling of an earlier panel"
    court.panel(*THREE).commit(*THREE).reveal(NOT_PROVEN, *THREE)
    final = court.dispute
    assert final.ruling is final.rulings[1]
    assert final.ruling.verdict is Verdict.CLEARED

"""The rules of disputes: referees, sealed votes, unanimity, periods, one appeal."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import pytest

from schemas.disputes import dispute_event_of, dispute_type_of
from schemas.strict_fields import plain_data
from service.domain.dispute import (
    Charge,
    Dispute,
    DisputeEvent,
    DisputeOpened,
    DisputeState,
    FindingsMade,
    Moment,
    Party,
    Periods,
    RefereeState,
    SealedBy,
    Verdict,
    Vote,
    evolve_dispute,
    fold_dispute,
)
from service.domain.dispute_rules import (
    MAX_JUDGES,
    MAX_STATEMENTS,
    SECOND,
    Act,
    DisputeRefused,
    OutsideFacts,
    StoredVote,
    acts_of,
    appeal,
    commit_vote,
    deadline,
    due_at,
    due_events,
    give_receipt,
    join_panel,
    make_statement,
    needs_reason,
    refuse,
    reveal_vote,
    voting_opens_at,
    withdraw,
)
from service.replay.sentences import reason_of

DAY = 24 * 3600 * SECOND
WEEK = 7 * DAY
OPENED = DisputeOpened(
    game="g",
    accuser="ada",
    accuser_seat=0,
    accused="bob",
    accused_seat=1,
    seq=7,
    move=6,
    charge=Charge.ILLEGAL_MOVE,
    version=9,
    bundle="00" * 32,
    barred=("ada", "bob", "cleo"),
)
PAIR = replace(OPENED, charge=Charge.COLLUSION, seq=None, move=None, partner="cleo", partner_seat=2)
SERVER = replace(OPENED, accused=None, accused_seat=None, charge=Charge.WRONG_DEAL)
CHEATED, NOT_PROVEN = Vote.CHEATED, Vote.NOT_PROVEN
THREE = ("a", "b", "c")


@contextmanager
def refused(words: str) -> Iterator[None]:
    """Expect a refusal whose sentence has these words."""
    with pytest.raises(DisputeRefused) as caught:
        yield
    assert re.search(words, reason_of(caught.value).text)


@dataclass
class Court:
    """A dispute and a clock that tests advance; its game is sealed unless `sealed_at` is None."""

    opened: DisputeOpened = OPENED
    now: Moment = 0
    sealed_at: Moment | None = 0
    votes: dict[int, StoredVote] = field(default_factory=dict)
    events: list[tuple[DisputeEvent, Moment]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.events = [(self.opened, 0)]

    @property
    def dispute(self) -> Dispute:
        return fold_dispute(self.events)

    @property
    def state(self) -> DisputeState:
        return self.dispute.state

    def is_in(self, state: DisputeState) -> bool:
        """Return whether the dispute is in this state."""
        return self.state is state

    def then(self, happened: tuple[DisputeEvent, ...]) -> Court:
        """Add events, and the events that follow from them at once."""
        self.events += [(event, self.now) for event in happened]
        return self.add_due()

    def add_due(self) -> Court:
        """Add the events of the periods that have ended."""
        outside = OutsideFacts(sealed_at=self.sealed_at, votes=self.votes)
        self.events += due_events(self.dispute, self.now, outside)
        return self

    def wait(self, time: Moment) -> Court:
        self.now += time
        return self.add_due()

    def seat(self, *players: str) -> Court:
        for player in players:
            self.then(join_panel(self.dispute, player))
        return self

    def panel(self, *players: str) -> Court:
        """Seat referees, and wait until the voting opens."""
        return self.seat(*players).wait(DAY)

    def commit(self, *players: str) -> Court:
        for player in players:
            self.then(commit_vote(self.dispute, player, "aa" * 32))
        return self

    def reveal(self, vote: Vote, *players: str) -> Court:
        for player in players:
            self.then(reveal_vote(self.dispute, player, vote, "bb" * 32))
        return self

    def refused(self, side: str, number: int) -> Court:
        return self.then(refuse(self.dispute, side, number))

    def ruled(self, *votes: Vote) -> Court:
        judges = [f"judge {n}" for n in range(len(votes))]
        self.panel(*judges).commit(*judges)
        for judge, vote in zip(judges, votes, strict=True):
            self.reveal(vote, judge)
        return self

    def verdicts(self) -> list[Verdict]:
        return [ruling.verdict for ruling in self.dispute.rulings]


def test_a_unanimous_panel_of_three_makes_a_cad() -> None:
    """L23: if all referees find that a player cheated, that player is a cad."""
    court = Court().ruled(CHEATED, CHEATED, CHEATED)
    assert court.is_in(DisputeState.RULED)
    assert court.verdicts() == [Verdict.CAD]


def test_one_vote_for_the_accused_clears_the_accused() -> None:
    assert Court().ruled(CHEATED, CHEATED, NOT_PROVEN).verdicts() == [Verdict.CLEARED]


def test_against_the_server_a_unanimous_vote_is_proven() -> None:
    assert Court(opened=SERVER).ruled(CHEATED, CHEATED, CHEATED).verdicts() == [Verdict.PROVEN]


def test_the_partner_of_a_charge_of_collusion_speaks_and_refuses_and_no_more() -> None:
    court = Court(opened=PAIR).seat(*THREE)
    assert court.dispute.side_of("cleo") is Party.PARTNER
    assert set(acts_of(court.dispute, "cleo")) == {Act.STATEMENT, Act.REFUSE}
    court.then(make_statement(court.dispute, Party.PARTNER, "cc")).refused("cleo", 2)
    assert court.dispute.referees[2].refused_by is Party.PARTNER
    with refused("the partner of the accused refused you"):
        court.then(commit_vote(court.dispute, "c", "dd"))
    with refused("hands in no receipts"):
        give_receipt(court.dispute, Party.PARTNER, "note")
    court.seat("d").wait(DAY).commit("a", "b", "d").reveal(CHEATED, "a", "b", "d")
    assert court.verdicts() == [Verdict.CAD]
    with refused("only the side that lost"):
        appeal(court.dispute, "cleo")
    assert Act.APPEAL in acts_of(court.dispute, "bob")


def test_cheated_needs_a_reason_on_collusion_always_else_if_a_finding_allows_the_move() -> None:
    for opened, allowed in ((OPENED, False), (PAIR, True)):
        dispute = Court(opened=opened).dispute
        assert needs_reason(dispute, CHEATED) is allowed
        assert not needs_reason(dispute, NOT_PROVEN)


def test_the_accuser_withdraws_a_dispute_that_nobody_has_answered() -> None:
    court = Court()
    court.then(make_statement(court.dispute, Party.ACCUSER, "cc"))
    assert Act.WITHDRAW in acts_of(court.dispute, "ada")
    for other in ("bob", "a"):
        with refused("only"):
            withdraw(court.dispute, other)
    court.then(withdraw(court.dispute, "ada"))
    assert court.is_in(DisputeState.FINAL)
    assert court.dispute.withdrawn
    assert court.verdicts() == []
    assert court.wait(365 * DAY).dispute.version == 3, "nothing follows"
    for player in ("ada", "bob", "a"):
        assert acts_of(court.dispute, player) == ()
    with refused("is final"):
        withdraw(court.dispute, "ada")


@pytest.mark.parametrize("how", ["statement", "partner", "receipt", "referee", "refused referee"])
def test_an_answered_dispute_is_not_withdrawn(how: str) -> None:
    court = Court(opened=PAIR)
    match how:
        case "statement":
            court.then(make_statement(court.dispute, Party.ACCUSED, "cc"))
        case "partner":
            court.then(make_statement(court.dispute, Party.PARTNER, "cc"))
        case "receipt":
            court.then(give_receipt(court.dispute, Party.ACCUSED, "note"))
        case "referee":
            court.seat("a")
        case _:
            court.seat("a").refused("ada", 0)
    assert Act.WITHDRAW not in acts_of(court.dispute, "ada")
    with refused("is answered"):
        withdraw(court.dispute, "ada")


@pytest.mark.parametrize("player", ["ada", "bob", "cleo"])
def test_a_player_of_the_table_does_not_judge(player: str) -> None:
    with pytest.raises(DisputeRefused):
        Court().seat(player)


def test_a_referee_joins_the_panel_once() -> None:
    with pytest.raises(DisputeRefused):
        Court().seat("a", "a")


def test_the_voting_opens_when_three_have_been_seated_for_a_day() -> None:
    court = Court().seat(*THREE)
    assert court.is_in(DisputeState.OPEN)
    assert voting_opens_at(court.dispute, 0) == DAY
    with pytest.raises(DisputeRefused):
        court.commit("a")
    assert court.wait(DAY - 1).is_in(DisputeState.OPEN)
    assert court.wait(1).is_in(DisputeState.VOTING)
    assert court.dispute.voting_from == DAY


def test_the_voting_does_not_open_before_the_seal() -> None:
    court = Court(sealed_at=None).seat(*THREE).wait(3 * DAY)
    assert court.is_in(DisputeState.OPEN)
    assert due_at(court.dispute, None) is None
    court.sealed_at = 2 * DAY
    assert court.add_due().is_in(DisputeState.VOTING)
    assert court.dispute.voting_from == 2 * DAY


def test_the_voting_opens_a_day_after_the_third_referee_was_seated() -> None:
    court = Court().seat("a", "b").wait(DAY).seat("c")
    assert court.wait(DAY - 1).is_in(DisputeState.OPEN)
    assert court.wait(1).is_in(DisputeState.VOTING)


def test_a_refused_referee_delays_the_voting_until_another_has_been_seated_long_enough() -> None:
    court = Court().seat(*THREE).wait(DAY - 1).refused("bob", 1).seat("d")
    assert court.dispute.referees[1].state is RefereeState.RECUSED
    assert court.wait(DAY - 1).is_in(DisputeState.OPEN)
    assert court.wait(1).dispute.judges == (0, 2, 3)


def test_a_refused_referee_cannot_join_again() -> None:
    court = Court().seat(*THREE).refused("bob", 1)
    with pytest.raises(DisputeRefused):
        court.seat("b")


def test_a_panel_has_the_first_nine_and_late_referees_are_not_on_it() -> None:
    players = [f"judge {n}" for n in range(11)]
    court = Court().seat(*players).refused("ada", 2).wait(1).seat("late").wait(DAY - 1)
    assert court.dispute.judges == (0, 1, 3, 4, 5, 6, 7, 8, 9)
    assert len(court.dispute.judges) == MAX_JUDGES
    for spare in ("judge 10", "late", "judge 2"):
        with pytest.raises(DisputeRefused):
            court.commit(spare)


def test_no_referee_is_refused_once_the_voting_is_open() -> None:
    court = Court().panel(*THREE)
    for side in ("ada", "bob"):
        with pytest.raises(DisputeRefused):
            court.refused(side, 0)
    court.commit(*THREE)
    with pytest.raises(DisputeRefused):
        court.refused("bob", 0)


def test_a_refusal_after_the_voting_was_due_to_open_is_rejected() -> None:
    court = Court().seat(*THREE)
    court.now = DAY
    late = due_events(court.dispute, court.now, OutsideFacts(sealed_at=0))
    court.events += late
    with pytest.raises(DisputeRefused):
        refuse(court.dispute, "bob", 0)


def test_only_the_sides_refuse() -> None:
    court = Court().seat("a")
    with pytest.raises(DisputeRefused):
        court.refused("cleo", 0)


@pytest.mark.attack("STEERED_RULING", "every referee refused", check="the end of a dispute")
def test_a_side_may_refuse_any_number_of_referees_until_the_dispute_ends() -> None:
    court = Court()
    for number in range(40):
        court.seat(f"judge {number}").refused("bob", number)
    assert court.wait(29 * DAY).is_in(DisputeState.OPEN)
    assert court.wait(DAY).is_in(DisputeState.FINAL)
    assert court.dispute.ruling is None


def test_the_period_of_a_dispute_begins_at_the_seal() -> None:
    court = Court(sealed_at=None).wait(60 * DAY)
    assert court.is_in(DisputeState.OPEN)
    court.sealed_at = 60 * DAY
    assert deadline(court.dispute, court.sealed_at) == 90 * DAY
    assert court.wait(30 * DAY - 1).is_in(DisputeState.OPEN)
    assert court.wait(1).is_in(DisputeState.FINAL)


def test_a_complete_panel_continues_after_the_end_of_the_dispute_period() -> None:
    court = Court().wait(29 * DAY).panel(*THREE)
    assert court.is_in(DisputeState.VOTING)
    assert court.wait(DAY).commit(*THREE).is_in(DisputeState.REVEALING)
    assert court.reveal(CHEATED, *THREE).is_in(DisputeState.RULED)


def test_a_dispute_whose_panel_becomes_too_small_after_its_period_is_final() -> None:
    court = Court().wait(29 * DAY).panel(*THREE).wait(2 * DAY)
    assert court.is_in(DisputeState.FINAL)
    assert court.dispute.ruling is None


def test_a_vote_is_revealed_only_after_all_have_committed() -> None:
    court = Court().panel(*THREE).commit("a", "b")
    with pytest.raises(DisputeRefused):
        court.reveal(CHEATED, "a")


def test_a_committed_vote_does_not_change() -> None:
    court = Court().panel(*THREE).commit("a")
    with pytest.raises(DisputeRefused):
        court.commit("a")
    court.commit("b", "c").reveal(CHEATED, "a")
    with pytest.raises(DisputeRefused):
        court.reveal(NOT_PROVEN, "a")


def test_votes_that_the_server_seals_are_revealed_when_all_have_committed() -> None:
    court = Court().panel(*THREE)
    for number, player in enumerate(THREE):
        assert court.is_in(DisputeState.VOTING)
        court.votes[number] = StoredVote(vote=CHEATED, salt="cc" * 32)
        court.then(commit_vote(court.dispute, player, "aa" * 32, by_server=True))
    assert court.is_in(DisputeState.RULED)
    assert [r.sealed_by for r in court.dispute.referees] == [SealedBy.SERVER] * 3


def test_votes_sealed_by_the_server_do_not_reveal_those_sealed_by_referees() -> None:
    court = Court().panel(*THREE)
    court.votes[0] = StoredVote(vote=CHEATED, salt="cc" * 32)
    court.then(commit_vote(court.dispute, "a", "aa" * 32, by_server=True)).commit("b", "c")
    assert [r.state for r in court.dispute.referees] == ["revealed", "committed", "committed"]
    assert court.reveal(CHEATED, "b", "c").verdicts() == [Verdict.CAD]


def test_a_referee_who_does_not_vote_in_time_leaves_the_panel() -> None:
    court = Court().panel(*THREE).commit("a", "b")
    assert due_at(court.dispute, 0) == 3 * DAY
    assert court.wait(2 * DAY - 1).is_in(DisputeState.VOTING)
    assert court.wait(1).is_in(DisputeState.OPEN)
    assert [r.state for r in court.dispute.referees] == ["committed", "committed", "recused"]
    court.panel("d")
    assert court.dispute.judges == (0, 1, 3)
    assert court.commit("d").is_in(DisputeState.REVEALING), "committed votes remain valid"


def test_a_referee_who_has_voted_cannot_be_refused() -> None:
    """A side cannot remove a committed vote by waiting until the panel is too small."""
    court = Court().panel(*THREE).commit("a", "b").wait(2 * DAY).seat("d")
    assert court.is_in(DisputeState.OPEN)
    for side in ("ada", "bob"):
        with refused("counts"):
            refuse(court.dispute, side, 0)
        refuse(court.dispute, side, 3)


def test_a_panel_of_four_continues_without_a_referee_who_does_not_vote() -> None:
    court = Court().panel(*THREE, "d").commit(*THREE).wait(2 * DAY)
    assert court.is_in(DisputeState.REVEALING)
    assert court.dispute.stage_since == 3 * DAY
    assert court.reveal(CHEATED, *THREE).verdicts() == [Verdict.CAD]


def test_a_referee_who_does_not_reveal_in_time_leaves_the_panel() -> None:
    court = Court().panel(*THREE).commit(*THREE).reveal(CHEATED, "a", "b")
    assert court.wait(2 * DAY).is_in(DisputeState.OPEN)
    court.panel("d").commit("d")
    assert court.reveal(CHEATED, "d").verdicts() == [Verdict.CAD]


def test_a_panel_of_four_rules_without_a_referee_who_does_not_reveal() -> None:
    court = Court().panel(*THREE, "d").commit(*THREE, "d").reveal(CHEATED, *THREE).wait(2 * DAY)
    assert court.is_in(DisputeState.RULED)
    assert court.dispute.rulings[0].referees == (0, 1, 2)
    assert court.dispute.rulings[0].at == 3 * DAY


def test_spare_referees_replace_those_who_do_not_vote() -> None:
    court = Court().seat(*THREE).wait(1).seat("d").wait(DAY)
    assert court.dispute.judges == (0, 1, 2)
    court.commit("a", "b").wait(2 * DAY)
    assert court.dispute.judges == (0, 1, 3)
    assert court.is_in(DisputeState.VOTING)


def test_ended_periods_give_the_same_events_whenever_they_are_processed() -> None:
    """The events and their times do not depend on when the ended periods are processed."""
    often, once = Court().seat(*THREE, "d"), Court().seat(*THREE, "d")
    for _ in range(40):
        often.wait(DAY)
    once.wait(40 * DAY)
    assert often.events == once.events
    assert often.is_in(DisputeState.FINAL)


def test_an_appeal_has_other_referees_and_its_ruling_is_final() -> None:
    court = Court().ruled(CHEATED, CHEATED, CHEATED)
    court.then(appeal(court.dispute, "bob"))
    assert court.is_in(DisputeState.APPEALED)
    with pytest.raises(DisputeRefused):
        court.seat("judge 0")
    court.seat(*THREE)
    assert court.is_in(DisputeState.APPEALED)
    court.wait(DAY).commit(*THREE).reveal(NOT_PROVEN, *THREE)
    assert court.is_in(DisputeState.FINAL)
    assert court.verdicts() == [Verdict.CAD, Verdict.CLEARED]
    with pytest.raises(DisputeRefused):
        appeal(court.dispute, "ada")


@pytest.mark.parametrize(
    ("opened", "votes", "may"),
    [
        (OPENED, (CHEATED, CHEATED, CHEATED), "bob"),
        (OPENED, (NOT_PROVEN, CHEATED, CHEATED), "ada"),
        (SERVER, (NOT_PROVEN, CHEATED, CHEATED), "ada"),
        (SERVER, (CHEATED, CHEATED, CHEATED), None),
    ],
)
def test_only_the_side_that_lost_appeals(
    opened: DisputeOpened, votes: tuple[Vote, ...], may: str | None
) -> None:
    court = Court(opened=opened).ruled(*votes)
    for player in ("ada", "bob", "cleo"):
        if player == may:
            appeal(court.dispute, player)
        else:
            with pytest.raises(DisputeRefused):
                appeal(court.dispute, player)


def test_an_appeal_without_a_panel_confirms_the_first_ruling() -> None:
    court = Court().ruled(CHEATED, CHEATED, CHEATED).wait(6 * DAY)
    court.then(appeal(court.dispute, "bob"))
    assert court.wait(30 * DAY - 1).is_in(DisputeState.APPEALED)
    assert court.wait(1).is_in(DisputeState.FINAL)
    assert court.verdicts() == [Verdict.CAD]


def test_a_ruling_that_is_not_appealed_is_final_after_a_week() -> None:
    court = Court().ruled(CHEATED, CHEATED, CHEATED)
    assert court.wait(WEEK - 1).is_in(DisputeState.RULED)
    assert court.wait(1).is_in(DisputeState.FINAL)
    assert due_at(court.dispute, 0) is None
    with pytest.raises(DisputeRefused):
        appeal(court.dispute, "bob")


def test_the_periods_in_the_first_event_apply_to_the_whole_dispute() -> None:
    at_once = Periods(referee_seated_seconds=0, vote_seconds=1, appeal_seconds=0, dispute_seconds=5)
    court = Court(opened=replace(OPENED, periods=at_once)).seat(*THREE)
    assert court.is_in(DisputeState.VOTING)
    assert court.commit(*THREE).reveal(CHEATED, *THREE).is_in(DisputeState.FINAL)
    silent = Court(opened=replace(OPENED, periods=at_once)).seat(*THREE).wait(SECOND)
    assert silent.is_in(DisputeState.OPEN)
    assert silent.wait(4 * SECOND).is_in(DisputeState.FINAL)


def test_statements_of_each_side_are_limited_and_end_with_the_dispute() -> None:
    court = Court()
    for _ in range(MAX_STATEMENTS):
        court.then(make_statement(court.dispute, Party.ACCUSED, "00" * 32))
    with pytest.raises(DisputeRefused):
        make_statement(court.dispute, Party.ACCUSED, "00" * 32)
    make_statement(court.dispute, Party.ACCUSER, "00" * 32)
    court.wait(30 * DAY)
    with pytest.raises(DisputeRefused):
        make_statement(court.dispute, Party.ACCUSER, "00" * 32)


def test_every_event_survives_a_round_trip_through_its_schema() -> None:
    court = Court().then((FindingsMade(version=9, digest="cc" * 32),))
    court.then(make_statement(court.dispute, Party.ACCUSED, "00" * 32)).seat("refused").refused(
        "ada", 0
    )
    court.panel(*THREE).commit("a", "b").wait(2 * DAY).panel("d").commit("d")
    court.reveal(CHEATED, "a", "b", "d").then(appeal(court.dispute, "bob"))
    court.wait(30 * DAY)
    events = [event for event, _ in court.events]
    assert len({type(event) for event in events}) == 12
    for event in events:
        assert dispute_event_of(dispute_type_of(event), plain_data(event)) == event


def test_a_dispute_is_opened_once() -> None:
    with pytest.raises(ValueError, match="once"):
        evolve_dispute(Court().dispute, OPENED, 0)
    with pytest.raises(ValueError, match="begins"):
        fold_dispute([(FindingsMade(version=1, digest=""), 0)])
    with pytest.raises(ValueError, match="begins"):
        fold_dispute([])


def actions(court: Court, player: str) -> list[str]:
    return [act.value for act in acts_of(court.dispute, player)]


def test_each_action_is_offered_exactly_to_those_allowed_by_the_rules() -> None:
    """For a side, a player of the table, a referee, a refused referee and a stranger."""
    court = Court()
    assert actions(court, "ada") == ["statement", "receipt", "withdraw"], "none to refuse"
    assert actions(court, "cleo") == [], "she sat at the table"
    assert actions(court, "a") == ["judge"]
    court.seat("x", *THREE)
    assert actions(court, "bob") == ["statement", "receipt", "refuse"]
    court.refused("bob", 0)
    assert actions(court, "x") == [], "refused, so she is not asked again"
    assert actions(court, "a") == []
    court.wait(DAY)
    assert actions(court, "a") == ["vote"]
    assert actions(court, "d") == [], "the panel is complete"
    court.commit(*THREE)
    assert actions(court, "a") == ["reveal"]
    court.reveal(CHEATED, *THREE)
    assert actions(court, "bob") == ["statement", "receipt", "appeal"], "he lost"
    assert actions(court, "ada") == ["statement", "receipt"]
    court.then(appeal(court.dispute, "bob"))
    assert actions(court, "a") == [], "she has judged"
    assert actions(court, "d") == ["judge"]
    assert actions(court.wait(31 * DAY), "ada") == []


def test_a_vote_that_the_server_sealed_is_revealed_by_the_server() -> None:
    court = Court().panel(*THREE)
    for judge in THREE:
        court.then(commit_vote(court.dispute, judge, "aa" * 32, by_server=True))
    assert court.is_in(DisputeState.REVEALING)
    assert actions(court, "a") == []


@pytest.mark.parametrize(
    ("until", "player", "words"),
    [
        ("open", "stranger", "you are not a referee of this dispute"),
        ("open", "a", "waits for its referees: the voting opens once the game is sealed"),
        ("open", "x", "the accused refused you as a referee"),
        ("voting", "late", "its panel was complete without you"),
        ("voted", "a", "already voted, and a vote cannot be changed"),
        ("revealing", "a", "already voted"),
        ("ruled", "late", "the dispute has a ruling: its panel was complete without you"),
        ("appealed", "a", "your panel has ruled: other referees judge the appeal"),
    ],
)
def test_a_refused_vote_names_the_state_of_the_dispute(until: str, player: str, words: str) -> None:
    court = Court().seat("x", *THREE).refused("bob", 0)
    steps: dict[str, Callable[[], object]] = {
        "open": lambda: None,
        "voting": lambda: court.wait(DAY - 1).seat("late").wait(1),
        "voted": lambda: court.commit("a"),
        "revealing": lambda: court.commit("b", "c"),
        "ruled": lambda: court.reveal(CHEATED, *THREE),
        "appealed": lambda: court.then(appeal(court.dispute, "bob")),
    }
    for step in list(steps)[: list(steps).index(until) + 1]:
        steps[step]()
    with refused(re.escape(words)):
        court.commit(player)


def test_a_reveal_before_all_have_voted_states_how_many_are_missing() -> None:
    court = Court().panel(*THREE).commit("a")
    with refused("2 of 3 have not"):
        court.reveal(CHEATED, "a")


def test_a_referee_cannot_be_refused_twice() -> None:
    court = Court().seat(*THREE).refused("bob", 1)
    with refused("the accused refused referee 1 already"):
        court.refused("ada", 1)
    with refused("this dispute has no referee 7"):
        court.refused("ada", 7)
    with refused("the accused refused you as a referee: a player"):
        court.seat("b")


def test_a_referee_who_did_not_reveal_in_time_cannot_be_refused() -> None:
    court = Court().panel(*THREE).commit(*THREE).reveal(CHEATED, "a", "b").wait(2 * DAY)
    with refused("referee 2 has left the panel: the vote, or its rev"):
        court.refused("ada", 2)


def test_an_event_with_an_unknown_field_is_refused() -> None:
    """A newer release wrote it: this one would fold the dispute into another state."""
    data = plain_data(OPENED)
    for changed in ({**data, "new": 1}, {**data, "periods": {**data["periods"], "new": 1}}):
        with pytest.raises(AttributeError, match="new"):
            dispute_event_of("dispute_opened", changed)

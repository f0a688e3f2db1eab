"""Contract tests of every directory for disputes and statistics."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from service.application.calls import digest
from service.application.disputes.record import DISPUTES, dispute_append, time_of, wake_at
from service.domain.dispute import (
    Charge,
    DisputeClosed,
    DisputeOpened,
    DisputeWithdrawn,
    FindingsMade,
    Party,
    RefereeRefused,
    RefereeSeated,
    Ruled,
    StatementMade,
    Verdict,
)
from service.domain.dispute_rules import MAX_JUDGED
from service.shx.canonical import parse_time
from service.store.directory import Directory
from service.store.disputes import (
    STATISTICS_TOPIC,
    Accusations,
    BlindChoice,
    Charged,
    SealedFindings,
    SealedVote,
    ShuffledDeck,
    StatementText,
    StatisticsInput,
)
from service.store.events import Commit, DisputeRuns, OutboxRow
from service.store.summaries import Cursor
from tests.changed import replace
from tests.contract.conftest import Stores
from tests.streams import append, game_summary, register

AT_TEXT = "2026-03-01T12:00:00.000000Z"
NOW = parse_time(AT_TEXT)
ADA, BOB, CLEO, DAN = (UUID(int=n) for n in range(1, 5))
EARLIER, LATER = NOW - timedelta(days=1), NOW + timedelta(days=1)


def running_game(stores: Stores) -> UUID:
    """Store a running game and return its id."""
    game = uuid4()
    stores.store.commit(Commit(appends=(append(game, b"{}", summary=game_summary()),)))
    return game


def ruled_dispute(
    stores: Stores,
    game: UUID,
    *,
    at: str = AT_TEXT,
    charge: str = "other",
    verdict: Verdict = Verdict.CAD,
    move: int | None = 0,
    accuser: UUID = ADA,
    accused: UUID = BOB,
    partner: UUID | None = None,
    referees: tuple[UUID, UUID] | None = None,
) -> UUID:
    """Store a dispute with a ruling: Ada accused Bob, Cleo was the referee, Dan was refused."""
    dispute = uuid4()
    opened = DisputeOpened(
        game=str(game),
        accuser=str(accuser),
        accuser_seat=0,
        accused=str(accused),
        accused_seat=1,
        partner=None if partner is None else str(partner),
        partner_seat=None if partner is None else 2,
        seq=move,
        charge=Charge(charge),
        version=1,
        bundle="00" * 32,
        barred=(str(ADA), str(BOB)),
        move=move,
    )
    statement = StatementMade(side=Party.ACCUSER, commit="11" * 32)
    one, other = referees or (CLEO, DAN)
    seated = (RefereeSeated(player=str(one)), RefereeSeated(player=str(other)))
    events = (opened, statement, *seated)
    refused = RefereeRefused(referee=1, side=Party.ACCUSED)
    record, lines = DISPUTES.open(dispute, (*events, refused), at=at)
    text = {"seq": 1, "author": ADA, "salt": b"salt", "words": "he did"}
    beside: dict[str, Any] = {"bundle": b"PK frozen", "texts": [text]}
    beside["votes"] = [{"referee": 0, "key_id": "k", "sealed": b"\x00vote"}]
    first = dispute_append(record, lines, expected=0, attachments=beside)
    stores.store.commit(Commit(appends=(first,)))
    stored = stores.directory.dispute_votes(dispute)
    assert stored == {0: SealedVote(key_id="k", sealed=b"\x00vote")}
    more = (
        FindingsMade(version=1, digest="22" * 32),
        Ruled(verdict=verdict, referees=(0,)),
        StatementMade(side=Party.ACCUSED, commit="33" * 32),
    )
    done, further = DISPUTES.write(record, more, at=at)
    beside = {
        "findings": {"found_at": 1, "key_id": "k", "sealed": b"\x00sealed"},
        "texts": [{"seq": 7, "author": BOB, "salt": b"pepper", "words": "I did not"}],
    }
    second = dispute_append(done, further, expected=record.version, attachments=beside)
    stores.store.commit(Commit(appends=(second,)))
    return dispute


def test_texts_bundle_and_findings_of_a_dispute_are_read_back(stores: Stores) -> None:
    directory, dispute = stores.directory, ruled_dispute(stores, uuid4())
    assert directory.dispute_texts(dispute) == {
        1: StatementText(text="he did", salt=b"salt"),
        7: StatementText(text="I did not", salt=b"pepper"),
    }
    assert directory.dispute_bundle(dispute) == b"PK frozen"
    assert directory.dispute_findings(dispute) == SealedFindings(
        version=1, key_id="k", sealed=b"\x00sealed"
    )
    other = uuid4()
    assert directory.dispute_texts(other) == {}
    assert directory.dispute_bundle(other) is None
    assert directory.dispute_findings(other) is None


def test_erasing_a_person_deletes_only_that_persons_statements(stores: Stores) -> None:
    directory = stores.directory
    directory.create_player(
        player=ADA, name="Ada", token_hash=digest("t"), recovery_hash=b"r" * 32, at=NOW
    )
    dispute = ruled_dispute(stores, uuid4())
    assert directory.erase("t", LATER)
    texts = directory.dispute_texts(dispute)
    assert texts[1] == StatementText(text=None, salt=None)
    assert texts[7].text == "I did not"


def test_the_disputes_of_a_game_are_listed_newest_first_in_pages(stores: Stores) -> None:
    game = uuid4()
    times = [f"2026-03-0{day}T12:00:00.000000Z" for day in (1, 2, 3)]
    made = [ruled_dispute(stores, game, at=at, move=move) for move, at in enumerate(times)]
    ruled_dispute(stores, uuid4())
    first = stores.directory.disputes_of(game, limit=2)
    assert [row.id for row in first.items] == [made[2], made[1]]
    second = stores.directory.disputes_of(game, limit=2, cursor=first.next)
    assert [row.id for row in second.items] == [made[0]]
    assert second.next is None


def test_all_disputes_visible_to_a_caller_are_listed_newest_first_in_pages(stores: Stores) -> None:
    public, private = running_game(stores), uuid4()
    hidden = append(private, b"{}", summary={**game_summary(), "public": False})
    stores.store.commit(Commit(appends=(hidden,)))
    times = [f"2026-03-0{day}T12:00:00.000000Z" for day in (1, 2, 3)]
    made = [
        ruled_dispute(stores, game, at=at, charge=charge)
        for at, game, charge in zip(
            times, (public, private, public), ("other", "other", "time"), strict=True
        )
    ]
    listed = stores.directory.list_disputes
    first = listed(viewer=None, now=NOW, limit=1)
    assert [row.id for row in first.items] == [made[2]]
    second = listed(viewer=None, now=NOW, limit=1, cursor=first.next)
    assert ([row.id for row in second.items], second.next) == ([made[0]], None)
    assert [row.id for row in listed(viewer=CLEO, now=NOW).items] == made[::-1], "the referee"
    assert [row.id for row in listed(viewer=DAN, now=NOW).items] == [made[2], made[0]], "refused"


def test_the_disputes_of_a_player_are_those_as_a_side_or_a_referee(stores: Stores) -> None:
    game = running_game(stores)
    times = [f"2026-03-0{day}T12:00:00.000000Z" for day in (1, 2)]
    made = [
        ruled_dispute(stores, game, at=at, charge=charge)
        for at, charge in zip(times, ("other", "time"), strict=True)
    ]
    listed = stores.directory.list_own_disputes
    for player in (ADA, BOB, CLEO):  # accuser, accused, and a referee
        first = listed(player, now=NOW, limit=1)
        assert [row.id for row in first.items] == [made[1]], player
        second = listed(player, now=NOW, limit=1, cursor=first.next)
        assert ([row.id for row in second.items], second.next) == ([made[0]], None)
    assert listed(DAN, now=NOW).items == (), "a referee who was refused"
    assert listed(ADA, state="final", now=NOW).items == ()
    assert [row.id for row in listed(ADA, state="ruled", now=NOW).items] == made[::-1]


def test_disputes_are_listed_by_state_with_those_whose_period_has_ended(stores: Stores) -> None:
    game = running_game(stores)
    ruled, final = ruled_dispute(stores, game), ruled_dispute(stores, game, charge="time")
    close_dispute(stores, final)
    found = stores.store.read(ruled)
    assert found is not None
    ends = wake_at(DISPUTES.load(ruled, found.events))
    assert ends is not None

    def listed(state: str, now: datetime) -> list[UUID]:
        rows = stores.directory.list_disputes(viewer=None, state=state, now=now)
        assert rows == stores.directory.list_own_disputes(ADA, state=state, now=now)
        return [row.id for row in rows.items]

    before = ends - timedelta(seconds=1)
    assert listed("ruled", before) == [ruled]
    assert listed("final", before) == [final]
    assert listed("open", before) == []
    assert listed("open", ends) == [ruled], "its period has ended"
    assert set(listed("final", ends)) == {ruled, final}
    for version, ended_at in ((1, None), (2, NOW)):
        summary = {"status": "playing", "ended_at": ended_at}
        more = append(game, b"{}", expected=version, after=stores.store, summary=summary)
        assert listed("open", before) == [], "its findings are those of the end, or the hand runs"
        stores.store.commit(Commit(appends=(more,)))
    assert listed("open", before) == [ruled], "its findings are of a part of the hand"


def close_dispute(
    stores: Stores, dispute: UUID, event: DisputeClosed | DisputeWithdrawn | None = None
) -> None:
    """Close a dispute, as after the period for an appeal, or by another event."""
    found = stores.store.read(dispute)
    assert found is not None
    record = DISPUTES.load(dispute, found.events)
    done, lines = DISPUTES.write(record, [event or DisputeClosed()], at=AT_TEXT)
    append = dispute_append(done, lines, expected=record.version)
    stores.store.commit(Commit(appends=(append,)))


def test_only_final_rulings_uphold_an_accusation_or_make_a_cad(stores: Stores) -> None:
    disputes = [
        ruled_dispute(stores, uuid4()),
        ruled_dispute(stores, running_game(stores)),
        ruled_dispute(stores, uuid4(), verdict=Verdict.PROVEN),
        ruled_dispute(stores, uuid4(), verdict=Verdict.CLEARED),
    ]
    directory = stores.directory
    ada = Accusations(made=4, upheld=0, running=4, new=4, cad=False, known=1)
    bob = Accusations(made=0, upheld=0, running=0, new=0, cad=False, known=0)
    assert directory.accusations(ADA, since=EARLIER) == ada
    assert directory.accusations(ADA, since=LATER) == replace(ada, new=0)
    assert directory.accusations(BOB, since=EARLIER) == bob
    assert directory.accusations(CLEO, since=EARLIER) == bob
    for dispute, (upheld, cad) in zip(
        disputes, [(1, True), (2, True), (3, True), (3, True)], strict=True
    ):
        close_dispute(stores, dispute)
        assert directory.accusations(ADA, since=EARLIER).upheld == upheld
        assert directory.accusations(BOB, since=EARLIER) == replace(bob, cad=cad)
    assert directory.accusations(ADA, since=EARLIER) == replace(ada, upheld=3, running=0, known=4)


def test_stored_votes_are_deleted_with_the_ruling(stores: Stores) -> None:
    assert stores.directory.dispute_votes(ruled_dispute(stores, uuid4())) == {}


def test_only_one_dispute_on_a_move_and_charge_is_open_at_a_time(stores: Stores) -> None:
    game = running_game(stores)
    first = ruled_dispute(stores, game, move=3)
    for other in ({"move": 4}, {"move": 3, "charge": "time"}):
        ruled_dispute(stores, game, **{"charge": "other", **other})  # type: ignore[arg-type] # by name
    ruled_dispute(stores, uuid4(), move=3)
    with pytest.raises(DisputeRuns):
        ruled_dispute(stores, game, move=3)
    found = stores.directory.running_disputes(game, Charged(charge="other", move=3))
    assert list(found) == [first]
    close_dispute(stores, first)
    assert first not in stores.directory.running_disputes(game, Charged(charge="other", move=3))
    ruled_dispute(stores, game, move=3)


def test_only_one_dispute_about_collusion_of_two_players_is_open_at_a_time(stores: Stores) -> None:
    """The accused with another partner, or with the two exchanged, is another charge."""
    game, eve = running_game(stores), UUID(int=9)
    pairs = [(BOB, DAN), (BOB, eve), (eve, DAN), (DAN, BOB)]
    disputes = {
        (one, other): ruled_dispute(
            stores, game, charge="collusion", move=None, accused=one, partner=other
        )
        for one, other in pairs
    }
    for (one, other), dispute in disputes.items():
        with pytest.raises(DisputeRuns):
            ruled_dispute(stores, game, charge="collusion", move=None, accused=one, partner=other)
        charged = Charged(charge="collusion", move=None, accused=one, partner=other)
        assert list(stores.directory.running_disputes(game, charged)) == [dispute]
    assert set(stores.directory.own_disputes(eve)) == {disputes[pair] for pair in pairs[1:3]}
    own = stores.directory.list_own_disputes(eve, now=NOW)
    assert {row.id for row in own.items} == {disputes[pair] for pair in pairs[1:3]}
    dispute = disputes[BOB, eve]
    assert eve in stores.directory.concerned([dispute])[dispute].players


def test_a_withdrawn_charge_is_not_made_again_by_the_same_player(stores: Stores) -> None:
    game = running_game(stores)
    first = ruled_dispute(stores, game, move=3)
    charged = Charged(charge="other", move=3)
    assert stores.directory.withdrawn_dispute(game, ADA, charged) is None
    close_dispute(stores, first, DisputeWithdrawn())
    assert stores.directory.withdrawn_dispute(game, ADA, charged) == first
    assert stores.directory.withdrawn_dispute(game, BOB, charged) is None
    for other in (Charged(charge="time", move=3), Charged(charge="other", move=4)):
        assert stores.directory.withdrawn_dispute(game, ADA, other) is None
    with pytest.raises(DisputeRuns):
        ruled_dispute(stores, game, move=3)
    ruled_dispute(stores, game, move=4)
    ruled_dispute(stores, game, move=3, accuser=CLEO)
    assert stores.directory.accusations(ADA, since=EARLIER).new == 2, "it counts in the limit"


def test_a_dispute_is_rescheduled_unless_its_version_has_changed(stores: Stores) -> None:
    directory, dispute = stores.directory, ruled_dispute(stores, running_game(stores))
    in_a_week = NOW + timedelta(days=7)
    for player in (ADA, BOB):
        assert list(directory.due_disputes_of(player, now=in_a_week)) == [dispute]
        assert not directory.due_disputes_of(player, now=NOW)
    assert not directory.due_disputes_of(CLEO, now=in_a_week)
    assert not directory.set_dispute_due(dispute, version=1, wake_at=None)
    assert directory.set_dispute_due(dispute, version=8, wake_at=in_a_week + timedelta(days=1))
    assert not directory.due_disputes_of(ADA, now=in_a_week)


def test_disputes_against_the_server_are_listed_for_the_operator(stores: Stores) -> None:
    ruled_dispute(stores, uuid4(), charge="wrong_deal")
    assert not stores.directory.disputes_of_server(limit=9), "its accused is a player"
    dispute = uuid4()
    opened = DisputeOpened(
        game=str(uuid4()),
        accuser=str(ADA),
        accuser_seat=0,
        accused=None,
        accused_seat=None,
        seq=0,
        move=0,
        charge=Charge.WRONG_DEAL,
        version=1,
        bundle="00" * 32,
        barred=(str(ADA),),
    )
    statement = StatementMade(side=Party.ACCUSER, commit="11" * 32)
    record, lines = DISPUTES.open(dispute, (opened, statement), at=AT_TEXT)
    text = {"seq": 1, "author": ADA, "salt": b"salt", "words": "it dealt wrongly"}
    attachments = {"bundle": b"PK frozen", "texts": [text]}
    append = dispute_append(record, lines, expected=0, attachments=attachments)
    stores.store.commit(Commit(appends=(append,)))
    assert list(stores.directory.disputes_of_server(limit=9)) == [dispute]
    assert not stores.directory.disputes_of_server(limit=0)


def test_referees_are_found_by_game_and_by_table(stores: Stores) -> None:
    game, directory = running_game(stores), stores.directory
    table = game_summary()["table_id"]
    ruled_dispute(stores, game)
    assert directory.judges(CLEO, game=game)
    assert directory.judges(CLEO, table=table)
    assert not directory.judges(DAN, game=game), "refused"
    assert not directory.judges(DAN, table=table)
    assert not directory.judges(BOB, game=game)
    assert not directory.judges(CLEO, game=uuid4())
    assert list(directory.games_judged(CLEO, BOB)) == [game]
    assert not directory.games_judged(CLEO, ADA)
    assert not directory.games_judged(DAN, BOB)


def test_a_dispute_is_due_after_its_deadline(stores: Stores) -> None:
    game, directory = running_game(stores), stores.directory
    dispute = ruled_dispute(stores, game)

    def due(now: datetime) -> bool:
        return dispute in directory.due_disputes(now=now, opened_before=EARLIER, limit=9)

    assert not due(NOW)
    assert due(NOW + timedelta(days=8)), "the period for an appeal has ended"


def test_missing_findings_are_due(stores: Stores) -> None:
    game, directory = running_game(stores), stores.directory
    dispute = uuid4()
    opened = DisputeOpened(
        game=str(game),
        accuser=str(ADA),
        accuser_seat=0,
        accused=None,
        accused_seat=1,
        seq=0,
        move=0,
        charge=Charge.TIME,
        version=1,
        bundle="00" * 32,
        barred=(),
    )
    record, lines = DISPUTES.open(dispute, (opened,), at=AT_TEXT)
    assert time_of(record.dispute.opened_at) == NOW
    stores.store.commit(Commit(appends=(dispute_append(record, lines, expected=0),)))
    assert not directory.due_disputes(now=NOW, opened_before=EARLIER, limit=9)
    assert list(directory.due_disputes(now=NOW, opened_before=NOW, limit=9)) == [dispute]


def facts(game: UUID, ended_at: datetime = NOW) -> StatisticsInput:
    """Return the facts of a game with one blind choice."""
    deck = ShuffledDeck(
        game=game,
        ruleset="leeds",
        aborted=False,
        cards=("2c", "3c", "X1"),
        dealt=2,
        to_people=(0,),
        ended_at=ended_at,
    )
    choice = BlindChoice(game=game, seq=40, player=ADA, slots=3, playable=1, fitted=True)
    return StatisticsInput(game=game, deck=deck, choices=(choice,), ended_at=ended_at)


def test_a_game_is_counted_once_and_leaves_the_outbox(stores: Stores) -> None:
    game, directory = uuid4(), stores.directory
    row = OutboxRow(stream=game, version=1, topic=STATISTICS_TOPIC)
    made = append(game, b"{}", summary=game_summary())
    stores.store.commit(Commit(appends=(made,), outbox=(row,)))
    assert list(directory.outbox_waiting(topic=STATISTICS_TOPIC, limit=9)) == [game]
    stored = facts(game)
    directory.keep_facts(stored)
    directory.keep_facts(stored)
    assert not directory.outbox_waiting(topic=STATISTICS_TOPIC, limit=9)
    assert list(directory.shuffled_decks(after=None, limit=9)) == [stored.deck]
    assert tuple(directory.blind_choices(ADA)) == stored.choices
    assert not directory.blind_choices(BOB)


def test_the_age_of_a_topic_is_that_of_its_oldest_row(stores: Stores) -> None:
    directory = stores.directory
    assert directory.oldest_outbox_time(topic=STATISTICS_TOPIC) is None
    found = []
    for game in (uuid4(), uuid4()):
        row = OutboxRow(stream=game, version=1, topic=STATISTICS_TOPIC)
        made = append(game, b"{}", summary=game_summary())
        stores.store.commit(Commit(appends=(made,), outbox=(row,)))
        found.append(directory.oldest_outbox_time(topic=STATISTICS_TOPIC))
    assert found[0] is not None
    assert found[1] == found[0]
    assert directory.oldest_outbox_time(topic="log") is None


def test_decks_are_listed_oldest_first_after_a_cursor(directory: Directory) -> None:
    games = sorted(uuid4() for _ in range(3))
    for game, at in zip(games, (LATER, NOW, NOW), strict=True):
        directory.keep_facts(facts(game, at))
    directory.keep_facts(replace(facts(uuid4()), deck=None))
    found = [deck.game for deck in directory.shuffled_decks(after=None, limit=9)]
    assert found == [games[1], games[2], games[0]]
    after = Cursor(at=NOW, id=games[1])
    assert [d.game for d in directory.shuffled_decks(after=after, limit=1)] == [games[2]]


def test_the_experience_of_a_referee_counts_public_games_alone(stores: Stores) -> None:
    """A vote counts once it is in a ruling; a refused referee judged nothing."""
    game, hidden = running_game(stores), uuid4()
    summary = game_summary(public=False)
    stores.store.commit(Commit(appends=(append(hidden, b"{}", summary=summary),)))
    judge, other = (register(stores.directory, name) for name in ("Judge", "Other"))

    def judged() -> list[int]:
        found = stores.directory.experience_of([judge, other, uuid4()])
        assert set(found) == {judge, other}
        assert found[judge].hands == 0
        return [found[one].judged for one in (judge, other)]

    assert judged() == [0, 0]
    ruled_dispute(stores, game, referees=(judge, other))
    assert judged() == [1, 0]
    ruled_dispute(stores, hidden, referees=(judge, other))
    assert judged() == [1, 0]
    for move in range(1, MAX_JUDGED + 2):
        ruled_dispute(stores, game, move=move, referees=(judge, other))
    assert judged() == [MAX_JUDGED, 0]

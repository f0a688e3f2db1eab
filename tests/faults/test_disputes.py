"""Disputes where jobs come twice, late or never, and people at the same time."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID, uuid4

import orjson
import pytest
import redis
from rq import Queue, SimpleWorker
from rq.serializers import JSONSerializer

from service.application.callers import Caller, Player
from service.application.dispute_record import DisputeRecord, load_dispute
from service.bootstrap import Services
from service.domain.dispute import DisputeState
from service.domain.dispute_events import Charge, Vote
from service.event_store.disputes import STATISTICS_TOPIC
from service.event_store.protocol import Commit, OutboxRow
from service.record.votes import vote_commitment
from service.wakeups import QUEUE, RedisBell, connect
from tests.set_world import Court, open_game, person, play_out, post
from tests.streams import append, game_summary
from workers import jobs
from workers.sweeper import Sweeper

HOUR = 3600
SALT = b"s" * 32


def open_dispute(services: Services, ada: Player, game: UUID) -> UUID:
    """Open a dispute against the bot at seat 1."""
    answer = services.disputes.open(
        Caller(player=ada.id),
        ada,
        game,
        accused=1,
        seq=0,
        charge=Charge.OTHER,
        statement="It was not so.",
    )
    return UUID(orjson.loads(answer.body)["id"])


def record_of(services: Services, dispute: UUID) -> DisputeRecord:
    found = services.store.read(dispute)
    assert found is not None
    return load_dispute(dispute, found.events)


def types_of(services: Services, dispute: UUID) -> Counter[str]:
    found = services.store.read(dispute)
    assert found is not None
    return Counter(orjson.loads(line)["type"] for line in found.events)


@pytest.fixture
def game(services: Services, ada: Player) -> UUID:
    """Return a running game of Ada and a bot."""
    return open_game(services, ada, ("me", {"bot": "lowest"}))


@pytest.fixture
def dispute(services: Services, ada: Player, game: UUID) -> UUID:
    """Return a dispute about a running game."""
    return open_dispute(services, ada, game)


@pytest.fixture
def judges(services: Services) -> list[Player]:
    """Return people who sit nowhere."""
    return [person(services, f"Judge {n}") for n in range(3)]


def vote(services: Services, judges: list[Player], dispute: UUID) -> None:
    """Seat referees, and have all of them vote, sealed."""
    for number, judge in enumerate(judges):
        caller = Caller(player=judge.id)
        services.disputes.judge(caller, judge, dispute, refused=None)
        commit = vote_commitment(dispute, number, "cheated", SALT).hex()
        if number == len(judges) - 1:
            for earlier, other in enumerate(judges[:-1]):
                sealed = vote_commitment(dispute, earlier, "cheated", SALT).hex()
                services.disputes.commit_vote(Caller(player=other.id), other, dispute, sealed)
            services.disputes.commit_vote(caller, judge, dispute, commit)


def reveal(services: Services, judge: Player, dispute: UUID) -> Any:
    return services.disputes.reveal_vote(
        Caller(player=judge.id), judge, dispute, vote=Vote.CHEATED, salt=SALT.hex()
    )


def test_a_worker_makes_the_findings_that_were_asked_for(
    services: Services, dispute: UUID, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "services", lambda: services)
    RedisBell(connect(redis_url)).look_into(dispute)
    client = redis.Redis.from_url(redis_url)
    queue = Queue(QUEUE, connection=client, serializer=JSONSerializer)
    worker = SimpleWorker([queue], connection=client, serializer=JSONSerializer)
    worker.work(burst=True, logging_level="ERROR")
    assert types_of(services, dispute)["findings_made"] == 1
    assert jobs.make_findings(str(dispute)) == "nothing", "a job that comes twice"
    assert jobs.make_findings(str(uuid4())) == "gone"
    assert types_of(services, dispute)["findings_made"] == 1


def test_findings_that_no_worker_made_are_made_by_the_sweeper(
    court: Court, services: Services, dispute: UUID
) -> None:
    """Redis may be down or emptied: the sweeper looks three seconds later."""
    Sweeper(services).beside()
    assert types_of(services, dispute)["findings_made"] == 0
    court.world.wait(3)
    Sweeper(services).beside()
    assert types_of(services, dispute)["findings_made"] == 1


def test_two_who_attend_at_once_make_one_set_of_findings(court: Court, dispute: UUID) -> None:
    processes = [court.process() for _ in range(3)]
    with ThreadPoolExecutor(3) as pool:
        outcomes = list(pool.map(lambda p: p.attendance.attend(dispute), processes))
    assert sorted(outcomes) == ["done", "nothing", "nothing"]


def test_the_seal_brings_findings_on_the_whole_game(
    court: Court, services: Services, ada: Player, game: UUID, dispute: UUID
) -> None:
    services.attendance.attend(dispute)
    Sweeper(services).beside()
    assert types_of(services, dispute)["findings_made"] == 1
    post(services, ada, game, {"type": "forfeit"})
    Sweeper(services).beside()
    assert types_of(services, dispute)["findings_made"] == 2
    court.world.wait(60)
    Sweeper(services).beside()
    assert types_of(services, dispute)["findings_made"] == 2


def test_a_referee_who_does_not_reveal_is_replaced_by_the_sweeper(
    court: Court, services: Services, dispute: UUID, judges: list[Player]
) -> None:
    vote(services, judges, dispute)
    reveal(services, judges[0], dispute)
    reveal(services, judges[1], dispute)
    court.world.wait(48 * HOUR - 1)
    Sweeper(services).beside()
    assert record_of(services, dispute).dispute.state is DisputeState.REVEALING
    court.world.wait(1)
    Sweeper(services).beside()
    assert record_of(services, dispute).dispute.state is DisputeState.OPEN
    other = person(services, "Other")
    services.disputes.judge(Caller(player=other.id), other, dispute, refused=None)
    commit = vote_commitment(dispute, 3, "cheated", SALT).hex()
    services.disputes.commit_vote(Caller(player=other.id), other, dispute, commit)
    reveal(services, other, dispute)
    assert record_of(services, dispute).dispute.state is DisputeState.RULED


def test_a_deadline_holds_even_where_no_sweeper_runs(
    court: Court, services: Services, dispute: UUID, judges: list[Player]
) -> None:
    vote(services, judges, dispute)
    court.world.wait(48 * HOUR)
    with pytest.raises(Exception, match="no referee"):
        reveal(services, judges[0], dispute)


def test_a_ruling_becomes_final_after_a_week(
    court: Court, services: Services, dispute: UUID, judges: list[Player]
) -> None:
    vote(services, judges, dispute)
    for judge in judges:
        reveal(services, judge, dispute)
    court.world.wait(7 * 24 * HOUR)
    Sweeper(services).beside()
    assert record_of(services, dispute).dispute.state is DisputeState.FINAL
    assert not services.attendance.due(limit=9)


def test_votes_revealed_at_the_same_time_give_one_ruling(
    court: Court, services: Services, dispute: UUID, judges: list[Player]
) -> None:
    vote(services, judges, dispute)
    processes = [court.process() for _ in judges]
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda p, judge: reveal(p, judge, dispute), processes, judges))
    assert types_of(services, dispute)["vote_revealed"] == 3
    assert types_of(services, dispute)["dispute_ruled"] == 1


def test_a_game_that_cannot_be_counted_keeps_nothing_else_waiting(
    court: Court, services: Services, ada: Player, dispute: UUID
) -> None:
    broken = uuid4()
    row = OutboxRow(stream=broken, version=1, topic=STATISTICS_TOPIC)
    made = append(broken, b"{}", summary=game_summary())
    services.store.commit(Commit(appends=(made,), outbox=(row,)))
    other = open_game(services, ada, ({"bot": "lowest"}, {"bot": "greedy"}))
    play_out(services, other)
    court.world.wait(3)
    Sweeper(services).beside()
    assert types_of(services, dispute)["findings_made"] == 1
    assert list(services.statistics.uncounted(limit=9)) == [broken]
    assert [d.game for d in services.directory.shuffled_decks(after=None, limit=9)] == [other]

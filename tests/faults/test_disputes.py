"""Disputes with repeated, late or lost jobs and with concurrent players."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID, uuid4

import orjson
import pytest
import redis
from rq import Queue
from rq.serializers import JSONSerializer

from service.application.calls import Caller, RegisteredPlayer
from service.application.disputes.commands import Accusation, DisputeCall
from service.application.disputes.findings import MAKE_FINDINGS
from service.application.disputes.record import DISPUTES, DisputeRecord
from service.application.errors import Refusal
from service.application.ports import MAIN_QUEUE
from service.bootstrap import Services
from service.domain.dispute import Charge, DisputeState, Vote
from service.feature import JobContext
from service.features.disputes import due_disputes, make_findings
from service.features.statistics import counts
from service.job_queue import RedisNotifier, connect
from service.shx.receipts import vote_commitment
from service.store.disputes import STATISTICS_TOPIC
from service.store.events import Commit, OutboxRow
from tests.streams import append, game_summary
from tests.worlds.fake_world import (
    Deployment,
    open_game,
    person,
    play_out,
    post,
    sliced,
    version_of,
)
from workers import jobs
from workers.main import Worker

HOUR = 3600
SALT = b"s" * 32


def open_dispute(services: Services, ada: RegisteredPlayer, game: UUID) -> UUID:
    """Open a dispute against the server."""
    accusation = Accusation(
        accused=None, seq=0, charge=Charge.ALTERED_LOG, statement="It was not so."
    )
    answer = services.disputes.open(Caller(player=ada.id), ada, game, accusation)
    return UUID(orjson.loads(answer.body)["id"])


def record_of(services: Services, dispute: UUID) -> DisputeRecord:
    found = services.store.read(dispute)
    assert found is not None
    return DISPUTES.load(dispute, found.events)


def accuser_of(services: Services, dispute: UUID) -> UUID:
    return UUID(record_of(services, dispute).dispute.opened.accuser)


def types_of(services: Services, dispute: UUID) -> Counter[str]:
    found = services.store.read(dispute)
    assert found is not None
    return Counter(orjson.loads(line)["type"] for line in found.events)


@pytest.fixture
def game(services: Services, ada: RegisteredPlayer) -> UUID:
    """Return a running game of Ada and a bot."""
    return open_game(services, ada, ("me", {"bot": "lowest"}))


@pytest.fixture
def dispute(services: Services, ada: RegisteredPlayer, game: UUID) -> UUID:
    """Return a dispute about a running game."""
    return open_dispute(services, ada, game)


@pytest.fixture
def judges(services: Services) -> list[RegisteredPlayer]:
    """Return people without a seat."""
    return [person(services, f"Judge {n}") for n in range(3)]


def vote(deployment: Deployment, judges: list[RegisteredPlayer], dispute: UUID) -> None:
    """Seal the game, seat the referees, wait a day, and commit all votes."""
    services = deployment.process()
    game = record_of(services, dispute).game
    ada = RegisteredPlayer(id=accuser_of(services, dispute), name="Ada")
    post(services, ada, game, {"type": "forfeit"})
    for judge in judges:
        services.disputes.judge(called(judge, dispute), refused=None)
    deployment.world.wait(24 * HOUR)
    for number, judge in enumerate(judges):
        commit = vote_commitment(dispute, number, "cheated", SALT).hex()
        services.disputes.commit_vote(called(judge, dispute), commit)


def called(player: RegisteredPlayer, dispute: UUID) -> DisputeCall:
    return DisputeCall(caller=Caller(player=player.id), player=player, dispute=dispute)


def reveal(services: Services, judge: RegisteredPlayer, dispute: UUID) -> Any:
    return services.disputes.reveal_vote(
        called(judge, dispute),
        vote=Vote.CHEATED,
        salt=SALT.hex(),
        reason="Seen.",
    )


def test_a_worker_makes_requested_findings(
    services: Services, dispute: UUID, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "services", lambda: services)
    RedisNotifier(connect(redis_url)).enqueue(MAKE_FINDINGS, str(dispute), key="findings")
    client = redis.Redis.from_url(redis_url)
    queue = Queue(MAIN_QUEUE, connection=client, serializer=JSONSerializer)
    worker = Worker([queue], connection=client, serializer=JSONSerializer)
    worker.work(burst=True, logging_level="ERROR")
    assert types_of(services, dispute)["findings_made"] == 1
    work = JobContext(services=lambda: services, connection=client, queue=MAIN_QUEUE)
    assert make_findings(work, str(dispute)) == "nothing", "a repeated job"
    assert make_findings(work, str(uuid4())) == "gone"
    assert types_of(services, dispute)["findings_made"] == 1


def test_missing_findings_are_made_by_the_sweeper(
    deployment: Deployment, services: Services, dispute: UUID
) -> None:
    """If Redis is down or emptied, the sweeper makes them three seconds later."""
    sliced(due_disputes, services)()
    assert types_of(services, dispute)["findings_made"] == 0
    deployment.world.wait(3)
    sliced(due_disputes, services)()
    assert types_of(services, dispute)["findings_made"] == 1


def test_two_processes_at_once_make_one_set_of_findings(
    deployment: Deployment, dispute: UUID
) -> None:
    processes = [deployment.process() for _ in range(3)]
    with ThreadPoolExecutor(3) as pool:
        outcomes = list(pool.map(lambda p: p.dispute_jobs.process(dispute), processes))
    assert sorted(outcomes) == ["done", "nothing", "nothing"]


def test_the_seal_triggers_findings_on_the_whole_game(
    deployment: Deployment, services: Services, ada: RegisteredPlayer, game: UUID, dispute: UUID
) -> None:
    services.dispute_jobs.process(dispute)
    sliced(due_disputes, services)()
    assert types_of(services, dispute)["findings_made"] == 1
    post(services, ada, game, {"type": "forfeit"})
    sliced(due_disputes, services)()
    assert types_of(services, dispute)["findings_made"] == 2
    deployment.world.wait(60)
    sliced(due_disputes, services)()
    assert types_of(services, dispute)["findings_made"] == 2


def state_of(services: Services, dispute: UUID) -> DisputeState:
    return record_of(services, dispute).dispute.state


def test_the_sweeper_opens_the_voting_and_removes_referees_that_do_not_reveal(
    deployment: Deployment, services: Services, dispute: UUID, judges: list[RegisteredPlayer]
) -> None:
    vote(deployment, judges, dispute)
    reveal(services, judges[0], dispute)
    reveal(services, judges[1], dispute)
    deployment.world.wait(48 * HOUR - 1)
    sliced(due_disputes, services)()
    assert state_of(services, dispute) is DisputeState.REVEALING
    deployment.world.wait(1)
    sliced(due_disputes, services)()
    assert state_of(services, dispute) is DisputeState.OPEN
    other = person(services, "Other")
    services.disputes.judge(called(other, dispute), refused=None)
    deployment.world.wait(24 * HOUR)
    sliced(due_disputes, services)()
    assert state_of(services, dispute) is DisputeState.VOTING
    commit = vote_commitment(dispute, 3, "cheated", SALT).hex()
    services.disputes.commit_vote(called(other, dispute), commit)
    reveal(services, other, dispute)
    assert state_of(services, dispute) is DisputeState.RULED


def test_the_sweeper_opens_the_voting_if_the_seal_comes_after_the_referees(
    deployment: Deployment,
    services: Services,
    ada: RegisteredPlayer,
    game: UUID,
    dispute: UUID,
    judges: list[RegisteredPlayer],
) -> None:
    services.dispute_jobs.process(dispute)
    for judge in judges:
        services.disputes.judge(called(judge, dispute), refused=None)
    deployment.world.wait(72 * HOUR)
    sliced(due_disputes, services)()
    assert state_of(services, dispute) is DisputeState.OPEN
    post(services, ada, game, {"type": "forfeit"})
    sliced(due_disputes, services)()
    assert state_of(services, dispute) is DisputeState.VOTING


def test_a_deadline_applies_even_if_no_sweeper_runs(
    deployment: Deployment, services: Services, dispute: UUID, judges: list[RegisteredPlayer]
) -> None:
    vote(deployment, judges, dispute)
    deployment.world.wait(48 * HOUR)
    with pytest.raises(Refusal, match="you left the panel because you did not vote, or did not"):
        reveal(services, judges[0], dispute)


def test_a_read_before_the_sweeper_shows_the_same_as_one_after_it(
    deployment: Deployment,
    services: Services,
    ada: RegisteredPlayer,
    dispute: UUID,
    judges: list[RegisteredPlayer],
) -> None:
    vote(deployment, judges, dispute)
    for judge in judges:
        reveal(services, judge, dispute)
    caller = Caller(player=ada.id)
    for days in (1, 5, 1, 1):
        deployment.world.wait(days * 24 * HOUR)
        before = services.disputes.view(caller, dispute)
        assert services.dispute_jobs.settle(dispute) in ("done", "nothing")
        assert services.disputes.view(caller, dispute) == before


def test_a_cad_is_known_before_the_sweeper_runs(
    deployment: Deployment,
    services: Services,
    ada: RegisteredPlayer,
    judges: list[RegisteredPlayer],
) -> None:
    bob = person(services, "Bob")
    game = open_game(services, ada, ("me", "open"), guests=(bob,))
    post(services, bob, game, {"type": "ready"})
    seq = version_of(services, game) - 1
    accusation = Accusation(accused=1, seq=seq, charge=Charge.OTHER, statement="So it was.")
    answer = services.disputes.open(Caller(player=ada.id), ada, game, accusation)
    dispute = UUID(orjson.loads(answer.body)["id"])
    vote(deployment, judges, dispute)
    for judge in judges:
        reveal(services, judge, dispute)
    deployment.world.wait(7 * 24 * HOUR - 1)
    assert services.players.public(bob.id)["cad"] is False
    deployment.world.wait(1)
    assert services.players.public(bob.id)["cad"] is True
    assert services.players.me(ada)["accusations"] == {"made": 1, "upheld": 1}


def test_votes_sealed_by_one_process_are_revealed_by_another(
    deployment: Deployment,
    services: Services,
    ada: RegisteredPlayer,
    game: UUID,
    dispute: UUID,
    judges: list[RegisteredPlayer],
) -> None:
    """The fourth does not vote; after the period the stored votes of the others give a ruling."""
    fourth = person(services, "Fourth")
    post(services, ada, game, {"type": "forfeit"})
    for judge in (*judges, fourth):
        services.disputes.judge(called(judge, dispute), refused=None)
    deployment.world.wait(24 * HOUR)
    for judge in judges:
        services.disputes.vote(called(judge, dispute), Vote.CHEATED)
    deployment.world.wait(48 * HOUR)
    other = deployment.process()
    assert other.disputes.view(Caller(player=ada.id), dispute)["ruling"]["verdict"] == "proven"
    sliced(due_disputes, other)()
    assert types_of(other, dispute)["vote_revealed"] == 3
    assert state_of(other, dispute) is DisputeState.RULED


def test_a_row_with_a_due_time_that_is_too_early_is_corrected(
    deployment: Deployment, services: Services, dispute: UUID
) -> None:
    """A process with other periods may have written such a row."""
    services.dispute_jobs.process(dispute)
    record = record_of(services, dispute)
    services.directory.set_dispute_due(
        dispute, version=record.version, wake_at=deployment.world.now()
    )
    assert list(services.dispute_jobs.due(limit=9)) == [dispute]
    assert services.dispute_jobs.process(dispute) == "nothing"
    assert not services.dispute_jobs.due(limit=9)


def test_two_accusations_of_one_move_at_once_make_one_dispute(
    deployment: Deployment, services: Services, ada: RegisteredPlayer, game: UUID
) -> None:
    processes = [deployment.process() for _ in range(3)]

    def accuse(process: Services) -> UUID | str:
        try:
            return open_dispute(process, ada, game)
        except Refusal as refusal:
            return str(refusal.extra["id"])

    with ThreadPoolExecutor(3) as pool:
        outcomes = list(pool.map(accuse, processes))
    opened = [outcome for outcome in outcomes if isinstance(outcome, UUID)]
    assert len(opened) == 1
    assert {str(outcome) for outcome in outcomes} == {str(opened[0])}


def test_a_ruling_becomes_final_after_a_week(
    deployment: Deployment, services: Services, dispute: UUID, judges: list[RegisteredPlayer]
) -> None:
    vote(deployment, judges, dispute)
    for judge in judges:
        reveal(services, judge, dispute)
    deployment.world.wait(7 * 24 * HOUR)
    sliced(due_disputes, services)()
    assert record_of(services, dispute).dispute.state is DisputeState.FINAL
    assert not services.dispute_jobs.due(limit=9)


def test_votes_revealed_at_the_same_time_give_one_ruling(
    deployment: Deployment, services: Services, dispute: UUID, judges: list[RegisteredPlayer]
) -> None:
    vote(deployment, judges, dispute)
    processes = [deployment.process() for _ in judges]
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda p, judge: reveal(p, judge, dispute), processes, judges))
    assert types_of(services, dispute)["vote_revealed"] == 3
    assert types_of(services, dispute)["dispute_ruled"] == 1


def test_a_game_that_cannot_be_counted_delays_no_other(
    deployment: Deployment, services: Services, ada: RegisteredPlayer, dispute: UUID
) -> None:
    broken = uuid4()
    row = OutboxRow(stream=broken, version=1, topic=STATISTICS_TOPIC)
    made = append(broken, b"{}", summary=game_summary())
    services.store.commit(Commit(appends=(made,), outbox=(row,)))
    other = open_game(services, ada, ({"bot": "lowest"}, {"bot": "greedy"}))
    play_out(services, other)
    deployment.world.wait(3)
    count = sliced(counts, services, rows=1)
    assert [count(), count()] == [1, 1]
    assert list(services.statistics.uncounted(limit=9)) == [broken]
    assert [d.game for d in services.directory.shuffled_decks(after=None, limit=9)] == [other]


@pytest.mark.heavy
def test_a_game_that_cannot_be_read_delays_no_deadline(
    deployment: Deployment,
    services: Services,
    game: UUID,
    dispute: UUID,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    post(
        services,
        RegisteredPlayer(id=accuser_of(services, dispute), name="Ada"),
        game,
        {"type": "forfeit"},
    )
    deployment.world.wait(30 * 24 * HOUR)

    def broken(_game: UUID) -> None:
        raise ValueError("this game makes no sense")

    monkeypatch.setattr(services.game_cache, "fresh", broken)
    sliced(due_disputes, services)()
    assert state_of(services, dispute) is DisputeState.FINAL

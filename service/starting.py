"""What is looked at before a process begins to work: its clock, its keys, its name in the log."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
import structlog

from service.config import Settings, variable
from service.event_store.database import Database
from service.event_store.protocol import StoreUnavailable
from service.keyring import Keyring, KeyringError, load_or_create

WORTH_A_WORD = timedelta(seconds=2)
TOO_FAR = timedelta(seconds=60)

_log = structlog.stdlib.get_logger("shithead.start")


class ClockWrong(Exception):
    """The clock of this machine is not to be worked with; the message says why."""


class CannotStart(Exception):
    """Something is wrong that work would make worse; the message says what, and what to do."""


def check_start(settings: Settings, now: datetime | None = None) -> None:
    """
    Raise CannotStart where this process should not begin to work.

    A database that does not answer is no reason: the process starts, says that it is not
    ready, and serves as soon as there is one. Only new keys it does not make before it
    has seen that no games depend on others.
    """
    database = Database(settings.database_url, size=1)
    try:
        _check_keys(settings, database)
        published = database.fetch("log_published")
        if published:
            _check_origin(settings.origin, bytes(published[0][2]))
        check_clock(database, now)
    except (StoreUnavailable, psycopg.Error) as error:
        _log.warning("clock and origin were not compared", error=type(error).__name__)
    except ClockWrong as fault:
        if settings.clock_check:
            advice = f"{variable('clock_check')}=off starts all the same"
            raise CannotStart(f"{fault}; {advice}") from None
        _log.warning("the clock is wrong", fault=str(fault))
    finally:
        database.close()


def check_clock(database: Database, now: datetime | None = None) -> None:
    """Raise ClockWrong while this machine's clock is not to be worked with."""
    [(of_database, newest)] = database.fetch("clocks")
    fault = clock_fault(now or datetime.now(UTC), of_database, newest)
    if fault is not None:
        raise ClockWrong(fault)


def clock_fault(now: datetime, of_database: datetime, newest: datetime | None) -> str | None:
    """
    Return why this machine's clock is not to be worked with, None where it is.

    Times in a log never go back, so with a clock that has, every event would get the time of
    the one before it, and no deadline would pass until the clock has caught up. Small
    differences between machines are told and lived with.
    """
    behind = newest - now if newest is not None else timedelta()
    apart = abs(of_database - now)
    if behind > TOO_FAR:
        return (
            f"this machine's clock is {_seconds(behind)} behind the newest stored event "
            f"({newest:%Y-%m-%d %H:%M:%S} UTC): it has gone back, or it was ahead before"
        )
    if apart > TOO_FAR:
        return f"the clocks of this machine and of the database are {_seconds(apart)} apart"
    if max(behind, apart) > WORTH_A_WORD:
        _log.warning("clocks differ", behind=_seconds(behind), database=_seconds(apart))
    return None


def _check_origin(origin: str, note: bytes) -> None:
    """Raise where the public log was signed under another name: to witnesses it would be two."""
    signed = note.decode().partition("\n")[0]
    if signed != origin:
        raise CannotStart(
            f"the public log of this database is {signed}, and {variable('origin')} is {origin}: "
            "the name never changes"
        )


def _check_keys(settings: Settings, database: Database) -> None:
    try:
        if settings.keys is not None:
            Keyring.from_text(settings.keys)
        elif settings.key_file is not None:
            if not settings.key_file.exists():
                _refuse_new_keys(settings.key_file, database)
            load_or_create(settings.key_file)
    except KeyringError as error:
        raise CannotStart(f"the keys cannot be used: {error}") from None
    except OSError as error:
        raise CannotStart(f"{settings.key_file} cannot be made: {error.strerror}") from None


def _refuse_new_keys(key_file: Path, database: Database) -> None:
    """
    Raise where games were made with keys that are not there.

    A process that is started again while the file is away would make another, sign the
    public log with it, and open no running game.
    """
    try:
        games, _, leaves, _, _ = database.fetch("backup_facts")[0]
    except psycopg.errors.UndefinedTable:
        return  # before the first migration
    except (StoreUnavailable, psycopg.Error):
        raise CannotStart(
            f"{key_file} is not there, and whether games need it the database does not say"
        ) from None
    if games or leaves:
        raise CannotStart(
            f"{key_file} is not there, and {games} games were made with its keys: put it back "
            "(`shithead rotate-keys --new` makes another where it is lost for good)"
        )


def _seconds(length: timedelta) -> str:
    return f"{length.total_seconds():.0f} s"

"""The services that the settings describe: over which database, keys, witnesses and Redis."""

from __future__ import annotations

from datetime import timedelta

from redis import Redis

from service.application.beat import Beat
from service.application.readiness import Readiness
from service.application.retention import retention_of
from service.bootstrap import Services, compose
from service.config import Settings
from service.event_store.bundles import Bundles
from service.event_store.database import Database
from service.event_store.migrate import check as check_migrated
from service.event_store.postgres import PostgresStore
from service.event_store.postgres_directory import PostgresDirectory
from service.key_file import KeyFile
from service.keyring import Keyring, KeyringError
from service.public_log.postgres_log import PostgresLog
from service.public_log.signed import beside
from service.public_log.witnesses import parse_witnesses
from service.starting import check_clock
from service.trying import QueuedTrials
from service.wakeups import RedisBell, connect


def services_from(settings: Settings) -> Services:
    """Return the services that the settings describe; connections open at their first use."""
    database = Database.of(settings)
    redis = connect(settings.redis_url) if settings.redis_url else None
    bell = RedisBell(redis) if redis else None
    keyring = _keyring(settings)
    return compose(
        store=PostgresStore(database, Bundles(settings.archive)),
        directory=PostgresDirectory(database),
        keyring=keyring,
        origin=settings.origin,
        bell=bell,
        ask_findings=bell.look_into if bell else lambda _dispute: None,
        readiness=Readiness(
            needed={
                "database": database.reach,
                "migrations": lambda: check_migrated(settings.database_url),
                "keys": keyring.check if isinstance(keyring, KeyFile) else lambda: None,
            },
            wanted={
                "redis": lambda: _check_redis(redis),
                "clock": lambda: check_clock(database),
            },
        ),
        trials=QueuedTrials(redis),
        begin_beat=Beat().begin,
        log_store=PostgresLog(database),
        witnesses=parse_witnesses(settings.witnesses or ""),
        kept=retention_of(settings),
        idle_after=timedelta(days=settings.idle_days) if settings.idle_days else None,
        signed=beside(settings.key_file),
        close=database.close,
    )


def _keyring(settings: Settings) -> Keyring | KeyFile:
    if settings.keys is not None:
        return Keyring.from_text(settings.keys)
    if settings.key_file is None:
        raise KeyringError("neither a key file nor keys are set")
    return KeyFile(settings.key_file)


def _check_redis(redis: Redis | None) -> None:
    """Raise where Redis is down, or there is none: bots then wait for it."""
    if redis is None:
        raise ConnectionError("no address is set")
    redis.ping()

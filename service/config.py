"""The settings of a running service, read from the environment once and checked at start."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

_PREFIX = "SHITHEAD_"
_ORIGIN = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[0-9]{1,5})?(/[A-Za-z0-9._~-]+)*")
_CORS_ORIGIN = re.compile(r"https?://([a-z0-9]([a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:]+\])(:[0-9]{1,5})?")
_WITNESS = re.compile(r"[^\s+,]+\+[0-9a-f]{8}\+[A-Za-z0-9+/]+=* +https?://[^\s,]+")
_OF_OTHERS = (f"{_PREFIX}TEST_", f"{_PREFIX}URL")  # read by the tests, and by `shithead replay`
_E = TypeVar("_E", bound=StrEnum)


class ConfigError(Exception):
    """The environment does not describe a service that could run; a line for each fault."""


class LogLevel(StrEnum):
    """How much the logs tell."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class LogFormat(StrEnum):
    """For whom the logs are written: people or programs."""

    TEXT = "text"
    JSON = "json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """
    All settings, each from the variable SHITHEAD_<NAME IN CAPITALS>; the defaults stand here.

    Addresses and keys can hold passwords and are left out of `repr`.
    """

    database_url: str = field(repr=False)
    redis_url: str | None = field(default=None, repr=False)  # None: no wake-ups, no bots
    key_file: Path | None = None  # the keyring, made at the first start
    keys: str | None = field(default=None, repr=False)  # the keyring itself, instead of a file
    archive: Path | None = None  # the folder of the bundles that archived games are read from
    origin: str = "shithead.localhost"  # the name in receipts and the log; never changes
    witnesses: str | None = None  # of the public log: `name+id+key url`, with commas between
    host: str = "127.0.0.1"
    port: int = 8080
    metrics_port: int | None = None  # None: /metrics beside the API
    metrics_host: str | None = None  # where that port listens; None: where the API does
    api_processes: int = 2
    api_threads: int = 64  # a process; half of them may wait in live streams and long polls
    stream_port: int | None = None  # of a process for streams and long polls; None: there is none
    stream_threads: int = 256  # of that process; all but eight may wait
    workers: int = 2  # processes that take the turns of bots
    pool_size: int = 8  # database connections a process
    idle_days: int = 30  # a game that waits so long for a person is closed; 0: never
    statement_seconds: int = 5  # after which nobody waits for a statement any more
    max_body_bytes: int = 1024 * 1024
    max_bundle_bytes: int = 32 * 1024 * 1024  # of an upload to be verified
    rate_limits: bool = True
    keep_answers_hours: int = 24  # to repeated requests
    keep_wake_ups_hours: int = 24  # for live readers, where no relay passed them on
    keep_refusals_days: int = 365  # refused moves, after the seal; 0: for ever
    keep_unused_players_days: int = 365  # who registered and never did anything; 0: for ever
    calls_per_token: int = 12_000  # a minute, counted by each process
    calls_per_address: int = 120_000  # a minute, counted by each process
    trusted_proxies: int = 0  # how many proxies' X-Forwarded-For to believe
    cors_origins: str | None = None  # whose pages may call: `https://a.example`, commas between
    clock_check: bool = True  # whether to refuse to start with a clock that has gone back
    log_level: LogLevel = LogLevel.INFO
    log_format: LogFormat = LogFormat.JSON

    @property
    def queue_size(self) -> int:
        """
        Return how many requests may wait for a connection while the database is slow.

        Half the threads may be lent to long polls and streams. Of the rest some are left to
        refuse the others, and to tell how the service is, however long the database takes.
        """
        return max(1, self.api_threads // 2 - self.pool_size - 4)


def settings_from(environment: Mapping[str, str] = os.environ) -> Settings:
    """
    Return the settings that `environment` describes.

    Raises ConfigError that names every variable at fault, also one that nobody reads: a
    misspelt setting would otherwise be a silent default.
    """
    found: dict[str, Any] = {}
    faults: list[str] = []
    for setting, convert in _READERS.items():
        name = variable(setting)
        value = environment.get(name, "").strip()
        if not value:
            continue
        try:
            found[setting] = convert(value)
        except ValueError as error:
            faults.append(f"{name} {error}")
    if not environment.get(variable("database_url"), "").strip():
        faults.append(f"{variable('database_url')} is not set: postgresql://user@host/database")
    if "key_file" not in found and "keys" not in found:
        faults.append(f"{variable('key_file')} is not set: the file that holds the service's keys")
    faults += _unknown(environment)
    if faults:
        raise ConfigError("\n".join(faults))
    return Settings(**found)


def variable(setting: str) -> str:
    """Return the name of the variable that holds `setting`."""
    return _PREFIX + setting.upper()


def _unknown(environment: Mapping[str, str]) -> list[str]:
    known = {variable(setting) for setting in _READERS}
    return [
        f"{name} is not a setting"
        for name in sorted(environment)
        if name.startswith(_PREFIX) and not name.startswith(_OF_OTHERS) and name not in known
    ]


def _database_url(value: str) -> str:
    if urlsplit(value).scheme not in {"postgresql", "postgres"}:
        raise ValueError("is not an address like postgresql://user@host/database")
    return value


def _redis_url(value: str) -> str:
    if urlsplit(value).scheme not in {"redis", "rediss", "unix"}:
        raise ValueError("is not an address like redis://host:6379/0 or unix:///path?db=0")
    return value


def _origin(value: str) -> str:
    if not _ORIGIN.fullmatch(value):
        raise ValueError("is not a name like shithead.example or shithead.example/log")
    return value


def _witnesses(value: str) -> str:
    if not all(_WITNESS.fullmatch(item.strip()) for item in value.split(",")):
        raise ValueError("is not a list of `name+id+key https://address`, with commas between")
    return value


def _cors_origins(value: str) -> str:
    """
    Refuse what is no origin: also `*` and `null`, which stand for everybody's pages.

    An address with a path never equals what browsers send, and would allow nothing.
    """
    if not all(_CORS_ORIGIN.fullmatch(item.strip()) for item in value.split(",")):
        raise ValueError(
            "is not a list of origins like https://play.example, each named, with commas between"
        )
    return value


def _path(value: str) -> Path:
    path = Path(value).expanduser()
    if not path.is_absolute():
        raise ValueError("is not an absolute path")
    return path


def _switch(value: str) -> bool:
    match value.lower():
        case "on" | "true" | "yes" | "1":
            return True
        case "off" | "false" | "no" | "0":
            return False
        case _:
            raise ValueError("is neither on nor off")


def _number(low: int, high: int) -> Callable[[str], int]:
    def convert(value: str) -> int:
        if not re.fullmatch(r"[0-9]{1,12}", value) or not low <= int(value) <= high:
            raise ValueError(f"is not a whole number from {low} to {high}")
        return int(value)

    return convert


def _one_of(kind: type[_E]) -> Callable[[str], _E]:
    def convert(value: str) -> _E:
        try:
            return kind(value.lower())
        except ValueError:
            raise ValueError(f"is none of {', '.join(kind)}") from None

    return convert


_READERS: Mapping[str, Callable[[str], object]] = {
    "database_url": _database_url,
    "redis_url": _redis_url,
    "key_file": _path,
    "keys": str,
    "archive": _path,
    "origin": _origin,
    "witnesses": _witnesses,
    "host": str,
    "port": _number(1, 65535),
    "metrics_port": _number(1, 65535),
    "metrics_host": str,
    "api_processes": _number(1, 64),
    "api_threads": _number(1, 1024),
    "stream_port": _number(1, 65535),
    "stream_threads": _number(16, 4096),
    "workers": _number(0, 64),
    "pool_size": _number(1, 200),
    "idle_days": _number(0, 36_500),
    "statement_seconds": _number(1, 600),
    "max_body_bytes": _number(1024, 2**30),
    "max_bundle_bytes": _number(1024, 2**30),
    "rate_limits": _switch,
    "keep_answers_hours": _number(24, 24 * 3650),
    "keep_wake_ups_hours": _number(1, 24 * 3650),
    "keep_refusals_days": _number(0, 36500),
    "keep_unused_players_days": _number(0, 36500),
    "calls_per_token": _number(1, 10**9),
    "calls_per_address": _number(1, 10**9),
    "trusted_proxies": _number(0, 10),
    "cors_origins": _cors_origins,
    "clock_check": _switch,
    "log_level": _one_of(LogLevel),
    "log_format": _one_of(LogFormat),
}

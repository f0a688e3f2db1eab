"""The settings of the service, read from environment variables at start."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

ERASURES = "erased-players.txt"
"""The name of the list of erased players beside the key file."""

_PREFIX = "SHITHEAD_"
_ORIGIN = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[0-9]{1,5})?(/[A-Za-z0-9._~-]+)*")
_CORS_ORIGIN = re.compile(r"https?://([a-z0-9]([a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:]+\])(:[0-9]{1,5})?")
_WITNESS = re.compile(
    r"[^\s+,]+\+[0-9a-f]{8}\+[A-Za-z0-9+/]+=* +https?://[^\s,]+( +https?://[^\s,]+)?"
)
_OF_OTHERS = (f"{_PREFIX}TEST_", f"{_PREFIX}URL")  # of the tests and the client
_TEN_YEARS = 3650 * 86_400
_READER = "reader"
_E = TypeVar("_E", bound=StrEnum)


class ConfigError(Exception):
    """Settings are missing or invalid; the message has a line for each."""


class LogLevel(StrEnum):
    """The lowest level that is logged."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class LogFormat(StrEnum):
    """The format of the logs: text for people, JSON for programs."""

    TEXT = "text"
    JSON = "json"


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
        raise ValueError("is not a list of `name+id+key https://address`, separated by commas")
    return value


def _cors_origins(value: str) -> str:
    """
    Return a list of origins; refuse `*` and `null`, which allow any page.

    An address with a path never equals the origin that browsers send.
    """
    if not all(_CORS_ORIGIN.fullmatch(item.strip()) for item in value.split(",")):
        raise ValueError("is not a list of origins like https://play.example, separated by commas")
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


def _read_by(reader: Callable[[str], object]) -> Mapping[str, Any]:
    """Return the metadata of a setting that `reader` converts from text; it raises ValueError."""
    return {_READER: reader}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """
    All settings, each declared once: variable SHITHEAD_<NAME>, type, default and reader.

    Addresses and keys can contain passwords and are left out of `repr`.
    """

    database_url: str = field(repr=False, metadata=_read_by(_database_url))
    # None: no bots, and no live updates
    redis_url: str | None = field(default=None, repr=False, metadata=_read_by(_redis_url))
    # the file of the keyring, created at the first start
    key_file: Path | None = field(default=None, metadata=_read_by(_path))
    # the keyring itself, instead of a file
    keys: str | None = field(default=None, repr=False, metadata=_read_by(str))
    # the folder of archived games
    archive: Path | None = field(default=None, metadata=_read_by(_path))
    # the file that lists erased players; None: beside the key file
    erasures: Path | None = field(default=None, metadata=_read_by(_path))
    # the name in receipts and in the public log; it can never be changed
    origin: str = field(default="shithead.localhost", metadata=_read_by(_origin))
    # of the public log: `name+id+key url`, separated by commas
    witnesses: str | None = field(default=None, metadata=_read_by(_witnesses))
    # witnesses that have to answer at the start before anything is signed
    witness_quorum: int = field(default=0, metadata=_read_by(_number(0, 32)))
    # the file of the newest signed checkpoint; None: beside the key file
    log_checkpoint: Path | None = field(default=None, metadata=_read_by(_path))
    host: str = field(default="127.0.0.1", metadata=_read_by(str))
    port: int = field(default=8080, metadata=_read_by(_number(1, 65535)))
    # serves all metrics; None: only the gauges of /metrics on the API
    metrics_port: int | None = field(default=None, metadata=_read_by(_number(1, 65535)))
    # address of that port; None: the address of the API
    metrics_host: str | None = field(default=None, metadata=_read_by(str))
    api_processes: int = field(default=2, metadata=_read_by(_number(1, 64)))
    # per process; half of them may serve streams and long polls
    api_threads: int = field(default=64, metadata=_read_by(_number(1, 1024)))
    # of a separate process for streams and long polls; None: no such process
    stream_port: int | None = field(default=None, metadata=_read_by(_number(1, 65535)))
    # of that process; all but eight may serve streams and long polls
    stream_threads: int = field(default=256, metadata=_read_by(_number(16, 4096)))
    # processes that play the moves of bots
    workers: int = field(default=2, metadata=_read_by(_number(0, 64)))
    # database connections per process
    pool_size: int = field(default=8, metadata=_read_by(_number(1, 200)))
    # after which a game that waits for a player is closed; 0: never
    idle_days: int = field(default=30, metadata=_read_by(_number(0, 36_500)))
    # time limit of a SQL statement
    statement_seconds: int = field(default=5, metadata=_read_by(_number(1, 600)))
    # time limit for receiving a request body, plus one second per 64 KiB
    body_seconds: int = field(default=20, metadata=_read_by(_number(1, 600)))
    max_body_bytes: int = field(default=256 * 1024, metadata=_read_by(_number(1024, 2**30)))
    # of an uploaded bundle
    max_bundle_bytes: int = field(default=32 * 1024 * 1024, metadata=_read_by(_number(1024, 2**30)))
    # time limit for verifying an uploaded bundle
    verify_seconds: int = field(default=5, metadata=_read_by(_number(1, 3600)))
    rate_limits: bool = field(default=True, metadata=_read_by(_switch))
    # retention of responses to requests with an Idempotency-Key
    keep_answers_hours: int = field(default=24, metadata=_read_by(_number(24, 24 * 3650)))
    # retention of notifications that no relay has sent
    keep_wake_ups_hours: int = field(default=24, metadata=_read_by(_number(1, 24 * 3650)))
    # log format of new games: 1 until every process runs this release
    record_version: int = field(default=2, metadata=_read_by(_number(1, 2)))
    # retention of refused moves after the seal; 0: permanently
    keep_refusals_days: int = field(default=365, metadata=_read_by(_number(0, 36500)))
    # retention of players who never did anything; 0: permanently
    keep_unused_players_days: int = field(default=365, metadata=_read_by(_number(0, 36500)))
    # per minute, counted by each process
    calls_per_token: int = field(default=12_000, metadata=_read_by(_number(1, 10**9)))
    # per minute, counted by each process
    calls_per_address: int = field(default=120_000, metadata=_read_by(_number(1, 10**9)))
    # finished hands required of a referee
    referee_hands: int = field(default=5, metadata=_read_by(_number(0, 10**6)))
    # required age of a referee's account
    referee_account_seconds: int = field(default=259_200, metadata=_read_by(_number(0, _TEN_YEARS)))
    # during which a new referee can be rejected
    referee_seated_seconds: int = field(default=86_400, metadata=_read_by(_number(0, _TEN_YEARS)))
    # time limit for a referee to vote, and again to reveal the vote
    vote_seconds: int = field(default=172_800, metadata=_read_by(_number(0, _TEN_YEARS)))
    # time limit for an appeal after a ruling
    appeal_seconds: int = field(default=604_800, metadata=_read_by(_number(0, _TEN_YEARS)))
    # after the seal, time limit for completing a panel of referees
    dispute_seconds: int = field(default=2_592_000, metadata=_read_by(_number(0, _TEN_YEARS)))
    # number of proxies whose X-Forwarded-For is trusted
    trusted_proxies: int = field(default=0, metadata=_read_by(_number(0, 10)))
    # origins of pages that may call: `https://a.example`, separated by commas
    cors_origins: str | None = field(default=None, metadata=_read_by(_cors_origins))
    # refuse to start if the clock was set back
    clock_check: bool = field(default=True, metadata=_read_by(_switch))
    # refuse to start with keys older than those in use
    keys_check: bool = field(default=True, metadata=_read_by(_switch))
    log_level: LogLevel = field(default=LogLevel.INFO, metadata=_read_by(_one_of(LogLevel)))
    log_format: LogFormat = field(default=LogFormat.JSON, metadata=_read_by(_one_of(LogFormat)))

    @property
    def erasure_list(self) -> Path | None:
        """Return the path of the list of erased players; None without a key file."""
        if self.erasures is not None or self.key_file is None:
            return self.erasures
        return self.key_file.with_name(ERASURES)

    @property
    def queue_size(self) -> int:
        """
        Return how many requests may wait for a connection while the database is slow.

        Half the threads may serve long polls and streams. Some of the rest stay free to
        refuse requests and to answer health checks.
        """
        return max(1, self.api_threads // 2 - self.pool_size - 4)


def settings_from(environment: Mapping[str, str] = os.environ) -> Settings:
    """
    Return the settings in `environment`.

    Raises ConfigError that names every invalid variable, also unknown ones: a misspelt
    setting must not silently have its default.
    """
    found: dict[str, Any] = {}
    faults: list[str] = []
    for setting in fields(Settings):
        name = variable(setting.name)
        value = environment.get(name, "").strip()
        if not value:
            continue
        try:
            found[setting.name] = setting.metadata[_READER](value)
        except ValueError as error:
            faults.append(f"{name} {error}")
    if not environment.get(variable("database_url"), "").strip():
        faults.append(f"{variable('database_url')} is not set: postgresql://user@host/database")
    if "key_file" not in found and "keys" not in found:
        faults.append(f"{variable('key_file')} is not set: the path of the key file")
    named = len([one for one in found.get("witnesses", "").split(",") if one.strip()])
    if found.get("witness_quorum", 0) > named:
        faults.append(f"{variable('witness_quorum')} is greater than the {named} witnesses")
    faults += _unknown(environment)
    if faults:
        raise ConfigError("\n".join(faults))
    return Settings(**found)


def variable(setting: str) -> str:
    """Return the name of the variable of `setting`."""
    return _PREFIX + setting.upper()


def variables_of(settings: Settings) -> dict[str, str]:
    """Return the environment variables from which `settings_from` reads these settings."""
    values = {one.name: getattr(settings, one.name) for one in fields(settings)}
    return {variable(name): str(value) for name, value in values.items() if value is not None}


def _unknown(environment: Mapping[str, str]) -> list[str]:
    known = {variable(setting.name) for setting in fields(Settings)}
    return [
        f"{name} is not a setting"
        for name in sorted(environment)
        if name.startswith(_PREFIX) and not name.startswith(_OF_OTHERS) and name not in known
    ]

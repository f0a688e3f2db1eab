"""The settings of the service, read from environment variables at start."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import Field, dataclass, field, fields
from enum import StrEnum
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

from service.runtime.addresses import check_redis_url, scheme_of

ERASURES = "erased-players.txt"
"""The name of the list of erased players beside the key file."""

CONNECTIONS = 4096
"""Connections that an API process accepts, idle ones included; further ones wait."""

NO_PATH = "the service needs a host name of its own, and cannot be served below a path of one"
"""The refusal of an address such as https://host/cards (ops/decisions/0095)."""

_PREFIX = "SHITHEAD_"
_PATH_OF_SERVER = "GRANIAN_URL_PATH_PREFIX"
_ORIGIN = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[0-9]{1,5})?(/[A-Za-z0-9._~-]+)*")
_CORS_ORIGIN = re.compile(r"https?://([a-z0-9]([a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:]+\])(:[0-9]{1,5})?")
_WITNESS = re.compile(
    r"[^\s+,]+\+[0-9a-f]{8}\+[A-Za-z0-9+/]+=* +https?://[^\s,]+( +https?://[^\s,]+)?"
)
_CONTACT = re.compile(r"mailto:[!-+\--~]+@[!-+\--~]+|https://[!-+\--~]+")
_ARCHIVE = re.compile(r"[a-z0-9_]{1,63}")
_OBJECT_STORE = re.compile(r"s3://[^\s/?#]+(/[^\s?#]*)?")
_OTHER_PREFIXES = (f"{_PREFIX}TEST_", f"{_PREFIX}URL", f"{_PREFIX}HOME")  # of tests and client
_READER = "reader"
_E = TypeVar("_E", bound=StrEnum)
T = TypeVar("T")


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
    if scheme_of(value) not in {"postgresql", "postgres"}:
        raise ValueError("is not an address like postgresql://user@host/database")
    return value


def _redis_url(value: str) -> str:
    check_redis_url(value)
    return value


def _origin(value: str) -> str:
    if not _ORIGIN.fullmatch(value):
        raise ValueError("is not a name like shithead.example or shithead.example/log")
    return value


def _witnesses(value: str) -> str:
    if not all(_WITNESS.fullmatch(item.strip()) for item in value.split(",")):
        raise ValueError("is not a list of `name+id+key https://address`, separated by commas")
    keys = [item.split()[0].split("+", 2)[2] for item in value.split(",")]
    if len(set(keys)) < len(keys):
        raise ValueError("has the key of a witness twice, which would count twice for a quorum")
    return value


def _wal_archive(value: str) -> str:
    if not _ARCHIVE.fullmatch(value):
        raise ValueError("is neither archiver nor the name of a replication slot")
    return value


def _cors_origins(value: str) -> str:
    """
    Return a list of origins; refuse `*` and `null`, which allow any page.

    An address with a path never equals the origin that browsers send.
    """
    if not all(_CORS_ORIGIN.fullmatch(item.strip()) for item in value.split(",")):
        raise ValueError("is not a list of origins like https://play.example, separated by commas")
    return value


def _contacts(value: str) -> str:
    """Return a list of addresses for reports about security, as RFC 9116 has them."""
    if not all(_CONTACT.fullmatch(item.strip()) for item in value.split(",")):
        raise ValueError("is not a list of `mailto:` and `https://` addresses, with commas between")
    return value


def _path(value: str) -> Path:
    path = Path(value).expanduser()
    if not path.is_absolute():
        raise ValueError("is not an absolute path")
    return path


def archive_place(value: str) -> Path | str:
    """
    Return the folder of an archive, or the address of an object store; raises ValueError.

    Other stores are refused until a test against a server that speaks their protocol exists.

    >>> archive_place("s3://games/archive")
    's3://games/archive'
    """
    if "://" not in value:
        return Path(value).expanduser()
    if not _OBJECT_STORE.fullmatch(value):
        raise ValueError("is no address of an object store that speaks S3: s3://bucket/folder")
    return value


def _archive_place(value: str) -> Path | str:
    return archive_place(value) if "://" in value else _path(value)


def switch(value: str) -> bool:
    """Read a setting that is on or off; raises ValueError."""
    match value.lower():
        case "on" | "true" | "yes" | "1":
            return True
        case "off" | "false" | "no" | "0":
            return False
        case _:
            raise ValueError("is neither on nor off")


def whole_number(low: int, high: int) -> Callable[[str], int]:
    """Return the reader of a whole number, which raises ValueError."""

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
    """Return the metadata of a setting: `reader` converts its text, or raises ValueError."""
    return {_READER: reader}


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting(Generic[T]):
    """A setting of one feature, which declares it: variable SHITHEAD_<NAME>."""

    name: str
    default: T
    read: Callable[[str], T]  # converts its text, or raises ValueError
    section: str  # of the page of settings
    unit: str  # or form
    effect: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """
    The settings that features share, each declared once: variable SHITHEAD_<NAME>, type, default.

    DESCRIBED states the unit and the effect of each. `of_features` has those of single features, as
    far as they are set, by name. Keys and the addresses of databases, which
    can contain passwords, are left out of `repr`.
    """

    database_url: str = field(repr=False, metadata=_read_by(_database_url))
    read_database_url: str | None = field(
        default=None, repr=False, metadata=_read_by(_database_url)
    )
    redis_url: str | None = field(default=None, repr=False, metadata=_read_by(_redis_url))
    key_file: Path | None = field(default=None, metadata=_read_by(_path))
    keys: str | None = field(default=None, repr=False, metadata=_read_by(str))
    archive: Path | str | None = field(default=None, metadata=_read_by(_archive_place))
    archive_after_days: int = field(default=0, metadata=_read_by(whole_number(0, 36_500)))
    erasures: Path | None = field(default=None, metadata=_read_by(_path))
    origin: str = field(default="shithead.localhost", metadata=_read_by(_origin))
    witnesses: str | None = field(default=None, metadata=_read_by(_witnesses))
    witness_quorum: int = field(default=0, metadata=_read_by(whole_number(0, 32)))
    log_checkpoint: Path | None = field(default=None, metadata=_read_by(_path))
    wal_archive: str | None = field(default=None, metadata=_read_by(_wal_archive))
    host: str = field(default="127.0.0.1", metadata=_read_by(str))
    port: int = field(default=8080, metadata=_read_by(whole_number(1, 65535)))
    metrics_port: int | None = field(default=None, metadata=_read_by(whole_number(1, 65535)))
    metrics_host: str | None = field(default=None, metadata=_read_by(str))
    api_processes: int = field(default=2, metadata=_read_by(whole_number(1, 64)))
    api_threads: int = field(default=64, metadata=_read_by(whole_number(1, 1024)))
    stream_port: int | None = field(default=None, metadata=_read_by(whole_number(1, 65535)))
    stream_threads: int = field(default=256, metadata=_read_by(whole_number(16, 4096)))
    workers: int = field(default=2, metadata=_read_by(whole_number(0, 64)))
    pool_size: int = field(default=8, metadata=_read_by(whole_number(1, 200)))
    prepared_statements: bool = field(default=True, metadata=_read_by(switch))
    statement_seconds: int = field(default=5, metadata=_read_by(whole_number(1, 600)))
    body_seconds: int = field(default=20, metadata=_read_by(whole_number(1, 600)))
    max_body_bytes: int = field(default=64 * 1024, metadata=_read_by(whole_number(1024, 2**30)))
    max_bundle_bytes: int = field(
        default=32 * 1024 * 1024, metadata=_read_by(whole_number(1024, 2**30))
    )
    verify_seconds: int = field(default=5, metadata=_read_by(whole_number(1, 3600)))
    rate_limits: bool = field(default=True, metadata=_read_by(switch))
    calls_per_token: int = field(default=12_000, metadata=_read_by(whole_number(1, 10**9)))
    calls_per_address: int = field(default=120_000, metadata=_read_by(whole_number(1, 10**9)))
    trusted_proxies: int = field(default=0, metadata=_read_by(whole_number(0, 10)))
    cors_origins: str | None = field(default=None, metadata=_read_by(_cors_origins))
    security_contact: str | None = field(default=None, metadata=_read_by(_contacts))
    clock_check: bool = field(default=True, metadata=_read_by(switch))
    keys_check: bool = field(default=True, metadata=_read_by(switch))
    log_level: LogLevel = field(default=LogLevel.INFO, metadata=_read_by(_one_of(LogLevel)))
    log_format: LogFormat = field(default=LogFormat.JSON, metadata=_read_by(_one_of(LogFormat)))

    of_features: Mapping[str, object] = field(default_factory=dict)

    def of(self, setting: Setting[T]) -> T:
        """Return the value of a setting that a feature declares."""
        return cast("T", self.of_features.get(setting.name, setting.default))

    @property
    def erasure_list(self) -> Path | None:
        """
        Return the path of the list of erased players: `erasures`, else a file beside the key file.

        None if neither is set.
        """
        if self.erasures is not None or self.key_file is None:
            return self.erasures
        return self.key_file.with_name(ERASURES)

    @property
    def queue_size(self) -> int:
        """
        Return how many requests may wait for a connection while the database is slow.

        Half of the threads may serve long polls and streams. Some of the others must stay free
        to refuse requests and to answer health checks.
        """
        return max(1, self.api_threads // 2 - self.pool_size - 4)


DESCRIBED = """
= Servers and addresses
database_url | required | PostgreSQL URL | Database with the record of all games
read_database_url | none | PostgreSQL URL | Replica for replays, audits, evidence and lists
redis_url | none | Redis URL | Redis, Valkey or Sentinels; without it bots do not move
host | | address | Address on which the API listens
port | | TCP port | Port of the API
stream_port | no process | TCP port | Port of a separate process for streams and long polls
metrics_port | none | TCP port | Port with all metrics; `/metrics` of the API has gauges only
metrics_host | as SHITHEAD_HOST | address | Address of the metrics port
trusted_proxies | | proxies | Number of reverse proxies whose `X-Forwarded-For` is trusted
cors_origins | none | list | Web origins, such as `https://a.example`, whose pages may call the API
security_contact | none | list | Where `/.well-known/security.txt` sends reports: `mailto:`, `https://`
= Keys and files
key_file | required | absolute path | File of the keys, created at the first start; or SHITHEAD_KEYS
keys | none | JSON | Text of a key file, used instead of the file
archive | none | absolute path or address | Archived games: a folder, or `s3://bucket/folder`
archive_after_days | 0 | days | Age at which `shithead up` archives sealed games by itself; 0: never
erasures | beside the keys | absolute path | File that lists erased players, for restores
= Public log
origin | | host and path | Name of the service in receipts and log; it can never be changed
log_checkpoint | beside the keys | absolute path | File of the newest signed checkpoint of the log
witnesses | none | list | Witnesses of the public log, each `name+id+key url`
witness_quorum | | witnesses | Witnesses that must answer at a start before anything is signed
wal_archive | none | slot or archiver | WAL archive that checkpoints wait for: a slot, or `archiver`
= Processes and connections
api_processes | | processes | Processes of the API
api_threads | | threads each | Requests served at once, of which half may be streams and long polls
stream_threads | | threads | Threads of the stream process; streams and long polls are eight fewer
workers | | processes | Processes that play the moves of bots
pool_size | | connections | Database connections of each process
prepared_statements | | on or off | Off behind a pooler without support (PgBouncer before 1.21)
= Limits
statement_seconds | | seconds | Time limit of a SQL statement
body_seconds | | seconds | Time limit for receiving a body, plus one second for each 64 KiB
max_body_bytes | | bytes | Largest JSON body of any operation; most accept 32 KiB at most
max_bundle_bytes | | bytes | Largest bundle uploaded to `/v1/verify`
verify_seconds | | seconds | Time limit for verifying an uploaded bundle
rate_limits | | on or off | Whether calls are limited by player and by address
calls_per_token | | calls a minute | Calls of one player with any token, counted by each process
calls_per_address | | calls a minute | Calls from one IP address, counted by each process
= Start and logs
clock_check | | on or off | Refuses to start if the clock was set back
keys_check | | on or off | Refuses to start with keys older than those in use
log_level | | word | Lowest level that is logged: debug, info, warning or error
log_format | | word | Format of the logs: text for people, json for programs
"""
"""Name, default if it is not a fixed value, unit or form, and effect of each setting."""

OTHERS = """
= Command line
url | http://127.0.0.1:8080 | URL | Service that the commands for players call
home | ~/.shithead | path | Folder of the player's tokens, keys, receipts and logs
= Traces
OTEL_EXPORTER_OTLP_ENDPOINT | traces off | URL | Collector (OTLP over HTTP); extra `telemetry`
OTEL_EXPORTER_OTLP_HEADERS | none | list | Headers for the collector, each `name=value`
OTEL_TRACES_EXPORTER | otlp | otlp or none | `none` switches traces off
OTEL_TRACES_SAMPLER | parentbased_always_on | word | `parentbased_traceidratio` records a share
OTEL_TRACES_SAMPLER_ARG | 1.0 | 0 to 1 | Share recorded by `parentbased_traceidratio`
OTEL_SERVICE_NAME | shithead | text | Name of the service in its traces
OTEL_BSP_MAX_QUEUE_SIZE | 2048 | spans | Spans of a process that may wait; others are dropped
= Tests
test_database_url | embedded | PostgreSQL URL | Server for tests; its user may create databases
test_redis_url | embedded | Redis URL | Redis for the tests, which empty it
test_chromium | found on the path | path | Browser for the tests of the pages
"""
"""The same for variables of commands, traces and tests, which are not in `Settings`."""


def settings_from(
    environment: Mapping[str, str] = os.environ,
    declared: Iterable[Setting[Any]] | None = None,
) -> Settings:
    """
    Return the settings in `environment`, with those that features have declared.

    Without `declared` the settings of features are left to the programs that have these.

    Raises ConfigError with a line for each missing, invalid or unknown variable: a misspelt
    setting must not silently have its default.
    """
    shared = {one.name: one.metadata[_READER] for one in shared_settings()}
    readers = shared | {one.name: one.read for one in declared or ()}
    found: dict[str, Any] = {}
    faults: list[str] = []
    for name, read in readers.items():
        value = environment.get(variable(name), "").strip()
        if value:
            try:
                found[name] = read(value)
            except ValueError as error:
                faults.append(f"{variable(name)} {error}")
    faults += _faults_together(environment, found)
    if declared is not None:
        faults += _unknown(environment, readers)
    if faults:
        raise ConfigError("\n".join(faults))
    of_features = {name: found.pop(name) for name in list(found) if name not in shared}
    return Settings(**found, of_features=of_features)


def _faults_together(environment: Mapping[str, str], found: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is missing, and which values do not fit together."""
    if not environment.get(variable("database_url"), "").strip():
        yield f"{variable('database_url')} is not set: postgresql://user@host/database"
    if "key_file" not in found and "keys" not in found:
        yield f"{variable('key_file')} is not set: the path of the key file"
    named = len([one for one in found.get("witnesses", "").split(",") if one.strip()])
    if found.get("witness_quorum", 0) > named:
        yield f"{variable('witness_quorum')} is greater than the {named} witnesses"
    if environment.get(_PATH_OF_SERVER, "").strip("/ "):
        yield f"{_PATH_OF_SERVER} is set: {NO_PATH}"


def shared_settings() -> tuple[Field[Any], ...]:
    """Return the fields of `Settings` that are read from a variable."""
    return tuple(one for one in fields(Settings) if _READER in one.metadata)


def variable(setting: str) -> str:
    """Return the name of the variable of `setting`."""
    return _PREFIX + setting.upper()


def variables_of(settings: Settings) -> dict[str, str]:
    """Return the environment variables from which `settings_from` reads these settings."""
    values = {one.name: getattr(settings, one.name) for one in shared_settings()}
    values |= settings.of_features
    return {variable(name): str(value) for name, value in values.items() if value is not None}


def _unknown(environment: Mapping[str, str], names: Iterable[str]) -> list[str]:
    known = {variable(name) for name in names}
    return [
        f"{name} is not a setting"
        for name in sorted(environment)
        if name.startswith(_PREFIX) and not name.startswith(_OTHER_PREFIXES) and name not in known
    ]

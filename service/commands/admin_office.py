"""What the commands of `shithead admin` share: the owner's connection, questions, answers."""

from __future__ import annotations

import getpass
import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

import click

from service.commands.keys import keys_at_hand, opening

if TYPE_CHECKING:
    from service.application.archiving import Archiving
    from service.application.operating import Operating
    from service.event_store.together import Together
    from service.keyring import Keyring

REFUSED: Final = 1
MOST_OF_AN_OPERATOR: Final = 100
"""Characters of the name that the trail has for an operator."""

_NO_RIGHT: Final = "42501"
_ORIGIN: Final = "shithead.localhost"
"""Nothing is signed here, so it appears nowhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Office:
    """What can be done over one connection of the owner's."""

    operating: Operating
    archiving: Archiving


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """Which service is meant, who works at it, and how they want to be asked and answered."""

    database_url: str | None  # None: the one that `shithead up` runs over `data`
    data: Path
    key_file: Path | None
    operator: str
    yes: bool
    as_json: bool

    def tell(self, told: Mapping[str, Any], words: str) -> None:
        """Say something, as an object or in words."""
        click.echo(json.dumps(told) if self.as_json else words)

    def confirm(self, deed: str) -> None:
        """Return when somebody has agreed to a deed; `--yes` agrees to all."""
        if self.yes:
            return
        if not sys.stdin.isatty():
            raise click.UsageError("this cannot be undone: say --yes where nobody can be asked")
        click.confirm(f"{deed}? This cannot be undone.", abort=True, err=True)

    def folder(self, given: Path | None) -> Path:
        """Return the folder of the archive; raises UsageError where it is not known."""
        if given is not None:
            return given
        if self.database_url is not None:
            raise click.UsageError(
                "say where to with --to, or SHITHEAD_ARCHIVE: the folder that the service reads"
            )
        return self.data / "archive"


def operator_name(given: str | None) -> str:
    """Return who the trail names; raises UsageError for what is no name."""
    name = getpass.getuser() if given is None else given.strip()
    if not name or not name.isprintable() or len(name) > MOST_OF_AN_OPERATOR:
        raise click.UsageError(f"--as wants a name of at most {MOST_OF_AN_OPERATOR} characters")
    return name


@contextmanager
def office(desk: Desk, *, archive: Path | None = None) -> Iterator[Office]:
    """Give the operator's use cases; what goes wrong with them ends in one clear message."""
    import psycopg

    from service.event_store.protocol import StoreError
    from service.event_store.together import Together
    from service.keyring import KeyringError

    address = _address(desk)
    keyring = opening(keys_at_hand(desk.key_file, desk.data), needed=())
    database = Together(address)
    try:
        yield _opened(database, keyring, desk.operator, archive)
    except KeyringError as error:
        raise click.ClickException(f"the keys: {error}") from None
    except psycopg.Error as error:
        if error.sqlstate == _NO_RIGHT:
            raise click.ClickException("this user may not do that: connect as the owner") from None
        raise click.ClickException(" ".join(str(error).split())) from None
    except (StoreError, OSError) as error:
        raise click.ClickException(str(error)) from None
    finally:
        database.close()


@contextmanager
def refusals_told(desk: Desk, act: str, target: UUID) -> Iterator[None]:
    """End with status 1 where an act is refused, and say why."""
    from service.application.errors import Refusal

    try:
        yield
    except Refusal as refusal:
        if desk.as_json:
            told = {"act": act, "target": str(target), "outcome": refusal.code}
            click.echo(json.dumps({**told, "detail": refusal.detail}))
            raise click.exceptions.Exit(REFUSED) from None
        raise click.ClickException(f"{refusal.detail} ({refusal.code})") from None


def _address(desk: Desk) -> str:
    if desk.database_url is not None:
        return desk.database_url
    from service.embedded_postgres import running_address

    address = running_address(desk.data)
    if address is None:
        raise click.ClickException(
            f"nothing runs over {desk.data}: give --data of a running `shithead up`, "
            "or --database-url"
        )
    return address


def _opened(database: Together, keys: Keyring, operator: str, archive: Path | None) -> Office:
    from service.application.archiving import Archiving
    from service.application.operating import Operating
    from service.bootstrap import compose
    from service.event_store.bundles import Bundles
    from service.event_store.owner import Owner
    from service.event_store.postgres import PostgresStore
    from service.event_store.postgres_directory import PostgresDirectory
    from service.public_log.postgres_log import PostgresLog

    bundles, owner = Bundles(archive), Owner(database)
    services = compose(
        store=PostgresStore(database, bundles),
        directory=PostgresDirectory(database),
        keyring=keys,
        origin=_ORIGIN,
        log_store=PostgresLog(database),
    )
    operating = Operating(
        operator=operator,
        owner=owner,
        directory=services.directory,
        entries=services.entries,
        players=services.players,
        tables=services.tables,
        moves=services.moves,
        keyring=keys,
        world=services.world,
    )
    archiving = Archiving(
        operating=operating,
        owner=owner,
        entries=services.entries,
        evidence=services.evidence,
        bundles=bundles,
        world=services.world,
    )
    return Office(operating=operating, archiving=archiving)

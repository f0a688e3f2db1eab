"""Sessions of `shithead admin`: options, connection as the owner, and refusals."""

from __future__ import annotations

import getpass
import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

import click

from service.cli.service_options import complete_keyring, find_keys
from service.runtime.plain_errors import why

if TYPE_CHECKING:
    from service.application.operations import Archiving, Operating
    from service.bootstrap import Services
    from service.keys import Keyring
    from service.store.operator import Owner, OwnerDatabase

REFUSED: Final = 1
LONGEST_OPERATOR_NAME: Final = 100
"""Maximum characters of an operator's name in the trail."""

ORIGIN: Final = "shithead.localhost"
"""The name of a service by default. Only `declare` needs the right one: it writes to the log."""

_PERMISSION_DENIED: Final = "42501"


@dataclass(frozen=True, slots=True, kw_only=True)
class AdminSession:
    """The use cases of an operator, over one connection as the database's owner."""

    operating: Operating
    archiving: Archiving


@dataclass(frozen=True, slots=True, kw_only=True)
class AdminOptions:
    """The options of `shithead admin`: the service, the operator and the output format."""

    database_url: str | None  # None: that of the `shithead up` which uses the folder `data`
    data: Path
    key_file: Path | None
    operator: str
    yes: bool
    as_json: bool

    def print(self, fields: Mapping[str, Any], text: str) -> None:
        """Print `fields` with --json, else `text`."""
        click.echo(json.dumps(fields) if self.as_json else text)

    def confirm(self, action: str) -> None:
        """Ask for confirmation unless `--yes` is set; raises Abort or UsageError."""
        if self.yes:
            return
        if not sys.stdin.isatty():
            raise click.UsageError(
                "this cannot be undone: confirm with --yes if there is no terminal"
            )
        click.confirm(f"{action}? This cannot be undone.", abort=True, err=True)

    def archive(self, option: Path | str | None) -> Path | str:
        """Return the place of the archive; raises UsageError if it is unknown."""
        if option is not None:
            return option
        if self.database_url is not None:
            raise click.UsageError("name the archive of the service with --to or SHITHEAD_ARCHIVE")
        return self.data / "archive"


def operator_name(option: str | None) -> str:
    """Return the operator's name for the trail; raises UsageError if it is invalid."""
    name = _user_name() if option is None else option.strip()
    if not name or not name.isprintable() or len(name) > LONGEST_OPERATOR_NAME:
        raise click.UsageError(
            f"--as: a name has 1 to {LONGEST_OPERATOR_NAME} printable characters"
        )
    return name


def _user_name() -> str:
    """Return the name of this user; the number of one that has no name, as in a container."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # OSError from Python 3.13 on
        return f"uid {os.getuid()}"


@contextmanager
def admin_session(
    options: AdminOptions, *, archive: Path | str | None = None
) -> Iterator[AdminSession]:
    """Open the operator's use cases; raises ClickException for every error of the database."""
    from service.keys import KeyringError
    from service.store.database import DatabaseError
    from service.store.events import StoreError
    from service.store.operator import OwnerDatabase

    address = address_of(options)
    keyring = complete_keyring(find_keys(options.key_file, options.data), needed=())
    database = OwnerDatabase(address)
    try:
        yield _opened(database, keyring, options.operator, archive)
    except KeyringError as error:
        raise click.ClickException(f"the keys cannot be used: {error}") from None
    except DatabaseError as error:
        if error.sqlstate == _PERMISSION_DENIED:
            raise click.ClickException(
                "permission denied: connect as the owner of the database"
            ) from None
        raise click.ClickException(" ".join(str(error).split())) from None
    except (StoreError, OSError) as error:
        raise click.ClickException(why(error)) from None
    finally:
        database.close()


@contextmanager
def report_refusals(options: AdminOptions, act: str, target: UUID) -> Iterator[None]:
    """Print why the action in the block was refused, if it was, and exit with status 1."""
    from service.application.errors import Refusal

    try:
        yield
    except Refusal as refusal:
        if options.as_json:
            outcome = {"act": act, "target": str(target), "outcome": refusal.code}
            click.echo(json.dumps({**outcome, "detail": refusal.detail}))
            raise click.exceptions.Exit(REFUSED) from None
        raise click.ClickException(f"{refusal.detail} ({refusal.code})") from None


def address_of(options: AdminOptions) -> str:
    """Return the address of the database, as its owner; raises ClickException without one."""
    if options.database_url is not None:
        return options.database_url

    from service.local.servers import running_address

    address = running_address(options.data)
    if address is None:
        raise click.ClickException(
            f"no server uses the folder {options.data}: name the --data folder of a running "
            "`shithead up`, or use --database-url"
        )
    return address


def _opened(
    database: OwnerDatabase, keys: Keyring, operator: str, archive: Path | str | None
) -> AdminSession:
    from service.application.operations import Archiving
    from service.bootstrap import Ports, Services, Terms
    from service.store.archive import Bundles
    from service.store.directory import Directory
    from service.store.lookups import Lookups
    from service.store.operator import Owner
    from service.store.postgres_events import PostgresStore
    from service.store.public_log import PostgresLog

    bundles, owner = Bundles(archive), Owner(database)
    store = PostgresStore(database, bundles)
    ports = Ports(
        store=store,
        directory=Directory(database),
        lookups=Lookups(database, store),
        keyring=keys,
        log_store=PostgresLog(database),
    )
    services = Services(ports, Terms(origin=ORIGIN))
    operating = _operating(services, owner, operator, keys)
    archiving = Archiving(
        operating=operating,
        owner=owner,
        game_cache=services.game_cache,
        evidence=services.evidence,
        bundles=bundles,
        world=services.world,
    )
    return AdminSession(operating=operating, archiving=archiving)


def _operating(services: Services, owner: Owner, operator: str, keys: Keyring) -> Operating:
    from service.application.operations import Operating

    return Operating(
        operator=operator,
        owner=owner,
        directory=services.directory,
        game_cache=services.game_cache,
        players=services.players,
        tables=services.tables,
        disputes=services.disputes,
        moves=services.moves,
        keyring=keys,
        lost_moves=services.lost_moves,
        world=services.world,
    )

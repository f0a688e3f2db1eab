"""The session of `shithead admin`: database connection, confirmation and output."""

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

from service.cli.service_options import complete_keyring, find_keys

if TYPE_CHECKING:
    from service.application.operations import Archiving, Operating
    from service.keys.keyring import Keyring
    from service.store.operator import OwnerDatabase

REFUSED: Final = 1
LONGEST_OPERATOR_NAME: Final = 100
"""Maximum characters of an operator's name in the trail."""

_PERMISSION_DENIED: Final = "42501"
_ORIGIN: Final = "shithead.localhost"
"""A placeholder: admin commands sign nothing."""


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

    def folder(self, option: Path | None) -> Path:
        """Return the folder of the archive; raises UsageError if it is unknown."""
        if option is not None:
            return option
        if self.database_url is not None:
            raise click.UsageError(
                "name the archive folder of the service with --to or SHITHEAD_ARCHIVE"
            )
        return self.data / "archive"


def operator_name(option: str | None) -> str:
    """Return the operator's name for the trail; raises UsageError if it is invalid."""
    name = getpass.getuser() if option is None else option.strip()
    if not name or not name.isprintable() or len(name) > LONGEST_OPERATOR_NAME:
        raise click.UsageError(
            f"--as: a name has 1 to {LONGEST_OPERATOR_NAME} printable characters"
        )
    return name


@contextmanager
def admin_session(options: AdminOptions, *, archive: Path | None = None) -> Iterator[AdminSession]:
    """Open the operator's use cases; raises ClickException for every error of the database."""
    from service.keys.keyring import KeyringError
    from service.store.database import DatabaseError
    from service.store.events import StoreError
    from service.store.operator import OwnerDatabase

    address = _address(options)
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
        raise click.ClickException(str(error)) from None
    finally:
        database.close()


@contextmanager
def report_refusals(options: AdminOptions, act: str, target: UUID) -> Iterator[None]:
    """Print the reason of an action that is refused in the block, and exit with status 1."""
    from service.application.errors import Refusal

    try:
        yield
    except Refusal as refusal:
        if options.as_json:
            outcome = {"act": act, "target": str(target), "outcome": refusal.code}
            click.echo(json.dumps({**outcome, "detail": refusal.detail}))
            raise click.exceptions.Exit(REFUSED) from None
        raise click.ClickException(f"{refusal.detail} ({refusal.code})") from None


def _address(options: AdminOptions) -> str:
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
    database: OwnerDatabase, keys: Keyring, operator: str, archive: Path | None
) -> AdminSession:
    from service.application.operations import Archiving, Operating
    from service.bootstrap import compose
    from service.store.archive import Bundles
    from service.store.directory import Directory
    from service.store.operator import Owner
    from service.store.postgres_events import PostgresStore
    from service.store.public_log import PostgresLog

    bundles, owner = Bundles(archive), Owner(database)
    services = compose(
        store=PostgresStore(database, bundles),
        directory=Directory(database),
        keyring=keys,
        origin=_ORIGIN,
        log_store=PostgresLog(database),
    )
    operating = Operating(
        operator=operator,
        owner=owner,
        directory=services.directory,
        game_cache=services.game_cache,
        players=services.players,
        tables=services.tables,
        disputes=services.disputes,
        moves=services.moves,
        keyring=keys,
        world=services.world,
    )
    archiving = Archiving(
        operating=operating,
        owner=owner,
        game_cache=services.game_cache,
        evidence=services.evidence,
        bundles=bundles,
        world=services.world,
    )
    return AdminSession(operating=operating, archiving=archiving)

"""`shithead migrate`: bring a database to the schema of this version."""

from __future__ import annotations

import click

FAILED = 1


@click.command(short_help="Bring a database to the current schema.")
@click.option(
    "--database-url",
    envvar="SHITHEAD_DATABASE_URL",
    show_envvar=True,
    required=True,
    metavar="URL",
    help="postgresql://owner@host/database: connect as the owner, not as the service's role.",
)
@click.option(
    "--check", is_flag=True, help="Change nothing; only report whether the schema is current."
)
def migrate(database_url: str, *, check: bool) -> int:
    """
    Apply missing migrations, functions and privileges to a database.

    `shithead up` does this at its start. On a database of your own, run it before you
    start the new version of the service: the old version keeps working on the new schema.
    There are no downward migrations, and a migration that was changed after it was applied
    is refused. The command is idempotent and can run concurrently.

    Exit status: 0 the schema is current, 1 it is not, with the reason.
    """
    from service.store import migrate as migrations
    from service.store.database import DatabaseError

    try:
        (migrations.check if check else migrations.migrate)(database_url)
    except (DatabaseError, ValueError, RuntimeError, OSError) as error:
        raise click.ClickException(" ".join(str(error).split())) from None
    click.echo("the schema is current")
    return 0

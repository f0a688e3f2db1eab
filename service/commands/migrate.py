"""`shithead migrate`: the database brought to the schema that this version asks for."""

from __future__ import annotations

import click

FAILED = 1


@click.command(short_help="Bring a database to the present schema.")
@click.option(
    "--database-url",
    envvar="SHITHEAD_DATABASE_URL",
    show_envvar=True,
    required=True,
    metavar="URL",
    help="postgresql://owner@host/database: the owner, not the role that the service uses.",
)
@click.option("--check", is_flag=True, help="Change nothing; only say whether it is needed.")
def migrate(database_url: str, *, check: bool) -> int:
    """
    Apply the migrations, functions and privileges that a database lacks.

    `shithead up` does this by itself. It is meant for a database of your own,
    before the new version of the service is started: the old version keeps working
    on the new schema. Migrations only go forward; one that was applied and has been
    changed since is refused. Run it as often as you like, also twice at once.

    Exit status: 0 the schema is the present one, 1 it is not and why.
    """
    import psycopg

    from service.event_store import migrate as migrations

    try:
        (migrations.check if check else migrations.migrate)(database_url)
    except (psycopg.Error, ValueError, RuntimeError, OSError) as error:
        raise click.ClickException(" ".join(str(error).split())) from None
    click.echo("the database has the present schema")
    return 0

"""`shithead up`: the whole service on this machine."""

from __future__ import annotations

from pathlib import Path

import click


@click.command(short_help="Run the whole service on this machine.")
@click.option(
    "--port", type=int, default=8080, show_default=True, help="Port of the API; 0: any free port."
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    default=Path(".shithead"),
    show_default=True,
    help="Folder of the database and the keys; created if missing.",
)
@click.option("--database-url", help="A PostgreSQL to use instead of the embedded one.")
@click.option("--redis-url", help="A Redis or Valkey to use instead of the embedded one.")
@click.option(
    "--workers", type=int, default=2, show_default=True, help="Processes for the bots' turns."
)
def up(
    port: int,
    host: str,
    data: Path,
    database_url: str | None,
    redis_url: str | None,
    workers: int,
) -> int:
    """
    Run PostgreSQL, Valkey, the API and its workers until Ctrl-C.

    Nothing has to be installed or set up first: both servers come with the Python
    packages. When the service is ready, its address and data folder are printed, and a
    curl command that starts a game. Games continue after a restart with the same folder.

    Other settings come from the environment: `shithead settings` lists them. The name of the
    service in receipts, SHITHEAD_ORIGIN, can never be changed.

    Back up the whole data folder. Without its keys.json no running game can continue.

    Exit status: 0 after Ctrl-C or SIGTERM, 1 if it cannot start, with one message.
    """
    from service.local.up import UpOptions, run

    options = UpOptions(
        port=port,
        host=host,
        data=data,
        database_url=database_url,
        redis_url=redis_url,
        workers=workers,
    )
    return run(options)

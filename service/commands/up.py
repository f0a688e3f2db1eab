"""`shithead up`: the whole service on this machine."""

from __future__ import annotations

from pathlib import Path

import click


@click.command(short_help="Run the whole service on this machine.")
@click.option("--port", type=int, default=8080, show_default=True, help="Of the API; 0: any free.")
@click.option("--host", default="127.0.0.1", show_default=True, help="To listen on.")
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    default=Path(".shithead"),
    show_default=True,
    help="Folder of the games and the keys, made if it is not there.",
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

    Nothing has to be installed or set up before: the two servers come with the
    Python packages. When it is ready it prints the address, where the data lies,
    and a line of curl that starts a game. Started again with the same folder it
    goes on with the games it had.

    \b
    Further settings come from the environment, among them
      SHITHEAD_ORIGIN      the name in receipts; choose it once, it never changes
      SHITHEAD_KEY_FILE    where the keys lie; default: keys.json in the data folder
      SHITHEAD_LOG_LEVEL   debug, info, warning or error

    Back up the data folder whole. Without its keys.json no running game can go on.

    Exit status: 0 after Ctrl-C or SIGTERM, 1 with one message where it cannot start.
    """  # noqa: D301 - \b is click's mark for a block that keeps its lines
    from service.up import UpOptions, run

    options = UpOptions(
        port=port,
        host=host,
        data=data,
        database_url=database_url,
        redis_url=redis_url,
        workers=workers,
    )
    return run(options)

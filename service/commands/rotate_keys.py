"""`shithead rotate-keys`: new keys for the service; old ones stay as long as they are needed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import click


@click.command(name="rotate-keys", short_help="Make new keys for the service.")
@click.option(
    "--key-file",
    envvar="SHITHEAD_KEY_FILE",
    show_envvar=True,
    type=click.Path(path_type=Path),
    default=Path(".shithead/keys.json"),
    show_default=True,
    help="The file that holds the keys.",
)
@click.option(
    "--only", type=click.Choice(("sealing", "signing")), help="Change one kind; both if left out."
)
@click.option(
    "--overlap",
    type=click.FloatRange(min=0),
    default=30.0,
    show_default=True,
    help="Days for which the old signing key still signs checkpoints.",
)
@click.option("--new", is_flag=True, help="Make a file where it was lost for good; see below.")
def rotate_keys(key_file: Path, only: str | None, overlap: float, *, new: bool) -> int:
    """
    Put new keys into the key file; a running service takes them up by itself.

    The sealing key encrypts the secrets of running games; the old one stays in the
    file, since what it sealed must still be opened. The signing key signs receipts and
    checkpoints; the new one is signed by the old, so whoever trusts the old one can
    follow. For the overlap checkpoints carry the signatures of both. `/v1/keys` lists
    all of them for ever.

    Back up the key file afterwards: the running games depend on it.

    With --new it makes a key file where there is none. A service whose database has games
    does not start without its file and makes no other by itself: of the running games
    nothing hidden can ever be opened again, and nobody can tell the new signature from
    a stranger's. It is for when every copy of the old one is gone.

    Exit status: 0 the file has new keys, 1 it could not be read or written.
    """
    from service.keyring import Keyring, KeyringError, load_or_create, rotate

    def change(keyring: Keyring) -> Keyring:
        if only != "signing":
            keyring = keyring.rotated()
        if only != "sealing":
            keyring = keyring.with_new_signing_key(
                datetime.now(UTC), overlap=timedelta(days=overlap)
            )
        return keyring

    try:
        if new and key_file.exists():
            raise click.ClickException(f"{key_file} is there already")
        keyring = load_or_create(key_file) if new else rotate(key_file, change)
    except (KeyringError, OSError) as error:
        raise click.ClickException(str(error)) from None
    click.echo(f"sealing key {keyring.current}, signing key of {keyring.signing_since}")
    click.echo("a running service has them by its next use; back up the key file")
    return 0

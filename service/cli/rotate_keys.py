"""`shithead rotate-keys`: add new keys to a key file and retire the old ones."""

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
    help="The key file of the service.",
)
@click.option(
    "--only",
    type=click.Choice(("sealing", "signing")),
    help="Rotate this kind only.  [default: both]",
)
@click.option(
    "--overlap",
    type=click.FloatRange(min=0),
    default=30.0,
    show_default=True,
    help="Days during which the old signing key also signs checkpoints.",
)
@click.option(
    "--new", is_flag=True, help="Create a new file after the old one was lost for good; see below."
)
def rotate_keys(key_file: Path, only: str | None, overlap: float, *, new: bool) -> int:
    """
    Add new keys to the key file; a running service reloads it.

    The sealing key encrypts the secrets of running games; old ones remain in the file, to
    decrypt the games that were sealed with them. The signing key signs receipts
    and checkpoints; the new one is signed by the old one, so that clients that trust the
    old key can accept the new one. During the overlap, checkpoints carry both signatures.
    `/v1/keys` lists all keys permanently.

    Back up the key file afterwards: running games cannot be decrypted without it.

    --new creates a missing key file. Use it only if every copy of the old file is lost: the
    hidden cards of running games can then never be decrypted, and the new signatures cannot
    be distinguished from forged ones. A service whose database has games refuses to start
    without its key file. Start it once with SHITHEAD_KEYS_CHECK=off, until it has dealt a
    game and signed a checkpoint.

    Exit status: 0 the file has new keys, 1 it could not be read or written.
    """
    from service.keys.keyring import Keyring, KeyringError, load_or_create, rotate

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
            raise click.ClickException(f"{key_file} already exists")
        keyring = load_or_create(key_file) if new else rotate(key_file, change)
    except (KeyringError, OSError) as error:
        raise click.ClickException(str(error)) from None
    click.echo(f"sealing key {keyring.current}, signing key of {keyring.signing_since}")
    click.echo("a running service reloads them; back up the key file")
    return 0

"""What somebody brings from outside to hold a log against: the same options for every command."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, Final

import click

from service.record.canonical import RecordError
from service.record.notes import NoteVerifier, parse_verifier
from service.record.server_keys import ListedKey
from service.record.weak_keys import is_weak
from service.verify.command import Asked

_KEY_BYTES: Final = 32

Command = Callable[..., int]
ServerKey = NoteVerifier | ListedKey
"""A key of the server's, with its dates where it came in a saved answer of `/v1/keys`."""


def server_keys_of(
    _context: click.Context, _option: click.Parameter, values: tuple[str, ...]
) -> tuple[ServerKey, ...]:
    """Return keys of the server, read from a file where the value is the name of one."""
    keys: list[ServerKey] = []
    for value in values:
        try:
            text = Path(value).read_text("utf-8") if Path(value).is_file() else value
            if text.startswith("{"):
                keys += _listed(text)
            else:
                keys += [parse_verifier(line) for line in text.split() or [""]]
        except (RecordError, OSError, ValueError, TypeError, KeyError):
            raise click.BadParameter(
                f"{value!r} is neither a key of the form name+id+key nor a file that holds keys"
            ) from None
    return tuple(keys)


def seat_keys_of(
    _context: click.Context, _option: click.Parameter, values: tuple[str, ...]
) -> dict[int, str]:
    """Return public keys by seat, from words like `0=<base64>`; raises BadParameter."""
    keys: dict[int, str] = {}
    for value in values:
        seat, _, key = value.partition("=")
        try:
            right = len(b64decode(key, validate=True)) == _KEY_BYTES
        except ValueError:
            right = False
        if not seat.isdecimal() or not right or int(seat) in keys:
            raise click.BadParameter(
                f"{value!r} is not SEAT=KEY, once a seat, with a key of 32 bytes in base64"
            )
        if is_weak(b64decode(key)):
            raise click.BadParameter(f"{value!r}: a key of small order, which proves nothing")
        keys[int(seat)] = key
    return keys


def brought(command: Command) -> Command:
    """
    Return the command with the options for receipts, keys and proofs from outside.

    It is called with all of them together, as `outside`.
    """

    @wraps(command)
    def called(
        *,
        receipts: tuple[Path, ...],
        server_keys: tuple[ServerKey, ...],
        seat_keys: dict[int, str],
        key_changes: tuple[Path, ...],
        proofs: tuple[Path, ...],
        **more: Any,
    ) -> int:
        listed = tuple(key for key in server_keys if isinstance(key, ListedKey))
        verifiers = [key.verifier if isinstance(key, ListedKey) else key for key in server_keys]
        outside = Asked(
            receipts=receipts,
            server_keys=tuple(map(str, verifiers)),
            listed=listed,
            seat_keys=seat_keys,
            key_changes=key_changes,
            proofs=proofs,
        )
        return command(outside=outside, **more)

    with_options: Command = called
    for option in reversed(_OPTIONS):
        with_options = option(with_options)
    return with_options


def _listed(text: str) -> list[ServerKey]:
    """Return the keys of a saved answer of `/v1/keys`, with when each was in use."""
    keys: list[ServerKey] = []
    for item in json.loads(text)["items"]:
        made = NoteVerifier(name=item["name"], public=b64decode(item["public"], validate=True))
        verifier = parse_verifier(str(made))  # read again: a key has 32 bytes
        since, until = item.get("from"), item.get("to")
        known = isinstance(since, str) and isinstance(until, str | None)
        dated = ListedKey(verifier=verifier, since=since, until=until, endorsement=None)
        keys.append(dated if known else verifier)
    return keys


_OPTIONS: Final = (
    click.option(
        "--receipt",
        "receipts",
        multiple=True,
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="A receipt that a player kept, or a folder of them (*.note); repeat it for more. With "
        "--server-key it makes level L2.",
    ),
    click.option(
        "--server-key",
        "server_keys",
        multiple=True,
        metavar="KEY",
        callback=server_keys_of,
        help="The server's public key, name+id+key, or a file of it, or a saved answer of "
        "/v1/keys.",
    ),
    click.option(
        "--seat-key",
        "seat_keys",
        multiple=True,
        metavar="SEAT=KEY",
        callback=seat_keys_of,
        help="The public key of a player, base64, as 0=…; of every human seat it makes level L3.",
    ),
    click.option(
        "--key-change",
        "key_changes",
        multiple=True,
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="Changes of keys between hands, signed by the keys before: a saved "
        "/v1/tables/ID/keys.",
    ),
    click.option(
        "--proof",
        "proofs",
        multiple=True,
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="A proof of the public log (.tlog-proof), beside a log or in place of the bundle's "
        "own.",
    ),
)

"""Options for evidence that is not part of a log: receipts, keys and proofs."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, Final

import click

from service.verify.evidence import BadEvidence, Keys, parse_keys, parse_seat_keys
from service.verify.files import VerifyOptions

Command = Callable[..., int]

MAX_NAME_LENGTH: Final = 200
"""Characters of a file name; a longer value is not reported as a missing file."""


def server_keys_of(
    _context: click.Context, _option: click.Parameter, values: tuple[str, ...]
) -> Keys:
    """
    Return the server's keys; if a value is the name of a file, the keys in it.

    Raises BadParameter for a value that is neither, and for the key of a witness.
    """
    found: list[Keys] = []
    for value in values:
        try:
            text = Path(value).read_text("utf-8") if Path(value).is_file() else value
            found.append(parse_keys([text]))
        except (BadEvidence, OSError, ValueError) as error:
            if _is_file_name(value) and not Path(value).exists():
                raise click.BadParameter(f"there is no file {value!r}") from None
            why = f": {error.detail}" if isinstance(error, BadEvidence) else ""
            raise click.BadParameter(
                f"{value!r} is neither a key of the form name+id+key nor a file of keys{why}"
            ) from None
        if found[-1].witnesses:
            raise click.BadParameter(f"{value!r} is the key of a witness, not of the server")
    return Keys(
        server=tuple(key for keys in found for key in keys.server),
        listed=tuple(key for keys in found for key in keys.listed),
    )


def _is_file_name(value: str) -> bool:
    """Return whether a value can only be the name of a file: it is neither a key nor JSON."""
    return len(value) <= MAX_NAME_LENGTH and not re.search(r"[+{}\[\]]", value)


def seat_keys_of(
    _context: click.Context, _option: click.Parameter, values: tuple[str, ...]
) -> dict[int, str]:
    """Return public keys by seat, from values like `0=<base64>`; raises BadParameter."""
    try:
        return parse_seat_keys(values)
    except BadEvidence as error:
        raise click.BadParameter(f"{' '.join(values)!r}: {error.detail}") from None


def evidence_options(command: Command) -> Command:
    """
    Return the command with options for receipts, keys and proofs.

    The command receives them together, as `outside`.
    """

    @wraps(command)
    def call_with_evidence(
        *,
        receipts: tuple[Path, ...],
        server_keys: Keys,
        seat_keys: dict[int, str],
        key_changes: tuple[Path, ...],
        proofs: tuple[Path, ...],
        **more: Any,
    ) -> int:
        outside = VerifyOptions(
            receipts=receipts,
            keys=server_keys,
            seat_keys=seat_keys,
            key_changes=key_changes,
            proofs=proofs,
        )
        return command(outside=outside, **more)

    with_options: Command = call_with_evidence
    for option in reversed(_OPTIONS):
        with_options = option(with_options)
    return with_options


_OPTIONS: Final = (
    click.option(
        "--receipt",
        "receipts",
        multiple=True,
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="A receipt, or a folder of receipts (*.note); can be repeated. Level L2 needs a "
        "receipt and --server-key.",
    ),
    click.option(
        "--server-key",
        "server_keys",
        multiple=True,
        metavar="KEY",
        callback=server_keys_of,
        help="The server's public key (name+id+key), a file with it, or a saved response of "
        "/v1/keys.",
    ),
    click.option(
        "--seat-key",
        "seat_keys",
        multiple=True,
        metavar="SEAT=KEY",
        callback=seat_keys_of,
        help="The public key of a player in base64, as 0=…; can be repeated. Level L3 needs the "
        "key of every human seat and, in this hand, a move signed with it.",
    ),
    click.option(
        "--key-change",
        "key_changes",
        multiple=True,
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="Key changes between hands, each signed by the previous key: a saved response of "
        "/v1/tables/ID/keys.",
    ),
    click.option(
        "--proof",
        "proofs",
        multiple=True,
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="An inclusion proof of the public log (.tlog-proof), which replaces the one in the "
        "bundle.",
    ),
)

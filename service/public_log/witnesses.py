"""Witnesses as the log sees them: who they are, and how they are asked (C2SP tlog-witness)."""

from __future__ import annotations

import re
import urllib.error
import urllib.request
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from service.record.canonical import RecordError
from service.record.cosignature import CosignatureVerifier, cosignatures, parse_cosigner
from service.record.notes import parse_note
from service.record.tiles import TiledTree

SIZE_TYPE: Final = "text/x.tlog.size"
PATIENCE: Final = 5.0  # seconds
MOST_ANSWER: Final = 1 << 16  # bytes

_SIZE: Final = re.compile(rb"(0|[1-9][0-9]{0,18})\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteWitness:
    """A witness: where it takes checkpoints, and the key that its cosignatures are checked with."""

    url: str  # the submission prefix
    verifier: CosignatureVerifier


class Unheard(Exception):
    """A witness gave no cosignature."""


class WitnessRefused(Unheard):
    """A witness holds that this log is not the one it saw before: the gravest thing it can say."""


class SeenMore(WitnessRefused):
    """A witness has seen a larger tree than it is shown."""

    def __init__(self, size: int, shown: int) -> None:
        super().__init__(f"it has seen {size} leaves, and the tree has {shown}")
        self.size = size


def parse_witnesses(text: str) -> tuple[RemoteWitness, ...]:
    """Return the witnesses of a setting: `name+id+key url`, one after another with commas."""
    found = []
    for item in filter(None, (part.strip() for part in text.split(","))):
        key, _, url = item.partition(" ")
        if not url.strip().startswith(("https://", "http://")):
            raise RecordError("bad_witness", "a witness is given as name+id+key and its address")
        found.append(RemoteWitness(url=url.strip().rstrip("/"), verifier=parse_cosigner(key)))
    return tuple(found)


def write_request(old_size: int, proof: Sequence[bytes], checkpoint: bytes) -> bytes:
    """Return the body of an add-checkpoint request."""
    hashes = (b64encode(one).decode("ascii") for one in proof)
    lines = (f"old {old_size}", *hashes, "", "")
    return "\n".join(lines).encode() + checkpoint


def ask_witness(witness: RemoteWitness, checkpoint: bytes, tree: TiledTree, known: int) -> str:
    """
    Return the witness's signature line under a checkpoint of `tree`.

    `known` is the size that the witness is thought to have seen last; where it says
    that this was another, it is asked once more. Raises Unheard, or WitnessRefused
    where what it saw cannot be shown to be the beginning of this tree.
    """
    answer = _submit(witness, checkpoint, tree, known)
    if isinstance(answer, int):
        if answer > tree.size:
            raise SeenMore(answer, tree.size)
        answer = _submit(witness, checkpoint, tree, answer)
    if isinstance(answer, int):
        raise Unheard("it moves faster than it is asked")
    return _own_line(witness.verifier, checkpoint, answer)


def _submit(
    witness: RemoteWitness, checkpoint: bytes, tree: TiledTree, old_size: int
) -> bytes | int:
    """Return the signature lines, or the size that the witness has seen instead."""
    body = write_request(old_size, tree.consistency_proof(old_size), checkpoint)
    request = urllib.request.Request(  # noqa: S310 - the operator chose the address; http(s) only
        f"{witness.url}/add-checkpoint",
        data=body,
        method="POST",
        headers={"Content-Type": "text/plain; charset=utf-8"},
    )
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:  # noqa: S310 - as above
            return bytes(answer.read(MOST_ANSWER))
    except urllib.error.HTTPError as error:
        said = error.read(MOST_ANSWER)
        size = _SIZE.fullmatch(said)
        if error.code == 409 and error.headers.get_content_type() == SIZE_TYPE and size:
            return int(size[1])
        if error.code in (409, 422):
            raise WitnessRefused(f"it answers {error.code} to {old_size} → {tree.size}") from None
        raise Unheard(f"it answers {error.code}") from None
    except (OSError, ValueError) as error:
        raise Unheard(f"it does not answer: {type(error).__name__}") from None


def _own_line(verifier: CosignatureVerifier, checkpoint: bytes, answer: bytes) -> str:
    """Return the witness's own line out of an answer; what others signed is passed over."""
    try:
        for line in answer.decode().splitlines(keepends=True):
            note = parse_note(checkpoint + line.encode())
            signed = note.signatures[-1]
            own = (signed.name, signed.key_id) == (verifier.name, verifier.key_id)
            if own and cosignatures(note, [verifier]):
                return line
    except (RecordError, UnicodeDecodeError) as error:
        raise Unheard(f"its answer cannot be read: {error}") from None
    raise Unheard("its answer has no cosignature of the key that is set for it")

"""Proofs of C2SP tlog-proof: offline proof that a log contains an entry."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from service.shx.canonical import RecordError
from service.shx.tlog.checkpoint import MAX_SIZE, Checkpoint, open_checkpoint, parse_checkpoint
from service.shx.tlog.notes import NoteVerifier, parse_note
from service.shx.tlog.tree import leaf_hash, proves_inclusion
from service.shx.validators import decode_base64

HEADER: Final = "c2sp.org/tlog-proof@v1"
MAX_HASHES: Final = 63
MAX_EXTRA: Final = 1 << 16  # bytes

_INDEX: Final = re.compile(r"index (0|[1-9][0-9]{0,18})")


@dataclass(frozen=True, slots=True, kw_only=True)
class TlogProof:
    """
    A parsed proof; nothing in it is verified yet.

    `extra` is not authenticated. The public log of games stores the entry there; the hash of
    the leaf shows whether it is the right one.
    """

    index: int
    hashes: tuple[bytes, ...]
    checkpoint: bytes  # the signed note, verbatim
    extra: bytes | None = None

    @property
    def text(self) -> bytes:
        """Return the proof as the bytes of a file."""
        lines = [HEADER]
        if self.extra is not None:
            lines.append(f"extra {_text(self.extra)}")
        lines += [f"index {self.index}", *map(_text, self.hashes), "", ""]
        return "\n".join(lines).encode() + self.checkpoint

    def proves(self, data: bytes, checkpoint: Checkpoint) -> bool:
        """Return whether the proof shows that the tree of a checkpoint contains an entry."""
        return proves_inclusion(
            leaf=leaf_hash(data),
            index=self.index,
            size=checkpoint.size,
            proof=self.hashes,
            root_hash=checkpoint.root,
        )


def parse_proof(data: bytes) -> TlogProof:
    """
    Return the parts of a proof.

    Raises RecordError if it is malformed.
    """
    above, blank, checkpoint = data.partition(b"\n\n")
    try:
        lines = above.decode().split("\n")
    except UnicodeDecodeError:
        raise _bad("not UTF-8") from None
    if not blank or lines[0] != HEADER:
        raise _bad(f"it does not begin with {HEADER}")
    extra = None
    if len(lines) > 1 and lines[1].startswith("extra "):
        extra = decode_base64(lines.pop(1).removeprefix("extra "))
        if extra is None or len(extra) > MAX_EXTRA:
            raise _bad("the extra data cannot be read")
    match = _INDEX.fullmatch(lines[1]) if len(lines) > 1 else None
    if match is None or int(match[1]) > MAX_SIZE:
        raise _bad("no index")
    hashes = [decode_base64(line) for line in lines[2:]]
    if len(hashes) > MAX_HASHES:
        raise _bad(f"more than {MAX_HASHES} hashes")
    valid = tuple(item for item in hashes if item is not None and len(item) == 32)
    if len(valid) != len(hashes):
        raise _bad("a line that is not a hash")
    parse_checkpoint(parse_note(checkpoint).text)
    return TlogProof(index=int(match[1]), hashes=valid, checkpoint=checkpoint, extra=extra)


def check_proof(data: bytes, entry: bytes, verifiers: Iterable[NoteVerifier]) -> Checkpoint:
    """
    Return the checkpoint that a proof shows to contain `entry`.

    Raises RecordError if the proof fails or no known key of the origin signed the checkpoint.
    """
    proof = parse_proof(data)
    checkpoint, _, _ = open_checkpoint(proof.checkpoint, verifiers)
    if not proof.proves(entry, checkpoint):
        raise _bad("it does not lead from the entry to the checkpoint's root")
    return checkpoint


def _text(data: bytes) -> str:
    return b64encode(data).decode("ascii")


def _bad(reason: str) -> RecordError:
    return RecordError("bad_proof", reason)

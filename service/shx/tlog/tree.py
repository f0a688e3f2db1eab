"""Merkle trees of RFC 6962, and proofs of inclusion as files (C2SP tlog-proof)."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from service.shx.canonical import RecordError, sha256
from service.shx.tlog.checkpoint import MAX_SIZE, Checkpoint, open_checkpoint, parse_checkpoint
from service.shx.tlog.notes import NoteVerifier, parse_note
from service.shx.validators import decode_base64


def leaf_hash(data: bytes) -> bytes:
    """Return the hash of a leaf; its first byte distinguishes leaves from nodes."""
    return sha256(b"\x00" + data)


def node_hash(left: bytes, right: bytes) -> bytes:
    """Return the hash of a node over its two children."""
    return sha256(b"\x01" + left + right)


def root(leaves: Sequence[bytes]) -> bytes:
    """
    Return the hash of the tree over these leaf hashes (section 2.1).

    >>> a, b, c = leaf_hash(b"a"), leaf_hash(b"b"), leaf_hash(b"c")
    >>> root([a, b, c]) == node_hash(node_hash(a, b), c)
    True
    """
    if not leaves:
        return sha256(b"")
    if len(leaves) == 1:
        return leaves[0]
    split = _split(len(leaves))
    return node_hash(root(leaves[:split]), root(leaves[split:]))


def inclusion_proof(leaves: Sequence[bytes], index: int) -> tuple[bytes, ...]:
    """
    Return the path from leaf `index` to the root, nearest first (section 2.1.1).

    Raises IndexError for a leaf that the tree does not have.
    """
    if not 0 <= index < len(leaves):
        raise IndexError("no such leaf")
    if len(leaves) == 1:
        return ()
    split = _split(len(leaves))
    if index < split:
        return (*inclusion_proof(leaves[:split], index), root(leaves[split:]))
    return (*inclusion_proof(leaves[split:], index - split), root(leaves[:split]))


def consistency_proof(leaves: Sequence[bytes], old_size: int) -> tuple[bytes, ...]:
    """
    Return the proof that the tree of the first `old_size` leaves is a prefix (section 2.1.2).

    Raises IndexError if there are fewer leaves.
    """
    if not 0 <= old_size <= len(leaves):
        raise IndexError("no such older tree")
    if old_size in (0, len(leaves)):
        return ()
    return _subproof(leaves, old_size, whole=True)


def proves_inclusion(
    *, leaf: bytes, index: int, size: int, proof: Sequence[bytes], root_hash: bytes
) -> bool:
    """Return whether `proof` shows that a tree has the leaf hash at `index`."""
    if not 0 <= index < size:
        return False
    found, last = leaf, size - 1
    for sibling in proof:
        if last == 0:
            return False
        if index % 2 or index == last:
            found = node_hash(sibling, found)
            while index % 2 == 0 and index:
                index, last = index >> 1, last >> 1
        else:
            found = node_hash(found, sibling)
        index, last = index >> 1, last >> 1
    return last == 0 and found == root_hash


def proves_consistency(
    *, old_size: int, old_root: bytes, size: int, root_hash: bytes, proof: Sequence[bytes]
) -> bool:
    """Return whether `proof` shows that the older tree is the beginning of the newer one."""
    if not 0 <= old_size <= size:
        return False
    if old_size == size:
        return not proof and old_root == root_hash
    if old_size == 0:
        return not proof and old_root == sha256(b"")
    path = list(proof) if old_size & (old_size - 1) else [old_root, *proof]
    if not path:
        return False
    index, last = old_size - 1, size - 1
    while index % 2:
        index, last = index >> 1, last >> 1
    old = new = path[0]
    for sibling in path[1:]:
        if last == 0:
            return False
        if index % 2 or index == last:
            old, new = node_hash(sibling, old), node_hash(sibling, new)
            while index % 2 == 0 and index:
                index, last = index >> 1, last >> 1
        else:
            new = node_hash(new, sibling)
        index, last = index >> 1, last >> 1
    return last == 0 and old == old_root and new == root_hash


def _subproof(leaves: Sequence[bytes], old_size: int, *, whole: bool) -> tuple[bytes, ...]:
    """Return SUBPROOF of the RFC; `whole` while the reader knows the root of the older tree."""
    if old_size == len(leaves):
        return () if whole else (root(leaves),)
    split = _split(len(leaves))
    if old_size <= split:
        return (*_subproof(leaves[:split], old_size, whole=whole), root(leaves[split:]))
    return (*_subproof(leaves[split:], old_size - split, whole=False), root(leaves[:split]))


def _split(size: int) -> int:
    """Return the largest power of two below `size`."""
    return 1 << ((size - 1).bit_length() - 1)


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

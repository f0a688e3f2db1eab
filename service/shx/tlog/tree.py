"""Merkle trees of RFC 6962: hashes, inclusion proofs, consistency proofs."""

from __future__ import annotations

from collections.abc import Sequence

from service.shx.hashing import sha256


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
    Return the proof that the first `old_size` leaves are still the first (section 2.1.2).

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

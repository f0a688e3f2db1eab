"""Merkle trees: published roots, and proofs that are valid only for their tree."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.shx.tlog.tree import (
    consistency_proof,
    inclusion_proof,
    leaf_hash,
    proves_consistency,
    proves_inclusion,
    root,
)

# Published leaves and roots of Certificate Transparency.
LEAVES = [
    leaf_hash(bytes.fromhex(leaf))
    for leaf in (
        "",
        "00",
        "10",
        "2021",
        "3031",
        "40414243",
        "5051525354555657",
        "606162636465666768696a6b6c6d6e6f",
    )
]
ROOTS = (
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
)
sizes = st.integers(1, 40)


def leaves(size: int) -> list[bytes]:
    return [leaf_hash(bytes([number])) for number in range(size)]


@pytest.mark.parametrize("size", range(9))
def test_the_roots_are_the_published_ones(size: int) -> None:
    assert root(LEAVES[:size]).hex() == ROOTS[size]


def test_proofs_are_valid_for_every_leaf_and_every_older_tree() -> None:
    for size in range(1, 33):
        tree = leaves(size)
        top = root(tree)
        for index in range(size):
            proof = inclusion_proof(tree, index)
            assert proves_inclusion(
                leaf=tree[index], index=index, size=size, proof=proof, root_hash=top
            )
        for old in range(size + 1):
            proof = consistency_proof(tree, old)
            assert proves_consistency(
                old_size=old, old_root=root(tree[:old]), size=size, root_hash=top, proof=proof
            )


@given(sizes, st.data())
def test_an_inclusion_proof_is_valid_only_for_its_leaf_and_tree(
    size: int, data: st.DataObject
) -> None:
    tree = leaves(size)
    index = data.draw(st.integers(0, size - 1))
    proof = inclusion_proof(tree, index)
    claim = {"leaf": tree[index], "index": index, "size": size, "root_hash": root(tree)}
    other = data.draw(st.integers(-1, size))
    for change in (
        {"leaf": leaf_hash(b"other")},
        {"root_hash": leaf_hash(b"root")},
        {"proof": [*proof, proof[-1] if proof else tree[0]]},
        {"proof": proof[:-1]} if proof else {"proof": [tree[0]]},
        {"index": other} if other != index else {"index": size},
    ):
        assert not proves_inclusion(**{**claim, "proof": proof, **change})  # type: ignore[arg-type]  # values of several types


@given(sizes, st.data())
def test_a_rewritten_history_is_not_consistent(size: int, data: st.DataObject) -> None:
    tree = leaves(size)
    old = data.draw(st.integers(1, size))
    forged = [*tree]
    forged[data.draw(st.integers(0, old - 1))] = leaf_hash(b"forged")
    for proof in (consistency_proof(tree, old), consistency_proof(forged, old)):
        assert not proves_consistency(
            old_size=old,
            old_root=root(tree[:old]),
            size=size,
            root_hash=root(forged),
            proof=proof,
        )


def test_a_proof_of_a_missing_leaf_is_refused() -> None:
    with pytest.raises(IndexError):
        inclusion_proof(leaves(3), 3)
    with pytest.raises(IndexError):
        consistency_proof(leaves(3), 4)

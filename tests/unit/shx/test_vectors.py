"""The published test vectors, every value of them."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from service.domain.cards import ordered_deck
from service.shx.canonical import canonical, length_prefixed, ruleset_hash, sha256, tagged_mac
from service.shx.chain import decode_event, encode_event, genesis, head, read_chain
from service.shx.shuffle import (
    client_commit,
    derive,
    server_commit,
    stream_block,
    transcript,
    uniform,
)

VECTORS_FILE = Path(__file__).parents[3] / "ops/spec/vectors.json"
FILE = json.loads(VECTORS_FILE.read_text())
VECTORS = FILE["vectors"]


@cache
def fields_with_a_test() -> set[str]:
    """Return the values of a vector that the tests below use."""
    return {
        *("name", "game", "S", "commit", "reveals", "client_commits", "genesis", "event_0"),
        *("head_0", "event_1", "head_1", "codes_canonical_sha256", "T", "K_deck", "K_salt"),
        *("K_deal", "stream_K_deck_block_0", "dealer", "deck", "salt_0", "c_0", "c_last"),
    }


@pytest.fixture(params=VECTORS, ids=[vector["name"] for vector in VECTORS])
def vector(request: pytest.FixtureRequest) -> dict[str, Any]:
    assert isinstance(request.param, dict)
    return request.param


def codes_of(vector: dict[str, Any]) -> tuple[str, ...]:
    deck = json.loads(vector["event_0"])["data"]["deck"]
    return ordered_deck(decks=deck["decks"], jokers=deck["jokers"], partial=deck["partial"])


def entropy_of(vector: dict[str, Any]) -> list[bytes | None]:
    return [value and bytes.fromhex(value) for value in vector["reveals"]]


def test_the_vectors_have_no_values_without_a_test(vector: dict[str, Any]) -> None:
    assert vector.keys() == fields_with_a_test()
    assert FILE.keys() == {"about", "uniform", "vectors"}


def test_commitments_to_entropy_equal_the_vectors(vector: dict[str, Any]) -> None:
    game = UUID(vector["game"])
    assert server_commit(game, bytes.fromhex(vector["S"])).hex() == vector["commit"]
    made = [
        value and client_commit(game, seat, value).hex()
        for seat, value in enumerate(entropy_of(vector))
    ]
    assert made == vector["client_commits"]


def test_hashes_of_the_chain_equal_the_vectors(vector: dict[str, Any]) -> None:
    assert genesis(UUID(vector["game"])).hex() == vector["genesis"]
    lines = [vector["event_0"].encode(), vector["event_1"].encode()]
    heads = [head(line).hex() for line in lines]
    assert heads == [vector["head_0"], vector["head_1"]]
    assert [link.head.hex() for link in read_chain(lines)] == heads


def test_events_are_encoded_to_the_bytes_they_were_read_from(vector: dict[str, Any]) -> None:
    for line in (vector["event_0"].encode(), vector["event_1"].encode()):
        event = decode_event(line)
        del event["v"]
        event["game"] = UUID(event["game"])
        event["prev"] = bytes.fromhex(event["prev"])
        assert encode_event(**event) == line


def test_the_first_event_has_the_hash_of_its_ruleset_and_the_servers_commitment(
    vector: dict[str, Any],
) -> None:
    data = json.loads(vector["event_0"])["data"]
    assert ruleset_hash(data["ruleset"]).hex() == data["ruleset_hash"]
    assert data["commit"] == vector["commit"]


def test_the_transcript_and_the_key_of_the_deck_equal_the_vectors(vector: dict[str, Any]) -> None:
    codes = codes_of(vector)
    assert sha256(canonical(list(codes))).hex() == vector["codes_canonical_sha256"]
    head0, seed = bytes.fromhex(vector["head_0"]), bytes.fromhex(vector["S"])
    bound = transcript(UUID(vector["game"]), head0, codes, entropy_of(vector))
    assert bound.hex() == vector["T"]
    deck_key = tagged_mac(seed, "shx/1/deck", bound)
    assert deck_key.hex() == vector["K_deck"]
    assert stream_block(deck_key, 0).hex() == vector["stream_K_deck_block_0"]


def test_the_deck_its_salts_and_the_dealer_equal_the_vectors(vector: dict[str, Any]) -> None:
    entropy = entropy_of(vector)
    shuffle = derive(
        UUID(vector["game"]),
        bytes.fromhex(vector["S"]),
        bytes.fromhex(vector["head_0"]),
        codes_of(vector),
        entropy,
    )
    assert list(shuffle.deck) == vector["deck"]
    assert shuffle.salt_key.hex() == vector["K_salt"]
    assert shuffle.deal_key.hex() == vector["K_deal"]
    assert shuffle.dealer(len(entropy)) == vector["dealer"]
    assert shuffle.salt(0).hex() == vector["salt_0"]
    assert shuffle.commitment(0).hex() == vector["c_0"]
    assert shuffle.commitments()[-1].hex() == vector["c_last"]
    opening = {"p": 0, "card": vector["deck"][0], "salt": vector["salt_0"]}
    assert shuffle.opening(0) == opening


def test_uniform_rejects_words_that_would_bias_the_result() -> None:
    case = FILE["uniform"]
    words = iter([*(int(word, 16) for word in case["words"]), 7])
    assert uniform(case["n"], words) == case["result"]
    assert list(words) == [7]
    assert case["words_used"] == 3


def test_the_repr_of_a_shuffle_shows_no_secret() -> None:
    shuffle = derive(UUID(int=1), b"S" * 32, b"h" * 32, ordered_deck(decks=1, jokers=0), [None])
    assert repr(shuffle) == f"Shuffle(game={UUID(int=1)!r})"


def test_hashed_parts_are_separated_by_their_lengths() -> None:
    assert length_prefixed(b"ab", b"") == b"\x00\x00\x00\x02ab\x00\x00\x00\x00"
    assert length_prefixed(b"a", b"b") != length_prefixed(b"ab", b"")


def test_a_partial_deck_has_the_number_after_the_full_decks_and_jokers_come_last() -> None:
    codes = ordered_deck(decks=1, jokers=2, partial=["2", "A"])
    assert codes[:2] == ("2c", "3c")
    tail = "2c/2 Ac/2 2d/2 Ad/2 2h/2 Ah/2 2s/2 As/2 X1 X2"
    assert codes[52:] == tuple(tail.split())
    assert ordered_deck(decks=0, jokers=0, partial=["A", "2"])[:2] == ("2c", "Ac")

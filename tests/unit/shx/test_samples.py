"""The sample logs: read, chained, re-derived from their seeds, and their signatures checked."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from service.domain.cards import ordered_deck
from service.shx.canonical import ruleset_hash, sha256
from service.shx.chain import Link, encode_event, read_chain
from service.shx.moves import check_move, check_refusals, intent_is_signed, seal_of, sealed_refusals
from service.shx.shuffle import (
    Shuffle,
    card_commitment,
    client_commit,
    derive,
    server_commit,
)
from tests.tamper import LOGS, SAMPLES


@pytest.fixture(scope="module", params=LOGS, ids=[path.stem for path in LOGS])
def links(request: pytest.FixtureRequest) -> list[Link]:
    path: Path = request.param
    return list(read_chain(path.read_bytes().removesuffix(b"\n").split(b"\n")))


def entropy_of(links: list[Link]) -> list[bytes | None]:
    entropy: list[bytes | None] = [None] * len(links[0].event["data"]["seats"])
    for link in links:
        if link.event["type"] == "entropy_revealed":
            data = link.event["data"]
            entropy[data["seat"]] = bytes.fromhex(data["value"])
    return entropy


def shuffle_of(links: list[Link]) -> Shuffle:
    first, last = links[0].event, links[-1].event
    deck = first["data"]["deck"]
    return derive(
        UUID(first["game"]),
        bytes.fromhex(last["data"]["seed"]),
        links[0].head,
        ordered_deck(decks=deck["decks"], jokers=deck["jokers"], partial=deck["partial"]),
        entropy_of(links),
    )


def data_of(links: list[Link], kind: str) -> list[dict[str, Any]]:
    return [link.event["data"] for link in links if link.event["type"] == kind]


def openings_in(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict) and value.keys() == {"p", "card", "salt"}:
        yield value
    elif isinstance(value, (dict, list)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from openings_in(item)


def test_there_are_34_sample_logs() -> None:
    assert len(LOGS) == 34


def test_every_event_is_encoded_to_the_same_bytes(links: list[Link]) -> None:
    prev = links[0].event["prev"]
    for link in links:
        event = dict(link.event)
        assert event["v"] == 1
        assert event["prev"] == prev
        event |= {"game": UUID(event["game"]), "prev": bytes.fromhex(prev)}
        line = encode_event(**event)
        assert json.loads(line) == link.event
        prev = link.head.hex()


def test_seed_entropy_and_ruleset_match_their_commitments(links: list[Link]) -> None:
    first, last = links[0].event, links[-1].event
    game = UUID(first["game"])
    assert server_commit(game, bytes.fromhex(last["data"]["seed"])).hex() == first["data"]["commit"]
    assert ruleset_hash(first["data"]["ruleset"]).hex() == first["data"]["ruleset_hash"]
    entropy = entropy_of(links)
    for data in data_of(links, "entropy_committed"):
        if value := entropy[data["seat"]]:
            assert client_commit(game, data["seat"], value).hex() == data["commit"]


def test_the_deck_its_commitments_and_the_dealer_follow_from_the_seed(links: list[Link]) -> None:
    committed = data_of(links, "deck_committed")
    if not committed:
        assert links[-1].event["type"] == "game_aborted"
        assert links[-1].event["data"]["deck"] is None
        return
    shuffle = shuffle_of(links)
    assert list(shuffle.deck) == links[-1].event["data"]["deck"]
    assert [c.hex() for c in shuffle.commitments()] == committed[0]["cards"]
    created, dealt = links[0].event["data"], data_of(links, "cards_dealt")[0]
    drawn = shuffle.dealer(len(created["seats"]))
    assert dealt["dealer"] == (drawn if created["dealer"] is None else created["dealer"])


def test_every_opening_opens_its_commitment(links: list[Link]) -> None:
    if not data_of(links, "deck_committed"):
        return
    shuffle, commitments = shuffle_of(links), data_of(links, "deck_committed")[0]["cards"]
    for link in links:
        for opening in openings_in(link.event["data"]):
            p, salt = opening["p"], bytes.fromhex(opening["salt"])
            assert shuffle.opening(p) == opening
            made = card_commitment(shuffle.game, p, opening["card"], salt)
            assert made.hex() == commitments[p]


def test_seals_name_the_refused_attempts_of_their_bundles() -> None:
    found = {}
    for path in LOGS:
        seal = list(read_chain(path.read_bytes().splitlines()))[-1].event
        beside = SAMPLES / f"{path.stem}.refusals.jsonl"
        data = beside.read_bytes() if beside.exists() else b""
        check_refusals(data, seats=3)
        assert sealed_refusals(seal) == seal_of(data)
        assert sha256(data).hex() == seal["data"]["refusals"]["sha256"]
        found[path.stem] = data.count(b"\n")
    assert {name: count for name, count in found.items() if count} == {
        "shithead-refused-attempts": 2
    }


def test_every_signed_move_is_signed_by_its_seat() -> None:
    lines = (SAMPLES / "shithead-keyed.jsonl").read_bytes().splitlines()
    links = list(read_chain(lines))
    keys = [seat["key"] for seat in links[0].event["data"]["seats"]]
    signed = [link.event for link in links if "auth" in link.event]
    assert len(signed) > 50
    for event in signed:
        assert intent_is_signed(b64decode(keys[event["by"]]), event["auth"])


def test_every_move_of_the_samples_is_well_formed() -> None:
    entries = json.loads((SAMPLES / "moves.json").read_text())
    for log in entries.values():
        for entry in log:
            for move in [*entry["moves"], entry["made"]]:
                check_move(move)

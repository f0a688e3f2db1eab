"""Compression of answers (api.md, section 7): which answers, and with which headers."""

from __future__ import annotations

import gzip
from typing import Any

import pytest
import zstandard

from tests.worlds.api_world import Person, World

BROWSER = "gzip, deflate, br, zstd"
LARGE = ("/v1/rulesets/leeds", "/v1/openapi.json", "/docs", "/style.css", "/rules/leeds")


@pytest.fixture(scope="module")
def world(module_world: World) -> World:
    """Return one application for all tests of this module: none depends on rows of another."""
    return module_world


def decoded(answer: Any) -> bytes:
    """Return the body of an answer without its encoding."""
    match answer.headers.get("Content-Encoding"):
        case "gzip":
            return gzip.decompress(answer.data)
        case "zstd":
            return bytes(zstandard.ZstdDecompressor().decompress(answer.data))
        case None:
            return bytes(answer.data)
        case other:
            raise AssertionError(other)


def accepting(encodings: str | None, **more: str) -> dict[str, str]:
    return {**({} if encodings is None else {"Accept-Encoding": encodings}), **more}


@pytest.mark.parametrize("path", LARGE)
@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_a_large_answer_is_compressed_without_change(
    world: World, path: str, encoding: str
) -> None:
    plain = world.get(path)
    answer = world.get(path, headers=accepting(encoding))
    assert answer.headers["Content-Encoding"] == encoding
    assert decoded(answer) == plain.data
    assert len(answer.data) < len(plain.data) / 2
    assert int(answer.headers["Content-Length"]) == len(answer.data)
    head = world.client.head(path, headers=accepting(encoding))
    assert head.headers["Content-Length"] == answer.headers["Content-Length"]
    assert answer.content_type == plain.content_type


@pytest.mark.parametrize(
    ("accepted", "encoding"),
    [
        (None, None),
        ("", None),
        ("identity", None),
        ("br", None),
        ("gzip;q=0, identity", None),
        ("gzip", "gzip"),
        ("GZIP", "gzip"),
        ("zstd;q=0, *", "gzip"),
        ("gzip;q=0.5, zstd;q=0.1", "gzip"),
        (BROWSER, "zstd"),
        ("*", "zstd"),
    ],
)
def test_the_client_chooses_the_encoding(
    world: World, accepted: str | None, encoding: str | None
) -> None:
    answer = world.get("/v1/rulesets/leeds", headers=accepting(accepted))
    assert answer.headers.get("Content-Encoding") == encoding
    assert "Accept-Encoding" in answer.headers["Vary"], "caches keep the encodings apart"


def test_answers_are_compressed_from_1024_bytes_on(world: World, ada: Person) -> None:
    for path in ("/v1/bots", "/v1/rulesets/leeds", "/v1/players/me", "/healthz", "/v1/keys"):
        plain, answer = ada.get(path), ada.get(path, headers=accepting(BROWSER))
        assert ("Content-Encoding" in answer.headers) is (len(plain.data) >= 1024), path


def test_problems_and_lines_are_compressed_as_well(ada: Person) -> None:
    game = ada.game()
    lines = ada.get(f"{game}/events", headers=accepting(BROWSER, Accept="application/x-ndjson"))
    assert lines.headers["Content-Encoding"] == "zstd"
    assert decoded(lines).count(b"\n") == ada.get(game).json["version"]
    unknown = {
        "ruleset": "shithead",
        "seats": ["me"],
        **{f"field-{number}": 1 for number in range(50)},
    }
    refused = ada.post("/v1/tables", unknown, headers=accepting(BROWSER))
    assert refused.status_code == 422
    assert refused.headers["Content-Encoding"] == "zstd"
    assert b"/problems/invalid-body" in decoded(refused)


def test_streams_and_bundles_are_not_compressed(ada: Person) -> None:
    game = ada.game()
    ada.post(f"{game}/moves", {"type": "forfeit"})
    for part in ("stream", "evidence"):
        answer = ada.get(f"{game}/{part}", headers=accepting(BROWSER))
        assert len(answer.data) > 1024
        assert "Content-Encoding" not in answer.headers, part


def test_an_answer_with_an_invite_is_not_compressed_nor_is_its_repetition(ada: Person) -> None:
    body = {"ruleset": "leeds", "seats": ["me", *["open"] * 20], "visibility": "private"}
    headers = accepting(BROWSER, **{"Idempotency-Key": "one"})
    for _ in range(2):
        answer = ada.post("/v1/tables", body, headers=headers)
        assert answer.json["invite"]
        assert len(answer.data) > 1024
        assert "Content-Encoding" not in answer.headers
    shown = ada.get(f"/v1/tables/{answer.json['id']}", headers=accepting(BROWSER))
    assert shown.headers["Content-Encoding"] == "zstd", "the table itself has no invite"


def test_the_etag_of_a_compressed_game_is_weak_and_still_good_for_a_move(ada: Person) -> None:
    """A strong ETag names the bytes of one encoding; If-Match compares the versions."""
    game = ada.game()
    answer = ada.get(game, headers=accepting("gzip"))
    assert answer.headers["Content-Encoding"] == "gzip"
    tag = answer.headers["ETag"]
    assert tag == f"W/{ada.get(game).headers['ETag']}"
    again = ada.get(game, headers=accepting("gzip", **{"If-None-Match": tag}))
    assert again.status_code == 304
    assert "Accept-Encoding" in again.headers["Vary"]
    assert "Authorization" in again.headers["Vary"]
    moved = ada.post(f"{game}/moves", {"type": "ready"}, headers={"If-Match": tag})
    assert moved.status_code == 201


def test_the_etag_of_a_compressed_page_is_weak(world: World) -> None:
    strong = world.get("/docs").headers["ETag"]
    weak = world.get("/docs", headers=accepting("gzip")).headers["ETag"]
    assert weak == f"W/{strong}"
    for tag in (strong, weak):
        for encodings in (None, "gzip", "zstd"):
            headers = accepting(encodings, **{"If-None-Match": tag})
            assert world.get("/docs", headers=headers).status_code == 304

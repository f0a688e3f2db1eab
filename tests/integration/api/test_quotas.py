"""Quotas of a player, and size limits of requests."""

from __future__ import annotations

import errno
import io
import os
from typing import Any

import pytest

from service.application.quotas import QUOTAS, Slots
from service.store.events import QuotaKind
from tests.streams import numbered
from tests.tamper import sample_lines
from tests.worlds.api_world import Person, World, problem_of

OPEN = {"ruleset": "shithead", "seats": ["me", "open"]}
DEALT = {"ruleset": "shithead", "seats": ["me", {"bot": "lowest"}]}


def test_a_player_may_have_two_hundred_tables_and_two_hundred_running_hands() -> None:
    assert [QUOTAS[kind].most for kind in (QuotaKind.TABLES, QuotaKind.GAMES)] == [200, 200]


def test_too_many_hosted_tables_are_refused_until_one_is_closed(
    ada: Person, bob: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(QUOTAS, *numbered(QuotaKind.TABLES, 2))
    first = ada.table("open")
    ada.table("open")
    refused = ada.post("/v1/tables", OPEN)
    assert (problem_of(refused), refused.status_code) == ("limit-reached", 409)
    assert "Retry-After" not in refused.headers, "waiting does not help"
    assert bob.post("/v1/tables", OPEN).status_code == 201
    assert ada.call("DELETE", f"/v1/tables/{first['id']}").status_code == 204
    assert ada.post("/v1/tables", OPEN).status_code == 201


def test_too_many_running_hands_are_refused_by_every_call_that_deals(
    ada: Person, bob: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(QUOTAS, *numbered(QuotaKind.GAMES, 2))
    joined = bob.table("open")
    own = ada.table({"bot": "lowest"}, deal=False)
    game = ada.game()
    ada.game()
    assert problem_of(ada.post("/v1/tables", DEALT)) == "limit-reached"
    assert problem_of(ada.post(f"/v1/tables/{joined['id']}/seats")) == "limit-reached"
    assert problem_of(ada.post(f"/v1/tables/{own['id']}/games")) == "limit-reached"
    assert ada.post(f"{game}/moves", {"type": "forfeit"}).status_code == 201
    assert ada.post(f"/v1/tables/{own['id']}/games").status_code == 201


def test_a_body_sent_in_chunks_is_measured_too(world: World) -> None:
    raw = b'{"name":"Ada"}' + b" " * 2**20
    chunked = {
        "CONTENT_LENGTH": "",
        "HTTP_TRANSFER_ENCODING": "chunked",
        "wsgi.input_terminated": True,
    }
    for body, status in ((raw, 413), (b'{"name":"Ada"}', 201)):
        answer = world.client.post(
            "/v1/players",
            input_stream=io.BytesIO(body),
            content_type="application/json",
            environ_overrides=chunked,
        )
        assert answer.status_code == status, answer.text


def test_the_number_of_concurrent_verifications_is_limited(world: World) -> None:
    uploads = world.app.extensions["shithead"].uploads
    lines = b"\n".join(sample_lines("shithead-aborted"))
    sent = {"data": lines, "content_type": "application/x-ndjson"}
    held = [(f"10.0.0.{n}", uploads.acquire(f"10.0.0.{n}")) for n in range(4)]
    assert all(taken for _, taken in held)
    refused = world.client.post("/v1/verify", **sent)
    assert problem_of(refused) == "unavailable"
    assert refused.headers["Retry-After"] == "5"
    assert world.get("/v1/bots").status_code == 200
    uploads.release("10.0.0.0")
    for _ in range(9):
        assert world.client.post("/v1/verify", **sent).status_code == 200


class SlowBody(io.BytesIO):
    """A slowly read body; `seen` records the free verification slots during the upload."""

    def __init__(self, raw: bytes, uploads: Slots) -> None:
        super().__init__(raw)
        self._uploads = uploads
        self.seen: list[int] = []

    def read(self, size: int | None = -1) -> bytes:
        self._look()
        return super().read(size)

    def readinto(self, buffer: Any) -> int:
        self._look()
        return super().readinto(buffer)

    def _look(self) -> None:
        taken = [name for name in "abcd" if self._uploads.acquire(name)]
        for name in taken:
            self._uploads.release(name)
        self.seen.append(len(taken))


@pytest.mark.parametrize("kind", ["application/zip", "multipart/form-data; boundary=b"])
def test_a_slow_upload_holds_no_verification_slot(world: World, kind: str) -> None:
    part = b'--b\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n\r\n'
    raw = b"x" * 100_000 if kind == "application/zip" else part + b"x" * 100_000 + b"\r\n--b--\r\n"
    body = SlowBody(raw, world.app.extensions["shithead"].uploads)
    answer = world.client.post(
        "/v1/verify", input_stream=body, content_type=kind, content_length=len(raw)
    )
    assert problem_of(answer) == "not-a-bundle"
    assert body.seen
    assert set(body.seen) == {4}


def test_a_large_upload_may_have_an_idempotency_key(world: World) -> None:
    """No answer is stored for it, because a repeated verification gives the same result."""
    large = {"data": b"x" * 2**21, "content_type": "application/zip"}
    for _ in range(2):
        answer = world.client.post("/v1/verify", headers={"Idempotency-Key": "once"}, **large)
        assert problem_of(answer) == "not-a-bundle"
    answer = world.client.post("/v1/verify", headers={"Idempotency-Key": "two words"}, **large)
    assert problem_of(answer) == "malformed"


@pytest.mark.parametrize("kind", ["application/zip", "multipart/form-data; boundary=b"])
def test_a_compressed_upload_is_refused_without_decompression(world: World, kind: str) -> None:
    answer = world.client.post(
        "/v1/verify", data=b"x", content_type=kind, headers={"Content-Encoding": "gzip"}
    )
    assert problem_of(answer) == "unsupported-media-type"


@pytest.mark.parametrize("kind", ["application/zip", "multipart/form-data; boundary=b"])
def test_an_upload_without_disk_space_is_answered_with_retry_later(
    world: World, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = b'--b\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n\r\n'
    raw = b"x" * 2**20 if kind == "application/zip" else part + b"x" * 2**20 + b"\r\n--b--\r\n"

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("tempfile.TemporaryFile", full)
    answer = world.client.post("/v1/verify", data=raw, content_type=kind)
    assert (problem_of(answer), answer.headers["Retry-After"]) == ("unavailable", "60")


def test_an_upload_with_large_headers_in_its_parts_is_refused(world: World) -> None:
    """Headers are no evidence: those of 32 MiB took a gigabyte of memory and many seconds."""
    part = b'--b\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n'
    raw = part + b"a:b\r\n" * 100_000 + b"\r\nPK\r\n--b--\r\n"
    answer = world.client.post(
        "/v1/verify", data=raw, content_type="multipart/form-data; boundary=b"
    )
    assert problem_of(answer) == "too-large"
    assert "headers of the parts" in answer.json["detail"]


def test_parts_without_a_name_are_unknown_parts(world: World) -> None:
    nameless = b"--b\r\nContent-Disposition: form-data\r\n\r\nx\r\n"
    other = b'--b\r\nContent-Disposition: form-data; name="x"\r\n\r\nx\r\n'
    for raw in (nameless, nameless + other):
        answer = world.client.post(
            "/v1/verify", data=raw + b"--b--\r\n", content_type="multipart/form-data; boundary=b"
        )
        assert problem_of(answer) == "invalid-body"

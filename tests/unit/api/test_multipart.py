"""Multipart uploads: the same parts as the parser of Flask, with limits for their headers."""

from __future__ import annotations

import io
import random
import tracemalloc

import pytest
from werkzeug.formparser import MultiPartParser

from service.api.multipart import MAX_HEADER_BYTES, MAX_PARTS, receive_parts
from service.application.errors import Refusal
from tests.examples import repeated

MIB = 1 << 20
HEADER = b'Content-Disposition: form-data; name="file"; filename="x"\r\n'


def received(body: bytes, boundary: bytes = b"x") -> list[tuple[str, bytes]]:
    file = io.BytesIO()
    parts = receive_parts(io.BytesIO(body), boundary, file, 32 * MIB)
    return [(part.name, part.read(file)) for part in parts]


def parsed_by_flask(body: bytes) -> list[tuple[str, bytes]]:
    try:
        fields, files = MultiPartParser().parse(io.BytesIO(body), b"x", len(body))
    except ValueError:
        return []
    texts = [(name or "", text.encode()) for name, text in fields.items(multi=True)]
    return texts + [(name or "", file.read()) for name, file in files.items(multi=True)]


def test_random_bodies_have_the_same_parts_as_for_the_parser_of_flask() -> None:
    choice = random.Random(1)
    pieces = [b"--x", b"--x--", b"\r\n", b"\n", b"\r", b"--", b"a" * 70_000, b"ab", b" ", b":"]
    pieces += [b'Content-Disposition: form-data; name="file"', b"; filename=f", b"\r\n\r\n"]
    part = b"\r\n--x\r\n" + HEADER + b"\r\n"
    found = 0
    for _ in range(repeated(400)):
        body = b"".join(
            choice.choice((part, choice.choice(pieces))) for _ in range(choice.randrange(12))
        )
        body += choice.choice((b"\r\n--x--\r\n", b"\r\n--x--\r\nbehind", b""))
        assert sorted(received(body)) == sorted(parsed_by_flask(body)), body[:2000]
        found += bool(received(body))
    assert found


@pytest.mark.parametrize(
    "headers",
    [b"a:b\r\n" * MIB, HEADER[:-2] + b";a=b" * MIB + b"\r\n", HEADER + b" \r\n" * MIB],
    ids=["many headers", "many parameters", "continued headers"],
)
def test_large_headers_are_refused_without_being_parsed(headers: bytes) -> None:
    body = b"--x\r\n" + HEADER + headers + b"\r\ncontent\r\n--x--\r\n"
    tracemalloc.start()
    with pytest.raises(Refusal) as caught:
        received(body)
    assert caught.value.code == "too-large"
    assert tracemalloc.get_traced_memory()[1] < MIB + len(body)  # the body itself is in a file here
    tracemalloc.stop()


def test_the_headers_of_all_parts_count_together() -> None:
    part = b"--x\r\n" + HEADER + b"a:b\r\n" * 1000 + b"\r\nc\r\n"
    within = MAX_HEADER_BYTES // len(part)
    assert len(received(part * within + b"--x--\r\n")) == within
    with pytest.raises(Refusal, match="headers"):
        received(part * (within + 2) + b"--x--\r\n")


def test_a_long_preamble_is_refused_and_a_long_epilogue_is_not_stored() -> None:
    part = b"--x\r\n" + HEADER + b"\r\nc\r\n--x--\r\n"
    with pytest.raises(Refusal, match="headers"):
        received(b"p" * MIB + b"\r\n" + part)
    tracemalloc.start()
    body = io.BytesIO(part + b"e" * (8 * MIB))
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    assert len(receive_parts(body, b"x", io.BytesIO(), 32 * MIB)) == 1
    assert tracemalloc.get_traced_memory()[1] - before < MIB
    tracemalloc.stop()


def test_contents_that_look_like_headers_do_not_count_as_headers() -> None:
    content = b"a:b\r\n" * 100_000
    body = b"--x\r\n" + HEADER + b"\r\n" + content + b"\r\n--x--\r\n"
    assert received(body * 1) == [("file", content)]


def test_more_parts_than_the_limit_are_refused() -> None:
    part = b"--x\r\n" + HEADER + b"\r\nc\r\n"
    assert len(received(part * MAX_PARTS + b"--x--\r\n")) == MAX_PARTS
    with pytest.raises(Refusal, match="1000 parts"):
        received(part * (MAX_PARTS + 1) + b"--x--\r\n")


def test_a_part_without_a_name_is_one_with_an_empty_name() -> None:
    nameless = b"--x\r\nContent-Disposition: form-data\r\n\r\nc\r\n"
    assert received(nameless + b"--x--\r\n") == [("", b"c")]

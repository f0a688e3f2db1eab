"""Uploads as multipart/form-data, received into one file, with limits for their headers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, Final

from werkzeug.sansio.multipart import (
    Data,
    Event,
    Field,
    File,
    MultipartDecoder,
    NeedData,
    State,
)

from service.application.errors import Refusal
from service.replay.sentences import said

MAX_PARTS: Final = 1000
MAX_HEADER_BYTES: Final = 1 << 18
"""Maximum size of the headers of all parts: parsing them takes 0.1 s and 10 MB of memory."""

CHUNK_BYTES: Final = 1 << 16


@dataclass(slots=True)
class Part:
    """A part of an upload: its name, and where its content is in the file."""

    name: str
    start: int
    size: int = 0

    def read(self, file: IO[bytes]) -> bytes:
        """Return the content."""
        file.seek(self.start)
        return file.read(self.size)


def receive_parts(stream: IO[bytes], boundary: bytes, file: IO[bytes], most: int) -> list[Part]:
    """
    Copy the contents of all parts into a file, one after the other, and return the parts.

    `most` is the limit of the body, which `stream` enforces. Returns no parts if the body is not
    multipart/form-data. The parser of Flask is not used: it has no limit for headers, and 4 MB
    of them take 125 MB of memory and 1.6 s, growing with their size.

    Raises Refusal `too-large` above MAX_PARTS or MAX_HEADER_BYTES.
    """
    parts: list[Part] = []
    if not boundary:
        return parts
    with suppress(ValueError):
        for event in _events(stream, MultipartDecoder(boundary, most + CHUNK_BYTES)):
            if isinstance(event, (Field, File)):
                if len(parts) == MAX_PARTS:
                    raise Refusal("too-large", said("limit.parts", n=MAX_PARTS))
                parts.append(Part(event.name or "", file.tell()))
            elif isinstance(event, Data):
                parts[-1].size += file.write(event.data)
        return parts
    return []


def _events(stream: IO[bytes], decoder: MultipartDecoder) -> Iterator[Event]:
    """
    Yield the parts of a body and the pieces of their contents.

    Raises ValueError for a body that is not multipart/form-data, Refusal `too-large`.
    """
    headers = 0
    while not _is_over(decoder):
        data = stream.read(CHUNK_BYTES)
        decoder.receive_data(data or None)
        while not _is_over(decoder):
            before = len(decoder.buffer)
            event = decoder.next_event()
            if isinstance(event, (Field, File)):
                headers += before - len(decoder.buffer)
            waiting = len(decoder.buffer) if decoder.state in _BEFORE_CONTENT else 0
            # The buffer may have a chunk of content behind the headers.
            if max(headers, waiting - CHUNK_BYTES) > MAX_HEADER_BYTES:
                raise Refusal("too-large", said("limit.part_headers", n=MAX_HEADER_BYTES))
            if isinstance(event, NeedData):
                break
            yield event
    while stream.read(CHUNK_BYTES):  # the rest of the body has no meaning
        pass


def _is_over(decoder: MultipartDecoder) -> bool:
    """Return whether the last boundary has been read."""
    return decoder.state is State.EPILOGUE


_BEFORE_CONTENT: Final = (State.PREAMBLE, State.PART)

"""Cases of the check `bytes`: lines that are no events, and lines at a limit that are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from service.shx.canonical import canonical
from tests.conformance.case import Case, created, fails, passes, raw_lines, refused, text_of
from tests.tamper import Forgery

Line = bytes


def cases() -> Iterator[Case]:
    """Yield every case of `bytes`."""
    yield from _encodings()
    yield from _fields()
    yield from _limits()
    yield from _files()


def _encodings() -> Iterator[Case]:
    """Yield logs whose last line is not canonical JSON."""
    start, end = created().lines()

    def last(name: str, says: str, line: Line) -> Case:
        return fails(f"bytes/{name}", says, (start, line), bytes=1)

    yield last("space", "a space after a comma", end.replace(b',"by"', b', "by"'))
    yield last("order", "keys out of order", b'{"v":1,' + end[1:].replace(b',"v":1', b""))
    yield last("twice", "a key twice", end.replace(b'"by":null', b'"by":null,"by":null'))
    yield last("float", "1.0 in place of 1", end.replace(b'"v":1', b'"v":1.0'))
    yield last("exponent", "1e0 in place of 1", end.replace(b'"v":1', b'"v":1e0'))
    yield last("minus-zero", "-0 in place of 0", _edited("turn_limit", b"-0"))
    yield last(
        "escape", "an escape that is not needed", end.replace(b"operator", b"\\u006fperator")
    )
    yield last("utf-8", "a byte that is no UTF-8", end.replace(b"operator", b"\xff"))
    yield last("mark", "a byte order mark", b"\xef\xbb\xbf" + end)
    yield last("return", "a carriage return before the line feed", end + b"\r")
    yield last("cut", "half an event", end[: len(end) // 2])
    yield last("two", "two events on a line", end + end)
    yield last("array", "an array", b"[" + end + b"]")
    yield last("nan", "NaN", end.replace(b'"v":1', b'"v":NaN'))
    large = str(2**53).encode()
    yield last("integer", "the integer 2^53", end.replace(b'"seat":null', b'"seat":' + large))


def _edited(_name: str, value: bytes) -> Line:
    end = created().lines()[-1]
    return end.replace(b'"seq":1', b'"seq":' + value)


def _fields() -> Iterator[Case]:
    """Yield logs with an event whose fields are not those of its type."""

    def changed(name: str, says: str, change: Callable[[Forgery], Any], seq: int = 1) -> Case:
        f = created()
        change(f)
        return fails(f"bytes/{name}", says, raw_lines(f), bytes=seq)

    def at(seq: int, **fields: Any) -> Callable[[Forgery], Any]:
        return lambda f: f.events[seq].update(fields)

    def data(seq: int, **fields: Any) -> Callable[[Forgery], Any]:
        return lambda f: f.data(seq).update(fields)

    yield changed("version", "version 3", at(1, v=3))
    yield changed("version-of-type", "an abort of version 2", at(1, v=2))
    yield changed("refusals", "a seal without attempts", lambda f: f.data(1).pop("refusals"))
    yield changed("type", "an unknown type", at(1, type="cards_eaten"))
    yield changed("added", "a field too many", data(1, note="x"))
    yield changed("removed", "a field too few", lambda f: f.data(1).pop("deck"))
    yield changed("beside", "a field too many beside the data", at(1, note="x"))
    yield changed("month", "a thirteenth month", at(1, at="2026-13-01T00:00:00.000000Z"))
    yield changed("day", "a 30 February", at(1, at="2026-02-30T00:00:00.000000Z"))
    yield changed("milliseconds", "a time in milliseconds", at(1, at="2026-11-21T00:00:00.000Z"))
    yield changed("upper-case", "hex digits in upper case", data(1, seed="AB" * 32))
    yield changed("short-hash", "a seed of 31 bytes", data(1, seed="ab" * 31))
    yield changed("cause", "an unknown cause", data(1, cause="bored"))
    yield changed("true", "true in place of an integer", data(1, seat=True))
    yield changed("seat-64", "`seat` is 64", data(1, seat=64))
    yield changed("card", "a card that there is not", data(1, deck=["1h"]))
    yield changed("deck-1", "a card of the first deck with its number", data(1, deck=["7c/1"]))
    yield changed("by", "the server's event by a seat", at(1, by=0))
    yield changed(
        "auth", "a signature on the server's event", at(1, auth={"intent": {}, "sig": ""})
    )


def _limits() -> Iterator[Case]:
    """Yield first events with values at and beyond a limit."""

    def engine(**fields: Any) -> dict[str, Any]:
        return {"engine": {"name": "made", "version": "1", **fields}}

    def first(name: str, says: str, *, ok: bool, **changes: Any) -> Case:
        lines = raw_lines(created(**changes))
        if ok:
            return passes(f"bytes/{name}", says, lines)
        return fails(f"bytes/{name}", says, lines, bytes=0)

    yield first("text-300", "a string of 300 characters", ok=True, **engine(name="x" * 300))
    yield first("text-301", "a string of 301 characters", ok=False, **engine(name="x" * 301))
    yield first("text-empty", "an empty name of the engine", ok=False, **engine(name=""))
    yield first("text-accent", "a letter beyond ASCII", ok=False, **engine(name="caf\u00e9"))
    yield first("text-delete", "the character U+007F", ok=False, **engine(name="a\x7f"))
    yield first("text-tab", "a control character", ok=False, **engine(name="a\tb"))
    yield first("hand-0", "hand 0", ok=False, hand=0)
    yield first("no-seats", "no seats", ok=False, seats=[])
    yield first("bot-without-name", "a bot without a name", ok=False, seats=_seats(kind="bot"))
    yield first("person-with-bot", "a person named a bot", ok=False, seats=_seats(bot="random"))
    yield first("key", "a key of 31 bytes", ok=False, seats=_seats(key="A" * 44))
    for levels, ok in ((64, True), (65, False)):
        nested: Any = []
        for _ in range(levels - 5):
            nested = [nested]
        f = created()
        f.data(0)["ruleset"]["options"] = {"a": nested}
        lines = raw_lines(f)
        name, says = f"bytes/levels-{levels}", f"{levels} levels, the innermost an empty list"
        if ok:  # the option is unknown, and its ruleset has another hash
            yield fails(name, says, lines, commitments=0, legality=0)
        else:
            yield fails(name, says, lines, bytes=0)
    for year, ok in (("0000", False), ("0001", True)):
        f = created()
        for event in f.events:
            event["at"] = f"{year}-03-01T00:00:00.000000Z"
        name, says = f"bytes/year-{year}", f"the year {year}"
        yield passes(name, says, raw_lines(f)) if ok else fails(name, says, raw_lines(f), bytes=0)


def _seats(**fields: Any) -> list[dict[str, Any]]:
    seat = {"kind": "human", "bot": None, "key": None, "entropy": "none"}
    return [{**seat, **fields}, seat]


def _files() -> Iterator[Case]:
    """Yield files whose lines end otherwise, and files without an event."""
    lines = created().lines()
    whole = text_of(lines)
    yield passes("bytes/no-last-feed", "no line feed at the end", whole[:-1])
    yield fails("bytes/empty-line", "an empty line at the end", whole + b"\n", bytes=2)
    yield fails("bytes/all-returns", "lines with CR LF", whole.replace(b"\n", b"\r\n"), bytes=0)
    yield refused("bytes/nothing", "an empty file", b"")
    yield refused("bytes/object", "an object that is no event", b"{}\n")
    yield refused("bytes/text", "a text", b"hello\n")
    yield refused("bytes/other-json", "another file of JSON", canonical({"game": 1}) + b"\n")

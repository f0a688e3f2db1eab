"""Mutated records: changed values, events and bytes; hashes and signatures made again or not."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from functools import cache
from random import Random
from typing import Final

from service.shx.canonical import RecordError
from tests.conformance.case import (
    CLOCK,
    KEYS,
    Case,
    Evidence,
    committed,
    created,
    passes,
    played,
    raw_lines,
    signed,
    text_of,
    with_commitments,
)
from tests.random_games import public_text
from tests.tamper import Forgery
from tests.web.mutated.values import mutate

SEAT_KEYS: Final = {seat: public_text(key) for seat, key in KEYS.items()}
RULESETS: Final = (
    "leeds", "shithead", "shithead-layout", "guarducci", "egilsson", "threes", "reverse",
    "shit-boot", "karma-radford", "smeghead", "covered-queen", "morehead",
)  # fmt: skip
MANY: Final = 200
"""Decks or jokers beyond this are not shuffled again here, which takes long and much memory."""


@cache
def bases() -> tuple[Forgery, ...]:
    """Return small logs of every form, honest ones."""
    hands = [played(name, seats=2 + n % 3, turn_limit=12) for n, name in enumerate(RULESETS)]
    return (
        *(created(), created(), committed(), with_commitments(), with_commitments(1)),
        *(signed(), signed(), played(clock=CLOCK, silent=1, turn_limit=6), *hands),
    )


def records(count: int, *, start: int = 0) -> Iterator[Case]:
    """Yield mutated records; each follows from its number alone."""
    for number in range(start, start + count):
        chance = Random(f"record {number}")
        base = chance.choice(bases())
        content = chance.choice(_WAYS)(base, chance)
        evidence = _evidence(base, content, chance)
        yield passes(f"record-{number}", "a mutated record", content, evidence=evidence)


def _evidence(base: Forgery, content: bytes, chance: Random) -> Evidence:
    """Return keys of seats, or other logs of the table, with a record now and then."""
    keyed = any(seat["key"] for seat in base.events[0]["data"]["seats"])
    keys = SEAT_KEYS if keyed and chance.random() < 0.3 else {}
    other = chance.choice((base, chance.choice(bases())))
    lines = text_of(deepcopy(other).lines())
    cut = lines[: chance.randrange(len(lines))].rpartition(b"\n")[0]
    others = (chance.choice((lines, cut)),) if cut and chance.random() < 0.2 else ()
    return Evidence(seat_keys=keys, others=others)


def _values(base: Forgery, chance: Random) -> bytes:
    """Return the log with one to three values changed."""
    f = deepcopy(base)
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        mutate(f.events, chance, below=(chance.randrange(len(f.events)),))
    return _again(f, chance)


def _first(base: Forgery, chance: Random) -> bytes:
    """Return the log with a value of its first event changed, and the deck that follows from it."""
    f = deepcopy(base)
    mutate(f.events, chance, below=(0, "data"))
    try:
        deck = f.events[0]["data"]["deck"]
        if max(deck["decks"], deck["jokers"]) > MANY:
            return _again(f, chance)
        f.reseed(bytes.fromhex(f.events[-1]["data"]["seed"]), commit=False)
        return text_of(f.lines(KEYS))
    except (RecordError, LookupError, TypeError, ValueError, AttributeError, OverflowError):
        return _again(f, chance)


def _events(base: Forgery, chance: Random) -> bytes:
    """Return the log with events left out, repeated, exchanged or moved."""
    f = deepcopy(base)
    for _ in range(chance.choice((1, 1, 2))):
        events = f.events
        one, other = (chance.randrange(len(events)) for _ in range(2))
        match chance.randrange(6):
            case 0 if len(events) > 1:
                del events[one : one + chance.choice((1, 1, 2, 3))]
            case 1:
                events.insert(other, deepcopy(events[one]))
            case 2:
                events[one], events[other] = events[other], events[one]
            case 3:
                events.insert(other, events.pop(one))
            case 4:
                stranger = chance.choice(bases()).events
                event = {**deepcopy(chance.choice(stranger)), "game": events[0]["game"]}
                events.insert(other, event)
            case _ if one:
                del events[one:]
        f.events = events or deepcopy(base.events)
    return _again(f, chance)


def _again(f: Forgery, chance: Random) -> bytes:
    """Return the bytes of a log; mostly with its hashes made again, and its signatures."""
    way = chance.random()
    try:
        if way < 0.5:
            return text_of(f.lines(KEYS))
        if way < 0.75:
            return text_of(f.lines())
        return text_of(raw_lines(f))
    except (RecordError, LookupError, TypeError, ValueError, AttributeError):
        plain = (json.dumps(e, sort_keys=True, separators=(",", ":")).encode() for e in f.events)
        return text_of(tuple(plain))


PIECES: Final = (
    b"\xff", b"\xc3\x28", b"\xed\xa0\x80", b"\xf0\x9f\x82\xa1", b"\xe2\x80\xa8", b"\xc0\x80",
    b"\x00", b"\x7f", b"\xef\xbb\xbf", b"\r", b"\n", b"\t", b" ", b"\\u0041", b"\\ud800", b"\\n",
    b"\\/", b'"', b",", b":", b"[", b"]", b"{", b"}", b"[[[[]]]]", b"1.0", b"1e3", b"1E400",
    b"-0", b"00", b"+1", b"9007199254740992", b"9007199254740991", b"-9007199254740992",
    b"1" * 400, b"null", b"NaN", b"Infinity", b"true", b"{}", b'"a":1,', b"//", b"," * 3,
    b"[" * 70, b"[" * 5000,
)  # fmt: skip
"""Bytes that JSON does not allow in some places, or that its readers read in different ways."""


def _bytes(base: Forgery, chance: Random) -> bytes:
    """Return the log with bytes inserted, replaced or left out."""
    data = bytearray(text_of(deepcopy(base).lines()))
    for _ in range(chance.choice((1, 1, 2))):
        places = [chance.randrange(len(data) + 1)]
        for mark in (b'":', b"\n", b'"'):  # between tokens, where a mutation is more often JSON
            found = data.find(mark, chance.randrange(len(data)))
            places += [found + len(mark)] if found >= 0 else []
        place = chance.choice(places)
        match chance.randrange(4):
            case 0:
                data[place:place] = chance.choice(PIECES)
            case 1:
                end = place + chance.choice((1, 1, 2, 8))
                data[place:end] = chance.choice(PIECES)
            case 2:
                del data[place : place + chance.choice((1, 1, 2, 50))]
            case _ if place < len(data):
                data[place] ^= 1 << chance.randrange(8)
    return bytes(data)


def _tokens(base: Forgery, chance: Random) -> bytes:
    """Return the log with another text in place of a value, in a line linked to the others."""
    f = deepcopy(base)
    lines = list(f.lines())
    seq = chance.randrange(len(lines))
    line = lines[seq]
    starts = [i + 2 for i in range(len(line) - 1) if line[i : i + 2] == b'":']
    start = chance.choice(starts)
    end = next((i for i in range(start, len(line)) if line[i] in b",}]"), len(line))
    lines[seq] = line[:start] + chance.choice(PIECES) + line[end:]
    if chance.random() < 0.3:
        lines[seq] = line.replace(b",", b", ", 1) if chance.random() < 0.5 else line + b"\r"
    return b"\n".join(lines) + chance.choice((b"", b"\n", b"\n\n", b"\r\n"))


_WAYS: Final[Sequence[Callable[[Forgery, Random], bytes]]] = (
    *(_values, _values, _values, _first, _events, _bytes, _tokens),
)

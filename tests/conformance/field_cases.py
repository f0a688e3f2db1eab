"""Cases of `bytes` and of its limits: fields that contradict each other, and the longest line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from typing import Any, Final

from service.shx.archives import read_zip
from service.shx.bundle import write_bundle
from service.shx.canonical import MAX_LINE
from service.shx.validators import MAX_EVENTS
from tests.conformance.case import Case, Repeat, created, fails, passes, played, raw_lines, signed
from tests.conformance.play_cases import hand_of, played_with
from tests.packed_again import packed
from tests.tamper import Forgery

SEAT: Final = {"kind": "human", "bot": None, "key": None, "entropy": "none"}


def cases() -> Iterator[Case]:
    """Yield every case of these fields."""
    yield from _first_events()
    yield from _moves()
    yield from _long_lines()
    yield from _long_logs()


def _first_events() -> Iterator[Case]:
    deck = {"decks": 1, "jokers": 0, "partial": []}
    changes: tuple[tuple[str, str, dict[str, Any]], ...] = (
        ("dealer-9", "a dealer of nine at a table of two", {"dealer": 9}),
        ("deck-empty", "a deck without cards", {"deck": {**deck, "decks": 0}}),
        ("partial-order", "a partial deck out of order", {"deck": {**deck, "partial": ["9", "2"]}}),
        ("partial-twice", "a rank twice", {"deck": {**deck, "partial": ["2", "2"]}}),
        ("partial-joker", "a joker in a partial deck", {"deck": {**deck, "partial": ["X"]}}),
        ("deck-65572", "a deck of 65,572 cards", {"deck": {**deck, "decks": 1261}}),
        ("limit-0", "a turn limit of 0", {"turn_limit": 0}),
        ("seats-65", "65 seats", {"seats": [dict(SEAT) for _ in range(65)]}),
        ("clock-0", "no seconds for a turn", {"clock": {"turn_seconds": 0, "swap_seconds": 1}}),
        ("table", "a table in upper case", {"table": "9E353F64-56BA-4304-9FF8-65A94F945210"}),
        ("table-braces", "a table in braces", {"table": "{9e353f64-56ba-4304-9ff8-65a94f94521}"}),
        ("engine-version", "an empty version", {"engine": {"name": "a", "version": ""}}),
        ("ruleset-hash", "a hash in base64", {"ruleset_hash": "A" * 44}),
        ("key-url", "a key in base64url", {"seats": [{**SEAT, "key": "-" * 43 + "="}] * 2}),
        ("entropy", "entropy of an unknown kind", {"seats": [{**SEAT, "entropy": "both"}] * 2}),
    )
    for name, says, change in changes:
        f = created()
        f.data(0).update(change)
        yield fails(f"bytes/{name}", says, raw_lines(f), bytes=0)
    f = created()
    f.data(0)["ruleset"]["id"] = ""
    yield fails("bytes/ruleset-id", "an empty id of the ruleset", raw_lines(f), bytes=0)
    f = created()
    f.data(0)["deck"]["decks"] = 1260
    says = "a deck of 65,520 cards, which the ruleset has not"
    yield fails("deal/deck-65520", says, f.lines(), deal=0)
    yield _upper_case()


def _upper_case() -> Case:
    start, end = raw_lines(created())
    game = created().events[0]["game"].encode()
    changed = end.replace(game, game.upper())
    return fails("bytes/game", "a game in upper case", (start, changed), bytes=1)


def _moves() -> Iterator[Case]:
    def play(name: str, says: str, **changes: Any) -> Case:
        f = played()
        seq = f.find("cards_played")
        f.data(seq).update(changes)
        return fails(f"bytes/{name}", says, raw_lines(f), bytes=seq)

    opening = {"p": 1, "card": "2c", "salt": "00" * 32}
    yield play("slot-hand", "a slot beside the zone hand", slot=0)
    yield play("slot-none", "no slot beside the zone down", zone="down", opening=opening)
    yield play("opening-hand", "an opening beside the zone hand", opening=opening)
    yield play("opening-none", "no opening beside the zone stock", zone="stock")
    yield play("direction", "a direction of 0", direction=0)
    yield play("zone", "an unknown zone", zone="sleeve")
    yield play("cards", "a play without its cards", cards=None)
    for kind, name, says, change in (
        ("cards_drawn", "draw-0", "no card drawn", {"count": 0}),
        ("cards_drawn", "draw-many", "65,537 cards drawn", {"count": 65_537}),
        ("play_started", "turn-64", "`turn` is 64", {"turn": 64}),
        ("cards_dealt", "dealer-null", "nobody deals", {"dealer": None}),
        ("game_ended", "reason", "an unknown reason", {"reason": "boredom"}),
        ("seat_ready", "seat-minus", "a seat below 0", {"seat": -1}),
    ):
        f = played()
        seq = f.find(kind)
        f.data(seq).update(change)
        yield fails(f"bytes/{name}", says, raw_lines(f), bytes=seq)
    f = played_with("pile_burned")
    seq = f.find("pile_burned")
    f.data(seq)["count"] = 0
    yield fails("bytes/burn-0", "a burn of no card", raw_lines(f), bytes=seq)
    yield from _swaps()
    f = signed()
    f.lines()
    seq = f.find("cards_drawn")
    f.events[seq]["auth"] = next(event["auth"] for event in f.events if "auth" in event)
    yield fails("bytes/auth-draw", "a signature on a draw", raw_lines(f), bytes=seq)
    f = played()
    seq = f.find("cards_dealt")
    f.events[seq]["v"] = 2
    yield fails("bytes/version-deal", "a deal of version 2", raw_lines(f), bytes=seq)
    yield from _made_before()


def _made_before() -> Iterator[Case]:
    """Yield records in the forms that builds before 0.1.0 wrote."""
    f = created()
    f.events[0]["v"] = f.events[1]["v"] = 2
    yield fails("bytes/version-2", "a record of version 2", f.lines(), bytes=0)
    f = created()
    f.events[0]["v"] = 2
    del f.data(1)["refusals"]
    says = "an end of version 1 in a game of version 2"
    yield fails("bytes/version-2-ends-in-1", says, f.lines(), bytes=0)
    f = played()
    end = len(f.events) - 1
    del f.data(end)["refusals"]
    says = "a hand that ends with a seal of version 1"
    yield fails("bytes/version-1-hand", says, f.lines(), bytes=end)


def _swaps() -> Iterator[Case]:
    for name, says, up, hand in (
        ("swap-uneven", "two cards exchanged for one", ["2c", "3c"], ["4c"]),
        ("swap-none", "no card exchanged", [], []),
    ):
        f = played()
        seq = f.find("seat_ready")
        f.insert(seq, "cards_swapped", {"seat": 0, "up": up, "hand": hand}, by=0)
        yield fails(f"bytes/{name}", says, raw_lines(f), bytes=seq)


def _long_lines() -> Iterator[Case]:
    """Yield bundles with the longest line, and with one that is a byte longer."""
    for size, slug in ((MAX_LINE, "1-mib"), (MAX_LINE + 1, "1-mib-and-1")):
        content = packed(read_zip(write_bundle(raw_lines(_of_length(size)))))
        name, says = f"bytes/line-{slug}", f"a first line of {size:,} bytes"
        if size == MAX_LINE:  # its settings are not those of the ruleset
            yield fails(name, says, content, legality=0)
        else:
            yield fails(name, says, content, bytes=0)


def _of_length(size: int) -> Forgery:
    """Return the smallest log with texts among its settings that give its first line a length."""
    texts: list[str] = []

    def made() -> Forgery:
        f = created()
        f.data(0)["ruleset"]["settings"] = {"texts": texts}
        text = json.dumps(f.data(0)["ruleset"], sort_keys=True, separators=(",", ":"))
        f.data(0)["ruleset_hash"] = sha256(text.encode()).hexdigest()
        return f

    while (missing := size - len(raw_lines(made())[0])) > 0:
        whole = missing // 303  # of 300 characters, with quotes and a comma
        texts += ["x" * 300] * max(whole - 1, 0)
        if whole < 2:
            half = missing // 2
            texts += ["x" * (half - 3), "x" * (missing - half - 3)]
    assert missing == 0
    return made()


def _long_logs() -> Iterator[Case]:
    """Yield a hand with as many events as a game may have, and with two more."""
    f = played()
    seq = f.find("seat_ready")
    seat = f.data(seq)["seat"]
    one, other = hand_of(f, seat)[0], f.data(f.find("cards_dealt"))["face_up"][seat][0]["card"]
    for n, (up, hand) in enumerate(((one, other), (other, one))):
        data = {"seat": seat, "up": [up], "hand": [hand]}
        f.insert(seq + n, "cards_swapped", data, by=seat)
    at = f.events[seq - 1]["at"]
    for n in range(2):  # two swaps are two moves, whose times may be equal
        f.events[seq + n]["at"] = at
    case = passes("bytes/swaps", "a swap and its reverse", f.lines())
    yield case
    most = Repeat(first=seq, last=seq + 1, events=MAX_EVENTS)
    yield replace(case, says="the same two swaps again and again, 100,000 events", repeat=most)
    more = replace(most, events=MAX_EVENTS + 2)
    says = "two events more than a game may have"
    yield replace(case, says=says, exit=3, level=None, repeat=more)

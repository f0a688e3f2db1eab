"""Cases of several logs of a table, keys of seats and servers, openings and refused attempts."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from service.shx.bundle import OPENINGS, REFUSALS, write_bundle
from service.shx.canonical import canonical
from service.shx.moves import MAX_REFUSALS_PER_SEAT, refusals_file, seal_of, sign_key_change
from tests.conformance.case import (
    KEYS,
    Case,
    Evidence,
    Lines,
    created,
    fails,
    passes,
    played,
    signed,
    text_of,
)
from tests.conformance.evidence_cases import OTHER, SERVER, SERVER_KEY, receipt_of
from tests.random_games import START, TABLE, Plan, made_game, private_key, public_text
from tests.tamper import Forgery

ELSEWHERE: Final = "00000000-0000-4000-8000-0000000000bb"
START_OF_YEAR: Final = "2026-01-01T00:00:00.000000Z"


def cases() -> Iterator[Case]:
    """Yield every case of these checks."""
    yield from _hands()
    yield from _logs_of_one_game()
    yield from _key_changes()
    yield from _key_lists()
    yield from _openings()
    yield from _attempts()


def _with(*logs: Lines) -> Evidence:
    return Evidence(others=tuple(text_of(lines) for lines in logs))


def _hand(number: int, before: Lines | None, **plan: Any) -> Forgery:
    """Return a short hand after another one, with the loser's successor as its dealer."""
    f = None if before is None else Forgery(before)
    dealer = None
    if f is not None:  # a hand that its turn limit ends as a stalemate is dealt by the same seat
        dealer = f.data(f.find("cards_dealt"))["dealer"]
    given: dict[str, Any] = {
        "name": f"hand {number}", "seats": 2, "bots": True, "turn_limit": 2, "hand": number,
        "dealer": dealer, "prev_game": None if f is None else f.events[0]["game"],
        "start": START + timedelta(hours=number),
    }  # fmt: skip
    return Forgery(made_game(Plan(**{**given, **plan})))


def _hands() -> Iterator[Case]:
    first = _hand(1, None).lines()
    second = _hand(2, first)
    lines = second.lines()
    says = "two hands of a table"
    yield passes("sequence/two-hands", says, lines, evidence=_with(first))
    third = _hand(3, lines).lines()
    says = "three hands, in any order"
    yield passes("sequence/three-hands", says, lines, evidence=_with(third, first))
    dealer = second.data(0)["dealer"]
    for name, says, plan in (
        ("next-dealer", "another seat deals than the ruleset asks", {"dealer": 1 - dealer}),
        ("number", "hand 3 follows hand 1", {"hand": 3}),
        ("turn-limit", "another turn limit in the next hand", {"turn_limit": 3}),
        ("clock", "a clock in the next hand", {"clock": {"turn_seconds": 9, "swap_seconds": 9}}),
        ("overlap", "a hand begins before the one before it ends", {"start": START}),
        ("table", "the game before is of another table", {"table": ELSEWHERE}),
    ):
        forged = _hand(2, first, **plan).lines()
        yield fails(f"sequence/{name}", says, forged, evidence=_with(first), sequence=0)
    again = _hand(2, first, name="again").lines()
    says = "two games with one game before them"
    yield fails("sequence/two-next", says, lines, evidence=_with(first, again), sequence=0)
    other = _hand(1, None, name="other first").lines()
    says = "two games of a table that follow no other"
    yield fails("sequence/two-first", says, first, evidence=_with(other), sequence=0)
    f = created()
    f.data(0).update(prev_game=f.events[0]["game"], hand=2, dealer=0)
    f.lines()
    yield fails("sequence/itself", "a game that follows itself", f.lines(), sequence=0)
    yield from _secrets(first)
    aborted = _hand(1, None, abort=True, name="attempt").lines()
    attempt = _second_attempt(aborted)
    says = "a hand that was dealt again after an aborted attempt"
    yield passes("sequence/again", says, attempt, evidence=_with(aborted))
    cut = Forgery(first)
    cut.drop(cut.find("play_started") + 1, len(cut.events))
    says = "a hand after one whose end is missing"
    yield passes("sequence/open", says, lines, evidence=_with(cut.lines()))


def _second_attempt(aborted: Lines) -> Lines:
    """Return a first hand after an attempt that was aborted; its dealer is drawn as well."""
    before = Forgery(aborted).events[0]["game"]
    return _hand(1, None, name="second attempt", prev_game=before).lines()


def _secrets(first: Lines) -> Iterator[Case]:
    """Yield a hand beside another game with its seed, or with its commitment."""
    seed = Forgery(first).events[-1]["data"]["seed"]
    same = _hand(1, None, name="same seed", table=ELSEWHERE, seed=bytes.fromhex(seed)).lines()
    says = "a game of another table with the same seed"
    yield fails("sequence/seed", says, first, evidence=_with(same), sequence=None)
    f = _hand(1, None, name="same commitment", table=ELSEWHERE)
    f.data(0)["commit"] = Forgery(first).data(0)["commit"]
    says = "a game of another table with the same commitment"
    yield fails("sequence/commitment", says, first, evidence=_with(f.lines()), sequence=0)


def _logs_of_one_game() -> Iterator[Case]:
    f = played()
    lines = f.lines()
    part = lines[: f.find("play_started") + 1]
    yield passes("sequence/prefix", "a log and its beginning", lines, evidence=_with(part))
    says = "the beginning of a log, and the log"
    yield passes(
        "sequence/prefix-first", says, part, missing=["seal"], evidence=_with(lines), level="L1"
    )
    f = Forgery(lines)
    seq = f.find("cards_dealt") + 1
    f.events[seq]["at"] = f.events[seq - 1]["at"]
    says = "two logs of one game that differ"
    evidence = _with(f.lines())
    yield fails("sequence/two-histories", says, lines, evidence=evidence, sequence=seq)
    other = _hand(1, None, name="a third").lines()
    says = "two logs of another game that differ"
    g = Forgery(other)
    g.events[-1]["at"] = "2026-12-01T00:00:00.000000Z"
    changed = [*other[:-1], canonical({**json.loads(other[-1]), "at": g.events[-1]["at"]})]
    evidence = _with(other, changed)
    yield fails("sequence/two-others", says, lines, evidence=evidence, sequence=None)


def _key_changes() -> Iterator[Case]:
    """Yield logs with the key of a seat from outside that its player changed since."""
    lines = signed().lines(KEYS)
    table, new = UUID(TABLE), public_text(KEYS[0])
    old, thief = private_key("old seat 0"), private_key("thief")

    def change(signer: Any = old, table: UUID = table, seat: int = 0) -> dict[str, Any]:
        key = b64decode(new)
        value = {"v": 1, "table": str(table), "seat": seat, "key": new}
        return {"change": value, "sig": sign_key_change(signer, table=table, seat=seat, key=key)}

    def given(*changes: Mapping[str, Any], key: Any = old) -> Evidence:
        text = json.dumps({"items": changes}).encode()
        return Evidence(seat_keys={0: public_text(key)}, key_changes=(text,))

    says = "an older key of a seat, and the change that it signed"
    yield passes("signatures/key-changed", says, lines, evidence=given(change()))
    older = private_key("older seat 0")
    middle = {"v": 1, "table": TABLE, "seat": 0, "key": public_text(old)}
    public = b64decode(public_text(old))
    signature = sign_key_change(older, table=table, seat=0, key=public)
    chain = given(change(), {"change": middle, "sig": signature}, key=older)
    says = "a key of a seat that was changed twice"
    yield passes("signatures/key-changed-twice", says, lines, evidence=chain)
    for name, says, wrong in (
        ("forged", "a change that another key signed", change(thief)),
        ("table", "a change at another table", change(table=UUID(ELSEWHERE))),
        ("seat", "a change of another seat", change(seat=1)),
    ):
        evidence = given(wrong)
        yield fails(f"signatures/key-change-{name}", says, lines, evidence=evidence, signatures=0)


def _key_lists() -> Iterator[Case]:
    """Yield logs whose server's key is in a saved answer of the service."""
    lines = created().lines()
    key = SERVER.verifier
    item = {
        "id": key.key_id.hex(), "name": key.name, "public": b64encode(key.public).decode(),
        "from": "2026-01-01T00:00:00.000000Z", "to": None, "signed_by_previous": None,
    }  # fmt: skip
    receipt = receipt_of(lines)

    def given(*items: Mapping[str, Any]) -> Evidence:
        text = json.dumps({"items": items, "next": None, "retirements": []})
        return Evidence(receipts=(receipt,), server_keys=(text,))

    says = "a receipt, and the list of the server's keys"
    yield passes("receipts/list", says, lines, level="L2", evidence=given(item))
    ended = {**item, "to": "2026-01-02T00:00:00.000000Z"}
    says = "a receipt of a key that ended before: a remark"
    yield passes("receipts/list-ended", says, lines, level="L2", evidence=given(ended))
    other = OTHER.verifier
    later = {**item, "id": other.key_id.hex(), "public": b64encode(other.public).decode()}
    says = "a list with a later key of the server"
    yield passes("receipts/list-later", says, lines, level="L2", evidence=given(later, item))
    says = "a list without the key of the receipt"
    yield fails("receipts/list-other", says, lines, evidence=given(later), receipts=None)
    both = Evidence(receipts=(receipt, receipt_of(lines, seq=0)), server_keys=(SERVER_KEY,))
    yield passes("receipts/two", "two receipts", lines, level="L2", evidence=both)
    part = Evidence(receipts=(receipt_of(lines, seq=0),), server_keys=(SERVER_KEY,))
    says = "L2 asked for, and a receipt of the first event"
    yield passes("levels/L2-part", says, lines, level="L2", asked="L2", evidence=part, partly=True)


def _openings() -> Iterator[Case]:
    """Yield bundles of a seat in a hand that is not over."""
    f = played()
    shuffle = f.shuffle(bytes.fromhex(f.events[-1]["data"]["seed"]))
    dealer = f.data(f.find("cards_dealt"))["dealer"]
    lines = f.lines()[: f.find("play_started") + 1]

    def opened(*places: int) -> bytes:
        return canonical(
            [
                {"card": shuffle.deck[p], "p": p, "salt": shuffle.salt(p).hex()}
                for p in sorted(places)
            ]
        )

    def bundle(content: bytes, profile: str = "seat-0") -> bytes:
        return write_bundle(lines, profile=profile, files={OPENINGS: content})

    first = (0 - dealer - 1) % 2
    hand = [12 + 2 * turn + first for turn in range(3)]
    own = bundle(opened(*hand))
    says = "the cards that the seat was dealt"
    yield passes("openings/own", says, own, missing=["seal"])
    end = len(lines) - 1
    for name, says, content in (
        ("other-hand", "a card of another hand", bundle(opened(12 + 1 - first))),
        ("slot", "a face-down card that was not turned", bundle(opened(first))),
        ("stock", "a card of the stock", bundle(opened(51))),
        ("object", "an object in place of a list", bundle(b"{}")),
        ("spaces", "openings that are not canonical", bundle(b"[ ]")),
    ):
        yield fails(f"openings/{name}", says, content, openings=end)
    says = "openings before the seal in a bundle for everybody"
    everybody = bundle(opened(*hand), "public")
    yield fails("openings/public", says, everybody, openings=end)
    wrong = json.loads(opened(*hand))
    wrong[0]["salt"] = "00" * 32
    says = "another salt beside the log"
    yield fails("openings/beside", says, bundle(canonical(wrong)), openings=end)


def _attempts() -> Iterator[Case]:
    """Yield sealed attempts; their moves and times are those that the server stated."""
    row = {"at": "2026-11-21T02:46:00.000000Z", "move": {"type": "pass"}, "rule": "L1", "seat": 0}

    def sealed(file: bytes) -> bytes:
        f = created()
        f.data(1)["refusals"] = seal_of(file).as_json()
        return write_bundle(f.lines(), files={REFUSALS: file})

    for name, says, rows in (
        ("any-move", "an attempt whose move is an empty object", [{**row, "move": {}}]),
        ("outside", "an attempt dated outside the game", [{**row, "at": START_OF_YEAR}]),
        ("together", "two attempts at one time", [row, row]),
        ("most", "as many attempts as a seat may have", [row] * MAX_REFUSALS_PER_SEAT),
    ):
        yield passes(f"seal/{name}", says, sealed(refusals_file(rows)))
    for name, says, rows in (
        ("move", "an attempt whose move is a list", [{**row, "move": []}]),
        ("time", "an attempt without the time of day", [{**row, "at": "2026-11-21"}]),
        ("more", "an attempt too many", [row] * (MAX_REFUSALS_PER_SEAT + 1)),
    ):
        yield fails(f"seal/{name}", says, sealed(refusals_file(rows)), seal=1)
    text = refusals_file([row])
    says = "an attempt without its line feed"
    f = created()
    f.data(1)["refusals"] = {**seal_of(text[:-1]).as_json(), "count": 1}
    lines = f.lines()
    yield fails("seal/feed", says, write_bundle(lines, files={REFUSALS: text[:-1]}), seal=1)

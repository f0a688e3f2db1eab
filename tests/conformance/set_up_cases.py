"""Cases of `chain`, `commitments`, `shuffle`, `openings`, and of the order before the deal."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from uuid import UUID

from service.shx.chain import head
from service.shx.shuffle import card_commitment
from tests.conformance.case import (
    Case,
    committed,
    created,
    fails,
    passes,
    played,
    with_commitments,
)
from tests.random_games import Plan, made_game
from tests.tamper import Forgery


def cases() -> Iterator[Case]:
    """Yield every case of these checks."""
    yield passes("chain/aborted", "two events, aborted at once", created().lines())
    yield passes("chain/committed", "aborted after the deck", committed().lines())
    yield from _chain()
    yield from _order()
    yield from _entropy()
    yield from _commitments()
    yield from _shuffle()
    yield from _openings()


def _chain() -> Iterator[Case]:
    lines = list(created().lines())
    edited = lines[0].replace(b'"turn_limit":8', b'"turn_limit":9')
    assert edited != lines[0]
    yield fails("chain/edited", "an event edited without its hash", [edited, lines[1]], chain=0)
    f = created()
    wrong = list(f.lines())
    wrong[0] = wrong[0].replace(b'"prev":"', b'"prev":"00')[:-2]
    start = created()
    text = start.lines()[0]
    prev = start.events[0]["prev"].encode()
    first = text.replace(prev, b"0" * 64)
    yield fails("chain/genesis", "the first event names another start", _again(first), chain=0)
    text = start.lines()[1]
    gap = text.replace(b'"seq":1', b'"seq":2')
    yield fails("chain/gap", "a number left out", [start.lines()[0], gap], chain=1)
    f = created()
    f.lines()
    f.events[1]["game"] = "00000000-0000-4000-8000-000000000000"
    yield fails("chain/game", "an event of another game", f.lines(), chain=1)
    f = created()
    f.events[1]["at"] = "2026-11-20T00:00:00.000000Z"
    yield fails("chain/time", "an event earlier than the one before", f.lines(), chain=1)
    f = played()
    seq = f.find("cards_drawn")
    f.events[seq]["at"] = f.events[f.move_end(seq) + 1]["at"]
    yield fails("chain/move-time", "two times in one move", f.lines(), chain=seq)
    yield from _links()
    dropped = list(with_commitments().lines())
    del dropped[4]
    yield fails("chain/dropped", "a line left out", dropped, chain=4)


def _links() -> Iterator[Case]:
    """Yield logs with one `prev` changed, alone or with all that follows from it."""
    lines = list(with_commitments().lines())
    seq = 2
    prev = head(lines[seq - 1]).hex().encode()
    lines[seq] = lines[seq].replace(prev, b"0" * 64)
    says = "only the prev of an event changed: the next one has the head that it should have"
    yield fails("chain/prev", says, lines, chain=seq)
    lines = list(with_commitments().lines())
    last = len(lines) - 1
    lines[last] = lines[last].replace(head(lines[last - 1]).hex().encode(), b"0" * 64)
    says = "the prev of the last event changed: the event before it is named"
    yield fails("chain/prev-last", says, lines, chain=last - 1)
    lines = list(with_commitments().lines())
    value = Forgery(lines).data(seq)["commit"].encode()
    lines[seq] = lines[seq].replace(value, head(lines[0]).hex().encode())
    says = "the commitment of a seat edited without its hash"
    yield fails("chain/commitment", says, lines, chain=seq, commitments=4)


def _again(first: bytes) -> list[bytes]:
    """Return the smallest log with another first line, linked to it."""
    start, end = created().lines()
    return [first, end.replace(head(start).hex().encode(), head(first).hex().encode())]


def _order() -> Iterator[Case]:
    f = created()
    del f.events[0]
    yield fails("order/begins", "a log that does not begin with game_created", f.lines(), order=0)
    f = created()
    f.events.insert(1, deepcopy(f.events[0]))
    yield fails("order/created-twice", "a game created twice", f.lines(), order=1)
    f = created()
    f.events.append(deepcopy(f.events[1]))
    yield fails("order/after-the-end", "an event after the last one", f.lines(), order=2)
    f = created()
    f.data(1)["seat"] = 2
    yield fails("order/seat", "a seat that there is not", f.lines(), order=1)


def _entropy() -> Iterator[Case]:
    yield passes("order/commits", "both seats commit and reveal", with_commitments().lines())
    f = with_commitments(1)
    f.insert(4, "entropy_revealed", f.data(3), by=0)
    yield fails("order/reveal-twice", "entropy revealed twice", f.lines(), order=4)
    f = with_commitments(1)
    f.events[2], f.events[3] = f.events[3], f.events[2]
    yield fails("order/early-reveal", "revealed before all had committed", f.lines(), order=2)
    f = with_commitments(0)
    f.insert(2, "entropy_committed", f.data(1), by=0)
    yield fails("order/commit-twice", "committed twice", f.lines(), order=2)
    f = created()
    f.insert(1, "entropy_revealed", {"seat": 0, "value": "00" * 32}, by=0)
    yield fails("order/entropy-none", "entropy of a seat that gives none", f.lines(), order=1)
    f = with_commitments(1)
    f.data(len(f.events) - 1).update(cause="no_entropy", seat=1)
    yield passes("order/no-entropy", "aborted because seat 2 did not reveal", f.lines())
    f.data(len(f.events) - 1)["seat"] = 0
    says = "aborted for entropy that was revealed"
    yield fails("order/no-entropy-of-0", says, f.lines(), order=len(f.events) - 1)
    f = with_commitments(0)
    del f.events[2]
    f.data(2).update(cause="no_entropy", seat=0)
    says = "aborted for a seat that could not reveal before the other had committed"
    yield fails("order/no-entropy-waiting", says, f.lines(), order=2)
    f = committed(people=True)
    f.drop(f.find("entropy_revealed", n=1))
    f.reseed(bytes.fromhex(f.data(len(f.events) - 1)["seed"]), commit=False)
    seq = f.find("deck_committed")
    yield fails("order/early-deck", "a deck before all entropy", f.lines(), order=seq)
    for name, value in (("last", "77" * 32), ("first", None)):
        f = committed(people=True)
        seq, end = f.find("entropy_revealed", n=1), len(f.events) - 1
        f.insert(seq + 1, "entropy_revealed", {**f.data(seq), "value": "77" * 32}, by=1)
        says = f"two values revealed, and a deck of the {name}: T has the last"
        if value is not None:
            f.reseed(bytes.fromhex(f.data(end + 1)["seed"]), commit=False)
            yield fails(f"order/two-values-{name}", says, f.lines(), order=seq + 1)
        else:
            deck = f.find("deck_committed")
            yield fails(f"order/two-values-{name}", says, f.lines(), order=seq + 1, shuffle=deck)


def _commitments() -> Iterator[Case]:
    f = created()
    f.data(1)["seed"] = "07" * 32
    yield fails(
        "commitments/seed", "another seed than the one committed to", f.lines(), commitments=1
    )
    f = created()
    f.data(0)["ruleset_hash"] = "00" * 32
    yield fails("commitments/ruleset", "another hash of the ruleset", f.lines(), commitments=0)
    f = with_commitments()
    seq = f.find("entropy_revealed", n=1)
    f.data(seq)["value"] = "07" * 32
    yield fails("commitments/value", "another value than committed to", f.lines(), commitments=seq)


def _shuffle() -> Iterator[Case]:
    f = committed()
    seq, end = f.find("deck_committed"), len(f.events) - 1
    f.data(seq)["cards"][7] = "00" * 32
    yield fails("shuffle/card", "another commitment to a card", f.lines(), shuffle=seq)
    f = committed()
    f.data(seq)["cards"].pop()
    yield fails("shuffle/count", "a commitment too few", f.lines(), shuffle=seq)
    f = committed()
    deck = f.data(end)["deck"]
    deck[0], deck[1] = deck[1], deck[0]
    yield fails("shuffle/published", "another deck published", f.lines(), shuffle=end)
    f = committed()
    f.data(end)["deck"] = None
    yield fails("shuffle/unpublished", "a deck not published", f.lines(), shuffle=end)
    f = created()
    f.data(1)["deck"] = committed().events[-1]["data"]["deck"]
    yield fails("shuffle/never-committed", "a deck never committed to", f.lines(), shuffle=1)
    for seat in (0, 1):
        plan = Plan(name="drawn", seats=2, bots=True, turn_limit=2, drawn=seat)
        f = Forgery(made_game(plan))
        seed = bytes.fromhex(f.data(len(f.events) - 1)["seed"])
        if f.shuffle(seed).dealer(2) != seat:
            seq = f.find("cards_dealt")
            yield fails("shuffle/dealer", "a dealer who was not drawn", f.lines(), shuffle=seq)


def _openings() -> Iterator[Case]:
    f = played()
    seq, committed_at = f.find("cards_dealt"), f.find("deck_committed")
    opening = f.data(seq)["face_up"][0][0]
    p, salt = opening["p"], bytes.fromhex(opening["salt"])
    opening["card"] = f.data(len(f.events) - 1)["deck"][-1]
    of = UUID(f.events[0]["game"])
    f.data(committed_at)["cards"][p] = card_commitment(of, p, opening["card"], salt).hex()
    says = "a card shown as it was committed to, in a deck that was not shuffled so"
    yield fails("shuffle/shown", says, f.lines(), shuffle=committed_at, custody=seq)
    f = played()
    seq = f.find("cards_dealt")
    f.data(seq)["face_up"][0][0]["salt"] = "00" * 32
    yield fails("openings/salt", "another salt", f.lines(), openings=seq)

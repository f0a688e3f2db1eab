"""A case of the corpus: an input of a verifier with its verdict; small games to make cases of."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

import orjson
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from service.shx.canonical import canonical, ruleset_hash
from service.shx.chain import genesis, head
from service.shx.shuffle import client_commit
from tests.random_games import Plan, made_game, private_key
from tests.tamper import Forgery

Lines = Sequence[bytes]

KEYS: Final[Mapping[int, Ed25519PrivateKey]] = {0: private_key("seat 0"), 1: private_key("seat 1")}
CLOCK: Final = {"turn_seconds": 30, "swap_seconds": 60}


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What a verifier has from outside."""

    receipts: tuple[bytes, ...] = ()
    server_keys: tuple[str, ...] = ()
    witness_keys: tuple[str, ...] = ()
    quorum: int | None = None
    seat_keys: Mapping[int, str] = field(default_factory=dict)
    key_changes: tuple[bytes, ...] = ()  # of seats, between hands
    others: tuple[bytes, ...] = ()  # further logs that are verified together with the input


NOTHING: Final = Evidence()


@dataclass(frozen=True, kw_only=True)
class Repeat:
    """A log that would be too large for the corpus: events of its file are repeated."""

    first: int
    last: int  # these events follow themselves again and again
    events: int  # until the log has so many

    def applied(self, lines: Lines) -> tuple[bytes, ...]:
        """Return the lines of the large log, whose events are numbered and linked anew."""
        part = list(lines[self.first : self.last + 1])
        times, rest = divmod(self.events - len(lines), len(part))
        assert rest == 0
        whole = [*lines[: self.last + 1], *(part * times), *lines[self.last + 1 :]]
        made: list[bytes] = []
        for seq, line in enumerate(whole):
            event = orjson.loads(line)
            event.update(seq=seq, prev=head(made[-1]).hex() if made else event["prev"])
            made.append(canonical(event))
        return tuple(made)


@dataclass(frozen=True, kw_only=True)
class Case:
    """One input, and the verdict that its mutation declares."""

    name: str  # the check that it is about, a slash, and the fault
    says: str
    content: bytes
    exit: int
    level: str | None
    failed: Mapping[str, int | None] = field(default_factory=dict)  # the seq by check
    missing: tuple[str, ...] = ()  # checks that lack evidence, if that decides the exit status
    asked: str = "L1"
    evidence: Evidence = NOTHING
    repeat: Repeat | None = None

    @property
    def input(self) -> bytes:
        """Return what a verifier reads: the content, with its events repeated if it says so."""
        if self.repeat is None:
            return self.content
        return text_of(self.repeat.applied(self.content.splitlines()))

    @property
    def file(self) -> str:
        """Return the name of its file in the corpus."""
        return f"{self.name}.{'shx' if self.content.startswith(b'PK') else 'jsonl'}"


def fails(
    name: str, says: str, lines: Lines | bytes, *, evidence: Evidence = NOTHING, **seqs: int | None
) -> Case:
    """Return a case with one fault; `seqs` has the seq that each failing check names."""
    level = None if "bytes" in seqs else "L0"
    return Case(
        name=name,
        says=says,
        content=text_of(lines),
        exit=1,
        level=level,
        failed=seqs,
        evidence=evidence,
    )


def passes(
    name: str,
    says: str,
    lines: Lines | bytes,
    *,
    level: str | None = "L1",
    asked: str = "L1",
    missing: Iterable[str] = (),
    partly: bool = False,
    evidence: Evidence = NOTHING,
) -> Case:
    """
    Return a case without fault.

    The exit status is 2 if evidence is missing, or if the level is reached only `partly`.
    """
    lacking = tuple(missing)
    return Case(
        name=name,
        says=says,
        content=text_of(lines),
        exit=2 if lacking or partly or asked > (level or "") else 0,
        level=level,
        missing=lacking,
        asked=asked,
        evidence=evidence,
    )


def refused(name: str, says: str, content: bytes) -> Case:
    """Return a file that is neither a bundle nor a log."""
    return Case(name=name, says=says, content=content, exit=3, level=None)


def text_of(lines: Lines | bytes) -> bytes:
    """Return the bytes of a log from its lines."""
    return lines if isinstance(lines, bytes) else b"".join(line + b"\n" for line in lines)


def created(**changes: Any) -> Forgery:
    """Return the smallest log, which was aborted at once, with changes of `game_created`."""
    f = committed()
    end = f.events[-1]
    f.events = [f.events[0], end]
    end["data"]["deck"] = None
    f.data(0).update(changes)
    f.data(0)["ruleset_hash"] = ruleset_hash(f.data(0)["ruleset"]).hex()
    return f


def raw_lines(f: Forgery) -> tuple[bytes, ...]:
    """Return the linked lines of a log whose values need not have a canonical form."""
    lines: list[bytes] = []
    for seq, event in enumerate(f.events):
        prev = head(lines[-1]) if lines else genesis(UUID(event["game"]))
        event.update(seq=seq, prev=prev.hex())
        text = json.dumps(event, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        lines.append(text.encode())
    return tuple(lines)


def committed(*, people: bool = False) -> Forgery:
    """Return a log of two seats that was aborted after `deck_committed`."""
    return Forgery(made_game(Plan(name="committed", seats=2, bots=not people, abort=True)))


def with_commitments(values: int = 2) -> Forgery:
    """Return an aborted log of two people who commit to their entropy, and `values` reveals."""
    f = created(seats=[{"kind": "human", "bot": None, "key": None, "entropy": "commit"}] * 2)
    f.data(0)["seats"] = [dict(seat) for seat in f.data(0)["seats"]]
    game = UUID(f.events[0]["game"])
    for seat in (0, 1):
        commit = client_commit(game, seat, bytes([seat + 1] * 32)).hex()
        f.insert(len(f.events) - 1, "entropy_committed", {"seat": seat, "commit": commit}, by=seat)
    for seat in range(values):
        value = {"seat": seat, "value": bytes([seat + 1] * 32).hex()}
        f.insert(len(f.events) - 1, "entropy_revealed", value, by=seat)
    f.lines()
    return f


def played(ruleset: str = "shithead", **plan: Any) -> Forgery:
    """Return a hand of two bots that ends as a stalemate after four actions."""
    given: dict[str, Any] = {"seats": 2, "bots": True, "turn_limit": 4, **plan}
    return Forgery(made_game(Plan(name=f"small {ruleset}", ruleset=ruleset, **given)))


def signed() -> Forgery:
    """Return a short hand of two people with keys, who sign their moves."""
    return played(bots=False, keys=KEYS)

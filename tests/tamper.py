"""Tampering by an operator: change decoded events, then recompute their hashes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any
from uuid import UUID

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from service.domain.cards import ordered_deck
from service.shx.bundle import REFUSALS, Bundle
from service.shx.canonical import canonical
from service.shx.chain import genesis, head
from service.shx.moves import sign_intent
from service.shx.shuffle import Shuffle, derive, server_commit
from service.verify.clauses import MAX_WORDS
from service.verify.evidence import OutsideEvidence
from service.verify.finding import Check, Result
from service.verify.report import Report, report_text
from service.verify.verify import verify_bundle

SAMPLES = Path(__file__).parent / "golden" / "samples"
LOGS = tuple(sorted(path for path in SAMPLES.glob("*.jsonl") if "." not in path.stem))
"""The sample logs, without the files of refused attempts beside them."""

Event = dict[str, Any]


class Forgery:
    """The mutable events of a log; `lines()` recomputes the chain."""

    def __init__(self, lines: Iterable[bytes]) -> None:
        self.events: list[Event] = [json.loads(line) for line in lines]

    def find(self, kind: str, where: Callable[[Event], bool] = lambda _: True, n: int = 0) -> int:
        """Return the seq of event number `n`, from 0, of those of type `kind` that pass `where`."""
        found = [i for i, e in enumerate(self.events) if e["type"] == kind and where(e)]
        return found[n]

    def data(self, seq: int) -> dict[str, Any]:
        """Return the data of an event, to be changed."""
        data: dict[str, Any] = self.events[seq]["data"]
        return data

    def drop(self, first: int, last: int | None = None) -> None:
        """Remove the events `first` to `last`."""
        del self.events[first : (first if last is None else last) + 1]

    def insert(self, seq: int, kind: str, data: Mapping[str, Any], *, by: int | None) -> None:
        """Insert an event before the event `seq`, with its time."""
        event = deepcopy(self.events[min(seq, len(self.events) - 1)])
        event.pop("auth", None)
        event.update(type=kind, data=dict(data), by=by)
        self.events.insert(seq, event)

    def move_end(self, seq: int) -> int:
        """Return the last seq of the move to which the event `seq` belongs."""
        at = self.events[seq]["at"]
        while seq + 1 < len(self.events) and self.events[seq + 1]["at"] == at:
            seq += 1
        return seq

    def lines(self, keys: Mapping[int, Ed25519PrivateKey] | None = None) -> tuple[bytes, ...]:
        """Return the log with recomputed seq and prev; moves of the seats in `keys` signed anew."""
        lines: list[bytes] = []
        for seq, event in enumerate(self.events):
            event["seq"] = seq
            event["prev"] = (head(lines[-1]) if lines else genesis(UUID(event["game"]))).hex()
            if keys and "auth" in event and event["auth"]["intent"]["seat"] in keys:
                intent = event["auth"]["intent"]
                intent["seen"]["head"] = head(lines[intent["seen"]["seq"]]).hex()
                event["auth"] = sign_intent(keys[intent["seat"]], intent)
            lines.append(canonical(event))
        return tuple(lines)

    def shuffle(self, seed: bytes) -> Shuffle:
        """Return the shuffle that follows from a seed and the entropy in the log."""
        first = self.events[0]
        deck = first["data"]["deck"]
        entropy: list[bytes | None] = [None] * len(first["data"]["seats"])
        for event in self.events:
            if event["type"] == "entropy_revealed":
                entropy[event["data"]["seat"]] = bytes.fromhex(event["data"]["value"])
        codes = ordered_deck(decks=deck["decks"], jokers=deck["jokers"], partial=deck["partial"])
        head0 = head(self.lines()[0])
        return derive(UUID(first["game"]), seed, head0, codes, entropy)

    def reseed(self, seed: bytes, *, commit: bool) -> None:
        """
        Replace the published seed, its deck and the commitments to the cards.

        With `commit` the server's commitment to the seed is replaced, too.
        """
        if commit:
            game = UUID(self.events[0]["game"])
            self.data(0)["commit"] = server_commit(game, seed).hex()
        shuffle = self.shuffle(seed)
        cards = [c.hex() for c in shuffle.commitments()]
        self.data(self.find("deck_committed"))["cards"] = cards
        self.data(len(self.events) - 1).update(seed=seed.hex(), deck=list(shuffle.deck))


def sample(name: str) -> Forgery:
    """Return the events of a sample log."""
    return Forgery(sample_lines(name))


def sample_lines(name: str) -> tuple[bytes, ...]:
    """Return the lines of a sample log."""
    return tuple((SAMPLES / f"{name}.jsonl").read_bytes().splitlines())


def sample_bundle(name: str) -> Bundle:
    """Return a sample log with its refused attempts."""
    path = SAMPLES / f"{name}.refusals.jsonl"
    files = {REFUSALS: path.read_bytes()} if path.exists() else {}
    return Bundle(lines=sample_lines(name), files=files)


def report_on(lines: Iterable[bytes], evidence: OutsideEvidence | None = None) -> Report:
    """Return the report on the lines of a log, after a check of its sentences."""
    return with_short_sentences(verify_bundle(Bundle(lines=tuple(lines)), evidence))


_LABEL = re.compile(
    r"^(?:what happened \(\w+\), seq \d+|\w+ +(?:fail|missing) +seq \d+|[^:]+)(?:: |$)"
)


def with_short_sentences(report: Report) -> Report:
    """Return a report after the check that no sentence is long; lists of events do not count."""
    for line in report_text(report, name="game.shx").splitlines():
        for sentence in re.split(r"(?<=[.!?])\s", _LABEL.sub("", line)):
            words = [word for word in sentence.split() if not re.fullmatch(r"\d+,?", word)]
            assert len(words) <= MAX_WORDS, sentence
    return report


def failing(report: Report) -> dict[Check, int | None]:
    """Return the checks that fail, each with the seq that it names."""
    return {f.check: f.seq for f in report.findings if f.result is Result.FAIL}

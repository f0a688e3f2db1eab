"""Authorship: which events of a log are signed by the server."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from service.verify.finding import Check, Finding, Result
from service.verify.log import Log

PRODUCER: Final = "the party that produced this file wrote it"


@dataclass(frozen=True, slots=True, kw_only=True)
class Authorship:
    """
    What the signatures of the server show about the author of each event.

    A log carries no signature of its own. An event is shown to be the server's only if a
    receipt or checkpoint covers it and a key from outside verifies that signature.
    """

    signed: frozenset[int] = frozenset()  # the events that the server's signature covers
    denied: str | None = None  # why the rest of the file is not what the server recorded

    @property
    def stretches(self) -> str:
        """Return the events that are covered, in words."""
        starts = sorted(seq for seq in self.signed if seq - 1 not in self.signed)
        ends = sorted(seq for seq in self.signed if seq + 1 not in self.signed)
        return ", ".join(f"{one} to {last}" for one, last in zip(starts, ends, strict=True))

    def said(self, seq: int, by_server: str) -> str:
        """
        Return in words which party can have written an event, the reading without blame first.

        `by_server` is the conclusion if the server wrote it.
        """
        if seq in self.signed:
            return by_server
        if self.denied is not None:
            return f"{PRODUCER}: {self.denied}"
        return f"{PRODUCER}, or, if this is the server's log, {by_server}"


def authorship_of(
    log: Log, findings: Sequence[Finding], signed: Iterable[int], contradicted: str | None
) -> Authorship:
    """
    Return who wrote what, by the seqs at which the server `signed` this very log.

    A signature covers an event with all before it that the chain leads back to.
    `contradicted` says by which signature of the server's the log is another than its own.
    """
    covered: set[int] = set()
    for last in signed:
        seq = last
        while 0 <= seq < len(log.events) and seq not in covered:
            covered.add(seq)
            if not linked(log, seq):
                break
            seq -= 1
    return Authorship(signed=frozenset(covered), denied=contradicted or _damage(findings))


def linked(log: Log, seq: int) -> bool:
    """Return whether an event names the one before it in the log as the one before it."""
    return seq > 0 and bool(log.events[seq]["prev"] == log.heads[seq - 1].hex())


def _damage(findings: Sequence[Finding]) -> str | None:
    """Return in words that a log was changed after it was written, None where nothing shows it."""
    failed = {f.check: f.seq for f in findings if f.result is Result.FAIL}
    if Check.BYTES in failed:
        return f"line {failed[Check.BYTES]} of it is no event"
    if Check.CHAIN in failed:
        return f"its chain is broken at seq {failed[Check.CHAIN]}"
    return None

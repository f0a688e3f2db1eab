"""The log under verification: events, moves, deck, ruleset, and events signed by the server."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final
from uuid import UUID

from schemas.events import event_of
from schemas.settings import SettingsError
from service.domain.cards import ordered_deck
from service.domain.events import Event
from service.domain.ruleset import Ruleset
from service.replay.history import MoveKind, NotAMove, RecordedMove, every_move, moves_of
from service.replay.sentences import Sentence, sentence
from service.rulesets.catalogue import OptionError, catalogue, custom_ruleset, read_ruleset
from service.shx.canonical import RecordError, custom_ruleset_id
from service.shx.chain import decode_event, head
from service.shx.shuffle import Shuffle, derive
from service.shx.validators import MAX_EVENTS
from service.verify.finding import Check, Failed, Finding, Result, Unanswered, missing

_CATALOGUE_ID: Final = re.compile(r"(?!custom-)[a-z][a-z0-9]*(?:-[a-z0-9]+)*")


def pinned_ruleset(pinned: Mapping[str, Any], hand: int) -> Ruleset:
    """
    Return the ruleset that `game_created` names; `hand` is the number of the hand.

    For an id of the catalogue the settings in the event are ignored: a game with a known id is
    verified by the known rules. Raises Unanswered for an id that a newer catalogue may have. Raises
    Failed for any other unknown id, for options that the ruleset does not have or that repeat a
    default, and for the id of a custom ruleset that is not the hash of its settings.
    """
    identity, options, settings = pinned["id"], pinned["options"], pinned["settings"]
    known = catalogue().get(identity)
    try:
        if known is not None:
            if known.chosen(options) != options:
                raise Failed(0, "legality.options")
            return read_ruleset({"id": identity, "options": options, "settings": None}, hand)
        if _CATALOGUE_ID.fullmatch(identity):
            raise missing("open.unknown_ruleset", ruleset=identity)
        if settings is None or identity != custom_ruleset_id(settings):
            raise Failed(0, "legality.no_ruleset", ruleset=identity)
        return custom_ruleset(pinned, hand)
    except (OptionError, SettingsError) as error:
        raise Failed(0, "legality.unreadable_ruleset", detail=str(error)) from None


NOT_BEGUN: Final = "open.not_created"
"""The code of a log whose first event does not create a game."""

SEALS: Final = frozenset({"game_sealed", "game_aborted"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """A line of a log that is not an event, and why."""

    seq: int
    code: str
    detail: str | None = None  # the technical reason


class Log:
    """
    The events of a log up to the first line that is not an event.

    Such a line may be the rest of a move: `settled` is the number of events before it. `heads`
    has the hash of every line, also of unreadable ones. The properties are data that several
    checks need. On malformed content they raise Failed, so that each check that needs them
    reports it.
    """

    def __init__(self, lines: Sequence[bytes], *, name: str | None = None) -> None:
        self.name = name  # of its file
        self.count = len(lines)  # of all lines, also unreadable ones
        self.events: tuple[Mapping[str, Any], ...]
        self.events, self.unreadable = _read(lines)
        self.settled = _whole(self.events) if self.unreadable else len(self.events)
        self.heads = tuple(head(line) for line in lines[:MAX_EVENTS])
        self.supposed: tuple[str, ...] | None = None  # the deck to use instead of the log's own

    def supposing(self, deck: tuple[str, ...]) -> Log:
        """Return a copy of this log that is verified with another deck."""
        other = copy(self)
        other.supposed = deck
        return other

    @property
    def broken(self) -> Broken | None:
        """Return the first line that is not an event, None if there is none."""
        return self.unreadable[0] if self.unreadable else None

    @cached_property
    def created(self) -> Mapping[str, Any]:
        """
        Return the data of `game_created`.

        Raises Unanswered if the log does not begin with it: then `order` fails.
        """
        if not self.events or self.events[0]["type"] != "game_created":
            raise missing(NOT_BEGUN)
        data: Mapping[str, Any] = self.events[0]["data"]
        return data

    @property
    def begins(self) -> bool:
        """Return whether the first event can be read; without it the table is unknown."""
        return bool(self.events) and self.events[0]["type"] == "game_created"

    @cached_property
    def game(self) -> UUID:
        """Return the id of the game."""
        return UUID(self.events[0]["game"])

    @property
    def seats(self) -> int:
        """Return the number of seats."""
        return len(self.created["seats"])

    @cached_property
    def seal(self) -> Mapping[str, Any] | None:
        """Return the event that publishes the seed, None before it."""
        last = self.events[-1] if self.events else None
        return last if last is not None and last["type"] in SEALS else None

    @property
    def end(self) -> int:
        """Return the seq of the last event."""
        return len(self.events) - 1

    @cached_property
    def grouped(self) -> tuple[tuple[RecordedMove, ...], NotAMove | None]:
        """Return the moves up to the first event that is not part of a move, and this fault."""
        return moves_of(self.events)

    @cached_property
    def moves(self) -> tuple[RecordedMove, ...]:
        """Return the moves of the whole log, also those after an event that is part of none."""
        moves, fault = self.grouped
        return moves if fault is None else tuple(every_move(self.events))

    @cached_property
    def ruleset(self) -> Ruleset:
        """
        Return the ruleset by which the game is verified.

        Raises Failed if it is invalid, and Unanswered if this release does not know it.
        """
        created = self.created
        return pinned_ruleset(created["ruleset"], created["hand"])

    @cached_property
    def known_ruleset(self) -> Ruleset | None:
        """Return the ruleset; None without a readable one, which the check `legality` reports."""
        try:
            return self.ruleset
        except (Failed, Unanswered):
            return None

    def cite(self, *settings: str) -> str | None:
        """Return the statement behind settings (`Ruleset.cite`); None if the ruleset is unknown."""
        return None if self.known_ruleset is None else self.known_ruleset.cite(*settings)

    @cached_property
    def decoded(self) -> tuple[Event, ...]:
        """Return the events as domain objects."""
        return tuple(
            event_of(event["type"], event["data"], lambda *_: self.ruleset) for event in self.events
        )

    @cached_property
    def codes(self) -> tuple[str, ...]:
        """Return all cards of the game in the order before the shuffle."""
        deck = self.created["deck"]
        return ordered_deck(decks=deck["decks"], jokers=deck["jokers"], partial=deck["partial"])

    @cached_property
    def commitments(self) -> tuple[str, ...] | None:
        """Return the commitments to the cards, None if the deck was not committed."""
        for event in self.events:
            if event["type"] == "deck_committed":
                return tuple(event["data"]["cards"])
        return None

    @cached_property
    def revealed(self) -> tuple[bytes | None, ...]:
        """Return for each seat the entropy that it revealed; a seat too many fails `order`."""
        values: list[bytes | None] = [None] * self.seats
        for event in self.events:
            if event["type"] == "entropy_revealed" and event["data"]["seat"] < len(values):
                values[event["data"]["seat"]] = bytes.fromhex(event["data"]["value"])
        return tuple(values)

    @cached_property
    def shuffle(self) -> Shuffle | None:
        """Return the shuffle that follows from the seed; None before the seal or without a deck."""
        if self.seal is None or self.commitments is None:
            return None
        seed = bytes.fromhex(self.seal["data"]["seed"])
        return derive(self.game, seed, self.heads[0], self.codes, self.revealed)

    @property
    def deck(self) -> tuple[str, ...] | None:
        """Return the deck in order, None if it is not known."""
        if self.supposed is not None:
            return self.supposed
        return None if self.shuffle is None else self.shuffle.deck


_UNREADABLE: Final[Mapping[str, str]] = {
    "too_large": "bytes.long",
    "bad_field": "bytes.shape",
    "made_before": "bytes.made_before",
    "unknown_type": "bytes.unknown",
    "unknown_version": "bytes.unknown",
}
"""The reason of an unreadable line, by the code of the error; of any other it is its form."""


def _read(
    lines: Sequence[bytes],
) -> tuple[tuple[Mapping[str, Any], ...], tuple[Broken, ...]]:
    """Return the events up to the first line that is not an event, and all such lines."""
    events: list[Mapping[str, Any]] = []
    broken: list[Broken] = []
    for seq, line in enumerate(lines[:MAX_EVENTS]):
        try:
            event = decode_event(line)
        except RecordError as error:
            code = _UNREADABLE.get(error.code, "bytes.canonical")
            broken.append(Broken(seq=seq, code=code, detail=f"{error}{_likely(line)}"))
            continue
        if not broken:
            events.append(event)
    if len(lines) > MAX_EVENTS:
        broken.append(Broken(seq=MAX_EVENTS, code="bytes.many"))
    if not lines:
        broken.append(Broken(seq=0, code="bytes.empty"))
    return tuple(events), tuple(broken)


def _whole(events: Sequence[Mapping[str, Any]]) -> int:
    """
    Return the number of events before a move that an unreadable line may interrupt.

    The rest of the move may be in that line, so its absence breaks no rule.
    """
    moves, broken = moves_of(events)
    if broken is None:
        unsure = moves and moves[-1].kind in _MAY_GO_ON
        return moves[-1].first if unsure else len(events)
    first = moves[-1].last + 1 if moves else 0
    one_move = len({event["at"] for event in events[first:]}) == 1
    return first if one_move else len(events)


_MAY_GO_ON: Final = (MoveKind.EXCHANGE, MoveKind.PLAY, MoveKind.FORFEIT, MoveKind.LEAVING)
"""The kinds of moves that can have more than one event."""


def _likely(line: bytes) -> str:
    """Return the likely cause of an unreadable line, '' if none is known."""
    return f" ({sentence('input.carriage_return')})" if line.endswith(b"\r") else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Authorship:
    """
    The authors of the events, as far as signatures of the server show them.

    A log carries no signature of its own. An event is shown to be the server's only if a
    receipt or checkpoint covers it and a key from outside verifies that signature.
    """

    signed: frozenset[int] = frozenset()  # the events that the server's signature covers
    denied: Sentence | None = None  # why the rest of the file is not what the server recorded
    contradicted: bool = False  # whether `denied` is a server signature on another history

    @property
    def signed_ranges(self) -> str:
        """Return the ranges of signed events, such as `0-12, 15-20`."""
        starts = sorted(seq for seq in self.signed if seq - 1 not in self.signed)
        ends = sorted(seq for seq in self.signed if seq + 1 not in self.signed)
        return ", ".join(f"{one}-{last}" for one, last in zip(starts, ends, strict=True))

    def authors(self, seq: int, by_server: Sentence) -> tuple[Sentence, ...]:
        """
        Return which party can have written an event: the producer of the file, or the server.

        `by_server` is the conclusion if the server wrote it.
        """
        if seq in self.signed:
            return (by_server,)
        if self.denied is not None:
            return Sentence(code="author.producer"), self.denied
        return Sentence(code="author.either"), by_server


def authorship_of(
    log: Log, findings: Sequence[Finding], signed: Iterable[int], contradicted: Sentence | None
) -> Authorship:
    """
    Return the events shown to be the server's; `signed` are the seqs whose heads it signed.

    A signature covers an event and all events before it that the chain links to it.
    `contradicted` describes a signature of the server on another history, None without one.
    """
    covered: set[int] = set()
    for last in signed:
        seq = last
        while 0 <= seq < len(log.events) and seq not in covered:
            covered.add(seq)
            if not linked(log, seq):
                break
            seq -= 1
    return Authorship(
        signed=frozenset(covered),
        denied=contradicted or _damage(log, findings),
        contradicted=contradicted is not None,
    )


def linked(log: Log, seq: int) -> bool:
    """Return whether `prev` of an event is the head of the event before it in the log."""
    return seq > 0 and bool(log.events[seq]["prev"] == log.heads[seq - 1].hex())


def _damage(log: Log, findings: Sequence[Finding]) -> Sentence | None:
    """
    Return what shows that a log was changed after it was written, None if nothing does.

    The check `chain` also fails at an event with a wrong time. If all events are linked, this is
    no sign of a change: the event was written with that time.
    """
    failed = {f.check: f.seq for f in findings if f.result is Result.FAIL}
    if Check.BYTES in failed:
        line = failed[Check.BYTES]
        if line is None:
            return Sentence(code="denied.manifest")
        return Sentence(code="denied.line", values={"at": line})
    seq = failed.get(Check.CHAIN)
    if seq == 0 or (seq and not all(linked(log, each) for each in range(1, len(log.events)))):
        return Sentence(code="denied.chain", values={"at": seq})
    return None

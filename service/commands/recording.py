"""A recorded game read for a replay: from a bundle, from a plain log, or from a server."""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit
from uuid import UUID

from schemas.views import Json
from service.commands.against import Against, against_events
from service.domain.cards import HIDDEN, Card
from service.domain.commands import Seat
from service.domain.following import Known, parted
from service.domain.view import ALL, Viewer
from service.record.bundle import OPENINGS, Bundle, NotABundle, read_log
from service.record.canonical import RecordError, parse
from service.record.chain import decode_event
from service.replay.frames import frames
from service.replay.items import past_view
from service.replay.rebuild import Recorded, recorded, sealed_deck
from service.verify.command import FAILED, MISSING, PASSED, Asked, evidence_of, verify_all
from service.verify.finding import Check, Finding, Result
from service.verify.report import Report

PATIENCE: Final = 30  # seconds
MAX_LOG: Final = 256 << 20  # bytes
SEALS: Final = ("game_sealed", "game_aborted")


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One event of a replay, with the game after it as its viewer may see it."""

    seq: int
    at: str
    by: Seat | None
    type: str
    caption: str
    data: Mapping[str, Any]
    view: Json
    known: Known  # from what the view is known


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """The events of a log as far as they can be read, and what is open of its deck."""

    log: tuple[Recorded, ...]
    deck: tuple[Card, ...] | None
    owner: Seat | None  # whose openings the bundle holds
    failed: tuple[Finding, ...]  # the checks that say something against the log
    against: tuple[Against, ...]  # what they say against single events
    unread: int  # how many lines after the log cannot be read as its next events
    lacking: tuple[str, ...]  # why evidence that was brought could not be held against the log
    wording: str  # what they come to

    @property
    def fault(self) -> str | None:
        """Return what is wrong with the log: the first check that fails, why, by which rule."""
        if not self.failed:
            return None
        first = self.failed[0]
        rule = f" [{first.rule}]" if first.rule else ""
        more = f"; {first.others}" if first.further else ""
        return f"{self.wording}. {first.check}: {first.reason}{rule}{more}"

    @property
    def warnings(self) -> list[str]:
        """Return what to say before it is shown."""
        return [*([self.fault] if self.fault else []), *self.lacking]

    @property
    def status(self) -> int:
        """Return how a command that shows it ends: as `verify` does, but for an open game."""
        if self.failed:
            return FAILED
        return MISSING if self.lacking else PASSED

    def against_move(self, first: int, last: int) -> list[Against]:
        """Return what the checks say against the events `first` to `last`."""
        return [one for one in self.against if first <= one.seq <= last]

    @property
    def sealed(self) -> bool:
        """Return whether the game is over and everything in it is public."""
        return self.log[-1].type in SEALS

    @property
    def seats(self) -> int:
        """Return the number of seats."""
        return len(self.log[0].fields["data"]["seats"])

    def viewers(self) -> tuple[Viewer, ...]:
        """Return those whose view this recording can show, the one that sees most first."""
        if self.sealed:
            return (ALL, None, *range(self.seats))
        return (None,) if self.owner is None else (self.owner, None)


class NotFetched(Exception):
    """The server has no such log to give, or does not answer."""


def read_recording(data: bytes, outside: Asked | None = None) -> Recording:
    """
    Return what a bundle or log holds, also one that does not hold: as far as it can be read.

    It is held against what was brought from `outside`. Raises NotABundle where not even
    its first event can be read, and what `evidence_of` raises.
    """
    given, proofs = evidence_of(outside or Asked())
    bundle = read_log(data)
    log = tuple(_readable(bundle.lines))
    if not log or log[0].type != "game_created":
        raise NotABundle("its first event cannot be read")
    report = verify_all([bundle], given, proofs)[0]
    failed = tuple(f for f in report.findings if f.result is Result.FAIL)
    owner = _owner(bundle)
    return Recording(
        log=log,
        deck=sealed_deck(log) or (None if owner is None else _opened(bundle, log)),
        owner=owner,
        failed=failed,
        against=against_events(failed, UUID(log[0].fields["game"]), bundle.lines, given),
        unread=len(bundle.lines) - len(log),
        lacking=tuple(_lacking(report)),
        wording=report.wording,
    )


def fetch_log(address: str, game: UUID) -> bytes:
    """Return the public log of a game from a server, as it is stored; raises NotFetched."""
    if urlsplit(address).scheme not in ("http", "https"):
        raise NotFetched(f"{address} is no address like http://127.0.0.1:8080")
    request = urllib.request.Request(  # noqa: S310 - the scheme was looked at
        f"{address.rstrip('/')}/v1/games/{game}/events", headers={"Accept": "application/x-ndjson"}
    )
    try:
        with _opener(address).open(request, timeout=PATIENCE) as answer:
            data: bytes = answer.read(MAX_LOG + 1)
    except urllib.error.HTTPError as error:
        raise NotFetched(f"{address} answers {error.code}: {_detail(error)}") from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise NotFetched(f"{address} does not answer: {error}") from None
    if len(data) > MAX_LOG:
        raise NotFetched(f"{address} sends more than {MAX_LOG} bytes")
    return data


def steps_of(recording: Recording, viewer: Viewer) -> tuple[list[Step], str | None]:
    """Return the steps as a viewer may see them, and what is not known of the later ones."""
    steps: list[Step] = []
    said = None
    try:
        for step in _steps(recording, viewer):
            if step.known is not (steps[-1].known if steps else Known.DECK):
                said = parted(step.seq, step.known)
            steps.append(step)
    except (ValueError, LookupError, TypeError):
        return steps, f"From seq {len(steps)} on nothing can be told of it."
    return steps, said


def _steps(recording: Recording, viewer: Viewer) -> Iterator[Step]:
    log = recording.log
    for frame in frames((r.event for r in log), deck=recording.deck, viewer=viewer):
        record = log[frame.seq]
        yield Step(
            seq=frame.seq,
            at=record.at,
            by=record.by,
            type=record.type,
            caption=frame.caption,
            data=record.fields["data"],
            view=past_view(log, frame.game, viewer),
            known=frame.known,
        )


def _readable(lines: Sequence[bytes]) -> Iterator[Recorded]:
    """
    Yield the events up to the first line that is not the next of the game.

    Events that are not chained are read on: what they tell is marked as false, not hidden.
    """
    game = None
    try:
        for seq, line in enumerate(lines):
            event = decode_event(line)
            game = game or event["game"]
            if (event["seq"], event["game"]) != (seq, game):
                return
            yield recorded(line)
    except (RecordError, ValueError, KeyError, TypeError):
        return


def _lacking(report: Report) -> Iterator[str]:
    """Yield why evidence that was brought says nothing: the server's key was not."""
    for finding in report.findings:
        brought = finding.check in (Check.RECEIPTS, Check.ANCHOR) and finding.check in report.asked
        if brought and finding.result is Result.MISSING:
            yield f"{finding.check}: missing {finding.reason}"


def _owner(bundle: Bundle) -> Seat | None:
    profile = bundle.profile or ""
    seat = profile.removeprefix("seat-")
    return int(seat) if seat != profile and OPENINGS in bundle.files else None


def _opened(bundle: Bundle, log: Sequence[Recorded]) -> tuple[Card, ...] | None:
    """Return the deck with the cards that a seat may see, from the openings in its bundle."""
    fixed = next((r.fields["data"]["cards"] for r in log if r.type == "deck_committed"), None)
    if fixed is None:
        return None
    try:
        openings = {int(o["p"]): Card(o["card"]) for o in parse(bundle.files[OPENINGS])}
    except (RecordError, TypeError, KeyError, ValueError):
        return None
    return tuple(openings.get(p, Card(HIDDEN)) for p in range(len(fixed)))


def _opener(address: str) -> urllib.request.OpenerDirector:
    """Return what opens an address; this machine is reached past any proxy."""
    if urlsplit(address).hostname in ("127.0.0.1", "::1", "localhost"):
        return urllib.request.build_opener(urllib.request.ProxyHandler({}))
    return urllib.request.build_opener()


def _detail(error: urllib.error.HTTPError) -> str:
    try:
        problem = json.loads(error.read(1 << 16))
        return str(problem.get("detail") or problem["title"])
    except (ValueError, KeyError, AttributeError, OSError):
        return str(error.reason)

"""Loading a game from a file or server, with the faults found by the verifier."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from schemas.views import Json
from service.client.api import Api, NotAnswered, Refused
from service.domain.cards import HIDDEN, Card
from service.domain.commands import Seat
from service.domain.view import ALL, Viewer
from service.replay.frames import frames, past_view
from service.replay.history import Known, RecordedEvent, decode_line, sealed_deck, unknown_from
from service.replay.sentences import sentence
from service.shx.bundle import OPENINGS, Bundle, NotABundle, read_log
from service.shx.canonical import RecordError, parse
from service.shx.chain import decode_event, head
from service.shx.receipts import Receipt, check_receipt, parse_receipt_body
from service.shx.tlog.notes import parse_note
from service.verify.evidence import OutsideEvidence
from service.verify.files import FAILED, MISSING, PASSED, VerifyOptions, evidence_of, verify_all
from service.verify.finding import Check, EvidenceWeight, Finding, Result
from service.verify.log import Authorship
from service.verify.report import Report
from service.verify.summary import Summary


@dataclass(frozen=True, slots=True, kw_only=True)
class EventFault:
    """A fault that a check found in an event."""

    seq: int
    check: Check
    reason: str
    rule: str | None = None

    @property
    def line(self) -> str:
        """Return the fault as one line of text: check, reason and rule."""
        return f"{self.check}: {self.reason}" + (f" [{self.rule}]" if self.rule else "")


def against_events(
    failed: Sequence[Finding], game: UUID, lines: Sequence[bytes], evidence: OutsideEvidence
) -> tuple[EventFault, ...]:
    """
    Return the faults of each event of a log, in the order of the events.

    A receipt that names another head is a fault of every event after the last receipt that
    agrees: any of these events may have been changed.
    """
    found = [
        EventFault(seq=one.seq, check=finding.check, reason=one.reason, rule=one.rule)
        for finding in failed
        for one in finding.objections
        if one.seq is not None and one.weight is not EvidenceWeight.NOTHING
    ]
    disputed = {one.seq for one in found if one.check is Check.RECEIPTS}
    if any(finding.check is Check.RECEIPTS for finding in failed):
        found += [one for one in _contradicted(game, lines, evidence) if one.seq not in disputed]
    return tuple(sorted(found, key=lambda one: (one.seq, list(Check).index(one.check))))


def marks(against: Sequence[EventFault]) -> Mapping[int, Sequence[str]]:
    """Return the lines to print under each event of a transcript."""
    found: dict[int, list[str]] = {}
    for one in against:
        found.setdefault(one.seq, []).append(one.line)
    return found


def _contradicted(
    game: UUID, lines: Sequence[bytes], evidence: OutsideEvidence
) -> Iterator[EventFault]:
    """Yield a fault for each event between the last receipt that agrees and one that does not."""
    usable = [one for one in _receipts(evidence) if one.game == game and one.seq < len(lines)]
    receipts = sorted(usable, key=lambda receipt: receipt.seq)
    agreed = [one.seq for one in receipts if one.head == head(lines[one.seq])]
    unsure = () if evidence.server_keys else (sentence("receipts.unsigned"),)
    last = -1
    for receipt in receipts:
        seq = receipt.seq
        if seq in agreed:
            continue
        since = max((one for one in agreed if one < seq), default=-1) + 1
        code = "receipts.between" if since else "receipts.later"
        reason = " ".join((sentence(code, {"from": since - 1, "at": seq}), *unsure))
        for one in range(max(since, last + 1), seq):
            yield EventFault(seq=one, check=Check.RECEIPTS, reason=reason)
        last = seq


def _receipts(evidence: OutsideEvidence) -> Iterator[Receipt]:
    """Yield the readable receipts; with server keys, only those that such a key signed."""
    keys = evidence.server_keys
    for note in evidence.receipts:
        try:
            if keys:
                yield check_receipt(note, keys)
            else:
                yield parse_receipt_body(parse_note(note).text)
        except RecordError:
            continue


SEALS: Final = ("game_sealed", "game_aborted")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayStep:
    """One event of a replay, with the view of the game after it."""

    seq: int
    at: str
    by: Seat | None
    type: str
    caption: str
    data: Mapping[str, Any]
    view: Json
    known: Known  # the source of the view: the deck, or public events alone


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """The readable events of a log, the known cards of its deck, and its faults."""

    log: tuple[RecordedEvent, ...]
    deck: tuple[Card, ...] | None
    owner: Seat | None  # the seat whose openings are in the bundle
    failed: tuple[Finding, ...]  # the failed checks
    against: tuple[EventFault, ...]  # their faults, by event
    unread: int  # number of lines after `log` that are not its next events
    lacking: tuple[str, ...]  # why some evidence could not be checked
    wording: str  # the conclusion of the report
    summary: Summary | None  # what was changed, and by which party; None for a valid log
    authorship: Authorship  # which events the server signed
    refusals_proven: bool  # whether the seal confirms the refused attempts

    @property
    def fault(self) -> str | None:
        """Return the first failed check with its reason and rule; None for a valid log."""
        if not self.failed:
            return None
        first = self.failed[0]
        rule = f" [{first.rule}]" if first.rule else ""
        more = "" if first.others is None else f" {first.others.text}"
        return f"{self.wording}. {first.check}: {first.reason}{rule}{more}"

    @property
    def warnings(self) -> list[str]:
        """Return the warnings to print before the game."""
        return [*([self.fault] if self.fault else []), *self.lacking]

    @property
    def status(self) -> int:
        """Return the exit status: as `verify`, except that an unfinished game passes."""
        if self.failed:
            return FAILED
        return MISSING if self.lacking else PASSED

    def against_move(self, first: int, last: int) -> list[EventFault]:
        """Return the faults of the events `first` to `last`."""
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
        """Return the viewers this recording can show, the best-informed first."""
        if self.sealed:
            return (ALL, None, *range(self.seats))
        return (None,) if self.owner is None else (self.owner, None)


class NotFetched(Exception):
    """The server does not return the log, or does not answer."""


def read_recording(data: bytes, outside: VerifyOptions | None = None) -> Recording:
    """
    Return the game in a bundle or log, verified; of an invalid one, the readable part.

    Receipts, keys and proofs come from `outside`. Raises NotABundle if the first event
    cannot be read, and the exceptions of `evidence_of`.
    """
    evidence, proofs = evidence_of(outside or VerifyOptions())
    bundle = read_log(data)
    log = tuple(_readable(bundle.lines))
    if not log or log[0].type != "game_created":
        raise NotABundle("its first event cannot be read")
    report = verify_all([bundle], evidence, proofs)[0]
    failed = tuple(f for f in report.findings if f.result is Result.FAIL)
    owner = _owner(bundle)
    return Recording(
        log=log,
        deck=sealed_deck(log) or (None if owner is None else _opened(bundle, log)),
        owner=owner,
        failed=failed,
        against=against_events(failed, UUID(log[0].fields["game"]), bundle.lines, evidence),
        unread=len(bundle.lines) - len(log),
        lacking=tuple(_lacking(report)),
        wording=report.wording,
        summary=report.summary,
        authorship=report.authorship,
        refusals_proven=_refusals_proven(report),
    )


def fetch_log(address: str, game: UUID) -> bytes:
    """Return the stored log of a game from a server; raises NotFetched."""
    try:
        lines = Api(url=address.rstrip("/"), attempts=1).lines(f"/games/{game}/events")
    except Refused as error:
        raise NotFetched(f"{address} does not return the game: {error.text}") from None
    except NotAnswered as error:
        raise NotFetched(str(error)) from None
    return b"".join(line + b"\n" for line in lines)


def steps_of(recording: Recording, viewer: Viewer) -> tuple[list[ReplayStep], str | None]:
    """Return the steps for a viewer, and a note if later ones are missing or known in part."""
    steps: list[ReplayStep] = []
    note = None
    try:
        for step in _steps(recording, viewer):
            if step.known is not (steps[-1].known if steps else Known.DECK):
                note = unknown_from(step.seq, step.known)
            steps.append(step)
    except (ValueError, LookupError, TypeError):
        return steps, f"From seq {len(steps)} on, the log cannot be replayed."
    return steps, note


def _steps(recording: Recording, viewer: Viewer) -> Iterator[ReplayStep]:
    log = recording.log
    for frame in frames((r.event for r in log), deck=recording.deck, viewer=viewer):
        record = log[frame.seq]
        yield ReplayStep(
            seq=frame.seq,
            at=record.at,
            by=record.by,
            type=record.type,
            caption=frame.caption,
            data=record.fields["data"],
            view=past_view(log, frame.game, viewer),
            known=frame.known,
        )


def _readable(lines: Sequence[bytes]) -> Iterator[RecordedEvent]:
    """
    Yield the events up to the first line that is not the next event of the game.

    Events with a broken chain are included: they are marked as faults, not hidden.
    """
    game = None
    try:
        for seq, line in enumerate(lines):
            event = decode_event(line)
            game = game or event["game"]
            if (event["seq"], event["game"]) != (seq, game):
                return
            yield decode_line(line)
    except (RecordError, ValueError, KeyError, TypeError):
        return


def _refusals_proven(report: Report) -> bool:
    """Return whether the seal confirms the refused attempts in the bundle."""
    [seal] = [finding for finding in report.findings if finding.check is Check.SEAL]
    return seal.result is Result.PASS


def _lacking(report: Report) -> Iterator[str]:
    """Yield why evidence could not be checked: the server's key is missing."""
    for finding in report.findings:
        required = (
            finding.check in (Check.RECEIPTS, Check.ANCHOR) and finding.check in report.required
        )
        if required and finding.result is Result.MISSING:
            yield f"{finding.check}: missing. {finding.reason}"


def _owner(bundle: Bundle) -> Seat | None:
    profile = bundle.profile or ""
    seat = profile.removeprefix("seat-")
    return int(seat) if seat != profile and OPENINGS in bundle.files else None


def _opened(bundle: Bundle, log: Sequence[RecordedEvent]) -> tuple[Card, ...] | None:
    """Return the deck as a seat may see it, from the openings in its bundle."""
    fixed = next((r.fields["data"]["cards"] for r in log if r.type == "deck_committed"), None)
    if fixed is None:
        return None
    try:
        openings = {int(o["p"]): Card(o["card"]) for o in parse(bundle.files[OPENINGS])}
    except (RecordError, TypeError, KeyError, ValueError):
        return None
    return tuple(openings.get(p, Card(HIDDEN)) for p in range(len(fixed)))

"""Findings of disputes: results of the checks, and the jobs that compute and store them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from types import MappingProxyType
from typing import Any, Final
from uuid import UUID

from service.application.calls import Answered
from service.application.disputes.files import DisputeFiles, findings_associated
from service.application.disputes.record import (
    DISPUTES,
    DisputeRecord,
    advance,
    dispute_append,
    wake_at,
)
from service.application.errors import Refusal, not_found
from service.application.games.cache import GameCache
from service.application.games.commits import relayed
from service.application.games.entry import GameEntry
from service.application.games.record import load, with_cites
from service.application.handler import Accepted, Attempt, Handler, StreamCommand
from service.application.ports import MAIN_QUEUE, JobKind, Notifier, World
from service.application.rulesets import Rulebook
from service.domain.commands import (
    AgreeEnd,
    ClaimAbsence,
    Forfeit,
    Lay,
    Move,
    Pass,
    PickUp,
    Play,
    PlayBlind,
    Ready,
    Swap,
    TryStock,
)
from service.domain.dispute import Dispute, DisputeEvent, FindingsMade
from service.domain.events import BlindFailed, Event, Zone
from service.domain.evolve import evolve
from service.domain.game import Game
from service.domain.ruleset import Obligation, OpeningPlay, TryStockWhen
from service.keys import Keys
from service.replay.history import (
    RecordedEvent,
    RecordedMove,
    decode_line,
    move_around,
    move_behind,
)
from service.replay.sentences import Sentence, coded, said, values_json
from service.rulesets.statements import FALLBACK, Rules, cited, rules_allowing, rules_behind
from service.shx.bundle import PROOF, Bundle
from service.shx.canonical import canonical, format_time, sha256
from service.shx.receipts import claimed_receipt
from service.shx.tlog.checkpoint import CosignatureVerifier
from service.shx.tlog.notes import NoteVerifier
from service.store.disputes import DisputeRepository
from service.store.events import Commit, StoreUnavailable
from service.verify.evidence import OutsideEvidence
from service.verify.finding import Check, Result
from service.verify.report import Report
from service.verify.stored_findings import ON_THE_MOVE, finding_json
from service.verify.verify import verify_bundle

MAKE_FINDINGS: Final = JobKind(name="make_findings", queue=MAIN_QUEUE)

_NOTHING: Final = OutsideEvidence()


def findings_on(
    game: UUID,
    lines: Sequence[bytes],
    seq: int | None,
    *,
    cites: Mapping[str, str],
    files: Mapping[str, bytes] = MappingProxyType({}),
    outside: OutsideEvidence = _NOTHING,
) -> list[dict[str, Any]]:
    """
    Return the findings of the checks on a log, and on the move at `seq`; None is for collusion.

    `files` are the proof of the public log and the refused attempts; `outside` has the keys of
    the server and the receipts handed in. Before the seal all input is public: if a move
    depends on hidden cards, or the ruleset leaves the seat a choice, there is no finding on it.
    """
    report = verify_bundle(Bundle(lines=tuple(lines), files=files), outside)
    found = [finding_json(finding) for finding in report.findings]
    if PROOF not in files:
        found = [_with_proof_missing(one, sealed=report.sealed) for one in found]
    if seq is None:
        return [_on_event(None, Result.MISSING, Sentence(code="move.collusion")), *found]
    about = _on_move(game, lines, seq, report, cites)
    return found if about is None else [about, *found]


def _on_event(
    seq: int | None,
    result: Result,
    about: Sentence,
    rule: str | None = None,
    more: Sequence[Sentence] = (),
) -> dict[str, Any]:
    """Return a finding on the disputed move; `more` is what is known beyond it."""
    return {
        "check": ON_THE_MOVE,
        "result": result.value,
        "seq": seq,
        "code": about.code,
        "values": values_json(about.values),
        "text": " ".join(one.text for one in (about, *more)),
        "more": [coded(one) for one in more],
        "rule": rule,
    }


def _with_proof_missing(finding: dict[str, Any], *, sealed: bool) -> dict[str, Any]:
    """Return a finding; one about the public log states why there is no proof yet."""
    about = finding["check"] in (Check.ANCHOR.value, Check.WITNESS.value)
    if not about or finding["result"] != Result.MISSING.value:
        return finding
    why = Sentence(code="open.no_proof_yet" if sealed else "open.proof_after_seal")
    return {**finding, "code": why.code, "values": {}, "text": why.text}


def _on_move(
    game: UUID, lines: Sequence[bytes], seq: int, report: Report, cites: Mapping[str, str]
) -> dict[str, Any] | None:
    """Return the finding on the accused move, None if public data does not decide."""
    move = move_around(lines, seq)
    failed = [f for f in report.findings if f.result is Result.FAIL]
    every = [(f.check, one) for f in failed for one in f.objections]
    here = [(c, one) for c, one in every if one.seq is not None and one.seq in move]
    if here:
        _, one = min(here, key=lambda found: found[1].seq != seq)
        about = Sentence(code=one.code, values=one.values)
        found = _on_event(seq, Result.FAIL, about, one.rule, one.notes)
        return {**found, "text": one.reason}
    earlier = [f for f in failed if f.seq is None or f.seq < seq]
    if earlier:
        checks = tuple(finding.check.value for finding in earlier)
        about = Sentence(code="move.earlier", values={"checks": checks})
        return _on_event(seq, Result.MISSING, about)
    before = None
    if move.first:
        before = with_cites(load(game, lines[: move.first], seed=None), cites).game
    rules = rules_of_move(before, lines, move, sealed=report.sealed)
    if rules is None:
        return None
    about = Sentence(code="move.allowed", values={"rules": rules})
    basis = Sentence(code="move.all_cards" if report.sealed else "move.public_only")
    return _on_event(seq, Result.PASS, about, rules[0] if rules else None, [basis])


def _is_allowed(findings: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether a finding is that the rules allow the disputed move."""
    about = (one["result"] for one in findings if one["check"] == ON_THE_MOVE)
    return Result.PASS.value in about


TIME_OUT = "model.time_out"


def rules_of_move(
    before: Game | None, lines: Sequence[bytes], move: RecordedMove, *, sealed: bool
) -> Rules | None:
    """
    Return the statements that allow a move, the deciding one first.

    `before` is the game before the move, None before the first event, which needs no
    statement. Before the seal returns None for a step of the server, and if the move depends
    on hidden cards or the ruleset leaves the seat a choice.
    """
    if before is None:
        return ()
    if move.timed_out:
        before = evolve(before, decode_line(lines[move.first]).event)
    action = decode_line(lines[move.action])
    made = move_behind(action.event)
    if made is None:
        return _decided_by(before, action.event) if sealed else None
    if not sealed and (move.timed_out or not _is_public(before, made, action)):
        return None
    rules = rules_allowing(before, made)
    if move.timed_out:
        rules = (*cited(before.ruleset, (TIME_OUT,)), *rules)
    return tuple(dict.fromkeys(rules))


def _decided_by(before: Game, event: Event) -> Rules:
    return tuple(rule for rule in rules_behind(before, event) if rule != FALLBACK)


def _is_public(game: Game, move: Move, action: RecordedEvent) -> bool:
    """Return whether public data and the ruleset decide that a move is legal."""
    match move:
        case Play():
            opening = game.first_turn and game.ruleset.opening.play is not OpeningPlay.ANY
            return game.turn == move.seat and not opening
        case PlayBlind():
            event = action.event
            return not isinstance(event, BlindFailed) or event.opening is not None
        case PickUp():
            free = game.ruleset.turn.obligation is Obligation.MAY_PICK_UP
            return _is_open(game, move) and not free
        case TryStock():
            free = game.ruleset.turn.try_stock is TryStockWhen.ALWAYS
            return _is_open(game, move) and not free
        case Pass():
            return _is_open(game, move)
        case Swap() | Lay() | Ready() | Forfeit() | AgreeEnd() | ClaimAbsence():
            return True


def _is_open(game: Game, move: Move) -> bool:
    """Return whether all cards that a seat can play are public."""
    return game.seats[move.seat].zone is Zone.UP


FINDINGS_WITHIN = timedelta(seconds=3)
"""Time after which the sweeper computes missing findings itself."""

_OUTCOMES: Final = {"not-found": "gone", "unavailable": "again"}
"""Outcomes of a job, by the code of a refusal."""

Examination = Callable[[DisputeRecord], tuple[Sequence[DisputeEvent], Mapping[str, Any]]]
"""Returns the events of new findings on a dispute, and the data stored with them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DisputeJobs:
    """Jobs of disputes: make missing findings, and store the events of ended periods."""

    handler: Handler
    directory: DisputeRepository
    game_cache: GameCache
    files: DisputeFiles
    keyring: Keys
    rulebook: Rulebook
    server_keys: Callable[[], Sequence[NoteVerifier]]
    witnesses: tuple[CosignatureVerifier, ...]
    world: World
    notifier: Notifier

    def due(self, *, limit: int) -> Sequence[UUID]:
        """Return the disputes that are due: findings are missing, or a period has ended."""
        now = self.world.now()
        return self.directory.due_disputes(
            now=now, opened_before=now - FINDINGS_WITHIN, limit=limit
        )

    def process(self, identity: UUID) -> str:
        """
        Store missing findings and events of ended periods.

        Returns `done`, `nothing` if there was nothing to store, `gone` if there is no such dispute,
        or `again` after too many conflicts. Safe to run twice, late or concurrently. A game that
        cannot be read has no findings, and does not delay periods: its error is raised after the
        events of ended periods are stored.
        """
        try:
            return self._processed(identity, self._new_findings)
        except StoreUnavailable:
            raise
        except Exception:
            self.settle(identity)
            raise

    def settle(self, identity: UUID) -> str:
        """Store the events of ended periods, without findings; return an outcome of `process`."""
        return self._processed(identity, lambda _record: ((), {}))

    def settle_about(self, player: UUID) -> None:
        """Settle the disputes of a player, as accuser or accused, in which a period has ended."""
        for identity in self.directory.due_disputes_of(player, now=self.world.now()):
            self.settle(identity)

    def _processed(self, identity: UUID, examine: Examination) -> str:
        try:
            done = self.handler.handle(ProcessDispute(jobs=self, dispute=identity, examine=examine))
        except Refusal as refusal:
            if refusal.code not in _OUTCOMES:
                raise
            return _OUTCOMES[refusal.code]
        return done.body.decode()

    def stored(self, identity: UUID) -> DisputeRecord:
        """Return a dispute as stored; raises Refusal `not-found`."""
        record = self.files.stored(identity)
        if record is None:
            raise not_found("dispute")
        return record

    def now(self) -> str:
        """Return the present time in the format of events."""
        return format_time(self.world.now())

    def set_next_check(self, record: DisputeRecord, now: str) -> None:
        """Store when a dispute is due next."""
        self.directory.set_dispute_due(
            record.identity, version=record.version, wake_at=wake_at(record, now=now)
        )

    def _new_findings(
        self, record: DisputeRecord
    ) -> tuple[Sequence[DisputeEvent], Mapping[str, Any]]:
        """
        Return new findings: first on the frozen log, and after the seal on the whole log.

        They are made again after a further receipt, and once the public log proves a sealed game.
        """
        dispute, opened = record.dispute, record.dispute.opened
        entry = self.game_cache.fresh(record.game)
        if entry is None:
            return (), {}
        version = _judged_version(dispute, entry)
        files = self.files.additional(entry, version)
        anchored = PROOF in files
        proved = anchored and not dispute.anchored and entry.record.sealed
        more = len(dispute.receipts) > dispute.found_with
        if dispute.found_at >= version and not proved and not more:
            return (), {}
        pinned = entry.record.created["ruleset"]
        definition = self.rulebook.find(pinned["id"])
        lines = self.game_cache.lines(record.game, limit=version)
        cites = definition.cites_of(pinned["options"]) if definition else {}
        found = findings_on(
            record.game,
            lines,
            opened.seq,
            cites=cites,
            files=files,
            outside=self._outside(dispute),
        )
        made = canonical(found)
        key_id, sealed = self.keyring.seal(made, findings_associated(record.identity))
        findings = {"found_at": version, "key_id": key_id, "sealed": sealed}
        event = FindingsMade(
            version=version,
            digest=sha256(made).hex(),
            anchored=anchored,
            allowed=_is_allowed(found),
        )
        return (event,), {"findings": findings}

    def _outside(self, dispute: Dispute) -> OutsideEvidence:
        """Return the keys of the server and its witnesses, and the receipts handed in."""
        notes = [receipt.note.encode() for receipt in dispute.receipts]
        names = receipt_names(dispute)
        return OutsideEvidence(
            receipts=tuple(notes),
            files=dict(zip(notes, names, strict=True)),
            server_keys=tuple(self.server_keys()),
            witness_keys=self.witnesses,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessDispute(StreamCommand[DisputeRecord, None]):
    """Stores the events of ended periods of a dispute, and new findings."""

    jobs: DisputeJobs
    dispute: UUID
    examine: Examination

    def load(self, _last: Attempt[DisputeRecord] | None) -> DisputeRecord:
        """Return the dispute as stored; raises Refusal `not-found`."""
        return self.jobs.stored(self.dispute)

    def decide(self, record: DisputeRecord) -> Accepted[None]:
        """Return the events; without any, only the time of the next check is stored."""
        now = self.jobs.now()
        done, ended = advance(record, now=now)
        events, attachments = self.examine(done)
        done, found = DISPUTES.write(done, events, at=now)
        if not ended and not found:
            # Rows from before the seal, or of an older release, can name too early a time.
            self.jobs.set_next_check(record, now)
            return Accepted(answer=Answered(body=b"nothing"), made=None)
        append = dispute_append(
            done, (*ended, *found), expected=record.version, attachments=attachments
        )
        commit = Commit(appends=(append,), outbox=(relayed(done),))
        return Accepted(answer=Answered(body=b"done"), commit=commit, made=None)

    def committed(self, _made: None) -> None:
        """Notify the streams of sides and referees."""
        self.jobs.notifier.dispute_moved(self.dispute)


def receipt_names(dispute: Dispute) -> tuple[Sentence, ...]:
    """Return names for the receipts of a dispute, such as `receipt 1 of the accuser`."""
    numbered = enumerate(dispute.receipts, start=1)
    return tuple(said(f"receipts.of.{receipt.side}", n=number) for number, receipt in numbered)


def _judged_version(dispute: Dispute, entry: GameEntry) -> int:
    """
    Return the version of the game that findings are about.

    After the seal it is the last version. Before, it is that of the frozen evidence, or a later
    one that a receipt names, because a log that lacks an event named by a receipt looks truncated.
    """
    reached = entry.record.version
    if entry.record.sealed:
        return reached
    named = [claimed_receipt(receipt.note.encode()).seq + 1 for receipt in dispute.receipts]
    return min(reached, max((dispute.opened.version, *named)))

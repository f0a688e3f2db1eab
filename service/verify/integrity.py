"""Checks `bytes`, `chain`, `order` and `seal`: the log is well-formed, unchanged and sealed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from service.replay.history import MoveKind, NotAMove, RecordedMove
from service.replay.sentences import Sentence
from service.shx.bundle import REFUSALS, Bundle, FileChange
from service.shx.canonical import RecordError, canonical
from service.shx.chain import genesis, head
from service.shx.event_shapes import BY_SERVER
from service.shx.moves import (
    NONE_REFUSED,
    SealedRefusals,
    check_refusals,
    seal_of,
    sealed_refusals,
)
from service.verify.finding import (
    DETAIL,
    Answer,
    EvidenceWeight,
    Failed,
    Objection,
    Position,
    missing,
)
from service.verify.log import SEALS, Log, linked


def check_bytes(log: Log, bundle: Bundle, position: Position) -> Answer:
    """
    Check that every line is the canonical encoding of an event of a known version and type.

    Also check that the files of the bundle are those that its manifest lists.
    """
    for broken in log.unreadable:
        values = {} if broken.detail is None else {DETAIL: broken.detail}
        position.failures.append(Objection(seq=broken.seq, code=broken.code, values=values))
    remarks = (Sentence(code="bytes.repacked"),) if bundle.repacked else ()
    changed = tuple(_file_change(one) for one in bundle.changed)
    if log.unreadable:  # their places say more than the file that has them
        return Answer(remarks=(*remarks, *changed))
    for change in changed:
        position.failures.append(Objection(seq=None, code=change.code, values=change.values))
    return Answer(remarks=remarks)


def _file_change(change: FileChange) -> Sentence:
    """Return how a file of the bundle differs from its manifest."""
    return Sentence(code=f"bytes.{change.kind}", values={"name": change.name})


def check_chain(log: Log, bundle: Bundle, position: Position) -> None:
    """
    Check that `seq` has no gaps, each `prev` is the previous head, and times never decrease.

    Also check that all events of a move have one time, and that the manifest of the bundle names
    this game and an existing seat.

    Raises Failed if the manifest has another time for the last event.
    """
    position.seq = 0
    if bundle.game not in (None, log.game):
        position.note(0, "chain.manifest")
    with position.collecting_failures():
        _check_profile(log, bundle)
    collecting = position.collecting_failures()
    for seq in range(len(log.events)):
        position.seq = seq
        with collecting:
            _check_link(log, seq)
    for move in log.grouped[0]:
        for seq in range(move.first + 1, move.last + 1):
            if log.events[seq]["at"] != log.events[move.first]["at"]:
                position.note(seq, "chain.time", start=move.first)
    if bundle.made_at not in (None, log.events[-1]["at"]) and log.broken is None:
        raise Failed(log.end, "chain.made_at")


def _check_profile(log: Log, bundle: Bundle) -> None:
    """Raise Failed if the bundle is of a seat that does not exist."""
    _, _, seat = (bundle.profile or "").partition("-")
    if seat and log.begins and int(seat) >= log.seats:
        raise Failed(0, "chain.seat", seat=int(seat))


def _break(log: Log, seq: int) -> Failed:
    """
    Return the failure for a `prev` that is not the previous head, at the changed event.

    If the next event names the head that this event has with the right `prev`, only this `prev` was
    changed. Otherwise the previous event was changed, or events after it are missing.
    """
    if seq < log.end:
        right = canonical({**log.events[seq], "prev": log.heads[seq - 1].hex()})
        if head(right).hex() == log.events[seq + 1]["prev"]:
            return Failed(seq, "chain.prev")
    next_linked = seq < log.end and linked(log, seq + 1)
    return Failed(seq - 1, "chain.changed" if next_linked else "chain.removed", next=seq)


def _check_link(log: Log, seq: int) -> None:
    """Compare an event with the previous one; after a gap, `seq` must continue from there."""
    event, before = log.events[seq], log.events[seq - 1] if seq else None
    due = 0 if before is None else before["seq"] + 1
    if event["seq"] != due:
        raise Failed(seq, "chain.seq", named=event["seq"], expected=due)
    if event["game"] != log.events[0]["game"]:
        raise Failed(seq, "chain.game")
    if seq == 0 and event["prev"] != genesis(log.game).hex():
        raise Failed(0, "chain.genesis")
    if seq and not linked(log, seq):
        raise _break(log, seq)
    if before is not None and event["at"] < before["at"]:
        raise Failed(seq, "chain.earlier")


_SEAT_FIELDS: Final = ("seat", "absent", "taker", "turn", "cleared_by", "dealer", "shithead")


def check_order(log: Log, position: Position) -> None:
    """
    Check the order of set-up (SHX/1, sections 2 and 3), complete moves, and the end at the seal.

    Raises Failed at the first event that is not part of a move.
    """
    position.seq = 0
    if not log.begins:
        raise Failed(0, "order.created")
    with position.collecting_failures():
        _check_seats(log, position)
    strange = position.failures[0].seq if position.failures else None
    end = len(log.events) if strange is None else strange  # no such seat can be followed
    moves, fault = log.grouped
    phases = _Phases(log)
    with position.collecting_failures():  # after a failure the order of later moves is not checked
        for move in moves:
            position.seq = move.first
            if move.first < end:
                phases.follow(move)
    collecting = position.collecting_failures()
    for move in moves:
        position.seq = move.first
        with collecting:
            _check_by(log, move)
    if fault is not None and not _interrupted(log, fault):
        raise Failed.of(Objection(seq=fault.seq, code=fault.code, values=fault.values))
    if moves and log.broken is None:
        _check_end(log, moves[-1])


def _interrupted(log: Log, fault: NotAMove) -> bool:
    """Return whether a line that is no event may be the rest of the move at fault."""
    alone = log.events[fault.seq]["type"] == "turn_timed_out" or fault.code == "order.incomplete"
    return log.broken is not None and fault.seq == log.end and alone


def _check_end(log: Log, move: RecordedMove) -> None:
    """Raise Failed if the log ends within a move that ended the hand; draws need the rules."""
    over = move.kind is MoveKind.PLAY and log.events[move.action]["data"]["turn"] is None
    if over and log.seal is None:
        raise Failed(log.end, "order.incomplete")


def entropy_states(log: Log) -> list[dict[str, Any]]:
    """Return the mode and the last state of each seat's entropy for the shuffle."""
    states = [
        {"seat": seat, "mode": setup["entropy"], "state": _first_state(setup["entropy"])}
        for seat, setup in enumerate(log.created["seats"])
    ]
    for event in log.events:
        seat = event["data"].get("seat")
        if event["type"] == "entropy_committed" and seat < len(states):
            states[seat]["state"] = "committed"
        elif event["type"] == "entropy_revealed" and seat < len(states):
            states[seat]["state"] = "revealed"
    return states


class _Phases:
    """The phase of a game, and the check that a move is allowed in it."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.entropy: dict[int, str] = {}
        self.phase = "nothing"
        self.ready: set[int] = set()
        self.last = ""

    def follow(self, move: RecordedMove) -> None:
        event = self.log.events[move.first]
        kind = event["type"]
        if self.phase == "over":
            raise Failed(move.first, "order.after_seal")
        match move.kind:
            case MoveKind.SETUP:
                self._setup(move.first, kind, event["data"])
            case MoveKind.DEAL:
                self._deal(move.first, kind)
            case MoveKind.EXCHANGE:
                self._exchange(move)
            case MoveKind.PLAY | MoveKind.FORFEIT | MoveKind.LEAVING:
                self._play(move)
            case MoveKind.ABORT:
                self._abort(move.first, event["data"])
        self.last = kind
        if self.log.events[move.last]["type"] in SEALS:
            self.phase = "over"

    def _setup(self, seq: int, kind: str, data: Mapping[str, Any]) -> None:
        if (kind == "game_created") != (self.phase == "nothing"):
            raise Failed(seq, "order.created")
        if kind == "game_created":
            self.phase = "shuffling"
            modes = [setup["entropy"] for setup in data["seats"]]
            self.entropy = {seat: _first_state(mode) for seat, mode in enumerate(modes)}
        elif self.phase != "shuffling":
            raise Failed(seq, "order.phase")
        elif kind == "deck_committed":
            self._entropy_complete(seq)
            self.phase = "dealing"
        else:
            self._entropy(seq, kind, data["seat"])

    def _entropy(self, seq: int, kind: str, seat: int) -> None:
        mode, state = self.log.created["seats"][seat]["entropy"], self.entropy[seat]
        if kind == "entropy_committed":
            if mode != "commit" or state != "waiting":
                raise Failed(seq, _again(mode, state, "commit"), seat=seat)
            self.entropy[seat] = "committed"
            return
        if mode == "commit":
            waiting = [s for s, mode in self._modes() if mode == "commit"]
            if any(self.entropy[s] == "waiting" for s in waiting):
                raise Failed(seq, "order.early_reveal", seat=seat)
        if state != ("committed" if mode == "commit" else "waiting"):
            raise Failed(seq, _again(mode, state, mode), seat=seat)
        self.entropy[seat] = "revealed"

    def _modes(self) -> Iterator[tuple[int, str]]:
        return ((s, setup["entropy"]) for s, setup in enumerate(self.log.created["seats"]))

    def _entropy_complete(self, seq: int) -> None:
        late = [seat for seat, state in self.entropy.items() if state not in ("none", "revealed")]
        if late:
            raise Failed(seq, "order.early_deck", seat=late[0])

    def _deal(self, seq: int, kind: str) -> None:
        if kind == "cards_dealt":
            if self.phase != "dealing":
                raise Failed(seq, "order.phase")
            self.phase = "exchange"
        elif self.last not in ("cards_dealt", "cards_thrown"):
            raise Failed(seq, "order.phase")

    def _exchange(self, move: RecordedMove) -> None:
        if self.phase != "exchange":
            raise Failed(move.first, "order.phase")
        types = [self.log.events[seq]["type"] for seq in range(move.first, move.last + 1)]
        open_end = self.log.broken is not None and move.last == self.log.end
        if move.timed_out and "seat_ready" not in types and not open_end:
            raise Failed(move.action, "order.timed_out_ready", seat=move.seat)
        if "seat_ready" in types:
            if move.seat in self.ready:
                raise Failed(move.first, "order.ready_twice", seat=move.seat)
            self.ready.add(move.seat if move.seat is not None else -1)
        all_ready = len(self.ready) == self.log.seats
        starts = "play_started" in types
        if starts and not all_ready:
            raise Failed(move.last, "order.early_start")
        if all_ready and not starts and not open_end:
            raise Failed(move.last, "order.incomplete")
        if all_ready:
            self.phase = "playing"

    def _play(self, move: RecordedMove) -> None:
        phases = ("playing",) if move.kind is MoveKind.PLAY else ("exchange", "playing")
        if self.phase not in phases:
            raise Failed(move.first, "order.phase")

    def _abort(self, seq: int, data: Mapping[str, Any]) -> None:
        if self.phase == "nothing":
            raise Failed(seq, "order.created")
        if data["cause"] != "no_entropy":
            return
        if self.phase != "shuffling" or data["seat"] not in self._silent():
            raise Failed(seq, "order.not_outstanding")

    def _silent(self) -> set[int]:
        """Return the seats that could contribute; one that has committed waits for all others."""
        waiting = {seat for seat, state in self.entropy.items() if state == "waiting"}
        if any(mode == "commit" for seat, mode in self._modes() if seat in waiting):
            return waiting
        return {seat for seat, state in self.entropy.items() if state in ("waiting", "committed")}


def _again(mode: str, state: str, due: str) -> str:
    """Return the code of entropy that a seat may not add: a second time, or not as agreed."""
    twice = mode == due and state in ("committed", "revealed")
    return "order.entropy_twice" if twice else "order.entropy"


def _first_state(mode: str) -> str:
    return "none" if mode == "none" else "waiting"


def _check_by(log: Log, move: RecordedMove) -> None:
    """Check that `by` is the acting seat; null for the server and for moves after a time-out."""
    for seq in range(move.first, move.last + 1):
        event = log.events[seq]
        expected = None if move.timed_out or event["type"] in BY_SERVER else move.seat
        if event["by"] != expected:
            raise Failed(seq, "order.by")


def _check_seats(log: Log, position: Position) -> None:
    """Check that all seats in the events exist in this game."""
    count = log.seats
    for seq, event in enumerate(log.events):
        position.seq = seq
        data = event["data"]
        for seat in (event["by"], *data.get("places", ()), *map(data.get, _SEAT_FIELDS)):
            if seat is not None and seat >= count:
                raise Failed(seq, "order.no_seat", seat=seat)
        if event["type"] == "cards_dealt" and len(data["face_up"]) != count:
            raise Failed(seq, "order.face_up")


DISPUTE: Final = "dispute/"


def check_seal(log: Log, bundle: Bundle, position: Position) -> Answer:
    """
    Check that the game is sealed, and that the seal matches the refused attempts.

    Files that no seal covers get the remark "unproven": refused attempts of an unsealed game,
    and all files under `dispute/`.

    Raises Unanswered if the game is not sealed.
    """
    position.seq = log.end
    remarks = tuple(_unproven(log, bundle))
    if log.seal is None:
        raise missing("open.unfinished", remarks=remarks)
    notes: tuple[Sentence, ...] = ()
    with position.collecting_failures():
        notes = _compare_refusals(log, sealed_refusals(log.seal), bundle.files.get(REFUSALS))
    return Answer(notes=notes, remarks=remarks)


def _compare_refusals(log: Log, sealed: SealedRefusals, data: bytes | None) -> tuple[Sentence, ...]:
    """
    Return a note if the file of refused attempts is missing; raises Failed if it does not match.

    Such a file is not evidence against the log, because any holder of the bundle can change it.
    """
    if (sealed.count == 0) != (sealed.sha256 == NONE_REFUSED.sha256):
        raise Failed(log.end, "seal.count")
    if data is None:
        absent = Sentence(code="seal.missing", values={"count": sealed.count})
        return (absent,) if sealed.count else ()
    if seal_of(data) != sealed:
        weight = EvidenceWeight.NOTHING
        raise Failed(log.end, "seal.refusals", weight=weight, count=sealed.count)
    try:
        check_refusals(data, seats=log.seats)
    except RecordError as error:
        raise Failed(log.end, "seal.attempts", detail=error.detail) from None
    return ()


def _unproven(log: Log, bundle: Bundle) -> Iterator[Sentence]:
    """Yield remarks on files of the bundle that the log does not confirm."""
    if bundle.files.get(REFUSALS) and log.seal is None:
        yield Sentence(code="seal.unproven")
    files = sum(name.startswith(DISPUTE) for name in bundle.files)
    if files:
        yield Sentence(code="seal.dispute_files", values={"n": files})

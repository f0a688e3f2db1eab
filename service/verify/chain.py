"""The checks `bytes` and `chain`: can it be read, does each event follow from the last."""

from __future__ import annotations

from service.record.bundle import Bundle
from service.record.chain import genesis
from service.verify.finding import Cursor, Failed
from service.verify.log import Log


def check_bytes(log: Log, cursor: Cursor) -> None:
    """Every line is the canonical bytes of an event of a known version and type."""
    for broken in log.unreadable:
        cursor.note(broken.seq, broken.reason)


def check_chain(log: Log, bundle: Bundle, cursor: Cursor) -> None:
    """Seq without gaps, each `prev` the head before, times that never go back."""
    cursor.seq = 0
    if bundle.game not in (None, log.game):
        cursor.note(0, f"the manifest is of game {bundle.game}")
    with cursor.going_on():
        _check_profile(log, bundle)
    for seq in range(len(log.events)):
        cursor.seq = seq
        with cursor.going_on():
            _check_link(log, seq)
    for move in log.grouped[0]:
        for seq in range(move.first + 1, move.last + 1):
            if log.events[seq]["at"] != log.events[move.first]["at"]:
                reason = f"another time than seq {move.first} of the same move"
                cursor.note(seq, reason)
    if bundle.made_at not in (None, log.events[-1]["at"]) and log.broken is None:
        raise Failed(log.end, "the manifest is of a log that ends at another time")


def _check_profile(log: Log, bundle: Bundle) -> None:
    """A seat's bundle is of a seat that there is; else nobody could be shown what it saw."""
    _, _, seat = (bundle.profile or "").partition("-")
    if seat and log.begins and int(seat) >= log.seats:
        raise Failed(0, f"the manifest is of seat {seat}, and there are {log.seats}")


def _check_link(log: Log, seq: int) -> None:
    """Hold an event against the one before; after a gap the numbers are those from there on."""
    event, before = log.events[seq], log.events[seq - 1] if seq else None
    due = 0 if before is None else before["seq"] + 1
    if event["seq"] != due:
        raise Failed(seq, f"seq is {event['seq']}, not {due}")
    if event["game"] != str(log.game):
        raise Failed(seq, "an event of another game")
    if event["prev"] != (log.heads[seq - 1] if seq else genesis(log.game)).hex():
        raise Failed(seq, "prev is not the head of the event before")
    if before is not None and event["at"] < before["at"]:
        raise Failed(seq, "earlier than the event before")

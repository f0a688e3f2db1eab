"""The checks `bytes` and `chain`: can it be read, does each event follow from the last."""

from __future__ import annotations

from service.record.bundle import Bundle
from service.record.chain import genesis
from service.verify.finding import Cursor, Failed
from service.verify.log import Log


def check_bytes(log: Log, cursor: Cursor) -> None:
    """Every line is the canonical bytes of an event of a known version and type."""
    if log.broken is not None:
        cursor.seq = log.broken.seq
        raise Failed(log.broken.seq, log.broken.reason)


def check_chain(log: Log, bundle: Bundle, cursor: Cursor) -> None:
    """Seq without gaps, each `prev` the head before, times that never go back."""
    cursor.seq = 0
    if bundle.game not in (None, log.game):
        raise Failed(0, f"the manifest is of game {bundle.game}")
    before = genesis(log.game)
    for seq, event in enumerate(log.events):
        cursor.seq = seq
        if event["seq"] != seq:
            raise Failed(seq, f"seq is {event['seq']}, not {seq}")
        if event["game"] != str(log.game):
            raise Failed(seq, "an event of another game")
        if event["prev"] != before.hex():
            raise Failed(seq, "prev is not the head of the event before")
        if seq and event["at"] < log.events[seq - 1]["at"]:
            raise Failed(seq, "earlier than the event before")
        before = log.heads[seq]
    for move in log.grouped[0]:
        for seq in range(move.first + 1, move.last + 1):
            if log.events[seq]["at"] != log.events[move.first]["at"]:
                raise Failed(seq, f"another time than seq {move.first} of the same move")
    if bundle.made_at not in (None, log.events[-1]["at"]) and log.broken is None:
        raise Failed(log.end, "the manifest is of a log that ends at another time")

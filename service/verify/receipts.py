"""Check `receipts`: does each receipt agree with the log, and which key signed it?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from service.shx.canonical import RecordError, parse_time
from service.shx.keys import ListedKey
from service.shx.receipts import Receipt, check_receipt, claimed_receipt
from service.shx.tlog.notes import NoteVerifier, open_note, parse_note
from service.verify.finding import Answer, Cursor, EvidenceWeight, Failed, missing
from service.verify.log import Log

NO_RECEIPT: Final = (
    "no receipt was supplied: one from during the game would show that the server did not replace"
    " the whole record. The answer to each move has one, and so has /v1/games/ID/receipt"
)
NO_SERVER_KEY: Final = (
    "the server's key was not supplied: it would show that the server signed the receipts"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """The server's keys from outside; a list of keys also has the periods of their use."""

    keys: Sequence[NoteVerifier] = ()
    listed: Sequence[ListedKey] = ()

    def remarks(self, log: Log, signed: Iterable[tuple[int, Sequence[NoteVerifier]]]) -> str | None:
        """
        Return in words which events were signed only by keys outside their periods, or None.

        For each key the first such event is named, and the number of the others.

        This is no failure: the last head of a game can be signed years later, and the operator
        alone states the periods. But a key that is newer than what it signed shows only that
        the server had this history when the key was in use.
        """
        times = {listed.verifier: listed for listed in self.listed}
        remarks_of: dict[NoteVerifier, list[str]] = {}
        for seq, keys in sorted(signed, key=lambda one: one[0]):
            late = {key: _out_of_time(log, seq, times[key]) for key in keys if key in times}
            if len(late) < len(keys) or None in late.values():
                continue  # a key was valid at this time, which is enough
            for key, remark in late.items():
                remarks_of.setdefault(key, []).append(str(remark))
        if not remarks_of:
            return None
        remarks = "; ".join(map(_first_and_how_many, remarks_of.values()))
        return f"{remarks}: so the times prove nothing; the signatures remain valid"


def _first_and_how_many(remarks: list[str]) -> str:
    first, *others = dict.fromkeys(remarks)
    return f"{first}; the same for {len(others)} more events that it signed" if others else first


def _out_of_time(log: Log, seq: int, key: ListedKey) -> str | None:
    """
    Return why a key cannot have signed the head at `seq` while that head was the newest, or None.

    A head is the newest until the next event; the last head of the log stays the newest.
    """
    if seq > log.end:
        return None  # its line cannot be read, so its time is unknown
    name = f"key {key.verifier.key_id.hex()}"
    made, following = log.events[seq]["at"], log.events[min(seq + 1, log.end)]["at"]
    if _after(key.since, following):
        past = f"seq {seq + 1}" if seq < log.end else "the last event"
        return f"{name}, which signed seq {seq}, begins at {key.since}, after {past} ({following})"
    if key.until is not None and _after(made, key.until):
        return f"{name}, which signed seq {seq}, ended at {key.until}, before seq {seq} ({made})"
    return None


def _after(one: str, other: str) -> bool:
    """Return whether a time is after another; False if one of them is not a valid time."""
    try:
        return parse_time(one) > parse_time(other)
    except (RecordError, TypeError):
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Notes:
    """The receipts that are compared with a log: those from outside, and those of its bundle."""

    supplied: Sequence[bytes]
    bundled: Sequence[bytes] = ()
    files: Mapping[bytes, str] | None = None  # the names of the files they came from


@dataclass(frozen=True, slots=True, kw_only=True)
class _Readable:
    """A receipt that could be read, with the keys from outside that signed it."""

    name: str
    receipt: Receipt
    signers: tuple[NoteVerifier, ...]


def check_receipts(log: Log, notes: Notes, trust: Trust, cursor: Cursor) -> Answer:
    """
    Check that every receipt names a head of this log; `reach` is the last seq that one confirms.

    Only a receipt from outside, signed by a key from outside, confirms the log: a receipt in
    the bundle can only fail the check. Only a receipt signed by a key from outside contradicts
    the history: a damaged receipt, or one signed by an unknown key, proves nothing.

    Raises Unanswered without a receipt or a server key from outside.
    """
    cursor.seq = None
    bundled = _read_all(notes.bundled, notes.files, trust.keys, cursor, claimed=True)
    supplied = _read_all(notes.supplied, notes.files, trust.keys, cursor, claimed=False)
    agreeing = [held for held in (*bundled, *supplied) if _agrees(log, held)]
    cursor.signed = [held.receipt.seq for held in agreeing if held.signers]
    _contradicting(log, bundled, cursor)
    against = _contradicting(log, supplied, cursor)
    if not notes.supplied:
        raise missing(NO_RECEIPT)
    if not trust.keys:
        raise missing(NO_SERVER_KEY)
    agreeing = [held for held in supplied if _agrees(log, held)]
    by = [(held.receipt.seq, held.signers) for held in supplied if held.receipt.game == log.game]
    reach = None if cursor.failures else max(held.receipt.seq for held in agreeing)
    remark = trust.remarks(log, by)
    return Answer(
        reach=reach,
        outside=_remarks(len(notes.supplied), agreeing, against),
        remarks=() if remark is None else (remark,),
    )


def receipt_game(note: bytes) -> str | None:
    """Return the game that a receipt names, None if it cannot be read."""
    try:
        return str(claimed_receipt(note).game)
    except RecordError:
        return None


def _read_all(
    notes: Sequence[bytes],
    files: Mapping[bytes, str] | None,
    keys: Sequence[NoteVerifier],
    cursor: Cursor,
    *,
    claimed: bool,
) -> list[_Readable]:
    """
    Return the readable receipts; note those that are unreadable or have no valid signature.

    A receipt of the bundle (`claimed`) needs a valid signature only if it names a supplied key.
    """
    held = []
    for note in notes:
        name = (files or {}).get(note, "a receipt of the bundle" if claimed else "a receipt")
        try:
            known = _named(note, keys) if claimed else keys
            held.append(_read(name, note, known))
        except RecordError as error:
            reason = f"{name} is invalid: {error.detail}; it proves nothing, for or against"
            cursor.note(None, reason, weight=EvidenceWeight.NOTHING)
    return held


def _read(name: str, note: bytes, keys: Sequence[NoteVerifier]) -> _Readable:
    if not keys:
        receipt = claimed_receipt(note)
        return _Readable(name=name, receipt=receipt, signers=())
    receipt = check_receipt(note, keys)
    return _Readable(name=name, receipt=receipt, signers=tuple(open_note(note, keys)[1]))


def _named(note: bytes, keys: Sequence[NoteVerifier]) -> list[NoteVerifier]:
    """Return the supplied keys whose signatures a note claims to have."""
    lines = {(line.name, line.key_id) for line in parse_note(note).signatures}
    return [key for key in keys if (key.name, key.key_id) in lines]


def _agrees(log: Log, held: _Readable) -> bool:
    receipt = held.receipt
    named = receipt.game == log.game and receipt.seq < len(log.heads)
    return named and log.heads[receipt.seq] == receipt.head


def _contradicting(log: Log, receipts: Sequence[_Readable], cursor: Cursor) -> list[_Readable]:
    """Return the receipts that contradict the log, and note each with the last one that agrees."""
    against = []
    agreed: int | None = None
    for held in sorted(receipts, key=lambda held: (held.receipt.seq, held.name)):
        if held.receipt.game != log.game:
            reason = f"{held.name} is of another game, {held.receipt.game}: it proves nothing here"
            cursor.note(None, reason, weight=EvidenceWeight.NOTHING)
        elif _agrees(log, held):
            agreed = held.receipt.seq
        else:
            against.append(held)
            if held.signers and (log.seal is not None or held.receipt.seq < len(log.heads)):
                text = "a receipt that the server signed names another history"
                cursor.contradicted = f"{text} ({held.name})"
            with cursor.collecting_failures():
                raise _contradiction(log, held, agreed, cursor.signed)
    return against


def _contradiction(log: Log, held: _Readable, agreed: int | None, signed: Sequence[int]) -> Failed:
    seq, last = held.receipt.seq, len(log.heads) - 1
    if seq > last:
        text = f"{held.name} names seq {seq}, and the log ends before it"
    else:
        text = f"{held.name} names another history than this one; {_changed(seq, agreed)}"
    if not held.signers:
        unsure = (
            " (no supplied key signed it, so its signer is unknown: it contradicts"
            " this log if it is the server's, which is not shown)"
        )
        return Failed(min(seq, last), text + unsure, weight=EvidenceWeight.UNSIGNED)
    if seq > last and log.seal is None:
        more = "the game continued, and this log was cut short or is an earlier copy"
        return Failed(last, f"{text}. {_signed_by(held.signers)}: {more}")
    both = [other for other in signed if other >= min(seq, last)]
    return Failed(min(seq, last), f"{text}. {_possible_authors(held.signers, both)}")


def _changed(seq: int, agreed: int | None) -> str:
    if agreed is None:
        return f"something up to seq {seq} was changed"
    changed = f"seq {seq}" if agreed + 1 == seq else f"something from seq {agreed + 1} to {seq}"
    return f"they agree up to seq {agreed}: {changed} was changed"


def _possible_authors(signers: Sequence[NoteVerifier], both: Sequence[int]) -> str:
    """
    Return which party can have written this log, if the server signed another history.

    A log has no signature of its own, so a receipt shows only that the server had another log.
    If the same key signed this log as well, the holder of the key wrote both.
    """
    good = f"{_signed_by(signers)}: the operator itself signed that other history"
    if both:
        only = "only the holder of its key, the operator, can have made both"
        return f"{good}. It signed this one too, at seq {min(both)}: {only}"
    return (
        f"{good}. The party that produced this file wrote this one. If the operator gave out this"
        " log, the operator made both; a receipt of this history from there on, or its proof in"
        " the public log, would show that"
    )


def _signed_by(signers: Sequence[NoteVerifier]) -> str:
    names = ", ".join(f"{key.name}+{key.key_id.hex()}" for key in signers)
    return f"The signature on it, by {names}, is valid"


def _remarks(
    count: int, agreeing: Sequence[_Readable], against: Sequence[_Readable]
) -> tuple[str, ...]:
    """Return how many receipts agree and which contradict, if the server's key was supplied."""
    lines = []
    if agreeing:
        last = max(held.receipt.seq for held in agreeing)
        many = "1 receipt agrees" if len(agreeing) == 1 else f"{len(agreeing)} receipts agree"
        lines.append(f"{many}, up to seq {last} (trusting the key of the server that was supplied)")
    lines += [f"{held.name} contradicts, at seq {held.receipt.seq}" for held in against]
    if worthless := count - len(agreeing) - len(against):
        lines.append(f"{worthless} of {count} receipts prove nothing: see the check")
    return tuple(lines)

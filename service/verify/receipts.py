"""Check `receipts`: does each receipt agree with the log, and which key signed it?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from service.replay.sentences import Sentence, Values, said
from service.shx.canonical import RecordError, parse_time
from service.shx.keys import ListedKey
from service.shx.receipts import Receipt, check_receipt, claimed_receipt
from service.shx.restores import open_restore
from service.shx.tlog.notes import NoteVerifier, open_note, parse_note
from service.verify.evidence import Name
from service.verify.finding import Answer, EvidenceWeight, Failed, Position, missing
from service.verify.log import Log


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """The server's keys from outside; a list of keys also has the periods of their use."""

    keys: Sequence[NoteVerifier] = ()
    listed: Sequence[ListedKey] = ()
    restores: Sequence[bytes] = ()  # declarations; only those that one of the keys signed count

    def explaining(self, log: Log, receipt: Receipt) -> Iterator[Sentence]:
        """
        Yield the newest declared restore that can be why the log lacks what a receipt names.

        What the log has in its place was recorded after the restore. What it recorded before was
        not lost, so no declaration explains it.
        """
        seq = min(receipt.seq, log.end)
        if receipt.seq > log.end and log.seal is None:
            recorded = None  # nothing in its place yet
        else:
            recorded = log.events[seq]["at"]
        for note in reversed(self.restores):
            try:
                restore = open_restore(note, tuple(self.keys))
            except RecordError:
                continue
            before = recorded is not None and _after(restore.at, recorded)
            if not before and restore.origin == receipt.origin:
                values: Values = {"at": restore.at, "since": restore.since, "leaf": restore.leaf}
                yield Sentence(code="receipts.restored", values=values)
                return

    def remarks(
        self, log: Log, signed: Iterable[tuple[int, Sequence[NoteVerifier]]]
    ) -> tuple[Sentence, ...]:
        """
        Return which events were signed only by keys outside their periods.

        For each key the first such event is named, and the number of the others.

        This is no failure: the last head of a game can be signed years later, and the operator
        alone states the periods. But a key that is newer than what it signed shows only that
        the server had this history when the key was in use.
        """
        times = {listed.verifier: listed for listed in self.listed}
        remarks_of: dict[NoteVerifier, list[Sentence]] = {}
        for seq, keys in sorted(signed, key=lambda one: one[0]):
            late = {key: _out_of_time(log, seq, times[key]) for key in keys if key in times}
            if len(late) < len(keys) or None in late.values():
                continue  # a key was valid at this time, which is enough
            for key, remark in late.items():
                if remark is not None:
                    remarks_of.setdefault(key, []).append(remark)
        return tuple(one for of_key in remarks_of.values() for one in _first_and_how_many(of_key))


def _first_and_how_many(remarks: list[Sentence]) -> Iterator[Sentence]:
    first = remarks[0]
    yield first
    others = sum(other != first for other in remarks)
    if others:
        yield Sentence(code="key.others", values={"n": others})


def _out_of_time(log: Log, seq: int, key: ListedKey) -> Sentence | None:
    """
    Return why a key cannot have signed the head at `seq` while that head was the newest, or None.

    A head is the newest until the next event; the last head of the log stays the newest.
    """
    if seq > log.end:
        return None  # its line cannot be read, so its time is unknown
    name = key.verifier.key_id.hex()
    made, following = log.events[seq]["at"], log.events[min(seq + 1, log.end)]["at"]
    if _after(key.since, following):
        values: Values = {"key": name, "at": seq, "time": key.since, "other": following}
        return Sentence(code="key.begins" if seq < log.end else "key.begins_last", values=values)
    if key.until is not None and _after(made, key.until):
        values = {"key": name, "at": seq, "time": key.until, "other": made}
        return Sentence(code="key.ended", values=values)
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
    files: Mapping[bytes, Name] | None = None  # the names of the files they came from


@dataclass(frozen=True, slots=True, kw_only=True)
class _Readable:
    """A receipt that could be read, with the keys from outside that signed it."""

    name: Name
    receipt: Receipt
    signers: tuple[NoteVerifier, ...]

    @property
    def label(self) -> str:
        """Return its name as text."""
        return self.name if isinstance(self.name, str) else self.name.text


def check_receipts(log: Log, notes: Notes, trust: Trust, position: Position) -> Answer:
    """
    Check that every receipt names a head of this log; `reach` is the last seq that one confirms.

    Only a receipt from outside, signed by a key from outside, confirms the log: a receipt in
    the bundle can only fail the check. Only a receipt signed by a key from outside contradicts
    the history: a damaged receipt, or one signed by an unknown key, proves nothing.

    Raises Unanswered without a receipt or a server key from outside.
    """
    position.seq = None
    bundled = _read_all(notes.bundled, notes.files, trust.keys, position, claimed=True)
    supplied = _read_all(notes.supplied, notes.files, trust.keys, position, claimed=False)
    agreeing = [held for held in (*bundled, *supplied) if _agrees(log, held)]
    position.signed = [held.receipt.seq for held in agreeing if held.signers]
    _contradicting(log, bundled, position, trust)
    against = _contradicting(log, supplied, position, trust)
    if not notes.supplied:
        raise missing("open.no_receipt")
    if not trust.keys:
        raise missing("open.no_server_key")
    agreeing = [held for held in supplied if _agrees(log, held)]
    by = [(held.receipt.seq, held.signers) for held in supplied if held.receipt.game == log.game]
    reach = None if position.failures else max(held.receipt.seq for held in agreeing)
    return Answer(
        reach=reach,
        outside=_remarks(len(notes.supplied), agreeing, against),
        remarks=trust.remarks(log, by),
    )


def receipt_game(note: bytes) -> str | None:
    """Return the game that a receipt names, None if it cannot be read."""
    try:
        return str(claimed_receipt(note).game)
    except RecordError:
        return None


def _read_all(
    notes: Sequence[bytes],
    files: Mapping[bytes, Name] | None,
    keys: Sequence[NoteVerifier],
    position: Position,
    *,
    claimed: bool,
) -> list[_Readable]:
    """
    Return the readable receipts; note those that are unreadable or have no valid signature.

    A receipt of the bundle (`claimed`) needs a valid signature only if it names a supplied key.
    """
    held = []
    for note in notes:
        name = (files or {}).get(note, said("receipts.of_bundle" if claimed else "receipts.one"))
        try:
            known = _named(note, keys) if claimed else keys
            held.append(_read(name, note, known))
        except RecordError as error:
            code = "receipts.carriage_return" if b"\r" in note else "receipts.malformed"
            if receipt_game(note) is not None:
                code = "receipts.signature"
            more = (_file(name), Sentence(code="receipts.nothing"))
            weight, detail = EvidenceWeight.NOTHING, error.detail
            position.note(None, code, weight=weight, notes=more, detail=detail)
    return held


def _read(name: Name, note: bytes, keys: Sequence[NoteVerifier]) -> _Readable:
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


def _contradicting(
    log: Log, receipts: Sequence[_Readable], position: Position, trust: Trust
) -> list[_Readable]:
    """Return the receipts that contradict the log, and note each with the last one that agrees."""
    against = []
    agreed: int | None = None
    for held in sorted(receipts, key=lambda held: (held.receipt.seq, held.label)):
        if held.receipt.game != log.game:
            notes = (_file(held.name), Sentence(code="receipts.nothing"))
            weight, game = EvidenceWeight.NOTHING, str(held.receipt.game)
            position.note(None, "receipts.game", weight=weight, notes=notes, game=game)
        elif _agrees(log, held):
            agreed = held.receipt.seq
        else:
            against.append(held)
            if held.signers and (log.seal is not None or held.receipt.seq < len(log.heads)):
                values = {"name": held.name}
                position.contradicted = Sentence(code="denied.receipt", values=values)
            with position.collecting_failures():
                raise _contradiction(log, held, agreed, position.signed, trust)
    return against


def _contradiction(
    log: Log, held: _Readable, agreed: int | None, signed: Sequence[int], trust: Trust
) -> Failed:
    seq, last = held.receipt.seq, len(log.heads) - 1
    weight = EvidenceWeight.AGAINST if held.signers else EvidenceWeight.UNSIGNED
    both = [other for other in signed if other >= min(seq, last)]
    declared = trust.explaining(log, held.receipt) if held.signers else ()
    notes = (_file(held.name), *_possible_authors(log, held, both), *declared)
    if seq > last:
        version, lines = seq + 1, len(log.heads)
        return Failed(
            last, "receipts.beyond", weight=weight, notes=notes, version=version, lines=lines
        )
    if agreed is None:
        return Failed(seq, "receipts.head", weight=weight, notes=notes)
    return Failed(seq, "receipts.head_after", weight=weight, notes=notes, at=agreed)


def _possible_authors(log: Log, held: _Readable, both: Sequence[int]) -> Iterator[Sentence]:
    """
    Yield which party can have written this log, if the server signed another history.

    A log has no signature of its own, so a receipt shows only that the server had another log.
    If the same key signed this log as well, the holder of the key wrote both.
    """
    if not held.signers:
        yield Sentence(code="receipts.unsigned")
        return
    names = ", ".join(f"{key.name}+{key.key_id.hex()}" for key in held.signers)
    yield Sentence(code="receipts.signed", values={"names": names})
    if held.receipt.seq >= len(log.heads) and log.seal is None:
        yield Sentence(code="receipts.continued")
    elif both:
        yield Sentence(code="receipts.both", values={"at": min(both)})
    else:
        yield Sentence(code="receipts.producer")
        yield Sentence(code="receipts.if_operator")


def _file(name: Name) -> Sentence:
    return Sentence(code="receipts.file", values={"name": name})


def _remarks(
    count: int, agreeing: Sequence[_Readable], against: Sequence[_Readable]
) -> tuple[Sentence, ...]:
    """Return how many receipts agree and which contradict, if the server's key was supplied."""
    lines = []
    if agreeing:
        values: Values = {"n": len(agreeing), "at": max(held.receipt.seq for held in agreeing)}
        lines.append(Sentence(code="outside.agree", values=values))
    for held in against:
        values = {"name": held.name, "at": held.receipt.seq}
        lines.append(Sentence(code="outside.contradict", values=values))
    if worthless := count - len(agreeing) - len(against):
        lines.append(Sentence(code="outside.worthless", values={"n": worthless, "of": count}))
    return tuple(lines)

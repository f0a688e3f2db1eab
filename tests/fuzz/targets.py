"""Parsers of untrusted input, each as a fuzz target for one random case."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any
from uuid import UUID

from service.keys import Keyring, KeyringError
from service.shx.bundle import PROOF, Bundle, NotABundle, read_log, write_bundle
from service.shx.canonical import RecordError, canonical, parse
from service.shx.chain import Link, decode_event, read_chain
from service.shx.keys import read_keys
from service.shx.receipts import check_receipt, issue_receipt
from service.shx.tlog.checkpoint import Checkpoint, open_checkpoint, sign_checkpoint
from service.shx.tlog.notes import NoteSigner, parse_key, parse_note, parse_verifier
from service.shx.tlog.tiles import Tile, hashes_of, parse_tile, read_entries, write_entries
from service.shx.tlog.tree import TlogProof, check_proof
from service.verify.evidence import OutsideEvidence
from service.verify.finding import Result
from service.verify.verify import verify_bundle
from tests.fuzz.changes import changed_bytes, changed_json, odd_text
from tests.random_games import private_key, public_text
from tests.tamper import LOGS, Forgery, sample_lines

Target = Callable[[random.Random], None]
_SIGNER = NoteSigner(name="tests.example", key=private_key("server"))
_GAME = UUID("11111111-1111-4111-8111-111111111111")


def canonical_bytes(chance: random.Random) -> None:
    """Bytes are read as the value whose canonical form they are, or refused."""
    data = changed_bytes(chance.choice(_log(chance)), chance)
    for reader in (parse, decode_event):
        try:
            value = reader(data)
        except RecordError:
            continue
        assert canonical(value) == data


def canonical_values(chance: random.Random) -> None:
    """A value is written so that it is read back unchanged, or refused."""
    value = changed_json(json.loads(chance.choice(_log(chance))), chance)
    try:
        written = canonical(value)
    except RecordError:
        return
    assert json.loads(written) == value


def notes(chance: random.Random) -> None:
    """Notes, receipts, checkpoints and keys are read or refused; a changed one is never valid."""
    receipt = issue_receipt(_SIGNER, game=_GAME, seq=7, head=b"h" * 32)
    checkpoint = Checkpoint(origin=_SIGNER.name, size=9, root=b"r" * 32)
    signed = sign_checkpoint(checkpoint, [_SIGNER])
    readers: tuple[tuple[bytes, Callable[..., Any]], ...] = (
        (receipt, check_receipt),
        (signed, open_checkpoint),
    )
    for good, reader in readers:
        data = changed_bytes(good, chance)
        _refused_or(parse_note, data)
        held = _refused_or(reader, data, [_SIGNER.verifier])
        assert held is None or parse_note(data).text == parse_note(good).text
    key = changed_bytes(str(_SIGNER.verifier).encode(), chance).decode("latin-1")
    _refused_or(parse_key, key)
    _refused_or(parse_verifier, key)


def proofs(chance: random.Random) -> None:
    """A changed proof of the public log is refused for another leaf than its own."""
    checkpoint = Checkpoint(origin=_SIGNER.name, size=2, root=b"r" * 32)
    signed = sign_checkpoint(checkpoint, [_SIGNER])
    proof = TlogProof(index=1, hashes=(b"h" * 32,), checkpoint=signed, extra=b"e")
    data = changed_bytes(proof.text, chance)
    assert _refused_or(check_proof, data, b"entry", [_SIGNER.verifier]) is None


def tiles(chance: random.Random) -> None:
    """Each tile path names one tile; tiles and entries of a wrong length are refused."""
    level = chance.choice(("0", "1", "63", "64", "entries", "00", odd_text(chance)))
    rest = changed_bytes(chance.choice((b"x001/x234/067", b"000.p/17")), chance)
    tile = parse_tile(level, rest.decode("latin-1"))
    if tile is not None:
        assert tile.path == f"tile/{level}/{rest.decode('latin-1')}"
    width = chance.choice((1, 2, 256))
    expected = Tile(level=None, index=0, width=width)
    entries = changed_bytes(write_entries([b"abc"] * width), chance)
    read = _refused_or(read_entries, entries, expected)
    assert read is None or write_entries(read) == entries
    _refused_or(hashes_of, entries, expected)


def archives(chance: random.Random) -> None:
    """An archive is refused, or read as a bundle that gets a report."""
    files = {PROOF: b"proof\n", "receipts/7.note": b"note\n", "refusals.jsonl": b"{}\n"}
    data = changed_bytes(write_bundle(_log(chance)[:3], files=files), chance)
    try:
        bundle = read_log(data)
    except (NotABundle, RecordError):
        return
    verified(bundle)


def changed_logs(chance: random.Random) -> None:
    """A log with changed events and a recomputed chain gets a report and no crash."""
    forgery = Forgery(_log(chance))
    for _ in range(chance.choice((1, 1, 2))):
        at = chance.randrange(len(forgery.events))
        forgery.events[at] = changed_json(forgery.events[at], chance)
    try:
        lines = forgery.lines()
    except (RecordError, ValueError, TypeError, KeyError, AttributeError):
        return  # not a value that the writer can produce
    verified(Bundle(lines=lines))


def torn_logs(chance: random.Random) -> None:
    """A log whose bytes were changed gets a report and no crash."""
    data = changed_bytes(b"\n".join(_log(chance)), chance)
    try:
        bundle = read_log(data)
    except (NotABundle, RecordError):
        return
    verified(bundle)
    _refused_or(_whole_chain, bundle.lines)


def key_files(chance: random.Random) -> None:
    """A key file is read, or refused with a message that shows nothing of it."""
    text = _key_file()
    if chance.random() < 0.5:
        changed = json.dumps(changed_json(json.loads(text), chance))
    else:
        changed = changed_bytes(text.encode(), chance).decode("latin-1")
    try:
        Keyring.from_text(changed)
    except KeyringError as error:
        assert str(error) == "not a key file of version 1"
    _refused_or(read_keys, changed_json([{"id": "x", "name": "y", "public": "z"}], chance))


def verified(bundle: Bundle) -> None:
    """Verify a bundle with every kind of outside evidence."""
    evidence = OutsideEvidence(
        receipts=(issue_receipt(_SIGNER, game=_GAME, seq=0, head=b"h" * 32),),
        server_keys=(_SIGNER.verifier,),
        seat_keys={0: public_text(private_key("seat"))},
        witnessed=True,
    )
    report = verify_bundle(bundle, evidence)
    for finding in report.findings:
        # A check stops at its input, never for lack of memory or stack.
        ran_out = ("MemoryError", "RecursionError")
        assert not any(word in (finding.reason or "") for word in ran_out), finding
        assert finding.result in Result


TARGETS: Mapping[str, Target] = {
    target.__name__: target
    for target in (
        *(canonical_bytes, canonical_values, notes, proofs, tiles, archives),
        *(changed_logs, torn_logs, key_files),
    )
}
"""Every target, by name."""


def _whole_chain(lines: Iterable[bytes]) -> list[Link]:
    return list(read_chain(lines))


def _refused_or(read: Callable[..., Any], *given: Any) -> Any:
    """Return the parsed value; None if it is properly refused."""
    try:
        return read(*given)
    except RecordError:
        return None


def _log(chance: random.Random) -> tuple[bytes, ...]:
    return sample_lines(chance.choice(_names()))


@cache
def _names() -> tuple[str, ...]:
    return tuple(path.stem for path in LOGS)


@cache
def _key_file() -> str:
    return Keyring.generate().rotated().to_text()

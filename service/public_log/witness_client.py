"""Client of witnesses (C2SP tlog-witness), used by the sequencer."""

from __future__ import annotations

import re
import threading
import time
from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from service.runtime.http_client import CallFailed, Reply, call
from service.shx.canonical import RecordError, sha256
from service.shx.tlog.checkpoint import (
    CosignatureVerifier,
    cosignatures,
    open_checkpoint,
    parse_checkpoint,
    parse_cosigner,
)
from service.shx.tlog.notes import NoteVerifier, parse_note
from service.shx.tlog.tiles import TiledTree

SIZE_TYPE: Final = "text/x.tlog.size"
TIMEOUT: Final = 5.0
"""Time limit in seconds for all calls to one witness about one checkpoint."""

GRACE: Final = 1.0
"""Seconds added to TIMEOUT for the work between the calls."""

MAX_ANSWER: Final = 1 << 16  # bytes

T = TypeVar("T")

_SIZE: Final = re.compile(rb"(0|[1-9][0-9]{0,18})\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteWitness:
    """The addresses of a witness, and the key that verifies its cosignatures."""

    url: str  # the submission prefix; also the monitoring prefix, unless one is set
    verifier: CosignatureVerifier
    monitoring: str | None = None  # the prefix under which it serves cosigned checkpoints


class NoCosignature(Exception):
    """A witness returned no valid cosignature."""


class WitnessRefused(NoCosignature):
    """
    A witness claims that this log does not continue the one it saw before.

    The claim alone proves nothing. `proof` is a checkpoint signed by a key of this log that the
    submitted tree does not continue; without a proof the claim is only written to the process's
    log.
    """

    proof: bytes | None = None


class LargerTreeSeen(WitnessRefused):
    """A witness has seen a larger tree than the submitted one."""

    def __init__(self, size: int, shown: int) -> None:
        super().__init__(f"it has seen {size} leaves, and the tree has {shown}")
        self.size = size


class WitnessSetBack(NoCosignature):
    """A witness has seen fewer leaves than it cosigned before; it may cosign another log now."""

    def __init__(self, size: int, cosigned: int) -> None:
        super().__init__(f"it has seen {size} leaves, and cosigned {cosigned} before")
        self.size = size


def parse_witnesses(text: str) -> tuple[RemoteWitness, ...]:
    """
    Return the witnesses of a setting: a list of `name+id+key url`, separated by commas.

    A second address may follow: the monitoring prefix, needed only if it differs from the first.

    Raises RecordError for a setting of another form.
    """
    found = []
    for item in filter(None, (part.strip() for part in text.split(","))):
        key, *urls = item.split()
        web = all(url.startswith(("https://", "http://")) for url in urls)
        if not web or len(urls) not in (1, 2):
            raise RecordError("bad_witness", "a witness has the form name+id+key and its address")
        prefixes = [url.rstrip("/") for url in urls]
        found.append(
            RemoteWitness(
                url=prefixes[0],
                verifier=parse_cosigner(key),
                monitoring=prefixes[1] if len(prefixes) > 1 else None,
            )
        )
    return tuple(found)


def write_request(old_size: int, proof: Sequence[bytes], checkpoint: bytes) -> bytes:
    """Return the body of an add-checkpoint request."""
    hashes = (b64encode(one).decode("ascii") for one in proof)
    lines = (f"old {old_size}", *hashes, "", "")
    return "\n".join(lines).encode() + checkpoint


def ask_witness(
    witness: RemoteWitness,
    checkpoint: bytes,
    tree: TiledTree,
    known: int,
    log_keys: Sequence[NoteVerifier] = (),
    *,
    cosigned: int = 0,
) -> str:
    """
    Return the witness's signature line for a checkpoint of `tree`, within TIMEOUT seconds.

    `known` is the size that the witness probably saw last; if it answers with another size, the
    checkpoint is submitted once more.

    Raises WitnessSetBack if it saw fewer leaves than the `cosigned` ones of which the log has its
    signature, LargerTreeSeen if it saw a larger tree, WitnessRefused if it claims that this tree
    does not continue the one it saw, and NoCosignature for any other fault. After a refusal
    the checkpoint that the witness serves is fetched. It is a proof if one of `log_keys` signed it
    and `tree` does not continue it.
    """
    end = time.monotonic() + TIMEOUT
    try:
        answer = _submit(witness, checkpoint, tree, known, end)
        if isinstance(answer, int):
            if answer > tree.size:
                raise LargerTreeSeen(answer, tree.size)
            if answer < cosigned:
                raise WitnessSetBack(answer, cosigned)
            answer = _submit(witness, checkpoint, tree, answer, end)
        if isinstance(answer, int):
            raise NoCosignature("its tree changed between two requests")
    except WitnessRefused as refused:
        refused.proof = _proof(witness, checkpoint, tree, log_keys, end)
        raise
    return _own_line(witness.verifier, checkpoint, answer)


def ask_all(
    witnesses: Sequence[RemoteWitness], ask: Callable[[RemoteWitness], T]
) -> list[tuple[RemoteWitness, T | NoCosignature]]:
    """
    Call `ask` for all witnesses in parallel; return each with the result or NoCosignature.

    The result for a thread that does not end in time is NoCosignature; only a DNS lookup can take
    that long. Raises the first other exception.
    """
    answers: dict[int, T | NoCosignature] = {}
    faults: list[Exception] = []

    def run(place: int) -> None:
        try:
            answers[place] = ask(witnesses[place])
        except NoCosignature as reason:
            answers[place] = reason
        except Exception as fault:  # noqa: BLE001 - raised below, in the calling thread
            faults.append(fault)

    threads = [
        threading.Thread(target=run, args=(place,), daemon=True) for place in range(len(witnesses))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(TIMEOUT + GRACE)
    if faults:
        raise faults[0]
    late = NoCosignature(f"no complete answer within {TIMEOUT:g} s")
    return [(witness, answers.get(place, late)) for place, witness in enumerate(witnesses)]


def _submit(
    witness: RemoteWitness, checkpoint: bytes, tree: TiledTree, old_size: int, end: float
) -> bytes | int:
    """Return the signature lines, or the size that the witness has seen instead."""
    body = write_request(old_size, tree.consistency_proof(old_size), checkpoint)
    reply = _call(f"{witness.url}/add-checkpoint", end, body)
    if reply.status == 200:
        return reply.body
    size = _SIZE.fullmatch(reply.body)
    if reply.status == 409 and reply.media_type == SIZE_TYPE and size:
        return int(size[1])
    if reply.status in (409, 422):
        raise WitnessRefused(f"it answers {reply.status} to {old_size} → {tree.size}")
    raise NoCosignature(f"it answers {reply.status}")


def _call(url: str, end: float, body: bytes | None = None) -> Reply:
    headers = {} if body is None else {"Content-Type": "text/plain; charset=utf-8"}
    left = end - time.monotonic()
    if left <= 0:
        raise NoCosignature(f"no complete answer within {TIMEOUT:g} s")
    try:
        return call(url, seconds=left, most=MAX_ANSWER, data=body, headers=headers)
    except CallFailed as error:
        raise NoCosignature(f"it does not answer: {error}") from None


def _proof(
    witness: RemoteWitness,
    checkpoint: bytes,
    tree: TiledTree,
    log_keys: Sequence[NoteVerifier],
    end: float,
) -> bytes | None:
    """Return the witness's checkpoint if a log key signed it and `tree` does not continue it."""
    prefix = witness.monitoring or witness.url
    try:
        origin = parse_checkpoint(parse_note(checkpoint).text).origin
        reply = _call(f"{prefix}/{sha256(origin.encode()).hex()}/checkpoint", end)
        seen, _, _ = open_checkpoint(reply.body, log_keys)
    except (NoCosignature, RecordError):
        return None
    continues = seen.size <= tree.size and tree.root(seen.size) == seen.root
    return None if continues or seen.origin != origin else reply.body


def _own_line(verifier: CosignatureVerifier, checkpoint: bytes, answer: bytes) -> str:
    """Return the witness's own signature line in an answer; lines of other signers are ignored."""
    try:
        for line in answer.decode().splitlines(keepends=True):
            note = parse_note(checkpoint + line.encode())
            signed = note.signatures[-1]
            own = (signed.name, signed.key_id) == (verifier.name, verifier.key_id)
            if own and cosignatures(note, [verifier]):
                return line
    except (RecordError, UnicodeDecodeError) as error:
        raise NoCosignature(f"its answer cannot be read: {error}") from None
    raise NoCosignature("its answer has no cosignature of the key in the settings")

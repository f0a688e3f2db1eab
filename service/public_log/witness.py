"""A witness (C2SP tlog-witness): cosigns a checkpoint only if it continues what it saw before."""

from __future__ import annotations

import json
import re
import threading
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from service.record.canonical import RecordError
from service.record.checkpoint import Checkpoint, open_checkpoint, parse_checkpoint
from service.record.cosignature import Cosigner, cosign
from service.record.hashing import sha256
from service.record.notes import NoteVerifier, parse_note
from service.record.shapes import decode_base64
from service.record.tree import consistency_holds, root
from service.whole_files import write_whole

MAX_REQUEST: Final = 1 << 17  # bytes
MAX_PROOF: Final = 63
MOST_EVIDENCE: Final = 100  # files
SIZE_TYPE: Final = "text/x.tlog.size"
PLAIN: Final = "text/plain; charset=utf-8"

_OLD: Final = re.compile(r"old (0|[1-9][0-9]{0,18})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a witness answers: an HTTP status, a media type, a body."""

    status: int
    body: bytes
    media_type: str = PLAIN


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """The last tree of a log that a witness cosigned."""

    size: int
    root: bytes


NOTHING: Final = Seen(size=0, root=root(()))


class WitnessState:
    """The trees that a witness has seen, by origin, in a file that is replaced whole."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen = _read(path)

    def seen(self, origin: str) -> Seen:
        """Return the last tree of a log."""
        return self._seen.get(origin, NOTHING)

    def keep(self, origin: str, seen: Seen) -> None:
        """Remember a tree, on disk before anything is answered."""
        known = {**self._seen, origin: seen}
        said = {
            "v": 1,
            "logs": {
                name: {"size": one.size, "root": b64encode(one.root).decode("ascii")}
                for name, one in known.items()
            },
        }
        write_whole(self._path, json.dumps(said, indent=1).encode() + b"\n")
        self._seen = known

    def keep_evidence(self, note: bytes) -> Path:
        """Keep a signed checkpoint that contradicts what was seen, and return where."""
        return keep_evidence(self._path, note)


def keep_evidence(beside: Path, note: bytes) -> Path:
    """Keep a signed note beside a file, once, and no more than a disk can bear; return where."""
    path = beside.with_name(f"{beside.name}.refused-{sha256(note).hex()[:12]}.note")
    if len(list(beside.parent.glob(f"{beside.name}.refused-*.note"))) < MOST_EVIDENCE:
        write_whole(path, note)
    return path


class Witness:
    """Answers add-checkpoint; one request at a time, so that it never goes back."""

    def __init__(
        self,
        *,
        cosigner: Cosigner,
        logs: Mapping[str, Sequence[NoteVerifier]],
        state: WitnessState,
        now: Callable[[], float],
        tell: Callable[[str], None] = lambda _said: None,
    ) -> None:
        self._cosigner = cosigner
        self._logs = dict(logs)
        self._state = state
        self._now = now
        self._tell = tell
        self._lock = threading.Lock()

    def add_checkpoint(self, request: bytes) -> Answer:
        """Return the cosignature, or why there is none; the checks in the order of the text."""
        try:
            old_size, proof, note = _parse(request)
            origin = parse_checkpoint(parse_note(note).text).origin
        except RecordError as error:
            return _refused(400, error.detail)
        checkpoint = self._signed(origin, note)
        if isinstance(checkpoint, Answer):
            return checkpoint
        if old_size > checkpoint.size:
            return _refused(400, "the old size is greater than the new one")
        with self._lock:
            return self._continue(checkpoint, old_size, proof, note)

    def older(self, note: bytes, *, begins: bool) -> Answer:
        """
        Return the answer to a checkpoint of fewer leaves than were seen, met on an own look.

        One that `begins` the tree seen may come out of a cache. Of any other the log was
        set back, or lost leaves that it signed; the checkpoint is kept, nothing cosigned.
        """
        origin = parse_checkpoint(parse_note(note).text).origin
        checkpoint = self._signed(origin, note)
        if isinstance(checkpoint, Answer):
            return checkpoint
        seen = self.seen(origin)
        if begins:
            return Answer(status=409, body=f"{seen.size}\n".encode(), media_type=SIZE_TYPE)
        said = f"{checkpoint.size} leaves that do not begin the {seen.size} seen, or hide them"
        return self._contradicted(422, said, note)

    def seen(self, origin: str) -> Seen:
        """Return the last tree of a log that was cosigned."""
        return self._state.seen(origin)

    def keys(self) -> list[NoteVerifier]:
        """Return the keys of all logs that are watched."""
        return [key for keys in self._logs.values() for key in keys]

    def learn(self, keys: Sequence[NoteVerifier]) -> None:
        """Take keys that those known have signed; of no other log than before."""
        for origin, known in self._logs.items():
            new = [key for key in keys if key.name == origin and key not in known]
            if new:
                self._logs[origin] = [*known, *new]
                self._tell(f"{origin} has a new key, signed by the one before")

    def _signed(self, origin: str, note: bytes) -> Checkpoint | Answer:
        """Return a checkpoint that a key of a known log signed, else what to answer."""
        keys = self._logs.get(origin)
        if keys is None:
            return _refused(404, "this log is not known here")
        try:
            return open_checkpoint(note, keys)[0]
        except RecordError as error:
            return _refused(403, error.detail)

    def _continue(
        self, checkpoint: Checkpoint, old_size: int, proof: Sequence[bytes], note: bytes
    ) -> Answer:
        seen = self._state.seen(checkpoint.origin)
        if old_size != seen.size:
            return Answer(status=409, body=f"{seen.size}\n".encode(), media_type=SIZE_TYPE)
        if old_size == checkpoint.size and checkpoint.root != seen.root:
            return self._contradicted(409, "another tree of the same size", note)
        holds = consistency_holds(
            old_size=old_size,
            old_root=seen.root,
            size=checkpoint.size,
            root_hash=checkpoint.root,
            proof=proof,
        )
        if not holds:
            return self._contradicted(422, "the consistency proof does not hold", note)
        self._state.keep(checkpoint.origin, Seen(size=checkpoint.size, root=checkpoint.root))
        line = cosign(checkpoint.body, self._cosigner, timestamp=int(self._now()))
        self._tell(f"cosigned {checkpoint.origin} at {checkpoint.size} leaves")
        return Answer(status=200, body=line.encode())

    def _contradicted(self, status: int, said: str, note: bytes) -> Answer:
        """A signature under what does not fit is evidence: it is kept, and nothing is cosigned."""
        path = self._state.keep_evidence(note)
        self._tell(f"REFUSED: {said}; the signed checkpoint is kept in {path}")
        return _refused(status, said)


def load_cosigner(path: Path, name: str | None) -> Cosigner:
    """
    Return the key of a witness from its file, made first where there is none.

    The name belongs to the key: once made, asking for another is a mistake.
    """
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    if not path.exists():
        if name is None:
            raise RecordError("bad_witness", "a new witness needs a name, such as w.example/1")
        made = Cosigner(name=name, key=Ed25519PrivateKey.generate())
        str(made.verifier)  # refuses a name that no key may have
        private = b64encode(made.key.private_bytes_raw()).decode("ascii")
        write_whole(path, json.dumps({"v": 1, "name": name, "key": private}).encode() + b"\n")
        return made
    try:
        value = json.loads(path.read_bytes())
        key = Ed25519PrivateKey.from_private_bytes(b64decode(value["key"], validate=True))
        known = Cosigner(name=str(value["name"]), key=key)
    except (ValueError, TypeError, KeyError):
        raise RecordError("bad_witness", f"{path} is not the key file of a witness") from None
    if name not in (None, known.name):
        raise RecordError("bad_witness", f"the key in {path} goes by the name {known.name}")
    return known


def _parse(request: bytes) -> tuple[int, list[bytes], bytes]:
    """Return the old size, the proof and the checkpoint of a request."""
    above, blank, note = request.partition(b"\n\n")
    lines = above.decode("utf-8", "replace").split("\n")
    old = _OLD.fullmatch(lines[0])
    hashes = [decode_base64(line) for line in lines[1:]]
    proof = [one for one in hashes if one is not None and len(one) == len(NOTHING.root)]
    if len(request) > MAX_REQUEST or not blank or old is None:
        raise RecordError("bad_request", "not an add-checkpoint request")
    if len(proof) != len(hashes) or len(proof) > MAX_PROOF:
        raise RecordError("bad_request", "a line of the proof is no hash, or there are too many")
    return int(old[1]), proof, note


def _refused(status: int, said: str) -> Answer:
    return Answer(status=status, body=f"{said}\n".encode())


def _read(path: Path) -> dict[str, Seen]:
    if not path.exists():
        return {}
    try:
        logs = json.loads(path.read_bytes())["logs"]
        return {
            str(name): Seen(size=int(one["size"]), root=b64decode(one["root"], validate=True))
            for name, one in logs.items()
        }
    except (ValueError, TypeError, KeyError, AttributeError):
        # Beginning anew would forget what was seen, which is all that a witness is for.
        raise RecordError("bad_witness", f"{path} is not the state of a witness") from None

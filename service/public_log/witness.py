"""A witness (C2SP tlog-witness) that cosigns checkpoints of an append-only log."""

from __future__ import annotations

import json
import re
import threading
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final

from service.public_log.log_client import (
    HEALTH_PATH,
    REQUEST_SECONDS,
    LogClient,
    NotPublished,
    Poller,
    Unreachable,
    health_answer,
)
from service.public_log.witness_client import write_request
from service.runtime.atomic_files import write_whole
from service.shx.canonical import RecordError, parse_time, sha256
from service.shx.keys import KeyList, followed, is_over
from service.shx.tlog.checkpoint import (
    Checkpoint,
    Cosigner,
    cosign,
    open_checkpoint,
    parse_checkpoint,
)
from service.shx.tlog.notes import NoteVerifier, parse_note, signature_line
from service.shx.tlog.tiles import TiledTree
from service.shx.tlog.tree import proves_consistency, root
from service.shx.validators import decode_base64

MAX_REQUEST: Final = 1 << 17  # bytes
MAX_PROOF: Final = 63
MAX_EVIDENCE: Final = 100  # files
SIZE_TYPE: Final = "text/x.tlog.size"
PLAIN: Final = "text/plain; charset=utf-8"

_OLD: Final = re.compile(r"old (0|[1-9][0-9]{0,18})")
_LENGTH: Final = re.compile("[0-9]{1,9}")
_CHECKPOINT: Final = re.compile(r"/([0-9a-f]{64})/checkpoint")


@dataclass(frozen=True, slots=True, kw_only=True)
class WitnessResponse:
    """An HTTP response of a witness."""

    status: int
    body: bytes
    media_type: str = PLAIN


@dataclass(frozen=True, slots=True, kw_only=True)
class CosignedTree:
    """The last tree of a log that a witness cosigned."""

    size: int
    root: bytes
    note: bytes = b""  # its checkpoint, signed by the log, with the cosignature


NO_TREE: Final = CosignedTree(size=0, root=root(()))


@dataclass(frozen=True, slots=True, kw_only=True)
class LogKey:
    """A key of a log known to a witness, with its signed end date, if any."""

    verifier: NoteVerifier
    until: str | None = None


class WitnessState:
    """The last cosigned tree and the keys of each log, in a file written atomically."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._seen = _read(path)
        self._keys = _read_log_keys(path)

    @classmethod
    def begin(cls, path: Path) -> WitnessState:
        """
        Create the state file of a new witness, and return the state.

        The file is written at once, so that a later start without it fails.
        """
        write_whole(path, _state_text({}, ()), new=True)
        return cls(path)

    def seen(self, origin: str) -> CosignedTree:
        """Return the last cosigned tree of a log; NO_TREE for a new one."""
        return self._seen.get(origin, NO_TREE)

    def save(self, origin: str, seen: CosignedTree) -> None:
        """Store a tree on disk; called before the cosignature is sent."""
        with self._lock:
            known = {**self._seen, origin: seen}
            write_whole(self._path, _state_text(known, self._keys))
            self._seen = known

    def log_keys(self) -> tuple[LogKey, ...]:
        """Return the stored keys of logs, including retired ones."""
        return self._keys

    def save_keys(self, keys: Sequence[LogKey]) -> None:
        """Store the keys of logs and their end dates."""
        with self._lock:
            if tuple(keys) != self._keys:
                write_whole(self._path, _state_text(self._seen, keys))
                self._keys = tuple(keys)

    def save_evidence(self, note: bytes) -> Path:
        """Save a signed checkpoint that contradicts the state; return its path."""
        return save_evidence(self._path, note)


def save_evidence(state: Path, note: bytes) -> Path:
    """Save a signed note beside a state file, up to MAX_EVIDENCE notes; return its path."""
    path = state.with_name(f"{state.name}.refused-{sha256(note).hex()[:12]}.note")
    if len(list(state.parent.glob(f"{state.name}.refused-*.note"))) < MAX_EVIDENCE:
        write_whole(path, note)
    return path


class Witness:
    """Answers add-checkpoint requests one at a time, so that its trees only grow."""

    def __init__(
        self,
        *,
        cosigner: Cosigner,
        logs: Mapping[str, Sequence[NoteVerifier]],
        state: WitnessState,
        now: Callable[[], float],
        report: Callable[[str], None] = lambda _line: None,
    ) -> None:
        self._cosigner = cosigner
        self._logs = {origin: list(keys) for origin, keys in logs.items()}
        self._state = state
        self._ends = {key.verifier: key.until for key in state.log_keys() if key.until is not None}
        self._now = now
        self._report = report
        self._lock = threading.Lock()

    def add_checkpoint(self, request: bytes) -> WitnessResponse:
        """Return the cosignature or an error; the checks are in the order of the specification."""
        try:
            old_size, proof, note = _parse(request)
            origin = parse_checkpoint(parse_note(note).text).origin
        except RecordError as error:
            return _refused(400, error.detail)
        checkpoint = self._signed(origin, note)
        if isinstance(checkpoint, WitnessResponse):
            return checkpoint
        if old_size > checkpoint.size:
            return _refused(400, "the old size is greater than the new one")
        with self._lock:
            return self._continue(checkpoint, old_size, proof, note)

    def refuse_older(self, note: bytes, *, is_prefix: bool) -> WitnessResponse:
        """
        Return the refusal of a polled checkpoint with fewer leaves than the cosigned tree.

        If the checkpoint is a prefix of the cosigned tree (`is_prefix`), it may come from a
        cache. Otherwise the log lost signed leaves, and the checkpoint is saved as evidence.
        """
        origin = parse_checkpoint(parse_note(note).text).origin
        checkpoint = self._signed(origin, note)
        if isinstance(checkpoint, WitnessResponse):
            return checkpoint
        seen = self.seen(origin)
        if is_prefix:
            return WitnessResponse(status=409, body=f"{seen.size}\n".encode(), media_type=SIZE_TYPE)
        detail = f"its {checkpoint.size} leaves are not a prefix of the {seen.size} cosigned leaves"
        return self._contradicted(422, detail, note)

    def seen(self, origin: str) -> CosignedTree:
        """Return the last cosigned tree of a log."""
        return self._state.seen(origin)

    def keys(self) -> list[NoteVerifier]:
        """Return the current keys of all watched logs."""
        return [key for keys in self._logs.values() for key in keys if not self._is_over(key)]

    def learn(self, keys: Sequence[NoteVerifier], listed: KeyList | None = None) -> None:
        """
        Accept keys signed by known keys, and end dates signed by later keys.

        Keys of other logs are ignored, and an end date is never moved later.
        """
        for origin, known in self._logs.items():
            new = [key for key in keys if key.name == origin and key not in known]
            if new:
                self._logs[origin] = [*known, *new]
                self._report(f"{origin} has a new key, signed by the previous one")
        watched = [key for keys in self._logs.values() for key in keys]
        for key, until in (listed.retired(self.keys()) if listed else {}).items():
            if key in watched and until < self._ends.get(key, "9"):
                self._ends[key] = until
                self._report(f"{key.name}: its key {key.key_id.hex()} ends at {until}")
        others = [key for key in self._state.log_keys() if key.verifier not in watched]
        present = [LogKey(verifier=key, until=self._ends.get(key)) for key in watched]
        self._state.save_keys([*present, *others])

    def latest(self, origin_hash: str) -> bytes | None:
        """Return the newest cosigned checkpoint of a log, by the SHA-256 of its origin, or None."""
        for origin in self._logs:
            if sha256(origin.encode()).hex() == origin_hash:
                return self._state.seen(origin).note or None
        return None

    def _is_over(self, key: NoteVerifier) -> bool:
        until = self._ends.get(key)
        return until is not None and is_over(until, datetime.fromtimestamp(self._now(), UTC))

    def _signed(self, origin: str, note: bytes) -> Checkpoint | WitnessResponse:
        """Return a checkpoint signed by a current key of a known log, else an error response."""
        keys = self._logs.get(origin)
        if keys is None:
            return _refused(404, "this witness does not know the log")
        try:
            return open_checkpoint(note, [key for key in keys if not self._is_over(key)])[0]
        except RecordError as error:
            self._report_retired_key(origin, note)
            return _refused(403, error.detail)

    def _report_retired_key(self, origin: str, note: bytes) -> None:
        """Save a checkpoint signed by a retired key: the key may have been stolen."""
        over = [key for key in self._logs[origin] if self._is_over(key)]
        try:
            checkpoint = open_checkpoint(note, over)[0]
        except RecordError:
            return
        seen = self._state.seen(origin)
        if (checkpoint.size, checkpoint.root) == (seen.size, seen.root):
            return  # cosigned before the key retired; the log will sign it with the new key
        path = self._state.save_evidence(note)
        self._report(f"REFUSED: {origin}: signed only by retired keys; saved in {path}")

    def _continue(
        self, checkpoint: Checkpoint, old_size: int, proof: Sequence[bytes], note: bytes
    ) -> WitnessResponse:
        seen = self._state.seen(checkpoint.origin)
        if old_size != seen.size:
            return WitnessResponse(status=409, body=f"{seen.size}\n".encode(), media_type=SIZE_TYPE)
        if old_size == checkpoint.size and checkpoint.root != seen.root:
            return self._contradicted(409, "another tree of the same size", note)
        holds = proves_consistency(
            old_size=old_size,
            old_root=seen.root,
            size=checkpoint.size,
            root_hash=checkpoint.root,
            proof=proof,
        )
        if not holds:
            return self._contradicted(422, "the consistency proof is invalid", note)
        line = cosign(checkpoint.body, self._cosigner, timestamp=int(self._now()))
        cosigned = _own_lines(checkpoint, note, self._logs[checkpoint.origin]) + line.encode()
        tree = CosignedTree(size=checkpoint.size, root=checkpoint.root, note=cosigned)
        self._state.save(checkpoint.origin, tree)
        self._report(f"cosigned {checkpoint.origin} at {checkpoint.size} leaves")
        return WitnessResponse(status=200, body=line.encode())

    def _contradicted(self, status: int, detail: str, note: bytes) -> WitnessResponse:
        """Save a signed contradiction as evidence, and refuse to cosign it."""
        path = self._state.save_evidence(note)
        self._report(f"REFUSED: {detail}; the signed checkpoint is saved in {path}")
        return _refused(status, detail)


def follow(client: LogClient, witness: Witness) -> tuple[bytes, WitnessResponse]:
    """
    Fetch the log's newest checkpoint and submit it; return it with the witness's answer.

    The consistency proof is computed from the log's tiles, and the witness verifies it.
    Raises Unreachable if the log or its tiles cannot be read.
    """
    note = client.checkpoint()
    try:
        checkpoint = parse_checkpoint(parse_note(note).text)
        seen = witness.seen(checkpoint.origin)
        if checkpoint.size < seen.size:
            return note, witness.refuse_older(note, is_prefix=_is_prefix(client, checkpoint, seen))
        proof = TiledTree(checkpoint.size, client.hashes).consistency_proof(seen.size)
    except RecordError as error:
        raise Unreachable(f"the log cannot be read: {error.detail}") from None
    return note, witness.add_checkpoint(write_request(seen.size, proof, note))


def learn_keys(client: LogClient, witness: Witness) -> None:
    """Fetch the listed keys and retirements of the log, and pass them to the witness."""
    listed = client.key_list()
    witness.learn(followed(witness.keys(), listed.keys), listed)


def _is_prefix(client: LogClient, checkpoint: Checkpoint, seen: CosignedTree) -> bool:
    """Return whether the log still has the cosigned tree, and the checkpoint is a prefix of it."""
    tree = TiledTree(seen.size, client.hashes)
    try:
        return tree.root() == seen.root and tree.root(checkpoint.size) == checkpoint.root
    except NotPublished:
        return False  # tiles of a signed tree are missing: the log was rolled back


def witness_server(
    witness: Witness, host: str, port: int, poller: Poller | None = None
) -> ThreadingHTTPServer:
    """
    Return an HTTP server for a witness; it responds once `serve_forever` runs.

    With a `poller`, `/healthz` reports the health of its polls; otherwise it is always ok.
    """

    class Handler(BaseHTTPRequestHandler):
        """Responds for this witness."""

        protocol_version = "HTTP/1.1"
        timeout = REQUEST_SECONDS

        def do_POST(self) -> None:
            """Respond to add-checkpoint."""
            size = _LENGTH.fullmatch(self.headers.get("Content-Length", ""))
            if size is None or int(size[0]) > MAX_REQUEST:
                self.close_connection = True
                self._answer(WitnessResponse(status=413, body=b"too large, or of unknown length\n"))
                return
            request = self.rfile.read(int(size[0]))
            if self.path != "/add-checkpoint":
                self._answer(WitnessResponse(status=404, body=b"POST to /add-checkpoint\n"))
                return
            self._answer(witness.add_checkpoint(request))

        def do_GET(self) -> None:
            """Return the newest cosigned checkpoint of a log, or the health of the polls."""
            self._answer(_get(witness, poller, self.path))

        def log_message(self, *_words: object) -> None:
            """Do not log requests: the witness logs its decisions."""

        def _answer(self, answer: WitnessResponse) -> None:
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.media_type)
            self.send_header("Content-Length", str(len(answer.body)))
            self.end_headers()
            self.wfile.write(answer.body)

    server = ThreadingHTTPServer((host, port), Handler)
    server.daemon_threads = True
    return server


def _get(witness: Witness, poller: Poller | None, path: str) -> WitnessResponse:
    """Return the response to a GET."""
    match = _CHECKPOINT.fullmatch(path)
    if match is not None:
        note = witness.latest(match[1])
        if note is None:
            return WitnessResponse(
                status=404, body=b"no checkpoint of this log was cosigned here\n"
            )
        return WitnessResponse(status=200, body=note)
    if path != HEALTH_PATH:
        return WitnessResponse(status=404, body=b"POST to /add-checkpoint\n")
    status, body = (200, b'{"status":"ok"}\n') if poller is None else health_answer(poller)
    return WitnessResponse(status=status, body=body, media_type="application/json")


def load_cosigner(path: Path, name: str | None) -> Cosigner:
    """
    Return the key of a witness from its file, which is created if it does not exist.

    The file contains the name of the key. Raises RecordError if the file is invalid or has
    another name, or if it does not exist and `name` is None or invalid.
    """
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    if not path.exists():
        if name is None:
            raise RecordError("bad_witness", "a new witness needs a name, such as w.example/1")
        made = Cosigner(name=name, key=Ed25519PrivateKey.generate())
        str(made.verifier)  # raises RecordError for an invalid name
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
        raise RecordError("bad_witness", f"the key in {path} has the name {known.name}")
    return known


def _parse(request: bytes) -> tuple[int, list[bytes], bytes]:
    """Return the old size, the proof and the checkpoint of a request."""
    above, blank, note = request.partition(b"\n\n")
    lines = above.decode("utf-8", "replace").split("\n")
    old = _OLD.fullmatch(lines[0])
    hashes = [decode_base64(line) for line in lines[1:]]
    proof = [one for one in hashes if one is not None and len(one) == len(NO_TREE.root)]
    if len(request) > MAX_REQUEST or not blank or old is None:
        raise RecordError("bad_request", "not an add-checkpoint request")
    if len(proof) != len(hashes) or len(proof) > MAX_PROOF:
        raise RecordError("bad_request", "a line of the proof is not a hash, or there are too many")
    return int(old[1]), proof, note


def _refused(status: int, detail: str) -> WitnessResponse:
    return WitnessResponse(status=status, body=f"{detail}\n".encode())


def _own_lines(checkpoint: Checkpoint, note: bytes, keys: Sequence[NoteVerifier]) -> bytes:
    """Return a checkpoint with the signatures of its log only."""
    known = {(key.name, key.key_id) for key in keys}
    lines = [
        signature_line(line.name, line.key_id, line.signature)
        for line in parse_note(note).signatures
        if (line.name, line.key_id) in known
    ]
    return f"{checkpoint.body}\n{''.join(lines)}".encode()


def _state_text(logs: Mapping[str, CosignedTree], keys: Sequence[LogKey]) -> bytes:
    state = {
        "v": 1,
        "logs": {
            name: {"size": one.size, "root": _text(one.root), "note": _text(one.note)}
            for name, one in logs.items()
        },
        "keys": [
            {"name": key.verifier.name, "public": _text(key.verifier.public), "to": key.until}
            for key in keys
        ],
    }
    return json.dumps(state, indent=1).encode() + b"\n"


def _text(data: bytes) -> str:
    return b64encode(data).decode("ascii")


def _read_log_keys(path: Path) -> tuple[LogKey, ...]:
    """Return the keys in a state file, none without one."""
    if not path.exists():
        return ()
    try:
        found = []
        for one in json.loads(path.read_bytes())["keys"]:
            public = b64decode(one["public"], validate=True)
            until = one["to"]
            if until is not None:
                parse_time(until)
            verifier = NoteVerifier(name=str(one["name"]), public=public)
            found.append(LogKey(verifier=verifier, until=until))
        return tuple(found)
    except (ValueError, TypeError, KeyError, AttributeError):
        raise RecordError("bad_witness", f"{path} is not the state of a witness") from None


def _read(path: Path) -> dict[str, CosignedTree]:
    if not path.exists():
        return {}
    try:
        logs = json.loads(path.read_bytes())["logs"]
        return {
            str(name): CosignedTree(
                size=int(one["size"]),
                root=b64decode(one["root"], validate=True),
                note=b64decode(one.get("note", ""), validate=True),
            )
            for name, one in logs.items()
        }
    except (ValueError, TypeError, KeyError, AttributeError):
        # An empty state would let the witness cosign a second tree.
        raise RecordError("bad_witness", f"{path} is not the state of a witness") from None

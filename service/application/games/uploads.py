"""Verification of an uploaded bundle or log with evidence, in this or a child process."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from socket import socket
from typing import Any

import orjson

from service.application.errors import Refusal, invalid
from service.replay.sentences import Sentence, said
from service.runtime.fork_server import ChildEnded, ForkServer, HungUp, OutOfTime
from service.shx.bundle import NotABundle, read_log
from service.shx.canonical import RecordError
from service.verify.evidence import BadEvidence, parse_evidence
from service.verify.report import audit_object
from service.verify.verify import verify_bundle


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """
    A bundle or log, and the evidence uploaded with it.

    `keys` are those of the server and of witnesses, distinguished by their algorithm, or a
    saved answer of `/v1/keys`; `seat_keys` are the players' as `0=<base64>`, `key_changes`
    link later keys to them; `proof` replaces the proof in the bundle.
    """

    data: bytes
    receipts: Sequence[bytes] = ()
    keys: Sequence[str] = ()
    seat_keys: Sequence[str] = ()
    key_changes: Sequence[bytes] = ()
    proof: bytes | None = None

    def audit(self) -> dict[str, Any]:
        """
        Return the audit object, computed from the upload alone.

        A malformed receipt or proof is a failed check. Raises Refusal `not-a-bundle`, or
        `invalid-body` for a malformed key, seat key or key change.
        """
        try:
            bundle = read_log(self.data)
        except (NotABundle, RecordError) as error:
            detail = said("request.not_a_record", reason=str(error))
            raise Refusal("not-a-bundle", detail) from None
        try:
            evidence = parse_evidence(
                receipts=self.receipts,
                keys=self.keys,
                seat_keys=self.seat_keys,
                key_changes=self.key_changes,
                proof=self.proof,
            )
        except BadEvidence as error:
            raise invalid(f"/{error.field}", error.what) from None
        return audit_object(verify_bundle(bundle, evidence))


def request_of(upload: Upload) -> bytes:
    """Return an upload as bytes: a line of JSON with the sizes, then the files."""
    files = [upload.data, *upload.receipts, *upload.key_changes]
    head = {
        "receipts": len(upload.receipts),
        "key_changes": len(upload.key_changes),
        "proof": upload.proof is not None,
        "sizes": [len(file) for file in (*files, upload.proof or b"")],
        "keys": list(upload.keys),
        "seat_keys": list(upload.seat_keys),
    }
    return b"".join((orjson.dumps(head), b"\n", *files, upload.proof or b""))


def upload_of(request: bytes) -> Upload:
    """Return the upload encoded by `request_of`."""
    line, _, rest = request.partition(b"\n")
    head = orjson.loads(line)
    files, start = [], 0
    for size in head["sizes"]:
        files.append(rest[start : start + size])
        start += size
    receipts, changes = head["receipts"], head["key_changes"]
    return Upload(
        data=files[0],
        receipts=files[1 : 1 + receipts],
        key_changes=files[1 + receipts : 1 + receipts + changes],
        proof=files[-1] if head["proof"] else None,
        keys=head["keys"],
        seat_keys=head["seat_keys"],
    )


def answer(request: bytes) -> bytes:
    """Return the answer to an encoded upload: an audit object or a refusal."""
    try:
        return orjson.dumps({"audit": upload_of(request).audit()})
    except Refusal as refusal:
        return orjson.dumps({"refusal": [refusal.code, refusal.extra]})


def audit_of(answered: bytes) -> dict[str, Any]:
    """Return the audit object of an answer; raises the Refusal in it."""
    found: Mapping[str, Any] = orjson.loads(answered)
    if "refusal" in found:
        code, extra = found["refusal"]
        detail = Sentence(code=extra["code"], values=extra["values"])
        raise Refusal(code, detail, **extra)
    audit: dict[str, Any] = found["audit"]
    return audit


Work = Callable[[bytes, Sequence[socket]], bytes]
"""Does what `answer` does, and may stop if the client closes all the given connections."""


def answer_here(request: bytes, _callers: Sequence[socket]) -> bytes:
    """Return the answer, computed in this process without a time limit."""
    return answer(request)


AGAIN_AFTER = 60
"""Retry-After in seconds; long, because another attempt takes the same time."""

_log = logging.getLogger(__name__)


@cache
def verifier() -> ForkServer:
    """Return the fork server of this process that verifies uploads."""
    return ForkServer(f"{__name__}:answer")


def within(seconds: int) -> Work:
    """
    Return a function that answers as `answer`, in a child process with a time limit.

    It raises Refusal `unavailable` after `seconds`, if all callers hang up, or if the child ends.
    """

    def work(request: bytes, callers: Sequence[socket]) -> bytes:
        try:
            return verifier().run(request, seconds=seconds, callers=callers)
        except OutOfTime:
            detail = said("request.verifying_long", n=seconds)
        except HungUp:
            detail = said("request.hung_up")
        except ChildEnded:
            _log.error("the verification of an upload crashed")
            detail = said("request.verifying_crashed")
        raise Refusal("unavailable", detail, retry_after=AGAIN_AFTER) from None

    return work

"""Time stamps of the log, by an authority of OpenSSL: honest, silent, slow, lying, set back."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from shutil import copytree
from threading import Thread
from uuid import UUID

import pytest
from cryptography.x509 import load_pem_x509_certificates

from service.keys import Keyring
from service.public_log import time_stamps
from service.public_log.log import StampedHead
from service.public_log.time_stamps import (
    AUTHORITY,
    EACH,
    Authority,
    TimeStamping,
)
from service.shx.bundle import PROOF, STAMP, STAMPED, Bundle
from service.shx.receipts import parse_receipt_body
from service.shx.time_stamps import StampRefused
from service.shx.tlog.notes import parse_note
from service.verify.evidence import OutsideEvidence
from service.verify.finding import Check, Finding, Result
from service.verify.verify import verify_bundle
from tests.malformed import CUT, DEEP, ICY, malformed
from tests.unit.verify.test_anchoring import BODY, LINES
from tests.worlds.fake_world import unconnected
from tests.worlds.memory_log import MemoryLog

pytestmark = pytest.mark.heavy

CONFIG = """
[ req ]
distinguished_name = dn
[ dn ]
[ ca ]
basicConstraints = critical, CA:true
keyUsage = critical, keyCertSign
[ tsa ]
basicConstraints = CA:false
keyUsage = critical, digitalSignature
extendedKeyUsage = critical, timeStamping
[ policy ]
serial = {folder}/serial
default_policy = 1.2.3.4.1
digests = sha256, sha512
signer_digest = sha256
ess_cert_id_alg = sha256
accuracy = secs:1
"""


@dataclass(kw_only=True)
class OpenSslAuthority:
    """A root, a time-stamp authority below it, and its service over HTTP."""

    folder: Path
    url: str = ""
    query: Callable[[bytes], bytes] = field(default=lambda query: query)
    answers: list[bytes] = field(default_factory=list)
    stored: bytes | None = None  # an answer that is sent again

    def run(self, *words: str) -> None:
        subprocess.run(["openssl", *words], cwd=self.folder, check=True, capture_output=True)

    def configure(self) -> None:
        """Write the configuration, which names the folder."""
        (self.folder / "cnf").write_text(CONFIG.format(folder=self.folder))

    def make(self) -> None:
        """Write keys and certificates, valid for a day."""
        self.configure()
        (self.folder / "serial").write_text("01\n")
        for name in ("ca", "tsa"):
            self.run("genpkey", "-algorithm", "RSA", "-out", f"{name}.key")
        own = ("-config", "cnf", "-days", "1")
        self.run("req", "-x509", "-key", "ca.key", "-subj", "/CN=Root", *own, "-extensions", "ca",
                 "-out", "ca.pem")  # fmt: skip
        self.run("req", "-new", "-key", "tsa.key", "-subj", "/CN=Stamps", "-config", "cnf",
                 "-out", "tsa.csr")  # fmt: skip
        self.run("x509", "-req", "-in", "tsa.csr", "-CA", "ca.pem", "-CAkey", "ca.key",
                 "-days", "1", "-extfile", "cnf", "-extensions", "tsa",
                 "-out", "tsa.pem")  # fmt: skip

    def answer(self, query: bytes) -> bytes:
        """Return the answer of the authority to a request."""
        if self.stored is not None:
            return self.stored
        (self.folder / "query").write_bytes(self.query(query))
        self.run("ts", "-reply", "-config", "cnf", "-section", "policy", "-queryfile", "query",
                 "-signer", "tsa.pem", "-inkey", "tsa.key", "-out", "answer")  # fmt: skip
        self.answers.append((self.folder / "answer").read_bytes())
        return self.answers[-1]

    @property
    def authority(self) -> Authority:
        roots = load_pem_x509_certificates((self.folder / "ca.pem").read_bytes())
        return Authority(url=self.url, roots=tuple(roots))


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the keys and certificates of all tests: to make them takes 0.4 s."""
    made = OpenSslAuthority(folder=tmp_path_factory.mktemp("authority"))
    made.make()
    return made.folder


@pytest.fixture
def openssl(keys: Path, tmp_path: Path) -> Iterator[OpenSslAuthority]:
    made = OpenSslAuthority(folder=Path(copytree(keys, tmp_path / "authority")))
    made.configure()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = made.answer(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.send_header("Content-Type", "application/timestamp-reply")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_words: object) -> None:
            return

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        made.url = f"http://127.0.0.1:{server.server_address[1]}"
        Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield made
        server.shutdown()


class Stamped:
    """A log in memory that is stamped, and its clock."""

    def __init__(self) -> None:
        self.log = MemoryLog()
        self.shift = timedelta()
        self._services = unconnected(
            keyring=Keyring.generate(), origin="tests.example", log_store=self.log
        )

    def now(self) -> datetime:
        return datetime.now(UTC) + self.shift

    def grow(self) -> None:
        """Add a leaf and sign it."""
        number = self.log.head().size + 1
        self.log.request(UUID(int=number), 1, bytes(32))
        self._services.sequencer.run_once()

    def stamping(self, authority: Authority | None) -> TimeStamping:
        return TimeStamping(store=self.log, authority=authority, now=self.now)


@pytest.fixture
def stamped() -> Stamped:
    made = Stamped()
    made.grow()
    return made


def test_a_checkpoint_is_stamped_and_openssl_accepts_the_token(
    openssl: OpenSslAuthority, stamped: Stamped
) -> None:
    made = stamped.stamping(openssl.authority).stamp()
    assert made is not None and made.size == 1
    assert abs(made.at - stamped.now()) < timedelta(minutes=1)
    published = stamped.log.published()
    assert published is not None
    (openssl.folder / "text").write_text(parse_note(published.note).text)
    (openssl.folder / "kept").write_bytes(made.answer)
    openssl.run("ts", "-verify", "-data", "text", "-in", "kept", "-CAfile", "ca.pem")
    with pytest.raises(subprocess.CalledProcessError):
        openssl.run("ts", "-verify", "-data", "cnf", "-in", "kept", "-CAfile", "ca.pem")


def test_a_log_is_stamped_once_a_day_and_after_a_dispute_was_opened(
    openssl: OpenSslAuthority, stamped: Stamped
) -> None:
    stamping = stamped.stamping(openssl.authority)
    assert stamping.stamp() is not None
    assert stamping.stamp() is None
    stamped.grow()
    assert not stamping.is_due()
    stamped.log.disputed_at = stamped.now()
    assert stamping.is_due()
    assert stamping.stamp() is not None
    stamped.grow()
    assert not stamping.is_due(), "the dispute was opened before the last token"
    stamped.shift = EACH + timedelta(seconds=5)
    assert stamping.is_due()


def test_a_log_that_did_not_grow_and_one_without_an_authority_are_not_stamped(
    openssl: OpenSslAuthority, stamped: Stamped
) -> None:
    assert stamped.stamping(None).stamp() is None
    stamping = stamped.stamping(openssl.authority)
    assert stamping.stamp() is not None
    stamped.shift = timedelta(days=40)
    assert stamping.stamp() is None
    assert len(openssl.answers) == 1


def test_a_bundle_has_the_token_and_the_verifier_checks_it(
    openssl: OpenSslAuthority,
) -> None:
    """Against a named certificate; without one it says that it did not."""
    log = MemoryLog()
    body = parse_receipt_body(BODY.decode())
    log.request(body.game, body.seq + 1, body.head)
    origin = body.origin
    services = unconnected(keyring=Keyring.generate(), origin=origin, log_store=log)
    services.sequencer.run_once()
    stamping = TimeStamping(store=log, authority=openssl.authority, now=lambda: datetime.now(UTC))
    assert services.log.stamp(body.game, version=body.seq + 1) == {}
    assert stamping.stamp() is not None
    files = services.log.stamp(body.game, version=body.seq + 1)
    assert set(files) == {STAMPED, STAMP}
    assert services.log.stamp(body.game, version=body.seq) == {}
    proof = services.log.proof(body.game)
    bundle = Bundle(lines=tuple(LINES), files={PROOF: proof or b"", **files})

    def anchor(bundle: Bundle, authorities: bytes = b"") -> Finding:
        outside = OutsideEvidence(server_keys=(services.verifier,), authorities=authorities)
        found = verify_bundle(bundle, outside).findings
        return next(one for one in found if one.check is Check.ANCHOR)

    own = (openssl.folder / "ca.pem").read_bytes()
    today = f"{datetime.now(UTC):%Y-%m-%dT}"
    assert "which was not checked here" in str(anchor(bundle).reason)
    passed = anchor(bundle, own)
    assert passed.result is Result.PASS
    assert f"up to event {body.seq} at {today}" in str(passed.reason)
    others = OpenSslAuthority(folder=openssl.folder / "others")
    others.folder.mkdir()
    others.make()
    other = (others.folder / "ca.pem").read_bytes()
    assert anchor(bundle, other).code == "anchor.stamp"
    wrong = replace(bundle, files={**bundle.files, STAMP: b"no token"})
    assert anchor(wrong, own).code == "anchor.stamp"


def refused(stamped: Stamped, authority: Authority, reason: str) -> None:
    """Assert that nothing is stored, and that the log goes on."""
    before = len(stamped.log.stamped(9))
    with pytest.raises(StampRefused, match=reason):
        stamped.stamping(authority).stamp()
    assert len(stamped.log.stamped(9)) == before
    stamped.grow()
    head = stamped.log.head()
    assert head.note is not None, "the next leaf is signed all the same"


@pytest.mark.parametrize("answer", [ICY, CUT, DEEP, b"", b"HTTP/1.1 500 No\r\n\r\n"])
def test_an_authority_that_is_silent_or_talks_nonsense_is_survived(
    openssl: OpenSslAuthority, stamped: Stamped, answer: bytes
) -> None:
    with malformed() as server:
        server.answer = answer
        authority = Authority(url=server.url, roots=openssl.authority.roots)
        refused(stamped, authority, "does not answer|answers 500|no valid token")


def test_an_authority_that_answers_byte_by_byte_ends_at_the_deadline(
    openssl: OpenSslAuthority, stamped: Stamped, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time_stamps, "TIMEOUT", 1.0)
    began = stamped.now()
    with malformed() as server:
        server.pause = 0.2
        authority = Authority(url=server.url, roots=openssl.authority.roots)
        refused(stamped, authority, "no complete answer")
    assert stamped.now() - began < timedelta(seconds=1 + 3)


def test_an_authority_that_stamps_something_else_is_refused(
    openssl: OpenSslAuthority, stamped: Stamped
) -> None:
    """Another text, an answer of before, and a key that leads to no named certificate."""
    openssl.run("ts", "-query", "-data", "cnf", "-sha256", "-cert", "-out", "other")
    openssl.query = lambda _query: (openssl.folder / "other").read_bytes()
    refused(stamped, openssl.authority, "Nonce|Mismatch|nonce")
    openssl.stored, openssl.query = openssl.answers[0], lambda query: query
    refused(stamped, openssl.authority, "Nonce|nonce|Mismatch")
    openssl.stored = None
    others = OpenSslAuthority(folder=openssl.folder / "others", url=openssl.url)
    others.folder.mkdir()
    others.make()
    refused(stamped, others.authority, "no valid token")


def test_an_authority_whose_clock_is_wrong_or_went_back_is_refused(
    openssl: OpenSslAuthority, stamped: Stamped
) -> None:
    for shift in (timedelta(hours=1), -timedelta(hours=1)):
        stamped.shift = shift
        refused(stamped, openssl.authority, "not within 10 minutes")
    stamped.shift = timedelta()
    ahead = stamped.now() + timedelta(minutes=5)
    old = StampedHead(
        size=1, authority="a", at=ahead, added_at=stamped.now() - EACH, answer=b"earlier"
    )
    stamped.log.keep_stamp(old)
    refused(stamped, openssl.authority, "before that of its last token")


def test_the_setting_names_an_address_and_certificates(openssl: OpenSslAuthority) -> None:
    read = AUTHORITY.read(f"https://tsa.example/x {openssl.folder}/ca.pem")
    assert read is not None and (read.url, len(read.roots)) == ("https://tsa.example/x", 1)
    for value in ("https://tsa.example", "tsa.example /ca.pem", f"https://a {openssl.folder}/no"):
        with pytest.raises(ValueError, match=r"is not|names no"):
            AUTHORITY.read(value)

"""Cases of `signatures`, `receipts`, `anchor`, `witness`, `seal`, `sequence`, and of the levels."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from typing import Any, Final
from uuid import UUID

from service.shx.bundle import PROOF, REFUSALS, write_bundle
from service.shx.chain import head
from service.shx.curve import PRIME
from service.shx.moves import refusals_file, seal_of, sign_intent
from service.shx.receipts import issue_receipt, receipt_body
from service.shx.shuffle import server_commit
from service.shx.tlog.checkpoint import Checkpoint, Cosigner, cosign, sign_checkpoint
from service.shx.tlog.notes import NoteSigner, sign_note
from service.shx.tlog.tree import TlogProof, inclusion_proof, leaf_hash, root
from tests.conformance.case import (
    KEYS,
    Case,
    Evidence,
    Lines,
    created,
    fails,
    passes,
    played,
    signed,
)
from tests.random_games import private_key, public_text
from tests.tamper import Forgery

SERVER: Final = NoteSigner(name="example.org/shithead", key=private_key("server"))
OTHER: Final = NoteSigner(name=SERVER.name, key=private_key("other server"))
WITNESS: Final = Cosigner(name="witness.example/w", key=private_key("witness"))
SERVER_KEY: Final = str(SERVER.verifier)
WITNESS_KEY: Final = str(WITNESS.verifier)
GROUP_ORDER: Final = 2**252 + 27742317777372353535851937790883648493


def cases() -> Iterator[Case]:
    """Yield every case of these checks."""
    yield from _signatures()
    yield from _keys()
    yield from _levels()
    yield from _receipts()
    yield from _anchors()
    yield from _seals()
    yield from _sequences()


def _signatures() -> Iterator[Case]:
    yield passes("signatures/honest", "two people who sign their moves", signed().lines(KEYS))

    def edited(
        name: str, says: str, change: Callable[[Forgery, int], object], *, sign: bool = False
    ) -> Case:
        f = signed()
        f.lines(KEYS)
        seq = f.find("cards_played")
        change(f, seq)
        if sign:
            _sign(f, seq)
        return fails(f"signatures/{name}", says, f.lines(), signatures=seq)

    def intent(**fields: Any) -> Callable[[Forgery, int], object]:
        return lambda f, seq: f.events[seq]["auth"]["intent"].update(fields)

    other = "00000000-0000-4000-8000-000000000000"
    yield edited(
        "unsigned", "a move without its signature", lambda f, seq: f.events[seq].pop("auth")
    )
    yield edited("forged", "an intent changed after it was signed", intent(nonce="00" * 16))
    yield edited("game", "an intent of another game", intent(game=other), sign=True)
    yield edited("move", "another move signed", intent(move={"type": "pass"}), sign=True)
    yield edited("head", "a head that the log has not", _seen(0, "00" * 32), sign=True)
    yield edited("stale", "signed before another action", _seen_before, sign=True)
    yield edited("nonce", "a nonce used before", _same_nonce, sign=True)
    yield edited("scalar", "a signature whose S is not below the order", _large_scalar)


def _sign(f: Forgery, seq: int) -> None:
    auth = f.events[seq]["auth"]["intent"]
    f.events[seq]["auth"] = sign_intent(KEYS[f.data(seq)["seat"]], auth)


def _seen(seq: int, at: str) -> Callable[[Forgery, int], object]:
    return lambda f, place: f.events[place]["auth"]["intent"].update(seen={"seq": seq, "head": at})


def _seen_before(f: Forgery, seq: int) -> None:
    dealt = f.find("cards_dealt")
    _seen(dealt, head(f.lines()[dealt]).hex())(f, seq)


def _same_nonce(f: Forgery, seq: int) -> None:
    first = next(event for event in f.events if "auth" in event)
    f.events[seq]["auth"]["intent"]["nonce"] = first["auth"]["intent"]["nonce"]


def _large_scalar(f: Forgery, seq: int) -> None:
    sig = b64decode(f.events[seq]["auth"]["sig"])
    scalar = int.from_bytes(sig[32:], "little") + GROUP_ORDER
    raised = sig[:32] + scalar.to_bytes(32, "little")
    f.events[seq]["auth"]["sig"] = b64encode(raised).decode()


def _keys() -> Iterator[Case]:
    def pinned(key: bytes) -> Lines:
        text = b64encode(key).decode()
        seat = {"kind": "human", "bot": None, "entropy": "none"}
        return created(seats=[{**seat, "key": text}, {**seat, "key": None}]).lines()

    for name, says, key in (
        ("small", "a key of small order", bytes([1, *bytes(31)])),
        ("off-curve", "a key that is no point", bytes([2, *bytes(31)])),
        ("encoding", "a key in a second encoding", (PRIME + 3).to_bytes(32, "little")),
    ):
        yield fails(f"signatures/key-{name}", says, pinned(key), signatures=0)
    lines = signed().lines(KEYS)
    foreign = {0: public_text(private_key("thief"))}
    says = "the key of a seat from outside is another one"
    evidence = Evidence(seat_keys=foreign)
    yield fails("signatures/outside", says, lines, evidence=evidence, signatures=0)
    evidence = Evidence(seat_keys={7: public_text(KEYS[0])})
    says = "a key from outside of a seat that there is not"
    yield fails("signatures/outside-seat", says, lines, evidence=evidence, signatures=0)


def _levels() -> Iterator[Case]:
    lines = signed().lines(KEYS)
    keys = {seat: public_text(key) for seat, key in KEYS.items()}
    both = Evidence(receipts=(receipt_of(lines),), server_keys=(SERVER_KEY,), seat_keys=keys)
    yield passes("levels/L3", "a receipt, and the keys of both", lines, level="L3", evidence=both)
    one = Evidence(receipts=(receipt_of(lines),), server_keys=(SERVER_KEY,), seat_keys={0: keys[0]})
    says = "L3 asked for, and the key of one seat"
    yield passes("levels/L3-one-key", says, lines, level="L2", asked="L3", evidence=one)
    says = "L2 asked for, and no receipt"
    yield passes("levels/L2", says, lines, asked="L2")
    bots = played().lines()
    evidence = Evidence(receipts=(receipt_of(bots),), server_keys=(SERVER_KEY,))
    says = "L3 asked for in a hand of bots"
    yield passes("levels/L3-bots", says, bots, level="L2", asked="L3", evidence=evidence)
    says = "a hand that is not over"
    cut = bots[: Forgery(bots).find("play_started") + 1]
    yield passes("levels/unfinished", says, cut, level="L1", missing=["seal"])


def receipt_of(lines: Lines, *, seq: int | None = None, signer: NoteSigner = SERVER) -> bytes:
    """Return the receipt of an event, by default of the last."""
    at = len(lines) - 1 if seq is None else seq
    game = UUID(Forgery(lines).events[0]["game"])
    return issue_receipt(signer, game=game, seq=at, head=head(lines[at]))


def _receipts() -> Iterator[Case]:
    lines = created().lines()
    game = UUID(Forgery(lines).events[0]["game"])
    good = receipt_of(lines)

    def given(note: bytes, *, key: bool = True) -> Evidence:
        return Evidence(receipts=(note,), server_keys=(SERVER_KEY,) if key else ())

    def body(seq: int, at: bytes, game: UUID = game) -> bytes:
        return sign_note(receipt_body(SERVER.name, game, seq, at), [SERVER])

    says = "a receipt of the last event"
    yield passes("receipts/honest", says, lines, level="L2", evidence=given(good))
    says = "a receipt of the first event"
    early = given(receipt_of(lines, seq=0))
    yield passes("receipts/early", says, lines, level="L2", evidence=early)
    says = "a receipt, and no key of the server"
    unkeyed = given(good, key=False)
    yield passes("receipts/no-key", says, lines, missing=["receipts"], evidence=unkeyed)
    for name, says, note, seq in (
        ("head", "a receipt of another head", body(1, bytes(32)), 1),
        ("beyond", "a receipt of a later event", body(2, bytes(32)), 1),
        (
            "game",
            "a receipt of another game",
            body(1, head(lines[1]), UUID(int=4 << 76 | 8 << 60)),
            None,
        ),
        ("signature", "a receipt of another key", receipt_of(lines, signer=OTHER), None),
        ("return", "a receipt with carriage returns", good.replace(b"\n", b"\r\n"), None),
        ("text", "a text in place of a receipt", b"hello\n", None),
    ):
        yield fails(f"receipts/{name}", says, lines, evidence=given(note), receipts=seq)
    inside = write_bundle(lines, files={"receipts/a.note": body(1, bytes(32))})
    yield fails("receipts/inside", "a receipt of another head in the bundle", inside, receipts=1)
    inside = write_bundle(lines, files={"receipts/a.note": good})
    yield passes("receipts/inside-good", "a receipt in the bundle raises no level", inside)


def proof_of(
    lines: Lines, *, signer: NoteSigner = SERVER, at: bytes | None = None, seen: str | None = None
) -> bytes:
    """Return the proof that the last event is in a public log of two leaves; `seen` is cosigned."""
    game, last = UUID(Forgery(lines).events[0]["game"]), len(lines) - 1
    body = receipt_body(SERVER.name, game, last, at or head(lines[last])).encode()
    leaves = [leaf_hash(b"another"), leaf_hash(body)]
    checkpoint = Checkpoint(origin=SERVER.name, size=2, root=root(leaves))
    note = sign_checkpoint(checkpoint, [signer])
    note += cosign(seen or checkpoint.body, WITNESS, timestamp=1_790_000_000).encode()
    hashes = tuple(inclusion_proof(leaves, 1))
    return TlogProof(index=1, hashes=hashes, checkpoint=note, extra=body).text


def _anchors() -> Iterator[Case]:
    lines = created().lines()
    key = Evidence(server_keys=(SERVER_KEY,))
    both = Evidence(server_keys=(SERVER_KEY,), witness_keys=(WITNESS_KEY,), quorum=1)

    def bundle(proof: bytes) -> bytes:
        return write_bundle(lines, files={PROOF: proof})

    good = proof_of(lines)
    yield passes("anchor/honest", "a proof of the public log", bundle(good), evidence=key)
    yield passes("witness/honest", "a cosigned checkpoint", bundle(good), evidence=both)
    says = "a proof, and no key of the server"
    yield passes("anchor/no-key", says, bundle(good))
    other = bundle(proof_of(lines, at=bytes(32)))
    yield fails("anchor/head", "a public log with another head", other, evidence=key, anchor=1)
    forged = bundle(proof_of(lines, signer=OTHER))
    yield fails("anchor/signature", "a checkpoint of another key", forged, evidence=key, anchor=1)
    at = good.index(b"\n\n") - 5
    changed = good[:at] + bytes([good[at] ^ 1]) + good[at + 1 :]
    yield fails(
        "anchor/proof", "a hash of the proof changed", bundle(changed), evidence=key, anchor=1
    )
    says = "a text in place of a proof"
    yield fails("anchor/text", says, bundle(b"hello\n"), evidence=key, anchor=None)
    stranger = str(Cosigner(name="witness.example/x", key=private_key("stranger")).verifier)
    asked = Evidence(server_keys=(SERVER_KEY,), witness_keys=(stranger,), quorum=1)
    says = "a cosignature of another witness than the one asked for"
    yield passes("witness/other", says, bundle(good), missing=["witness"], evidence=asked)
    elsewhere = Checkpoint(origin=SERVER.name, size=2, root=bytes(32))
    forged = bundle(proof_of(lines, seen=elsewhere.body))
    says = "a cosignature of another checkpoint"
    yield fails("witness/signature", says, forged, evidence=both, witness=None)


def _seals() -> Iterator[Case]:
    rows = [
        {"at": f"2026-11-21T02:46:0{n}.000000Z", "move": {"type": "pass"}, "rule": "L1", "seat": n}
        for n in (0, 1)
    ]
    good = refusals_file(rows)

    def sealed(file: bytes | None, sealing: bytes, **refusals: Any) -> bytes:
        f = created()
        f.data(1)["refusals"] = {**seal_of(sealing).as_json(), **refusals}
        return write_bundle(f.lines(), files={} if file is None else {REFUSALS: file})

    yield passes("seal/honest", "two refused attempts", sealed(good, good))
    yield passes("seal/absent", "refused attempts that were deleted", sealed(None, good))
    for name, says, file in (
        ("order", "refused attempts out of order", refusals_file(rows[::-1])),
        ("junk", "a line that is no attempt", b"junk\njunk\n"),
        ("rule", "a rule that is a number", refusals_file([{**row, "rule": 1} for row in rows])),
        ("rule-empty", "an empty rule", refusals_file([{**row, "rule": ""} for row in rows])),
        (
            "seat",
            "an attempt of a seat that there is not",
            refusals_file([rows[0], {**rows[1], "seat": 2}]),
        ),
        ("field", "a field too many", refusals_file([{**row, "note": 1} for row in rows])),
        ("space", "a line that is not canonical", good.replace(b":", b": ", 1)),
    ):
        yield fails(f"seal/{name}", says, sealed(file, file), seal=1)
    says = "another file than the sealed one"
    yield fails("seal/hash", says, sealed(refusals_file(rows[:1] * 2), good), seal=1)
    yield fails("seal/count", "a line too few", sealed(refusals_file(rows[:1]), good), seal=1)
    says = "a count with the hash of no bytes"
    yield fails("seal/none", says, sealed(None, b"", count=3), seal=1)


def _sequences() -> Iterator[Case]:
    previous = "5b7f90c3-5ccd-4995-9042-3b8b34d9aef9"
    f = created(dealer=0)
    yield fails("sequence/dealer", "hand 1 with a chosen dealer", f.lines(), sequence=0)
    f = created(hand=2, dealer=0)
    yield fails("sequence/previous", "hand 2 without the game before", f.lines(), sequence=0)
    f = created(hand=2, dealer=0, prev_game=previous)
    yield passes("sequence/hand-2", "hand 2 after another game", f.lines())
    first = created().lines()
    f = created(hand=3, dealer=0, prev_game=Forgery(first).events[0]["game"])
    other = _of_another_game(f)
    says = "hand 3 after hand 1"
    together = Evidence(others=(b"".join(line + b"\n" for line in other),))
    yield fails("sequence/gap", says, first, evidence=together, sequence=0)
    again = Evidence(others=(b"".join(line + b"\n" for line in first),))
    yield passes("sequence/copy", "a log and its copy", first, evidence=again)


def _of_another_game(f: Forgery) -> Lines:
    """Return the log under another game's id, with a seed of its own."""
    game, seed = UUID("00000000-0000-4000-8000-0000000000aa"), bytes([9] * 32)
    for event in f.events:
        event["game"] = str(game)
    f.data(0)["commit"] = server_commit(game, seed).hex()
    f.data(1)["seed"] = seed.hex()
    return f.lines()

"""The JavaScript verifier in Node.js: test vectors, samples, and every attack as in Python."""

from __future__ import annotations

import json
import random
import re
import subprocess
from base64 import b64encode
from collections.abc import Iterator, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote
from uuid import UUID

import pytest

from service.api.pages import strings
from service.shx.archives import read_zip, write_zip
from service.shx.bundle import (
    OPENINGS,
    PROOF,
    REFUSALS,
    NotABundle,
    read_bundle,
    read_log,
    write_bundle,
)
from service.shx.canonical import canonical
from service.shx.chain import head
from service.shx.receipts import issue_receipt, receipt_body
from service.shx.tlog.checkpoint import Cosigner, cosign
from service.shx.tlog.notes import NoteSigner, sign_note, signature_line
from service.shx.tlog.tree import TlogProof, leaf_hash
from service.verify.evidence import OutsideEvidence
from service.verify.finding import Check
from service.verify.verify import verify_bundle
from service.words import FOLDER as WORDS
from tests.acceptance.test_mutations import patterns
from tests.attacks.catalogue import ATTACKS
from tests.attacks.registry import Kind
from tests.attacks.rule_attacks import swap_for_a_silent_seat
from tests.conformance import leaving_cases
from tests.examples import stride
from tests.packed_again import never_accepted, packed, packed_again
from tests.random_games import private_key
from tests.tamper import LOGS, Forgery, sample, sample_bundle, sample_lines
from tests.unit.verify.test_anchoring import (
    GAME,
    LAST,
    LINES,
    SERVER,
    THIEF,
    WITNESS,
    proof,
    receipt,
)
from tests.unit.verify.test_exchange_time_outs import laid_for_the_silent, silent_layout
from tests.web.node import INTACT, ROOT, VERIFIER, Case, answer_of, differences, in_node, node

OTHER = NoteSigner(name="other.example", key=private_key("other"))

SHARE = 48
"""CI tries one in this number of the mutations; the long run tries all of them."""


def sample_case(name: str) -> Case:
    bundle = sample_bundle(name)
    return Case(name=name, lines=bundle.lines, files=dict(bundle.files))


def test_the_test_vectors_match() -> None:
    done = subprocess.run(
        [node(), ROOT / "tests" / "web" / "vectors.js", ROOT / "ops/spec/vectors.json"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "3 vectors"


def test_every_sample_passes_as_in_python() -> None:
    cases = [sample_case(path.stem) for path in LOGS]
    reports = in_node(cases)
    assert differences(cases, reports) == []
    for report in reports:
        assert "fail" not in {result for result, _ in answer_of(report).values()}


def chosen_attacks() -> list[Kind]:
    """Return an attack of each family on each check, and every fortieth one; in a long run all."""
    firsts = {(kind.family, kind.check): number for number, kind in reversed([*enumerate(ATTACKS)])}
    numbers = {*firsts.values(), *range(0, len(ATTACKS), stride(40))}
    return [ATTACKS[number] for number in sorted(numbers)]


@pytest.mark.heavy
def test_every_registered_attack_is_judged_as_in_python() -> None:
    """The same result of every check, and the same first event."""
    kinds = chosen_attacks()
    assert {kind.family for kind in kinds} == {kind.family for kind in ATTACKS}
    cases = [Case(name=kind.name, lines=kind.make()[0].lines()) for kind in kinds]
    assert len(cases) > 60
    assert differences(cases, in_node(cases)) == []


def mutated(names: Sequence[str]) -> Iterator[Case]:
    for pattern in names:
        name, seq, mutation = random.Random(pattern).choice(patterns()[pattern])
        forgery = Forgery(sample_lines(name))
        forgery.events[seq]["data"] = mutation.applied(forgery.events[seq]["data"])
        files = dict(sample_bundle(name).files)
        yield Case(name=f"{name} at {seq}: {pattern}", lines=forgery.lines(), files=files)


@pytest.mark.heavy
def test_changes_of_one_value_are_judged_as_in_python() -> None:
    cases = list(mutated([*patterns()][::SHARE]))
    assert differences(cases, in_node(cases)) == []


@pytest.mark.long
def test_every_kind_of_change_of_one_value_is_judged_as_in_python() -> None:
    cases = list(mutated([*patterns()]))
    assert differences(cases, in_node(cases)) == []


def wrong_seats() -> Iterator[tuple[Case, int]]:
    """Yield logs with a seat too many or too few in one event, and its seq."""
    for name, kind, field in (
        ("shithead", "cards_drawn", "seat"),
        ("shithead", "pile_burned", "seat"),
        ("shithead", "blind_failed", "taker"),
        ("reverse", "pile_picked_up", "taker"),
        ("threes-katastrophic", "seat_out", "seat"),
        ("egilsson", "stock_failed", "taker"),
    ):
        forgery = Forgery(sample_lines(name))
        seq = forgery.find(kind)
        forgery.data(seq)[field] = len(forgery.data(0)["seats"])
        yield Case(name=f"{name}: {kind} {field}", lines=forgery.lines()), seq
    for name in ("shithead", "reverse-second-hand"):  # the second lays its cards: `up` is 0
        for change in ("one less", "one more"):
            forgery = Forgery(sample_lines(name))
            seq = forgery.find("cards_dealt")
            faces = forgery.data(seq)["face_up"]
            forgery.data(seq)["face_up"] = faces[:-1] if change == "one less" else [*faces, []]
            yield Case(name=f"{name}: face_up {change}", lines=forgery.lines()), seq


def test_a_seat_that_the_table_does_not_have_fails_order_alone_in_both_verifiers() -> None:
    cases, seqs = zip(*wrong_seats(), strict=True)
    reports = in_node(cases)
    assert differences(cases, reports) == []
    for case, seq, report in zip(cases, seqs, reports, strict=True):
        answer = answer_of(report)
        found = [answer[check] for check in ("order", "deal", "custody")]
        assert found == [("fail", seq), ("missing", None), ("missing", None)], case.name


@pytest.mark.heavy
def test_a_move_for_a_silent_seat_in_the_exchange_fails_order_in_both_verifiers() -> None:
    """Cards may be laid for it only together with its `ready`, and none may be swapped."""
    swapped = sample("threes-time-outs")
    forged = {"swap": (swapped, swap_for_a_silent_seat(swapped))}
    for change in ("not ready", "another seat ready"):
        forgery = silent_layout()
        seq = laid_for_the_silent(forgery)
        if change == "not ready":
            forgery.drop(seq + 1)
        else:
            forgery.data(seq + 1)["seat"] = 0
        forged[change] = (forgery, seq)
    cases = [Case(name=name, lines=forgery.lines()) for name, (forgery, _) in forged.items()]
    reports = in_node([*cases, honest := Case(name="honest", lines=silent_layout().lines())])
    assert differences([*cases, honest], reports) == []
    found = [answer_of(report)["order"] for report in reports]
    assert found == [*(("fail", seq) for _, seq in forged.values()), ("pass", None)]


def rearranged(tries: int) -> Iterator[Case]:
    """Yield logs with dropped, repeated, moved or exchanged events and recomputed hashes."""
    chance = random.Random("rearranged")
    for number in range(tries):
        name = chance.choice(LOGS).stem
        forgery = Forgery(sample_lines(name))
        events = forgery.events
        one, other = chance.randrange(len(events)), chance.randrange(len(events))
        match number % 5:
            case 0:
                del events[one : one + 2]
            case 1:
                events.insert(other, deepcopy(events[one]))
            case 2:
                events[one], events[other] = events[other], events[one]
            case 3:
                events.insert(other, events.pop(one))
            case _:
                events[one]["by"] = chance.choice([None, 0, 1, 5])
        yield Case(name=f"{name}: {number}, {one}, {other}", lines=forgery.lines())


@pytest.mark.heavy
def test_rearranged_events_are_judged_as_in_python() -> None:
    cases = list(rearranged(60 // stride(2)))
    assert differences(cases, in_node(cases)) == []


def changed_lines() -> Iterator[tuple[str, tuple[bytes, ...]]]:
    """Yield logs with changed bytes, without recomputed hashes."""
    lines = list(sample_lines("shithead-keyed"))
    yield "a byte", (*lines[:30], lines[30].replace(b'"seat":', b'"seat" :'), *lines[31:])
    play = next(i for i, line in enumerate(lines) if b'"zone":"hand"' in line)
    another = lines[play].replace(b'"cards":["', b'"cards":["2c","')
    yield "a card more", (*lines[:play], another, *lines[play + 1 :])
    yield "another history", (*lines[:40], *sample_lines("shithead")[40:])
    yield "not UTF-8", (*lines[:30], lines[30] + b"\xff", *lines[31:])
    yield "an empty line", (*lines[:30], b"", *lines[30:])
    yield "a line twice", (*lines[:30], lines[30], *lines[30:])
    yield "a line left out", (*lines[:30], *lines[31:])
    yield "two lines exchanged", (*lines[:30], lines[31], lines[30], *lines[32:])
    yield "cut", tuple(lines[:100])
    yield "a big number", (lines[0].replace(b'"turn_limit":600', b'"turn_limit":1e400'), *lines[1:])
    yield "a name twice", (lines[0].replace(b'"v":1', b'"v":1,"v":1'), *lines[1:])
    yield "deep", (b'{"a":' + b"[" * 100_000, *lines[1:])
    yield "another first event", (lines[0].replace(b'"sample"', b'"simple"'), *lines[1:])
    yield "not normalised", (lines[0].replace(b'"sample"', '"sa\u0308mple"'.encode()), *lines[1:])


@pytest.mark.heavy
def test_changed_bytes_are_judged_as_in_python() -> None:
    cases = [Case(name=name, lines=lines) for name, lines in changed_lines()]
    assert differences(cases, in_node(cases)) == []


YEARS: Final = ("0000", "0001", "9999")
LIMITS: Final[tuple[tuple[str, str, tuple[str | int, ...], tuple[Any, ...]], ...]] = (
    ("shithead", "game_created", ("data", "hand"), (2**31 + 1, 2**53 - 1)),
    ("shithead", "game_created", ("data", "turn_limit"), (2**31 + 1, 2**53 - 1)),
    ("threes-time-outs", "game_created", ("data", "clock", "turn_seconds"), (2**31 + 1,)),
    ("shithead", "game_created", ("data", "engine", "version"), ("", "x" * 300, "x" * 301)),
    ("shithead", "game_created", ("data", "seats", 1, "bot"), ("", "\U0001f600" * 300)),
    ("shithead", "game_created", ("data", "ruleset", "options"), ({"": ""}, {"a": "x" * 301})),
    ("shithead", "game_created", ("data", "ruleset", "id"), ("custom-0123456789abcdef", "")),
    ("shithead", "game_created", ("data", "deck"), (
        {"decks": 0, "jokers": 0, "partial": []},
        {"decks": 0, "jokers": 2, "partial": []},
        {"decks": 100, "jokers": 0, "partial": []},
        {"decks": 1261, "jokers": 0, "partial": []},
    )),
    ("shithead", "cards_drawn", ("data", "count"), (65_535, 65_536, 65_537)),
    ("shithead", "cards_dealt", ("data", "face_up", 0, 0, "p"), (65_535, 65_536)),
    ("shithead", "blind_failed", ("data", "slot"), (65_535, 65_536)),
    ("shithead", "cards_played", ("data", "cards", 0), ("X1/2", "X99999", "2c/1", "2c/9999")),
    ("shithead-refused-attempts", "game_sealed", ("data", "refusals", "count"), (12_800, 12_801)),
    ("shithead-keyed", "seat_ready", ("auth", "intent", "seen", "seq"), (99_999, 100_000)),
)  # fmt: skip
"""A sample, an event type, the place of a value in the event, and values around its limit."""


def at_limits() -> Iterator[Case]:
    """Yield logs with one value that is the last permitted one, or the first that is not."""
    for name, kind, path, values in LIMITS:
        for value in values:
            forgery = Forgery(sample_lines(name))
            seq = forgery.find(kind)
            at: Any = forgery.events[seq]
            for step in path[:-1]:
                at = at[step]
            at[path[-1]] = value
            yield Case(name=f"{name}, {kind}, {path}: {value!r:.40}", lines=forgery.lines())
    for year in YEARS:
        forgery = Forgery(sample_lines("shithead"))
        for event in forgery.events:
            event["at"] = year + event["at"][4:]
        yield Case(name=f"year {year}", lines=forgery.lines())


def signed_by_nobody() -> Iterator[Case]:
    """Yield logs in which an event that no player can sign has the signature of another."""
    for kind in ("deck_committed", "entropy_revealed", "cards_drawn", "game_ended"):
        forgery = Forgery(sample_lines("shithead-keyed"))
        auth = forgery.events[forgery.find("seat_ready")]["auth"]
        forgery.events[forgery.find(kind)]["auth"] = deepcopy(auth)
        yield Case(name=f"{kind} with a signature", lines=forgery.lines())


@pytest.mark.heavy
def test_values_at_the_limits_are_judged_as_in_python() -> None:
    """Each limit is the same in both, so a log that one of them refuses passes in neither."""
    cases = [*at_limits(), *signed_by_nobody()]
    assert differences(cases, in_node(cases)) == []


def outside_cases() -> Iterator[Case]:
    """Yield a true log with receipts, keys, proofs and files, true and false."""
    key: dict[str, Any] = {"server_keys": (SERVER.verifier,)}

    def case(name: str, *, files: dict[str, bytes] | None = None, **given: Any) -> Case:
        outside = OutsideEvidence(**given)
        return Case(name=name, lines=LINES, files=files or {}, evidence=outside)

    broken = receipt(9).replace(b"\n10\n", b"\n11\n")
    yield case("a receipt", receipts=(receipt(9),), **key)
    yield case("receipts without a key", receipts=(receipt(9), receipt(20)))
    yield case("a receipt by another key", receipts=(receipt(9, THIEF),), **key)
    yield case("a changed receipt", receipts=(broken,), **key)
    yield case("a changed receipt without a key", receipts=(broken,))
    yield case("no receipt", receipts=(b"nothing",), **key)
    yield case("a receipt within", files={"receipts/a.note": receipt(9)}, **key)
    yield case("a false receipt within", files={"receipts/a.note": broken})
    cut = Case(name="cut after the receipt", lines=LINES[:30], evidence=OutsideEvidence(
        receipts=(receipt(40),), server_keys=(SERVER.verifier,)
    ))  # fmt: skip
    yield cut
    for extra in (True, False):
        yield case(f"a proof, extra {extra}", files={PROOF: proof(extra=extra)}, **key)
    yield case("a proof without a key", files={PROOF: proof()})
    yield case("a proof of a part", files={PROOF: proof(40)}, **key)
    yield case("another index", files={PROOF: proof().replace(b"index 1", b"index 0")}, **key)
    yield case("another server key", files={PROOF: proof()}, server_keys=(THIEF.verifier,))
    yield case("no proof", files={PROOF: b"nothing\n"}, **key)
    witness: dict[str, Any] = {"witnessed": True, "witness_keys": (WITNESS.verifier,)}
    yield case("a witness", files={PROOF: proof()}, **key, **witness)
    yield case("a witness and no proof", **key, **witness)
    yield case("openings that are none", files={OPENINGS: b"[1]"})
    yield case("refusals of version 1", files={REFUSALS: b"{}\n"})


@pytest.mark.heavy
def test_receipts_proofs_and_files_are_judged_as_in_python() -> None:
    cases = list(outside_cases())
    reports = in_node(cases)
    assert differences(cases, reports) == []
    passed = answer_of(reports[0])
    assert passed["receipts"] == ("pass", None)


def wrong_notes() -> Iterator[tuple[str, str]]:
    """Yield receipts with further signature lines, and names of other servers."""
    body, _, line = receipt(40).decode().rpartition("\n\n")
    body += "\n"
    good = f"{body}\n{line}"
    wrong = signature_line(SERVER.name, SERVER.verifier.key_id, bytes(64))
    yield "wrong, then right", f"{body}\n{wrong}{line}"
    yield "right, then wrong", f"{body}\n{line}{wrong}"
    yield "twice right", good + line
    yield "a second key, wrong", good + signature_line(OTHER.name, OTHER.verifier.key_id, bytes(64))
    yield "another origin", receipt(40, OTHER).decode().replace(OTHER.name, SERVER.name, 1)
    signed = sign_note(body.replace(SERVER.name, "else.example"), [SERVER])
    yield "another origin, signed", signed.decode()
    unknown = b64encode(bytes(68)).decode()
    for space in ("\u0085", "\u2028", "\ufeff"):
        yield f"a name with {space!r}", f"{good}\u2014 a{space}b {unknown}\n"
    for lines in (99, 100):
        yield f"{lines} unknown lines", good + f"\u2014 a {unknown}\n" * lines
    for size in ("100000", "100001", "041", "0"):
        yield (
            f"the size {size}",
            sign_note(body.replace("\n41\n", f"\n{size}\n"), [SERVER]).decode(),
        )


def checkpointed(
    *,
    seq: int = LAST,
    origin: str = SERVER.name,
    size: str = "1",
    more: str = "",
    cosigned: Sequence[tuple[Cosigner, int]] = ((WITNESS, 5),),
    below: str = "",
) -> bytes:
    """Return the proof of a tree with one leaf; the text of its checkpoint is signed as it is."""
    body = receipt_body(origin, GAME, seq, head(LINES[seq]))
    root = b64encode(leaf_hash(body.encode())).decode()
    text = f"{origin}\n{size}\n{root}\n{more}"
    note = sign_note(text, [SERVER]).decode() + below
    note += "".join(cosign(text, witness, timestamp=time) for witness, time in cosigned)
    return TlogProof(index=0, hashes=(), checkpoint=note.encode(), extra=body.encode()).text


def wrong_proofs() -> Iterator[tuple[str, bytes]]:
    yield "as it should be", checkpointed()
    yield "another origin", checkpointed(origin="else.example")
    yield "an extension line", checkpointed(more="more\n")
    yield "an empty extension line", checkpointed(more="more\n\nmore\n")
    for size in ("01", "0", str(2**63 - 1), str(2**63)):
        yield f"the size {size}", checkpointed(size=size)
    wrong = signature_line(SERVER.name, SERVER.verifier.key_id, bytes(64))
    yield "a wrong signature below", checkpointed(below=wrong)
    yield "an earlier event", checkpointed(seq=40)
    yield "a wrong root", checkpointed().replace(b"index 0", b"index 1")
    yield "no cosignature", checkpointed(cosigned=())
    wrong = signature_line(WITNESS.name, WITNESS.verifier.key_id, bytes(72))
    yield "a wrong cosignature below", checkpointed(below=wrong)
    for time in (0, 253_402_300_800, 2**63 - 1, 2**63):
        yield f"cosigned at {time}", checkpointed(cosigned=((WITNESS, time),))


def note_cases() -> Iterator[Case]:
    keys = (SERVER.verifier, OTHER.verifier)
    for name, text in wrong_notes():
        held = OutsideEvidence(receipts=(text.encode(),), server_keys=keys)
        yield Case(name=f"a receipt: {name}", lines=LINES, evidence=held)
    for name, note in (("of an unknown key", receipt(9, THIEF)), ("of another", receipt(9, OTHER))):
        held = OutsideEvidence(receipts=(receipt(9),), server_keys=keys)
        files = {"receipts/a.note": note}
        yield Case(name=f"a receipt within {name}", lines=LINES, files=files, evidence=held)
    one, two = WITNESS.verifier, Cosigner(name="again.example/w", key=WITNESS.key)
    for name, data in wrong_proofs():
        held = OutsideEvidence(server_keys=keys[:1], witness_keys=(one,), witnessed=True)
        yield Case(name=f"a proof: {name}", lines=LINES, files={PROOF: data}, evidence=held)
    three = Cosigner(name="third.example/w", key=THIEF.key)
    several = {PROOF: checkpointed(cosigned=((WITNESS, 9), (two, 5), (three, 7)))}
    for quorum in (1, 2, 3):
        held = OutsideEvidence(
            server_keys=keys[:1],
            witness_keys=(one, three.verifier),
            witnessed=True,
            quorum=quorum,
        )
        yield Case(name=f"{quorum} of two witnesses", lines=LINES, files=several, evidence=held)
    both = {PROOF: checkpointed(cosigned=((WITNESS, 5), (two, 5)))}
    for witnesses in ((one, one), (one, two.verifier)):
        held = OutsideEvidence(server_keys=keys[:1], witness_keys=witnesses, witnessed=True)
        yield Case(name=f"witnesses {witnesses}", lines=LINES, files=both, evidence=held)


@pytest.mark.heavy
def test_notes_and_checkpoints_with_one_fault_are_judged_as_in_python() -> None:
    cases = list(note_cases())
    reports = in_node(cases)
    assert differences(cases, reports) == []
    answers = {case.name: answer_of(one) for case, one in zip(cases, reports, strict=True)}
    results = {
        name: tuple(answer[check][0] for check in ("receipts", "anchor", "witness"))
        for name, answer in answers.items()
    }
    for quorum, since in ((1, 7), (2, 9)):
        [report] = [
            one
            for case, one in zip(cases, reports, strict=True)
            if case.name == f"{quorum} of two witnesses"
        ]
        [said] = by_check(report["findings"])["witness"]["remarks"]
        assert said["values"]["since"] == f"1970-01-01T00:00:0{since}Z"
        assert (said["values"]["count"], said["values"]["of"]) == (2, 2)
    assert results["a receipt: twice right"] == ("pass", "missing", "n/a")
    assert results["a receipt: another origin, signed"] == ("fail", "missing", "n/a")
    assert results["a receipt within of an unknown key"] == ("pass", "missing", "n/a")
    assert results["a proof: as it should be"] == ("missing", "pass", "pass")
    assert results["a proof: another origin"] == ("missing", "fail", "pass")
    assert results["a proof: an earlier event"] == ("missing", "pass", "missing")
    assert results["a proof: a wrong root"] == ("missing", "fail", "fail")
    assert results[f"a proof: cosigned at {2**63 - 1}"] == ("missing", "pass", "pass")
    assert results[f"a proof: cosigned at {2**63}"] == ("missing", "pass", "fail")


def test_a_receipt_of_100_mb_takes_little_memory(tmp_path: Path) -> None:
    """
    It is refused by its size; copying it without its CR took 1.6 GB.

    The process of the tests can be larger: what a program has used until its `exec` counts, so a
    shell starts this one.
    """
    (tmp_path / "game.shx").write_bytes(write_bundle(LINES))
    with (tmp_path / "mine.note").open("wb") as file:
        file.truncate(100 << 20)
    measured = "process.on('exit', () => console.log(process.resourceUsage().maxRSS));"
    done = subprocess.run(
        [
            *("sh", "-c", '"$@"; exit $?', "sh"),
            *(node(), "--import", f"data:text/javascript,{quote(measured)}"),
            *(VERIFIER / "cli.js", "game.shx", "--receipt", "mine.note"),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert int(done.stdout.split()[-1]) < 400 << 10


def key_list(**fields: Any) -> str:
    """Return an answer of `/v1/keys` with the server's key, in which fields have other values."""
    public = b64encode(SERVER.verifier.public).decode()
    item = {"name": SERVER.name, "public": public, "id": SERVER.verifier.key_id.hex()}
    return json.dumps({"items": [{**item, **fields}, item]})


@pytest.mark.parametrize(
    ("option", "keys", "status"),
    [
        ("--server-key", key_list(), 0),
        ("--server-key", key_list(id="00000000"), 64),
        ("--server-key", key_list(public="AAAA"), 64),
        ("--server-key", key_list(public=None), 64),
        ("--server-key", key_list(name=None), 64),
        ("--witness-key", key_list(), 64),
    ],
)
def test_a_list_with_a_malformed_key_is_refused_and_no_list_has_witnesses(
    tmp_path: Path, option: str, keys: str, status: int
) -> None:
    """The signature of the server on its own checkpoint must not count as that of a witness."""
    (tmp_path / "game.shx").write_bytes(write_bundle(LINES, files={PROOF: checkpointed()}))
    (tmp_path / "keys.json").write_text(keys)
    server = ("--server-key", str(SERVER.verifier))
    done = subprocess.run(
        [node(), VERIFIER / "cli.js", "game.shx", *server, option, "keys.json"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == status, done.stdout + done.stderr


@pytest.mark.parametrize(("line_end", "status"), [(b"\n", 0), (b"\r\n", 1)])
def test_the_command_line_refuses_receipts_with_cr_and_counts_each_witness_once(
    tmp_path: Path, line_end: bytes, status: int
) -> None:
    """A C2SP note has no CR; a list of keys is no note."""
    files = {
        "game.shx": write_bundle(LINES, files={PROOF: checkpointed()}),
        "mine.note": receipt(LAST).replace(b"\n", line_end),
        "keys": f"{SERVER.verifier} {OTHER.verifier}\r\n".encode(),
    }
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    options = ("--receipt", "mine.note", "--server-key", "keys")
    witness = ("--witness-key", str(WITNESS.verifier))
    done = subprocess.run(
        [node(), VERIFIER / "cli.js", "game.shx", *options, *witness, *witness],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == status, done.stdout + done.stderr
    assert ("A receipt has carriage returns" in done.stdout) == bool(status)


def archives() -> Iterator[tuple[str, bytes]]:
    good = write_bundle(LINES, files={"receipts/a.note": receipt(LAST)})
    yield "good", good
    yield "a byte of the log", good.replace(b'"seat":1', b'"seat":2', 1)
    yield "something behind", good + b"\0"
    yield "something before", b"PK" + good
    yield "cut", good[:-1]
    yield "a name", good.replace(b"receipts/a.note", b"receipts/../../x")
    yield "a name that is not allowed", good.replace(b"receipts/a.note", b"receipts/a.nota")
    yield (
        "compressed",
        good.replace(b"PK\x01\x02\x14\x03\x14\0\0\0\0\0", b"PK\x01\x02\x14\x03\x14\0\0\0\x08\0", 1),
    )
    yield "nothing", b""
    yield "a picture", b"\x89PNG\r\n"
    yield "another version", good.replace(b'"v":1}', b'"v":2}')
    yield "a list as profile", with_manifest(profile=["public"])
    made_by_unix = b"PK\x01\x02\x14\x03"
    directory = good.index(made_by_unix)
    for system in (0, 3, 19):
        entry = bytearray(good[directory:])
        entry[5], entry[40:42] = system, (0o120777).to_bytes(2, "little")
        yield f"a link of system {system}", good[:directory] + bytes(entry)
    yield "a line too many", b"".join(line + b"\n" for line in LINES) + b"{}\n" * 100_000 + b"{}"


def with_manifest(**fields: Any) -> bytes:
    """Return a bundle with other values in its manifest."""
    files = read_zip(write_bundle(LINES))
    manifest = {**json.loads(files["manifest.json"]), **fields}
    return write_zip({**files, "manifest.json": canonical(manifest)})


@pytest.mark.parametrize(
    ("fields", "seq"),
    [
        ({"profile": "seat-1"}, None),
        ({"profile": "seat-63"}, 0),
        ({"made_at": "2020-01-01T00:00:00.000000Z"}, LAST),
        ({"game": "00000000-0000-0000-0000-000000000000"}, 0),
    ],
)
def test_a_manifest_that_does_not_fit_its_log_is_judged_as_in_python(
    fields: dict[str, str], seq: int | None
) -> None:
    bundle = with_manifest(**fields)
    [report] = in_node([Case(name="manifest", bundle=bundle)])
    found = verify_bundle(read_bundle(bundle), OutsideEvidence()).findings
    [python] = [one for one in found if one.check is Check.CHAIN]
    answer = ("pass", None) if seq is None else ("fail", seq)
    assert answer_of(report)["chain"] == (python.result.value, python.seq) == answer


def test_archives_are_refused_as_in_python() -> None:
    cases = [Case(name=name, bundle=data) for name, data in archives()]
    for case, report in zip(cases, in_node(cases), strict=True):
        accepted = case.name in ("good", "a byte of the log")
        if not accepted:
            with pytest.raises(NotABundle):
                read_log(case.content)
        assert ("refused" not in report) is accepted, case.name
    assert read_bundle(next(archives())[1]).lines == LINES


@pytest.mark.heavy
def test_archives_packed_again_are_read_as_in_python() -> None:
    bundle = write_bundle(LINES, files={"receipts/a.note": receipt(LAST)})
    good = [Case(name=name, bundle=data) for name, data in packed_again(bundle)]
    bad = [Case(name=name, bundle=data) for name, data in never_accepted(bundle)]
    [plain, *reports] = in_node([Case(name="plain", bundle=bundle), *good, *bad])
    for case, report in zip(good, reports, strict=False):
        assert "refused" not in report, (case.name, report)
        assert by_check(report["findings"])["bytes"]["remarks"] == [
            {"code": "bytes.repacked", "values": {}}
        ]
        assert answer_of(report) == answer_of(plain), case.name
    for case, report in zip(bad, reports[len(good) :], strict=True):
        assert "refused" in report, case.name


def test_a_file_that_is_not_the_listed_one_is_judged_as_in_python() -> None:
    """The log inside is judged nevertheless, so that the report names the changed event."""
    sealed = sample_bundle("shithead-refused-attempts")
    files = read_zip(write_bundle(sealed.lines, files=sealed.files))
    log, refusals = files["events.jsonl"], files["refusals.jsonl"]
    card = log.index(b'"cards":["', log.index(b'"type":"play_started"')) + len(b'"cards":["')
    edited = log[:card] + (b"2" if log[card : card + 1] != b"2" else b"3") + log[card + 1 :]
    changes: dict[str, dict[str, bytes | None]] = {
        "a card": {"events.jsonl": edited},
        "the line end": {"events.jsonl": log.removesuffix(b"\n")},
        "a refusal": {"refusals.jsonl": refusals.replace(b'"at":"2', b'"at":"3', 1)},
        "no refusals": {"refusals.jsonl": None},
        "a note": {"receipts/a.note": receipt(LAST)},
    }
    cases = []
    for name, change in changes.items():
        kept = {n: data for n, data in {**files, **change}.items() if data is not None}
        cases.append(Case(name=name, bundle=packed(kept)))
    for case, report in zip(cases, in_node(cases), strict=True):
        found = verify_bundle(read_log(case.content), OutsideEvidence()).findings
        python = {
            one.check.value: (one.result.value, one.seq if one.result == "fail" else None)
            for one in found
        }
        for check, answer in answer_of(report).items():
            assert answer == python[check], (case.name, check)
        assert by_check(report["findings"])["bytes"]["result"] == "fail"


def by_check(findings: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {one["check"]: one for one in findings}


def codes_of(finding: dict[str, Any]) -> list[str]:
    return [finding["code"], *(remark["code"] for remark in finding["remarks"])]


def test_a_claimed_absence_is_named_as_the_word_of_the_server() -> None:
    """No record shows an absence, so a check that passes states what it does not prove."""
    claimed, agreed = "legality/claim-stand-in", "legality/agreed-end"
    made = {one.name: one for one in leaving_cases.cases() if one.name in (claimed, agreed)}
    inputs = [
        Case(name=name, lines=tuple(made[name].input.splitlines())) for name in (claimed, agreed)
    ]
    of_claim, of_agreement = (
        by_check(one["findings"])["legality"]["remarks"] for one in in_node(inputs)
    )
    [remark] = of_claim
    assert (remark["code"], remark["values"]["seat"]) == ("legality.absent", 1)
    assert of_agreement == []


def test_the_range_of_each_check_ends_at_the_changed_event() -> None:
    seq = next(i for i, line in enumerate(LINES) if b'"type":"cards_played"' in line)
    entry = LINES[seq]
    good = write_bundle(LINES, files={PROOF: proof()})
    at = good.index(entry) + entry.index(b'"direction":1') + len(b'"direction":')
    last_receipt = OutsideEvidence(receipts=(receipt(LAST),), server_keys=(SERVER.verifier,))
    unknown, unread, beside = (
        Case(name=name, bundle=good[:where] + byte + good[where + 1 :], evidence=last_receipt)
        for name, where, byte in (
            ("another field", at - len('n":'), b"m"),
            ("an event unreadable", at, b"x"),
            ("the proof", good.index(b"c2sp.org/tlog-proof"), b"C"),
        )
    )
    changed = Case(
        name="a log of its own",
        lines=(*LINES[:seq], entry.replace(b'"direction":1', b'"direction":-1'), *LINES[seq + 1 :]),
        evidence=last_receipt,
    )
    reports = in_node([unknown, unread, beside, changed])
    for found in map(by_check, (reports[0]["findings"], reports[1]["findings"])):
        assert (found["bytes"]["result"], found["bytes"]["seq"]) == ("fail", seq)
        assert found["seal"]["code"] == "open.unread"
        assert found["order"]["part"] == {"from": 0, "to": seq - 1}
        assert codes_of(found["order"]) == [None, "part.unread"]
        assert found["bytes"]["advice"] == "next.damaged"
        assert found["receipts"]["part"] == {"from": LAST, "to": LAST}
    whole = by_check(reports[2]["findings"])
    assert (whole["bytes"]["code"], whole["bytes"]["values"]) == ("bytes.changed", {"name": PROOF})
    assert (whole["anchor"]["result"], whole["anchor"]["code"]) == ("fail", "anchor.malformed")
    broken = by_check(reports[3]["findings"])
    assert (broken["chain"]["result"], broken["chain"]["seq"]) == ("fail", seq)
    assert broken["bytes"]["part"] is None
    assert broken["shuffle"]["part"] == {"from": 0, "to": seq - 1}
    assert broken["receipts"]["part"] == {"from": seq + 1, "to": LAST}
    assert codes_of(broken["receipts"]) == [None, "receipts.part"]
    assert broken["anchor"]["code"] == "open.not_anchored"


def test_a_removed_move_is_not_explained_by_a_change_of_the_event_before_it() -> None:
    entry = LINES[40]
    numbered = [json.loads(line) for line in (*LINES[:40], *LINES[42:])]
    removed = tuple(canonical({**event, "seq": seq}) for seq, event in enumerate(numbered))
    other = canonical({**json.loads(entry), "at": json.loads(LINES[41])["at"][:-2] + "9Z"})
    cases = [
        Case(name="renumbered", lines=removed),
        Case(name="changed", lines=(*LINES[:40], other, *LINES[41:])),
    ]
    codes = [by_check(report["findings"])["chain"]["code"] for report in in_node(cases)]
    assert codes == ["chain.removed", "chain.changed"]


def test_every_failure_has_a_text_without_technical_terms() -> None:
    sources = "".join(path.read_text() for path in VERIFIER.glob("*.js"))
    english = strings()
    codes = set(re.findall(r'Failure\([^"()]*(?:\([^()]*\))?[^"()]*"([a-z_.]+)"', sources))
    codes |= {f"order.{code}" for code in re.findall(r'\bthis\.fail\("([a-z_]+)"', sources)}
    codes |= set(re.findall(r'\bthis\.fail\("([a-z]+\.[a-z_]+)"', sources))
    codes |= {f"open.{code}" for code in re.findall(r'Unanswered\("[a-z/]+", "([a-z_]+)"', sources)}
    codes |= {f"file.{code}" for code in re.findall(r'NotABundle\("([a-z_]+)"', sources)}
    assert len(codes) > 80
    for code in codes:
        assert code in english, code
    for lang in ("en", "sv", "ja"):
        said = json.loads((WORDS / f"verify/{lang}.json").read_text())
        unjudged = "not checked|kontrollerades inte|検証していません"
        assert re.search(unjudged, said["verdict.2.unjudged"])
    for key in json.loads((WORDS / "verify/en.json").read_text()):
        for word in ("SHA-256", "hash", "JSON.", "null", "boolean", "HMAC"):
            assert word not in english[key], (word, key)


def run_cli(*words: object) -> subprocess.CompletedProcess[str]:
    command = [node(), str(VERIFIER / "cli.js"), *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.heavy
def test_the_command_line_states_the_result_in_its_exit_status(tmp_path: Path) -> None:
    good, bad, note, keys = (tmp_path / name for name in ("a.shx", "b.jsonl", "a.note", "keys"))
    good.write_bytes(write_bundle(LINES))
    bad.write_bytes(b"".join(line + b"\n" for line in (*LINES[:30], *LINES[31:])))
    note.write_bytes(receipt(LAST))
    keys.write_text(f"{SERVER.verifier}\n")
    passed = run_cli(good, "--receipt", note, "--server-key", keys)
    assert passed.returncode == 0, passed.stderr
    assert passed.stdout.splitlines()[-1].endswith(f"{INTACT}, level L2")
    assert run_cli(good, "--level", "L2").returncode == 2
    assert run_cli(good, "--seat-key", "0=AAAA").returncode == 64
    failed = run_cli(bad, "--json")
    assert failed.returncode == 1
    chain = next(one for one in json.loads(failed.stdout)["findings"] if one["check"] == "chain")
    assert (chain["result"], chain["seq"]) == ("fail", 30)
    assert run_cli(good, "--receipt", note).returncode == 2
    note.write_text("nothing")
    assert run_cli(note).returncode == 3
    assert run_cli(tmp_path / "no-such-file").returncode == 3
    assert run_cli().returncode == 64
    assert run_cli(good, "--no-such-option").returncode == 64


def test_the_command_line_names_the_rule_that_a_move_breaks(tmp_path: Path) -> None:
    log, newer = tmp_path / "events.jsonl", tmp_path / "newer.jsonl"
    forgery = Forgery(LINES)
    seq = forgery.find("cards_played", lambda event: event["data"]["turn"] is not None)
    forgery.data(seq)["turn"] = forgery.data(seq)["seat"]
    log.write_bytes(b"".join(line + b"\n" for line in forgery.lines()))
    done = run_cli(log)
    assert done.returncode == 1, done.stderr
    assert re.search(
        rf"^legality +fail +seq {seq}: After this move seat", done.stdout, re.MULTILINE
    )
    assert "The rule (1-direction): Play goes clockwise" in done.stdout
    other = Forgery(LINES)
    other.events[0]["data"]["ruleset"] = {"id": "house-rules", "options": {}, "settings": None}
    newer.write_bytes(b"".join(line + b"\n" for line in other.lines()))
    assert strings()["verdict.2.unjudged"].startswith("Record intact")
    assert re.search("^legality +missing", run_cli(newer).stdout, re.MULTILINE)


def test_the_command_line_reads_a_folder_and_reports_a_file_edited_in_it(tmp_path: Path) -> None:
    folder = tmp_path / "game"
    files = read_zip(write_bundle(LINES, files={"receipts/a.note": receipt(LAST)}))
    for name, content in {**files, ".DS_Store": b"Bud1"}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    done = run_cli(folder)
    assert done.returncode == 0, done.stderr
    assert strings()["bytes.repacked"] in done.stdout
    events = folder / "events.jsonl"
    events.write_bytes(events.read_bytes().replace(b'"direction":1', b'"direction":-1', 1))
    done = run_cli(folder)
    assert done.returncode == 1, done.stderr
    changed = strings()["bytes.changed"].replace("{name}", "events.jsonl")
    assert changed in done.stdout
    assert re.search(r"^chain +fail +seq \d+:", done.stdout, re.MULTILINE)
    (folder / "receipts" / "link.note").symlink_to("/etc/passwd")
    assert run_cli(folder).returncode == 3
    (folder / "manifest.json").unlink()
    assert run_cli(folder).returncode == 3


@pytest.mark.heavy
def test_a_failed_file_names_possible_authors_and_further_evidence(tmp_path: Path) -> None:
    """As in the first lines of `shithead verify`, by the failed checks and the given receipts."""
    forgery = Forgery(LINES)
    seq = forgery.find("pile_picked_up")
    forgery.data(seq)["count"] += 1
    forged, log = forgery.lines(), tmp_path / "events.jsonl"
    keys, note = tmp_path / "keys", tmp_path / "mine.note"
    keys.write_text(f"{SERVER.verifier}\n")
    words = strings()
    signed = issue_receipt(SERVER, game=GAME, seq=LAST, head=head(forged[LAST]))
    for lines, given, author in (
        ((*LINES[:30], *LINES[31:]), None, "damaged"),
        (forged, None, "open"),
        (forged, signed, "operator"),
        (forged, receipt(LAST), "other"),
    ):
        log.write_bytes(b"".join(line + b"\n" for line in lines))
        note.write_bytes(given or b"")
        more = () if given is None else ("--receipt", note, "--server-key", keys)
        done = run_cli(log, *more)
        assert done.returncode == 1, done.stderr
        for part in ("who", "more"):
            assert words[f"verdict.{part}.{author}"] in done.stdout.splitlines()


def test_several_files_end_with_the_worst_status(tmp_path: Path) -> None:
    for name, lines in (("good", LINES), ("open", LINES[:50])):
        (tmp_path / name).write_bytes(b"".join(line + b"\n" for line in lines))
    assert run_cli(tmp_path / "good", tmp_path / "open").returncode == 2


def test_several_files_are_compared_and_a_receipt_is_judged_with_its_game(tmp_path: Path) -> None:
    """As by `shithead verify`: an exit status of 1 outweighs 2, and copies of a log are one log."""
    other = sample_lines("leeds")
    receipts = []
    for name, lines in (("one", LINES), ("copy", LINES[:50]), ("other", other)):
        (tmp_path / name).write_bytes(b"".join(line + b"\n" for line in lines))
    for name, lines in (("one", LINES), ("other", other)):
        game, last = UUID(json.loads(lines[0])["game"]), len(lines) - 1
        note = issue_receipt(SERVER, game=game, seq=last, head=head(lines[last]))
        (tmp_path / f"{name}.note").write_bytes(note)
        receipts += ["--receipt", tmp_path / f"{name}.note"]
    keys = tmp_path / "keys"
    keys.write_text(str(SERVER.verifier))
    words = (*receipts, "--server-key", keys, "--level", "L2")
    done = run_cli(tmp_path / "one", tmp_path / "other", *words)
    assert done.returncode == 0, done.stdout
    forgery = Forgery(LINES)
    forgery.data(0)["turn_limit"] -= 1
    (tmp_path / "two").write_bytes(b"".join(line + b"\n" for line in forgery.lines()))
    done = run_cli(tmp_path / "one", tmp_path / "copy", tmp_path / "two")
    assert done.returncode == 1
    assert re.search(r"^sequence +fail +seq 0: .* are two histories", done.stdout, re.MULTILINE)

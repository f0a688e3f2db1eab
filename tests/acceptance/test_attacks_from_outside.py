"""A game forged with all server keys passes alone and fails against evidence from outside."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import timedelta
from functools import cache
from uuid import UUID

import pytest

from service.replay.sentences import Sentence
from service.shx.bundle import OPENINGS, PROOF, Bundle, read_bundle, write_bundle
from service.shx.canonical import canonical
from service.shx.chain import head
from service.shx.receipts import issue_receipt, receipt_body
from service.shx.tlog.checkpoint import Checkpoint, Cosigner, cosign, sign_checkpoint
from service.shx.tlog.notes import NoteSigner
from service.shx.tlog.tree import TlogProof, inclusion_proof, leaf_hash, root
from service.verify.evidence import OutsideEvidence
from service.verify.finding import Check, Result
from service.verify.report import Report
from service.verify.verify import verify_bundle
from tests.changed import replace
from tests.random_games import START, Plan, made_game, private_key, public_text
from tests.tamper import Forgery, failing, report_on, sample, sample_lines

Lines = tuple[bytes, ...]
ORIGIN = "example.org/shithead"
SERVER = NoteSigner(name=ORIGIN, key=private_key("server"))
WITNESSES = tuple(
    Cosigner(name=f"witness.{name}/w", key=private_key(f"witness {name}")) for name in "ab"
)
KEYS = {seat: private_key(f"seat {seat}") for seat in range(3)}
FORGED_KEYS = {seat: private_key(f"forged {seat}") for seat in range(3)}
TRUE = Plan(name="story", keys=KEYS, ruleset="threes", turn_limit=150)


@cache
def game(plan_name: str) -> Lines:
    """Return the true game, or one that the operator forged under the same id."""
    plans = {
        "true": TRUE,
        "forged": replace(TRUE, keys=FORGED_KEYS, seed=b"\x07" * 32),
        "back-dated": replace(TRUE, keys=FORGED_KEYS, start=START - timedelta(days=7)),
    }
    return tuple(made_game(plans[plan_name]))


def receipt(lines: Lines, seq: int) -> bytes:
    identity = UUID(json.loads(lines[0])["game"])
    return issue_receipt(SERVER, game=identity, seq=seq, head=head(lines[seq]))


def leaf(lines: Lines) -> bytes:
    identity, last = UUID(json.loads(lines[0])["game"]), len(lines) - 1
    return receipt_body(ORIGIN, identity, last, head(lines[last])).encode()


def proof_in(tree: Sequence[bytes], entry: bytes, witnesses: Sequence[Cosigner]) -> bytes:
    """Return the proof that an entry is in a tree whose checkpoint these witnesses cosigned."""
    hashes = [leaf_hash(one) for one in tree]
    checkpoint = Checkpoint(origin=ORIGIN, size=len(tree), root=root(hashes))
    note = sign_checkpoint(checkpoint, [SERVER])
    for witness in witnesses:
        note += cosign(checkpoint.body, witness, timestamp=1_800_000_000).encode()
    index = list(tree).index(entry)
    proof = TlogProof(
        index=index, hashes=inclusion_proof(hashes, index), checkpoint=note, extra=entry
    )
    return proof.text


def anchored(lines: Lines, proof: bytes, **more: object) -> Report:
    """Return the report on a bundle with its proof, against the server's and witnesses' keys."""
    keys = {"server_keys": (SERVER.verifier,), "witnessed": True}
    witnesses = tuple(witness.verifier for witness in WITNESSES)
    evidence = OutsideEvidence(**{**keys, "witness_keys": witnesses, **more})  # type: ignore[arg-type] # as OutsideEvidence takes them
    return verify_bundle(Bundle(lines=lines, files={PROOF: proof}), evidence)


@pytest.mark.parametrize("forged", ["forged", "back-dated"])
def test_a_game_forged_with_all_server_keys_passes_without_outside_evidence(forged: str) -> None:
    """All signatures are by keys that the operator made, so the report counts none of them."""
    report = report_on(game(forged))
    assert failing(report) == {}
    assert (report.level, report.outside) == ("L1", ())
    assert report.missing == (Sentence(code="more.receipt"),)


@pytest.mark.attack("BACK_DATING", "a whole game dated back", check="receipts", needs="RECEIPT")
@pytest.mark.attack(
    "REPLACEMENT", "an invented game, compared with a receipt", check="receipts", needs="RECEIPT"
)
@pytest.mark.parametrize("forged", ["forged", "back-dated"])
@pytest.mark.parametrize("seq", [0, 12, 40])
def test_a_forged_game_fails_against_any_receipt_of_the_true_game(forged: str, seq: int) -> None:
    evidence = OutsideEvidence(
        receipts=(receipt(game("true"), seq),), server_keys=(SERVER.verifier,)
    )
    report = report_on(game(forged), evidence)
    assert failing(report) == {Check.RECEIPTS: seq}
    assert report.level == "L0"


@pytest.mark.attack(
    "REPLACEMENT",
    "an invented game, compared with a player's key",
    check="signatures",
    needs="SEAT_KEY",
)
@pytest.mark.parametrize("seat", [0, 1, 2])
def test_a_forged_game_fails_against_the_key_of_any_player(seat: int) -> None:
    evidence = OutsideEvidence(seat_keys={seat: public_text(KEYS[seat])})
    assert failing(report_on(game("forged"), evidence)) == {Check.SIGNATURES: 0}


@pytest.mark.attack(
    "KEY_SWAP", "a person's seat relabelled as a bot's", check="signatures", needs="SEAT_KEY"
)
def test_a_human_seat_relabelled_as_a_bot_fails_against_its_key() -> None:
    """Only human seats need signatures; the player whose key is missing can show the fraud."""
    lines = tuple(made_game(Plan(name="relabelled", bots=True)))
    assert report_on(lines).level == "L1"
    evidence = OutsideEvidence(seat_keys={0: public_text(KEYS[0])})
    assert failing(report_on(lines, evidence)) == {Check.SIGNATURES: 0}


@pytest.mark.attack(
    "REPLACEMENT",
    "an invented game, compared with a witnessed tree",
    check="anchor, witness",
    needs="WITNESS",
)
def test_a_game_forged_afterwards_is_not_in_the_witnessed_tree() -> None:
    true, forged = game("true"), game("forged")
    tree = [leaf(sample_lines("threes")), leaf(true)]
    honest = anchored(true, proof_in(tree, leaf(true), WITNESSES))
    assert honest.witnessed and failing(honest) == {}
    stolen = anchored(forged, proof_in(tree, leaf(true), WITNESSES))
    assert failing(stolen).keys() == {Check.ANCHOR, Check.WITNESS}
    assert not stolen.witnessed


@pytest.mark.attack("REPLACEMENT", "a tree shown to no witness", check="witness", needs="WITNESS")
def test_a_tree_shown_only_to_the_victim_is_not_witnessed() -> None:
    """The server signs a second tree; its witnesses never see it."""
    forged = game("forged")
    report = anchored(forged, proof_in([leaf(forged)], leaf(forged), ()))
    assert failing(report) == {}
    assert (report.witnessed, report.result) == (False, Result.MISSING)


@pytest.mark.attack(
    "EQUIVOCATION", "a different tree for each witness", check="witness", needs="WITNESS"
)
def test_a_log_that_shows_each_witness_a_different_tree_does_not_reach_the_quorum() -> None:
    """One witness cosigned the other tree, so one of the required cosignatures is missing."""
    forged = game("forged")
    report = anchored(forged, proof_in([leaf(forged)], leaf(forged), WITNESSES[:1]))
    assert (report.witnessed, report.result) == (False, Result.MISSING)


@pytest.mark.attack("DOWNGRADE", "a quorum of zero", check="witness", needs="WITNESS")
@pytest.mark.parametrize("quorum", [0, -1, 3])
def test_a_quorum_of_zero_or_of_more_than_all_witnesses_proves_nothing(quorum: int) -> None:
    true = game("true")
    report = anchored(true, proof_in([leaf(true)], leaf(true), WITNESSES), quorum=quorum)
    assert (report.witnessed, report.result) == (False, Result.MISSING)


@pytest.mark.attack("OWN_TRUST", "one witness that signs twice", check="witness", needs="WITNESS")
def test_a_witness_that_signs_twice_counts_once() -> None:
    true = game("true")
    report = anchored(true, proof_in([leaf(true)], leaf(true), [WITNESSES[0]] * 2))
    assert (report.witnessed, report.result) == (False, Result.MISSING)


@pytest.mark.attack(
    "EQUIVOCATION",
    "two histories of a game in one tree",
    check="receipts, monitor",
    needs="RECEIPT",
)
def test_a_receipt_shows_which_of_two_witnessed_histories_is_true() -> None:
    """Witnesses check the tree and not the games; monitors and receipts check the games."""
    true, forged = game("true"), game("forged")
    proof = proof_in([leaf(true), leaf(forged)], leaf(forged), WITNESSES)
    assert anchored(forged, proof).witnessed
    report = anchored(forged, proof, receipts=(receipt(true, 20),))
    assert failing(report) == {Check.RECEIPTS: 20}
    assert report.level == "L0"


def test_a_proof_of_an_earlier_event_witnesses_nothing_that_came_after() -> None:
    true = game("true")
    early = leaf(true[:30])
    report = anchored(true, proof_in([early], early, WITNESSES))
    assert failing(report) == {}
    assert (report.witnessed, report.result) == (False, Result.MISSING)


@pytest.mark.attack(
    "TRUNCATION",
    "a truncated log, compared with the public log",
    check="anchor, witness",
    needs="WITNESS",
)
def test_a_truncated_game_passes_so_far_and_fails_against_the_public_log() -> None:
    lines = sample_lines("shithead")
    cut = lines[: sample("shithead").find("pile_picked_up", n=5)]
    proof = proof_in([leaf(lines)], leaf(lines), WITNESSES)
    alone = report_on(cut)
    assert (failing(alone), alone.result, alone.sealed) == ({}, Result.MISSING, False)
    assert failing(anchored(cut, proof)).keys() == {Check.ANCHOR, Check.WITNESS}


@cache
def repeated_deal() -> tuple[Lines, Lines, Lines]:
    """Return a hand, an aborted deal of the next hand, and a second deal of that hand."""
    first = tuple(made_game(Plan(name="rolled one")))
    dealer = json.loads(first[-2])["data"]["shithead"]
    last = json.loads(first[0])["game"]
    plan = Plan(name="rolled two", hand=2, dealer=dealer, prev_game=last)
    aborted = tuple(made_game(replace(plan, abort=True, start=START + timedelta(days=1))))
    again = replace(plan, name="rolled three", start=START + timedelta(days=2))
    return first, aborted, tuple(made_game(again))


@pytest.mark.attack(
    "RE_ROLL",
    "a repeated deal whose first attempt is concealed",
    check="sequence",
    needs="OTHER_LOG",
)
def test_a_repeated_deal_passes_alone_and_fails_beside_the_first_attempt() -> None:
    """The second deal hides the first: both name the same game as their predecessor."""
    first, aborted, again = repeated_deal()
    alone = report_on(again, OutsideEvidence(others=(Bundle(lines=first),)))
    assert (failing(alone), alone.level) == ({}, "L1")
    beside = report_on(again, OutsideEvidence(others=(Bundle(lines=first), Bundle(lines=aborted))))
    assert failing(beside) == {Check.SEQUENCE: 0}


@pytest.mark.attack(
    "EQUIVOCATION", "different histories for two seats", check="sequence", needs="OTHER_LOG"
)
def test_different_histories_for_two_seats_fail_side_by_side() -> None:
    """Both pass alone; two players who compare them see where they differ."""
    true = game("true")
    forgery = Forgery(true)
    last = forgery.events[-1]["at"]
    for event in [event for event in forgery.events if event["at"] == last]:
        event["at"] = "2026-11-21T23:00:00.000000Z"  # the whole of the last move
    other = forgery.lines(KEYS)
    assert last != forgery.events[-1]["at"]
    assert failing(report_on(true)) == failing(report_on(other)) == {}
    side_by_side = report_on(true, OutsideEvidence(others=(Bundle(lines=other),)))
    assert Check.SEQUENCE in failing(side_by_side)


@pytest.mark.attack("REUSED_SEED", "a seed used at two tables", check="sequence", needs="OTHER_LOG")
def test_two_games_with_the_same_seed_fail_together_even_at_different_tables() -> None:
    """The commitments bind the game and so differ; readers of the first seal knew the deck."""
    seed = b"\x2a" * 32
    one = tuple(made_game(Plan(name="seed one", seed=seed)))
    two = tuple(made_game(Plan(name="seed two", seed=seed, table=str(UUID(int=5)))))
    assert failing(report_on(two)) == {}
    beside = report_on(two, OutsideEvidence(others=(Bundle(lines=one),)))
    assert failing(beside) == {Check.SEQUENCE: None}


@pytest.mark.attack(
    "WRONG_DEALER", "a first hand with a dealer who was not drawn", check="sequence"
)
@pytest.mark.parametrize(("hand", "dealer"), [(1, 1), (2, None)])
def test_a_hand_without_a_predecessor_must_be_the_first_and_draw_its_dealer(
    hand: int, dealer: int | None
) -> None:
    lines = tuple(made_game(Plan(name="undrawn", hand=hand, dealer=dealer)))
    assert failing(report_on(lines)) == {Check.SEQUENCE: 0}


def test_a_game_that_names_itself_as_its_predecessor_fails() -> None:
    own = json.loads(made_game(Plan(name="itself"))[0])["game"]
    lines = tuple(made_game(Plan(name="itself", hand=2, dealer=0, prev_game=own)))
    assert failing(report_on(lines)) == {Check.SEQUENCE: 0}


def _open_bundle(profile: str) -> dict[Check, int | None]:
    """Return what fails in a bundle of a running game that opens position 20 of the deck."""
    f = sample("shithead")
    opening = f.shuffle(bytes.fromhex(f.events[-1]["data"]["seed"])).opening(20)
    cut = sample_lines("shithead")[: f.find("cards_played")]
    data = write_bundle(cut, profile=profile, files={OPENINGS: canonical([opening])})
    return failing(verify_bundle(read_bundle(data)))


@pytest.mark.attack("OTHERS_OPENINGS", "a bundle that opens another seat's cards", check="openings")
def test_a_bundle_that_opens_another_seats_cards_fails() -> None:
    """Each dealt card belongs to one seat; its opening in another bundle is a leak."""
    fails = {profile for profile in ("public", "seat-0", "seat-1", "seat-2")
             if Check.OPENINGS in _open_bundle(profile)}  # fmt: skip
    assert len(fails - {"public"}) == 2
    assert "public" in fails
    assert Check.CHAIN in _open_bundle("seat-9")  # a seat that the table does not have


@pytest.mark.attack(
    "OWN_TRUST",
    "a bundle that contains its own receipts and proof",
    check="the level",
    needs="RECEIPT",
)
def test_receipts_and_proofs_inside_a_bundle_raise_no_level() -> None:
    """They are signed by a key of the forger, and count for nothing without a key from outside."""
    forged = game("forged")
    files = {
        "receipts/a.note": receipt(forged, len(forged) - 1),
        PROOF: proof_in([leaf(forged)], leaf(forged), WITNESSES),
    }
    report = verify_bundle(read_bundle(write_bundle(forged, files=files)))
    assert (report.level, report.witnessed, report.outside) == ("L1", False, ())


@pytest.mark.attack(
    "DOWNGRADE", "receipts, keys and proofs left out", check="the level", needs="RECEIPT"
)
def test_evidence_left_out_is_named_as_missing_and_lowers_the_level() -> None:
    true = game("true")
    last, server = receipt(true, len(true) - 1), (SERVER.verifier,)
    keys = {seat: public_text(key) for seat, key in KEYS.items()}
    full = OutsideEvidence(receipts=(last,), server_keys=server, seat_keys=keys)
    assert report_on(true, full).level == "L3"
    for less, level in (
        (replace(full, receipts=()), "L1"),
        (replace(full, server_keys=()), "L1"),
        (replace(full, seat_keys={0: keys[0]}), "L2"),
    ):
        report = report_on(true, less)
        assert report.level == level
        assert report.missing


@pytest.mark.attack("DOWNGRADE", "signatures stripped off", check="signatures")
def test_signatures_stripped_from_a_keyed_game_do_not_make_it_a_keyless_one() -> None:
    forgery = Forgery(game("true"))
    for event in forgery.events:
        event.pop("auth", None)
    found = failing(report_on(forgery.lines()))
    assert set(found) == {Check.SIGNATURES}

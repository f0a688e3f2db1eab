"""Tampering with signed moves is caught: the move, the seen version, the key."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from functools import cache
from uuid import UUID

import pytest

from service.replay.sentences import Sentence
from service.verify.evidence import OutsideEvidence
from service.verify.finding import Check
from tests.random_games import Plan, made_game, private_key, public_text
from tests.tamper import Forgery, failing, report_on, sample

KEYS = {seat: private_key(f"seat {seat}") for seat in range(3)}
SEAT_KEYS = {seat: public_text(key) for seat, key in KEYS.items()}


@cache
def keyed_lines() -> tuple[bytes, ...]:
    """Return the log of a game whose three seats signed their moves with KEYS."""
    return tuple(made_game(Plan(name="keyed", ruleset="threes", keys=KEYS, turn_limit=150)))


def keyed() -> Forgery:
    return Forgery(keyed_lines())


def signed(forgery: Forgery, n: int = 0) -> int:
    """Return the seq of a signed play."""
    return forgery.find("cards_played", lambda e: "auth" in e, n)


def another_move_than_the_signed_one(f: Forgery) -> int:
    seq = f.find("pile_picked_up", lambda e: "auth" in e)
    f.events[seq]["auth"]["intent"]["move"] = {"type": "pass"}
    return seq


def a_signature_of_a_later_move(f: Forgery) -> int:
    seq = signed(f, 2)
    f.events[signed(f)]["auth"] = deepcopy(f.events[seq]["auth"])
    return signed(f)


def a_signature_bit_flipped(f: Forgery) -> int:
    seq = signed(f)
    sig = f.events[seq]["auth"]["sig"]
    f.events[seq]["auth"]["sig"] = ("B" if sig[0] == "A" else "A") + sig[1:]
    return seq


@pytest.mark.attack(
    "FORGED_SIGNATURE", "a signature that does not cover the move", check="signatures"
)
@pytest.mark.parametrize(
    "attack",
    [another_move_than_the_signed_one, a_signature_of_a_later_move, a_signature_bit_flipped],
)
def test_a_signature_that_does_not_cover_the_move_is_caught(
    attack: Callable[[Forgery], int],
) -> None:
    forgery = sample("shithead-keyed")
    seq = attack(forgery)
    assert failing(report_on(forgery.lines()))[Check.SIGNATURES] == seq


@pytest.mark.attack("FORGED_SIGNATURE", "a move without its signature", check="signatures")
def test_a_move_of_a_keyed_seat_without_a_signature_is_caught() -> None:
    forgery = sample("shithead-keyed")
    seq = signed(forgery)
    del forgery.events[seq]["auth"]
    assert failing(report_on(forgery.lines()))[Check.SIGNATURES] == seq


@pytest.mark.attack("EDIT", "an edit under later signatures", check="signatures")
def test_an_earlier_event_cannot_be_edited_under_later_signatures() -> None:
    """Later moves sign the head they saw: even a changed time breaks them."""
    forgery = sample("shithead-keyed")
    first = signed(forgery, 3)
    before = forgery.events[first - 1]["at"]
    for event in forgery.events[first : forgery.move_end(first) + 1]:
        event["at"] = before
    found = failing(report_on(forgery.lines()))
    assert set(found) == {Check.SIGNATURES}
    later = found[Check.SIGNATURES]
    assert later is not None and later > first


@pytest.mark.attack(
    "KEY_SWAP", "a seat's key replaced by the operator", check="signatures", needs="SEAT_KEY"
)
def test_a_key_replaced_by_the_operator_fails_against_the_key_from_outside() -> None:
    """With keys of its own the operator can forge a game that passes alone."""
    report = report_on(keyed_lines())
    assert not failing(report)
    others = {**SEAT_KEYS, 1: public_text(private_key("another"))}
    assert failing(report_on(keyed_lines(), OutsideEvidence(seat_keys=others))) == {
        Check.SIGNATURES: 0
    }


@pytest.mark.attack("REPLAYED_SIGNATURE", "a nonce used twice", check="signatures")
def test_a_nonce_used_twice_is_caught_even_if_the_player_signed_it() -> None:
    forgery = keyed()
    one, two = signed(forgery), signed(forgery, 4)
    nonce = forgery.events[one]["auth"]["intent"]["nonce"]
    forgery.events[two]["auth"]["intent"]["nonce"] = nonce
    assert failing(report_on(forgery.lines(KEYS))) == {Check.SIGNATURES: two}


@pytest.mark.attack(
    "REPLAYED_SIGNATURE", "a move signed for an earlier position", check="signatures"
)
def test_a_move_signed_before_another_seats_action_was_seen_is_caught() -> None:
    forgery = keyed()
    seq = signed(forgery, 5)
    forgery.events[seq]["auth"]["intent"]["seen"]["seq"] = forgery.find("play_started")
    assert failing(report_on(forgery.lines(KEYS))) == {Check.SIGNATURES: seq}


def test_a_signed_move_other_than_the_one_recorded_is_caught() -> None:
    """The signature is valid, but the event is not the signed move."""
    forgery = keyed()
    seq = signed(forgery)
    forgery.events[seq]["auth"]["intent"]["move"] = {"type": "pass"}
    assert failing(report_on(forgery.lines(KEYS))) == {Check.SIGNATURES: seq}


@pytest.mark.attack("REPLAYED_SIGNATURE", "a signature of another game", check="signatures")
def test_a_signature_of_another_game_is_caught() -> None:
    forgery = keyed()
    seq = signed(forgery)
    forgery.events[seq]["auth"]["intent"]["game"] = str(UUID(int=7))
    assert failing(report_on(forgery.lines(KEYS))) == {Check.SIGNATURES: seq}


def test_a_signature_for_another_seat_is_caught() -> None:
    forgery = keyed()
    seq = signed(forgery)
    intent = forgery.events[seq]["auth"]["intent"]
    intent["seat"] = (intent["seat"] + 1) % 3
    assert failing(report_on(forgery.lines(KEYS))) == {Check.SIGNATURES: seq}


def test_a_signature_of_a_seat_without_a_key_is_caught() -> None:
    forgery = sample("shithead")
    seq = forgery.find("cards_played")
    forgery.events[seq]["auth"] = deepcopy(keyed().events[signed(keyed())]["auth"])
    assert failing(report_on(forgery.lines()))[Check.SIGNATURES] == seq


def _given_up_by_the_server(forgery: Forgery, seat: int) -> int:
    """End the game with a forfeit of `seat` before the fourth play; return the seq of the end."""
    seal = forgery.events[-1]
    seq = forgery.find("cards_played", n=3)
    at = forgery.events[seq]["at"]
    del forgery.events[seq:]
    data = {"reason": "forfeit", "shithead": seat, "places": []}
    ended = {**deepcopy(seal), "at": at, "type": "game_ended", "data": data}
    ended.pop("auth", None)
    forgery.events += [ended, {**seal, "at": at}]
    return seq


@pytest.mark.attack("FORGED_SIGNATURE", "a forfeit without a signature", check="signatures")
def test_a_forfeit_that_a_keyed_seat_never_signed_is_caught() -> None:
    forgery = sample("shithead-keyed")
    seq = _given_up_by_the_server(forgery, 1)
    assert failing(report_on(forgery.lines())) == {Check.SIGNATURES: seq}


@pytest.mark.attack(
    "FORGED_SIGNATURE",
    "a keyless seat's forfeit",
    check="the list of what is unproven",
    needs="SEAT_KEY",
)
def test_a_forfeit_of_a_seat_without_a_key_passes_and_is_listed_as_unproven() -> None:
    """Only outside evidence could catch it; the report says that it proves nothing."""
    forgery = sample("shithead")
    seq = _given_up_by_the_server(forgery, 1)
    report = report_on(forgery.lines())
    assert not failing(report)
    assert report.unproven == (Sentence(code="unsigned.forfeit", values={"at": seq, "seat": 1}),)


def test_a_signed_forfeit_passes() -> None:
    lines = made_game(Plan(name="gives up", keys=KEYS, forfeit_by=2))
    report = report_on(lines, OutsideEvidence(seat_keys=SEAT_KEYS))
    assert not failing(report)
    assert report.unproven == ()

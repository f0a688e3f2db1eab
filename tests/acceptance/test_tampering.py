"""Tampering with a log's bytes, and with logs of running games, is caught."""

from __future__ import annotations

import pytest

from service.domain.commands import Play
from service.domain.legal import legal_moves
from service.shx.canonical import canonical
from service.verify.finding import Check
from tests.attacks import card_attacks, rule_attacks
from tests.attacks.registry import game_at
from tests.tamper import failing, report_on, sample, sample_lines


@pytest.mark.attack("EDIT", "an edit without recomputed hashes", check="chain")
def test_an_edit_without_recomputed_hashes_is_named_at_the_edited_event() -> None:
    """The next event has the hash of the true one."""
    lines = list(sample_lines("shithead"))
    lines[40] = lines[40].replace(b'53.676960Z"', b'53.676961Z"')
    assert lines[40] != sample_lines("shithead")[40]
    assert failing(report_on(lines)) == {Check.CHAIN: 40}


@pytest.mark.attack("DROP", "a line dropped", check="chain")
def test_a_dropped_line_breaks_the_chain() -> None:
    lines = list(sample_lines("shithead"))
    del lines[40]
    assert failing(report_on(lines))[Check.CHAIN] == 40


@pytest.mark.attack("REORDERING", "two lines exchanged", check="chain")
def test_two_lines_in_the_wrong_order_break_the_chain() -> None:
    lines = list(sample_lines("shithead"))
    lines[40], lines[41] = lines[41], lines[40]
    assert failing(report_on(lines))[Check.CHAIN] == 40


@pytest.mark.attack("INSERTION", "bytes that are not a canonical event", check="bytes")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'{"at":', b'{ "at":'),
        (b'"v":1}', b'"v":1,"v":1}'),
        (b'"v":1}', b'"v":1.0}'),
        (b'"v":1}', b'"v":2}'),
        (b'"v":1}', b'"v":1,"w":1}'),
        (b'"type":"', b'"type":"x'),
    ],
)
def test_bytes_that_are_not_the_canonical_event_are_refused(old: bytes, new: bytes) -> None:
    lines = list(sample_lines("shithead"))
    lines[40] = lines[40].replace(old, new)
    report = report_on(lines)
    assert failing(report)[Check.BYTES] == 40
    assert report.level is None


@pytest.mark.attack("ILLEGAL_RANK", "an illegal play of a running game", check="legality")
def test_an_illegal_play_of_a_running_game_is_caught_by_public_facts_alone() -> None:
    """Before the seal the hands are unknown, but the demand of the pile is public."""
    forgery = sample("shithead")
    seq = rule_attacks.a_card_that_does_not_fit(forgery)
    assert seq is not None
    del forgery.events[forgery.move_end(seq) + 1 :]
    report = report_on(forgery.lines())
    assert failing(report) == {Check.LEGALITY: seq}


def test_a_burned_card_played_again_in_a_running_game_is_caught() -> None:
    forgery = sample("shithead")
    seq = card_attacks.a_card_that_has_burned(forgery)
    assert seq is not None
    del forgery.events[forgery.move_end(seq) + 1 :]
    assert failing(report_on(forgery.lines()))[Check.CUSTODY] == seq


@pytest.mark.attack("RENEGE", "a pick-up despite a publicly known playable card", check="legality")
def test_a_pick_up_by_a_seat_with_a_publicly_known_playable_card_is_caught() -> None:
    """A seat that publicly picked up a playable card and must play may not take the pile."""
    for name in ("leeds", "leeds-seven-seats-two-decks"):
        forgery = sample(name)
        for seq, event in enumerate(forgery.events):
            if event["type"] != "cards_played" or event["data"]["zone"] != "hand":
                continue
            game, seat = game_at(forgery, seq), event["data"]["seat"]
            known = set(game.seats[seat].known)
            plays = [m for m in legal_moves(game, seat) if isinstance(m, Play)]
            if game.first_turn or not game.pile or not any(known >= set(m.cards) for m in plays):
                continue
            turn = (seat + game.direction) % len(game.seats)
            event["type"] = "pile_picked_up"
            event["data"] = {
                "seat": seat,
                "taker": seat,
                "count": len(game.pile),
                "with": [],
                "turn": turn,
                "direction": game.direction,
            }
            del forgery.events[seq + 1 :]
            assert failing(report_on(forgery.lines())) == {Check.LEGALITY: seq}
            return
    raise AssertionError("no such place in the samples")


def test_the_forging_helpers_write_canonical_bytes() -> None:
    """The helpers write an unchanged log byte for byte."""
    lines = sample_lines("shithead-keyed")
    assert sample("shithead-keyed").lines() == lines
    assert canonical(sample("shithead").events[5]) == sample_lines("shithead")[5]

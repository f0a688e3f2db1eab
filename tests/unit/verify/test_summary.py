"""The first lines of a report: what was changed, who can have done it, and what proves it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from uuid import UUID

from service.replay.sentences import card_name
from service.shx.canonical import canonical
from service.shx.chain import head
from service.shx.receipts import issue_receipt
from service.shx.tlog.notes import NoteSigner
from service.verify.evidence import OutsideEvidence
from service.verify.finding import Check, EvidenceWeight, Finding, Objection, Result
from service.verify.log import Authorship, Log
from service.verify.summary import Summary, summary_of
from tests.attacks.record_attacks import (
    a_time_that_goes_back,
    another_seed_than_the_one_committed_to,
)
from tests.attacks.registry import game_at
from tests.random_games import private_key
from tests.tamper import Forgery, report_on, sample, sample_lines


def renumbered(lines: Sequence[bytes]) -> tuple[bytes, ...]:
    """Return lines whose `seq` counts without gaps, with their old links."""
    return tuple(canonical({**json.loads(line), "seq": seq}) for seq, line in enumerate(lines))


def test_a_removed_move_is_named_before_the_events_beside_it() -> None:
    """The event before the gap and the one after it are as the server wrote them."""
    lines = sample_lines("leeds")
    move = next(move for move in Log(lines).moves if move.first > 40 and move.last > move.first)
    first, last, end = move.first, move.last, len(lines)
    whole = report_on((*lines[:first], *lines[last + 1 :])).summary
    part = report_on((*lines[: first + 1], *lines[first + 2 :])).summary
    hidden = report_on(renumbered((*lines[:first], *lines[last + 1 :]))).summary
    cut = report_on((*lines[:first], *lines[end - 1 :])).summary
    assert whole is not None and part is not None and hidden is not None and cut is not None
    assert whole.changed.startswith(
        f"Events {first} to {last} are missing: they were removed, or event {last + 1} has a wrong"
    )
    assert part.changed.startswith(f"Event {first + 1} is missing: it was removed, or event ")
    between = f"Events between event {first - 1} and event {first} were removed, or one of"
    assert hidden.changed.startswith(between)
    assert cut.changed.startswith(f"Events {first} to {end - 2} are missing: they were removed")


def test_a_log_without_a_fault_has_no_summary() -> None:
    assert report_on(sample_lines("leeds")).summary is None


def test_events_put_in_are_not_called_removed() -> None:
    lines = sample_lines("leeds")
    summary = report_on((*lines[:44], *lines[41:])).summary
    assert summary is not None
    assert summary.changed.startswith("Event 44, in turn ")
    assert "an event was removed, inserted or moved" in summary.changed


def test_the_shithead_that_a_record_claims_is_named() -> None:
    forgery = sample("shithead")
    seq = forgery.find("game_ended")
    true = forgery.data(seq)["shithead"]
    forgery.data(seq)["shithead"] = other = forgery.data(seq)["places"][0]
    summary = report_on(forgery.lines()).summary
    assert summary is not None
    assert f"It states: seat {other + 1} is the shithead." in summary.changed
    assert f"By the rules seat {true + 1} is the shithead, not seat {other + 1}." in summary.changed


def test_a_move_out_of_turn_names_the_seat_whose_turn_it_was() -> None:
    forgery = sample("shithead")
    seq = forgery.find("cards_played")
    due = forgery.data(seq)["seat"]
    forgery.data(seq)["seat"] = forgery.events[seq]["by"] = other = (due + 1) % 3
    forgery.data(seq)["cards"] = [str(game_at(forgery, seq).seats[other].hand[0])]
    summary = report_on(forgery.lines()).summary
    assert summary is not None
    assert f"It was the turn of seat {due + 1}, not of seat {other + 1}." in summary.changed


def test_a_time_that_goes_back_leaves_two_possible_authors() -> None:
    """The check `chain` fails, but all hashes match: the server may have written the event."""
    forgery = sample("shithead")
    a_time_that_goes_back(forgery)
    summary = report_on(forgery.lines()).summary
    assert summary is not None
    assert "dated earlier than the one before it" in summary.changed
    assert summary.author.startswith("Two parties are possible")


def test_a_false_seed_is_named_before_the_deck_derived_from_it() -> None:
    forgery = sample("shithead")
    another_seed_than_the_one_committed_to(forgery)
    summary = report_on(forgery.lines()).summary
    assert summary is not None
    assert "The server’s secret number is not the one" in summary.changed
    assert "dealer" not in summary.changed


def test_a_file_that_proves_nothing_blames_no_party() -> None:
    """For example a damaged receipt that was supplied with a valid record."""
    code = "receipts.malformed"
    finding = Finding(
        check=Check.RECEIPTS, result=Result.FAIL, code=code, weight=EvidenceWeight.NOTHING
    )
    assert finding.objections == (Objection(seq=None, code=code, weight=EvidenceWeight.NOTHING),)
    summary = summary_of(None, [finding], (), Authorship())
    assert summary is not None
    changed, author, proof = summary.lines("my game.shx")
    assert "is shown to be changed. A receipt cannot be read." in changed
    assert "proves no party guilty" in author
    assert "`shithead verify 'my game.shx'`" in proof


def summary_after(change: Callable[[Forgery], None], name: str = "shithead") -> Summary:
    """Return the summary of a sample after a change and recomputed hashes."""
    forgery = sample(name)
    change(forgery)
    summary = report_on(forgery.lines()).summary
    assert summary is not None
    return summary


def state_that_a_set_burned_the_pile(forgery: Forgery) -> None:
    seq = forgery.find("pile_burned", lambda event: event["data"]["cause"] == "rank")
    forgery.data(seq)["cause"] = "set"


def leave_out_a_burn(forgery: Forgery) -> None:
    forgery.drop(forgery.find("pile_burned", lambda event: event["data"]["cause"] == "rank"))


def test_the_true_cause_of_an_altered_burn_is_named() -> None:
    changed = summary_after(state_that_a_set_burned_the_pile).changed
    assert "By the rules its top card burns the pile, not a set of one rank." in changed
    assert re.search(r"The last card played before it is the ten of \w+\.", changed)


def test_a_burn_that_is_left_out_is_named_with_its_cause() -> None:
    changed = summary_after(leave_out_a_burn).changed
    assert "By the rules its top card burns the pile after this" in changed
    assert re.search(r"The last card played before it is the ten of \w+\.", changed)


def signed_play(forgery: Forgery) -> int:
    return forgery.find("cards_played", lambda event: "auth" in event, n=2)


def falsify_the_signature(forgery: Forgery) -> None:
    auth = forgery.events[signed_play(forgery)]["auth"]
    auth["sig"] = ("B" if auth["sig"][0] == "A" else "A") + auth["sig"][1:]


def change_the_played_card(forgery: Forgery) -> None:
    """Change the card that was played, and leave the signed move unchanged."""
    forgery.data(signed_play(forgery))["cards"] = ["As"]


def change_the_signed_move(forgery: Forgery) -> None:
    """Change the signed move, and leave the signature unchanged."""
    event = forgery.events[signed_play(forgery)]
    event["auth"]["intent"]["move"]["cards"] = ["As"]


def test_a_false_signature_does_not_count_against_its_player() -> None:
    forgery = sample("shithead-keyed")
    seat = forgery.events[signed_play(forgery)]["by"]
    summary = summary_after(falsify_the_signature, "shithead-keyed")
    assert "The signature on this move is not that of seat" in summary.changed
    assert f"nothing shows that the player of seat {seat + 1} made this move." in summary.changed
    assert "the server refuses a move without the right signature" in summary.author
    assert f"It is no proof against the player of seat {seat + 1}" in summary.author


def test_under_a_right_signature_the_report_names_the_signed_move() -> None:
    forgery = sample("shithead-keyed")
    [card] = forgery.data(signed_play(forgery))["cards"]
    summary = summary_after(change_the_played_card, "shithead-keyed")
    assert f"The player signed this: play the {card_name(card)}." in summary.changed
    assert "The signature is right: it is evidence in favour of the player" in summary.author


def test_a_move_is_called_signed_only_if_the_signature_is_right() -> None:
    """Changing the signed move of a true event must not make the player its author."""
    summary = summary_after(change_the_signed_move, "shithead-keyed")
    assert "The signature on this move is not that of seat" in summary.changed
    assert "The player signed" not in summary.changed


def test_the_proof_states_whose_keys_are_needed_and_why_their_source_matters() -> None:
    summary = summary_after(state_that_a_set_burned_the_pile)
    assert "keys.json has the server’s public keys, not a player’s" in summary.proof
    assert "A suspect can invent keys, and receipts that fit them." in summary.proof


def test_the_operator_is_blamed_if_the_supplied_keys_are_the_servers() -> None:
    forgery = sample("shithead")
    state_that_a_set_burned_the_pile(forgery)
    lines = forgery.lines()
    server = NoteSigner(name="example.org/shithead", key=private_key("server"))
    game = UUID(forgery.events[0]["game"])
    note = issue_receipt(server, game=game, seq=len(lines) - 1, head=head(lines[-1]))
    evidence = OutsideEvidence(
        receipts=(note,), files={note: "mine.note"}, server_keys=(server.verifier,)
    )
    summary = report_on(lines, evidence).summary
    assert summary is not None
    assert summary.author.startswith("The operator")
    assert "nothing more is needed if the supplied keys are the server’s." in summary.proof
    assert "again with those of a player whom you do not suspect" in summary.proof


def test_the_changed_event_is_explained_even_if_a_receipt_contradicts_it() -> None:
    """The receipt for the true event shows that the file was changed; the rules show how."""
    true, forgery = sample("shithead").lines(), sample("shithead")
    seq = forgery.find("pile_burned", lambda event: event["data"]["cause"] == "rank")
    state_that_a_set_burned_the_pile(forgery)
    server = NoteSigner(name="example.org/shithead", key=private_key("server"))
    game = UUID(forgery.events[0]["game"])
    notes = [issue_receipt(server, game=game, seq=n, head=head(true[n])) for n in (seq - 1, seq)]
    names = {note: f"{number}.note" for number, note in enumerate(notes)}
    evidence = OutsideEvidence(receipts=tuple(notes), files=names, server_keys=(server.verifier,))
    summary = report_on(forgery.lines(), evidence).summary
    assert summary is not None
    assert "By the rules its top card burns the pile, not a set of one rank." in summary.changed
    assert "by the supplied keys, the server signed another course of the game" in summary.author


def test_the_proof_explains_a_failure_of_the_players_copy() -> None:
    forgery = sample("shithead")
    lines = [*forgery.lines()]
    del lines[20]
    summary = report_on(lines).summary
    assert summary is not None
    assert "If only the player’s file fails as well, it is a copy of this one" in summary.proof

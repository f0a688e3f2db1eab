"""Cards played by a seat that did not hold them: which dealt card may have been exchanged."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

from service.replay.sentences import card_name
from service.shx.bundle import read_log
from service.verify import substitution
from service.verify.claims import Claim
from service.verify.finding import Check, Result
from service.verify.log import Log
from service.verify.report import Report, audit_object, report_html, report_text
from service.verify.substitution import unheld_of
from service.verify.verify import verify_bundle
from tests.attacks.cheating_server import Case, substituted_draw
from tests.databases import Databases
from tests.tamper import Forgery, report_on, sample, sample_lines, with_short_sentences

Substituted = Callable[..., tuple[Case, Report]]


@pytest.fixture(scope="module")
def substituted(databases: Databases) -> Substituted:
    """Return a function that returns a case with some substitutions, and the report on it."""

    @cache
    def made(times: int = 1) -> tuple[Case, Report]:
        with databases.lent() as url:
            case = substituted_draw(url, times=times)
        return case, with_short_sentences(verify_bundle(read_log(case.bundle)))

    return made


def with_a_card_of_the_stock() -> Forgery:
    """Return a log in which a seat plays the last card of the deck, which is in the stock."""
    forgery = sample("shithead")
    deck = forgery.events[-1]["data"]["deck"]
    seq = forgery.find("cards_played", lambda e: e["data"]["zone"] == "hand")
    forgery.data(seq)["cards"] = [deck[-1]]
    return forgery


def reason(report: Report, check: Check = Check.CUSTODY) -> str:
    return next(found.reason or "" for found in report.findings if found.check is check)


def test_a_substituted_draw_is_reported_with_both_cards_and_its_statement(
    substituted: Substituted,
) -> None:
    """P8: after a play the hand is filled up from the stock, from the top."""
    case, report = substituted()
    assert report.unheld is not None
    found = [one for one in report.unheld.substitutions if one.seq == case.seq + 1]
    assert [(one.kind, one.actual, one.rule) for one in found] == [
        ("cards_drawn", report.unheld.card, "P8")
    ]
    deck = Log(read_log(case.bundle).lines).deck
    assert deck is not None and found[0].due in deck
    cards = f"{card_name(found[0].actual)} in place of the {card_name(found[0].due)}"
    assert f"{cards} at the draw (event {case.seq + 1}, rule P8)" in reason(report)
    assert "all events after it fit" in reason(report)


def test_text_html_and_json_reports_do_not_blame_a_player_alone(substituted: Substituted) -> None:
    _, report = substituted()
    alone = "No player can do this alone: the server deals and accepts moves."
    [custody] = [c for c in audit_object(report)["checks"] if c["check"] == "custody"]
    for text in (report_text(report), report_html([("game", report)]), custody["reason"]):
        assert alone in text
        assert "all events after it fit" in text


def test_the_claim_that_the_deck_was_dealt_in_order_is_not_shown(substituted: Substituted) -> None:
    _, report = substituted()
    [deck] = [one for one in report.claims if one.claim is Claim.DECK]
    assert deck.result is Result.MISSING
    assert "Not shown: that the cards were dealt in its order" in deck.text
    assert "not shown: that the cards were dealt in the order of the deck" in report.wording
    assert "the deck" not in report.wording.partition("nothing against")[2]


def test_no_single_substitution_explains_two(substituted: Substituted) -> None:
    _, report = substituted(times=2)
    assert report.unheld is not None
    assert (report.unheld.substitutions, report.unheld.whole) == ((), True)
    assert "No single card in place of another explains" in reason(report)


def test_a_played_card_of_the_stock_is_not_explained_by_a_substitution() -> None:
    """No exchange of one dealt card explains all later events."""
    found = unheld_of(Log(with_a_card_of_the_stock().lines()))
    assert found is not None and found.unseen
    assert (found.substitutions, found.whole) == ((), True)
    assert found.by_server.code == "substitution.play_or_deal"


def test_a_face_up_card_is_not_explained_by_a_substitution() -> None:
    forgery = sample("shithead")
    first, second = (forgery.find("cards_played", n=n) for n in range(2))
    forgery.data(second)["cards"] = forgery.data(first)["cards"]
    found = unheld_of(Log(forgery.lines()))
    assert found is not None
    assert not found.unseen
    assert found.by_server.code == "substitution.play"
    [deck] = [one for one in report_on(forgery.lines()).claims if one.claim is Claim.DECK]
    assert "dealt in its order" not in deck.text


def test_a_hidden_face_down_card_is_tried_as_a_substitution() -> None:
    """L13: a face-down card that does not fit goes to the hand; only the server knew it before."""
    forgery = sample("leeds")
    seq = forgery.find("blind_failed")
    due, given = "3s", "3h"  # the true card, and a face-down card of another seat
    names = {due: given, given: due}
    for event in forgery.events[seq:-1]:
        if cards := event["data"].get("cards"):
            event["data"]["cards"] = [names.get(card, card) for card in cards]
    found = unheld_of(Log(forgery.lines()))
    assert found is not None
    assert [(one.seq, one.kind, one.actual, one.due) for one in found.substitutions] == [
        (seq, "blind_failed", given, due)
    ]
    [way] = found.explained
    assert way.text.startswith(
        "With the three of hearts in place of the three of spades at the turning of a face-down"
        f" card (event {seq}, rule L13)"
    )


def test_no_substitution_is_tried_before_the_seal(substituted: Substituted) -> None:
    case, _ = substituted()
    found = unheld_of(Log(read_log(case.bundle).lines[: case.seq + 6]))
    assert found is None or not found.tried


def test_an_incomplete_search_is_reported(
    substituted: Substituted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(substitution, "MAX_FOLLOWED", 10)
    case, _ = substituted()
    found = unheld_of(Log(read_log(case.bundle).lines))
    assert found is not None
    assert (found.substitutions, found.whole) == ((), False)
    assert [one.code for one in found.explained] == ["substitution.partly"]


@pytest.mark.parametrize("name", ["shithead", "leeds", "reverse", "shithead-layout"])
def test_an_honest_game_has_no_card_that_its_seat_did_not_hold(name: str) -> None:
    assert unheld_of(Log(sample_lines(name))) is None

"""Custody: the place of every card at every version, and the seats that see it."""

from __future__ import annotations

import pytest

from schemas.audit import CustodySchema
from service.audit.custody import custody
from service.domain.cards import HIDDEN
from service.domain.commands import UnknownCard
from service.domain.game import Game
from service.domain.view import ALL, seen_by
from service.replay.history import History
from tests.examples import spread
from tests.unit.audit.histories import NAMES, history_of, sample
from tests.unit.playing import RULESETS, play, rules, seat_counts


def codes(history: History) -> list[str]:
    return sorted(history.games[-1].deck)


def zones_of(game: Game, card: str) -> list[tuple[str, int | None, int | None]]:
    """Return every place of a card, computed from the state independently of `custody`."""
    found: list[tuple[str, int | None, int | None]] = []
    found += [("pile", None, None)] * game.pile.count(card)
    found += [("burned", None, None)] * game.burned.count(card)
    found += [("stock", None, None) for p in game.stock if game.deck[p] == card]
    for number, seat in enumerate(game.seats):
        found += [("hand", number, None)] * seat.hand.count(card)
        for slot, stack in enumerate(seat.up):
            found += [("up", number, slot)] * stack.count(card)
        for slot, p in enumerate(seat.down):
            if p is not None and game.deck[p] == card:
                found.append(("down", number, slot))
    return found or [("stock", None, None)]  # before the deal


def check(history: History, card: str) -> None:
    found = custody(history, card)
    assert CustodySchema().validate(found) == {}
    assert history.games[-1].deck[found["p"]] == card
    seqs = [s for part in found["path"] for s in range(part["from_seq"], part["to_seq"] + 1)]
    assert seqs == list(range(len(history.log)))
    for part in found["path"]:
        for seq in (part["from_seq"], part["to_seq"]):
            game = history.games[seq]
            assert zones_of(game, card) == [(part["zone"], part["seat"], part["slot"])]
            viewers = {
                viewer for viewer in range(len(game.seats)) if sees(seen_by(game, viewer), card)
            }
            stated = part["seen_by"]
            if part["zone"] != "stock":  # returned starters were seen, but are not in a view
                assert viewers == set(range(len(game.seats)) if stated == "all" else stated)


def sees(game: Game, card: str) -> bool:
    faces = [*game.pile, *game.burned]
    return card in faces or any(card in (*s.hand, *s.up_cards) for s in game.seats)


@pytest.mark.heavy
@pytest.mark.parametrize("name", spread(NAMES, 4))
def test_each_card_of_a_sample_has_one_place_at_every_version(name: str) -> None:
    history = sample(name)
    if history.games[-1].deck:
        for card in codes(history)[::5]:
            check(history, card)


@pytest.mark.parametrize("identity", RULESETS)
def test_each_card_of_every_ruleset_has_one_place_at_every_version(identity: str) -> None:
    ruleset = rules(identity)
    game = play(ruleset, seat_counts(ruleset)[-1], 3, turn_limit=60)
    history = history_of(game, game.deck)
    for card in codes(history)[::7]:
        check(history, card)


def test_without_a_deck_only_public_parts_of_the_path_are_returned() -> None:
    whole = sample("leeds")
    history = History(whole.log[:-2])
    for card in codes(whole):
        path = custody(history, card, viewer=None)["path"]
        public = [p for p in custody(whole, card)["path"] if p["seen_by"] == "all"]
        last = history.end
        clipped = [{**p, "to_seq": min(p["to_seq"], last)} for p in public]
        assert path == [p for p in clipped if p["from_seq"] <= last]
        assert HIDDEN not in str(path)


def test_a_seat_gets_the_parts_in_its_own_hand_and_in_no_other() -> None:
    history = sample("shithead")
    for card in codes(history):
        parts = custody(history, card, viewer=1)["path"]
        assert all(part["seen_by"] == "all" or 1 in part["seen_by"] for part in parts)
        whole = custody(history, card, viewer=ALL)["path"]
        assert parts == [p for p in whole if p["seen_by"] == "all" or 1 in p["seen_by"]]


def test_returned_starters_are_visible_to_all_under_the_stock() -> None:
    """B: a special card turned as the starter goes under the stock, seen by all."""
    ruleset = rules("shit-boot")
    for seed in range(40):
        game = play(ruleset, 3, seed, turn_limit=30)
        history = history_of(game, game.deck)
        dealt = next(line.event for line in history.log if hasattr(line.event, "returned"))
        for opening in dealt.returned:
            part = custody(history, opening.card)["path"][1]
            assert (part["zone"], part["seen_by"]) == ("stock", "all")
            public = custody(history_of(game), opening.card, viewer=None)
            assert public["path"][0] == part
            assert public["p"] == opening.p
        if dealt.returned:
            return
    pytest.fail("no starter was returned to the stock")


def test_a_card_that_is_not_in_the_game_has_no_path() -> None:
    with pytest.raises(UnknownCard):
        custody(sample("shithead"), "X1")

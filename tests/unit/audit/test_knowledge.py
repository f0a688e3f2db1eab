"""The knowledge of a seat follows exactly from the public log and its own cards."""

from __future__ import annotations

import random

import pytest

from schemas.audit import KnowledgeSchema
from service.audit.custody import custody
from service.audit.knowledge import knowledge
from service.domain.cards import HIDDEN, Card
from service.domain.events import CardsDealt, PilePickedUp
from service.domain.evolve import fold
from service.domain.game import Game
from service.domain.view import masked_deck, seat_openings
from service.replay.history import History
from tests.examples import spread
from tests.unit.audit.histories import NAMES, history_of, sample
from tests.unit.playing import RULESETS, Played, play, rules, seat_counts


def known_to(game: Played, seat: int, version: int) -> set[str]:
    """Return the cards whose place follows from the public log and the seat's own openings."""
    events = game.events[:version]
    own = masked_deck(game.deck, seat_openings(events, seat))
    folded = fold(events, own)
    cards = visible(folded)
    dealt = next((e for e in events if isinstance(e, CardsDealt)), None)
    returned = dealt.returned if dealt else ()
    return cards | {opening.card for opening in returned}


def visible(game: Game) -> set[str]:
    faces: list[Card] = [*game.pile, *game.burned]
    for seat in game.seats:
        faces += [*seat.hand, *seat.up_cards]
    return {str(card) for card in faces if card != HIDDEN}


@pytest.mark.heavy
@pytest.mark.parametrize("identity", spread(RULESETS, 4))
def test_a_seat_knows_what_the_log_and_its_openings_give(identity: str) -> None:
    ruleset = rules(identity)
    game = play(ruleset, seat_counts(ruleset)[-1], 5, turn_limit=60)
    history = history_of(game, game.deck)
    rng = random.Random(identity)
    for version in [1, 3, len(game.events), *rng.sample(range(1, len(game.events)), 5)]:
        for seat in range(len(history.games[0].seats)):
            found = knowledge(history, seat, version)
            cards = [line["card"] for line in found["cards"]]
            assert set(cards) == known_to(game, seat, version)
            assert sorted(cards + found["unseen"]) == sorted(game.deck)
            assert KnowledgeSchema().validate(found) == {}


@pytest.mark.heavy
@pytest.mark.parametrize("name", spread(NAMES, 4))
def test_a_known_card_is_where_the_seat_knows_it(name: str) -> None:
    history = sample(name)
    version = len(history.log) * 2 // 3 + 1
    if not history.games[-1].deck:
        return
    for line in knowledge(history, 1, version)["cards"][::4]:
        path = custody(history, line["card"])["path"]
        now = next(p for p in path if p["from_seq"] <= version - 1 <= p["to_seq"])
        assert (now["zone"], now["seat"]) == (line["zone"], line["seat"])
        first = next(p["from_seq"] for p in path if p["seen_by"] == "all" or 1 in p["seen_by"])
        assert first == line["since_seq"]


def test_known_cards_stay_known() -> None:
    history = sample("covered-queen")
    known: dict[str, tuple[int, str]] = {}
    for version in range(1, len(history.log) + 1, 7):
        lines = knowledge(history, 0, version)["cards"]
        now = {line["card"]: (line["since_seq"], line["by"]) for line in lines}
        assert known.items() <= now.items()
        known = now


def test_the_origin_of_knowledge_is_named() -> None:
    history = sample("shithead")
    dealt = next(r.seq for r in history.log if isinstance(r.event, CardsDealt))
    lines = knowledge(history, 0, dealt + 1)["cards"]
    by = {line["by"]: line for line in lines}
    assert set(by) == {"own", "table"}
    assert len(lines) == 3 + 3 * len(history.games[0].seats)
    last = knowledge(history, 0, len(history.log))["cards"]
    assert {line["by"] for line in last} >= {"own", "table", "pile", "drawn"}


def test_a_taken_pile_is_known_in_the_hand_of_its_seat() -> None:
    history = sample("shithead")
    taken = next(r for r in history.log if isinstance(r.event, PilePickedUp))
    assert isinstance(taken.event, PilePickedUp)
    pile = history.games[taken.seq - 1].pile
    other = (taken.event.taker + 1) % len(history.games[0].seats)
    known = {line["card"]: line for line in knowledge(history, other, taken.seq + 1)["cards"]}
    assert pile
    assert all(known[card]["zone"] == "hand" for card in pile)
    assert all(known[card]["seat"] == taken.event.taker for card in pile)


def test_the_seal_adds_no_knowledge() -> None:
    history = sample("shithead")
    before = knowledge(history, 0, len(history.log) - 1)
    assert {**knowledge(history, 0, len(history.log)), "version": before["version"]} == before
    assert before["unseen"]
    assert isinstance(history, History)

"""The audit of a running game does not depend on cards that the viewer cannot know."""

from __future__ import annotations

import random
from collections.abc import Iterable

import orjson
import pytest

from service.audit.custody import custody
from service.audit.decision import decision, why_not
from service.audit.knowledge import knowledge
from service.domain.cards import Card
from service.domain.events import Event
from service.domain.evolve import fold
from service.domain.view import Viewer, masked_deck, seat_openings
from service.replay.history import History
from tests.examples import spread
from tests.unit.audit.histories import AT, line
from tests.unit.decks import another_deck
from tests.unit.playing import RULESETS, Played, play, rules, seat_counts


def deck_for(
    events: Iterable[Event], deck: tuple[Card, ...], viewer: Viewer
) -> tuple[Card, ...] | None:
    """Return the deck as far as a viewer may know it before the seal."""
    return None if viewer is None else masked_deck(deck, seat_openings(events, int(viewer)))


REFUSED = [{"at": AT, "seat": seat, "move": {"type": "pass"}, "rule": "x"} for seat in range(5)]


def answers(game: Played, deck: tuple[Card, ...], version: int, viewer: Viewer) -> bytes:
    """Return all audit answers to `viewer` about a running game."""
    log = [line(seq, event) for seq, event in enumerate(game.events[:version])]
    history = History(log, deck_for(game.events[:version], deck, viewer))
    answer: list[object] = [
        decision(history, move.first, viewer=viewer, refused=REFUSED) for move in history.moves
    ]
    answer += [custody(history, card, viewer=viewer) for card in sorted(deck)[::3]]
    if isinstance(viewer, int):
        answer += [knowledge(history, viewer, at) for at in (1, version // 2 + 1, version)]
        seen = history.games[-1]
        own = (*seen.seats[viewer].hand, *seen.seats[viewer].up_cards)
        if seen.turn == viewer:
            answer += [why_not(seen, viewer, pair) for pair in ((own[:1]), own[:2], own[-2:])]
    return orjson.dumps(answer)


@pytest.mark.heavy
@pytest.mark.parametrize("identity", spread(RULESETS, 2))
def test_an_audit_does_not_depend_on_hidden_cards(identity: str) -> None:
    ruleset = rules(identity)
    game = play(ruleset, seat_counts(ruleset)[-1], 21, turn_limit=40)
    rng = random.Random(identity)
    for version in (4, rng.randrange(5, len(game.events) - 1)):
        full = fold(game.events[:version], game.deck)
        viewers: tuple[Viewer, ...] = (None, *range(len(full.seats)))
        for viewer in viewers:
            other = another_deck(full, viewer, rng)
            assert other != game.deck
            assert answers(game, other, version, viewer) == answers(
                game, game.deck, version, viewer
            )


@pytest.mark.parametrize("identity", RULESETS)
def test_an_audit_for_a_seat_is_the_same_before_and_after_the_seal(identity: str) -> None:
    """The legal moves of a seat do not depend on cards that it did not see."""
    ruleset = rules(identity)
    game = play(ruleset, seat_counts(ruleset)[0], 22, turn_limit=40)
    log = [line(seq, event) for seq, event in enumerate(game.events[:-2])]
    whole = History(log, game.deck)
    for seat in range(len(whole.games[0].seats)):
        own = History(log, deck_for(game.events[:-2], game.deck, seat))
        for move in own.moves:
            if move.seat == seat:
                assert decision(own, move.first, viewer=seat) == decision(whole, move.first)

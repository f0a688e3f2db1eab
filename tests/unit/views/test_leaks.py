"""Views have the same bytes for two decks that differ only in cards unknown to the viewer."""

from __future__ import annotations

import random

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.views import ViewFacts, view_json
from service.bots.bot import bot_rng
from service.bots.registry import bots
from service.domain.cards import Card
from service.domain.evolve import fold
from service.domain.legal import legal_moves
from service.domain.view import Viewer, seen_by
from service.replay.frames import frames, transcript
from service.replay.picture import picture
from tests.examples import examples, stride
from tests.unit.decks import another_deck
from tests.unit.playing import RULESETS, Played, play, rules, seat_counts

FACTS = ViewFacts(id="528c9a92-6e09-40f9-ac4e-4c01aef56252", head="00" * 32, ruleset_hash="11" * 32)
DECK_COMMITTED = 2  # the version after game_created and deck_committed


def _sight(game: Played, deck: tuple[Card, ...], version: int, viewer: Viewer) -> bytes:
    """Return all that `viewer` is shown of a game up to `version`: views, captions, pictures."""
    events = game.events[:version]
    shown = [
        [step.caption, view_json(step.game, viewer, FACTS), picture(step)]
        for step in frames(events, deck=deck, viewer=viewer)
    ]
    return orjson.dumps(shown) + transcript(events, deck=deck, viewer=viewer).encode()


@st.composite
def stops(draw: st.DrawFn) -> tuple[Played, int, int]:
    """Draw a random game, a version before its end, and a seed for another deck."""
    identity = draw(st.sampled_from(RULESETS))
    ruleset = rules(identity, draw(st.sampled_from([1, 2])))
    seats = draw(st.sampled_from(seat_counts(ruleset)))
    game = play(ruleset, seats, draw(st.integers(0, 2**32)), turn_limit=60)
    version = draw(st.integers(DECK_COMMITTED, len(game.events) - 1))
    return game, version, draw(st.integers(0, 2**32))


@pytest.mark.heavy
@examples(6)
@given(stop=stops())
def test_a_view_does_not_depend_on_hidden_cards(stop: tuple[Played, int, int]) -> None:
    game, version, seed = stop
    full = fold(game.events[:version], game.deck)
    viewers: tuple[Viewer, ...] = (None, *range(len(full.seats)))
    for viewer in viewers:
        other = another_deck(full, viewer, random.Random(seed))
        assert _sight(game, other, version, viewer) == _sight(game, game.deck, version, viewer)


@pytest.mark.heavy
@pytest.mark.parametrize("identity", RULESETS)
def test_views_of_every_ruleset_do_not_depend_on_hidden_cards(identity: str) -> None:
    ruleset = rules(identity)
    game = play(ruleset, seat_counts(ruleset)[-1], 11, turn_limit=60)
    rng = random.Random(12)
    versions = rng.sample(range(DECK_COMMITTED, len(game.events) - 1), 3)
    for version in versions[:: stride(3)]:
        full = fold(game.events[:version], game.deck)
        viewers: tuple[Viewer, ...] = (None, 0, full.turn or 1)
        for viewer in viewers:
            other = another_deck(full, viewer, rng)
            assert other != game.deck
            assert _sight(game, other, version, viewer) == _sight(game, game.deck, version, viewer)


@examples(15)
@given(stop=stops())
def test_moves_and_bots_depend_only_on_what_a_seat_knows(stop: tuple[Played, int, int]) -> None:
    """Except at the opening, where moves show which seats qualify (rules.md, Windows)."""
    game, version, seed = stop
    full = fold(game.events[:version], game.deck)
    if full.first_turn:
        return
    for seat in range(len(full.seats)):
        other = another_deck(full, seat, random.Random(seed))
        twin = fold(game.events[:version], other)
        moves = legal_moves(full, seat)
        assert moves == legal_moves(twin, seat)
        if not moves:
            continue
        view = view_json(seen_by(full, seat), seat, FACTS, moves)
        twin_view = view_json(seen_by(twin, seat), seat, FACTS, moves)
        for bot in bots().values():
            rng, again = (bot_rng(b"secret", FACTS.id, version) for _ in range(2))
            chosen = bot.choose(view, view["moves"], rng)
            assert chosen == bot.choose(twin_view, twin_view["moves"], again)

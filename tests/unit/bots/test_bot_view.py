"""The view of a bot: equal to that of a person, and nothing else can be reached from it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from itertools import islice
from types import FunctionType
from typing import Any

import orjson
import pytest
from msgspec import Struct

from schemas.views import LazySeats, LazyView, ViewFacts, view_json
from service.bots.bot import bot_view, with_settings
from service.domain.commands import Seat
from service.domain.game import Game
from service.domain.legal import acting_seats, legal_moves
from service.domain.view import seen_by
from tests.examples import stride
from tests.unit.playing import RULESETS, rules, seat_counts, steps_of

FACTS = ViewFacts(
    id="528c9a92-6e09-40f9-ac4e-4c01aef56252",
    head="00" * 32,
    ruleset_hash="11" * 32,
    settings={"players": {"min": 2, "max": 5}},
)


def turns(identity: str) -> Iterator[tuple[Game, Seat]]:
    """Yield games of a hand in which a seat may act, with this seat."""
    ruleset = rules(identity)
    steps = steps_of(ruleset, seat_counts(ruleset)[-1], 5, turn_limit=60)
    for game, _ in islice(steps, 0, None, stride(3)):
        yield from ((game, seat) for seat in acting_seats(game))


def persons_view(game: Game, seat: Seat) -> dict[str, Any]:
    view = view_json(seen_by(game, seat), seat, FACTS, legal_moves(game, seat))
    return dict(with_settings(view, FACTS.settings))


@pytest.mark.parametrize("identity", RULESETS)
def test_the_view_of_a_bot_is_that_of_a_person(identity: str) -> None:
    for game, seat in turns(identity):
        view = bot_view(game, seat, FACTS)
        whole = {**view, "seats": list(view["seats"])}
        assert whole == persons_view(game, seat)
        assert (list(view), len(view)) == (list(whole), len(whole))
        assert len(view["seats"]) == len(whole["seats"])
        with pytest.raises(KeyError):
            view["deck"]


@pytest.mark.parametrize("identity", RULESETS)
def test_no_card_that_the_view_hides_can_be_reached_from_it(identity: str) -> None:
    """Neither from a part, nor from what the view keeps to make its parts."""
    hid_some = False
    for game, seat in turns(identity):
        shown = set(strings(orjson.loads(orjson.dumps(persons_view(game, seat)))))
        hidden = set(game.deck) - shown
        hid_some = hid_some or bool(hidden)
        assert not hidden & set(strings(bot_view(game, seat, FACTS)))
    assert hid_some


def test_the_search_for_hidden_cards_finds_them_in_the_game_itself() -> None:
    """The search of the test above follows everything that holds a value."""
    game, _ = next(turns("shithead"))
    assert set(game.deck) <= set(strings(lambda: game))


def strings(value: object) -> Iterator[str]:
    """Yield all strings that can be reached from a value, also through its private attributes."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, LazyView | LazySeats):
        yield from strings([getattr(value, name) for name in value.__slots__])
    elif isinstance(value, Struct):
        yield from strings([getattr(value, name) for name in value.__struct_fields__])
    elif isinstance(value, Mapping):
        yield from strings([*value.keys(), *value.values()])
    elif isinstance(value, tuple | list | frozenset):
        for item in value:
            yield from strings(item)
    elif isinstance(value, FunctionType):
        yield from strings([cell.cell_contents for cell in value.__closure__ or ()])
    elif dataclasses.is_dataclass(value):
        yield from strings([getattr(value, field.name) for field in dataclasses.fields(value)])
    else:
        assert value is None or isinstance(value, int | type), f"not followed: {value!r}"

"""The types of the client library have the fields of the API's schemas."""

from __future__ import annotations

from collections.abc import Iterator
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest
from marshmallow import Schema, fields

from schemas import moves
from schemas.event_fields import EVENTS
from schemas.games import AbsencesSchema
from schemas.tables import OpenedTableSchema
from schemas.views import GameViewSchema
from service.client import answers

INTENTS = {
    answers.PlayMove: (moves.PlayIntent,),
    answers.PlayBlindMove: (moves.PlayBlindIntent,),
    answers.PickUpMove: (moves.PickUpIntent,),
    answers.SwapMove: (moves.SwapIntent,),
    answers.LayMove: (moves.LayIntent,),
    answers.ClaimAbsenceMove: (moves.ClaimAbsenceIntent,),
    answers.PlainMove: (
        moves.TryStockIntent,
        moves.PassIntent,
        moves.ReadyIntent,
        moves.ForfeitIntent,
        moves.AgreeEndIntent,
    ),
}


def pairs(type_: Any, schema: Schema) -> Iterator[tuple[Any, Schema]]:
    """Yield a type and its schema, then those of the objects in it."""
    yield type_, schema
    hints = get_type_hints(type_)
    for name, field in schema.fields.items():
        inner = field.inner if isinstance(field, fields.List) else field
        found = next((t for t in parts(hints[field.data_key or name]) if keys(t)), None)
        if isinstance(inner, fields.Nested) and found not in {None, *INTENTS}:
            yield from pairs(found, inner.schema)


def parts(hint: Any) -> list[Any]:
    """Return the alternatives of a type; for a list, those of its items."""
    if get_origin(hint) in (Union, UnionType):
        return [part for one in get_args(hint) for part in parts(one)]
    return parts(get_args(hint)[0]) if get_origin(hint) is list else [hint]


def keys(type_: Any) -> frozenset[str]:
    return getattr(type_, "__required_keys__", frozenset())


VIEW = list(pairs(answers.GameView, GameViewSchema()))
TABLE = list(pairs(answers.Table, OpenedTableSchema()))
ABSENCES = list(pairs(answers.AbsentPlayers, AbsencesSchema()))


@pytest.mark.parametrize(
    ("type_", "schema"), [pytest.param(*p, id=p[0].__name__) for p in (*VIEW, *TABLE, *ABSENCES)]
)
def test_an_object_has_the_fields_of_its_schema(type_: Any, schema: Schema) -> None:
    hints = get_type_hints(type_)
    shown = {field.data_key or name: field for name, field in schema.fields.items()}
    assert set(hints) == set(shown)
    for name, field in shown.items():
        assert (NoneType in get_args(hints[name])) is bool(field.allow_none), name


def test_views_are_typed_at_every_depth() -> None:
    assert {t.__name__ for t, _ in VIEW} >= {
        "SeatView",
        "Cards",
        "DemandView",
        "ResultView",
        "SetupSeat",
    }
    assert {t.__name__ for t, _ in TABLE} >= {
        "TableSeatView",
        "TableGame",
        "RulesetView",
        "ClockView",
    }


@pytest.mark.parametrize("type_", INTENTS, ids=lambda t: t.__name__)
def test_a_move_has_the_fields_of_its_schema(type_: Any) -> None:
    names = set()
    for schema in (one() for one in INTENTS[type_]):
        shown = {field.data_key or name for name, field in schema.fields.items()}
        assert keys(type_) == shown
        names |= set(schema.fields["type"].validate.choices)  # type: ignore[union-attr]  # a Chosen
    assert set(get_args(get_type_hints(type_)["type"])) == names


def test_every_move_has_a_type() -> None:
    assert set(INTENTS) == set(get_args(answers.Move))
    kinds = [k for t in INTENTS for k in get_args(get_type_hints(t)["type"])]
    assert sorted(kinds) == sorted(moves.INTENTS)


def test_an_event_has_the_fields_that_all_types_share() -> None:
    shared = set.intersection(*(set(schema().fields) for schema in EVENTS.values()))
    assert keys(answers.Event) <= shared
    assert set(get_type_hints(answers.Event)) - keys(answers.Event) == {"auth"}
    assert get_origin(get_type_hints(answers.SeatView)["kind"]) is Literal

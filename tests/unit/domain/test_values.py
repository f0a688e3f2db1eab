"""Values on which other code depends: names in the format, refusal codes, defaults."""

from __future__ import annotations

from dataclasses import asdict
from enum import StrEnum

import msgspec
import pytest

from service.domain import (
    commands,
    decide,
    demand,
    dispute,
    dispute_rules,
    events,
    game,
    ruleset,
    table,
)
from service.domain.cards import HIDDEN, JOKER, RANKS, SUITS
from service.domain.commands import PickUp, TimeOut
from service.domain.demand import Demand
from service.domain.game import EntropyState, SeatState, Status, new_game
from service.domain.ruleset import (
    ALL_RANKS,
    MAX_TURN_LIMIT,
    PLAIN_RANK,
    Asks,
    RankRule,
    Ruleset,
)
from service.domain.table import TableSeat, TableStatus, fold_table
from tests.rules.tables import created, rules
from tests.unit.domain.test_table_seats import OPENED

ENUMS = sorted(
    {
        value
        for module in (commands, dispute, dispute_rules, events, game, ruleset, table)
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, StrEnum) and value is not StrEnum
    },
    key=lambda enum: enum.__name__,
)


@pytest.mark.parametrize("enum", ENUMS, ids=lambda enum: enum.__name__)
def test_enum_members_have_the_names_used_in_the_format(enum: type[StrEnum]) -> None:
    """Rulesets, events and views are written with these words, and old games are read by them."""
    assert {member.name.lower(): member for member in enum} == {m.value: m for m in enum}


STRUCTS = sorted(
    {
        value
        for module in (commands, decide, demand, events, game)
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, msgspec.Struct)
    }
    - {msgspec.Struct},
    key=lambda struct: struct.__name__,
)


@pytest.mark.parametrize("struct", STRUCTS, ids=lambda struct: struct.__name__)
def test_commands_events_and_states_are_immutable_and_made_by_keyword(
    struct: type[msgspec.Struct],
) -> None:
    """The garbage collector need not look for cycles in values that have none."""
    config = struct.__struct_config__
    assert config.frozen
    assert not config.gc
    if struct.__struct_fields__ and struct is not commands.RuleReason:
        with pytest.raises(TypeError, match="positional"):
            struct(*struct.__struct_fields__)


def test_a_hand_has_at_most_19000_actions() -> None:
    """Endless hands: the highest turn limit that a table may choose."""
    assert MAX_TURN_LIMIT == 19_000


def test_card_codes_have_not_changed() -> None:
    """Cards: text codes are rank and suit; jokers are X1 and X2; ace high, two low."""
    assert "".join(RANKS) == "23456789TJQKA"
    assert "".join(SUITS) == "cdhs"
    assert (JOKER, HIDDEN, "".join(ALL_RANKS)) == ("X", "??", "23456789TJQKAX")


def test_every_refusal_has_its_own_code() -> None:
    """The codes of the interface, one for each reason."""
    kinds = (
        commands.CommandRefused,
        commands.GameOver,
        commands.NotYourTurn,
        commands.UnknownCard,
        commands.RuleRefused,
    )
    codes = ["refused", "game-over", "not-your-turn", "unknown-card", "rule-refused"]
    assert [kind.code for kind in kinds] == codes


def test_a_ruleset_without_settings_is_the_plain_game() -> None:
    """Three down, three up, three in the hand; no card is special; played for a loser."""
    plain = Ruleset(id="custom-plain", seats_min=2, seats_max=5)
    settings = {key: value for key, value in asdict(plain).items() if key not in ("id", "order")}
    assert settings == {
        "options": {},
        "seats_min": 2,
        "seats_max": 5,
        "deck": {
            "count": "fixed",
            "decks": 1,
            "seats_per_deck": 0,
            "jokers": 0,
            "jokers_from_seats": 0,
            "jokers_then": 0,
            "partial": (),
        },
        "deal": {
            "down": 3,
            "up": 3,
            "hand": 3,
            "layout": "none",
            "starter": "none",
            "exchange": True,
            "throws": (),
        },
        "opening": {"opener": "left_of_dealer", "ranks": (), "suits": "", "play": "any"},
        "refill": {"to": "size", "size": 3},
        "turn": {
            "obligation": "may_pick_up",
            "try_stock": "never",
            "follow_up": False,
            "runs": False,
        },
        "pick_up": {"taker": "self", "after": "next", "along": "nothing", "show_blind": True},
        "burn": {"set_size": 4, "flusher": False},
        "end": {"played_for": "loser", "next_dealer": "loser", "paper_bag": False},
        "ranks": {},
        "cites": {},
    }
    assert plain.order == RANKS


def test_a_rank_that_is_not_special_is_plain() -> None:
    """The normal case: by the normal rule, asks for at least its rank, and does nothing."""
    assert asdict(PLAIN_RANK) == {
        "plays": "normal",
        "not_on": (),
        "asks": "at_least",
        "asks_as": None,
        "besides": (),
        "alone": "anything",
        "burns": False,
        "covers": False,
        "covers_with_two": False,
        "reverses": False,
        "skips": False,
    }
    assert RankRule() == PLAIN_RANK


def test_rulesets_that_differ_only_in_citations_are_equal() -> None:
    """Rulesets are equal if their rules are equal, even with different citations."""
    one, other = (
        Ruleset(id="custom-x", seats_min=2, seats_max=5, cites={"deal.up": cited})
        for cited in ("P3", "L4")
    )
    assert one == other


def test_a_new_game_has_its_initial_values() -> None:
    """Nothing dealt, no seat on turn, clockwise, and the first play still to come."""
    begun = created(rules("shithead"), 2)
    state = new_game(begun)
    nothing = (state.deck, state.stock, state.pile, state.burned)
    assert nothing == ((), (), (), ())
    assert (state.version, state.status, state.direction) == (1, Status.SHUFFLING, 1)
    unset = (state.dealer, state.turn, state.thrower, state.flusher, state.timed_out)
    assert unset == (None,) * 5
    assert (state.last_play, state.result) == (None, None)
    assert (state.first_turn, state.covering, state.passes, state.actions) == (True, False, 0, 0)
    seat = SeatState()
    assert (seat.hand, seat.known, seat.up, seat.down, seat.drawn_laying) == ((),) * 5
    assert (seat.laid, seat.ready, seat.place, seat.time_outs) == (False, False, None, 0)
    assert (seat.entropy, seat.empty) == (EntropyState.NONE, True)
    assert state.seats == (seat, seat)


def test_a_new_table_has_its_initial_values() -> None:
    """Seats that have lost nothing, and a first dealer still to be drawn."""
    state = fold_table([OPENED])
    assert (state.hand, state.repeat, state.game, state.last_game) == (0, False, None, None)
    assert (state.next_dealer, state.closed, state.status) == (None, False, TableStatus.BETWEEN)
    seat = TableSeat()
    assert (seat.kind, seat.entropy) == ("open", "none")
    assert (seat.player, seat.bot, seat.key, seat.key_sig) == (None,) * 4
    assert (seat.hands, seat.shithead, seat.bag) == (0, 0, False)


def test_values_are_never_changed_in_place() -> None:
    """Events, states and settings are immutable."""
    for value, name in (
        (PLAIN_RANK, "plays"),
        (SeatState(), "hand"),
        (TableSeat(), "kind"),
        (PickUp(seat=0), "seat"),
        (Demand(kind=Asks.BELOW), "kind"),
    ):
        with pytest.raises(AttributeError):
            setattr(value, name, 1)


def test_optional_fields_of_commands_have_defaults() -> None:
    """A pick-up takes nothing along, and a time-out names no move."""
    assert PickUp(seat=0).along == ()
    assert TimeOut(seat=0).move is None
    anything = Demand(kind=Asks.ANYTHING)
    assert (anything.rank, anything.asked_by, anything.setting) == (None, None, "")


def test_a_game_is_aborted_for_one_of_five_causes() -> None:
    """Causes: missing entropy, a player who left, an idle game, the operator, an agreement."""
    causes = [cause.value for cause in events.AbortCause]
    assert causes == ["no_entropy", "left", "idle", "operator", "agreed"]

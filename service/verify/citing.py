"""Which statement decides an outcome that a log has got wrong."""

from __future__ import annotations

from service.domain.cards import rank_of
from service.domain.events import (
    BlindFailed,
    CardsDrawn,
    CardsPlayed,
    CardsThrown,
    Event,
    GameEnded,
    PileBurned,
    PilePickedUp,
    PlayStarted,
    SeatOut,
    StockFailed,
    TableLaid,
)
from service.domain.game import Game


def rule_for(game: Game, event: Event, action: Event) -> str:
    """Return the statement behind `event`, an outcome of `action` as the ruleset gives it."""
    cite = game.ruleset.cite
    rank = rank_of(action.cards[-1]) if isinstance(action, CardsPlayed) else "?"
    match event:
        case CardsPlayed():
            effects = ("skips", "reverses", "covers", "covers_with_two", "burns")
            rule = game.ruleset.ranks.get(rank_of(event.cards[-1]))
            named = [name for name in effects if rule is not None and getattr(rule, name)]
            return cite(*(f"ranks.{rank}.{name}" for name in named), "model.turn")
        case CardsDrawn() | TableLaid():
            return cite("refill.to", "refill.size")
        case PileBurned(cause="rank"):
            return cite(f"ranks.{rank}.burns", "burn.set_size")
        case PileBurned():
            return cite("burn.set_size")
        case PilePickedUp() | StockFailed():
            return cite("pick_up.after", "pick_up.taker")
        case BlindFailed():
            return cite("pick_up.show_blind", "model.blind")
        case SeatOut():
            return cite("model.going_out")
        case PlayStarted():
            return cite("opening.opener")
        case CardsThrown():
            return cite("deal.throws")
        case GameEnded(reason="stalemate"):
            return cite("model.turn_limit")
        case GameEnded():
            return cite("end.played_for")
        case _:
            return cite()

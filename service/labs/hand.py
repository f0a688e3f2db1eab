"""A hand as decisions of single seats, and its table as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from schemas.moves import move_of
from schemas.views import ViewFacts, view_json
from service.domain.cards import Card
from service.domain.commands import Seat
from service.domain.deal import dealt_hand
from service.domain.decide import decide
from service.domain.events import EndReason
from service.domain.evolve import evolve
from service.domain.game import Game, Status
from service.domain.legal import acting_seats, legal_moves
from service.domain.ruleset import Ruleset
from service.domain.view import seen_by
from service.labs.arrays import Actions, Floats, Json, Move, observed
from service.rulesets.catalogue import definition

FACTS: Final = ViewFacts(id="shithead_v0", head="00" * 32, ruleset_hash="00" * 32)
TURNS_PER_SEAT: Final = 400
"""The default turn limit of a hand, divided by its seats."""

MAX_SWAPS: Final = 6
"""Maximum number of swaps of a seat in the exchange; after them only `ready` is legal."""


def rules_of(ruleset: str, seats: int, options: Mapping[str, Any], *, hand: int) -> Ruleset:
    """
    Return the rules of a hand of a ruleset of the catalogue with options.

    Raises ValueError if the ruleset does not allow the number of seats, OptionError for options
    that it does not have, KeyError for an unknown ruleset.
    """
    known = definition(ruleset)
    rules = known.ruleset(known.chosen(dict(options)), hand=hand)
    if not rules.seats_min <= seats <= rules.seats_max:
        raise ValueError(f"{ruleset} is not played with {seats} seats")
    return rules


class EnvironmentHand:
    """
    One hand, played by the engine; `selected` is the seat that decides next, from its view.

    The environment draws everything random: the deck, the dealer, and which of several
    `candidates` acts first. To lay out its face-up cards, a seat makes one move (`lay`) in the
    engine, and one decision for each slot here.
    """

    def __init__(
        self,
        actions: Actions,
        ruleset: Ruleset,
        deck: Sequence[Card],
        *,
        seats: int,
        dealer: Seat,
        turn_limit: int,
        hand: int = 1,
    ) -> None:
        """Deal `deck`, which has the cards of `whole_deck` in the order of the deal."""
        self.game: Game = dealt_hand(
            ruleset, tuple(deck), seats=seats, dealer=dealer, turn_limit=turn_limit, hand=hand
        )
        self.actions = actions
        self.selected: Seat = -1
        self.legal: dict[int, Move | None] = {}
        """The moves of the selected seat by action; None declines a follow-up."""

        self._view: Json = {}
        self._pending: tuple[str, ...] = ()  # cards chosen to be laid
        self._swaps: dict[Seat, int] = {}
        self._declined = -1  # version of the game at which a follow-up was declined

    def candidates(self) -> tuple[Seat, ...]:
        """Return the seats that may decide next; several only if any of them may act first."""
        game = self.game
        able = acting_seats(game)
        out_of_turn = tuple(seat for seat in able if game.turn not in (None, seat))
        if game.status is Status.SWAPPING:
            return able[:1]
        if out_of_turn and self._declined != game.version:
            return out_of_turn[:1]
        return able if game.turn is None else (game.turn,)

    def select(self, seat: Seat) -> None:
        """Let a seat of `candidates` decide."""
        self.selected = seat
        self._view = self.view_of(seat)
        self.legal = self._legal_actions(seat)

    def act(self, action: int) -> None:
        """Perform an action of the selected seat; raises ValueError if it is illegal."""
        move = self.legal.get(action, {})
        if move is None:
            self._declined = self.game.version
        elif not move:
            raise ValueError(f"action {action} is not legal")
        elif move["type"] == "choose":
            self._choose(move["card"])
        else:
            self._make(move)

    def observation(self, seat: Seat) -> Floats:
        """Return the observation of a seat as an array; its layout is in `arrays.observed`."""
        if seat == self.selected and not self.game.over:
            return observed(self._view, self._pending)
        return observed(self.view_of(seat))

    def view_of(self, seat: Seat | None) -> Json:
        """Return the view of a seat with its legal moves; for None, that of a spectator."""
        if seat is None:
            return view_json(seen_by(self.game, None), None, FACTS)
        moves = () if self.game.over else legal_moves(self.game, seat)
        return view_json(seen_by(self.game, seat), seat, FACTS, moves)

    def rewards(self) -> list[float] | None:
        """
        Return the reward of each seat; None before the end and after a stalemate.

        The shithead gets -1 and the others share 1; if the hand is played for a winner, the
        winner gets 1 and the others share -1.
        """
        result, seats = self.game.result, len(self.game.seats)
        if result is None or result.reason is EndReason.STALEMATE:
            return None
        won = result.reason is EndReason.WINNER
        one, seat = (1.0, result.places[0]) if won else (-1.0, result.shithead)
        return [one if number == seat else -one / (seats - 1) for number in range(seats)]

    def _legal_actions(self, seat: Seat) -> dict[int, Move | None]:
        game, moves = self.game, self._view["moves"]
        if moves[0]["type"] == "lay":
            cards = self.actions.laying(self._view["seats"][seat]["hand"]["cards"], self._pending)
            return {action: {"type": "choose", "card": card} for action, card in cards.items()}
        if game.status is Status.SWAPPING and self._swaps.get(seat, 0) >= MAX_SWAPS:
            moves = [move for move in moves if move["type"] == "ready"]
        legal: dict[int, Move | None] = {**self.actions.of(moves)}
        if game.status is Status.PLAYING and game.turn not in (None, seat):
            legal[self.actions.pass_turn] = None
        return legal

    def _choose(self, card: str) -> None:
        self._pending = (*self._pending, card)
        if len(self._pending) == self.actions.slots:
            stacks = [[one] for one in self._pending]
            self._pending = ()
            self._make({"type": "lay", "stacks": stacks})

    def _make(self, move: Move) -> None:
        seat = self.selected
        if move["type"] == "swap":
            self._swaps[seat] = self._swaps.get(seat, 0) + 1
        game = self.game
        for event in decide(move_of(move, seat), game):
            game = evolve(game, event)
        self.game = game


def table_as_text(view: dict[str, Any]) -> str:
    """Return the table as lines of text: the pile, the stock, and a line for each seat."""
    pile = " ".join(view["pile"]) or "empty"
    counts = f"stock {view['stock']}, burned {len(view['burned'])}"
    lines = [f"{view['ruleset']['id']}: {view['status']}, {counts}", f"pile: {pile}"]
    for seat in view["seats"]:
        turn = ">" if seat["seat"] == view["turn"] else " "
        up = " ".join("+".join(stack) or "--" for stack in seat["up"])
        known = f" ({' '.join(seat['hand']['known'])})" if seat["hand"]["known"] else ""
        out = f", out {seat['out']}" if seat["out"] is not None else ""
        lines.append(
            f"{turn}{seat['seat']}: hand {seat['hand']['count']}{known}, "
            f"up {up or '--'}, down {sum(seat['down'])}{out}"
        )
    result = view["result"]
    if result is not None:
        lines.append(f"{result['reason']}: {result['shithead']}")
    return "\n".join(lines)

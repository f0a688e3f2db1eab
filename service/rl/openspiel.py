"""
The OpenSpiel game `shithead`: every ruleset as a game with chance nodes.

    import pyspiel
    from service.rl import openspiel  # registers it
    game = pyspiel.load_game("shithead(ruleset=leeds,players=4)")

Actions and observations are those of the PettingZoo environment (`shithead_v0`); chance nodes are
the dealer, each card of the shuffled deck, and which of several seats acts first.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyspiel

from service.domain.cards import Card
from service.domain.deal import whole_deck
from service.domain.ruleset import Ruleset
from service.rl.arrays import Actions, Floats, size_of
from service.rl.hand import MAX_SWAPS, TURNS_PER_SEAT, Hand, rules_of, table_as_text
from service.rulesets.catalogue import catalogue, definition

PARAMETERS: Final[Mapping[str, Any]] = {
    "ruleset": "shithead",
    "players": 2,
    "options": "",
    "hand": 1,
    "turn_limit": 0,
}
"""
Parameters of the game and their defaults.

`options` are options of the ruleset as words `name:value`, because a comma or an equals sign ends
a parameter. `hand` is the number of the hand at its table. `turn_limit` 0 stands for TURNS_PER_SEAT
times the number of players.
"""


def _players(bound: str) -> list[int]:
    return [definition(one).settings({})["players"][bound] for one in catalogue()]


GAME_TYPE: Final = pyspiel.GameType(
    short_name="shithead",
    long_name="Shithead",
    dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
    chance_mode=pyspiel.GameType.ChanceMode.EXPLICIT_STOCHASTIC,
    information=pyspiel.GameType.Information.IMPERFECT_INFORMATION,
    utility=pyspiel.GameType.Utility.ZERO_SUM,
    reward_model=pyspiel.GameType.RewardModel.TERMINAL,
    max_num_players=max(_players("max")),
    min_num_players=min(_players("min")),
    provides_information_state_string=False,
    provides_information_state_tensor=False,
    provides_observation_string=True,
    provides_observation_tensor=True,
    parameter_specification=dict(PARAMETERS),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """The constant part of the states of a game; copies of a state share it."""

    ruleset: Ruleset
    seats: int
    hand: int
    turn_limit: int
    actions: Actions
    deck: tuple[Card, ...]  # before shuffling; a card's index is the number of its outcome

    def __deepcopy__(self, memo: Any) -> Table:
        """Return this table, which never changes."""
        del memo
        return self

    def max_decisions(self) -> int:
        """
        Return the maximum number of decisions of a hand.

        In the exchange a seat lays its slots, swaps and is ready. Then each action counts
        against the turn limit, and one follow-up may be declined before each.
        """
        exchange = self.actions.slots + MAX_SWAPS + 1
        return self.seats * exchange + 2 * self.turn_limit


class ShitheadGame(pyspiel.Game):  # type: ignore[misc]  # pyspiel has no types
    """One hand of a ruleset; its parameters are PARAMETERS."""

    def __init__(self, params: Mapping[str, Any] | None = None) -> None:
        """
        Raise ValueError if the ruleset does not allow the number of players.

        Raises OptionError for options that the ruleset does not have, KeyError for an
        unknown ruleset.
        """
        chosen = {**PARAMETERS, **(params or {})}
        seats, hand = chosen["players"], chosen["hand"]
        ruleset = rules_of(chosen["ruleset"], seats, _options(chosen["options"]), hand=hand)
        deck = whole_deck(ruleset, seats)
        self.table = Table(
            ruleset=ruleset,
            seats=seats,
            hand=hand,
            turn_limit=chosen["turn_limit"] or TURNS_PER_SEAT * seats,
            actions=Actions(ruleset, seats),
            deck=deck,
        )
        info = pyspiel.GameInfo(
            num_distinct_actions=self.table.actions.count,
            max_chance_outcomes=max(len(deck), seats),
            num_players=seats,
            min_utility=-1.0,
            max_utility=1.0,
            utility_sum=0.0,
            max_game_length=self.table.max_decisions(),
        )
        super().__init__(GAME_TYPE, info, dict(params or {}))

    def new_initial_state(self) -> ShitheadState:
        """Return the state before the deal."""
        return ShitheadState(self)

    def make_py_observer(self, iig_obs_type: Any = None, params: Any = None) -> Observer:
        """Return an observer of the views of seats, which is the only kind there is."""
        del iig_obs_type, params
        return Observer(self.table.seats)

    def max_chance_nodes_in_history(self) -> int:
        """Return the maximum number of chance nodes: dealer, cards, first seat at each decision."""
        return 1 + len(self.table.deck) + self.table.max_decisions()


class ShitheadState(pyspiel.State):  # type: ignore[misc]  # pyspiel has no types
    """A hand; before the deal, the dealer and the cards that chance has drawn so far."""

    def __init__(self, game: ShitheadGame) -> None:
        """Begin before the dealer is drawn; only `new_initial_state` calls this."""
        super().__init__(game)
        self._table = game.table
        self._dealer: int | None = None
        self._drawn: tuple[Card, ...] = ()
        self._hand: Hand | None = None
        self._candidates: tuple[int, ...] = ()  # the seats between which chance decides

    def current_player(self) -> int:
        """Return the seat that decides, CHANCE or TERMINAL."""
        if self.is_terminal():
            return int(pyspiel.PlayerId.TERMINAL)
        if self._hand is None or self._candidates:
            return int(pyspiel.PlayerId.CHANCE)
        return self._hand.selected

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """Return the outcomes of this chance node with their probabilities."""
        if self._candidates:
            return [(seat, 1 / len(self._candidates)) for seat in self._candidates]
        if self._dealer is None:
            return [(seat, 1 / self._table.seats) for seat in range(self._table.seats)]
        drawn = set(self._drawn)
        left = [number for number, card in enumerate(self._table.deck) if card not in drawn]
        return [(number, 1 / len(left)) for number in left]

    def _legal_actions(self, player: int) -> list[int]:
        hand = self._hand
        return sorted(hand.legal) if hand is not None and player == hand.selected else []

    def _apply_action(self, action: int) -> None:
        hand = self._hand
        if hand is None:
            self._deal(action)
        elif self._candidates:
            hand.select(action)
            self._candidates = ()
        else:
            hand.act(action)
            self._select(hand)

    def _deal(self, outcome: int) -> None:
        table = self._table
        if self._dealer is None:
            self._dealer = outcome
            return
        self._drawn = (*self._drawn, table.deck[outcome])
        if len(self._drawn) == len(table.deck):
            self._hand = Hand(
                table.actions,
                table.ruleset,
                self._drawn,
                seats=table.seats,
                dealer=self._dealer,
                turn_limit=table.turn_limit,
                hand=table.hand,
            )
            self._select(self._hand)

    def _select(self, hand: Hand) -> None:
        if hand.game.over:
            return
        seats = hand.candidates()
        if len(seats) == 1:
            hand.select(seats[0])
        else:
            self._candidates = seats

    def _action_to_string(self, player: int, action: int) -> str:
        if player == pyspiel.PlayerId.CHANCE:
            if self._candidates:
                return f"seat {action} acts first"
            card = self._table.deck[action]
            return f"dealer {action}" if self._dealer is None else f"card {card}"
        move = self._hand.legal.get(action, {}) if self._hand is not None else {}
        if move is None:
            return "decline the follow-up"
        return json.dumps(move) if move else f"{action}"

    def is_terminal(self) -> bool:
        """Return whether the hand is over."""
        return self._hand is not None and self._hand.game.over

    def returns(self) -> list[float]:
        """Return the reward of each seat; 0 before the end and after a stalemate."""
        rewards = self._hand.rewards() if self._hand is not None else None
        return rewards or [0.0] * self._table.seats

    def observed(self, player: int) -> Floats:
        """Return the observation of a seat (`arrays.observed`); zeros before the deal."""
        if self._hand is None:
            return np.zeros(size_of(self._table.seats), dtype=np.float32)
        return self._hand.observation(player)

    def view(self, player: int) -> str:
        """Return the view of a seat as text, with its own hand; an empty text before the deal."""
        if self._hand is None:
            return ""
        view = self._hand.view_of(player)
        own = " ".join(view["seats"][player]["hand"]["cards"])
        return f"{table_as_text(view)}\nseat {player}, own hand: {own or '--'}"

    def __str__(self) -> str:
        """Return the table as a spectator sees it, or the cards drawn so far."""
        if self._hand is None:
            return f"dealer {self._dealer}: {' '.join(self._drawn)}"
        return table_as_text(self._hand.view_of(None))


class Observer:
    """Observations of seats as one array and as text, not split into public and private parts."""

    def __init__(self, seats: int) -> None:
        """Make the array that `set_from` fills."""
        self.tensor = np.zeros(size_of(seats), dtype=np.float32)
        self.dict = {"observation": self.tensor}

    def set_from(self, state: ShitheadState, player: int) -> None:
        """Fill the array with the observation of a seat in a state."""
        self.tensor[:] = state.observed(player)

    def string_from(self, state: ShitheadState, player: int) -> str:
        """Return the view of a seat in a state as text."""
        return state.view(player)


def _options(words: str) -> dict[str, Any]:
    """Return options from words `name:value`; a value is JSON if possible, else text."""
    options: dict[str, Any] = {}
    for word in words.split():
        name, _, value = word.partition(":")
        try:
            options[name] = json.loads(value)
        except ValueError:
            options[name] = value
    return options


pyspiel.register_game(GAME_TYPE, ShitheadGame)

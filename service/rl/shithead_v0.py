"""
The PettingZoo environment `shithead_v0`: every ruleset as a game for learning programs.

    from service.rl import shithead_v0
    env = shithead_v0.env(ruleset="leeds", seats=4)

The engine of the server plays; an agent sees the view of its seat as arrays. `parallel_api`
does not apply: seats act one after another.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

import numpy as np
from gymnasium import spaces
from pettingzoo import AECEnv
from pettingzoo.utils import wrappers

from schemas.moves import move_of
from schemas.views import Facts, view_json
from service.domain.commands import Seat
from service.domain.deal import dealt_hand, whole_deck
from service.domain.decide import decide
from service.domain.events import EndReason
from service.domain.evolve import evolve
from service.domain.game import Game, Status
from service.domain.legal import acting_seats, legal_moves
from service.domain.ruleset import Ruleset
from service.domain.view import seen_by
from service.rl.arrays import Actions, Json, Move, observed, size_of
from service.rl.picture import drawn, written
from service.rulesets.catalogue import definition

FACTS: Final = Facts(id="shithead_v0", head="00" * 32, ruleset_hash="00" * 32)
TURNS_PER_SEAT: Final = 400
MOST_SWAPS: Final = 6
"""Swaps of a seat in the exchange; then it can only be ready."""

MOST_CARDS: Final = 2000


def env(**options: Any) -> Any:
    """
    Return the environment with PettingZoo's usual wrappers; the options are those of `raw_env`.

    An illegal action ends the episode: its agent gets -1, the others 0.
    """
    wrapped = wrappers.TerminateIllegalWrapper(raw_env(**options), illegal_reward=-1)
    return wrappers.OrderEnforcingWrapper(wrappers.AssertOutOfBoundsWrapper(wrapped))


class raw_env(AECEnv):  # type: ignore[misc]  # noqa: N801 -- PettingZoo names it so; it has no types
    """
    One hand of a ruleset.

    `ruleset` is an id of the catalogue, `options` its options, `seats` the number of agents,
    `hand` the number of the hand at its table (rulesets with second hands play even ones by
    these). Rewards come at the end: the shithead gets -1 and the others share 1; where a hand
    is played for a winner, the winner gets 1 and the others share -1. A hand that reaches
    its turn limit is truncated without rewards.
    """

    metadata: Final = {
        "name": "shithead_v0",
        "render_modes": ["human", "ansi", "rgb_array"],
        "is_parallelizable": False,
        "render_fps": 2,
    }

    def __init__(
        self,
        *,
        ruleset: str = "shithead",
        seats: int = 2,
        options: Mapping[str, Any] | None = None,
        hand: int = 1,
        turn_limit: int | None = None,
        render_mode: str | None = None,
    ) -> None:
        """
        Raise ValueError if the ruleset does not allow the number of seats.

        Raises OptionError for options that the ruleset does not have, KeyError for an
        unknown ruleset.
        """
        super().__init__()
        rules = definition(ruleset)
        self.ruleset: Ruleset = rules.ruleset(rules.chosen(dict(options or {})), hand=hand)
        if not self.ruleset.seats_min <= seats <= self.ruleset.seats_max:
            raise ValueError(f"{ruleset} is not played with {seats} seats")
        self.render_mode = render_mode
        self.possible_agents = [f"player_{seat}" for seat in range(seats)]
        self.agents: list[str] = []
        self.actions = Actions(self.ruleset, seats)
        self._hand, self._limit = hand, turn_limit or TURNS_PER_SEAT * seats
        self._rng = random.Random()  # noqa: S311 -- a training environment keeps no secret
        self._game: Game | None = None

    @cache  # noqa: B019 -- PettingZoo asks for the same object each time
    def observation_space(self, agent: str) -> Any:
        """Return the space of an agent's observations (`arrays.observed`) and action masks."""
        del agent
        shape = (size_of(len(self.possible_agents)),)
        return spaces.Dict(
            {
                "observation": spaces.Box(0, MOST_CARDS, shape=shape, dtype=np.float32),
                "action_mask": spaces.Box(0, 1, shape=(self.actions.count,), dtype=np.int8),
            }
        )

    @cache  # noqa: B019 -- PettingZoo asks for the same object each time
    def action_space(self, agent: str) -> Any:
        """Return the space of an agent's actions (`arrays.Actions`)."""
        del agent
        return spaces.Discrete(self.actions.count)

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Shuffle and deal; equal seeds give equal hands. `options` are not used."""
        del options
        if seed is not None:
            self._rng = random.Random(seed)  # noqa: S311 -- must be reproducible
        self._game = self._dealt()
        self.agents = self.possible_agents[:]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}
        self._pending: list[str] = []
        self._swaps: dict[Seat, int] = {}
        self._declined = -1
        self._select()

    def observe(self, agent: str) -> dict[str, Any]:
        """Return what an agent sees; only the agent on turn has legal actions."""
        seat = self.possible_agents.index(agent)
        mask = np.zeros(self.actions.count, dtype=np.int8)
        on_turn = agent == self.agent_selection and not self.game.over
        if on_turn:
            mask[list(self._legal)] = 1
        view = self._view if on_turn else self._view_of(seat)
        return {
            "observation": observed(view, self._pending if on_turn else ()),
            "action_mask": mask,
        }

    def step(self, action: int | None) -> None:
        """Make an action of the agent on turn; raises ValueError if it is illegal."""
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        self._cumulative_rewards[agent] = 0.0
        self._clear_rewards()
        move = self._legal.get(-1 if action is None else int(action), {})
        if move is None:  # a follow-up is declined
            self._declined = self.game.version
        elif not move:
            raise ValueError(f"action {action} is not legal")
        elif move["type"] == "choose":
            self._chosen(move["card"])
        else:
            self._make(move)
        if self.game.over:
            self._finish()
        else:
            self._select()
        self._accumulate_rewards()
        if self.render_mode == "human":
            self.render()

    def render(self) -> Any:
        """Return the table as text (`ansi`) or picture (`rgb_array`); print it for `human`."""
        view = view_json(seen_by(self.game, None), None, FACTS)
        if self.render_mode == "rgb_array":
            return drawn(view)
        if self.render_mode == "ansi":
            return written(view)
        print(written(view))
        return None

    def close(self) -> None:
        """Do nothing: there is no window."""

    @property
    def game(self) -> Game:
        """
        Return the position of the engine.

        Raises ValueError before the first `reset`.
        """
        if self._game is None:
            raise ValueError("call reset first")
        return self._game

    def _dealt(self) -> Game:
        count = len(self.possible_agents)
        codes = whole_deck(self.ruleset, count)
        return dealt_hand(
            self.ruleset,
            tuple(self._rng.sample(codes, len(codes))),
            seats=count,
            dealer=self._rng.randrange(count),
            turn_limit=self._limit,
            hand=self._hand,
        )

    def _select(self) -> None:
        """Find the seat that acts next, and its legal actions."""
        game = self.game
        able = acting_seats(game)
        out_of_turn = [seat for seat in able if game.turn not in (None, seat)]
        if game.status is Status.SWAPPING:
            seat = able[0]
        elif out_of_turn and self._declined != game.version:
            seat = out_of_turn[0]
        else:
            seat = self._rng.choice(able) if game.turn is None else game.turn
        self.agent_selection = self.possible_agents[seat]
        self._view = self._view_of(seat)
        self._legal = self._legal_actions(seat)

    def _legal_actions(self, seat: Seat) -> dict[int, Move | None]:
        """Return the moves by their actions; None is to leave a follow-up."""
        game, moves = self.game, self._view["moves"]
        if moves[0]["type"] == "lay":
            cards = self.actions.laying(self._view["seats"][seat]["hand"]["cards"], self._pending)
            return {action: {"type": "choose", "card": card} for action, card in cards.items()}
        if game.status is Status.SWAPPING and self._swaps.get(seat, 0) >= MOST_SWAPS:
            moves = [move for move in moves if move["type"] == "ready"]
        legal: dict[int, Move | None] = {**self.actions.of(moves)}
        if game.status is Status.PLAYING and game.turn not in (None, seat):
            legal[self.actions.pass_turn] = None
        return legal

    def _chosen(self, card: str) -> None:
        self._pending.append(card)
        if len(self._pending) == self.actions.slots:
            stacks = [[one] for one in self._pending]
            self._pending = []
            self._make({"type": "lay", "stacks": stacks})

    def _make(self, move: Move) -> None:
        seat = self.possible_agents.index(self.agent_selection)
        if move["type"] == "swap":
            self._swaps[seat] = self._swaps.get(seat, 0) + 1
        game = self.game
        for event in decide(move_of(move, seat), game):
            game = evolve(game, event)
        self._game = game

    def _finish(self) -> None:
        """Give the rewards and end the episode."""
        result, others = self.game.result, len(self.agents) - 1
        decided = result is not None and result.reason is not EndReason.STALEMATE
        if result is not None and decided:
            won = result.reason is EndReason.WINNER
            seat = result.places[0] if won else result.shithead
            one = 1.0 if won else -1.0
            for number, agent in enumerate(self.agents):
                self.rewards[agent] = one if number == seat else -one / others
        for agent in self.agents:
            self.terminations[agent], self.truncations[agent] = decided, not decided

    def _view_of(self, seat: Seat) -> Json:
        moves = () if self.game.over else legal_moves(self.game, seat)
        return view_json(seen_by(self.game, seat), seat, FACTS, moves)

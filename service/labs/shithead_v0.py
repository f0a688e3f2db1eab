"""
The PettingZoo environment `shithead_v0`: every ruleset for multi-agent reinforcement learning.

    from service.labs import shithead_v0
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

from service.domain.deal import whole_deck
from service.domain.game import Game
from service.domain.ruleset import Ruleset
from service.labs.arrays import Actions, size_of
from service.labs.hand import TURNS_PER_SEAT, EnvironmentHand, rules_of, table_as_text

MAX_COUNT: Final = 2000  # of cards; the upper bound of observations


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
    `hand` the number of the hand at its table (rulesets with second hands have other settings
    for even numbers). Rewards come at the end: the shithead gets -1 and the others share 1; if
    a hand is played for a winner, the winner gets 1 and the others share -1. A stalemate, for
    example at the turn limit, is truncated without rewards.
    """

    metadata: Final = {
        "name": "shithead_v0",
        "render_modes": ["human", "ansi"],
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
        self.ruleset: Ruleset = rules_of(ruleset, seats, options or {}, hand=hand)
        self.render_mode = render_mode
        self.possible_agents = [f"player_{seat}" for seat in range(seats)]
        self.agents: list[str] = []
        self.actions = Actions(self.ruleset, seats)
        self._number, self._limit = hand, turn_limit or TURNS_PER_SEAT * seats
        self._rng = random.Random()  # noqa: S311 -- a training environment keeps no secret
        self._hand: EnvironmentHand | None = None

    @cache  # noqa: B019 -- PettingZoo asks for the same object each time
    def observation_space(self, agent: str) -> Any:
        """Return the space of an agent's observations (`arrays.observed`) and action masks."""
        del agent
        shape = (size_of(len(self.possible_agents)),)
        return spaces.Dict(
            {
                "observation": spaces.Box(0, MAX_COUNT, shape=shape, dtype=np.float32),
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
        self._hand = self._dealt()
        self.agents = self.possible_agents[:]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}
        self._select()

    def observe(self, agent: str) -> dict[str, Any]:
        """Return an agent's observation and action mask, all zeros unless the agent is on turn."""
        seat, hand = self.possible_agents.index(agent), self.hand
        mask = np.zeros(self.actions.count, dtype=np.int8)
        if seat == hand.selected and not hand.game.over:
            mask[list(hand.legal)] = 1
        return {"observation": hand.observation(seat), "action_mask": mask}

    def step(self, action: int | None) -> None:
        """Perform an action of the agent on turn; raises ValueError if it is illegal."""
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        self._cumulative_rewards[agent] = 0.0
        self._clear_rewards()
        self.hand.act(-1 if action is None else int(action))
        if self.game.over:
            self._finish()
        else:
            self._select()
        self._accumulate_rewards()
        if self.render_mode == "human":
            self.render()

    def render(self) -> Any:
        """Return the table as text for `ansi`; print it for `human`."""
        view = self.hand.view_of(None)
        if self.render_mode == "ansi":
            return table_as_text(view)
        print(table_as_text(view))
        return None

    def close(self) -> None:
        """Do nothing: there is no window."""

    @property
    def hand(self) -> EnvironmentHand:
        """
        Return the hand that is played.

        Raises ValueError before the first `reset`.
        """
        if self._hand is None:
            raise ValueError("call reset first")
        return self._hand

    @property
    def game(self) -> Game:
        """Return the position of the engine; raises ValueError before the first `reset`."""
        return self.hand.game

    def _dealt(self) -> EnvironmentHand:
        count = len(self.possible_agents)
        codes = whole_deck(self.ruleset, count)
        return EnvironmentHand(
            self.actions,
            self.ruleset,
            self._rng.sample(codes, len(codes)),
            seats=count,
            dealer=self._rng.randrange(count),
            turn_limit=self._limit,
            hand=self._number,
        )

    def _select(self) -> None:
        """Select the agent that acts next; if several may, one is drawn at random."""
        seats = self.hand.candidates()
        seat = seats[0] if len(seats) == 1 else self._rng.choice(seats)
        self.hand.select(seat)
        self.agent_selection = self.possible_agents[seat]

    def _finish(self) -> None:
        """Give the rewards and end the episode."""
        rewards = self.hand.rewards()
        if rewards is not None:
            self.rewards = dict(zip(self.agents, rewards, strict=True))
        for agent in self.agents:
            self.terminations[agent] = rewards is not None
            self.truncations[agent] = rewards is None

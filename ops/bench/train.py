"""
An example that learns in the environment `shithead_v0`: python -m ops.bench.train [--seconds 60].

A linear policy with a softmax over the legal actions plays heads-up against an agent that plays
at random, and learns by REINFORCE with a running mean as baseline. It prints how often the policy
is the shithead in hands with new seeds, before and after training; a hand at its turn
limit counts a half. It needs the extra `rl`.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

from service.labs import shithead_v0

RATE = 0.003
MAX_STEPS = 400
"""The longest episode that is learned from, in actions."""


class Linear:
    """A policy whose preferences for actions are linear in the observation."""

    def __init__(self, inputs: int, actions: int, seed: int) -> None:
        self.weights = np.zeros((actions, inputs))
        self.baseline = 0.0
        self._rng = np.random.default_rng(seed)

    def probabilities(self, observation: dict[str, Any]) -> Any:
        """Return the probability of each action; illegal ones have none."""
        scores = self.weights @ _scaled(observation)
        scores[observation["action_mask"] == 0] = -np.inf
        powers = np.exp(scores - scores.max())
        return powers / powers.sum()

    def act(self, observation: dict[str, Any]) -> int:
        """Return an action drawn from the policy."""
        chances = self.probabilities(observation)
        return int(self._rng.choice(len(chances), p=chances))

    def learn(self, episode: list[tuple[dict[str, Any], int]], reward: float) -> None:
        """Make the actions of an episode likelier if it went better than usual."""
        gain = reward - self.baseline
        self.baseline += 0.01 * gain
        for observation, action in episode:
            pull = -self.probabilities(observation)
            pull[action] += 1
            self.weights += RATE * gain * np.outer(pull, _scaled(observation))


def _scaled(observation: dict[str, Any]) -> Any:
    return np.append(np.tanh(observation["observation"] / 3), 1.0)


def main() -> None:
    """Train for the given seconds, and print the shares before and after."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--ruleset", default="shithead")
    parser.add_argument("--hands", type=int, default=200, help="for each of the two measurements")
    options = parser.parse_args()
    before, after, episodes = trained(options.ruleset, options.seconds, options.hands)
    print(f"shithead before: {before:.3f}, after {episodes} hands: {after:.3f} (fair: 0.500)")


def trained(ruleset: str, seconds: float, hands: int) -> tuple[float, float, int]:
    """Return the share as shithead before and after training, and the hands played between."""
    env = shithead_v0.env(ruleset=ruleset, seats=2)
    policy = _policy(env)
    before, episodes = measured(env, policy, hands), 0
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        episode, reward = played(env, policy, seed=episodes, seat=episodes % 2)
        if len(episode) < MAX_STEPS:
            policy.learn(episode, reward)
        episodes += 1
    return before, measured(env, policy, hands), episodes


def _policy(env: Any) -> Linear:
    env.reset(seed=0)
    agent = env.possible_agents[0]
    inputs = env.observation_space(agent)["observation"].shape[0] + 1
    return Linear(inputs, int(env.action_space(agent).n), seed=1)


def measured(env: Any, policy: Linear, hands: int) -> float:
    """Return how often the policy is the shithead; a hand at its turn limit counts a half."""
    rewards = [played(env, policy, seed=10**6 + n, seat=n % 2)[1] for n in range(hands)]
    return sum((1 - reward) / 2 for reward in rewards) / hands


def played(
    env: Any, policy: Linear, *, seed: int, seat: int
) -> tuple[list[tuple[dict[str, Any], int]], float]:
    """Return observations and actions of the policy against a random agent, and its reward."""
    env.reset(seed=seed)
    own, episode = env.possible_agents[seat], []
    rng = np.random.default_rng(seed)
    reward = 0.0
    for agent in env.agent_iter():
        observation, earned, ended, truncated, _ = env.last()
        if agent == own:
            reward += earned
        if ended or truncated:
            env.step(None)
        elif agent == own:
            action = policy.act(observation)
            episode.append((observation, action))
            env.step(action)
        else:
            env.step(int(rng.choice(np.flatnonzero(observation["action_mask"]))))
    return episode, reward


if __name__ == "__main__":
    main()

"""The PettingZoo environment: PettingZoo's own tests, observations and actions."""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from schemas.moves import move_of
from service.domain.decide import decide
from service.domain.legal import legal_moves
from service.rulesets.catalogue import OptionError
from tests.changed import replace
from tests.unit.playing import RULESETS, rules, seat_counts

WITHOUT = "the extra rl is not installed; `ops/test --long` installs it"
np = pytest.importorskip("numpy", reason=WITHOUT)
tests_of_pettingzoo = pytest.importorskip("pettingzoo.test", reason=WITHOUT)

from ops.bench.train import trained  # noqa: E402 -- after the check for the extra
from service.labs import shithead_v0  # noqa: E402 -- after the check for the extra
from service.labs.arrays import RANK_CODES, size_of  # noqa: E402 -- after the check for the extra

pytestmark = pytest.mark.long


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """Silence PettingZoo's warning about observations that are dictionaries."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def made(identity: str, **options: Any) -> Any:
    return shithead_v0.env(ruleset=identity, seats=seat_counts(rules(identity))[-1], **options)


def episode(env: Any, seed: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Play an episode at random; yield the agent on turn and its observation."""
    rng = random.Random(seed)
    env.reset(seed=seed)
    for agent in env.agent_iter():
        seen, _, ended, truncated, _ = env.last()
        if ended or truncated:
            env.step(None)
            continue
        yield agent, seen
        env.step(rng.choice([int(a) for a in np.flatnonzero(seen["action_mask"])]))


@pytest.mark.heavy
@pytest.mark.parametrize("identity", RULESETS)
def test_pettingzoos_interface_test_passes(identity: str) -> None:
    tests_of_pettingzoo.api_test(made(identity, turn_limit=60), num_cycles=200)


@pytest.mark.heavy
@pytest.mark.parametrize("identity", ["shithead", "covered-queen", "karma-radford", "threes"])
def test_equal_seeds_give_equal_episodes(identity: str) -> None:
    tests_of_pettingzoo.seed_test(lambda: made(identity), num_cycles=100)


def test_pettingzoos_render_test_passes(capsys: pytest.CaptureFixture[str]) -> None:
    tests_of_pettingzoo.render_test(lambda render_mode: made("shithead", render_mode=render_mode))
    assert "stock" in capsys.readouterr().out


@pytest.mark.heavy
@pytest.mark.parametrize("identity", RULESETS)
def test_every_legal_action_is_a_legal_move_and_there_is_always_one(identity: str) -> None:
    env = made(identity, turn_limit=80)
    actions = 0
    for agent, seen in episode(env, 7):
        raw = env.unwrapped
        seat = env.possible_agents.index(agent)
        legal = raw.hand.legal
        assert sorted(legal) == [int(a) for a in np.flatnonzero(seen["action_mask"])] != []
        for move in legal.values():
            if move is not None and move["type"] != "choose":
                assert decide(move_of(move, seat), raw.game)
        actions += 1
        assert env.observation_space(agent).contains(seen)
    assert actions > 10
    assert raw.game.over


def test_the_plays_of_one_rank_all_have_actions() -> None:
    env = made("smeghead", turn_limit=60)
    compared = 0
    for agent, _ in episode(env, 3):
        raw, seat = env.unwrapped, env.possible_agents.index(agent)
        listed = {
            (move.cards[0][0], len(move.cards))
            for move in legal_moves(raw.game, seat)
            if hasattr(move, "cards")
        }
        most = raw.actions.most
        offered = {
            (RANK_CODES[action // most], action % most + 1)
            for action in raw.hand.legal
            if action < raw.actions.others
        }
        assert listed == offered
        compared += bool(listed)
    assert compared > 5


def test_an_observation_does_not_depend_on_hidden_cards() -> None:
    env = shithead_v0.raw_env(ruleset="shithead", seats=2)
    env.reset(seed=4)
    seen = env.observe("player_0")["observation"]
    assert seen.shape == (size_of(2),)
    hand = env.game.seats[0].hand
    counts = [sum(card[0] == rank for card in hand) for rank in RANK_CODES]
    assert seen[: len(RANK_CODES)].tolist() == counts
    deck = list(env.game.deck)
    hidden = [*env.game.stock, *(p for p in env.game.seats[1].down if p is not None)]
    shuffled = random.Random(1).sample(hidden, len(hidden))
    moved = [deck[p] for p in shuffled]
    for place, card in zip(hidden, moved, strict=True):
        deck[place] = card
    env.hand.game = replace(env.game, deck=tuple(deck))
    env.hand.select(env.hand.selected)
    assert np.array_equal(seen, env.observe("player_0")["observation"])


def test_the_shithead_loses_and_the_others_share_the_reward() -> None:
    env = shithead_v0.raw_env(ruleset="shithead", seats=3)
    for _ in episode(env, 5):
        pass
    result = env.game.result
    assert result is not None
    loser = result.shithead
    env.reset(seed=5)
    rewards = {}
    rng = random.Random(5)
    for agent in env.agent_iter():
        seen, reward, ended, _, _ = env.last()
        if ended:
            rewards[agent] = reward
            env.step(None)
        else:
            env.step(rng.choice([int(a) for a in np.flatnonzero(seen["action_mask"])]))
    assert rewards == {f"player_{s}": -1.0 if s == loser else 0.5 for s in range(3)}


def test_an_illegal_action_ends_the_episode_against_its_agent() -> None:
    env = shithead_v0.env(seats=2)
    env.reset(seed=1)
    agent = env.agent_selection
    env.step(env.unwrapped.actions.try_stock)
    assert env.terminations[agent]
    assert env.rewards[agent] == -1


def test_tables_that_the_rules_do_not_allow_are_refused() -> None:
    with pytest.raises(ValueError, match="not played with 9 seats"):
        shithead_v0.raw_env(ruleset="shithead", seats=9)
    with pytest.raises(OptionError):
        shithead_v0.raw_env(ruleset="shithead", options={"jokers": 2})


def test_options_and_second_hands_change_the_rules() -> None:
    assert shithead_v0.raw_env(ruleset="morehead", options={"jokers": 2}).ruleset.deck.jokers == 2
    first, second = (shithead_v0.raw_env(ruleset="reverse", hand=n).ruleset for n in (1, 2))
    assert first != second


@pytest.mark.heavy
def test_the_training_example_runs() -> None:
    before, after, episodes = trained("shithead", 1.0, 4)
    assert 0 <= before <= 1
    assert 0 <= after <= 1
    assert episodes > 0

"""The OpenSpiel game: OpenSpiel's own tests, and comparison with `shithead_v0`."""

from __future__ import annotations

import random
from typing import Any

import pytest

from service.rulesets.catalogue import OptionError
from tests.unit.playing import RULESETS, rules, seat_counts

WITHOUT = "the extra openspiel is not installed; `ops/test --long` installs it"
pyspiel = pytest.importorskip("pyspiel", reason=WITHOUT)
np = pytest.importorskip("numpy", reason=WITHOUT)

# As modules: pytest would collect the classes, which test all games of OpenSpiel.
from open_spiel.integration_tests import api_test  # noqa: E402 -- after the check for the extra
from open_spiel.python.algorithms import random_agent  # noqa: E402 -- after the check
from open_spiel.python.rl_environment import Environment  # noqa: E402 -- after the check
from open_spiel.python.tests import games_sim_test  # noqa: E402 -- after the check

from service.rl import openspiel, shithead_v0  # noqa: E402 -- after the check for the extra

CONFORMANCE = [
    name for name in dir(api_test.EnforceAPIOnPartialTreeBase) if name.startswith("test_")
]
TABLES = [
    (identity, seats) for identity in RULESETS for seats in seat_counts(rules(identity))[:1]
] + [(identity, seats) for identity in ("shithead", "leeds", "covered-queen") for seats in (3, 4)]


def made(identity: str, seats: int, turn_limit: int = 60, **more: Any) -> Any:
    parameters = {"ruleset": identity, "players": seats, "turn_limit": turn_limit, **more}
    return pyspiel.load_game("shithead", parameters)


def drawn(state: Any, rng: random.Random) -> int:
    """Return an outcome of chance, or a legal action, at random."""
    if not state.is_chance_node():
        return int(rng.choice(state.legal_actions()))
    outcomes, weights = zip(*state.chance_outcomes(), strict=True)
    return int(rng.choices(outcomes, weights)[0])


def played(game: Any, seed: int) -> list[Any]:
    """Return the states of a game played at random, without its chance nodes."""
    rng, state, states = random.Random(seed), game.new_initial_state(), []
    while not state.is_terminal():
        state = state.child(drawn(state, rng))
        if not state.is_chance_node():
            states.append(state)
    return states


@pytest.mark.parametrize(("identity", "seats"), TABLES)
def test_openspiels_random_play_test_passes(identity: str, seats: int) -> None:
    """It checks bounds of length, utilities, actions, chance outcomes and observations."""
    pyspiel.random_sim_test(made(identity, seats), num_sims=1, serialize=False, verbose=False)


@pytest.mark.parametrize(("identity", "seats"), [("shithead", 2), ("leeds", 4), ("reverse", 3)])
def test_openspiels_copy_and_storage_tests_pass(identity: str, seats: int) -> None:
    np.random.seed(5)  # OpenSpiel draws from it
    games_sim_test.GamesSimTest().sim_game(made(identity, seats))


@pytest.mark.parametrize("name", CONFORMANCE)
@pytest.mark.parametrize(("identity", "seats"), [("shithead", 2), ("covered-queen", 4)])
def test_openspiels_interface_test_passes(identity: str, seats: int, name: str) -> None:
    """OpenSpiel samples states near the root, all in the deal; these states are in play."""

    class OfPlay(api_test.EnforceAPIOnPartialTreeBase):  # type: ignore[misc]  # OpenSpiel has no types
        game = made(identity, seats)
        game_name = "shithead"
        game_type = game.get_type()
        some_states = played(game, 3)

    getattr(OfPlay(), name)()


@pytest.mark.parametrize(("identity", "seats"), TABLES)
def test_the_game_equals_the_pettingzoo_environment(identity: str, seats: int) -> None:
    """The same deck and the same actions lead to the same observations, legal actions and ends."""
    env = shithead_v0.raw_env(ruleset=identity, seats=seats, turn_limit=60)
    env.reset(seed=9)
    game = openspiel.ShitheadGame({"ruleset": identity, "players": seats, "turn_limit": 60})
    state, rng = game.new_initial_state(), random.Random(9)
    state.apply_action(env.game.dealer)
    for card in env.game.deck:
        state.apply_action(game.table.deck.index(card))
    steps = 0
    while not env.game.over:
        if state.is_chance_node():
            state.apply_action(env.hand.selected)
        agent = env.agent_selection
        assert state.current_player() == env.possible_agents.index(agent)
        for player, one in enumerate(env.possible_agents):
            seen = env.observe(one)
            assert np.array_equal(state.observation_tensor(player), seen["observation"])
            legal = [int(action) for action in np.flatnonzero(seen["action_mask"])]
            assert state.legal_actions(player) == legal
        action = rng.choice(state.legal_actions())
        env.step(action)
        state.apply_action(action)
        steps += 1
    assert steps > 5
    assert state.is_terminal()
    rewards = env.hand.rewards() or [0.0] * seats
    assert state.returns() == pytest.approx(rewards)


def test_chance_nodes_draw_the_dealer_and_then_each_remaining_card() -> None:
    game = openspiel.ShitheadGame({"ruleset": "covered-queen", "players": 5})
    state, cards = game.new_initial_state(), len(game.table.deck)
    assert dict(state.chance_outcomes()) == pytest.approx(dict.fromkeys(range(5), 1 / 5))
    state.apply_action(4)
    assert dict(state.chance_outcomes()) == pytest.approx(dict.fromkeys(range(cards), 1 / cards))
    state.apply_action(7)
    left = dict.fromkeys({*range(cards)} - {7}, 1 / (cards - 1))
    assert dict(state.chance_outcomes()) == pytest.approx(left)


def test_an_observation_has_only_the_players_own_hand() -> None:
    state = played(made("shithead", 2), 2)[3]
    seat = state.current_player()
    texts = [state.observation_string(player) for player in range(2)]
    hands = [text.partition(f"seat {player}, own hand: ") for player, text in enumerate(texts)]
    assert hands[seat][0] == hands[1 - seat][0], "everything else is public"
    own = [set(hand.split()) for _, _, hand in hands]
    assert own[0] and own[1] and not own[0] & own[1]


def test_agents_of_openspiel_play_the_game() -> None:
    env = Environment(made("shithead", 2), seed=1)
    actions = env.action_spec()["num_actions"]
    agents = [random_agent.RandomAgent(player, actions) for player in range(2)]
    step = env.reset()
    while not step.last():
        acting = agents[step.observations["current_player"]]
        step = env.step([acting.step(step).action])
    assert sum(step.rewards) == pytest.approx(0)


def test_options_are_a_string_and_stored_with_the_game() -> None:
    game = made("morehead", 2, options="jokers:2")
    again = pyspiel.load_game(str(game))
    assert again.get_parameters()["options"] == "jokers:2"
    assert openspiel.ShitheadGame(again.get_parameters()).table.ruleset.deck.jokers == 2


def test_tables_that_the_rules_do_not_allow_are_refused() -> None:
    with pytest.raises(ValueError, match="not played with 9 seats"):
        openspiel.ShitheadGame({"players": 9})
    with pytest.raises(OptionError):
        openspiel.ShitheadGame({"options": "jokers:2"})

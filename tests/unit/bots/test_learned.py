"""The value net that learns by self-play: repeatable training from what a seat knows."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from ops.bench.strength import FACTS
from schemas.moves import move_of
from schemas.views import view_json
from service.domain.deal import dealt_hand, whole_deck
from service.domain.decide import decide
from service.domain.evolve import evolve
from service.domain.legal import acting_seats, legal_moves
from service.domain.view import seen_by
from service.rulesets.catalogue import definition
from service.search.rules import RANK_COUNT

np = pytest.importorskip("numpy", reason="the extra rl is not installed")

from ops.bench import learn, learned  # noqa: E402 -- after the check for the extra
from ops.bench.learn import (  # noqa: E402 -- after the check for the extra
    Net,
    SelfPlay,
    examples,
    generations,
    load,
    options,
    redealt,
    save,
)


def _trained(seed: int) -> Net:
    net = Net.fresh(seed)
    assert [done for done, _ in generations(net, seed, 900)][-1] == 900
    return net


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, small in (("GENERATION", 300), ("BATCH", 64), ("TABLES", 8)):
        monkeypatch.setattr(learn, name, small)


@pytest.mark.heavy
def test_training_is_repeatable_from_its_seed() -> None:
    one, again, other = _trained(1), _trained(1), _trained(2)
    assert all(np.array_equal(*pair) for pair in zip(one.weights, again.weights, strict=True))
    assert not np.array_equal(one.weights[0], other.weights[0])


@pytest.mark.heavy
def test_a_training_step_improves_the_estimates() -> None:
    """Repeated training on the same positions reduces the cross-entropy."""
    play, rng = SelfPlay((None, None), 0.1, 3), random.Random(3)
    found = [one for _ in range(60) for hand in play.choices() for one in examples(hand, rng)]
    rows = np.array([row for row, _ in found])
    targets = np.array([target for _, target in found])
    net = Net.fresh(1)
    losses = [net.learn(rows, targets, 3e-3) for _ in range(60)]
    assert losses[-1] < 0.9 * losses[0]


def test_the_weights_are_small_and_read_back_from_their_file(tmp_path: Path) -> None:
    net, path = Net.fresh(1), tmp_path / "net.npz"
    save(net, path)
    assert path.stat().st_size < 200_000
    rows = np.zeros((1, learn.COLUMNS), dtype=np.int64)
    assert load(path).odds(rows) == pytest.approx(net.odds(rows), abs=0.01)


def test_the_unseen_cards_of_a_seat_are_its_hidden_cards() -> None:
    """They are in the stock, in the other hand or face down, or were just drawn by the seat."""
    play = SelfPlay((None, None), 0.2, 5)
    for _ in range(120):
        for hand in play.choices():
            for option in options(hand):
                (_, _, down, drawn, known, _, their_down, their_hand, _, unseen, *_) = option.row
                stock = option.row[13]
                hidden = down + drawn + their_down + their_hand + stock
                assert _cards(unseen) == hidden - _cards(known)


def test_the_features_of_a_seat_do_not_depend_on_hidden_cards() -> None:
    play, rng, dealt = SelfPlay((None, None), 0.2, 6), random.Random(6), set()
    for _ in range(60):
        for hand in play.choices():
            again = redealt(hand, rng)
            if hand.laying or hand.state.hand[hand.seat] or hand.state.up[hand.seat]:
                assert [one.row for one in options(again)] == [one.row for one in options(hand)]
            else:
                assert len(options(again)) == 1, "face-down cards are indistinguishable"
            dealt.add(tuple(again.state.stock))
    assert len(dealt) > 100


def _cards(packed: int) -> int:
    rules = learn.rules()
    return sum(packed >> shift & rules.field for shift in rules.shift[:RANK_COUNT])


def test_the_bot_plays_by_its_view_and_not_by_a_sampled_deal() -> None:
    """Another seed deals other hidden cards; only the choice of a face-down card is random."""
    net, rng, met = Net.fresh(4), random.Random(8), 0
    ruleset = definition("shithead").ruleset({})
    codes = whole_deck(ruleset, 2)
    game = dealt_hand(
        ruleset, tuple(rng.sample(codes, len(codes))), seats=2, dealer=0, turn_limit=300
    )
    while not game.over:
        seat = acting_seats(game)[0]
        moves = legal_moves(game, seat)
        view = view_json(seen_by(game, seat), seat, FACTS, moves)
        chosen = learned.learned(net, view, view["moves"], random.Random(1))
        assert chosen["type"] == "swap" or chosen in view["moves"], "not all swaps are listed"
        if chosen["type"] != "play_blind":
            for seed in (2, 3):
                again = learned.learned(net, view, view["moves"], random.Random(seed))
                assert again == chosen
            met += len(view["moves"]) > 1
        for event in decide(move_of(chosen, seat), game):
            game = evolve(game, event)
    assert met > 10


def test_a_row_of_the_table_has_the_share_and_the_times() -> None:
    cells = learned.row(Net.fresh(1), "careful", 2, 4).split("|")
    assert [cells[1].strip(), cells[2].strip(), cells[6].strip()] == ["`careful`", "2", "4"]
    assert cells[3].endswith(" ms ")

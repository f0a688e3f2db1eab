"""Positions that engines often get wrong, in every ruleset in which they can occur."""

from __future__ import annotations

from service.domain.decide import decide
from service.domain.events import CardsDrawn, CardsPlayed, GameEnded, PileBurned, SeatOut
from service.domain.legal import legal_moves
from service.domain.ruleset import Asks, RefillTo, Ruleset
from tests.rules.every_ruleset import EVERY, LOSERS, at_table, each, plain, transparent
from tests.rules.phrases import play
from tests.rules.scenario import moves, scenario
from tests.rules.tables import game_of, table


@each(of=LOSERS)
def test_a_seat_goes_out_on_a_ten_and_the_next_leads_an_empty_pile(ruleset: Ruleset) -> None:
    """The player who went out does not play again; the next one may lead any card."""
    low = plain(ruleset)[0]
    game = game_of(ruleset, at_table(ruleset, pile="9c", hands=["Td", f"{low}s Ks", "Ah"]))
    events = decide(play(0, "Td"), game)
    assert [type(e) for e in events] == [CardsPlayed, PileBurned, SeatOut]
    after = scenario(ruleset, given=game, when=play(0, "Td"))
    assert (after.turn, after.pile) == (1, ())
    assert f"{low}s" in moves(ruleset, after, 1)
    assert legal_moves(after, 0) == ()


@each(of=LOSERS)
def test_of_the_last_two_seats_one_goes_out_on_a_ten(ruleset: Ruleset) -> None:
    """The pile burns, the player is out, and the other one is the shithead."""
    game = game_of(ruleset, at_table(ruleset, pile="9c", hands=["Td", "Ks"]))
    burned, out, ended, _ = decide(play(0, "Td"), game)[1:]
    assert isinstance(burned, PileBurned)
    assert isinstance(out, SeatOut)
    assert isinstance(ended, GameEnded)
    assert (ended.shithead, ended.places[-2:]) == (1, (0, 1))


@each()
def test_a_set_of_four_from_two_players_burns(ruleset: Ruleset) -> None:
    """The player who completes it plays again."""
    for rank in plain(ruleset):
        low = next(r for r in plain(ruleset) if r != rank)
        hands = [f"{rank}c {rank}d {low}c", f"{rank}h {rank}s {low}h"]
        given = at_table(ruleset, hands=hands)
        game = scenario(ruleset, given=given, when=play(0, f"{rank}c {rank}d"))
        *_, burned = decide(play(1, f"{rank}h {rank}s"), game)
        assert isinstance(burned, PileBurned)
        assert (burned.seat, burned.cause, burned.count) == (1, "set", 4)
        assert scenario(ruleset, given=game, when=play(1, f"{rank}h {rank}s")).turn == 1


@each(of=[r for r in EVERY if transparent(r)])
def test_a_transparent_card_breaks_a_set(ruleset: Ruleset) -> None:
    """The four cards of a set must be consecutive on the pile."""
    between = "X1" if "X" in transparent(ruleset) else f"{transparent(ruleset)[0]}c"
    given = at_table(ruleset, pile=f"9c 9d {between} 9h", hands=["9s Ac", "Ks"])
    after = scenario(ruleset, given=given, when=play(0, "9s"))
    assert len(after.pile) == 5


@each(of=[r for r in EVERY if transparent(r)])
def test_a_pile_of_transparent_cards_alone_asks_for_nothing(ruleset: Ruleset) -> None:
    """Only a pile of glass sevens asks for at least a seven (P34)."""
    for rank in transparent(ruleset):
        stack = "X1 X2" if rank == "X" else f"{rank}c {rank}d"
        low = plain(ruleset)[0]
        given = at_table(ruleset, pile=stack, hands=[f"{low}h Kh", "9s"])
        glass = ruleset.rank(rank).alone is not Asks.ANYTHING  # type: ignore[arg-type] # a rank
        assert (f"{low}h" in moves(ruleset, given)) is not glass


SEVENS = [r for r in EVERY if transparent(r) and r.rank("7").asks is Asks.AT_MOST]  # type: ignore[arg-type] # a rank


@each(of=SEVENS)
def test_a_transparent_card_on_a_seven_leaves_the_demand_of_the_seven(ruleset: Ruleset) -> None:
    """The next player must still play seven or lower."""
    rank = transparent(ruleset)[0]
    given = at_table(ruleset, pile=f"7c {rank}c", hands=["4h Kh 9h", "9s"])
    legal = moves(ruleset, given)
    assert "4h" in legal
    assert not legal & {"Kh", "9h"}


@each(of=[r for r in LOSERS if any(rule.skips for rule in r.ranks.values())])
def test_a_skip_passes_over_seats_already_out(ruleset: Ruleset) -> None:
    """Seats that are out are never counted."""
    rank = next(r for r, rule in ruleset.ranks.items() if rule.skips)
    card = "X1" if rank == "X" else f"{rank}c"
    given = at_table(ruleset, hands=[f"{card} Ac", "", "9d", "9h", "9s"], out=[1])
    assert scenario(ruleset, given=given, when=play(0, card)).turn == 3


@each(of=[r for r in LOSERS if any(rule.reverses for rule in r.ranks.values())])
def test_a_reverse_passes_over_seats_already_out(ruleset: Ruleset) -> None:
    """After a reverse the last seat is next, or, if it is out, the seat before it."""
    rank = next(r for r, rule in ruleset.ranks.items() if rule.reverses)
    card = "X1" if rank == "X" else f"{rank}c"
    hands = [f"{card} Ac", "9c", "9d", "9h", ""] + ([""] if ruleset.seats_min == 6 else [])
    gone = tuple(range(4, len(hands)))
    given = table(hands=hands, out=gone)
    after = scenario(ruleset, given=given, when=play(0, card))
    assert (after.turn, after.direction) == (3, -1)


@each()
def test_the_refill_takes_what_the_stock_has_left(ruleset: Ruleset) -> None:
    """Two cards are played, and the stock has one."""
    game = game_of(ruleset, at_table(ruleset, hands=["8c 8d", "Ks"], stock="Kc"))
    drawn = [e for e in decide(play(0, "8c 8d"), game) if isinstance(e, CardsDrawn)]
    assert [e.count for e in drawn] == [1]


@each()
def test_a_large_hand_draws_nothing_unless_as_many_are_drawn_as_were_played(
    ruleset: Ruleset,
) -> None:
    """L9, M6: draw as many cards as were played; in other rulesets up to a given size."""
    hand = "9c 9d Jc Jd Qc Qd Kc"
    game = game_of(ruleset, at_table(ruleset, hands=[hand, "Ks"], stock="Kd Kh"))
    drawn = [e.count for e in decide(play(0, "9c"), game) if isinstance(e, CardsDrawn)]
    assert drawn == ([1] if ruleset.refill.to is RefillTo.AS_MANY_AS_PLAYED else [])

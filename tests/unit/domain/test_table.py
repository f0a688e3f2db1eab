"""A table between hands: next dealer, paper bag, hands lost."""

from __future__ import annotations

import pytest

from service.domain.commands import Seat
from service.domain.events import AbortCause, EndReason, Entropy
from service.domain.ruleset import NextDealer
from service.domain.table import (
    Conditions,
    HandDealt,
    HandDisputed,
    HandFinished,
    SeatChanged,
    SeatFilled,
    SeatKind,
    SeatLeft,
    SeatTaken,
    Table,
    TableClosed,
    TableEvent,
    TableOpened,
    TableSeat,
    TableStatus,
    evolve_table,
    fold_table,
)
from tests.changed import replace

ADA = TableSeat(kind=SeatKind.HUMAN, player="ada")
BOT = TableSeat(kind=SeatKind.BOT, bot="lowest")


def opened(
    *seats: TableSeat,
    next_dealer: NextDealer = NextDealer.LOSER,
    paper_bag: bool = False,
) -> TableOpened:
    conditions = Conditions(
        ruleset={"id": "leeds", "options": {}, "settings": None},
        next_dealer=next_dealer,
        paper_bag=paper_bag,
        public=True,
        clock=None,
        window_seconds=3,
        turn_limit=400,
        deal=True,
    )
    return TableOpened(host="ada", conditions=conditions, seats=seats or (ADA, BOT, BOT, BOT))


def dealt(hand: int = 1) -> HandDealt:
    return HandDealt(game=f"game {hand}", hand=hand)


def finished(
    reason: EndReason | None = EndReason.SHITHEAD,
    *,
    hand: int = 1,
    dealer: Seat | None = 1,
    shithead: Seat | None = 2,
    places: tuple[Seat, ...] = (0, 1, 3),
) -> HandFinished:
    cause = AbortCause.OPERATOR if reason is None else None
    return HandFinished(
        game=f"game {hand}",
        dealer=dealer,
        reason=reason,
        cause=cause,
        shithead=shithead,
        places=places,
    )


def table(*events: TableEvent, opening: TableOpened | None = None) -> Table:
    return fold_table([opening or opened(), *events])


def played(*hands: HandFinished, opening: TableOpened | None = None) -> Table:
    """Return a table after several hands."""
    events: list[TableEvent] = []
    for hand in hands:
        events += [dealt(int(hand.game.split()[1])), hand]
    return table(*events, opening=opening)


def test_l3_the_first_dealer_is_drawn() -> None:
    """L3, P2: the first dealer of a session is drawn at random."""
    assert table().next_dealer is None
    assert table(dealt()).next_dealer is None


def test_l3_the_shithead_of_the_last_hand_deals() -> None:
    """L3: after that the shithead of the last hand deals."""
    assert played(finished(shithead=2)).next_dealer == 2
    assert played(finished(shithead=2), finished(hand=2, dealer=2, shithead=0)).next_dealer == 0


@pytest.mark.parametrize(("dealer", "following"), [(0, 1), (2, 3), (3, 0)])
def test_m2_the_deal_rotates_clockwise_regardless_of_the_loser(
    dealer: Seat, following: Seat
) -> None:
    """M2: the deal rotates clockwise."""
    rotating = opened(next_dealer=NextDealer.ROTATE)
    after = played(finished(dealer=dealer, shithead=dealer), opening=rotating)
    assert after.next_dealer == following


@pytest.mark.parametrize("rule", NextDealer)
def test_after_a_stalemate_the_same_seat_deals_again(rule: NextDealer) -> None:
    """Next dealer: after a stalemate the same seat deals again."""
    hand = finished(EndReason.STALEMATE, dealer=3, shithead=None, places=())
    assert played(hand, opening=opened(next_dealer=rule)).next_dealer == 3


@pytest.mark.parametrize("rule", NextDealer)
def test_after_a_forfeit_the_forfeiting_seat_deals(rule: NextDealer) -> None:
    """Next dealer: after a forfeit the one who gave up, also where the deal rotates."""
    hand = finished(EndReason.FORFEIT, dealer=1, shithead=0)
    assert played(hand, opening=opened(next_dealer=rule)).next_dealer == 0


@pytest.mark.parametrize("reason", [EndReason.WINNER, EndReason.FORFEIT])
def test_without_a_loser_the_deal_rotates(reason: EndReason) -> None:
    """Next dealer: where there is no such seat the deal rotates (a game for a winner)."""
    assert played(finished(reason, dealer=3, shithead=None, places=(1,))).next_dealer == 0


def test_an_aborted_hand_changes_neither_number_nor_dealer() -> None:
    """A hand that was aborted does not use up its number: the next attempt has the same."""
    before = played(finished(shithead=2))
    aborted = finished(None, hand=2, dealer=2, shithead=None, places=())
    after = evolve_table(evolve_table(before, dealt(2)), aborted)
    assert (after.next_hand, after.next_dealer) == (2, before.next_dealer)
    assert (after.status, after.game) == (TableStatus.BETWEEN, None)
    assert after.last_game == "game 2", "the first event of the next hand names it"
    assert after.seats == before.seats, "the tally is unchanged"
    again = evolve_table(after, HandDealt(game="game 2b", hand=2))
    assert (again.hand, again.repeat) == (2, False)
    done = evolve_table(again, replace(finished(hand=2, dealer=2), game="game 2b"))
    assert done.next_hand == 3


def test_an_aborted_first_hand_leaves_the_dealer_to_be_drawn() -> None:
    after = played(finished(None, dealer=None, shithead=None, places=()))
    assert (after.next_hand, after.next_dealer) == (1, None)


def test_hands_and_losses_are_counted_seat_by_seat() -> None:
    after = played(
        finished(shithead=2),
        finished(hand=2, shithead=2),
        finished(EndReason.STALEMATE, hand=3, shithead=None, places=()),
        finished(EndReason.FORFEIT, hand=4, shithead=0),
    )
    assert [seat.hands for seat in after.seats] == [4, 4, 4, 4]
    assert [seat.shithead for seat in after.seats] == [1, 0, 2, 0]


def test_m14_the_loser_wears_the_bag_until_out_in_a_later_hand() -> None:
    """M14: the loser wears a paper bag until out in a later hand."""
    bags = opened(paper_bag=True)
    lost = finished(shithead=2, places=(0, 1, 3))
    assert wearing(played(lost, opening=bags)) == [2]
    out = finished(hand=2, shithead=0, places=(2, 1, 3))
    assert wearing(played(lost, out, opening=bags)) == [0], "seat 2 went out, seat 0 lost"
    again = finished(hand=2, shithead=2, places=(0, 1, 3))
    assert wearing(played(lost, again, opening=bags)) == [2]


def test_m14_a_seat_that_does_not_go_out_keeps_the_bag_beside_the_new_loser() -> None:
    """M14: in a hand that ends before seat 2 is out, the bag stays on."""
    lost = finished(shithead=2, places=(0, 1, 3))
    given_up = finished(EndReason.FORFEIT, hand=2, shithead=0, places=(1,))
    assert wearing(played(lost, given_up, opening=opened(paper_bag=True))) == [0, 2]


def test_m14_an_aborted_hand_takes_no_bag_off() -> None:
    lost = finished(shithead=2)
    aborted = finished(None, hand=2, shithead=None, places=(2,))
    assert wearing(played(lost, aborted, opening=opened(paper_bag=True))) == [2]


def test_without_the_bag_rule_no_seat_wears_a_bag() -> None:
    assert wearing(played(finished(shithead=2))) == []


def wearing(after: Table) -> list[Seat]:
    """Return the seats that wear a bag."""
    return [number for number, seat in enumerate(after.seats) if seat.bag]


def test_a_new_player_in_a_seat_begins_without_losses() -> None:
    opening = opened(ADA, BOT, paper_bag=True)
    lost = finished(dealer=0, shithead=0, places=(1,))
    left = evolve_table(played(lost, opening=opening), SeatLeft(seat=0))
    assert left.status is TableStatus.OPEN
    assert left.seats[0] == TableSeat()
    sat = evolve_table(left, SeatTaken(seat=0, player="bob", entropy=Entropy.VALUE, key="key"))
    assert sat.status is TableStatus.BETWEEN
    assert sat.seats[0] == TableSeat(
        kind=SeatKind.HUMAN, player="bob", entropy=Entropy.VALUE, key="key"
    )
    assert (sat.seat_of("bob"), sat.seat_of("ada")) == (0, None)


def test_a_bot_in_an_open_seat_fills_the_table() -> None:
    left = evolve_table(played(opening=opened(ADA, BOT)), SeatLeft(seat=0))
    filled = evolve_table(left, SeatFilled(seat=0, bot="greedy"))
    assert filled.seats[0] == TableSeat(kind=SeatKind.BOT, bot="greedy")
    assert (filled.status, filled.version) == (TableStatus.BETWEEN, left.version + 1)


def test_a_key_change_keeps_the_tallies_and_states_its_signature() -> None:
    before = played(finished(shithead=0))
    after = evolve_table(
        before, SeatChanged(seat=0, entropy=Entropy.COMMIT, key="new", sig="by the old one")
    )
    changed = after.seats[0]
    assert (changed.entropy, changed.key, changed.key_sig) == (
        Entropy.COMMIT,
        "new",
        "by the old one",
    )
    assert (changed.hands, changed.shithead, changed.player) == (1, 1, "ada")


def test_a_table_is_open_then_between_hands_then_playing_then_closed() -> None:
    steps: list[TableEvent] = [
        SeatTaken(seat=1, player="bob", entropy=Entropy.NONE, key=None),
        dealt(),
        finished(dealer=0, shithead=1, places=(0,)),
        TableClosed(),
    ]
    state, states = table(opening=opened(ADA, TableSeat())), []
    for event in [None, *steps]:
        state = state if event is None else evolve_table(state, event)
        states.append(state.status.value)
    assert states == ["open", "between", "playing", "between", "closed"]
    assert state.version == len(steps) + 1


def test_a_dispute_about_a_hand_leaves_its_table_as_it_is() -> None:
    before = table(opening=opened(ADA, TableSeat()))
    after = evolve_table(before, HandDisputed(game="g", dispute="d", head="00" * 32))
    assert after == replace(before, version=before.version + 1)


def test_a_table_is_opened_once_and_first() -> None:
    with pytest.raises(ValueError, match="opened once"):
        evolve_table(table(), opened())
    with pytest.raises(ValueError, match="begins with"):
        fold_table([TableClosed()])
    with pytest.raises(ValueError, match="begins with"):
        fold_table([])


def test_a_match_of_two_hands_is_lost_in_the_second() -> None:
    """In reverse the shithead of the match is that of the second hand; all hands are counted."""
    table = opened(ADA, BOT)
    rules = {"id": "reverse", "options": {}, "settings": {"second_hand": {"deal": {}}}}
    table = replace(table, conditions=replace(table.conditions, ruleset=rules))
    events: list[TableEvent] = [table]
    for hand, loser in ((1, 0), (2, 1), (3, 1)):
        events += [dealt(hand), replace(finished(hand=hand, dealer=0), shithead=loser)]
        seats = fold_table(events).seats
    assert [(seat.hands, seat.shithead) for seat in seats] == [(3, 0), (3, 1)]

"""Playouts: a hand played to its end by a fixed, fast policy."""

from __future__ import annotations

from typing import Final

from service.search.rules import EMPTY, NO_RANK, RANK_COUNT, Rules
from service.search.state import NOBODY, PLAY, Move, State

MAX_MOVES: Final = 300
"""Moves after which a playout ends without a result."""


class PlayoutPolicy:
    """
    The order in which a playout spends cards, as tables of a ruleset.

    `cheapest[mask]` is the least valuable rank in a mask; `single[rank]` is whether only one
    card of the rank is played at a time while the stock lasts.
    """

    __slots__ = ("cheapest", "rules", "single", "worth")

    def __init__(self, rules: Rules, worth: list[int], *, special: int) -> None:
        """Make the tables; ranks worth at least `special` are played one card at a time."""
        self.rules = rules
        self.worth = worth
        self.single = [value >= special for value in worth]
        cheapest = [NO_RANK] * (1 << RANK_COUNT)
        dearest_first = sorted(range(RANK_COUNT), key=lambda rank: (-worth[rank], -rank))
        for rank in dearest_first:
            bit = 1 << rank
            for mask in range(bit, 1 << RANK_COUNT):
                if mask & bit:
                    cheapest[mask] = rank
        self.cheapest = cheapest


def opened(state: State, policy: PlayoutPolicy) -> State:
    """Return `state`, or a copy after the opening play if rules restrict it or several may open."""
    rules = state.rules
    if not state.first or not (rules.opening_play or state.turn == NOBODY):
        return state
    after = state.copy()
    seat = after.openers()[1][0] if after.turn == NOBODY else after.turn
    plays = [move for move in after.moves(seat) if move[0] == PLAY]
    move: Move = (
        min(plays, key=lambda one: (policy.worth[one[1][-1][0]], -one[1][-1][1], one))
        if plays
        else next(after.moves(seat))
    )
    after.apply(seat, move)
    return after


def playout(  # noqa: C901 -- the inner loop of search: calls would cost more than its branches
    state: State, policy: PlayoutPolicy, max_moves: int = MAX_MOVES
) -> tuple[int, int]:
    """
    Return the seat that decides the hand and the number of moves made; `state` is unchanged.

    The seat is the shithead, or the winner of a hand that is played for a winner, or NOBODY
    if the hand is not decided within `max_moves` moves. A required opening play has been made
    before (`opened`).

    The policy plays the cheapest rank that fits, all cards of a plain rank and one of a special
    one, and completes sets. It plays a rank that needs a companion if that is worth no more than
    the cheapest rank that fits. It tries the stock or takes the pile only if it cannot play, and
    makes every follow-up.
    """
    rules = state.rules
    if state.over:
        return (state.places[0] if rules.winner and state.places else state.loser), 0
    # Local names and one long loop, because a searching bot spends nearly all its time here.
    shift, field, fits, nexts = rules.shift, rules.field, rules.fit, rules.next_demand
    special, companions, paired = rules.special, rules.companions, rules.with_companion
    cover_fit, follow_up, stacked = rules.cover_fit, rules.follow_up, rules.stacks
    cheapest, single, worth, set_size = policy.cheapest, policy.single, policy.worth, rules.set_size
    size = -1 if rules.as_played else rules.refill_size
    hand, hand_mask, hand_size = state.hand[:], state.hand_mask[:], state.hand_size[:]
    up, up_mask, down = state.up[:], state.up_mask[:], [cards[:] for cards in state.down]
    slots = [some[:] for some in state.slots] if stacked else state.slots
    stock, gone = state.stock[:], state.out[:]
    pile, pile_mask, pile_size = state.pile, state.pile_mask, state.pile_size
    top, run, demand, last = state.top, state.run, state.demand, state.last
    covering, left, passes = state.covering, state.left, state.passes
    forward, back = _ring(gone)
    if state.direction < 0:
        forward, back = back, forward
    seat, moves = state.turn, 0
    while moves < max_moves:
        moves += 1
        rank, count, other, others = NO_RANK, 0, NO_RANK, 0
        held = hand_mask[seat]
        cards, masks = (hand, hand_mask) if held else (up, up_mask)
        held = masks[seat]
        if held:
            fit = held & (cover_fit if covering else fits[demand])
            if fit:
                packed = cards[seat]
                if fit >> top & 1 and run + (packed >> shift[top] & field) >= set_size:
                    rank = top
                    count = packed >> shift[rank] & field
                else:
                    rank = cheapest[fit]
                    count = packed >> shift[rank] & field
                    if count > 1 and stock and single[rank] and cards is hand:
                        count = 1
            if paired and held & paired:
                for pair in range(RANK_COUNT):
                    if held >> pair & 1 and held & companions[pair]:
                        if not fit or worth[rank] >= worth[pair]:
                            other, rank = pair, cheapest[held & companions[pair]]
                            others = cards[seat] >> shift[pair] & field
                            count = cards[seat] >> shift[rank] & field
                        break
            if count:
                packed = cards[seat] - (count << shift[rank])
                if not packed >> shift[rank] & field:
                    held ^= 1 << rank
                if others:
                    packed -= others << shift[other]
                    held ^= 1 << other
                cards[seat], masks[seat] = packed, held
                if cards is hand:
                    hand_size[seat] -= count + others
                elif stacked:
                    slots[seat] = [s for s in slots[seat] if s[0] not in (rank, other)]
            elif rules.try_stock and stock and not covering:
                rank = stock.pop()
                count = fits[demand] >> rank & 1
        elif down[seat]:
            rank = down[seat].pop()
            count = (cover_fit if covering else fits[demand]) >> rank & 1
        if not count:
            if rank == NO_RANK and not pile_size:
                passes += 1
                last = NOBODY
                if passes >= left:
                    break
                seat = forward[seat]
                continue
            taker, turn = seat, forward[seat]
            if last >= 0 and not gone[last]:
                if rules.taker_previous:
                    taker, turn = last, seat
                elif rules.after_mode and (rules.after_mode == 1 or left > 2):
                    turn = last
            if rank != NO_RANK:  # the card that was turned unseen goes to the seat itself
                hand[seat] += 1 << shift[rank]
                hand_mask[seat] |= 1 << rank
                hand_size[seat] += 1
            elif rules.along and cards is up:
                rank = cheapest[held]
                count = 1
                if stacked:
                    count = next(n for r, n in slots[seat] if r == rank)
                    slots[seat].remove((rank, count))
                up[seat] -= count << shift[rank]
                if not up[seat] >> shift[rank] & field:
                    up_mask[seat] ^= 1 << rank
                pile += count << shift[rank]
                pile_mask |= 1 << rank
                pile_size += count
            hand[taker] += pile
            hand_mask[taker] |= pile_mask
            hand_size[taker] += pile_size
            pile = pile_mask = pile_size = run = passes = 0
            top, demand, last, covering, seat = NO_RANK, EMPTY, NOBODY, False, turn
            continue
        passes = 0
        if others:
            pile += others << shift[other]
            pile_mask |= 1 << other
            pile_size += others
            top, demand = other, nexts[demand][other]
        total, played = count, count + others
        while True:
            pile += count << shift[rank]
            pile_mask |= 1 << rank
            pile_size += count
            run = run + count if rank == top else count
            top, demand, last = rank, nexts[demand][rank], seat
            matching = 0
            drew = False
            if stock:
                wanted = played if size < 0 else size - hand_size[seat]
                if wanted > 0:
                    drew = True
                    packed, held = hand[seat], hand_mask[seat]
                    drawn = stock[-wanted:]
                    del stock[-wanted:]
                    for card in drawn:
                        packed += 1 << shift[card]
                        held |= 1 << card
                    hand[seat], hand_mask[seat] = packed, held
                    hand_size[seat] += len(drawn)
                    if follow_up:
                        matching = drawn.count(rank)
            out = not (drew or hand_mask[seat] or up_mask[seat] or down[seat])
            if not (out or special[rank] or run >= set_size or matching or others):
                covering = False
                seat = forward[seat]
                break
            burned = rules.burning[rank] or run >= set_size
            covered = rules.covered[rank] or (left == 2 and rules.covered_two[rank])
            if out:
                gone[seat] = True
                left -= 1
                ahead, behind = forward[seat], back[seat]
                forward[behind], back[ahead] = ahead, behind
                if rules.winner:
                    return seat, moves
                if left == 1:
                    return ahead, moves
            covering = False
            if burned or (rules.covered[rank] if out else covered):
                if burned:
                    pile = pile_mask = pile_size = run = 0
                    top, demand, last = NO_RANK, EMPTY, NOBODY
                else:
                    covering = not out
                if out:
                    seat = forward[seat]
                break
            turned = total * rules.turned[rank] + others * (others and rules.turned[other])
            if turned & 1:
                forward, back = back, forward
            turn = forward[seat]
            for _ in range(
                total * rules.skipped[rank] + others * (others and rules.skipped[other])
            ):
                turn = forward[turn]
            if not matching or turn == seat:
                seat = turn
                break
            if turned & 1:  # the direction before the play counts for the follow-up
                forward, back = back, forward
            count = played = matching
            total += matching
            hand[seat] -= count << shift[rank]
            hand_size[seat] -= count
            if not hand[seat] >> shift[rank] & field:
                hand_mask[seat] ^= 1 << rank
    return NOBODY, moves


def _ring(gone: list[bool]) -> tuple[list[int], list[int]]:
    """Return the next seat in play after each seat, clockwise and counterclockwise."""
    seats = len(gone)
    ring = [seat for seat in range(seats) if not gone[seat]]
    forward, back = [0] * seats, [0] * seats
    for place, seat in enumerate(ring):
        forward[seat] = ring[(place + 1) % len(ring)]
        back[seat] = ring[place - 1]
    return forward, back

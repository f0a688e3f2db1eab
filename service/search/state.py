"""The mutable state of the fast model: counts of ranks, pile and turn."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Final

from service.search.rules import EMPTY, NO_RANK, RANK_COUNT, Rules

PLAY: Final = 0
BLIND: Final = 1
TRY: Final = 2
TAKE: Final = 3
PASS: Final = 4

Parts = tuple[tuple[int, int], ...]
"""(rank, count) of the cards of a play, in laying order; from stacks one pair for each stack."""

Move = tuple[int, Parts]
"""
A kind and its cards: those played, or for TAKE those that go along.

For BLIND the only part is (place among the face-down cards left, 0).
"""

NOBODY: Final = -1


class State:
    """
    One position in play; all cards are known, and suits are ignored.

    `hand` and `up` are packed counts by seat, `hand_mask` and `up_mask` the ranks held,
    `hand_size` the number of cards in the hand; `slots` are the face-up stacks as (rank, count),
    present only if cards may be stacked. `down` and `stock` are lists of ranks; the top of the
    stock is its last item. `run` counts the cards of rank `top` on top of the pile. `last` is the
    seat of the last play, `drawn` the number of cards with which it may follow up. The hand ends
    after `limit` actions at the latest.
    """

    __slots__ = (
        "actions",
        "covering",
        "demand",
        "direction",
        "down",
        "drawn",
        "first",
        "hand",
        "hand_mask",
        "hand_size",
        "last",
        "last_direction",
        "last_rank",
        "last_reversed",
        "last_skipped",
        "left",
        "limit",
        "loser",
        "out",
        "over",
        "passes",
        "pile",
        "pile_mask",
        "pile_size",
        "places",
        "rules",
        "run",
        "slots",
        "stock",
        "top",
        "turn",
        "up",
        "up_mask",
    )

    @classmethod
    def empty(cls, rules: Rules) -> State:
        """Return a position without cards; the caller fills it in."""
        state = State()  # no __init__: `copy` is called often, and mypyc has no bare __new__
        state._begin(rules)
        return state

    def _begin(self, rules: Rules) -> None:
        seats = rules.seats
        self.rules = rules
        self.hand = [0] * seats
        self.hand_mask = [0] * seats
        self.hand_size = [0] * seats
        self.up = [0] * seats
        self.up_mask = [0] * seats
        self.slots: list[list[tuple[int, int]]] = [[] for _ in range(seats)]
        self.down: list[list[int]] = [[] for _ in range(seats)]
        self.stock: list[int] = []
        self.out = [False] * seats
        self.places: list[int] = []
        self.left = seats
        self.turn = NOBODY
        self.direction = 1
        self.first = False
        self.covering = False
        self.clear_pile()
        self.last_rank = NO_RANK
        self.last_direction = 1
        self.last_reversed = self.last_skipped = self.drawn = 0
        self.passes = self.actions = 0
        self.limit = 1 << 30
        self.over = False
        self.loser = NOBODY

    def copy(self) -> State:
        """Return a copy that shares no mutable data."""
        new = State()
        new.rules = self.rules
        new.hand, new.hand_mask = self.hand[:], self.hand_mask[:]
        new.hand_size = self.hand_size[:]
        new.up, new.up_mask = self.up[:], self.up_mask[:]
        new.slots = [slots[:] for slots in self.slots] if self.rules.stacks else self.slots
        new.down = [down[:] for down in self.down]
        new.stock, new.out, new.places = self.stock[:], self.out[:], self.places[:]
        new.left, new.turn, new.direction = self.left, self.turn, self.direction
        new.first, new.covering = self.first, self.covering
        new.pile, new.pile_mask, new.pile_size = self.pile, self.pile_mask, self.pile_size
        new.top, new.run, new.demand = self.top, self.run, self.demand
        new.last, new.last_rank, new.drawn = self.last, self.last_rank, self.drawn
        new.last_direction, new.last_reversed = self.last_direction, self.last_reversed
        new.last_skipped, new.passes = self.last_skipped, self.passes
        new.actions, new.limit = self.actions, self.limit
        new.over, new.loser = self.over, self.loser
        return new

    def clear_pile(self) -> None:
        """Take the pile away."""
        self.pile = self.pile_mask = self.pile_size = self.run = 0
        self.top = NO_RANK
        self.demand = EMPTY
        self.last = NOBODY

    def add_to_hand(self, seat: int, rank: int) -> None:
        """Put one card into a hand."""
        self.hand[seat] += 1 << self.rules.shift[rank]
        self.hand_mask[seat] |= 1 << rank
        self.hand_size[seat] += 1

    def add_to_up(self, seat: int, rank: int, count: int = 1) -> None:
        """Put cards of one rank face-up on a slot of their own."""
        self.up[seat] += count << self.rules.shift[rank]
        self.up_mask[seat] |= 1 << rank
        if self.rules.stacks:
            self.slots[seat].append((rank, count))

    def add_to_pile(self, rank: int, count: int) -> None:
        """Lay cards of one rank on the pile."""
        rules = self.rules
        self.pile += count << rules.shift[rank]
        self.pile_mask |= 1 << rank
        self.pile_size += count
        self.run = self.run + count if self.top == rank else count
        self.top = rank
        self.demand = rules.next_demand[self.demand][rank]

    def openers(self) -> tuple[int, list[int]]:
        """Return the rank that qualifies for a first-come opening, and the seats that hold it."""
        rules, seats = self.rules, range(self.rules.seats)
        for rank in rules.opening_ranks:
            if rules.first_come_table and (
                found := [s for s in seats if self.up_mask[s] >> rank & 1]
            ):
                return rank, found
            if found := [s for s in seats if self.hand_mask[s] >> rank & 1]:
                return rank, found
        return (rules.opening_ranks or [NO_RANK])[0], list(seats)

    def fitting(self) -> int:
        """Return the mask of the ranks that may be played alone now."""
        rules = self.rules
        return rules.cover_fit if self.covering else rules.fit[self.demand]

    def moves(self, seat: int) -> Iterator[Move]:
        """
        Yield the legal moves of a seat, without runs.

        Runs need suits, which counts do not have. They never decide whether a seat can play,
        because the first card of a run may also be played alone, or as a cover.
        """
        if self.turn not in (NOBODY, seat):
            if self.last == seat and self.drawn and self.rules.follow_up and not self.covering:
                yield from ((PLAY, ((self.last_rank, n),)) for n in range(1, self.drawn + 1))
            return
        in_hand = bool(self.hand_mask[seat])
        mask = self.hand_mask[seat] or self.up_mask[seat]
        if not mask:
            yield from ((BLIND, ((place, 0),)) for place in range(len(self.down[seat])))
            return
        able = False
        for move in self._plays(seat, mask, in_hand=in_hand):
            able = True
            yield move
        able = able or (self.first and self._can_play(mask))
        rules = self.rules
        may_try = (
            rules.try_stock
            and not self.covering
            and self.stock
            and (rules.try_stock == 2 or not able)
        )
        if may_try:
            yield TRY, ()
        if self.pile_size:
            if not self.covering and (rules.may_pick_up or not able):
                yield from ((TAKE, along) for along in self._along(seat, in_hand=in_hand))
        elif not self.covering and not able and not may_try:
            yield PASS, ()

    def _can_play(self, mask: int) -> bool:
        rules = self.rules
        if mask & self.fitting():
            return True
        return any(mask >> rank & 1 and mask & rules.companions[rank] for rank in range(RANK_COUNT))

    def _plays(self, seat: int, mask: int, *, in_hand: bool) -> Iterator[Move]:
        rules, fitting = self.rules, self.fitting()
        required = self.openers()[0] if self.first and rules.opening_play else NO_RANK
        for rank in range(RANK_COUNT):
            if not mask >> rank & 1 or required not in (NO_RANK, rank):
                continue
            if fitting >> rank & 1:
                for parts in self._choices(seat, rank, in_hand=in_hand):
                    yield PLAY, parts
            elif mask & rules.companions[rank]:
                for other in range(rank + 1, RANK_COUNT):
                    if not mask & rules.companions[rank] & 1 << other:
                        continue
                    for some in self._choices(seat, rank, in_hand=in_hand):
                        for others in self._choices(seat, other, in_hand=in_hand):
                            yield PLAY, some + others

    def _choices(self, seat: int, rank: int, *, in_hand: bool) -> list[Parts]:
        """Return the cards of one rank that may be played together; each stack is a part."""
        rules = self.rules
        if in_hand or not rules.stacks:
            packed = self.hand[seat] if in_hand else self.up[seat]
            held = packed >> rules.shift[rank] & rules.field
            return [((rank, n),) for n in range(1, held + 1)]
        stacks = sorted(slot for slot in self.slots[seat] if slot[0] == rank)
        sizes = range(1, len(stacks) + 1)
        return sorted({some for size in sizes for some in combinations(stacks, size)})

    def _along(self, seat: int, *, in_hand: bool) -> Iterator[Parts]:
        rules = self.rules
        if in_hand or not rules.along:
            yield ()
            return
        if rules.along == 1 and rules.stacks:
            yield from ((slot,) for slot in sorted(set(self.slots[seat])))
            return
        for rank in range(RANK_COUNT):
            held = self.up[seat] >> rules.shift[rank] & rules.field
            for n in range(1, min(held, 1 if rules.along == 1 else held) + 1):
                yield ((rank, n),)

    def apply(self, seat: int, move: Move) -> None:
        """Make a legal move of a seat; nothing is checked."""
        kind, parts = move
        if kind == PLAY:
            follows = self.turn not in (NOBODY, seat)
            for rank, count in parts:
                self._remove(seat, rank, count)
            self._lay(seat, parts, follows=follows)
        elif kind == BLIND:
            self._turned(seat, self.down[seat].pop(parts[0][0]))
        elif kind == TRY:
            self._turned(seat, self.stock.pop())
        elif kind == TAKE:
            self._take(seat, parts)
        else:
            self.passes += 1
            self.actions += 1
            self.first = False
            self.last = NOBODY
            self.over = self.passes >= self.left or self.actions >= self.limit
            self.turn = self._step(seat, self.direction, 1)

    def _remove(self, seat: int, rank: int, count: int) -> None:
        """Take cards of one rank out of the hand, or if it is empty from the face-up cards."""
        shift, field = self.rules.shift[rank], self.rules.field
        if self.hand_size[seat]:
            self.hand[seat] -= count << shift
            self.hand_size[seat] -= count
            if not self.hand[seat] >> shift & field:
                self.hand_mask[seat] ^= 1 << rank
            return
        self.up[seat] -= count << shift
        if not self.up[seat] >> shift & field:
            self.up_mask[seat] ^= 1 << rank
        if self.rules.stacks:
            self.slots[seat].remove((rank, count))

    def _turned(self, seat: int, rank: int) -> None:
        """Play a card that was turned unseen, or take it with the pile."""
        if self.fitting() >> rank & 1:
            self._lay(seat, ((rank, 1),), follows=False)
        else:
            taker, turn = self._after_pick_up(seat)
            self.add_to_hand(seat, rank)
            self._took(taker, turn)

    def _take(self, seat: int, along: Parts) -> None:
        taker, turn = self._after_pick_up(seat)
        for rank, count in along:
            self._remove(seat, rank, count)
            self.hand[taker] += count << self.rules.shift[rank]
            self.hand_mask[taker] |= 1 << rank
            self.hand_size[taker] += count
        self._took(taker, turn)

    def _took(self, taker: int, turn: int) -> None:
        self.hand[taker] += self.pile
        self.hand_mask[taker] |= self.pile_mask
        self.hand_size[taker] += self.pile_size
        self.clear_pile()
        self.covering = self.first = False
        self.passes = 0
        self.actions += 1
        self.turn = turn
        self.over = self.actions >= self.limit

    def _after_pick_up(self, seat: int) -> tuple[int, int]:
        rules, previous = self.rules, self.last
        following = self._step(seat, self.direction, 1)
        if previous == NOBODY or self.out[previous]:
            return seat, following
        if rules.taker_previous:
            return previous, seat
        if rules.after_mode == 1 or (rules.after_mode == 2 and self.left > 2):
            return seat, previous
        return seat, following

    def _step(self, seat: int, direction: int, steps: int) -> int:
        """Return the seat `steps` seats after `seat`, counting only seats in play."""
        seats, at = self.rules.seats, seat
        while steps:
            at = (at + direction) % seats
            if not self.out[at]:
                steps -= 1
        return at

    def _lay(self, seat: int, parts: Parts, *, follows: bool) -> None:
        """Lay cards that have left their zone, refill, and apply the effects of the play."""
        rules = self.rules
        direction = self.last_direction if follows else self.direction
        reversed_, skipped = (self.last_reversed, self.last_skipped) if follows else (0, 0)
        played = 0
        for rank, count in parts:
            self.add_to_pile(rank, count)
            reversed_ += count * rules.turned[rank]
            skipped += count * rules.skipped[rank]
            played += count
        rank = parts[-1][0]
        self.drawn = self.drawn - played if follows else 0
        self.last, self.last_rank, self.last_direction = seat, rank, direction
        self.last_reversed, self.last_skipped = reversed_, skipped
        self.passes = 0
        self.actions += 1
        self.first = False
        drew = self._refill(seat, played, rank)
        out = not drew and not (self.hand_mask[seat] or self.up_mask[seat] or self.down[seat])
        burns = rules.burning[rank] or self.run >= rules.set_size
        covers = rules.covered[rank] or (rules.covered_two[rank] and self.left == 2)
        if out:
            self.out[seat] = True
            self.places.append(seat)
            self.left -= 1
        if self._ended(out=out):
            return
        if burns or (rules.covered[rank] if out else covers):
            self.turn = self._step(seat, direction, 1) if out else seat
        else:
            direction = -direction if reversed_ & 1 else direction
            self.turn = self._step(seat, direction, 1 + skipped)
        self.direction = direction
        self.covering = self.turn == seat and covers and not burns
        if burns:
            self.clear_pile()

    def _refill(self, seat: int, played: int, rank: int) -> bool:
        """Draw from the stock; return whether a card was drawn."""
        rules, stock = self.rules, self.stock
        wanted = played if rules.as_played else rules.refill_size - self.hand_size[seat]
        count = min(wanted, len(stock))
        for _ in range(count):
            card = stock.pop()
            self.drawn += card == rank
            self.add_to_hand(seat, card)
        return count > 0

    def _ended(self, *, out: bool) -> bool:
        if out and self.rules.winner:
            self.over = True
        elif self.left <= 1:
            self.over = True
            self.loser = self.out.index(False) if self.left else NOBODY
        elif self.actions >= self.limit:
            self.over = True
        return self.over

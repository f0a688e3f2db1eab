"""Observations as arrays and moves as numbered actions, for reinforcement learning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from service.domain.ruleset import Layout, Ruleset, deck_of

Json = dict[str, Any]
Move = dict[str, Any]

RANK_CODES: Final = "23456789TJQKAX"
"""The ranks in the order of all arrays; the joker comes last."""

RANKS: Final = len(RANK_CODES)
OTHERS: Final = 48
"""Number of actions for plays of several ranks (runs, companions), in the order of the moves."""

Floats: TypeAlias = Any
"""An array of `np.float32`; the extra is optional, so its types are not checked."""


class Actions:
    """
    The actions of one ruleset with one number of seats; an action always has the same number.

    In this order: play n cards of a rank; one of the listed plays of several ranks; turn the
    face-down card of a slot; take the pile, alone or with a card or stack of a rank; try the
    stock; pass, or decline a follow-up; swap a hand card of one rank for a face-up card of
    another; lay a card of a rank face-up; be ready. Suits are not distinguished: of moves that
    differ in suits alone, the first listed is made.
    """

    def __init__(self, ruleset: Ruleset, seats: int) -> None:
        """Number the actions for `ruleset` at a table of `seats` seats."""
        decks, jokers, partial = deck_of(ruleset, seats)
        self.most = max(4 * (decks + bool(partial)), jokers)  # cards in a play of one rank
        self.slots = ruleset.deal.down
        self.laid_out = ruleset.deal.layout is not Layout.NONE
        self.others = RANKS * self.most
        self.blind = self.others + OTHERS
        self.take = self.blind + max(self.slots, 1)
        self.try_stock = self.take + 1 + RANKS
        self.pass_turn = self.try_stock + 1
        self.swap = self.pass_turn + 1
        self.lay = self.swap + RANKS * RANKS
        self.ready = self.lay + RANKS
        self.count = self.ready + 1

    def of(self, moves: Sequence[Move]) -> dict[int, Move]:
        """
        Return the listed moves by the numbers of their actions.

        A move `lay` is left out (see `laying`), and so are plays of several ranks after OTHERS.
        """
        found: dict[int, Move] = {}
        others = 0
        for move in moves:
            if move["type"] == "lay":
                continue
            action = self._action(move)
            if action is None:
                if others == OTHERS:
                    continue
                action, others = self.others + others, others + 1
            found.setdefault(action, move)
        return found

    def laying(self, hand: Sequence[str], pending: Sequence[str]) -> dict[int, str]:
        """
        Return the cards that may be laid next, by the numbers of their actions.

        `pending` are the cards that were chosen before.
        """
        found: dict[int, str] = {}
        for card in sorted(hand):
            if card not in pending:
                found.setdefault(self.lay + RANK_CODES.index(card[0]), card)
        return found

    def _action(self, move: Move) -> int | None:
        """Return the number of a move's action; None for a play of several ranks."""
        match move["type"]:
            case "play":
                ranks = {card[0] for card in move["cards"]}
                if len(ranks) > 1:
                    return None
                return RANK_CODES.index(min(ranks)) * self.most + len(move["cards"]) - 1
            case "play_blind":
                return self.blind + int(move["slot"])
            case "pick_up":
                along = move["with"]
                return self.take + (1 + RANK_CODES.index(along[0][0]) if along else 0)
            case "try_stock":
                return self.try_stock
            case "pass":
                return self.pass_turn
            case "swap":
                up, hand = RANK_CODES.index(move["up"][0][0]), RANK_CODES.index(move["hand"][0][0])
                return self.swap + up * RANKS + hand
            case _:
                return self.ready


def size_of(seats: int) -> int:
    """Return the length of an observation."""
    return 6 * RANKS + 9 + seats * (2 * RANKS + 4)


def observed(view: Json, pending: Sequence[str] = ()) -> Floats:
    """
    Return the view of a seat as numbers, which are counts of cards unless noted.

    By rank: the own hand, the pile, the burned cards, the cards chosen to be laid, which ranks
    a play may begin with (0 or 1), which rank is on top (0 or 1). Then the sizes of pile and
    stock, the cards of the top rank that lie on one another, the direction (0 or 1), whether
    the seat is on turn, no seat is, the exchange runs, the hand is over (0 or 1), and the
    number of legal moves listed. Then for each seat, the own first and on clockwise: by rank
    its face-up cards and the hand cards that all saw, then the size of its hand, its
    face-down cards, whether it is out and whether it is ready.
    """
    me, seats, pile = view["as"], view["seats"], view["pile"]
    top = pile[-1][0] if pile else ""
    run = next((n for n, card in enumerate(reversed(pile)) if card[0] != top), len(pile))
    parts = [
        _counts(seats[me]["hand"]["cards"]),
        _counts(pile),
        _counts(view["burned"]),
        _counts(pending),
        _counts(view["demand"]["ranks"]),
        _counts([top] if top else []),
        np.array(
            [
                len(pile),
                view["stock"],
                run,
                view["direction"] > 0,
                view["turn"] == me,
                view["turn"] is None,
                view["status"] == "swapping",
                view["result"] is not None,
                len(view["moves"]),
            ],
            dtype=np.float32,
        ),
    ]
    for place in range(len(seats)):
        parts += _seat(seats[(me + place) % len(seats)])
    return np.concatenate(parts)


def _seat(seat: Mapping[str, Any]) -> list[Floats]:
    figures = [
        seat["hand"]["count"],
        sum(seat["down"]),
        seat["out"] is not None,
        seat["ready"],
    ]
    return [
        _counts([card for stack in seat["up"] for card in stack]),
        _counts(seat["hand"]["known"]),
        np.array(figures, dtype=np.float32),
    ]


def _counts(cards: Sequence[str]) -> Floats:
    counts = np.zeros(RANKS, dtype=np.float32)
    for card in cards:
        counts[RANK_CODES.index(card[0])] += 1
    return counts

"""
Tracking of every card through a log, independent of the code of the game's rules.

The deck is optional. Without it a hidden card is UNKNOWN until an event shows it; the zone from
which the event takes it must then have an UNKNOWN card.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from service.replay.sentences import Value

UNKNOWN: Final = ""
Data = Mapping[str, Any]


class CardMisplaced(Exception):
    """
    A card is not at the place that an event names.

    `dealing` is true if the fault is in the deal or a draw, and `not_held` if a seat uses a card
    that is not in its hand: the values `seat` and `card` name both.
    """

    def __init__(
        self, code: str, *, dealing: bool = False, not_held: bool = False, **values: Value
    ) -> None:
        super().__init__(code)
        self.code = code
        self.values = {name: value for name, value in values.items() if value is not None}
        self.dealing = dealing
        self.not_held = not_held


class Zones:
    """All cards of a game, each in one zone."""

    def __init__(self, codes: Sequence[str], deck: Sequence[str] | None, seats: int) -> None:
        self.codes = frozenset(codes)
        self.deck = list(deck) if deck is not None else [UNKNOWN] * len(codes)
        self.stock: deque[int] = deque(range(len(codes)))
        self.pile: list[str] = []
        self.burned: list[str] = []
        self.hands: list[list[str]] = [[] for _ in range(seats)]
        self.up: list[list[list[str]]] = [[] for _ in range(seats)]
        self.down: list[list[int | None]] = [[] for _ in range(seats)]
        # By seat, the positions of the cards that were dealt to, drawn or turned by it.
        self.obtained: list[set[int]] = [set() for _ in range(seats)]
        self.placed: set[str] = set()  # cards that an event has shown outside stock and slots
        self.opened: set[str] = set(self.deck)  # the cards whose position in the deck is known
        self._steps: Mapping[str, Callable[[Data], None]] = {
            "cards_dealt": self._dealt,
            "cards_thrown": self._thrown,
            "cards_swapped": self._swapped,
            "table_laid": self._laid,
            "cards_played": self._played,
            "cards_drawn": lambda d: self._draw(d["seat"], d["count"]),
            "pile_burned": self._burned,
            "pile_picked_up": self._picked_up,
            "blind_failed": self._blind_failed,
            "stock_failed": self._stock_failed,
            "seat_out": self._out,
        }

    def follow(self, kind: str, data: Data) -> None:
        """
        Move the cards that an event moves.

        Raises CardMisplaced if one is elsewhere, or if the table does not have a named seat.
        """
        step = self._steps.get(kind)
        if step is None:
            return
        for seat in (data.get("seat"), data.get("taker")):
            if seat is not None and seat >= len(self.hands):
                raise CardMisplaced("order.no_seat", seat=seat)
        step(data)

    def everything(self) -> list[str]:
        """Return the cards of all zones together, UNKNOWN for those that are not seen."""
        slots = [p for seat in self.down for p in seat if p is not None]
        cards = [self.deck[p] for p in (*self.stock, *slots)]
        stacks = [card for seat in self.up for stack in seat for card in stack]
        hands = [card for hand in self.hands for card in hand]
        return cards + stacks + hands + self.pile + self.burned

    def _dealt(self, data: Data) -> None:
        seats, dealer = len(self.hands), data["dealer"]
        rounds = (data["down"], data["up"], data["hand"])
        if seats * sum(rounds) > len(self.stock):
            raise CardMisplaced("deal.too_many", dealing=True)
        if [len(faces) for faces in data["face_up"]] != [data["up"]] * seats:
            raise CardMisplaced("deal.shown", dealing=True)
        order = [(dealer + 1 + turn) % seats for turn in range(seats)]
        for _ in range(data["down"]):
            for seat in order:
                self.down[seat].append(self.stock.popleft())
        for slot in range(data["up"]):
            for seat in order:
                self.obtained[seat].add(self.stock[0])
                card = self._faced(self.stock.popleft(), data["face_up"][seat][slot])
                self.up[seat].append([card])
        if not data["up"]:
            self.up = [[[] for _ in range(data["down"])] for _ in range(seats)]
        for _ in range(data["hand"]):
            for seat in order:
                self._draw(seat, 1)
        self._start(data)
        if data["stock"] != len(self.stock):
            left = len(self.stock)
            raise CardMisplaced("deal.left", dealing=True, found=data["stock"], expected=left)

    def _start(self, data: Data) -> None:
        """Turn the starter; special cards turned before it are put under the stock."""
        under = []
        for opening in data["returned"]:
            position = self._top()
            self._reveal(position, opening["card"])
            under.append(self._check_position(position, opening))
        if data["starter"] is not None:
            self.pile = [self._faced(self._top(), data["starter"])]
        self.stock.extend(under)

    def _faced(self, position: int, opening: Data) -> str:
        """Return the card that is turned at a position of the deck."""
        self._check_position(position, opening)
        self._reveal(position, opening["card"])
        self._place(opening["card"])
        return str(opening["card"])

    def _check_position(self, position: int, opening: Data) -> int:
        """Return the position, which must be that of the opening."""
        if opening["p"] != position:
            named = opening["p"]
            raise CardMisplaced("deal.position", dealing=True, p=named, expected=position)
        return position

    def _reveal(self, position: int, card: str) -> None:
        """Record the card at a position, or compare it with the card known there."""
        if self.deck[position] == UNKNOWN:
            if card in self.placed or card in self.opened:
                raise CardMisplaced("custody.elsewhere", card=card)
            if card not in self.codes:
                raise CardMisplaced("custody.not_in_deck", card=card)
            self.deck[position] = card
            self.opened.add(card)
        elif self.deck[position] != card:
            raise CardMisplaced("custody.face", p=position, card=card)

    def _place(self, card: str) -> None:
        """Record a card as shown; raises CardMisplaced if it was shown elsewhere before."""
        if card in self.placed:
            raise CardMisplaced("custody.elsewhere", card=card)
        self.placed.add(card)

    def _thrown(self, data: Data) -> None:
        self._from_hand(data["seat"], data["cards"])
        self.pile += data["cards"]
        self._draw(data["seat"], data["count"])

    def _swapped(self, data: Data) -> None:
        seat = data["seat"]
        taken = self._from_up(seat, data["hand"])
        self._from_hand(seat, data["up"])
        for slot, card in zip(taken, data["up"], strict=True):
            self.up[seat][slot].append(card)
        self.hands[seat] += data["hand"]

    def _laid(self, data: Data) -> None:
        seat = data["seat"]
        if len(data["stacks"]) != len(self.up[seat]):
            raise CardMisplaced("custody.no_slot", seat=seat, slot=len(data["stacks"]))
        for stack, cards in zip(self.up[seat], data["stacks"], strict=True):
            self._from_hand(seat, cards)
            stack.extend(cards)
        self._draw(seat, data["count"])

    def _played(self, data: Data) -> None:
        seat, cards = data["seat"], data["cards"]
        match data["zone"]:
            case "hand":
                self._from_hand(seat, cards)
            case "up":
                self._empty_handed(seat)
                self._from_up(seat, cards)
            case "down":
                cards = [self._turned(seat, data["slot"], data["opening"])]
            case _:
                cards = [self._tried(seat, data["opening"])]
        if cards != data["cards"]:
            raise CardMisplaced("custody.other_card", card=data["cards"][0])
        self.pile += cards

    def _burned(self, data: Data) -> None:
        self._whole_pile(data["count"])
        self.burned += self.pile
        self.pile = []

    def _picked_up(self, data: Data) -> None:
        self._whole_pile(data["count"])
        self._from_up(data["seat"], data["with"])
        self.hands[data["taker"]] += [*self.pile, *data["with"]]
        self.pile = []

    def _blind_failed(self, data: Data) -> None:
        seat = data["seat"]
        self._whole_pile(data["count"])
        card = self._turned(seat, data["slot"], data["opening"])
        self.hands[seat].append(card)
        self.hands[data["taker"]] += self.pile
        self.pile = []

    def _stock_failed(self, data: Data) -> None:
        self._whole_pile(data["count"])
        self.hands[data["seat"]].append(self._tried(data["seat"], data["opening"]))
        self.hands[data["taker"]] += self.pile
        self.pile = []

    def _out(self, data: Data) -> None:
        seat = data["seat"]
        left = any(self.up[seat]) or any(p is not None for p in self.down[seat])
        if self.hands[seat] or left:
            raise CardMisplaced("custody.out", seat=seat)

    def _turned(self, seat: int, slot: int, opening: Data | None) -> str:
        """Take the card of a slot, and return it."""
        self._empty_handed(seat)
        if any(self.up[seat]):
            raise CardMisplaced("custody.face_up_left", seat=seat)
        position = self.down[seat][slot] if slot < len(self.down[seat]) else None
        if position is None:
            raise CardMisplaced("custody.no_slot", seat=seat, slot=slot)
        self.down[seat][slot] = None
        self.obtained[seat].add(position)
        return self.deck[position] if opening is None else self._faced(position, opening)

    def _tried(self, seat: int, opening: Data) -> str:
        """Take the top card of the stock, which the seat tries to play, and return it."""
        position = self._top()
        self.obtained[seat].add(position)
        return self._faced(position, opening)

    def _draw(self, seat: int, count: int) -> None:
        for _ in range(count):
            position = self._top()
            self.obtained[seat].add(position)
            self.hands[seat].append(self.deck[position])

    def _top(self) -> int:
        if not self.stock:
            raise CardMisplaced("deal.empty", dealing=True)
        return self.stock.popleft()

    def _from_hand(self, seat: int, cards: Iterable[str]) -> None:
        hand = self.hands[seat]
        for card in cards:
            if card in hand:
                hand.remove(card)
            elif UNKNOWN in hand and self._unseen(card):
                hand.remove(UNKNOWN)
            else:
                code, holder = self._whereabouts(card)
                raise CardMisplaced(code, not_held=True, seat=seat, card=card, holder=holder)
            self.placed.add(card)

    def _whereabouts(self, card: str) -> tuple[str, int | None]:
        """Return the code for the place of a card that a seat does not hold, and its holder."""
        if card in [self.deck[p] for p in self.stock]:
            return "custody.in_stock", None
        if card in self.pile or card in self.burned:
            return "custody.on_pile" if card in self.pile else "custody.burned", None
        for seat, hand in enumerate(self.hands):
            if card in hand:
                return "custody.held", seat
        for seat, slots in enumerate(self.down):
            if card in [self.deck[p] for p in slots if p is not None]:
                return "custody.face_down", seat
        return "custody.not_held", None

    def _unseen(self, card: str) -> bool:
        return card in self.codes and card not in self.placed and card not in self.opened

    def _from_up(self, seat: int, cards: Iterable[str]) -> list[int]:
        """Take face-up cards, and return the slots where they lay."""
        slots = []
        for card in cards:
            slot = next((i for i, stack in enumerate(self.up[seat]) if card in stack), None)
            if slot is None:
                raise CardMisplaced("custody.not_up", seat=seat, card=card)
            self.up[seat][slot].remove(card)
            slots.append(slot)
        return slots

    def _empty_handed(self, seat: int) -> None:
        if self.hands[seat]:
            raise CardMisplaced("custody.from_table", seat=seat)

    def _whole_pile(self, count: int) -> None:
        if count != len(self.pile):
            raise CardMisplaced("custody.pile", found=count, expected=len(self.pile))

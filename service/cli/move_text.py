"""Moves in the terminal: typed, in words, in rank order, and chosen automatically."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from service.domain.cards import JOKER

Move = Mapping[str, Any]

_WORDS: Final[Mapping[str, Move]] = {
    "ready": {"type": "ready"},
    "pass": {"type": "pass"},
    "stock": {"type": "try_stock"},
    "forfeit": {"type": "forfeit"},
}

HELP: Final = """\
number             the move of that number
7c 7h              play these cards; any that the rules allow, listed or not
10h, th, 6C        cards may be written like this too: T or 10 for a ten, any case; with two
                   decks 7c is yours of either, 7c/2 that of the second deck
Kd=4c Ks=5h        before play: Kd and Ks go up, 4c and 5h into the hand for them
ready              before play: keep the cards as they are
lay Kd Kh/Ac/Ts    in a layout deal: a stack for each slot
down 1             turn the face-down card in slot 1, counted from 0
stock              try the top card of the stock
take, take Kd      take the pile, with face-up cards where the rules have it
pass, forfeit      pass; give up
quit               leave the program; the game goes on, and you can come back
enter alone        draw the whole screen again

c d h s are clubs, diamonds, hearts and spades; X1 is a joker, ## a face-down card."""

_CARD: Final = re.compile(r"(10|[2-9TJQKA])([CDHS♣♦♥♠])(/\d+)?|X(\d+)", re.IGNORECASE)
_SUITS: Final = dict(zip("♣♦♥♠", "cdhs", strict=True))


class Unclear(Exception):
    """The text is no move."""


def card_of(text: str) -> str:
    """
    Return the code of a card as people write it; raises Unclear if it is no card.

    >>> [card_of(text) for text in ("10h", "th", "6C", "A♠", "x1", "7C/2")]
    ['Th', 'Th', '6c', 'As', 'X1', '7c/2']
    """
    match = _CARD.fullmatch(text)
    if match is None:
        raise Unclear(f"{text!r} is neither a card nor a word that is known here; ? for help")
    if match[4]:
        return f"{JOKER}{match[4]}"
    suit = _SUITS.get(match[2], match[2].lower())
    return f"{'T' if match[1] == '10' else match[1].upper()}{suit}{match[3] or ''}"


def typed(text: str, moves: Sequence[Move], *, swapping: bool) -> Move:
    """Return the move that a number, cards or a word mean; raises Unclear."""
    first, *rest = text.split()
    if first.isdecimal() and not rest:
        if not 0 < int(first) <= len(moves):
            raise Unclear(f"there is no move {first}")
        return moves[int(first) - 1]
    match first.lower():
        case "take":
            return {"type": "pick_up", "with": [*map(card_of, rest)] or _along(moves)}
        case "down" if len(rest) == 1 and rest[0].isdecimal():
            return {"type": "play_blind", "slot": int(rest[0])}
        case "lay":
            stacks = [[*map(card_of, stack.split())] for stack in " ".join(rest).split("/")]
            return {"type": "lay", "stacks": stacks}
        case word if word in _WORDS and not rest:
            return _WORDS[word]
        case "play" if rest:
            first, *rest = rest
    if swapping:
        pairs = [word.partition("=") for word in (first, *rest)]
        if not all(up and hand for up, _, hand in pairs):
            raise Unclear(_not_an_exchange([first, *rest]))
        up, hand = [card_of(p[0]) for p in pairs], [card_of(p[2]) for p in pairs]
        return {"type": "swap", "up": up, "hand": hand}
    return {"type": "play", "cards": [card_of(card) for card in (first, *rest)]}


def in_own_codes(move: Move, own: Sequence[str]) -> Move:
    """
    Return a typed move with the codes of the player's own cards; the deck may be left out.

    >>> in_own_codes({"type": "play", "cards": ["7c", "7c"]}, ["7c/2", "7c", "Kd"])["cards"]
    ['7c', '7c/2']
    """
    left = [*own]

    def code(card: str) -> str:
        found = card if card in left else next((o for o in left if o.split("/")[0] == card), None)
        if found is None:
            return card
        left.remove(found)
        return found

    named = ("cards", "with", "up", "hand")
    cards = {name: [*map(code, move[name])] for name in named if name in move}
    stacks = [[*map(code, stack)] for stack in move.get("stacks", ())]
    return {**move, **cards, **({"stacks": stacks} if stacks else {})}


def _not_an_exchange(words: Sequence[str]) -> str:
    """Return how cards are exchanged, with the codes of the cards that were typed."""
    form = "an exchange is typed as Kd=4c: Kd goes up, 4c into the hand"
    try:
        cards = [card_of(word) for word in words if "=" not in word]
    except Unclear:
        return form
    return f"{' '.join(cards)} cannot be played before play begins; {form}, and `ready` keeps all"


def words_of(move: Move) -> str:
    """Return a move in words."""
    match move["type"]:
        case "play":
            return "play " + " ".join(move["cards"])
        case "play_blind":
            return f"turn the face-down card in slot {move['slot']}"
        case "pick_up":
            along = " with " + " ".join(move["with"]) if move["with"] else ""
            return f"take the pile{along}"
        case "try_stock":
            return "try the top card of the stock"
        case "swap":
            pairs = zip(move["up"], move["hand"], strict=True)
            return "lay up " + ", ".join(f"{up} for {hand}" for up, hand in pairs)
        case "lay":
            return "lay " + " / ".join(" ".join(stack) or "-" for stack in move["stacks"])
        case "ready":
            return "ready: keep the cards as they are"
        case other:
            return str(other)


def in_rank_order(cards: Sequence[str], order: Sequence[str]) -> list[str]:
    """
    Return cards by the ranks of a ruleset, low to high; hidden cards and jokers come last.

    >>> in_rank_order(["X1", "Th", "2s", "3c", "3d"], "23456789TJQKA")
    ['2s', '3c', '3d', 'Th', 'X1']
    """
    return sorted(cards, key=lambda card: (_height(card, order), card))


def moves_in_order(moves: Sequence[Move], order: Sequence[str]) -> list[Move]:
    """Return moves as a player looks for them: ready, plays by rank, then all other moves."""
    return sorted(moves, key=lambda move: _place(move, order))


def _place(move: Move, order: Sequence[str]) -> tuple[int, ...]:
    match move["type"]:
        case "ready":
            return (0,)
        case "play":
            ranks = [_height(card, order) for card in move["cards"]]
            return (1, min(ranks), len(ranks))
        case "swap":
            pairs = [*move["up"], *move["hand"]]
            return (1, *(_height(card, order) for card in pairs))
        case _:
            return (2,)


def _height(card: str, order: Sequence[str]) -> int:
    ranks = [*order]
    return ranks.index(card[0]) if card[0] in ranks else len(ranks)


def _along(moves: Sequence[Move]) -> list[str]:
    """Return the cards of the only listed pick-up; none if several are listed."""
    takes = [list(move["with"]) for move in moves if move["type"] == "pick_up"]
    return takes[0] if len(takes) == 1 else []


_KEPT_LAST: Final = "3456789JQKA2TX"
"""The ranks from the least useful to the most useful by most rulesets, for automatic play."""


def _first(moves: Sequence[Move]) -> Move:
    return next((move for move in moves if move["type"] != "swap"), moves[0])


def _lowest(moves: Sequence[Move]) -> Move:
    """Return the play of the lowest rank with the most cards; without a play the first move."""
    plays = [move for move in moves if move["type"] == "play"]
    return min(plays, key=lambda m: (_rank(m), -len(m["cards"]))) if plays else _first(moves)


def _greedy(moves: Sequence[Move]) -> Move:
    """Return the play of the most cards, of these the lowest; without a play the first move."""
    plays = [move for move in moves if move["type"] == "play"]
    return min(plays, key=lambda m: (-len(m["cards"]), _rank(m))) if plays else _first(moves)


def _rank(move: Move) -> int:
    return min(_KEPT_LAST.index(card[0]) for card in move["cards"])


AUTOMATIC: Final[Mapping[str, Callable[[Sequence[Move]], Move]]] = {
    "first": _first,
    "greedy": _greedy,
    "lowest": _lowest,
}
"""Automatic players for `--auto`: each takes the listed moves and returns one."""

"""Moves as a player types them: numbers, cards and words."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from service.cli.move_menu import Move
from service.domain.cards import JOKER

_WORDS: Final[Mapping[str, Move]] = {
    "ready": {"type": "ready"},
    "pass": {"type": "pass"},
    "stock": {"type": "try_stock"},
    "forfeit": {"type": "forfeit"},
    "agree": {"type": "agree_end"},
}

HELP: Final = """\
number             the move of that number
7c 7h              play these cards: any legal play, listed or not
10h, th, 6C        other ways to write cards: T or 10 for a ten, any case; with two decks 7c
                   is your 7c of either deck, 7c/2 that of the second deck
Kd=4c Ks=5h        before play: lay Kd and Ks face up, take 4c and 5h into the hand for them
ready              before play: change no more cards
lay Kd Kh/Ac/Ts    in a layout deal: a stack for each slot
down 1             turn the face-down card in slot 1; slots are numbered from 0
stock              try the top card of the stock
take, take Kd      take the pile, with face-up cards if the rules require it
pass, forfeit      pass; give up the hand
agree              agree to end the hand without a result: it ends once all people have
quit               leave the program; the game continues, and you can return
enter alone        redraw the screen

c d h s are clubs, diamonds, hearts and spades; X1 is a joker, ## a face-down card."""

_CARD: Final = re.compile(r"(10|[2-9TJQKA])([CDHS♣♦♥♠])(/\d+)?|X(\d+)", re.IGNORECASE)

_SUITS: Final = dict(zip("♣♦♥♠", "cdhs", strict=True))


class Unclear(Exception):
    """The text is not a move; the message states the reason."""


def card_of(text: str) -> str:
    """
    Return the code of a card as players write it; raises Unclear for any other text.

    >>> [card_of(text) for text in ("10h", "th", "6C", "A♠", "x1", "7C/2")]
    ['Th', 'Th', '6c', 'As', 'X1', '7c/2']
    """
    match = _CARD.fullmatch(text)
    if match is None:
        raise Unclear(f"{text!r} is neither a card nor a word of a move; ? for help")
    if match[4]:
        return f"{JOKER}{match[4]}"
    suit = _SUITS.get(match[2], match[2].lower())
    return f"{'T' if match[1] == '10' else match[1].upper()}{suit}{match[3] or ''}"


def parse_move(text: str, moves: Sequence[Move], *, swapping: bool) -> Move:
    """Return the move of a line: its number in `moves`, cards, or a word; raises Unclear."""
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
    Return a typed move with the exact codes of the player's cards; `7c` can mean `7c/2`.

    >>> in_own_codes({"type": "play", "cards": ["7c", "7c"]}, ["7c/2", "7c", "Kd"])["cards"]
    ['7c', '7c/2']
    """
    unused = [*own]

    def code(card: str) -> str:
        same = (own_card for own_card in unused if own_card.split("/")[0] == card)
        found = card if card in unused else next(same, None)
        if found is None:
            return card
        unused.remove(found)
        return found

    named = ("cards", "with", "up", "hand")
    cards = {name: [*map(code, move[name])] for name in named if name in move}
    stacks = [[*map(code, stack)] for stack in move.get("stacks", ())]
    return {**move, **cards, **({"stacks": stacks} if stacks else {})}


def _not_an_exchange(words: Sequence[str]) -> str:
    """Return the message for text that is not an exchange, with the codes of its cards."""
    form = "an exchange is typed as Kd=4c: lay Kd face up, take 4c into the hand"
    try:
        cards = [card_of(word) for word in words if "=" not in word]
    except Unclear:
        return form
    return f"{' '.join(cards)} cannot be played before play begins; {form}; or type `ready`"


def _along(moves: Sequence[Move]) -> list[str]:
    """Return the cards of the only listed pick-up; none if several are listed."""
    takes = [list(move["with"]) for move in moves if move["type"] == "pick_up"]
    return takes[0] if len(takes) == 1 else []

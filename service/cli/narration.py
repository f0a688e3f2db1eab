"""Events of a game in sentences for a player: names instead of seats, and "you"."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from service.cli.screen import View, printable
from service.domain.words import counted
from service.replay.captions import listed, pile_of

Event = Mapping[str, Any]

LONGEST_NAME: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class People:
    """The names at a table, and the seat of the reader; None for a spectator."""

    names: tuple[str, ...]
    me: int | None = None

    @classmethod
    def of(cls, view: View) -> People:
        """
        Return the people of a view; a name that occurs twice gets the number of its seat.

        >>> seats = [{"seat": n, "name": None, "bot": "greedy", "kind": "bot"} for n in (0, 1)]
        >>> People.of({"as": "public", "seats": seats}).names
        ('greedy (0)', 'greedy (1)')
        """
        me = view["as"] if isinstance(view["as"], int) else None
        full = [s["name"] or s["bot"] or f"Seat {s['seat']}" for s in view["seats"]]
        short = [printable(name)[:LONGEST_NAME] for name in full]
        others = [name for seat, name in enumerate(short) if seat != me]
        names = (
            f"{name} ({seat})" if others.count(name) > 1 and seat != me else name
            for seat, name in enumerate(short)
        )
        return cls(names=tuple(names), me=me)

    def __call__(self, seat: int) -> str:
        """Return a seat within a sentence: `you`, or its name."""
        return "you" if seat == self.me else self.names[seat]

    def does(self, seat: int, verb: str, yours: str | None = None) -> str:
        """
        Return a seat and a verb, to begin a sentence; `yours` is the form of the verb after `You`.

        >>> People(names=("Ada", "Bob"), me=1).does(0, "plays")
        'Ada plays'
        >>> People(names=("Ada", "Bob"), me=1).does(1, "plays")
        'You play'
        """
        if seat != self.me:
            return f"{self.names[seat]} {verb}"
        return f"You {yours or verb.removesuffix('s')}"

    def whose(self, seat: int) -> str:
        """Return `your` for the reader's seat, else `its`."""
        return "your" if seat == self.me else "its"


def narrated(events: Iterable[Event], people: People, drawn: Sequence[str] = ()) -> list[str]:
    """
    Return a sentence for each event that is relevant to a player.

    `drawn` are the cards that the reader drew in these events, in the order of the hand.
    """
    lines = []
    for event in events:
        sentence = _SENTENCES.get(event["type"])
        line = None if sentence is None else sentence(event["data"], people)
        if event["type"] == "cards_drawn" and drawn and event["data"]["seat"] == people.me:
            line = f"You draw {' '.join(drawn)}."
        if line is not None:
            lines.append(line)
    return lines


def _dealt(data: Event, people: People) -> str:
    starter = data["starter"]
    turned = f" {starter['card']} starts the pile." if starter else ""
    return f"{people.does(data['dealer'], 'deals')}.{turned}"


def _thrown(data: Event, people: People) -> str:
    return f"{people.does(data['seat'], 'throws')} {' '.join(data['cards'])} onto the pile."


def _swapped(data: Event, people: People) -> str:
    seat = data["seat"]
    laid = f"{people.does(seat, 'lays')} {' '.join(data['up'])} face up"
    return f"{laid} and {'take' if seat == people.me else 'takes'} {' '.join(data['hand'])}."


def _laid(data: Event, people: People) -> str:
    stacks = listed("+".join(stack) for stack in data["stacks"] if stack)
    return f"{people.does(data['seat'], 'lays')} {stacks} face up."


def _ready(data: Event, people: People) -> str:
    return f"{people.does(data['seat'], 'is', 'are')} ready."


def _started(data: Event, people: People) -> str:
    if data["turn"] is None:
        return "Play begins: the first to come with the right card opens."
    return f"Play begins. {people.does(data['turn'], 'opens')}."


def _played(data: Event, people: People) -> str:
    seat, cards = data["seat"], " ".join(data["cards"])
    its = people.whose(seat)
    match data["zone"]:
        case "down":
            turns = people.does(seat, "turns")
            return f"{turns} {its} face-down card in slot {data['slot']}: {cards}. It fits."
        case "stock":
            return f"{people.does(seat, 'tries', 'try')} the top of the stock: {cards}. It fits."
        case "up":
            return f"{people.does(seat, 'plays')} {cards} from {its} face-up cards."
        case _:
            return f"{people.does(seat, 'plays')} {cards}."


def _drawn(data: Event, people: People) -> str:
    return f"{people.does(data['seat'], 'draws')} {counted(data['count'], 'card')}."


def _burned(data: Event, people: People) -> str:
    by = data["cleared_by"]
    cleared = "" if by == data["seat"] else f" {people.does(by, 'clears')} it."
    return f"The pile of {counted(data['count'], 'card')} burns.{cleared}"


def _taken(data: Event, people: People) -> str:
    seat, taker = data["seat"], data["taker"]
    along = f" with {' '.join(data['with'])}" if data["with"] else ""
    pile = f"{people.does(taker, 'takes')} {pile_of(data['count'])}{along}."
    return pile if seat == taker else f"{people.does(seat, 'cannot', 'cannot')} play. {pile}"


def _failed(data: Event, people: People) -> str:
    seat, taker, opening = data["seat"], data["taker"], data["opening"]
    card = opening["card"] if opening else "a card that stays hidden"
    if "slot" in data:
        turns = people.does(seat, "turns")
        turned = f"{turns} {people.whose(seat)} face-down card in slot {data['slot']}: {card}"
    else:
        turned = f"{people.does(seat, 'tries', 'try')} the top of the stock: {card}"
    pile = pile_of(data["count"]) if data["count"] else ""
    takes = f"{people.does(seat, 'takes')} it"
    if pile:
        takes += f", and {people.does(taker, 'takes')} {pile}" if taker != seat else f" and {pile}"
    return f"{turned}. It does not fit. {takes}."


def _ended(data: Event, people: People) -> str:
    match data["reason"]:
        case "shithead":
            loser = people.does(data["shithead"], "is", "are")
            return f"The hand is over. {loser} the shithead."
        case "winner":
            return f"The hand is over. {people.does(data['places'][0], 'wins')}."
        case "stalemate":
            return "The hand ends as a stalemate, without a shithead."
        case _:
            seat = data["shithead"]
            loses = people.does(seat, "gives", "give")
            return f"{loses} up the hand and {'are' if seat == people.me else 'is'} its shithead."


def _aborted(data: Event, people: People) -> str:
    seat = data["seat"]
    why = {
        "no_entropy": "{} did not take part in the shuffle",
        "left": "{} left",
        "idle": "{} did not come back",
        "operator": "the operator ended it",
    }[data["cause"]]
    return f"The game is given up: {why.format('no player' if seat is None else people(seat))}."


_SENTENCES: Final[Mapping[str, Callable[[Event, People], str]]] = {
    "cards_dealt": _dealt,
    "cards_thrown": _thrown,
    "cards_swapped": _swapped,
    "table_laid": _laid,
    "seat_ready": _ready,
    "play_started": _started,
    "cards_played": _played,
    "cards_drawn": _drawn,
    "pile_burned": _burned,
    "pile_picked_up": _taken,
    "blind_failed": _failed,
    "stock_failed": _failed,
    "turn_passed": lambda data, people: (
        f"{people.does(data['seat'], 'cannot', 'cannot')} play on the empty pile."
    ),
    "turn_timed_out": lambda data, people: f"Time is up for {people(data['seat'])}.",
    "seat_out": lambda data, people: (
        f"{people.does(data['seat'], 'is', 'are')} out, in place {data['place']}."
    ),
    "game_ended": _ended,
    "game_aborted": _aborted,
}
"""The events that are narrated; the others concern the shuffle and the seal."""


def result_of(view: View, people: People) -> str | None:
    """
    Return the result of a hand in sentences, None while it is running.

    `places` can end with the shithead, who is not among the seats that are out.
    """
    result = view["result"]
    if result is None:
        return None
    if result["shithead"] is not None:
        over = f"{people.does(result['shithead'], 'is', 'are')} the shithead."
    else:
        over = "The hand ended without a shithead."
    out = [seat for seat in result["places"] if seat != result["shithead"]]
    places = ", ".join(map(people, out))
    return f"{over} Out, in this order: {places}." if places else over

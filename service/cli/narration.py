"""Events of a game in sentences for a player: names instead of seats, and "you"."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, Final

from schemas.events import event_of
from service.cli.screen import View, printable
from service.domain.events import EndReason
from service.replay.captions import caption, result
from service.replay.sentences import (
    Sentence,
    Voice,
    begun,
    bot_name,
    prose,
    seat_number,
    seat_words,
)
from service.rulesets.catalogue import read_ruleset
from service.shx.event_shapes import Role, types_of

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
        ('Gus (greedy)', 'Gerda (greedy)')
        """
        me = view["as"] if isinstance(view["as"], int) else None
        full = [named(s) or begun(seat_words(s["seat"])) for s in view["seats"]]
        short = [printable(name)[:LONGEST_NAME] for name in full]
        others = [name for seat, name in enumerate(short) if seat != me]
        names = (
            f"{name} ({seat_number(seat)})" if others.count(name) > 1 and seat != me else name
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

    @property
    def voice(self) -> Voice:
        """Return how sentences for the reader name seats, and cards by their codes."""
        return Voice(seat_name=self.names.__getitem__, reader=self.me, codes=True)


def named(seat: View) -> str | None:
    """Return the name of the player or bot in a seat, a bot with its kind; None without one."""
    name: str | None = seat["name"]
    if name is None and seat["bot"]:
        name = f"{bot_name(seat['bot'], seat['seat'])} ({seat['bot']})"
    return name


def narrated(events: Iterable[Event], people: People, drawn: Sequence[str] = ()) -> list[str]:
    """
    Return a sentence for each event that is relevant to a player.

    `drawn` are the cards that the reader drew in these events, in the order of the hand.
    """
    return [
        _sentence(event, people, drawn) for event in events if event["type"] not in _NOT_OF_PLAY
    ]


_NOT_OF_PLAY: Final = types_of(Role.SET_UP, Role.ENTROPY, Role.SEAL) - {"game_aborted"}
"""Events that are not narrated: they concern the shuffle and the seal."""


def _sentence(event: Event, people: People, drawn: Sequence[str]) -> str:
    said = caption(event_of(event["type"], event["data"], read_ruleset))
    if drawn and said.code == "did.cards_drawn" and said.values["seat"] == people.me:
        values = {"seat": people.me, "cards": tuple(drawn)}
        said = Sentence(code="did.cards_drawn.named", values=values)
    return prose([_to_the_reader(said, people)], people.voice)


def stalemate(events: Sequence[Event], people: People) -> list[str]:
    """
    Return why a hand ended in a stalemate, in a sentence; nothing for any other end.

    All seats in play passed one after another, or the limit of turns was reached.
    """
    ended = next((event["data"] for event in events if event["type"] == "game_ended"), None)
    if ended is None or ended["reason"] != EndReason.STALEMATE:
        return []
    acts = [event["type"] for event in reversed(events) if event["type"] not in _NO_ACTS]
    passes = sum(1 for _ in takewhile("turn_passed".__eq__, acts))
    in_play = len(events[0]["data"]["seats"]) - len(ended["places"])
    why = "passed" if passes >= in_play else "limit"
    return [prose([Sentence(code=f"result.stalemate.{why}")], people.voice)]


_NO_ACTS: Final = types_of(Role.SEAL) | {
    *("game_ended", "turn_timed_out", "end_agreed", "absence_claimed")
}
"""Events between two passes in a row."""


def _to_the_reader(said: Sentence, people: People) -> Sentence:
    """Return a result in the words for the reader if it is about the reader."""
    own = said.values.get("seat") is not None and said.values["seat"] == people.me
    if not own or not said.code.startswith("result."):
        return said
    return Sentence(code=f"{said.code}.you", values=said.values)


def result_of(view: View, people: People) -> str | None:
    """
    Return the result of a hand in sentences, None while it is running.

    `places` can end with the shithead, who is not among the seats that are out.
    """
    found = view["result"]
    if found is None:
        return None
    over = result(found["reason"], found["shithead"], found["places"])
    out = tuple(seat for seat in found["places"] if seat != found["shithead"])
    places = [Sentence(code="result.places", values={"seats": out})] if out else []
    return prose([_to_the_reader(over, people), *places], people.voice)

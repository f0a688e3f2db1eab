"""Cases of how people end a hand: the agreement of all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from service.domain.commands import AgreeEnd, Move
from tests.conformance.case import KEYS, Case, fails, passes
from tests.random_games import Plan, made_game
from tests.tamper import Forgery

AT: Final = 12
"""The number of moves after which somebody says something."""


def cases() -> Iterator[Case]:
    """Yield every case of an agreed end."""
    yield from _agreed()
    yield from _agreed_wrongly()
    yield from _signed()


def _said(said: Mapping[int, tuple[Move, ...]], **plan: Any) -> Forgery:
    """Return a hand of two in which the seats say something before a number of moves."""
    fields = {"name": "leaving", "seats": 2, "turn_limit": 60, **plan}
    return Forgery(made_game(Plan(said=said, **fields)))


def _both(**plan: Any) -> Forgery:
    return _said({AT: (AgreeEnd(seat=0), AgreeEnd(seat=1))}, **plan)


def _agreed() -> Iterator[Case]:
    f = _both()
    yield passes("legality/agreed-end", "a hand that both people agreed to end", f.lines())
    f = _said({AT: (AgreeEnd(seat=0),), AT + 4: (AgreeEnd(seat=1), AgreeEnd(seat=0))})
    says = "an agreement taken back by a move, and given again"
    yield passes("legality/agreed-again", says, f.lines())
    f = _said({0: (AgreeEnd(seat=0), AgreeEnd(seat=1))})
    yield passes("legality/agreed-in-exchange", "an end agreed to in the exchange", f.lines())


def _agreed_wrongly() -> Iterator[Case]:
    f = _both()
    first, last = f.find("end_agreed"), f.find("game_aborted")
    f.drop(first)
    says = "an end by agreement that one of two people agreed to"
    yield fails("legality/agreed-by-one", says, f.lines(), legality=last - 1)
    f = _both()
    f.drop(first, last - 1)
    yield fails("legality/agreed-by-none", "an end by no agreement", f.lines(), legality=first)
    f = _both()
    f.data(last)["seat"] = 0
    says = "an agreed end that names a seat"
    yield fails("legality/agreed-named", says, f.lines(), legality=last)
    f = _both()
    f.data(last)["cause"] = "operator"
    says = "an end that all agreed to, called the operator's"
    yield fails("legality/agreed-not-ended", says, f.lines(), legality=last - 1)
    f = _both()
    f.insert(last - 1, "end_agreed", {"seat": 0}, by=0)
    yield fails("legality/agreed-twice", "one seat agrees twice", f.lines(), legality=last - 1)
    f = _said({}, bots=True)
    seq = f.find("cards_played")
    f.insert(seq, "end_agreed", {"seat": 0}, by=0)
    yield fails("legality/agreed-bot", "an agreement of a bot", f.lines(), legality=seq)
    f = _both()
    f.events[last]["at"] = f.events[last]["at"].replace("Z", "")[:-6] + "999999Z"
    yield fails("chain/agreed-later", "an agreed end at another time", f.lines(), chain=last)
    f = _both()
    f.events[first]["by"] = None
    yield fails("bytes/agreed-by-server", "an agreement without its seat", f.lines(), bytes=first)
    f = _both()
    dealt = f.find("cards_dealt")
    f.events.insert(dealt, f.events.pop(first))
    f.events[dealt]["at"] = f.events[dealt + 1]["at"]
    yield fails("order/agreed-early", "an agreement before the deal", f.lines(), order=dealt)


def _signed() -> Iterator[Case]:
    keys = {"keys": KEYS}
    f = _both(**keys)
    yield passes("signatures/agreed", "agreements that both people signed", f.lines())
    first = f.find("end_agreed")
    del f.events[first]["auth"]
    says = "an agreement that its person did not sign"
    yield fails("signatures/agreed-unsigned", says, f.lines(), signatures=first)
    f = _said({AT: (AgreeEnd(seat=0),), AT + 4: (AgreeEnd(seat=0), AgreeEnd(seat=1))}, **keys)
    early, late = f.find("end_agreed"), f.find("end_agreed", n=1)
    f.events[late]["auth"] = f.events[early]["auth"]
    says = "an earlier agreement of the person used again"
    yield fails("signatures/agreed-again", says, f.lines(), signatures=late)

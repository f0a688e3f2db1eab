"""Cases of how people end a hand: the agreement of all, and claims that a player is away."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from service.domain.commands import AfterAbsence, AgreeEnd, ClaimAbsence, Move
from tests.conformance.case import CLOCK, KEYS, Case, fails, passes
from tests.random_games import Plan, made_game
from tests.tamper import Forgery

AT: Final = 12
"""The number of moves after which somebody says something."""


def cases() -> Iterator[Case]:
    """Yield every case of these ends."""
    yield from _agreed()
    yield from _agreed_wrongly()
    yield from _signed()
    yield from _claimed()
    yield from _claimed_wrongly()
    yield from _claims_signed()


def _said(said: Mapping[int, Sequence[Move]], **plan: Any) -> Forgery:
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


STAND_IN, END = AfterAbsence.STAND_IN, AfterAbsence.END


def _claim(seat: int, absent: int, then: AfterAbsence) -> ClaimAbsence:
    return ClaimAbsence(seat=seat, absent=absent, then=then)


def _replaced(**plan: Any) -> Forgery:
    """Return a hand in which a bot stands in for seat 1, from the exchange on."""
    return _said({0: (_claim(0, 1, STAND_IN),)}, silent=1, **plan)


def _left(**plan: Any) -> Forgery:
    """Return a hand that seat 0 ends in the exchange because seat 1 is away."""
    return _said({0: (_claim(0, 1, END),)}, **plan)


def _claimed() -> Iterator[Case]:
    f = _replaced()
    yield passes("legality/claim-stand-in", "a bot stands in for an absent player", f.lines())
    f = _left()
    yield passes("legality/claim-end", "a hand ended because a player is away", f.lines())
    three = (_claim(0, 2, END), _claim(1, 2, END))
    f = _said({0: three}, seats=3)
    says = "a hand of three that both others end because a player is away"
    yield passes("legality/claim-end-of-three", says, f.lines())
    f = _said({0: (_claim(0, 1, STAND_IN), _claim(0, 2, END))}, seats=3)
    says = "an end that nobody asks of a player for whom a bot stands in"
    yield passes("legality/claim-end-replaced", says, f.lines())
    f = _said({0: (_claim(0, 1, STAND_IN), _claim(0, 1, STAND_IN))})
    yield passes("legality/claim-again", "a claim repeated, as after a return", f.lines())
    f = _said({0: (_claim(0, 1, STAND_IN),)}, ruleset="threes", silent=1)
    says = "a bot stands in at an opening open to all"
    yield passes("legality/claim-first-come", says, f.lines())


def _claimed_wrongly() -> Iterator[Case]:
    f = _replaced()
    late = f.find("turn_timed_out")
    f.drop(f.find("absence_claimed"))
    says = "a bot stands in for a player whose absence nobody claimed"
    yield fails("legality/claim-missing", says, f.lines(), legality=late - 1)
    f = _replaced()
    claim, own = f.find("absence_claimed"), f.find("turn_timed_out", n=1)
    f.drop(own)
    for seq in range(own, f.move_end(own) + 1):
        if f.events[seq]["type"] not in ("game_ended", "game_sealed"):
            f.events[seq]["by"] = 1
    again = f.find("turn_timed_out", n=1)
    says = "a bot stands in for a player who has made a move since the claim"
    yield fails("legality/claim-over", says, f.lines(), legality=again)
    for slug, seat, absent, says in (
        ("self", 0, 0, "a player claims to be away"),
        ("other", 1, 0, "a claim of a player who is ready and not awaited"),
    ):
        f = _replaced()
        f.events[claim]["by"] = seat
        f.data(claim).update(seat=seat, absent=absent)
        if slug == "other":
            ready = f.find("seat_ready", lambda e: e["data"]["seat"] == 0)
            f.events.insert(ready, f.events.pop(claim))
            f.events[ready]["at"] = f.events[ready - 1]["at"]
            first = f.find("turn_timed_out")
            yield fails(f"legality/claim-{slug}", says, f.lines(), legality=min(first, ready))
        else:
            yield fails(f"legality/claim-{slug}", says, f.lines(), legality=claim)
    f = _left()
    f.data(claim)["absent"] = 5
    yield fails("order/claim-of-none", "a claim of a seat there is not", f.lines(), order=claim)
    f = _said({}, bots=True)
    seq = f.find("cards_played")
    data = {"seat": 1 - f.data(seq)["seat"], "absent": f.data(seq)["seat"], "then": "stand_in"}
    f.insert(seq, "absence_claimed", data, by=data["seat"])
    yield fails("legality/claim-bot", "a claim among bots", f.lines(), legality=seq)
    f = _said({}, clock=CLOCK)
    seq = f.find("cards_played")
    f.insert(seq, "absence_claimed", data, by=data["seat"])
    says = "a claim at a table with a clock"
    f.data(seq).update(seat=1 - f.data(seq + 1)["seat"], absent=f.data(seq + 1)["seat"])
    f.events[seq]["by"] = f.data(seq)["seat"]
    yield fails("legality/claim-clock", says, f.lines(), legality=seq)
    yield from _ended_wrongly()


def _ended_wrongly() -> Iterator[Case]:
    f = _left()
    last = len(f.events) - 1
    f.data(last)["seat"] = 0
    yield fails(
        "legality/left-other", "another seat is said to have left", f.lines(), legality=last
    )
    f = _said({0: (_claim(0, 2, END), _claim(1, 2, END))}, seats=3)
    f.drop(f.find("absence_claimed"))
    says = "an end that one of two others did not ask for"
    yield fails("legality/claim-end-by-one", says, f.lines(), legality=len(f.events) - 1)
    f = _left()
    f.data(last)["cause"] = "idle"
    f.data(last)["seat"] = None
    says = "an end that all others asked for, called idleness"
    yield fails("legality/claim-not-ended", says, f.lines(), legality=last - 1)
    f, seq = _losing()
    says = "the end asked for by the player with more cards left"
    yield fails("legality/claim-losing", says, f.lines(), legality=seq)


def _losing() -> tuple[Forgery, int]:
    """Return a hand that ends after a pick-up: its player, who has more cards, asks for the end."""
    f = _said({}, turn_limit=200)
    took = f.find("pile_picked_up", lambda e: e["data"]["turn"] != e["data"]["seat"])
    seat, seal = f.data(took)["seat"], f.events[-1]["data"]
    seq = f.move_end(took) + 1
    f.drop(seq, len(f.events))
    f.insert(seq, "game_aborted", {"cause": "left", "seat": 1 - seat, **seal}, by=None)
    claim = {"seat": seat, "absent": 1 - seat, "then": "end"}
    f.insert(seq, "absence_claimed", claim, by=seat)
    return f, seq


def _claims_signed() -> Iterator[Case]:
    f = _left(keys=KEYS)
    yield passes("signatures/claimed", "a claim that its person signed", f.lines())
    claim = f.find("absence_claimed")
    f.data(claim)["then"] = "stand_in"
    says = "a claim signed for another end"
    yield fails("signatures/claim-changed", says, f.lines()[:-1], signatures=claim)
    f = _left(keys=KEYS)
    del f.events[claim]["auth"]
    says = "a claim that nobody signed"
    yield fails("signatures/claim-unsigned", says, f.lines(), signatures=claim)

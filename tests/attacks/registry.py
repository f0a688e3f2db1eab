"""The list of attacks on a log, each with the check that must see it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from schemas.events import event_of
from service.domain.cards import Card
from service.domain.evolve import fold
from service.domain.game import Game
from service.verify.finding import Check
from service.verify.pinned import played_by
from tests.tamper import Forgery

Attack = Callable[[Forgery], int | None]


@dataclass(frozen=True, kw_only=True)
class Kind:
    """One kind of tampering: what is done to which log, and the check that must see it."""

    log: str
    check: Check
    attack: Attack


ATTACKS: list[Kind] = []


def attack(log: str, check: Check) -> Callable[[Attack], Attack]:
    """Register an attack; the seq it returns, if any, is where the check must fail."""

    def register(function: Attack) -> Attack:
        ATTACKS.append(Kind(log=log, check=check, attack=function))
        return function

    return register


def game_at(forgery: Forgery, seq: int) -> Game:
    """Return the game before the event, with the deck."""
    created = forgery.data(0)
    ruleset = played_by(created["ruleset"], created["hand"])
    events = [event_of(e["type"], e["data"], lambda *_: ruleset) for e in forgery.events[:seq]]
    return fold(events, deck=tuple(Card(c) for c in forgery.events[-1]["data"]["deck"]))

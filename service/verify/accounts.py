"""What happened where a claim first fails: in cards, and who did it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from service.verify.claims import Claim, against
from service.verify.finding import Check, Finding
from service.verify.log import Log
from service.verify.moves import ACTIONS

Data = Mapping[str, Any]

_WHO: Final[Mapping[Claim, str]] = {
    Claim.DECK: "the house shuffles and deals, no player does",
    Claim.HISTORY: "whoever had the file can have changed it",
}
"""Whose doing it is, where the event itself does not say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """What the first failure of a claim is about, in one sentence."""

    claim: Claim
    seq: int
    said: str
    move: bool  # whether the audit of a move shows more of it


def accounts_of(log: Log, findings: Sequence[Finding]) -> tuple[Account, ...]:
    """Return for each claim that does not hold what happened at the first event that fails."""
    return tuple(_accounts(log, findings))


def _accounts(log: Log, findings: Sequence[Finding]) -> Iterator[Account]:
    for claim in Claim:
        failed = [f for f in against(claim, findings) if f.seq is not None]
        if not failed:
            continue
        first = min(failed, key=lambda f: f.seq or 0)
        seq = first.seq or 0
        rule = f" [{first.rule}]" if first.rule else ""
        event = log.events[seq] if seq < len(log.events) else None
        happened = None if event is None else told(event)
        if happened is not None and claim is Claim.HISTORY:
            happened = f"this log says: {happened}"
        parts = (happened, _who(claim, first, event), f"{first.reason}{rule}")
        said = "; ".join(filter(None, parts))
        move = event is not None and (event["type"] in ACTIONS or event["by"] is not None)
        yield Account(claim=claim, seq=seq, said=said, move=move)


def _who(claim: Claim, finding: Finding, event: Data | None) -> str:
    """Return who did it; a receipt that contradicts says so itself."""
    if finding.check is Check.RECEIPTS:
        return ""
    if claim is not Claim.ACTIONS:
        return _WHO[claim]
    if event is None or event["type"] not in ACTIONS:
        return "the server worked this out itself"
    return "the server accepted it"


def told(event: Data) -> str:
    """Return in words what an event says: who did what, with which cards."""
    data, kind = event["data"], event["type"]
    say = _SAID.get(kind)
    if say is None:
        return _WITHOUT_SEAT.get(kind, kind)
    stand_in = event["by"] is None and kind in ACTIONS
    who = f"the server, in place of seat {data['seat']}," if stand_in else f"seat {data['seat']}"
    return f"{who} {say(data)}"


def _played(data: Data) -> str:
    cards = _cards(data["cards"])
    match data["zone"]:
        case "hand":
            return f"played {cards} from its hand"
        case "up":
            return f"played {cards} from its face-up cards"
        case "down":
            return f"turned {cards} from face-down slot {data['slot']} and played it"
        case _:
            return f"turned {cards} from the stock and played it"


def _picked_up(data: Data) -> str:
    along = f" with {_cards(data['with'])}" if data["with"] else ""
    return f"picked up the pile of {_count(data['count'])}{along}{_for(data)}"


def _for(data: Data) -> str:
    return "" if data["taker"] == data["seat"] else f" for seat {data['taker']}"


def _cards(cards: Sequence[str]) -> str:
    return " ".join(cards)


def _count(count: int) -> str:
    return "1 card" if count == 1 else f"{count} cards"


_SAID: Final[Mapping[str, Callable[[Data], str]]] = {
    "cards_played": _played,
    "pile_picked_up": _picked_up,
    "blind_failed": lambda d: f"turned a face-down card that did not fit{_for(d)}",
    "stock_failed": lambda d: f"turned a card of the stock that did not fit{_for(d)}",
    "turn_passed": lambda _: "passed",
    "cards_drawn": lambda d: f"drew {_count(d['count'])}",
    "pile_burned": lambda d: f"burned the pile of {_count(d['count'])}",
    "turn_timed_out": lambda _: "let its time run out",
    "seat_out": lambda _: "went out",
    "cards_swapped": lambda d: f"laid {_cards(d['up'])} face up for {_cards(d['hand'])}",
    "table_laid": lambda _: "laid out its face-up cards",
    "seat_ready": lambda _: "was ready",
    "cards_thrown": lambda d: f"threw {_cards(d['cards'])} after the deal",
    "entropy_committed": lambda _: "bound itself to its share of the shuffle",
    "entropy_revealed": lambda _: "showed its share of the shuffle",
}
_WITHOUT_SEAT: Final[Mapping[str, str]] = {
    "game_created": "the game was set up",
    "deck_committed": "the deck was fixed",
    "cards_dealt": "the cards were dealt",
    "play_started": "play began",
    "game_ended": "the hand ended",
    "game_sealed": "the seed was published",
    "game_aborted": "the game was aborted",
}

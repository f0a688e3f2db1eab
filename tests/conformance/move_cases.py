"""Cases of `order`, `deal`, `custody`, `legality`: single events of moves, and time-outs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.conformance.case import CLOCK, Case, created, fails, passes, played, with_commitments
from tests.conformance.play_cases import blind_plan, hand_of, played_with
from tests.tamper import Forgery


def cases() -> Iterator[Case]:
    """Yield every case of these checks."""
    yield from _strays()
    yield from _phases()
    yield from _zones()
    yield from _positions()
    yield from _time_outs()
    yield from _forfeits()
    yield from _idle()
    yield from _exchange()


def _inserted(f: Forgery, seq: int, kind: str, data: dict[str, Any], by: int | None) -> Forgery:
    """Return the log with an event after another one, with the same time."""
    at = f.events[seq]["at"]
    f.insert(seq + 1, kind, data, by=by)
    f.events[seq + 1]["at"] = at
    return f


def _strays() -> Iterator[Case]:
    """Yield logs with an event that follows none of the actions that it can follow."""
    for kind, slug in (("turn_passed", "pass"), ("pile_picked_up", "pick-up")):
        for stray, data in (
            ("cards_drawn", {"count": 1}),
            ("pile_burned", {"cause": "rank", "count": 1, "cleared_by": 0}),
            ("seat_out", {"place": 1}),
        ):
            f = _with(kind)
            seq = f.find(kind)
            seat = f.data(seq)["seat"]
            _inserted(f, seq, stray, {"seat": seat, **data}, seat)
            says = f"{stray} after {kind}"
            yield fails(f"order/{stray}-after-{slug}", says, f.lines(), order=seq + 1)
    f = played()
    seq = f.find("cards_drawn")
    f.events[seq], f.events[seq - 1] = f.events[seq - 1], f.events[seq]
    says = "a draw before the play that it follows from"
    yield fails("order/draw-before-play", says, f.lines(), order=seq - 1)
    f = played()
    seq = f.find("play_started")
    f.insert(seq, "play_started", f.data(seq), by=None)
    yield fails("order/started-twice", "play started twice", f.lines(), order=seq + 1)


def _with(kind: str) -> Forgery:
    """Return a small hand with an event of a kind after which the hand goes on."""
    plan = blind_plan() if kind == "turn_passed" else {}
    return played_with(kind, lambda event: event["data"]["turn"] is not None, **plan)


def _phases() -> Iterator[Case]:
    f = played()
    seq = f.find("deck_committed")
    f.events[seq], f.events[seq + 1] = f.events[seq + 1], f.events[seq]
    f.events[seq]["at"] = f.events[seq + 1]["at"]
    yield fails("order/dealt-early", "dealt before the deck", f.lines(), order=seq)
    f = played()
    f.insert(seq + 1, "deck_committed", f.data(seq), by=None)
    yield fails("order/deck-twice", "a deck committed twice", f.lines(), order=seq + 1)
    f = played()
    start = f.find("play_started")
    ready = f.find("seat_ready")
    f.drop(ready)
    says = "play starts before every seat is ready"
    yield fails("order/early-start", says, f.lines(), order=start - 1)
    f = played()
    seq = f.find("seat_ready")
    play = f.find("cards_played")
    f.insert(seq, "cards_played", f.data(play), by=f.data(play)["seat"])
    yield fails("order/early-play", "a play in the exchange", f.lines(), order=seq)
    f = played()
    seat = f.data(play)["seat"]
    after = f.move_end(play) + 1
    f.insert(after, "seat_ready", {"seat": seat}, by=seat)
    yield fails("order/late-ready", "a seat is made ready in play", f.lines(), order=after)
    f = with_commitments(0)
    f.drop(1, 2)
    f.insert(1, "entropy_revealed", {"seat": 0, "value": "01" * 32}, by=0)
    yield fails("order/uncommitted", "revealed without commitment", f.lines(), order=1)
    f = played()
    seq = f.find("cards_dealt")
    data = {"cause": "no_entropy", "seat": 0, **f.events[-1]["data"]}
    f.drop(seq + 1, len(f.events))
    f.insert(seq + 1, "game_aborted", data, by=None)
    says = "aborted for entropy after the deck"
    yield fails("order/no-entropy-late", says, f.lines(), order=seq + 1)
    f = created()
    f.insert(1, "entropy_revealed", {"seat": 5, "value": "00" * 32}, by=5)
    yield fails("order/entropy-of-none", "entropy of a seat there is not", f.lines(), order=1)


def _zones() -> Iterator[Case]:
    f = played()
    seq = f.find("cards_played")
    seat, start = f.data(seq)["seat"], f.data(f.find("cards_dealt"))
    up = start["face_up"][seat][0]["card"]
    f.data(seq).update(zone="up", cards=[up])
    says = "a face-up card played with cards in the hand"
    yield fails("custody/up", says, f.lines(), custody=seq)
    f = played()
    p = _slot(f, seat, 0)
    f.data(seq).update(zone="down", slot=0, cards=[p["card"]], opening=p)
    says = "a face-down card turned with cards in the hand"
    yield fails("custody/down", says, f.lines(), custody=seq)
    f = played()
    other = hand_of(f, 1 - seat)[0]
    f.data(seq).update(cards=[other])
    yield fails("custody/other", "a card of another hand played", f.lines(), custody=seq)
    f = played_with("pile_picked_up")
    seq = f.find("pile_picked_up")
    f.data(seq)["with"] = [f.events[-1]["data"]["deck"][-1]]
    says = "a card of the stock picked up along with the pile"
    yield fails("custody/along", says, f.lines(), custody=seq)
    f = played()
    seq = f.find("cards_dealt") + 1
    own = start["face_up"][0][0]["card"]
    f.insert(seq, "cards_swapped", {"seat": 0, "up": [own], "hand": [own]}, by=0)
    yield fails("custody/swap", "a face-up card laid face-up", f.lines(), custody=seq)


def _slot(f: Forgery, seat: int, slot: int) -> dict[str, Any]:
    """Return the opening of a face-down card that a seat of two was dealt."""
    shuffle = f.shuffle(bytes.fromhex(f.events[-1]["data"]["seed"]))
    dealer = f.data(f.find("cards_dealt"))["dealer"]
    p = 2 * slot + (seat - dealer - 1) % 2
    return {"p": p, "card": shuffle.deck[p], "salt": shuffle.salt(p).hex()}


def _positions() -> Iterator[Case]:
    f = played()
    seq = f.find("cards_played")
    shuffle = f.shuffle(bytes.fromhex(f.events[-1]["data"]["seed"]))
    p = len(shuffle.deck) - 1
    opening = {"p": p, "card": shuffle.deck[p], "salt": shuffle.salt(p).hex()}
    f.data(seq).update(zone="stock", cards=[opening["card"]], opening=opening)
    says = "the last card of the stock tried in place of the top one"
    yield fails("deal/position", says, f.lines(), deal=seq)
    f = played()
    f.data(f.find("cards_dealt"))["starter"] = opening
    f.data(f.find("cards_dealt"))["stock"] -= 1
    says = "a starter in a ruleset without one"
    yield fails("deal/starter", says, f.lines(), deal=f.find("cards_dealt"))
    f = played()
    dealt = f.data(f.find("cards_dealt"))
    first = dealt["face_up"][0]
    first[0], first[1] = first[1], first[0]
    says = "two face-up cards of a seat exchanged"
    yield fails("deal/slots", says, f.lines(), deal=f.find("cards_dealt"))


def _time_outs() -> Iterator[Case]:
    def silent(ruleset: str = "shithead") -> Forgery:
        return played(ruleset, clock=CLOCK, silent=1, turn_limit=6)

    f = silent()
    seq = f.find("turn_timed_out")
    for event in f.events[seq + 1 : f.move_end(seq) + 1]:
        if event["data"].get("seat") == 1:
            event["data"]["seat"] = 0
    says = "another seat acts after a time-out"
    yield fails("order/time-out-other", says, f.lines(), order=seq + 1)
    f = silent()
    f.events[seq + 1]["by"] = 1
    says = "a seat acts itself after its time-out"
    yield fails("order/time-out-by", says, f.lines(), order=seq + 1)
    yield from _standing_in(silent())
    f = played()
    seq = f.find("cards_played")
    f.insert(seq, "turn_timed_out", {"seat": f.data(seq)["seat"]}, by=None)
    for at in range(seq + 1, f.move_end(seq) + 1):
        f.events[at]["by"] = None
    says = "a time-out at a table without a clock"
    yield fails("legality/time-out-no-clock", says, f.lines(), legality=seq)
    f = silent("shithead-layout")
    seq = f.find("table_laid", lambda event: event["by"] is None)
    stacks = f.data(seq)["stacks"]
    stacks[0], stacks[1] = stacks[1], stacks[0]
    says = "other cards laid for a silent seat than its first, in their order"
    yield fails("legality/laid-for-the-silent", says, f.lines(), legality=seq)


def _standing_in(f: Forgery) -> Iterator[Case]:
    """Yield a silent seat whose later time-outs come at once: a bot stands in for it."""
    found = [seq for seq, event in enumerate(f.events) if event["type"] == "turn_timed_out"]
    assert len(found) > 3  # the first of them in the exchange
    for seq in found[2:]:
        for at in range(seq, f.move_end(seq) + 1):
            f.events[at]["at"] = f.events[seq - 1]["at"]
    yield passes("legality/standing-in", "a bot stands in from the third time-out on", f.lines())


def _forfeits() -> Iterator[Case]:
    f = played(seats=2, forfeit_by=0, turn_limit=100)
    seq = f.find("game_ended")
    yield passes("legality/forfeit", "a seat gives up", f.lines())
    f.data(seq)["shithead"] = None
    yield fails("legality/forfeit-nobody", "nobody gives up", f.lines(), legality=seq)
    f = played(seats=2, forfeit_by=0, turn_limit=100)
    f.data(seq)["places"] = [1]
    says = "a forfeit that names a place of a seat that is in play"
    yield fails("legality/forfeit-places", says, f.lines(), legality=seq)
    f = played(seats=2, forfeit_by=0, turn_limit=100)
    f.drop(len(f.events) - 1)
    yield fails("order/forfeit-unsealed", "a forfeit without a seal", f.lines(), order=seq)


def _idle() -> Iterator[Case]:
    """Yield hands that are aborted in play, naming a seat or none."""
    f = played()
    seq = f.move_end(f.find("cards_played")) + 1
    turn = f.data(f.find("cards_played"))["turn"]
    end = f.events[-1]["data"]
    for seat, slug in ((turn, "turn"), (1 - turn, "other"), (None, "nobody")):
        f = played()
        f.drop(seq, len(f.events))
        f.insert(seq, "game_aborted", {"cause": "idle", "seat": seat, **end}, by=None)
        says = f"aborted in play (idle): {slug}"
        name = f"legality/idle-play-{slug}"
        if slug == "other":
            yield fails(name, says, f.lines(), legality=seq)
        else:
            yield passes(name, says, f.lines())


def _exchange() -> Iterator[Case]:
    f = played()
    seq = f.find("seat_ready")
    seat = f.data(seq)["seat"]
    up, hand = hand_of(f, seat)[0], f.data(f.find("cards_dealt"))["face_up"][seat][0]["card"]
    back = ({"up": [up], "hand": [hand]}, {"up": [hand], "hand": [up]})
    for n, pair in enumerate(back):
        f.insert(seq + n, "cards_swapped", {"seat": seat, **pair}, by=seat)
    yield passes("legality/swaps", "a swap and its reverse", f.lines())
    f = played()
    for n, pair in enumerate(back):
        f.insert(seq + 1 + n, "cards_swapped", {"seat": seat, **pair}, by=seat)
    if f.events[seq + 3]["type"] == "play_started":
        raise AssertionError  # another seat is ready after this one
    says = "a swap of a seat that is ready"
    yield fails("legality/swap-ready", says, f.lines(), legality=seq + 1)
    f = played("shithead-layout")
    seq = f.find("table_laid")
    seat, stacks = f.data(seq)["seat"], f.data(seq)["stacks"]
    f.drop(seq)
    f.insert(seq, "cards_swapped", {"seat": seat, "up": stacks[0], "hand": stacks[1]}, by=seat)
    says = "a swap in a layout deal, of cards that are all in the hand"
    yield fails("custody/swap-layout", says, f.lines(), custody=seq)

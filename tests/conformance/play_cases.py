"""Cases of `deal`, `custody`, `legality`, `hidden`, and of the order of moves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from itertools import count
from typing import Any

from service.domain.decide import after_pick_up
from service.rulesets.catalogue import catalogue
from service.shx.canonical import custom_ruleset_id
from tests.attacks.registry import game_at
from tests.conformance.case import CLOCK, Case, created, fails, passes, played
from tests.tamper import Event, Forgery


def cases() -> Iterator[Case]:
    """Yield every case of these checks."""
    yield passes("deal/honest", "a hand that ends as a stalemate", played().lines())
    yield from _order()
    yield from _time_outs()
    yield from _deal()
    yield from _custody()
    yield from _settings()
    yield from _outcomes()
    yield from _actions()
    yield from _aborts()
    yield from _hidden()


def played_with(kind: str, where: Callable[[Event], bool] = lambda _: True, **plan: Any) -> Forgery:
    """Return the first small hand that has an event of a kind."""
    for number in count():
        f = played(**{"turn_limit": 8, **plan}, table=f"00000000-0000-4000-8000-{number:012}")
        if any(event["type"] == kind and where(event) for event in f.events):
            return f
    raise AssertionError


def _order() -> Iterator[Case]:
    f = played()
    seq = f.find("cards_dealt")
    f.insert(seq + 1, "cards_dealt", f.data(seq), by=None)
    yield fails("order/dealt-twice", "the cards dealt twice", f.lines(), order=seq + 1)
    f = played()
    seq = f.find("seat_ready")
    f.insert(seq + 1, "seat_ready", f.data(seq), by=f.events[seq]["by"])
    yield fails("order/ready-twice", "a seat ready twice", f.lines(), order=seq + 1)
    f = played()
    seq = f.find("play_started")
    f.drop(seq)
    says = "the last seat is ready, and play does not start"
    yield fails("order/not-started", says, f.lines(), order=seq - 1)
    f = played()
    seq = f.find("cards_played")
    f.events[seq]["by"] = 1 - f.data(seq)["seat"]
    yield fails("bytes/by-another", "an action by another seat", f.lines(), bytes=seq)
    f = played()
    f.events[seq]["by"] = None
    yield fails(
        "order/by-the-server", "an action by the server without time-out", f.lines(), order=seq
    )
    f = played()
    seq = f.find("cards_drawn")
    f.insert(seq + 1, "cards_drawn", f.data(seq), by=f.events[seq]["by"])
    yield fails("order/drawn-twice", "an event that begins no move", f.lines(), order=seq + 1)
    for kind in ("game_sealed", "game_ended"):
        f = played()
        seq = f.find(kind)
        f.drop(seq, len(f.events))
        says = f"the log ends before {kind}"
        yield fails(f"order/cut-{kind}", says, f.lines(), order=seq - 1)


def _time_outs() -> Iterator[Case]:
    def silent() -> Forgery:
        return played(clock=CLOCK, silent=1, turn_limit=6)

    yield passes("legality/time-outs", "a silent seat", silent().lines())
    f = silent()
    seq = f.find("turn_timed_out")
    deal = f.data(f.find("cards_dealt"))
    up = hand_of(f, 1)[0]
    swap = {"seat": 1, "up": [up], "hand": [deal["face_up"][1][0]["card"]]}
    f.insert(seq, "turn_timed_out", {"seat": 1}, by=None)
    f.insert(seq + 1, "cards_swapped", swap, by=None)
    says = "cards swapped for a silent seat"
    yield fails("order/swap-for-the-silent", says, f.lines(), order=seq + 1)
    f = silent()
    f.drop(f.find("turn_timed_out") + 1, len(f.events))
    says = "the log ends after turn_timed_out"
    yield fails("order/cut-time-out", says, f.lines(), order=len(f.events) - 1)
    f = silent()
    seq = f.find("turn_timed_out", lambda e: e["seq"] > f.find("play_started"))
    early = f.events[seq - 1]["at"]
    for at in range(seq, f.move_end(seq) + 1):
        f.events[at]["at"] = early
    yield fails("legality/early-time-out", "timed out before its time", f.lines(), legality=seq)


def hand_of(f: Forgery, seat: int) -> list[str]:
    """Return the hand that a seat of two was dealt."""
    deck, dealer = f.events[-1]["data"]["deck"], f.data(f.find("cards_dealt"))["dealer"]
    return [deck[12 + 2 * turn + (seat - dealer - 1) % 2] for turn in range(3)]


def _deal() -> Iterator[Case]:
    f = played()
    seq = f.find("cards_dealt")
    f.data(seq)["stock"] -= 1
    yield fails("deal/stock", "a false count of the stock", f.lines(), deal=seq)
    f = created()
    f.data(0)["deck"]["jokers"] = 2
    yield fails("deal/jokers", "jokers in a deck that has none", f.lines(), deal=0)
    f = played()
    data = f.data(seq)
    data["face_up"][0], data["face_up"][1] = data["face_up"][1], data["face_up"][0]
    yield fails("deal/exchanged", "the face-up cards of two seats exchanged", f.lines(), deal=seq)
    f = played()
    f.data(seq)["hand"] += 1
    f.data(seq)["stock"] -= 2
    yield fails("deal/hand", "a card more dealt to each hand", f.lines(), deal=seq)
    f = played()
    draw = f.find("cards_drawn")
    f.data(draw)["count"] = 52
    yield fails("deal/draw", "more cards drawn than the stock has", f.lines(), deal=draw)


def _custody() -> Iterator[Case]:
    f = played()
    seq = f.find("cards_played")
    f.data(seq)["cards"] = [f.events[-1]["data"]["deck"][-1]]
    yield fails("custody/stock", "a card played that lies in the stock", f.lines(), custody=seq)
    f = played()
    f.data(seq)["cards"] *= 2
    yield fails("custody/twice", "a card played twice at once", f.lines(), custody=seq)
    f = played_with("pile_picked_up")
    seq = f.find("pile_picked_up")
    f.data(seq)["count"] += 1
    yield fails("custody/pile", "a false count of the pile", f.lines(), custody=seq)
    f = played()
    seq = f.find("cards_drawn")
    seat = f.data(seq)["seat"]
    f.insert(seq + 1, "seat_out", {"seat": seat, "place": 1}, by=seat)
    f.events[seq + 1]["at"] = f.events[seq]["at"]
    yield fails("custody/out", "a seat out with cards", f.lines(), custody=seq + 1)


def _settings() -> Iterator[Case]:
    tree = catalogue()["shithead"].settings({})

    def first(name: str, says: str, *, ok: bool = False, **ruleset: Any) -> Case:
        f = created()
        pinned = {"id": "shithead", "options": {}, "settings": None, **ruleset}
        f = created(ruleset=pinned)
        if ok:
            return passes(f"legality/{name}", says, f.lines())
        return fails(f"legality/{name}", says, f.lines(), legality=0)

    yield first("settings", "the settings beside its id", ok=True, settings=tree)
    other = deepcopy(tree)
    other["refill"]["size"] = 4
    yield first("other-settings", "other settings beside an id of the catalogue", settings=other)
    yield first("option", "an option", ok=True, options={"next_dealer": "rotate"})
    yield first(
        "option-default", "an option that repeats its default", options={"next_dealer": "loser"}
    )
    yield first("option-value", "an unknown value of an option", options={"next_dealer": "x"})
    yield first("option-unknown", "an unknown option", options={"speed": 2})
    unsorted = {"switches": [2, 1]}
    yield first("option-order", "a set out of order", id="guarducci", options=unsorted)
    custom = custom_ruleset_id(other)
    yield first("custom", "a custom ruleset", ok=True, id=custom, settings=other)
    yield first("custom-id", "the id of other settings", id=custom, settings=tree)
    broken = deepcopy(tree)
    broken["refill"]["size"] = -1
    yield first(
        "custom-settings",
        "settings beyond their schema",
        id=custom_ruleset_id(broken),
        settings=broken,
    )
    lines = created(ruleset={"id": "martian", "options": {}, "settings": None}).lines()
    says = "an id that a newer catalogue may have"
    yield passes("legality/newer", says, lines, level="L0", missing=["legality"])
    f = created(turn_limit=19_001)
    yield fails("legality/turn-limit", "a turn limit above 19,000", f.lines(), legality=0)
    f = created()
    f.data(0)["seats"] *= 3
    f.data(0)["seats"] = [dict(seat) for seat in f.data(0)["seats"]]
    yield fails("legality/seats", "six seats where five are the most", f.lines(), legality=0)


def _outcomes() -> Iterator[Case]:
    f = played()
    seq = f.find("cards_played")
    f.data(seq)["turn"] = f.data(seq)["seat"]
    yield fails("legality/turn", "another seat on turn after a play", f.lines(), legality=seq)
    f = played()
    f.data(seq)["direction"] = -1
    yield fails("legality/direction", "another direction", f.lines(), legality=seq)
    f = played()
    drawn = f.find("cards_drawn")
    f.drop(drawn)
    yield fails("legality/no-draw", "a draw left out", f.lines(), legality=seq)
    f = played()
    f.data(drawn)["count"] += 1
    yield fails("legality/draw", "a card too many drawn", f.lines(), legality=drawn)
    f = played_with("pile_burned")
    seq = f.find("pile_burned")
    f.data(seq)["cause"] = "set" if f.data(seq)["cause"] == "rank" else "rank"
    yield fails("legality/burn-cause", "another cause of a burn", f.lines(), legality=seq)
    f = played_with("pile_burned")
    f.data(seq)["cleared_by"] = 1 - f.data(seq)["seat"]
    yield fails("legality/cleared-by", "a pile cleared by another seat", f.lines(), legality=seq)
    f = played()
    seq = f.find("game_ended")
    f.data(seq).update(reason="winner")
    yield fails("legality/reason", "another reason for the end", f.lines(), legality=seq)
    f = played()
    f.data(seq).update(places=[0])
    yield fails("legality/places", "a seat named out that is not", f.lines(), legality=seq)
    f = played()
    seq = f.find("play_started")
    f.data(seq)["turn"] = 1 - f.data(seq)["turn"]
    yield fails("legality/opener", "another seat opens", f.lines(), legality=seq)


def _actions() -> Iterator[Case]:
    f = played()
    one = f.find("cards_played")
    seq = f.move_end(one) + 1
    event = f.events[seq]
    other = 1 - event["data"]["seat"]
    data = {"seat": other, "reason": "no_play", "turn": 1 - other}
    f.insert(seq, "turn_passed", data, by=other)
    yield fails("legality/pass", "a pass of a seat that is not on turn", f.lines(), legality=seq)


def _aborts() -> Iterator[Case]:
    f = played()
    seq = f.find("seat_ready") + 1
    ready = f.data(seq - 1)["seat"]
    end = f.events[-1]["data"]
    for cause, seat, ok in (
        ("operator", None, True),
        ("idle", 1 - ready, True),
        ("idle", ready, False),
        ("left", ready, False),
    ):
        f = played()
        f.drop(seq, len(f.events))
        f.insert(seq, "game_aborted", {"cause": cause, "seat": seat, **end}, by=None)
        whom = "no seat" if seat is None else "a ready seat" if seat == ready else "the other seat"
        name, says = (
            f"legality/{cause}-{whom.replace(' ', '-')}",
            f"aborted ({cause}), naming {whom}",
        )
        yield passes(name, says, f.lines()) if ok else fails(name, says, f.lines(), legality=seq)
    f = created(seats=[{"kind": "human", "bot": None, "key": None, "entropy": "value"}] * 2)
    f.data(1).update(cause="left", seat=1)
    yield passes("legality/left", "a player left before the deal", f.lines())
    f.data(1).update(seat=None)
    yield fails("legality/left-nobody", "aborted (left) without a seat", f.lines(), legality=1)
    f = created()
    f.data(1).update(cause="left", seat=1)
    yield fails("legality/left-bot", "a bot that left", f.lines(), legality=1)


def blind_plan() -> dict[str, Any]:
    """Return the plan of hands that soon come to blind cards, of which failed ones stay hidden."""
    settings = deepcopy(catalogue()["leeds"].settings({}))
    settings["players"] = {"min": 2, "max": 17}
    settings["deck"]["count"] = "fixed"
    settings["deal"].update(down=2, up=0, hand=1, starter="none", exchange=False)
    assert settings["pick_up"]["show_blind"] is False
    return {"settings": settings, "seats": 17, "turn_limit": 40}


def _hidden() -> Iterator[Case]:
    plan = blind_plan()
    f = played_with("blind_failed", lambda e: e["data"]["opening"] is None, **plan)
    yield passes("hidden/unplayable", "blind cards that failed and stayed hidden", f.lines())
    f, seq = _blind_play(plan)
    event = f.events[seq]
    data = {name: event["data"][name] for name in ("seat", "turn", "direction", "slot")}
    taken = {"taker": data["seat"], "count": len(game_at(f, seq).pile), "opening": None}
    event.update(type="blind_failed", data={**data, **taken})
    says = "a blind card called unplayable that could be played, and kept hidden"
    yield fails("hidden/playable", says, f.lines(), hidden=seq)
    f.data(seq)["turn"] = data["seat"]
    says = "beside it a turn that a failed card does not lead to at the turn limit"
    yield fails("hidden/turn", says, f.lines(), hidden=seq, legality=seq)
    yield _ended_early(plan)


def _ended_early(plan: Mapping[str, Any]) -> Case:
    """Return a hand that ends with a blind card kept hidden, before its turn limit."""

    def goes_on(e: Event) -> bool:
        return e["data"]["zone"] == "down" and e["data"]["turn"] is not None

    f = played_with("cards_played", goes_on, **plan)
    seq = f.find("cards_played", goes_on)
    f.drop(seq + 1, len(f.events) - 3)
    for event in f.events[seq + 1 :]:
        event["at"] = f.events[seq]["at"]
    f.data(seq + 1).update(reason="stalemate", shithead=None, places=[])
    game, data = game_at(f, seq), f.data(seq)
    taker, turn = after_pick_up(game, data["seat"])
    failed = {"seat": data["seat"], "taker": taker, "slot": data["slot"], "opening": None}
    failed |= {"count": len(game.pile), "turn": turn, "direction": game.direction}
    f.events[seq].update(type="blind_failed", data=failed)
    says = "a blind card kept hidden that could be played, and the hand ends with it"
    return fails("hidden/ends", says, f.lines(), hidden=seq, legality=seq + 1)


def _blind_play(plan: Mapping[str, Any]) -> tuple[Forgery, int]:
    """Return the first hand that the play of a blind card ends at its turn limit, and its seq."""
    for number in count():
        f = played(**{**plan, "table": f"00000000-0000-4000-8001-{number:012}"})
        seq = f.find("game_ended") - 1
        if f.events[seq]["type"] == "cards_played" and f.data(seq)["zone"] == "down":
            return f, seq
    raise AssertionError

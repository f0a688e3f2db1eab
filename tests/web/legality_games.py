"""Hands for the comparison of the verifiers: of all rulesets, custom ones, and wrong ones."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from typing import Any, Final

from schemas.settings import Tree, full_tree
from service.rulesets.catalogue import catalogue
from service.rulesets.custom import RulesetRefused, custom_definition
from tests.custom_games import values
from tests.random_games import Plan, made_game
from tests.tamper import Forgery
from tests.web.node import ROOT, Case

CATALOGUE: Final = json.loads((ROOT / "ops" / "spec" / "rulesets.json").read_bytes())["rulesets"]
CLOCK: Final = {"turn_seconds": 20, "swap_seconds": 60}
PREVIOUS: Final = "00000000-0000-4000-8000-000000000001"

ACTIONS: Final = frozenset(
    ("cards_played", "pile_picked_up", "blind_failed", "stock_failed", "turn_passed")
)
POSITIONS: Final = ACTIONS | {"cards_swapped", "table_laid", "seat_ready", "cards_thrown"}

Change = Callable[[Forgery, random.Random], bool]
"""Change one outcome of a hand; False if the hand has no such outcome."""


def positions(cases: list[Case]) -> int:
    """Return the number of positions in which a seat acts."""
    return sum(json.loads(line)["type"] in POSITIONS for case in cases for line in case.lines)


def hands_of_the_catalogue(chance: random.Random, *, every: int = 1) -> Iterator[Case]:
    """
    Yield a hand for each ruleset and each number of seats, with options chosen at random.

    With `every`, for one of so many.
    """
    tables = [
        (name, ruleset, seats)
        for name, ruleset in CATALOGUE.items()
        for seats in _numbers_of_seats(ruleset)
    ]
    for name, ruleset, seats in tables[chance.randrange(every) :: every]:
        options = {
            key: value
            for key, option in ruleset["options"].items()
            if (value := _chosen(option, chance)) is not None
        }
        case = _hand(chance, f"{name} for {seats}", seats, ruleset=name, options=options)
        if case:
            yield case


def _numbers_of_seats(ruleset: dict[str, Any]) -> range:
    players = ruleset["settings"]["players"]
    return range(players["min"], players["max"] + 1)


def hands_of_custom_rulesets(chance: random.Random, *, number: int) -> Iterator[Case]:
    """Yield one hand for each of so many rulesets with settings chosen at random."""
    while number:
        settings = _settings(chance)
        if settings is None:
            continue
        least, most = settings["players"]["min"], min(settings["players"]["max"], 7)
        case = _hand(chance, "custom", chance.randint(least, max(least, most)), settings=settings)
        if case:
            number -= 1
            yield case


def _hand(chance: random.Random, title: str, seats: int, **rules: Any) -> Case | None:
    name = f"{title} {chance.random()}"
    second = chance.random() < 0.3
    settings = rules.get("settings") or CATALOGUE[rules["ruleset"]]["settings"]
    # A time-out comes neither before a follow-up nor at a first-come opening of any seat.
    timed = not settings["turn"]["follow_up"] and "first_come" not in settings["opening"]["opener"]
    silent = timed and chance.random() < 0.25
    plan = Plan(
        name=name,
        seats=seats,
        bots=chance.random() < 0.5,
        turn_limit=chance.choice((7, 60, 150, 400)),
        clock=CLOCK if silent else None,
        silent=chance.randrange(seats) if silent else None,
        silent_after=chance.choice((0, 0, 12)),
        forfeit_by=chance.randrange(seats) if not silent and chance.random() < 0.05 else None,
        hand=2 if second else 1,
        dealer=chance.randrange(seats) if second else None,
        prev_game=PREVIOUS if second else None,
        **rules,
    )
    try:
        return Case(name=name, lines=tuple(made_game(plan)))
    except (AssertionError, IndexError, ValueError):
        return None  # more cards than the deck has, or a forfeit of a seat that is out


def _chosen(option: dict[str, Any], chance: random.Random) -> Any:
    if chance.random() < 0.5:
        return None
    if option["kind"] == "choice":
        value = chance.choice(option["effects"])["value"]
    elif option["kind"] == "set":
        members = [one["value"] for one in option["effects"]]
        value = [one for one in members if chance.random() < 0.5]
    else:
        value = [one for one in "23456789TJQKA" if chance.random() < 0.5]
    return None if value == option["default"] else value


def _settings(chance: random.Random) -> Tree | None:
    base = catalogue()[chance.choice([*CATALOGUE])]
    changes: dict[str, Any] = {}
    for setting, value in chance.sample(values(), chance.randint(1, 9)):
        section, _, name = setting.partition(".")
        if section == "ranks":
            rank = chance.choice("2345678TJQKAX")
            changes.setdefault("ranks", {}).setdefault(rank, {})[name] = value
        elif section != "second_hand":
            changes.setdefault(section, {})[name] = value
    try:
        return full_tree(custom_definition(base, "Own", changes).tree)
    except RulesetRefused:
        return None


def changed(case: Case, chance: random.Random) -> Case | None:
    """Return a hand with one wrong outcome, written by the server so: the chain is intact."""
    name = chance.choice([*CHANGES])
    forgery = Forgery(case.lines)
    if not CHANGES[name](forgery, chance):
        return None
    return Case(name=f"{name}: {case.name}", lines=forgery.lines())


def _one(forgery: Forgery, chance: random.Random, *kinds: str) -> int | None:
    found = [seq for seq, event in enumerate(forgery.events) if event["type"] in kinds]
    return chance.choice(found) if found else None


def _seats(forgery: Forgery) -> int:
    return len(forgery.events[0]["data"]["seats"])


def _turn(forgery: Forgery, chance: random.Random) -> bool:
    seq = _one(forgery, chance, *ACTIONS)
    if seq is None or forgery.data(seq)["turn"] is None:
        return False
    data = forgery.data(seq)
    data["turn"] = (data["turn"] + chance.randrange(1, _seats(forgery))) % _seats(forgery)
    return True


def _direction(forgery: Forgery, chance: random.Random) -> bool:
    seq = _one(forgery, chance, "cards_played", "pile_picked_up", "stock_failed")
    if seq is None:
        return False
    forgery.data(seq)["direction"] *= -1
    return True


def _draw(forgery: Forgery, chance: random.Random) -> bool:
    seq = _one(forgery, chance, "cards_drawn")
    if seq is None:
        return False
    count = forgery.data(seq)["count"]
    if count == 1 and chance.random() < 0.5:
        forgery.drop(seq)
    else:
        forgery.data(seq)["count"] = count + 1
    return True


def _burn(forgery: Forgery, chance: random.Random) -> bool:
    seq = _one(forgery, chance, "pile_burned")
    if seq is None:
        return False
    data = forgery.data(seq)
    if chance.random() < 0.4:
        forgery.drop(seq)
    elif chance.random() < 0.5:
        data["cause"] = "set" if data["cause"] == "rank" else "rank"
    else:
        data["cleared_by"] = (data["cleared_by"] + 1) % _seats(forgery)
    return True


def _burn_invented(forgery: Forgery, chance: random.Random) -> bool:
    seq = _one(forgery, chance, "cards_played")
    if seq is None or forgery.data(seq)["turn"] is None:
        return False
    seat = forgery.data(seq)["seat"]
    pile = _pile_at(forgery, seq)
    burn = {"seat": seat, "cause": "set", "count": pile, "cleared_by": seat}
    forgery.insert(seq + 1, "pile_burned", burn, by=forgery.events[seq]["by"])
    return True


def _pile_at(forgery: Forgery, seq: int) -> int:
    count = 0
    for event in forgery.events[: seq + 1]:
        data = event["data"]
        if event["type"] in ("cards_thrown", "cards_played"):
            count += len(data["cards"])
        elif event["type"] == "cards_dealt":
            count += data["starter"] is not None
        elif "taker" in data or event["type"] == "pile_burned":
            count = 0
    return count


def _pick_up(forgery: Forgery, chance: random.Random) -> bool:
    seq = _one(forgery, chance, "cards_played")
    if seq is None or _is_last(forgery, seq):
        return False
    event = forgery.events[seq]
    data = event["data"]
    count = _pile_at(forgery, seq) - len(data["cards"])
    step = data["direction"]
    taken = {"seat": data["seat"], "taker": data["seat"], "count": count, "with": []}
    turn = (data["seat"] + step) % _seats(forgery)
    forgery.drop(seq, forgery.move_end(seq))
    more = {"turn": turn, "direction": step}
    forgery.insert(seq, "pile_picked_up", {**taken, **more}, by=event["by"])
    return True


def _whole_move(forgery: Forgery, chance: random.Random) -> bool:
    seq = _one(forgery, chance, "pile_picked_up", "seat_ready", "turn_passed", "cards_played")
    if seq is None or _is_last(forgery, seq):
        return False
    forgery.drop(seq, forgery.move_end(seq))
    return True


def _is_last(forgery: Forgery, seq: int) -> bool:
    """Return whether a move is the last one, which has the seal."""
    return forgery.move_end(seq) == len(forgery.events) - 1


def _end(forgery: Forgery, chance: random.Random) -> bool:
    seq = _one(forgery, chance, "game_ended", "seat_out")
    if seq is None:
        return False
    data = forgery.data(seq)
    if "place" in data:
        data["place"] += 1
    elif chance.random() < 0.5:
        data["places"] = data["places"][::-1] if len(data["places"]) > 1 else [0]
    else:
        data["reason"] = "winner" if data["reason"] != "winner" else "stalemate"
    return True


def _opener(forgery: Forgery, chance: random.Random) -> bool:
    seq = _one(forgery, chance, "play_started")
    if seq is None:
        return False
    data = forgery.data(seq)
    data["turn"] = 0 if data["turn"] is None else (data["turn"] + 1) % _seats(forgery)
    return True


def _time_out(forgery: Forgery, chance: random.Random) -> bool:
    seq = _one(forgery, chance, *ACTIONS, "seat_ready")
    if seq is None or forgery.events[seq]["by"] is None:
        return False
    end = forgery.move_end(seq)
    seat = forgery.data(seq)["seat"]
    if chance.random() < 0.5:
        forgery.events[0]["data"]["clock"] = {"turn_seconds": 1, "swap_seconds": 1}
    for event in forgery.events[seq : end + 1]:
        event["by"] = None
    forgery.insert(seq, "turn_timed_out", {"seat": seat}, by=None)
    return True


def _other_card(forgery: Forgery, chance: random.Random) -> bool:
    """Play one card of another play of the same seat, which may hold it now or not."""
    seqs = [
        seq
        for seq, event in enumerate(forgery.events)
        if event["type"] == "cards_played" and event["data"]["zone"] == "hand"
    ]
    pairs = [
        (one, other)
        for one in seqs
        for other in seqs
        if one < other < one + 40
        and forgery.data(one)["seat"] == forgery.data(other)["seat"]
        and len(forgery.data(one)["cards"]) == len(forgery.data(other)["cards"])
    ]
    if not pairs:
        return False
    one, other = chance.choice(pairs)
    first, second = forgery.data(one), forgery.data(other)
    first["cards"], second["cards"] = second["cards"], first["cards"]
    return True


def _companions(forgery: Forgery, chance: random.Random) -> bool:
    seq = _one(forgery, chance, "pile_picked_up")
    if seq is None:
        return False
    data = forgery.data(seq)
    if data["with"]:
        data["with"] = data["with"][1:]
    else:
        data["taker"] = (data["taker"] + 1) % _seats(forgery)
    return True


CHANGES: Final[dict[str, Change]] = {
    "another turn": _turn,
    "another direction": _direction,
    "another draw": _draw,
    "another burn": _burn,
    "an invented burn": _burn_invented,
    "a pick-up in place of a play": _pick_up,
    "a move left out": _whole_move,
    "another end": _end,
    "another opener": _opener,
    "a time-out": _time_out,
    "another card": _other_card,
    "other cards of a pick-up": _companions,
}
"""One wrong outcome or move."""

"""
False alarms and power of the statistic of collusion: python -m ops.bench.collusion [--write].

    python -m ops.bench.collusion play --rows FILE --part 1/2    play the groups of one half
    python -m ops.bench.collusion table --rows FILE --write      write results/collusion.md

A group of three or five players plays hands in a ruleset, in an order of seats drawn for each hand;
in a third of the honest groups every second hand has the same order. Each honest player has a style
that is drawn (`STYLES`): bots of different strength, one that keeps its twos against everybody, one
that plays its highest card, one that harms any next player with few cards. In the other groups two
players spare each other in a share of their decisions: they make the move that harms the other
least, as far as they see. Each hand has a real log, and the figures are those of
`shithead collusion`. `play` continues where an earlier run stopped.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from ops.bench.requests import plain_table
from schemas.moves import move_of
from schemas.views import ViewFacts
from service.application.games.record import GameRecord, write
from service.application.tables.dealing import new_hand
from service.application.tables.record import TableRequest, opened_by
from service.audit.collusion import FALSE_ALARM, MARGIN, THRESHOLD, Pair
from service.bots.bot import Move, View, bot_view
from service.bots.registry import bots
from service.bots.searching import SearchBudget, searched
from service.bots.simple import greedy_move, of_type, worth
from service.bots.sparing import Decision, decisions, mean_harms, next_in_play
from service.bots.worlds import Worlds, choices, searchable
from service.domain.commands import Seat
from service.domain.decide import decide
from service.domain.legal import acting_seats
from service.domain.table import HandDealt, evolve_table, fold_table, hand_finished
from service.replay.history import History, decode_log, sealed_deck
from service.rulesets.catalogue import definition
from service.search import flat
from service.shx.canonical import format_time
from service.shx.moves import NONE_REFUSED
from service.simulation.simulate import SimulatedWorld

RESULTS: Final = Path(__file__).parent / "results" / "collusion.md"
RULESETS: Final = ("shithead", "leeds")
HANDS: Final = 100
TURN_LIMIT: Final = 300
GRADES: Final = (1.0, 0.5, 0.25)
HONEST_GROUPS: Final = {3: 60, 5: 36}
SPARING_GROUPS: Final = 12  # for each grade and number of players
FIXED_EVERY: Final = 3
FEW_CARDS: Final = 3

Style = Callable[[View, Sequence[Move], random.Random, Seat | None], Move]
"""Returns a legal move; the last argument is the next seat."""


def _bot(name: str) -> Style:
    return lambda view, moves, rng, _next: bots()[name].choose(view, moves, rng)


def _careful(view: View, moves: Sequence[Move], rng: random.Random, _next: Seat | None) -> Move:
    budget = SearchBudget(samples=24, exchange=40)
    return searched(view, moves, rng, search=flat.best_move, budget=budget)


def _keeps_twos(view: View, moves: Sequence[Move], rng: random.Random, _next: Seat | None) -> Move:
    others = [
        one
        for one in moves
        if not (one["type"] == "play" and any(card[0] == "2" for card in one["cards"]))
    ]
    return greedy_move(view, moves if view["status"] == "swapping" else others or moves, rng)


def _highest(view: View, moves: Sequence[Move], rng: random.Random, _next: Seat | None) -> Move:
    plays = of_type(moves, "play")
    if not plays or rng.random() < 0.1:
        return greedy_move(view, moves, rng)
    value = worth(view)
    return max(plays, key=lambda one: (value[one["cards"][0][0]], -len(one["cards"])))


def _erratic(view: View, moves: Sequence[Move], rng: random.Random, _next: Seat | None) -> Move:
    return bots()["greedy" if rng.random() < 0.6 else "random"].choose(view, moves, rng)


def _attacks(view: View, moves: Sequence[Move], rng: random.Random, other: Seat | None) -> Move:
    """Harm the next seat as much as possible if it has few cards, whoever sits there."""
    if other is not None and view["seats"][other]["hand"]["count"] <= FEW_CARDS:
        found = _by_harm(view, moves, other, rng)
        if found:
            return found[-1]
    return greedy_move(view, moves, rng)


def _by_harm(view: View, moves: Sequence[Move], other: Seat, rng: random.Random) -> list[Move]:
    """Return the moves by their harm to another seat, the least first; none without a model."""
    if not searchable(view):
        return []
    worlds = Worlds(view)
    found = choices(view, [one for one in moves if one["type"] != "forfeit"], worlds)
    harm = mean_harms(worlds, found, other, rng)
    return [found[one] for one in sorted(found, key=lambda one: harm[one])]


STYLES: Final[Mapping[str, Style]] = {
    **{name: _bot(name) for name in ("random", "lowest", "greedy")},
    "careful": _careful,
    "keeps twos": _keeps_twos,
    "highest": _highest,
    "erratic": _erratic,
    "attacks": _attacks,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Players who play HANDS hands together; with a grade the first two spare each other."""

    number: int
    players: int
    ruleset: str
    grade: float = 0.0
    fixed: bool = False  # every second hand in the same order of seats

    @property
    def key(self) -> str:
        """Return the name of the group."""
        return json.dumps(asdict(self), sort_keys=True)

    @property
    def pairs(self) -> Sequence[tuple[int, int]]:
        """Return the pairs whose figures are computed."""
        return [(0, 1)] if self.grade else list(combinations(range(self.players), 2))


def groups() -> list[Group]:
    """Return all groups, so that a part of them has groups of every kind."""
    found = [
        Group(
            number=number,
            players=players,
            ruleset=RULESETS[number % len(RULESETS)],
            fixed=number % FIXED_EVERY == 0,
        )
        for players, count in HONEST_GROUPS.items()
        for number in range(count)
    ]
    found += [
        Group(number=number, players=players, ruleset=RULESETS[number % len(RULESETS)], grade=grade)
        for players in HONEST_GROUPS
        for grade in GRADES
        for number in range(SPARING_GROUPS)
    ]
    return sorted(found, key=lambda one: (one.number, one.players, one.grade))


def main() -> None:
    """Play groups, or make the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("play", "table"))
    parser.add_argument("--rows", type=Path, default=Path("collusion.jsonl"))
    parser.add_argument("--part", default="1/1", help="N/M: every Mth group, from the Nth on")
    parser.add_argument("--write", action="store_true", help=f"write {RESULTS.name}")
    options = parser.parse_args()
    if options.what == "play":
        first, step = map(int, options.part.split("/"))
        there = {row["group"] for row in _read(options.rows)}
        for group in groups()[first - 1 :: step]:
            if group.key not in there:
                rows = [{"group": group.key, **row} for row in played(group)]
                with options.rows.open("a") as file:
                    file.write("".join(f"{json.dumps(row)}\n" for row in rows))
        return
    text = table(list(_read(options.rows)))
    if options.write:
        RESULTS.write_text(text)
    else:
        print(text)


def _read(rows: Path) -> Iterator[dict[str, Any]]:
    if rows.exists():
        yield from map(json.loads, rows.read_text().splitlines())


def played(group: Group) -> Iterator[dict[str, Any]]:
    """Yield for each pair of a group the first hand with an alarm, and the figures at the end."""
    rng = random.Random(group.key)
    styles = [rng.choice(list(STYLES)) for _ in range(group.players)]
    pairs = {one: Pair(str(one[0]), str(one[1])) for one in group.pairs}
    alarms: dict[tuple[int, int], int] = {}
    for hand, (players, history, game) in enumerate(_hands(group, styles, rng), 1):
        known: dict[Seat, list[Decision]] = {}

        def of(
            seat: Seat,
            known: dict[Seat, list[Decision]] = known,
            history: History = history,
            game: str = game,
        ) -> list[Decision]:
            if seat not in known:
                known[seat] = list(decisions(history, seat, game=game))
            return known[seat]

        for one, pair in pairs.items():
            pair.count([str(player) for player in players], of)
            if pair.e_value >= THRESHOLD:
                alarms.setdefault(one, hand)
        if group.grade and len(alarms) == len(pairs):
            break
    for one, pair in pairs.items():
        yield {
            "styles": [styles[player] for player in one],
            "alarm": alarms.get(one),
            "numbers": {
                **pair.numbers,
                "directions": [dict(d) for d in pair.numbers["directions"]],
            },
        }


def _hands(
    group: Group, styles: Sequence[str], rng: random.Random
) -> Iterator[tuple[list[int], History, str]]:
    """Yield the hands of a group: the players by seat, the history, and the id."""
    world = SimulatedWorld(rng.getrandbits(32))
    table, table_id = (
        fold_table([opened_by(UUID(int=0), _request(group), definition(group.ruleset))]),
        world.identity(),
    )
    players = list(range(group.players))
    for hand_number in range(HANDS):
        if not (group.fixed and hand_number % 2):
            rng.shuffle(players)
        else:
            players.sort()
        record, begun = new_hand(table_id, table, world)
        lines, hand, game = list(begun), table.next_hand, str(record.identity)
        while not record.game.over:
            move = _move(group, record, players, styles, world)
            events = decide(move, record.game)
            record, more = write(record, events, at=format_time(world.now()), refusals=NONE_REFUSED)
            lines += more
        table = evolve_table(table, HandDealt(game=game, hand=hand))
        table = evolve_table(table, hand_finished(game, record.game))
        log = decode_log(lines)
        yield list(players), History(log, sealed_deck(log)), game


def _request(group: Group) -> TableRequest:
    seats = tuple({"bot": "greedy"} for _ in range(group.players))
    return replace(plain_table(group.ruleset, seats), turn_limit=TURN_LIMIT)


def _move(
    group: Group,
    record: GameRecord,
    players: Sequence[int],
    styles: Sequence[str],
    world: SimulatedWorld,
) -> Any:
    game, created = record.game, record.created
    seat = world.choice(acting_seats(game))
    facts = ViewFacts(
        id=str(record.identity),
        head="",
        ruleset_hash=created["ruleset_hash"],
        settings=created["ruleset"]["settings"],
    )
    view, rng = bot_view(game, seat, facts), world.bot_rng
    other = next_in_play(game, seat) if _is_choice(view, seat) else None
    spares = other is not None and {players[seat], players[other]} == {0, 1}
    if other is not None and spares and rng.random() < group.grade:
        found = _by_harm(view, view["moves"], other, rng)
        if found:
            return move_of(found[0], seat)
    return move_of(STYLES[styles[players[seat]]](view, view["moves"], rng, other), seat)


def _is_choice(view: View, seat: Seat) -> bool:
    return view["status"] == "playing" and view["turn"] == seat and len(view["moves"]) > 1


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the page."""
    kinds: dict[tuple[float, int, bool], list[Mapping[str, Any]]] = {}
    for row in rows:
        group = json.loads(row["group"])
        kinds.setdefault((group["grade"], group["players"], group["fixed"]), []).append(row)
    honest = [row for kind, found in kinds.items() if not kind[0] for row in found]
    alarms = sum(row["alarm"] is not None for row in honest)
    largest = max((row["numbers"]["e_value"] for row in honest), default=0.0)
    lines = "\n".join(_line(kind, found) for kind, found in sorted(kinds.items()))
    extremes = "\n".join(_extremes(honest))
    return f"""\
# Collusion: false alarms, and hands until an alarm

{alarms} of {len(honest)} honest pairs reached the e-value {THRESHOLD:g} within {HANDS} hands; the
bound is {FALSE_ALARM:.0%}. The largest e-value at the end was {largest:.3g}; the margin is
{MARGIN:g}.

| spared decisions | players | order of seats | pairs | hands | bets | alarms | 80 % after hand |
| --- | --- | --- | --- | --- | --- | --- | --- |
{lines}

The five largest mean differences of honest players with at least 100 bets:

| difference | bets | style | style of the other |
| --- | --- | --- | --- |
{extremes}

Made by `python -m ops.bench.collusion`, which describes the players. Half of the groups play
{RULESETS[0]}, half {RULESETS[1]}. A pair that spares itself stops at its alarm.
"""


def _line(kind: tuple[float, int, bool], rows: Sequence[Mapping[str, Any]]) -> str:
    grade, players, fixed = kind
    alarms = sorted(row["alarm"] for row in rows if row["alarm"] is not None)
    needed = -(-len(rows) * 8 // 10)
    after = str(alarms[needed - 1]) if len(alarms) >= needed else f"more than {HANDS}"
    cells = (
        f"{grade:.0%}" if grade else "none",
        players,
        "half the same" if fixed else "drawn",
        len(rows),
        round(sum(row["numbers"]["hands"] for row in rows) / len(rows)),
        round(sum(row["numbers"]["joint"]["n"] for row in rows) / len(rows)),
        len(alarms),
        after if grade else "",
    )
    return f"| {' | '.join(map(str, cells))} |"


def _extremes(honest: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    found = [
        (one["difference"], one["n"], row["styles"][number], row["styles"][1 - number])
        for row in honest
        for number, one in enumerate(row["numbers"]["directions"])
        if one["n"] >= 100
    ]
    for difference, n, own, other in sorted(found, reverse=True)[:5]:
        yield f"| {difference:+.3f} | {n} | {own} | {other} |"


if __name__ == "__main__":
    main()

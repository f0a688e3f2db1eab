#!/usr/bin/env python3
"""
Searches of many stored decisions: python -m ops.bench.decisions [--rows N] [--write].

Hands of bots are played and stored as the service stores them, and their rows are copied until
there are N, with players in the place of a third of the seats and other times. So the values of a
row depend on one another as in real hands. Each search is the call of the service, with a page.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing
from itertools import count
from pathlib import Path
from textwrap import fill
from typing import Final
from uuid import UUID

import psycopg

from ops.bench.pages import WIDTH, write
from service.audit.decisions import Decided, DecisionFilter, decisions_of
from service.local.servers import EmbeddedPostgres
from service.replay.history import History, decode_log, sealed_deck
from service.simulation.simulate import Plan, SimulatedGame, simulated_games
from service.store.database import Database
from service.store.decisions import (
    _PLACES,
    MOST_CARDS,
    NAMES,
    DecisionRepository,
    names_of,
    who_of,
)
from service.store.migrate import migrate

PAGE: Final = Path(__file__).parent / "results" / "decisions.md"
PLANS: Final = (
    Plan(ruleset="shithead", seats=3, bots=("greedy", "lowest", "random"), games=400),
    Plan(ruleset="leeds", seats=2, bots=("greedy", "lowest"), games=300),
    Plan(ruleset="threes", seats=4, bots=("greedy", "lowest", "random"), games=200),
    Plan(ruleset="covered-queen", seats=3, bots=("greedy", "random"), games=100),
)
PLAYERS: Final = 2000
MOST_MS: Final = 50
MOST_BYTES: Final = 200
"""The targets for each search, and for a decision with its indexes."""

PEOPLE: Final = """
INSERT INTO decision_names (number, name, player_id)
SELECT 500000 + n, 'player:' || u, u
FROM (SELECT n, ('00000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid AS u
      FROM generate_series(0, %(players)s - 1) n) made
"""

COPIED: Final = """
INSERT INTO decisions (leaf, event, took, seat, codes)
SELECT
    c.leaf, d.event, (30000 * random() ^ 4)::integer, d.seat,
    CASE
        WHEN abs(hashint4(c.leaf * 8 + d.seat)) %% 3 > 0 THEN d.codes
        ELSE d.codes[1:1]
            || (%(base)s + floor(%(players)s * (c.chance / 1000.0) ^ 2))::integer
            || d.codes[3:%(end)s - 1] || d.codes[%(end)s] / 2 * 2 || d.codes[%(end)s + 1:]
    END
FROM
    decisions d,
    LATERAL (
        SELECT
            d.leaf + %(leaves)s AS leaf,
            abs(hashint4(d.leaf + %(leaves)s + d.seat)) %% 1000 AS chance
    ) c
WHERE d.leaf < %(hands)s
"""

LEAVES: Final = """
INSERT INTO log_leaves (leaf_index, game_id, version, data, added_at)
SELECT n, gen_random_uuid(), 1, '', now() FROM generate_series(0, %s) n
"""


def played() -> Iterator[tuple[SimulatedGame, str]]:
    """Yield the hands of all plans, with their rulesets."""
    for plan in PLANS:
        for game in simulated_games(plan):
            yield game, plan.ruleset


def stored(owner: str, rows: int) -> tuple[int, DecisionFilter]:
    """Store hands and copies of them; return the number of decisions, and a frequent position."""
    total, hands, positions = 0, 0, Counter[DecisionFilter]()
    with closing(Database(owner, size=1)) as database:
        decisions = DecisionRepository(database)
        for leaf, (game, ruleset) in enumerate(played()):
            log = decode_log(game.lines)
            found: list[Decided] = list(decisions_of(History(log, sealed_deck(log))))
            named = [(one, names_of(one, ruleset, who_of(one.bot, None))) for one in found]
            decisions.keep(leaf, leaf + 1, named)
            positions.update(position(one, ruleset) for one in found if one.phase == "hand")
            total, hands = total + len(found), leaf + 1
    with psycopg.connect(owner, autocommit=True) as connection:
        connection.execute(PEOPLE.encode(), {"players": PLAYERS})
        values = {"base": NAMES + 500_000, "players": PLAYERS, "hands": hands}
        values["end"] = _PLACES["end"]  # its code is even for a person
        for copy in count(1):
            if total >= rows:
                break
            done = connection.execute(COPIED.encode(), {**values, "leaves": copy * hands})
            total += done.rowcount
        connection.execute(LEAVES.encode(), [hands * copy])
        connection.execute("VACUUM ANALYZE decisions")
        connection.execute("ANALYZE log_leaves")
    return total, positions.most_common(10)[-1][0]


def position(one: Decided, ruleset: str) -> DecisionFilter:
    """Return the search for positions like one, as the replay room makes it."""
    few = one.cards is not None and len(one.cards.split(",")) <= MOST_CARDS
    return DecisionFilter(
        ruleset=ruleset,
        phase=one.phase,
        demand=one.demand,
        asked=one.asked,
        cards=one.cards if few else None,
        held=None if few else (one.held, one.held),
    )


def searches(alike: DecisionFilter) -> Mapping[str, DecisionFilter]:
    """Return searches by name: frequent and rare, dependent and independent conditions."""
    player = str(UUID("00000000-0000-4000-8000-000000000007"))
    return {
        "all": DecisionFilter(),
        "a ruleset": DecisionFilter(ruleset="threes"),
        "a position: ruleset, phase, demand, rank, 3 to 5 cards": DecisionFilter(
            ruleset="shithead", phase="hand", demand="at_least", asked="9", held=(3, 5)
        ),
        "a position, as the replay room asks": alike,
        "pick-ups with another legal move": DecisionFilter(kind="pick_up", had_other=True),
        "plays of a seven in the first seconds": DecisionFilter(rank="7", took=(0, 1)),
        "a long turn": DecisionFilter(took=(25, 10**6)),
        "blind choices of one bot that lost": DecisionFilter(kind="blind", bot="random", lost=True),
        "pick-ups of one player with another legal move": DecisionFilter(
            player=player, kind="pick_up", had_other=True
        ),
        "burns on the last card, lost": DecisionFilter(kind="burn", held=(1, 1), lost=True),
        "what never happens: five in the hand, from the table": DecisionFilter(
            phase="up", held=(5, 5)
        ),
        "what never happens: a rank asked where anything may be played": DecisionFilter(
            demand="anything", asked="K"
        ),
    }


def measured(owner: str, alike: DecisionFilter, rounds: int) -> Iterator[tuple[str, int, float]]:
    """Yield each search with the decisions found, and the median of its milliseconds."""
    with closing(Database(owner, size=1)) as database:
        decisions = DecisionRepository(database)
        for name, wanted in searches(alike).items():
            times = []
            for _ in range(rounds + 1):
                since = time.perf_counter()
                found = decisions.find(wanted, before=None, limit=51)
                times.append(1000 * (time.perf_counter() - since))
            yield name, found.total, statistics.median(times[1:])


def page(options: argparse.Namespace) -> str:
    """Return the page of results of one run."""
    before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        postgres = EmbeddedPostgres(Path(folder) / "postgres")
        try:
            postgres.start()
            owner = postgres.url
            migrate(owner)
            total, alike = stored(owner, options.rows)
            with psycopg.connect(owner) as connection:
                sizes = "SELECT pg_total_relation_size('decisions'), pg_relation_size('decisions')"
                [(size, table)] = connection.execute(sizes).fetchall()
            rows = list(measured(owner, alike, options.rounds))
        finally:
            postgres.stop()
            shutil.rmtree(postgres.data.parent, ignore_errors=True)
    made = fill(
        f"Made by `python -m ops.bench.decisions --rows {options.rows} --write`: {total:,}"
        f" decisions on two cores, load {before:.1f} before the start and"
        f" {os.getloadavg()[0]:.1f} at the end. Medians of {options.rounds} calls with a page of"
        " 50, all in memory; the newest 10,000 are counted.",
        WIDTH,
    )
    lines = [f"| {name} | {found:,} | {ms:.1f} |" for name, found, ms in rows]
    slow = [name for name, _, ms in rows if ms > MOST_MS]
    each = size / total
    target = fill(
        f"Targets: each search below {MOST_MS} ms"
        f" ({'missed: ' + '; '.join(slow) if slow else 'reached'}), at most {MOST_BYTES} bytes a"
        f" decision ({'reached' if each <= MOST_BYTES else 'missed'}): {each:.0f} with indexes,"
        f" {table / total:.0f} of them in the table.",
        WIDTH,
    )
    head = "# Searches of many decisions"
    table_head = "| search | found | ms |\n| --- | --- | --- |"
    return "\n\n".join((head, made, "\n".join((table_head, *lines)), target)) + "\n"


def main() -> None:
    """Measure, print the page, and write it if it is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2_500_000)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--write", action="store_true", help="write the page of results")
    options = parser.parse_args()
    text = page(options)
    print(text)
    if options.write:
        write(PAGE, text)


if __name__ == "__main__":
    main()

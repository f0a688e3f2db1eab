"""
Counts of legal lines from fixed positions of every ruleset, with a checksum of their ends.

`python -m tests.rules.lines` writes tests/golden/lines.json. Its diff shows the rulesets and
positions that a change of the rules affects.
"""

from __future__ import annotations

import hashlib
import json
import random
import zlib
from pathlib import Path
from typing import Any

from service.domain.decide import decide
from service.domain.evolve import evolve
from service.domain.game import Game
from service.domain.legal import legal_moves
from service.domain.ruleset import Ruleset
from service.rulesets.catalogue import catalogue
from tests.rules.random_play import random_deal
from tests.rules.scenario import words
from tests.rules.tables import rules

GOLDEN = Path(__file__).parents[1] / "golden" / "lines.json"
DEPTH = 3
PLIES_APART = 6  # from one position to the next
MAX_POSITIONS = 12  # of a game
OPTIONS: dict[str, dict[str, Any]] = {
    "morehead-jokers": {"jokers": 2},
    "reverse-jokers": {"jokers": 2},
    "guarducci-7": {"joker": "7"},
}


def every_ruleset() -> dict[str, Ruleset]:
    """Return the counted rulesets by name, with the second hand of `reverse` and some options."""
    chosen = {name: rules(name) for name in catalogue()}
    chosen["reverse-second"] = rules("reverse", hand=2)
    for name, options in OPTIONS.items():
        chosen[name] = rules(name.rpartition("-")[0], **options)
    return dict(sorted(chosen.items()))


def lines_of(name: str, ruleset: Ruleset) -> list[dict[str, Any]]:
    """Return the counts for positions of one game: lines by length, and a checksum of all ends."""
    chance = random.Random(zlib.crc32(name.encode()))
    seats = max(ruleset.seats_min, min(3, ruleset.seats_max))
    game, _ = random_deal(ruleset, chance, seats)
    rows: list[dict[str, Any]] = []
    ply = 0
    while not game.over and len(rows) < MAX_POSITIONS:
        if ply % PLIES_APART == 0 and game.turn is not None:
            counts, ends = [0] * DEPTH, hashlib.sha256()
            _count(game, 0, counts, ends)
            rows.append({"ply": ply, "lines": counts, "ends": ends.hexdigest()[:16]})
        moves = sorted((words(m), m.seat, i) for i, m in enumerate(_moves(game)))
        _, _, index = moves[_pick(name, ply) % len(moves)]
        for event in decide(_moves(game)[index], game):
            game = evolve(game, event)
        ply += 1
    return rows


def counted() -> dict[str, list[dict[str, Any]]]:
    """Return the counts of all rulesets."""
    return {name: lines_of(name, ruleset) for name, ruleset in every_ruleset().items()}


def as_text(rulesets: dict[str, list[dict[str, Any]]]) -> str:
    """Return the counts as JSON, one position a line."""
    named = [
        json.dumps(name) + ": [\n" + ",\n".join(map(json.dumps, rows)) + "\n]"
        for name, rows in rulesets.items()
    ]
    return "{\n" + ",\n".join(named) + "\n}\n"


def _moves(game: Game) -> list[Any]:
    return [move for seat in range(len(game.seats)) for move in legal_moves(game, seat)]


def _pick(name: str, ply: int) -> int:
    return zlib.crc32(f"{name}/{ply}".encode())


def _count(game: Game, depth: int, counts: list[int], ends: Any) -> None:
    for move in _moves(game):
        after = game
        for event in decide(move, game):
            after = evolve(after, event)
        counts[depth] += 1
        if depth + 1 < DEPTH:
            _count(after, depth + 1, counts, ends)
        hands = [len(seat.hand) for seat in after.seats]
        places = [seat.place for seat in after.seats]
        played = [words(move), after.turn, after.direction, after.pile, hands, places]
        ends.update(json.dumps(played).encode())


if __name__ == "__main__":
    GOLDEN.write_text(as_text(counted()), "utf-8")

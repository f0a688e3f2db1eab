"""The permissions in `ops/authorization.md`, read as a matrix of callers and calls."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from tests.tamper import sample_lines

PAGE = Path(__file__).resolve().parents[2] / "ops" / "authorization.md"
TABLES = ("public", "private")
HANDS = ("running", "sealed", "open", "ruled", "new")
USUAL = ("running", "sealed")
"""The hands that `any` stands for; the other three are situations of single calls."""

NEVER_ISSUED = "0" * 43
"""A well-formed token, invite or code that was never issued."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """The expected status for one caller in one situation."""

    operation: str  # method and template of the path
    query: str
    table: str
    hand: str
    caller: str
    status: int


def cells(step: int = 1) -> list[Cell]:
    """
    Return every cell of the page, with `any` expanded.

    A call with `any` table and `any` hand and without an id of the situation in its path has the
    same answer in all situations, and so has every call with a dead token, which is looked up
    before anything else. Each caller makes these in every `step`-th situation, and the first of
    them differs from caller to caller.
    """
    found: list[Cell] = []
    callers: tuple[str, ...] = ()
    for row in _rows():
        if len(row) < 4:
            continue  # a row of the table of words
        if row[0] == "call":
            callers = tuple(row[3:])
            continue
        call, table, hand, *statuses = row
        assert len(statuses) == len(callers), f"{call}: not one cell for each caller"
        operation, _, query = call.partition("?")
        tables = TABLES if table == "any" else (table,)
        hands = USUAL if hand == "any" else (hand,)
        ids = set(re.findall(r"{(\w+_id)}", operation)) - ANYWHERE.keys()
        depends = table != "any" or hand != "any" or bool(ids)
        each = min(step, len(tables) * len(hands))
        for (number, (visibility, state)), (column, (caller, expected)) in itertools.product(
            enumerate(itertools.product(tables, hands)),
            enumerate(zip(callers, statuses, strict=True)),
        ):
            unchanged = not depends or (caller == "dead token" and expected == "401")
            if unchanged and (number + column) % each != 0:
                continue
            found.append(
                Cell(
                    operation=operation,
                    query=query,
                    table=visibility,
                    hand=state,
                    caller=caller,
                    status=int(expected),
                )
            )
    return found


def _rows() -> Iterator[list[str]]:
    """Yield the cells of each row of the page's tables, except of the lines below the heads."""
    for line in PAGE.read_text("utf-8").splitlines():
        if line.startswith("| ") and not re.fullmatch(r"[| :-]+", line):
            yield [part.strip(" `") for part in line.strip().strip("|").split("|")]


THIS_GAME = "{game_id}"
"""Stands in a body for the id of the hand."""

ACCUSATION = {"accused": None, "seq": 0, "charge": "altered_log", "statement": "It was not so."}

BODIES: dict[str, Any] = {
    "POST /v1/players": {"name": "Eve"},
    "PATCH /v1/players/me": {"name": "Eva"},
    "PUT /v1/players/me/handle": {"handle": "operator"},
    "POST /v1/players/me/tokens": {"name": "bot", "scopes": ["read"]},
    "PUT /v1/players/me/webhook": {"url": "https://bots.example/"},
    "POST /v1/players/me/moments": {
        "game": THIS_GAME,
        "version": 1,
        "as": "all",
        "list": "Endings",
        "text": "Look here.",
    },
    "PATCH /v1/players/me/moments": {"list": "Unknown", "to": "Ends"},
    "PATCH /v1/players/me/moments/{moment_id}": {"text": "Look there."},
    "POST /v1/players/me/recovery": {},
    "POST /v1/players/recover": {"recovery": NEVER_ISSUED},
    "POST /v1/rulesets": {"name": "x", "base": "leeds", "changes": {"no_such_setting": 1}},
    "POST /v1/tables": {"ruleset": "shithead", "seats": ["me", "open"]},
    "POST /v1/tables/{table_id}/seats": {},
    "PATCH /v1/tables/{table_id}/seats/me": {"entropy": "commit"},
    "POST /v1/tables/{table_id}/games": {},
    "POST /v1/challenges": {"player": "nobody-here", "ruleset": "shithead"},
    "POST /v1/challenges/{table_id}/accept": {},
    "POST /v1/seeks": {"rulesets": ["shithead"], "seats": 5},
    "POST /v1/games/{game_id}/moves": {"type": "ready"},
    "POST /v1/games/{game_id}/entropy": {"value": "00" * 32},
    "POST /v1/games/{game_id}/receipts": {"receipt": "no receipt"},
    "POST /v1/games/{game_id}/back": {},
    "PUT /v1/games/{game_id}/notes/{seq}": {"text": "Look.", "visibility": "dispute"},
    "POST /v1/games/{game_id}/what-if": {"at": 1, "as": "all", "moves": [], "then": None},
    "POST /v1/games/{game_id}/disputes": ACCUSATION,
    "POST /v1/verify": b"\n".join(sample_lines("shithead-aborted")),
    "POST /v1/disputes/{dispute_id}/statements": {"text": "So it was."},
    "POST /v1/disputes/{dispute_id}/receipts": {"receipt": "no receipt"},
    "POST /v1/disputes/{dispute_id}/referees": {},
    "POST /v1/disputes/{dispute_id}/votes": {"commit": "00" * 32},
    "POST /v1/disputes/{dispute_id}/appeal": {},
    "POST /v1/disputes/{dispute_id}/withdrawal": {},
}
"""The bodies of calls."""

REQUIRED_QUERIES: dict[str, str] = {
    "GET /v1/rulesets/{ruleset_id}/differences": "from=threes",
    "GET /v1/games/{game_id}/reasons": "cards=Th",
    "GET /v1/games/{game_id}/audit/knowledge": "seat=0",
    "GET /v1/statistics/blind-choices": "player={accused}",
    "GET /v1/log/proof": "game={published}",
    "GET /v1/ratings": "ruleset=leeds",
    "GET /v1/handles": "prefix=ada",
    "GET /v1/players": f"ids={UUID(int=0)}",
    "GET /v1/oembed": "url=http://{site}/replay/{game_id}",
}
"""Queries that a call requires; sent if the row names no query."""

ANYWHERE = {
    "token_id": "00000000-0000-4000-8000-000000000000",
    "moment_id": "00000000-0000-4000-8000-000000000000",
    "seek_id": "00000000-0000-4000-8000-000000000000",
    "ruleset_id": "leeds",
    "seq": "1",
    "card": "Th",
    "code": "malformed",
    "text": "shx-1.md",
    "package": "verify",
    "file": "integrity.py",
    "level": "0",
    "rest": "000.p/1",
    "build": "0123456789abcdef",
    "path": "style.css",
    "tag": "games",
    "example": "games.game.200.json",
}
"""Parts of paths that are the same in every situation."""

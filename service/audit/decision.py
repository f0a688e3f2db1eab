"""A decision: what a seat could see and do at one moment, what it did, what followed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from schemas.moves import move_json
from schemas.views import Facts, Json, view_json
from service.audit.clock import milliseconds
from service.audit.effects_cited import effects
from service.audit.not_legal import not_legal
from service.audit.story import Done, Story
from service.domain.commands import Move, Play, Seat
from service.domain.decide import decide
from service.domain.errors import CommandRefused
from service.domain.following import Known
from service.domain.game import Game
from service.domain.legal import legal_moves
from service.domain.view import ALL, Viewer, seen_by
from service.rulesets.citing import rules_allowing

Refused = Mapping[str, Any]
"""A refused move as it is kept: at, seat, move, rule."""


def decision(
    story: Story, seq: int, *, viewer: Viewer = ALL, refused: Iterable[Refused] = ()
) -> Json:
    """
    Return the decision that an event belongs to, as api.md, section 6, has it.

    Before the seal `viewer` is a seat, or None for the public, and what only the
    seat that moved may know is null for everybody else. A step of the server's,
    as the deal, has nobody who saw or chose anything.
    """
    done = story.done_at(seq)
    seat = done.seat
    own = seat is not None and done.first > 0 and viewer in (ALL, seat)
    known = story.known[max(done.first - 1, 0)]
    before = story.games[done.first - 1] if own and known is not Known.NOTHING else None
    legal = None
    if before is not None and seat is not None and known is Known.DECK:
        legal = _legal(before, seat, done.move)
    return {
        "game": story.log[0].fields["game"],
        "first": done.first,
        "last": done.last,
        "at": story.log[done.first].at,
        "seat": seat,
        "timed_out": done.timed_out,
        "saw": None if before is None or seat is None else _saw(story, before, seat, known),
        "legal": None if legal is None or before is None else _allowed(before, legal),
        "not_legal": None
        if legal is None or before is None or seat is None
        else _excluded(before, seat, legal, done),
        "did": None if done.move is None else move_json(done.move),
        "effects": effects(story, done),
        "milliseconds": None if known is Known.NOTHING else milliseconds(story, done),
        "refused": _attempts(story, done, refused) if own else None,
    }


def _saw(story: Story, before: Game, seat: Seat, known: Known) -> Json:
    """Return the view of the seat before it moved, as a replay shows it, as far as it is known."""
    viewer = seat if known is Known.DECK else None
    created = story.log[0].fields
    facts = Facts(
        id=created["game"],
        head=story.log[before.version - 1].head,
        ruleset_hash=created["data"]["ruleset_hash"],
    )
    return view_json(seen_by(before, viewer), viewer, facts)


def _legal(before: Game, seat: Seat, did: Move | None) -> tuple[Move, ...]:
    """
    Return the legal moves as they are listed to players, and the one made.

    The list lets one move stand for several alike (api.md, section 4) and leaves
    out forfeits, so what was done is added where the rules allow it unlisted.
    """
    listed = legal_moves(before, seat)
    if did is None or any(_alike(did, move) for move in listed):
        return listed
    try:
        decide(did, before)
    except CommandRefused:
        return listed
    return (*listed, did)


def _alike(one: Move, other: Move) -> bool:
    """Return whether two moves are the same up to the order of their cards."""
    if isinstance(one, Play) and isinstance(other, Play):
        return set(one.cards) == set(other.cards)
    return one == other


def _allowed(before: Game, legal: Iterable[Move]) -> list[Json]:
    return [
        {"move": move_json(move), "rules": list(rules_allowing(before, move))} for move in legal
    ]


def _excluded(before: Game, seat: Seat, legal: tuple[Move, ...], done: Done) -> list[Json]:
    if done.move is None:
        return []
    return [
        {"card": found.card, "rules": list(found.rules), "text": found.text}
        for found in not_legal(before, seat, legal)
    ]


def _attempts(story: Story, done: Done, refused: Iterable[Refused]) -> list[Json]:
    """Return what was refused to the seat after its move before this one."""
    if done.move is None:
        return []
    until, since = story.log[done.first].at, ""
    for earlier in story.done:
        if earlier.first >= done.first:
            break
        if earlier.seat == done.seat and earlier.move is not None:
            since = story.log[earlier.first].at
    return [
        {"at": row["at"], "move": row["move"], "rule": row["rule"]}
        for row in refused
        if row["seat"] == done.seat and since < row["at"] <= until
    ]

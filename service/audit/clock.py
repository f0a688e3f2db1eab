"""How long a seat took for its move."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from service.audit.story import Done, Story
from service.domain.asked import move_behind
from service.domain.commands import Seat
from service.domain.game import Game, Status
from service.record.times import parse_time

_MILLISECOND: Final = timedelta(milliseconds=1)


def milliseconds(story: Story, done: Done) -> int | None:
    """
    Return the time since the turn came to the seat of a move, as clocks count it.

    It came with the first event since which it lies with the seat, the seat's own
    action that left it the turn included; with the deal in the exchange, with the
    start of play at a first-come opening (SHX/1, section 8, legality). None where
    the turn was not the seat's, as for a follow-up.
    """
    if done.move is None or done.seat is None or not done.first:
        return None
    before = story.games[done.first - 1]
    if not _has_turn(before, done.seat):
        return None
    came = parse_time(story.log[_came(story, done.seat, done.first)].at)
    return (parse_time(story.log[done.first].at) - came) // _MILLISECOND


def _has_turn(game: Game, seat: Seat) -> bool:
    if game.status is Status.SWAPPING:
        return not game.seats[seat].ready
    if game.status is not Status.PLAYING:
        return False
    return game.turn == seat or (game.opening and game.turn is None)


def _came(story: Story, seat: Seat, first: int) -> int:
    """Return the seq of the event with which the turn came to `seat`."""
    for seq in range(first - 1, 0, -1):
        before, after = story.games[seq - 1], story.games[seq]
        if not _has_turn(before, seat) or before.status is not after.status:
            return seq
        action = move_behind(story.log[seq].event)
        if after.turn == seat and action is not None and action.seat == seat:
            return seq
    return 0

"""Group commit: moves that wait for the database are one statement, one transaction, one flush."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from typing import Any, Final, TypeAlias
from uuid import UUID

import psycopg

from service.store.database import Database, NotSent
from service.store.events import StoreUnavailable

PLACES: Final = 4
"""
Maximum number of statements with moves that a process runs at a time.

With one the processors are idle during a slow flush; with as many as there are connections fewer
moves wait, so groups are smaller (`ops/bench/results/group-commit.md`).
"""

LARGEST: Final = 64
"""Maximum number of moves in one statement."""

Returned: TypeAlias = dict[str, Any] | None
"""The result of `append_game_move`: the reason why it wrote nothing, or null."""


class _Move:
    """A move that waits: for its result, or as the first of `group` for its turn to send it."""

    __slots__ = ("arguments", "error", "group", "returned", "woken")

    def __init__(self, arguments: tuple[Any, ...]) -> None:
        self.arguments = arguments
        self.returned: Returned = None
        # Until it is known what became of it: the caller then reads whether it was written.
        self.error: Exception | None = StoreUnavailable("the group of the move failed")
        self.group: list[_Move] = []
        self.woken = threading.Lock()
        self.woken.acquire()

    @property
    def game(self) -> UUID:
        """Return the stream of the move."""
        game: UUID = self.arguments[1]
        return game


class GroupedMoves:
    """
    The moves that a process writes, each by `append_game_move`.

    A move that finds a free place is sent at once and alone. The others wait for a place; the
    thread whose move is the first of them then sends all of them as one statement. If the database
    raises an error for a group nothing of it is written, and each move is sent again by itself. If
    the connection breaks, each caller finds out by itself whether its move was written.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._free = min(PLACES, database.size)
        self._waiting = deque[_Move]()  # empty while a place is free
        self._lock = threading.Lock()

    def append(self, *arguments: Any) -> Returned:
        """
        Return what `append_game_move` returns for these arguments.

        Raises the errors of `Database.change`, NotSent also if no place becomes free in time.
        """
        move = _Move(arguments)
        with self._lock:
            if self._free > 0:
                self._free -= 1
                move.group = [move]
            else:
                self._database.begin_to_wait()
                self._waiting.append(move)
        if not move.group:
            try:
                self._wait(move)
            finally:
                self._database.end_to_wait()
        if move.group:
            self._lead(move.group)
        if move.error is not None:
            raise move.error
        return move.returned

    def _wait(self, move: _Move) -> None:
        """Wait until a move was sent by another thread, or leads a group; raises NotSent."""
        if move.woken.acquire(timeout=self._database.connection_seconds):
            return
        with self._lock:
            if move in self._waiting:
                self._waiting.remove(move)
                self._database.mark_slow()
                raise NotSent("no place for a move")
        move.woken.acquire()  # it is being sent, and statements have a time limit

    def _lead(self, group: list[_Move]) -> None:
        """Send a group from the thread of its first move, then pass the place on."""
        try:
            self._send(group)
        finally:
            with self._lock:
                size = min(len(self._waiting), LARGEST)
                following = [self._waiting.popleft() for _ in range(size)]
                self._free += not following
            if following:
                following[0].group = following
                following[0].woken.release()
            for move in group[1:]:
                move.woken.release()

    def _send(self, group: Sequence[_Move]) -> None:
        """Send moves, together if possible; each has its result or its error afterwards."""
        if len(group) > 1 and self._sent_together(group):
            return
        for move in group:
            try:
                rows = self._database.change("append_game_move", *move.arguments)
                move.returned, move.error = rows[0][0], None
            except Exception as error:  # noqa: BLE001 - raised in the thread of the move
                move.error = error

    def _sent_together(self, group: Sequence[_Move]) -> bool:
        """Return whether the moves of a group have their results, or the error of all."""
        # In one order, because another process may write moves of the same games.
        moves = sorted(group, key=lambda move: move.game.bytes)
        columns = zip(*(move.arguments for move in moves), strict=True)
        try:
            rows = self._database.change("append_game_moves", *map(list, columns))
        except psycopg.Error:
            return False
        except StoreUnavailable as error:
            for move in moves:
                move.error = type(error)(*error.args)
                move.error.__cause__ = error.__cause__
        else:
            for move, (returned,) in zip(moves, rows, strict=True):
                move.returned, move.error = returned, None
        return True

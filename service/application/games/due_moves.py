"""Due moves: turns of bots, time-outs, missing entropy and abandoned games."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from msgspec.structs import replace

from schemas.moves import move_json, move_of
from service.application.games.cache import GameCache, Names
from service.application.games.entropy import missing_entropy
from service.application.games.entry import GameEntry
from service.application.games.moves import Moves
from service.application.games.queries import present_view
from service.application.games.record import GameRecord
from service.application.games.schedule import (
    BeginTurn,
    IdleGames,
    Rest,
    Wake,
    WakeKind,
    clock_wake,
    next_wake,
    no_padding,
    played_by_bot,
    stands_in,
    turn_intervals,
)
from service.application.ports import World
from service.bots.bot import MAX_SWAPS, bot_rng, with_settings
from service.bots.registry import bots
from service.domain.commands import Command, Move, Ready, Seat, TimeOut
from service.domain.game import Game, Status
from service.domain.legal import default_opener, idle_end, legal_moves, may_act
from service.runtime import tracing
from service.runtime.telemetry import TURNS
from service.runtime.tracing import Attribute, SpanName
from service.shx.canonical import parse_time
from service.store.events import StreamConflict
from service.store.games import GameRepository

STAND_IN = "lowest"
"""The bot that plays for a person who timed out repeatedly."""

MAX_MOVES = 200
"""Maximum number of moves of one job; another job makes the remaining ones."""

SEARCH_SECONDS = 2.0
"""Time limit of one job at a table with a bot that searches, so that other jobs wait less."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turns:
    """
    Makes the moves that are due.

    A run may be repeated, delayed or concurrent: if the game has passed the version of the
    call, nothing happens.
    """

    game_cache: GameCache
    moves: Moves
    names: Names
    directory: GameRepository
    world: World
    idle: IdleGames
    bot_secret: bytes = field(repr=False)
    begin_turn: BeginTurn = no_padding
    seconds: float = 20.0

    def play_due_moves(
        self,
        game: UUID,
        version: int,
        *,
        searching: bool = True,
        stopping: Callable[[], bool] = lambda: False,
        step: Callable[[], None] = lambda: None,
    ) -> str:
        """
        Make the moves that are due in a game from `version` on; return the outcome.

        `stale`: the game is past `version`. `waits`: a person must act, or a deadline must pass.
        `over`: the hand is over. `again`: more moves are due, for another job, because this one has
        taken long or is `stopping`. `searches`: the table has a bot that searches, and `searching`
        is false: another process makes the move.
        `step` is called before each commit, so that tests can interrupt there.
        """
        entry = self.game_cache.fresh(game)
        if entry is None or entry.record.version != version:
            return "stale"
        searches = _bot_intervals(entry.record.game) > 1
        if searches and not searching:
            return "searches"
        until = time.monotonic() + (SEARCH_SECONDS if searches else self.seconds)
        for _ in range(MAX_MOVES):
            if entry.record.sealed:
                return "over"
            if time.monotonic() > until or stopping():
                return "again"
            step()
            try:
                after = self.once(entry)
            except StreamConflict:
                return "stale"
            if after is None:
                return "waits"
            entry = after
        return "again"

    def once(self, entry: GameEntry) -> GameEntry | None:
        """
        Make one due move and return the game after it; None if no move is due.

        The time of a bot's move is padded to a constant length that begins before any hidden
        card is read, because even whether the bot may act depends on its cards. Raises
        StreamConflict if the game has moved on.
        """
        with tracing.span(SpanName.DUE_MOVE) as span:
            after = self._made(entry)
            if after is None:
                span.discard()  # its length is not padded and would reveal hidden cards
            return after

    def _made(self, entry: GameEntry) -> GameEntry | None:
        decision = tracing.span(SpanName.DECISION)  # exported once its interval has passed
        rest = (
            self.begin_turn(_intervals(entry.record.game)) if _has_people(entry) else no_padding()
        )
        rest = decision.ends_after(rest)
        wake = next_wake(
            entry.record,
            window_seconds=entry.window_seconds,
            back=entry.returned_seats,
            able_since=entry.able_since,
        )
        follow_up = self._follow_up(entry)
        if follow_up is not None:
            after = self.moves.server_move(entry, self._chosen(entry, follow_up), rest=rest)
            _count(WakeKind.BOT.value)
            return after
        # The last event has happened, also if its time is ahead of this machine's clock.
        now = max(self.world.now(), parse_time(entry.record.at))
        if wake is None or wake.at > now:
            self._postpone(entry, wake)
            return self._closed_if_idle(entry)
        done = self._due(entry, wake, rest)
        if done is not None:
            _count(wake.kind.value)
        return done

    def _postpone(self, entry: GameEntry, wake: Wake | None) -> None:
        """Set the time of an action in the game's row if an outage has made it later."""
        if wake is None or entry.able_since is None:
            return
        window = entry.window_seconds
        stored = next_wake(entry.record, window_seconds=window, back=entry.returned_seats)
        if stored is not None and stored.at < wake.at:
            self._set_next(entry.record, wake)

    def _set_next(self, record: GameRecord, wake: Wake | None) -> None:
        self.directory.set_next_action(
            record.identity,
            version=record.version,
            wake_kind=wake.kind.value if wake else None,
            wake_at=wake.at if wake else None,
        )

    def _closed_if_idle(self, entry: GameEntry) -> GameEntry | None:
        """Close an abandoned game and return it; return None if it may continue to wait."""
        if not self.idle.is_idle(entry.record, able_since=entry.able_since):
            return None
        _count("idle")
        return self.moves.apply(entry, (idle_end(entry.record.game),))

    def _due(self, entry: GameEntry, wake: Wake, rest: Rest) -> GameEntry | None:
        match wake.kind:
            case WakeKind.ENTROPY:
                return self.moves.apply(entry, (missing_entropy(entry.record.game),))
            case WakeKind.TIME_OUT:
                return self.moves.server_move(entry, TimeOut(seat=self._overdue_seat(entry)))
            case WakeKind.BOT:
                seat = self._acting(entry)
                if seat is None:
                    return self._no_bot_opens(entry)
                return self.moves.server_move(entry, self._chosen(entry, seat), rest=rest)

    def _no_bot_opens(self, entry: GameEntry) -> GameEntry | None:
        """
        Time out the opening, which no bot may make, if its deadline has passed; else wait.

        The next action in the game's row is updated only now, when it is public that no bot has
        opened.
        """
        clock, record = clock_wake(entry.record, able_since=entry.able_since), entry.record
        if clock is not None and clock.at <= self.world.now():
            return self.moves.server_move(entry, TimeOut(seat=self._overdue_seat(entry)))
        self._set_next(record, clock)
        return self._closed_if_idle(entry)

    def _acting(self, entry: GameEntry) -> Seat | None:
        """Return the bot's seat that acts now; of several, the first left of the dealer."""
        game = entry.record.game
        count, dealer = len(game.seats), game.dealer or 0
        for seat in ((dealer + n) % count for n in range(1, count + 1)):
            on_turn = game.turn in (None, seat) or game.status is Status.SWAPPING
            is_bot = played_by_bot(game, seat, back=entry.returned_seats)
            if on_turn and is_bot and may_act(game, seat):
                return seat
        return None

    def _follow_up(self, entry: GameEntry) -> Seat | None:
        """Return the bot that has just played and may follow up its play out of turn (S4)."""
        game = entry.record.game
        last = game.last_play
        if last is None or game.status is not Status.PLAYING or game.turn in (None, last.seat):
            return None
        own = game.setup.seats[last.seat].kind == "bot"
        return last.seat if own and may_act(game, last.seat) else None

    def _overdue_seat(self, entry: GameEntry) -> Seat:
        game = entry.record.game
        if game.status is Status.SWAPPING:
            return next(s for s, seat in enumerate(game.seats) if not seat.ready)
        return default_opener(game) if game.turn is None else game.turn

    def _chosen(self, entry: GameEntry, seat: Seat) -> Command:
        """Return the command of a seat's bot; it sees only the seat's view and legal moves."""
        record = entry.record
        stand_in = stands_in(record.game, seat, back=entry.returned_seats)
        name = STAND_IN if stand_in else record.game.setup.seats[seat].bot
        view = with_settings(
            present_view(replace(entry, players=(None,) * len(entry.players)), seat, self.names),
            record.created["ruleset"]["settings"],
        )
        rng = bot_rng(self.bot_secret, str(record.identity), record.version)
        legal = legal_moves(record.game, seat)
        chosen: dict[str, Any] = bots()[name or STAND_IN].choose(
            view, [move_json(move) for move in legal], rng
        )
        move = self._limited(entry, seat, move_of(chosen, seat), legal)
        return TimeOut(seat=seat, move=move) if stand_in else move

    def _limited(self, entry: GameEntry, seat: Seat, move: Move, legal: tuple[Move, ...]) -> Move:
        """Return the bot's move, or `Ready` after too many swaps."""
        if entry.record.game.status is not Status.SWAPPING:
            return move
        swaps = entry.record.swaps.get(seat, 0)
        ready = Ready(seat=seat)
        return ready if swaps >= MAX_SWAPS and ready in legal else move


def _count(kind: str) -> None:
    """Count a due move, and state its kind in its trace."""
    TURNS.labels(kind).inc()
    tracing.note(Attribute.DUE, kind)


def _intervals(game: Game) -> int:
    """Return the padded length, in intervals, of a bot's turn in a game."""
    return turn_intervals(game, _bot_intervals(game))


def _bot_intervals(game: Game) -> int:
    """
    Return the intervals of the slowest bot of a table.

    All bots of the table use them, because at a first-come opening not even the seat that acts is
    public.
    """
    seated = (bots().get(seat.bot or "") for seat in game.setup.seats)
    return max((bot.turn_intervals for bot in seated if bot is not None), default=1)


def _has_people(entry: GameEntry) -> bool:
    """Return whether people play: they could infer a bot's cards from its thinking time."""
    return any(player is not None for player in entry.players)

"""Games: their moves, and the sweeps that find due, stuck and abandoned ones."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Final
from uuid import UUID

from schemas.notices import NoticeType
from service.api.events import events, replay, stream
from service.api.games import games
from service.application.games.absences import AWAY_SECONDS
from service.application.games.schedule import IDLE_DAYS, INTERVAL_SECONDS
from service.application.operations import MAX_STUCK, stuck_games
from service.application.quotas import MAX_SWAPS, Bound, Slice, bounds
from service.bootstrap import Services
from service.due_games import WakeUp
from service.feature import Feature, Job, JobContext, Sweep, Work
from service.features.due_turns import DueTurns
from service.features.sweeping import HOUR, Woken
from service.job_queue import SEARCH_QUEUE, TAKE_DUE_TURNS, TAKE_TURN
from service.runtime import tracing
from service.runtime.telemetry import CONFLICTS, JOBS, MOVES, STUCK, SWEEPER_LAG, TURNS
from service.store.events import QuotaKind
from service.store.games import MAX_REFUSALS, IdleGame

STUCK_AFTER: Final = timedelta(seconds=60)
"""How long a game is overdue until it counts as stuck, as in `shithead admin stuck`."""


def due_games(services: Services) -> Work:
    """Wake a worker for each due game that was not woken recently, and again if none came."""
    woken = Woken()

    def work(part: Slice) -> int:
        services.availability.note()  # first: an outage makes the deadlines of games later
        now, count = services.world.now(), 0
        # The games woken recently are the oldest and come first: read enough rows to get others.
        due = services.directory.due_games(now=now, limit=part.rows + woken.forget_old())
        SWEEPER_LAG.set((now - due[0].at).total_seconds() if due else 0)
        for game in due:
            if part.is_over(count):
                break
            if woken.is_new(game.id, game.version, game.at):
                if services.notifier.wake(game.id, game.version):
                    count += 1
                else:  # a worker plays it, unless it was killed: then its lease expires
                    woken.forget(game.id, game.version, game.at)
        services.notifier.wake_again()
        return count

    return work


def stuck(services: Services) -> Work:
    """Count stuck games."""

    def work(_part: Slice) -> int:
        before = services.world.now() - STUCK_AFTER
        STUCK.set(len(stuck_games(services.directory, services.keyring.present, before=before)))
        return 0

    return work


def idle_games(services: Services) -> Work:
    """
    Wake workers to close abandoned games.

    Each slice continues after the previous one, and starts over at the end; otherwise games that
    cannot be closed would hide all others.
    """
    last: list[IdleGame] = []

    def work(part: Slice) -> int:
        idle = services.idle.found(limit=part.rows, beyond=last[-1] if last else None)
        for game in idle:
            services.notifier.wake(game.id, game.version)
        last[:] = idle[-1:] if len(idle) == part.rows else []
        return len(idle)

    return work


def take_turn(work: JobContext, game_id: str, version: int) -> str:
    """
    Make the moves that are due at `version` of a game, and those of bots that follow.

    Returns the outcome, as `Turns.play_due_moves`. Safe to run twice, late or concurrently: the
    second run finds the game past `version` and does nothing. The job has no arguments but the
    game's id and version.
    """
    game = UUID(game_id)
    return played(work, game, version, lambda: False)


def played(work: JobContext, game: UUID, version: int, stopping: Callable[[], bool]) -> str:
    """
    Play the due moves of a game, and wake another worker if more are due; return the outcome.

    If a bot of the table searches, the main queue only enqueues a job in SEARCH_QUEUE.
    """
    services, searching = work.services(), work.queue == SEARCH_QUEUE
    outcome = services.turns.play_due_moves(game, version, searching=searching, stopping=stopping)
    JOBS.labels(outcome).inc()
    if outcome == "searches":
        services.notifier.wake(game, version, searches=True)
    if outcome == "again":
        services.wake(game)
    return outcome


def _play_due(work: JobContext, found: WakeUp, stopping: Callable[[], bool]) -> None:
    with tracing.job_span("take_turn", work.queue, found.trace, unit=INTERVAL_SECONDS) as span:
        try:
            played(work, found.game, found.version, stopping)
        except Exception:
            span.fail("failed")
            raise


DUE_TURNS: Final = DueTurns(_play_due)
"""The threads of this process in which due games are played."""

DUE_GAMES: Final = Sweep(
    name="due games", period=0, seconds=2, rows=200, longest_pause=1, begin=due_games
)
"""The first of each round."""

GAMES: Final = Feature(
    name="games",
    operations=(games, events, stream, replay),
    jobs=(Job(kind=TAKE_TURN, run=take_turn), Job(kind=TAKE_DUE_TURNS, run=DUE_TURNS.serve)),
    sweeps=(
        DUE_GAMES,
        Sweep(name="stuck", period=60, seconds=1, rows=MAX_STUCK, longest_pause=HOUR, begin=stuck),
        Sweep(name="idle", period=60, seconds=1, rows=200, longest_pause=HOUR, begin=idle_games),
    ),
    notices=(NoticeType.YOUR_TURN, NoticeType.TURN_OVER, NoticeType.GAME_MOVED),
    metrics=(MOVES, CONFLICTS, TURNS, JOBS, STUCK, SWEEPER_LAG),
    quotas={
        **bounds(QuotaKind.GAMES),
        "swaps": Bound(of="seat and hand", most=MAX_SWAPS, counts="exchanges of cards"),
        "refused_attempts": Bound(
            of="seat and hand",
            most=MAX_REFUSALS,
            counts="refused moves; later ones are not recorded",
            problem=None,
        ),
    },
    settings=(IDLE_DAYS, AWAY_SECONDS),
)

"""Composition root: builds the services from their ports, or from the settings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from uuid import UUID

from redis import Redis

from service.application.access import AccessLog
from service.application.availability import AlwaysAvailable, Availability
from service.application.disputes.commands import DisputeCommands, DisputeOpening
from service.application.disputes.disputes import Disputes
from service.application.disputes.files import DisputeFiles
from service.application.disputes.findings import DisputeJobs
from service.application.games.audits import Auditing
from service.application.games.cache import GameCache, Histories, Names
from service.application.games.due_moves import Turns
from service.application.games.entropy import EntropyCalls
from service.application.games.evidence import Evidence, Verifying
from service.application.games.moves import Moves
from service.application.games.queries import Games, Lists
from service.application.games.refused_moves import Refusals
from service.application.games.schedule import BeginTurn, ConstantTime, IdleGames, no_padding
from service.application.games.uploads import Work, answer_here, within
from service.application.handler import Handler
from service.application.idempotency import Answers
from service.application.players import Players
from service.application.ports import Doubt, NoNotifier, Notifier, RealWorld, World, no_doubt
from service.application.request import RequestReads
from service.application.retention import (
    DEFAULT_RETENTION,
    Erasures,
    Purging,
    Retention,
    retention_of,
)
from service.application.rulesets import Rulebook, Rulemaking, RulesetPages, Trials
from service.application.signing import (
    Receipts,
    listed_keys,
    listed_retirements,
    signers_at,
    verifiers_of,
)
from service.application.statistics import Statistics
from service.application.tables.commands import TableChanges
from service.application.tables.tables import StandIns, Tables
from service.application.tables.view import KeyChanges
from service.domain.dispute import Periods
from service.job_queue import NO_TRIALS, QueuedTrials, RedisNotifier, connect
from service.keys import KeyFile, Keyring, KeyringError, Keys
from service.public_log.log import LogStore, PublicLog
from service.public_log.sequencer import Sequencer, SignedCheckpoints, signed_checkpoints
from service.public_log.witness_client import RemoteWitness, parse_witnesses
from service.runtime.config import Settings
from service.shx.event_shapes import LATEST
from service.shx.tlog.notes import NoteVerifier
from service.startup_checks import ALWAYS_READY, ClockWatch, Readiness, check_clock
from service.store.archive import Bundles
from service.store.database import Database
from service.store.directory import Directory
from service.store.events import EventStore
from service.store.lookups import Lookups, PostgresLookups, SeparateLookups
from service.store.migrate import check as check_migrated
from service.store.postgres_events import PostgresStore
from service.store.public_log import PostgresLog
from service.store.replica import database_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """All use cases of the service, built once in a process."""

    store: EventStore
    directory: Directory
    world: World
    notifier: Notifier
    idle: IdleGames
    keyring: Keys
    origin: str
    answers: Answers
    first_reads: RequestReads
    game_cache: GameCache
    players: Players
    tables: Tables
    key_changes: KeyChanges
    games: Games
    moves: Moves
    entropy: EntropyCalls
    evidence: Evidence
    log: PublicLog
    sequencer: Sequencer
    disputes: Disputes
    dispute_jobs: DisputeJobs
    statistics: Statistics
    verifying: Verifying
    auditing: Auditing
    turns: Turns
    rulebook: Rulebook
    ruleset_pages: RulesetPages
    rulemaking: Rulemaking
    lists: Lists
    stand_ins: StandIns
    purging: Purging
    erasures: Erasures
    readiness: Readiness
    availability: Availability
    close: Callable[[], None]

    def wake(self, game: UUID) -> None:
        """Publish a game's present version, and enqueue a job that plays its due moves."""
        entry = self.game_cache.fresh(game)
        if entry is not None:
            self.notifier.moved(game, entry.record.version, wake=True)

    def keys(self) -> list[dict[str, str | None]]:
        """Return the published keys that receipts are signed with, newest first."""
        return listed_keys(self.keyring.present, self.origin)

    def retirements(self) -> list[dict[str, str]]:
        """Return the signed retirements of old keys."""
        return listed_retirements(self.keyring.present, self.origin)

    @property
    def verifier(self) -> NoteVerifier:
        """Return the verifier of the present key."""
        return verifiers_of(self.keyring.present, self.origin)[0]


def compose(
    *,
    store: EventStore,
    directory: Directory,
    log_store: LogStore,
    lookups: Lookups | None = None,
    keyring: Keys,
    origin: str,
    world: World | None = None,
    notifier: Notifier | None = None,
    readiness: Readiness = ALWAYS_READY,
    trials: Trials = NO_TRIALS,
    begin_turn: BeginTurn = no_padding,
    witnesses: Sequence[RemoteWitness] = (),
    witness_quorum: int = 0,
    retention: Retention = DEFAULT_RETENTION,
    periods: Periods = Periods(),  # noqa: B008 - a frozen value, the defaults of the settings
    ask_findings: Callable[[UUID], None] = lambda _dispute: None,
    idle_after: timedelta | None = None,
    clock_doubt: Doubt = no_doubt,
    availability: Availability | None = None,
    erasure_list: Path | None = None,
    signed: SignedCheckpoints | None = None,
    record_version: int = LATEST,
    verify: Work = answer_here,
    close: Callable[[], None] = lambda: None,
) -> Services:
    """Return the services that use these stores; tests pass their own world and notifier."""
    world, notifier = world or RealWorld(), notifier or NoNotifier()
    rulebook = Rulebook(directory)
    combined = lookups or SeparateLookups(store, directory)
    availability = availability or AlwaysAvailable()
    game_cache = GameCache(
        store, directory, combined, keyring, rulebook, able_since=availability.since
    )
    histories = Histories(game_cache)
    names, receipts = Names(directory), Receipts(origin, keyring)
    answers = Answers(
        store=store,
        keyring=keyring,
        game_cache=game_cache,
        histories=histories,
        names=names,
        receipts=receipts,
    )
    handler = Handler(store, answers)
    refusals = Refusals(store, directory, keyring, rulebook, world)
    access_log = AccessLog(directory, world)
    games = Games(
        store=store,
        game_cache=game_cache,
        histories=histories,
        receipts=receipts,
        names=names,
        access_log=access_log,
    )
    log = PublicLog(log_store)
    idle = IdleGames(directory=directory, now=world.now, after=idle_after, clock_doubt=clock_doubt)
    files = DisputeFiles(
        store=store,
        directory=directory,
        keyring=keyring,
        game_cache=game_cache,
        refusals=refusals,
        log=log,
        world=world,
    )
    commands = DisputeCommands(
        directory=directory,
        games=games,
        files=files,
        handler=handler,
        keyring=keyring,
        world=world,
    )
    dispute_jobs = DisputeJobs(
        handler=handler,
        directory=directory,
        game_cache=game_cache,
        files=files,
        keyring=keyring,
        rulebook=rulebook,
        server_keys=lambda: verifiers_of(keyring.present, origin),
        witnesses=tuple(witness.verifier for witness in witnesses),
        world=world,
    )
    opening = DisputeOpening(
        store=store,
        directory=directory,
        game_cache=game_cache,
        games=games,
        files=files,
        commands=commands,
        handler=handler,
        periods=periods,
        world=world,
        settle=dispute_jobs.settle,
    )
    moves = Moves(
        handler=handler,
        store=store,
        game_cache=game_cache,
        receipts=receipts,
        refusals=refusals,
        names=names,
        world=world,
        notifier=notifier,
    )
    tables = Tables(
        handler=handler,
        changes=TableChanges(
            store=store,
            directory=directory,
            game_cache=game_cache,
            keyring=keyring,
            names=names,
            rulebook=rulebook,
            world=world,
            notifier=notifier,
            record_version=record_version,
        ),
        directory=directory,
        names=names,
        access_log=access_log,
    )
    return Services(
        store=store,
        directory=directory,
        world=world,
        notifier=notifier,
        idle=idle,
        keyring=keyring,
        origin=origin,
        answers=answers,
        first_reads=RequestReads(combined, game_cache, names, answers, defers=lookups is not None),
        game_cache=game_cache,
        players=Players(
            directory=directory,
            game_cache=game_cache,
            tables=tables,
            names=names,
            world=world,
            settle_disputes=dispute_jobs.settle_about,
        ),
        tables=tables,
        key_changes=KeyChanges(store, directory, access_log),
        games=games,
        moves=moves,
        entropy=EntropyCalls(moves),
        evidence=Evidence(
            game_cache=game_cache,
            games=games,
            refusals=refusals,
            dispute_files=files.of_game,
            log=log,
            access_log=access_log,
        ),
        log=log,
        sequencer=Sequencer(
            store=log_store,
            origin=origin,
            signers=lambda now: signers_at(keyring.present, origin, now),
            now=world.now,
            witnesses=witnesses,
            quorum=witness_quorum,
            checkpoints=signed,
            own_keys=lambda: verifiers_of(keyring.present, origin),
        ),
        disputes=Disputes(
            store=store,
            directory=directory,
            game_cache=game_cache,
            games=games,
            opening=opening,
            commands=commands,
            access_log=access_log,
            world=world,
            request_findings=ask_findings,
            server_keys=lambda: verifiers_of(keyring.present, origin),
        ),
        statistics=Statistics(
            directory=directory, game_cache=game_cache, access_log=access_log, now=world.now
        ),
        dispute_jobs=dispute_jobs,
        verifying=Verifying(
            game_cache=game_cache,
            games=games,
            refusals=refusals,
            log=log,
            server_keys=lambda: verifiers_of(keyring.present, origin),
            witnesses=tuple(witness.verifier for witness in witnesses),
            work=verify,
        ),
        auditing=Auditing(
            histories=histories,
            games=games,
            refusals=refusals,
            directory=directory,
            access_log=access_log,
        ),
        turns=Turns(
            game_cache=game_cache,
            moves=moves,
            names=names,
            directory=directory,
            world=world,
            idle=idle,
            bot_secret=keyring.present.bot_secret,
            begin_turn=begin_turn,
        ),
        rulebook=rulebook,
        ruleset_pages=RulesetPages(rulebook),
        rulemaking=Rulemaking(
            directory=directory, rulebook=rulebook, trials=trials, world=world, handler=handler
        ),
        lists=Lists(directory=directory, game_cache=game_cache, names=names, access_log=access_log),
        stand_ins=StandIns(
            handler=handler, game_cache=game_cache, directory=directory, names=names
        ),
        purging=Purging(
            store=store,
            directory=directory,
            world=world,
            retention=retention,
            clock_doubt=clock_doubt,
        ),
        erasures=Erasures(directory, erasure_list, now=world.now),
        readiness=readiness,
        availability=availability,
        close=close,
    )


def services_from(settings: Settings, *, most_waiting: int | None = None) -> Services:
    """
    Return the services of the settings; connections are opened at their first use.

    At most `most_waiting` threads at a time wait for a connection to the database, None for no
    limit.

    Raises KeyringError if no keys are set or they cannot be read, and RecordError for an invalid
    witness.
    """
    database = database_of(settings, most_waiting=most_waiting)
    redis = connect(settings.redis_url, seconds=1.0) if settings.redis_url else None
    notifier = RedisNotifier(connect(settings.redis_url)) if settings.redis_url else None
    keyring = _keyring(settings)
    watch = ClockWatch(clocks=lambda: _clocks(database), now=RealWorld().now)
    store = PostgresStore(database, Bundles(settings.archive))
    directory = Directory(database)
    return compose(
        store=store,
        lookups=PostgresLookups(database, store),
        directory=directory,
        keyring=keyring,
        origin=settings.origin,
        notifier=notifier,
        availability=Availability(directory),
        ask_findings=notifier.request_findings if notifier else lambda _dispute: None,
        readiness=_readiness(settings, database, keyring, redis),
        trials=QueuedTrials(redis),
        begin_turn=ConstantTime().begin,
        log_store=PostgresLog(database),
        witnesses=parse_witnesses(settings.witnesses or ""),
        retention=retention_of(settings),
        clock_doubt=watch.doubt,
        erasure_list=settings.erasure_list,
        periods=periods_of(settings),
        idle_after=timedelta(days=settings.idle_days) if settings.idle_days else None,
        witness_quorum=settings.witness_quorum,
        signed=signed_checkpoints(settings.key_file, settings.log_checkpoint),
        verify=within(settings.verify_seconds),
        record_version=settings.record_version,
        close=database.close,
    )


def _readiness(
    settings: Settings, database: Database, keyring: Keyring | KeyFile, redis: Redis | None
) -> Readiness:
    return Readiness(
        needed={
            "database": database.reach,
            "migrations": lambda: check_migrated(settings.database_url),
            "keys": keyring.check if isinstance(keyring, KeyFile) else lambda: None,
        },
        wanted={
            "redis": lambda: _check_redis(redis),
            "clock": lambda: check_clock(database),
        },
    )


def _clocks(database: Database) -> tuple[datetime, datetime | None]:
    [(of_database, newest)] = database.fetch("clocks")
    return of_database, newest


def periods_of(settings: Settings) -> Periods:
    """Return the periods and requirements of new disputes from the settings."""
    return Periods(
        referee_hands=settings.referee_hands,
        referee_account_seconds=settings.referee_account_seconds,
        referee_seated_seconds=settings.referee_seated_seconds,
        vote_seconds=settings.vote_seconds,
        appeal_seconds=settings.appeal_seconds,
        dispute_seconds=settings.dispute_seconds,
    )


def _keyring(settings: Settings) -> Keyring | KeyFile:
    if settings.keys is not None:
        return Keyring.from_text(settings.keys)
    if settings.key_file is None:
        raise KeyringError("neither SHITHEAD_KEY_FILE nor SHITHEAD_KEYS is set")
    return KeyFile(settings.key_file)


def _check_redis(redis: Redis | None) -> None:
    """Raise ConnectionError if Redis is not configured, RedisError if it does not answer."""
    if redis is None:
        raise ConnectionError("SHITHEAD_REDIS_URL is not set")
    redis.ping()

"""Composition root: builds the services from their ports, or from the settings."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final
from uuid import UUID

from redis import Redis

from service.application.access import AccessLog
from service.application.availability import AlwaysAvailable, Availability
from service.application.disputes.collusion import Collusion, Comparisons
from service.application.disputes.commands import DisputeCommands, DisputeOpening
from service.application.disputes.disputes import Disputes, periods_of
from service.application.disputes.files import DisputeFiles
from service.application.disputes.findings import DisputeJobs
from service.application.dumps import Dumps
from service.application.games.audits import Auditing
from service.application.games.cache import GameCache, Histories, Names
from service.application.games.due_moves import Turns
from service.application.games.entropy import EntropyCalls
from service.application.games.event_notes import EventNotes
from service.application.games.evidence import Evidence, Verifying
from service.application.games.hands import Hands
from service.application.games.lost_moves import LostMoves
from service.application.games.moves import Moves
from service.application.games.queries import Games, Lists
from service.application.games.refused_moves import Refusals
from service.application.games.schedule import (
    IDLE_DAYS,
    BeginTurn,
    ConstantTime,
    IdleGames,
    no_padding,
)
from service.application.games.uploads import Work, answer_here, within
from service.application.games.what_if import WhatIf
from service.application.handler import Handler
from service.application.idempotency import Answers
from service.application.notices import Notices
from service.application.players import Players
from service.application.ports import Doubt, NoNotifier, Notifier, RealWorld, World, no_doubt
from service.application.ratings import Ratings
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
from service.application.tables.invitations import Invitations
from service.application.tables.matching import Matchmaker
from service.application.tables.seeks import Seeks
from service.application.tables.tables import StandIns, Tables
from service.application.tables.view import KeyChanges
from service.application.tokens import Tokens
from service.application.webhooks import Webhooks
from service.domain.dispute import Periods
from service.job_queue import (
    NO_COMPARISONS,
    NO_TRIALS,
    QueuedComparisons,
    QueuedTrials,
    RedisNotifier,
    connect,
)
from service.keys import KeyFile, Keyring, KeyringError, Keys
from service.public_log.log import LogStore, PublicLog
from service.public_log.sequencer import ArchivedWal, Sequencer
from service.public_log.signed_checkpoints import SignedCheckpoints, signed_checkpoints
from service.public_log.witness_client import RemoteWitness, parse_witnesses
from service.runtime.config import Settings
from service.runtime.readiness import (
    ALWAYS_READY,
    DATABASE,
    AtMostEvery,
    NotChecked,
    Readiness,
    Shared,
)
from service.runtime.receivers import LOOPBACK, Receivers
from service.runtime.telemetry import SHARED_FOLDER
from service.shx.tlog.notes import NoteSigner, NoteVerifier, sign_note
from service.startup_checks import ClockWatch, check_clock
from service.store.archive import Bundles
from service.store.database import Database
from service.store.directory import Directory
from service.store.events import EventStore, StoreUnavailable
from service.store.lookups import Lookups
from service.store.migrate import check_rows
from service.store.postgres_events import PostgresStore
from service.store.public_log import PostgresLog, PostgresWal
from service.store.replica import database_of


class Services:
    """
    All use cases of the service, built once in a process from the ports in the arguments.

    A part that others outside need is an attribute; the rest are local names.
    """

    def __init__(
        self,
        *,
        store: EventStore,
        directory: Directory,
        log_store: LogStore,
        lookups: Lookups,
        keyring: Keys,
        origin: str,
        world: World | None = None,
        notifier: Notifier | None = None,
        readiness: Readiness = ALWAYS_READY,
        trials: Trials = NO_TRIALS,
        comparisons: Comparisons = NO_COMPARISONS,
        begin_turn: BeginTurn = no_padding,
        witnesses: Sequence[RemoteWitness] = (),
        witness_quorum: int = 0,
        retention: Retention = DEFAULT_RETENTION,
        periods: Periods = Periods(),  # noqa: B008 - a frozen value, the defaults of the settings
        idle_after: timedelta | None = None,
        clock_doubt: Doubt = no_doubt,
        availability: Availability | None = None,
        erasure_list: Path | None = None,
        signed: SignedCheckpoints | None = None,
        wal: ArchivedWal | None = None,
        verify: Work = answer_here,
        receivers: Receivers = Receivers(),  # noqa: B008 - a frozen value
        close: Callable[[], None] = lambda: None,
    ) -> None:
        self.store = store
        self.directory = directory
        self.keyring = keyring
        self.origin = origin
        self.readiness = readiness
        self.close = close
        self.wal = wal
        self.world, self.notifier = world or RealWorld(), notifier or NoNotifier()
        self.rulebook = Rulebook(directory)
        self.availability = availability or AlwaysAvailable()
        self.game_cache = GameCache(
            store, directory, lookups, keyring, self.rulebook, able_since=self.availability.since
        )
        histories = Histories(self.game_cache)
        names, receipts = Names(directory), Receipts(origin, keyring)
        self.answers = Answers(
            store=store,
            keyring=keyring,
            game_cache=self.game_cache,
            histories=histories,
            names=names,
            receipts=receipts,
        )
        handler = Handler(store, self.answers)
        refusals = Refusals(store, directory, keyring, self.rulebook, self.world)
        access_log = AccessLog(directory, self.world)
        self.games = Games(
            store=store,
            game_cache=self.game_cache,
            histories=histories,
            receipts=receipts,
            names=names,
            access_log=access_log,
        )
        self.log = PublicLog(log_store)
        self.idle = IdleGames(
            directory=directory, now=self.world.now, after=idle_after, clock_doubt=clock_doubt
        )
        files = DisputeFiles(
            store=store,
            directory=directory,
            keyring=keyring,
            game_cache=self.game_cache,
            refusals=refusals,
            log=self.log,
            world=self.world,
        )
        commands = DisputeCommands(
            directory=directory,
            games=self.games,
            files=files,
            handler=handler,
            keyring=keyring,
            world=self.world,
            notifier=self.notifier,
        )
        self.dispute_jobs = DisputeJobs(
            handler=handler,
            directory=directory,
            game_cache=self.game_cache,
            files=files,
            keyring=keyring,
            rulebook=self.rulebook,
            server_keys=lambda: verifiers_of(keyring.present, origin),
            witnesses=tuple(witness.verifier for witness in witnesses),
            world=self.world,
            notifier=self.notifier,
        )
        opening = DisputeOpening(
            store=store,
            directory=directory,
            game_cache=self.game_cache,
            games=self.games,
            files=files,
            commands=commands,
            handler=handler,
            periods=periods,
            world=self.world,
            settle=self.dispute_jobs.settle,
        )
        self.moves = Moves(
            handler=handler,
            store=store,
            game_cache=self.game_cache,
            receipts=receipts,
            refusals=refusals,
            names=names,
            world=self.world,
            notifier=self.notifier,
        )
        changes = TableChanges(
            store=store,
            directory=directory,
            game_cache=self.game_cache,
            keyring=keyring,
            names=names,
            rulebook=self.rulebook,
            world=self.world,
            notifier=self.notifier,
        )
        self.tables = Tables(
            handler=handler,
            changes=changes,
            directory=directory,
            names=names,
            access_log=access_log,
        )
        self.invitations = Invitations(changes=changes, directory=directory, names=names)
        self.seeks = Seeks(handler=handler, changes=changes, directory=directory)
        self.matchmaker = Matchmaker(changes=changes, directory=directory)
        self.first_reads = RequestReads(
            lookups,
            self.game_cache,
            names,
            self.answers,
            note_use=directory.note_token_use,
        )
        self.ratings = Ratings(directory=directory, log=log_store, rulebook=self.rulebook)
        self.players = Players(
            directory=directory,
            game_cache=self.game_cache,
            tables=self.tables,
            names=names,
            world=self.world,
            notifier=self.notifier,
            ratings=self.ratings.of_player,
            settle_disputes=self.dispute_jobs.settle_about,
        )
        self.tokens = Tokens(directory=directory, world=self.world, notifier=self.notifier)
        self.notices = Notices(
            directory=directory,
            game_cache=self.game_cache,
            games=self.games,
            files=files,
            world=self.world,
        )
        self.webhooks = Webhooks(
            directory=directory,
            notices=self.notices,
            keyring=keyring,
            receivers=receivers,
            world=self.world,
        )
        self.key_changes = KeyChanges(store, directory, access_log)
        self.entropy = EntropyCalls(self.moves)
        self.lost_moves = LostMoves(
            game_cache=self.game_cache,
            moves=self.moves,
            server_keys=lambda: verifiers_of(keyring.present, origin),
            restores=self.log.restores,
        )
        self.evidence = Evidence(
            game_cache=self.game_cache,
            games=self.games,
            refusals=refusals,
            dispute_files=files.of_game,
            log=self.log,
            access_log=access_log,
        )
        self.dumps = Dumps(
            directory=directory,
            log=log_store,
            game_cache=self.game_cache,
            refusals=refusals,
            world=self.world,
        )
        self.hands = Hands(directory=directory, evidence=self.evidence, access_log=access_log)
        self.sequencer = Sequencer(
            store=log_store,
            origin=origin,
            signers=lambda now: signers_at(keyring.present, origin, now),
            now=self.world.now,
            witnesses=witnesses,
            quorum=witness_quorum,
            checkpoints=signed,
            wal=wal,
            own_keys=lambda: verifiers_of(keyring.present, origin),
        )
        self.disputes = Disputes(
            store=store,
            directory=directory,
            game_cache=self.game_cache,
            games=self.games,
            opening=opening,
            commands=commands,
            access_log=access_log,
            world=self.world,
            notifier=self.notifier,
            server_keys=lambda: verifiers_of(keyring.present, origin),
        )
        self.collusion = Collusion(
            commands=commands,
            directory=directory,
            game_cache=self.game_cache,
            comparisons=comparisons,
        )
        self.statistics = Statistics(
            directory=directory,
            game_cache=self.game_cache,
            access_log=access_log,
            now=self.world.now,
        )
        self.verifying = Verifying(
            game_cache=self.game_cache,
            games=self.games,
            refusals=refusals,
            log=self.log,
            server_keys=lambda: verifiers_of(keyring.present, origin),
            witnesses=tuple(witness.verifier for witness in witnesses),
            work=verify,
        )
        self.auditing = Auditing(
            histories=histories,
            games=self.games,
            refusals=refusals,
            directory=directory,
            access_log=access_log,
        )
        self.what_if = WhatIf(histories=histories, games=self.games, refusals=refusals)
        self.event_notes = EventNotes(
            games=self.games, directory=directory, names=names, world=self.world
        )
        self.turns = Turns(
            game_cache=self.game_cache,
            moves=self.moves,
            names=names,
            directory=directory,
            world=self.world,
            idle=self.idle,
            bot_secret=keyring.present.bot_secret,
            begin_turn=begin_turn,
        )
        self.ruleset_pages = RulesetPages(self.rulebook)
        self.rulemaking = Rulemaking(
            directory=directory,
            rulebook=self.rulebook,
            trials=trials,
            world=self.world,
            handler=handler,
        )
        self.lists = Lists(
            directory=directory, game_cache=self.game_cache, names=names, access_log=access_log
        )
        self.stand_ins = StandIns(
            handler=handler, game_cache=self.game_cache, directory=directory, names=names
        )
        self.purging = Purging(
            store=store,
            directory=directory,
            world=self.world,
            retention=retention,
            clock_doubt=clock_doubt,
        )
        self.erasures = Erasures(directory, erasure_list, now=self.world.now)

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

    def restores(self) -> list[str]:
        """Return the declarations of restores in the public log, signed with the present key."""
        signer = NoteSigner(name=self.origin, key=self.keyring.present.signing_key)
        return [sign_note(one.body, [signer]).decode() for one in self.log.restores()]

    @property
    def verifier(self) -> NoteVerifier:
        """Return the verifier of the present key."""
        return verifiers_of(self.keyring.present, self.origin)[0]


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
    return Services(
        store=store,
        lookups=Lookups(database, store),
        directory=directory,
        keyring=keyring,
        origin=settings.origin,
        notifier=notifier,
        availability=Availability(directory),
        readiness=_readiness(
            database, keyring, redis, signed_checkpoints(settings.key_file, settings.log_checkpoint)
        ),
        trials=QueuedTrials(redis),
        comparisons=QueuedComparisons(redis),
        begin_turn=ConstantTime().begin,
        log_store=PostgresLog(database),
        witnesses=parse_witnesses(settings.witnesses or ""),
        retention=retention_of(settings),
        clock_doubt=watch.doubt,
        erasure_list=settings.erasure_list,
        periods=periods_of(settings),
        idle_after=timedelta(days=days) if (days := settings.of(IDLE_DAYS)) else None,
        witness_quorum=settings.witness_quorum,
        signed=signed_checkpoints(settings.key_file, settings.log_checkpoint),
        wal=PostgresWal(database, settings.wal_archive) if settings.wal_archive else None,
        verify=within(settings.verify_seconds),
        receivers=Receivers(loopback=settings.of(LOOPBACK)),
        close=database.close,
    )


PROBE_SECONDS: Final = 5.0
"""The shortest time between two writes that test whether a move could be written."""

REDIS_PROBE: Final = "shithead:probe"
"""The key that a check of Redis sets: a full Redis answers, and refuses every write."""


def _readiness(
    database: Database,
    keyring: Keyring | KeyFile,
    redis: Redis | None,
    signed: SignedCheckpoints,
) -> Readiness:
    log = AtMostEvery(PROBE_SECONDS, lambda: _check_log(database, signed))
    folder = os.environ.get(SHARED_FOLDER)
    writes = Shared("writes", 2 * PROBE_SECONDS, database.probe_write, folder=folder)
    return Readiness(
        needed={
            DATABASE: lambda: _check_database(database),
            "migrations": lambda: check_rows(database.fetch),
            "writes": AtMostEvery(PROBE_SECONDS, writes),
            "keys": keyring.check if isinstance(keyring, KeyFile) else lambda: None,
        },
        wanted={
            "redis": lambda: _check_redis(redis),
            "clock": lambda: _check_clock(database),
            **({} if signed.path is None else {"log": log}),
        },
        of_database=frozenset({"migrations", "writes", "clock", "log"}),
    )


def _check_database(database: Database) -> None:
    database.reach()
    database.accept()


def _check_log(database: Database, signed: SignedCheckpoints) -> None:
    """Raise LogSetBack if this database has fewer leaves than were signed on this machine."""
    last = signed.last()  # first: a head is signed once the database has it
    if last is not None and last.size > PostgresLog(database).head().size:
        raise LogSetBack


class LogSetBack(Exception):
    """The database was set back: the public log is not signed until the operator has acted."""


def _check_clock(database: Database) -> None:
    """Compare the clocks; raises ClockWrong, or NotChecked if a slow database does not answer."""
    try:
        check_clock(database)
    except StoreUnavailable as error:
        raise NotChecked from error


def _clocks(database: Database) -> tuple[datetime, datetime | None]:
    [(of_database, newest)] = database.fetch("clocks")
    return of_database, newest


def _keyring(settings: Settings) -> Keyring | KeyFile:
    if settings.keys is not None:
        return Keyring.from_text(settings.keys)
    if settings.key_file is None:
        raise KeyringError("neither SHITHEAD_KEY_FILE nor SHITHEAD_KEYS is set")
    return KeyFile(settings.key_file)


def _check_redis(redis: Redis | None) -> None:
    """Raise ConnectionError if Redis is not configured, RedisError if it refuses a write."""
    if redis is None:
        raise ConnectionError("SHITHEAD_REDIS_URL is not set")
    redis.set(REDIS_PROBE, "", ex=60)

"""Composition root: builds the services from their ports, or from the settings."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from uuid import UUID

from service.application.access import AccessLog
from service.application.availability import AlwaysAvailable, Availability
from service.application.disputes.collusion import Collusion, Comparisons
from service.application.disputes.commands import DisputeCommands, DisputeOpening
from service.application.disputes.disputes import Disputes, periods_of
from service.application.disputes.files import DisputeFiles
from service.application.disputes.findings import DisputeJobs
from service.application.dumps import Dumps
from service.application.games.absences import AWAY_SECONDS, Absences, Away, none_away
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
from service.application.handles import Handles
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
from service.application.tables.challenges import Challenges
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
from service.public_log.reread import LogReader
from service.public_log.sequencer import ArchivedWal, Sequencer
from service.public_log.signed_checkpoints import (
    NoCheckpoints,
    SignedCheckpoints,
    signed_checkpoints,
)
from service.public_log.time_stamps import AUTHORITY, Authority, TimeStamping
from service.public_log.witness_client import RemoteWitness, parse_witnesses
from service.runtime.config import Settings
from service.runtime.readiness import (
    ALWAYS_READY,
    Readiness,
)
from service.runtime.receivers import LOOPBACK, Receivers
from service.shx.tlog.notes import NoteSigner, NoteVerifier, sign_note
from service.startup_checks import ClockWatch, readiness_of
from service.store.archive import Bundles
from service.store.database import Database
from service.store.directory import Directory
from service.store.events import EventStore
from service.store.lookups import Lookups
from service.store.postgres_events import PostgresStore
from service.store.public_log import PostgresLog, PostgresWal
from service.store.replica import database_of
from service.stream_counts import Presence, StreamCounts, none_following


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """The settings in the form that the use cases need."""

    origin: str
    retention: Retention = DEFAULT_RETENTION
    periods: Periods = Periods()  # noqa: RUF009 - a frozen value, the defaults of the settings
    idle_after: timedelta | None = None
    away_seconds: int = AWAY_SECONDS.default
    witnesses: Sequence[RemoteWitness] = ()
    witness_quorum: int = 0
    authority: Authority | None = None
    erasure_list: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """The connections of the use cases out of the process; tests replace them."""

    store: EventStore
    directory: Directory
    log_store: LogStore
    lookups: Lookups
    keyring: Keys
    world: World = field(default_factory=RealWorld)
    notifier: Notifier = field(default_factory=NoNotifier)
    readiness: Readiness = ALWAYS_READY
    trials: Trials = NO_TRIALS
    comparisons: Comparisons = NO_COMPARISONS
    begin_turn: BeginTurn = no_padding
    clock_doubt: Doubt = no_doubt
    availability: Availability = field(default_factory=AlwaysAvailable)
    signed: SignedCheckpoints | None = None
    wal: ArchivedWal | None = None
    verify: Work = answer_here
    following: Callable[[Sequence[UUID]], Collection[UUID]] = none_following
    away: Away = none_away
    receivers: Receivers = field(default_factory=Receivers)
    close: Callable[[], None] = lambda: None


class Services:
    """
    All use cases of the service, built once in a process.

    A part that others outside need is a public attribute.
    """

    def __init__(self, ports: Ports, terms: Terms) -> None:
        self.store = ports.store
        self.directory = ports.directory
        self.keyring = ports.keyring
        self.origin = terms.origin
        self.readiness = ports.readiness
        self.close = ports.close
        self.wal = ports.wal
        self.world, self.notifier = ports.world, ports.notifier
        self.availability = ports.availability
        self._make_shared(ports)
        self._make_dispute_parts()
        self._make_dispute_jobs(terms)
        self._make_games(ports, terms)
        self._make_lists()
        self._make_tables(ports)
        self._make_players(ports)
        self._make_evidence(ports, terms)
        self._make_audits()
        self._make_disputes(ports, terms)
        self._make_upkeep(ports, terms)

    def _make_shared(self, ports: Ports) -> None:
        """Make what all others use: cached games, answers, and what a caller may read."""
        self.rulebook = Rulebook(self.directory)
        self.game_cache = GameCache(
            self.store,
            self.directory,
            ports.lookups,
            self.keyring,
            self.rulebook,
            able_since=self.availability.since,
        )
        self._histories = Histories(self.game_cache)
        self._names, self._receipts = Names(self.directory), Receipts(self.origin, self.keyring)
        self.answers = Answers(
            store=self.store,
            keyring=self.keyring,
            game_cache=self.game_cache,
            histories=self._histories,
            names=self._names,
            receipts=self._receipts,
        )
        self.handler = Handler(self.store, self.answers)
        self.refusals = Refusals(
            self.store, self.directory, self.keyring, self.rulebook, self.world
        )
        self._access_log = AccessLog(self.directory, self.world)
        self.log_store = ports.log_store
        self.log = PublicLog(ports.log_store)
        self.games = Games(
            store=self.store,
            game_cache=self.game_cache,
            histories=self._histories,
            receipts=self._receipts,
            names=self._names,
            access_log=self._access_log,
        )

    def _make_dispute_parts(self) -> None:
        """Make the evidence and the commands of disputes."""
        self._files = DisputeFiles(
            store=self.store,
            directory=self.directory,
            keyring=self.keyring,
            game_cache=self.game_cache,
            refusals=self.refusals,
            log=self.log,
            world=self.world,
        )
        self._commands = DisputeCommands(
            directory=self.directory,
            games=self.games,
            files=self._files,
            handler=self.handler,
            keyring=self.keyring,
            world=self.world,
            notifier=self.notifier,
        )

    def _make_dispute_jobs(self, terms: Terms) -> None:
        """Make the jobs and the opening of disputes."""
        self.dispute_jobs = DisputeJobs(
            handler=self.handler,
            directory=self.directory,
            game_cache=self.game_cache,
            files=self._files,
            keyring=self.keyring,
            rulebook=self.rulebook,
            server_keys=self.server_keys,
            witnesses=tuple(witness.verifier for witness in terms.witnesses),
            world=self.world,
            notifier=self.notifier,
        )
        self._opening = DisputeOpening(
            store=self.store,
            directory=self.directory,
            game_cache=self.game_cache,
            games=self.games,
            files=self._files,
            commands=self._commands,
            handler=self.handler,
            periods=terms.periods,
            world=self.world,
            settle=self.dispute_jobs.settle,
        )

    def _make_games(self, ports: Ports, terms: Terms) -> None:
        """Make the moves, and what reads running games."""
        now = self.world.now
        self.absences = Absences(
            games=self.game_cache, away=ports.away, now=now, after=terms.away_seconds
        )
        self.moves = Moves(
            absences=self.absences,
            handler=self.handler,
            store=self.store,
            game_cache=self.game_cache,
            receipts=self._receipts,
            refusals=self.refusals,
            names=self._names,
            world=self.world,
            notifier=self.notifier,
        )
        self.entropy = EntropyCalls(self.moves)
        self.lost_moves = LostMoves(
            game_cache=self.game_cache,
            moves=self.moves,
            server_keys=self.server_keys,
            restores=self.log.restores,
        )
        self.idle = IdleGames(
            directory=self.directory,
            now=self.world.now,
            after=terms.idle_after,
            clock_doubt=ports.clock_doubt,
        )
        self.turns = Turns(
            game_cache=self.game_cache,
            moves=self.moves,
            names=self._names,
            directory=self.directory,
            world=self.world,
            idle=self.idle,
            bot_secret=self.keyring.present.bot_secret,
            begin_turn=ports.begin_turn,
        )

    def _make_lists(self) -> None:
        """Make lists of games, what-ifs and notes."""
        self.what_if = WhatIf(histories=self._histories, games=self.games, refusals=self.refusals)
        self.event_notes = EventNotes(
            games=self.games, directory=self.directory, names=self._names, world=self.world
        )
        self.lists = Lists(
            directory=self.directory,
            game_cache=self.game_cache,
            names=self._names,
            access_log=self._access_log,
        )

    def _make_tables(self, ports: Ports) -> None:
        """Make tables, invitations, challenges and seeks."""
        self._changes = TableChanges(
            store=self.store,
            directory=self.directory,
            game_cache=self.game_cache,
            keyring=self.keyring,
            names=self._names,
            rulebook=self.rulebook,
            world=self.world,
            notifier=self.notifier,
        )
        self.tables = Tables(
            handler=self.handler,
            changes=self._changes,
            directory=self.directory,
            names=self._names,
            access_log=self._access_log,
        )
        self.invitations = Invitations(
            changes=self._changes, directory=self.directory, names=self._names
        )
        self.challenges = Challenges(
            tables=self.tables, changes=self._changes, directory=self.directory
        )
        self.seeks = Seeks(handler=self.handler, changes=self._changes, directory=self.directory)
        self.matchmaker = Matchmaker(
            changes=self._changes, directory=self.directory, following=ports.following
        )
        self.stand_ins = StandIns(
            handler=self.handler,
            game_cache=self.game_cache,
            directory=self.directory,
            names=self._names,
        )
        self.key_changes = KeyChanges(self.store, self.directory, self._access_log)

    def _make_players(self, ports: Ports) -> None:
        """Make players, their tokens, ratings, notices and webhooks."""
        self.first_reads = RequestReads(
            ports.lookups,
            self.game_cache,
            self._names,
            self.answers,
            note_use=self.directory.note_token_use,
        )
        self.ratings = Ratings(
            directory=self.directory, log=ports.log_store, rulebook=self.rulebook
        )
        self.handles = Handles(directory=self.directory, keyring=self.keyring, world=self.world)
        self.players = Players(
            directory=self.directory,
            game_cache=self.game_cache,
            tables=self.tables,
            names=self._names,
            world=self.world,
            notifier=self.notifier,
            ratings=self.ratings.of_player,
            handles=self.handles,
            settle_disputes=self.dispute_jobs.settle_about,
        )
        self.tokens = Tokens(directory=self.directory, world=self.world, notifier=self.notifier)
        self.notices = Notices(
            directory=self.directory,
            game_cache=self.game_cache,
            games=self.games,
            files=self._files,
            world=self.world,
        )
        self.webhooks = Webhooks(
            directory=self.directory,
            notices=self.notices,
            keyring=self.keyring,
            receivers=ports.receivers,
            world=self.world,
        )

    def _make_evidence(self, ports: Ports, terms: Terms) -> None:
        """Make evidence and dumps."""
        self.evidence = Evidence(
            game_cache=self.game_cache,
            games=self.games,
            refusals=self.refusals,
            dispute_files=self._files.of_game,
            log=self.log,
            access_log=self._access_log,
        )
        self.dumps = Dumps(
            directory=self.directory,
            log=ports.log_store,
            game_cache=self.game_cache,
            refusals=self.refusals,
            world=self.world,
        )
        self.hands = Hands(
            directory=self.directory, evidence=self.evidence, access_log=self._access_log
        )
        self.verifying = Verifying(
            game_cache=self.game_cache,
            games=self.games,
            refusals=self.refusals,
            log=self.log,
            server_keys=self.server_keys,
            witnesses=tuple(witness.verifier for witness in terms.witnesses),
            work=ports.verify,
        )

    def _make_audits(self) -> None:
        """Make audits and statistics."""
        self.auditing = Auditing(
            histories=self._histories,
            games=self.games,
            refusals=self.refusals,
            directory=self.directory,
            access_log=self._access_log,
        )
        self.statistics = Statistics(
            directory=self.directory,
            game_cache=self.game_cache,
            access_log=self._access_log,
            now=self.world.now,
        )

    def _make_disputes(self, ports: Ports, terms: Terms) -> None:
        """Make disputes, and what signs the public log."""
        self.disputes = Disputes(
            store=self.store,
            directory=self.directory,
            game_cache=self.game_cache,
            games=self.games,
            opening=self._opening,
            commands=self._commands,
            access_log=self._access_log,
            world=self.world,
            notifier=self.notifier,
            server_keys=self.server_keys,
        )
        self.collusion = Collusion(
            commands=self._commands,
            directory=self.directory,
            game_cache=self.game_cache,
            comparisons=ports.comparisons,
        )
        self.sequencer = Sequencer(
            store=ports.log_store,
            origin=terms.origin,
            signers=lambda now: signers_at(self.keyring.present, terms.origin, now),
            now=self.world.now,
            witnesses=terms.witnesses,
            quorum=terms.witness_quorum,
            checkpoints=ports.signed,
            wal=ports.wal,
            own_keys=self.server_keys,
        )
        self.time_stamping = TimeStamping(
            store=ports.log_store, authority=terms.authority, now=self.world.now
        )
        self.log_reader = LogReader(
            store=ports.log_store,
            keys=self.server_keys,
            witnesses=[witness.verifier for witness in terms.witnesses],
            signed=ports.signed or NoCheckpoints(),
        )

    def _make_upkeep(self, ports: Ports, terms: Terms) -> None:
        """Make rulesets, and what deletes expired data."""
        self.ruleset_pages = RulesetPages(self.rulebook)
        self.rulemaking = Rulemaking(
            directory=self.directory,
            rulebook=self.rulebook,
            trials=ports.trials,
            world=self.world,
            handler=self.handler,
        )
        self.purging = Purging(
            store=self.store,
            directory=self.directory,
            world=self.world,
            retention=terms.retention,
            clock_doubt=ports.clock_doubt,
        )
        self.erasures = Erasures(self.directory, terms.erasure_list, now=self.world.now)

    def server_keys(self) -> Sequence[NoteVerifier]:
        """Return the verifiers of the server's keys, the present one first."""
        return verifiers_of(self.keyring.present, self.origin)

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
        return self.server_keys()[0]


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
    keyring = _keyring(settings)
    watch = ClockWatch(clocks=lambda: _clocks(database), now=RealWorld().now)
    store = PostgresStore(database, Bundles(settings.archive))
    directory = Directory(database)
    signed = signed_checkpoints(settings.key_file, settings.log_checkpoint)
    ports = Ports(
        store=store,
        lookups=Lookups(database, store),
        directory=directory,
        log_store=PostgresLog(database),
        keyring=keyring,
        notifier=RedisNotifier(connect(settings.redis_url)) if settings.redis_url else NoNotifier(),
        availability=Availability(directory),
        readiness=readiness_of(database, keyring, redis, signed),
        trials=QueuedTrials(redis),
        comparisons=QueuedComparisons(redis),
        begin_turn=ConstantTime().begin,
        clock_doubt=watch.doubt,
        signed=signed,
        wal=PostgresWal(database, settings.wal_archive) if settings.wal_archive else None,
        verify=within(settings.verify_seconds),
        receivers=Receivers(loopback=settings.of(LOOPBACK)),
        following=StreamCounts(redis).following,
        away=Presence(redis).away,
        close=database.close,
    )
    return Services(ports, terms_of(settings))


def terms_of(settings: Settings) -> Terms:
    """Return what the settings say; raises RecordError for an invalid witness."""
    days = settings.of(IDLE_DAYS)
    return Terms(
        origin=settings.origin,
        away_seconds=settings.of(AWAY_SECONDS),
        retention=retention_of(settings),
        periods=periods_of(settings),
        idle_after=timedelta(days=days) if days else None,
        witnesses=parse_witnesses(settings.witnesses or ""),
        witness_quorum=settings.witness_quorum,
        authority=settings.of(AUTHORITY),
        erasure_list=settings.erasure_list,
    )


def _clocks(database: Database) -> tuple[datetime, datetime | None]:
    [(of_database, newest)] = database.fetch("clocks")
    return of_database, newest


def _keyring(settings: Settings) -> Keyring | KeyFile:
    if settings.keys is not None:
        return Keyring.from_text(settings.keys)
    if settings.key_file is None:
        raise KeyringError("neither SHITHEAD_KEY_FILE nor SHITHEAD_KEYS is set")
    return KeyFile(settings.key_file)

"""The composition root: the parts of the service, each put together once, in their order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from service.application.answers import Answers
from service.application.attendance import Attendance
from service.application.auditing import Auditing
from service.application.beat import Rest, no_beat
from service.application.dispute_files import DisputeFiles
from service.application.disputes import Disputes
from service.application.docket import Docket
from service.application.entries import Entries
from service.application.entropy import EntropyCalls
from service.application.evidence import Evidence
from service.application.games import Games
from service.application.idle import IdleGames
from service.application.key_changes import KeyChanges
from service.application.lists import Lists
from service.application.moves import Moves
from service.application.names import Names
from service.application.players import Players
from service.application.ports import Bell, RealWorld, Silence, World
from service.application.readiness import ALWAYS, Readiness
from service.application.readings import Readings
from service.application.receipts import Receipts
from service.application.refusals import Refusals
from service.application.retention import KEPT, Purging, Retention
from service.application.rulebook import Rulebook
from service.application.rulemaking import Rulemaking, Trials
from service.application.ruleset_pages import RulesetPages
from service.application.server_keys import listed_keys, signers_at, verifiers_of
from service.application.standins import StandIns
from service.application.statistics import Statistics
from service.application.tables import Tables
from service.application.turns import Turns
from service.application.verifying import Verifying
from service.event_store.directory import Directory
from service.event_store.protocol import EventStore
from service.key_file import Keys
from service.public_log.memory_log import MemoryLog
from service.public_log.published import PublicLog
from service.public_log.sequencer import Sequencer
from service.public_log.signed import Signed
from service.public_log.store import LogStore
from service.public_log.witnesses import RemoteWitness
from service.record.notes import NoteSigner, NoteVerifier
from service.trying import NO_TRIALS


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """Everything that can be asked of the service, put together once for a process."""

    store: EventStore
    directory: Directory
    world: World
    bell: Bell
    idle: IdleGames
    keyring: Keys
    origin: str
    answers: Answers
    entries: Entries
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
    attendance: Attendance
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
    readiness: Readiness
    close: Callable[[], None]

    def wake(self, game: UUID) -> None:
        """Ask for a job at a game's present version."""
        entry = self.entries.fresh(game)
        if entry is not None:
            self.bell.moved(game, entry.record.version, wake=True)

    def keys(self) -> list[dict[str, str | None]]:
        """Return the keys that receipts are signed with."""
        return listed_keys(self.keyring.present, self.origin)

    @property
    def verifier(self) -> NoteVerifier:
        """Return what checks this server's receipts of the moment."""
        return verifiers_of(self.keyring.present, self.origin)[0]


def compose(
    *,
    store: EventStore,
    directory: Directory,
    keyring: Keys,
    origin: str,
    world: World | None = None,
    bell: Bell | None = None,
    readiness: Readiness = ALWAYS,
    trials: Trials = NO_TRIALS,
    begin_beat: Callable[[], Rest] = no_beat,
    log_store: LogStore | None = None,
    witnesses: Sequence[RemoteWitness] = (),
    kept: Retention = KEPT,
    ask_findings: Callable[[UUID], None] = lambda _dispute: None,
    idle_after: timedelta | None = None,
    signed: Signed | None = None,
    close: Callable[[], None] = lambda: None,
) -> Services:
    """Return the services over a store; time, chance and the bell can be given by a test."""
    world, bell = world or RealWorld(), bell or Silence()
    rulebook = Rulebook(directory)
    entries = Entries(store, directory, keyring, rulebook)
    names, answers = Names(directory), Answers(store, keyring, entries)
    receipts = Receipts(lambda: NoteSigner(name=origin, key=keyring.present.signing_key))
    refusals = Refusals(store, directory, keyring, rulebook, world)
    readings = Readings(directory, world)
    games = Games(store=store, entries=entries, receipts=receipts, names=names, readings=readings)
    log_store = log_store or MemoryLog()
    log = PublicLog(log_store)
    idle = IdleGames(directory=directory, now=world.now, after=idle_after)
    files = DisputeFiles(
        store=store, directory=directory, keyring=keyring, entries=entries, refusals=refusals
    )
    docket = Docket(
        store=store, directory=directory, games=games, files=files, answers=answers, world=world
    )
    moves = Moves(
        store=store,
        entries=entries,
        answers=answers,
        receipts=receipts,
        refusals=refusals,
        names=names,
        world=world,
        bell=bell,
    )
    tables = Tables(
        store=store,
        directory=directory,
        entries=entries,
        answers=answers,
        keyring=keyring,
        names=names,
        readings=readings,
        rulebook=rulebook,
        world=world,
        bell=bell,
    )
    return Services(
        store=store,
        directory=directory,
        world=world,
        bell=bell,
        idle=idle,
        keyring=keyring,
        origin=origin,
        answers=answers,
        entries=entries,
        players=Players(
            directory=directory, entries=entries, tables=tables, names=names, world=world
        ),
        tables=tables,
        key_changes=KeyChanges(store, directory, readings),
        games=games,
        moves=moves,
        entropy=EntropyCalls(moves),
        evidence=Evidence(
            entries=entries,
            games=games,
            refusals=refusals,
            dispute_files=files.of_game,
            log=log,
            readings=readings,
        ),
        log=log,
        sequencer=Sequencer(
            store=log_store,
            origin=origin,
            signers=lambda now: signers_at(keyring.present, origin, now),
            now=world.now,
            witnesses=witnesses,
            signed=signed,
        ),
        disputes=Disputes(
            store=store,
            directory=directory,
            entries=entries,
            games=games,
            files=files,
            docket=docket,
            world=world,
            ask=ask_findings,
        ),
        statistics=Statistics(directory=directory, entries=entries, readings=readings),
        attendance=Attendance(
            store=store,
            directory=directory,
            entries=entries,
            files=files,
            keyring=keyring,
            rulebook=rulebook,
            world=world,
        ),
        verifying=Verifying(
            entries=entries,
            games=games,
            log=log,
            server_keys=lambda: verifiers_of(keyring.present, origin),
            witnesses=tuple(witness.verifier for witness in witnesses),
        ),
        auditing=Auditing(
            entries=entries, games=games, refusals=refusals, directory=directory, readings=readings
        ),
        turns=Turns(
            entries=entries,
            moves=moves,
            names=names,
            directory=directory,
            world=world,
            idle=idle,
            bot_secret=keyring.present.bot_secret,
            begin_beat=begin_beat,
        ),
        rulebook=rulebook,
        ruleset_pages=RulesetPages(rulebook),
        rulemaking=Rulemaking(
            directory=directory, rulebook=rulebook, trials=trials, world=world, answers=answers
        ),
        lists=Lists(directory=directory, entries=entries, names=names, readings=readings),
        stand_ins=StandIns(entries=entries, directory=directory, names=names, answers=answers),
        purging=Purging(store=store, directory=directory, world=world, kept=kept),
        readiness=readiness,
        close=close,
    )

"""Tables of honest people and bots, played through the application with clocks and time-outs."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import orjson
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from service.application.calls import Caller, RegisteredPlayer
from service.application.errors import Refusal
from service.application.games.entry import GameEntry
from service.application.games.schedule import ENTROPY_SECONDS, stands_in
from service.application.tables.record import TableRequest
from service.bots.registry import quick_bots
from service.domain.events import Clock, Entropy
from service.domain.game import EntropyState, Status
from service.rulesets.catalogue import Definition, catalogue
from service.shx.bundle import Bundle, read_bundle
from service.shx.moves import intent, sign_intent
from service.shx.shuffle import client_commit
from service.simulation.trials import Limits, play_trials
from service.store.database import Database
from service.verify.evidence import OutsideEvidence
from service.verify.report import Report
from service.verify.verify import verify_bundle
from tests.random_games import private_key, public_text
from tests.unit.rulesets.random_settings import random_changes, random_options
from tests.worlds.fake_world import SetWorld, entry_of, legal, person, post, services_over

MAX_STEPS = 4000


class FewTrials:
    """Runs few trial hands in this process."""

    def refusal(self, settings: dict[str, Any], _by: UUID, _address: str) -> str | None:
        """Return why rules cannot be played; None if the trial hands succeeded."""
        return play_trials(settings, 4, Limits(seconds=600)).refusal


@dataclass(kw_only=True)
class Participant:
    """A person at the table, with a key, the kind of its entropy, and its saved receipts."""

    player: RegisteredPlayer
    key: Ed25519PrivateKey | None
    entropy: Entropy
    receipts: dict[UUID, list[bytes]] = field(default_factory=dict)


class HonestTable:
    """An honest table, whose random choices all come from a seed."""

    def __init__(self, url: str, seed: int, ruleset: str | None = None) -> None:
        self.chance = random.Random(seed)
        self.world = SetWorld(seed)
        self.services = services_over(Database(url, size=2), world=self.world, trials=FewTrials())
        self.nonce = 0
        self.values: dict[tuple[UUID, int], bytes] = {}
        self.people = [self._new_participant(n) for n in range(6)]
        self.games: list[UUID] = []
        self.signed: set[tuple[UUID, int]] = set()  # seats that signed a move of the game
        self.table = self._open_table(ruleset)

    def play(self, hands: int) -> None:
        """Play some hands to their ends, or to an abort."""
        for _ in range(hands):
            view, _ = self.services.tables.view(self._caller(self.people[0]), self.table)
            game = view["game"]
            if game is None:
                dealt = self.services.tables.deal(self.people[0].player, self.table, None)
                game = orjson.loads(dealt.body)["game"]["id"]
            self.games.append(UUID(game))
            self._play_hand(UUID(game))

    def report(self, game: UUID, *, profile: str = "public") -> Report:
        """Return the report on the bundle of a game with the evidence of all its players."""
        entry = entry_of(self.services, game)
        seats = {seat: p for seat, p in self._seated(entry).items() if p.key is not None}
        keys = {seat: public_text(p.key) for seat, p in seats.items() if p.key is not None}
        notes = [note for p in self.people for note in p.receipts.get(game, ())]
        notes.append(self.services.games.receipt(Caller(), game))
        caller = self._caller(next(iter(self._seated(entry).values())))
        evidence = OutsideEvidence(
            receipts=tuple(notes),
            server_keys=(self.services.verifier,),
            seat_keys=keys,
            others=tuple(
                Bundle(lines=self.services.game_cache.lines(other))
                for other in self.games
                if other != game
            ),
        )
        return verify_bundle(
            read_bundle(self.services.evidence.bundle(caller, game, profile)[1]), evidence
        )

    def expected_level(self, game: UUID) -> str:
        """Return the level that the people of a game can reach together."""
        seated = self._seated(entry_of(self.services, game))
        signed = {seat for seat, person in seated.items() if (game, seat) in self.signed}
        return "L3" if signed == set(seated) else "L2"

    def _play_hand(self, game: UUID) -> None:
        gives_up = self.chance.random() < 0.06
        silent = self.chance.random() < 0.3
        for _ in range(MAX_STEPS):
            entry = entry_of(self.services, game)
            if entry.record.sealed:
                return
            self.world.wait(self.chance.choice((0.0, 0.2, 1.7)))
            if entry.record.game.status is Status.SHUFFLING:
                self._shuffle(entry, late=gives_up)
            else:
                self._step(entry, silent=silent, gives_up=gives_up)
            self.services.turns.play_due_moves(game, entry_of(self.services, game).record.version)
        raise AssertionError("the hand does not end")

    def _shuffle(self, entry: GameEntry, *, late: bool) -> None:
        record, clock = entry.record, entry.record.game.setup.clock
        waiting = [
            (seat, person)
            for seat, person in self._seated(entry).items()
            if record.game.seats[seat].entropy in (EntropyState.WAITING, EntropyState.COMMITTED)
        ]
        if late:
            self.world.wait(clock.swap_seconds if clock else ENTROPY_SECONDS)
            return
        seat, person = self.chance.choice(waiting)
        value = self.world.random(32)
        modes = record.game.setup.seats
        commits = modes[seat].entropy is Entropy.COMMIT
        uncommitted = any(
            modes[s].entropy is Entropy.COMMIT
            and record.game.seats[s].entropy is EntropyState.WAITING
            for s, _ in waiting
        )
        if commits and record.game.seats[seat].entropy is EntropyState.WAITING:
            self.values[record.identity, seat] = value
            commitment = client_commit(record.identity, seat, value).hex()
            self._contribute(person, record.identity, commit=commitment)
        elif not commits:
            self._contribute(person, record.identity, value=value.hex())
        elif not uncommitted:
            self._contribute(
                person, record.identity, value=self.values[record.identity, seat].hex()
            )

    def _contribute(self, person: Participant, game: UUID, **contribution: str) -> None:
        values = {"commit": None, "value": None, **contribution}
        answer = self.services.entropy.give(
            self._caller(person), game, commit=values["commit"], value=values["value"]
        )
        self._save_receipt(person, game, answer.body)

    def _step(self, entry: GameEntry, *, silent: bool, gives_up: bool) -> None:
        game, clock = entry.record.identity, entry.record.game.setup.clock
        seated = self._seated(entry)
        able = [(seat, legal(self.services, game, seat)) for seat in seated]
        able = [(seat, moves) for seat, moves in able if moves]
        if clock is not None and silent and self.chance.random() < 0.4:
            self.world.wait(max(clock.turn_seconds, clock.swap_seconds))
            return
        if not able:
            self.world.wait(3)
            return
        seat, moves = self.chance.choice(able)
        person = seated[seat]
        if gives_up and self.chance.random() < 0.1:
            self._post_move(entry, seat, person, {"type": "forfeit"})
            return
        back = entry.returned_seats
        if stands_in(entry.record.game, seat, back=back) and self.chance.random() < 0.8:
            if self.chance.random() < 0.3:
                self.services.stand_ins.back(self._caller(person), game)
            return
        ready = [move for move in moves if move["type"] == "ready"]
        chosen = ready if ready and self.chance.random() < 0.5 else moves
        if self.chance.random() < 0.1:
            self._post_illegal_move(entry, seat, person)
        self._post_move(entry, seat, person, self.chance.choice(chosen))

    def _post_illegal_move(self, entry: GameEntry, seat: int, person: Participant) -> None:
        """Try an illegal move, which is recorded as refused and writes no event."""
        card = self.chance.choice(entry.record.game.deck)
        move = {"type": "play", "cards": [card]}
        if move in legal(self.services, entry.record.identity, seat):
            return
        try:
            self._post_move(entry, seat, person, move)
        except Refusal:
            return

    def _post_move(
        self, entry: GameEntry, seat: int, person: Participant, move: dict[str, Any]
    ) -> None:
        record, body = entry.record, dict(move)
        if person.key is not None:
            self.nonce += 1
            value = intent(
                game=record.identity,
                seat=seat,
                seen_seq=record.version - 1,
                seen_head=record.head,
                move=move,
                nonce=f"{self.nonce:032x}",
            )
            body["auth"] = sign_intent(person.key, value)
        answer = post(self.services, person.player, record.identity, body)
        if person.key is not None:
            self.signed.add((record.identity, seat))
        self._save_receipt(person, record.identity, answer.body)

    def _save_receipt(self, person: Participant, game: UUID, body: bytes) -> None:
        note = orjson.loads(body)["receipt"].encode()
        person.receipts.setdefault(game, []).append(note)

    def _seated(self, entry: GameEntry) -> dict[int, Participant]:
        by_id = {person.player.id: person for person in self.people}
        return {s: by_id[p] for s, p in enumerate(entry.players) if p in by_id}

    def _caller(self, person: Participant) -> Caller:
        return Caller(player=person.player.id)

    def _new_participant(self, number: int) -> Participant:
        keyed = number == 0 or self.chance.random() < 0.7
        return Participant(
            player=person(self.services, f"Player {number}"),
            key=private_key(f"honest {number}") if keyed else None,
            entropy=self.chance.choice(list(Entropy)),
        )

    def _open_table(self, ruleset: str | None) -> UUID:
        rules = self._random_ruleset() if ruleset is None else catalogue()[ruleset]
        options = random_options(rules, self.chance)
        players = rules.settings(options)["players"]
        while True:
            most = min(players["max"], players["min"] + 4, 6)
            count = self.chance.randint(players["min"], max(players["min"], most))
            try:
                return self._open_with_seats(rules.id, options, count)
            except Refusal as refusal:
                assert refusal.code == "cannot-deal", refusal.code

    def _open_with_seats(self, ruleset: str, options: dict[str, Any], count: int) -> UUID:
        names = sorted(quick_bots())
        people = min(self.chance.randint(1, count), len(self.people))
        bot_seats = [{"bot": self.chance.choice(names)} for _ in range(count - people)]
        seats: list[Any] = ["me", *["open"] * (people - 1), *bot_seats]
        self.chance.shuffle(seats)
        host = self.people[0]
        clock = self.chance.choice((None, Clock(turn_seconds=30, swap_seconds=60)))
        request = TableRequest(
            ruleset=ruleset,
            seats=tuple(seats),
            options=options,
            clock=clock,
            window_seconds=self.chance.choice((0, 3)),
            public=True,
            entropy=host.entropy,
            key=None if host.key is None else public_text(host.key),
            turn_limit=self.chance.choice((15, 100, 300)),
            deal=True,
        )
        table = UUID(orjson.loads(self.services.tables.open(host.player, request).body)["id"])
        for participant in self.people[1:people]:
            key = None if participant.key is None else public_text(participant.key)
            self.services.tables.sit(
                participant.player,
                table,
                seat=None,
                entropy=participant.entropy,
                key=key,
                invite=None,
            )
        return table

    def _random_ruleset(self) -> Definition:
        """Return a ruleset of the catalogue or a custom one."""
        base = self.chance.choice(sorted(catalogue()))
        if self.chance.random() < 0.75:
            return catalogue()[base]
        for _ in range(60):
            changes = random_changes(self.chance)
            try:
                made = self.services.rulemaking.make(
                    self.people[0].player, name="Own", base=base, changes=changes
                )
            except Refusal:
                continue
            return self.services.rulebook.definition(orjson.loads(made.body)["id"])
        return catalogue()[base]

"""Moves of players: signature, precondition, decision, answer; refused attempts."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Final
from uuid import UUID

import orjson
from msgspec.structs import replace

from schemas.moves import listed_moves, move_json, move_of
from service.application.access import (
    Answered,
    Caller,
    Expected,
    FirstRead,
    Idempotency,
    any_version,
    visible,
)
from service.application.errors import Refusal, not_found
from service.application.games.cache import GameCache, GameEntry, Names
from service.application.games.commits import Change, commit_of
from service.application.games.queries import move_answer
from service.application.games.record import GameRecord, seals, write
from service.application.games.schedule import Rest, WakeKind, at_once
from service.application.handler import Accepted, Handler, Refused
from service.application.idempotency import MadeMove
from service.application.ports import Notifier, World
from service.application.quotas import listing, work
from service.application.rulesets import Rulebook
from service.application.signing import Receipts
from service.application.tables.dealing import deal_when_ready
from service.domain.commands import (
    Command,
    Forfeit,
    GameOver,
    Move,
    NotYourTurn,
    RuleRefused,
    Seat,
    Swap,
    UnknownCard,
)
from service.domain.decide import decide
from service.domain.events import AbortCause, Event, GameAborted
from service.domain.game import Game, Status
from service.domain.legal import along_choices, legal_moves
from service.keys import KeyringError, Keys
from service.shx.bundle import REFUSALS
from service.shx.canonical import RecordError, canonical, format_time
from service.shx.moves import (
    UNPROVEN,
    SealedRefusals,
    check_auth,
    intent_is_signed,
    refusals_file,
    seal_of,
)
from service.store.directory import Directory
from service.store.events import EventStore, StoreError, StreamConflict
from service.store.games import RefusedMove
from service.telemetry import CONFLICTS, MOVES

MAX_SWAPS = 500
"""Maximum number of swaps of a seat in a hand: the rules set no limit, and each is an event."""


def check_signature(
    record: GameRecord, seat: Seat, move: Move, auth: Mapping[str, Any] | None
) -> None:
    """
    Raise Refusal unless the move is signed with its seat's key, or has neither key nor signature.

    The codes, in the order of the checks: `signature-required`, `bad-signature`,
    `nonce-reused`, `stale-version`.
    """
    key = record.game.setup.seats[seat].key
    if key is None:
        if auth is not None:
            raise Refusal("bad-signature", "this seat has no key")
        return
    if auth is None:
        raise Refusal("signature-required", "this seat signs its moves")
    try:
        check_auth(auth, "/auth")
    except RecordError as error:
        raise Refusal("bad-signature", error.detail) from None
    intent = auth["intent"]
    _check_intent(record, seat, move, intent)
    if not intent_is_signed(b64decode(key), auth):
        raise Refusal("bad-signature", "the signature is not by this seat's key")
    if intent["nonce"] in record.nonces:
        raise Refusal("nonce-reused", "this nonce was used in this game")
    seen = intent["seen"]["seq"]
    if not is_current(record, seat, move, seen_seq=seen):
        raise Refusal("stale-version", "the game has moved on", version=record.version)


def _check_intent(record: GameRecord, seat: Seat, move: Move, intent: Mapping[str, Any]) -> None:
    if intent["game"] != str(record.identity) or intent["seat"] != seat:
        raise Refusal("bad-signature", "the intent is for another game or seat")
    if intent["move"] != move_json(move):
        raise Refusal("bad-signature", "the intent is for another move")
    seen = intent["seen"]
    if seen["seq"] < record.version and seen["head"] != record.heads[seen["seq"]].hex():
        raise Refusal("bad-signature", "the head that was seen is not in this log")


def is_current(record: GameRecord, seat: Seat, move: Move, *, seen_seq: int) -> bool:
    """
    Return whether there is no action between event `seen_seq` and a move made now.

    In the exchange phase only the seat's own actions count, and for a forfeit none
    (SHX/1, section 5). A seq outside the log is never current.
    """
    if not 0 <= seen_seq < record.version:
        return False
    if isinstance(move, Forfeit):
        return True
    if record.game.status is Status.SWAPPING:
        return record.last_exchange.get(seat, -1) <= seen_seq
    return record.last_action <= seen_seq


PADDED_TO = 512
"""Refused moves are padded to a multiple of this number of bytes before they are encrypted."""


class Refusals:
    """Stores refused moves, and returns the texts of the rules that refused them."""

    def __init__(
        self,
        store: EventStore,
        directory: Directory,
        keyring: Keys,
        rulebook: Rulebook,
        world: World,
    ) -> None:
        self._store = store
        self._directory = directory
        self._keyring = keyring
        self._rulebook = rulebook
        self._world = world

    def store(self, record: GameRecord, seat: Seat, move: Move, rule: str | None) -> bool:
        """
        Store a refused move; `rule` is None if it was not the seat's turn.

        Returns False and stores nothing if the game has been sealed in the meantime. Moves with
        and without a rule have the same stored length, because the rule depends on the seat's
        cards.
        """
        content = orjson.dumps({"move": move_json(move), "rule": rule})
        content = content.ljust(-(-len(content) // PADDED_TO) * PADDED_TO)
        identity, at = self._world.identity(), self._world.now()
        key_id, sealed = self._keyring.seal(
            content, _associated(record.identity, seat=seat, at=at, identity=identity)
        )
        refused = RefusedMove(id=identity, at=at, seat=seat, key_id=key_id, sealed=sealed)
        return self._directory.record_refusal(record.identity, refused)

    def seal_entry(self, game: UUID, stored: Sequence[RefusedMove]) -> SealedRefusals:
        """
        Return count and hash of a game's refused attempts for its seal, without moves out of turn.

        Raises KeyringError if an attempt cannot be decrypted.
        """
        return seal_of(refusals_file(opened(self._keyring, game, stored)))

    def of(self, game: UUID) -> list[dict[str, Any]]:
        """
        Return the moves of a game that a rule refused, as JSON: at, seat, move, rule.

        Those of an archived game are read from its bundle. Raises KeyringError if one cannot be
        decrypted.
        """
        return opened(self._keyring, game, self._directory.refusals(game)) or self._archived(game)

    def shown(self, record: GameRecord) -> list[dict[str, Any]]:
        """
        Return all refused moves, or none if the seal names others: a part proves nothing.

        A seal of version 1 names none, and then all are returned.
        """
        rows = self.of(record.identity)
        return rows if _fits(record, rows) else []

    def is_complete(self, record: GameRecord) -> bool:
        """Return whether the seal names no other attempts than those stored, or all are deleted."""
        rows = self.of(record.identity)
        return not rows or _fits(record, rows)

    def file(self, record: GameRecord) -> Mapping[str, bytes]:
        """Return the bundle file `refusals.jsonl` by its name; none before the seal."""
        rows = self.shown(record) if record.sealed else []
        return {REFUSALS: refusals_file(rows)} if rows else {}

    def _archived(self, game: UUID) -> list[dict[str, Any]]:
        bundle = self._store.bundle(game)
        lines = bundle.files.get(REFUSALS, b"") if bundle is not None else b""
        return [orjson.loads(line) for line in lines.splitlines()]

    def text(self, record: GameRecord, rule: str) -> str:
        """Return the text of the rule behind a refusal."""
        return self._rulebook.text(record.created["ruleset"]["id"], rule)


def opened(keyring: Keys, game: UUID, stored: Iterable[RefusedMove]) -> list[dict[str, Any]]:
    """
    Return the decrypted attempts of a game that a rule refused, as JSON.

    Raises KeyringError if a row cannot be decrypted, also because its seat, time, id or game was
    changed.
    """
    rows = []
    for refused in stored:
        associated = _associated(game, seat=refused.seat, at=refused.at, identity=refused.id)
        if not refused.bound:
            associated = _associated_with_game(game)
        content = orjson.loads(keyring.open(refused.key_id, refused.sealed, associated))
        if content["rule"] is not None:
            row = {"at": format_time(refused.at), **content, "seat": refused.seat}
            # Members in the order of a bundle, so that archiving changes no byte of an answer.
            rows.append(orjson.loads(canonical(row)))
    return rows


def unproven(record: GameRecord) -> str | None:
    """Return why the refused attempts of a game prove nothing; None if its seal names them."""
    return UNPROVEN if record.refusals is None else None


def _fits(record: GameRecord, rows: Iterable[Mapping[str, Any]]) -> bool:
    return record.refusals in (None, seal_of(refusals_file(rows)))


def _associated(game: UUID, *, seat: Seat, at: datetime, identity: UUID) -> bytes:
    """Return the associated data of a refused move, which binds it to its row."""
    where = b"%s/%d/%s" % (game.bytes, seat, format_time(at).encode())
    return b"refusal/2" + where + identity.bytes


def _associated_with_game(game: UUID) -> bytes:
    """Return the associated data of early releases, which bound only the game."""
    return b"refusal" + game.bytes


# Each look-up of a counter by its labels costs more than the counting.
_CONFLICTS_OF_PLAYERS: Final = CONFLICTS.labels("player")
_MOVES_OF_PLAYERS: Final = MOVES.labels("player")
_MOVES_OF_SERVER: Final = MOVES.labels("server")

Decision = Callable[[GameEntry], tuple[Event, ...]]
"""Returns the events that a command leads to, or raises Refusal."""


class Moves:
    """Writes every change of a game: moves of players, and of the server for seats."""

    def __init__(
        self,
        *,
        handler: Handler,
        store: EventStore,
        game_cache: GameCache,
        receipts: Receipts,
        refusals: Refusals,
        names: Names,
        world: World,
        notifier: Notifier,
    ) -> None:
        self._handler = handler
        self._store = store
        self._game_cache = game_cache
        self._receipts = receipts
        self._refusals = refusals
        self._names = names
        self._world = world
        self._notifier = notifier

    def move(
        self,
        caller: Caller,
        game: UUID,
        body: Mapping[str, Any],
        *,
        expected: Expected = any_version,
        request: Idempotency | None = None,
    ) -> Answered:
        """
        Make a player's move and return the answer of api.md, section 4.

        `body` is a validated move, with `auth` if its player signed it; `expected` returns
        the versions in If-Match, of which one has to be current.

        Raises Refusal `not-found`, `not-seated`, `invalid-body`, `game-over`, `unknown-card`,
        `not-your-turn`, `rule-refused`, `rate-limited`, and those of `check_signature` and
        `Handler.handle`.
        """
        player, seat = self._seated(caller, game)

        def decision(entry: GameEntry) -> Accepted | Refused:
            with work(listing(entry.record.game, seat)):
                return self._decided(entry, seat, body, expected)

        return self._handled(game, decision, player, request, caller.read)

    def change(
        self, caller: Caller, game: UUID, decision: Decision, request: Idempotency | None
    ) -> Answered:
        """
        Carry out a decision of the caller's seat that is not a move.

        Raises Refusal `not-found`, `not-seated`, and those of `decision` and `Handler.handle`.
        """
        player, seat = self._seated(caller, game)
        return self._handled(
            game,
            lambda entry: self._accepted(entry, decision(entry), seat),
            player,
            request,
            caller.read,
        )

    def abort(self, game: UUID) -> None:
        """
        End a game for the operator.

        Raises Refusal `not-found`, `game-over`, or `unavailable` if its seed is lost.
        """

        def load(_fresh: bool) -> GameEntry:
            try:
                return self._loaded(game, fresh=True)
            except KeyringError as error:
                detail = f"its seed cannot be decrypted: {error}"
                raise Refusal("unavailable", detail) from None

        def decision(entry: GameEntry) -> Accepted:
            if entry.record.sealed:
                raise Refusal("game-over", "the game is over")
            if entry.record.seed is None:
                raise Refusal("unavailable", "its seed is lost, and the game cannot end without it")
            events = (GameAborted(cause=AbortCause.OPERATOR, seat=None),)
            change = self._changed(entry, events)
            return Accepted(
                answer=Answered(body=b""),
                commit=commit_of(change),
                done=partial(self._committed, change, wake=False),
            )

        self._handler.handle(load, decision, conflict=CONFLICTS.labels("server").inc)

    def server_move(self, entry: GameEntry, command: Command, *, rest: Rest = at_once) -> GameEntry:
        """
        Make a move of the server for a seat; raises StreamConflict if the game has moved on.

        It calls `rest` before the write. For a bot this waits until the end of a fixed interval:
        the time in the events is public, and would otherwise show how long the bot needed.
        """
        events = decide(command, entry.record.game)
        rest()
        return self.apply(entry, events)

    def apply(self, entry: GameEntry, events: tuple[Event, ...]) -> GameEntry:
        """
        Commit events that the server decided on; raises StreamConflict if the game moved on.

        No worker is woken: the caller makes the next due moves itself.
        """
        change = self._changed(entry, events)
        try:
            self._store.commit(commit_of(change))
        except StreamConflict:
            CONFLICTS.labels("server").inc()
            raise
        self._committed(change, wake=False)
        return change.after

    def _handled(
        self,
        game: UUID,
        decision: Callable[[GameEntry], Accepted | Refused],
        player: UUID,
        request: Idempotency | None,
        read: FirstRead | None,
    ) -> Answered:
        return self._handler.handle(
            lambda fresh: self._loaded(game, fresh=fresh, read=read),
            decision,
            caller=player,
            request=request,
            read=read,
            conflict=_CONFLICTS_OF_PLAYERS.inc,
            overtaken=self._overtaken,
        )

    def _loaded(
        self, game: UUID, *, fresh: bool = False, read: FirstRead | None = None
    ) -> GameEntry:
        entry = self._first_read(game, fresh=fresh, read=read)
        if entry is None:
            raise not_found("game")
        return entry

    def _first_read(self, game: UUID, *, fresh: bool, read: FirstRead | None) -> GameEntry | None:
        if read is None:
            return self._game_cache.fresh(game) if fresh else self._game_cache.cached(game)
        return read.take(game) if fresh else read.entry(game)

    def _overtaken(self, entry: GameEntry, conflict: StoreError) -> GameEntry | None:
        """Return the game with the events of the conflicting commit; None to load it again."""
        if not isinstance(conflict, StreamConflict) or conflict.stream != entry.record.identity:
            return None
        if not conflict.lines:
            return None
        newer = self._game_cache.with_events(entry, entry.version, conflict.lines)
        if any(seat.time_outs for seat in newer.record.game.seats):
            return None  # a player may have taken the seat back from a bot: no event states this
        self._game_cache.keep(newer)
        return newer

    def _seated(self, caller: Caller, game: UUID) -> tuple[UUID, Seat]:
        found = self._first_read(game, fresh=False, read=caller.read)
        entry = visible(found, caller, self._game_cache.sits_or_judges)
        seat = entry.seat_of(caller.player)
        if caller.player is None or seat is None:
            raise Refusal("not-seated", "you do not sit in this game")
        return caller.player, seat

    def _decided(
        self,
        entry: GameEntry,
        seat: Seat,
        body: Mapping[str, Any],
        expected: Expected,
    ) -> Accepted | Refused:
        """Return the decision on a move of a seat; raises Refusal."""
        move = self._checked(entry.record, seat, body, expected)
        try:
            events = decide(move, entry.record.game)
        except GameOver:
            raise Refusal("game-over", "the game is over") from None
        except UnknownCard as error:
            raise Refusal("unknown-card", str(error)) from None
        except (NotYourTurn, RuleRefused) as error:
            return Refused(final=partial(self._refused, entry.record, seat, move, error))
        return self._accepted(entry, events, seat, auth=body.get("auth"))

    def _checked(
        self,
        record: GameRecord,
        seat: Seat,
        body: Mapping[str, Any],
        expected: Expected,
    ) -> Move:
        """Return the move if its signature and its versions are valid; raises Refusal."""
        move = _completed(record, body, seat)
        if record.sealed:
            raise Refusal("game-over", "the game is over")
        check_signature(record, seat, move, body.get("auth"))
        versions = expected()
        if versions is not None and not any(
            is_current(record, seat, move, seen_seq=version - 1) for version in versions
        ):
            raise Refusal("stale-version", "the game has moved on", version=record.version)
        if isinstance(move, Swap) and record.swaps.get(seat, 0) >= MAX_SWAPS:
            detail = f"a seat can exchange cards {MAX_SWAPS} times in a hand: send `ready`"
            raise Refusal("rate-limited", detail)
        return move

    def _accepted(
        self,
        entry: GameEntry,
        events: tuple[Event, ...],
        seat: Seat,
        *,
        auth: Mapping[str, Any] | None = None,
    ) -> Accepted:
        change = self._changed(entry, events, auth=auth)
        record, lines = change.record, change.lines
        # The answer uses `back` from before the move, as does the rebuilt one (`MadeMove`).
        after = replace(entry, record=record)
        body = move_answer(after, lines, seat, self._names, self._receipts)
        return Accepted(
            answer=Answered(body=body, version=record.version),
            rebuilt=MadeMove(
                game=record.identity,
                seat=seat,
                before=entry.version,
                version=record.version,
                back=tuple(sorted(entry.back)),
            ),
            commit=commit_of(change),
            done=partial(self._committed, change, wake=True),
        )

    def _changed(
        self,
        entry: GameEntry,
        events: tuple[Event, ...],
        *,
        auth: Mapping[str, Any] | None = None,
    ) -> Change:
        refusals, refused, table = None, None, None
        if seals(events):
            stored, table = self._game_cache.at_seal(entry)
            if entry.record.format > 1:
                refusals, refused = (
                    self._refusals.seal_entry(entry.record.identity, stored),
                    len(stored),
                )
        at = format_time(self._world.now())
        record, lines = write(entry.record, events, at=at, auth=auth, refusals=refusals)
        if record.game.status is Status.SHUFFLING:
            record, dealt = deal_when_ready(record, at=record.at)
            lines += dealt
        return Change(before=entry, record=record, lines=lines, refused=refused, table=table)

    def _committed(self, change: Change, *, wake: bool) -> None:
        """Cache and count a committed change, and notify readers and, with `wake`, workers."""
        after, record = change.after, change.record
        self._game_cache.keep(after)
        (_MOVES_OF_PLAYERS if wake else _MOVES_OF_SERVER).inc()
        coming = change.wake
        due = (
            wake
            and coming is not None
            and coming.kind is WakeKind.BOT
            and format_time(coming.at) <= record.at
        )
        table = after.table if record.sealed else None
        self._notifier.moved(record.identity, record.version, wake=due, table=table)

    def _refused(
        self, record: GameRecord, seat: Seat, move: Move, error: NotYourTurn | RuleRefused
    ) -> Refusal:
        """Record a refused attempt (SHX/1, section 5), and return its refusal."""
        with work(listing(record.game, seat)):
            return self._recorded(record, seat, move, error)

    def _recorded(
        self, record: GameRecord, seat: Seat, move: Move, error: NotYourTurn | RuleRefused
    ) -> Refusal:
        rule = error.rule if isinstance(error, RuleRefused) else None
        if not self._refusals.store(record, seat, move, rule):
            return Refusal("game-over", "the game is over")
        if isinstance(error, NotYourTurn):
            return Refusal("not-your-turn", _turn_detail(record.game))
        return Refusal(
            "rule-refused",
            error.detail,
            rule=error.rule,
            rule_text=self._refusals.text(record, error.rule),
            legal=listed_moves(legal_moves(record.game, seat)),
            version=record.version,
        )


def _turn_detail(game: Game) -> str:
    """Return the detail of `not-your-turn`, from public data."""
    if game.status is Status.SHUFFLING:
        return "you may not act now: the cards are not dealt yet"
    if game.status is Status.SWAPPING:
        waiting = [str(seat) for seat, state in enumerate(game.seats) if not state.ready]
        return f"you are ready; play begins when the others are: seat {', '.join(waiting)}"
    if game.turn is None:
        return "you may not act now"
    return f"you may not act now: it is the turn of seat {game.turn}"


def _completed(record: GameRecord, body: Mapping[str, Any], seat: Seat) -> Move:
    """Return the move; in a pick-up without a choice, `with` is added as an empty list."""
    move = {name: value for name, value in body.items() if name != "auth"}
    if move["type"] == "pick_up" and move.get("with") is None:
        choices = [] if record.sealed else list(along_choices(record.game, seat))
        if choices and choices != [()]:
            raise Refusal(
                "invalid-body",
                "name the face-up cards to take with the pile",
                errors=[{"at": "/with", "message": "is missing"}],
            )
        move["with"] = []
    return move_of(move, seat)

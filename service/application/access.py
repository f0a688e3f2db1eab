"""Callers: first database read of a request, visibility of games and tables, access log."""

from __future__ import annotations

import hashlib
import hmac
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Final
from uuid import UUID

from msgspec import Struct

from service.application.errors import Refusal, not_found
from service.application.ports import World
from service.domain.view import Viewer
from service.store.games import GameRepository, GameRow, TableRow
from service.store.lookups import Lookup, LookupResult, Lookups

if TYPE_CHECKING:
    from service.application.games.cache import GameCache, GameEntry, Names
    from service.application.idempotency import Answers


class Player(Struct, frozen=True, kw_only=True):
    """A registered person."""

    id: UUID
    name: str


class Caller(Struct, frozen=True, kw_only=True):
    """The sender of a request: a player or an anonymous caller, with or without an invite."""

    player: UUID | None = None
    invite: str | None = None
    what: Callable[[], str] = lambda: "the game"  # names the data requested, for the access log
    read: FirstRead | None = None


Expected = Callable[[], Collection[int] | None]
"""
Returns the versions in If-Match of a request, None for any version.

It raises `malformed` for a header that cannot be read, so it is called when the version is
checked: the faults before it, such as `not-seated`, are reported first.
"""


def any_version() -> None:
    """Return the versions of a request without If-Match: any."""


class Idempotency(Struct, frozen=True, kw_only=True):
    """Identifies a request, so that a repetition is recognized: key, path and hash of the body."""

    key: str
    path: str
    body_hash: bytes

    @property
    def request_key(self) -> bytes:
        """Return the hash under which the answer is stored; two paths may use the same key."""
        return hashlib.sha256(f"{self.path}\n{self.key}".encode()).digest()


class Answered(Struct, frozen=True, kw_only=True):
    """The answer to a request, as sent."""

    body: bytes
    version: int | None = None
    replayed: bool = False


def digest(secret: str) -> bytes:
    """Return the hash of a token, recovery code or invite, which is stored instead of it."""
    return hashlib.sha256(secret.encode()).digest()


def matches(secret: str | None, stored: bytes | None) -> bool:
    """Return whether the hash of a secret is the stored one; compared in constant time."""
    if secret is None or stored is None:
        return False
    return hmac.compare_digest(digest(secret), stored)


KNOWN_TOKENS: Final = 10_000
"""Maximum number of tokens whose player one process caches; each takes 300 bytes."""


class FirstReads:
    """Creates the first read of each request, and caches the players of valid tokens."""

    def __init__(
        self,
        lookups: Lookups,
        game_cache: GameCache,
        names: Names,
        answers: Answers,
        *,
        defers: bool,
    ) -> None:
        self.lookups = lookups
        self.game_cache = game_cache
        self.names = names
        self.answers = answers
        self.defers = defers  # whether the store checks the token of a commit
        self._players: OrderedDict[bytes, Player] = OrderedDict()
        self._lock = threading.Lock()

    def begin(self, token: str | None, game: UUID | None) -> FirstRead:
        """Return the first read of a request; nothing is read yet."""
        return FirstRead(self, None if token is None else digest(token), game)

    def check(self, token: bytes) -> None:
        """Raise Refusal `unauthorized` if the token of this hash is unknown or has expired."""
        FirstRead(self, token, None).confirm()

    def player_of(self, token: bytes) -> Player | None:
        """Return the player of a token as last read; None if it is not cached."""
        with self._lock:
            return self._players.get(token)

    def remember(self, token: bytes, player: Player | None) -> None:
        """Cache the player of a token, or forget an unknown or expired one."""
        with self._lock:
            if player is None:
                self._players.pop(token, None)
                return
            self._players[token] = player
            self._players.move_to_end(token)
            if len(self._players) > KNOWN_TOKENS:
                self._players.popitem(last=False)


_NOTHING: Final = LookupResult()


class FirstRead:
    """
    The token, the stored answer and the game of one request.

    `confirm` reads all of them in one query. A request that changes a game can skip it: `defer`
    uses the cached player of the token, and the commit checks the token again. Before a request
    is refused, the read is confirmed, so that problems are reported in the documented order
    (api.md, section 1).
    """

    def __init__(self, reads: FirstReads, token: bytes | None, game: UUID | None) -> None:
        self._reads = reads
        self._game = game
        self._lookup: Lookup | None = None
        self._found = _NOTHING
        self._known: GameEntry | None = None  # the cached version of the game
        self._entry: GameEntry | None = None
        self._taken = True  # whether `take` has to read: nothing is read yet
        self.token = token
        self.request: Idempotency | None = None
        self.player: Player | None = None

    @property
    def confirmed(self) -> bool:
        """Return whether the token, if any, was read from the database for this request."""
        return self._lookup is not None or self.token is None

    def defer(self) -> bool:
        """Use the cached player; return false if player or game is not cached: then confirm."""
        if not self._reads.defers or self.token is None or self._game is None:
            return False
        self.player = self._reads.player_of(self.token)
        self._known = self._reads.game_cache.in_memory(self._game)
        return self.player is not None and self._known is not None

    def confirm(self) -> None:
        """Read the token, the stored answer and the present game; raises Refusal `unauthorized`."""
        names, known = self._reads.names, None
        if self._game is not None:
            known = self._reads.game_cache.in_memory(self._game)
        self._lookup = Lookup(
            token=self.token,
            request_key=None if self.request is None else self.request.request_key,
            game=self._game,
            after=0 if known is None else known.version,
            metadata=self._game is not None and known is None,
            names=() if known is None else names.expired(known.players),
        )
        self._known, self._entry, self._taken = known, None, False
        self._found = self._reads.lookups.find(self._lookup)
        names.learn(self._found.names)
        if self.token is None:
            return
        found = self._found.player
        self.player = None if found is None else Player(id=found.id, name=found.name)
        self._reads.remember(self.token, self.player)
        if self.player is None:
            raise Refusal("unauthorized", "unknown or expired token")

    def first_answer(self) -> Answered | None:
        """
        Return the first answer to this request, None if it has none.

        Raises Refusal `unauthorized`, and `idempotency-conflict` if the key was used with
        another body.
        """
        if not self.confirmed:
            self.confirm()
        if self.player is None or self.request is None:
            return None
        return self._reads.answers.opened(self.player.id, self.request, self._found.answer)

    def entry(self, game: UUID) -> GameEntry | None:
        """Return the game as this request read it, before that as cached; None if there is none."""
        if game != self._game:
            return self._reads.game_cache.cached(game)
        if self._lookup is None:
            return self._known or self._reads.game_cache.cached(game)
        if self._entry is None:
            self._entry = self._reads.game_cache.from_lookup(self._lookup, self._found, self._known)
        return self._entry

    def take(self, game: UUID) -> GameEntry | None:
        """
        Return the present version of a game, None if there is none.

        The first call returns the game read together with the token. Each later call reads again,
        because the caller has waited or lost a race. Raises Refusal `unauthorized`.
        """
        if game != self._game:
            return self._reads.game_cache.fresh(game)
        if self._taken:
            self.confirm()
        self._taken = True
        return self.entry(game)


def visible(
    entry: GameEntry | None,
    caller: Caller,
    others: Callable[[GameEntry, Caller], bool],
) -> GameEntry:
    """
    Return the game if the caller may see it.

    A hand of a private table is visible to the host, to the players of this hand and to
    callers with the invite; `others` returns whether the caller sits at the table now, or is
    a referee of a dispute about this hand. Lists apply the same rule in SQL (`may_see_game`).
    Raises Refusal `not-found`, the same as for a game that does not exist.
    """
    if entry is None:
        raise not_found("game")
    own = caller.player is not None and (
        caller.player == entry.host or caller.player in entry.players
    )
    if entry.public or own or matches(caller.invite, entry.invite_hash):
        return entry
    if others(entry, caller):
        return entry
    raise not_found("game")


def visible_table(row: TableRow | None, caller: Caller) -> TableRow:
    """
    Return the table if the caller may see it.

    Referees and the players of earlier hands see those hands of a private table, but not the
    table. Raises Refusal `not-found`, the same as for a table that does not exist.
    """
    if row is None:
        raise not_found("table")
    if row.public or is_insider(row, caller.player) or matches(caller.invite, row.invite_hash):
        return row
    raise not_found("table")


def is_insider(row: TableRow, player: UUID | None) -> bool:
    """Return whether a player sits at the table or hosts it."""
    if player is None:
        return False
    return player == row.host or any(seat.player == player for seat in row.seats)


class AccessLog:
    """
    Decides which reads belong in the access log, and records them (api.md, section 6).

    A read at a public table is not recorded: the caller sees only public data and the caller's
    own cards. At a private table, data that all seats share, such as the log, is recorded if the
    caller has no seat; the cards of one hand are recorded for every caller but that seat, the
    other players included. A referee's read of a player's blind choices is always recorded, also
    at a public table. A caller with the invite and without a token is recorded without a name. If
    recording fails, the request fails and returns no data.
    """

    def __init__(self, directory: GameRepository, world: World) -> None:
        self._directory = directory
        self._world = world

    def note(self, entry: GameEntry, caller: Caller, shows: Viewer = None) -> None:
        """Record a read; `shows` is a seat, ALL seats, or None for data that all seats share."""
        own = entry.seat_of(caller.player)
        if entry.public or (own is not None and shows in (None, own)):
            return
        self._record([entry.record.identity], caller)

    def note_table(self, table: TableRow, caller: Caller) -> None:
        """Record a read of a table, which lists its hands, under its newest hand."""
        if not _is_unrecorded(table, caller):
            newest = self._directory.games_of_table(table.id, limit=1)
            self._record([game.id for game in newest], caller)

    def note_tables(
        self, tables: Iterable[tuple[TableRow, Sequence[GameRow]]], caller: Caller
    ) -> None:
        """Record a list of tables, each with its newest hands, newest first."""
        newest = [
            hands[0].id for table, hands in tables if hands and not _is_unrecorded(table, caller)
        ]
        self._record(newest, caller)

    def note_listed(self, games: Iterable[GameRow], caller: Caller) -> None:
        """Record a list of games."""
        private = [game.id for game in games if not _is_unrecorded(game, caller)]
        self._record(private, caller)

    def note_person(self, games: Iterable[UUID], caller: Caller) -> None:
        """Record that a referee reads a player's data, in these games, public ones included."""
        self._record(list(games), caller)

    def _record(self, games: Sequence[UUID], caller: Caller) -> None:
        self._directory.record_readings(
            games, at=self._world.now(), reader=caller.player, what=caller.what()
        )


def _is_unrecorded(shown: TableRow | GameRow, caller: Caller) -> bool:
    """Return whether a read of shared data is not logged: it is public, or the caller's own."""
    seats = {seat.player for seat in shown.seats}
    return shown.public or (caller.player is not None and caller.player in seats)

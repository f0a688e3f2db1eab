"""The first database read of a request: its token, its stored answer and its game."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Final
from uuid import UUID

from service.application.calls import Answered, Idempotency, RegisteredPlayer, digest
from service.application.errors import Refusal
from service.application.games.cache import GameCache, Names
from service.application.games.entry import GameEntry
from service.application.idempotency import Answers
from service.replay.sentences import said
from service.runtime.recent import Recent
from service.store.events import StoreError
from service.store.lookups import FoundPlayer, Lookup, LookupResult, Lookups

KNOWN_TOKENS: Final = 10_000
"""Maximum number of tokens whose player one process caches; each takes 300 bytes."""


class RequestReads:
    """Creates the first read of each request, and caches the players of valid tokens."""

    def __init__(
        self,
        lookups: Lookups,
        game_cache: GameCache,
        names: Names,
        answers: Answers,
        *,
        note_use: Callable[[bytes], None],
    ) -> None:
        self.lookups = lookups
        self.game_cache = game_cache
        self.names = names
        self.answers = answers
        self._note_use = note_use  # of a token, by its hash
        self._players = Recent[bytes, RegisteredPlayer](KNOWN_TOKENS)

    def begin(self, token: str | None, game: UUID | None) -> RequestRead:
        """Return the first read of a request; nothing is read yet."""
        return RequestRead(self, None if token is None else digest(token), game)

    def check(self, token: bytes) -> None:
        """Raise Refusal `unauthorized` if the token of this hash is unknown or has expired."""
        RequestRead(self, token, None).confirm()

    def player_of(self, token: bytes) -> RegisteredPlayer | None:
        """Return the player of a token as last read; None if it is not cached."""
        return self._players.get(token)

    def remember(self, token: bytes, player: RegisteredPlayer | None) -> None:
        """Cache the player of a token, or forget an unknown or expired one."""
        if player is None:
            self._players.forget(token)
        else:
            self._players.keep(token, player)

    def note_use(self, token: bytes) -> None:
        """Store the day of the use of a token; a database that refuses it stops no request."""
        with suppress(StoreError):
            self._note_use(token)


class _Found:
    """The result of the one query of a request; the game is made of it at its first use."""

    __slots__ = ("_cache", "_entry", "_known", "_lookup", "result")

    def __init__(
        self, cache: GameCache, known: GameEntry | None, lookup: Lookup, result: LookupResult
    ) -> None:
        self._cache = cache
        self._known = known  # the cached version, after which events were read
        self._lookup = lookup
        self._entry: GameEntry | None = None
        self.result = result

    @classmethod
    def by(cls, reads: RequestReads, read: RequestRead) -> _Found:
        """Read the token, the stored answer and the events of the game that are not cached."""
        cache, game = reads.game_cache, read.game
        known = None if game is None else cache.in_memory(game)
        lookup = Lookup(
            token=read.token,
            request_key=None if read.request is None else read.request.request_key,
            game=game,
            after=0 if known is None else known.version,
            metadata=game is not None and known is None,
            names=() if known is None else reads.names.expired(known.players),
        )
        found = cls(cache, known, lookup, reads.lookups.find(lookup))
        reads.names.learn(found.result.names)
        return found

    @property
    def entry(self) -> GameEntry | None:
        """Return the game at the version that was read, None if there is none."""
        if self._entry is None:
            self._entry = self._cache.from_lookup(self._lookup, self.result, self._known)
        return self._entry


class RequestRead:
    """
    The token, the stored answer and the game of one request, read by one query.

    It is *deferred*, *confirmed* or neither. `confirm` reads all three. A request that changes a
    game can skip that: `defer` uses the cached player and game, and the commit checks the token.
    Before a request is refused, the read is confirmed, so that problems are reported in the
    documented order (api.md, section 1).
    """

    def __init__(self, reads: RequestReads, token: bytes | None, game: UUID | None) -> None:
        self._reads = reads
        self._found: _Found | None = None  # set by `confirm`
        self._is_new = False  # whether the game in it was not taken yet
        self._cached: GameEntry | None = None  # set by `defer`
        self.game = game
        self.token = token
        self.request: Idempotency | None = None
        self.player: RegisteredPlayer | None = None

    @property
    def confirmed(self) -> bool:
        """Return whether the token, if any, was read from the database for this request."""
        return self._found is not None or self.token is None

    def defer(self) -> bool:
        """Use the cached player; return false if player or game is not cached: then confirm."""
        if self.token is None or self.game is None:
            return False
        self.player = self._reads.player_of(self.token)
        self._cached = self._reads.game_cache.in_memory(self.game)
        return self.player is not None and self._cached is not None

    def confirm(self) -> None:
        """Read the token, the stored answer and the present game; raises Refusal `unauthorized`."""
        self._found, self._is_new = _Found.by(self._reads, self), True
        if self.token is None:
            return
        found = self._found.result.player
        self.player = None if found is None else _player_of(found)
        self._reads.remember(self.token, self.player)
        if found is None:
            raise Refusal("unauthorized", said("request.unknown_token"))
        if found.is_first_use:
            self._reads.note_use(self.token)

    def first_answer(self) -> Answered | None:
        """
        Return the first answer to this request, None if it has none.

        Raises Refusal `unauthorized`, and `idempotency-conflict` if the key was used with
        another body.
        """
        if not self.confirmed:
            self.confirm()
        if self.player is None or self.request is None or self._found is None:
            return None
        return self._reads.answers.opened(self.player.id, self.request, self._found.result.answer)

    def entry(self, game: UUID) -> GameEntry | None:
        """Return the game as this request read it, before that as cached; None if there is none."""
        if game != self.game:
            return self._reads.game_cache.cached(game)
        if self._found is not None:
            return self._found.entry
        return self._cached or self._reads.game_cache.cached(game)

    def take(self, game: UUID) -> GameEntry | None:
        """
        Return the present version of a game, None if there is none.

        The first call returns the game read together with the token. Each later call reads again,
        because the caller has waited or lost a race. Raises Refusal `unauthorized`.
        """
        if game != self.game:
            return self._reads.game_cache.fresh(game)
        if not self._is_new:
            self.confirm()
        self._is_new = False
        return self.entry(game)


def _player_of(found: FoundPlayer) -> RegisteredPlayer:
    return RegisteredPlayer(id=found.id, name=found.name, scopes=found.scopes)

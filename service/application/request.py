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


_NOTHING: Final = LookupResult()


class RequestRead:
    """
    The token, the stored answer and the game of one request.

    `confirm` reads all of them in one query. A request that changes a game can skip it: `defer`
    uses the cached player of the token, and the commit checks the token again. Before a request
    is refused, the read is confirmed, so that problems are reported in the documented order
    (api.md, section 1).
    """

    def __init__(self, reads: RequestReads, token: bytes | None, game: UUID | None) -> None:
        self._reads = reads
        self._game = game
        self._lookup: Lookup | None = None
        self._found = _NOTHING
        self._known: GameEntry | None = None  # the cached version of the game
        self._entry: GameEntry | None = None
        self._taken = True  # whether `take` has to read: nothing is read yet
        self.token = token
        self.request: Idempotency | None = None
        self.player: RegisteredPlayer | None = None

    @property
    def confirmed(self) -> bool:
        """Return whether the token, if any, was read from the database for this request."""
        return self._lookup is not None or self.token is None

    def defer(self) -> bool:
        """Use the cached player; return false if player or game is not cached: then confirm."""
        if self.token is None or self._game is None:
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
        if self.player is None or self.request is None:
            return None
        return self._reads.answers.opened(self.player.id, self.request, self._found.answer)

    def entry(self, game: UUID) -> GameEntry | None:
        """Return the game as this request read it, before that as cached; None if there is none."""
        if game is not self._game and game != self._game:
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
        if game is not self._game and game != self._game:
            return self._reads.game_cache.fresh(game)
        if self._taken:
            self.confirm()
        self._taken = True
        return self.entry(game)


def _player_of(found: FoundPlayer) -> RegisteredPlayer:
    return RegisteredPlayer(id=found.id, name=found.name, scopes=found.scopes)

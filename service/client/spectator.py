"""A spectator: follows a game live without a seat, and verifies it after the end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from uuid import UUID

from service.client.answers import Event, GameView
from service.client.api import Api
from service.client.local_log import Seen
from service.client.player import HOME, Player
from service.client.player_files import Kept
from service.verify.report import Report


class Spectator:
    """
    A game as its public log shows it, followed event by event.

    Each event must continue the chain of those before. They are stored in a folder, so a spectator
    that is started again compares the log with what an earlier one saw.
    """

    def __init__(self, player: Player, game: UUID) -> None:
        self.player, self.game = player, game
        self.seen = Seen(game, player.kept.watched(game))
        self._path = f"/games/{game}"
        self._keys = player.server_keys()

    @classmethod
    def at(cls, url: str, game: UUID, *, invite: str | None = None, home: Path = HOME) -> Spectator:
        """
        Return a spectator of a game at a service, who needs no account.

        `invite` is that of a private table.

        Raises NotAnswered, BadFile, or Contradicted if the server has other keys than before.
        """
        api = Api(url=url.rstrip("/"), invite=invite)
        return cls(Player(api=api, kept=Kept.at(home.expanduser(), url)), game)

    def events(self) -> Iterator[Event]:
        """
        Yield the events of the game from the first on, each as it happens, until the seal.

        A lost connection is made again from the last event.

        Raises Contradicted if an event does not continue the log, Refused or NotAnswered.
        """
        yield from list(self.seen.events)
        for line in self.player.api.stream(f"{self._path}/stream", after=self.seen.version):
            self.seen.add([line])
            yield self.seen.events[-1]

    def view(self) -> GameView:
        """
        Return the public view of the game, compared with the log.

        Raises Contradicted if it is older than the log or of another log, Refused or NotAnswered.
        """
        view: GameView = self.player.api.get(f"{self._path}?as=public")
        self.seen.check_not_back(view["version"])
        if self.seen.version < view["version"]:
            after = self.seen.version
            self.seen.add(self.player.api.lines(f"{self._path}/events?after={after}"))
        self.seen.check_head(view["version"], view["head"])
        return view

    def verified(self, seat_keys: Mapping[int, str] | None = None) -> Report:
        """
        Return the report on the evidence of a game that has ended.

        `seat_keys` are public keys of players, in base64. The log in the evidence has to be the one
        that was followed.

        Raises Contradicted if it is not, Refused or NotAnswered.
        """
        api = self.player.api
        receipt = self.seen.keep_receipt(api.data(f"{self._path}/receipt"), self._keys)
        data = api.data(f"{self._path}/evidence?profile=public")
        report = self.seen.verified(data, self._keys, seat_keys or {})
        self.seen.check_receipt(receipt)
        return report

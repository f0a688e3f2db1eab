"""A player of a service: registration, keys, tables and seats; and a spectator, without a seat."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote
from uuid import UUID

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from standardwebhooks import Webhook, WebhookVerificationError

from service.client.answers import (
    ClockView,
    Entropy,
    Event,
    GameView,
    KnownPlayer,
    OwnChallenges,
    OwnInvitation,
    OwnNotice,
    Table,
    WebhookEvent,
)
from service.client.api import WAIT, Api, NotAnswered, Refused
from service.client.hand import Hand
from service.client.local_log import Contradicted, LocalLog
from service.client.player_files import PlayerFolder, read_seat_key, read_token, write_private
from service.client.signing import public_text, signed_key_change
from service.shx.canonical import RecordError
from service.shx.keys import followed, read_keys
from service.shx.tlog.notes import MAX_NOTE, NoteVerifier
from service.verify.report import Report

HOME = Path("~/.shithead")
"""The folder in which players, games and receipts are stored, in a folder for each service."""


@dataclass(kw_only=True)
class Player:
    """A player of a service: its API client, files and signing key."""

    api: Api
    files: PlayerFolder
    key: Ed25519PrivateKey | None = field(default=None, repr=False)
    entropy: Entropy = "none"

    @classmethod
    def at(
        cls,
        url: str,
        *,
        name: str = "Player",
        keyed: bool = False,
        invite: str | None = None,
        home: Path = HOME,
    ) -> Player:
        """
        Return the player of a service whose files are in `home`; the first call registers one.

        A keyed player signs each move with its own key and adds entropy to the shuffle. Token
        and key are created in the folder. `invite` is that of a private table.

        Raises NotAnswered, Refused for an invalid name, BadFile for a file that is invalid or
        that other users can read.
        """
        files = PlayerFolder.at(home.expanduser(), url)
        player = cls(api=Api(url=url.rstrip("/"), invite=invite), files=files)
        if keyed:
            player.key, player.entropy = read_seat_key(files.folder / "seat.key"), "commit"
        player.register(files.folder / "token", name)
        return player

    def hand(self, game: UUID) -> Hand:
        """
        Return a hand in which this player has a seat, to begin or continue it.

        Raises as `server_keys`, and Contradicted if the stored log of the hand is invalid.
        """
        return Hand(self, game)

    @property
    def public(self) -> str | None:
        """Return the public key of this player's seats in base64, None without a key."""
        return None if self.key is None else public_text(self.key)

    def register(self, token_file: Path, name: str) -> bool:
        """
        Read the token from a file; without the file, register the player and write the token.

        Returns whether the player was registered now. The recovery code is then stored in a second
        file, FILE.recovery. Raises BadFile, Refused or NotAnswered.
        """
        self.api.token = read_token(token_file)
        if self.api.token is not None:
            return False
        answer = self.api.post("/players", {"name": name}, once=True)
        recovery_file = token_file.with_name(f"{token_file.name}.recovery")
        write_private(recovery_file, f"{answer['recovery']}\n".encode())
        write_private(token_file, f"{answer['token']}\n".encode())
        self.api.token = answer["token"]
        return True

    def server_keys(self) -> list[NoteVerifier]:
        """
        Return the keys that sign the server's receipts: those pinned, and their successors.

        At the first call the listed keys are trusted and pinned. Later a new key counts only
        if a pinned key signed it.

        Raises Refused, NotAnswered if the list cannot be read, Contradicted if it has no key that
        is pinned or signed by a pinned one, BadFile if the file of pinned keys is invalid.
        """
        pinned = self.files.pinned()
        try:
            listed = read_keys(self.api.get("/keys")["items"])
        except (RecordError, KeyError, TypeError):
            raise NotAnswered("the list of the server's keys cannot be read") from None
        keys = followed(pinned, listed) if pinned else [key.verifier for key in listed]
        if pinned and not {key.verifier for key in listed} & set(keys):
            raise Contradicted(
                "the server lists other keys than before, and no pinned key signed one of them"
            )
        if keys != pinned:
            self.files.pin(keys)
        return keys

    def open_table(
        self, ruleset: str, others: Sequence[str | Mapping[str, str]], **more: Any
    ) -> Table:
        """
        Open a table at which this player has the first seat, and return the table.

        The other seats are `"open"` or `{"bot": name}`; `more` are other fields of the request,
        such as `visibility="private"`. The first hand is dealt as soon as all seats are taken.

        Raises Refused or NotAnswered.
        """
        body = {"ruleset": ruleset, "seats": ["me", *others], **self._share(), **more}
        return self._store_share(self.api.post("/tables", body))

    def open_again(self, table: UUID) -> Table:
        """
        Open a table like one that this player hosts or sits at, and invite its players again.

        Raises Refused or NotAnswered.
        """
        return self._store_share(self.api.post("/tables", {"like": str(table)}))

    def invite(self, table: UUID, player: UUID) -> None:
        """Invite a player to a table that this player hosts; raises Refused or NotAnswered."""
        self.api.put(f"/tables/{table}/invitations/{player}")

    def invitations(self) -> list[OwnInvitation]:
        """
        Return the open invitations of this player, newest first; `sit` accepts one.

        Raises Refused or NotAnswered.
        """
        found: list[OwnInvitation] = self.api.get("/players/me/invitations")["items"]
        return found

    def choose_handle(self, handle: str) -> None:
        """
        Choose a handle, by which others find this player; at most once in 30 days.

        Raises Refused if it is taken, or NotAnswered.
        """
        self.api.put("/players/me/handle", {"handle": handle})

    def find(self, prefix: str) -> list[KnownPlayer]:
        """Return the first players whose handles begin so; raises Refused or NotAnswered."""
        found: list[KnownPlayer] = self.api.get(f"/handles?prefix={quote(prefix)}")["items"]
        return found

    def challenge(self, player: str, ruleset: str, **more: Any) -> Table:
        """
        Open a table for a player, named by handle or id, and return the table.

        `more` are other fields of the request, such as `visibility="public"` or `bots=["greedy"]`.
        The player accepts or declines within a day, which `notices` announces as
        `challenge_answered`. Raises Refused or NotAnswered.
        """
        body = {"player": player, "ruleset": ruleset, **self._share(), **more}
        return self._store_share(self.api.post("/challenges", body))

    def challenges(self) -> OwnChallenges:
        """
        Return the open challenges of this player, and the newest ones by this player.

        Raises Refused or NotAnswered.
        """
        found: OwnChallenges = self.api.get("/challenges")
        return found

    def accept(self, challenge: UUID) -> Table:
        """Accept a challenge of this player; return the table; raises Refused or NotAnswered."""
        return self._store_share(self.api.post(f"/challenges/{challenge}/accept", self._share()))

    def decline(self, challenge: UUID) -> None:
        """
        Decline a challenge of this player, or withdraw one by this player.

        Raises Refused or NotAnswered.
        """
        self.api.delete(f"/challenges/{challenge}")

    def block(self, player: UUID) -> None:
        """
        Let no invitation and no seek seat this player together with another one.

        Raises Refused or NotAnswered.
        """
        self.api.put(f"/players/me/blocks/{player}")

    def pause(self, table: UUID, *, paused: bool = True) -> Table:
        """
        Hold the next hand back at a table that deals by itself, or let it go on.

        Raises Refused or NotAnswered.
        """
        changed: Table = self.api.patch(f"/tables/{table}/seats/me", {"paused": paused})
        return changed

    def sit(self, table: UUID) -> Table:
        """
        Take a seat at a table, or set key and entropy of this player's seat; return the table.

        Raises Refused if no seat is open, or NotAnswered.
        """
        found = self.table(table)
        if found["as"] is None:
            body = {"seat": None, **self._share()}
            return self._store_share(self.api.post(f"/tables/{table}/seats", body))
        return self.update_seat(found)

    def seek_table(
        self,
        rulesets: Sequence[str],
        seats: int,
        *,
        clock: ClockView | Literal["usual"] | None = "usual",
        fill_with_bots_after: int | None = None,
        only_stayers: bool = False,
    ) -> Table | None:
        """
        Wait for a table with anybody who wants one of some rulesets, and return the table.

        Its first hand runs; the other players agreed on seats and clock, by default that of the
        service for strangers; None is without one. With `only_stayers` the others have left at most
        a tenth of their newest hands. After
        `fill_with_bots_after` seconds bots take the seats that no player took. Returns None if the
        seek was withdrawn elsewhere, also by the match of another one of this player, or expired
        because the service did not answer for minutes.

        Raises Refused or NotAnswered.
        """
        body = {
            "rulesets": list(rulesets),
            "seats": seats,
            **({} if clock == "usual" else {"clock": clock}),
            "fill_with_bots_after": fill_with_bots_after,
            "only_stayers": only_stayers,
            **self._share(),
        }
        seek = self.api.post("/seeks", body)
        after = ""
        while seek["status"] == "open":
            after = self.api.get(f"/players/me/stream?wait={WAIT}{after}")["next"]
            after = f"&after={after}"
            try:
                seek = self.api.post(f"/seeks/{seek['id']}/renew", {})
            except Refused as refused:
                if refused.kind != "seek-over":
                    raise
                seek = refused.problem["seek"]
        if seek["table"] is None:
            return None
        return self._store_share(self.table(UUID(seek["table"])))

    def update_seat(self, table: Table) -> Table:
        """
        Set the seat's key and entropy to those of this player; return the table.

        During a hand nothing is changed.

        Raises ValueError if the player has no seat, Refused or NotAnswered.
        """
        seat = table["seats"][_own_seat(table)]
        share = self._share()
        same = share == {"key": seat["key"], "entropy": seat["entropy"]}
        if table["status"] == "playing" or same:
            return table
        return self._store_share(self.api.patch(f"/tables/{table['id']}/seats/me", share))

    def change_key(self, table: Table, new: Ed25519PrivateKey) -> Table:
        """
        Replace the key of this player's seat by a new one, signed with the old one; between hands.

        Raises ValueError without a key or a seat, Refused or NotAnswered.
        """
        if self.key is None:
            raise ValueError("this player has no key to replace")
        key = public_text(new)
        sig = signed_key_change(self.key, table=UUID(table["id"]), seat=_own_seat(table), key=key)
        body = {"key": key, "sig": sig}
        changed: Table = self.api.patch(f"/tables/{table['id']}/seats/me", body)
        self.key = new
        return self._store_share(changed)

    def table(self, table: UUID, *, after: int | None = None) -> Table:
        """
        Return a table; with `after` as soon as its version is greater, at most WAIT seconds later.

        Raises Refused or NotAnswered.
        """
        query = "" if after is None else f"?after={after}&wait={WAIT}"
        found: Table = self.api.get(f"/tables/{table}{query}")
        return found

    def next_game(self, table: Table, *, after: str | None = None) -> UUID:
        """
        Return the id of the hand being played at a table.

        Waits until all seats are taken, and deals the next hand if no other player has, unless the
        table is about to deal by itself, or a seat has paused. `after` is the id of a finished
        hand, which is not returned.

        Raises NotAnswered if the table is closed or the service does not answer, or Refused.
        """
        while (game := table["game"]) is None or game == after:
            identity = UUID(table["id"])
            if table["status"] == "closed":
                raise NotAnswered("the table is closed")
            if table["status"] == "between" and not _waits_to_deal(table):
                self.deal(identity)
                table = self.table(identity)
            else:
                table = self.table(identity, after=table["version"])
        return UUID(game)

    def notices(self, *, watch: Sequence[UUID] = (), referee: bool = False) -> Iterator[OwnNotice]:
        """
        Yield what concerns this player: first all that is open, then each notice as it happens.

        It never ends. After a lost connection all that is open comes again, so a notice can come
        more than once, also one that this program has handled. `watch` are games whose versions are
        announced; with `referee` also disputes that want referees.

        Raises Refused if the token has ended or a game is not visible, or NotAnswered.
        """
        query = [f"watch={','.join(map(str, watch))}"] if watch else []
        query += ["referee=true"] if referee else []
        path = "/players/me/stream" + (f"?{'&'.join(query)}" if query else "")
        for notice in self.api.follow(path):
            yield from notice["items"] if notice["type"] == "snapshot" else (notice,)

    def issue_token(self, name: str, scopes: Sequence[str], *, ends_at: str | None = None) -> str:
        """
        Return a further token of this player, which permits no more than the present one.

        `scopes` are of read, play, dispute and account. Raises Refused or NotAnswered.
        """
        body = {"name": name, "scopes": list(scopes), "ends_at": ends_at}
        token: str = self.api.post("/players/me/tokens", body, once=True)["token"]
        return token

    def set_webhook(self, url: str, types: Sequence[str] | None = None) -> str:
        """
        Let the service send this player's events to an address; return the secret that signs them.

        `types` are those of `notices`. Raises Refused or NotAnswered.
        """
        body = {"url": url} if types is None else {"url": url, "types": list(types)}
        secret: str = self.api.put("/players/me/webhook", body)["secret"]
        return secret

    def webhook(self) -> dict[str, Any]:
        """Return the webhook, and why its last attempt failed; raises Refused if there is none."""
        found: dict[str, Any] = self.api.get("/players/me/webhook")
        return found

    def end_webhook(self) -> None:
        """Delete the webhook; raises Refused if there is none, or NotAnswered."""
        self.api.delete("/players/me/webhook")

    def deal(self, table: UUID) -> None:
        """
        Deal the next hand of a table, unless seats are free or another player has dealt it.

        Raises Refused or NotAnswered.
        """
        try:
            self.api.post(f"/tables/{table}/games", {})
        except Refused as refused:
            if refused.kind not in ("hand-running", "table-not-full"):
                raise

    def _store_share(self, table: Table) -> Table:
        """Store the seat's key and entropy, to compare each log with them; return the table."""
        self.files.keep_share(UUID(table["id"]), self.public, self.entropy)
        return table

    def _share(self) -> dict[str, Any]:
        return {"entropy": self.entropy, "key": self.public}


class NotSigned(Exception):
    """A request to a receiver was not signed with its secret, or more than five minutes ago."""


def webhook_event(secret: str, headers: Mapping[str, str], body: bytes) -> WebhookEvent:
    """
    Return the event in a request to a receiver; raises NotSigned.

    `secret` is that of `Player.set_webhook`. Answer a `ping` with its `challenge` as text. An
    event can come again: `webhook-id` is equal then.
    """
    try:
        event: WebhookEvent = Webhook(secret).verify(body, dict(headers))
    except (WebhookVerificationError, ValueError):  # of a header or body that cannot be read
        raise NotSigned("the request is not signed with this secret") from None
    return event


def _waits_to_deal(table: Table) -> bool:
    """Return whether the table deals by itself later; one that stopped does not."""
    is_paused = any(seat.get("paused") for seat in table["seats"])
    return is_paused or table.get("next_deal_at") is not None


def _own_seat(table: Table) -> int:
    """Return the caller's seat; raises ValueError if the caller has none."""
    if table["as"] is None:
        raise ValueError(f"no seat at table {table['id']}")
    return table["as"]


class Spectator:
    """
    A game as its log shows it to everybody, followed event by event.

    Each event must continue the chain of those before. The events are stored in a folder, so that
    a later run can compare the log with them.
    """

    def __init__(self, player: Player, game: UUID) -> None:
        self.player, self.game = player, game
        self.seen = LocalLog(game, player.files.watched(game))
        self._path = f"/games/{game}"
        self._keys = player.server_keys()

    @classmethod
    def at(cls, url: str, game: UUID, *, invite: str | None = None, home: Path = HOME) -> Spectator:
        """
        Return a spectator of a game at a service; no account is needed.

        `invite` is that of a private table.

        Raises as `Player.server_keys`, and Contradicted if the stored log of the game is invalid.
        """
        api = Api(url=url.rstrip("/"), invite=invite)
        return cls(Player(api=api, files=PlayerFolder.at(home.expanduser(), url)), game)

    def events(self) -> Iterator[Event]:
        """
        Yield the events of the game from the first on, each as it happens, until the seal.

        After a lost connection the stream continues after the last event. `view` can be called
        in between.

        Raises Contradicted if an event does not continue the log, or if the server has fewer events
        than this folder; Refused or NotAnswered.
        """
        seq = 0
        while seq < self.seen.version:
            yield self.seen.events[seq]
            seq += 1
        for line in self._stream(seq):
            if seq < self.seen.version:  # `view` has fetched this event already
                self.seen.check_event(seq, line)
            else:
                self.seen.add([line])
            yield self.seen.events[seq]
            seq += 1

    def _stream(self, after: int) -> Iterator[bytes]:
        try:
            yield from self.player.api.stream(f"{self._path}/stream", after=after)
        except Refused as refused:
            if refused.kind == "unknown-version":
                self.seen.check_not_back(refused.problem["version"])
            raise

    def view(self) -> GameView:
        """
        Return the public view of the game, compared with the log.

        Raises Contradicted if it is older than the log or contradicts it, Refused or NotAnswered.
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

        `seat_keys` are public keys of players, in base64. The log in the evidence must equal the
        one that was followed.

        Raises Contradicted if it does not or the receipt is invalid or names another head,
        Refused or NotAnswered.
        """
        api = self.player.api
        receipt = self.seen.keep_receipt(
            api.data(f"{self._path}/receipt", most=MAX_NOTE), self._keys
        )
        data = api.data(f"{self._path}/evidence?profile=public")
        report = self.seen.verified(data, self._keys, seat_keys or {})
        self.seen.check_receipt(receipt)
        return report

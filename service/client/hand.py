"""One hand of a player: set-up, moves, and evidence at the end."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

from service.client.local_log import Contradicted, Seen, Share
from service.client.player import WAIT, Player
from service.client.player_files import write_private
from service.client.signing import client_commit, public_text, signed_move
from service.shx.bundle import NotABundle, read_log
from service.verify.evidence import OutsideEvidence
from service.verify.report import Report
from service.verify.verify import verify_bundle

View = dict[str, Any]


class NotSeated(Exception):
    """The player does not sit in this game."""


class Hand:
    """
    A hand, followed event by event; the chain is checked before anything is shown or signed.

    It can be resumed from the same folder.
    """

    def __init__(self, player: Player, game: UUID) -> None:
        self.player, self.game = player, game
        self.folder = player.kept.game(game)
        self.seen = Seen(game, self.folder)
        self._path = f"/games/{game}"
        self._keys = player.server_keys()
        self._seat = -1

    def look(self, *, after: int | None = None) -> View:
        """
        Return the player's view, checked; with `after` as soon as there is something new.

        Raises NotSeated if the player does not sit in the game, Contradicted if the view is not
        what the log says.
        """
        query = "" if after is None else f"?after={after}&wait={WAIT}"
        view: View = self.player.api.get(f"{self._path}{query}")
        if type(view["as"]) is not int:
            raise NotSeated("you do not sit in this game")
        self._seat = view["as"]
        self.seen.check_not_back(view["version"])
        self._follow(view["version"])
        self.seen.check_head(view["version"], view["head"])
        return view

    def dealt_with(self) -> tuple[str | None, str]:
        """
        Return the key and entropy with which this hand was dealt to the player's seat.

        Call `look` first. Raises Contradicted if this folder gave the seat others: then the
        server exchanged them. If the seat was taken from elsewhere, nothing here can tell.
        """
        dealt = self.seen.dealt_with(self._seat)
        given = self.player.kept.share(UUID(self.seen.events[0]["data"]["table"]))
        if given is not None and given != dealt:
            raise Contradicted("the game was not dealt with the key and entropy of this seat")
        return dealt

    def taken_elsewhere(self) -> bool:
        """Return whether this folder does not know what the seat was given."""
        return self.player.kept.share(UUID(self.seen.events[0]["data"]["table"])) is None

    def entropy_is_missing(self) -> bool:
        """Return whether the seat's entropy is in the log, and was given by another folder."""
        kinds = ("entropy_committed", "entropy_revealed")
        there = any(e["data"]["seat"] == self._seat for kind in kinds for e in self.seen.of(kind))
        return there and self.taken_elsewhere() and not (self.folder / "entropy").exists()

    def set_up(self, view: View) -> bool:
        """Do what the set-up asks of this seat; return whether there was something to do."""
        share = self._share()
        if share.value is None or view["setup"] is None:
            return False
        state = view["setup"][share.seat]["state"]
        if state == "waiting" and share.entropy == "commit":
            self._give({"commit": client_commit(self.game, share.seat, share.value)})
        elif state == "waiting" or (state == "committed" and self.seen.all_committed()):
            self._give({"value": share.value.hex()})
        else:
            return False
        return True

    def move(self, view: View, move: Mapping[str, Any]) -> None:
        """
        Make a move on what `view` shows, signed where the seat has a key.

        Raises Refused if the rules refuse the move or another seat acted first.
        """
        self.seen.check_share(self._share())
        body: dict[str, Any] = dict(move)
        if self.player.key is not None:
            body = signed_move(
                self.player.key,
                game=self.game,
                seat=self._seat,
                seen_seq=view["version"] - 1,
                seen_head=self.seen.heads[view["version"] - 1],
                move=move,
            )
        self._kept(self.player.api.post(f"{self._path}/moves", body))

    def captions(self, first: int, last: int) -> list[str]:
        """Return what happened from one version to another, in words."""
        if last < first:
            return []
        page = self.player.api.get(f"{self._path}/replay?as=public&from={first}&to={last}")
        return [item["caption"] for item in page["items"]]

    def verified(self, seat_keys: Mapping[int, str]) -> Report:
        """
        Return the report on the evidence, with all that this player kept from outside.

        The log in it has to be the one that was played here, to the last byte.

        Raises Contradicted if it is not.
        """
        note = self.player.api.data(f"{self._path}/receipt")
        receipt = self.seen.keep_receipt(note, self._keys)
        data = self.player.api.data(f"{self._path}/evidence?profile=public")
        write_private(self.bundle, data)
        try:
            bundle = read_log(data)
        except NotABundle as error:
            raise Contradicted(f"the evidence is no bundle: {error}") from None
        self.seen.check_whole(bundle.lines)
        self.seen.check_receipt(receipt)
        keys = dict(seat_keys)
        if self.player.key is not None:
            keys[self._seat] = public_text(self.player.key)
        notes = {path.name: path.read_bytes() for path in self.seen.receipts()}
        given = OutsideEvidence(
            receipts=tuple(notes.values()),
            files={note: name for name, note in notes.items()},
            server_keys=tuple(self._keys),
            seat_keys=keys,
        )
        return verify_bundle(bundle, given)

    @property
    def bundle(self) -> Path:
        """Return the path of the evidence bundle."""
        return self.folder / "game.shx"

    def keep_contradiction(self) -> Path:
        """Keep the log as the server shows it now, beside the one that was seen, and return it."""
        shown = self.player.api.lines(f"{self._path}/events")
        path = self.folder / "shown-afterwards.jsonl"
        write_private(path, b"".join(line + b"\n" for line in shown))
        return path

    def _follow(self, version: int) -> None:
        if self.seen.version < version:
            self.seen.add(self.player.api.lines(f"{self._path}/events?after={self.seen.version}"))

    def _give(self, body: Mapping[str, str]) -> None:
        self._kept(self.player.api.post(f"{self._path}/entropy", body))

    def _kept(self, answer: Mapping[str, Any]) -> None:
        """Keep the receipt of an answer before anything else, then hold it against the log."""
        receipt = self.seen.keep_receipt(answer["receipt"].encode(), self._keys)
        self._follow(answer["version"])
        self.seen.check_receipt(receipt)

    def _share(self) -> Share:
        """Return what this seat brings: chosen by the player, so that no server can change it."""
        none = self.player.entropy == "none" or self.entropy_is_missing()
        value = None if none else self._entropy()
        key, entropy = self.player.public, self.player.entropy
        return Share(seat=self._seat, key=key, entropy=entropy, value=value)

    def _entropy(self) -> bytes:
        """Return this hand's entropy, made once and kept before it is committed to."""
        path = self.folder / "entropy"
        if not path.exists():
            write_private(path, secrets.token_hex(32).encode() + b"\n")
        return bytes.fromhex(path.read_text("ascii").strip())

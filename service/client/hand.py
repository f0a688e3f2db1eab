"""One hand of a player: set-up, moves, and evidence at the end."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Protocol
from uuid import UUID

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from service.client.answers import AbsentPlayers, Entropy, GameView, Move, Reasons
from service.client.api import WAIT, Api, Refused
from service.client.local_log import Contradicted, LocalLog, Share
from service.client.player_files import PlayerFolder, write_private
from service.client.signing import client_commit, public_text, signed_move
from service.shx.tlog.notes import MAX_NOTE, NoteVerifier
from service.verify.report import Report

OVER: Final = ("ended", "aborted")
"""Statuses of a game that has ended."""

TOO_LATE: Final = ("stale-version", "not-your-turn", "game-over", "entropy-refused")
"""Problem types of moves that came too late: another seat acted first, or the time was up."""


class NotSeated(Exception):
    """The player does not sit in this game."""


class HandPlayer(Protocol):
    """The part of a player (`player.py`) that a hand needs."""

    api: Api
    files: PlayerFolder
    key: Ed25519PrivateKey | None
    entropy: Entropy

    @property
    def public(self) -> str | None:
        """Return the public key of this player's seats in base64, None without a key."""

    def server_keys(self) -> list[NoteVerifier]:
        """Return the keys that sign the server's receipts."""


class Hand:
    """
    A hand of a player, followed event by event.

    The chain of events is checked before a view is returned or a move is signed. Each answer to a
    move has a receipt, which is stored and compared with the log. Requests are repeated after a
    lost connection; after a restart of the program, a Hand for the same game and folder continues.
    Methods that read the stored key and entropy raise BadFile if their file is invalid.
    """

    def __init__(self, player: HandPlayer, game: UUID) -> None:
        self.player, self.game = player, game
        self.folder = player.files.game(game)
        self.seen = LocalLog(game, self.folder)
        self._path = f"/games/{game}"
        self._keys = player.server_keys()
        self._seat = -1

    @property
    def seat(self) -> int:
        """Return the number of the player's seat, -1 before the first view."""
        return self._seat

    def play(self, choose: Callable[[GameView], Move]) -> GameView:
        """
        Play the hand to its end, and return the last view.

        `choose` gets a view that lists moves, and returns one of those or another. If the move
        comes too late, `choose` is called again with the next view.

        Raises Refused if the rules forbid the move, NotSeated, Contradicted or NotAnswered.
        """
        for view in self.views():
            if view["moves"] and view["status"] not in OVER:
                try:
                    self.move(view, choose(view))
                except Refused as refused:
                    if refused.kind not in TOO_LATE:
                        raise
        return view

    def act(self, choose: Callable[[GameView], Move]) -> GameView:
        """
        Do what the player can do now, without waiting for others; return the last view.

        It takes part in the shuffle and moves as long as moves are listed. Several programs may do
        this for one player: a move that another one was faster to make is left out.

        Raises as `play`.
        """
        view = self.fetch_view()
        while view["status"] not in OVER and (self._set_up_in_time(view) or view["moves"]):
            if view["moves"]:
                try:
                    self.move(view, choose(view))
                except Refused as refused:
                    if refused.kind not in TOO_LATE:
                        raise
            view = self.fetch_view()
        return view

    def views(self) -> Iterator[GameView]:
        """
        Yield each view up to the end of the hand, and take part in the shuffle.

        The caller must make its move before it takes the next view. After a view without moves the
        next one follows as soon as the version changes, or unchanged after WAIT seconds.

        Raises as `fetch_view`.
        """
        view = self.fetch_view()
        while view["status"] not in OVER:
            yield view
            if self._set_up_in_time(view) or view["moves"]:
                view = self.fetch_view()
            else:
                view = self.fetch_view(after=view["version"])
        yield view

    def fetch_view(self, *, after: int | None = None) -> GameView:
        """
        Return the checked view; with `after`, wait up to WAIT seconds for a greater version.

        Raises NotSeated if the player does not sit in the game, Contradicted if the view differs
        from the log, Refused or NotAnswered.
        """
        query = "" if after is None else f"?after={after}&wait={WAIT}"
        view: GameView = self.player.api.get(f"{self._path}{query}")
        seat = view["as"]
        if not isinstance(seat, int):
            raise NotSeated("you do not sit in this game")
        self._seat = seat
        self.seen.check_not_back(view["version"])
        self._follow(view["version"])
        self.seen.check_head(view["version"], view["head"])
        return view

    def dealt_with(self) -> tuple[str | None, Entropy]:
        """
        Return the key and entropy with which this hand was dealt to the player's seat.

        Call `fetch_view` first. Raises Contradicted if they differ from those that this folder
        recorded for the seat: then the server replaced them. A seat that was taken with another
        folder cannot be checked.
        """
        dealt = self.seen.dealt_with(self._seat)
        share = self.player.files.share(UUID(self.seen.events[0]["data"]["table"]))
        if share is not None and share != dealt:
            raise Contradicted("the deal did not use the key and entropy of this seat")
        return dealt

    def taken_elsewhere(self) -> bool:
        """Return whether this folder has no record of the seat's key and entropy."""
        return self.player.files.share(UUID(self.seen.events[0]["data"]["table"])) is None

    def entropy_is_missing(self) -> bool:
        """Return whether the log has entropy of the seat that was not created in this folder."""
        kinds = ("entropy_committed", "entropy_revealed")
        in_log = any(e["data"]["seat"] == self._seat for kind in kinds for e in self.seen.of(kind))
        return in_log and self.taken_elsewhere() and not (self.folder / "entropy").exists()

    def set_up(self, view: GameView) -> bool:
        """
        Send the entropy, or its commitment, if the set-up waits for it; return whether it was sent.

        Raises Refused, Contradicted or NotAnswered.
        """
        share = self._share()
        if share.value is None or view["setup"] is None:
            return False
        state = view["setup"][share.seat]["state"]
        if state == "waiting" and share.entropy == "commit":
            self._send_entropy({"commit": client_commit(self.game, share.seat, share.value)})
        elif state == "waiting" or (state == "committed" and self.seen.all_committed()):
            self._send_entropy({"value": share.value.hex()})
        else:
            return False
        return True

    def move(self, view: GameView, move: Mapping[str, Any]) -> None:
        """
        Make a move in the position of `view`, signed if the seat has a key.

        Raises Refused if the rules refuse the move or another seat acted first, Contradicted
        if the deal did not use the key and entropy of this seat or a receipt contradicts
        the log, and NotAnswered.
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
        version = view["version"]
        self._store_receipt(self.player.api.post(f"{self._path}/moves", body, version=version))

    def reasons(self, cards: Sequence[str]) -> Reasons:
        """
        Return why cards of the player's hand or face-up cards cannot be played now, on turn.

        The server does not record the question. Raises Refused or NotAnswered.
        """
        found: Reasons = self.player.api.get(f"{self._path}/reasons?cards={','.join(cards)}")
        return found

    def absences(self) -> AbsentPlayers:
        """
        Return the players for whom the hand waits and who are away, with what may be claimed.

        A claim is the move `claim_absence`, which needs no turn. At a table with a clock nobody
        is listed. Raises Refused or NotAnswered.
        """
        found: AbsentPlayers = self.player.api.get(f"{self._path}/absences")
        return found

    def verified(self, seat_keys: Mapping[int, str] | None = None) -> Report:
        """
        Return the report on the evidence, with all receipts and keys of this player.

        `seat_keys` are the public keys of other players, in base64, received from them and not
        from the server. The log in the evidence must equal the one that was played.

        Raises Contradicted if it does not or the receipt is invalid or names another head,
        Refused or NotAnswered.
        """
        note = self.player.api.data(f"{self._path}/receipt", most=MAX_NOTE)
        receipt = self.seen.keep_receipt(note, self._keys)
        data = self.player.api.data(f"{self._path}/evidence?profile=public")
        keys = dict(seat_keys or {})
        if self.player.key is not None:
            keys[self._seat] = public_text(self.player.key)
        report = self.seen.verified(data, self._keys, keys)
        self.seen.check_receipt(receipt)
        return report

    @property
    def bundle(self) -> Path:
        """Return the path of the evidence bundle, once the hand was verified."""
        return self.seen.bundle

    def keep_contradiction(self) -> Path:
        """
        Store the log that the server shows now in a second file, and return its path.

        Raises Refused or NotAnswered.
        """
        lines = self.player.api.lines(f"{self._path}/events")
        path = self.folder / "shown-afterwards.jsonl"
        write_private(path, b"".join(line + b"\n" for line in lines))
        return path

    def hand_in_lost(self) -> bool:
        """
        Hand in the newest receipt after Contradicted; return whether that ended the hand.

        It does only if the server has declared a restore that lost the move. Raises
        NotAnswered.
        """
        stored = self.seen.receipts()
        if not stored:
            return False
        body = {"receipt": stored[-1].read_text(encoding="utf-8")}
        try:
            self.player.api.post(f"{self._path}/receipts", body)
        except Refused:
            return False
        return True

    def _set_up_in_time(self, view: GameView) -> bool:
        """Return whether the set-up changed: entropy was sent, or was refused as too late."""
        try:
            return self.set_up(view)
        except Refused as refused:
            if refused.kind not in TOO_LATE:
                raise
            return True

    def _follow(self, version: int) -> None:
        if self.seen.version < version:
            self.seen.add(self.player.api.lines(f"{self._path}/events?after={self.seen.version}"))

    def _send_entropy(self, body: Mapping[str, str]) -> None:
        self._store_receipt(self.player.api.post(f"{self._path}/entropy", body))

    def _store_receipt(self, answer: Mapping[str, Any]) -> None:
        """Store the receipt of an answer before anything else, then compare it with the log."""
        receipt = self.seen.keep_receipt(answer["receipt"].encode(), self._keys)
        self._follow(answer["version"])
        self.seen.check_receipt(receipt)

    def _share(self) -> Share:
        """Return the seat's key and entropy as set by the player, not as shown by the server."""
        none = self.player.entropy == "none" or self.entropy_is_missing()
        value = None if none else self._entropy()
        key, entropy = self.player.public, self.player.entropy
        return Share(seat=self._seat, key=key, entropy=entropy, value=value)

    def _entropy(self) -> bytes:
        """Return this hand's entropy; created once, and stored before it is committed to."""
        path = self.folder / "entropy"
        if not path.exists():
            write_private(path, secrets.token_hex(32).encode() + b"\n")
        return bytes.fromhex(path.read_text("ascii").strip())

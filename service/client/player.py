"""A player of a service: registration, keys, tables and seats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from service.client.api import Api, NotAnswered, Refused
from service.client.local_log import Contradicted
from service.client.player_files import Kept, read_token, write_private
from service.client.signing import public_text, signed_key_change
from service.shx.canonical import RecordError
from service.shx.keys import followed, read_keys
from service.shx.tlog.notes import NoteVerifier

WAIT: Final = 25  # seconds of a long poll


@dataclass(kw_only=True)
class Player:
    """A player: API client, files, and signing key."""

    api: Api
    kept: Kept
    key: Ed25519PrivateKey | None = field(default=None, repr=False)
    entropy: str = "none"

    @property
    def public(self) -> str | None:
        """Return the public key of this player's seats, None for one who signs nothing."""
        return None if self.key is None else public_text(self.key)

    def register(self, token_file: Path, name: str) -> bool:
        """Take the token of a file, or register and make the file; return whether it was made."""
        self.api.token = read_token(token_file)
        if self.api.token is not None:
            return False
        answer = self.api.post("/players", {"name": name}, once=True)
        write_private(token_file, f"{answer['token']}\n".encode())
        write_private(
            token_file.with_name(f"{token_file.name}.recovery"), f"{answer['recovery']}\n".encode()
        )
        self.api.token = answer["token"]
        return True

    def server_keys(self) -> list[NoteVerifier]:
        """
        Return the keys under which receipts count: those first met here, and who follows them.

        At the first meeting what the service lists is believed and pinned. Afterwards a
        key counts only if one that is pinned signed it.

        Raises NotAnswered if the list cannot be read, Contradicted if no pinned key signed a listed
        one.
        """
        pinned = self.kept.pinned()
        try:
            listed = read_keys(self.api.get("/keys")["items"])
        except (RecordError, KeyError, TypeError):
            raise NotAnswered("the list of the server's keys cannot be read") from None
        keys = followed(pinned, listed) if pinned else [key.verifier for key in listed]
        if pinned and not {key.verifier for key in listed} & set(keys):
            raise Contradicted("the server has other keys than before, and none of them vouched")
        if keys != pinned:
            self.kept.pin(keys)
        return keys

    def open_table(self, ruleset: str, others: Sequence[Any], **more: Any) -> dict[str, Any]:
        """Open a table where this player sits first, and return it."""
        body = {"ruleset": ruleset, "seats": ["me", *others], **self._share(), **more}
        return self._kept_share(self.api.post("/tables", body))

    def sit(self, table: UUID) -> dict[str, Any]:
        """Sit down at a table, or go on where this player sits already; return the table."""
        found = self.table(table)
        if found["as"] is None:
            body = {"seat": None, **self._share()}
            return self._kept_share(self.api.post(f"/tables/{table}/seats", body))
        return self.agree(found)

    def agree(self, table: dict[str, Any]) -> dict[str, Any]:
        """Bring key and entropy of this player's seat to what they are here, between hands."""
        seat = table["seats"][table["as"]]
        share = self._share()
        if table["status"] == "playing" or share == {n: seat[n] for n in share}:
            return table
        return self._kept_share(self.api.patch(f"/tables/{table['id']}/seats/me", share))

    def change_key(self, table: dict[str, Any], new: Ed25519PrivateKey) -> dict[str, Any]:
        """
        Put a new key in place of the present one, which signs for it; between hands.

        Raises ValueError for a seat without a key.
        """
        if self.key is None:
            raise ValueError("a seat without a key has none to change")
        key = public_text(new)
        sig = signed_key_change(self.key, table=UUID(table["id"]), seat=table["as"], key=key)
        body = {"key": key, "sig": sig}
        changed: dict[str, Any] = self.api.patch(f"/tables/{table['id']}/seats/me", body)
        self.key = new
        return self._kept_share(changed)

    def table(self, table: UUID, *, after: int | None = None) -> dict[str, Any]:
        """Return a table; with `after` as soon as it has a later version, or after a while."""
        query = "" if after is None else f"?after={after}&wait={WAIT}"
        found: dict[str, Any] = self.api.get(f"/tables/{table}{query}")
        return found

    def next_game(self, table: Mapping[str, Any], *, after: str | None = None) -> UUID:
        """
        Return the hand that is played, waiting for players, and dealing if no other seat does.

        `after` is the hand that is over.

        Raises NotAnswered if the table is closed.
        """
        while table["game"] in (None, after):
            identity = UUID(table["id"])
            if table["status"] == "closed":
                raise NotAnswered("the table is closed")
            if table["status"] == "between":
                self._deal(identity)
                table = self.table(identity)
            else:
                table = self.table(identity, after=table["version"])
        return UUID(table["game"])

    def _deal(self, table: UUID) -> None:
        try:
            self.api.post(f"/tables/{table}/games", {})
        except Refused as refused:
            if refused.kind not in ("hand-running", "table-not-full"):
                raise

    def _kept_share(self, table: dict[str, Any]) -> dict[str, Any]:
        """Remember what this player's seat was given, so that the log can be held against it."""
        self.kept.keep_share(UUID(table["id"]), self.public, self.entropy)
        return table

    def _share(self) -> dict[str, Any]:
        return {"entropy": self.entropy, "key": self.public}

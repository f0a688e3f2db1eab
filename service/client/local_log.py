"""The client's copy of a game's log, the checks of answers against it, and its verification."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast
from uuid import UUID

from service.client.answers import Entropy, Event
from service.client.player_files import write_private
from service.client.signing import client_commit, genesis, head
from service.shx.bundle import NotABundle, read_log
from service.shx.canonical import RecordError
from service.shx.chain import decode_event
from service.shx.receipts import Receipt, check_receipt
from service.shx.tlog.notes import NoteVerifier
from service.verify.evidence import OutsideEvidence
from service.verify.report import Report
from service.verify.verify import verify_bundle


class Contradicted(Exception):
    """An answer of the server contradicts an earlier one or a signature; the stored log remains."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """The player's part in a hand: public key, entropy mode, and the secret entropy value."""

    seat: int
    key: str | None  # public, base64
    entropy: Entropy
    value: bytes | None = None


class LocalLog:
    """
    The log of one game, byte for byte, stored in a folder.

    All later answers are compared with it: new events must continue the chain from its head,
    and the heads in views and signed receipts must be heads of this log.

    The constructor reads the stored log, and raises Contradicted if an event in it is invalid.
    """

    def __init__(self, game: UUID, folder: Path) -> None:
        self.game = game
        self._folder = folder
        self.lines: list[bytes] = []
        self.events: list[Event] = []
        self.heads: list[bytes] = []
        self._path = folder / "events.jsonl"
        stored = self._path.read_bytes() if self._path.exists() else b""
        complete = stored[: stored.rfind(b"\n") + 1]
        if complete != stored:  # the program was stopped while it wrote a line
            write_private(self._path, complete)
        self._add(complete.splitlines())

    @property
    def version(self) -> int:
        """Return the number of events."""
        return len(self.lines)

    def add(self, lines: Sequence[bytes]) -> None:
        """
        Append new events.

        Raises Contradicted if one does not continue the chain; those before it are stored.
        """
        before = self.version
        try:
            self._add(lines)
        finally:
            if self.version > before:
                with self._path.open("ab") as file:
                    file.writelines(line + b"\n" for line in self.lines[before:])

    def check_event(self, seq: int, line: bytes) -> None:
        """Raise Contradicted unless `line` equals the stored event `seq`."""
        if self.lines[seq] != line:
            raise Contradicted(f"the server shows another event at seq {seq} than before")

    def check_not_back(self, version: int) -> None:
        """
        Raise Contradicted if the server shows an older version than before.

        A move signed on the older version would confirm a second history.
        """
        if version < self.version:
            raise Contradicted(
                f"the server shows version {version}, and has shown {self.version}: "
                "later moves are missing"
            )

    def check_head(self, version: int, shown: str) -> None:
        """Raise Contradicted unless `shown`, the head in a view, is that of this log."""
        if not 0 < version <= self.version or self.heads[version - 1].hex() != shown:
            raise Contradicted(f"the server shows another game at version {version} than before")

    def check_whole(self, lines: Sequence[bytes]) -> None:
        """Raise Contradicted unless the log in the evidence equals this log."""
        if list(lines) != self.lines:
            pairs = zip(self.lines, lines, strict=False)
            seq = next((n for n, (own, other) in enumerate(pairs) if own != other), len(lines))
            raise Contradicted(f"the log is not the one that was played, from seq {seq} on")

    def check_share(self, share: Share) -> None:
        """Raise Contradicted unless the log has this seat's key and entropy (SHX/1, section 5)."""
        if self.dealt_with(share.seat) != (share.key, share.entropy):
            raise Contradicted("the deal did not use the key and entropy of this seat")
        if share.value is None:
            return
        commit = client_commit(self.game, share.seat, share.value)
        expected = {"entropy_revealed": ("value", share.value.hex())}
        if share.entropy == "commit":
            expected["entropy_committed"] = ("commit", commit)
        for kind, (name, own) in expected.items():
            logged = [e["data"][name] for e in self.of(kind) if e["data"]["seat"] == share.seat]
            if logged != [own]:
                raise Contradicted(f"the log lacks the {kind} of this seat")

    def dealt_with(self, seat: int) -> tuple[str | None, Entropy]:
        """Return the key and entropy mode of a seat in the first event."""
        setup = self.events[0]["data"]["seats"][seat]
        return setup["key"], setup["entropy"]

    def all_committed(self) -> bool:
        """Return whether the log has a commitment of every seat with the entropy mode `commit`."""
        seats = self.events[0]["data"]["seats"]
        committing = {n for n, setup in enumerate(seats) if setup["entropy"] == "commit"}
        return committing <= {event["data"]["seat"] for event in self.of("entropy_committed")}

    def of(self, kind: str) -> list[Event]:
        """Return the events of a type."""
        return [event for event in self.events if event["type"] == kind]

    def keep_receipt(self, note: bytes, keys: Sequence[NoteVerifier]) -> Receipt:
        """
        Verify that a server key signed a receipt, store it in its own file, and return it.

        Raises Contradicted if the receipt is invalid or of another game.
        """
        try:
            receipt = check_receipt(note, keys)
        except RecordError as error:
            raise Contradicted(f"an invalid receipt: {error.detail}") from None
        if receipt.game != self.game:
            raise Contradicted("the receipt is for another game")
        write_private(self._place(receipt, note), note)
        return receipt

    def check_receipt(self, receipt: Receipt) -> None:
        """Raise Contradicted unless a receipt names a head of this log."""
        if receipt.seq >= self.version or self.heads[receipt.seq] != receipt.head:
            raise Contradicted(f"the receipt for seq {receipt.seq} names another head")

    def receipts(self) -> list[Path]:
        """Return the files of the stored receipts, in the order of versions."""
        return sorted((self._folder / "receipts").glob("*.note"))

    def verified(
        self, data: bytes, keys: Sequence[NoteVerifier], seat_keys: Mapping[int, str]
    ) -> Report:
        """
        Return the report on an evidence bundle, with the stored receipts.

        `keys` are those of the server, `seat_keys` those of players, in base64.

        Raises Contradicted if it is no bundle, or its log differs from this log.
        """
        write_private(self.bundle, data)
        try:
            bundle = read_log(data)
        except NotABundle as error:
            raise Contradicted(f"the evidence is no bundle: {error}") from None
        self.check_whole(bundle.lines)
        notes = {path.name: path.read_bytes() for path in self.receipts()}
        outside = OutsideEvidence(
            receipts=tuple(notes.values()),
            files={note: name for name, note in notes.items()},
            server_keys=tuple(keys),
            seat_keys=seat_keys,
        )
        return verify_bundle(bundle, outside)

    @property
    def bundle(self) -> Path:
        """Return the path of the evidence bundle; the file exists after `verified`."""
        return self._folder / "game.shx"

    def _place(self, receipt: Receipt, note: bytes) -> Path:
        """Return the file for a receipt; one that differs from a stored one gets its own file."""
        folder, name = self._folder / "receipts", f"{receipt.seq + 1:06}"
        path = folder / f"{name}.note"
        if path.exists() and path.read_bytes() != note:
            return folder / f"{name}-{receipt.head.hex()[:16]}.note"
        return path

    def _add(self, lines: Sequence[bytes]) -> None:
        for line in lines:
            try:
                event = decode_event(line)
            except RecordError as error:
                raise Contradicted(f"seq {self.version} is no event: {error.detail}") from None
            before = self.heads[-1] if self.heads else genesis(self.game)
            expected = (str(self.game), self.version, before.hex())
            if (event["game"], event["seq"], event["prev"]) != expected:
                raise Contradicted(f"the event at seq {self.version} does not continue the log")
            self.lines.append(line)
            self.events.append(cast("Event", event))
            self.heads.append(head(line))

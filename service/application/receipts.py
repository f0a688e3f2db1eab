"""Receipts: the server's signature under where a game stands (SHX/1, section 6)."""

from __future__ import annotations

from collections.abc import Callable

from service.application.game_record import GameRecord
from service.record.notes import NoteSigner
from service.record.receipts import issue_receipt


class Receipts:
    """Signs receipts with the key that the server has at the moment."""

    def __init__(self, signer: Callable[[], NoteSigner]) -> None:
        self._signer = signer

    def issue(self, record: GameRecord) -> bytes:
        """Return a signed note for the present head of a game."""
        return issue_receipt(
            self._signer(), game=record.identity, seq=record.version - 1, head=record.head
        )

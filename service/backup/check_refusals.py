"""The stored refused attempts compared with the seals that name them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final
from uuid import UUID

import orjson

from service.application.games.moves import opened
from service.backup.check_progress import Fault
from service.keys.keyring import KeyringError
from service.keys.reloading import Keys
from service.shx.refusals import refusals_file, seal_of, sealed_refusals
from service.store.database import Database
from service.store.directory import Directory

_SEALS: Final = ("game_sealed", "game_aborted")


def refusal_faults(
    database: Database, game: UUID, lines: Sequence[bytes], keyring: Keys | None, where: str
) -> Iterator[Fault]:
    """
    Yield a fault if the attempts stored of a game are not those that were recorded.

    A game without stored attempts passes: they may be deleted after a time, and those of an
    archived game are in its bundle. Without a keyring only their number is compared.
    """
    kept = Directory(database).refusals(game)
    if not kept or not lines:
        return
    last = orjson.loads(lines[-1])
    sealed = sealed_refusals(last) if last["type"] in _SEALS else None
    if keyring is None:
        if sealed is not None and len(kept) < sealed.count:
            reason = f"{len(kept)} refused attempts are stored, and the seal names {sealed.count}"
            yield Fault(where=where, check="refusals", reason=reason)
        return
    try:
        found = seal_of(refusals_file(opened(keyring, game, kept)))
    except KeyringError as error:
        reason = f"a refused attempt is not as it was recorded: {error}"
        yield Fault(where=where, check="refusals", reason=reason)
        return
    if sealed not in (None, found):
        reason = f"{found.count} refused attempts are stored, not those that the seal names"
        yield Fault(where=where, check="refusals", reason=reason)

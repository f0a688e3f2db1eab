"""Check `seal`: is the game finished, and are its refused attempts those of the seal?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from service.shx.bundle import REFUSALS, Bundle
from service.shx.canonical import RecordError
from service.shx.refusals import (
    NONE_REFUSED,
    UNPROVEN,
    SealedRefusals,
    check_refusals,
    seal_of,
    sealed_refusals,
)
from service.verify.finding import Answer, Cursor, Failed, Weight, missing
from service.verify.log import Log

DISPUTE: Final = "dispute/"


def check_seal(log: Log, bundle: Bundle, cursor: Cursor) -> Answer:
    """
    The game is sealed; a seal of version 2 names the refused attempts of the bundle.

    Files without a seal behind them get the remark "unproven": refused attempts of a game of
    version 1 or of an unsealed game, and all files under `dispute/`.

    Raises Unanswered if the game is not sealed.
    """
    cursor.seq = log.end
    remarks = tuple(_unproven(log, bundle))
    if log.seal is None:
        reason = "the game is not sealed: it is unfinished, or the log was cut short"
        raise missing(reason, remarks=remarks)
    sealed = sealed_refusals(log.seal)
    if sealed is None:
        return Answer(remarks=remarks)
    said = None
    with cursor.going_on():
        said = _compared(log, sealed, bundle.files.get(REFUSALS))
    return Answer(said=said, remarks=remarks)


def proves_refusals(log: Log) -> bool:
    """Return whether the seal of a log names its refused attempts."""
    return log.seal is not None and sealed_refusals(log.seal) is not None


def _compared(log: Log, sealed: SealedRefusals, data: bytes | None) -> str | None:
    """
    Return what is to be noted of refusals that fit to the seal; raises Failed for others.

    A file that does not match is no evidence against the log: any holder can have changed it.
    """
    if (sealed.count == 0) != (sealed.sha256 == NONE_REFUSED.sha256):
        raise Failed(log.end, "the seal counts refused attempts, and has the hash of others")
    if data is None and sealed.count:
        many = "1 attempt" if sealed.count == 1 else f"{sealed.count} attempts"
        return f"refusals missing: the seal names {many}, and {REFUSALS} did not come along"
    found = seal_of(data or b"")
    if found.count != sealed.count:
        reason = f"{REFUSALS} has {found.count} lines, and the seal names {sealed.count}"
        raise Failed(log.end, reason, weight=Weight.NOTHING)
    if found != sealed:
        reason = f"{REFUSALS} has another hash than the seal names"
        raise Failed(log.end, reason, weight=Weight.NOTHING)
    try:
        check_refusals(data or b"", seats=log.seats)
    except RecordError as error:
        raise Failed(log.end, f"{REFUSALS}: {error.detail}") from None
    return None


def _unproven(log: Log, bundle: Bundle) -> Iterator[str]:
    """Yield remarks on files of the bundle that nothing in the log confirms."""
    if bundle.files.get(REFUSALS) and not proves_refusals(log):
        yield f"refused attempts ({REFUSALS}) are unproven: {UNPROVEN}"
    files = sum(name.startswith(DISPUTE) for name in bundle.files)
    if files:
        what = "1 file" if files == 1 else f"{files} files"
        yield f"what stands under {DISPUTE} ({what}) is unproven: no seal names it"

"""Times as events write them: UTC, to the microsecond, always the same length."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final

from service.record.canonical import RecordError

_TIME: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z")


def format_time(moment: datetime) -> str:
    """Return a moment as events write it; a moment without a zone is a mistake."""
    if moment.tzinfo is None:
        raise RecordError("bad_time", "a time without a zone")
    plain = moment.astimezone(UTC).replace(tzinfo=None)
    return plain.isoformat(timespec="microseconds") + "Z"


def parse_time(text: str) -> datetime:
    """Return the moment that `text` names, if it is spelt as events spell it."""
    if not _TIME.fullmatch(text):
        raise RecordError("bad_time", "not YYYY-MM-DDThh:mm:ss.ffffffZ")
    try:
        return datetime.fromisoformat(text)
    except ValueError as error:
        raise RecordError("bad_time", str(error)) from None

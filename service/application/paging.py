"""Cursors of lists, as clients send them back."""

from __future__ import annotations

from service.application.errors import invalid
from service.event_store.rows import Cursor


def cursor_of(text: str | None) -> Cursor | None:
    """Return the cursor that a list gave, None where a list begins; refuses any other text."""
    if text is None:
        return None
    try:
        return Cursor.decode(text)
    except ValueError:
        raise invalid("/cursor", "is none that this list gave") from None

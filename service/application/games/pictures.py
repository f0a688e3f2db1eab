"""
Pictures of moments as PNG, for programs that show no SVG: drawn once, the last ones in memory.

The words are drawn with one font that is installed with the service, so they are those of a
language with Latin letters, and a machine without fonts draws the same picture.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import Final
from uuid import UUID

from service.application.quotas import work
from service.domain.view import Viewer
from service.runtime.recent import Recent

WIDTH: Final = 800
HEIGHT: Final = 420
"""The size in pixels: two thirds of the SVG, whose drawing takes half of the time."""

MAX_BYTES: Final = 16 << 20
"""Bytes of the pictures that a process keeps: some 350."""

EVENTS_OF_A_PICTURE: Final = 160
"""The work of drawing one, in events: 40 ms of a processor."""

_FONT: Final = "Lato"
_FACES: Final = ("Lato-Regular.ttf", "Lato-Bold.ttf")

Moment = tuple[UUID, int, Viewer]
"""A game, a version, and the viewer: what is drawn of them never changes."""


class Pictures:
    """The pictures of moments that were drawn last."""

    def __init__(self) -> None:
        self._drawn = Recent[Moment, bytes](MAX_BYTES, weigh=len)
        self._drawing = threading.Lock()

    def __len__(self) -> int:
        return len(self._drawn.entries())

    def of(self, moment: Moment, svg: Callable[[], str]) -> bytes:
        """
        Return the picture of a moment, which is drawn if it is not in memory.

        One is drawn at a time, because the library holds the interpreter while it draws. The
        caller has to have checked who may see the moment. Raises Refusal as `work`.
        """
        known = self._drawn.get(moment)
        if known is not None:
            return known
        with self._drawing:
            known = self._drawn.get(moment)  # another thread has drawn it meanwhile
            if known is None:
                with work(EVENTS_OF_A_PICTURE):
                    known = pixels(svg())
                self._drawn.keep(moment, known)
        return known


def pixels(svg: str) -> bytes:
    """Return a picture in SVG as PNG of WIDTH × HEIGHT."""
    from resvg_py import svg_to_bytes  # only the processes that draw load the library

    return bytes(
        svg_to_bytes(
            svg_string=svg,
            width=WIDTH,
            skip_system_fonts=True,
            font_files=_font_files(),
            font_family=_FONT,
            sans_serif_family=_FONT,
        )
    )


@cache
def _font_files() -> list[str]:
    return [str(files("font_lato") / "files" / face) for face in _FACES]

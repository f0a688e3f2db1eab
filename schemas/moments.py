"""Moments that a player keeps: places in hands, each with a line of text, in lists by name."""

from __future__ import annotations

from typing import Any

from marshmallow import fields, validate

from schemas.strict_fields import (
    MAX_VERSION,
    Closed,
    Integer,
    MultilineText,
    PageQuery,
    about,
    described,
    list_of,
    time_field,
    viewer_field,
)
from schemas.visible_text import REFUSED

LONGEST_MOMENT = 200
"""Characters of the text of a moment."""

LONGEST_LIST = 40
"""Characters of the name of a list."""

LINE_PATTERN = (
    r"^[^\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069\ufdd0-\ufdef\ufffe\uffff]*$"
)
"""A part of the rule for a line, for the document of the API."""

NO_LINE = f"{REFUSED}, or more than one line"


class TextLine(MultilineText):
    """A text of one line, with the characters that a text of several lines may have."""

    def __init__(self, *, longest: int, **more: Any) -> None:
        super().__init__(shortest=1, longest=longest, **more)
        # In place of that for several lines, because the document shows one pattern.
        self.validators[-1] = validate.Regexp(LINE_PATTERN, error=NO_LINE)


def _text(**more: Any) -> TextLine:
    return TextLine(longest=LONGEST_MOMENT, **more)


def _list(**more: Any) -> TextLine:
    return TextLine(longest=LONGEST_LIST, data_key="list", **more)


class MomentRequestSchema(Closed):
    """A moment to keep: a hand, a version of it, and as whom it is looked at."""

    game = fields.UUID(**described("the hand; the caller can see it"))
    version = Integer(
        low=1, high=MAX_VERSION, **described("the version: the moment is that after its last event")
    )
    as_ = viewer_field(
        required=True,
        **about(
            "the viewer: `public`, a seat or `all`; before the seal only the public and the "
            "caller's own seat"
        ),
    )
    list_ = _list(**described("the name of the list; a new name begins a list"))
    text = _text(**described("a line of text, for the caller alone"))


class MomentChangeSchema(Closed):
    """The new text or list of a moment."""

    list_ = _list(**about("the name of another list, new or not"))
    text = _text(**about("another line of text"))


class ListChangeSchema(Closed):
    """The list whose moments all go to another list: with a new name, it is renamed."""

    list_ = _list(**described("the name of the list"))
    to = TextLine(longest=LONGEST_LIST, **described("the name of the other list, new or not"))


class MovedMomentsSchema(Closed):
    """How many moments went to another list."""

    moved = Integer(**described("the number of moments"))


class MomentSchema(Closed):
    """A moment that the caller keeps. It has nothing of the hand but its id."""

    id = fields.UUID(**described("the id of the moment"))
    game = fields.UUID(**described("the hand, which the caller may no longer be able to see"))
    version = Integer(**described("the version of the hand"))
    as_ = viewer_field(required=True, **about("the viewer: `public`, a seat or `all`"))
    list_ = _list(**described("the name of the list"))
    text = fields.String(**described("the line of text"))
    kept_at = time_field(**described("when the moment was kept"))


class MomentListSchema(Closed):
    """A list of moments."""

    name = fields.String(**described("the name of the list"))
    moments = Integer(**described("the number of moments in it, at least one"))


class MomentsPageSchema(Closed):
    """A page of moments, and the names of all lists."""

    items = list_of(MomentSchema, "the moments, newest first")
    lists = list_of(MomentListSchema, "all lists of the caller, by name")
    next = fields.String(
        allow_none=True, **described("the `cursor` of the next page; null at the end")
    )


class MomentsQuery(PageQuery):
    """The caller's moments, or those of one list."""

    list_ = _list(load_default=None, **about("the name of a list; without it, the moments of all"))


class MomentsFileSchema(Closed):
    """All moments of a player as a file."""

    format = fields.String(**described("always `moments/1`"))
    player = fields.UUID(**described("the player"))
    moments = list_of(MomentSchema, "all moments, newest first; their number is a quota")

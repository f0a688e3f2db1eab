"""Queries and answers of lists (api.md, section 1)."""

from __future__ import annotations

from typing import Any

from marshmallow import Schema, fields

from schemas.strict_fields import Closed, QueryWhole, Shaped

CURSOR = r"^[A-Za-z0-9_=.:-]{1,200}$"


class PageQuery(Closed):
    """Which part of a list."""

    limit = QueryWhole(low=1, high=200, load_default=50)
    cursor = Shaped(
        CURSOR,
        "is not a cursor that a list gave",
        load_default=None,
        metadata={"description": "`next` of the page before"},
    )


def page_of(item: type[Schema], **more: Any) -> type[Schema]:
    """Return the schema of a page of items."""
    members: dict[str, Any] = {
        "__doc__": f"A page of items like {item.__name__.removesuffix('Schema')}.",
        "items": fields.List(fields.Nested(item), required=True),
        "next": fields.String(required=True, allow_none=True),
        **more,
    }
    return type(f"{item.__name__.removesuffix('Schema')}PageSchema", (Closed,), members)

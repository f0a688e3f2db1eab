"""Problems (RFC 9457) as the OpenAPI document describes them."""

from __future__ import annotations

from marshmallow import fields

from schemas.move_schema import MoveField
from schemas.strict_fields import Closed, Whole


class FaultSchema(Closed):
    """One thing that is wrong with a body or a query, and where."""

    at = fields.String(
        required=True, metadata={"description": "JSON pointer, or the name in a query or header"}
    )
    message = fields.String(required=True)


class ProblemSchema(Closed):
    """Why a request was not carried out."""

    type = fields.String(required=True, metadata={"format": "uri-reference"})
    title = fields.String(required=True)
    status = Whole(required=True, low=400, high=599)
    detail = fields.String(required=True)
    instance = fields.String(required=True)
    errors = fields.List(
        fields.Nested(FaultSchema),
        metadata={"description": "with invalid-body, malformed, ruleset-refused"},
    )
    rule = fields.String(metadata={"description": "with rule-refused: the statement"})
    rule_text = fields.String(
        allow_none=True, metadata={"description": "with rule-refused: the statement in words"}
    )
    legal = fields.List(
        MoveField(), metadata={"description": "with rule-refused: the caller's legal moves"}
    )
    version = Whole(metadata={"description": "with rule-refused and stale-version"})

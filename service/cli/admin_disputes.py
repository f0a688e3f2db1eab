"""`shithead admin disputes` and `answer`: disputes against the server."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

import click

from service.cli.admin_session import AdminOptions, admin_session, report_refusals

ACT: Final = "answer"


@click.command(short_help="List the running disputes against the server.")
@click.pass_obj
def disputes(options: AdminOptions) -> None:
    """
    List the disputes against the server that are not final, oldest first.

    The statements are included; only the accuser, the referees and the operator can read
    them.
    """
    with admin_session(options) as session:
        found = session.operating.disputes()
    for dispute in found:
        if options.as_json:
            click.echo(json.dumps(dispute))
        else:
            click.echo(_in_words(dispute))


@click.command(short_help="Answer a dispute against the server.")
@click.argument("dispute", type=click.UUID)
@click.argument("text")
@click.pass_obj
def answer(options: AdminOptions, dispute: UUID, text: str) -> None:
    """
    Make the statement TEXT for the server in DISPUTE, which must not be final.

    The accuser and the referees can read it. It has 1 to 4,000 characters.
    """
    from marshmallow import ValidationError

    from schemas.disputes import LONGEST_STATEMENT, DisputeWordsSchema

    try:
        statement = DisputeWordsSchema().load({"text": text})["text"]
    except ValidationError:
        raise click.UsageError(f"a statement has 1 to {LONGEST_STATEMENT} characters") from None
    with admin_session(options) as session, report_refusals(options, ACT, dispute):
        session.operating.answer(dispute, statement)
    outcome = {"act": ACT, "target": str(dispute), "outcome": "done"}
    options.print(outcome, f"done: {ACT} {dispute}")


def _in_words(dispute: Mapping[str, Any]) -> str:
    head = (
        f"{dispute['id']}  {dispute['charge']} at seq {dispute['seq']} of game {dispute['game']}, "
        f"{dispute['state']}, until {dispute['deadline'] or 'the seal'}"
    )
    statements = (f"  {s['by']}: {s['text'] or '(erased)'}" for s in dispute["statements"])
    return "\n".join([head, *statements])

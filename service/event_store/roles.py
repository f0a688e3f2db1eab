"""The less privileged role with which the API and the workers connect."""

from __future__ import annotations

from urllib.parse import quote

import psycopg
from psycopg import conninfo, sql

SERVICE = "shithead_service"


def service_url(owner_url: str, *, password: str | None = None) -> str:
    """
    Return the address of the same database for the API and the workers.

    Without a password it serves where the server trusts the way, as the embedded one does with
    its private socket. Elsewhere the caller keeps a password and sets it with `set_password`.
    """
    if not owner_url.startswith(("postgresql://", "postgres://")):
        return conninfo.make_conninfo(owner_url, user=SERVICE, password=password or "")
    scheme, _, rest = owner_url.partition("://")
    authority, slash, path = rest.partition("/")
    _, _, host = authority.rpartition("@")
    secret = "" if password is None else ":" + quote(password, safe="")
    return f"{scheme}://{SERVICE}{secret}@{host}{slash}{path}"


def set_password(owner_url: str, password: str) -> None:
    """Give the service's role a password; it belongs to the server, not to one database."""
    statement = sql.SQL("ALTER ROLE {} PASSWORD {}").format(
        sql.Identifier(SERVICE), sql.Literal(password)
    )
    with psycopg.connect(owner_url, autocommit=True) as connection:
        connection.execute(statement)

"""Where the SQL files are, and how one is read; there is no SQL in Python."""

from __future__ import annotations

from functools import cache
from pathlib import Path

SQL = Path(__file__).resolve().parents[2] / "sql"
"""
The folder of the SQL files: beside the package `service`.

The same in a checkout and in an installation, where `sql` is installed next to the packages.
"""


@cache
def query(name: str) -> bytes:
    """Return the text of `sql/queries/<name>.sql`; parameters are `$1`, `$2`, …"""
    return (SQL / "queries" / f"{name}.sql").read_bytes()

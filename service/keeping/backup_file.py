"""A backup as a file: a ZIP of the tables' rows, and a manifest that says what has to be in it."""

from __future__ import annotations

import hashlib
import json
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from service.whole_files import whole_file

MANIFEST: Final = "manifest.json"
MOST_MANIFEST: Final = 1 << 20  # bytes
BLOCK: Final = 1 << 20  # bytes
FORMAT: Final = 1
_TIME: Final = (1980, 1, 1, 0, 0, 0)  # of every entry: equal rows give equal bytes
_DAMAGE: Final = (
    *(OSError, EOFError, zipfile.BadZipFile, zlib.error),
    RuntimeError,  # an entry that is encrypted; NotImplementedError, packed otherwise, is one
)
"""What the library raises for archives that are not as they were written."""


class BackupError(Exception):
    """A backup cannot be written, read, or put back; nothing has been changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRows:
    """The rows of one table as they stand in the file: PostgreSQL's text format of COPY."""

    columns: tuple[str, ...]
    rows: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """
    What a backup holds, and of when.

    `keys` names the keys that opened the secrets of the running games at that time:
    the file of keys has to hold them, and lies elsewhere.
    """

    made_at: str
    engine: str  # version of the service that wrote the backup
    migrations: Mapping[str, str]  # name and SHA-256 of each that was applied
    tables: Mapping[str, TableRows]
    games: int
    running: int
    leaves: int  # of the public log
    root: str  # over them, hex
    keys: tuple[str, ...]

    def encode(self) -> bytes:
        """Return the manifest as it stands in the file."""
        return json.dumps({"v": FORMAT, **asdict(self)}, indent=1, sort_keys=True).encode() + b"\n"

    @classmethod
    def decode(cls, data: bytes) -> Manifest:
        """Return the manifest that these bytes spell; raise BackupError where they spell none."""
        try:
            value = json.loads(data)
            if value.pop("v") != FORMAT:
                raise BackupError("the backup is of a later format than this release knows")
            tables = {str(name): _rows(table) for name, table in value.pop("tables").items()}
            return cls(**value | {"tables": tables, "keys": tuple(value["keys"])})
        except (ValueError, TypeError, KeyError, AttributeError):
            raise BackupError(f"{MANIFEST} is not that of a backup") from None


class Writer:
    """Puts tables into a new file, one after another, and the manifest last."""

    def __init__(self, file: zipfile.ZipFile) -> None:
        self._zip = file

    def add(self, table: str, columns: Iterable[str], blocks: Iterable[bytes]) -> TableRows:
        """Write the rows of a table, and return what the manifest says of them."""
        digest, rows = hashlib.sha256(), 0
        with self._zip.open(_entry(f"{table}.copy"), "w", force_zip64=True) as entry:
            for block in blocks:
                digest.update(block)
                rows += bytes(block).count(b"\n")  # inside a row a line end is written as \n
                entry.write(block)
        return TableRows(columns=tuple(columns), rows=rows, sha256=digest.hexdigest())

    def finish(self, manifest: Manifest) -> None:
        """Write the manifest: without it the file is no backup."""
        self._zip.writestr(_entry(MANIFEST), manifest.encode())


@contextmanager
def new_backup(path: Path) -> Iterator[Writer]:
    """
    Give the writer of a file that gets its name when it is whole and safely on disk.

    Readable by its owner alone: a backup holds what players may not see of each other.
    """
    if path.exists():
        raise BackupError(f"{path} is there already")
    with whole_file(path, new=True) as file, zipfile.ZipFile(file, "w") as packed:
        yield Writer(packed)


class Backup:
    """A backup that has been opened: its manifest, and its rows once they have been checked."""

    def __init__(self, path: Path) -> None:
        try:
            self._zip = zipfile.ZipFile(path)
            data = self._zip.open(MANIFEST).read(MOST_MANIFEST)
        except (KeyError, *_DAMAGE) as error:
            raise BackupError(f"{path} is no backup: {error}") from None
        self.manifest = Manifest.decode(data)

    def check(self) -> None:
        """Raise BackupError unless every table is there as the manifest says, and nothing else."""
        expected = {f"{name}.copy" for name in self.manifest.tables} | {MANIFEST}
        names = self._zip.namelist()
        if len(names) != len(set(names)) or set(names) != expected:
            raise BackupError("the files in the backup are not those of its manifest")
        for name, table in self.manifest.tables.items():
            digest = hashlib.sha256()
            for block in self.blocks(name):
                digest.update(block)
            if digest.hexdigest() != table.sha256:
                raise BackupError(f"the rows of {name} are not those that were backed up")

    def blocks(self, table: str) -> Iterator[bytes]:
        """Yield the rows of a table, some at a time."""
        try:
            with self._zip.open(f"{table}.copy") as entry:
                while block := entry.read(BLOCK):
                    yield block
        except _DAMAGE as error:
            raise BackupError(f"the rows of {table} cannot be read: {error}") from None

    def close(self) -> None:
        """Close the file."""
        self._zip.close()


def _rows(value: dict[str, Any]) -> TableRows:
    return TableRows(
        columns=tuple(value["columns"]), rows=int(value["rows"]), sha256=str(value["sha256"])
    )


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, date_time=_TIME)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o600 << 16
    return entry


def described(manifest: Manifest) -> dict[str, Any]:
    """Return what people and programs are told of a backup."""
    return {
        "made_at": manifest.made_at,
        "engine": manifest.engine,
        "games": manifest.games,
        "running": manifest.running,
        "rows": sum(table.rows for table in manifest.tables.values()),
        "leaves": manifest.leaves,
        "keys": list(manifest.keys),
    }

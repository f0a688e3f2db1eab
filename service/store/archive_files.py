"""Files of the archive: in a local folder, or as objects of a store such as S3."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from service.runtime.atomic_files import whole_file

_MODE = 0o640
"""Readable by owner and group of the service only: bundles of private tables are not public."""

_SECONDS = 5
"""Time limit of one try, and of all tries together: a request may wait for the answer."""


class ArchiveFiles(Protocol):
    """Files under names; each is written whole, and on disk before `write` returns."""

    def place(self, name: str) -> str:
        """Return the path or address of a file, for people."""

    def read(self, name: str) -> bytes:
        """Return the content of a file; raises OSError."""

    def write(self, name: str, data: bytes) -> None:
        """Write or replace a file; raises OSError."""


def files_in(place: Path | str) -> ArchiveFiles:
    """Return the files in a folder, or under the address of an object store."""
    return FolderFiles(place) if isinstance(place, Path) else StoredObjects(place)


class FolderFiles:
    """The files of a local folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def place(self, name: str) -> str:
        """Return the path of a file."""
        return str(self._folder / name)

    def read(self, name: str) -> bytes:
        """Return the content of a file; raises OSError."""
        return (self._folder / name).read_bytes()

    def write(self, name: str, data: bytes) -> None:
        """Write a file atomically, and sync it to disk; raises OSError."""
        self._folder.mkdir(mode=0o750, parents=True, exist_ok=True)
        with whole_file(self._folder / name, mode=_MODE) as file:
            _hand_over(file, self._folder)
            file.write(data)


class StoredObjects:
    """
    The objects under an address such as `s3://bucket/folder`, read and written by obstore.

    The variables of the store's own tools apply: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY,
    AWS_REGION, and AWS_ENDPOINT_URL for a server that is not Amazon's. The client is made at the
    first use, in the process that uses it: its threads do not survive a fork.
    """

    def __init__(self, address: str) -> None:
        self._address = address.rstrip("/")

    def place(self, name: str) -> str:
        """Return the address of an object."""
        return f"{self._address}/{name}"

    def read(self, name: str) -> bytes:
        """Return the content of an object; raises OSError."""
        with _as_os_error(self.place(name)):
            return bytes(_obstore().get(self._store, name).bytes())

    def write(self, name: str, data: bytes) -> None:
        """Write or replace an object; raises OSError."""
        with _as_os_error(self.place(name)):
            _obstore().put(self._store, name, data)

    def upload(self, name: str, path: Path) -> None:
        """Write an object from a local file of any size; raises OSError."""
        with _as_os_error(self.place(name)), path.open("rb") as file:
            _obstore().put(self._store, name, file)

    def holds_any(self) -> bool:
        """Return whether there are objects under this address; raises OSError."""
        with _as_os_error(self._address):
            return any(_obstore().list(self._store))

    @cached_property
    def _store(self) -> Any:
        from obstore.store import from_url

        limit = timedelta(seconds=_SECONDS)
        is_plain = os.environ.get("AWS_ENDPOINT_URL", "").startswith("http://")
        return from_url(
            self._address,
            client_options={"timeout": limit, "connect_timeout": limit, "allow_http": is_plain},
            retry_config={"max_retries": 2, "retry_timeout": limit},
        )


def _obstore() -> Any:
    try:
        import obstore
    except ImportError:
        raise OSError('an object store needs: pip install "shithead[objects]"') from None
    return obstore


@contextmanager
def _as_os_error(place: str) -> Iterator[None]:
    """Raise OSError for the errors of obstore, with the first line of their long texts."""
    try:
        yield
    except OSError:
        raise
    except Exception as error:
        if not type(error).__module__.startswith("obstore"):
            raise
        raise OSError(f"{place}: {str(error).partition(chr(10))[0]}") from error


def _hand_over(file: BinaryIO, folder: Path) -> None:
    """Give a file written by root the owner and group of its folder."""
    owner = folder.stat()
    if os.geteuid() == 0:
        os.fchown(file.fileno(), owner.st_uid, owner.st_gid)

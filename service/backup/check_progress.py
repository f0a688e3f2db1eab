"""Findings of a check of the store, and its progress so far."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from service.atomic_files import write_whole
from service.shx.tlog.tiles import EMPTY, TreeEdge

MOST_FAULTS: Final = 1000
"""Number of faults listed; of the rest the count is shown. A lost folder is one fault a game."""

_FORMAT: Final = 1
_BEFORE_ALL: Final = UUID(int=0)


class StateError(Exception):
    """The file does not hold the state of a check like this one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Something stored that is not as it was written."""

    where: str  # a stream or a leaf
    check: str  # chain, head, row, bundle, leaf, tile, root, signature, or one of the protocol's
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a check is: the last stream, the log's tree up to here, and what was found."""

    deep: bool
    stream: UUID = _BEFORE_ALL
    streams: int = 0
    edge: TreeEdge = EMPTY
    faults: tuple[Fault, ...] = field(default=())
    unlisted: int = 0  # faults beyond those

    def found(self, *faults: Fault) -> Progress:
        """Return this with more faults."""
        if not faults:
            return self
        room = MOST_FAULTS - len(self.faults)
        listed, others = faults[:room], faults[room:]
        return replace(self, faults=self.faults + listed, unlisted=self.unlisted + len(others))


def load_progress(path: Path, *, deep: bool) -> Progress:
    """
    Return where a check that was stopped goes on; the beginning where there is no file.

    Raises StateError if the file is not the state of a check with the same `deep`.
    """
    try:
        value = json.loads(path.read_bytes())
    except FileNotFoundError:
        return Progress(deep=deep)
    except (OSError, ValueError):
        raise StateError(f"{path} is not the state of a check") from None
    try:
        progress = _decoded(value)
    except (ValueError, TypeError, KeyError, AttributeError):
        raise StateError(f"{path} is not the state of a check") from None
    if progress.deep is not deep:
        raise StateError(f"{path} is of a check {'with' if progress.deep else 'without'} --deep")
    return progress


def save_progress(path: Path, progress: Progress) -> None:
    """Keep how far a check is; the old state stays until the new one is on disk."""
    value = {
        "v": _FORMAT,
        "deep": progress.deep,
        "stream": str(progress.stream),
        "streams": progress.streams,
        "leaves": progress.edge.size,
        "edge": [[one.hex() for one in level] for level in progress.edge.levels],
        "faults": [asdict(fault) for fault in progress.faults],
        "unlisted": progress.unlisted,
    }
    write_whole(path, json.dumps(value).encode())


def _decoded(value: Mapping[str, Any]) -> Progress:
    if value["v"] != _FORMAT:
        raise ValueError
    levels = tuple(tuple(map(bytes.fromhex, level)) for level in value["edge"])
    return Progress(
        deep=bool(value["deep"]),
        stream=UUID(value["stream"]),
        streams=int(value["streams"]),
        edge=TreeEdge(size=int(value["leaves"]), levels=levels),
        faults=tuple(Fault(**fault) for fault in value["faults"]),
        unlisted=int(value["unlisted"]),
    )

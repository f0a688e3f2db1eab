"""Work in several processes, with the results in the order of the input."""

from __future__ import annotations

import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context
from types import TracebackType
from typing import Final, Self, TypeVar

AHEAD: Final = 32
"""Maximum number of unfinished pieces of work per process; more would only occupy memory."""

Item = TypeVar("Item")
Result = TypeVar("Result")


class WorkerProcesses:
    """
    Processes that work for one main process; with one job the main process works itself.

    A context manager: leaving it ends the processes, and work that has not begun is dropped. They
    are forked from one that has imported the module `code`, because each import of the service
    takes half a second.
    """

    def __init__(self, jobs: int, code: str) -> None:
        self._jobs = jobs
        self._code = code
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Self:
        """Return the processes, which start when the first work arrives."""
        if self._jobs > 1:
            context = get_context("forkserver")
            context.set_forkserver_preload(["__main__", self._code])
            self._pool = ProcessPoolExecutor(
                self._jobs, mp_context=context, initializer=_ignore_ctrl_c
            )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the processes."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)

    def results(self, work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """
        Yield the result for each item, in order; at most AHEAD items per process are read ahead.

        `work` and the items are sent to the processes, so they have to be picklable. Raises the
        exception of the first item, in order, for which `work` raised one.
        """
        if self._pool is None:
            yield from map(work, items)
            return
        begun: deque[Future[Result]] = deque()
        for item in items:
            begun.append(self._pool.submit(work, item))
            if len(begun) == AHEAD * self._jobs:
                yield begun.popleft().result()
        while begun:
            yield begun.popleft().result()


def _ignore_ctrl_c() -> None:
    """Ignore Ctrl-C, which goes to all processes: the main process ends the others."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

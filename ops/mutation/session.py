"""
Mutants of functions, each tested in a forked child of one test session.

The tests are collected once and run once unchanged, to record the lines of the rules that
each of them executes. Then a child is forked for each mutant. It replaces the
code of the changed function, which all modules that imported it share, and
runs the tests that execute those lines, the fastest first, until one fails.
"""

from __future__ import annotations

import ast
import gc
import inspect
import os
import resource
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any, NoReturn

import pytest
from _pytest.runner import runtestprotocol

from ops.mutation.mutations import Mutation

SECONDS = 3.0
"""Processor time in seconds allowed to a mutant, in addition to five times that of its tests."""

MEMORY = 3 << 30
"""Bytes of address space, for mutants that make endless lists."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """A module with one mutation."""

    module: str
    path: str
    tree: ast.Module
    mutation: Mutation


Report = Callable[[Mutant, str | None], None]
"""Called with a mutant and the test or other cause that killed it; None for a survivor."""


class Session:
    """A pytest plugin that replaces the loop over the tests."""

    def __init__(self, mutants: list[Mutant], jobs: int, report: Report) -> None:
        self.mutants = mutants
        self.jobs = jobs
        self.report = report
        self.modules: dict[str, ModuleType] = {}
        self.lines: dict[tuple[str, int], list[int]] = {}
        self.seconds: list[float] = []
        self.items: list[pytest.Item] = []

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run the tests once, then once more for each mutant."""
        self.modules = {m.path: import_module(m.module) for m in self.mutants}
        self._watch(session.items)
        print(f"{len(self.items)} tests, {sum(self.seconds):.1f} s", file=sys.stderr, flush=True)
        gc.collect()
        gc.freeze()
        in_children(self.mutants, self._try, self.jobs, self.report)
        return True

    def _try(self, mutant: Mutant) -> str:
        """Make the mutant and return the test that kills it, an empty text if it survives."""
        tests = self._tests(mutant)
        limit(SECONDS + 5 * sum(self.seconds[number] for number in tests))
        mutant.mutation.apply()
        _swap(self.modules[mutant.path], mutant)
        self._forget()
        failed = (number for number in tests if not _passes(self.items[number]))
        return next((self.items[number].nodeid for number in failed), "")

    def _watch(self, items: list[pytest.Item]) -> None:
        """Run every test unchanged, and record the lines and times of those that pass."""
        for item in items:
            seen: set[tuple[str, int]] = set()
            self._forget()
            sys.settrace(self._tracer(seen))
            passed = _passes(item)
            sys.settrace(None)
            if not passed:
                print(f"left out, it fails on the unchanged code: {item.nodeid}", file=sys.stderr)
                continue
            self._forget()
            started = time.process_time()
            _passes(item)
            self.seconds.append(time.process_time() - started)
            for place in seen:
                self.lines.setdefault(place, []).append(len(self.items))
            self.items.append(item)

    def _tracer(self, seen: set[tuple[str, int]]) -> Callable[[FrameType, str, Any], Any]:
        def inside(frame: FrameType, event: str, _: Any) -> Any:
            if event == "line":
                seen.add((frame.f_code.co_filename, frame.f_lineno))
            return inside

        def tracer(frame: FrameType, _event: str, _: Any) -> Any:
            return inside if frame.f_code.co_filename in self.modules else None

        return tracer

    def _tests(self, mutant: Mutant) -> list[int]:
        numbers = {
            number
            for line in range(mutant.mutation.first, mutant.mutation.last + 1)
            for number in self.lines.get((mutant.path, line), ())
        }
        return sorted(numbers, key=lambda number: self.seconds[number])

    def _forget(self) -> None:
        """Clear the caches of the functions of the rules."""
        for module in self.modules.values():
            for value in vars(module).values():
                if hasattr(value, "cache_clear"):
                    value.cache_clear()


def in_children(
    mutants: list[Mutant], attempt: Callable[[Mutant], str], jobs: int, report: Report
) -> None:
    """Make each mutant in its own forked child, `jobs` at a time."""
    running: dict[int, tuple[Mutant, int]] = {}

    def reap() -> None:
        child, status = os.wait()
        mutant, read = running.pop(child)
        with os.fdopen(read) as pipe:
            outcome = pipe.read()
        if os.WIFSIGNALED(status):
            outcome = "it never ends" if os.WTERMSIG(status) == signal.SIGPROF else "it crashes"
        report(mutant, outcome or None)

    for mutant in mutants:
        if len(running) >= jobs:
            reap()
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(read)
            _write_answer(write, attempt, mutant)
        os.close(write)
        running[child] = (mutant, read)
    while running:
        reap()


def _write_answer(write: int, attempt: Callable[[Mutant], str], mutant: Mutant) -> NoReturn:
    try:
        outcome = attempt(mutant)
    except BaseException as problem:  # noqa: BLE001 - the parent reports any failure
        outcome = f"{type(problem).__name__}: {problem}"
    os.write(write, outcome.encode())
    os._exit(0)


def limit(seconds: float) -> None:
    """Limit the processor time of this process, which ends with SIGPROF, and its memory."""
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def _passes(item: pytest.Item) -> bool:
    reports = runtestprotocol(item, log=False, nextitem=None)
    return all(report.passed for report in reports)


def _swap(module: ModuleType, mutant: Mutant) -> None:
    """Replace the code of the changed function by the code in the tree."""
    name = str(mutant.mutation.function)
    ast.fix_missing_locations(mutant.tree)
    place: Any = module
    for part in name.split("."):
        place = vars(place)[part]
    if isinstance(place, property):
        place = place.fget
    function = inspect.unwrap(place)
    if not isinstance(function, FunctionType):
        raise TypeError(f"{name} is no function")
    changed = compile(mutant.tree, mutant.path, "exec", dont_inherit=True)
    function.__code__ = _code(changed, name)


def _code(outer: CodeType, name: str) -> CodeType:
    inner = [part for part in outer.co_consts if isinstance(part, CodeType)]
    for part in inner:
        if part.co_qualname == name:
            return part
    around = next(part for part in inner if name.startswith(f"{part.co_qualname}."))
    return _code(around, name)

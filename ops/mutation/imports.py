"""
Mutants of values set at import: defaults of settings, members, constants, decorators.

Such values cannot be changed in a loaded module, so each mutant has its own test session,
forked before any module of the project is loaded.
"""

from __future__ import annotations

import ast
import contextlib
import os
import sys
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

from ops.mutation.session import Mutant, Report, in_children, limit

SECONDS = 120.0
"""Processor time of one session."""

VALUES = "tests/unit/domain/test_values.py"

OPTIONS = ("-x", "-q", "-p", "no:cacheprovider", "--assert=plain", "--tb=native", "--capture=sys")

LOADED = ("_pytest.fixtures", "hypothesis", "orjson", "psycopg", "redis")
"""Loaded once, before the first child is forked; none of them imports the project."""


def try_all(mutants: list[Mutant], tests: list[str], jobs: int, report: Report) -> None:
    """Run the tests for each mutant, each in a process of its own."""
    for name in LOADED:
        import_module(name)

    def attempt(mutant: Mutant) -> str:
        limit(SECONDS)
        mutant.mutation.apply()
        ast.fix_missing_locations(mutant.tree)
        sys.meta_path.insert(0, _Finder(mutant))
        # A few tests of values kill most of them, without loading all others.
        os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # they load longer than the tests run
        return _failing([VALUES, *OPTIONS, "--noconftest"]) or _failing([*tests, *OPTIONS])

    in_children(mutants, attempt, jobs, report)


def _failing(words: list[str]) -> str:
    """Return the first test that fails."""
    failed = _FirstFailure()
    with Path(os.devnull).open("w") as nowhere, contextlib.redirect_stdout(nowhere):
        code = pytest.main(words, plugins=[failed])
    return "" if code == pytest.ExitCode.OK else failed.reason or f"pytest: {code!r}"


class _FirstFailure:
    """A pytest plugin: remembers the first failure."""

    reason = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.reason = self.reason or report.nodeid

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.reason = self.reason or f"cannot be loaded: {report.nodeid}"


class _Finder(MetaPathFinder):
    """Finds the mutated module."""

    def __init__(self, mutant: Mutant) -> None:
        self.mutant = mutant

    def find_spec(self, fullname: str, *_: Any) -> ModuleSpec | None:
        if fullname != self.mutant.module:
            return None
        loader = _Loader(fullname, self.mutant)
        return spec_from_file_location(fullname, self.mutant.path, loader=loader)


class _Loader(SourceFileLoader):
    def __init__(self, fullname: str, mutant: Mutant) -> None:
        super().__init__(fullname, mutant.path)
        self.mutant = mutant

    def get_code(self, _: str) -> CodeType:
        return compile(self.mutant.tree, self.path, "exec", dont_inherit=True)

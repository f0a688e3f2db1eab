"""Test modules compiled before parallel processes import them: once, and not by each of them."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import py_compile
import sys
from collections.abc import Sequence
from importlib.util import cache_from_source
from pathlib import Path

import pytest
from _pytest.assertion import rewrite


def compile_tests(config: pytest.Config) -> None:
    """
    Compile the modules of the chosen tests that have no bytecode yet.

    In a new checkout this takes more processor time than their import. Processes that import all
    modules at the same time would each compile all of them.
    """
    if sys.dont_write_bytecode:
        return
    missing = [path for path in _modules(config) if not _bytecode(path).exists()]
    processes = min(os.cpu_count() or 1, len(missing) // 10)  # each process compiles fewer itself
    children = [
        multiprocessing.get_context("fork").Process(
            target=_compile, args=(missing[number::processes], config)
        )
        for number in range(processes)
    ]
    for child in children:
        child.start()
    for child in children:
        child.join()


def _compile(paths: Sequence[Path], config: pytest.Config) -> None:
    """Write the bytecode of modules; a module with an error is left to its import."""
    for path in paths:
        bytecode = _bytecode(path)
        with contextlib.suppress(OSError, SyntaxError, py_compile.PyCompileError):
            if not _is_rewritten(path):
                py_compile.compile(str(path), doraise=True)
                continue
            bytecode.parent.mkdir(parents=True, exist_ok=True)
            digest, code = rewrite._rewrite_test(path, config)
            rewrite._write_pyc(config.stash[rewrite.assertstate_key], code, digest, bytecode)


def _modules(config: pytest.Config) -> list[Path]:
    """Return all modules below the folders and files that the run was asked for."""
    chosen = [config.invocation_params.dir / word.partition("::")[0] for word in config.args]
    found = {file for path in chosen for file in (path, *path.rglob("*.py"))}
    return sorted(file for file in found if file.suffix == ".py" and file.is_file())


def _is_rewritten(path: Path) -> bool:
    """Return whether pytest compiles a module itself, with its own `assert`."""
    return path.name.startswith("test_") or path.name == "conftest.py"


def _bytecode(path: Path) -> Path:
    """Return where the bytecode of a module is kept."""
    if _is_rewritten(path):
        return rewrite.get_cache_dir(path) / (path.stem + rewrite.PYC_TAIL)
    return Path(cache_from_source(str(path)))

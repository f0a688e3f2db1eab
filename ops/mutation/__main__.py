"""
Mutation testing of the rules: make one small change at a time, and check that a test fails.

    python -m ops.mutation [--only plays,legal] [--again FILE] [--lines] [--out FILE]
    python -m ops.mutation --only view --tests tests/unit/views/test_seen_by.py

A mutant is the code with one such change. It is killed if a test fails and survives otherwise.
A survivor shows that a test is missing, or it is equivalent to the code, and explained.toml
states why. The tests run in a copy of the checkout, so its files may change meanwhile.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import os
import shutil
import sys
import tempfile
from pathlib import Path

import pytest

from ops.mutation import imports
from ops.mutation.mutations import enums_of, mutations_of
from ops.mutation.results import line_of, read, summary, unexplained
from ops.mutation.session import Mutant, Report, Session

ROOT = Path(__file__).resolve().parents[2]
NEEDED = ("service", "schemas", "workers", "sql", "tests", "pyproject.toml")
RULES = "cards commands deal decide demand events evolve game legal plays ruleset table"
"""Modules of service/domain: all but those of disputes and the view, which have other tests."""

TESTS = ["tests/rules", "tests/unit/domain"]
LINE_TESTS = ["tests/rules/test_lines.py", "tests/golden/test_samples.py"]
LEFT_OUT = ["tests/rules/test_properties.py", "tests/rules/test_lines.py"]
# The reason of a failure is not read: plain assertions and tracebacks cost a tenth.
OPTIONS = ["-q", "-p", "no:cacheprovider", "--assert=plain", "--tb=native"]


def main() -> int:
    """Run the tests; return 1 if a mutant survives without an explanation."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default=RULES.replace(" ", ","), help="modules")
    parser.add_argument("--part", choices=("functions", "imports"), help="only one part")
    parser.add_argument("--again", type=Path, help="only the survivors in that file")
    parser.add_argument("--tests", nargs="+", default=TESTS, help="other tests than those of rules")
    parser.add_argument(
        "--lines", action="store_true", help="also run the tests of counted lines and of samples"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--out", type=Path, default=Path("mutants.jsonl"))
    parser.add_argument("--markdown", action="store_true", help="print a report for people")
    parser.add_argument("--summary", action="store_true", help="run no tests, summarise --out")
    options = parser.parse_args()
    if options.summary:
        print(summary(options.out, as_markdown=options.markdown))
        return 1 if unexplained(options.out) else 0
    out, again = options.out.resolve(), None
    if options.again:
        again = {line.key for line in read(options.again) if line.killed_by is None}
    os.nice(10)
    sys.dont_write_bytecode = True
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder, out.open("w") as written:
        _copy(Path(folder))
        mutants = [
            mutant
            for mutant in _mutants(options.only.split(","))
            if again is None or line_of(mutant, None).key in again
        ]

        def report(mutant: Mutant, killed_by: str | None) -> None:
            print(line_of(mutant, killed_by).written(), file=written, flush=True)

        _run(mutants, options, report)
    print(summary(out, as_markdown=options.markdown))
    return 1 if unexplained(out) else 0


def _copy(folder: Path) -> None:
    """Copy the files that the tests need, and import only from the copy."""
    for name in NEEDED:
        if (ROOT / name).is_dir():
            unwanted = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / name, folder / name, ignore=unwanted)
        else:
            shutil.copy(ROOT / name, folder / name)
    os.chdir(folder)
    sys.path[:] = [str(folder), *(p for p in sys.path if Path(p or ROOT).resolve() != ROOT)]


def _mutants(names: list[str]) -> list[Mutant]:
    paths = sorted(Path("service/domain").resolve().glob("*.py"))
    trees = {path.stem: ast.parse(path.read_text()) for path in paths}
    return [
        Mutant(
            module=f"service.domain.{path.stem}",
            path=str(path),
            tree=trees[path.stem],
            mutation=mutation,
        )
        for path in paths
        if path.stem in names
        for mutation in mutations_of(trees[path.stem], enums_of(trees, path.stem))
    ]


def _run(mutants: list[Mutant], options: argparse.Namespace, report: Report) -> None:
    tests = [*OPTIONS, *options.tests]
    if options.lines:
        tests += LINE_TESTS
    left_out = [name for name in LEFT_OUT if name not in tests]
    tests += [word for name in left_out for word in ("--ignore", name)]
    at_import = [mutant for mutant in mutants if mutant.mutation.function is None]
    within = [mutant for mutant in mutants if mutant.mutation.function is not None]
    if options.part != "functions":
        imports.try_all(at_import, tests, options.jobs, report)
    if options.part != "imports":
        with Path(os.devnull).open("w") as nowhere, contextlib.redirect_stdout(nowhere):
            pytest.main(tests, plugins=[Session(within, options.jobs, report)])


if __name__ == "__main__":
    sys.exit(main())

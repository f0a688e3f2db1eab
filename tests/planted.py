"""
Planted faults: a fixed list of single mutations, each run against the tests that can reach it.

    python -m tests.planted write               draw the list again, for a changed seed or code
    python -m tests.planted run [--share 4]     plant each, or every fourth, and print what survives
    python -m tests.planted run --survivors     plant those whose newest result is `survived`
    python -m tests.planted run --store NAME    also keep each result in the list, under this name

The list is `tests/planted.json`. A mutation names the line that it changes, not only its number, so
that it stays the same while other lines move; one whose line is gone is counted as such. The run
changes a copy of the checkout. `killed` means that a test failed, `survived` that all of them
passed, first those near the module, then those of the folders of its kind; a mutation that changes
nothing that anybody can see has its reason in `equivalent`.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIST = Path(__file__).with_suffix(".json")
SEED, NUMBER = 61, 240
SECONDS = 600
"""After which a run of tests has the result `endless`: a mutation can make a loop endless."""

MOST_FILES = 12
"""Files of tests that one mutation is run against: those that name its module, nearest first."""

_NOTHING_COLLECTED = 5
"""Exit status of pytest without a test, which kills nothing."""

FOLDERS = {
    ".py": (
        *("tests/rules", "tests/unit", "tests/contract"),
        *("tests/integration/api", "tests/integration/operator"),
    ),
    ".sql": ("tests/unit/application", "tests/contract", "tests/integration"),
    ".js": ("tests/web",),
}
"""Tests that run if those near a module passed, by the kind of its file."""

SOURCES = (
    *("service/**/*.py", "schemas/**/*.py", "workers/**/*.py"),
    *("sql/**/*.sql", "service/api/static/app/*.js"),
)
CHANGES = (
    *((r" < ", " <= "), (r" <= ", " < "), (r" > ", " >= "), (r" >= ", " > ")),
    *((r" == ", " != "), (r" != ", " == "), (r" === ", " !== "), (r" !== ", " === ")),
    *((r" and ", " or "), (r" or ", " and "), (r" && ", " || "), (r" \|\| ", " && ")),
    *((r" AND ", " OR "), (r" \+ ", " - "), (r" - ", " + "), (r" is not None", " is None")),
    *((r" is None", " is not None"), (r"\bTrue\b", "False"), (r"\bFalse\b", "True")),
    *(
        (r"\bmin\(", "max("),
        (r"\bmax\(", "min("),
        (r"\bnot (?!in|NULL)", ""),
        (r" not in ", " in "),
    ),
    *((r"\bany\(", "all("), (r"\ball\(", "any("), (r"(?<![\w.])(\d)(?![\w.])", r"1\1")),
    *((r"^(\s*)(if|while) (.*):$", r"\1\2 not (\3):"), (r"^(\s*)return (?=\w)", r"\1return not ")),
    *(
        (r"^(\s*)(\w[\w.]*\(.*\);?)$", r"\1"),
        (r"\bLEAST\b", "GREATEST"),
        (r" < now\(\)", " > now()"),
    ),
)
"""What a mutation replaces, as a pattern, and by what."""


@dataclass(frozen=True, kw_only=True)
class Planted:
    """
    A line of a file, what it becomes, and why no test can notice that, if so.

    `results` has what the tests of a revision did, the newest last.
    """

    file: str
    line: int
    before: str
    after: str
    equivalent: str = ""
    results: dict[str, str] = field(default_factory=dict)

    @property
    def place(self) -> tuple[str, int, str]:
        """Return what no other mutation of the list has."""
        return self.file, self.line, self.after

    @property
    def newest(self) -> str:
        """Return the newest result, or nothing."""
        return next(reversed(self.results.values()), "")

    def in_(self, text: str) -> str | None:
        """Return the text with this mutation, at the nearest equal line; None if it is gone."""
        lines = text.split("\n")
        equal = [number for number, line in enumerate(lines) if line == self.before]
        if not equal:
            return None
        lines[min(equal, key=lambda number: abs(number + 1 - self.line))] = self.after
        return "\n".join(lines)


def drawn(seed: int, number: int) -> list[Planted]:
    """Return mutations of lines that are drawn from all lines of code alike."""
    chance = random.Random(seed)
    files = sorted({path for pattern in SOURCES for path in ROOT.glob(pattern)})
    lines = [(path, line) for path in files for line in _lines_of_code(path)]
    found: list[Planted] = []
    for path, number_of_line in chance.sample(lines, len(lines)):
        text = path.read_text("utf-8")
        before = text.split("\n")[number_of_line - 1]
        mutated = [one for one in _mutations(before) if _compiles(path, text, before, one)]
        if mutated:
            found.append(
                Planted(
                    file=str(path.relative_to(ROOT)),
                    line=number_of_line,
                    before=before,
                    after=chance.choice(mutated),
                )
            )
        if len(found) == number:
            break
    return sorted(found, key=lambda one: (one.file, one.line))


def _mutations(line: str) -> Iterator[str]:
    for pattern, by in CHANGES:
        for found in re.finditer(pattern, line):
            changed = line[: found.start()] + found.expand(by) + line[found.end() :]
            yield changed if changed.strip() else f"{changed}pass"


def _compiles(path: Path, text: str, before: str, after: str) -> bool:
    """Return whether a module still has a meaning: nothing is learned from one that has none."""
    if path.suffix == ".js" and (" not " in after or _code(before) == _code(after)):
        return False
    if path.suffix != ".py":
        return after.strip() != "pass" and _without_prose(before) != _without_prose(after)
    try:
        trees = [ast.parse(one) for one in (text, text.replace(before, after, 1))]
    except SyntaxError:
        return False
    return len({_without_words(tree) for tree in trees}) == 2


def _code(line: str) -> str:
    """Return a line of a script without its comments."""
    return re.sub(r" // .*|/\*\*? .*? \*/", "", line)


def _without_prose(line: str) -> str:
    return re.sub(r"'[^']* [^']*'?|^[^']* [^']*';?$", "", line) if "'" in line else line


def _without_words(tree: ast.Module) -> str:
    """Return a module without its texts: which words are the right ones is no matter of tests."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and " " in str(node.value):
            node.value = ""
    return ast.dump(tree)


def _lines_of_code(path: Path) -> list[int]:
    """Return the numbers of the lines without comments, docstrings and imports."""
    text = path.read_text("utf-8")
    if path.suffix != ".py":
        numbered = enumerate(text.split("\n"), start=1)
        return [
            n for n, line in numbered if line.strip() and not re.match(r"\s*(--|//|/?\*)", line)
        ]
    lines: set[int] = set()
    left_out: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.expr | ast.stmt):
            span = range(node.lineno, (node.end_lineno or node.lineno) + 1)
            is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            if is_text or isinstance(node, ast.Import | ast.ImportFrom):
                left_out |= set(span)
            lines.add(node.lineno)
    return sorted(lines - left_out)


def reaching(one: Planted, root: Path) -> list[str]:
    """
    Return the files of tests that name the module of a mutation, nearest first.

    If they are few, tests of the modules that use it follow, and the others of its folder; its own
    examples come first, and before the tests of a script those of its types, which need no browser.
    """
    path = Path(one.file)
    tests = sorted((root / "tests").rglob("test_*.py"))
    if path.suffix == ".sql":
        name = re.compile(rf"\b{_query_of(one, root)}\b")
        found = [test for test in tests if name.search(test.read_text("utf-8"))]
        further = [
            test for test in tests if re.match(r"test_(event_)?store|test_directory", test.name)
        ]
    elif path.suffix == ".js":
        web = [test for test in tests if test.parent.name == "web"]
        found = [test for test in web if path.stem in test.read_text("utf-8")]
        users = [
            user.stem
            for user in (root / path.parent).glob("*.js")
            if f'"./{path.name}"' in user.read_text("utf-8")
        ]
        further = [test for test in web if any(user in test.stem for user in users)]
    else:
        found = _naming(path, tests)
        modules = [user for top in ("service", "workers") for user in (root / top).rglob("*.py")]
        near = _naming(path, modules)
        further = [test for user in near for test in _naming(user.relative_to(root), tests)]
        further += [test for user in near for test in tests if f"test_{user.stem}_" in test.name]
        further += (root / "tests" / "unit" / path.parent.name).glob("test_*.py")
    has_examples = path.suffix == ".py" and ">>> " in (root / path).read_text("utf-8")
    nearest = [
        *[root / "tests" / "unit" / "test_doctests.py"][:has_examples],
        *[root / "tests" / "web" / "test_types.py"][: path.suffix == ".js"],
        *sorted(dict.fromkeys(found), key=lambda test: _distance(test, path)),
        *sorted(dict.fromkeys(further), key=lambda test: _distance(test, path)),
    ]
    return [str(test.relative_to(root)) for test in [*dict.fromkeys(nearest)][:MOST_FILES]]


def _query_of(one: Planted, root: Path) -> str:
    """Return the name of the query or function of SQL in which a mutation is; that of its file."""
    file = root / one.file
    above = file.read_text("utf-8").split("\n")[: one.line] if file.is_file() else []
    names = [found[1] for line in above if (found := re.match(r"-- (\w+): ", line))]
    return names[-1] if names else file.stem


def _naming(path: Path, files: list[Path]) -> list[Path]:
    """Return the files that import a module, by its own name or from its package."""
    package, name = ".".join(path.parent.parts), path.stem
    pattern = re.compile(
        rf"from {re.escape(package)} import (\(?[^)]*|.*)\b{name}\b|{re.escape(package)}\.{name}\b"
    )
    return [file for file in files if pattern.search(file.read_text("utf-8"))]


def _distance(test: Path, path: Path) -> tuple[bool, bool, str]:
    return path.stem not in test.stem, path.parent.name != test.parent.name, str(test)


def outcome(one: Planted, root: Path) -> str:
    """Plant one mutation in a copy of the checkout, and return what its tests do."""
    file = root / one.file
    text = file.read_text("utf-8") if file.is_file() else ""
    mutated = one.in_(text)
    files = reaching(one, root)
    if mutated is None:
        return "gone"
    _write(file, mutated)
    try:
        near = _result_of(files, root)
        return (
            near
            if near not in {"survived", "unreached"}
            else _result_of(FOLDERS[file.suffix], root)
        )
    finally:
        _write(file, text)


def _result_of(tests: Sequence[str], root: Path) -> str:
    if not tests:
        return "unreached"
    words = ("-q", "-x", "-n", "0", "-p", "no:cacheprovider", "-m", "not scale and not long")
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *words, *tests],
            cwd=root,
            env={
                **os.environ,
                "PYTHONPATH": str(root),
                "PYTHONPYCACHEPREFIX": str(root / "bytecode"),
                "PYTHONDONTWRITEBYTECODE": "",  # else each process of a test compiles all modules
            },
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "endless"
    return {0: "survived", _NOTHING_COLLECTED: "unreached"}.get(done.returncode, "killed")


def _write(file: Path, text: str) -> None:
    """Write a file with a time of its own: bytecode of the text before is not taken for it."""
    modified = file.stat().st_mtime + 2
    file.write_text(text, "utf-8")
    os.utime(file, (modified, modified))


def run(chosen: Sequence[Planted], checkout: Path) -> Iterator[tuple[Planted, str]]:
    """Plant each of some mutations, and return it with its result."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name) / "copy"
        left_out = shutil.ignore_patterns(".git", ".venv", "__pycache__", ".hypothesis")
        shutil.copytree(checkout, root, ignore=left_out)
        for words in (("init", "-q"), ("add", ".")):  # some tests read which files are versioned
            subprocess.run(["git", *words], cwd=root, check=True)
        for one in chosen:
            yield one, "equivalent" if one.equivalent else outcome(one, root)


def listed() -> list[Planted]:
    """Return the mutations of the list."""
    return [Planted(**one) for one in json.loads(LIST.read_text("utf-8"))]


def store(planted: Sequence[Planted]) -> None:
    """Write the list."""
    rows = [json.dumps(asdict(one)) for one in planted]
    LIST.write_text("[\n" + ",\n".join(rows) + "\n]\n", "utf-8")


def keep(one: Planted, name: str, result: str) -> None:
    """Add a result to the list; runs of other shares may add theirs meanwhile."""
    others = listed()
    changed = replace(one, results={**one.results, name: result})
    store([changed if other.place == one.place else other for other in others])


def main() -> None:
    """Draw or run the list, as the words say."""
    parser = argparse.ArgumentParser(prog="python -m tests.planted")
    parser.add_argument("what", choices=("write", "run"))
    parser.add_argument("--share", type=int, default=1, help="run every nth mutation only")
    parser.add_argument("--first", type=int, default=0, help="the first of these")
    parser.add_argument("--survivors", action="store_true", help="those that survived the last run")
    parser.add_argument(
        "--store", metavar="NAME", help="keep the results in the list, by this name"
    )
    parser.add_argument("--checkout", type=Path, default=ROOT, help="the tests of another version")
    words = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell lets `&` ignore Ctrl-C
    if words.what == "write":
        store(drawn(SEED, NUMBER))
        return
    chosen = [one for one in listed() if not words.survivors or one.newest == "survived"]
    counts: Counter[str] = Counter()
    for one, result in run(chosen[words.first :: words.share], words.checkout):
        counts[result] += 1
        print(result, f"{one.file}:{one.line}", one.after.strip(), sep="\t", flush=True)
        if words.store and result != "equivalent":
            keep(one, words.store, result)
    print(dict(counts))


if __name__ == "__main__":
    main()

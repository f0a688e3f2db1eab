"""Rules for the code: import layers, pure modules, allowed libraries, and lengths."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from service.store.database import queries

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("service", "schemas", "workers")

LIBRARIES = {
    "psycopg": {"store", "backup", "local"},
    "redis": {
        "feature",
        "due_games",
        "job_queue",
        "workers",
        "local",
        "api",
        "bootstrap",
        "startup_checks",
        "stream_counts",
    },
    "rq": {"job_queue", "workers"},
    "flask": {"api", "wsgi"},
    "a2wsgi": {"api"},
    "click": {"cli"},
    "numpy": {"labs"},
    "gymnasium": {"labs"},
    "pettingzoo": {"labs"},
    "pyarrow": {"labs"},
    "opentelemetry": {"runtime"},
    "openskill": {"audit"},
    "standardwebhooks": {"application", "client"},
}
"""The parts that may import each library of a server, a database or a terminal."""

PURE = {
    "__future__",
    "collections",
    "collections.abc",
    "dataclasses",
    "enum",
    "functools",
    "itertools",
    "msgspec",
    "msgspec.structs",
    "operator",
    "typing",
}
"""The imports allowed in `domain`: no clock, randomness, files or JSON; of msgspec only structs."""

IMPURE_NAMES = {"open", "print", "input", "exec", "eval", "__import__"}

MAX_LINES_OF_A_FUNCTION = 40
MAX_LINES_OF_A_FILE = 600
MAX_ROWS_OF_THE_MAP = 20

SUPPRESSION = re.compile(r"# (?:noqa|type: ignore)")
WITH_REASON = re.compile(r"# (?:noqa: [A-Z0-9, ]+|type: ignore\[[a-z, -]+\]) +(?:--?|#) \S")

LONG_FUNCTIONS: dict[str, str] = {
    "service/api/operation.py::operation": (
        "a decorator: three functions inside one another, counted together"
    ),
    "service/application/tables/view.py::table_json": "one JSON object of the API, key by key",
    "service/search/playout.py::playout": (
        "the inner loop of search: calls would cost more than the work between them"
    ),
}
"""Functions longer than a screen, each with the reason why it is not divided."""

OWNERS_OF_ONE_NAME = {
    "Table": "the state of a table, and its JSON in the client library, which exports this name",
}
"""Public class names with two owners, each with the reason why both keep it."""

MAX_SHARED_NAMES = 3


@cache
def modules() -> dict[str, Path]:
    """Return every module of the three packages by its dotted name."""
    found = {}
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            found[name.removesuffix(".__init__")] = path
    return found


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"), str(path))


@cache
def imports_of(name: str) -> tuple[str, ...]:
    """Return all imports of a module, including those within functions."""
    return tuple(_imports(name))


def _imports(name: str) -> Iterator[str]:
    for node in ast.walk(tree_of(modules()[name])):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name}: a relative import"
            module = node.module or ""
            inner = [f"{module}.{alias.name}" for alias in node.names]
            yield from (one if one in modules() else module for one in inner)


def unit_of(module: str) -> str:
    """Return the part of the project that a module belongs to: `shx` for `service.shx.chain`."""
    parts = module.split(".")
    return parts[0] if parts[0] != "service" or len(parts) == 1 else parts[1]


def test_parts_import_only_lower_layers() -> None:
    """The layers are contracts of import-linter, in pyproject.toml."""
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache", "--no-logo"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def circles() -> list[set[str]]:
    """Return the groups of modules that import one another, TYPE_CHECKING imports included."""
    below: dict[str, set[str]] = {}

    def follow(name: str) -> set[str]:
        """Return every module that a module imports, directly or not."""
        seen: set[str] = set()
        waiting = [name]
        while waiting:
            new = set(imports_of(waiting.pop())) & set(modules()) - seen
            seen |= new
            waiting += new
        return seen

    for name in modules():
        below[name] = follow(name)
    inside = [name for name in modules() if name in below[name]]
    return [
        group
        for first in inside
        if first == min(group := {n for n in inside if n in below[first] and first in below[n]})
    ]


def test_no_modules_import_one_another() -> None:
    """A circle hides what comes first; imports for type checking count as well."""
    assert circles() == []


def owners() -> dict[str, list[str]]:
    """Return the modules that define each public class name, in all packages."""
    found: dict[str, list[str]] = {}
    for name, path in modules().items():
        for node in tree_of(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found.setdefault(node.name, []).append(name)
    return found


def test_a_class_name_has_one_owner_except_the_listed_ones() -> None:
    """A reader who searches for a name finds the thing that it names."""
    shared = {name: found for name, found in owners().items() if len(found) > 1}
    assert set(shared) == set(OWNERS_OF_ONE_NAME), shared
    assert len(shared) <= MAX_SHARED_NAMES
    assert all(len(reason) > 20 for reason in OWNERS_OF_ONE_NAME.values())


def test_the_packages_import_no_tests() -> None:
    tests = [n for n in modules() if any(one.partition(".")[0] == "tests" for one in imports_of(n))]
    assert tests == []


def test_the_layers_list_exactly_the_existing_parts() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]
    layers = next(one["layers"] for one in contracts["contracts"] if one["id"] == "layers")
    named = [unit_of(part) for layer in layers for part in layer.split(" | ")]
    assert sorted(named) == sorted({unit_of(name) for name in modules()} - {"service"})


@pytest.mark.parametrize("library", sorted(LIBRARIES))
def test_a_library_is_imported_only_by_the_parts_that_need_it(library: str) -> None:
    users = {
        unit_of(name)
        for name in modules()
        if any(imported.partition(".")[0] == library for imported in imports_of(name))
    }
    assert users <= LIBRARIES[library]


def test_the_docstring_of_a_package_names_each_of_its_modules() -> None:
    """It is the map of the package, in the order in which to read; the README has the packages."""
    missing = {}
    for folder in sorted({path.parent for path in modules().values()} - {ROOT / "service"}):
        text = ast.get_docstring(tree_of(folder / "__init__.py")) or ""
        inside = {p.stem for p in folder.glob("*.py")} | {
            p.parent.name for p in folder.glob("*/*.py")
        }
        missing[folder.name] = inside - {"__init__", *re.findall(r"`(\w+)`", text)}
    assert {name: left for name, left in missing.items() if left} == {}


def test_the_map_of_the_readme_has_at_most_20_rows_and_each_package() -> None:
    text = (ROOT / "README.md").read_text("utf-8").partition("| To change … |")[2]
    rows = [line for line in text.partition("\n\n")[0].splitlines()[2:] if line.startswith("|")]
    assert 0 < len(rows) <= MAX_ROWS_OF_THE_MAP
    packages = {f"service/{p.parent.name}/" for p in (ROOT / "service").glob("*/__init__.py")}
    named = set(re.findall(r"`([\w/]+/)`", "\n".join(rows)))
    assert packages | {"schemas/", "workers/"} <= named
    beside = {
        f"{p.parent.name}/{p.name}/" for d in ("ops", "sql") for p in ROOT.glob(f"{d}/[a-z]*/")
    }
    assert beside | {"tests/"} <= set(re.findall(r"`([\w/]+/)`", text))


def test_the_root_package_imports_nothing() -> None:
    assert imports_of("service") == ()


def test_only_the_command_dataset_imports_the_labs_and_only_when_it_runs() -> None:
    """The service needs none of it, and `shithead simulate --help` does not load it."""
    users = {
        name
        for name in modules()
        if unit_of(name) != "labs" and any(unit_of(i) == "labs" for i in imports_of(name))
    }
    assert users == {"service.cli.simulate"}
    at_import = tree_of(modules()["service.cli.simulate"]).body
    found = {n.module for n in at_import if isinstance(n, ast.ImportFrom)}
    assert not [one for one in found if one is not None and one.startswith("service.labs")]


def test_only_workers_import_workers() -> None:
    """The service enqueues jobs by the names of their functions."""
    inside = [name for name in modules() if not name.startswith("workers")]
    assert [n for n in inside if any(unit_of(i) == "workers" for i in imports_of(n))] == []


def test_the_domain_has_no_clock_randomness_or_io() -> None:
    """Its results depend only on its arguments."""
    for name in (n for n in modules() if unit_of(n) == "domain"):
        outside = {i for i in imports_of(name) if unit_of(i) != "domain"}
        assert outside <= PURE, name
        used = {n.id for n in ast.walk(tree_of(modules()[name])) if isinstance(n, ast.Name)}
        assert used & IMPURE_NAMES == set(), name


def test_the_shx_package_needs_only_orjson_and_cryptography() -> None:
    """Independent readers need only the standard library, orjson and cryptography."""
    for name in (n for n in modules() if unit_of(n) == "shx"):
        roots = {i.split(".")[0] for i in imports_of(name) if unit_of(i) != "shx"}
        assert roots <= {*sys.stdlib_module_names, "orjson", "cryptography"}, name


def test_verifying_loads_no_database_no_server_and_no_queue() -> None:
    """`shithead verify` works without the libraries of the server."""
    code = "import sys, service.cli.verify; print(*{m.split('.')[0] for m in sys.modules})"
    answer = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert set(answer.stdout.split()) & {"psycopg", "redis", "rq", "flask", "granian"} == set()


def long_functions() -> dict[str, int]:
    """Return the number of lines of each function that is too long, without its docstring."""
    found = {}
    for path in modules().values():
        for name, function in functions(tree_of(path)):
            lines = length(function)
            if lines > MAX_LINES_OF_A_FUNCTION:
                found[f"{path.relative_to(ROOT)}::{name}"] = lines
    return found


def functions(
    node: ast.AST, prefix: str = ""
) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for child in ast.iter_child_nodes(node):
        inner = prefix
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            inner = f"{prefix}{child.name}."
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield prefix + child.name, child
        yield from functions(child, inner)


def length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    lines = (function.end_lineno or function.lineno) - function.lineno + 1
    first = function.body[0]
    if ast.get_docstring(function) is not None:
        lines -= (first.end_lineno or first.lineno) - first.lineno + 1
    return lines


def test_functions_have_at_most_40_lines_except_the_listed_ones() -> None:
    assert set(long_functions()) == set(LONG_FUNCTIONS), long_functions()


def test_no_file_is_longer_than_600_lines() -> None:
    lengths = {
        str(path.relative_to(ROOT)): len(path.read_text("utf-8").splitlines())
        for path in modules().values()
    }
    assert {name for name, lines in lengths.items() if lines > MAX_LINES_OF_A_FILE} == set()


def test_exempted_long_functions_have_a_reason() -> None:
    assert all(len(reason) > 20 for reason in LONG_FUNCTIONS.values())


def test_every_suppressed_check_states_its_rule_and_reason() -> None:
    """`noqa` and `type: ignore` name their rule and say why."""
    bare = []
    for path in [*modules().values(), *sorted((ROOT / "tests").rglob("*.py"))]:
        for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
            if SUPPRESSION.search(line) and not WITH_REASON.search(line):
                bare.append(f"{path.relative_to(ROOT)}:{number}")
    assert bare == []


def test_each_query_has_a_name_of_its_own_and_is_used() -> None:
    """The loader would take the second of two queries with one name."""
    texts = [path.read_text() for path in (ROOT / "sql" / "queries").glob("*.sql")]
    headers = [name for text in texts for name in re.findall(r"(?:\A|\n\n)-- (\w+): ", text)]
    assert len(headers) == len(set(headers)) == len(queries())
    code = "".join(path.read_text() for path in modules().values())
    assert [name for name in headers if f'"{name}"' not in code] == []


def test_fixtures_of_scope_package_are_in_packages() -> None:
    """In a folder without `__init__.py`, pytest would end them only after the last test."""
    found = {
        path.parent
        for path in (ROOT / "tests").rglob("conftest.py")
        if 'scope="package"' in path.read_text("utf-8")
    }
    assert found
    assert [folder for folder in found if not (folder / "__init__.py").is_file()] == []


def test_the_top_level_has_only_the_agreed_names() -> None:
    """Names that begin with a dot are not counted."""
    agreed = {
        *("pyproject.toml", "README.md", "LICENSE", "service", "workers", "schemas", "sql"),
        *("tests", "ops"),
    }
    made = {"build", "dist"}  # created by pip, ignored by Git
    there = {p.name for p in ROOT.iterdir() if not p.name.startswith(".")}
    assert {n for n in there - made if not n.endswith(".egg-info")} <= agreed


_SPEAKING = ("verify", "audit", "replay", "application", "domain")
_WORDS = re.compile(r"[A-Za-z]{2,}[ ,:;]+[A-Za-z]{2,}")
_BUILT_IN_CODE = {
    "application/disputes/disputes.py": "the words of settings, which `shithead settings` shows",
    "application/games/absences.py": "the words of a setting",
    "application/games/schedule.py": "the words of a setting",
    "application/retention.py": "the words of settings",
    "application/quotas.py": "the words of the table of quotas, which a specification shows",
    "audit/statistics.py": "names of measures in the answers of the API",
    "replay/deck.py": "SVG",
    "replay/picture.py": "SVG",
}
"""The modules that may have words of their own, each with its reason."""


def test_no_sentence_for_people_stands_in_the_code() -> None:
    """It is made from a code and values; what an exception says to programmers is no such text."""
    found = {
        str(path.relative_to(ROOT / "service"))
        for folder in _SPEAKING
        for path in sorted((ROOT / "service" / folder).rglob("*.py"))
        if any(_WORDS.search(text) for text in _texts_for_people(path))
    }
    assert found == set(_BUILT_IN_CODE)


_REFUSING = {"Refusal", "invalid", "fault", "invalid_body", "malformed", "not_found", "problem"}
"""The functions and classes that answer a caller who is refused."""


def test_a_refusal_has_a_code_instead_of_words() -> None:
    """Also where the refusal is not made in the layers above: in the API, in the queue."""
    found = {
        (name, part.value)
        for name, path in modules().items()
        for call in ast.walk(tree_of(path))
        if isinstance(call, ast.Call) and getattr(call.func, "id", None) in _REFUSING
        for part in ast.walk(call)
        if isinstance(part, ast.Constant) and _WORDS.search(str(part.value))
    }
    assert found == set()


def test_dataclasses_are_frozen_slotted_and_made_by_keywords_unless_their_use_forbids_it() -> None:
    """
    One is changed only if a field is assigned; a cached property has no place in slots.

    Structs of msgspec, which always have slots, are held to the same.
    """
    everywhere = [_used_by(path) for path in modules().values()]
    found = {}
    for path in modules().values():
        for node in ast.walk(tree_of(path)):
            if not isinstance(node, ast.ClassDef) or not (given := _options_of(node)):
                continue
            used = [(assigned, made) for words, assigned, made in everywhere if node.name in words]
            fields = {
                part.target.id
                for part in node.body
                if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name)
            }
            needed = {
                "frozen": all(fields.isdisjoint(assigned) for assigned, _ in used),
                "slots": "frozen" in given and "cached_property" not in ast.unparse(node),
                "kw_only": len(fields) > 1 and all(node.name not in made for _, made in used),
            }
            if missing := {option for option, is_needed in needed.items() if is_needed} - given:
                found[node.name] = missing
    assert found == {}


def _options_of(node: ast.ClassDef) -> set[str]:
    """Return the options with which a class is a dataclass or a Struct; nothing if it is none."""
    made = (ast.unparse(one).partition("(") for one in node.decorator_list)
    words = next((options for name, _, options in made if name == "dataclass"), "")
    if any(ast.unparse(base) == "Struct" for base in node.bases):
        words = ", ".join([*map(ast.unparse, node.keywords), "slots=True"])
    return set(re.findall(r"(\w+)=True", words))


def _used_by(path: Path) -> tuple[set[str], set[str], set[str]]:
    """Return the words of a module, attributes it assigns, and names it calls with positions."""
    assigned, by_position = set[str](), set[str]()
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            assigned.add(node.attr)
        if isinstance(node, ast.Call) and node.args:
            by_position.add(ast.unparse(node.func).rpartition(".")[2])
    return set(re.findall(r"\w+", path.read_text("utf-8"))), assigned, by_position


def _texts_for_people(path: Path) -> Iterator[str]:
    """Yield the strings of a module, and parts of f-strings, except those for programmers."""
    tree = tree_of(path)
    left_out = {
        part for node in ast.walk(tree) if _is_for_programmers(node) for part in ast.walk(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in left_out:
            yield node.value


def _is_for_programmers(node: ast.AST) -> bool:
    """Return whether a node is a docstring, an exception of Python, or writes to the log."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return True
    made = node.func if isinstance(node, ast.Call) else None
    if isinstance(made, ast.Attribute):
        return made.attr == "__init__" or ast.unparse(made.value) in ("_log", "log", "logging")
    return isinstance(made, ast.Name) and made.id in _FOR_PROGRAMMERS


_FOR_PROGRAMMERS = {
    *("ValueError", "LookupError", "KeyError", "TypeError", "RuntimeError", "StoreError"),
    *("InvalidHistory", "StreamArchived", "NotArchived", "UnknownEvent", "Contradiction"),
    "RecordError",  # the technical text of a parser
}

"""Docstrings name the exceptions that public functions raise."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CHECKED = (
    *("domain", "shx", "rulesets", "replay", "verify", "audit", "bots", "keys", "public_log"),
    *("store", "application", "simulation", "backup", "client", "local"),
)
"""All of `service` but the API and the command line, whose errors end as answers and statuses."""

PATHS = [path for name in CHECKED for path in sorted((ROOT / "service" / name).rglob("*.py"))]

Function = ast.FunctionDef | ast.AsyncFunctionDef

EXAMPLE = '''
def read(text):
    """Return a number. Raises ValueError for a word."""
    if not text:
        raise KeyError(text)
    if text == "-":
        raise refusal(text)
    try:
        raise LookupError
    except LookupError:
        pass
    raise ValueError

def refusal(text) -> Refusal:
    """Return why a text is refused."""

def _private():
    raise ValueError
'''


@cache
def tree_of(path: Path) -> ast.Module:
    """Return the syntax of a module, parsed once."""
    return ast.parse(path.read_text("utf-8"))


def undocumented(tree: ast.Module) -> dict[str, list[str]]:
    """Return by public function the exceptions that it raises and its docstring does not name."""
    found = {}
    for name, function, docs in public_functions(tree):
        stated = re.split(r"\b[Rr]aises?\b", docs, maxsplit=1)[1:] or [""]
        missing = {one for one in raised(function) if not re.search(rf"\b{one}\b", stated[0])}
        if missing:
            found[name] = sorted(missing)
    return found


def public_functions(tree: ast.Module) -> Iterator[tuple[str, Function, str]]:
    """Yield the public functions and methods of a module, with their docstrings."""
    for node in tree.body:
        if isinstance(node, Function) and not node.name.startswith("_"):
            yield node.name, node, ast.get_docstring(node) or ""
        elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            for inner in node.body:
                if isinstance(inner, Function) and not inner.name.startswith("_"):
                    yield f"{node.name}.{inner.name}", inner, ast.get_docstring(inner) or ""


def raised(function: Function) -> set[str]:
    """Return the public exceptions that a function itself raises and does not catch."""
    return {name for statement in function.body for name in _raised(statement, frozenset())}


def _raised(node: ast.AST, caught: frozenset[str]) -> Iterator[str]:
    if isinstance(node, Function | ast.Lambda | ast.ClassDef):
        return
    if isinstance(node, ast.Raise) and (name := _exception(node.exc)) and name not in caught:
        yield name
    for field, value in ast.iter_fields(node):
        inside = caught
        if isinstance(node, ast.Try) and field == "body":
            inside |= {name for handler in node.handlers for name in _names(handler.type)}
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _raised(child, inside)


def _exception(node: ast.expr | None) -> str | None:
    """Return the exception named in a `raise`, or returned by the function called in it."""
    if isinstance(node, ast.Call):
        name = "".join(_names(node.func))
        name = exceptions_returned().get(name, name)
    else:
        name = "".join(_names(node))
    return name if name in exceptions() and not name.startswith("_") else None


def _names(node: ast.expr | None) -> list[str]:
    match node:
        case ast.Name():
            return [node.id]
        case ast.Attribute():
            return [node.attr]
        case ast.Tuple():
            return [name for inner in node.elts for name in _names(inner)]
        case _:
            return []


@cache
def exceptions_returned() -> dict[str, str]:
    """Return the exceptions that functions create for their callers to raise."""
    found = {}
    for path in sorted((ROOT / "service").rglob("*.py")):
        for node in ast.walk(tree_of(path)):
            if isinstance(node, Function) and node.returns is not None:
                for name in _names(node.returns):
                    if name in exceptions():
                        found[node.name] = name
    return found


@cache
def exceptions() -> set[str]:
    """Return the names of all exceptions: those of Python, and those that derive from them."""
    known = {
        name
        for name, value in vars(builtins).items()
        if isinstance(value, type) and issubclass(value, BaseException)
    }
    classes = [
        (node.name, [name for base in node.bases for name in _names(base)])
        for path in sorted((ROOT / "service").rglob("*.py"))
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.ClassDef)
    ]
    while more := {name for name, bases in classes if name not in known and known & set(bases)}:
        known |= more
    return known


@pytest.mark.heavy
def test_the_search_finds_what_is_raised_and_not_caught() -> None:
    tree = ast.parse(EXAMPLE)
    assert undocumented(tree) == {"read": ["KeyError"]}
    assert "Refusal" in exceptions()
    assert exceptions_returned()["not_found"] == "Refusal"


@pytest.mark.heavy
def test_docstrings_name_the_exceptions_that_public_functions_raise() -> None:
    found = {path.relative_to(ROOT): undocumented(tree_of(path)) for path in PATHS}
    assert {path: missing for path, missing in found.items() if missing} == {}

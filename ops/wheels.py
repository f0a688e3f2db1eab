#!/usr/bin/env python3
"""
Build two wheels with disjoint files: `shithead-client`, and the server that depends on it.

    ops/wheels.py DIR           writes both wheels to DIR

`shithead-client` is for referees and for authors of clients: it verifies, replays and audits
games, and plays over HTTP, without Flask and psycopg. It has the packages of PACKAGES, the
commands of COMMANDS, and everything that these import. `shithead` has all other files. Both are
built from this checkout with the requirements of its pyproject.toml (ops/decisions/0057).
"""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]

CLIENT = "shithead-client"
"""The name of the small distribution."""

PACKAGES = ("audit", "bots", "client", "domain", "replay", "rulesets", "search", "shx", "verify")
"""The packages of `service` that the small wheel has as a whole."""

COMMANDS = (
    *(
        "__main__",
        "audit",
        "challenges",
        "collusion",
        "dispute",
        "play",
        "ratings",
        "replay",
        "rulesets",
        "tables",
    ),
    "verify",
)
"""The modules of `service.cli` whose commands it has."""

SOURCES = ("service", "schemas", "workers", "sql", "ops/spec", "ops/examples")
"""The folders that are installed; pyproject.toml names the same packages."""

CATALOGUES = "service/words"
"""The folder with all texts for people: those of the verifier and those of the pages."""

_NOT_INSTALLED = {"__pycache__", "conformance"}
"""The folders in them that are not installed; the logs in `conformance` are input of tests."""

_SUMMARY = "Verify, replay and audit games of Shithead, and play them over HTTP"


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """A wheel to build: its metadata that differs from pyproject.toml, and its files."""

    name: str
    description: str
    dependencies: tuple[str, ...]
    scripts: Mapping[str, str]
    files: frozenset[str]  # relative to the checkout


def distributions() -> tuple[Distribution, Distribution]:
    """Return the small distribution and the server, whose files are all others."""
    project = pyproject()["project"]
    modules = client_modules()
    every = frozenset(installed_files())
    ours = frozenset(f for f in every if _belongs(f, modules))
    needed = external_imports(modules)
    small = Distribution(
        name=CLIENT,
        description=_SUMMARY,
        dependencies=tuple(d for d in project["dependencies"] if import_name(d) in needed),
        scripts=project["scripts"],
        files=ours,
    )
    server = Distribution(
        name=project["name"],
        description=project["description"],
        dependencies=(f"{CLIENT}=={project['version']}", *project["dependencies"]),
        scripts={},  # with two owners of a file, removing one distribution removes it
        files=every - ours,
    )
    return small, server


@cache
def client_modules() -> frozenset[str]:
    """Return the modules of the small wheel: PACKAGES, COMMANDS, and all that they import."""
    modules = all_modules()
    whole = tuple(f"service.{name}" for name in PACKAGES)
    waiting = [m for m in modules if m in whole or m.startswith(tuple(f"{w}." for w in whole))]
    waiting += [f"service.cli.{name}" for name in COMMANDS]
    found: set[str] = set()
    while waiting:
        module = waiting.pop()
        if module in found:
            continue
        found.add(module)
        parent = module.rpartition(".")[0]
        waiting += [parent] if parent in modules else []
        waiting += [name for name in imports_of(modules[module]) if name in modules]
    return frozenset(found)


@cache
def all_modules() -> Mapping[str, Path]:
    """Return the Python modules of the checkout that are installed, by name."""
    found = {}
    for name in installed_files():
        if name.endswith(".py"):
            dotted = name.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
            found[dotted] = ROOT / name
    return found


@cache
def imports_of(path: Path) -> frozenset[str]:
    """Return the names of the modules that a module imports, also within functions."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return frozenset(found)


def external_imports(modules: Iterable[str]) -> frozenset[str]:
    """Return the top-level names that these modules import from other distributions."""
    paths = all_modules()
    roots = {name.split(".")[0] for module in modules for name in imports_of(paths[module])}
    return frozenset(roots - {"service", "schemas", "workers"} - sys.stdlib_module_names)


def import_name(requirement: str) -> str:
    """Return the import name of a requirement: `psycopg` for "psycopg[binary,pool]>=3.3.9"."""
    name = re.split(r"[<>=!~\[; ]", requirement, maxsplit=1)[0]
    return name.lower().replace("-", "_")


def installed_files() -> list[str]:
    """Return the files that an installation has, relative to the checkout."""
    paths = (path for source in SOURCES for path in sorted((ROOT / source).rglob("*")))
    return [
        path.relative_to(ROOT).as_posix()
        for path in paths
        if path.is_file() and _NOT_INSTALLED.isdisjoint(path.parts)
    ]


def pyproject() -> dict[str, Any]:
    """Return the tables of pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def write_project(distribution: Distribution, folder: Path) -> None:
    """Write a folder from which pip builds the distribution."""
    for name in (*distribution.files, "README.md", "LICENSE"):
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, target)
    whole = pyproject()
    server = distribution.name == whole["project"]["name"]
    extras = whole["project"]["optional-dependencies"]
    project = {
        **whole["project"],
        "optional-dependencies": {k: v for k, v in extras.items() if server and k != "dev"},
        "name": distribution.name,
        "description": distribution.description,
        "dependencies": list(distribution.dependencies),
        "scripts": dict(distribution.scripts),
    }
    tables = {
        "build-system": whole["build-system"],
        "project": project,
        "tool.setuptools": {"include-package-data": False},
        "tool.setuptools.packages.find": whole["tool"]["setuptools"]["packages"]["find"],
        "tool.setuptools.package-data": whole["tool"]["setuptools"]["package-data"],
    }
    (folder / "pyproject.toml").write_text(_toml(tables), "utf-8")


def build(projects: Iterable[Path], wheels: Path) -> None:
    """
    Build a wheel from each folder.

    With the setuptools of this Python if they are new enough; else pip fetches some. Raises
    CalledProcessError, after pip has printed the reason.
    """
    pip = [sys.executable, "-m", "pip", "wheel", "-q", "--disable-pip-version-check", "--no-deps"]
    if _has_setuptools():
        pip.append("--no-build-isolation")
    subprocess.run([*pip, "--wheel-dir", str(wheels), *map(str, projects)], check=True)


def main(arguments: list[str]) -> int:
    """Build both wheels; return the exit status."""
    if len(arguments) != 1 or arguments[0].startswith("-"):
        print(__doc__.strip())
        return 0 if arguments in (["-h"], ["--help"]) else 64
    with tempfile.TemporaryDirectory() as scratch:
        projects = []
        for distribution in distributions():
            projects.append(Path(scratch) / distribution.name)
            write_project(distribution, projects[-1])
        try:
            build(projects, Path(arguments[0]))
        except subprocess.CalledProcessError as error:
            print("wheels: pip cannot build them (its output is above)", file=sys.stderr)
            return error.returncode
    for wheel in sorted(Path(arguments[0]).glob("shithead*.whl")):
        print(wheel)
    return 0


def _belongs(name: str, modules: frozenset[str]) -> bool:
    """Return whether a file is one of the modules, data in a package that is, or of CATALOGUES."""
    if name.startswith(f"{CATALOGUES}/"):
        return True
    if name.endswith(".py"):
        return name.removesuffix(".py").replace("/", ".").removesuffix(".__init__") in modules
    return name.rpartition("/")[0].replace("/", ".") in modules


def _has_setuptools() -> bool:
    """Return whether the installed setuptools support the licence expression of pyproject.toml."""
    try:
        return int(version("setuptools").split(".")[0]) >= 77
    except PackageNotFoundError:
        return False


def _toml(tables: Mapping[str, Mapping[str, Any]]) -> str:
    """Return tables as TOML; strings, lists and booleans are written as in JSON."""
    lines = []
    for title, values in tables.items():
        lines.append(f"[{title}]")
        lines += [f"{json.dumps(key)} = {_value(value)}" for key, value in values.items()]
    return "\n".join(lines) + "\n"


def _value(value: Any) -> str:
    match value:
        case dict():
            pairs = ", ".join(f"{json.dumps(k)} = {_value(v)}" for k, v in value.items())
            return f"{{ {pairs} }}"
        case list():
            return f"[{', '.join(map(_value, value))}]"
        case _:
            return json.dumps(value, ensure_ascii=False)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Repetition of failed tests by `ops/test`: which run again, and what a run reports."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]

BESIDE_OTHERS = 'assert "PYTEST_XDIST_WORKER" not in os.environ'
"""Fails in a process of pytest-xdist, passes in a run with `-n 0`."""

ALWAYS = "assert False"


@pytest.fixture(scope="module")
def command() -> Any:
    """Return `ops/test` as a module."""
    sys.path.insert(0, str(ROOT / "ops"))
    try:
        loader = SourceFileLoader("ops_test_command", str(ROOT / "ops" / "test"))
        spec = spec_from_loader(loader.name, loader)
        assert spec is not None
        module = module_from_spec(spec)
        loader.exec_module(module)
    finally:
        sys.path.remove(str(ROOT / "ops"))
    return module


def run_of(command: Any, folder: Path, *bodies: str) -> Any:
    """Return a finished run of one test for each of `bodies`, beside others at first."""
    tests = [f"def test_{n}() -> None:\n    {body}\n" for n, body in enumerate(bodies)]
    (folder / "test_it.py").write_text("\n".join(["import os", *tests]))
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    few = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_PLUGINS": "xdist.plugin"}
    run = command.Run(python=sys.executable, environment=inherited | few, folder=folder)
    run.all_tests(folder / "cache", "-q", "-n", "1")
    return run


@pytest.mark.heavy
def test_a_test_that_passes_when_repeated_alone_is_named_and_the_run_passes(
    command: Any, tmp_path: Path
) -> None:
    """Failures recorded by an earlier run are ignored."""
    earlier = tmp_path / "cache" / "v" / "cache" / "lastfailed"
    earlier.parent.mkdir(parents=True)
    earlier.write_text(json.dumps({f"test_gone.py::test_{n}": True for n in range(9)}))
    run = run_of(command, tmp_path, "pass", BESIDE_OTHERS)
    assert run.failed == []
    assert run.notes == ["failed beside other tests, passed alone: test_it.py::test_1"]


@pytest.mark.heavy
def test_a_test_that_also_fails_alone_fails_the_run(command: Any, tmp_path: Path) -> None:
    run = run_of(command, tmp_path, BESIDE_OTHERS, ALWAYS)
    assert run.failed == ["pytest"]
    (note,) = run.notes
    assert note.endswith("not all passed alone: test_it.py::test_0, test_it.py::test_1")


@pytest.mark.heavy
def test_more_than_five_failed_tests_fail_the_run_at_once(command: Any, tmp_path: Path) -> None:
    run = run_of(command, tmp_path, *[BESIDE_OTHERS] * 6)
    assert run.failed == ["pytest"]
    assert run.notes == []


@pytest.mark.heavy
def test_a_run_that_cannot_collect_its_tests_does_not_pass(command: Any, tmp_path: Path) -> None:
    """The tests of a module that cannot be imported did not run at all."""
    (tmp_path / "test_broken.py").write_text(
        f"import os\n{BESIDE_OTHERS}\ndef test_of_it() -> None: pass\n"
    )
    run = run_of(command, tmp_path, "pass")
    assert run.failed == ["pytest"]
    assert run.notes == []


def test_the_help_lists_the_parts_and_a_wrong_part_is_refused_with_them() -> None:
    """Before anything is set up."""
    script = ROOT / "ops/test"
    shown = subprocess.run([script, "--help"], capture_output=True, text=True, check=True)
    assert "ops/test --all " in shown.stdout
    assert "ops/test --long" in shown.stdout
    assert "Parts: acceptance, " in shown.stdout
    wrong = subprocess.run([script, "--long", "unti"], capture_output=True, text=True)
    assert wrong.returncode == 1
    assert "there is no part 'unti'; parts: acceptance, " in wrong.stderr


def test_each_run_writes_what_its_tests_took(tmp_path: Path) -> None:
    """Sums by mark and folder, shared fixtures, then tests; also of tests in several processes."""
    (tmp_path / "test_it.py").write_text(
        "import pytest\n@pytest.mark.smoke\ndef test_busy() -> None:\n    sum(range(10**7))\n"
        "@pytest.fixture(scope='module')\ndef server():\n    sum(range(2 * 10**7))\n    yield\n"
        "    sum(range(2 * 10**7))\n"
        "def test_idle(server) -> None:\n    pass\n"
    )
    page = tmp_path / "page.md"
    (tmp_path / "conftest.py").write_text(
        "from pathlib import Path\nfrom tests.durations import Recorder\n"
        f"def pytest_configure(config):\n"
        f"    config.pluginmanager.register(Recorder(Path({str(page)!r})), 'durations')\n"
    )
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    few = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_PLUGINS": "xdist.plugin"}
    path = {"PYTHONPATH": str(ROOT)}
    words = [sys.executable, "-m", "pytest", "-q", "-n", "1", "-W", "ignore", str(tmp_path)]
    subprocess.run(words, cwd=tmp_path, env=inherited | few | path, check=True)
    text = page.read_text()
    assert "| smoke, 1 tests |" in text
    assert "| no mark, 1 tests |" in text
    server, busy, idle = (
        float(line.split("|")[2]) for line in text.splitlines() if "`" in line
    )  # the shared fixture, then the slowest test
    assert server > 3 * busy
    assert busy > 0.02 > idle


def test_the_value_of_an_option_is_no_part(command: Any) -> None:
    known = (["unit", "-k", "deal"], ["-m", "heavy", "rules"], ["tests/unit/x.py", "-n", "0"])
    assert all(command._unknown_part(words) is None for words in known)
    wrong = (["unti"], ["--long", "unti"], ["unit", "unti"])
    assert all(command._unknown_part(words) == "unti" for words in wrong)

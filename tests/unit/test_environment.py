"""The command `shithead` of a checkout."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ops import environment
from ops.environment import _install_checkout, _set_up, other_python, quickest_python


def python_of(folder: Path, release: str) -> Path:
    """Return a program that answers with this release; one without a release fails."""
    folder.mkdir()
    program = folder / "python3.13"
    program.write_text(f"#!/bin/sh\n[ -n '{release}' ] && echo '{release}'\n")
    program.chmod(0o755)
    return program


def test_another_python_is_one_of_another_release_that_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command of pyenv for a version that is not chosen exists, and fails."""
    monkeypatch.setattr(environment, "_SYSTEM", str(tmp_path / "none"))
    ours = python_of(tmp_path / "ours", "3.13.1 (one)")
    same, broken = python_of(tmp_path / "same", "3.13.1 (one)"), python_of(tmp_path / "shim", "")
    other = python_of(tmp_path / "other", "3.13.1 (two)")
    path = f"{same.parent}:{broken.parent}"
    assert other_python(ours, path) is None
    assert other_python(ours, f"{path}:{other.parent}") == str(other)
    monkeypatch.setattr(environment, "_SYSTEM", str(other))
    assert other_python(ours, path) == str(other)


def test_the_environment_is_made_with_a_python_that_is_clearly_quicker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Noise changes nothing, nor does one that is too old or cannot make environments."""
    monkeypatch.setattr(environment, "_SYSTEM", str(tmp_path / "none"))
    ours, even, unable, quicker = (
        str(python_of(tmp_path / name, said))
        for name, said in (
            *(("ours", "0.0100 3.13.1"), ("even", "0.0095 3.13.2")),
            *(("unable", ""), ("quicker", "0.0080 3.13.3")),
        )
    )
    folders = [str(Path(one).parent) for one in (even, unable, quicker)]
    assert quickest_python(ours, folders[0]) == ours
    assert quickest_python(ours, folders[1]) == ours
    assert not capsys.readouterr().err
    assert quickest_python(ours, folders[2]) == quicker
    assert f"using {quicker} (3.13.3)" in capsys.readouterr().err
    assert quickest_python(unable, folders[0]) == even
    assert quickest_python(unable, folders[1]) == unable


def test_the_loop_is_timed_in_a_real_python() -> None:
    seconds, version = environment._loop_of(sys.executable)
    assert 0 < seconds < 10
    assert version == sys.version.split()[0]


def test_tools_of_development_are_added_beside_a_running_service(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`ops/test` in a second terminal takes no file from the `ops/up` in the first."""
    (tmp_path / "lib" / "python3.11" / "site-packages").mkdir(parents=True)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to(sys.executable)
    installed: list[bool] = []

    def made(command: list[str], _failure: str) -> None:
        assert command[1:4] == ["-m", "venv", "--clear"]
        installed.clear()

    def install(_python: Path, requirements: list[str], _failure: str) -> None:
        installed.append(any(one.startswith("pytest") for one in requirements))

    monkeypatch.setattr(environment, "_run", made)
    monkeypatch.setattr(environment, "_install", install)
    monkeypatch.setattr(environment, "quickest_python", lambda ours, _path: ours)
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", "")  # put back afterwards
    _set_up(tmp_path, dev=False)
    _set_up(tmp_path, dev=True)
    assert installed == [False, True]
    assert environment._is_current(tmp_path, dev=True)
    monkeypatch.setattr(environment, "_fingerprint", lambda: "other requirements")
    _set_up(tmp_path, dev=False)
    assert installed == [False]


def test_a_set_up_without_packages_states_where_they_come_from(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without a network the last words of pip are of versions in conflict."""
    monkeypatch.setattr(environment, "_succeeds", lambda _command: False)
    with pytest.raises(SystemExit, match=r"cannot install the tools: they come from PyPI, or"):
        environment._install(Path("/bin/false"), ["none"], "cannot install the tools")


def test_the_command_imports_nothing_from_the_folder_of_the_user(tmp_path: Path) -> None:
    """A folder of evidence from somebody else may contain a file with the name of a module."""
    (tmp_path / "lib" / "python3.11" / "site-packages").mkdir(parents=True)
    (tmp_path / "bin").mkdir()
    python = tmp_path / "bin" / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    _install_checkout(tmp_path)
    (tmp_path / "dis.py").write_text("raise SystemExit('imported')\n")
    command = [str(tmp_path / "bin" / "shithead"), "--version"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr

"""
The search modules compiled with mypyc, for long measurements: python -m ops.bench.compiled FOLDER.

FOLDER becomes a copy of the packages in which `service/search` and the worlds of the bots are
extension modules; commands that run in it play the same moves about four times as fast. The
modules are the same sources, so the same tests apply; nothing else needs a compiler.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
COPIED = ("service", "schemas", "sql", "ops", "tests", "workers", "pyproject.toml")
_SEARCH = ("rules", "state", "playout", "flat", "tree", "intervals")
COMPILED = (*(f"service/search/{name}.py" for name in _SEARCH), "service/bots/worlds.py")


def main() -> None:
    """Copy and compile."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="does not exist yet")
    make_compiled_copy(parser.parse_args().folder)


def make_compiled_copy(folder: Path) -> None:
    """
    Make `folder` a copy of the packages with compiled search modules.

    Raises FileExistsError if the folder exists, CalledProcessError if no C compiler works.
    """
    folder.mkdir(parents=True)
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, folder / name)
    subprocess.run(
        [
            *(sys.executable, "-c", "from mypyc.__main__ import main; main()"),
            *("--explicit-package-bases", "--config-file", "pyproject.toml", *COMPILED),
        ],
        cwd=folder,
        check=True,
        stdout=subprocess.DEVNULL,
    )


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""
Build every container image of ops/compose.yaml.

    ops/images.py                       from a registry and the package index
    ops/images.py --without-registry    from Debian packages and wheels; needs root and debootstrap

Without a registry the base image is a Debian made by debootstrap, and the wheels come from this
machine's package index; the build itself reaches Debian's mirror only.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TARGETS = ("service", "postgres", "pgbouncer", "valkey")
SUITE, PYTHON = "trixie", "3.13"
"""The release of Debian, and the Python that it has."""

BASE = f"shithead-base:{SUITE}"
MIRROR = "http://deb.debian.org/debian"
CONTENTS = ("pyproject.toml", "README.md", "LICENSE", "service", "workers", "schemas", "sql", "ops")

_LEFT_OUT = (
    "./var/cache/apt/archives",
    "./var/lib/apt/lists",
    "./usr/share/doc",
    "./usr/share/man",
)
_PLATFORMS = ("manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64")


def main() -> int:
    """Build all images; return the exit status of the first command that failed."""
    parser = argparse.ArgumentParser(prog="ops/images.py", description=__doc__)
    parser.add_argument("--without-registry", action="store_true")
    parser.add_argument("--engine", default="docker", help="docker or podman (docker)")
    arguments = parser.parse_args()
    try:
        with tempfile.TemporaryDirectory(prefix="images-", dir="/var/tmp") as name:
            folder, options = ROOT, []
            if arguments.without_registry:
                folder = Path(name)
                _make_base(arguments.engine, folder / "base")
                folder = _context(folder / "context")
                _fetch_wheels(folder / "wheels")
                options = ["--network=host", f"--build-arg=BASE={BASE}"]
                options.append("--build-arg=PIP_OPTIONS=--no-index --find-links=/source/wheels")
            for target in TARGETS:
                tag = ("--target", target, "--tag", f"shithead-{target}")
                file = ("--file", str(folder / "ops/Containerfile"))
                _run(arguments.engine, "build", *options, *file, *tag, str(folder))
    except subprocess.CalledProcessError as error:
        return int(error.returncode)
    return 0


def _make_base(engine: str, folder: Path) -> None:
    """Import a minimal Debian as the base image, unless there is one."""
    known = subprocess.run([engine, "image", "inspect", BASE], capture_output=True, check=False)
    if known.returncode == 0:
        return
    _run(
        "debootstrap", "--variant=minbase", "--include=ca-certificates", SUITE, str(folder), MIRROR
    )
    left_out = [f"--exclude={path}" for path in (*_LEFT_OUT, "./dev")]
    packed = subprocess.Popen(
        ["tar", "-c", *left_out, "-C", str(folder), "."], stdout=subprocess.PIPE
    )
    subprocess.run([engine, "import", "-", BASE], stdin=packed.stdout, check=True)
    packed.wait()


def _context(folder: Path) -> Path:
    """Return a copy of what the images are built from."""
    folder.mkdir()
    for name in CONTENTS:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, folder / name)
    return folder


def _fetch_wheels(folder: Path) -> None:
    """Download the wheels of the service and of its build, for the Python of the image."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    requirements = project["project"]["dependencies"] + project["build-system"]["requires"]
    for extra in ("telemetry", "objects"):
        requirements += project["project"]["optional-dependencies"][extra]
    _run(
        *(sys.executable, "-m", "pip", "download", "--quiet", "--dest", str(folder)),
        *("--only-binary=:all:", "--python-version", PYTHON, "--implementation", "cp"),
        *(word for name in _PLATFORMS for word in ("--platform", name)),
        *("-c", str(ROOT / "ops/constraints.txt"), *requirements),
    )


def _run(*command: str) -> None:
    print("+", *command, flush=True)
    subprocess.run(command, check=True)


if __name__ == "__main__":
    sys.exit(main())

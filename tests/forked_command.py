"""
Runs command lines in forked processes that have the modules of the service imported.

A new Python takes up to a second of processor time to import them. The fork differs from it in
nothing else: it has its own environment, working folder, standard streams and exit status.

The fork runs `python -m tests.forked_command FOLDER WORD…`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from service.local.forked_programs import ForkedProgram, can_fork

_STREAMS = ("stdin", "stdout", "stderr")


def run_command(
    words: Sequence[object],
    *,
    environment: Mapping[str, str],
    folder: Path,
    typed: str = "",
    seconds: float = 300,
) -> subprocess.CompletedProcess[str]:
    """
    Run `shithead` with these arguments until it exits, with `typed` as its standard input.

    Raises TimeoutExpired after `seconds`.
    """
    command = [str(word) for word in words]
    assert can_fork(environment)
    with tempfile.TemporaryDirectory() as name:
        streams = Path(name)
        (streams / "stdin").write_text(typed)
        child = ForkedProgram(
            __name__,
            [name, *command],
            log=streams / "log",
            environment=environment,
            folder=folder,
        )
        try:
            status = child.wait(timeout=seconds)
        finally:
            child.send_signal(9)
        out, err = ((streams / stream).read_text() for stream in _STREAMS[1:])
        return subprocess.CompletedProcess(command, status, out, err)


def main() -> None:
    """Run the command line of this process, with its standard streams in files of a folder."""
    folder, *words = sys.argv[1:]
    for number, stream in enumerate(_STREAMS):
        flags = os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT | os.O_APPEND
        opened = os.open(Path(folder) / stream, flags, 0o600)
        os.dup2(opened, number)
        os.close(opened)
    sys.stdin = os.fdopen(0, closefd=False)
    sys.argv = ["shithead", *words]
    from service.cli.__main__ import main as shithead

    shithead()


if __name__ == "__main__":
    main()

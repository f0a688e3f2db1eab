"""The command line of a benchmark: print its table, or write it to its page."""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path


def print_or_write(
    page: Path,
    *,
    description: str | None,
    measure: Callable[[Path], Iterable[str]],
    heading: Callable[[float], str],
) -> None:
    """
    Print the lines of `measure` as they come; with --write also make them the content of `page`.

    `measure` gets a new folder that is deleted afterwards. `heading` returns the text above the
    lines; it gets the load of the machine before the start.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--write", action="store_true", help=f"write {page.name}")
    options = parser.parse_args()
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        lines = []
        for line in measure(Path(folder)):
            print(line, flush=True)
            lines.append(line)
    if options.write:
        text = "\n".join(lines)
        page.write_text(f"{heading(load)}\n\n{text}\n")

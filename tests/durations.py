"""Page of durations: what each test of a run took, with sums by folder and by mark."""

from __future__ import annotations

import os
import resource
from collections import defaultdict
from collections.abc import Generator, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

_SLOWEST = 200
"""How many tests the page names."""

_MARKS = ("heavy", "smoke", "long", "scale")

_PROPERTY = "processor_seconds"

_MEANING = """\
Seconds of processor time of a test's process and of the children that ended during it, and seconds
that passed. The servers that tests share are not included."""


@dataclass(slots=True)
class Taken:
    """Seconds that a test took, set-up and teardown included, and the marks that it has."""

    wall: float = 0.0
    processor: float = 0.0
    marks: tuple[str, ...] = field(default=())


class Recorder:
    """
    Plugin that adds up what each test takes and writes the page at the end of the run.

    Each process of the tests measures its own processor time and that of the children that ended
    during a test; the page is written by the process that collects the reports. The servers that
    tests share are in no test's figure.
    """

    def __init__(self, page: Path) -> None:
        self._page = page
        self._taken: dict[str, Taken] = defaultdict(Taken)
        self._used = 0.0

    def pytest_runtest_logstart(self) -> None:
        """Begin to measure a test."""
        self._used = _processor_seconds()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Add the processor time since the phase before to the report of a phase."""
        report = yield
        used = _processor_seconds()
        report.user_properties.append((_PROPERTY, used - self._used))
        self._used = used
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add the phase of a test to its sum."""
        taken = self._taken[report.nodeid]
        taken.wall += report.duration
        taken.processor += sum(
            seconds
            for name, seconds in report.user_properties
            if name == _PROPERTY and isinstance(seconds, float)
        )
        taken.marks = tuple(mark for mark in _MARKS if mark in report.keywords)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the page, in the process that collects the reports."""
        if not hasattr(session.config, "workerinput"):
            self._page.parent.mkdir(parents=True, exist_ok=True)
            self._page.write_text(page_of(self._taken))


def page_of(tests: dict[str, Taken]) -> str:
    """Return the page in Markdown: sums by mark and folder, then the slowest tests."""
    by_mark = _sums((mark, one) for one in tests.values() for mark in one.marks or ("no mark",))
    by_folder = _sums((_folder_of(name), one) for name, one in tests.items())
    slowest = sorted(tests.items(), key=lambda pair: pair[1].processor, reverse=True)[:_SLOWEST]
    parts = [
        "# Durations of the tests",
        _MEANING,
        _table("Mark", by_mark),
        _table("Folder", by_folder),
        _rows("Test", [(f"`{name}`", one.processor, one.wall) for name, one in slowest]),
    ]
    return "\n\n".join(parts) + "\n"


def _sums(pairs: Iterable[tuple[str, Taken]]) -> dict[str, tuple[int, float, float]]:
    """Return by name the number of tests, their processor seconds and the seconds that passed."""
    sums: dict[str, tuple[int, float, float]] = {}
    for name, one in pairs:
        count, processor, wall = sums.get(name, (0, 0.0, 0.0))
        sums[name] = (count + 1, processor + one.processor, wall + one.wall)
    return sums


def _folder_of(name: str) -> str:
    parts = name.partition("::")[0].split("/")[:-1]
    return "/".join(parts[:3])


def _table(title: str, sums: dict[str, tuple[int, float, float]]) -> str:
    ordered = sorted(sums.items(), key=lambda pair: pair[1][1], reverse=True)
    rows = [(f"{name}, {count} tests", used, wall) for name, (count, used, wall) in ordered]
    return _rows(title, rows)


def _rows(title: str, rows: Iterable[tuple[str, float, float]]) -> str:
    lines = [f"| {title} | processor s | passed s |", "| --- | ---: | ---: |"]
    lines += [f"| {name} | {used:.2f} | {wall:.2f} |" for name, used, wall in rows]
    return "\n".join(lines)


def _processor_seconds() -> float:
    """Return what this process and its ended children have used."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    times = os.times()
    return times.user + times.system + children.ru_utime + children.ru_stime

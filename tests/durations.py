"""Page of durations: what each test of a run took, with sums by folder and by mark."""

from __future__ import annotations

import os
import resource
import time
from collections import defaultdict
from collections.abc import Generator, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

_MOST_TESTS, _MOST_FIXTURES = 200, 20
"""How many the page names."""

_MARKS = ("heavy", "smoke", "long", "scale")

_PROPERTY = "seconds"

_MEANING = """\
Seconds of processor time of a test's process and of the children that ended during it, and seconds
that passed. Making and ending a fixture that tests share counts for the fixture, not for the test
that happens to come first or last; that is all that its servers and browsers use."""


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
    during a test; the page is written by the process that collects the reports.
    """

    def __init__(self, page: Path) -> None:
        self._page = page
        self._tests: dict[str, Taken] = defaultdict(Taken)
        self._fixtures: dict[str, Taken] = defaultdict(Taken)
        self._phase = Phase()

    def pytest_runtest_logstart(self) -> None:
        """Begin to measure a test."""
        self._phase = Phase()

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[object]
    ) -> Generator[None, object, object]:
        """Count the making of a shared fixture for it."""
        self._phase.count()
        try:
            return (yield)
        finally:
            self._phase.count(_shared(fixturedef))

    def pytest_fixture_post_finalizer(self, fixturedef: pytest.FixtureDef[object]) -> None:
        """Count the end of a shared fixture for it."""
        self._phase.count(_shared(fixturedef))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Add what a phase took to its report."""
        report = yield
        self._phase.count()
        report.user_properties.append((_PROPERTY, self._phase.seconds))
        self._phase = Phase()
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add the phase of a test to its sum and to those of its fixtures."""
        test = self._tests[report.nodeid]
        test.marks = tuple(mark for mark in _MARKS if mark in report.keywords)
        for seconds in (value for name, value in report.user_properties if name == _PROPERTY):
            assert isinstance(seconds, dict)
            for fixture, (processor, wall) in seconds.items():
                taken = self._fixtures[fixture] if fixture else test
                taken.processor += processor
                taken.wall += wall

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the page, in the process that collects the reports."""
        if not hasattr(session.config, "workerinput"):
            self._page.parent.mkdir(parents=True, exist_ok=True)
            self._page.write_text(page_of(self._tests, self._fixtures))


class Phase:
    """
    What a phase of a test took so far, in `seconds`, by the shared fixture that took it.

    Each value has processor seconds and seconds that passed; the name of the test itself is empty.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, tuple[float, float]] = {}
        self._counted = _now()

    def count(self, fixture: str = "") -> None:
        """Add the time since the last call to the fixture, or to the test."""
        now = _now()
        used, passed = self.seconds.get(fixture, (0.0, 0.0))
        before_used, before = self._counted
        self.seconds[fixture] = (used + now[0] - before_used, passed + now[1] - before)
        self._counted = now


def _shared(fixture: pytest.FixtureDef[object]) -> str:
    """Return the name of a fixture that tests share, else an empty one."""
    return "" if fixture.scope == "function" else f"{fixture.argname} ({fixture.scope})"


def _now() -> tuple[float, float]:
    """Return the processor time of this process and its ended children, and the time."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    times = os.times()
    used = times.user + times.system + children.ru_utime + children.ru_stime
    return used, time.monotonic()


def page_of(tests: dict[str, Taken], fixtures: dict[str, Taken]) -> str:
    """Return the page in Markdown: sums by mark and folder, shared fixtures, slowest tests."""
    by_mark = _sums((mark, one) for one in tests.values() for mark in one.marks or ("no mark",))
    by_folder = _sums((_folder_of(name), one) for name, one in tests.items())
    parts = [
        "# Durations of the tests",
        _MEANING,
        _table("Mark", by_mark),
        _table("Folder", by_folder),
        _slowest("Shared fixture", fixtures, _MOST_FIXTURES),
        _slowest("Test", tests, _MOST_TESTS),
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


def _slowest(title: str, taken: dict[str, Taken], most: int) -> str:
    ordered = sorted(taken.items(), key=lambda pair: pair[1].processor, reverse=True)[:most]
    return _rows(title, [(f"`{name}`", one.processor, one.wall) for name, one in ordered])


def _rows(title: str, rows: Iterable[tuple[str, float, float]]) -> str:
    lines = [f"| {title} | processor s | passed s |", "| --- | ---: | ---: |"]
    lines += [f"| {name} | {used:.2f} | {wall:.2f} |" for name, used, wall in rows]
    return "\n".join(lines)

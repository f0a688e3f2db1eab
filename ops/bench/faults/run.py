"""One run: start a service, play tables, inject the faults, then run every check."""

from __future__ import annotations

import random
import re
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from ops.bench.faults.calls import Notes
from ops.bench.faults.checks import Checked, check_all
from ops.bench.faults.disk import small_disk
from ops.bench.faults.features import Features
from ops.bench.faults.kinds import KINDS, Kind
from ops.bench.faults.load import Load
from ops.bench.faults.month import check_month
from ops.bench.faults.system import NotBack, SystemUnderTest

_NAMES = {"API": "API process"}
_RARE_SHARE = 20.0  # added to a kind that is rarer than a plan wants


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlan:
    """The size of a run."""

    faults: int
    tables: int = 8
    readers: int = 4  # of live streams
    pairs: int = 0  # of players who use what stands beside the moves
    seed: int = 1
    only: str = ""  # pattern of the grave faults that are injected
    least: int = 0  # of each kind of grave fault; rarer ones are drawn more often until then
    before: Counter[str] = field(default_factory=Counter)  # the faults of earlier runs
    keep_logs: Path | None = None

    def wants(self, kind: Kind) -> bool:
        """Return whether a run injects this kind; small faults are part of every run."""
        return not kind.grave or re.search(self.only, kind.name) is not None

    def weight(self, kind: Kind, faults: Counter[str]) -> float:
        """Return the share of a kind in what is drawn next, after the faults of this run."""
        rare = kind.grave and self.before[kind.name] + faults[kind.name] < self.least
        return kind.share + _RARE_SHARE if rare else kind.share


@dataclass(slots=True, kw_only=True)
class RunResult:
    """The steps of a run and the results of its checks."""

    faults: Counter[str] = field(default_factory=Counter)
    places: set[str] = field(default_factory=set)
    at_once: int = 0  # faults that were injected together with another one
    seconds: float = 0.0
    checked: Checked = field(default_factory=Checked)
    notes: Notes = field(default_factory=Notes)
    disk: bool = False

    @property
    def total(self) -> int:
        """Return how many faults there were."""
        return self.faults.total()


def run(plan: RunPlan) -> RunResult:
    """Make one run and return its result."""
    done = RunResult()
    began = time.monotonic()
    with (
        tempfile.TemporaryDirectory(prefix="faults-", ignore_cleanup_errors=True) as folder,
        small_disk(Path(folder)) as disk,
    ):
        system = SystemUnderTest(
            disk or Path(folder),
            plan.keep_logs or Path(folder),
            may_fill=disk is not None,
            seed=plan.seed,
        )
        done.disk = disk is not None
        try:
            system.start()
            _Run(system, plan, done).go()
        finally:
            system.stop()
    done.seconds = time.monotonic() - began
    return done


class _Run:
    """A run in progress."""

    def __init__(self, system: SystemUnderTest, plan: RunPlan, done: RunResult) -> None:
        self._system = system
        self._plan = plan
        self._done = done
        self._counting = threading.Lock()
        self._over = threading.Event()
        self._faults: Counter[str] = Counter()

    def go(self) -> None:
        """Play and inject faults, let all games end, and check."""
        notes, system = self._done.notes, self._system
        load = Load(
            notes,
            lambda: tuple(("127.0.0.1", port) for port in system.ports),
            tables=self._plan.tables,
            seed=self._plan.seed,
            readers=self._plan.readers,
            reading=lambda: (("127.0.0.1", system.stream_port),),
        )
        beside = Features(notes, load.calls, pairs=self._plan.pairs, seed=self._plan.seed)
        load.begin()
        beside.begin()
        try:
            self._do_faults()
        except NotBack as error:
            notes.wrong.append(str(error))
        finally:
            self._over.set()
            load.stop()
            beside.stop()
            system.end_fork_server()
            self._faults["the fork server's eight programs at once, SIGKILL"] += 1
        self._wait_until_ready()
        load.end()
        beside.end()
        self._count()
        notes.wrong += system.wrong
        address = f"http://127.0.0.1:{system.port}"
        checked = check_all(system.owner_url, address, notes, load.readers)
        beside.check(checked)
        check_month(system.data, system.owner_url, address, checked)
        self._done.checked = checked

    def _wait_until_ready(self) -> None:
        try:
            self._system.wait_ready()
        except NotBack as error:
            self._done.notes.wrong.append(str(error))

    def _do_faults(self) -> None:
        """Inject small faults all the time and, at the same time, one grave fault after another."""
        with ThreadPoolExecutor(2) as pool:
            both = [pool.submit(self._small_faults), pool.submit(self._grave_faults)]
            for one in both:
                one.result()

    def _small_faults(self) -> None:
        rng = random.Random(f"{self._plan.seed} small")
        while not self._enough():
            burst = 1 if rng.random() < 0.85 else rng.randint(2, 4)
            kinds = [self._drawn(rng, grave=False) for _ in range(burst)]
            chances = [random.Random(rng.random()) for _ in kinds]
            with ThreadPoolExecutor(burst) as pool:
                hit = sum(pool.map(self._do, kinds, chances))
            if hit > 1:
                self._done.at_once += hit
            self._over.wait(rng.uniform(0.02, 0.3))

    def _grave_faults(self) -> None:
        rng = random.Random(f"{self._plan.seed} grave")
        while not self._enough():
            burst = 1 if rng.random() < 0.6 else 2
            kinds = [self._drawn(rng, grave=True) for _ in range(burst)]
            chances = [random.Random(rng.random()) for _ in kinds]
            with ThreadPoolExecutor(burst) as pool:
                hit = sum(pool.map(self._do, kinds, chances))
            if hit > 1:
                self._done.at_once += hit
            self._system.wait_ready(anywhere=True)
            self._over.wait(rng.uniform(0.2, 1.5))

    def _enough(self) -> bool:
        return self._over.is_set() or self._count() >= self._plan.faults

    def _drawn(self, rng: random.Random, *, grave: bool) -> Kind:
        possible = [
            kind
            for kind in KINDS
            if kind.grave is grave and kind.possible(self._system) and self._plan.wants(kind)
        ]
        with self._counting:
            weights = [self._plan.weight(kind, self._faults) for kind in possible]
        return rng.choices(possible, weights)[0]

    def _do(self, kind: Kind, rng: random.Random) -> bool:
        hit = kind.act(self._system, rng)
        if hit:
            with self._counting:
                self._faults[kind.name] += 1
        return hit

    def _count(self) -> int:
        """Add up the faults injected so far, and return their number."""
        counts = self._system.killed.copy().items()
        killed = {f"{_NAMES.get(kind, kind)}, between two steps": count for kind, count in counts}
        with self._counting, self._done.notes.lock:
            self._done.faults = self._faults + Counter(killed) + self._done.notes.hung_up
        self._done.places = set(self._system.places)
        return self._done.total

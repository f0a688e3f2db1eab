#!/usr/bin/env python3
"""
Processor time of every endpoint with the costliest input: python -m ops.bench.endpoints --write

Writes `ops/bench/results/endpoints.md`, or prints the page without `--write`. A PostgreSQL, a
Valkey and the programs of the service are started for it. The application under measurement runs
in this process over the same database, so a figure is the processor time of the API alone. Takes
about fifteen minutes; `--write --only PATTERN` measures the endpoints that match and keeps the
other rows of the page. Ends with status 1 if a call exceeds the bound outside a slot.
"""

from __future__ import annotations

import argparse
import gc
import logging
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from unittest import mock

import structlog
from flask import Flask

from ops.bench.endpoint_inputs import Input, inputs
from ops.bench.endpoint_scene import Scene, make_scene, wait_for_findings
from service.api.app import api_shares, create_app
from service.api.bodies import GRACE_SECONDS
from service.application.quotas import Slots
from service.bootstrap import services_from
from service.features import FEATURES
from service.job_queue import WITHIN_SECONDS
from service.runtime.config import Settings
from service.store.migrate import migrate
from tests import servers
from tests.running import running

PAGE = Path(__file__).parent / "results" / "endpoints.md"
BOUND = 0.25
"""Seconds of processor time that a call may take outside a slot."""

AGAIN = 3
"""How often each call is repeated; the page has the median."""


@dataclass(slots=True)
class Watch:
    """The slots that calls of this process hold, and the processor time in them."""

    names: set[str] = field(default_factory=set)
    seconds: float = 0.0
    _depth: int = 0
    _since: float = 0.0

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Watch every `Slots` while the block runs."""
        acquire, release = Slots.acquire, Slots.release

        def acquired(slots: Slots, address: str) -> bool:
            free = acquire(slots, address)
            if free:
                self._enter(slots.name)
            return free

        def released(slots: Slots, address: str) -> None:
            self._leave(slots.name)
            release(slots, address)

        with (
            mock.patch.object(Slots, "acquire", acquired),
            mock.patch.object(Slots, "release", released),
        ):
            yield

    def begin(self) -> None:
        """Forget the slots of the calls before."""
        self.names, self.seconds = set(), 0.0

    def _enter(self, name: str) -> None:
        if name == "bodies":  # bounds the threads that wait for a body, not the work after it
            return
        self.names.add(name)
        if not self._depth:
            self._since = time.process_time()
        self._depth += 1

    def _leave(self, name: str) -> None:
        if name == "bodies":
            return
        self._depth -= 1
        if not self._depth:
            self.seconds += time.process_time() - self._since


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """The processor time of one call, in seconds, and the slots that it held."""

    name: str
    status: int
    outside: float
    inside: float
    slots: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """The costliest input of an endpoint: in a process that has read nothing, and again."""

    call: str
    first: Cost
    again: Cost

    @property
    def over(self) -> bool:
        """Return whether a call took longer than the bound outside a slot."""
        return self.worst > BOUND

    @property
    def worst(self) -> float:
        """Return the longer time outside a slot."""
        return max(self.first.outside, self.again.outside)


class Bench:
    """Measures calls of an application in this process."""

    def __init__(self, settings: Settings, scene: Scene, watch: Watch) -> None:
        self._settings = settings
        self._scene = scene
        self._watch = watch

    def rows(self, method: str, rule: str) -> Iterator[Row]:
        """Yield the costliest input of an endpoint that is accepted, and that is refused."""
        rows = [self._measured(method, rule, one) for one in inputs(self._scene, method, rule)]
        for refused in (False, True):
            alike = [row for row in rows if (row.first.status >= 400) is refused]
            if alike:
                yield max(alike, key=lambda row: (row.over, row.first.outside + row.first.inside))

    def collection(self) -> float:
        """Return the processor time of a garbage collection with the caches of long games full."""
        with _new_process(self._settings) as app:
            gc.collect()
            gc.freeze()
            for game in (self._scene.long, self._scene.sealed):
                self._call(app, "GET", Input(name="", path=f"/v1/games/{game}?at=9"))
                self._call(app, "GET", Input(name="", path=f"/v1/games/{game}/transcript"))
            began = time.process_time()
            gc.collect()
            return time.process_time() - began

    def _measured(self, method: str, rule: str, one: Input) -> Row:
        with _new_process(self._settings) as app:
            if one.before is not None:
                with _new_process(self._settings) as other:
                    self._call(other, method, one.before)
            first = self._call(app, method, one)
            again = sorted(
                (self._call(app, method, one) for _ in range(AGAIN)),
                key=lambda cost: cost.outside + cost.inside,
            )[AGAIN // 2]
        return Row(call=f"{method} {rule}", first=first, again=again)

    def _call(self, app: Flask, method: str, one: Input) -> Cost:
        headers = dict(one.headers)
        if one.caller is not None:
            headers["Authorization"] = f"Bearer {self._scene.tokens[one.caller]}"
        more: dict[str, Any] = {}
        if one.body is not None:
            more = {"data": one.body[0], "content_type": one.body[1]}
        client = app.test_client()
        gc.collect()
        self._watch.begin()
        began = time.process_time()
        answer = client.open(one.path, method=method, headers=headers, buffered=False, **more)
        if answer.mimetype != "text/event-stream":
            answer.get_data()
        else:
            next(iter(answer.response))
        answer.close()
        whole = time.process_time() - began
        inside = self._watch.seconds
        return Cost(
            name=one.name,
            status=answer.status_code,
            outside=whole - inside,
            inside=inside,
            slots=tuple(sorted(self._watch.names)),
        )


@contextmanager
def _new_process(settings: Settings) -> Iterator[Flask]:
    """Yield an application with empty caches and an open connection, like a new process."""
    services = services_from(settings)
    app = create_app(FEATURES, services, settings)
    app.test_client().get("/readyz")
    try:
        yield app
    finally:
        services.close()


def endpoints(app: Flask) -> list[tuple[str, str]]:
    """Return the method and rule of every endpoint of the application, in order."""
    return [
        (method, rule.rule)
        for rule in sorted(app.url_map.iter_rules(), key=lambda rule: rule.rule)
        for method in sorted((rule.methods or set()) - {"HEAD", "OPTIONS"})
    ]


def main() -> int:
    """Measure, and write or print the page; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}")
    parser.add_argument("--only", default="", metavar="PATTERN", help="endpoints that match")
    options = parser.parse_args()
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    rows, listed, waits = _measure(options.only)
    kept = _kept(PAGE.read_text(), listed) if options.only and options.write else {}
    page = "\n".join(_page(rows, kept, waits)) + "\n"
    if options.write:
        PAGE.write_text(page)
    else:
        print(page)
    return 1 if any(row.over for row in rows) else 0


def _measure(only: str) -> tuple[list[Row], list[str], list[str]]:
    """Return the rows of the endpoints, the names of all endpoints, and the lines about waits."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="she-")))
        url = stack.enter_context(servers.postgres(folder / "p")).url
        redis_url = stack.enter_context(servers.valkey(folder / "v"))
        migrate(url)
        logs = folder / "logs"
        logs.mkdir()
        periods = {"referee_hands": 0, "referee_account_seconds": 0, "referee_seated_seconds": 0}
        service = stack.enter_context(
            running(url, redis_url, logs, api_processes=1, rate_limits=False, **periods)
        )
        settings = replace(service.settings, api_threads=64)
        services = services_from(settings)
        scene = make_scene(services)
        wait_for_findings(services, scene, seconds=300)
        services.close()
        gc.collect()
        gc.freeze()
        watch = Watch()
        stack.enter_context(watch.installed())
        with _new_process(settings) as app:
            listed = endpoints(app)
            waits = _waits(settings, [one for one in gc.get_objects() if isinstance(one, Slots)])
        bench = Bench(settings, scene, watch)
        rows = []
        for method, rule in listed:
            if re.search(only, f"{method} {rule}"):
                for row in bench.rows(method, rule):
                    rows.append(row)
                    print(_line(row), file=sys.stderr, flush=True)
        names = [f"{method} {rule}" for method, rule in listed]
        return rows, names, [*_collections(bench.collection()), *waits]


def _collections(seconds: float) -> list[str]:
    """Return the lines about the garbage collector."""
    return [
        "A garbage collection runs before each measured call. With the histories of two hands of",
        f"19,000 actions in the cache, a full one took {seconds * 1000:.0f} ms of processor time.",
        "In the service it can happen in any call.",
        "",
    ]


HEAD = f"""# Every endpoint with the costliest input found

Made by `python -m ops.bench.endpoints --write` on a machine with two cores that was shared with
other work. A figure is milliseconds of processor time of the API process, without PostgreSQL,
Valkey, workers and the process that verifies uploads. *Outside*: outside every counted slot; no
call may exceed {BOUND * 1000:.0f} there. *In slots*: while a slot was held, with the names of the
slots (`service/application/quotas.py`); they are observed during the call. *First*: in a process
that has read no game, table or dispute yet; *again*: the median of {AGAIN} repetitions.

Each endpoint has two rows at most: the costliest input that is accepted and the costliest that is
refused, of those in `ops/bench/endpoint_inputs.py`: bodies of 256 KiB (unknown fields, deep
nesting, long texts and lists), hands of 19,000 actions, hands of 300 cards by a custom ruleset,
disputes with 249 referees and 38 statements, 190 running hands of one player. An input that
exceeds the bound outside slots is shown even if another costs more within them. Limits of calls by
address and by player apply as well. Rows of single endpoints may come from a later run than the
others (`--only`).

| call | costliest input | answer | first: outside | in slots | again: outside | in slots | slots |
| --- | --- | --- | --- | --- | --- | --- | --- |"""


def _page(rows: list[Row], kept: Mapping[str, list[str]], waits: list[str]) -> Iterator[str]:
    """Yield the lines of the page; `kept` are the rows of endpoints that were not measured."""
    yield HEAD
    lines = {row.call: [_line(one) for one in rows if one.call == row.call] for row in rows}
    for _, of_call in sorted({**kept, **lines}.items(), key=lambda item: item[0].split()[::-1]):
        yield from of_call
    over = [row.call for row in rows if row.over]
    if over:
        yield "\nOver the bound outside a slot:\n"
        yield from (f"- `{call}`" for call in over)
    yield ""
    yield from waits


def _kept(page: str, listed: list[str]) -> dict[str, list[str]]:
    """Return the rows of a page by endpoint, of those that still exist."""
    found: dict[str, list[str]] = {}
    for line in page.splitlines():
        if line.startswith("| `") and line.count("|") == HEAD.splitlines()[-1].count("|"):
            found.setdefault(line.split("`")[1], []).append(line)
    return {call: lines for call, lines in found.items() if call in listed}


def _line(row: Row) -> str:
    first, again = row.first, row.again
    cells = (
        f"`{row.call}`",
        first.name,
        str(first.status),
        *(f"{seconds * 1000:.0f}" for seconds in _times(first)),
        *(f"{seconds * 1000:.0f}" for seconds in _times(again)),
        ", ".join(sorted({*first.slots, *again.slots})),
    )
    return f"| {' | '.join(cells)} |"


def _times(cost: Cost) -> tuple[float, float]:
    return cost.outside, cost.inside


WAITS = {
    "waiting": (
        "a long poll, a live stream or hands in bulk",
        "30 s; a stream until the seal, hands until they are sent",
    ),
    "bodies": (
        "a request body that arrives",
        f"{GRACE_SECONDS:g} s, then a slot for slow bodies as well",
    ),
    "slow bodies": ("a slow request body", "`SHITHEAD_BODY_SECONDS`, 1 s more for each 64 KiB"),
    "verifications": ("the process that verifies an upload", "`SHITHEAD_VERIFY_SECONDS`"),
    "trials": ("the trial of a ruleset", f"{WITHIN_SECONDS:g} s"),
    "trials of an address": ("the same, of one address; no further one", f"{WITHIN_SECONDS:g} s"),
    "long games": ("nothing: work on long games and large hands", "its cost"),
}
"""The longest wait for each kind of slot."""

DESCRIBED_IN_WORDS = {"redis counters", "first document", "statistics"}
"""The slots that a line of OTHER_WAITS describes."""


def _waits(settings: Settings, found: list[Slots]) -> list[str]:
    """Return the lines about every wait in a thread of the API; sizes are those in use."""
    kinds = {slots.name: slots for slots in found if slots.name not in DESCRIBED_IN_WORDS}
    if kinds.keys() != WAITS.keys():
        raise LookupError(f"slots without a description: {kinds.keys() ^ WAITS.keys()}")
    lines = [
        f"| {what} | {name} | {kinds[name].size} | {kinds[name].per_address} | {most} |"
        for name, (what, most) in WAITS.items()
    ]
    others = OTHER_WAITS.format(
        pool=settings.pool_size,
        waiting=api_shares(settings).database,
        queue=settings.queue_size,
    )
    return [*HEAD_OF_WAITS.splitlines(), *lines, *others.splitlines()]


HEAD_OF_WAITS = """## Waits in a thread of the API

Slots of a process with 64 threads. Without a free slot the call is answered at once: 503
`unavailable`, or the unchanged object for a long poll.

| waits for | slots | in a process | of one address (trials: player) | at most |
| --- | --- | --- | --- | --- |"""

OTHER_WAITS = """
Waits that are counted in another way:

| waits for | counted by | at most |
| --- | --- | --- |
| a statement of PostgreSQL | connections of the pool: {pool} | `SHITHEAD_STATEMENT_SECONDS` |
| a connection of the pool | {waiting} calls; {queue} for 5 s after a time-out | 3 s |
| Redis after a commit | one call at a time once Redis failed, one a second | 50 ms |
| Redis for limits of calls by endpoint | 8; none for 5 s after a failure | 0.4 s |
| the checks of `/readyz` | one call at a time; others get the last status | some 10 s |
| statistics of the shuffle | one call; others get the last answer; 4 before the first | 10 s |
| the first OpenAPI document of a process | one call makes it, 3 more wait | its cost |

The head of a request holds no thread, only one of 4,096 connections of the process, for at most
30 s; one address keeps at most 1,024 of them while more than half are taken.
HTTP/2 is not supported: one connection has one request at a time."""


if __name__ == "__main__":
    sys.exit(main())

"""
The time of /verify for one hand in Chromium, and how long the page could not react meanwhile.

`python -m ops.bench.verify_page`: the page is that of this checkout, and needs no database.
"""

from __future__ import annotations

import json
import logging
from statistics import median
from threading import Thread
from typing import Any, Final

from playwright.sync_api import FilePayload, Page, sync_playwright
from werkzeug.serving import make_server

from service.shx.bundle import write_bundle
from tests.random_games import Plan, made_game
from tests.web.browsing import FLAGS, chromium_program
from tests.worlds.api_world import make_world

RUNS: Final = 12
EVENTS: Final = 300
HANDS: Final = (("shithead", 4), ("leeds", 4), ("smeghead", 4), ("guarducci", 4))

WATCH: Final = """
() => {
  const found = { gap: 0, steps: 0 };
  let last = performance.now();
  let value = 0;
  const look = () => {
    const now = performance.now();
    const runs = found.start !== undefined && found.end === undefined;
    if (runs) found.gap = Math.max(found.gap, now - last);
    last = now;
    const progress = document.querySelector("#progress").value;
    if (progress !== value) found.steps += 1;
    value = progress;
    if (runs && value === 1 && document.querySelector("#verdict h2")) found.end = now;
    if (found.end === undefined) setTimeout(look);
  };
  const chosen = () => { found.start = performance.now(); };
  document.querySelector("#file").addEventListener("change", chosen, { capture: true, once: true });
  look();
  window.found = found;
}
"""
"""Record the time from the choice of a file to the verdict, and the longest wait for the page."""


def main() -> None:
    """Print the times of each hand."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    world = make_world("postgresql://nobody@127.0.0.1:1/none")
    server = make_server("127.0.0.1", 0, world.app, threaded=True)
    Thread(target=server.serve_forever, daemon=True).start()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_program(), args=list(FLAGS))
        page = browser.new_page()
        page.goto(f"http://127.0.0.1:{server.server_port}/verify")
        page.locator("#app").wait_for()
        for ruleset, seats in HANDS:
            report(page, ruleset, _hand(ruleset, seats))
        browser.close()
    server.shutdown()
    world.services.close()


def _hand(ruleset: str, seats: int) -> list[bytes]:
    """Return the shortest of some random hands that have at least EVENTS events."""
    plans = (
        Plan(name=f"page {limit}", ruleset=ruleset, seats=seats, bots=True, turn_limit=limit)
        for limit in range(140, 400, 20)
    )
    return min((lines for lines in map(made_game, plans) if len(lines) >= EVENTS), key=len)


def report(page: Page, ruleset: str, lines: list[bytes]) -> None:
    """Print the median time of a hand, and the longest time in which the page did not react."""
    found = [_run(page, lines) for _ in range(RUNS)]
    times = sorted(one["end"] - one["start"] for one in found)
    gaps = [one["gap"] for one in found]
    steps = median(one["steps"] for one in found)
    print(
        f"{ruleset}: {len(lines)} events, median {median(times):.0f} ms, "
        f"{times[0]:.0f} to {times[-1]:.0f} ms; page busy at most {median(gaps):.0f} ms (median), "
        f"{max(gaps):.0f} ms (longest); {steps:.0f} steps of the progress bar"
    )


def _run(page: Page, lines: list[bytes]) -> dict[str, Any]:
    page.evaluate(WATCH)
    game = json.loads(lines[0])["game"]
    file: FilePayload = {
        "name": f"{game}.shx", "mimeType": "application/zip", "buffer": write_bundle(lines),
    }  # fmt: skip
    page.set_input_files("#file", file)
    page.wait_for_function("() => window.found.end !== undefined")
    assert page.locator("#checks li.fail").count() == 0
    found: dict[str, Any] = page.evaluate("window.found")
    return found


if __name__ == "__main__":
    main()

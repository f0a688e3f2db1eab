"""
Take the pictures of the README: pages of a running service in Chromium, as JPEG files.

    .venv/bin/python -m tests.web.take_pictures http://127.0.0.1:8080

A hand is played against bots until the pile has cards; a second one is given up and shown in the
replay room. The pages are in English and in a light scheme, on a desktop and on a phone.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any, Final

from playwright.sync_api import Browser, Page, sync_playwright

from tests.client import Client, open_table
from tests.web.browsing import FLAGS, chromium_program

FOLDER: Final = Path(__file__).parents[2] / "ops" / "pictures"
DESKTOP: Final = (1280, 800)
PHONE: Final = (390, 844)
LEAST_PILE: Final = 3


def main() -> None:
    """Take all pictures of the service whose address is given."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("address", help="of a running service, as `ops/up` prints it")
    address: str = parser.parse_args().address.rstrip("/")
    program = chromium_program()
    if program is None:
        raise SystemExit("no Chromium on the path (apt-get install chromium-headless-shell)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(FLAGS))
        take_all(browser, address)
        browser.close()


def take_all(browser: Browser, address: str) -> None:
    """Take the six pictures: lobby, table and replay, on a desktop and on a phone."""
    player, playing = hand(address, rounds=3)
    host, over = hand(address, rounds=6)
    Client(port=port_of(address), token=str(host["token"])).post(
        f"/v1/games/{over}/moves", {"type": "forfeit"}
    )
    for name, size in (("", DESKTOP), ("-phone", PHONE)):
        page = browser.new_page(
            viewport={"width": size[0], "height": size[1]}, base_url=address, locale="en-GB"
        )
        take(page, "/", f"lobby{name}", "#running .avatar")
        page.evaluate(
            "(one) => localStorage.setItem('shithead.player', JSON.stringify(one))", player
        )
        take(page, f"/play/{playing}", f"table{name}", "#own.turn")
        take(page, f"/replay/{over}?event=40&as=all", f"replay{name}", "#rows [aria-current]")
        page.close()


def take(page: Page, path: str, name: str, part: str) -> None:
    """Save a picture of a page once it has a part."""
    page.goto(path)
    page.locator(part).first.wait_for(state="attached")
    page.wait_for_timeout(1500)
    page.screenshot(path=str(FOLDER / f"{name}.jpg"), type="jpeg", quality=72)


def hand(address: str, rounds: int) -> tuple[dict[str, Any], str]:
    """Return a player on turn in a hand against bots, and its game, after some rounds."""
    guest = Client(port=port_of(address))
    player: dict[str, Any] = guest.call("POST", "/v1/players", {"name": "Ada"}).json
    guest.token = player["token"]
    while True:
        game = open_table([guest], ruleset="leeds", bots=("greedy", "lowest", "greedy"))
        guest.post(f"/v1/games/{game}/moves", {"type": "ready"})
        if play(guest, game, rounds):
            return player, game


def play(guest: Client, game: str, rounds: int) -> bool:
    """Play a number of turns; return whether the hand is then on turn with a pile to show."""
    for turn in range(rounds + 1):
        view = on_turn(guest, game)
        if view["status"] != "playing":
            return False
        if turn >= rounds:
            return len(view["pile"]) >= LEAST_PILE
        guest.post(f"/v1/games/{game}/moves", view["moves"][0])
    return False


def on_turn(guest: Client, game: str) -> dict[str, Any]:
    """Wait until the player is on turn or the hand is over, and return the view."""
    while True:
        view: dict[str, Any] = guest.get(f"/v1/games/{game}")
        if view["status"] in ("ended", "aborted") or view["turn"] == view["as"]:
            return view
        time.sleep(0.05)


def port_of(address: str) -> int:
    """Return the port of a service on this machine."""
    return int(address.rpartition(":")[2])


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""
Draw the picture of link previews: python -m ops.link_picture

Programs that show a link show no SVG, so `service/api/preview.png` is drawn in Chromium, from the
mark and the cards of the deck. It shows no hand: a link to a private one looks the same.
"""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import sync_playwright

from service.domain.cards import HIDDEN, Card
from service.replay.deck import card_id, drawings, symbol
from tests.web.browsing import FLAGS, chromium_program

TARGET = Path(__file__).parents[1] / "service/api/preview.png"
WIDTH, HEIGHT = 1200, 630
FONT = "system-ui, 'Noto Sans', sans-serif"
CARDS = (HIDDEN, Card("Qh"), Card("Th"), Card("2s"))


def picture() -> str:
    """Return the picture as SVG: a fan of cards, the mark and the name of the game."""
    symbols = "".join(symbol(card_id(card)) for card in CARDS)
    fan = "".join(
        f'<use href="#{card_id(card)}" width="200" height="280" x="-100" y="-150" '
        f'transform="translate({470 + 88 * at} {232 + 6 * (at - 1.5) ** 2}) '
        f'rotate({9 * (at - 1.5)})"/>'
        for at, card in enumerate(CARDS)
    )
    paper, ink = (drawings()["mark"][colour] for colour in ("paper", "ink"))
    return f"""<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}">
<defs>{symbols}</defs><rect width="{WIDTH}" height="{HEIGHT}" fill="#14532d"/>{fan}
<g transform="translate(300 424) scale(3.6)"><path fill="#e9cfa0" d="{paper}"/>
<path fill="#3b2a16" d="{ink}"/></g>
<text x="440" y="516" font-size="104" font-weight="800" fill="#f4f7f0" font-family="{FONT}"
 letter-spacing="-2">Shithead</text>
<text x="600" y="590" font-size="32" fill="#b9d3c1" text-anchor="middle" font-family="{FONT}">Play a
 hand, replay it, verify it</text></svg>"""


def main() -> None:
    """Write the picture."""
    with sync_playwright() as playwright:
        program = chromium_program()
        browser = playwright.chromium.launch(executable_path=program, args=list(FLAGS))
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        page.set_content(f"<body style='margin:0'>{picture()}")
        page.screenshot(path=TARGET)
        browser.close()


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""
Draw the picture of link previews: python -m ops.link_picture

Programs that show a link show no SVG, so `service/api/preview.png` is drawn in Chromium from
the SVG below. It shows the mark only: a link to a hand has no picture of its cards.
"""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.web.browsing import FLAGS, chromium_program

TARGET = Path(__file__).parents[1] / "service/api/preview.png"
WIDTH, HEIGHT = 1200, 630
FONT = "system-ui, 'Noto Sans', sans-serif"

SPADE = (
    "M16 1C14 6 3 12 3 20c0 4 3 6.500 6.500 6.500 2 0 3.800-.8 5-2.300-.3 2.300-1.500 4.300-3.500 "
    "6.300h10c-2-2-3.200-4-3.500-6.300 1.200 1.500 3 2.300 5 2.300C26 26.500 29 24 29 20 "
    "29 12 18 6 16 1z"
)

PICTURE = f"""<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}"
 viewBox="0 0 {WIDTH} {HEIGHT}"><rect width="{WIDTH}" height="{HEIGHT}" fill="#14532d"/>
<g transform="translate(420 92) rotate(-9)"><rect width="190" height="266" rx="18" fill="#2b4c8c"
 stroke="#ffffff" stroke-width="6"/></g>
<g transform="translate(560 76) rotate(6)"><rect width="200" height="280" rx="18" fill="#ffffff"/>
<path transform="translate(40 76) scale(3.75)" d="{SPADE}" fill="#1d2420"/></g>
<text x="600" y="496" font-size="112" font-weight="700" fill="#f4f7f0" text-anchor="middle"
 font-family="{FONT}" letter-spacing="-2">Shithead</text>
<text x="600" y="556" font-size="34" fill="#b9d3c1" text-anchor="middle"
 font-family="{FONT}">play a hand · replay it · verify it</text></svg>"""


def main() -> None:
    """Write the picture."""
    with sync_playwright() as playwright:
        program = chromium_program()
        browser = playwright.chromium.launch(executable_path=program, args=list(FLAGS))
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        page.set_content(f"<body style='margin:0'>{PICTURE}")
        page.screenshot(path=TARGET)
        browser.close()


if __name__ == "__main__":
    main()

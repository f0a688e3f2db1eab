"""
A moment of a game as a picture: the table after an event, as SVG.

It is made for other pages and for messages, so it has no player's name, loads nothing, and has no
style sheet, which the policy of the API's answers forbids. It is drawn from a masked game alone, so
it cannot show more than the view. The number of drawn cards is bounded: of a large hand or pile the
picture has the first cards and the count.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil
from textwrap import wrap
from typing import Final
from unicodedata import east_asian_width

from service.domain.cards import HIDDEN, Card
from service.domain.commands import Seat
from service.domain.events import CardsPlayed, CardsThrown, Event
from service.domain.game import Game, SeatState, Status
from service.replay.captions import Wording
from service.replay.deck import card_id, symbol
from service.replay.frames import Frame
from service.replay.sentences import ENGLISH, Voice, begun, seat_words, sentence

WIDTH: Final = 1200
HEIGHT: Final = 630
"""The size of the picture in pixels, that of a link preview."""

_SEATS_HEIGHT: Final = 360
_MARGIN: Final = 24
_GAP: Final = 16
_MOST_IN_HAND: Final = 12
_MOST_OF_PILE: Final = 6
_SEEN: Final = 0.5
"""The part of an overlapped card of a hand that is seen: its rank."""

_LINE: Final = 88
"""Characters in a line of the sentence; it has at most two."""

_FELT, _INK, _QUIET, _GLOW = "#14532d", "#f4f7f0", "#b9d3c1", "#ffd166"
_USES: Final = re.compile(r'<use href="#([^"]+)"')
_FONT: Final = "system-ui, 'Segoe UI', Roboto, 'Noto Sans', sans-serif"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Box:
    """A rectangle of the picture."""

    x: float
    y: float
    width: float
    height: float


def spelled(language: str) -> Wording:
    """Return the wording of the sentence below the table, which is the caption of the frame."""
    return Wording(codes=False, turns=False, language=language)


def picture(frame: Frame, language: str = ENGLISH) -> str:
    """Return the table of a frame as SVG: each seat, the stock, the pile and the sentence."""
    voice = Voice(language=language)
    game, size = frame.game, f'width="{WIDTH}" height="{HEIGHT}"'
    box = f'viewBox="0 0 {WIDTH} {HEIGHT}" {size}'
    drawn = "\n".join(
        [
            *(_seat(game, seat, box, voice) for seat, box in enumerate(_boxes(len(game.seats)))),
            *_middle(game, _laid(frame.event)),
        ]
    )
    whole = f'lang="{language}" role="img" font-family="{_FONT}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {box} {whole}>',
        f"<title>{escape(frame.caption)}</title>",
        f'<rect {size} fill="{_FELT}"/>',
        "<defs>",
        *(symbol(identity) for identity in sorted(set(_USES.findall(drawn)))),
        "</defs>",
        drawn,
        *_sentence(frame.caption),
        "</svg>\n",
    ]
    return "\n".join(parts)


def _boxes(seats: int) -> Iterator[_Box]:
    """Yield the place of each seat: one row of up to four, then rows of equal length."""
    rows = 1 if seats <= 4 else ceil(seats / 6) + (seats <= 6)
    columns = ceil(seats / rows)
    width = (WIDTH - 2 * _MARGIN - (columns - 1) * _GAP) / columns
    height = (_SEATS_HEIGHT - (rows - 1) * _GAP) / rows
    for seat in range(seats):
        row, column = divmod(seat, columns)
        yield _Box(
            x=_MARGIN + column * (width + _GAP),
            y=_MARGIN + row * (height + _GAP),
            width=width,
            height=height,
        )


def _seat(game: Game, seat: Seat, box: _Box, voice: Voice) -> str:
    """Return a seat: its number and marks, its hand, and the cards in front of it."""
    state = game.seats[seat]
    acts = game.status is Status.PLAYING and game.turn == seat
    edge = f' stroke="{_GLOW}" stroke-width="4"' if acts else ""
    head = min(30.0, box.height * 0.16)
    zone = (box.height - head - 3 * 8) / 2
    hand = _Box(x=box.x + 12, y=box.y + head + 8, width=box.width - 24, height=zone)
    table = _Box(x=hand.x, y=hand.y + zone + 8, width=hand.width, height=zone)
    title = begun(seat_words(seat, voice.language))
    rect = (
        f'<rect x="{box.x:.0f}" y="{box.y:.0f}" width="{box.width:.0f}" '
        f'height="{box.height:.0f}" rx="12" fill="#000000" fill-opacity="0.2"{edge}/>'
    )
    return "".join(
        (
            rect,
            _text(box.x + 14, box.y + head, title, size=head * 0.72, bold=True),
            _text(
                box.x + box.width - 14,
                box.y + head,
                _marks(game, seat, voice),
                size=head * 0.62,
                anchor="end",
            ),
            _hand(state, hand),
            _table(state, table),
        )
    )


def _marks(game: Game, seat: Seat, voice: Voice) -> str:
    """Return what is special about a seat, in a few words."""
    place, result = game.seats[seat].place, game.result
    if result is not None and result.shithead == seat:
        return sentence("seat.shithead", voice=voice)
    if place is not None:
        return sentence("seat.out", {"n": place}, voice)
    return sentence("seat.dealer", voice=voice) if game.dealer == seat else ""


def _hand(state: SeatState, box: _Box) -> str:
    """Return the cards of a hand, overlapping, with their number."""
    if not state.hand:
        return ""
    shown = state.hand[:_MOST_IN_HAND]
    count = _text(
        box.x + box.width,
        box.y + box.height / 2 + 8,
        str(len(state.hand)),
        size=min(24, box.height * 0.4),
        anchor="end",
        fill=_QUIET,
    )
    room = box.width - 36
    width = min(box.height / 1.4, room / (1 + _SEEN * (len(shown) - 1)))
    y = box.y + (box.height - width * 1.4) / 2
    return "".join(_row(shown, box.x, y, width, room)) + count


def _table(state: SeatState, box: _Box) -> str:
    """Return the slots in front of a seat: a face-down card, and the face-up cards on it."""
    slots = max(len(state.down), len(state.up))
    if not slots:
        return ""
    step = min(box.width / slots, box.height / 1.4 * 1.25)
    width = min(box.height / 1.4, step * 0.94)
    y = box.y + (box.height - width * 1.4) / 2
    parts = []
    for slot in range(slots):
        x = box.x + slot * step
        up = state.up[slot] if slot < len(state.up) else ()
        if not up and slot < len(state.down) and state.down[slot] is not None:
            parts.append(_card(HIDDEN, x, y, width))
        parts += _row(up[-_MOST_IN_HAND:], x, y, width, width * (1.2 if len(up) > 1 else 1))
    return "".join(parts)


def _middle(game: Game, laid: int) -> Iterator[str]:
    """Yield stock and pile with their numbers; `laid` cards of the pile were just played."""
    width, y = 88.0, _MARGIN + _SEATS_HEIGHT + 22
    below = y + width * 1.4 / 2
    if game.stock:
        yield _card(HIDDEN, 430, y, width)
        yield _text(416, below + 9, str(len(game.stock)), size=26, anchor="end", fill=_QUIET)
    else:
        yield _hole(430, y, width)
    shown = game.pile[-_MOST_OF_PILE:]
    if not shown:
        yield _hole(552, y, width)
        return
    step = 34.0
    for number, card in enumerate(shown):
        is_new = number >= len(shown) - laid
        yield _card(card, 552 + number * step, y, width, edge=_GLOW if is_new else None)
    end = 552 + (len(shown) - 1) * step + width
    yield _text(end + 14, below + 9, str(len(game.pile)), size=26, fill=_QUIET)


def _laid(event: Event) -> int:
    """Return the number of cards that an event put onto the pile."""
    return len(event.cards) if isinstance(event, CardsPlayed | CardsThrown) else 0


def _sentence(caption: str) -> Iterator[str]:
    """Yield the lines of the sentence, shortened to two."""
    lines = _lines(caption)
    for number, line in enumerate(lines):
        y = HEIGHT - 26 - (len(lines) - 1 - number) * 32
        yield _text(WIDTH / 2, y, line, size=25, anchor="middle")


def _lines(caption: str) -> list[str]:
    if not any(east_asian_width(character) == "W" for character in caption):
        return wrap(caption, _LINE, max_lines=2, placeholder=" …")
    length = _LINE // 2  # of wide characters, which have no spaces between words
    if len(caption) > 2 * length:
        caption = f"{caption[: 2 * length - 1]}…"
    return [line for line in (caption[:length], caption[length:]) if line]


def _row(cards: Sequence[Card], x: float, y: float, width: float, room: float) -> Iterable[str]:
    """Return cards from left to right, which overlap if the room is too small."""
    step = 0.0 if len(cards) < 2 else min(width * 1.06, (room - width) / (len(cards) - 1))
    return [_card(card, x + number * step, y, width) for number, card in enumerate(cards)]


def _card(card: Card, x: float, y: float, width: float, edge: str | None = None) -> str:
    """Return a card of the deck, or a back, with an edge in a colour."""
    size = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{width * 1.4:.1f}"'
    line = f'fill="none" stroke="{edge}" stroke-width="4"'
    around = f'<rect {size} rx="{width * 0.09:.1f}" {line}/>' if edge else ""
    return f'<use href="#{card_id(card)}" {size}/>{around}'


def _hole(x: float, y: float, width: float) -> str:
    """Return the outline of a place without cards."""
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{width * 1.4:.1f}" rx="8" '
        f'fill="none" stroke="{_INK}" stroke-opacity="0.35" stroke-dasharray="8 7"/>'
    )


def _text(
    x: float,
    y: float,
    text: str,
    *,
    size: float,
    anchor: str = "start",
    fill: str = _INK,
    bold: bool = False,
) -> str:
    """Return a line of text; nothing for an empty one."""
    if not text:
        return ""
    weight = ' font-weight="700"' if bold else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:.1f}" fill="{fill}" '
        f'text-anchor="{anchor}"{weight}>{escape(text)}</text>'
    )

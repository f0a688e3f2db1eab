"""
Link previews: the title and the sentence of a hand, table or dispute, for the head of its page.

Other programs show them beside a link, without running scripts. They keep what they have fetched,
so it has no names of people and no texts that people wrote. It is read as by a caller without a
token. A hand or a dispute that this caller may not see has no preview, and its page has the status
404, as for an address that nothing has. A table that this caller may not see has the preview of an
invitation, and its page has the status 200, whether it is private, unknown or gone. Either page is
sent whole, because its script has the token or the invite.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html import escape
from http import HTTPStatus
from typing import Any, ClassVar, Final
from urllib.parse import parse_qsl
from uuid import UUID

from flask import request

from service.api.context import context, services
from service.application.calls import Caller
from service.application.errors import InvalidHistory, Refusal, not_found
from service.application.games.pictures import HEIGHT, WIDTH
from service.application.quotas import limited_by
from service.domain.view import ALL
from service.domain.words import counted
from service.keys import KeyringError
from service.rulesets.catalogue import catalogue
from service.store.events import StoreUnavailable, StreamArchived

ANYBODY: Final = Caller()

_FRAME: Final = (720, 540)
"""Width and height of the frame that another page shows, as in the dialog that shares a moment."""

_HAND_PAGE: Final = re.compile(
    r"https?://(?P<host>[^/?#]+)/(?:replay|embed|play|games)/"
    r"(?P<game>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})/?(?:\?(?P<query>[^#]*))?(?:#.*)?"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """The description of a page's subject; without a subject only its status."""

    title: str = ""
    sentence: str = ""
    rules: str = ""
    """The name of the ruleset of a hand, for titles in the reader's language."""
    players: tuple[str, ...] = ()
    """The id of each seat's player, `-` without one; the faces of a page are made from it."""
    status: HTTPStatus = HTTPStatus.OK
    is_indexed: bool = True
    """Whether search engines may list the page."""
    picture: str = ""
    """The path of the picture of a hand's moment; the picture of the site without one."""
    page: str = ""
    """The path of the replay of a hand's moment."""

    WIDTH: ClassVar = WIDTH
    HEIGHT: ClassVar = HEIGHT

    @property
    def is_shown(self) -> bool:
        """Return whether there is something to state."""
        return bool(self.sentence)


INVITATION: Final = Preview(
    title="An invitation to a hand of Shithead",
    sentence="Sit down and play in your browser. No account is needed.",
    is_indexed=False,
)
"""The preview of every table that a stranger cannot see: it states nothing about the table."""


def of_game(game: UUID, query: Mapping[str, str] | None = None) -> Preview:
    """
    Return the preview of a hand, and of the event that the query names as the replay does.

    By default it is the query of the request.
    """
    return _read(lambda: _game(game, request.args if query is None else query))


def embedded(url: str, room: tuple[int | None, int | None]) -> dict[str, Any]:
    """
    Return what oEmbed states about the address of a hand, for a consumer with so much room.

    Raises Refusal `not-found` for another address, and for what a stranger may not see.
    """
    site = request.host_url.rstrip("/")
    found = _HAND_PAGE.fullmatch(url)
    if found is None or found["host"].casefold() != request.host.casefold():
        raise not_found("page")
    preview = of_game(UUID(found["game"]), dict(parse_qsl(found["query"] or "")))
    if not preview.page:
        raise not_found("page")
    width, height = (min(size, most or size) for size, most in zip(_FRAME, room, strict=True))
    frame = f"{site}{preview.page.replace('/replay/', '/embed/', 1)}"
    sizes = zip((WIDTH, HEIGHT), room, strict=True)
    fits = all(most is None or size <= most for size, most in sizes)
    return {
        "version": "1.0",
        "type": "rich",
        "provider_name": "Shithead",
        "provider_url": site,
        "title": preview.title,
        "html": f'<iframe src="{escape(frame)}" title="{escape(preview.title)}" width="{width}" '
        f'height="{height}" loading="lazy"></iframe>',
        "width": width,
        "height": height,
        "thumbnail_url": f"{site}{preview.picture}" if fits else None,
        "thumbnail_width": WIDTH if fits else None,
        "thumbnail_height": HEIGHT if fits else None,
    }


def status_of_game(game: str) -> HTTPStatus:
    """Return the status of a page about a hand whose id is a part of the query."""
    try:
        return of_game(UUID(game)).status
    except ValueError:
        return HTTPStatus.NOT_FOUND


def of_table(table: UUID) -> Preview:
    """Return the preview of a table, INVITATION if a stranger cannot see it or it is not read."""
    found = _read(lambda: _table(table))
    return found if found.is_shown else INVITATION


def of_dispute(dispute: UUID) -> Preview:
    """Return the preview of a dispute."""
    return _read(lambda: _dispute(dispute))


def _read(read: Callable[[], Preview]) -> Preview:
    """
    Return what is read, or that nothing is found.

    A page without a preview is sent if the database does not answer or the request may not fold so
    large a game: its script repeats the call and reports the problem.
    """
    try:
        with limited_by(context().long_games.request(None)):
            return read()
    except Refusal as refusal:
        is_missing = refusal.code == "not-found"
        return Preview(status=HTTPStatus.NOT_FOUND) if is_missing else Preview()
    except (StoreUnavailable, StreamArchived, InvalidHistory, KeyringError):
        return Preview()


def _game(identity: UUID, query: Mapping[str, str]) -> Preview:
    games = services().games
    entry = games.entry(ANYBODY, identity)
    game = entry.record.game
    seq = _event(query, entry.record.version)
    sentence = games.sentence(entry, seq)
    rules = _rules(game.ruleset.id)
    title = f"Shithead: hand {game.setup.hand}, {rules}"
    if sentence is None:
        seats = counted(len(game.seats), "seat")
        sentence = f"A hand with {seats} is being played; the record is public."
    elif seq is None:
        sentence = f"{sentence} The replay shows every event, with the rule behind it."
    players = tuple("-" if player is None else str(player) for player in entry.players)
    as_ = _viewer(query, len(game.seats)) if entry.record.sealed else "public"
    at = entry.record.version if seq is None else seq + 1
    return Preview(
        title=title,
        sentence=sentence,
        rules=rules,
        players=players,
        picture=f"/v1/games/{identity}/picture.png?at={at}&as={as_}",
        page=f"/replay/{identity}" + ("" if seq is None else f"?event={seq}&as={as_}"),
    )


def _event(query: Mapping[str, str], version: int) -> int | None:
    """Return the event that the query names; None without one, and for one of no use."""
    text = query.get("event", "")
    is_number = text.isascii() and text.isdigit() and len(text) < len("1000000")
    return int(text) if is_number and int(text) < version else None


def _viewer(query: Mapping[str, str], seats: int) -> str:
    """Return the viewer that the query names, after the seal; the public for one of no use."""
    text = query.get("as", "")
    return text if text == ALL or text in {str(seat) for seat in range(seats)} else "public"


def _table(identity: UUID) -> Preview:
    row = services().tables.row(ANYBODY, identity)
    free = sum(seat.kind == "open" for seat in row.seats)
    seats = counted(len(row.seats), "seat")
    sentence = f"A table with {seats}; {free} free." if free else f"A table with {seats}."
    return Preview(title=f"Shithead: a table, {_rules(row.ruleset)}", sentence=sentence)


def _dispute(identity: UUID) -> Preview:
    seq = services().disputes.commands.visible(ANYBODY, identity).dispute.opened.seq
    about = f"A dispute about event {seq} of a hand"
    return Preview(
        title="Shithead: a dispute",
        sentence=f"{about}: the findings of the verifier, the referees and their ruling.",
    )


def _rules(identity: str) -> str:
    """Return the name of a ruleset; that of a custom one was written by its author."""
    known = catalogue().get(identity)
    return "custom rules" if known is None else known.name

"""Pictures of moments as PNG: what they show, how often they are drawn, and how many are kept."""

from __future__ import annotations

import struct
import zlib
from unittest.mock import patch
from uuid import UUID

import pytest

from service.application.games import pictures
from service.application.games.pictures import HEIGHT, MAX_BYTES, WIDTH, Pictures, pixels
from tests.integration.api.test_link_previews import id_of, preview
from tests.worlds.api_world import Person, World, problem_of

YEAR = "max-age=31536000, immutable"
GAME = UUID(int=1)
BLANK = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1200 630">{}</svg>'


@pytest.fixture(scope="module")
def world(module_world: World) -> World:
    """Return one application for all tests of this module: none depends on rows of another."""
    return module_world


def size_of(png: bytes) -> tuple[int, ...]:
    """Return the width and the height of a PNG."""
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    return struct.unpack(">II", png[16:24])


def test_a_picture_has_the_permissions_and_the_caching_of_the_svg(
    world: World, ada: Person, bob: Person
) -> None:
    game = ada.game()
    running = world.get(f"{game}/picture.png?at=3")
    assert (running.status_code, running.mimetype) == (200, "image/png")
    assert size_of(running.data) == (WIDTH, HEIGHT)
    assert running.headers["Cache-Control"] == "no-cache"
    assert ada.get(f"{game}/picture.png?as=0").headers["Cache-Control"] == "private, no-store"
    assert problem_of(world.get(f"{game}/picture.png?as=all")) == "sealed"
    ada.post(f"{game}/moves", {"type": "forfeit"})
    sealed = world.get(f"{game}/picture.png?at=3&as=all")
    assert sealed.headers["Cache-Control"] == f"public, {YEAR}"
    assert sealed.data != running.data
    private = ada.game(visibility="private")
    assert problem_of(bob.get(f"{private}/picture.png")) == "not-found"
    assert ada.get(f"{private}/picture.png").headers["Cache-Control"] == "private, no-store"


def test_a_moment_is_drawn_once(world: World, ada: Person) -> None:
    game = ada.game()
    with patch.object(pictures, "pixels", wraps=pixels) as drawn:
        first = {world.get(f"{game}/picture.png?at=3").data for _ in range(3)}
        ada.post(f"{game}/moves", {"type": "forfeit"})
        assert {world.get(f"{game}/picture.png?at=3&as=public").data} == first
        assert drawn.call_count == 1
        world.get(f"{game}/picture.png?at=3&as=all")
        assert drawn.call_count == 2


def test_the_kept_pictures_have_a_bound_in_bytes() -> None:
    kept, count = Pictures(), 40
    with patch.object(pictures, "pixels", return_value=bytes(MAX_BYTES // 10)):
        for at in range(count):
            kept.of((GAME, at, None), str)
    assert len(kept) == 10


def test_words_are_drawn_without_a_font_of_the_machine() -> None:
    """An empty text and one with words differ; åäö are no boxes."""
    text = '<text x="50" y="300" font-size="80" font-family="system-ui, sans-serif">{}</text>'
    drawn = [pixels(BLANK.format(text.format(words))) for words in ("", "Seat", "Såt", "S\ufffdt")]
    assert len({zlib.crc32(one) for one in drawn}) == 4


def test_the_page_of_a_public_hand_names_the_picture_of_its_moment(
    world: World, ada: Person
) -> None:
    game = ada.game()
    for query, picture in (
        ("?event=2&as=all", f"{game}/picture.png?at=3&as=public"),
        ("?event=2&as=0", f"{game}/picture.png?at=3&as=public"),
    ):
        assert preview(world.get(f"/replay/{id_of(game)}{query}"))["og:image"].endswith(
            picture.replace("&", "&amp;")
        )
    ada.post(f"{game}/moves", {"type": "forfeit"})
    found = preview(world.get(f"/replay/{id_of(game)}?event=2&as=all"))
    assert found["og:image"].endswith(f"{game}/picture.png?at=3&amp;as=all")
    assert (found["og:image:width"], found["og:image:height"]) == (str(WIDTH), str(HEIGHT))
    shown = world.get(found["og:image"].removeprefix("http://localhost").replace("&amp;", "&"))
    assert size_of(shown.data) == (WIDTH, HEIGHT)

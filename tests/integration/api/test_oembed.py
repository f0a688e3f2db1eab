"""oEmbed: what other sites show for the address of a hand, and for which addresses."""

from __future__ import annotations

import re
from html import unescape
from urllib.parse import unquote, urlencode
from uuid import uuid4

import pytest

from tests.worlds.api_world import Answer, Person, World, problem_of

SITE = "http://localhost"
LINK = re.compile(r'<link rel="alternate" type="application/json\+oembed" href="([^"]+)"')


@pytest.fixture(scope="module")
def world(module_world: World) -> World:
    """Return one application for all tests of this module: none depends on rows of another."""
    return module_world


def asked(world: World, path: str, **query: object) -> Answer:
    """Return the answer about a page of this server."""
    return world.client.get("/v1/oembed", query_string={"url": SITE + path, **query})


@pytest.mark.parametrize("kind", ["replay", "embed", "play"])
def test_the_page_of_a_public_hand_is_embedded_as_a_frame(
    world: World, ada: Person, kind: str
) -> None:
    game = ada.game(ruleset="leeds").removeprefix("/v1/games/")
    found = asked(world, f"/{kind}/{game}?event=2&as=public").json
    assert (found["version"], found["type"]) == ("1.0", "rich")
    assert found["title"] == "Shithead: hand 1, Leeds Rules (Merde de Tête)"
    frame = f"{SITE}/embed/{game}?event=2&as=public"
    assert f'src="{frame}"' in unescape(found["html"])
    assert (found["width"], found["height"]) == (720, 540)
    assert world.client.get(frame).status_code == 200
    assert world.client.get(found["thumbnail_url"]).mimetype == "image/png"


def test_pages_of_a_hand_lead_to_it(world: World, ada: Person) -> None:
    game = ada.game().removeprefix("/v1/games/")
    for path in (f"/replay/{game}?event=2&as=public", f"/embed/{game}", f"/play/{game}"):
        found = LINK.search(world.get(path).text)
        assert found is not None, path
        answer = world.client.get(unescape(found[1]))
        assert game in answer.json["html"], unquote(found[1])
    assert LINK.search(world.get("/rules/leeds").text) is None


def test_a_frame_is_no_larger_than_the_room_of_the_consumer(world: World, ada: Person) -> None:
    game = ada.game().removeprefix("/v1/games/")
    found = asked(world, f"/replay/{game}", maxwidth=400, maxheight=2000).json
    assert (found["width"], found["height"]) == (400, 540)
    assert 'width="400"' in found["html"]
    assert found["thumbnail_url"] is found["thumbnail_width"] is None
    least = asked(world, f"/replay/{game}", maxwidth=1, maxheight=1).json
    assert (least["width"], least["height"]) == (1, 1)


def test_a_query_cannot_write_into_the_frame(world: World, ada: Person) -> None:
    game = ada.game().removeprefix("/v1/games/")
    found = asked(world, f'/replay/{game}?event=2&as="><script>').json
    assert "script" not in found["html"] and "script" not in found["thumbnail_url"]


def test_other_addresses_are_not_found(world: World, ada: Person) -> None:
    """A private hand is answered like an unknown one, also to its player."""
    private = ada.game(visibility="private").removeprefix("/v1/games/")
    public = ada.game().removeprefix("/v1/games/")
    for url in (
        f"{SITE}/replay/{private}",
        f"{SITE}/replay/{uuid4()}",
        f"{SITE}/rules/leeds",
        f"https://elsewhere.example/replay/{public}",
        f"{SITE}/v1/games/{public}",
        "http://[/",
    ):
        answer = ada.get(f"/v1/oembed?{urlencode({'url': url})}")
        assert problem_of(answer) == "not-found", url
    assert problem_of(asked(world, f"/replay/{public}", format="xml")) == "malformed"
    assert problem_of(world.client.get("/v1/oembed")) == "malformed"

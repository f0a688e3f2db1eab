"""The picture of a moment: who gets it, for how long caches keep it, and that it has no names."""

from __future__ import annotations

import pytest

from tests.worlds.api_world import Person, World, problem_of

YEAR = "max-age=31536000, immutable"


@pytest.fixture(scope="module")
def world(module_world: World) -> World:
    """Return one application for all tests of this module: none depends on rows of another."""
    return module_world


def test_a_picture_is_immutable_after_the_seal_and_revalidated_before(ada: Person) -> None:
    game = ada.game()
    for query in ("", "?at=3", "?as=public"):
        running = ada.get(f"{game}/picture.svg{query}")
        assert (running.status_code, running.mimetype) == (200, "image/svg+xml")
        assert running.headers["Cache-Control"] == "no-cache"
    own = ada.get(f"{game}/picture.svg?as=0")
    assert own.headers["Cache-Control"] == "private, no-store"
    assert own.data != running.data
    ada.post(f"{game}/moves", {"type": "forfeit"})
    for query in ("", "?at=3", "?as=all", "?at=3&as=0"):
        sealed = ada.get(f"{game}/picture.svg{query}")
        assert sealed.headers["Cache-Control"] == f"public, {YEAR}"
        assert "Content-Security-Policy" in sealed.headers


def test_a_picture_is_the_same_for_every_caller_and_has_no_names(
    world: World, ada: Person, bob: Person
) -> None:
    game = ada.game()
    pictures = {caller.get(f"{game}/picture.svg?at=3").data for caller in (ada, bob, world)}
    assert len(pictures) == 1
    assert b"Ada" not in pictures.pop()


def test_a_picture_shows_no_hidden_card_before_the_seal(world: World, ada: Person) -> None:
    game = ada.game()
    for query in ("?as=all", "?as=0", "?at=3&as=1"):
        assert problem_of(world.get(f"{game}/picture.svg{query}")) == "sealed"
    assert problem_of(ada.get(f"{game}/picture.svg?as=1")) == "sealed"
    for query in ("?language=english", "?at=0", "?at=9999", "?as=7", "?as=nobody", "?version=3"):
        assert problem_of(world.get(f"{game}/picture.svg{query}")) == "malformed", query


def test_a_picture_of_a_private_game_is_not_found(world: World, ada: Person, bob: Person) -> None:
    game = ada.game(visibility="private")
    assert problem_of(world.get(f"{game}/picture.svg")) == "not-found"
    assert problem_of(bob.get(f"{game}/picture.svg?at=2")) == "not-found"
    assert ada.get(f"{game}/picture.svg").headers["Cache-Control"] == "private, no-store"
    ada.post(f"{game}/moves", {"type": "forfeit"})
    assert ada.get(f"{game}/picture.svg").headers["Cache-Control"] == f"private, {YEAR}"
    assert problem_of(world.get(f"{game}/picture.svg")) == "not-found"


def test_a_picture_is_in_the_language_that_its_address_names(world: World, ada: Person) -> None:
    """A page names that of its reader; other programs get English, whatever they accept."""
    game = ada.game()
    shown = {
        language: world.get(f"{game}/picture.svg?at=3&language={language}").text
        for language in ("en", "sv", "ja")
    }
    assert "Plats 1" in shown["sv"] and "席 1" in shown["ja"]
    plain = world.client.get(f"{game}/picture.svg?at=3", headers={"Accept-Language": "sv"})
    assert plain.text == shown["en"] == world.get(f"{game}/picture.svg?at=3&language=de").text


def test_the_address_without_v1_leads_to_the_picture(world: World, ada: Person) -> None:
    game = ada.game()
    answer = world.get(f"{game.removeprefix('/v1')}/picture.svg?at=2&as=public")
    assert answer.status_code == 308
    assert answer.headers["Location"].endswith(f"{game}/picture.svg?at=2&as=public")


def test_a_picture_is_not_sent_again_if_it_is_unchanged(world: World, ada: Person) -> None:
    path = f"{ada.game()}/picture.svg"
    tag = world.get(path).headers["ETag"]
    assert world.get(path, headers={"If-None-Match": tag}).status_code == 304

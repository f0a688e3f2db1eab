"""Pages of hands, tables and disputes: link previews, and what a stranger gets of hidden ones."""

from __future__ import annotations

import re
from unittest.mock import patch
from uuid import uuid4

import pytest

from service.api.link_previews import ANYBODY
from service.store.events import StoreUnavailable, StreamArchived
from tests.worlds.api_world import Answer, Person, World

BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
META = re.compile(r'<meta (?:name|property)="([^"]+)" content="([^"]*)">')


def id_of(game: str) -> str:
    """Return the id in the address of a game."""
    return game.rsplit("/", 1)[1]


def preview(answer: Answer) -> dict[str, str]:
    """Return the preview in a page: the contents of its meta elements by name."""
    return dict(META.findall(answer.text))


def test_a_public_hand_has_a_title_and_a_sentence(world: World, ada: Person) -> None:
    game = ada.game(ruleset="leeds")
    page = world.get(f"/replay/{id_of(game)}")
    found = preview(page)
    assert found["og:title"] == "Shithead: hand 1, Leeds Rules (Merde de Tête)"
    assert found["og:description"] == "A hand with 2 seats is being played; the record is public."
    assert "/picture.png?at=" in found["og:image"]
    assert found["twitter:card"] == "summary_large_image"
    ada.post(f"{game}/moves", {"type": "forfeit"})
    for path in ("replay", "play"):
        found = preview(world.get(f"/{path}/{id_of(game)}"))
        assert found["og:description"].startswith("Seat 1 gave up and is the shithead.")
        assert found["description"] == found["og:description"]


def test_a_moment_is_previewed_by_its_sentence(world: World, ada: Person) -> None:
    game = ada.game(ruleset="leeds")
    dealt = preview(world.get(f"/replay/{id_of(game)}?event=2&as=public"))["og:description"]
    assert dealt.startswith("Seat ") and "dealt: 3 face-down" in dealt
    whole = preview(world.get(f"/replay/{id_of(game)}"))
    for event in ("99999999", "-1", "x", "٣", "500"):
        assert preview(world.get(f"/replay/{id_of(game)}?event={event}")) == whole, event


def test_a_preview_has_no_names_and_no_text_of_a_person(world: World, ada: Person) -> None:
    """Other programs keep it: it could not be erased there."""
    body = {"base": "leeds", "name": "<b>Written by a person", "settings": {"order.ace": "low"}}
    made = ada.post("/v1/rulesets", body)
    ruleset = made.json["id"] if made.status_code == 201 else "leeds"
    game = ada.game(ruleset=ruleset)
    ada.post(f"{game}/moves", {"type": "forfeit"})
    page = world.get(f"/replay/{id_of(game)}").text
    assert "Ada" not in page and "Written by" not in page


@pytest.mark.parametrize("kind", ["replay", "play", "disputes"])
def test_a_private_page_reveals_no_more_than_an_unknown_one(
    world: World, ada: Person, kind: str
) -> None:
    table = ada.table({"bot": "lowest"}, visibility="private")
    game, unknown = table["game"], str(uuid4())
    if kind == "disputes":
        accusation = {"accused": None, "seq": 0, "charge": "altered_log", "statement": "x"}
        private = ada.post(f"/v1/games/{game}/disputes", accusation).json["id"]
    else:
        private = game
    answers = [world.get(f"/{kind}/{identity}?event=2") for identity in (private, unknown)]
    assert [answer.status_code for answer in answers] == [404, 404]
    shown = [
        answer.text.replace(one, "")
        for answer, one in zip(answers, (private, unknown), strict=True)
    ]
    assert shown[0] == shown[1]
    assert preview(answers[0]).keys() == {"viewport", "robots", "theme-color"}
    assert answers[0].headers["Cache-Control"] == "private, no-store"
    # A token changes nothing: a browser sends none with the request for a page.
    assert ada.get(f"/{kind}/{private}").status_code == 404


OF_ONE_ANSWER = {"Date", "X-Request-ID"}
"""Headers that differ from one answer to the next, whatever is requested."""


def sent(answer: Answer) -> tuple[int, bytes, dict[str, str]]:
    """Return the status, the bytes and the headers of an answer, but those of OF_ONE_ANSWER."""
    headers = {name: answer.headers[name] for name in set(answer.headers.keys()) - OF_ONE_ANSWER}
    return answer.status_code, answer.data, headers


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_the_page_of_a_hidden_table_is_one_invitation(
    world: World, ada: Person, method: str
) -> None:
    """
    Private, unknown, closed, unreadable: equal bytes and headers, so also ETag and length.

    The API still answers 404.
    """
    private = ada.table("open", visibility="private")
    playing = ada.table({"bot": "lowest"}, visibility="private")
    closed = ada.table("open", visibility="private")
    assert ada.call("DELETE", f"/v1/tables/{closed['id']}").status_code == 204
    hidden = [private["id"], playing["id"], closed["id"], str(uuid4())]
    answers = [world.client.open(f"/tables/{one}", method=method) for one in hidden]
    with patch.object(type(world.services.tables), "row", side_effect=StreamArchived("gone")):
        answers.append(world.client.open(f"/tables/{private['id']}", method=method))
    # A token and an invite change nothing: a browser sends none with the request for a page.
    invite = {"Shithead-Invite": private["invite"]}
    answers.append(ada.call(method, f"/tables/{private['id']}", headers=invite))
    first = sent(answers[0])
    assert first[0] == 200 and {"ETag", "Content-Length", "Cache-Control"} <= first[2].keys()
    assert [sent(answer) for answer in answers] == [first] * len(answers)
    for one in hidden:
        assert world.get(f"/v1/tables/{one}").status_code == 404
        assert (
            world.get(f"/tables/{one}", headers={"If-None-Match": first[2]["ETag"]}).status_code
            == 304
        )


def test_an_invitation_has_a_neutral_preview_that_is_not_indexed(world: World) -> None:
    found = preview(world.get(f"/tables/{uuid4()}"))
    assert found["og:title"] == "An invitation to a hand of Shithead"
    assert found["og:description"] == found["description"]
    assert "No account is needed" in found["description"]
    assert found["robots"] == "noindex" and found["og:image"].endswith("/preview.png")


def test_a_dispute_has_a_sentence(world: World, ada: Person) -> None:
    game = ada.game()
    accusation = {"accused": None, "seq": 0, "charge": "altered_log", "statement": "A gap."}
    dispute = ada.post(f"{game}/disputes", accusation).json["id"]
    found = preview(world.get(f"/disputes/{dispute}"))
    assert found["og:description"].startswith("A dispute about event 0 of a hand")
    assert "gap" not in found["og:description"]


def test_a_table_that_waits_says_how_many_seats_are_free(world: World, ada: Person) -> None:
    table = ada.table("open", "open", ruleset="leeds")
    found = preview(world.get(f"/tables/{table['id']}"))
    assert found["og:description"] == "A table with 3 seats; 2 free."
    assert "robots" not in found


def test_other_pages_have_the_preview_of_the_site(world: World) -> None:
    for path in ("/", "/rules/leeds", "/docs", "/statistics"):
        found = preview(world.get(path))
        assert found["og:title"] and found["og:description"].startswith("The card game Shithead")


def test_the_picture_of_previews_is_a_small_png_of_the_stated_size(world: World) -> None:
    answer = world.get("/preview.png")
    assert answer.mimetype == "image/png"
    assert answer.data.startswith(b"\x89PNG\r\n\x1a\n") and len(answer.data) < 100_000
    size = [int.from_bytes(answer.data[at : at + 4]) for at in (16, 20)]
    assert size == [1200, 630]


def test_a_page_is_sent_without_a_preview_if_the_database_does_not_answer(
    world: World, ada: Person
) -> None:
    """Its script repeats the call, and shows the problem."""
    game = id_of(ada.game())
    with patch.object(type(world.services.games), "entry", side_effect=StoreUnavailable("down")):
        answer = world.get(f"/replay/{game}")
    assert answer.status_code == 200
    assert preview(answer)["og:title"] == "Shithead: a replay"


@pytest.mark.parametrize(
    ("accepted", "language", "heading", "reason"),
    [
        ("sv-SE,sv;q=0.9,en;q=0.5", "sv", "Här finns ingen sida", "Det finns inget på den här"),
        ("ja", "ja", "ここにページはありません", "このアドレスには何もありません"),
        ("fr", "en", "There is no page here", "Nothing exists at this address"),
    ],
)
def test_a_missing_page_is_explained_in_the_language_of_the_browser(
    world: World, accepted: str, language: str, heading: str, reason: str
) -> None:
    answer = world.get("/no-such-page", headers={"Accept": BROWSER, "Accept-Language": accepted})
    assert (answer.status_code, answer.mimetype) == (404, "text/html")
    assert f'<html lang="{language}">' in answer.text and f"<h1>{heading}</h1>" in answer.text
    assert reason in answer.text
    assert '<a href="/rules">' in answer.text and '<a href="/disputes">' in answer.text


def test_a_preview_is_read_as_by_a_caller_without_a_token() -> None:
    assert (ANYBODY.player, ANYBODY.invite) == (None, None)

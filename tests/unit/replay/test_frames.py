"""Frames, transcripts and stored lines of replays."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from schemas.views import FrameSchema
from service.api.pages import FOLDER
from service.domain.events import Event
from service.domain.evolve import fold
from service.domain.view import ALL, Viewer, seen_by
from service.replay.frames import frames, replay_items, transcript
from service.replay.history import RecordedEvent, decode_log, sealed_deck
from tests.tamper import LOGS, sample_lines
from tests.unit.playing import RULESETS, play, rules, seat_counts

LOBBY_SCENE = FOLDER / "app" / "running.js"


def int_to_base36(count: int) -> str:
    return "0123456789abcdefghijklmnopqrstuvwxyz"[count]


def sample(name: str) -> tuple[RecordedEvent, ...]:
    return decode_log(sample_lines(name))


def events_of(log: tuple[RecordedEvent, ...]) -> list[Event]:
    return [record.event for record in log]


@pytest.mark.parametrize("identity", RULESETS)
def test_every_frame_is_the_fold_up_to_it_as_its_viewer_sees_it(identity: str) -> None:
    ruleset = rules(identity)
    game = play(ruleset, seat_counts(ruleset)[0], 5, turn_limit=30)
    viewers: tuple[Viewer, ...] = (None, 1, ALL)
    for viewer in viewers:
        for number, frame in enumerate(frames(game.events, deck=game.deck, viewer=viewer)):
            assert frame.seq == number
            assert frame.event == game.events[number]
            so_far = fold(game.events[: number + 1], game.deck)
            assert frame.game == seen_by(so_far, viewer)


def test_a_range_of_frames_equals_the_same_part_of_all_frames() -> None:
    game = play(rules("shithead"), 2, 5)
    whole = list(frames(game.events, deck=game.deck, viewer=0))
    assert list(frames(game.events, deck=game.deck, viewer=0, first=9, last=17)) == whole[8:17]
    assert list(frames(game.events, deck=game.deck, viewer=0, first=17, last=9)) == []


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.stem)
def test_stored_lines_are_folded_to_the_recorded_game(path: Path) -> None:
    log = decode_log(path.read_bytes().splitlines())
    game = fold(events_of(log), sealed_deck(log) or None)
    assert game.version == len(log) == log[-1].version
    assert game.over
    assert [record.fields["prev"] for record in log[1:]] == [record.head for record in log[:-1]]


def test_the_deck_of_a_log_is_known_only_after_its_seal() -> None:
    log = sample("shithead")
    assert sealed_deck(log[:-1]) is None
    deck = sealed_deck(log)
    assert deck is not None
    assert len(deck) == 52
    assert sealed_deck(sample("shithead-aborted")) is None


def test_the_recorded_hand_of_the_lobby_is_the_end_of_a_sample() -> None:
    """Its script has a word for each pile that the public saw."""
    log = sample("leeds")
    words: list[tuple[list[str], str]] = []
    for item in replay_items(log, deck=sealed_deck(log), viewer=None):
        view = item["view"]
        counts = [int_to_base36(seat["hand"]["count"]) for seat in view["seats"]]
        turn = "-" if view["turn"] is None else view["turn"]
        word = (view["pile"], "".join([str(turn), *counts, *view["pile"][-4:]]))
        same = words and words[-1][0] == view["pile"]
        words[-1:] = [word] if same else [*words[-1:], word]
    shown = LOBBY_SCENE.read_text("utf-8").split("RECORDED = `")[1].split("`")[0].split()
    assert len(shown) > 20
    assert [word for _, word in words][-len(shown) :] == shown


@pytest.mark.parametrize("viewer", [None, 0, ALL])
def test_frames_of_a_stored_game_are_what_the_schema_describes(viewer: Viewer) -> None:
    log = sample("leeds")
    items = replay_items(log, deck=sealed_deck(log), viewer=viewer)
    assert [item["version"] for item in items] == list(range(1, len(log) + 1))
    assert FrameSchema(many=True).validate(items) == {}
    for item, record in zip(items, log, strict=True):
        assert orjson.dumps(item["event"]) == record.line
        assert (item["seq"], item["at"]) == (record.seq, record.at)
        assert item["view"]["head"] == record.head
        assert item["view"]["moves"] == []
        assert [seat["name"] for seat in item["view"]["seats"]] == [None] * 3


def test_a_transcript_is_reproducible_and_names_no_time_or_player() -> None:
    log = sample("shithead-keyed")
    text = transcript(events_of(log), deck=sealed_deck(log), viewer=ALL)
    assert text == transcript(events_of(log), deck=sealed_deck(log), viewer=ALL)
    created = log[0].fields["data"]
    keys = [seat["key"] for seat in created["seats"]]
    for word in (log[0].fields["game"], log[0].at[:10], created["table"], *keys):
        assert word not in text
    assert text.count("\n") >= len(log)
    assert text.endswith("The record is sealed, and the deck is public.\n")


def test_a_public_transcript_shows_no_hidden_card() -> None:
    game = play(rules("shithead"), 2, 3)
    text = transcript(game.events[:6], deck=game.deck)
    assert "hand ?? ?? ?? |" in text
    full = fold(game.events[:6], game.deck)
    hidden = {card for seat in full.seats for card in seat.hand if card not in seat.known}
    assert hidden
    assert not any(card in text for card in hidden)

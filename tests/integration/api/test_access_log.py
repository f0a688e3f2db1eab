"""The access log of private games: every read by another player is recorded, call by call."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import pytest

from service.store.events import StoreUnavailable
from service.store.games import Reading
from tests.worlds.api_world import Answer, Person, World, problem_of

GAME, TABLE, DISPUTE = "/v1/games/{game}", "/v1/tables/{table}", "/v1/disputes/{dispute}"
LISTED = "/v1/games?table={table}"

WITHOUT_OTHER_HANDS = (
    *(GAME, f"{GAME}?as=public", f"{GAME}?at=3&as=public", f"{GAME}?at=3&as=1"),
    *(f"{GAME}/replay?as=1", f"{GAME}/replay?as=public", f"{GAME}/transcript"),
    *(f"{GAME}/events?limit=2", f"{GAME}/receipt", f"{GAME}/audit", f"{GAME}/audit/readings"),
    *(f"{GAME}/audit/moves/0", f"{GAME}/audit/moves/{{bobs}}", f"{GAME}/audit/knowledge?seat=1"),
    *(f"{GAME}/notes", f"{GAME}/disputes", DISPUTE, TABLE, f"{TABLE}/keys", LISTED),
    *(f"{GAME}/picture.svg", f"{GAME}/picture.svg?at=3", f"{GAME}/picture.svg?as=1"),
    *(f"{GAME}/picture.png", f"{GAME}/picture.png?at=3&as=1"),
    *("/v1/tables?mine=true", "/v1/games"),
)
"""Calls that never show seat 1 the hand of another seat, so its reads are not recorded."""

AFTER_THE_SEAL = (
    *(f"{GAME}/openings", f"{GAME}/events", f"{GAME}/stream", f"{GAME}/evidence?profile=public"),
    *(f"{GAME}/evidence?profile=seat", f"{GAME}/audit/moves/{{adas}}"),
    f"{GAME}/audit/cards/{{card}}",
)
"""Answered to seat 1 at any time; after the seal they show what lay in other hands."""

SEALED = (
    *(f"{GAME}?as=all", f"{GAME}?as=0", f"{GAME}?at=3&as=all", f"{GAME}?at=3&as=0"),
    *(f"{GAME}/replay?as=all", f"{GAME}/replay?as=0", f"{GAME}/transcript?as=all"),
    *(f"{GAME}/transcript?as=0", f"{GAME}/audit/knowledge?seat=0"),
    *(f"{GAME}/picture.svg?as=all", f"{GAME}/picture.svg?at=3&as=0"),
    *(f"{GAME}/picture.png?as=all", f"{GAME}/picture.png?at=3&as=0"),
)
"""Refused to seat 1 before the seal."""

OWN_CARDS = (f"{GAME}/reasons?cards=7c", f"{GAME}/absences")
"""Refused to all but the seat on turn, about its own cards or none at all: never recorded."""

WITHOUT_CARDS = (f"{TABLE}/invitations", f"{DISPUTE}/collusion", "/v1/challenges/{table}")
"""Answered to the host alone, to referees about public hands, before a hand: never recorded."""

CALLS = (*WITHOUT_OTHER_HANDS, *AFTER_THE_SEAL, *SEALED)


@dataclass(frozen=True, kw_only=True)
class Private:
    """A private table of Ada and Bob, whose host and referee have no seat."""

    world: World
    readers: Mapping[str, tuple[Person | None, Mapping[str, str]]]
    names: Mapping[str, str]

    def get(self, reader: str, call: str, **more: Any) -> Answer:
        """Return the answer to a reader."""
        person, headers = self.readers[reader]
        path = call.format(**self.names)
        if person is None:
            return self.world.get(path, headers=headers, **more)
        return person.get(path, headers=dict(headers), **more)

    def recorded(self) -> Sequence[Reading]:
        """Return the recorded reads, oldest first."""
        game = UUID(self.names["game"])
        return self.world.services.directory.readings(game, limit=1000).items[::-1]

    def id_of(self, reader: str) -> UUID | None:
        """Return the id under which a reader is recorded, None for one without an account."""
        person, _ = self.readers[reader]
        return None if person is None else UUID(person.id)

    def seal(self) -> None:
        """End the game."""
        ada, _ = self.readers["ada"]
        assert ada is not None
        answer = ada.post(GAME.format(**self.names) + "/moves", {"type": "forfeit"})
        assert answer.status_code == 201, answer.text


@pytest.fixture
def settings() -> dict[str, int]:
    """Return settings under which every player can be a referee."""
    return {"referee_hands": 0, "referee_account_seconds": 0}


@pytest.fixture
def private(world: World) -> Private:
    """Return a running private game with a dispute about it."""
    ada, bob, host, guest, referee = (
        world.person(name) for name in ("Ada", "Bob", "Hal", "Gus", "Ria")
    )
    body = {"ruleset": "shithead", "seats": ["open", "open"], "visibility": "private"}
    table = host.post("/v1/tables", body).json
    for seat, person in enumerate((ada, bob)):
        taken = {"seat": seat, "invite": table["invite"]}
        table = {**person.post(f"/v1/tables/{table['id']}/seats", taken).json, **invited(table)}
    game, key = table["game"], {"Shithead-Invite": table["invite"]}
    path = f"/v1/games/{game}"
    seqs = [
        person.post(f"{path}/moves", {"type": "ready"}).json["events"][0]["seq"]
        for person in (ada, bob)
    ]
    accusation = {"accused": 1, "seq": seqs[1], "charge": "other", "statement": "He knows."}
    dispute = ada.post(f"{path}/disputes", accusation).json["id"]
    sat = referee.post(f"/v1/disputes/{dispute}/referees", headers=key)
    assert sat.status_code == 201, sat.text
    card = next(seat for seat in ada.get(path).json["seats"] if seat["seat"] == 0)["hand"]["cards"]
    return Private(
        world=world,
        readers={
            "ada": (ada, {}),
            "bob": (bob, {}),
            "host": (host, {}),
            "guest": (guest, key),
            "invite": (None, key),
            "referee": (referee, {}),
        },
        names={
            "game": game,
            "table": table["id"],
            "dispute": dispute,
            "adas": str(seqs[0]),
            "bobs": str(seqs[1]),
            "card": card[0],
        },
    )


def invited(table: Mapping[str, Any]) -> dict[str, Any]:
    return {"invite": table["invite"]}


def test_the_table_of_calls_is_complete(world: World) -> None:
    """
    The lists have every call that reads a game, a table or a dispute.

    Pages use the same calls.
    """
    every = (*CALLS, *OWN_CARDS, *WITHOUT_CARDS)
    known = {call.format_map(_Wildcards()).partition("?")[0] for call in every}
    for rule in world.app.url_map.iter_rules():
        below = {"game_id", "table_id", "dispute_id"} & rule.arguments
        call = rule.rule.startswith("/v1/")
        if call and below and "GET" in (rule.methods or ()):
            assert _plain(rule.rule) in known, rule.rule


class _Wildcards(dict[str, str]):
    """Fills every field of an address with `*`."""

    def __missing__(self, name: str) -> str:
        return "*"


def _plain(rule: str) -> str:
    parts = ("*" if part.startswith("<") else part for part in rule.split("/"))
    return "/".join(parts)


@pytest.mark.parametrize("sealed", [False, True], ids=["running", "sealed"])
def test_reads_by_a_seat_are_recorded_only_if_they_show_other_hands(
    private: Private, *, sealed: bool
) -> None:
    if sealed:
        private.seal()
    for call in CALLS:
        if call.endswith("/stream") and not sealed:
            continue  # it has no end yet
        before = len(private.recorded())
        answer = private.get("bob", call)
        _ = answer.data
        recorded = private.recorded()[before:]
        if call in SEALED and not sealed:
            assert problem_of(answer) == "sealed"
            assert not recorded, call
            continue
        assert answer.status_code == 200, (call, answer.text)
        others = sealed and call not in WITHOUT_OTHER_HANDS
        assert {reading.reader for reading in recorded} == (
            {private.id_of("bob")} if others else set()
        )
        assert len(recorded) == others, call


@pytest.mark.parametrize("reader", ["host", "guest", "invite", "referee"])
@pytest.mark.parametrize("sealed", [False, True], ids=["running", "sealed"])
def test_every_read_of_a_private_game_by_another_player_is_recorded(
    private: Private, reader: str, *, sealed: bool
) -> None:
    """A refused call reveals nothing and is not recorded; nor is another query of a list."""
    if sealed:
        private.seal()
    answered: set[str] = set()
    for call in CALLS:
        if call.endswith("/stream") and not sealed:
            continue  # it has no end yet
        before = len(private.recorded())
        answer = private.get(reader, call)
        _ = answer.data
        recorded = private.recorded()[before:]
        shown = answer.status_code == 200 and private.names["game"] in _shown(call, answer, private)
        read = re.sub(r"\?(limit|mine|table)=.*", "", call.format(**private.names))
        is_new = shown and read not in answered
        assert [reading.reader for reading in recorded] == [private.id_of(reader)] * is_new, call
        assert all(reading.what == read for reading in recorded), call
        answered |= {read} if shown else set()
    assert len(answered) > 15


def test_a_read_at_an_id_in_capitals_is_recorded_in_small_letters(private: Private) -> None:
    private.get("guest", f"/v1/games/{private.names['game'].upper()}/transcript?as=public")
    path = f"{GAME}/transcript?as=public".format(**private.names)
    assert private.recorded()[-1].what == path


def _shown(call: str, answer: Answer, private: Private) -> str:
    """Return the text that must name the game: all of a list; other answers are about one game."""
    lists = ("/v1/games", "/v1/tables?mine=true")
    return answer.text if call in lists else private.names["game"]


def test_seats_see_the_readers_and_a_holder_of_the_invite_is_anonymous(private: Private) -> None:
    private.seal()
    private.get("invite", f"{GAME}/replay?as=all")
    private.get("bob", f"{GAME}/transcript?as=0")
    [bob, invite] = private.get("ada", f"{GAME}/audit/readings").json["items"][:2]
    assert bob["reader"] == str(private.id_of("bob"))
    assert bob["what"].endswith("/transcript?as=0")
    assert invite["reader"] is None
    assert invite["what"].endswith("/replay?as=all")
    assert private.get("referee", f"{GAME}/audit/readings").status_code == 200
    assert problem_of(private.get("guest", f"{GAME}/audit/readings")) == "not-seated"


def test_a_read_that_cannot_be_recorded_is_refused(
    private: Private, monkeypatch: pytest.MonkeyPatch
) -> None:
    private.seal()

    def fails(*_: object, **__: object) -> None:
        raise StoreUnavailable("no")

    monkeypatch.setattr(private.world.services.directory, "record_readings", fails)
    for call in CALLS:
        for reader in ("bob", "guest"):
            if reader == "bob" and call in WITHOUT_OTHER_HANDS:
                continue
            answer = private.get(reader, call)
            if answer.status_code in (401, 403):
                continue  # refused in any case
            if call in ("/v1/games", "/v1/tables?mine=true"):
                continue  # a guest's own list does not have the game
            if (reader, call) == ("bob", f"{GAME}/stream"):
                # It ends before the line that shows all cards.
                assert b"game_sealed" not in answer.data
                assert b"event: end" not in answer.data
                continue
            assert answer.status_code == 503, (reader, call)
            assert problem_of(answer) == "unavailable"


@pytest.mark.parametrize("reader", ["bob", "host", "guest", "invite", "referee"])
def test_a_stream_to_the_seal_is_recorded_once(private: Private, reader: str, way: str) -> None:
    """A seat reads other hands in the last line only, everybody else from the first line on."""
    answer = private.get(reader, f"{GAME}/stream", buffered=False)
    assert answer.status_code == 200
    assert next(iter(answer.response)).startswith(b"retry:")
    before = len(private.recorded())
    private.seal()
    assert answer.data.endswith(b"event: end\ndata:\n\n")
    assert len(private.recorded()) - before == (reader == "bob")
    assert private.recorded()[-1].reader == private.id_of(reader)


def test_a_stream_breaks_off_before_a_seal_that_cannot_be_recorded(
    private: Private, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = private.get("bob", f"{GAME}/stream", buffered=False)

    def fails(*_: object, **__: object) -> None:
        raise StoreUnavailable("no")

    # Before the seal: the stream may send the seal before the next statement runs.
    monkeypatch.setattr(private.world.services.directory, "record_readings", fails)
    private.seal()
    received = b"".join(answer.response)
    assert b"game_sealed" not in received
    assert b"event: end" not in received


def test_a_stream_breaks_off_when_its_reader_may_no_longer_see_the_game(
    private: Private, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = private.get("referee", f"{GAME}/stream", buffered=False)
    parts = iter(answer.response)
    while b"seat_ready" not in next(parts):
        pass
    monkeypatch.setattr(private.world.services.directory, "judges", lambda *_, **__: False)
    private.seal()
    received = b"".join(parts)
    assert b"game_ended" not in received
    assert b"event: end" not in received


def test_a_list_of_tables_is_recorded_in_one_statement(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    host, bots = world.person(), [{"bot": "lowest"}, {"bot": "lowest"}]
    body = {"ruleset": "shithead", "seats": bots, "visibility": "private"}
    games = {UUID(host.post("/v1/tables", body).json["game"]) for _ in range(3)}
    directory, recorded = world.services.directory, []
    record = directory.record_readings

    def counted(games: Sequence[UUID], **more: Any) -> None:
        recorded.append(set(games))
        record(games, **more)

    monkeypatch.setattr(directory, "record_readings", counted)
    assert len(host.get("/v1/tables?mine=true").json["items"]) == 3
    assert recorded == [games]


def test_reads_of_a_public_game_are_not_recorded(ada: Person, bob: Person) -> None:
    table = ada.table("open")
    seated = bob.post(f"/v1/tables/{table['id']}/seats").json
    game = f"/v1/games/{seated['game']}"
    ada.post(f"{game}/moves", {"type": "forfeit"})
    for call in CALLS:
        if call.startswith(GAME) and "{adas}" not in call and "{bobs}" not in call:
            answer = bob.get(game + call.removeprefix(GAME).format(card="Th"))
            assert answer.status_code == 200, call
    assert ada.get(f"{game}/audit/readings").json["items"] == []

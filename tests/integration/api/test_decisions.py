"""The search for decisions: the numbers of the command, over the public hands of a service."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, get_args
from uuid import UUID

import pytest

from schemas.decisions import DEMANDS, KINDS, PHASES, SPECIAL, DecisionsSchema
from service.api.decisions import SEARCHES
from service.application import decisions
from service.application.quotas import Slice
from service.audit import decisions as audit
from service.cli import decisions as command
from service.cli.__main__ import run
from service.domain.events import Zone
from service.domain.ruleset import Asks
from service.features.decisions import filling
from service.replay.history import History
from service.store.decisions import DecisionRepository
from tests.worlds.api_world import Person, World, problem_of

MONTH: Final = f"{datetime.now(UTC):%Y-%m}"

CLOCK: Final = {"turn_seconds": 60, "swap_seconds": 60}

TURNS: Final = 50
"""A limit that ends a hand whose length does not matter."""

FILTERS: Final = (
    *("", "ruleset=leeds", "phase=hand", "phase=up", "phase=down", "bot=none", "bot=lowest"),
    *("demand=at_least", "asked=K", "top=7", "held=3", "held=4-", "held=-2", "left=2"),
    *(f"kind={kind}" for kind in (*KINDS, *SPECIAL)),
    *("rank=7", "count=2", "had_other=true", "had_other=false", "lost=true", "lost=false"),
    *("took=0-5", "took=6-", "kind=pick_up&had_other=true&phase=hand"),
)
"""Queries whose answers are compared with those of the command."""


def fill(world: World) -> None:
    """Let the public log and the decisions catch up."""
    world.services.sequencer.run_once()
    while filling(world.services)(Slice(rows=3, seconds=10)):
        pass


def played(
    world: World, *people: Person, late: Callable[[], None] | None = None, **more: Any
) -> str:
    """
    Play a hand of people and a bot, with a refused attempt of each person; return its id.

    With a clock, `late` puts the time forward beyond the first turn of the second person.
    """
    table = people[0].table(*("open" for _ in people[1:]), {"bot": "lowest"}, **more)
    for person in people[1:]:
        person.post(f"/v1/tables/{table['id']}/seats")
    game: str = people[0].get(f"/v1/tables/{table['id']}").json["game"]
    path = f"/v1/games/{game}"
    chance, tried = random.Random(7), set[str]()
    for person in people:
        person.post(f"{path}/moves", {"type": "ready"})
    for _ in range(3000):
        view = people[0].get(path).json
        if view["status"] in ("ended", "aborted"):
            return game
        seat = view["turn"]
        if seat == 1 and late is not None:
            late()
            late = seat = None
        if seat is None or seat >= len(people):
            world.services.turns.play_due_moves(UUID(game), view["version"])
            continue
        person = people[seat]
        own = view if seat == 0 else person.get(path).json
        plays = [move["cards"] for move in own["moves"] if move["type"] == "play"]
        wrong = [card for card in own["seats"][seat]["hand"]["cards"] if [card] not in plays]
        if wrong and str(person.id) not in tried:
            tried.add(str(person.id))
            move = {"type": "play", "cards": wrong[:1]}
            assert person.post(f"{path}/moves", move).status_code == 422
        person.post(f"{path}/moves", chance.choice(own["moves"][:3]))
    raise AssertionError("the hand does not end")


def pages(world: World, query: str, *, limit: int = 200) -> dict[str, Any]:
    """Return the first page of a search with the items of all pages."""
    answer: dict[str, Any] = world.get(f"/v1/decisions?limit={limit}&{query}").json
    assert DecisionsSchema().validate(answer) == {}
    after = answer["next"]
    while after is not None:
        page = world.get(f"/v1/decisions?limit={limit}&cursor={after}&{query}").json
        assert DecisionsSchema().validate(page) == {}
        assert page["choices"] is None
        assert page["decisions"] == answer["decisions"]
        answer["items"] += page["items"]
        after = page["next"]
    return answer


def by_command(folder: Path, query: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """Return what the command finds in a dump of the same hands."""
    words = []
    for part in filter(None, query.split("&")):
        name, value = part.split("=")
        option = {"had_other=false": "--no-other", "lost=false": "--not-lost"}.get(
            part, f"--{name.replace('_', '-')}"
        )
        words += [option] if value in ("true", "false") else [option, value]
    capsys.readouterr()
    assert run(["decisions", str(folder), "--json", "--limit", "9999", *words]) == 0
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    return answer


def test_a_service_finds_and_counts_what_the_command_does_in_its_dump(
    world: World,
    ada: Person,
    bob: Person,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Hands that are private, running or given up before a decision are in neither."""
    monkeypatch.setattr(decisions, "LEAVES", 40)
    known: dict[str, list[Any]] = {}

    def decided(history: History, refused: Any) -> list[Any]:
        """Return the decisions of a hand, which the command would find for each query anew."""
        game = history.log[0].fields["game"]
        known[game] = known.get(game) or [*audit.decisions_of(history, refused)]
        return known[game]

    monkeypatch.setattr(command, "decisions_of", decided)
    now, ahead = type(world.services.world).now, timedelta()

    def late() -> None:
        nonlocal ahead
        ahead += timedelta(minutes=10)

    monkeypatch.setattr(type(world.services.world), "now", lambda self: now(self) + ahead)
    rulesets = ("shithead", "leeds")
    hands = {played(world, ada, bob, ruleset=one, turn_limit=3 * TURNS) for one in rulesets}
    timed = played(world, ada, bob, late=late, clock=CLOCK, turn_limit=TURNS)
    hands.add(timed)
    private = played(world, ada, visibility="private", turn_limit=TURNS)
    running = ada.table({"bot": "lowest"})["game"]
    fill(world)
    world.services.dumps.write(MONTH, tmp_path)
    every = {(one["game"], one["event"]): one for one in pages(world, "", limit=37)["items"]}
    cards = next(one["cards"] for one in by_command(tmp_path, "held=3", capsys)["found"])
    people = (f"player={ada.id}", f"player={bob.id}&kind=pick_up", f"player={UUID(int=0)}")
    for query in (*FILTERS, *people, f"cards={cards}"):
        answer, files = pages(world, query), by_command(tmp_path, query, capsys)
        numbers = ("decisions", "hands", "choices")
        assert [answer[n] for n in numbers] == [files[n] for n in numbers], query
        seen = [(one["game"], one["event"]) for one in answer["items"]]
        assert len({*seen}) == answer["decisions"], query
        assert {*seen} == {(game_of(one), one["event"]) for one in files["found"]}, query
        for one in files["found"]:
            shown = every[game_of(one), one["event"]]
            assert {name: one[name] for name in one.keys() & shown.keys()} == {
                name: shown[name] for name in one.keys() & shown.keys()
            }
    assert {game for game, _ in every} == hands
    outs = [one for one in every.values() if one["timed_out"]]
    assert {(one["game"], one["player"]) for one in outs} == {(timed, str(bob.id))}
    assert not {private, running} & hands
    assert {one["player"] for one in every.values()} == {str(ada.id), str(bob.id), None}
    assert any(one["refused"] for one in every.values())
    seconds = [one["milliseconds"] // 1000 for one in every.values() if one["milliseconds"]]
    assert pages(world, f"took={max(seconds)}")["decisions"] == seconds.count(max(seconds))


def game_of(one: dict[str, Any]) -> str:
    return str(one["file"]).partition(".")[0]


def test_an_erased_player_is_found_no_more_and_hands_that_follow_have_no_name(
    world: World, ada: Person, bob: Person
) -> None:
    played(world, ada, bob, turn_limit=TURNS)
    last = played(world, ada, bob, turn_limit=TURNS)
    world.services.sequencer.run_once()
    filling(world.services)(Slice(rows=1, seconds=10))
    before = pages(world, f"player={bob.id}")["items"]
    assert before and last not in {one["game"] for one in before}
    assert bob.call("DELETE", "/v1/players/me").status_code == 204
    fill(world)
    assert pages(world, f"player={bob.id}")["decisions"] == 0
    every = pages(world, "")["items"]
    assert {one["player"] for one in every if one["bot"] is None} == {str(ada.id), None}
    assert last in {one["game"] for one in every}


def test_a_hand_that_cannot_be_read_does_not_hold_up_the_next(
    world: World, ada: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    _first, second = (played(world, ada, turn_limit=TURNS) for _ in range(2))
    real, read = audit.decisions_of, list[Any]()

    def failing(history: Any, refused: Any) -> Any:
        read.append(history)
        if len(read) == 1:
            raise ValueError("unreadable")
        return real(history, refused)

    monkeypatch.setattr(decisions, "decisions_of", failing)
    fill(world)
    assert {one["game"] for one in pages(world, "")["items"]} == {second}


def test_two_processes_store_the_decisions_of_a_hand_once(world: World, ada: Person) -> None:
    played(world, ada, turn_limit=TURNS)
    world.services.sequencer.run_once()
    stored = DecisionRepository(world.services.directory.database)
    before = stored.reached()
    assert filling(world.services)(Slice(rows=3, seconds=10)) >= 1
    assert not stored.keep(before, before + 1), "another process has been here"
    found = pages(world, "")["decisions"]
    fill(world)
    assert pages(world, "")["decisions"] == found > 0


@pytest.mark.parametrize(
    "query",
    [
        *("held=few", "held=3-2", "held=-", "cards=6,9,1", "cards=2,3,4,5,6,7", "kind=win"),
        *("demand=all", "asked=1", "count=0", "lost=maybe", "cursor=7", "cursor=1.2.3", "ranks=7"),
    ],
)
def test_a_condition_that_is_none_is_refused_before_anything_is_read(
    world: World, query: str
) -> None:
    assert problem_of(world.get(f"/v1/decisions?{query}")) == "malformed"


def test_one_address_searches_once_at_a_time(world: World) -> None:
    with SEARCHES.slot("127.0.0.1") as free:
        assert free
        answer = world.get("/v1/decisions")
        assert (problem_of(answer), answer.headers["Retry-After"]) == ("unavailable", "1")
    assert world.get("/v1/decisions").status_code == 200


def test_the_values_of_conditions_are_those_of_decisions() -> None:
    assert set(DEMANDS) == {one.value for one in Asks} - {"transparent"}
    assert get_args(audit.Kind) == KINDS
    assert audit.SPECIAL == SPECIAL
    assert set(PHASES) == {zone.value for zone in Zone} - {"stock"}

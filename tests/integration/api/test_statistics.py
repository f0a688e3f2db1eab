"""Statistics over HTTP: made from finished games, shown to the players concerned."""

from __future__ import annotations

import random
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from uuid import UUID

import orjson
import pytest

from schemas.audit import BlindChoicesSchema, ShufflesSchema
from service.application import statistics
from service.application.errors import Refusal
from service.audit.statistics import THRESHOLD
from service.store.disputes import STATISTICS_TOPIC
from tests.client import chosen
from tests.running import wait_for
from tests.worlds.api_world import Person, World, problem_of

SHUFFLES = "/v1/statistics/shuffles"
CHOICES = "/v1/statistics/blind-choices"


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Recompute the statistics at every call."""
    monkeypatch.setattr(statistics, "KEPT_SECONDS", -1.0)


def count(world: World) -> int:
    """Count all finished games not counted yet; return their number."""
    games = world.services.statistics.uncounted(limit=100)
    for game in games:
        world.services.statistics.count(game)
    return len(games)


def forfeited(person: Person) -> UUID:
    """Play a game that ends at once."""
    path = person.game()
    assert person.post(f"{path}/moves", {"type": "forfeit"}).status_code == 201
    return UUID(path.rpartition("/")[2])


def play_to_the_end(*people: Person) -> None:
    """Play a whole hand; most moves play the lowest cards."""
    table = people[0].table(*("open" for _ in people[1:]))
    for person in people[1:]:
        person.post(f"/v1/tables/{table['id']}/seats")
    game = people[0].get(f"/v1/tables/{table['id']}").json["game"]
    path = f"/v1/games/{game}"
    for person in people:
        person.post(f"{path}/moves", {"type": "ready"})
    chance = random.Random(1)
    while (view := people[0].get(path).json)["status"] != "ended":
        person = people[view["turn"]]
        moves = person.get(path).json["moves"]
        answer = person.post(f"{path}/moves", chosen(moves, chance))
        assert answer.status_code == 201, answer.text


def test_each_finished_game_is_counted_once(world: World, ada: Person) -> None:
    for _ in range(3):
        forfeited(ada)
    assert count(world) == 3
    assert count(world) == 0
    for _ in range(2):
        answer = world.get(SHUFFLES).json
        assert not ShufflesSchema().validate(answer)
        assert answer["n"] == 3
        [places] = [m for m in answer["measures"] if m["name"] == "position of each card"]
        assert places["ruleset"] == "shithead"
        assert (places["df"], places["n"], places["p"]) == (51 * 51, 3, None)
    forfeited(ada)
    count(world)
    assert world.get(SHUFFLES).json["n"] == 4


@pytest.mark.attack(
    "COUNTERS", "the end of a private hand seen in the statistics", check="a delay of one day"
)
def test_a_private_hand_is_counted_from_the_next_day_on(
    world: World, ada: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A figure that grows at once would reveal when a private hand ends."""
    game = ada.game(visibility="private")
    assert ada.post(f"{game}/moves", {"type": "forfeit"}).status_code == 201
    forfeited(ada)
    assert count(world) == 2
    assert world.get(SHUFFLES).json["n"] == 1
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    monkeypatch.setattr(world.services.statistics, "_now", lambda: tomorrow)
    for _ in range(2):
        assert world.get(SHUFFLES).json["n"] == 2


def test_a_running_game_is_in_no_statistics(world: World, ada: Person) -> None:
    ada.game()
    assert count(world) == 0
    answer = world.get(SHUFFLES).json
    assert answer["n"] == 0
    assert answer["measures"] == []
    assert "do not show" in answer["cannot_tell"]


def test_the_counted_figures_agree_with_the_log(world: World, ada: Person) -> None:
    game = forfeited(ada)
    count(world)
    [deck] = world.services.directory.shuffled_decks(after=None, limit=9)
    seal = orjson.loads(world.services.game_cache.lines(game)[-1])["data"]
    assert list(deck.cards) == seal["deck"]
    assert deck.dealt == 18
    assert len(deck.to_people) == 9
    assert not deck.aborted
    assert not world.services.directory.outbox_waiting(topic=STATISTICS_TOPIC, limit=9)


def test_blind_choices_are_counted_and_prove_nothing_alone(
    world: World, ada: Person, bob: Person
) -> None:
    """The player who goes out has chosen among three cards, then among two."""
    for _ in range(5):  # a hand may end as a stalemate before any blind choice
        play_to_the_end(ada, bob)
        count(world)
        choices = [
            (person, world.services.directory.blind_choices(UUID(person.id)))
            for person in (ada, bob)
        ]
        player, chosen = max(choices, key=lambda choice: len(choice[1]))
        if len(chosen) >= 2:
            break
    assert len(chosen) >= 2
    for choice in chosen:
        line = orjson.loads(world.services.game_cache.lines(choice.game)[choice.seq])
        assert (line["type"] == "cards_played") is choice.fitted
        assert 1 <= choice.slots <= 3
        assert 0 <= choice.playable <= choice.slots
    answer = player.get(CHOICES).json
    assert not BlindChoicesSchema().validate(answer)
    assert answer["player"] == player.id
    assert answer["threshold"] == THRESHOLD == 1 / answer["false_alarm"]
    assert 0 < answer["e_value"] < THRESHOLD
    assert answer["n"] == sum(0 < c.playable < c.slots for c in chosen)
    assert player.get(f"{CHOICES}?player={player.id}").json == answer


@pytest.mark.parametrize("settings", [{"referee_hands": 0, "referee_account_seconds": 0}])
def test_choices_are_shown_only_to_the_player_and_to_referees(
    world: World, ada: Person, bob: Person
) -> None:
    table = ada.table("open")
    bob.post(f"/v1/tables/{table['id']}/seats")
    game = ada.get(f"/v1/tables/{table['id']}").json["game"]
    address = f"{CHOICES}?player={bob.id}"
    assert problem_of(world.get(address)) == "unauthorized"
    assert problem_of(ada.get(address)) == "forbidden"
    assert bob.get(address).json["n"] == 0
    ready = bob.post(f"/v1/games/{game}/moves", {"type": "ready"}).json["events"][0]["seq"]
    accusation = {"accused": 1, "seq": ready, "charge": "other", "statement": "He knows."}
    dispute = ada.post(f"/v1/games/{game}/disputes", accusation).json
    judge = world.person("Judge")
    assert problem_of(judge.get(address)) == "forbidden"
    assert judge.post(f"/v1/disputes/{dispute['id']}/referees").status_code == 201
    assert judge.get(address).json["player"] == bob.id
    assert problem_of(judge.get(f"{CHOICES}?player={ada.id}")) == "forbidden"
    [reading] = bob.get(f"/v1/games/{game}/audit/readings").json["items"]
    assert reading["reader"] == judge.id
    assert "blind choices" in reading["what"]


def test_an_invalid_player_parameter_is_refused(ada: Person) -> None:
    assert problem_of(ada.get(f"{CHOICES}?player=nobody")) == "malformed"


def test_during_a_recount_other_calls_get_the_last_answer(
    world: World, ada: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the first answer four calls wait for it, and the fifth is refused."""
    forfeited(ada)
    count(world)
    kept, may_read, reading = world.services.statistics, threading.Event(), threading.Event()
    read = kept._read_new

    def slow() -> None:
        reading.set()
        assert may_read.wait(20)
        read()

    monkeypatch.setattr(kept, "_read_new", slow)
    with ThreadPoolExecutor(5) as pool:
        first = [pool.submit(kept.shuffles) for _ in range(4)]
        assert reading.wait(20)
        wait_for(lambda: kept._first.held("") == 4, seconds=20)
        with pytest.raises(Refusal, match="being computed"):
            kept.shuffles()
        may_read.set()
        answers = [one.result(20) for one in first]
        may_read.clear()
        reading.clear()
        newer = pool.submit(kept.shuffles)
        assert reading.wait(20)
        assert kept.shuffles() == answers[-1]
        may_read.set()
        assert newer.result(20)["n"] == answers[-1]["n"]

"""How people end a hand without a result, or go on without a player: agreements and claims."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from service.application.games.schedule import seats_left
from tests.changed import replace
from tests.worlds.api_world import Answer, Person, World, problem_of

AGREE = {"type": "agree_end"}


@pytest.fixture(scope="module")
def world(module_world: World) -> World:
    """Return one application for all tests of this module: none depends on rows of another."""
    return module_world


def hand_of(ada: Person, bob: Person, **more: Any) -> str:
    """Return the address of a hand of two people, without a clock unless `more` has one."""
    table = ada.table("open", **more)
    seated = bob.post(f"/v1/tables/{table['id']}/seats").json
    return f"/v1/games/{seated['game']}"


def agree(person: Person, game: str) -> Answer:
    return person.post(f"{game}/moves", AGREE)


def agreed(person: Person, game: str) -> list[bool]:
    view: dict[str, Any] = person.get(game).json
    return [seat["agrees_end"] for seat in view["seats"]]


def test_a_hand_ends_once_all_people_agreed_and_counts_for_nobody(ada: Person, bob: Person) -> None:
    game = hand_of(ada, bob)
    assert agree(ada, game).status_code == 201
    assert agreed(bob, game) == [True, False]
    answer = agree(bob, game)
    assert [event["type"] for event in answer.json["events"]] == ["end_agreed", "game_aborted"]
    assert answer.json["events"][-1]["data"]["cause"] == "agreed"
    assert (answer.json["game"]["status"], answer.json["game"]["result"]) == ("aborted", None)
    assert problem_of(agree(ada, game)) == "game-over"


def test_a_move_takes_an_agreement_back(ada: Person, bob: Person) -> None:
    game = hand_of(ada, bob)
    agree(ada, game)
    assert ada.post(f"{game}/moves", {"type": "ready"}).status_code == 201
    assert agreed(ada, game) == [False, False]
    assert agree(bob, game).json["game"]["status"] == "swapping"


def test_nobody_agrees_alone_to_end_a_hand_against_bots(ada: Person) -> None:
    """A loss against bots counts; the rule is cited."""
    refused = agree(ada, ada.game({"bot": "lowest"}))
    assert problem_of(refused) == "rule-refused"
    assert (refused.json["code"], refused.json["rule"]) == ("refused.agree_alone", "1-agreed-end")


def test_an_agreement_is_decided_on_what_its_person_knew_of_the_own_moves(
    ada: Person, bob: Person
) -> None:
    """Moves of others in between do not matter; an own one that it did not know makes it stale."""
    game = hand_of(ada, bob)
    seen = {"headers": {"If-Match": ada.get(game).headers["ETag"]}}
    bob.post(f"{game}/moves", {"type": "ready"})
    assert ada.post(f"{game}/moves", AGREE, **seen).status_code == 201
    ada.post(f"{game}/moves", {"type": "ready"})
    assert problem_of(ada.post(f"{game}/moves", AGREE, **seen)) == "stale-version"


class Clock:
    """Whole seconds for which players have been away, and a clock that tests put forward."""

    def __init__(self, world: World) -> None:
        self.seconds: dict[str, float] = {}
        absences = world.services.absences
        self.later = timedelta(0)
        made = replace(
            absences,
            away=lambda players: {one: self.seconds.get(str(one), 0.0) for one in players},
            now=lambda: datetime.now(UTC) + self.later,
        )
        world.services.absences = world.services.moves.absences = made

    def leave(self, person: Person, seconds: int = 200) -> None:
        self.seconds[person.id] = seconds
        self.later = timedelta(seconds=seconds)


@pytest.fixture
def clock(ada: Person) -> Clock:
    return Clock(ada.world)


def claim(person: Person, game: str, absent: int, then: str = "stand_in") -> Answer:
    return person.post(f"{game}/moves", {"type": "claim_absence", "absent": absent, "then": then})


def test_a_claim_is_refused_until_the_player_is_away(
    ada: Person, bob: Person, clock: Clock
) -> None:
    game = hand_of(ada, bob)
    assert problem_of(claim(ada, game, 1)) == "not-away"
    clock.leave(bob, 170)
    assert ada.get(f"{game}/absences").json == {"after_seconds": 180, "absent": []}
    assert problem_of(claim(ada, game, 1)) == "not-away"
    clock.leave(bob)
    [away] = ada.get(f"{game}/absences").json["absent"]
    assert (away["seat"], away["claims"]) == (1, ["stand_in", "end"])
    assert 199 <= away["away_seconds"] <= 201
    assert claim(ada, game, 1).status_code == 201


def test_an_absence_counts_while_the_hand_waits_for_the_player(
    ada: Person, bob: Person, clock: Clock
) -> None:
    """Who was away long before the hand began has the whole time from its beginning."""
    game = hand_of(ada, bob)
    clock.seconds[bob.id] = 3000
    assert problem_of(claim(ada, game, 1)) == "not-away"
    bob.post(f"{game}/moves", {"type": "ready"})
    clock.leave(bob)
    assert problem_of(claim(ada, game, 1)) == "rule-refused"  # the hand waits for Ada


def test_a_bot_plays_for_an_absent_player_until_the_player_is_back(
    ada: Person, bob: Person, clock: Clock
) -> None:
    game = hand_of(ada, bob)
    ada.post(f"{game}/moves", {"type": "ready"})
    clock.leave(bob)
    claimed = claim(ada, game, 1).json
    assert claimed["game"]["seats"][1]["stand_in"] is True
    services, identity = ada.world.services, UUID(claimed["game"]["id"])
    assert services.turns.play_due_moves(identity, claimed["version"]) == "waits"
    events = [event["type"] for event in ada.get(f"{game}/events").json["items"]]
    assert events[events.index("absence_claimed") + 1 :][:3] == [
        "turn_timed_out",
        "seat_ready",
        "play_started",
    ]
    assert bob.post(f"{game}/back").json["seats"][1]["stand_in"] is False
    assert ada.get(game).json["seats"][1]["stand_in"] is False


def test_a_player_who_came_back_and_left_again_can_be_claimed_again(
    ada: Person, bob: Person, clock: Clock
) -> None:
    game = hand_of(ada, bob)
    clock.leave(bob)
    claim(ada, game, 1)
    bob.post(f"{game}/back")
    again = claim(ada, game, 1)
    assert again.status_code == 201, again.text
    assert again.json["game"]["seats"][1]["stand_in"] is True


def test_a_hand_that_an_absent_player_left_counts_for_nobody(
    ada: Person, bob: Person, clock: Clock
) -> None:
    game = hand_of(ada, bob)
    clock.leave(bob)
    ended = claim(ada, game, 1, "end").json
    abort = ended["events"][-1]["data"]
    assert (abort["cause"], abort["seat"], ended["game"]["result"]) == ("left", 1, None)


def test_only_seats_read_who_is_away_and_nobody_claims_at_a_table_with_a_clock(
    ada: Person, bob: Person, clock: Clock
) -> None:
    game = hand_of(ada, bob, clock={"turn_seconds": 600, "swap_seconds": 600})
    clock.leave(bob, 300)
    assert ada.get(f"{game}/absences").json["absent"] == []
    assert problem_of(claim(ada, game, 1)) == "rule-refused"
    other = ada.world.person("Cyd")
    assert problem_of(other.get(f"{game}/absences")) == "not-seated"


def test_a_claimed_hand_counts_as_left_for_the_absent_player_alone(
    ada: Person, bob: Person, clock: Clock
) -> None:
    """
    Whether the others let a bot stand in or end the hand.

    An agreed end counts for nobody, as the player agreed to it, also with a bot standing in.
    """
    for then, seats in (("stand_in", [1]), ("end", [1]), ("agree", []), ("stand_in agree", [])):
        game = hand_of(ada, bob)
        clock.leave(bob)
        if then != "agree":
            claim(ada, game, 1, then.split()[0])
        if then.endswith("agree"):
            agree(ada, game)
            agree(bob, game)
        if then == "stand_in":
            ada.post(f"{game}/moves", {"type": "forfeit"})
        entry = ada.world.services.game_cache.fresh(UUID(game.rpartition("/")[2]))
        assert entry is not None
        assert seats_left(entry.record.game) == seats

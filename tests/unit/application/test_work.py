"""The work of a request: large hands and large decks count like many events."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from uuid import UUID

import orjson
import pytest

from service.api.limits import LONG_GAME_EVENTS
from service.application.calls import Caller, Idempotency, RegisteredPlayer
from service.application.errors import Refusal
from service.application.quotas import LARGE_HAND, limited_by, listing
from service.application.rulesets import READ_COST, TEXT_COST
from service.bootstrap import Services
from tests.unit.application.conftest import SharedStore
from tests.worlds.fake_world import entry_of, open_game, person, post

DECKS = 6
HAND = LARGE_HAND + 20


class Accepting:
    """Trials that accept every ruleset."""

    def refusal(self, _settings: object, _by: UUID, _address: str) -> str | None:
        """Return no reason."""
        return None


class Meter:
    """Adds up the work of the calls, in events."""

    def __init__(self) -> None:
        self.events = 0

    @contextmanager
    def __call__(self, events: int) -> Iterator[None]:
        self.events += events
        yield

    def of(self, call: Callable[[], object]) -> int:
        """Return the work of a call, even if it is refused."""
        self.events = 0
        with limited_by(self), suppress(Refusal):
            call()
        return self.events


@pytest.fixture
def services(deployment: SharedStore) -> Services:
    """Return services whose trials accept every ruleset."""
    return deployment.process(trials=Accepting())


def large_hands(services: Services, ada: RegisteredPlayer, bob: RegisteredPlayer) -> UUID:
    """Return a hand in play with more cards a seat than is ordinary."""
    changes = {
        "deck": {"count": "fixed", "decks": DECKS, "partial": [], "jokers": 0},
        "players": {"min": 2, "max": 2},
        "deal": {"hand": HAND},
        "turn": {"runs": True},
    }
    made = services.rulemaking.make(ada, name="Large", base="shithead", changes=changes)
    game = open_game(
        services, ada, ("me", "open"), ruleset=orjson.loads(made.body)["id"], guests=(bob,)
    )
    for player in (ada, bob):
        post(services, player, game, {"type": "ready"})
    return game


@pytest.mark.attack(
    "WITHOUT_BOUND", "views and moves in hands of hundreds of cards", check="slots and a count"
)
def test_each_list_of_the_legal_moves_of_a_large_hand_needs_a_slot(services: Services) -> None:
    ada, bob = person(services, "Ada"), person(services, "Bob")
    game, meter = large_hands(services, ada, bob), Meter()
    entry = entry_of(services, game)
    turn = entry.record.game.turn
    assert turn is not None
    caller = Caller(player=entry.players[turn])
    passed, request = {"type": "pass"}, Idempotency(key="1", path="/", body_hash=b"1")
    assert meter.of(lambda: services.games.view(caller, game)) >= LONG_GAME_EVENTS
    assert meter.of(lambda: services.moves.move(caller, game, passed)) >= LONG_GAME_EVENTS
    assert meter.of(lambda: services.games.view(Caller(), game)) == 0
    played = {
        "type": "play",
        "cards": orjson.loads(services.games.view(caller, game)[0])["moves"][0]["cards"],
    }
    assert (
        meter.of(lambda: services.moves.move(caller, game, played, request=request))
        >= LONG_GAME_EVENTS
    )
    player = caller.player
    assert player is not None
    assert meter.of(lambda: services.answers.first_answer(player, request)) >= LONG_GAME_EVENTS
    last = entry_of(services, game).record.version - 1
    assert meter.of(lambda: services.auditing.move(caller, game, last)) >= LONG_GAME_EVENTS


def test_generating_texts_of_custom_rulesets_counts_as_work(
    services: Services,
) -> None:
    ada, meter, made = person(services, "Ada"), Meter(), []
    for size in (4, 5, 6):
        changes = {"refill": {"size": size}, "deal": {"hand": 4}}
        answer = services.rulemaking.make(ada, name="Own", base="shithead", changes=changes)
        made.append(orjson.loads(answer.body)["id"])
    assert meter.of(lambda: [services.ruleset_pages.get(one) for one in made]) == 3 * TEXT_COST
    assert meter.of(lambda: [services.ruleset_pages.get(one) for one in made]) == 0
    listed = partial(services.ruleset_pages.page, limit=200, cursor=None)
    assert meter.of(listed) == 0, "a list has no texts"
    services.rulebook._custom.clear()
    assert meter.of(listed) == 3 * READ_COST


def test_an_ordinary_hand_needs_no_slot(services: Services) -> None:
    ada, bob = person(services, "Ada"), person(services, "Bob")
    game, meter = open_game(services, ada, ("me", "open"), guests=(bob,)), Meter()
    caller = Caller(player=ada.id)
    entry_of(services, game)  # folds it
    assert meter.of(lambda: services.games.view(caller, game)) == 0
    assert meter.of(lambda: services.moves.move(caller, game, {"type": "ready"})) == 0
    assert listing(entry_of(services, game).record.game) == 0


def test_audits_that_track_every_card_count_the_size_of_the_deck(services: Services) -> None:
    ada, bob = person(services, "Ada"), person(services, "Bob")
    game, meter, caller = large_hands(services, ada, bob), Meter(), Caller(player=ada.id)
    services.games.view_at(caller, game, 1, None)
    version = entry_of(services, game).record.version
    services.games.transcript(caller, game, None)
    services.auditing.histories.of(entry_of(services, game), 0)
    assert meter.of(lambda: services.auditing.card(caller, game, "Th")) == version * DECKS // 2
    known = meter.of(lambda: services.auditing.knowledge(caller, game, 0, version))
    assert known == version * DECKS // 2

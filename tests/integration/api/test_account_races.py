"""Concurrent calls: those that exclude each other, quotas, and repeats of one request."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import psycopg
import pytest

from service.application.quotas import QUOTAS
from service.store.events import QuotaKind
from tests.examples import repeated
from tests.integration.test_store_purging import NUMBER_OF_WAITING
from tests.running import wait_for
from tests.streams import numbered
from tests.worlds.api_world import Answer, Person, World, problem_of

ROUNDS = 8
THREADS = 8
DEALT = {"ruleset": "shithead", "seats": ["me", {"bot": "lowest"}]}


def at_once(calls: Sequence[Callable[[], Answer]]) -> list[Answer]:
    """Make calls concurrently, one thread each."""
    start = threading.Barrier(len(calls))

    def made(call: Callable[[], Answer]) -> Answer:
        start.wait()
        return call()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(made, calls))


def erasure(player: Person) -> Callable[[], Answer]:
    return partial(player.call, "DELETE", "/v1/players/me")


@pytest.mark.attack("ACCOUNTS", "an erasure concurrent with a deal", check="the row lock")
def test_an_erasure_and_a_deal_exclude_each_other(world: World) -> None:
    """An erased player in a running hand could not go on, and neither could the others."""
    for _ in range(repeated(ROUNDS)):
        ada, bob = world.person("Ada"), world.person("Bob")
        table = ada.table("open", deal=False)
        path = f"/v1/tables/{table['id']}"
        assert bob.post(f"{path}/seats").status_code == 201
        erased, dealt = at_once([erasure(bob), partial(ada.post, f"{path}/games")])
        done = (erased.status_code == 204, dealt.status_code == 201)
        assert done in {(True, False), (False, True)}, (erased.text, dealt.text)
        if done[0]:
            assert problem_of(dealt) == "table-not-full"
            shown = ada.get(path).json
            assert (shown["status"], shown["seats"][1]["kind"]) == ("open", "open")
            assert world.person().post(f"{path}/seats").status_code == 201
            assert ada.post(f"{path}/games").status_code == 201
        else:
            assert problem_of(erased) == "hand-running"
            assert bob.get(f"/v1/games/{dealt.json['game']['id']}").json["as"] == 1


@pytest.mark.attack("ACCOUNTS", "an erasure that overtakes a deal", check="the row lock")
def test_an_erasure_waits_for_a_deal_and_sees_it(bob: Person, database_url: str) -> None:
    """The deal holds its players, counts their hands, and is committed while the erasure waits."""
    deal = "INSERT INTO player_results VALUES (%s, 1, 0, 0, 0, 0)"
    with psycopg.connect(database_url) as other, ThreadPoolExecutor(1) as pool:
        other.execute("SELECT hold_players(ARRAY[%s::uuid])", [bob.id])
        erased = pool.submit(erasure(bob))
        with psycopg.connect(database_url, autocommit=True) as watch:
            wait_for(
                lambda: watch.execute(NUMBER_OF_WAITING).fetchone() == (1,) or erased.done(),
                seconds=20,
            )
        other.execute(deal, [bob.id])
        other.commit()
        assert problem_of(erased.result(timeout=20)) == "hand-running"


def test_an_erasure_and_a_deal_by_the_player_exclude_each_other(world: World) -> None:
    for _ in range(repeated(ROUNDS)):
        ada = world.person("Ada")
        table = ada.table({"bot": "lowest"}, deal=False)
        deal = partial(ada.post, f"/v1/tables/{table['id']}/games")
        erased, *dealt = at_once([erasure(ada), deal, partial(ada.post, "/v1/tables", DEALT)])
        hands = [answer for answer in dealt if answer.status_code == 201]
        assert (erased.status_code == 204) is not bool(hands), [a.text for a in (erased, *dealt)]


@pytest.mark.attack(
    "ACCOUNTS", "a quota exceeded by concurrent calls", check="the quota counted in the commit"
)
@pytest.mark.parametrize("kind", ["tables", "games"])
def test_concurrent_calls_do_not_exceed_a_quota(
    ada: Person, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(QUOTAS, *numbered(QuotaKind(kind), 3))
    body = {**DEALT, "deal": kind == "games"}
    for _ in range(4):
        answers = at_once([partial(ada.post, "/v1/tables", body)] * THREADS)
        opened = [answer.json for answer in answers if answer.status_code == 201]
        assert len(opened) == 3
        assert {problem_of(a) for a in answers if a.status_code != 201} == {"limit-reached"}
        for table in opened:
            if table["game"]:
                forfeit = ada.post(f"/v1/games/{table['game']}/moves", {"type": "forfeit"})
                assert forfeit.status_code == 201
            assert ada.call("DELETE", f"/v1/tables/{table['id']}").status_code == 204


def test_concurrent_deals_do_not_exceed_the_quota_of_hands(
    ada: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = [ada.table({"bot": "lowest"}, deal=False) for _ in range(THREADS)]
    monkeypatch.setitem(QUOTAS, *numbered(QuotaKind.GAMES, 2))
    answers = at_once([partial(ada.post, f"/v1/tables/{t['id']}/games") for t in tables])
    assert sorted(a.status_code for a in answers) == [201] * 2 + [409] * (THREADS - 2)


@pytest.mark.attack(
    "ACCOUNTS", "disputes opened concurrently", check="the quota counted in the commit"
)
def test_disputes_opened_concurrently_do_not_exceed_the_quota(
    world: World, ada: Person, bob: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(QUOTAS, *numbered(QuotaKind.NEW_DISPUTES, 2))
    table = ada.table("open")
    seated = bob.post(f"/v1/tables/{table['id']}/seats")
    game = f"/v1/games/{seated.json['game']}"
    version = bob.post(f"{game}/moves", {"type": "ready"}).json["version"]
    about = {"accused": 1, "seq": version - 1, "statement": "It was not so."}
    charges = ("illegal_move", "time", "altered_log", "other")
    calls = [partial(ada.post, f"{game}/disputes", {**about, "charge": c}) for c in charges]
    answers = at_once(calls)
    assert sorted(a.status_code for a in answers) == [201] * 2 + [429] * 2
    assert len(world.get(f"{game}/disputes").json["items"]) == 2


def test_concurrent_repeats_of_one_seating_seat_the_player_once(world: World, ada: Person) -> None:
    """The table keeps a free seat, so a second seating would not be refused as a full table."""
    for number in range(repeated(ROUNDS)):
        bob = world.person("Bob")
        path = f"/v1/tables/{ada.table('open', 'open')['id']}"
        key = {"Idempotency-Key": f"once-{number}"}
        answers = at_once([partial(bob.post, f"{path}/seats", headers=key)] * THREADS)
        assert [a.status_code for a in answers] == [201] * THREADS, [a.text for a in answers]
        assert len({a.data for a in answers}) == 1
        first = [a for a in answers if "Idempotency-Replayed" not in a.headers]
        assert len(first) == 1
        seats = ada.get(path).json["seats"]
        assert [seat["player"] for seat in seats] == [ada.id, bob.id, None]
        assert ada.call("DELETE", path).status_code == 204

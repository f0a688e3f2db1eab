"""Refused moves over HTTP: they are sealed, and unsealed ones are marked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from schemas.audit import DecisionSchema
from service.shx.bundle import REFUSALS, read_bundle, write_bundle
from service.shx.canonical import canonical, sha256
from tests.unit.cli.conftest import CommandOutput, shithead
from tests.worlds.api_world import Person, World, problem_of

__all__ = ["shithead"]

UNPROVEN = "they rest on the file alone"
FORFEIT = {"type": "forfeit"}


@pytest.fixture(scope="module")
def world(module_world: World) -> World:
    """Return one application for all tests of this module: none depends on rows of another."""
    return module_world


@pytest.fixture
def game(ada: Person, bob: Person) -> str:
    """Return the path of a running game between two people, ada at seat 0."""
    table = ada.table("open")
    seated = bob.post(f"/v1/tables/{table['id']}/seats")
    return f"/v1/games/{seated.json['game']}"


def attempt(player: Person, other: Person, game: str) -> str:
    """Try to swap a card of the other hand, and return the problem."""
    hands = []
    for one in (other, player):
        view = one.get(game).json
        hands.append(view["seats"][view["as"]]["hand"]["cards"])
    move = {"type": "swap", "up": hands[0][:1], "hand": hands[1][:1]}
    return problem_of(player.post(f"{game}/moves", move))


def events_of(world: World, game: str) -> list[dict[str, Any]]:
    answer = world.get(f"{game}/events", headers={"Accept": "application/x-ndjson"})
    return [orjson.loads(line) for line in answer.get_data().splitlines()]


def seal_check(audit: dict[str, Any]) -> dict[str, Any]:
    [found] = [check for check in audit["checks"] if check["check"] == "seal"]
    return dict(found)


def test_the_seal_names_the_attempts_of_the_bundle(
    world: World, ada: Person, bob: Person, game: str
) -> None:
    assert [attempt(ada, bob, game) for _ in range(3)] == ["rule-refused"] * 3
    assert bob.post(f"{game}/moves", FORFEIT).status_code == 201
    assert attempt_after(ada, game) == "game-over"
    events = events_of(world, game)
    assert {event["v"] for event in events} == {1}
    data = read_bundle(world.get(f"{game}/evidence").get_data()).files[REFUSALS]
    rows = [orjson.loads(line) for line in data.splitlines()]
    assert [(row["seat"], row["rule"]) for row in rows] == [(0, "P4")] * 3
    named = {"count": 3, "sha256": sha256(data).hex()}
    assert events[-1]["data"]["refusals"] == named


def attempt_after(player: Person, game: str) -> str:
    return problem_of(player.post(f"{game}/moves", {"type": "ready"}))


def test_unsealed_attempts_are_marked_wherever_they_are_shown(
    world: World, ada: Person, bob: Person, game: str
) -> None:
    assert attempt(ada, bob, game) == "rule-refused"
    seq = ada.post(f"{game}/moves", {"type": "ready"}).json["version"] - 1
    running = ada.get(f"{game}/audit/moves/{seq}").json
    assert running["unproven"] == UNPROVEN
    assert DecisionSchema().validate(running) == {}
    assert "unproven" not in bob.get(f"{game}/audit/moves/{seq}").json, "Bob sees no attempt"
    bob.post(f"{game}/moves", FORFEIT)
    over = world.get(f"{game}/audit/moves/{seq}").json
    assert over["refused"] == running["refused"]
    assert "unproven" not in over
    found = seal_check(world.get(f"{game}/audit").json)
    assert found["result"] == "pass"
    assert "it rests on the file alone" not in (found["reason"] or "")


OTHER_LIST = "is not the list of 2 that was sealed"


@pytest.mark.parametrize(
    ("change", "result", "reason"),
    [
        (lambda data: data, "pass", None),
        (lambda data: data + data.replace(b'"seat":0', b'"seat":1'), "fail", OTHER_LIST),
        (lambda data: data.replace(b'"P4"', b'"P9"'), "fail", OTHER_LIST),
        (lambda data: data.splitlines(keepends=True)[0], "fail", OTHER_LIST),
        (lambda data: None, "pass", "The list of the 2 refused moves is not in the file"),
    ],
)
def test_changed_refusals_of_a_bundle_fail_and_missing_ones_are_reported(
    world: World,
    ada: Person,
    bob: Person,
    game: str,
    tmp_path: Path,
    shithead: Callable[..., CommandOutput],
    change: Callable[[bytes], bytes | None],
    result: str,
    reason: str | None,
) -> None:
    """Over HTTP and on the command line."""
    for _ in range(2):
        attempt(ada, bob, game)
    seq = ada.post(f"{game}/moves", {"type": "ready"}).json["version"] - 1
    bob.post(f"{game}/moves", FORFEIT)
    bundle = read_bundle(world.get(f"{game}/evidence").get_data())
    data = change(bundle.files[REFUSALS])
    path = tmp_path / "game.shx"
    path.write_bytes(write_bundle(bundle.lines, files={} if data is None else {REFUSALS: data}))
    answer = world.client.post("/v1/verify", data=path.read_bytes(), content_type="application/zip")
    assert answer.status_code == 200
    found = seal_check(answer.json)
    assert found["result"] == result
    assert reason is None or reason in found["reason"]
    status, out, _ = shithead("verify", str(path))
    assert (status, f"seal         {result}" in out) == (0 if result == "pass" else 1, True)
    status, out, _ = shithead("audit", str(path), "--move", str(seq))
    assert status == (0 if result == "pass" else 1)
    assert (f"unproven: {UNPROVEN}" in out) is (result == "fail")


def test_the_first_200_attempts_of_a_seat_are_sealed_and_later_ones_are_still_refused(
    world: World, ada: Person, bob: Person, game: str
) -> None:
    move = {"type": "swap", "up": hand_of(bob, game)[:1], "hand": hand_of(ada, game)[:1]}
    for _ in range(203):
        assert problem_of(ada.post(f"{game}/moves", move)) == "rule-refused"
    bob.post(f"{game}/moves", FORFEIT)
    assert events_of(world, game)[-1]["data"]["refusals"]["count"] == 200
    assert seal_check(world.get(f"{game}/audit").json)["reason"] is None


def hand_of(player: Person, game: str) -> list[str]:
    view = player.get(game).json
    cards: list[str] = view["seats"][view["as"]]["hand"]["cards"]
    return cards


def test_the_dispute_files_of_a_bundle_are_unproven(
    world: World,
    ada: Person,
    bob: Person,
    game: str,
    tmp_path: Path,
    shithead: Callable[..., CommandOutput],
) -> None:
    bob.post(f"{game}/moves", FORFEIT)
    bundle = read_bundle(world.get(f"{game}/evidence").get_data())
    files = {"dispute/1.json": canonical({"ruling": {"verdict": "cad"}})}
    path, page = tmp_path / "game.shx", tmp_path / "page.html"
    path.write_bytes(write_bundle(bundle.lines, files=files))
    status, out, _ = shithead("verify", str(path), "--html", str(page))
    assert status == 0
    for shown in (out, page.read_text()):
        assert "1 file about disputes is not covered by any seal: it is unproven." in shown

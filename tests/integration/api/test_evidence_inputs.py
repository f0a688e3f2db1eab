"""`POST /v1/verify` and the command line read evidence alike and give the same report."""

from __future__ import annotations

import io
import json
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from service.cli.statuses import MISUSED
from service.shx.bundle import write_bundle
from service.shx.chain import head
from service.shx.receipts import issue_receipt
from service.shx.tlog.notes import NoteSigner
from tests.random_games import Plan, made_game, private_key, public_text
from tests.tamper import sample_lines
from tests.unit.cli.conftest import CommandOutput, shithead
from tests.unit.cli.test_verify_authorship import with_another_card
from tests.worlds.api_world import Person, World, problem_of

__all__ = ["shithead"]

SERVER = NoteSigner(name="server.example", key=private_key("server"))
LINES = sample_lines("shithead")
PUBLIC = b64encode(SERVER.verifier.public).decode()
ITEM = {
    "id": SERVER.verifier.key_id.hex(),
    "name": SERVER.name,
    "public": PUBLIC,
    "from": "2026-01-01T00:00:00.000000Z",
    "to": None,
    "signed_by_previous": None,
}


@pytest.fixture(scope="module")
def world(module_world: World) -> World:
    """Return one application for all tests of this module: none depends on rows of another."""
    return module_world


def receipt(lines: tuple[bytes, ...]) -> bytes:
    game = UUID(json.loads(lines[0])["game"])
    return issue_receipt(SERVER, game=game, seq=len(lines) - 1, head=head(lines[-1]))


def saved(**changes: Any) -> str:
    """Return a saved answer of `/v1/keys` with some fields changed; `-` removes a field."""
    item = {**ITEM, **changes}
    return json.dumps({"items": [{k: v for k, v in item.items() if v != "-"}], "next": None})


@pytest.mark.attack(
    "OWN_TRUST", "a list of server keys under false ids", check="the reader", needs="RECEIPT"
)
@pytest.mark.parametrize(
    ("key", "accepted"),
    [
        (str(SERVER.verifier), True),
        (f"{SERVER.verifier}\n", True),
        (saved(), True),
        (" " + saved(), True),
        (saved(**{"from": "-", "to": "-", "id": "-", "signed_by_previous": "-"}), True),
        (saved(id="00000000"), False),
        (saved(id="00000000", to="-"), False),
        (saved(signed_by_previous="not base64"), False),
        (saved(public="AAAA"), False),
        (saved(name="-"), False),
        ('{"items": 1}', False),
        ('{"items":' + "[" * 50_000 + "]" * 50_000 + "}", False),
        ("[]", False),
        ("x", False),
    ],
)
def test_saved_keys_are_accepted_by_api_and_command_line_alike(
    world: World, shithead: Callable[..., CommandOutput], tmp_path: Path, key: str, accepted: bool
) -> None:
    bundle, note, keys = tmp_path / "game.shx", tmp_path / "mine.note", tmp_path / "keys.json"
    bundle.write_bytes(write_bundle(LINES))
    note.write_bytes(receipt(LINES))
    keys.write_text(key)
    words = ("--receipt", note, "--server-key", keys, "--level", "L2")
    assert shithead("verify", bundle, *words)[0] == (0 if accepted else MISUSED)
    form = {"file": (io.BytesIO(bundle.read_bytes()), "game.shx"), "key": key}
    form["receipt"] = (io.BytesIO(note.read_bytes()), "mine.note")
    answer = world.client.post("/v1/verify", data=form)
    if accepted:
        assert (answer.status_code, answer.json["level"]) == (200, "L2")
    else:
        assert problem_of(answer) == "invalid-body"


@pytest.mark.parametrize("word", ["00=" + PUBLIC, "0=AAAA", "\u0663=" + PUBLIC, PUBLIC])
def test_a_seat_key_is_read_alike_by_api_and_command_line(
    world: World, shithead: Callable[..., CommandOutput], tmp_path: Path, word: str
) -> None:
    bundle = tmp_path / "game.shx"
    bundle.write_bytes(write_bundle(LINES))
    assert shithead("verify", bundle, "--seat-key", word)[0] == MISUSED
    form = {"file": (io.BytesIO(bundle.read_bytes()), "game.shx"), "seat_key": word}
    assert problem_of(world.client.post("/v1/verify", data=form)) == "invalid-body"


def silent() -> Plan:
    """Return the plan of a keyed hand in which one seat moves only after time-outs."""
    keys = {seat: private_key(f"seat {seat}") for seat in range(2)}
    clock = {"turn_seconds": 30, "swap_seconds": 60}
    return Plan(name="levels", seats=2, keys=keys, clock=clock, silent=1)


@pytest.mark.parametrize(
    ("hand", "keyed"),
    [
        (with_another_card()[0], True),
        (LINES, False),
        (silent(), True),
        (Plan(name="given up", forfeit_by=1), True),
        (Plan(name="behind", dealer=1, prev_game=str(UUID(int=1))), True),
        (Plan(name="behind", prev_game=str(UUID(int=1))), True),
    ],
    ids=["changed card", "no key", "silent", "forfeit", "chosen dealer", "second attempt"],
)
def test_the_api_reports_the_same_as_the_command_line(
    world: World,
    shithead: Callable[..., CommandOutput],
    tmp_path: Path,
    hand: tuple[bytes, ...] | Plan,
    keyed: bool,
) -> None:
    lines = tuple(made_game(hand)) if isinstance(hand, Plan) else hand
    bundle, note = tmp_path / "game.shx", tmp_path / "mine.note"
    bundle.write_bytes(write_bundle(lines))
    note.write_bytes(receipt(lines))
    words: list[str | Path] = ["--receipt", note]
    form: dict[str, Any] = {"file": (io.BytesIO(bundle.read_bytes()), "game.shx")}
    form["receipt"] = (io.BytesIO(note.read_bytes()), "mine.note")
    if keyed:
        words += ["--server-key", str(SERVER.verifier)]
        form["key"] = str(SERVER.verifier)
    seats = json.loads(lines[0])["data"]["seats"]
    signing = [seat for seat, setup in enumerate(seats) if setup["key"]]
    form["seat_key"] = [f"{seat}={public_text(private_key(f'seat {seat}'))}" for seat in signing]
    for word in form["seat_key"]:
        words += ["--seat-key", word]
    audit = json.loads(shithead("verify", bundle, "--json", *words)[1])
    answer = world.client.post("/v1/verify", data=form)
    assert (answer.status_code, answer.json) == (200, audit)


def test_the_audit_of_a_stored_hand_names_an_unproven_forfeit(world: World, ada: Person) -> None:
    game = ada.game()
    ada.post(f"{game}/moves", {"type": "forfeit"})
    audit = world.get(f"{game}/audit").json
    [signatures] = [c for c in audit["checks"] if c["check"] == "signatures"]
    assert (signatures["result"], audit["result"]) == ("n/a", "pass")
    assert signatures["code"] == "open.no_keys"
    assert "no signature shows that seat 1 gave up." in signatures["reason"]

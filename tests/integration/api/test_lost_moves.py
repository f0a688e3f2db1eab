"""`POST /v1/games/{id}/receipts`: a receipt of a move that a restore lost ends the game."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from service.application.calls import Caller
from service.application.games.moves import Moves
from service.shx.receipts import issue_receipt
from service.shx.tlog.notes import NoteSigner
from tests.worlds.api_world import Answer, Person


def restore(person: Person) -> None:
    """Declare a restore as `shithead recover` does; events that follow have a later time."""
    person.world.services.sequencer.declare(datetime.now(UTC) - timedelta(seconds=1))
    time.sleep(0.001)


def receipt_of(person: Person, game: str, seq: int) -> str:
    """Return a receipt, signed by the server, of a move that the log of the game does not have."""
    services = person.world.services
    signer = NoteSigner(name=services.origin, key=services.keyring.present.signing_key)
    view = person.get(game).json
    return issue_receipt(signer, game=view["id"], seq=seq, head=bytes(32)).decode()


def lost_receipt(person: Person, game: str) -> str:
    return receipt_of(person, game, person.get(game).json["version"])


def hand_in(person: Person, game: str, receipt: str) -> Answer:
    return person.post(f"{game}/receipts", {"receipt": receipt})


def assert_refused(answer: Answer, code: str) -> None:
    """The game goes on, and the answer has a sentence of the catalogue."""
    found: dict[str, Any] = answer.json
    assert (answer.status_code, found.get("code")) == (409, code), answer.text
    assert found["type"].endswith("/not-lost")


def test_a_receipt_of_a_lost_move_ends_the_game_at_once_without_the_operator(ada: Person) -> None:
    game = ada.game()
    lost = lost_receipt(ada, game)
    assert_refused(hand_in(ada, game, lost), "refused.lost_undeclared")
    restore(ada)
    answer = hand_in(ada, game, lost)
    assert answer.status_code == 201, answer.text
    aborted = answer.json["events"][-1]
    assert (aborted["type"], aborted["data"]["cause"]) == ("game_aborted", "operator")
    assert answer.json["game"]["status"] == "aborted"
    again = hand_in(ada, game, lost)
    assert (again.status_code, again.json["type"].rpartition("/")[2]) == (409, "game-over")


def test_a_receipt_of_a_move_that_is_there_ends_nothing(ada: Person) -> None:
    game = ada.game()
    restore(ada)
    kept = ada.get(f"{game}/receipt").text
    assert_refused(hand_in(ada, game, kept), "refused.lost_not")


def test_no_player_keeps_a_receipt_for_a_hand_that_goes_badly(ada: Person) -> None:
    """The seat that has moved after the restore has accepted the game as it was restored."""
    game = ada.game({"bot": "lowest"})
    lost = lost_receipt(ada, game)
    restore(ada)
    assert ada.post(f"{game}/moves", {"type": "ready"}).status_code == 201
    assert_refused(hand_in(ada, game, lost), "refused.lost_accepted")


def test_moves_of_the_own_seat_alone_accept_the_restored_game(ada: Person, bob: Person) -> None:
    for mover, status in ((ada, 201), (bob, 409)):
        table = ada.table("open")
        seated = bob.post(f"/v1/tables/{table['id']}/seats").json
        game = f"/v1/games/{seated['game']}"
        lost = lost_receipt(bob, game)
        restore(ada)
        assert mover.post(f"{game}/moves", {"type": "ready"}).status_code == 201
        assert hand_in(bob, game, lost).status_code == status


def test_entropy_that_a_page_gives_by_itself_accepts_nothing(ada: Person) -> None:
    game = f"/v1/games/{ada.table({'bot': 'lowest'}, entropy='value')['game']}"
    lost = lost_receipt(ada, game)
    restore(ada)
    assert ada.post(f"{game}/entropy", {"value": "ab" * 32}).status_code == 201
    assert hand_in(ada, game, lost).status_code == 201


def test_each_call_of_a_seat_finds_it_once(ada: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the body is read; the call passes it on."""
    game = f"/v1/games/{ada.table({'bot': 'lowest'}, entropy='value')['game']}"
    lost = lost_receipt(ada, game)
    restore(ada)
    found, seat_of = list[str](), Moves.seat_of

    def counted(self: Moves, caller: Caller, of: UUID) -> int:
        found.append(path)
        return seat_of(self, caller, of)

    monkeypatch.setattr(Moves, "seat_of", counted)
    bodies = {
        "entropy": {"value": "ab" * 32},
        "moves": {"type": "pass"},
        "receipts": {"receipt": lost},
    }
    for path, body in bodies.items():
        ada.post(f"{game}/{path}", body)
    assert found == [*bodies]


def test_a_restore_explains_nothing_that_it_cannot_have_lost(ada: Person) -> None:
    """Neither an event recorded before it, nor a game that began after it."""
    before = ada.game()
    restore(ada)
    assert_refused(hand_in(ada, before, receipt_of(ada, before, 1)), "refused.lost_undeclared")
    after = ada.game()
    assert_refused(hand_in(ada, after, lost_receipt(ada, after)), "refused.lost_undeclared")


@pytest.mark.parametrize("which", ["another game", "another key"])
def test_only_a_receipt_that_this_server_signed_for_this_game_counts(
    ada: Person, which: str
) -> None:
    game = ada.game()
    lost = lost_receipt(ada, game if which == "another key" else ada.game())
    restore(ada)
    answer = hand_in(ada, game, lost.replace("\n\n— ", "\nx\n\n— ") if "key" in which else lost)
    assert answer.status_code == 422
    assert answer.json["errors"][0]["at"] == "/receipt"

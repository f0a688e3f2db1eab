"""`shithead admin lost`: running games that lost moves in a declared restore are ended."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from service.backup.check import Progress, whole_check
from service.public_log.sequencer import Sequencer
from service.shx.receipts import issue_receipt
from service.shx.restores import open_restore
from service.shx.tlog.notes import NoteSigner
from service.store.database import Database
from service.store.public_log import PostgresLog
from tests.worlds.api_world import Person
from tests.worlds.operator_world import Operator


def declare(operator: Operator, person: Person) -> None:
    """Declare a restore as `shithead recover` does, and publish it."""
    database = Database(operator.database_url, size=1)
    sequencer = Sequencer(
        store=PostgresLog(database),
        origin=person.world.services.origin,
        signers=lambda _now: (),
        now=lambda: datetime.now(UTC),
    )
    sequencer.declare(datetime.now(UTC))
    database.close()
    person.world.services.sequencer.run_once()


def receipt_of_lost_move(person: Person, game: str, folder: Path) -> Path:
    """Return the file of a receipt for a move that the log of a game does not have."""
    services = person.world.services
    signer = NoteSigner(name=services.origin, key=services.keyring.present.signing_key)
    view = person.get(game).json
    note = issue_receipt(signer, game=view["id"], seq=view["version"], head=bytes(32))
    path = folder / "lost.note"
    path.write_bytes(note)
    return path


def test_a_receipt_of_a_missing_move_ends_the_game_after_a_declared_restore(
    operator: Operator, ada: Person, tmp_path: Path
) -> None:
    game = ada.game()
    lost = receipt_of_lost_move(ada, game, tmp_path)
    status, output, _ = operator.admin("lost", lost)
    assert (status, "no declared restore" in output) == (0, True), (
        "without a restore nothing can be lost"
    )
    declare(operator, ada)
    kept = tmp_path / "kept.note"
    kept.write_bytes(ada.get(f"{game}/receipt").data)
    assert "has the move" in operator.admin("lost", kept)[1]
    assert ada.get(game).json["status"] != "aborted"
    forged = tmp_path / "forged.note"
    forged.write_bytes(lost.read_bytes().replace(b"\n\n", b"\nx\n\n", 1))
    assert "done" not in operator.admin("lost", forged)[1]
    assert "done: lost" in operator.admin("lost", tmp_path)[1]
    assert ada.get(game).json["status"] == "aborted"
    assert "over" in operator.admin("lost", lost)[1]


def test_the_declaration_is_public_signed_and_in_the_log(operator: Operator, ada: Person) -> None:
    ada.game()
    ada.world.services.sequencer.run_once()
    declare(operator, ada)
    [note] = ada.world.get("/v1/keys").json["restores"]
    restore = open_restore(note.encode(), (ada.world.services.verifier,))
    tile = ada.world.get("/v1/log/tile/entries/000.p/2").data
    assert restore.body.encode() in tile
    assert restore.leaf == 1
    database = Database(operator.database_url, size=1)
    *_, done = whole_check(database, None, None, Progress(deep=False))
    database.close()
    assert not done.faults


def test_the_operator_of_a_restored_cluster_declares_it(operator: Operator, ada: Person) -> None:
    """Only under the name of the log, which is in its checkpoints."""
    ada.game()
    services = ada.world.services
    services.sequencer.run_once()
    status, _, error = operator.admin("declare", "2026-11-26T02:15:07Z", "--origin", "b.example")
    assert (status, "see --origin" in error) == (1, True)
    words = ("declare", "2026-11-26T02:15:07Z", "--origin", services.origin)
    assert "leaf 1 of the public log" in operator.done(*words)
    services.sequencer.run_once()
    [note] = ada.world.get("/v1/keys").json["restores"]
    restore = open_restore(note.encode(), (services.verifier,))
    assert (restore.since, restore.leaf) == ("2026-11-26T02:15:07.000000Z", 1)

"""A server clock that is behind the log: set back, or that of another machine."""

from __future__ import annotations

from uuid import UUID

import orjson

from service.shx.bundle import Bundle
from service.verify.evidence import OutsideEvidence
from service.verify.files import verify_all
from service.verify.finding import Check, Result
from tests.unit.application.conftest import SharedStore
from tests.worlds.fake_world import lines_of, open_game, person, post


def test_the_next_hand_begins_no_earlier_than_the_last_one_ended(
    deployment: SharedStore,
) -> None:
    services = deployment.process()
    host = person(services)
    first = open_game(services, host, ("me", {"bot": "lowest"}))
    deployment.world.wait(60)
    post(services, host, first, {"type": "forfeit"})
    deployment.world.wait(-30)
    table = UUID(orjson.loads(lines_of(services, first)[0])["data"]["table"])
    second = UUID(orjson.loads(services.tables.deal(host, table, None).body)["game"]["id"])
    bundles = [Bundle(lines=lines_of(services, game)) for game in (first, second)]
    for report in verify_all(bundles, OutsideEvidence()):
        found = {finding.check: finding.result for finding in report.findings}
        assert found[Check.SEQUENCE] is Result.PASS


def test_a_bot_moves_at_once_on_a_machine_whose_clock_is_behind_the_event_before(
    deployment: SharedStore,
) -> None:
    """An event that is stored has happened, so a bot does not wait until its time has come."""
    services = deployment.process()
    host = person(services)
    game = open_game(services, host, ("me", {"bot": "lowest"}))
    before = len(lines_of(services, game))
    deployment.world.wait(-2.5)
    services.turns.play_due_moves(game, before)
    assert len(lines_of(services, game)) > before

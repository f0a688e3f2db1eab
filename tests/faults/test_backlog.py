"""The backlog metrics of the running processes show that a process is gone or stuck."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import repeat
from uuid import uuid4

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from prometheus_client import REGISTRY

from service.application.calls import RegisteredPlayer
from service.bootstrap import Services
from service.features.games import DUE_GAMES
from service.features.upkeep import TOPICS, measures
from service.public_log.sequencer import SignatureBacklog
from service.public_log.witness_client import RemoteWitness
from service.shx.tlog.checkpoint import Cosigner
from tests.worlds.fake_log import sequencer_of
from tests.worlds.fake_world import Deployment, open_game, sliced
from tests.worlds.memory_log import MemoryLog
from workers.relay import Relay
from workers.sequencer import LogSequencer
from workers.sweeper import Sweeper

WITNESS = Cosigner(name="w.example/1", key=Ed25519PrivateKey.from_private_bytes(b"w" * 32))


def measured(name: str, **labels: str) -> float:
    """Return the present value of a metric."""
    return REGISTRY.get_sample_value(name, labels) or 0.0


@pytest.mark.parametrize("topic", ["game", "log"])
def test_the_age_of_unclaimed_rows_grows(
    deployment: Deployment, services: Services, ada: RegisteredPlayer, topic: str
) -> None:
    open_game(services, ada, ({"bot": "greedy"}, {"bot": "lowest"}))
    deployment.world.time = datetime.now(UTC) + timedelta(seconds=90)
    sliced(measures, services)()
    assert measured("shithead_outbox_age_seconds", topic=topic) == pytest.approx(90, abs=30)


def test_an_outbox_that_is_empty_has_no_age(services: Services) -> None:
    sliced(measures, services)()
    assert [measured("shithead_outbox_age_seconds", topic=topic) for topic in TOPICS] == [0, 0, 0]


def test_unsigned_leaves_are_counted_until_they_are_signed() -> None:
    log, witness = MemoryLog(), RemoteWitness(url="http://127.0.0.1:1", verifier=WITNESS.verifier)
    sequencer = sequencer_of(log, witnesses=(witness,))
    assert sequencer.backlog() == SignatureBacklog(unsigned=0, uncosigned={"w.example/1": 0})
    log.request(uuid4(), 1, bytes(32))
    sequencer.append()
    assert sequencer.backlog() == SignatureBacklog(unsigned=1, uncosigned={"w.example/1": 0})
    sequencer.publish()
    assert sequencer.backlog() == SignatureBacklog(unsigned=0, uncosigned={"w.example/1": 1})
    log.keep_cosignature(1, str(WITNESS.verifier), "a line")
    assert sequencer.backlog() == SignatureBacklog(unsigned=0, uncosigned={"w.example/1": 0})


@pytest.mark.parametrize(
    ("kind", "process"),
    [
        ("relay", Relay),
        ("sweeper", partial(Sweeper, first=DUE_GAMES, others=())),
        ("sequencer", LogSequencer),
    ],
)
def test_each_process_reports_the_time_of_its_last_round(
    services: Services, kind: str, process: Callable[[Services], Relay | Sweeper | LogSequencer]
) -> None:
    rounds, tries = "shithead_last_round_timestamp_seconds", repeat(False, 20)
    before = measured(rounds, process=kind)

    def stopped() -> bool:
        return measured(rounds, process=kind) > before or next(tries, True)

    process(services).run(stopped)
    assert measured(rounds, process=kind) > before

"""A made-up feature: players wave, and a sweep lets a job count the waves; with its SQL."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Final
from uuid import UUID, uuid4

from flask import Response
from marshmallow import fields
from prometheus_client import Gauge

from schemas.strict_fields import Closed
from schemas.tokens import Scope
from service.api.context import context, services
from service.api.conventions.responses import json_response
from service.api.operation import Call, Token, blueprint, operation
from service.application.errors import Refusal
from service.application.ports import MAIN_QUEUE, JobKind
from service.application.quotas import LIGHT, Bound, Slice, Weight
from service.bootstrap import Services
from service.feature import Feature, Job, JobContext, Sweep, Work
from service.replay.sentences import said
from service.runtime.config import Setting, whole_number
from service.store.database import Repository

SQL: Final = {
    "migrations/0002_waves.sql": """
CREATE TABLE waves (
    wave_id    uuid         NOT NULL,
    player_id  uuid         NOT NULL,
    ends_at    timestamptz  NOT NULL,
    CONSTRAINT waves_pkey PRIMARY KEY (wave_id)
);
""",
    "functions/add_wave.sql": """
CREATE OR REPLACE FUNCTION add_wave(wave uuid, player uuid, until timestamptz, most integer)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    PERFORM FROM players p WHERE p.player_id = player FOR NO KEY UPDATE;
    IF (SELECT count(*) FROM waves w WHERE w.player_id = player) >= most THEN
        RETURN false;
    END IF;
    INSERT INTO waves (wave_id, player_id, ends_at) VALUES (wave, player, until);
    RETURN true;
END
$$;
""",
    "privileges_waves.sql": """
REVOKE ALL ON waves FROM PUBLIC, shithead_service, shithead_reader, shithead_auditor;
GRANT SELECT ON waves TO shithead_service;
REVOKE ALL ON FUNCTION add_wave FROM PUBLIC;
GRANT EXECUTE ON FUNCTION add_wave TO shithead_service;
""",
    "queries/waves.sql": """-- add_wave: add a wave; false above the quota.
-- $1 its id, $2 the player, $3 its end, $4 the most of the player
SELECT add_wave($1::uuid, $2::uuid, $3::timestamptz, $4::integer)

-- count_waves: the number of waves.
SELECT count(*) FROM waves
""",
}
"""The files that the feature adds to `sql/`."""

WAVED: Final = Gauge("shithead_test_waves", "Waves")
WAVE_DAYS: Final = Setting(
    name="wave_days",
    default=3,
    read=whole_number(1, 9),
    section="Retention",
    unit="days",
    effect="Waves",
)
WAVES_OF_PLAYER: Final = Bound(of="player", most=2, counts="waves", rows=("waves",))
COUNT_WAVES: Final = JobKind(name="count_waves", queue=MAIN_QUEUE)


def write_sql(folder: Path) -> None:
    """Write the SQL of the feature into a folder such as `sql/`."""
    for name, text in SQL.items():
        (folder / name).write_text(text)


class WaveRepository(Repository):
    """The waves of players."""

    def add(self, player: UUID, services: Services, days: int) -> bool:
        until = services.world.now() + timedelta(days=days)
        return bool(self._write("add_wave", uuid4(), player, until, WAVES_OF_PLAYER.most))

    def count(self) -> int:
        return self._count("count_waves")


class WavesSchema(Closed):
    """How many waves there are."""

    waves = fields.Integer()


waves = blueprint("waves", __name__, "Waves of players.")


@operation(
    waves,
    "POST",
    "/waves",
    answer=WavesSchema,
    token=Token.NEEDED,
    scope=Scope.PLAY,
    refuses=("limit-reached",),
    weight=Weight(calls=5, per_address=4),
)
def wave(call: Call) -> Response:
    """Wave."""
    repository = WaveRepository(services().directory.database)
    if not repository.add(call.by.id, services(), context().settings.of(WAVE_DAYS)):
        most = WAVES_OF_PLAYER.most
        raise Refusal("limit-reached", said("quota.seeks", most=most), limit="waves")
    return json_response({"waves": repository.count()})


@operation(waves, "GET", "/waves", answer=WavesSchema, weight=LIGHT)
def count_waves(_call: Call) -> Response:
    """Count the waves."""
    return json_response({"waves": WaveRepository(services().directory.database).count()})


def sweep(services: Services) -> Work:
    """Enqueue a job that counts the waves."""

    def work(_part: Slice) -> int:
        services.notifier.enqueue(COUNT_WAVES, "all", key=f"waves-{uuid4()}")
        return 1

    return work


def count(work: JobContext, _which: str) -> None:
    """Set the metric of the waves."""
    WAVED.set(WaveRepository(work.services().directory.database).count())


WAVES: Final = Feature(
    name="waves",
    operations=(waves,),
    jobs=(Job(kind=COUNT_WAVES, run=count),),
    sweeps=(Sweep(name="waves", period=1, seconds=1, rows=9, longest_pause=9, begin=sweep),),
    metrics=(WAVED,),
    settings=(WAVE_DAYS,),
    quotas={"waves": WAVES_OF_PLAYER},
)

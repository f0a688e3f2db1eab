"""Several dumps as one series: what `ratings` and `collusion` refuse, and the order of hands."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

from service.application.ports import RealWorld
from service.cli.__main__ import run
from service.shx.canonical import RecordError
from service.shx.dump_series import DumpSeries
from service.shx.dumps import INDEX, MANIFEST, DumpManifest, month_of, read_manifest
from service.verify.dump import main_verify_dump
from service.verify.evidence import PublicKeys
from service.verify.files import VerifyOptions
from tests.integration.test_monthly_dumps import given_up
from tests.worlds.api_world import Person, World, make_world

NOW = datetime.now(UTC)


def month(back: int) -> str:
    """Return the month that many months ago."""
    count = NOW.year * 12 + NOW.month - 1 - back
    return f"{count // 12:04}-{count % 12 + 1:02}"


FIRST, SECOND, THIRD = month(3), month(2), month(1)


class Later(RealWorld):
    """The world of a service long after the months that it dumps."""

    def now(self) -> datetime:
        """Return a time at which all these months are over."""
        return NOW + timedelta(days=99)


@dataclass(kw_only=True)
class Months:
    """A service with hands of three months, and their dumps."""

    world: World
    ada: Person
    folder: Path
    url: str

    def written(self, name: str, of: str) -> Path:
        """Write a dump after all months were over."""
        services = self.world.services
        later = replace(services.dumps, world=Later())
        later.write(of, self.folder / name)
        return self.folder / name


def backdated(url: str, games: list[str], to: datetime) -> None:
    with psycopg.connect(url) as connection:
        connection.execute(
            "UPDATE games SET ended_at = %s WHERE game_id = ANY(%s::uuid[])", (to, games)
        )


@pytest.fixture(scope="module")
def months(module_database_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Months]:
    """Return three months of hands; the last of the second has a leaf among those of the third."""
    world = make_world(module_database_url)
    ada = world.person("Ada")
    games = []
    for _ in range(8):
        games.append(given_up(ada))
        world.services.sequencer.run_once()
    for of, chosen in ((FIRST, games[:2]), (SECOND, [games[2], games[3], games[5]])):
        backdated(module_database_url, chosen, month_of(of)[0] + timedelta(days=3))
    backdated(module_database_url, [games[4], *games[6:]], month_of(THIRD)[0] + timedelta(days=3))
    folder = tmp_path_factory.mktemp("series")
    made = Months(world=world, ada=ada, folder=folder, url=module_database_url)
    for of in (FIRST, SECOND, THIRD):
        made.written(of, of)
    yield made
    world.services.close()


def refused(*folders: Path) -> str:
    """Return why these dumps are no series."""
    with pytest.raises(RecordError) as error:
        list(DumpSeries(folders).hands())
    return error.value.detail


def copied(months: Months, of: str, tmp_path: Path, **fields: Any) -> Path:
    """Return a copy of a dump, with changes of its manifest."""
    folder = Path(shutil.copytree(months.folder / of, tmp_path / of))
    manifest: DumpManifest = read_manifest(folder)
    (folder / MANIFEST).write_bytes(replace(manifest, **fields).content)
    return folder


def test_dumps_name_the_month_before_and_whether_they_are_complete(months: Months) -> None:
    found = [read_manifest(months.folder / of) for of in (FIRST, SECOND, THIRD)]
    assert [one.previous for one in found] == [None, FIRST, SECOND]
    assert [one.hands for one in found] == [2, 3, 3]
    assert all(one.complete for one in found)


def test_hands_are_read_in_the_order_of_the_log_across_months(months: Months) -> None:
    """In any order of the arguments; one leaf of the second month is among those of the third."""
    series = DumpSeries([months.folder / of for of in (THIRD, FIRST, SECOND)])
    leaves = [hand.leaf for hand, _ in series.hands()]
    assert leaves == sorted(set(leaves))
    assert len(leaves) == series.count == 8
    of = [f"{hand.sealed_at:%Y-%m}" for hand, _ in series.hands()]
    assert of == [FIRST] * 2 + [SECOND] * 2 + [THIRD, SECOND] + [THIRD] * 2


def test_two_editions_of_a_month_are_refused_and_both_named(
    months: Months, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """They were counted twice."""
    one, other = months.folder / FIRST, copied(months, FIRST, tmp_path)
    both = f"{one} ({FIRST}) and {other} ({FIRST})"
    assert refused(one, other) == f"{both} are two editions of one month: name one of them"
    pair = ("--pair", months.ada.id, "00000000-0000-4000-8000-000000000001")
    for command in (("ratings",), ("collusion", *pair)):
        assert run([*command, str(one), str(other)]) == 1
        assert "two editions of one month" in capsys.readouterr().err
        assert run([*command, str(one), "--json"]) == 0
        capsys.readouterr()


def test_a_month_that_is_left_out_is_refused(months: Months) -> None:
    first, third = months.folder / FIRST, months.folder / THIRD
    assert refused(first, third) == f"{third} ({THIRD}) continues {SECOND}, not {first} ({FIRST})"


def test_a_month_that_was_running_can_only_be_the_last(months: Months, tmp_path: Path) -> None:
    running = copied(months, FIRST, tmp_path, complete=False)
    assert refused(running, months.folder / SECOND) == (
        f"{running} ({FIRST}) was made while its month was running, "
        f"and {months.folder / SECOND} ({SECOND}) continues it"
    )
    assert len(list(DumpSeries([running]).hands())) == 2


def test_dumps_of_two_logs_are_refused(months: Months, tmp_path: Path, database_url: str) -> None:
    """The other log has the same name and the same key."""
    other = make_world(database_url, keys=months.world.services.keyring.present.to_text())
    bob = other.person("Bob")
    games = [given_up(bob) for _ in range(2)]
    other.services.sequencer.run_once()
    backdated(database_url, games, month_of(SECOND)[0] + timedelta(days=3))
    folder = tmp_path / "other"
    replace(other.services.dumps, world=Later()).write(SECOND, folder)
    other.services.close()
    manifest = read_manifest(folder)
    (folder / MANIFEST).write_bytes(replace(manifest, previous=FIRST).content)
    first = months.folder / FIRST
    assert (
        refused(first, folder)
        == f"{first} ({FIRST}) and {folder} ({SECOND}) are of two public logs"
    )


def test_a_hand_of_another_month_and_one_in_two_dumps_are_refused(
    months: Months, tmp_path: Path
) -> None:
    """As if the operator had put hands of one month into the next one, too."""
    again = copied(months, FIRST, tmp_path, month=SECOND, previous=FIRST)
    assert "is of another month" in refused(again)
    path = again / INDEX
    path.write_bytes(path.read_bytes().replace(FIRST.encode(), SECOND.encode()))
    first = months.folder / FIRST
    both = f"{first} ({FIRST}) and in {again} ({SECOND})"
    assert refused(first, again).endswith(f" of the public log is in {both}")
    path.write_bytes(path.read_bytes().replace(b'"leaf":', b'"leaf":10'))
    assert refused(first, again).endswith(f"is in {both}")


def test_ratings_say_which_months_are_not_counted(
    months: Months, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["ratings", str(months.folder / SECOND), "--json"]) == 0
    out, errors = capsys.readouterr()
    assert json.loads(out)["shithead"][0]["hands"] == 3
    assert f"Hands up to {FIRST} are not counted" in errors
    assert run(["ratings", *(str(months.folder / of) for of in (FIRST, SECOND, THIRD))]) == 0
    assert capsys.readouterr().err == ""


def test_a_dump_of_a_month_that_is_over_says_that_none_is_missing_only_if_it_is_complete(
    months: Months, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    this = f"{NOW:%Y-%m}"
    given_up(months.ada)
    months.world.services.sequencer.run_once()
    months.world.services.dumps.write(this, tmp_path / "running")
    assert not read_manifest(tmp_path / "running").complete
    assert "none is missing" not in summary(tmp_path / "running", capsys)
    later = replace(months.world.services.dumps, world=Later())
    later.write(this, tmp_path / "over")
    assert read_manifest(tmp_path / "over").complete
    assert "none is missing" not in summary(tmp_path / "over", capsys), "its end is still to come"
    given_up(months.ada)
    later.write(this, tmp_path / "waiting")
    assert not read_manifest(tmp_path / "waiting").complete, "a hand has no leaf yet"


def summary(folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    assert main_verify_dump(folder, VerifyOptions(keys=PublicKeys(), jobs=1)) == 0
    return capsys.readouterr().out


def test_a_bundle_that_ended_at_another_time_than_the_index_states_is_foreign(
    months: Months, capsys: pytest.CaptureFixture[str]
) -> None:
    """The times of these months are those of the index alone; their records ended today."""
    options = VerifyOptions(keys=PublicKeys(), jobs=1)
    assert main_verify_dump(months.folder / FIRST, options) == 1
    assert f"it did not end at the time of the index, in {FIRST}" in capsys.readouterr().out

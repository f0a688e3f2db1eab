"""Archived games: every read returns the same bytes as before, or fails."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any
from uuid import UUID

import orjson
import psycopg
import pytest

from service.cli.statuses import INTERRUPTED
from service.shx.bundle import REFUSALS, read_bundle, write_bundle
from service.shx.canonical import sha256
from service.store.archive import Bundles
from service.store.database import query
from service.store.operator import Owner
from tests.running import wait_for
from tests.worlds.api_world import Person, World, problem_of
from tests.worlds.operator_world import (
    CommandOutput,
    Operator,
    process_outbox,
    some_moves,
    two_seats,
)

NOT_COMPARED = {"Date", "X-Request-ID"}
FORMS = ("application/json", "application/x-ndjson")

Played = tuple[UUID, dict[str, str]]
"""A sealed game, and the header with the invite to its table."""


@pytest.fixture
def visibility() -> str:
    """Return the visibility of the game; tests may override it."""
    return "public"


@pytest.fixture
def played(world: World, ada: Person, bob: Person, visibility: str) -> Played:
    """Return a finished game between ada and bob with every kind of data, outbox processed."""
    table = two_seats(ada, bob, visibility=visibility)
    game = f"/v1/games/{table['game']}"
    cards = [own_hand(bob, game)[0], own_hand(ada, game)[0]]
    refused = ada.post(f"{game}/moves", {"type": "swap", "up": cards[:1], "hand": cards[1:]})
    assert problem_of(refused) == "rule-refused"
    some_moves((ada, bob), game, 12)
    accusation = {"accused": None, "seq": 3, "charge": "wrong_deal", "statement": "It was not so."}
    assert ada.post(f"{game}/disputes", accusation).status_code == 201
    assert bob.post(f"{game}/moves", {"type": "forfeit"}).status_code == 201
    for person, seen_by in ((ada, "dispute"), (bob, "me")):
        note = {"text": "Why this card?", "visibility": seen_by}
        assert person.call("PUT", f"{game}/notes/3", json=note).status_code == 200
    process_outbox(world, UUID(table["game"]))
    invite = {"Shithead-Invite": table["invite"]} if "invite" in table else {}
    return UUID(table["game"]), invite


def own_hand(player: Person, game: str) -> list[str]:
    view = player.get(game).json
    cards: list[str] = view["seats"][view["as"]]["hand"]["cards"]
    return cards


def reads_of(world: World, game: UUID, version: int) -> list[str]:
    """Return the address of every read of a game, each rule of the application among them."""
    path, middle = f"/v1/games/{game}", version // 2
    moves = [
        orjson.loads(line)["seq"]
        for line in world.services.game_cache.lines(game)
        if orjson.loads(line)["by"] is not None
    ]
    dispute = world.services.directory.disputes_of(game, limit=1).items[0].id
    reads = [
        *(path, f"{path}?as=public", f"{path}?at={middle}&as=all", f"{path}?at=1&as=0"),
        *(f"{path}/events", f"{path}/events?after={middle}&limit=3", f"{path}/openings"),
        *(f"{path}/receipt", f"{path}/stream", f"{path}/stream?after={middle}"),
        *(f"{path}/replay?as=all", f"{path}/replay?as=public&from=2&to={middle}"),
        *(f"{path}/transcript?as=all", f"{path}/transcript", f"{path}/audit"),
        *(f"{path}/evidence", f"{path}/evidence?profile=seat"),
        *(f"{path}/audit/moves/{seq}" for seq in (moves[0], moves[-1])),
        *(f"{path}/audit/cards/Th", f"{path}/audit/knowledge?seat=1"),
        *(f"{path}/notes", f"{path}/reasons?cards=Th", f"{path}/absences"),
        *(f"{path}/picture.svg", f"{path}/picture.svg?at=3&as=all"),
        *(f"{path}/picture.png", f"{path}/picture.png?at=3&as=all"),
        *(f"{path}/disputes", f"/v1/disputes/{dispute}", f"{path}/audit/readings"),
    ]
    rules = [str(rule) for rule in world.app.url_map.iter_rules() if "GET" in (rule.methods or ())]
    for rule in (rule for rule in rules if rule.startswith("/v1/") and "<uuid:game_id>" in rule):
        pattern = rule.replace("<uuid:game_id>", str(game)).split("<")[0]
        assert any(read.startswith(pattern) for read in reads), f"{rule} is not read here"
    return [
        *reads,
        *("/v1/games", "/v1/games?status=ended&ruleset=shithead", "/v1/players/me"),
        *("/v1/statistics/shuffles", "/v1/log/checkpoint", f"/v1/log/proof?game={game}"),
        f"/v1/tables/{world.services.directory.game(game).table}",  # type: ignore[union-attr] # the game exists
    ]


def answers(
    world: World, people: list[Person], played: Played, reads: list[str]
) -> dict[tuple[str, ...], Any]:
    """Return the answers to every caller at each address, in each media type."""
    _, invite = played
    callers = [invite, *(person.headers for person in people)]
    found: dict[tuple[str, ...], Any] = {}
    for read in reads:
        for number, headers in enumerate(callers):
            for form in FORMS if "/events" in read else ("*/*",):
                answer = world.get(read, headers={**headers, "Accept": form})
                stored = {n: v for n, v in answer.headers.items() if n not in NOT_COMPARED}
                found[read, str(number), form] = (answer.status_code, stored, answer.get_data())
    return found


def count(operator: Operator, table: str, game: UUID) -> int:
    column = "stream_id" if table in ("events", "streams", "archived") else "game_id"
    with psycopg.connect(operator.database_url) as owner:
        text = f"SELECT count(*) FROM {table} WHERE {column} = %s"
        row = owner.execute(text.encode(), (game,)).fetchone()
    assert row is not None
    return int(row[0])


@pytest.mark.heavy
@pytest.mark.parametrize("visibility", ["public", "private"])
def test_every_read_of_an_archived_game_returns_the_same_bytes_as_before(
    operator: Operator, world: World, ada: Person, bob: Person, played: Played
) -> None:
    game, invite = played
    entry = world.services.game_cache.fresh(game)
    assert entry is not None
    reads = reads_of(world, game, entry.record.version)
    if invite:  # every read of a private game is recorded, so this list grows when read
        reads = [read for read in reads if not read.endswith("/readings")]
    before = answers(world, [ada, bob], played, reads)
    assert {status for status, _, _ in before.values()} <= {200, 401, 403, 404, 409}
    assert sum(status == 200 for status, _, _ in before.values()) > 60

    operator.done("archive", "--game", game, "--to", operator.archive)
    assert [count(operator, t, game) for t in ("events", "refusals", "streams")] == [0, 0, 1]
    fresh = operator.world()
    for process in (world, fresh):
        after = answers(process, [ada, bob], played, reads)
        assert [key for key in before if before[key] != after[key]] == []


def test_the_archived_bundle_is_the_public_evidence_with_the_stored_head(
    operator: Operator, world: World, played: Played
) -> None:
    game, invite = played
    evidence = world.get(f"/v1/games/{game}/evidence", headers=invite).get_data()
    operator.done("archive", "--game", game, "--to", operator.archive)
    data = (operator.archive / f"{game}.shx").read_bytes()
    assert data == evidence
    assert {REFUSALS, "log/proof.tlog-proof"} <= read_bundle(data).files.keys()
    with psycopg.connect(operator.database_url) as owner:
        stored = owner.execute(
            "SELECT a.bundle, a.version = s.version AND a.head = s.head"
            " FROM archived a JOIN streams s USING (stream_id) WHERE stream_id = %s",
            (game,),
        ).fetchone()
    assert stored == (sha256(data), True)


@pytest.mark.parametrize("seq", [0, 5, -1])
def test_changed_events_are_replaced_by_those_of_an_earlier_bundle(
    operator: Operator, world: World, played: Played, seq: int
) -> None:
    """The head of the stream, which is in the public log, proves them; other events are refused."""
    game, invite = played
    path = f"/v1/games/{game}"
    whole = [f"{path}/{part}" for part in ("events", "evidence", "audit", "replay")]
    before = [world.get(one, headers=invite).get_data() for one in whole]
    lines, files = (found := read_bundle(before[1])).lines, found.files
    change_event(operator, game, seq % len(lines))
    for wrong in (
        write_bundle(lines[:-1]),
        write_bundle([*lines[:3], lines[3].replace(b'"at":"20', b'"at":"19'), *lines[4:]]),
        write_bundle([*lines[:-1], lines[-2]]),
        before[1][:-100],
    ):
        (operator.folder / "wrong.shx").write_bytes(wrong)
        status, _, err = replaced(operator, game, "wrong.shx")
        assert status == 1 and f"are not those of game {game}" in err, err
    assert count(operator, "events", game) == len(lines)
    (operator.folder / "right.shx").write_bytes(write_bundle(lines, files=files))
    status, out, err = replaced(operator, game, "right.shx")
    assert status == 0, (out, err)
    assert operator.trail()[-1] == ("archive", str(game), "done")
    fresh = operator.world()
    assert [fresh.get(one, headers=invite).get_data() for one in whole] == before


def replaced(operator: Operator, game: UUID, name: str) -> CommandOutput:
    place = ("--to", operator.archive)
    return operator.admin("archive", "--game", game, "--from", operator.folder / name, *place)


def change_event(operator: Operator, game: UUID, seq: int) -> None:
    """Change an event as the owner of the machine can."""
    with psycopg.connect(operator.database_url) as owner:
        owner.execute("ALTER TABLE events DISABLE TRIGGER ALL")
        owner.execute(
            "UPDATE events SET line = overlay(line placing 'x' from 9)"
            " WHERE stream_id = %s AND seq = %s",
            (game, seq),
        )
        owner.execute("ALTER TABLE events ENABLE TRIGGER ALL")


@pytest.mark.parametrize("damage", ["gone", "changed", "cut", "shortened", "no folder"])
def test_an_archived_game_without_its_bundle_is_unavailable(
    operator: Operator, world: World, played: Played, damage: str
) -> None:
    game, invite = played
    operator.done("archive", "--game", game, "--to", operator.archive)
    path = operator.archive / f"{game}.shx"
    data = path.read_bytes()
    if damage == "gone":
        path.unlink()
    elif damage == "changed":
        path.write_bytes(data.replace(b'"cards_dealt"', b'"cards_dea1t"'))
    elif damage == "cut":
        path.write_bytes(data[: len(data) // 2])
    elif damage == "shortened":  # a valid bundle of an unfinished game
        path.write_bytes(write_bundle(read_bundle(data).lines[:-1]))
    fresh = operator.world(**({"archive": None} if damage == "no folder" else {}))
    for what in ("", "/events", "/evidence", "/audit", "/stream", "/receipt"):
        answer = fresh.get(f"/v1/games/{game}{what}", headers=invite)
        assert problem_of(answer) == "unavailable"
        assert answer.headers["Retry-After"]
    assert fresh.get("/v1/games").status_code == 200
    path.write_bytes(data)
    if damage != "no folder":
        assert fresh.get(f"/v1/games/{game}", headers=invite).status_code == 200


def test_a_dispute_can_be_opened_about_an_archived_game(
    operator: Operator, ada: Person, played: Played
) -> None:
    game, _ = played
    operator.done("archive", "--game", game, "--to", operator.archive)
    body = {"accused": None, "seq": 0, "charge": "altered_log", "statement": "It was not so."}
    dispute = ada.post(f"/v1/games/{game}/disputes", body)
    assert dispute.status_code == 201, dispute.text
    with psycopg.connect(operator.database_url) as owner:
        row = owner.execute(
            "SELECT bundle FROM dispute_bundles WHERE dispute_id = %s", (dispute.json["id"],)
        ).fetchone()
    assert row is not None
    frozen = read_bundle(row[0])
    assert frozen.lines == read_bundle((operator.archive / f"{game}.shx").read_bytes()).lines
    assert REFUSALS in frozen.files


ENDS = {"end_this_session": b"SELECT pg_terminate_backend(pg_backend_pid())"}


class Stopped(BaseException):
    """The process ends here."""


@pytest.mark.parametrize("step", ["before the file", "after the file", "after the events"])
def test_a_run_stopped_at_any_step_is_continued_by_the_next(
    operator: Operator,
    world: World,
    ada: Person,
    bob: Person,
    monkeypatch: pytest.MonkeyPatch,
    step: str,
) -> None:
    games = []
    for _ in range(2):
        game = UUID(two_seats(ada, bob)["game"])
        bob.post(f"/v1/games/{game}/moves", {"type": "forfeit"})
        process_outbox(world, game)
        games.append(game)
    lines = [world.services.game_cache.lines(game) for game in games]

    archive = Owner.archive

    def stopped(owner: Owner, game: UUID, digest: bytes) -> int:
        if step == "after the events":
            archive(owner, game, digest)
        raise Stopped

    def never(*_: object) -> None:
        raise Stopped

    with monkeypatch.context() as patched:
        if step == "before the file":
            patched.setattr("service.store.archive_files.os.open", never)
        else:
            patched.setattr(Owner, "archive", stopped)
        with pytest.raises(Stopped):
            operator.admin("archive", "--older-than", "0", "--to", operator.archive)
    assert [count(operator, "archived", game) for game in games] == [0, 0]
    assert [world.services.game_cache.lines(game) for game in games] == lines

    out = operator.done("archive", "--older-than", "0", "--to", operator.archive)
    assert "2 of 2 games archived" in out
    assert [count(operator, "events", game) for game in games] == [0, 0]
    assert [world.services.game_cache.lines(game) for game in games] == lines
    assert {path.suffix for path in operator.archive.iterdir()} == {".shx"}
    assert "0 of 0" in operator.done("archive", "--older-than", "0", "--to", operator.archive)
    assert [outcome for act, _, outcome in operator.trail() if act == "archive"] == [
        "interrupted archived=0 refused=0",
        "done archived=2 refused=0",
        "done archived=0 refused=0",
    ]


def test_a_run_that_loses_its_connection_or_gets_a_signal_is_recorded(
    operator: Operator,
    world: World,
    ada: Person,
    bob: Person,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`shithead up` ends the process that archives by age with SIGTERM."""
    for _ in range(2):
        game = UUID(two_seats(ada, bob)["game"])
        bob.post(f"/v1/games/{game}/moves", {"type": "forfeit"})
        process_outbox(world, game)
    archive, calls = Owner.archive, list[UUID]()

    def ended(owner: Owner, game: UUID, digest: bytes) -> int:
        calls.append(game)
        if len(calls) == 2:
            os.kill(os.getpid(), signal.SIGTERM)
        if len(calls) == 3:
            owner._database.fetch("end_this_session")
        return archive(owner, game, digest)

    monkeypatch.setattr(Owner, "archive", ended)
    words = ("archive", "--older-than", "0", "--to", operator.archive)
    assert operator.admin(*words)[0] == INTERRUPTED
    monkeypatch.setattr("service.store.operator.query", lambda name: ENDS.get(name) or query(name))
    status, _, err = operator.admin(*words)
    assert (status, "the database does not answer" in err) == (1, True), err
    assert [outcome for act, _, outcome in operator.trail() if act == "archive"] == [
        "interrupted archived=1 refused=0",
        "failed StoreUnavailable archived=0 refused=0",
    ]


def test_a_full_disk_leaves_the_game_in_the_database_and_no_partial_file(
    operator: Operator, world: World, played: Played, monkeypatch: pytest.MonkeyPatch
) -> None:
    game, _ = played

    def full(_handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("service.runtime.atomic_files.os.fsync", full)
    status, _, err = operator.admin("archive", "--game", game, "--to", operator.archive)
    assert (status, "No space left" in err) == (1, True)
    assert count(operator, "archived", game) == 0
    assert list(operator.archive.iterdir()) == []


def test_archive_files_belong_to_the_owner_of_the_folder(tmp_path: Path) -> None:
    """Root may archive for an unprivileged service; other users cannot read the archive."""
    tmp_path.chmod(0o750)
    if os.geteuid() == 0:
        os.chown(tmp_path, 12345, 12345)
    stored = Path(Bundles(tmp_path).keep(UUID(int=1), b"bundle")).stat()
    folder = tmp_path.stat()
    assert (stored.st_uid, stored.st_gid) == (folder.st_uid, folder.st_gid)
    assert stored.st_mode & 0o007 == 0


def test_a_game_is_locked_while_its_archive_file_is_written(
    operator: Operator, world: World, played: Played, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second run would overwrite a file whose hash the first has recorded."""
    game, _ = played
    keep, held = Bundles.keep, []

    def tried(bundles: Bundles, game: UUID, data: bytes) -> str:
        with psycopg.connect(operator.database_url, cursor_factory=psycopg.RawCursor) as second:
            second.execute("SET lock_timeout = '10ms'")
            try:
                second.execute(query("hold_game"), (game,))
            except psycopg.errors.LockNotAvailable:
                held.append(game)
        return keep(bundles, game, data)

    monkeypatch.setattr(Bundles, "keep", tried)
    operator.done("archive", "--game", game, "--to", operator.archive)
    assert held == [game]


@pytest.mark.heavy
def test_two_concurrent_runs_both_complete(
    operator: Operator,
    world: World,
    ada: Person,
    bob: Person,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The second run waits for the locked game, finds it archived and continues."""
    games = []
    for _ in range(3):
        game = UUID(two_seats(ada, bob)["game"])
        bob.post(f"/v1/games/{game}/moves", {"type": "forfeit"})
        process_outbox(world, game)
        games.append(game)
    keep = Bundles.keep
    second: list[subprocess.Popen[str]] = []

    def stored(bundles: Bundles, game: UUID, data: bytes) -> str:
        if not second:  # the first run holds its first game now
            second.append(another_run(operator))
            wait_for(lambda: waits_for_a_lock(operator), seconds=60)
        return keep(bundles, game, data)

    monkeypatch.setattr(Bundles, "keep", stored)
    status, out, err = operator.admin("archive", "--older-than", "0", "--to", operator.archive)
    output = second[0].communicate(timeout=60)
    assert (status, second[0].returncode) == (0, 0), (out, err, output)
    assert "by another run" in out + output[0]
    assert [count(operator, "archived", game) for game in games] == [1, 1, 1]
    assert len(list(operator.archive.glob("*.shx"))) == len(games)


def another_run(operator: Operator) -> subprocess.Popen[str]:
    """Start `shithead admin archive` in a process of its own."""
    command = [sys.executable, "-m", "service.cli", "admin", "--as", "second", "--yes"]
    command += ["--database-url", operator.database_url]
    command += ["--key-file", str(operator.folder / "keys.json")]
    command += ["archive", "--older-than", "0", "--to", str(operator.archive)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def waits_for_a_lock(operator: Operator) -> bool:
    """Return whether a connection to this database waits for another's transaction."""
    with psycopg.connect(operator.database_url) as owner:
        row = owner.execute(
            "SELECT count(*) FROM pg_stat_activity"
            " WHERE datname = current_database() AND wait_event_type = 'Lock'"
        ).fetchone()
    return row is not None and row[0] > 0


def test_running_games_and_games_with_unpublished_events_are_not_archived(
    operator: Operator, world: World, ada: Person, bob: Person
) -> None:
    game = UUID(two_seats(ada, bob)["game"])
    for outcome in ("hand-running", "notifications-pending"):
        status, _, err = operator.admin("archive", "--game", game, "--to", operator.archive)
        assert (status, outcome in err) == (1, True), err
        assert count(operator, "archived", game) == 0
        bob.post(f"/v1/games/{game}/moves", {"type": "forfeit"})
    process_outbox(world, game)
    operator.done("archive", "--game", game, "--to", operator.archive)
    assert operator.admin("archive", "--game", game, "--to", operator.archive)[0] == 1
    assert [outcome for act, _, outcome in operator.trail() if act == "archive"] == [
        *("hand-running", "notifications-pending", "done", "archived")
    ]


def test_only_games_that_are_old_enough_are_archived(
    operator: Operator, world: World, ada: Person, bob: Person
) -> None:
    game = UUID(two_seats(ada, bob)["game"])
    bob.post(f"/v1/games/{game}/moves", {"type": "forfeit"})
    process_outbox(world, game)
    out = operator.done("archive", "--older-than", "1", "--to", operator.archive)
    assert "0 of 0" in out
    assert count(operator, "archived", game) == 0


def test_the_command_needs_the_archive_folder_of_the_service(operator: Operator) -> None:
    status, _, err = operator.admin("archive", "--older-than", "1")
    assert (status, "SHITHEAD_ARCHIVE" in err) == (64, True)


def test_a_game_with_partly_deleted_refused_attempts_is_not_archived(
    operator: Operator, world: World, ada: Person, bob: Person
) -> None:
    """Archiving would delete the remaining evidence with the rows."""
    game = UUID(two_seats(ada, bob)["game"])
    path = f"/v1/games/{game}"
    cards = [own_hand(bob, path)[0], own_hand(ada, path)[0]]
    for _ in range(2):
        ada.post(f"{path}/moves", {"type": "swap", "up": cards[:1], "hand": cards[1:]})
    assert bob.post(f"{path}/moves", {"type": "forfeit"}).status_code == 201
    process_outbox(world, game)
    with psycopg.connect(operator.database_url) as owner:
        owner.execute("DELETE FROM refusals WHERE game_id = %s AND arrival = 1", (game,))
    status, _, err = operator.admin("archive", "--game", game, "--to", operator.archive)
    assert (status, "are not those of its seal" in err) == (1, True)
    assert count(operator, "refusals", game) == 1

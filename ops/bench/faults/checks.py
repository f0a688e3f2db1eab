"""Checks after every run: the logs, the recorded answers and the public log."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

import psycopg

from ops.bench.faults.calls import ChangeRequest, Notes
from ops.bench.faults.load import Reader
from service.public_log.log_client import LogClient
from service.replay.sentences import seat_words
from service.shx.bundle import Bundle
from service.shx.canonical import RecordError, canonical, parse
from service.shx.chain import genesis, head
from service.shx.receipts import check_receipt, receipt_body
from service.shx.tlog.checkpoint import open_checkpoint
from service.shx.tlog.notes import NoteVerifier
from service.shx.tlog.tiles import EMPTY, WIDTH, entry_tiles, grow
from service.shx.tlog.tree import leaf_hash
from service.verify.evidence import OutsideEvidence
from service.verify.finding import Result
from service.verify.verify import verify_bundle

ACTIONS = frozenset(
    {"cards_played", "pile_picked_up", "blind_failed", "stock_failed", "turn_passed"}
    | {"cards_swapped", "table_laid", "seat_ready", "entropy_committed", "entropy_revealed"}
)
"""Events caused by a seat: each move has exactly one, apart from `table_laid` in a layout."""

PUBLISH_SECONDS = 60.0


@dataclass(slots=True, kw_only=True)
class Checked:
    """The number of checks of each kind, and a message for each failure."""

    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


Logs = dict[UUID, tuple[bytes, ...]]


def check_all(owner_url: str, api: str, notes: Notes, readers: Sequence[Reader] = ()) -> Checked:
    """Return the result of all checks after a run, on the database and the API at an address."""
    checked = Checked(wrong=list(notes.wrong))
    logs = stored(owner_url, checked)
    client = LogClient(api)
    keys = client.keys(())
    check_answers(notes, logs, keys, checked)
    check_explained(notes, logs, checked)
    _check_logs(notes, logs, keys, checked)
    for reader in readers:
        check_read(reader, logs, checked)
    _check_tree(client, keys, logs, notes, checked)
    return checked


def stored(owner_url: str, checked: Checked) -> Logs:
    """Read the lines of every game from the tables, and check each stream for gaps and forks."""
    logs: Logs = {}
    with psycopg.connect(owner_url) as connection:
        streams = connection.execute(
            "SELECT stream_id, kind, version, head FROM streams"
        ).fetchall()
        for stream, kind, version, row_head in streams:
            rows = connection.execute(
                "SELECT seq, line FROM events WHERE stream_id = %s ORDER BY seq", (stream,)
            ).fetchall()
            numbered = [(seq, bytes(line)) for seq, line in rows]
            checked.counts["streams without gap or fork"] += 1
            checked.wrong += check_stream(kind, stream, numbered, version, bytes(row_head))
            if kind == "game":
                logs[stream] = tuple(line for _, line in numbered)
        orphans = connection.execute(
            "SELECT count(*) FROM events e LEFT JOIN streams s USING (stream_id)"
            " WHERE s.stream_id IS NULL"
        ).fetchone()
        if orphans is not None and orphans[0]:
            checked.wrong.append(f"{orphans[0]} events of no stream")
    return logs


def check_stream(
    kind: str, stream: UUID, numbered: Sequence[tuple[int, bytes]], version: int, row_head: bytes
) -> list[str]:
    """Return the faults of a stream: its numbers, the hashes of its lines, the head in its row."""
    wrong = []
    if [seq for seq, _ in numbered] != list(range(version)):
        wrong.append(f"{kind} {stream} has a gap")
    if kind != "game":
        return wrong
    last = genesis(stream)
    for _, line in numbered:
        if json.loads(line)["prev"] != last.hex():
            wrong.append(f"game {stream} has a fork")
        last = head(line)
    if last != row_head:
        wrong.append(f"game {stream} has another head than its row")
    return wrong


def check_answers(notes: Notes, logs: Logs, keys: Sequence[NoteVerifier], checked: Checked) -> None:
    """Check that each acknowledged move is in the log once, with the same bytes."""
    taken: dict[tuple[str, int], ChangeRequest] = {}
    for request in notes.requests:
        if request.status != 201:
            continue
        checked.counts["acknowledged moves, each in the log exactly once"] += 1
        answer = json.loads(request.body)
        lines = logs.get(UUID(request.game), ())
        version: int = answer["version"]
        first = version - len(answer["events"])
        if not holds(logs, request):
            checked.wrong.append(f"lost: an acknowledged move of {request.game} at {version}")
            continue
        for seq in range(first, version):
            if (request.game, seq) in taken:
                checked.wrong.append(f"two answers have event {seq} of {request.game}")
            taken[request.game, seq] = request
        try:
            receipt = check_receipt(answer["receipt"].encode(), keys)
        except RecordError as error:
            checked.wrong.append(f"a receipt of {request.game} is invalid: {error.detail}")
            continue
        checked.counts["receipts that name a head of the log"] += 1
        if receipt.seq != version - 1 or receipt.head != head(lines[version - 1]):
            checked.wrong.append(f"a receipt of {request.game} names another head")


def holds(logs: Logs, request: ChangeRequest) -> bool:
    """Return whether the events of an acknowledged move are in the logs, in the same bytes."""
    answer = json.loads(request.body)
    events, version = answer["events"], answer["version"]
    lines = logs.get(UUID(request.game), ())
    return lines[version - len(events) : version] == tuple(canonical(event) for event in events)


def check_explained(notes: Notes, logs: Logs, checked: Checked) -> None:
    """Check that no request took effect twice: each move of a person has its own request."""
    acknowledged, unknown = Counter[tuple[str, int]](), Counter[tuple[str, int]]()
    answered: dict[str, set[int]] = {}
    for request in notes.requests:
        key = (request.game, request.seat if request.seat is not None else -1)
        acknowledged[key] += request.status == 201
        unknown[key] += request.status is None
        if request.status == 201:
            events = json.loads(request.body)["events"]
            answered.setdefault(request.game, set()).update(event["seq"] for event in events)
    for game, lines in logs.items():
        done = _done_by_people(lines, answered.get(str(game), set()))
        for seat, count in done.items():
            key = (str(game), seat)
            checked.counts["moves of people, each requested once"] += count
            least, most = acknowledged[key], acknowledged[key] + unknown[key]
            if not least <= count <= most:
                checked.wrong.append(
                    f"{seat_words(seat)} of {game} moved {count} times; {least} moves were"
                    f" acknowledged, {unknown[key]} requests had no answer"
                )


def _done_by_people(lines: Sequence[bytes], answered: set[int]) -> Counter[int]:
    """
    Return the number of moves by each human seat; `answered` are the events in their answers.

    Moves made by a time-out have the time of `turn_timed_out`. A later move of the seat can have
    the same time if the clock of its process is behind; it is recognized by its answer.
    """
    events = [parse(line) for line in lines]
    seats = events[0]["data"]["seats"]
    done = Counter[int]()
    silent, last = False, ""
    for event in events:
        if event["at"] != last:
            silent, last = False, event["at"]
        if event["type"] == "turn_timed_out":
            silent = True
        seat = event["by"]
        acts = event["type"] in ACTIONS or event["data"].get("reason") == "forfeit"
        own = acts and seat is not None and seats[seat]["kind"] == "human"
        if own and (not silent or event["seq"] in answered):
            done[seat] += 1
    return done


def _check_logs(notes: Notes, logs: Logs, keys: Sequence[NoteVerifier], checked: Checked) -> None:
    """Check that every game is over and that its log verifies with all its receipts."""
    receipts: dict[str, list[bytes]] = {}
    for request in notes.requests:
        if request.status == 201:
            note = json.loads(request.body)["receipt"].encode()
            receipts.setdefault(request.game, []).append(note)
    for name in notes.games:
        if UUID(name) not in logs:
            checked.wrong.append(f"lost: the acknowledged game {name}")
    for game, lines in logs.items():
        checked.counts["games that reached their end"] += 1
        last = parse(lines[-1])["type"]
        if last not in ("game_sealed", "game_aborted"):
            checked.wrong.append(f"game {game} did not reach its end, but {last}")
        evidence = OutsideEvidence(
            receipts=tuple(receipts.get(str(game), ())), server_keys=tuple(keys), seat_keys={}
        )
        report = verify_bundle(Bundle(lines=lines), evidence)
        checked.counts["logs that verify"] += 1
        checked.counts["events in the verified logs"] += len(lines)
        checked.counts["moves of bots in the verified logs"] += _moves_of_bots(lines)
        failed = [one for one in report.findings if one.result is Result.FAIL]
        checked.wrong += [f"game {game}: {one.check}: {one.reason}" for one in failed]


def _moves_of_bots(lines: Sequence[bytes]) -> int:
    events = [parse(line) for line in lines]
    seats = events[0]["data"]["seats"]
    return sum(
        event["type"] in ACTIONS and event["by"] is not None and seats[event["by"]]["kind"] == "bot"
        for event in events
    )


def check_read(reader: Reader, logs: Logs, checked: Checked) -> None:
    """Check that a live reader got each event once, in order, with the bytes of the log."""
    for game, lines in reader.lines.items():
        stored = logs.get(game, ())
        checked.counts["games followed live, over all reconnections"] += game in reader.ended
        checked.counts["events of live streams, each read once"] += len(lines)
        if tuple(lines) != stored[: len(lines)]:
            checked.wrong.append(f"a live reader of {game} got other events than the log has")
        elif game in reader.ended and len(lines) != len(stored):
            checked.wrong.append(f"a live reader of {game} was not sent all its events")


def times_of_bots(logs: Logs) -> list[float]:
    """Return when bots moved, in seconds since 1970."""
    times = []
    for lines in logs.values():
        events = [parse(line) for line in lines]
        seats = events[0]["data"]["seats"]
        for event in events:
            by = event["by"]
            if event["type"] in ACTIONS and by is not None and seats[by]["kind"] == "bot":
                times.append(datetime.fromisoformat(event["at"]).timestamp())
    return times


def _check_tree(
    client: LogClient,
    keys: Sequence[NoteVerifier],
    logs: Logs,
    notes: Notes,
    checked: Checked,
) -> None:
    """Check that every checkpoint is a prefix of the last tree, which has the end of every game."""
    origin = keys[0].name
    last_leaves = {
        receipt_body(origin, game, len(lines) - 1, head(lines[-1])).encode()
        for game, lines in logs.items()
    }
    entries = _published(client, keys, last_leaves)
    missing = last_leaves - set(entries)
    checked.counts["last leaves of games in the tree"] += len(last_leaves) - len(missing)
    if missing:
        checked.wrong.append(f"{len(missing)} games have no last leaf in the public log")
    if len(set(entries)) != len(entries):
        checked.wrong.append("a leaf is in the public log twice")
    roots, edge = {0: EMPTY.root}, EMPTY
    for entry in entries:
        edge, _ = grow(edge, [leaf_hash(entry)])
        roots[edge.size] = edge.root
    for note in [*notes.checkpoints, client.checkpoint()]:
        checkpoint, _, _ = open_checkpoint(note, keys)
        checked.counts["checkpoints of one and the same tree"] += 1
        if roots.get(checkpoint.size) != checkpoint.root:
            checked.wrong.append(f"the tree of {checkpoint.size} leaves has another root")


def _published(client: LogClient, keys: Sequence[NoteVerifier], wanted: set[bytes]) -> list[bytes]:
    """Return all leaves, once the wanted ones are published, or after PUBLISH_SECONDS."""
    end = time.monotonic() + PUBLISH_SECONDS
    while True:
        checkpoint, _, _ = open_checkpoint(client.checkpoint(), keys)
        entries: list[Any] = []
        for tile in entry_tiles(0, checkpoint.size):
            entries += client.entries(tile)
        assert len(entries) <= checkpoint.size + WIDTH
        if wanted <= set(entries) or time.monotonic() > end:
            return entries
        time.sleep(0.5)

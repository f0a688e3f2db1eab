"""The saved log of a player: contradictions are noticed, and seen events are never lost."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import pytest

from service.client.local_log import Contradicted, LocalLog, Share
from service.shx.receipts import check_receipt, issue_receipt
from service.shx.tlog.notes import NoteSigner
from tests.random_games import private_key
from tests.tamper import Forgery, sample_lines

LINES = sample_lines("shithead-keyed")
FIRST = json.loads(LINES[0])
GAME = UUID(FIRST["game"])
SERVER = NoteSigner(name="court.example", key=private_key("server"))


@pytest.fixture
def seen(tmp_path: Path) -> LocalLog:
    """Return a saved log of the first thirty events."""
    (tmp_path / "receipts").mkdir()
    made = LocalLog(GAME, tmp_path)
    made.add(LINES[:30])
    return made


def forged(change: Callable[[Forgery], None]) -> tuple[bytes, ...]:
    forgery = Forgery(LINES)
    change(forgery)
    return forgery.lines()


def with_changed_time(forgery: Forgery) -> None:
    forgery.events[20]["at"] = forgery.events[20]["at"][:20] + "999999Z"


def test_events_that_continue_the_log_are_saved(seen: LocalLog, tmp_path: Path) -> None:
    seen.add(LINES[30:])
    again = LocalLog(GAME, tmp_path)
    assert again.lines == list(LINES)
    again.check_whole(LINES)
    again.check_head(30, seen.heads[29].hex())


def test_an_incomplete_line_is_dropped(seen: LocalLog, tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(path.read_bytes() + LINES[30][:40])
    again = LocalLog(GAME, tmp_path)
    assert again.version == 30
    again.add(LINES[30:31])
    assert LocalLog(GAME, tmp_path).version == 31


@pytest.mark.parametrize(
    "lines",
    [LINES[31:], LINES[29:], forged(with_changed_time)[30:], (b"{}",), sample_lines("leeds")[30:]],
    ids=["a gap", "a repetition", "a changed past", "no event", "another game"],
)
def test_events_that_do_not_continue_the_log_are_a_contradiction(
    seen: LocalLog, lines: tuple[bytes, ...]
) -> None:
    with pytest.raises(Contradicted):
        seen.add(lines)
    assert seen.version == 30


def test_events_before_one_that_contradicts_are_saved(seen: LocalLog, tmp_path: Path) -> None:
    """Without them the file would have a gap if later events were added."""
    with pytest.raises(Contradicted, match="seq 32"):
        seen.add((LINES[30], LINES[31], LINES[33]))
    assert LocalLog(GAME, tmp_path).lines == seen.lines == list(LINES[:32])


def test_a_different_head_or_log_is_a_contradiction(seen: LocalLog) -> None:
    for version, head in ((30, "00" * 32), (31, seen.heads[-1].hex()), (0, "00" * 32)):
        with pytest.raises(Contradicted):
            seen.check_head(version, head)
    seen.add(LINES[30:])
    for lines in (LINES[:-1], forged(with_changed_time)):
        with pytest.raises(Contradicted):
            seen.check_whole(lines)


def test_a_rolled_back_game_is_a_contradiction(seen: LocalLog) -> None:
    """The head is in the log, so a move signed on it would create a second history."""
    seen.check_head(20, seen.heads[19].hex())
    with pytest.raises(Contradicted, match="shows version 20, and has shown 30"):
        seen.check_not_back(20)
    seen.check_not_back(30)
    seen.check_not_back(31)


def test_two_receipts_for_one_version_are_both_saved(seen: LocalLog) -> None:
    """Together they prove, with the server's key, that the server signed two histories."""
    heads = [seen.heads[29], bytes(32)]
    for head in (*heads, *heads):
        note = issue_receipt(SERVER, game=GAME, seq=29, head=head)
        seen.keep_receipt(note, [SERVER.verifier])
    kept = [check_receipt(path.read_bytes(), [SERVER.verifier]) for path in seen.receipts()]
    assert sorted(receipt.head for receipt in kept) == sorted(heads)


def test_receipts_are_saved_and_compared_with_the_log(seen: LocalLog) -> None:
    def note(game: UUID, seq: int, head: bytes) -> bytes:
        return issue_receipt(SERVER, game=game, seq=seq, head=head)

    keys = [SERVER.verifier]
    seen.check_receipt(seen.keep_receipt(note(GAME, 29, seen.heads[29]), keys))
    assert [path.name for path in seen.receipts()] == ["000030.note"]
    with pytest.raises(Contradicted):
        seen.check_receipt(seen.keep_receipt(note(GAME, 12, bytes(32)), keys))
    assert len(seen.receipts()) == 2, "the proof against the server is kept"
    stranger = NoteSigner(name=SERVER.name, key=private_key("stranger"))
    for bad, known in (
        (note(UUID(int=1), 29, seen.heads[29]), keys),
        (note(GAME, 29, seen.heads[29]), [stranger.verifier]),
        (b"no note", keys),
    ):
        with pytest.raises(Contradicted):
            seen.keep_receipt(bad, known)


def test_the_players_key_and_entropy_must_be_in_the_log(seen: LocalLog) -> None:
    """The seat signs no move if the operator replaced its key or entropy."""
    seats = FIRST["data"]["seats"]
    seat = next(n for n, setup in enumerate(seats) if setup["entropy"] == "commit")
    [value] = [e["data"]["value"] for e in seen.of("entropy_revealed") if e["by"] == seat]
    key, entropy = seats[seat]["key"], bytes.fromhex(value)
    share = Share(seat=seat, key=key, entropy="commit", value=entropy)
    seen.check_share(share)
    for other in (
        Share(seat=seat, key="A" * 43 + "=", entropy="commit", value=entropy),
        Share(seat=seat, key=key, entropy="none"),
        Share(seat=seat, key=key, entropy="commit", value=bytes(32)),
    ):
        with pytest.raises(Contradicted):
            seen.check_share(other)


def test_nothing_is_revealed_before_every_commitment_is_in_the_log(tmp_path: Path) -> None:
    """An early reveal would let the server choose the rest of the entropy."""
    last = max(n for n, line in enumerate(LINES) if b'"entropy_committed"' in line)
    made = LocalLog(GAME, tmp_path)
    made.add(LINES[:last])
    assert not made.all_committed()
    made.add(LINES[last : last + 1])
    assert made.all_committed()

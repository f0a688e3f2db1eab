"""A seal names all recorded attempts, even if other processes refuse moves during the seal."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from unittest import mock
from uuid import UUID

import orjson
import psycopg
import pytest

from service.application.calls import Caller, RegisteredPlayer
from service.application.errors import Refusal
from service.application.games.entry import GameEntry
from service.application.tables.record import TableRecord
from service.bootstrap import Services
from service.domain.events import AbortCause, Entropy, GameAborted
from service.keys import KeyringError
from service.shx.bundle import REFUSALS, Bundle, read_bundle
from service.shx.moves import SealedRefusals, seal_of, sealed_refusals
from service.store.games import RefusedMove
from service.verify.finding import Result
from service.verify.verify import verify_bundle
from tests.worlds.fake_world import Deployment, entry_of, lines_of, open_game, post

FORFEIT = {"type": "forfeit"}


@pytest.fixture
def game(services: Services, ada: RegisteredPlayer, bob: RegisteredPlayer) -> UUID:
    """Return a game of two people, in its exchange phase."""
    return open_game(services, ada, ("me", "open"), guests=(bob,))


def attempt(services: Services, player: RegisteredPlayer, game: UUID) -> str:
    """Try to swap cards of the other seat's hand, and return the refusal."""
    entry = entry_of(services, game)
    mine = entry.players.index(player.id)
    hands = [seat.hand for seat in entry.record.game.seats]
    move = {"type": "swap", "up": [hands[1 - mine][0]], "hand": [hands[mine][0]]}
    with pytest.raises(Refusal) as refused:
        post(services, player, game, move)
    return refused.value.code


def bundle_of(services: Services, game: UUID) -> Bundle:
    return read_bundle(services.evidence.bundle(Caller(), game, "public")[1])


def seal_in(services: Services, game: UUID) -> SealedRefusals | None:
    return sealed_refusals(orjson.loads(lines_of(services, game)[-1]))


def assert_proven(services: Services, game: UUID, count: int) -> None:
    """Assert that the bundle has `count` attempts and that the seal names exactly these."""
    bundle = bundle_of(services, game)
    data = bundle.files.get(REFUSALS, b"")
    assert data.count(b"\n") == count
    assert seal_in(services, game) == seal_of(data)
    report = verify_bundle(bundle)
    assert [f for f in report.findings if f.result is Result.FAIL] == []
    assert not any(one.code == "seal.unproven" for one in report.remarks)


@pytest.mark.attack("REFUSALS", "an attempt recorded while the game is sealed", check="the append")
def test_an_attempt_between_decision_and_commit_of_the_seal_is_included(
    deployment: Deployment,
    services: Services,
    ada: RegisteredPlayer,
    bob: RegisteredPlayer,
    game: UUID,
) -> None:
    other, read = deployment.process(), services.game_cache.at_seal
    more: Iterator[Callable[[], str]] = iter([lambda: attempt(other, bob, game)] * 2)
    answered: list[str] = []

    def overtaken(entry: GameEntry) -> tuple[Sequence[RefusedMove], TableRecord]:
        found = read(entry)
        answered.extend(one() for one in [next(more, None)] if one)
        return found

    with mock.patch.object(services.game_cache, "at_seal", overtaken):
        post(services, ada, game, FORFEIT)
    assert answered == ["rule-refused"] * 2
    assert_proven(services, game, 2)


def test_an_attempt_recorded_after_the_seal_is_answered_game_over(
    deployment: Deployment,
    services: Services,
    ada: RegisteredPlayer,
    bob: RegisteredPlayer,
    game: UUID,
) -> None:
    """A rule refused it, and it is recorded only after another process sealed the game."""
    other, store = deployment.process(), services.moves._refusals.store
    assert attempt(services, bob, game) == "rule-refused"

    def late(*words: object) -> bool:
        post(other, ada, game, FORFEIT)
        return store(*words)  # type: ignore[arg-type] # passed on as they came

    with mock.patch.object(services.moves._refusals, "store", late):
        assert attempt(services, bob, game) == "game-over"
    assert attempt(services, bob, game) == "game-over"
    assert_proven(services, game, 1)


def test_an_attempt_concurrent_with_the_seal_is_sealed_or_answered_game_over(
    deployment: Deployment, services: Services, ada: RegisteredPlayer, bob: RegisteredPlayer
) -> None:
    processes = [deployment.process() for _ in range(2)]
    for _ in range(4):
        game, start = open_game(services, ada, ("me", "open"), guests=(bob,)), threading.Barrier(3)

        def tries(process: Services, game: UUID = game, start: threading.Barrier = start) -> int:
            start.wait()
            codes = [attempt(process, bob, game) for _ in range(6)]
            assert set(codes) <= {"rule-refused", "game-over"}
            return codes.count("rule-refused")

        with ThreadPoolExecutor(2) as pool:
            tried = [pool.submit(tries, process) for process in processes]
            start.wait()
            post(services, ada, game, FORFEIT)
            recorded = sum(one.result() for one in tried)
        assert_proven(services, game, recorded)


def test_an_aborted_set_up_is_sealed_with_zero_attempts(
    services: Services, ada: RegisteredPlayer, bob: RegisteredPlayer
) -> None:
    game = open_game(services, ada, ("me", "open"), guests=(bob,), entropy=Entropy.VALUE)
    entry = entry_of(services, game)
    services.moves.apply(entry, (GameAborted(cause=AbortCause.OPERATOR, seat=None),))
    assert_proven(services, game, 0)


def test_moves_out_of_turn_are_not_sealed(
    services: Services, ada: RegisteredPlayer, bob: RegisteredPlayer, game: UUID
) -> None:
    """All are stored alike, so stored data does not show which rule refused a move."""
    for player in (ada, bob):
        post(services, player, game, {"type": "ready"})
    waiting = (bob, ada)[entry_of(services, game).record.game.turn or 0]
    with pytest.raises(Refusal) as refused:
        post(services, waiting, game, {"type": "pick_up", "with": []})
    assert refused.value.code == "not-your-turn"
    assert len(services.directory.refusals(game)) == 1
    post(services, ada, game, FORFEIT)
    assert_proven(services, game, 0)


def test_a_partly_deleted_set_of_attempts_is_not_shown(
    deployment: Deployment,
    services: Services,
    ada: RegisteredPlayer,
    bob: RegisteredPlayer,
    game: UUID,
) -> None:
    """A part proves nothing; the seal still states the number of attempts."""
    for _ in range(3):
        attempt(services, bob, game)
    post(services, ada, game, FORFEIT)
    with psycopg.connect(deployment.url) as owner:
        owner.execute("DELETE FROM refusals WHERE arrival = 2")
    bundle = bundle_of(services, game)
    assert REFUSALS not in bundle.files
    [seal] = [f for f in verify_bundle(bundle).findings if f.check == "seal"]
    assert (seal.result, [one.code for one in seal.notes] == ["seal.missing"]) == (
        Result.PASS,
        True,
    )


@pytest.mark.attack("REFUSALS", "an attempt attributed to another seat", check="encryption at rest")
@pytest.mark.parametrize(
    "change",
    [
        "seat = 0",
        "at = at + interval '1 microsecond'",
        "refusal_id = gen_random_uuid()",
        "game_id = gen_random_uuid()",
    ],
)
def test_an_attempt_moved_to_another_seat_time_or_id_cannot_be_decrypted(
    deployment: Deployment, services: Services, bob: RegisteredPlayer, game: UUID, change: str
) -> None:
    """Seat, time and id are authenticated, so a changed row cannot be decrypted."""
    attempt(services, bob, game)
    with psycopg.connect(deployment.url) as owner:
        [(moved,)] = owner.execute(f"UPDATE refusals SET {change} RETURNING game_id").fetchall()
    with pytest.raises(KeyringError):
        services.moves._refusals.of(moved)

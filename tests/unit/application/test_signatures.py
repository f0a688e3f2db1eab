"""Signed moves: which are accepted, and the reason for which others are refused."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from typing import Any
from uuid import UUID

import orjson
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from service.application.calls import RegisteredPlayer
from service.application.errors import Refusal
from service.bootstrap import Services
from service.shx.moves import intent, sign_intent
from tests.random_games import private_key, public_text
from tests.worlds.fake_world import entry_of, legal, lines_of, open_game, post

KEY = private_key("ada")
READY = {"type": "ready"}
NONCE = "0" * 32


@pytest.fixture
def game(services: Services, ada: RegisteredPlayer) -> UUID:
    """Return a game of Ada, who signs her moves, against a bot."""
    return opened(services, ada, key=public_text(KEY))


def opened(services: Services, host: RegisteredPlayer, *, key: str | None) -> UUID:
    seats = ("me", {"bot": "lowest"})
    return open_game(services, host, seats, ruleset="leeds", window_seconds=0, key=key)


def auth(
    services: Services,
    game: UUID,
    move: dict[str, Any],
    *,
    key: Ed25519PrivateKey = KEY,
    nonce: str = NONCE,
    changes: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    record = entry_of(services, game).record
    seq = record.version - 1
    fields = {"game": game, "seat": 0, "seen_head": record.heads[seq], **(changes or {})}
    return sign_intent(key, intent(**fields, seen_seq=seq, move=move, nonce=nonce))


def refused(services: Services, ada: RegisteredPlayer, game: UUID, body: dict[str, Any]) -> str:
    with pytest.raises(Refusal) as refusal:
        post(services, ada, game, body)
    return refusal.value.code


def swap_of(services: Services, game: UUID) -> dict[str, Any]:
    return next(move for move in legal(services, game, 0) if move["type"] == "swap")


def test_a_signed_move_is_made_and_its_signature_is_in_the_log(
    services: Services, ada: RegisteredPlayer, game: UUID
) -> None:
    signed = auth(services, game, READY)
    post(services, ada, game, {**READY, "auth": signed})
    [line] = [line for line in lines_of(services, game) if b'"seat_ready"' in line]
    assert orjson.loads(line)["auth"] == signed


def test_a_seat_with_a_key_must_sign(services: Services, ada: RegisteredPlayer, game: UUID) -> None:
    assert refused(services, ada, game, READY) == "signature-required"


@pytest.mark.parametrize(
    "changes",
    [{"seat": 1}, {"game": UUID(int=1)}, {"seen_head": bytes(32)}],
    ids=["another seat", "another game", "another history"],
)
def test_a_signature_for_another_context_is_refused(
    services: Services, ada: RegisteredPlayer, game: UUID, changes: dict[str, Any]
) -> None:
    body = {**READY, "auth": auth(services, game, READY, changes=changes)}
    assert refused(services, ada, game, body) == "bad-signature"


def test_a_signature_by_another_key_is_refused(
    services: Services, ada: RegisteredPlayer, game: UUID
) -> None:
    body = {**READY, "auth": auth(services, game, READY, key=private_key("eve"))}
    assert refused(services, ada, game, body) == "bad-signature"


def test_a_signature_of_another_move_is_refused(
    services: Services, ada: RegisteredPlayer, game: UUID
) -> None:
    body = {**swap_of(services, game), "auth": auth(services, game, READY)}
    assert refused(services, ada, game, body) == "bad-signature"


def test_a_malformed_signature_is_refused(
    services: Services, ada: RegisteredPlayer, game: UUID
) -> None:
    short = {**auth(services, game, READY), "sig": b64encode(b"short").decode()}
    assert refused(services, ada, game, {**READY, "auth": short}) == "bad-signature"


def test_a_signature_of_a_seat_without_a_key_is_refused(
    services: Services, bob: RegisteredPlayer, game: UUID
) -> None:
    other = opened(services, bob, key=None)
    body = {**READY, "auth": auth(services, other, READY)}
    assert refused(services, bob, other, body) == "bad-signature"


def test_a_nonce_is_used_once(services: Services, ada: RegisteredPlayer, game: UUID) -> None:
    swap = swap_of(services, game)
    post(services, ada, game, {**swap, "auth": auth(services, game, swap)})
    again = {**READY, "auth": auth(services, game, READY)}
    assert refused(services, ada, game, again) == "nonce-reused"
    fresh = {**READY, "auth": auth(services, game, READY, nonce="1" * 32)}
    post(services, ada, game, fresh)


def test_an_intent_older_than_the_seats_last_action_is_stale(
    services: Services, ada: RegisteredPlayer, game: UUID
) -> None:
    before = auth(services, game, READY, nonce="1" * 32)
    swap = swap_of(services, game)
    post(services, ada, game, {**swap, "auth": auth(services, game, swap)})
    assert refused(services, ada, game, {**READY, "auth": before}) == "stale-version"

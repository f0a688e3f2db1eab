"""Contract tests of every directory for tokens."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest

from schemas.tokens import Scope
from service.store.directory import Directory, StoredToken
from service.store.events import QuotaFull, TokenEnded
from tests.streams import THEN

ALL = tuple(Scope)
MOST = 50


def registered(directory: Directory) -> tuple[UUID, str]:
    """Return a new player and its token."""
    player, token = uuid4(), uuid4().hex
    directory.create_player(
        player=player,
        name="Ann",
        token_hash=hashed(token),
        recovery_hash=hashed(f"code of {player}"),
        at=THEN,
    )
    return player, token


def hashed(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


def issue(
    directory: Directory,
    issuer: str,
    scopes: tuple[str, ...] = ALL,
    *,
    ends_at: datetime | None = None,
    replaces: bool = False,
    most: int = MOST,
) -> tuple[StoredToken, str]:
    """Return a further token and its secret."""
    secret = uuid4().hex
    player = uuid4()  # of the issuer, whatever is stated here
    made = StoredToken(
        id=uuid4(),
        player=player,
        name="bot",
        scopes=scopes,
        created_at=THEN + timedelta(hours=1),
        ends_at=ends_at,
        used_on=None,
    )
    directory.issue_token(issuer, made, hashed(secret), replaces=replaces, most=most)
    return made, secret


def test_a_player_has_one_token_with_all_scopes_at_first(directory: Directory) -> None:
    ann, token = registered(directory)
    [found] = directory.tokens_of(ann)
    assert found == directory.token(hashed(token))
    assert (found.player, found.name, found.scopes) == (ann, "registration", ALL)
    assert (found.created_at, found.ends_at, found.used_on) == (THEN, None, None)


def test_a_further_token_ends_no_other_one(directory: Directory) -> None:
    ann, token = registered(directory)
    made, secret = issue(directory, token, ("read", "play"))
    found = directory.token(hashed(secret))
    assert found is not None
    assert (found.id, found.player, found.scopes) == (made.id, ann, ("read", "play"))
    assert directory.player_by_token(hashed(token)) == directory.player(ann)
    assert directory.player_by_token(hashed(secret)) == directory.player(ann)
    assert next(one.id for one in directory.tokens_of(ann)) == made.id


def test_a_token_that_replaces_its_issuer_ends_it(directory: Directory) -> None:
    ann, token = registered(directory)
    made, secret = issue(directory, token, replaces=True)
    assert [one.id for one in directory.tokens_of(ann)] == [made.id]
    assert directory.token(hashed(token)) is None
    with pytest.raises(TokenEnded):
        issue(directory, token)
    assert directory.token(hashed(secret)) is not None


def test_a_token_never_exceeds_its_issuer(directory: Directory) -> None:
    _, token = registered(directory)
    soon = datetime.now(UTC) + timedelta(hours=1)
    _, limited = issue(directory, token, ("play", "account"), ends_at=soon)
    for scopes, ends_at in (
        (ALL, soon),
        (("play",), None),
        (("play",), soon + timedelta(seconds=1)),
    ):
        with pytest.raises(TokenEnded):
            issue(directory, limited, scopes, ends_at=ends_at)
    issue(directory, limited, ("play",), ends_at=soon)
    _, without = issue(directory, token, ("read", "play", "dispute"))
    with pytest.raises(TokenEnded):
        issue(directory, without, ("read",))
    with pytest.raises(TokenEnded):
        issue(directory, uuid4().hex)


def test_a_token_is_unknown_from_its_end_on(directory: Directory) -> None:
    ann, token = registered(directory)
    made, secret = issue(directory, token, ends_at=datetime.now(UTC) - timedelta(seconds=1))
    assert directory.token(hashed(secret)) is None
    assert directory.player_by_token(hashed(secret)) is None
    assert made.id not in {one.id for one in directory.tokens_of(ann)}


def test_only_tokens_that_have_not_ended_count_for_the_quota(directory: Directory) -> None:
    _, token = registered(directory)
    issue(directory, token, ends_at=datetime.now(UTC) - timedelta(seconds=1), most=2)
    issue(directory, token, most=2)
    with pytest.raises(QuotaFull):
        issue(directory, token, most=2)
    issue(directory, token, replaces=True, most=2)


def test_a_token_is_ended_by_its_player_only(directory: Directory) -> None:
    ann, token = registered(directory)
    _, other = registered(directory)
    made, secret = issue(directory, token, ("read", "play"))
    assert not directory.end_token(other, made.id)
    with pytest.raises(TokenEnded):
        directory.end_token(secret, made.id)
    assert directory.token(hashed(secret)) is not None
    assert directory.end_token(token, made.id)
    assert not directory.end_token(token, made.id)
    assert directory.token(hashed(secret)) is None
    [own] = directory.tokens_of(ann)
    assert directory.end_token(token, own.id), "the token of the request itself"
    with pytest.raises(TokenEnded):
        directory.end_token(token, own.id)


def test_the_recovery_code_and_an_erasure_end_all_tokens(directory: Directory) -> None:
    ann, token = registered(directory)
    issue(directory, token)
    assert directory.recover(f"code of {ann}", hashed("new")) == ann
    [own] = directory.tokens_of(ann)
    assert (own.name, own.scopes) == ("recovery", ALL)
    assert directory.token(hashed(token)) is None
    assert directory.erase("new", THEN)
    assert not directory.tokens_of(ann)
    assert directory.player_by_token(hashed("new")) is None


def test_the_day_of_the_last_use_is_stored(directory: Directory) -> None:
    _, token = registered(directory)
    directory.note_token_use(hashed(token))
    directory.note_token_use(b"unknown")
    found = directory.token(hashed(token))
    assert found is not None
    assert found.used_on is not None
    assert abs(found.used_on - datetime.now(UTC).date()) <= timedelta(days=1)


def test_only_a_full_token_changes_what_outlasts_it(directory: Directory) -> None:
    """Another one renews the recovery code with the present one only."""
    ann, token = registered(directory)
    soon, code = datetime.now(UTC) + timedelta(hours=1), f"code of {ann}"
    _, ending = issue(directory, token, ends_at=soon)
    _, partial = issue(directory, token, ("read", "account"))
    for limited in (ending, partial):
        assert directory.renew_recovery(limited, None, hashed("new")) is False
        assert directory.renew_recovery(limited, "wrong", hashed("new")) is False
        assert not directory.erase(limited, THEN)
    assert directory.renew_recovery(token, "wrong", hashed("new")) is False
    assert directory.renew_recovery(uuid4().hex, code, hashed("new")) is None
    assert directory.renew_recovery(partial, code, hashed("new"))
    assert directory.renew_recovery(token, None, hashed("newer"))
    assert directory.recover("newer", hashed("back")) == ann

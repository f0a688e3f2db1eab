"""Lists of server keys: a malformed list is refused with its reason, not with another error."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import pytest

from service.shx.canonical import RecordError
from service.shx.keys import read_key_list
from service.shx.tlog.notes import NoteVerifier
from tests.random_games import private_key

ORIGIN, SINCE = "example.org", "2026-05-04T12:30:00.000000Z"
PUBLIC = private_key("server").public_key().public_bytes_raw()


def listed(**changes: Any) -> dict[str, Any]:
    """Return a key as `/v1/keys` lists it."""
    return {
        "id": NoteVerifier(name=ORIGIN, public=PUBLIC).key_id.hex(),
        "name": ORIGIN,
        "public": b64encode(PUBLIC).decode(),
        "from": SINCE,
        "to": None,
        "signed_by_previous": None,
        **changes,
    }


def test_a_list_has_its_keys_with_their_dates() -> None:
    keys = read_key_list({"items": [listed(), listed(to=SINCE)]}).keys
    assert [(key.verifier.public, key.since, key.until) for key in keys] == [
        (PUBLIC, SINCE, None),
        (PUBLIC, SINCE, SINCE),
    ]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"to": "tomorrow"}, "a key whose end is not a time"),
        ({"to": "2026-13-04T12:30:00.000000Z"}, "a key whose end is not a time"),
        ({"to": 5}, "a key whose end is not a time"),
        ({"public": "AAAA"}, "a malformed key"),
        ({"public": b64encode(bytes(32)).decode()}, "a key of small order, which proves nothing"),
        ({"signed_by_previous": "?"}, "a malformed key"),
        ({"name": "example.net"}, "the id does not match the name and key"),
        ({"public": None}, "not a list of keys"),
    ],
)
def test_a_malformed_key_is_refused(changes: dict[str, Any], reason: str) -> None:
    """A reader that follows a log states the fault; it does not fail later at a comparison."""
    with pytest.raises(RecordError, match=reason) as refused:
        read_key_list({"items": [listed(**changes)]})
    assert refused.value.code == "bad_keys"


@pytest.mark.parametrize("answer", [None, [], {}, {"items": {}}, {"items": [None]}])
def test_an_answer_without_keys_is_refused(answer: Any) -> None:
    with pytest.raises(RecordError, match="not a list of keys"):
        read_key_list(answer)

"""The first OpenAPI document of a process: one call makes it, and few calls wait for it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, as_completed
from itertools import islice
from threading import Event
from typing import cast

import pytest

from service.api.openapi import ApiDocument, Document
from service.application.errors import Refusal


class SlowApi:
    """An API whose document is finished when `go_on` is set."""

    def __init__(self) -> None:
        self.go_on = Event()
        self.made = 0

    def to_dict(self) -> dict[str, object]:
        self.made += 1
        assert self.go_on.wait(10)
        return {"paths": {}, "components": {"schemas": {}, "responses": {}}}


def test_four_calls_wait_for_the_first_document_and_others_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("service.api.openapi.add_examples", lambda _made: None)
    api = SlowApi()
    document = Document(cast("ApiDocument", api))
    with ThreadPoolExecutor(6) as pool:
        calls = [pool.submit(lambda: document.value) for _ in range(6)]
        refused = [one.exception() for one in islice(as_completed(calls), 2)]
        api.go_on.set()
        values = [one.result() for one in calls if not one.exception()]
    assert [one.code for one in refused if isinstance(one, Refusal)] == ["unavailable"] * 2
    assert len(values) == 4
    assert document.value is values[0]
    assert api.made == 1

"""HTTP client of the API: JSON, token, idempotent retries."""

from __future__ import annotations

import http.client
import json
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

PATIENCE: Final = 40.0  # seconds; longer than any long poll
TRIES: Final = 6
PAUSE: Final = 0.5  # seconds before asking again, doubled each time
MOST: Final = 256 << 20  # bytes of one answer
NDJSON: Final = "application/x-ndjson"


class NotAnswered(Exception):
    """The service cannot be reached, or its response is invalid."""


class Refused(Exception):
    """The service refused a request with a problem (api.md, section 1)."""

    def __init__(self, problem: Mapping[str, Any]) -> None:
        super().__init__(str(problem.get("detail")))
        self.problem = problem

    @property
    def kind(self) -> str:
        """Return the type of the problem, such as `rule-refused`."""
        return str(self.problem.get("type", "")).removeprefix("/problems/")

    @property
    def text(self) -> str:
        """Return why, with the statement that decides it where there is one."""
        rule, text = self.problem.get("rule"), self.problem.get("rule_text")
        said = str(self.problem.get("detail"))
        return f"{said} [{rule}] {text or ''}".rstrip() if rule else said


@dataclass(kw_only=True)
class Api:
    """One service, with the token and invite of a player."""

    url: str  # of the service, without /v1
    token: str | None = field(default=None, repr=False)
    invite: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if urlsplit(self.url).scheme not in ("http", "https"):
            raise NotAnswered(f"{self.url} is no address like http://127.0.0.1:8080")
        local = urlsplit(self.url).hostname in ("127.0.0.1", "::1", "localhost")
        past_proxies = [urllib.request.ProxyHandler({})] if local else []
        self._opener = urllib.request.build_opener(*past_proxies)

    def get(self, path: str) -> Any:
        """Return the JSON at a path below /v1."""
        return self._json(self._ask("GET", path))

    def lines(self, path: str) -> tuple[bytes, ...]:
        """Return stored lines, byte for byte."""
        data = self._ask("GET", path, accept=NDJSON)
        return tuple(data.removesuffix(b"\n").split(b"\n")) if data else ()

    def data(self, path: str) -> bytes:
        """Return the content at a path."""
        return self._ask("GET", path, accept="*/*")

    def post(self, path: str, body: Any, *, once: bool = False) -> Any:
        """
        Return the answer to a POST, repeated under one key where none came.

        `once`: for what answers with a token, which takes no such key.
        """
        key = None if once else str(uuid.uuid4())
        return self._json(self._ask("POST", path, body, key=key, tries=1 if once else TRIES))

    def patch(self, path: str, body: Any) -> Any:
        """Return the answer to a PATCH."""
        return self._json(self._ask("PATCH", path, body))

    def _ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        accept: str = "application/json",
        key: str | None = None,
        tries: int = TRIES,
    ) -> bytes:
        headers = {"Accept": f"{accept}, application/problem+json;q=0.1"}
        headers |= {"Authorization": f"Bearer {self.token}"} if self.token else {}
        headers |= {"Shithead-Invite": self.invite} if self.invite else {}
        headers |= {"Idempotency-Key": key} if key else {}
        sent = None
        if body is not None:
            headers["Content-Type"], sent = "application/json", json.dumps(body).encode()
        request = urllib.request.Request(  # noqa: S310 - the scheme was looked at above
            f"{self.url}/v1{path}", data=sent, headers=headers, method=method
        )
        return self._tried(request, tries)

    def _tried(self, request: urllib.request.Request, tries: int) -> bytes:
        """Return the answer; asks again where none came, or where there is none for the moment."""
        for left in range(tries - 1, -1, -1):
            try:
                with self._opener.open(request, timeout=PATIENCE) as answer:
                    data = bytes(answer.read(MOST + 1))
            except urllib.error.HTTPError as error:
                refused = _refused(error)
                if error.code not in (429, 503) or not left:
                    raise refused from None
                time.sleep(_pause(error))
            except (OSError, http.client.HTTPException) as error:
                if not left:
                    raise NotAnswered(f"{self.url} does not answer: {error}") from None
                time.sleep(PAUSE * 2 ** (tries - 1 - left))
            else:
                if len(data) > MOST:
                    raise NotAnswered(f"{self.url} sends more than {MOST} bytes")
                return data
        raise NotAnswered(f"{self.url} does not answer")

    def _json(self, data: bytes) -> Any:
        try:
            return json.loads(data)
        except ValueError:
            raise NotAnswered(f"{self.url} does not answer with JSON") from None


def _refused(error: urllib.error.HTTPError) -> Exception:
    try:
        problem = json.loads(error.read(1 << 20))
        return Refused({"detail": problem["title"], **problem})
    except (ValueError, KeyError, TypeError, OSError):
        return NotAnswered(f"{error.url} answers {error.code}")


def _pause(error: urllib.error.HTTPError) -> float:
    """Return how long to wait before asking again, as the answer says it, within reason."""
    after = error.headers.get("Retry-After", "")
    return min(float(after), 10.0) if after.isdecimal() else 1.0

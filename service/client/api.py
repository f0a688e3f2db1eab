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

TIMEOUT: Final = 40.0  # seconds; longer than any long poll
ATTEMPTS: Final = 6
FIRST_PAUSE: Final = 0.5  # seconds before the second attempt, doubled for each further one
MAX_RESPONSE: Final = 256 << 20  # bytes
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
        """Return the detail of the problem, with the rule that it cites, if any."""
        rule, text = self.problem.get("rule"), self.problem.get("rule_text")
        detail = str(self.problem.get("detail"))
        return f"{detail} [{rule}] {text or ''}".rstrip() if rule else detail


@dataclass(kw_only=True)
class Api:
    """Calls of one service, with the token and invite of a player."""

    url: str  # of the service, without /v1
    token: str | None = field(default=None, repr=False)
    invite: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if urlsplit(self.url).scheme not in ("http", "https"):
            raise NotAnswered(f"{self.url} is not an address such as http://127.0.0.1:8080")
        local = urlsplit(self.url).hostname in ("127.0.0.1", "::1", "localhost")
        no_proxies = [urllib.request.ProxyHandler({})] if local else []
        self._opener = urllib.request.build_opener(*no_proxies)

    def get(self, path: str) -> Any:
        """Return the JSON at a path below /v1."""
        return self._json(self._ask("GET", path))

    def lines(self, path: str) -> tuple[bytes, ...]:
        """Return the stored lines at a path, unchanged."""
        data = self._ask("GET", path, accept=NDJSON)
        return tuple(data.removesuffix(b"\n").split(b"\n")) if data else ()

    def data(self, path: str) -> bytes:
        """Return the content at a path."""
        return self._ask("GET", path, accept="*/*")

    def post(self, path: str, body: Any, *, once: bool = False) -> Any:
        """
        Return the answer to a POST; it is repeated with one idempotency key until answered.

        With `once` it is sent once, without a key: for calls that answer with a token.
        """
        key = None if once else str(uuid.uuid4())
        return self._json(self._ask("POST", path, body, key=key, tries=1 if once else ATTEMPTS))

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
        tries: int = ATTEMPTS,
    ) -> bytes:
        headers = {"Accept": f"{accept}, application/problem+json;q=0.1"}
        headers |= {"Authorization": f"Bearer {self.token}"} if self.token else {}
        headers |= {"Shithead-Invite": self.invite} if self.invite else {}
        headers |= {"Idempotency-Key": key} if key else {}
        sent = None
        if body is not None:
            headers["Content-Type"], sent = "application/json", json.dumps(body).encode()
        request = urllib.request.Request(  # noqa: S310 - the scheme was checked in __post_init__
            f"{self.url}/v1{path}", data=sent, headers=headers, method=method
        )
        return self._tried(request, tries)

    def _tried(self, request: urllib.request.Request, tries: int) -> bytes:
        """Return the answer; repeats the request after no response, 429 or 503."""
        for left in range(tries - 1, -1, -1):
            try:
                with self._opener.open(request, timeout=TIMEOUT) as answer:
                    data = bytes(answer.read(MAX_RESPONSE + 1))
            except urllib.error.HTTPError as error:
                refused = _refused(error)
                if error.code not in (429, 503) or not left:
                    raise refused from None
                time.sleep(_pause(error))
            except (OSError, http.client.HTTPException) as error:
                if not left:
                    raise NotAnswered(f"{self.url} does not answer: {error}") from None
                time.sleep(FIRST_PAUSE * 2 ** (tries - 1 - left))
            else:
                if len(data) > MAX_RESPONSE:
                    raise NotAnswered(f"{self.url} sends more than {MAX_RESPONSE} bytes")
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
    """Return the seconds until the next attempt: `Retry-After`, at most 10."""
    after = error.headers.get("Retry-After", "")
    return min(float(after), 10.0) if after.isdecimal() else 1.0

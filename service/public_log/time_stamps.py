"""Time-stamp tokens (RFC 3161) over checkpoints, by an authority that the operator names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from cryptography.x509 import Certificate

from service.public_log.log import LogStore, StampedHead
from service.runtime.config import Setting
from service.runtime.http_client import CallFailed, call
from service.shx.time_stamps import StampRefused, client_library, read_certificates, read_token
from service.shx.tlog.notes import parse_note

TIMEOUT: Final = 5.0
"""Seconds for the whole answer of an authority."""

MAX_ANSWER: Final = 1 << 15
"""Bytes of an answer with its certificates; usual ones have 3,000 to 8,000."""

EACH: Final = timedelta(days=1)
"""Time after which a log that has grown is stamped again."""

MAX_SKEW: Final = timedelta(minutes=10)
"""Difference of the authority's clock from this one beyond which a token is refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Authority:
    """A time-stamp authority: its address, and the certificates that its tokens lead to."""

    url: str
    roots: tuple[Certificate, ...]


def _authority(value: str) -> Authority:
    url, _, path = value.partition(" ")
    if not url.startswith(("https://", "http://")) or not path.startswith("/"):
        raise ValueError("is not `https://authority /path/to/certificates.pem`")
    try:
        roots = read_certificates(Path(path).read_bytes())
    except (OSError, ValueError):
        raise ValueError(f"names no readable certificates: {path}") from None
    return Authority(url=url, roots=roots)


AUTHORITY: Final[Setting[Authority | None]] = Setting(
    name="time_stamps",
    default=None,
    read=_authority,
    section="Public log",
    unit="`url path`",
    effect="Authority (RFC 3161) that stamps the log once a day, and the file of its certificates",
)


class TimeStamping:
    """
    Has the newest signed checkpoint stamped once a day, and after a dispute was opened.

    The token is over the text of the checkpoint, so it holds for every signature below it. Nothing
    waits for it: a dispute that is decided first has the token of the day before.
    """

    def __init__(
        self, *, store: LogStore, authority: Authority | None, now: Callable[[], datetime]
    ) -> None:
        self._store = store
        self._authority = authority
        self._now = now

    def is_due(self) -> bool:
        """Return whether the log has grown, and is to be stamped now."""
        published, stamped = self._store.published(), self._store.stamped(1)
        if self._authority is None or published is None or published.size == 0:
            return False
        if not stamped:
            return True
        [last] = stamped
        opened = self._store.newest_dispute()
        is_disputed = opened is not None and opened > last.added_at
        is_old = self._now() - last.added_at >= EACH
        return published.size > last.size and (is_disputed or is_old)

    def stamp(self) -> StampedHead | None:
        """
        Request and store a token if one is due; return it.

        Raises StampRefused for an authority that is silent, slow, lies, or whose clock is wrong or
        went back.
        """
        authority, published = self._authority, self._store.published()
        if authority is None or published is None or not self.is_due():
            return None
        text = parse_note(published.note).text
        answer, time = ask(authority, text)
        stamped, now = self._store.stamped(1), self._now()
        if abs(time - now) > MAX_SKEW:
            raise StampRefused(f"its time is {time:%Y-%m-%dT%H:%M:%SZ}, not within 10 minutes")
        if stamped and time < stamped[0].at:
            raise StampRefused("its time is before that of its last token")
        made = StampedHead(
            size=published.size, authority=authority.url, at=time, added_at=now, answer=answer
        )
        self._store.keep_stamp(made)
        return made


def ask(authority: Authority, text: str) -> tuple[bytes, datetime]:
    """Return an authority's answer for a text, and the time in it; raises StampRefused."""
    client = client_library()
    builder = client.TimestampRequestBuilder(
        data=text.encode(), hash_algorithm=client.HashAlgorithm.SHA256
    )
    request = builder.build()
    headers = {"Content-Type": "application/timestamp-query"}
    try:
        reply = call(
            authority.url,
            seconds=TIMEOUT,
            most=MAX_ANSWER,
            data=request.as_bytes(),
            headers=headers,
        )
    except CallFailed as error:
        raise StampRefused(f"it does not answer: {error}") from None
    if reply.status != 200:
        raise StampRefused(f"it answers {reply.status}")
    return reply.body, read_token(reply.body, text, authority.roots, request.nonce)

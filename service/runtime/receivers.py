"""
HTTP requests to addresses that players chose, sent to the very address that was checked.

A name is looked up once for each request. Every address that it leads to has to be public, and the
connection is opened to one of these, so that a name that changes between check and use leads
nowhere else. TLS still verifies the name, and `Host` still states it.

A lookup can outlast its request by minutes, because the system does not end it, so lookups are
counted for those who cause them (`NameLookups`).
"""

from __future__ import annotations

import re
import socket
import ssl
import threading
import time
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as LateError
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any, Final
from urllib.error import URLError
from urllib.parse import urlsplit
from uuid import UUID

from service.runtime.config import Setting, switch
from service.runtime.http_client import CallFailed, Reply, Route, call

SECONDS: Final = 5.0
"""Time limit for a whole request, from the lookup of the name to the end of the answer."""

MAX_ECHO: Final = 1 << 10
"""Bytes of the answer to a ping that are read; of other answers the status alone."""

MAX_URL: Final = 500

MAX_LOOKUPS: Final = 32
"""Lookups of a process at a time, until the system ends them."""

UNPROVEN_LOOKUPS: Final = 16
"""How many of these may be for webhooks whose last request did not succeed."""

LOOKUPS_OF_ONE: Final = 4
"""How many may be for one network address, or for names of one domain; a player has one."""

_ATTEMPTS: Final = 3  # addresses of one name that are tried
_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")
"""The last part of a host that the system reads as an IPv4 address in one of its old forms."""

_GLOBAL_UNICAST: Final = IPv6Network("2000::/3")
"""The part of IPv6 that the registry allocates to machines of the Internet."""

_SPECIAL: Final = tuple(
    ip_network(block)
    for block in (
        # IANA's registry of special IPv4 addresses, whether routed or not, and 224.0.0.0/4
        *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16"),
        *("172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24"),
        *("192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15"),
        *("198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"),
        # that of IPv6, in 2000::/3
        *("2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20"),
    )
)
_ISATAP: Final = frozenset({0x0000_5EFE, 0x0200_5EFE})
"""The begin of an interface identifier that names an IPv4 address, which can be a private one."""

Address = IPv4Address | IPv6Address

Resolve = Callable[[str], Sequence[str]]
"""Returns the addresses of a name; raises OSError if there are none."""


LOOPBACK: Final = Setting(
    name="webhook_loopback",
    default=False,
    read=switch,
    section="Servers and addresses",
    unit="on or off",
    effect="Webhooks to this machine, also by http; for trials only",
)


class ReceiverFault(StrEnum):
    """Why a receiver did not accept a request."""

    ADDRESS = "address"  # the name leads to no public address
    CONNECTION = "connection"  # refused, or lost before the end of the answer
    CERTIFICATE = "certificate"
    LATE = "late"  # no answer in time
    ANSWER = "answer"  # not HTTP
    REDIRECT = "redirect"
    STATUS = "status"  # another one than 2xx
    GONE = "gone"  # 410: the receiver wants nothing more
    ECHO = "echo"  # the answer to a ping is not its challenge
    TOKEN = "token"  # noqa: S105 - that of the webhook has ended
    SECRET = "secret"  # noqa: S105 - no key decrypts the secret, so nothing can be signed


class NotDelivered(Exception):
    """A receiver did not accept a request; `retry_after` is its header as it was sent."""

    def __init__(
        self, fault: ReceiverFault, status: int | None = None, retry_after: str | None = None
    ) -> None:
        super().__init__(fault)
        self.fault = fault
        self.status = status
        self.retry_after = retry_after


def addresses_of(name: str) -> Sequence[str]:
    """Return the addresses of a name, as the system looks them up; raises OSError."""
    found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def url_fault(url: str, *, loopback: bool) -> str | None:
    """
    Return a code of why an address cannot be that of a receiver, None if it may be.

    It is `https`; with `loopback` also `http`, for trials on one machine. An IP address is a public
    one; whether a name leads to such addresses is checked with each request.
    """
    if len(url) > MAX_URL or not url.isascii() or not url.isprintable() or " " in url:
        return "form"
    try:
        parts = urlsplit(url)
        port, host = parts.port, parts.hostname
    except ValueError:
        return "address"
    if parts.scheme != "https" and not (loopback and parts.scheme == "http"):
        return "scheme"
    if not host or "%" in host:
        return "host"
    if parts.username is not None or "#" in url:
        return "login"
    if port is not None and port != 443 and not 1024 <= port <= 65535:
        return "port"
    is_address = ":" in host or _NUMBER.fullmatch(host.rstrip(".").rpartition(".")[2])
    if is_address and not _permits(url, host, loopback=loopback):
        return "private"
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sender:
    """For whom a request is sent: the player, and the network address that named the receiver."""

    player: UUID
    origin: str  # equal for equal addresses
    is_proven: bool  # whether the last request to the receiver succeeded


class LookupsBusy(Exception):
    """The sender's share of lookups is in use, so nothing was tried; no fault of the receiver."""


class NameLookups:
    """
    Lookups of names, with shares, so that silent name servers of one player delay no other.

    A lookup counts until the system ends it. Those of webhooks whose last request succeeded are
    counted apart from the others, so silence delays a proven receiver of somebody else only if it
    comes from many addresses that had proven receivers themselves.
    """

    def __init__(self) -> None:
        self._counts = Counter[Hashable]()
        self._lock = threading.Lock()

    @property
    def held(self) -> int:
        """Return the number of lookups that have not ended."""
        return self._counts["all"]

    def begin(self, resolve: Resolve, host: str, sender: Sender) -> Future[Sequence[str]]:
        """Begin to look up a name in a thread of its own; raises LookupsBusy."""
        proven = sender.is_proven
        shares: dict[Hashable, int] = {
            "all": MAX_LOOKUPS,
            ("proven", proven): MAX_LOOKUPS if proven else UNPROVEN_LOOKUPS,
            ("origin", proven, sender.origin): LOOKUPS_OF_ONE,
            ("domain", proven, domain_of(host)): LOOKUPS_OF_ONE,
            ("player", sender.player): 1,
        }
        with self._lock:
            if any(self._counts[key] >= share for key, share in shares.items()):
                raise LookupsBusy
            self._counts.update(shares.keys())
        found = Future[Sequence[str]]()

        def look() -> None:
            try:
                found.set_result(resolve(host))
            except Exception as error:  # noqa: BLE001 - raised where the result is awaited
                found.set_exception(error)
            finally:
                with self._lock:
                    self._counts.subtract(shares.keys())
                    self._counts += Counter()  # forgets what is 0

        threading.Thread(target=look, name="lookup", daemon=True).start()
        return found


def domain_of(host: str) -> str:
    """
    Return the part of a name below which one owner chooses the name servers, by rule of thumb.

    >>> domain_of("a.b.bots.example"), domain_of("x.bots.co.uk"), domain_of("example")
    ('bots.example', 'bots.co.uk', 'example')
    """
    labels = host.rstrip(".").lower().split(".")
    is_shared = len(labels) > 2 and len(labels[-1]) == 2 and len(labels[-2]) <= 3  # as co.uk
    return ".".join(labels[-3 if is_shared else -2 :])


@dataclass(frozen=True, slots=True, kw_only=True)
class Receivers:
    """
    Sends requests to receivers.

    `resolve` is the only place at which a name becomes an address; tests replace it. `loopback`
    admits receivers on this machine, for trials.
    """

    loopback: bool = False
    resolve: Resolve = addresses_of
    trust: ssl.SSLContext | None = None
    lookups: NameLookups = field(default_factory=NameLookups)

    def post(
        self, url: str, body: bytes, headers: Mapping[str, str], sender: Sender, *, most: int = 0
    ) -> Reply:
        """
        Return the answer 2xx to a POST, with `most` bytes; raises NotDelivered for anything else.

        Raises LookupsBusy, and sends nothing, if the sender's share of lookups is in use.
        """
        end = time.monotonic() + SECONDS
        host = urlsplit(url).hostname or ""
        addresses = self._checked(self._addresses(host, end, sender), url)
        route = Route(connect=_connecting(addresses), trust=self.trust or _system_trust())
        left = max(0.1, end - time.monotonic())
        try:
            reply = call(
                url, seconds=left, most=most, cut=True, data=body, headers=headers, route=route
            )
        except CallFailed as failed:
            raise NotDelivered(_fault_of(failed.cause)) from None
        if 200 <= reply.status < 300:
            return reply
        raise NotDelivered(_fault_of_status(reply.status), reply.status, reply.retry_after)

    def _addresses(self, host: str, end: float, sender: Sender) -> Sequence[str]:
        """Return the addresses of a host, which is its own address or a name to be looked up."""
        with suppress(ValueError):
            return [str(ip_address(host))]
        looking = self.lookups.begin(self.resolve, host, sender)
        try:
            return looking.result(timeout=max(0.1, end - time.monotonic()))
        except LateError:
            raise NotDelivered(ReceiverFault.LATE) from None
        except (OSError, UnicodeError):
            raise NotDelivered(ReceiverFault.ADDRESS) from None

    def _checked(self, found: Sequence[str], url: str) -> Sequence[str]:
        """Return addresses if all are permitted; raises NotDelivered."""
        if not found or not all(_permits(url, one, loopback=self.loopback) for one in found):
            raise NotDelivered(ReceiverFault.ADDRESS)
        return found[:_ATTEMPTS]


def _permits(url: str, text: str, *, loopback: bool) -> bool:
    try:
        address = ip_address(text)
    except ValueError:  # with a zone, as of a link
        return False
    if loopback and address.is_loopback:
        return True
    return not url.startswith("http:") and is_public(address)


@cache
def _system_trust() -> ssl.SSLContext:
    """Return the certificates of the system, which take 20 ms to read."""
    return ssl.create_default_context()


def is_public(address: Address) -> bool:
    """
    Return whether an address can belong to a machine of the public Internet.

    Of IPv6 only what is allocated to machines, without what is mapped or translated to IPv4.
    `is_global` of the standard library has the registries of its release.

    >>> is_public(ip_address("9.9.9.9")), is_public(ip_address("169.254.169.254"))
    (True, False)
    >>> is_public(ip_address("2620:fe::fe")), is_public(ip_address("::ffff:9.9.9.9"))
    (True, False)
    """
    if isinstance(address, IPv6Address):
        is_isatap = int(address) >> 32 & 0xFFFF_FFFF in _ISATAP
        if address not in _GLOBAL_UNICAST or is_isatap:
            return False
    return not any(address in block for block in _SPECIAL if block.version == address.version)


def _connecting(addresses: Sequence[str]) -> Callable[..., socket.socket]:
    """Return a function that connects to one of these addresses, whatever name it is given."""

    def connect(place: tuple[str, int], *args: Any, **more: Any) -> socket.socket:
        fault: OSError = ConnectionError()
        for address in addresses:
            try:
                return socket.create_connection((address, place[1]), *args, **more)
            except OSError as error:
                fault = error
        raise fault

    return connect


def _fault_of(cause: Exception | None) -> ReceiverFault:
    if cause is None or isinstance(cause, TimeoutError):
        return ReceiverFault.LATE
    reason = cause.reason if isinstance(cause, URLError) else cause
    if isinstance(reason, TimeoutError):
        return ReceiverFault.LATE
    if isinstance(reason, ssl.SSLError):
        return ReceiverFault.CERTIFICATE
    return ReceiverFault.CONNECTION if isinstance(reason, OSError) else ReceiverFault.ANSWER


def _fault_of_status(status: int) -> ReceiverFault:
    if status == 410:
        return ReceiverFault.GONE
    return ReceiverFault.REDIRECT if 300 <= status < 400 else ReceiverFault.STATUS

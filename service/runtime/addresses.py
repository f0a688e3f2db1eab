"""Addresses in settings and on the command line, read alike by every Python."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from ipaddress import AddressValueError, IPv6Address, ip_address
from typing import Final
from urllib.parse import unquote, urlsplit

# `urlsplit` of some releases of Python refuses brackets in lists of hosts and in passwords, and
# some strip blanks. It is used here only, for addresses of one host.
_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_HOST: Final = re.compile(r"(?:\[(?P<v6>[^\[\]@]*)\]|(?P<name>[^\[\]:@\s]*))(?::(?P<port>[0-9]*))?")
_WEB: Final = re.compile(r"https?://[!-~]+", re.IGNORECASE)

SENTINEL_PORT: Final = 26379


@dataclass(frozen=True, slots=True, kw_only=True)
class SentinelAddress:
    """The Sentinels that know the master `name`, and the login of servers and Sentinels."""

    hosts: tuple[tuple[str, int], ...]
    user: str | None
    password: str | None = field(repr=False)
    name: str
    database: int
    tls: bool


def scheme_of(address: str) -> str:
    """Return the scheme of an address in lower case; empty if it has none."""
    match = _SCHEME.match(address)
    return match[1].lower() if match else ""


def uses_sentinel(redis_url: str) -> bool:
    """Return whether an address names Sentinels: `redis+sentinel://host:26379,host2:26379/NAME`."""
    return scheme_of(redis_url) in {"redis+sentinel", "rediss+sentinel"}


def sentinels_of(url: str) -> SentinelAddress:
    """Return what an address of Sentinels names; raises ValueError, without the password."""
    places, _, rest = url.partition("://")[2].partition("/")
    login, _, hosts = places.rpartition("@")
    path, _, query = rest.partition("?")
    known = tuple(_host_and_port(one) for one in hosts.split(","))
    if not all(host for host, _ in known):
        raise ValueError("has an empty host of a Sentinel")
    name = path.removesuffix("/")
    if not re.fullmatch(r"[^/?#]+", name):
        raise ValueError("must have the name of the master, and nothing else, as its path")
    number = re.fullmatch(r"(?:db=([0-9]{1,9}))?", query)
    if number is None:
        raise ValueError("has a query other than the number of a database: ?db=1")
    user, _, password = (unquote(word) for word in login.partition(":"))
    return SentinelAddress(
        hosts=known,
        user=user or None,
        password=password or None,
        name=name,
        database=int(number[1] or 0),
        tls=scheme_of(url) == "rediss+sentinel",
    )


def check_redis_url(url: str) -> None:
    """Raise ValueError, without the password, unless `url` is an address of Redis or Sentinels."""
    if uses_sentinel(url):
        sentinels_of(url)
        return
    if scheme_of(url) not in {"redis", "rediss", "unix"} or "://" not in url:
        raise ValueError(
            "is not an address like redis://host:6379/0, unix:///path?db=0 or "
            "redis+sentinel://host:26379,host2:26379/NAME"
        )
    places = re.split("[/?#]", url.partition("://")[2], maxsplit=1)[0]
    login, _, host = places.rpartition("@")
    if re.search(r"[\[\]]", login):
        raise ValueError("has a bracket in its user or password: write %5B and %5D")
    _host_and_port(host)


def is_web_address(address: str) -> bool:
    """Return whether this is an address of a website, `http://…` or `https://…`, with a host."""
    if not _WEB.fullmatch(address):
        return False
    try:
        parts = urlsplit(address)
        return bool(parts.hostname) and (parts.port or 0) >= 0
    except ValueError:
        return False


def is_this_machine(host: str) -> bool:
    """Return whether a host is this machine, by its address or as `localhost`."""
    if host == "localhost":
        return True
    try:
        address = ip_address(host)
    except ValueError:
        return False
    # Before Python 3.13 the mapped form of 127.0.0.1 is no loopback address.
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback


def _host_and_port(text: str) -> tuple[str, int]:
    """Return host and port of a Redis or Sentinel; raises ValueError."""
    match = _HOST.fullmatch(text)
    if match is None or int(match["port"] or 0) > 65535:
        raise ValueError("has a port that is not a number from 0 to 65535")
    if match["v6"] is not None:
        try:
            IPv6Address(match["v6"])
        except AddressValueError:
            raise ValueError("has a host in brackets that is no IPv6 address") from None
    return match["v6"] or match["name"] or "", int(match["port"] or SENTINEL_PORT)

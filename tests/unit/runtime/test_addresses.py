"""Addresses are read alike by every Python."""

from __future__ import annotations

import pytest

from service.runtime.addresses import (
    SentinelAddress,
    is_this_machine,
    is_web_address,
    scheme_of,
    sentinels_of,
)


def test_every_sentinel_of_an_address_is_read_with_the_common_login() -> None:
    read = sentinels_of("rediss+sentinel://ada:p%40[ss@one,[::1]:26380,10.0.0.7:1/main?db=3")
    assert read == SentinelAddress(
        hosts=(("one", 26379), ("::1", 26380), ("10.0.0.7", 1)),
        user="ada",
        password="p@[ss",
        name="main",
        database=3,
        tls=True,
    )
    assert "p@[" not in repr(read)


def test_an_address_of_sentinels_needs_no_login() -> None:
    read = sentinels_of("redis+sentinel://one/main/")
    assert (read.user, read.password, read.database, read.tls) == (None, None, 0, False)


def test_a_scheme_is_read_in_lower_case() -> None:
    assert [scheme_of(one) for one in ("Redis+Sentinel://h/m", "unix:///p", "h", " redis://h")] == [
        *("redis+sentinel", "unix", "", "")
    ]


@pytest.mark.parametrize(
    ("address", "valid"),
    [
        ("http://127.0.0.1:8080", True),
        ("HTTPS://cards.example/v1", True),
        ("http://[::1]:8080/", True),
        (" http://cards.example", False),
        ("http://cards.example ", False),
        ("http://cards\t.example", False),
        ("http://[::1", False),
        ("http://[one]", False),
        ("http://one:two", False),
        ("http://one:99999", False),
        ("http:///path", False),
        ("http:", False),
        ("ftp://cards.example", False),
    ],
)
def test_an_address_of_a_website_has_a_host_and_no_blank(address: str, valid: bool) -> None:
    assert is_web_address(address) is valid


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"])
def test_a_loopback_address_is_this_machine_also_in_its_mapped_form(host: str) -> None:
    assert is_this_machine(host)


@pytest.mark.parametrize("host", ["10.0.0.7", "one", "", "::ffff:10.0.0.7", "127.0.0.01"])
def test_another_host_is_not_this_machine(host: str) -> None:
    assert not is_this_machine(host)

"""Requests to receivers: addresses that are refused, and receivers that do not behave."""

from __future__ import annotations

import ssl
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address, ip_network
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from service.runtime import receivers as module
from service.runtime.receivers import (
    LOOKUPS_OF_ONE,
    UNPROVEN_LOOKUPS,
    LookupsBusy,
    NotDelivered,
    ReceiverFault,
    Receivers,
    Sender,
    is_public,
    url_fault,
)
from tests.changed import replace
from tests.receivers import Receiver, receiver
from tests.running import wait_for

EVENT = b'{"type":"your_turn"}'
NAME = "hook.test"
ADA = Sender(player=UUID(int=1), origin="here", is_proven=True)


@pytest.fixture
def local() -> Iterator[Receiver]:
    with receiver() as made:
        yield made


def fault_of(receivers: Receivers, url: str) -> tuple[ReceiverFault, int | None]:
    with pytest.raises(NotDelivered) as refused:
        receivers.post(url, EVENT, {}, ADA)
    return refused.value.fault, refused.value.status


def names(*answers: Sequence[str]) -> Callable[[str], Sequence[str]]:
    """Return a resolver that gives one answer after another, then fails the test."""
    left = list(answers)

    def resolve(name: str) -> Sequence[str]:
        assert name == NAME
        return left.pop(0)

    return resolve


@pytest.mark.parametrize(
    "text",
    [
        *("127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.0.1", "169.254.169.254", "0.0.0.0"),
        *("100.64.0.1", "192.0.2.1", "224.0.0.1", "255.255.255.255", "240.0.0.1"),
        *("::1", "::", "fe80::1", "fc00::1", "ff02::1", "2001:db8::1", "4000::1"),
        *("::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::"),
    ],
)
def test_addresses_that_are_not_of_the_public_internet_are_refused(text: str) -> None:
    assert not is_public(ip_address(text))
    receivers = Receivers(resolve=names([text], ["9.9.9.9", text]))
    url = f"https://{NAME}/"
    assert fault_of(receivers, url) == (ReceiverFault.ADDRESS, None)
    assert fault_of(receivers, url) == (ReceiverFault.ADDRESS, None), "one of several is enough"


REGISTERED = (
    # IANA: IPv4 Special-Purpose Address Registry, and multicast
    *("0.0.0.0/8", "0.0.0.0/32", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16"),
    *("172.16.0.0/12", "192.0.0.0/24", "192.0.0.0/29", "192.0.0.8/32", "192.0.0.9/32"),
    *("192.0.0.10/32", "192.0.0.170/32", "192.0.0.171/32", "192.0.2.0/24", "192.31.196.0/24"),
    *("192.52.193.0/24", "192.88.99.0/24", "192.88.99.2/32", "192.168.0.0/16", "192.175.48.0/24"),
    *("198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4", "255.255.255.255/32"),
    "224.0.0.0/4",
    # IANA: IPv6 Special-Purpose Address Registry
    *("::1/128", "::/128", "::ffff:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64"),
    *("100:0:0:1::/64", "2001::/23", "2001::/32", "2001:1::1/128", "2001:1::2/128"),
    *("2001:1::3/128", "2001:2::/48", "2001:3::/32", "2001:4:112::/48", "2001:10::/28"),
    *("2001:20::/28", "2001:30::/28", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48"),
    *("3fff::/20", "5f00::/16", "fc00::/7", "fe80::/10"),
    # IANA: Internet Protocol Version 6 Address Space, but 2000::/3
    *("::/8", "100::/8", "200::/7", "400::/6", "800::/5", "1000::/4", "4000::/3", "6000::/3"),
    *("8000::/3", "a000::/3", "c000::/3", "e000::/4", "f000::/5", "f800::/6", "fe00::/9"),
    *("fec0::/10", "ff00::/8"),
)


@pytest.mark.parametrize("block", REGISTERED)
def test_no_address_of_a_registered_block_is_public(block: str) -> None:
    network = ip_network(block)
    inside = (network[0], network[network.num_addresses // 2], network[-1])
    assert not any(is_public(address) for address in inside)


@pytest.mark.parametrize(
    "text",
    [
        *("9.9.9.9", "1.0.0.0", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0"),
        *("126.255.255.255", "128.0.0.0", "169.253.255.255", "169.255.0.0", "172.15.255.255"),
        *("172.32.0.0", "191.255.255.255", "192.0.1.0", "192.0.3.0", "192.88.98.255"),
        *("192.88.100.0", "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0"),
        *("198.51.99.255", "198.51.101.0", "203.0.112.255", "203.0.114.0", "223.255.255.255"),
        *("2000::", "2001:200::", "2001:db7:ffff::", "2001:db9::", "2001:ffff::", "2003::"),
        *("2620:fe::fe", "2620:4f:7fff::", "2620:4f:8001::", "3ffe:ffff::1", "3fff:1000::"),
    ],
)
def test_addresses_beside_these_blocks_are_public(text: str) -> None:
    assert is_public(ip_address(text))


@pytest.mark.parametrize("text", ["2a00::5efe:a00:1", "2a00:1:2:3:200:5efe:10.0.0.1"])
def test_an_interface_that_names_an_ipv4_address_is_not_public(text: str) -> None:
    """ISATAP: a host on the way can pass it on to that address."""
    assert not is_public(ip_address(text))


@pytest.mark.parametrize(
    "host",
    [
        *("10.0.0.1", "127.0.0.1", "[::1]", "[fec0::1]", "[::ffff:9.9.9.9]", "9.9.9", "2130706433"),
        *("0x7f.1", "0x7f000001", "127.1.", "010.0.0.1"),
    ],
)
def test_an_address_that_is_not_public_is_refused_when_it_is_set(host: str) -> None:
    assert url_fault(f"https://{host}/", loopback=False) == "private"


def test_a_public_address_or_one_of_this_machine_on_trial_may_be_set() -> None:
    for url in ("https://9.9.9.9/", "https://[2620:fe::fe]:8443/"):
        assert url_fault(url, loopback=False) is None
    for url in ("https://127.0.0.1/", "http://[::1]:8000/"):
        assert url_fault(url, loopback=True) is None
    assert url_fault("http://9.9.9.9/", loopback=True) == "private"


@pytest.mark.parametrize(
    "url",
    [
        *(
            "http://a.example/",
            "ftp://a.example/",
            "https://",
            "https:///x",
            "https://a@b.example/",
        ),
        *("https://a.example:22/", "https://a.example/#x", "https://a.example:0/", "javascript:1"),
        *(
            "https://a.example/ x",
            "https://ä.example/",
            "https://[fe80::1%25eth0]/",
            "https://[x]/",
        ),
        *("https://a.example/\nx", "https://a.example/\x7f"),  # urlsplit deletes a line break
        "https://a.example/" + "x" * 500,
    ],
)
def test_an_address_of_another_form_is_refused(url: str) -> None:
    assert url_fault(url, loopback=False) is not None


def test_an_address_over_http_is_for_trials_on_this_machine_alone() -> None:
    assert url_fault("https://a.example:8443/x?y=1", loopback=False) is None
    assert url_fault("http://127.0.0.1:8000/", loopback=True) is None
    public = Receivers(loopback=True, resolve=names(["9.9.9.9"]))
    assert fault_of(public, f"http://{NAME}/") == (ReceiverFault.ADDRESS, None)
    assert fault_of(Receivers(), "https://127.0.0.1:9/") == (ReceiverFault.ADDRESS, None)


def test_a_name_that_changes_between_check_and_use_leads_nowhere_else(local: Receiver) -> None:
    """The name is looked up once; the system, asked for it again, would know no such name."""
    receivers = Receivers(loopback=True, resolve=names(["127.0.0.1"], ["10.0.0.1"]))
    url = f"http://{NAME}:{local.port}/hook"
    assert receivers.post(url, EVENT, {"webhook-id": "1"}, ADA).status == 200
    [(headers, body)] = local.got
    assert (headers["host"], headers["webhook-id"]) == (f"{NAME}:{local.port}", "1")
    assert body == EVENT
    assert fault_of(receivers, url) == (ReceiverFault.ADDRESS, None), (
        "it changes before the next use"
    )
    assert len(local.got) == 1


def test_the_next_address_of_a_name_is_tried_if_one_refuses(local: Receiver) -> None:
    receivers = Receivers(loopback=True, resolve=names(["127.0.0.2", "127.0.0.1"]))
    assert receivers.post(f"http://{NAME}:{local.port}/", EVENT, {}, ADA).status == 200


@pytest.mark.parametrize(
    ("answer", "fault", "status"),
    [
        (500, ReceiverFault.STATUS, 500),
        (404, ReceiverFault.STATUS, 404),
        (410, ReceiverFault.GONE, 410),
        ("redirect", ReceiverFault.REDIRECT, 307),
        ("hang", ReceiverFault.LATE, None),
        ("drip", ReceiverFault.LATE, None),
    ],
)
def test_a_receiver_that_does_not_accept_a_request_is_named_by_its_fault(
    local: Receiver,
    monkeypatch: pytest.MonkeyPatch,
    answer: int | str,
    fault: ReceiverFault,
    status: int | None,
) -> None:
    monkeypatch.setattr(module, "SECONDS", 0.5)
    local.answers.append(answer)
    begun = time.monotonic()
    assert fault_of(Receivers(loopback=True), local.url) == (fault, status)
    assert time.monotonic() - begun < 2
    assert len(local.got) == 1, "a redirect is not followed"


@pytest.mark.parametrize("answer", ["long", "begun"])
def test_a_success_is_one_whatever_follows_its_head(
    local: Receiver, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    """A body that is long, or does not end, is not read; of the answer to a ping its begin is."""
    monkeypatch.setattr(module, "SECONDS", 1.0)
    local.answers += [answer, answer]
    receivers = Receivers(loopback=True)
    assert receivers.post(local.url, EVENT, {}, ADA).status == 200
    assert receivers.post(local.url, EVENT, {}, ADA, most=9).body == b"x" * 9


def test_the_pause_that_a_receiver_asks_for_is_passed_on_as_it_was_sent(local: Receiver) -> None:
    local.answers, local.asks = [503, 429], "  soon; 9"
    for status in (503, 429):
        with pytest.raises(NotDelivered) as refused:
            Receivers(loopback=True).post(local.url, EVENT, {}, ADA)
        assert (refused.value.status, refused.value.retry_after) == (status, "soon; 9")


def test_a_head_without_end_is_cut_off(local: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.runtime.http_client.HEAD_BYTES", -(16 << 10) + 20)
    assert fault_of(Receivers(loopback=True), local.url) == (ReceiverFault.ANSWER, None)


def test_a_lookup_that_hangs_ends_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SECONDS", 0.2)

    def hang(_name: str) -> Sequence[str]:
        time.sleep(1)
        return []

    begun = time.monotonic()
    assert fault_of(Receivers(resolve=hang), "https://a.example/") == (ReceiverFault.LATE, None)
    assert time.monotonic() - begun < 0.8


class Silent:
    """Name servers that do not answer until they are released."""

    def __init__(self) -> None:
        self.asked = Counter[str]()
        self.released = threading.Event()

    def __call__(self, name: str) -> Sequence[str]:
        self.asked[name] += 1
        self.released.wait(20)
        return ["10.0.0.1"]


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> Iterator[Silent]:
    monkeypatch.setattr(module, "SECONDS", 0.0)  # which leaves a lookup a tenth of a second
    made = Silent()
    yield made
    made.released.set()


def outcome(receivers: Receivers, host: str, sender: Sender) -> str:
    try:
        receivers.post(f"https://{host}/", EVENT, {}, sender)
    except LookupsBusy:
        return "busy"
    except NotDelivered as failed:
        return failed.fault.value
    return "sent"


def senders(count: int, *, origin: str = "there", is_proven: bool = False) -> list[Sender]:
    made = (uuid4() for _ in range(count))
    return [Sender(player=one, origin=origin, is_proven=is_proven) for one in made]


@pytest.mark.parametrize("of", ["a player", "a domain", "an address"])
def test_lookups_that_the_system_does_not_end_use_up_a_share_and_no_more(
    silent: Silent, of: str
) -> None:
    """Requests beyond the share are not tried, and others are; an ended lookup frees its place."""
    receivers, share = Receivers(resolve=silent), 1 if of == "a player" else LOOKUPS_OF_ONE
    ones = senders(1) * 6 if of == "a player" else senders(6)
    if of == "a domain":
        ones = [replace(one, origin=str(n)) for n, one in enumerate(ones)]
    hosts = [f"{n}.one.example" if of == "a domain" else f"{n}.example" for n in range(6)]
    found = [outcome(receivers, host, one) for host, one in zip(hosts, ones, strict=True)]
    assert found == ["late"] * share + ["busy"] * (6 - share)
    [other] = senders(1, origin="elsewhere")
    assert outcome(receivers, "else.example", other) == "late"
    silent.released.set()
    wait_for(lambda: outcome(receivers, hosts[-1], ones[-1]) == "address", seconds=5)


def test_silent_name_servers_of_many_addresses_leave_the_lookups_of_proven_receivers(
    silent: Silent,
) -> None:
    receivers = Receivers(resolve=silent)
    many = [one for n in range(10) for one in senders(2, origin=str(n))]
    found = Counter(outcome(receivers, f"{n}.example", one) for n, one in enumerate(many))
    assert found == {"late": UNPROVEN_LOOKUPS, "busy": len(many) - UNPROVEN_LOOKUPS}
    [proven] = senders(1, origin="0", is_proven=True)
    assert outcome(receivers, "0.example", proven) == "late"


def test_an_address_needs_no_lookup(silent: Silent) -> None:
    receivers, [one] = Receivers(resolve=silent), senders(1)
    assert outcome(receivers, "a.example", one) == "late"
    assert outcome(receivers, "b.example", one) == "busy"
    for host in ("127.0.0.1", "[::1]", "[::ffff:10.0.0.1]"):
        assert outcome(receivers, host, one) == "address"
    assert silent.asked == {"a.example": 1}


def test_nobody_listens_or_no_such_name() -> None:
    closed = Receivers(loopback=True, resolve=names(["127.0.0.1"]))
    assert fault_of(closed, f"http://{NAME}:9/") == (ReceiverFault.CONNECTION, None)
    unknown = Receivers(resolve=lambda _name: (_ for _ in ()).throw(OSError()))
    assert fault_of(unknown, "https://a.example/") == (ReceiverFault.ADDRESS, None)


def test_tls_verifies_the_name_at_the_checked_address(tmp_path: Path) -> None:
    certificate, trust = certified(NAME, tmp_path)
    with receiver(trust=certificate) as made:
        receivers = Receivers(loopback=True, resolve=lambda _name: ["127.0.0.1"], trust=trust)
        assert receivers.post(f"https://{NAME}:{made.port}/", EVENT, {}, ADA).status == 200
        assert made.got[0][0]["host"] == f"{NAME}:{made.port}"
        other = f"https://other.test:{made.port}/"
        assert fault_of(receivers, other) == (ReceiverFault.CERTIFICATE, None)
        untrusted = Receivers(loopback=True, resolve=lambda _name: ["127.0.0.1"])
        assert fault_of(untrusted, f"https://{NAME}:{made.port}/") == (
            ReceiverFault.CERTIFICATE,
            None,
        )
    assert len(made.got) == 1


def certified(name: str, folder: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Return the contexts of a server with a certificate of its own, and of a client of it."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = made.public_bytes(serialization.Encoding.PEM)
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    file = folder / "server.pem"
    file.write_bytes(pem + private)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(file)
    return server, ssl.create_default_context(cadata=pem.decode())

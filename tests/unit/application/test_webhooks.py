"""Webhooks: what a receiver is sent, when, and when nothing more."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from standardwebhooks import webhooks as library

from schemas.webhooks import FAULTS, STATES
from service.application.calls import Caller, RegisteredPlayer, any_version
from service.application.errors import Refusal
from service.application.tokens import TokenRequest
from service.application.webhooks import (
    IN_USE_SECONDS,
    LEASE,
    LOOK_EVERY,
    LOOK_SOON,
    OFF_AFTER,
    WebhookRequest,
    asked_pause,
)
from service.bootstrap import Services
from service.client import NotSigned, webhook_event
from service.domain.events import Entropy
from service.keys import Keyring
from service.runtime.http_client import Reply
from service.runtime.receivers import (
    LookupsBusy,
    NotDelivered,
    ReceiverFault,
    Receivers,
    Sender,
)
from service.shx.canonical import parse_time
from service.store.webhooks import StoredWebhook, WebhookState
from tests.changed import replace
from tests.unit.application.conftest import SharedStore
from tests.worlds.fake_world import SetWorld, entry_of, open_game, post

URL = "https://bots.example/hook"
ALL = ("your_turn", "hand_dealt", "hand_sealed", "seat_taken", "table_closed")


@dataclass(frozen=True, kw_only=True)
class Scripted(Receivers):
    """Receivers that answer as a test asks them to; pings with their challenge."""

    got: list[tuple[Mapping[str, str], bytes]] = field(default_factory=list)
    faults: list[ReceiverFault | None] = field(default_factory=list)
    retry_after: str | None = None
    echoes: list[bytes] = field(default_factory=list)
    busy: list[bool] = field(default_factory=list)  # one for each request that finds no free share
    senders: list[Sender] = field(default_factory=list)
    meanwhile: list[Callable[[], object]] = field(default_factory=list)  # during the next requests

    def post(
        self, url: str, body: bytes, headers: Mapping[str, str], sender: Sender, *, most: int = 0
    ) -> Reply:
        assert url == URL
        if self.busy:
            self.busy.pop()
            raise LookupsBusy
        self.senders.append(sender)
        self.got.append((headers, body))
        if self.meanwhile:
            self.meanwhile.pop(0)()
        fault = self.faults.pop(0) if self.faults else None
        if fault is not None:
            status = 500 if fault is ReceiverFault.STATUS else None
            raise NotDelivered(fault, status, self.retry_after)
        echo = json.loads(body).get("challenge", "").encode()
        answer = self.echoes.pop(0) if self.echoes else echo
        return Reply(status=200, media_type="text/plain", body=answer)

    @property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(body) for _, body in self.got]

    def take(self) -> list[str]:
        """Return the types of what was sent, and forget it."""
        types = [event["type"] for event in self.events]
        self.got.clear()
        return types


@pytest.fixture
def receivers() -> Scripted:
    return Scripted()


@pytest.fixture
def services(deployment: SharedStore, receivers: Scripted) -> Services:
    return deployment.process(receivers=receivers)


@dataclass(kw_only=True)
class Owner:
    """A player with a token."""

    player: RegisteredPlayer
    token: str
    services: Services
    secret: str = ""

    def set(self, *types: str, url: str = URL) -> dict[str, Any]:
        wanted = WebhookRequest(url=url, types=types or ALL, address="192.0.2.1")
        made = self.services.webhooks.set(self.player, self.token, wanted)
        self.secret = made["secret"]
        return made

    def stored(self) -> StoredWebhook:
        found = self.services.directory.webhook(self.player.id)
        assert found is not None
        return found

    def shown(self) -> dict[str, Any]:
        return self.services.webhooks.show(self.player)


def owner(services: Services, name: str = "Ada") -> Owner:
    made = services.players.register(name)
    player = RegisteredPlayer(id=UUID(made["id"]), name=name)
    return Owner(player=player, token=made["token"], services=services)


@pytest.fixture
def ada(services: Services) -> Owner:
    return owner(services)


@pytest.fixture
def bob(services: Services) -> Owner:
    return owner(services, "Bob")


def work(services: Services) -> list[str]:
    """Do the jobs of all webhooks that are due, until none is; return the outcomes."""
    outcomes = []
    while claimed := services.webhooks.claim():
        outcomes += [services.webhooks.deliver(player, claim) for player, claim in claimed]
    return outcomes


def dealt(ada: Owner, bob: Owner) -> UUID:
    return open_game(ada.services, ada.player, ("me", "open"), guests=(bob.player,))


def pass_time(services: Services, seconds: float) -> None:
    assert isinstance(services.world, SetWorld)
    services.world.wait(seconds)


def wake(services: Services, *changed: UUID) -> None:
    services.webhooks.wake(changed)


def test_nothing_is_sent_before_a_ping_was_echoed_and_then_all_that_is_open(
    services: Services, receivers: Scripted, ada: Owner, bob: Owner
) -> None:
    game = dealt(ada, bob)
    receivers.echoes.append(b'{"challenge": "x"}')
    made = ada.set()
    assert made["state"] == "waiting"
    assert work(services) == ["failing"]
    assert receivers.take() == ["ping"]
    assert (ada.shown()["fault"], ada.shown()["waiting"]) == ("echo", 0)
    wake(services, game)
    assert work(services) == [], "it is not woken while it fails"
    pass_time(services, 5)
    assert work(services) == ["more", "on"]
    assert receivers.take() == ["ping", "seat_taken", "hand_dealt", "your_turn"]
    assert (ada.shown()["state"], ada.shown()["fault"]) == ("on", None)


def test_requests_are_signed_as_standard_webhooks_and_state_ids_versions_and_times_only(
    services: Services,
    receivers: Scripted,
    ada: Owner,
    bob: Owner,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    game = dealt(ada, bob)
    ada.set("your_turn")
    work(services)
    headers, body = receivers.got[-1]

    class Now(library.datetime):  # type: ignore[name-defined,misc] # what the library imports
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return services.world.now().astimezone(tz)

    monkeypatch.setattr(library, "datetime", Now)
    event: dict[str, Any] = dict(webhook_event(ada.secret, headers, body))
    version = event["version"]
    assert headers["webhook-id"] == f"your_turn-{game}-{version}"
    assert event.keys() == {"type", "timestamp", "id", "version", "table", "game", "ends_at"}
    assert (event["id"], event["type"]) == (str(game), "your_turn")
    secret, stored = b64decode(ada.secret.removeprefix("whsec_")), ada.stored()
    assert len(secret) == 32
    assert secret not in stored.secret, "it is encrypted"
    assert URL not in repr(stored)
    signature = headers["webhook-signature"]
    for changed in (
        *({"webhook-id": "x"}, {"webhook-timestamp": "1"}, {"webhook-timestamp": "nan"}),
        *({"webhook-signature": one} for one in ("", "v1", "v1,%", f"v2{signature[2:]}")),
    ):
        with pytest.raises(NotSigned):
            webhook_event(ada.secret, {**headers, **changed}, body)
    for wrong in (body + b" ", b"\xff"):
        with pytest.raises(NotSigned):
            webhook_event(ada.secret, headers, wrong)


def test_each_turn_is_sent_once_and_a_later_one_replaces_one_that_waits(
    services: Services, receivers: Scripted, ada: Owner, bob: Owner
) -> None:
    game = dealt(ada, bob)
    ada.set("your_turn")
    work(services)
    assert receivers.take() == ["ping", "your_turn"]
    wake(services, game)
    assert work(services) == ["on"]
    assert receivers.take() == [], "nothing is new"
    post(services, bob.player, game, {"type": "ready"})
    receivers.faults.append(ReceiverFault.CONNECTION)
    wake(services, game)
    assert work(services) == ["failing"]
    [lost] = receivers.events
    receivers.take()
    post(services, ada.player, game, {"type": "ready"})
    pass_time(services, 5)
    work(services)
    versions = [event["version"] for event in receivers.events]
    assert lost["version"] not in versions


def test_a_process_that_is_killed_between_the_request_and_its_record_sends_it_again(
    services: Services, receivers: Scripted, ada: Owner, bob: Owner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the same id and body, after the claim has expired; and no sooner."""
    dealt(ada, bob)
    ada.set("hand_dealt")
    [(player, claim)] = services.webhooks.claim()
    services.webhooks.deliver(player, claim)
    receivers.take()

    def killed(*_args: object) -> bool:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(services.directory, "note_webhook_sent", killed)
        [(player, claim)] = services.webhooks.claim()
        with pytest.raises(KeyboardInterrupt):
            services.webhooks.deliver(player, claim)
    assert work(services) == []
    pass_time(services, LEASE.total_seconds())
    assert work(services) == ["on"]
    first, second = receivers.got
    assert (first[0]["webhook-id"], first[1]) == (second[0]["webhook-id"], second[1])


def test_what_no_outbox_announced_is_found_by_the_next_look(
    services: Services, receivers: Scripted, ada: Owner, bob: Owner
) -> None:
    """A relay was killed after it had taken the rows: no webhook was woken."""
    ada.set("hand_dealt", "hand_sealed")
    work(services)
    game = dealt(ada, bob)
    pass_time(services, LOOK_EVERY.total_seconds() * 1.2)
    work(services)
    assert receivers.take() == ["ping", "hand_dealt"]
    post(services, bob.player, game, {"type": "forfeit"})
    pass_time(services, LOOK_EVERY.total_seconds() * 1.2)
    work(services)
    assert receivers.take() == ["hand_sealed"]


def test_what_happens_just_after_the_first_webhook_was_set_is_sent_within_seconds(
    deployment: SharedStore, services: Services, receivers: Scripted, ada: Owner, bob: Owner
) -> None:
    """Another process still assumes that there is no webhook, and wakes none."""
    relay = deployment.process(receivers=receivers)
    wake(relay, ada.player.id)
    ada.set("hand_dealt")
    work(services)
    wake(relay, dealt(ada, bob))
    assert work(services) == []
    assert 0.8 * LOOK_SOON.total_seconds() > IN_USE_SECONDS, "with the least jitter"
    pass_time(services, 1.2 * LOOK_SOON.total_seconds())
    assert work(services) == ["on"]
    assert receivers.take() == ["ping", "hand_dealt"]


def test_what_began_and_ended_between_two_looks_is_sent_once(
    services: Services, receivers: Scripted, ada: Owner, bob: Owner
) -> None:
    """Hands that were dealt and sealed while nothing looked, at tables that are closed by now."""
    ada.set("hand_dealt", "hand_sealed", "table_closed")
    work(services)
    receivers.take()
    for _ in range(2):
        game = dealt(ada, bob)
        pass_time(services, 60)
        post(services, bob.player, game, {"type": "forfeit"})
        close(ada, game)
    pass_time(services, LOOK_EVERY.total_seconds() * 1.2)
    work(services)
    sent = receivers.take()
    assert sorted(sent) == ["hand_dealt"] * 2 + ["hand_sealed"] * 2 + ["table_closed"] * 2
    pass_time(services, LOOK_EVERY.total_seconds() * 1.2)
    work(services)
    assert receivers.take() == []


def test_what_began_and_ended_before_the_first_look_is_sent(
    services: Services, receivers: Scripted, ada: Owner, bob: Owner
) -> None:
    """The receiver was confirmed, and the job with the first look was lost."""
    ada.set("hand_dealt", "hand_sealed", "table_closed")
    [(player, claim)] = services.webhooks.claim()
    assert services.webhooks.deliver(player, claim) == "more"
    game = dealt(ada, bob)
    pass_time(services, 60)
    post(services, bob.player, game, {"type": "forfeit"})
    close(ada, game)
    pass_time(services, LOOK_EVERY.total_seconds() * 1.2)
    receivers.take()
    work(services)
    assert sorted(receivers.take()) == ["hand_dealt", "hand_sealed", "table_closed"]


def test_the_end_of_a_hand_waits_for_the_receiver_and_what_is_no_longer_open_does_not(
    services: Services, receivers: Scripted, ada: Owner, bob: Owner
) -> None:
    ada.set()
    work(services)
    game = dealt(ada, bob)
    receivers.faults.append(ReceiverFault.STATUS)
    wake(services, game)
    work(services)
    assert ada.shown()["status"] == 500
    assert ada.shown()["waiting"] == 3
    receivers.take()
    post(services, bob.player, game, {"type": "forfeit"})
    pauses = (5, 10)
    for pause in pauses:
        receivers.faults.append(ReceiverFault.STATUS)
        pass_time(services, pause)
        assert work(services) == ["failing"]
        close(ada, game)
    receivers.take()
    pass_time(services, 20)
    work(services)
    assert receivers.take() == ["hand_sealed", "table_closed"], "both are over for some time"
    pass_time(services, LOOK_EVERY.total_seconds() * 1.2)
    work(services)
    assert not services.directory.webhook_deliveries(ada.player.id), "what was sent is forgotten"


def close(host: Owner, game: UUID) -> None:
    """Close the table of a game."""
    table = entry_of(host.services, game).table
    caller = Caller(player=host.player.id)
    host.services.tables.close(caller, host.player, table, any_version)


def test_the_newest_ends_wait_for_a_receiver(
    services: Services,
    receivers: Scripted,
    ada: Owner,
    bob: Owner,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("service.application.webhooks.MAX_WAITING", 2)
    ada.set("hand_sealed")
    work(services)
    games = [dealt(ada, bob) for _ in range(4)]
    wake(services, *games)
    work(services)
    for game in games:
        post(services, bob.player, game, {"type": "forfeit"})
        receivers.faults.append(ReceiverFault.STATUS)
        wake(services, game)
        pass_time(services, 60)
        assert work(services) == ["failing"]
        close(ada, game)
    receivers.take()
    pass_time(services, 3600)
    work(services)
    assert [event["id"] for event in receivers.events] == [str(game) for game in games[-2:]]


def test_attempts_are_repeated_for_a_day_at_growing_intervals_and_then_it_is_off(
    services: Services, receivers: Scripted, ada: Owner, bob: Owner
) -> None:
    ada.set()
    work(services)
    wake(services, dealt(ada, bob))
    receivers.faults.extend([ReceiverFault.LATE] * 100)
    begun, pauses = services.world.now(), []
    while (shown := ada.shown())["state"] == "on":
        if shown["next_attempt"]:
            pauses.append(parse_time(shown["next_attempt"]) - services.world.now())
            pass_time(services, pauses[-1].total_seconds())
        work(services)
    assert timedelta(0) < pauses[0] <= timedelta(seconds=5)
    assert timedelta(minutes=30) <= max(pauses) <= timedelta(hours=1)
    assert OFF_AFTER <= services.world.now() - begun < OFF_AFTER + timedelta(hours=1)
    assert 30 < len(pauses) < 60
    assert len(set(pauses)) == len(pauses), "receivers that fail together are not tried together"
    assert (shown["fault"], shown["next_attempt"], shown["waiting"]) == ("late", None, 0)
    pass_time(services, OFF_AFTER.total_seconds())
    assert work(services) == []
    receivers.faults.clear()
    receivers.take()
    ada.set("hand_dealt")
    work(services)
    assert receivers.take() == ["ping", "hand_dealt"], "set again, it begins with what is open"


def test_a_receiver_can_ask_for_a_longer_pause_of_at_most_an_hour() -> None:
    """Whatever it answers, the next attempt comes, and after a day without success it is off."""
    now, hour = datetime(2026, 11, 27, 6, tzinfo=UTC), 3600
    pauses = {
        "60": 60,
        "60 ": 60,
        "90000": hour,
        "9" * 16000: hour,
        "Fri, 27 Nov 2026 06:00:30 GMT": 30,
        "Fri, 01 Jan 2100 00:00:00 GMT": hour,
        "Fri, 01 Jan 2100 00:00:00 -0000": hour,
        "Fri, 01 Jan 1999 00:00:00 GMT": 0,
        **dict.fromkeys(("0", "", "-60", "1e9", "\0", "Fri, 99 Jan 2100 99:99:99 +9999"), 0),
        f"Fri, 01 Jan {'9' * 30} 00:00:00 GMT": 0,
    }
    assert {text: asked_pause(text, now).total_seconds() for text in pauses} == pauses


@pytest.mark.parametrize(("asked", "least", "most"), [("1", 2, 5), ("60", 60, 60)])
def test_the_longer_of_the_pause_that_is_due_and_the_one_asked_for_is_made(
    services: Services, ada: Owner, bob: Owner, asked: str, least: float, most: float
) -> None:
    receivers = services.webhooks._receivers
    assert isinstance(receivers, Scripted)
    ada.set()
    work(services)
    wake(services, dealt(ada, bob))
    receivers.faults.append(ReceiverFault.STATUS)
    object.__setattr__(receivers, "retry_after", asked)
    assert work(services) == ["failing"]
    pause = parse_time(ada.shown()["next_attempt"]) - services.world.now()
    assert timedelta(seconds=least) <= pause <= timedelta(seconds=most)
    pass_time(services, pause.total_seconds())
    assert work(services)[0] in ("on", "more")


def test_a_ping_without_an_echo_is_sent_five_times_and_nothing_else(
    services: Services, receivers: Scripted, ada: Owner, bob: Owner
) -> None:
    ada.set()
    dealt(ada, bob)
    receivers.echoes.extend([b""] * 9)
    for _ in range(9):
        work(services)
        pass_time(services, 600)
    assert receivers.take() == ["ping"] * 5
    assert (ada.shown()["state"], ada.shown()["fault"]) == ("off", "echo")


@pytest.mark.parametrize("lost_keys", [False, True])
def test_a_receiver_that_is_gone_or_a_secret_that_is_lost_switches_it_off_at_once(
    deployment: SharedStore,
    services: Services,
    receivers: Scripted,
    ada: Owner,
    lost_keys: bool,
) -> None:
    ada.set()
    if lost_keys:
        keyring = replace(Keyring.generate())
        services = deployment.process(receivers=receivers, keyring=keyring)
    else:
        receivers.faults.append(ReceiverFault.GONE)
    assert work(services) == ["off"]
    assert ada.shown()["fault"] == ("secret" if lost_keys else "gone")


def test_a_job_of_an_old_claim_or_of_a_replaced_webhook_sends_and_stores_nothing(
    services: Services, receivers: Scripted, ada: Owner
) -> None:
    ada.set()
    [(player, claim)] = services.webhooks.claim()
    assert services.webhooks.deliver(player, claim) == "more"
    assert services.webhooks.deliver(player, claim) == "taken", "the same job twice"
    [(player, claim)] = services.webhooks.claim()
    ada.set()
    assert services.webhooks.deliver(player, claim) == "taken"
    [(player, claim)] = services.webhooks.claim()
    services.webhooks.end(ada.token)
    assert services.webhooks.deliver(player, claim) == "taken"
    with pytest.raises(Refusal, match="webhook"):
        ada.shown()
    assert receivers.take() == ["ping"]


def test_what_waits_is_sent_in_the_order_in_which_it_was_found(
    services: Services, receivers: Scripted, ada: Owner, bob: Owner
) -> None:
    """A newer turn, which takes the place of an older one, comes after what was found before it."""
    ada.set("your_turn")
    work(services)
    games = []
    for pause in (5, 10):
        receivers.faults.append(ReceiverFault.CONNECTION)
        games.append(dealt(ada, bob))
        wake(services, games[-1])
        work(services)
        pass_time(services, pause)
    receivers.take()
    post(services, bob.player, games[0], {"type": "ready"})
    work(services)
    assert [event["id"] for event in receivers.events] == [str(game) for game in games[::-1]]


def test_a_success_begins_the_day_of_attempts_again(
    services: Services, receivers: Scripted, ada: Owner, bob: Owner
) -> None:
    """Also if it is followed by a failure in the same job."""
    ada.set()
    work(services)
    receivers.faults.append(ReceiverFault.LATE)
    wake(services, dealt(ada, bob))
    work(services)
    pass_time(services, OFF_AFTER.total_seconds() - 60)
    receivers.faults.extend([None, ReceiverFault.LATE])
    assert work(services) == ["failing"]
    receivers.faults.append(ReceiverFault.LATE)
    pass_time(services, 3600)
    assert work(services) == ["failing"]
    assert ada.shown()["state"] == "on"


def test_a_job_whose_time_is_over_leaves_the_rest_to_the_next_one(
    services: Services,
    receivers: Scripted,
    ada: Owner,
    bob: Owner,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Else a receiver that is slow and has much to hear would occupy a thread for minutes."""
    ada.set()
    work(services)
    wake(services, dealt(ada, bob))
    receivers.take()
    with monkeypatch.context() as patched:
        patched.setattr("service.application.webhooks.WORK_SECONDS", 0.0)
        [(player, claim)] = services.webhooks.claim()
        assert services.webhooks.deliver(player, claim) == "more"
        assert receivers.take() == []
    assert work(services) == ["on"]
    assert sorted(receivers.take()) == ["hand_dealt", "seat_taken", "your_turn"]


@pytest.mark.parametrize(("moment", "sent"), [("look", []), ("request", ["seat_taken"])])
def test_a_webhook_that_is_replaced_during_its_job_is_sent_nothing_more(
    services: Services,
    receivers: Scripted,
    ada: Owner,
    bob: Owner,
    monkeypatch: pytest.MonkeyPatch,
    moment: str,
    sent: list[str],
) -> None:
    """The old address may be one of which its player no longer wants to know anything."""
    ada.set()
    work(services)
    wake(services, dealt(ada, bob))
    receivers.take()
    [(player, claim)] = services.webhooks.claim()
    if moment == "request":
        receivers.meanwhile.append(ada.set)
    else:
        note = services.directory.note_webhook_look

        def replaced(*words: Any, **more: Any) -> bool:
            ada.set()
            return note(*words, **more)

        monkeypatch.setattr(services.directory, "note_webhook_look", replaced)
    assert services.webhooks.deliver(player, claim) == "taken"
    assert receivers.take() == sent
    assert ada.shown()["state"] == "waiting", "the new address has to be confirmed"


def test_the_secret_of_one_player_signs_nothing_for_another(
    services: Services, receivers: Scripted, ada: Owner, bob: Owner
) -> None:
    """Its ciphertext is bound to its player, so rows that are exchanged in the database fail."""
    ada.set()
    bob.set()
    services.directory.set_webhook(bob.token, replace(bob.stored(), secret=ada.stored().secret))
    assert sorted(work(services)) == ["more", "off", "on"]
    assert bob.shown()["fault"] == "secret"
    assert receivers.take() == ["ping"]


def test_a_turn_that_waits_for_entropy_is_sent(
    services: Services, receivers: Scripted, ada: Owner, bob: Owner
) -> None:
    ada.set("your_turn")
    open_game(services, ada.player, ("me", "open"), entropy=Entropy.VALUE, guests=(bob.player,))
    work(services)
    assert receivers.take() == ["ping", "your_turn"]


def test_codes_have_their_words() -> None:
    assert set(FAULTS) == {fault.value for fault in ReceiverFault}
    assert set(STATES) == {state.value for state in WebhookState}


def test_a_share_of_lookups_that_is_in_use_is_no_failure_of_the_receiver(
    services: Services, receivers: Scripted, ada: Owner, bob: Owner
) -> None:
    """Nothing was tried, so nothing changes, and it is due again within seconds."""
    ada.set()
    assert work(services) == ["more", "on"]
    wake(services, dealt(ada, bob))
    receivers.take()
    receivers.busy.append(True)
    assert work(services) == ["busy"]
    hook = ada.stored()
    assert (hook.state, hook.failures, hook.failing_since) == (WebhookState.ON, 0, None)
    assert hook.waiting
    pass_time(services, 3)
    assert work(services) == ["on"]
    assert "your_turn" in receivers.take()
    receivers.faults.append(ReceiverFault.STATUS)
    pass_time(services, 400)
    wake(services, dealt(ada, bob))
    assert work(services) == ["failing"]
    before = ada.stored()
    receivers.busy.append(True)
    pass_time(services, 5)
    assert work(services) == ["busy"]
    assert replace(ada.stored(), due_at=before.due_at, claim=before.claim) == before


def test_a_sender_is_proven_while_its_last_request_succeeded(
    services: Services, receivers: Scripted, ada: Owner, bob: Owner
) -> None:
    ada.set()
    receivers.faults.append(ReceiverFault.LATE)
    work(services)
    pass_time(services, 5)
    wake(services, dealt(ada, bob))
    work(services)
    receivers.faults.append(ReceiverFault.LATE)
    wake(services, dealt(ada, bob))
    work(services)
    pass_time(services, 5)
    work(services)
    proven = [one.is_proven for one in receivers.senders]
    assert proven[:2] == [False, False], "before the echo of a ping"
    assert proven[-1], "proven again"
    assert proven[2:].count(False) == 1, "once, after the failure"
    assert {one.origin for one in receivers.senders} == {ada.stored().origin}
    assert "192.0.2.1" not in ada.stored().origin
    assert {one.player for one in receivers.senders} == {ada.player.id}


def test_nothing_is_sent_once_its_token_has_ended_by_time(
    services: Services, receivers: Scripted, ada: Owner, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada.set()
    work(services)
    receivers.take()
    known = services.directory.webhook
    monkeypatch.setattr(
        services.directory,
        "webhook",
        lambda player: None if (hook := known(player)) is None else replace(hook, token_ended=True),
    )
    shown = ada.shown()
    assert (shown["state"], shown["fault"], shown["next_attempt"]) == ("off", "token", None)
    pass_time(services, 400)
    assert work(services) == ["off"]
    assert receivers.take() == []
    monkeypatch.undo()
    assert (ada.stored().state, ada.stored().fault) == (WebhookState.OFF, "token")


def test_a_token_without_read_sets_none(services: Services, ada: Owner) -> None:
    wanted = TokenRequest(name="x", scopes=("account",))
    ada.token = services.tokens.issue(ada.token, wanted)["token"]
    with pytest.raises(Refusal) as refused:
        ada.set()
    assert (refused.value.code, refused.value.extra["scope"]) == ("missing-scope", "read")

"""Contract tests of every directory for webhooks: claims, deliveries, and who may set one."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest

from service.application.calls import digest
from service.store.directory import Directory, StoredToken
from service.store.events import TokenEnded
from service.store.webhooks import (
    Delivery,
    StoredWebhook,
    WebhookResult,
    WebhookShares,
    WebhooksInUse,
    WebhookState,
)
from tests.changed import replace
from tests.contract.conftest import Stores
from tests.running import wait_for
from tests.streams import THEN

TOKEN, CODE = "token of Ann", "code of Ann"
LATER, HOUR = THEN + timedelta(seconds=60), timedelta(hours=1)
HOOK = StoredWebhook(
    token=UUID(int=0),
    url="https://bots.example/",
    types=("your_turn",),
    origin="here",
    key_id="k1",
    secret=b"sealed",
    state=WebhookState.WAITING,
    created_at=THEN,
    due_at=THEN,
    claim=0,
)


WIDE = WebhookShares(origin=99, unproven=99, unproven_of_all=99)
NARROW = WebhookShares(origin=4, unproven=2, unproven_of_all=9)


def registered(stores: Stores, token: str = TOKEN) -> UUID:
    player = uuid4()
    stores.directory.create_player(
        player=player,
        name="Ann",
        token_hash=digest(token),
        recovery_hash=digest(f"{token} {CODE}"),
        at=THEN,
    )
    return player


def a_delivery(kind: str = "your_turn", *, mark: int = 3, identity: UUID | None = None) -> Delivery:
    return Delivery(type=kind, id=identity or uuid4(), mark=mark, body='{"a":1}', found_at=THEN)


def result(state: WebhookState = WebhookState.ON, **more: object) -> WebhookResult:
    return WebhookResult(**{"state": state, "delivered_at": THEN, "next": LATER, **more})  # type: ignore[arg-type] # fields


def take(
    directory: Directory, at: datetime, *, until: datetime, most: int
) -> Sequence[tuple[UUID, int]]:
    return directory.claim_webhooks(at, until=until, most=most, shares=WIDE)


def claimed(stores: Stores, player: UUID) -> int:
    """Claim the only webhook that is due and begin its work; return the number of the claim."""
    [(found, claim)] = take(stores.directory, THEN, until=LATER, most=9)
    assert found == player
    assert stores.directory.begin_webhook(player, claim, THEN, until=LATER)
    return claim + 1


def in_use(used: int, *, failing: int = 0, due: datetime | None = None) -> WebhooksInUse:
    return WebhooksInUse(used=used, failing=failing, due=due)


def test_a_webhook_is_stored_replaced_and_deleted_by_its_player(stores: Stores) -> None:
    directory, player = stores.directory, registered(stores)
    assert directory.webhook(player) is None
    assert directory.webhooks_in_use() == in_use(0)
    directory.set_webhook(TOKEN, HOOK)
    [token] = directory.tokens_of(player)
    assert directory.webhook(player) == replace(HOOK, token=token.id)
    assert directory.webhooks_in_use() == in_use(1, due=THEN)
    other = replace(HOOK, url="https://b.example/", types=("a", "b"))
    directory.set_webhook(TOKEN, other)
    assert directory.webhook(player) == replace(other, token=token.id, claim=1)
    assert directory.end_webhook(TOKEN)
    assert not directory.end_webhook(TOKEN)
    assert directory.webhook(player) is None


def issued(
    stores: Stores,
    secret: str,
    *scopes: str,
    replaces: str | None = None,
    ends: float | None = None,
) -> UUID:
    """Issue a further token; return its id."""
    made = StoredToken(
        id=uuid4(),
        player=uuid4(),
        name="bot",
        scopes=scopes,
        created_at=THEN,
        ends_at=None if ends is None else datetime.now(UTC) + timedelta(seconds=ends),
        used_on=None,
    )
    stores.directory.issue_token(
        replaces or TOKEN, made, digest(secret), replaces=replaces is not None, most=9
    )
    return made.id


def test_only_a_token_with_the_scopes_read_and_account_sets_one(stores: Stores) -> None:
    """A webhook reads; it is ended with the scope `account`."""
    directory, player = stores.directory, registered(stores)
    issued(stores, "reader", "read", "play")
    issued(stores, "account", "account")
    directory.set_webhook(TOKEN, HOOK)
    for token in ("reader", "account", "unknown", digest(TOKEN).hex()):
        with pytest.raises(TokenEnded):
            directory.set_webhook(token, HOOK)
    for token in ("reader", "unknown", digest(TOKEN).hex()):
        with pytest.raises(TokenEnded):
            directory.end_webhook(token)
    assert directory.webhook(player) is not None
    assert directory.end_webhook("account")


def test_it_ends_with_its_token_and_with_no_other(stores: Stores) -> None:
    """A worker that holds a claim can store nothing then; it stays off until it is set again."""
    directory, player = stores.directory, registered(stores)
    own, other = issued(stores, "own", "read", "account"), issued(stores, "other", "read")
    directory.set_webhook("own", HOOK)
    claim = claimed(stores, player)
    look(stores, player, claim, a_delivery())
    assert directory.end_token(TOKEN, other)
    hook = directory.webhook(player)
    assert hook is not None
    assert (hook.state, hook.token, hook.token_ended) == (WebhookState.WAITING, own, False)
    assert directory.end_token(TOKEN, own)
    hook = directory.webhook(player)
    assert hook is not None
    assert (hook.state, hook.fault, hook.token_ended) == (WebhookState.OFF, "token", True)
    assert directory.webhook_deliveries(player) == []
    assert not directory.note_webhook_state(player, claim, result())
    assert take(directory, LATER + HOUR, until=LATER + HOUR, most=9) == []
    directory.set_webhook(TOKEN, HOOK)
    assert claimed(stores, player)


def test_it_ends_when_its_token_ends_by_time(stores: Stores) -> None:
    directory, player = stores.directory, registered(stores)
    issued(stores, "brief", "read", "account", ends=0.2)
    directory.set_webhook("brief", HOOK)

    def ended() -> bool:
        hook = directory.webhook(player)
        return hook is not None and hook.token_ended

    assert not ended()
    wait_for(ended, seconds=5)


@pytest.mark.parametrize("scopes", [("read", "account"), ("read",), ("account",)])
def test_it_belongs_to_the_token_that_replaces_its_own_if_that_could_set_it(
    stores: Stores, scopes: tuple[str, ...]
) -> None:
    directory, player = stores.directory, registered(stores)
    issued(stores, "own", "read", "account")
    directory.set_webhook("own", HOOK)
    issued(stores, "beside", "read", "account")
    new = issued(stores, "new", *scopes, replaces="own")
    hook = directory.webhook(player)
    assert hook is not None
    keeps = len(scopes) == 2
    assert (hook.token == new, hook.token_ended) == (keeps, not keeps)
    assert hook.state is (WebhookState.WAITING if keeps else WebhookState.OFF)


@pytest.mark.parametrize("how", ["recovered", "erased"])
def test_it_ends_with_the_tokens_of_its_player(stores: Stores, how: str) -> None:
    directory, player = stores.directory, registered(stores)
    directory.set_webhook(TOKEN, HOOK)
    claim = claimed(stores, player)
    look(stores, player, claim, a_delivery())
    if how == "recovered":
        assert directory.recover(f"{TOKEN} {CODE}", digest("new")) == player
    else:
        assert directory.erase(TOKEN, THEN)
    assert directory.webhook(player) is None
    assert directory.webhook_deliveries(player) == []


def test_a_claim_is_given_once_begun_once_and_lost_when_its_time_is_over(stores: Stores) -> None:
    directory, player = stores.directory, registered(stores)
    directory.set_webhook(TOKEN, HOOK)
    [(_, claim)] = take(directory, THEN, until=LATER, most=9)
    assert take(directory, THEN, until=LATER, most=9) == []
    assert directory.begin_webhook(player, claim, THEN, until=LATER)
    assert not directory.begin_webhook(player, claim, THEN, until=LATER)
    assert not directory.begin_webhook(player, claim + 1, LATER, until=LATER), "its time is over"
    [(_, second)] = take(directory, LATER, until=LATER + (LATER - THEN), most=9)
    assert second == claim + 2
    assert not directory.note_webhook_state(player, claim + 1, result())
    assert not look(stores, player, claim + 1, a_delivery())
    assert directory.webhook_deliveries(player) == []


def look(stores: Stores, player: UUID, claim: int, *added: Delivery) -> bool:
    return stores.directory.note_webhook_look(
        player, claim, THEN, tables=[UUID(int=1)], games=[UUID(int=2)], added=added, gone=[]
    )


def test_deliveries_replace_older_ones_and_are_forgotten(stores: Stores) -> None:
    directory, player = stores.directory, registered(stores)
    directory.set_webhook(TOKEN, HOOK)
    claim = claimed(stores, player)
    first, other = a_delivery(), a_delivery("hand_dealt", mark=1)
    assert look(stores, player, claim, first, other)
    assert {one.id for one in directory.webhook_deliveries(player)} == {first.id, other.id}
    assert directory.note_webhook_sent(player, claim, first, LATER)
    assert not directory.note_webhook_sent(player, claim + 1, other, LATER)
    hook = directory.webhook(player)
    assert hook is not None
    assert (hook.waiting, hook.tables, hook.games) == (1, (UUID(int=1),), (UUID(int=2),))
    newer = a_delivery(mark=5, identity=first.id)
    assert look(stores, player, claim, newer)
    assert not directory.note_webhook_sent(player, claim, first, LATER), "it was replaced"
    found = {one.type: one for one in directory.webhook_deliveries(player)}
    assert found["your_turn"] == newer
    directory.note_webhook_look(player, claim, THEN, tables=[], games=[], added=[], gone=[newer])
    assert directory.webhook_deliveries(player) == [other]


def test_a_result_gives_the_claim_back_and_states_when_it_is_due(stores: Stores) -> None:
    directory, player = stores.directory, registered(stores)
    directory.set_webhook(TOKEN, HOOK)
    claim = claimed(stores, player)
    failing = result(fault="status", status=500, failures=1, failing_since=THEN)
    assert directory.note_webhook_state(player, claim, failing)
    hook = directory.webhook(player)
    assert hook is not None
    assert (hook.state, hook.fault, hook.status, hook.failures) == ("on", "status", 500, 1)
    assert (hook.failing_since, hook.delivered_at, hook.due_at) == (THEN, THEN, LATER)
    assert directory.webhooks_in_use() == in_use(1, failing=1, due=LATER)
    assert directory.wake_webhooks([player], THEN) == 0, "it fails"
    assert take(directory, THEN, until=LATER, most=9) == []
    [(_, second)] = take(directory, LATER, until=LATER + (LATER - THEN), most=9)
    assert look(stores, player, second, a_delivery())
    off = result(WebhookState.OFF, fault="late", failures=3, failing_since=THEN)
    assert directory.note_webhook_state(player, second, off)
    assert directory.webhook_deliveries(player) == []
    assert directory.webhooks_in_use() == in_use(0)
    assert take(directory, LATER, until=LATER, most=9) == []


def test_one_that_was_woken_while_it_was_worked_on_is_due_at_once(stores: Stores) -> None:
    directory, player = stores.directory, registered(stores)
    directory.set_webhook(TOKEN, HOOK)
    assert directory.wake_webhooks([player], THEN) == 0, "it waits for its echo"
    claim = claimed(stores, player)
    assert directory.wake_webhooks([player], THEN) == 0, "nor while the echo is on its way"
    assert directory.note_webhook_state(player, claim, result())
    until = LATER + timedelta(minutes=1)
    [(_, claim)] = take(directory, LATER, until=until, most=9)
    assert directory.wake_webhooks([player], LATER) == 0, "it is due, and nothing has looked yet"
    assert directory.begin_webhook(player, claim, LATER, until=until)
    claim += 1
    during = LATER + timedelta(seconds=1)
    assert directory.wake_webhooks([player, uuid4()], during) == 1
    assert directory.wake_webhooks([player], during) == 0
    assert take(directory, during, until=LATER, most=9) == [], "one job at a time"
    late = result(next=LATER + timedelta(days=1))
    assert directory.note_webhook_state(player, claim, late)
    assert len(take(directory, during, until=LATER, most=9)) == 1


def test_one_that_no_process_works_on_stays_due_since_the_same_time(stores: Stores) -> None:
    """Its claims expire one after another; the time since when it is due shows that."""
    directory, player = stores.directory, registered(stores)
    directory.set_webhook(TOKEN, HOOK)
    directory.note_webhook_state(player, claimed(stores, player), result(next=THEN))
    at = THEN
    for _ in range(3):
        [(_, claim)] = take(directory, at, until=at + timedelta(minutes=1), most=9)
        at += timedelta(minutes=1)
        assert directory.webhooks_in_use().due == THEN
    until = at + timedelta(minutes=1)
    [(_, claim)] = take(directory, at, until=until, most=9)
    assert directory.begin_webhook(player, claim, at, until=until)
    assert directory.webhooks_in_use().due == until


def test_the_longest_due_is_claimed_first_and_its_time_is_shown(stores: Stores) -> None:
    directory, waiting = stores.directory, list[tuple[datetime, UUID]]()
    for seconds in (2, 1, 3):
        player, due = registered(stores, f"token {seconds}"), LATER + timedelta(seconds=seconds)
        directory.set_webhook(f"token {seconds}", HOOK)
        directory.note_webhook_state(player, claimed(stores, player), result(next=due))
        waiting.append((due, player))
    for due, player in sorted(waiting):
        assert directory.webhooks_in_use().due == due
        [(found, claim)] = take(directory, LATER + HOUR, until=LATER + 2 * HOUR, most=1)
        assert found == player
        assert directory.begin_webhook(player, claim, LATER + HOUR, until=LATER + 2 * HOUR)


def test_one_that_was_woken_and_then_failed_waits_for_its_next_attempt(stores: Stores) -> None:
    directory, player = stores.directory, registered(stores)
    directory.set_webhook(TOKEN, HOOK)
    assert directory.note_webhook_state(player, claimed(stores, player), result())
    until = LATER + timedelta(minutes=1)
    [(_, claim)] = take(directory, LATER, until=until, most=9)
    assert directory.begin_webhook(player, claim, LATER, until=until)
    during = LATER + timedelta(seconds=1)
    assert directory.wake_webhooks([player], during) == 1
    again = during + timedelta(seconds=5)
    failing = result(fault="late", failures=1, failing_since=during, next=again)
    assert directory.note_webhook_state(player, claim + 1, failing)
    assert take(directory, during, until=LATER, most=9) == []
    assert len(take(directory, again, until=LATER, most=9)) == 1


def test_one_that_is_set_again_knows_nothing_of_the_one_before(stores: Stores) -> None:
    directory, player = stores.directory, registered(stores)
    directory.set_webhook(TOKEN, HOOK)
    claim = claimed(stores, player)
    assert look(stores, player, claim, a_delivery())
    failing = result(fault="late", status=500, failures=3, failing_since=THEN)
    assert directory.note_webhook_state(player, claim, failing)
    directory.set_webhook(TOKEN, HOOK)
    [token] = directory.tokens_of(player)
    assert directory.webhook(player) == replace(HOOK, token=token.id, claim=claim + 1)
    assert directory.webhook_deliveries(player) == []


def hooks(stores: Stores, count: int, origin: str, *, proven: bool) -> set[UUID]:
    """Set webhooks of some players from one address; return the players."""
    directory, tokens = stores.directory, [uuid4().hex for _ in range(count)]
    players = {registered(stores, token) for token in tokens}
    for token in tokens:
        directory.set_webhook(token, replace(HOOK, origin=origin))
    for player, claim in take(directory, THEN, until=LATER, most=99) if proven else ():
        assert directory.begin_webhook(player, claim, THEN, until=LATER)
        assert directory.note_webhook_state(player, claim + 1, result(next=THEN))
    return players


def test_one_address_holds_no_more_than_its_share_of_the_work(stores: Stores) -> None:
    """Beyond it its webhooks wait, those of others do not, and what is done makes room."""
    directory = stores.directory
    proven, crowd = (hooks(stores, 3, "crowd", proven=one) for one in (True, False))
    other = hooks(stores, 1, "other", proven=False)

    def claims(at: datetime = THEN, *, most: int = 99) -> dict[UUID, int]:
        return dict(directory.claim_webhooks(at, until=LATER, most=most, shares=NARROW))

    first = claims(most=3)
    assert len(first.keys() & crowd) == 1, "proven ones have the first places of the address"
    first |= claims()
    assert first.keys() >= proven | other
    assert len(first.keys() & crowd) == 1, "four of the address in all"
    assert claims() == {}
    one = next(iter(proven))
    assert directory.begin_webhook(one, first[one], THEN, until=LATER)
    assert claims() == {}, "it is still being worked on"
    assert directory.note_webhook_state(one, first[one] + 1, result(next=LATER + HOUR))
    second = claims()
    assert len(second) == 1
    assert second.keys() < crowd
    for two in proven - {one}:
        assert directory.begin_webhook(two, first[two], THEN, until=LATER)
        assert directory.note_webhook_state(two, first[two] + 1, result(next=LATER + HOUR))
    assert claims() == {}, "two of the address that may hang"
    assert len(claims(LATER).keys() & crowd) == 2, "lost claims count no more"


def test_those_that_wait_for_the_share_of_their_address_are_not_overdue(stores: Stores) -> None:
    """They are while no work of the address has begun, as without a process that does it."""
    directory, crowd = stores.directory, hooks(stores, 3, "crowd", proven=False)
    assert directory.webhooks_in_use() == in_use(3, due=THEN)
    taken = directory.claim_webhooks(THEN, until=LATER, most=9, shares=replace(WIDE, unproven=1))
    assert directory.webhooks_in_use() == in_use(3, due=THEN)
    [(player, claim)] = taken
    assert directory.begin_webhook(player, claim, THEN, until=LATER)
    assert directory.webhooks_in_use() == in_use(3)
    hooks(stores, 1, "other", proven=False)
    assert directory.webhooks_in_use() == in_use(4, due=THEN)
    assert player in crowd


def test_unproven_ones_of_many_addresses_leave_room_for_proven_ones(stores: Stores) -> None:
    """However many addresses set them; and proven ones do not keep them from being tried."""
    directory = stores.directory
    proven = hooks(stores, 5, "proven", proven=True)
    crowd = {one for n in range(4) for one in hooks(stores, 2, f"crowd {n}", proven=False)}
    shares = WebhookShares(origin=9, unproven=2, unproven_of_all=3)

    def claims(*, most: int) -> dict[UUID, int]:
        return dict(directory.claim_webhooks(THEN, until=LATER, most=most, shares=shares))

    first = claims(most=4)
    assert (len(first.keys() & crowd), len(first.keys() & proven)) == (3, 1)
    assert claims(most=9).keys() | first.keys() >= proven
    [one, *_] = first.keys() & crowd
    assert directory.begin_webhook(one, first[one], THEN, until=LATER)
    assert directory.note_webhook_state(one, first[one] + 1, result(next=LATER + HOUR))
    assert len(claims(most=9).keys() & crowd) == 1

"""Load beside the tables: webhooks, notices, seeks, invitations, hands in a row, notes and more."""

from __future__ import annotations

import json
import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from ops.bench.faults.calls import Calls, ChangeRequest, Notes, new_key
from ops.bench.faults.checks import Checked
from tests.receivers import Receiver, receiver

PATIENCE = 200.0
"""Seconds for a match, the next hand, or the confirmation of a receiver, whatever fails."""

NOTICE_SECONDS = 400.0
"""Seconds after the last fault in which every notice has to be sent; webhooks look in 300."""

ROUNDS = 4
"""Rounds of two players, who are then followed by new ones: quotas are counted a day."""

Key = tuple[str, str]
"""Type and id of a notice."""

_HANDS = {"ruleset": "leeds", "seats": ["me", "open"], "visibility": "public", "deal": "always"}
_LATER = {"ruleset": "leeds", "seats": ["me", "open"], "visibility": "private", "deal": False}


@dataclass(slots=True, kw_only=True)
class User:
    """A player with a receiver and a reader, and what was acknowledged to the player."""

    id: str
    auth: str
    local: Receiver
    url: str
    read: set[Key] = field(default_factory=set)  # by the long poll
    due: set[Key] = field(default_factory=set)  # notices to be sent
    seeks: dict[str, str] = field(default_factory=dict)  # the last status by id
    notes: dict[tuple[str, int], str] = field(default_factory=dict)
    tokens: dict[str, str] = field(default_factory=dict)  # by id
    ended: list[str] = field(default_factory=list)
    invited: set[str] = field(default_factory=set)  # tables that stay open
    disputes: dict[str, list[str]] = field(default_factory=dict)  # statements by dispute

    @property
    def pushed(self) -> set[Key]:
        """Return the notices that the receiver got."""
        return {(str(one["type"]), str(one["id"])) for one in list(self.local.events)}


class Features:
    """Pairs of players who use what stands beside the moves, until `stop`."""

    def __init__(
        self, notes: Notes, client: Callable[[int], Calls], *, pairs: int, seed: int
    ) -> None:
        self._notes = notes
        self._client = client
        self._pairs = pairs
        self._seed = seed
        self._over = threading.Event()
        self._checked = threading.Event()
        self._receivers = ExitStack()
        self._acting: list[Future[None]] = []
        self._reading: list[threading.Thread] = []
        self._lock = threading.Lock()
        self._keyed: list[tuple[str, Any, str, str, int, bytes]] = []
        self.users: list[User] = []
        self._pool = ThreadPoolExecutor(max(1, pairs))

    def begin(self) -> None:
        """Start all pairs."""
        self._acting = [self._pool.submit(self._act, n) for n in range(self._pairs)]

    def stop(self) -> None:
        """Begin no further round."""
        self._over.set()

    def end(self) -> None:
        """Wait until the rounds that run have ended."""
        for one in self._acting:
            one.result(timeout=6 * PATIENCE)
        self._pool.shutdown()

    def check(self, checked: Checked) -> None:
        """Compare what was acknowledged with what is found, and wait for the notices."""
        calls = self._client(1)
        for user in self.users:
            _found(user, calls, checked)
        self._repeated(calls, checked)
        try:
            self._sent(checked)
        finally:
            self._checked.set()
            for thread in self._reading:
                thread.join(60)
            self._receivers.close()

    def _sent(self, checked: Checked) -> None:
        end = time.monotonic() + NOTICE_SECONDS
        while any(user.due - (user.pushed & user.read) for user in self.users):
            if time.monotonic() > end:
                break
            time.sleep(0.5)
        for user in self.users:
            for way, got in (("webhook", user.pushed), ("long poll", user.read)):
                for kind, identity in user.due - got:
                    checked.wrong.append(f"{kind} of {identity} was never sent by {way}")
                sent = Counter(kind for kind, _ in user.due & got)
                for kind, count in sent.items():
                    checked.counts[f"notices sent by {way}: {kind}"] += count

    def _repeated(self, calls: Calls, checked: Checked) -> None:
        """Repeat every request with a key: it has the answer that it had."""
        for path, sent, auth, key, status, body in self._keyed:
            if calls.until_answered("POST", path, sent, auth, key=key) != (status, body):
                checked.wrong.append(f"a repeated POST {path} has another answer")
            checked.counts["repeated requests with the answer of the first"] += 1

    def _act(self, number: int) -> None:
        """Let one pair after another play its rounds, and note errors."""
        turn = number
        while not self._over.is_set():
            try:
                calls = self._client(5000 + turn)
                rng = random.Random(f"{self._seed} pair {turn}")
                self._pair(calls, rng, clock=60 + turn)
            except Exception as error:  # noqa: BLE001 - every error is a finding
                self._notes.wrong.append(f"pair {turn}: {type(error).__name__}: {error}")
            turn += self._pairs

    def _pair(self, calls: Calls, rng: random.Random, *, clock: int) -> None:
        """Let two new players play their rounds, once both receivers are confirmed."""
        users = self._user(calls), self._user(calls)
        _wait(lambda: all(_webhook(calls, user)["state"] == "on" for user in users))
        for _ in range(ROUNDS):
            if not self._over.is_set():
                self._round(calls, rng, users, clock=clock)

    def _user(self, calls: Calls) -> User:
        """Register a player, set a webhook, and start a reader."""
        made = self._post(calls, "/v1/players", {"name": "Pair"}, None)
        with self._lock:
            local = self._receivers.enter_context(receiver())
        user = User(id=made["id"], auth=made["token"], local=local, url=local.url)
        status, body = calls.until_answered(
            "PUT", "/v1/players/me/webhook", {"url": user.url}, user.auth, key=None
        )
        if status != 200:
            raise AssertionError(f"a webhook is answered {status}: {body!r}")
        thread = threading.Thread(target=self._read, args=(user, len(self.users)), daemon=True)
        with self._lock:
            self.users.append(user)
            self._reading.append(thread)
        thread.start()
        return user

    def _read(self, user: User, number: int) -> None:
        """Poll the notices of a player; each poll names the position of the one before."""
        calls, after = self._client(9000 + number), ""
        while not self._checked.is_set():
            path = f"/v1/players/me/stream?wait=2{after}"
            headers = {"Accept": "application/json"}
            answer = calls.once("GET", path, None, user.auth, headers)
            if answer is None or answer[0] != 200:
                time.sleep(0.2)
                continue
            found = json.loads(answer[1])
            user.read |= {(one["type"], one["id"]) for one in found["items"]}
            after = f"&after={found['next']}"

    def _round(
        self, calls: Calls, rng: random.Random, users: tuple[User, User], *, clock: int
    ) -> None:
        game = self._hands_in_a_row(calls, users)
        self._write(calls, rng, users, game)
        self._seek(calls, users, clock)
        self._tokens(calls, rng, users[0])
        later = self._post(calls, "/v1/tables", {**_LATER, "invited": [users[1].id]}, users[0].auth)
        users[1].invited.add(later["id"])
        users[1].due.add(("invited", later["id"]))

    def _hands_in_a_row(self, calls: Calls, users: tuple[User, User]) -> str:
        """Play two hands of a table that deals by itself, each ended at once; then close it."""
        host, guest = users
        table = self._post(calls, "/v1/tables", {**_HANDS, "invited": [guest.id]}, host.auth)["id"]
        path = f"/v1/tables/{table}"
        first = self._post(calls, f"{path}/seats", {}, guest.auth)["game"]
        self._forfeit(calls, first, guest, users)
        _wait(lambda: calls.get(path, host.auth)["game"] not in (None, first))
        second = calls.get(path, host.auth)["game"]
        self._change(calls, "PATCH", f"{path}/seats/me", {"paused": True}, host.auth)
        self._forfeit(calls, second, host, users)
        self._change(calls, "DELETE", path, None, host.auth)
        for user in users:
            user.due.add(("table_closed", table))
        return str(first)

    def _forfeit(self, calls: Calls, game: str, user: User, users: tuple[User, User]) -> None:
        with self._notes.lock:
            self._notes.games[game] = user.auth
        seat = calls.get(f"/v1/games/{game}", user.auth)["as"]
        request = ChangeRequest(game=game, seat=seat, move={"type": "forfeit"}, key=new_key())
        calls.change(request, f"/v1/games/{game}/moves", user.auth, {})
        if request.status != 201:
            raise AssertionError(f"a forfeit is answered {request.status}: {request.body!r}")
        for each in users:
            each.due |= {("hand_dealt", game), ("hand_sealed", game)}

    def _write(self, calls: Calls, rng: random.Random, users: tuple[User, User], game: str) -> None:
        """Write notes on a hand, one of them again, and open a dispute about it."""
        path = f"/v1/games/{game}"
        for seq in (0, 1, 0):
            text = f"note {rng.random()}"
            note = {"text": text, "visibility": "me"}
            self._change(calls, "PUT", f"{path}/notes/{seq}", note, users[0].auth)
            users[0].notes[game, seq] = text
        words = {"charge": "wrong_deal", "statement": "The deal is false."}
        accusation = {"accused": None, "seq": 0, **words}
        dispute = self._post(calls, f"{path}/disputes", accusation, users[1].auth)["id"]
        users[1].due.add(("dispute_opened", dispute))
        said = f"It is {rng.random()}."
        self._post(calls, f"/v1/disputes/{dispute}/statements", {"text": said}, users[1].auth)
        users[1].disputes[dispute] = [words["statement"], said]

    def _seek(self, calls: Calls, users: tuple[User, User], clock: int) -> None:
        """Withdraw a seek; then find each other by a clock that nobody else wants."""
        alone = self._seek_of(calls, users[0], seats=4, clock=clock)
        self._change(calls, "DELETE", f"/v1/seeks/{alone}", None, users[0].auth)
        users[0].seeks[alone] = "withdrawn"
        seeks = [self._seek_of(calls, user, seats=2, clock=clock) for user in users]
        both = tuple(zip(users, seeks, strict=True))
        _wait(lambda: all(_seeks(calls, u)[s]["status"] == "matched" for u, s in both))
        for user, seek in both:
            user.seeks[seek] = "matched"
            user.due.add(("seek_matched", seek))
        table = _seeks(calls, users[0])[seeks[0]]["table"]
        game = calls.get(f"/v1/tables/{table}", users[0].auth)["game"]
        self._forfeit(calls, game, users[0], users)

    def _seek_of(self, calls: Calls, user: User, *, seats: int, clock: int) -> str:
        clocks = {"turn_seconds": clock, "swap_seconds": clock}
        wanted = {"rulesets": ["leeds"], "seats": seats, "clock": clocks}
        made = self._post(calls, "/v1/seeks", wanted, user.auth)["id"]
        user.seeks[made] = "open"
        return str(made)

    def _tokens(self, calls: Calls, rng: random.Random, user: User) -> None:
        """Issue two tokens and end one of them."""
        for stays in (True, False):  # a token is no stored answer, so a lost one may be there too
            wanted: dict[str, Any] = {"name": f"token {rng.randrange(10**6)}", "scopes": ["read"]}
            made = self._post(calls, "/v1/players/me/tokens", wanted, user.auth, keyed=False)
            if stays:
                user.tokens[made["id"]] = wanted["name"]
            else:
                path = f"/v1/players/me/tokens/{made['id']}"
                self._change(calls, "DELETE", path, None, user.auth)
                user.ended.append(made["token"])

    def _post(
        self, calls: Calls, path: str, sent: Any, auth: str | None, *, keyed: bool = True
    ) -> Any:
        """Return the answer to a POST; one with a key is repeated at the end."""
        key = new_key() if auth and keyed else None
        status, body = calls.until_answered("POST", path, sent, auth, key=key)
        if status != 201:
            raise AssertionError(f"{path} {sent} is answered {status}: {body!r}")
        if auth and key:
            with self._lock:
                self._keyed.append((path, sent, auth, key, status, body))
        return json.loads(body)

    def _change(self, calls: Calls, method: str, path: str, sent: Any, auth: str) -> None:
        """Send another change; one that was repeated may find it done (404, 409)."""
        status, body = calls.until_answered(method, path, sent, auth, key=None)
        if status not in (200, 204) and not (method == "DELETE" and status in (404, 409)):
            raise AssertionError(f"{method} {path} is answered {status}: {body!r}")


def _wait(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("did not happen in time")
        time.sleep(0.3)


def _webhook(calls: Calls, user: User) -> Any:
    return calls.get("/v1/players/me/webhook", user.auth)


def _seeks(calls: Calls, user: User) -> dict[str, Any]:
    return {one["id"]: one for one in calls.get("/v1/seeks", user.auth)["mine"]}


def _found(user: User, calls: Calls, checked: Checked) -> None:
    """Compare everything that was acknowledged to a player with what the service has."""
    hook = _webhook(calls, user)
    notes = {}
    for game in {game for game, _ in user.notes}:
        for one in calls.get(f"/v1/games/{game}/notes", user.auth)["items"]:
            notes[game, one["seq"]] = one["text"]
    tokens = calls.get("/v1/players/me/tokens", user.auth)["items"]
    invited = calls.get("/v1/players/me/invitations", user.auth)["items"]
    said: dict[str, list[str]] = {}
    for dispute in user.disputes:
        found = calls.get(f"/v1/disputes/{dispute}", user.auth)
        said[dispute] = [one["text"] for one in found["statements"]]
    dead = [calls.until_answered("GET", "/v1/token", None, t, key=None)[0] for t in user.ended]
    compared: dict[str, tuple[Any, Any]] = {
        "webhooks": ([(user.url, "on")], [(hook["url"], hook["state"])]),
        "seeks": (user.seeks, {key: one["status"] for key, one in _seeks(calls, user).items()}),
        "notes": (user.notes, notes),
        "tokens": (user.tokens, {t["id"]: t["name"] for t in tokens if t["id"] in user.tokens}),
        "ended tokens": ([401] * len(user.ended), dead),
        "invitations": (user.invited, {str(UUID(one["table"])) for one in invited}),
        "disputes with their statements": (user.disputes, said),
    }
    for name, (wanted, got) in compared.items():
        checked.counts[f"acknowledged {name}, each found once"] += len(wanted)
        if wanted != got:
            checked.wrong.append(f"{name}: acknowledged {wanted}, found {got}")

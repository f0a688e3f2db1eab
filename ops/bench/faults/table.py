"""One table and one hand: its players know only the answers of the service."""

from __future__ import annotations

import json
import os
import random
import time
from base64 import b64encode
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ops.bench.faults.calls import Calls, ChangeRequest, Notes, new_key
from service.shx.moves import intent, sign_intent
from service.shx.shuffle import client_commit

BOTS = ("lowest", "greedy", "random")
TURNS = 60
"""The limit of turns, so that many games reach their end."""


@dataclass(slots=True, kw_only=True)
class Person:
    """A player: seat, token, and way of playing."""

    seat: int
    token: str
    entropy: str
    key: Ed25519PrivateKey | None
    lazy: bool  # sometimes lets a turn time out
    values: dict[str, bytes] = field(default_factory=dict)  # entropy by game


class Table:
    """People and bots at one table."""

    def __init__(
        self, notes: Notes, calls: Calls, rng: random.Random, *, ruleset: dict[str, Any]
    ) -> None:
        self._notes = notes
        self._calls = calls
        self._rng = rng
        self._ruleset = ruleset
        self._people: list[Person] = []

    def play(self) -> None:
        """Open the table and play one hand to its end."""
        game = self._open()
        moved, version = time.monotonic(), 0
        while True:
            view = self._view(game, self._people[0])
            acted = False
            for person in self._readers(view):
                view = view if view["as"] == person.seat else self._view(game, person)
                if view["status"] in ("ended", "aborted"):
                    return
                acted |= self._act(game, view, person)
            if view["version"] != version:
                moved, version = time.monotonic(), view["version"]
            if not acted:
                self._wait(game, view["version"])
            if time.monotonic() - moved > 400:
                self._notes.wrong.append(f"game {game} stands still at version {version}")
                return

    def _readers(self, view: dict[str, Any]) -> list[Person]:
        """Return the people who read the game next: mostly the one on turn alone."""
        on_turn = [person for person in self._people if person.seat == view["turn"]]
        if view["status"] != "playing" or view["turn"] is None or self._rng.random() < 0.1:
            return self._people
        return on_turn or self._people[:1]

    def _open(self) -> str:
        seats, count = self._seats()
        clocked = self._rng.random() < 0.3
        people = [self._person(n, lazy=clocked and n == 0) for n in range(count)]
        self._people = people
        private = self._rng.random() < 0.15
        wanted = {
            "ruleset": self._ruleset["id"],
            "seats": seats,
            "clock": {"turn_seconds": 2, "swap_seconds": 6} if clocked else None,
            "window_seconds": self._rng.choice((0, 0, 1)),
            "visibility": "private" if private else "public",
            "turn_limit": TURNS,
            **_seat_of(people[0]),
        }
        table = self._post("/v1/tables", wanted, people[0].token)
        for person in people[1:]:
            body = {"seat": person.seat, "invite": table.get("invite"), **_seat_of(person)}
            sat = self._post(f"/v1/tables/{table['id']}/seats", body, person.token)
            table = {**sat, "invite": table.get("invite")}
        game = table["game"]
        if not isinstance(game, str):
            raise AssertionError(f"a full table without a game: {table}")
        with self._notes.lock:
            self._notes.games[game] = people[0].token
        return game

    def _seats(self) -> tuple[list[Any], int]:
        least = self._ruleset["seats"]["min"]
        most = max(least, min(self._ruleset["seats"]["max"], 5))
        count = self._rng.randint(least, most)
        people = self._rng.randint(1, min(count, 3))
        bots = [{"bot": self._rng.choice(BOTS)} for _ in range(count - people)]
        return ["me", *["open"] * (people - 1), *bots], people

    def _person(self, seat: int, *, lazy: bool) -> Person:
        name = f"Player {self._rng.randrange(1000)}"
        _, body = self._calls.until_answered("POST", "/v1/players", {"name": name}, None, key=None)
        return Person(
            seat=seat,
            token=json.loads(body)["token"],
            entropy=self._rng.choice(("none", "value", "commit")),
            key=Ed25519PrivateKey.generate() if self._rng.random() < 0.4 else None,
            lazy=lazy,
        )

    def _post(self, path: str, body: dict[str, Any], token: str) -> dict[str, Any]:
        status, answer = self._calls.until_answered("POST", path, body, token, key=new_key())
        if status != 201:
            raise AssertionError(f"{path} {body} answers {status}: {answer!r}")
        made: dict[str, Any] = json.loads(answer)
        return made

    def _view(self, game: str, person: Person) -> dict[str, Any]:
        view: dict[str, Any] = self._calls.get(f"/v1/games/{game}", person.token)
        return view

    def _wait(self, game: str, version: int) -> None:
        self._calls.once(
            "GET", f"/v1/games/{game}?after={version}&wait=1", None, self._people[0].token, {}
        )

    def _act(self, game: str, view: dict[str, Any], person: Person) -> bool:
        if view["status"] == "shuffling":
            return self._give_entropy(game, view, person)
        if not view["moves"] or (person.lazy and self._rng.random() < 0.3):
            return False
        move = _chosen(view["moves"], self._rng)
        if person.key is not None:
            known = intent(
                game=UUID(game),
                seat=view["as"],
                seen_seq=view["version"] - 1,
                seen_head=bytes.fromhex(view["head"]),
                move=move,
                nonce=uuid4().hex,
            )
            move = {**move, "auth": sign_intent(person.key, known)}
        headers = {}
        if self._rng.random() < 0.6:
            headers["If-Match"] = f'"v{view["version"]}"'
        return self._ask(game, view["as"], "moves", move, person, headers)

    def _give_entropy(self, game: str, view: dict[str, Any], person: Person) -> bool:
        seat = view["as"]
        state = view["setup"][seat]["state"]
        value = person.values.setdefault(game, os.urandom(32))
        others = (each for each in view["setup"] if each["entropy"] == "commit")
        if state == "waiting" and person.entropy == "commit":
            body = {"commit": client_commit(UUID(game), seat, value).hex()}
        elif state == "waiting" or (
            state == "committed" and all(each["state"] != "waiting" for each in others)
        ):
            body = {"value": value.hex()}
        else:
            return False
        return self._ask(game, seat, "entropy", body, person, {})

    def _ask(
        self,
        game: str,
        seat: int,
        what: str,
        body: dict[str, Any],
        person: Person,
        headers: dict[str, str],
    ) -> bool:
        key = new_key() if self._rng.random() < 0.8 else None
        request = ChangeRequest(game=game, seat=seat, move=body, key=key)
        self._calls.change(request, f"/v1/games/{game}/{what}", person.token, headers)
        if request.status not in (None, 201, 409, 412) and not self._is_too_late(request):
            self._notes.wrong.append(f"{what} {body} in {game}: {request.status} {request.body!r}")
        return request.status == 201

    def _is_too_late(self, request: ChangeRequest) -> bool:
        """Return whether a move can have been refused because the game has gone on since."""
        return request.status == 422 and b"bad-signature" not in request.body


def _seat_of(person: Person) -> dict[str, Any]:
    key = person.key.public_key().public_bytes_raw() if person.key else None
    return {"entropy": person.entropy, "key": b64encode(key).decode() if key else None}


def _chosen(moves: list[dict[str, Any]], rng: random.Random) -> dict[str, Any]:
    """Return one of the moves listed; few swaps, so that the exchange ends."""
    ready = [move for move in moves if move["type"] == "ready"]
    if ready and rng.random() < 0.7:
        return ready[0]
    plays = [move for move in moves if move["type"] in ("play", "play_blind", "lay")]
    return rng.choice(plays if plays and rng.random() < 0.9 else moves)

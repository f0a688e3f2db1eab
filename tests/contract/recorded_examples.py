"""
Examples for the OpenAPI document: requests and answers of a service with a fixed clock and seed.

`python -m tests.contract.recorded_examples` writes them to service/api/examples.json, and
`test_examples.py` compares the file with the answers of the service.

They need a run of the service, so no build makes them; in a wheel they take 58 kB.
"""

from __future__ import annotations

import io
import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any
from unittest.mock import patch
from urllib.parse import parse_qsl
from uuid import UUID

import orjson
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ops.schema import migrated_database
from service.api.app import create_app
from service.api.operation import BODY_BYTES
from service.application.errors import Refusal
from service.application.quotas import QUOTAS, Slice
from service.bootstrap import Ports, Services, Terms
from service.domain.dispute import Periods
from service.features import FEATURES
from service.features.decisions import filling
from service.keys import Keyring
from service.replay.sentences import said
from service.runtime.config import Settings
from service.shx.canonical import format_time
from service.shx.moves import intent, sign_intent, sign_key_change
from service.shx.receipts import issue_receipt, vote_commitment
from service.shx.tlog.notes import NoteSigner
from service.store.database import Database
from service.store.directory import Directory
from service.store.events import QuotaKind
from service.store.lookups import Lookups
from service.store.postgres_events import PostgresStore
from service.store.public_log import PostgresLog
from tests.streams import numbered
from tests.worlds.api_world import PROBLEM, Answer
from tests.worlds.fake_world import BEGIN, SetWorld

FILE = Path(__file__).parents[2] / "service/api/examples.json"
ORIGIN = "shithead.example"
JSON = "application/json"
NDJSON = "application/x-ndjson"
PNG = "image/png"
BINARY = ("application/zip", "application/octet-stream", "application/x-tar")
AT_ONCE = Periods(referee_hands=0, referee_account_seconds=0, referee_seated_seconds=0)
PLAIN = {"ruleset": "shithead", "seats": ["me", {"bot": "lowest"}]}
KEY = Ed25519PrivateKey.from_private_bytes(bytes([1]) * 32)
NEXT_KEY = Ed25519PrivateKey.from_private_bytes(bytes([2]) * 32)
SALT = bytes([7]) * 32
BEGIN_DAY = BEGIN.date().isoformat().encode()

Json = Any


class Accepted:
    """Trial hands that accept every ruleset; other tests play real ones."""

    def refusal(self, settings: Any, by: UUID, address: str) -> str | None:
        """Return no refusal."""
        return None


def public(key: Ed25519PrivateKey) -> str:
    """Return a public key as requests write it."""
    return b64encode(key.public_key().public_bytes_raw()).decode()


def keyring() -> Keyring:
    """Return the same keys for every recording."""
    text = {
        "v": 1,
        "current": "k1",
        "keys": {"k1": b64encode(bytes([3]) * 32).decode()},
        "signing": b64encode(bytes([4]) * 32).decode(),
        "since": format_time(BEGIN),
        "bots": b64encode(bytes([5]) * 32).decode(),
    }
    return Keyring.from_text(orjson.dumps(text).decode())


@contextmanager
def service(database_url: str) -> Iterator[Recorder]:
    """Yield a recorder of a service with a fixed clock, seed and keys."""
    database = Database(database_url, size=2)
    store = PostgresStore(database)
    ports = Ports(
        log_store=PostgresLog(database),
        store=store,
        directory=Directory(database),
        lookups=Lookups(database, store),
        keyring=keyring(),
        world=SetWorld(),
        trials=Accepted(),
        close=database.close,
    )
    services = Services(ports, Terms(origin=ORIGIN, periods=AT_ONCE))
    settings = Settings(
        database_url=database_url,
        origin=ORIGIN,
        rate_limits=False,
        api_threads=2,
    )
    yield Recorder(services=services, app=create_app(FEATURES, services, settings))
    services.close()


@dataclass(kw_only=True)
class Recorder:
    """Calls the service, and records the first answer of each operation, status and media type."""

    services: Services
    app: Any
    calls: dict[str, dict[str, Any]] = field(default_factory=dict)
    problems: dict[str, Any] = field(default_factory=dict)

    def call(
        self,
        method: str,
        path: str,
        body: Json = None,
        *,
        by: str | None = None,
        media: str = JSON,
        keep: bool = True,
        **headers: str,
    ) -> Answer:
        """Send a request and return the answer; with `keep` it is recorded if it is a first one."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if by is not None:
            sent["Authorization"] = f"Bearer {by}"
        more: dict[str, Any] = {}
        if body is not None:
            data = body if isinstance(body, bytes) else orjson.dumps(body)
            more = {"data": data, "content_type": media}
        answer = self.app.test_client().open(path, method=method, headers=sent, **more)
        if answer.content_type == PROBLEM:
            code = answer.json["type"].removeprefix("/problems/")
            self.problems.setdefault(code, answer.json)
        elif keep:
            self._keep(method, path, body, media, answer)
        return answer

    def done(self, method: str, path: str, body: Json = None, **more: Any) -> Json:
        """Send a request that must succeed, and return the JSON of the answer."""
        answer = self.call(method, path, body, **more)
        assert answer.status_code < 300, (method, path, answer.status_code, answer.text)
        return answer.json if answer.mimetype == JSON else None

    def begun(self, path: str, parts: int, *, by: str, media: str) -> None:
        """Open a stream that does not end, and record its first parts."""
        sent = {"Authorization": f"Bearer {by}", "Accept": media}
        with self.app.test_client().get(path, headers=sent, buffered=False) as answer:
            assert answer.mimetype == media, answer.text
            first = iter(answer.response)
            text = b"".join(next(first) for _ in range(parts)).decode()
        [operation] = (one for one in self.calls if one.startswith("own_stream."))
        self.calls[operation]["answers"]["200"].setdefault(media, text)

    def refused(self, code: str, method: str, path: str, body: Json = None, **more: Any) -> None:
        """Send a request that must be refused with the problem `code`."""
        answer = self.call(method, path, body, **more)
        assert answer.content_type == PROBLEM, (method, path, answer.status_code, answer.text)
        assert answer.json["type"] == f"/problems/{code}", answer.json

    def _keep(self, method: str, path: str, body: Json, media: str, answer: Answer) -> None:
        plain, _, query = path.partition("?")
        adapter = self.app.url_map.bind("localhost")
        operation, values = adapter.match(plain, method=method)
        kept = self.calls.setdefault(operation, {"path": {}, "query": {}, "bodies": {}})
        answers = kept.setdefault("answers", {})
        shown = answers.setdefault(str(answer.status_code), {})
        if body is not None:
            sent = body.decode() if media == NDJSON else _shown(media, body)
            kept["bodies"].setdefault(media, sent)
        if not kept["path"]:
            kept["path"] = {name: str(value) for name, value in values.items()}
            kept["query"] = dict(parse_qsl(query))
        if answer.status_code == 204:
            return
        media = answer.mimetype
        if media == PNG:  # the head is enough: the rest depends on the library that draws
            shown.setdefault(media, b64encode(answer.get_data()[:33]).decode())
            return
        text = answer.json if media == JSON else _shown(media, answer.get_data())
        shown.setdefault(media, text)

    @property
    def recorded(self) -> dict[str, Any]:
        """Return the recorded answers, with fixed tokens in place of the random ones."""
        text = orjson.dumps({"calls": self.calls, "problems": self.problems})
        drawn = re.findall(rb'"(?:token|recovery|invite)":"([\w-]{43})"', text)
        for number, secret in enumerate(dict.fromkeys(drawn)):
            other = sha256(b"%d" % number).digest()
            text = text.replace(secret, urlsafe_b64encode(other).rstrip(b"="))
        # The database, whose clock is not the fixed one, stores the day.
        text = re.sub(rb'"used_on":"[0-9-]{10}"', b'"used_on":"%s"' % BEGIN_DAY, text)
        # The number of random bytes drawn before it differs.
        secret = b64encode(sha256(b"webhook").digest())
        text = re.sub(rb'"whsec_[^"]+"', b'"whsec_%b"' % secret, text)
        found: dict[str, Any] = orjson.loads(text)
        return found


def _shown(media: str, data: Json) -> Json:
    """Return a body as a JSON value: binary media types in base64."""
    if not isinstance(data, bytes):
        return data
    return b64encode(data).decode() if media in BINARY else data.decode()


def record(database_url: str) -> dict[str, Any]:
    """Return the first answer of each call and problem in one run of the service."""
    with service(database_url) as recorder:
        people = _people(recorder)
        _rules(recorder, people)
        _tables(recorder, people)
        game = _play(recorder, people)
        _after_the_seal(recorder, people, game)
        _signed(recorder, people)
        _dispute(recorder, people, game)
        _further_problems(recorder, people)
        _challenge(recorder, people)
        _seek(recorder, people["Bob"]["token"])
        _tokens(recorder, people)
        _moments(recorder, game, by=people["Bob"]["token"])
        return recorder.recorded


def _people(recorder: Recorder) -> dict[str, Any]:
    names = ("Ada", "Bob", "Cleo", "Dan", "Eve")
    people = {n: recorder.done("POST", "/v1/players", {"name": n}) for n in names}
    ada = people["Ada"]
    recorder.done("GET", f"/v1/players/{ada['id']}")
    again = recorder.done("POST", "/v1/players/recover", {"recovery": ada["recovery"]})
    ada["token"] = again["token"]
    recorder.done("PATCH", "/v1/players/me", {"name": "Ada"}, by=ada["token"])
    recorder.done("POST", "/v1/players/me/recovery", {}, by=ada["token"])
    handle = "/v1/players/me/handle"
    recorder.done("PUT", handle, {"handle": "ada-lovelace"}, by=ada["token"])
    recorder.refused(
        "handle-taken", "PUT", handle, {"handle": "adal0velace"}, by=people["Bob"]["token"]
    )
    recorder.done("GET", "/v1/handles?prefix=ada", by=people["Bob"]["token"])
    recorder.done("GET", f"/v1/players?ids={ada['id']},{people['Bob']['id']}")
    eve = f"/v1/players/me/blocks/{people['Eve']['id']}"
    recorder.done("PUT", eve, by=ada["token"])
    recorder.done("GET", "/v1/players/me/blocks", by=ada["token"])
    recorder.done("DELETE", eve, by=ada["token"])
    gone = recorder.done("POST", "/v1/players", {"name": "Fay"})
    recorder.done("DELETE", "/v1/players/me", by=gone["token"])
    recorder.refused("unauthorized", "GET", "/v1/players/me", by=gone["token"])
    return people


def _rules(recorder: Recorder, people: dict[str, Any]) -> None:
    token = people["Ada"]["token"]
    recorder.done("GET", "/v1/rulesets?limit=1")
    recorder.done("GET", "/v1/rulesets/shithead-ten-in-rank")
    recorder.done("GET", "/v1/rulesets/schema")
    recorder.done("GET", "/v1/rulesets/shithead-ten-in-rank/differences?from=shithead")
    recorder.done("GET", "/v1/bots")
    own = {"name": "Fives", "base": "shithead", "changes": {"refill": {"size": 5}}}
    recorder.done("POST", "/v1/rulesets", own, by=token)
    clash = {"name": "None", "base": "shithead", "changes": {"refill": {"size": 0}}}
    recorder.refused("ruleset-refused", "POST", "/v1/rulesets", clash, by=token)


def _tables(recorder: Recorder, people: dict[str, Any]) -> None:
    ada, bob, cleo = (people[name]["token"] for name in ("Ada", "Bob", "Cleo"))
    body = {
        "ruleset": "leeds",
        "seats": ["me", "open"],
        "clock": None,
        "visibility": "private",
        "entropy": "value",
        "deal": False,
    }
    table = recorder.done("POST", "/v1/tables", body, by=ada)
    path = f"/v1/tables/{table['id']}"
    recorder.done("GET", path, by=ada)
    recorder.refused("table-not-full", "POST", f"{path}/games", {}, by=ada)
    sit = {"seat": 1, "entropy": "none", "key": public(KEY), "invite": table["invite"]}
    recorder.done("POST", f"{path}/seats", sit, by=bob)
    recorder.refused("seat-taken", "POST", f"{path}/seats", {"invite": table["invite"]}, by=cleo)
    sig = sign_key_change(
        KEY, table=UUID(table["id"]), seat=1, key=NEXT_KEY.public_key().public_bytes_raw()
    )
    change = {"entropy": "none", "key": public(NEXT_KEY), "sig": sig}
    recorder.done("PATCH", f"{path}/seats/me", change, by=bob)
    recorder.done("GET", f"{path}/keys", by=ada)
    dealt = recorder.done("POST", f"{path}/games", {}, by=ada)
    game = f"/v1/games/{dealt['game']['id']}"
    recorder.refused("hand-running", "DELETE", f"{path}/seats/me", by=bob)
    recorder.done("POST", f"{game}/entropy", {"value": "05" * 32}, by=ada)
    recorder.refused("entropy-refused", "POST", f"{game}/entropy", {"value": "05" * 32}, by=ada)
    claim = {"type": "claim_absence", "absent": 1, "then": "stand_in"}
    recorder.refused("not-away", "POST", f"{game}/moves", claim, by=ada)
    recorder.refused(
        "not-seated", "POST", f"{path}/games", {}, by=cleo, Shithead_Invite=table["invite"]
    )
    recorder.done("GET", game, by=cleo, keep=False, Shithead_Invite=table["invite"])
    recorder.done("GET", f"{game}/audit/readings", by=ada)
    recorder.done("POST", f"{game}/moves", {"type": "forfeit"}, by=ada, keep=False)
    recorder.done("DELETE", f"{path}/seats/me", by=bob)
    invitation = f"{path}/invitations/{people['Cleo']['id']}"
    recorder.done("PUT", invitation, by=ada)
    recorder.done("GET", f"{path}/invitations", by=ada)
    recorder.done("GET", "/v1/players/me/invitations", by=cleo)
    recorder.done("DELETE", invitation, by=cleo)
    recorder.done("DELETE", path, by=ada)


def _moments(recorder: Recorder, game: str, *, by: str) -> None:
    path, text = "/v1/players/me/moments", "The nine would have burned."
    wanted = {
        "game": game.rpartition("/")[2],
        "version": 9,
        "as": "all",
        "list": "Endings",
        "text": text,
    }
    kept = f"{path}/{recorder.done('POST', path, wanted, by=by)['id']}"
    recorder.done("PATCH", kept, {"text": "The nine burns."}, by=by)
    recorder.done("GET", kept, by=by)
    recorder.done("PATCH", path, {"list": "Endings", "to": "Burns"}, by=by)
    recorder.done("GET", f"{path}?list=Burns&limit=2", by=by)
    recorder.done("GET", f"{path}/export", by=by)
    recorder.done("DELETE", kept, by=by)


def _seek(recorder: Recorder, token: str) -> None:
    wanted = {"rulesets": ["leeds", "shithead"], "seats": 3, "fill_with_bots_after": 60}
    path = f"/v1/seeks/{recorder.done('POST', '/v1/seeks', wanted, by=token)['id']}"
    recorder.done("GET", "/v1/seeks", by=token)
    recorder.done("GET", path, by=token)
    recorder.done("POST", f"{path}/renew", {}, by=token)
    recorder.done("DELETE", path, by=token)
    recorder.refused("seek-over", "DELETE", path, by=token)


def _challenge(recorder: Recorder, people: dict[str, Any]) -> None:
    """Challenge a player by handle, who accepts, and then declines."""
    ada, bob = people["Ada"]["token"], people["Bob"]["token"]
    body = {"player": "ada-lovelace", "ruleset": "shithead", "visibility": "public"}
    path = f"/v1/challenges/{recorder.done('POST', '/v1/challenges', body, by=bob)['id']}"
    recorder.done("GET", "/v1/challenges", by=ada)
    recorder.done("GET", path, by=ada)
    recorder.done("POST", f"{path}/accept", {"entropy": "none", "key": None}, by=ada)
    other = recorder.done("POST", "/v1/challenges", body, by=bob, keep=False)
    recorder.done("DELETE", f"/v1/challenges/{other['id']}", by=ada)
    recorder.refused("challenge-over", "DELETE", f"/v1/challenges/{other['id']}", by=ada)


def _play(recorder: Recorder, people: dict[str, Any]) -> str:
    """Play a short hand of two players to its end and return its path."""
    ada, bob = people["Ada"]["token"], people["Bob"]["token"]
    body = {"ruleset": "leeds", "seats": ["me", "open"], "visibility": "public"}
    table = recorder.done("POST", "/v1/tables", body, by=ada, keep=False)
    sat = recorder.done("POST", f"/v1/tables/{table['id']}/seats", {}, by=bob, keep=False)
    game = f"/v1/games/{sat['game']}"
    recorder.done("GET", "/v1/tables?limit=1")
    recorder.refused("sealed", "GET", f"{game}?as=all", by=ada)
    ready = {"type": "ready"}
    for token in (ada, bob):
        recorder.done("POST", f"{game}/moves", ready, by=token, keep=False)
    seats = [ada, bob]
    _refusals(recorder, game, seats)
    for step in range(6):
        turn = recorder.done("GET", game, keep=False)["turn"]
        view = recorder.done("GET", game, by=seats[turn], keep=step == 2)
        plays = [move for move in view["moves"] if move["type"] == "play"]
        move = (plays or view["moves"])[0]
        if step == 2:
            cards = ",".join(view["seats"][turn]["hand"]["cards"][:2])
            recorder.done("GET", f"{game}/reasons?cards={cards}", by=seats[turn])
        sent = {"If_Match": f'"v{view["version"]}"', "Idempotency_Key": f"move-{step}"}
        recorder.done("POST", f"{game}/moves", move, by=seats[turn], keep=step == 2, **sent)
    recorder.done("POST", f"{game}/back", {}, by=ada)
    own = recorder.done("GET", f"/v1/players/me/stream?watch={sat['game']}&referee=true", by=ada)
    assert own["items"]
    for media, parts in (("text/event-stream", 2), (NDJSON, 1)):
        recorder.begun("/v1/players/me/stream", parts, by=ada, media=media)
    recorder.done("GET", f"{game}/openings", by=ada)
    recorder.done("GET", f"{game}/absences", by=ada)
    recorder.done("GET", f"{game}/audit/knowledge", by=ada)
    recorder.done("GET", "/v1/games?limit=1")
    recorder.done("POST", f"{game}/moves", {"type": "forfeit"}, by=bob, keep=False)
    recorder.refused("game-over", "POST", f"{game}/moves", {"type": "pass"}, by=bob)
    recorder.services.sequencer.run_once()
    recorder.services.statistics.count(UUID(sat["game"]))
    return game


def _refusals(recorder: Recorder, game: str, seats: list[str]) -> None:
    """Send moves that are refused while a hand is running."""
    turn = recorder.done("GET", game, keep=False)["turn"]
    mine, other = seats[turn], seats[1 - turn]
    moves = f"{game}/moves"
    held = recorder.done("GET", game, by=other, keep=False)["seats"][1 - turn]["hand"]["cards"]
    recorder.refused("not-your-turn", "POST", moves, {"type": "play", "cards": held[:1]}, by=other)
    recorder.refused("unknown-card", "POST", moves, {"type": "play", "cards": ["10h"]}, by=mine)
    recorder.refused("rule-refused", "POST", moves, {"type": "pick_up", "with": []}, by=mine)
    recorder.refused("invalid-body", "POST", moves, {"type": "play", "cards": []}, by=mine)
    recorder.refused("stale-version", "POST", moves, {"type": "pick_up"}, by=mine, If_Match='"v3"')
    recorder.refused("malformed", "POST", moves, {"type": "pick_up"}, by=mine, If_Match="v5")
    recorder.refused("unknown-version", "GET", f"{game}/events?after=99")


def _after_the_seal(recorder: Recorder, people: dict[str, Any], game: str) -> None:
    ada = people["Ada"]["token"]
    lines = recorder.call("GET", f"{game}/events", Accept=NDJSON).get_data()
    events = [orjson.loads(line) for line in lines.splitlines()]
    played = next(event for event in events if event["type"] == "cards_played")
    seq = played["seq"]
    recorder.done("GET", f"{game}/events?after={seq}&limit=3")
    recorder.done("GET", f"/v1/players/{people['Ada']['id']}/hands?result=forfeit")
    recorder.done("GET", f"/v1/players/{people['Ada']['id']}/hands.tar?until=2001-01-01", by=ada)
    recorder.done("GET", f"{game}/stream?after={len(events) - 2}")
    recorder.done("GET", f"{game}/receipt")
    while recorder.services.ratings.advance():
        pass
    recorder.done("GET", "/v1/ratings?ruleset=leeds&limit=2")
    while filling(recorder.services)(Slice(rows=20, seconds=60)):
        pass
    recorder.done("GET", "/v1/decisions?ruleset=leeds&phase=hand&had_other=true&limit=2")
    recorder.done("GET", f"{game}/replay?as=all&from={seq + 1}&to={seq + 1}")
    recorder.done("GET", f"{game}/transcript?as=all")
    recorder.done("GET", f"{game}/picture.svg?at={seq + 1}&as=all")
    recorder.done("GET", f"{game}/picture.png?at={seq + 1}&as=all")
    page = f"http%3A%2F%2Flocalhost%2Freplay%2F{game.rpartition('/')[2]}"
    recorder.done("GET", f"/v1/oembed?url={page}")
    recorder.done("GET", f"{game}/audit")
    recorder.done("GET", f"{game}/audit/moves/{seq}")
    recorder.done("GET", f"{game}/audit/cards/{played['data']['cards'][0]}")
    other = {"seat": played["data"]["seat"], "move": {"type": "forfeit"}}
    line = {"at": seq, "as": "public", "moves": [other], "then": None}
    recorder.done("POST", f"{game}/what-if", line)
    note = {"text": "Why not the nine?", "visibility": "dispute"}
    recorder.done("PUT", f"{game}/notes/{seq}", note, by=ada)
    recorder.done("GET", f"{game}/notes", by=ada)
    recorder.done("DELETE", f"{game}/notes/{seq}", by=ada)
    bundle = recorder.call("GET", f"{game}/evidence").get_data()
    recorder.done("POST", "/v1/verify", bundle, media="application/zip")
    recorder.done("POST", "/v1/verify", lines, media=NDJSON)
    recorder.done("POST", "/v1/verify", bundle, media="application/octet-stream")
    _verify_in_parts(recorder, lines, game)
    recorder.done("GET", "/v1/keys")
    recorder.done("GET", "/v1/log/checkpoint")
    recorder.done("GET", "/v1/log/time-stamps")
    recorder.done("GET", f"/v1/log/proof?game={game.rpartition('/')[2]}")
    recorder.done("GET", "/v1/log/tile/0/000.p/3")
    recorder.done("GET", "/v1/statistics/shuffles")
    recorder.done("GET", "/v1/statistics/blind-choices", by=ada)
    recorder.done("GET", "/v1/players/me", by=ada)
    recorder.refused("not-a-bundle", "POST", "/v1/verify", b"no record", media=NDJSON)
    recorder.refused("not-acceptable", "GET", f"{game}/transcript", Accept="image/png")
    recorder.refused("method-not-allowed", "PUT", game, {})
    recorder.refused("not-found", "GET", f"/v1/games/{UUID(int=0)}")


def _verify_in_parts(recorder: Recorder, lines: bytes, game: str) -> None:
    """Send the log, a receipt and the server's key as parts of one form."""
    receipt = recorder.call("GET", f"{game}/receipt").get_data().decode()
    fields = {"receipt": [receipt], "key": [str(recorder.services.verifier)]}
    answer = recorder.app.test_client().post(
        "/v1/verify",
        data={"file": (io.BytesIO(lines), "events.jsonl"), **fields},
        content_type="multipart/form-data",
    )
    assert answer.json["level"] == "L2", answer.json
    sent = {"file": lines.decode(), **fields}
    recorder.calls["evidence.verify"]["bodies"]["multipart/form-data"] = sent


def _signed(recorder: Recorder, people: dict[str, Any]) -> None:
    """Play with a key, and send moves whose signatures are refused."""
    dan = people["Dan"]["token"]
    body = {**PLAIN, "key": public(KEY)}
    table = recorder.done("POST", "/v1/tables", body, by=dan, keep=False)
    moves = f"/v1/games/{table['game']}/moves"
    ready = {"type": "ready"}
    recorder.refused("signature-required", "POST", moves, ready, by=dan)
    view = recorder.done("GET", f"/v1/games/{table['game']}", by=dan, keep=False)

    def signed(key: Ed25519PrivateKey, move: dict[str, Any], nonce: str) -> dict[str, Any]:
        signed_intent = intent(
            game=UUID(table["game"]),
            seat=0,
            seen_seq=view["version"] - 1,
            seen_head=bytes.fromhex(view["head"]),
            move=move,
            nonce=nonce,
        )
        return {**move, "auth": sign_intent(key, signed_intent)}

    recorder.refused("bad-signature", "POST", moves, signed(NEXT_KEY, ready, "01" * 16), by=dan)
    own = view["seats"][0]
    pair = {"type": "swap", "up": own["hand"]["cards"][:1], "hand": own["up"][0]}
    swapped = recorder.done("POST", moves, signed(KEY, pair, "02" * 16), by=dan, keep=False)
    view = swapped["game"]
    recorder.refused("nonce-reused", "POST", moves, signed(KEY, ready, "02" * 16), by=dan)


def _dispute(recorder: Recorder, people: dict[str, Any], game: str) -> None:
    ada, bob = people["Ada"]["token"], people["Bob"]["token"]
    lines = recorder.call("GET", f"{game}/events", keep=False).json["items"]
    seq = next(e["seq"] for e in lines if e["type"] == "cards_played" and e["by"] == 1)
    statement = "I saw that card in the burned pile."
    body = {"accused": 1, "seq": seq, "charge": "illegal_move", "statement": statement}
    dispute = recorder.done("POST", f"{game}/disputes", body, by=ada)
    recorder.refused("dispute-open", "POST", f"{game}/disputes", body, by=ada)
    server = {"accused": None, "seq": 0, "charge": "wrong_deal", "statement": statement}
    hasty = recorder.done("POST", f"{game}/disputes", server, by=bob, keep=False)
    recorder.done("POST", f"/v1/disputes/{hasty['id']}/withdrawal", {}, by=bob)
    recorder.refused("dispute-withdrawn", "POST", f"{game}/disputes", server, by=bob)
    path = f"/v1/disputes/{dispute['id']}"
    recorder.services.dispute_jobs.process(UUID(dispute["id"]))
    recorder.done("POST", f"{path}/statements", {"text": "It was another card."}, by=bob)
    recorder.refused("forbidden", "POST", f"{path}/referees", {}, by=bob)
    note = recorder.call("GET", f"{game}/receipt", by=ada, keep=False).text
    recorder.done("POST", f"{path}/receipts", {"receipt": note}, by=ada)
    judges = [people[name] for name in ("Cleo", "Dan", "Eve")]
    for judge in judges:
        recorder.done("POST", f"{path}/referees", {}, by=judge["token"])
    for number, judge in enumerate(judges):
        commit = vote_commitment(UUID(dispute["id"]), number, "cheated", SALT).hex()
        recorder.done("POST", f"{path}/votes", {"commit": commit}, by=judge["token"])
    for judge in judges:
        why = "Six of that rank were played by then."
        vote = {"vote": "cheated", "salt": SALT.hex(), "reason": why}
        recorder.done("POST", f"{path}/votes", vote, by=judge["token"], keep=False)
    recorder.done("POST", f"{path}/appeal", {}, by=bob)
    recorder.done("GET", path, by=ada)
    recorder.done("GET", f"{game}/disputes", by=ada)
    recorder.done("GET", "/v1/disputes?limit=1", by=ada)
    _collusion(recorder, people)


def _hand_of_three(recorder: Recorder, people: dict[str, Any]) -> str:
    """Return the path of a hand of Ada, Bob and Max that is over."""
    ada, bob = (people[name]["token"] for name in ("Ada", "Bob"))
    third = recorder.done("POST", "/v1/players", {"name": "Max"}, keep=False)["token"]
    seats = {**PLAIN, "seats": ["me", "open", "open"]}
    table = recorder.done("POST", "/v1/tables", seats, by=ada, keep=False)
    for token in (bob, third):
        sat = recorder.done("POST", f"/v1/tables/{table['id']}/seats", {}, by=token, keep=False)
    game = f"/v1/games/{sat['game']}"
    recorder.done("POST", f"{game}/moves", {"type": "forfeit"}, by=ada, keep=False)
    return game


def _collusion(recorder: Recorder, people: dict[str, Any]) -> None:
    """Read the figures of a dispute about collusion, which are computed in the request here."""
    game = _hand_of_three(recorder, people)
    statement = "They never lay anything hard before each other."
    body = {"accused": 1, "partner": 2, "charge": "collusion", "statement": statement}
    figures = recorder.services.collusion
    recorder.services.collusion = replace(figures, comparisons=_AtOnce(figures.compute))
    by = people["Ada"]["token"]
    dispute = recorder.done("POST", f"{game}/disputes", body, by=by, keep=False)
    path = f"/v1/disputes/{dispute['id']}"
    for name in ("Cleo", "Dan", "Eve"):
        recorder.done("POST", f"{path}/referees", {}, by=people[name]["token"], keep=False)
    recorder.done("GET", f"{path}/collusion", by=people["Eve"]["token"])


@dataclass(frozen=True)
class _AtOnce:
    """Computes figures in the request; other tests run the job."""

    figures: Callable[[UUID], Sequence[Mapping[str, Any]]]


def _lost_move(recorder: Recorder, by: str) -> None:
    """Hand in a receipt whose move the game has, and one of a move that a restore lost."""
    table = recorder.done("POST", "/v1/tables", PLAIN, by=by, keep=False)
    game, services = f"/v1/games/{table['game']}", recorder.services
    kept = recorder.call("GET", f"{game}/receipt", by=by, keep=False).text
    services.sequencer.declare(services.world.now())
    recorder.refused("not-lost", "POST", f"{game}/receipts", {"receipt": kept}, by=by)
    signer = NoteSigner(name=ORIGIN, key=services.keyring.present.signing_key)
    seq = recorder.call("GET", game, by=by, keep=False).json["version"]
    lost = issue_receipt(signer, game=UUID(table["game"]), seq=seq, head=bytes(32)).decode()
    recorder.done("POST", f"{game}/receipts", {"receipt": lost}, by=by)


def _further_problems(recorder: Recorder, people: dict[str, Any]) -> None:
    eve = people["Eve"]["token"]
    _lost_move(recorder, eve)
    many = {"ruleset": "shithead", "seats": ["me", *[{"bot": "lowest"}] * 7]}
    recorder.refused("cannot-deal", "POST", "/v1/tables", many, by=eve)
    key = {"Idempotency_Key": "table-1"}
    recorder.done("POST", "/v1/tables", PLAIN, by=eve, keep=False, **key)
    recorder.refused("idempotency-conflict", "POST", "/v1/tables", many, by=eve, **key)
    recorder.refused("unsupported-media-type", "POST", "/v1/players", b"name=Ada", media="text/csv")
    recorder.refused("too-large", "POST", "/v1/players", {"name": "x" * BODY_BYTES})
    table = recorder.done("POST", "/v1/tables", PLAIN, by=eve, keep=False)
    stream = f"/v1/games/{table['game']}/stream"
    client = recorder.app.test_client()
    with client.get(stream, buffered=False):
        recorder.refused("unavailable", "GET", stream)
    slow = Refusal("body-timeout", said("limit.slow_body", n="20", size=64))
    with patch("service.api.steps.json_body", side_effect=slow):
        recorder.refused("body-timeout", "POST", "/v1/players", {"name": "Eve"})
    with patch.dict(QUOTAS, [numbered(QuotaKind.TABLES, 2)]):
        recorder.refused("limit-reached", "POST", "/v1/tables", PLAIN, by=eve)
    few = Settings(database_url="", origin=ORIGIN, rate_limits=True, calls_per_address=1)
    client = create_app(FEATURES, recorder.services, few).test_client()
    held_off = [client.get("/v1/bots") for _ in range(2)][-1]
    assert held_off.status_code == 429
    recorder.problems["rate-limited"] = held_off.json


def _tokens(recorder: Recorder, people: dict[str, Any]) -> None:
    """Issue and end tokens; the last calls, because each id changes the later shuffles."""
    replaced = {"name": "laptop", "replaces": True}
    issued = recorder.done("POST", "/v1/players/me/tokens", replaced, by=people["Ada"]["token"])
    token = issued["token"]
    wanted = {"name": "bot", "scopes": ["read", "play"], "ends_at": "2046-05-04T00:00:00.000000Z"}
    issued = recorder.done("POST", "/v1/players/me/tokens", wanted, by=token)
    recorder.done("GET", "/v1/players/me/tokens", by=token)
    recorder.done("GET", "/v1/token", by=issued["token"])
    recorder.refused("missing-scope", "DELETE", "/v1/players/me", by=issued["token"])
    recorder.done("DELETE", f"/v1/players/me/tokens/{issued['id']}", by=token)
    receiver = {"url": "https://bots.example/shithead", "types": ["your_turn", "hand_sealed"]}
    recorder.done("PUT", "/v1/players/me/webhook", receiver, by=token)
    recorder.done("GET", "/v1/players/me/webhook", by=token)
    recorder.done("DELETE", "/v1/players/me/webhook", by=token)


def main() -> None:
    """Write the file; a server of PostgreSQL runs meanwhile."""
    with migrated_database() as url:
        FILE.write_bytes(orjson.dumps(record(url), option=orjson.OPT_INDENT_2) + b"\n")


if __name__ == "__main__":
    main()

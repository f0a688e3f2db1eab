"""The inputs of `ops.bench.endpoints`: awkward bodies for every call, and costly valid calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4

import orjson

from ops.bench.endpoint_scene import TEXT, WIDE, Scene
from service.api.docs import LANGUAGES
from service.api.pages import loaded_assets
from service.rulesets.catalogue import catalogue

BODY = 256 << 10
"""The default limit of a body, in bytes (`SHITHEAD_MAX_BODY_BYTES`)."""

JSON = "application/json"
NDJSON = "application/x-ndjson"
GAME = "<uuid:game_id>"
DISPUTE = "<uuid:dispute_id>"
LONG = "19,000 actions, running"
SEALED = "19,000 actions, over"
WIDE_HAND = "hands of 300 cards"
WIDE_LONG = "a deck of 12 packs, 400 actions"


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """One call: its name in the page, address, body with its type, and caller."""

    name: str
    path: str
    body: tuple[bytes, str] | None = None
    caller: str | None = "Ada"
    headers: Mapping[str, str] = field(default_factory=dict)
    before: Input | None = None  # a call that is made first, without being measured


def inputs(scene: Scene, method: str, rule: str) -> Iterator[Input]:
    """Yield the inputs of an endpoint: valid calls, then awkward JSON bodies."""
    found = False
    for one in (*_valid(scene, method, rule), *_plain(scene, method, rule)):
        found = True
        yield one
    bodiless = "/blocks/" in rule or "/invitations/" in rule
    takes_json = method in ("POST", "PATCH", "PUT") and not bodiless
    if takes_json and rule != "/v1/verify":
        path = _path(scene, rule, game=scene.long)
        for name, body in _awkward():
            yield Input(name=name, path=path, body=(body, JSON))
        found = True
    if not found:
        raise LookupError(f"the bench has no input for {method} {rule}")


def _awkward() -> Iterator[tuple[str, bytes]]:
    """Yield bodies of the largest size that are awkward to read, or to refuse."""
    size = BODY - 64
    fields = b",".join(b'"%d":0' % n for n in range(size // 10))
    yield "unknown fields", b"{" + fields + b"}"
    yield "deep nesting", b"[" * (size // 2) + b"]" * (size // 2)
    yield "a long text", b'{"name":"' + b"\\u00e9" * (size // 6 - 2) + b'"}'
    cards = b",".join([b'"Th"'] * (size // 5 - 10))
    yield "a long list of cards", b'{"type":"play","cards":[' + cards + b"]}"
    seats = b",".join([b'{"bot":"greedy"}'] * (size // 17 - 10))
    yield "a long list of seats", b'{"ruleset":"leeds","seats":[' + seats + b"]}"


def _plain(scene: Scene, method: str, rule: str) -> Iterator[Input]:
    """Yield the calls without a body, with the costliest queries, for each kind of game."""
    if method == "DELETE" and rule == "/v1/players/me":
        yield Input(name="an account with nothing", path=rule, caller="Gone")
        return
    if method not in ("GET", "DELETE"):
        return
    if GAME not in rule:
        for name, query, caller in _queries(scene, rule):
            yield Input(name=name, path=_path(scene, rule) + query, caller=caller)
        return
    games = {
        LONG: (scene.long, scene.long_version - 1001),
        SEALED: (scene.sealed, scene.long_version - 2001),
        WIDE_HAND: (scene.wide, 4),
        WIDE_LONG: (scene.wide_long, 200),
    }
    for name, (game, at) in games.items():
        yield Input(name=name, path=_path(scene, rule, game=game, at=at) + _of_game(rule, at))


def _of_game(rule: str, at: int) -> str:
    """Return the costliest query of a read of a game."""
    return {
        GAME: f"?at={at}",
        "replay": f"?from={at}",
        "knowledge": f"?at={at}&seat=0",
        "evidence": "?profile=seat",
        "stream": f"?after={at}",
    }.get(rule.rpartition("/")[2], "")


FIXED_QUERIES: Mapping[str, tuple[str, str, str | None]] = {
    "/v1/decisions": ("", "?had_other=true&limit=200", None),
    "/v1/handles": ("a beginning", "?prefix=aa", "Ada"),
    "/v1/players": (
        "50 unknown ids",
        f"?ids={','.join(str(UUID(int=n)) for n in range(50))}",
        None,
    ),
    "/v1/ratings": ("", "?ruleset=shithead&limit=200", None),
    "/v1/rulesets": ("180 custom rulesets", "?limit=200", None),
    "/v1/rulesets/<name:ruleset_id>/differences": ("a custom ruleset", "?from=egilsson", None),
}
"""Name, query and caller of reads that are the same for every scene."""


def _queries(scene: Scene, rule: str) -> Iterator[tuple[str, str, str | None]]:
    """Yield the name, query and caller of reads of everything but games."""
    match rule:
        case _ if rule in FIXED_QUERIES:
            yield FIXED_QUERIES[rule]
        case "/v1/games":
            yield "190 running hands of the caller", "?player=me&limit=200", "Dee"
        case "/v1/tables":
            yield "190 tables of the caller", "?mine=true&limit=200", "Dee"
        case "/v1/log/proof":
            yield "", f"?game={scene.sealed}", None
        case "/v1/oembed":
            yield "19,000 actions, running", f"?url=http://localhost/replay/{scene.long}", None
        case "/v1/statistics/blind-choices":
            yield "", f"?player={scene.people['Ada'].id}", "Ada"
        case "/v1/players/me":
            yield "190 tables", "", "Dee"
        case "/v1/tables/<uuid:table_id>" | "/v1/tables/<uuid:table_id>/keys":
            yield "200 hands played", "", "Ada"
        case "/v1/disputes/<uuid:dispute_id>":
            yield "249 referees, 38 statements", "", "Bob"
        case "/v1/disputes":
            yield "27 disputes, 249 referees each", "?limit=200", "Ada"
            yield "27 disputes, of one state", "?limit=200&state=final", "Ada"
        case _ if "/hands" in rule:
            other = scene.people["Bob"].id
            yield "hands of the caller", "", "Ada"
            yield "hands with a player and a result", f"?result=lost&with={other}", "Ada"
        case _:
            many = "&".join(f"x{number}={'y' * 100}" for number in range(40))
            yield "", "", "Ada"
            yield "40 unknown parameters", f"?{many}", "Ada"


def _valid(scene: Scene, method: str, rule: str) -> Iterator[Input]:
    """Yield the valid calls that change something or wait, with the costliest content."""
    if method == "GET" and rule == f"/v1/games/{GAME}":
        for name, game in ((LONG, scene.long), (WIDE_HAND, scene.wide)):
            yield Input(name=f"{name}, present", path=_path(scene, rule, game=game))
        waits = f"?after={scene.long_version + 50}&wait=1"
        yield Input(name="wait", path=_path(scene, rule, game=scene.long) + waits)
    if method == "GET" and rule == f"/v1/games/{GAME}/events":
        lines = {"Accept": NDJSON}
        for name, game in ((LONG, scene.long), (SEALED, scene.sealed)):
            path = _path(scene, rule, game=game)
            yield Input(name=f"{name}, all lines", path=path, headers=lines)
    if method == "GET" and rule == f"/v1/games/{GAME}/disputes":
        path = _path(scene, rule, game=scene.accused)
        yield Input(name="25 disputes, 249 referees each", path=f"{path}?limit=200")
    if method == "GET" and rule == f"/v1/disputes/{DISPUTE}/collusion":
        path = rule.replace(DISPUTE, scene.voting_dispute)
        yield Input(name="a referee", path=path, caller="Judge 1")
    if method == "GET" and rule == f"/v1/games/{GAME}/evidence":
        yield Input(name="25 disputes", path=_path(scene, rule, game=scene.accused))
    on_long: dict[tuple[str, str], Any] = {
        ("PUT", f"/v1/games/{GAME}/notes/<int:seq>"): {"text": "é" * 1000, "visibility": "me"},
        ("POST", f"/v1/games/{GAME}/receipts"): {"receipt": scene.receipt},
        ("POST", "/v1/players/me/moments"): {
            "game": scene.long,
            "version": 1,
            "as": "public",
            "list": "é" * 40,
            "text": "é" * 200,
        },
        ("PUT", "/v1/players/me/webhook"): {"url": f"https://bots.example/{'x' * 400}"},
    }
    if (method, rule) in on_long:
        yield _json("valid", _path(scene, rule, game=scene.long), on_long[method, rule])
    if method == "PUT" and rule.endswith("s/<uuid:player_id>"):  # of a block or an invitation
        yield Input(name="valid", path=_path(scene, rule), caller="Bob")
    of_caller: dict[tuple[str, str], Any] = {
        ("POST", "/v1/players/me/tokens"): {"name": "é" * 40, "scopes": ["read"]},
        ("PATCH", "/v1/players/me"): {"name": "é" * 40},
        ("PUT", "/v1/players/me/handle"): {"handle": "a-very-long-handle-1"},
        ("POST", "/v1/challenges"): {
            "player": str(scene.people["Bob"].id),
            "ruleset": "shithead",
        },
        ("POST", "/v1/seeks"): {"rulesets": [*catalogue()][:12], "seats": 4},
    }
    if (method, rule) in of_caller:
        yield _json("valid", rule, of_caller[method, rule])
    if method == "POST":
        yield from _posted(scene, rule)


def _posted(scene: Scene, rule: str) -> Iterator[Input]:
    match rule.removeprefix("/v1/"):
        case "verify":
            yield Input(
                name="400 refused passes in hands of 900 cards",
                path=rule,
                body=(scene.upload, NDJSON),
            )
        case "rulesets":
            wide = {**WIDE, "refill": {"size": 5}}
            three = {**wide, "deck": {"count": "fixed", "decks": 3}, "deal": {"hand": 20}}
            for name, changes in (("3 packs, runs", three), ("12 packs, runs", wide)):
                custom = {"name": "Own", "base": "shithead", "changes": changes}
                yield _json(f"a trial with {name}", rule, custom)
        case "tables":
            body: dict[str, Any] = {
                "ruleset": scene.wide_ruleset,
                "seats": ["me", {"bot": "lowest"}],
            }
            yield _json("a deck of 12 packs", rule, body)
        case "players":
            yield _json("valid", rule, {"name": "é" * 40})
        case "tables/<uuid:table_id>/games":
            yield _json("running", _path(scene, rule), {})
        case "games/<uuid:game_id>/moves":
            yield from _moves(scene, rule)
        case "games/<uuid:game_id>/what-if":
            line = {"at": 4, "as": "all", "moves": [], "then": "greedy"}
            yield _json(f"{SEALED}, 200 moves", _path(scene, rule, game=scene.sealed), line)
        case "games/<uuid:game_id>/disputes":
            charge = {"accused": None, "seq": 50, "charge": "wrong_deal", "statement": TEXT}
            for name, game in ((LONG, scene.long), (SEALED, scene.sealed)):
                path = _path(scene, rule, game=game)
                yield _json(name, path, charge, caller="Cy")
        case other if DISPUTE in other:
            yield from _on_disputes(scene, rule)
        case _:
            return


def _moves(scene: Scene, rule: str) -> Iterator[Input]:
    """Yield refused moves (the refusal lists all legal ones), and a repeated request."""
    for name, game in ((LONG, scene.long), (WIDE_HAND, scene.wide)):
        path = _path(scene, rule, game=game)
        for caller in ("Ada", "Bob"):
            label = f"{name}, a refused pass by {caller}"
            yield _json(label, path, {"type": "pass"}, caller=caller)
    path, key = _path(scene, rule, game=scene.crowd_game), {"Idempotency-Key": str(uuid4())}
    forfeit = _json("", path, {"type": "forfeit"}, caller="Dee", headers=key)
    yield _json(
        "a repeated request", path, {"type": "forfeit"}, caller="Dee", headers=key, before=forfeit
    )


def _on_disputes(scene: Scene, rule: str) -> Iterator[Input]:
    running = rule.replace(DISPUTE, scene.running_dispute)
    voting = rule.replace(DISPUTE, scene.voting_dispute)
    ruled = rule.replace(DISPUTE, scene.ruled_dispute)
    match rule.rpartition("/")[2]:
        case "statements":
            yield _json("the 39th statement", running, {"text": TEXT}, caller="Bob")
        case "receipts":
            body = {"receipt": scene.receipt}
            yield _json("of 19,000 actions, 38 statements", running, body, caller="Bob")
        case "referees":
            yield _json("the 250th referee", running, {}, caller="Judge 1")
            yield _json("one refused of 249", running, {"refuse": 7}, caller="Bob")
        case "votes":
            for judge in ("Judge 1", "Judge 2", "Judge 3"):
                yield _json(f"a vote, {judge}", voting, {"vote": "not_proven"}, caller=judge)
        case "appeal":
            yield _json("38 statements", ruled, {}, caller="Bob")
        case "withdrawal":
            unanswered = rule.replace(DISPUTE, scene.unanswered_dispute)
            yield _json("unanswered", unanswered, {}, caller="Cy")
            yield _json("38 statements", running, {}, caller="Ada")


def _json(name: str, path: str, body: Any, **more: Any) -> Input:
    return Input(name=name, path=path, body=(orjson.dumps(body), JSON), **more)


def _path(scene: Scene, rule: str, *, game: str = "", at: int = 0) -> str:
    """Return the address of an endpoint for a game and an event in it."""
    table = scene.old if "keys" in rule or rule.endswith("<uuid:table_id>") else scene.crowded
    parts = {
        GAME: game,
        DISPUTE: scene.running_dispute,
        "<uuid:table_id>": table,
        "<uuid:player_id>": str(scene.people["Ada"].id),
        "<uuid:moment_id>": str(UUID(int=0)),
        "<uuid:token_id>": str(UUID(int=0)),
        "<int:seq>": str(at),
        "<path:card>": "Th",
        "<name:ruleset_id>": scene.wide_ruleset,
        "<string:level>": "0",
        "<path:rest>": "000.p/1",
        "<name:package>": "verify",
        "<file>": "claims.py",
        "<tag>": "games",
        "<example>": "games.game.200.json",
        "<text>": next(iter(LANGUAGES)),
        "<build>": loaded_assets().build,
        "<path:path>": max(
            loaded_assets().files, key=lambda name: len(loaded_assets().files[name])
        ),
        "<code>": "rule-refused",
    }
    for part, value in parts.items():
        rule = rule.replace(part, value)
    return rule

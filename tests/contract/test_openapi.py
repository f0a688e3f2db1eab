"""The OpenAPI document: complete, readable, and correct about real responses."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urljoin
from uuid import UUID

import jsonschema_rs
import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from schemas.event_fields import EventSchema
from schemas.moves import INTENTS
from service.api.docs import SPECIFIED
from service.api.problems import PROBLEMS
from service.runtime.version import VERSION
from service.shx import event_shapes
from service.shx.event_shapes import EVENT_TYPES
from tests.worlds.api_world import (
    Person,
    World,
    check_documented,
    documented,
    make_world,
    path_template,
)

SAMPLES = Path(__file__).parents[1] / "golden/samples"
LOGS = [log for log in sorted(SAMPLES.glob("*.jsonl")) if not log.stem.endswith(".refusals")]
EVENT = {"$ref": "#/components/schemas/Event"}
DESCRIBED_HEADERS = ("ETag", "Location", "Idempotency-Replayed", "Retry-After", "WWW-Authenticate")


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    """Return the document."""
    return documented()


@pytest.fixture(scope="module")
def world(module_database_url: str) -> Iterator[World]:
    made = make_world(module_database_url)
    yield made
    made.services.close()


def test_every_operation_under_v1_is_in_the_document(world: World) -> None:
    document = world.get("/v1/openapi.json").json
    assert document["openapi"] == "3.1.0"
    assert document["info"]["version"] == VERSION, "that of --version and of the logs of games"
    operations = {
        (path, method.upper())
        for path, calls in document["paths"].items()
        for method in calls
        if method != "parameters"
    }
    routed = {
        (path_template(rule.rule), method)
        for rule in world.app.url_map.iter_rules()
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
        if rule.rule.startswith("/v1/") and rule.rule != "/v1/openapi.json"
    }
    assert operations == routed


def test_the_document_is_valid_openapi(document: dict[str, Any]) -> None:
    """A stock validator has no complaint: neither names of components nor defaults, for example."""
    faults = [error.message for error in OpenAPIV31SpecValidator(document).iter_errors()]
    assert faults == []


def test_operations_have_unique_ids_and_summaries(world: World) -> None:
    document = world.get("/v1/openapi.json").json
    calls = [
        call
        for path in document["paths"].values()
        for method, call in path.items()
        if method != "parameters"
    ]
    names = [call["operationId"] for call in calls]
    assert len(set(names)) == len(names)
    assert all(call["summary"] for call in calls)


def properties(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the name and schema of every field of every schema."""
    for name, schema in document["components"]["schemas"].items():
        for field, described in schema.get("properties", {}).items():
            yield f"{name}.{field}", described


def test_every_field_and_parameter_is_described(document: dict[str, Any]) -> None:
    bare = [name for name, schema in properties(document) if not schema.get("description")]
    assert bare == []
    for path, calls in document["paths"].items():
        for parameter in [p for call in calls.values() for p in _parameters(call)]:
            assert parameter.get("description"), (path, parameter["name"])


def _parameters(call: Any) -> list[dict[str, Any]]:
    """Return the parameters of a call, or the list of parameters shared by the calls of a path."""
    found: list[dict[str, Any]] = call if isinstance(call, list) else call.get("parameters", [])
    return found


def test_requests_name_their_choices_and_defaults(document: dict[str, Any]) -> None:
    table = document["components"]["schemas"]["TableRequest"]["properties"]
    assert table["seats"]["items"]["oneOf"][0] == {"type": "string", "enum": ["me", "open"]}
    assert table["deal"]["oneOf"][1] == {"type": "string", "enum": ["always"]}
    assert (table["visibility"]["default"], table["window_seconds"]["default"]) == ("public", 3)
    asked = document["paths"]["/v1/oembed"]["get"]["parameters"]
    defaults = {
        one["name"]: one["schema"]["default"] for one in asked if "default" in one["schema"]
    }
    assert defaults == {"format": "json"}


def test_times_have_the_format_date_time(document: dict[str, Any]) -> None:
    times = [(n, s) for n, s in properties(document) if r"T\d\d:" in s.get("pattern", "")]
    assert {name for name, _ in times} >= {
        "CardsPlayedEvent.at",
        "GameView.deadline",
        "Player.created_at",
    }
    assert all(schema["format"] == "date-time" for _, schema in times)


def test_the_schema_of_an_event_follows_from_its_type(document: dict[str, Any]) -> None:
    """Each of the 24 types of SHX/1, section 2, has a schema with exactly its fields."""
    schemas = document["components"]["schemas"]
    by_type = schemas["Event"]["discriminator"]
    assert by_type["propertyName"] == "type"
    assert by_type["mapping"].keys() == EVENT_TYPES
    assert len(EVENT_TYPES) == 24
    assert schemas["Event"]["oneOf"] == [{"$ref": ref} for ref in by_type["mapping"].values()]
    for kind, ref in by_type["mapping"].items():
        whole = schemas[ref.rpartition("/")[2]]
        data = schemas[whole["properties"]["data"]["$ref"].rpartition("/")[2]]
        assert data["properties"].keys() == set(_DATA_OF[kind]), kind
        assert set(data["required"]) == set(_DATA_OF[kind]), kind


_DATA_OF = {kind: shape.data.schema["required"] for kind, shape in event_shapes.EVENTS.items()}


@pytest.mark.parametrize("log", LOGS, ids=lambda log: log.stem)
def test_the_events_of_every_sample_fit_the_document(log: Path, document: dict[str, Any]) -> None:
    whole = {**EVENT, "components": document["components"]}
    validator = jsonschema_rs.validator_for(whole, validate_formats=True)
    for line in log.read_bytes().splitlines():
        event = json.loads(line)
        validator.validate(event)
        EventSchema().load(event)


def test_an_event_with_an_extra_or_missing_field_is_invalid(document: dict[str, Any]) -> None:
    whole = {**EVENT, "components": document["components"]}
    validator = jsonschema_rs.validator_for(whole, validate_formats=True)
    event = json.loads((SAMPLES / "leeds.jsonl").read_bytes().splitlines()[-1])
    assert validator.is_valid(event)
    assert not validator.is_valid({**event, "more": 1})
    assert not validator.is_valid({**event, "type": "seat_out"})
    assert not validator.is_valid({k: v for k, v in event.items() if k != "at"})


def test_listed_and_posted_moves_have_one_schema(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    posted = document["paths"]["/v1/games/{game_id}/moves"]["post"]["requestBody"]["content"]
    move = {"$ref": "#/components/schemas/Move"}
    assert posted["application/json"]["schema"] == move
    assert schemas["GameView"]["properties"]["moves"]["items"] == move
    assert schemas["Problem"]["properties"]["legal"]["items"] == move
    pick_up = schemas["PickUpMove"]
    assert pick_up["properties"]["auth"]["writeOnly"]
    assert pick_up["required"] == ["type"]
    assert schemas["Move"]["discriminator"]["mapping"].keys() == INTENTS.keys()


def test_the_stream_documents_the_header_last_event_id(document: dict[str, Any]) -> None:
    call = document["paths"]["/v1/games/{game_id}/stream"]["get"]
    assert "Last-Event-ID" in {one["name"] for one in call["parameters"] if one["in"] == "header"}


def test_posts_without_an_idempotency_key_are_those_that_the_page_names(
    document: dict[str, Any],
) -> None:
    """All others repeat their first answer; those that answer with a token refuse a key."""
    without = {
        path
        for path, calls in document["paths"].items()
        if "post" in calls and "Idempotency-Key" not in json.dumps(calls["post"]["parameters"])
    }
    assert without == {
        *("/v1/players", "/v1/players/recover"),
        *("/v1/players/me/recovery", "/v1/players/me/tokens"),
        *("/v1/verify", "/v1/games/{game_id}/what-if", "/v1/seeks/{seek_id}/renew"),
    }
    page = Path("ops/spec/api.md").read_text()
    assert (
        "without one, which ignore it: `POST /v1/verify`, `what-if` and `renew` of a seek" in page
    )


def test_the_headers_of_answers_are_in_the_document(world: World) -> None:
    """Clients are generated from the document, so it names each header that they can use."""
    ada = world.person("Ada")
    repeated = {"Idempotency-Key": "one"}
    body = {"ruleset": "shithead", "seats": ["me", {"bot": "lowest"}]}
    table = ada.post("/v1/tables", body, headers=repeated).json
    game, moves = f"/v1/games/{table['game']}", f"/v1/games/{table['game']}/moves"
    ready, seats = {"type": "ready"}, "/v1/tables/{table_id}/seats/me"
    keys = world.get("/v1/keys").headers["ETag"]
    known = {"If-None-Match": ada.get(game).headers["ETag"]}
    answers = {
        ("post", "/v1/tables"): ada.post("/v1/tables", body, headers=repeated),
        ("get", "/v1/games/{game_id}"): ada.get(game, headers=known),
        ("post", "/v1/games/{game_id}/moves"): ada.post(moves, ready, headers=repeated),
        ("post", "/v1/games/{game_id}/entropy"): world.client.post(f"{game}/entropy", json={}),
        ("get", "/v1/keys"): world.get("/v1/keys", headers={"If-None-Match": keys}),
    }
    assert ada.post(moves, {"type": "forfeit"}).status_code == 201
    path = f"/v1/tables/{table['id']}"
    answers["patch", seats] = ada.call("PATCH", f"{path}/seats/me", json={"entropy": "value"})
    answers["post", "/v1/tables/{table_id}/games"] = ada.post(f"{path}/games")
    document = world.get("/v1/openapi.json").json
    for (method, template), answer in answers.items():
        promised = document["paths"][template][method]["responses"][str(answer.status_code)]
        sent = {name for name in DESCRIBED_HEADERS if name in answer.headers}
        assert sent, template
        assert sent <= set(promised.get("headers", {})), (method, template)


def test_the_document_has_what_linters_and_generators_need(world: World) -> None:
    """Redocly's rules: a server, a license, a description of each operation."""
    answer = world.get("/v1/openapi.json")
    document = answer.json
    assert [server["url"] for server in document["servers"]] == ["/"]
    assert document["info"]["license"]["identifier"] == "MIT"
    for calls in document["paths"].values():
        for method, call in calls.items():
            if method != "parameters":
                assert len(call["description"]) > 30, call["operationId"]
                assert call["description"] != call["summary"]
    recommended = f"{document['info']['title'].lower().replace(' ', '_')}_client"
    assert recommended != "shithead_client", "the name of our wheel"
    assert len(answer.data) < 900_000


def test_every_get_has_an_etag_and_answers_304_except_streams(
    world: World, document: dict[str, Any]
) -> None:
    conditional = {
        path
        for path, calls in document["paths"].items()
        if "ETag" in calls.get("get", {}).get("responses", {}).get("304", {}).get("headers", {})
    }
    gets = {path for path, calls in document["paths"].items() if "get" in calls}
    assert gets - conditional == {
        "/v1/games/{game_id}/stream",
        "/v1/players/me/stream",
        "/v1/players/{player_id}/hands",
        "/v1/players/{player_id}/hands.tar",
    }
    ada = world.person("Ada")
    table = ada.post("/v1/tables", {"ruleset": "shithead", "seats": ["me", {"bot": "lowest"}]})
    game = f"/v1/games/{table.json['game']}"
    paths = ("/v1/rulesets", "/v1/rulesets/leeds", "/v1/bots", "/v1/players/me", "/v1/tables")
    for path in (*paths, game, f"{game}/events", f"{game}/replay", f"{game}/evidence"):
        tag = ada.get(path).headers["ETag"]
        again = ada.get(path, headers={"If-None-Match": f"W/{tag}"})
        assert (again.status_code, again.data) == (304, b""), path


@pytest.mark.heavy
def test_every_problem_type_has_a_page_and_is_listed_in_the_docs(world: World) -> None:
    for code, kind in PROBLEMS.items():
        page = world.get(f"/problems/{code}")
        assert page.status_code == 200
        assert kind.title in page.text
        assert code in world.get("/docs").text


def test_the_api_pages_list_every_path_and_load_only_the_script_of_the_bar(
    world: World,
) -> None:
    for page in docs_pages(world).values():
        assert len(re.findall("<script", page)) == len(re.findall(BAR, page)) <= 1
        assert re.findall(r'(?:src|href)="(?:https?:)?//', page) == []
        assert "$ref" not in page
    index = world.get("/docs")
    assert index.mimetype == "text/html"
    for path in world.get("/v1/openapi.json").json["paths"]:
        assert path in index.text


BAR = r'<script type="module" src="/static/[0-9a-f]+/app/bar.js"></script>'


def docs_pages(world: World) -> dict[str, str]:
    """Return /docs and the pages that it links, by their addresses."""
    index = world.get("/docs").text
    found = set(re.findall(r'href="(/docs/(?:calls/\w+|schemas))', index))
    return {"/docs": index, **{address: world.get(address).text for address in found}}


def test_every_api_page_is_small(world: World) -> None:
    """A single page with all operations had 680 KB."""
    sizes = {address: len(page.encode()) for address, page in docs_pages(world).items()}
    assert max(sizes.values()) < 260_000, sizes
    assert sizes["/docs"] < 75_000


def test_every_internal_link_of_the_api_pages_has_a_target(world: World) -> None:
    pages = docs_pages(world)
    targets = {f"{at}#{name}" for at, page in pages.items() for name in ids(page)}
    linked = {
        link if link.startswith("/") else at + link
        for at, page in pages.items()
        for link in re.findall(r'href="((?:/docs[^"]*)?#[^"]+)"', page)
    }
    assert len(linked) > 200
    assert linked - targets == set()


def test_no_served_document_has_a_dead_link(world: World) -> None:
    """Relative links lead to another served document, also those of the specification."""
    texts = {f"/docs/{name}" for name in SPECIFIED if name.endswith(".md")}
    served = texts | {"/docs/client", "/docs/assistants"}
    linked = {
        (urljoin(at, link).partition("#")[0], at)
        for at, page in {**docs_pages(world), **{at: world.get(at).text for at in served}}.items()
        for link in re.findall(r"\]\(([^)]+)\)" if at in texts else r' href="([^"]+)"', page)
        if not link.startswith(("https:", "http:"))
    }
    status = {target: world.get(target).status_code for target in dict(linked)}
    assert len(status) > 50
    assert [(target, at) for target, at in linked if status[target] >= 400] == []


def ids(page: str) -> list[str]:
    return re.findall(r' id="([^"]+)"', page)


def test_every_operation_is_on_a_page_and_every_schema_is_linked(world: World) -> None:
    document = world.get("/v1/openapi.json").json
    pages = docs_pages(world)
    calls = [
        call
        for one in document["paths"].values()
        for method, call in one.items()
        if method != "parameters"
    ]
    for call in calls:
        operation = call["operationId"]
        assert operation in ids(pages[f"/docs/calls/{operation.partition('.')[0]}"])
        assert operation in ids(pages["/docs"])
    schemas = document["components"]["schemas"].keys()
    shown = re.findall(r'id="schema-(\w+)"', pages["/docs/schemas"])
    assert set(shown) == schemas
    move = pages["/docs/calls/games"].partition('id="games.move"')[2].partition("</section>")[0]
    for schema in ("Move", "PlayMove", "Moved", "GameView", "Event"):
        assert f'href="/docs/schemas#schema-{schema}"' in move, schema
    assert "a signed note of the new head" in move, "the fields of the answer"
    # Out of turn these have the status of `not-your-turn`, so that they reveal no card.
    assert re.findall(r">(?:rule-refused|unknown-card)</a> \d+", move) == [
        *(">rule-refused</a> 409", ">unknown-card</a> 409"),
        *(">rule-refused</a> 422", ">unknown-card</a> 422"),
    ]
    assert move.count("Example") == 2


def test_a_long_example_is_linked_and_complete(world: World) -> None:
    pages = docs_pages(world)
    linked = [one for page in pages.values() for one in re.findall(r"/docs/examples/[^\"]+", page)]
    assert len(linked) > 3
    for address in linked:
        assert world.get(address).status_code == 200, address
    [ruleset] = [one for one in linked if one.endswith("rulesets.ruleset.200.json")]
    assert world.get(ruleset).json["statements"]
    assert world.get("/docs/examples/games.game.500.json").status_code == 404


@pytest.mark.heavy
def test_real_responses_conform_to_the_document(world: World) -> None:
    ada = world.person()
    table = _open_table(world, ada)
    game = f"/v1/games/{table['game']}"
    _check_game(world, ada, game)
    for path in ("/v1/tables", "/v1/games", "/v1/players/me", "/v1/rulesets", "/v1/bots"):
        check_documented(path, ada.get(path))
    check_documented("/v1/keys", ada.get("/v1/keys"))
    check_documented("/v1/tables/{table_id}", ada.get(f"/v1/tables/{table['id']}"))
    check_documented("/v1/players/{player_id}", ada.get(f"/v1/players/{ada.id}"))
    check_documented("/v1/rulesets/{ruleset_id}", ada.get("/v1/rulesets/mukava"))
    both = ada.get("/v1/rulesets/leeds/differences?from=threes")
    check_documented("/v1/rulesets/{ruleset_id}/differences", both)
    page = quote(f"http://localhost/replay/{ada.game().rpartition('/')[2]}")
    small = ada.get(f"/v1/oembed?url={page}&maxwidth=1&maxheight=1")
    check_documented("/v1/oembed", small)


def _open_table(world: World, ada: Person) -> dict[str, Any]:
    body = {
        "ruleset": "shithead",
        "seats": ["me", {"bot": "greedy"}, {"bot": "lowest"}],
        "clock": {"turn_seconds": 60, "swap_seconds": 60},
        "visibility": "private",
    }
    answer = ada.post("/v1/tables", body)
    check_documented("/v1/tables", answer, method="post")
    assert answer.json["invite"]
    result: dict[str, Any] = answer.json
    return result


def _check_game(world: World, ada: Person, game: str) -> None:
    template, turns = "/v1/games/{game_id}", world.services.turns
    moves = f"{template}/moves"
    identity = game.removeprefix("/v1/games/")
    for _ in range(40):
        view = ada.get(game)
        check_documented(template, view)
        if view.json["status"] == "ended":
            break
        if view.json["moves"]:
            chosen = next((m for m in view.json["moves"] if m["type"] == "ready"), None)
            answer = ada.post(f"{game}/moves", chosen or view.json["moves"][0])
            check_documented(moves, answer, method="post")
        else:
            turns.play_due_moves(UUID(identity), view.json["version"])
    refused = ada.post(f"{game}/moves", {"type": "pick_up", "with": ["2c"]})
    check_documented(moves, refused, method="post")
    if ada.get(game).json["status"] != "ended":
        check_documented(moves, ada.post(f"{game}/moves", {"type": "forfeit"}), method="post")
    for part in ("events", "openings", "audit", "replay?as=all"):
        check_documented(f"{template}/{part.partition('?')[0]}", ada.get(f"{game}/{part}"))
    check_documented(template, ada.get(f"{game}?as=all"))


def test_every_list_pages_alike_or_stands_in_the_table_of_other_lists(
    document: dict[str, Any],
) -> None:
    """`limit`, `cursor` and `next` of text; the specification has each other list with a reason."""
    page = Path(__file__).resolve().parents[2] / "ops" / "spec" / "api.md"
    table = page.read_text("utf-8").partition("*Other lists*: ")[2].partition("| problem |")[0]
    others = re.findall(r"^\| `GET (/v1/\S+)` \| ", table, re.MULTILINE)
    lists = set[str]()
    for path, item in document["paths"].items():
        content = item.get("get", {}).get("responses", {}).get("200", {}).get("content", {})
        for media, answer in content.items():
            schema = resolved(document, answer["schema"])
            members = schema.get("properties", {})
            if not ("items" in members or "next" in members or media == "application/x-ndjson"):
                continue
            lists.add(path)
            asked = {one["name"] for one in item["get"]["parameters"] if one["in"] == "query"}
            is_alike = {"items", "next"} <= members.keys() and {"limit", "cursor"} <= asked
            assert is_alike is (path not in others), path
            assert path not in others or "next" in members or media != "application/json", path
    assert set(others) <= lists | {"/v1/games/{game_id}/stream"}
    assert len(others) > 10


def resolved(document: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema behind references."""
    while "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return schema

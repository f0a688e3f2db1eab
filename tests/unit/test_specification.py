"""The specification in ops/spec: its examples match the code, and what is cited of it exists."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from marshmallow import Schema, fields, validate

from schemas.event_fields import DATA, OpeningSchema
from schemas.moves import INTENTS
from schemas.settings import json_schema
from schemas.strict_fields import CARD_PATTERN, PatternString
from service.api.docs import SPECIFIED
from service.api.problems import PROBLEMS
from service.rulesets.catalogue import catalogue
from service.shx.canonical import length_prefixed, parse, tagged_mac
from service.shx.chain import decode_event, genesis, head
from service.shx.event_shapes import EVENT_TYPES
from service.shx.moves import check_move, intent_bytes, intent_is_signed, sign_intent
from service.shx.receipts import parse_receipt_body, receipt_body
from service.shx.shuffle import client_commit, server_commit
from service.verify.finding import Check

ROOT = Path(__file__).resolve().parents[2]
SPEC = ROOT / "ops/spec"
SHX = (SPEC / "shx-1.md").read_text("utf-8")
RULES = (SPEC / "rules.md").read_text("utf-8")
VECTOR = json.loads((SPEC / "vectors.json").read_text())["vectors"][0]
GAME = UUID(VECTOR["game"])


def examples(language: str) -> list[str]:
    """Return the fenced blocks of a language, which are the examples of one kind."""
    found = re.findall(rf"^```{language}\n(.*?)\n```$", SHX, re.MULTILINE | re.DOTALL)
    assert found, f"there is no example of {language}"
    return found


def test_the_example_of_canonical_json_matches_the_code() -> None:
    [text] = examples("canonical")
    assert parse(text.encode()) == {"seat": 0, "cards": ["Th", "7c/2"]}
    assert length_prefixed(b"ab", b"c").hex(" ", 1) in SHX


def test_the_examples_of_events_and_heads_match_the_code() -> None:
    [start], [example] = examples("genesis"), examples("event")
    assert genesis(GAME).hex() == start
    line, after = example.split("\n")
    decode_event(line.encode())
    assert head(line.encode()).hex() == after
    assert (line, after) == (VECTOR["event_1"], VECTOR["head_1"])


def test_the_example_of_the_shuffle_matches_the_code() -> None:
    [example] = examples("shuffle")
    shown = dict(line.split() for line in example.split("\n"))
    seed, value = bytes.fromhex(VECTOR["S"]), bytes.fromhex(VECTOR["reveals"][0])
    assert (set(seed), set(value)) == ({0x5E}, {0x01})
    assert shown == {
        "C_S": server_commit(GAME, seed).hex(),
        "C_0": client_commit(GAME, 0, value).hex(),
        "T": VECTOR["T"],
        "K_deck": tagged_mac(seed, "shx/1/deck", bytes.fromhex(VECTOR["T"])).hex(),
    }


def test_the_example_of_a_signed_move_matches_the_code() -> None:
    [example] = examples("intent")
    text, signature = example.split("\n")
    key = Ed25519PrivateKey.from_private_bytes(bytes([1]) * 32)
    intent = parse(text.encode())
    assert sign_intent(key, intent) == {"intent": intent, "sig": signature}
    assert intent_bytes(intent).startswith(b"shx/1/move\n{")
    assert intent_is_signed(
        key.public_key().public_bytes_raw(), {"intent": intent, "sig": signature}
    )


def test_the_example_of_a_receipt_matches_the_code() -> None:
    [example] = examples("receipt")
    after = bytes.fromhex(VECTOR["head_1"])
    assert receipt_body("example.org", GAME, 1, after) == example + "\n"
    assert parse_receipt_body(example + "\n").seq == 1


def test_the_moves_are_those_of_the_code() -> None:
    shown = re.findall(r'^\| `(\{"type":.*?\})` \|', SHX, re.MULTILINE)
    moves = [
        json.loads(one.replace("[[…],…]", "[[]]").replace("[…]", '["Th"]').replace("n}", "0}"))
        for one in shown
    ]
    assert [move["type"] for move in moves] == list(INTENTS)
    for move in moves:
        check_move(move)


def test_the_checks_are_those_of_the_code() -> None:
    table = SHX.partition("## 8. Verification")[2].partition("**Legality**")[0]
    shown = re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)
    assert shown == [check.value for check in Check]


BEGIN = "<!-- events: made from event_shapes.py by tests/unit/test_specification.py -->\n"
END = "<!-- end of events -->"


def event_tables() -> str:
    """Return the tables of section 2: each type of event with the fields of its data."""
    return "\n".join(_table(kind, schema()) for kind, schema in DATA.items())


def _table(kind: str, schema: Schema) -> str:
    purpose = " ".join((schema.__doc__ or "").split())
    rows = [f"| `{name}` | {form} | {text} |" for name, form, text in _rows(schema)]
    return "\n".join(
        [
            f"**`{kind}`.** {purpose}",
            "",
            "| `data` | form | meaning |",
            "| --- | --- | --- |",
            *rows,
            "",
        ]
    )


def _rows(schema: Schema, prefix: str = "") -> Iterator[tuple[str, str, str]]:
    for name, field in schema.fields.items():
        whole = f"{prefix}{field.data_key or name}"
        yield whole, _form(field), str(field.metadata["description"])
        inner = field.inner if isinstance(field, fields.List) else field
        if isinstance(inner, fields.Nested) and not isinstance(inner.schema, OpeningSchema):
            more = "[]." if isinstance(field, fields.List) else "."
            yield from _rows(inner.schema, whole + more)


def _form(field: fields.Field[Any]) -> str:
    """Return the form of a value in words."""
    null = " or null" if field.allow_none else "" if field.required else ", or absent"
    match field:
        case fields.List():
            return f"[{_form(field.inner)}]{null}"
        case fields.Nested():
            return ("opening" if isinstance(field.schema, OpeningSchema) else "object") + null
        case fields.Dict():
            return "object" + null
        case fields.UUID():
            return "UUID" + null
        case fields.Integer():
            return _integer(field) + null
        case PatternString():
            return _shape(field) + null
        case _:
            words = [v.choices for v in field.validators if isinstance(v, validate.OneOf)]
            return ("/".join(map(str, words[0])) if words else "string") + null


def _integer(field: fields.Integer) -> str:
    for one in field.validators:
        if isinstance(one, validate.OneOf):
            return " or ".join(map(str, one.choices))
        if isinstance(one, validate.Range) and one.max == 63:
            return "seat"
        if isinstance(one, validate.Range) and one.min:
            return f"integer ≥ {one.min}"
    return "integer"


def _shape(field: PatternString) -> str:
    [pattern] = [v.regex.pattern for v in field.validators if isinstance(v, validate.Regexp)]
    if pattern == CARD_PATTERN:
        return "card"
    return "64 hex" if "0-9a-f" in pattern else "32 bytes in base64"


def test_the_tables_of_events_are_those_of_the_schemas() -> None:
    shown = SHX.partition(BEGIN)[2].partition(END)[0]
    assert shown == "\n" + event_tables() + "\n"
    assert set(re.findall(r"^\*\*`(\w+)`\.\*\*", shown, re.MULTILINE)) == EVENT_TYPES


DOCUMENTS = {
    "SHX/1": "shx-1.md",
    "api.md": "api.md",
    "rules.md": "rules.md",
    "shx-1.md": "shx-1.md",
}
CITED = re.compile(
    r"(SHX/1|(?:ops/spec/)?(?:api|rules|shx-1)\.md)`?,? \(?sections? (\d+)"
    r"(?:(?:,| and| to) (\d+))?",
    re.DOTALL,
)
PLACED = re.compile(r"rules\.md,\s([A-Z][\w -]+)")
SUFFIXES = {".py", ".md", ".html", ".jinja", ".toml", ".sql", ".js", ".mjs"}


def sources() -> Iterator[tuple[str, str]]:
    """Yield the name and text of every file that may cite the specification."""
    for folder in ("service", "schemas", "workers", "sql", "tests", "ops"):
        for file in sorted((ROOT / folder).rglob("*")):
            if file.suffix in SUFFIXES and file != Path(__file__):
                yield str(file.relative_to(ROOT)), file.read_text("utf-8")
    yield "README.md", (ROOT / "README.md").read_text("utf-8")


def sections(document: str) -> set[str]:
    """Return the numbers of a document's sections."""
    text = (SPEC / document).read_text("utf-8")
    return set(re.findall(r"^## (\d+)\. ", text, re.MULTILINE))


def test_every_cited_section_exists() -> None:
    cited = [
        (name, match[1].removeprefix("ops/spec/"), number)
        for name, text in sources()
        for match in CITED.finditer(
            " ".join(re.sub(r"^\s*#:?", "", text, flags=re.MULTILINE).split())
        )
        for number in match.groups()[1:]
        if number
    ]
    assert len(cited) > 60
    assert [c for c in cited if c[2] not in sections(DOCUMENTS[c[1]])] == []


def test_every_cited_paragraph_of_the_rules_exists() -> None:
    headed = set(re.findall(r"^\*\*([^*]+?)\.?\*\*", RULES, re.MULTILINE))
    cited = {(name, words) for name, text in sources() for words in PLACED.findall(text)}
    assert len(cited) > 10
    assert [c for c in sorted(cited) if not any(c[1].startswith(h) for h in headed)] == []


def test_every_cited_document_exists() -> None:
    """A Markdown file that code, documents and pages name is in the repository."""
    named = {
        (name, file)
        for name, text in sources()
        for file in re.findall(r"\b(\w[\w/-]*\.md)\b", text)
        if not name.startswith(("ops/bench/results", "tests/unit/test_documents"))
    }
    there = {path.name for path in ROOT.glob("*.md")} | {
        p.name for p in (ROOT / "ops").rglob("*.md")
    }
    there |= {"durations.md", "page.md"}  # of a run of the tests, and of one of them
    assert [n for n in sorted(named) if n[1].rpartition("/")[2] not in there] == []


def test_the_service_serves_the_specification() -> None:
    """A reader of a page that cites a section finds the text in the same service."""
    shown = {path.name for path in SPEC.iterdir() if path.is_file()}
    assert shown == SPECIFIED.keys()
    packaged = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    assert "ops.spec" in packaged["packages"]["find"]["include"]
    assert {"*.md", "*.json"} <= set(packaged["package-data"]["*"])


def test_the_settings_are_those_of_the_code() -> None:
    """rules.md, section 3, names every setting, and every value of those with words."""
    settings = RULES.partition("## 3. ")[2].partition("## 4. ")[0]
    rows = re.findall(r"^\| (`[a-z].*?) \| (.*?) \|", settings, re.MULTILINE)
    shown = {name: values for names, values in rows for name in re.findall(r"`([^`]+)`", names)}
    tree = json_schema()["properties"]
    wanted = {
        f"{section}.{name}": schema
        for section, branch in tree.items()
        if section not in ("ranks", "second_hand")
        for name, schema in branch["properties"].items()
    }
    wanted |= {f"ranks.*.{n}": s for n, s in tree["ranks"]["properties"]["7"]["properties"].items()}
    assert shown.keys() == wanted.keys()
    for name, schema in wanted.items():
        if "enum" in schema and None not in schema["enum"]:
            assert set(re.findall(r"`(\w+)`", shown[name])) == set(schema["enum"]), name


def test_the_rulesets_are_those_of_the_catalogue() -> None:
    shown = re.findall(r"^\| `([a-z-]+)` \| \d", RULES.partition("## 1. ")[0], re.MULTILINE)
    assert sorted(shown) == sorted(catalogue())


def test_api_md_lists_every_problem_type_with_its_status() -> None:
    text = (SPEC / "api.md").read_text("utf-8")
    rows = dict(re.findall(r"^\| `([a-z-]+)` \| (\d{3}) \|", text, re.MULTILINE))
    assert rows == {code: str(kind.status.value) for code, kind in PROBLEMS.items()}


def test_every_type_of_event_but_turn_passed_is_in_a_sample() -> None:
    """Section 2 of shx-1.md refers its readers to the samples, and names this exception."""
    logs = (ROOT / "tests/golden/samples").glob("*.jsonl")
    events = [json.loads(line) for log in logs for line in log.read_bytes().splitlines()]
    absent = EVENT_TYPES - {event.get("type") for event in events}
    assert absent == {"turn_passed"}
    assert "`turn_passed` is in none of the samples" in " ".join(SHX.split())


if __name__ == "__main__":
    before, _, rest = SHX.partition(BEGIN)
    after = rest.partition(END)[2]
    (SPEC / "shx-1.md").write_text(f"{before}{BEGIN}\n{event_tables()}\n{END}{after}", "utf-8")

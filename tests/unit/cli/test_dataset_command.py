"""`shithead dataset`: rows of what seats saw, could do, did and achieved, repeatable by seed."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any, assert_never

import pytest

from service.cli.statuses import MISUSED, UNREADABLE
from service.domain.cards import ordered_deck
from service.labs.dataset import COLUMNS, Scalar, Type, described
from service.shx.canonical import canonical, parse
from service.shx.chain import head as chain_head
from tests.unit.cli.conftest import CommandOutput

DOCUMENT = Path(__file__).parents[3] / "ops/dataset.md"
WORDS = ("dataset", "--ruleset", "covered-queen", "--seats", "3", "--hands", "2", "--seed", "4")

WITHOUT = "the extra parquet is not installed; `ops/test --long` installs it"
PYTHON_TYPES = {Scalar.STRING: str, Scalar.INTEGER: int, Scalar.BOOLEAN: bool}

Shithead = Callable[..., CommandOutput]


def rows(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_equal_seeds_give_equal_rows_and_each_names_a_legal_choice(shithead: Shithead) -> None:
    status, out, _ = shithead(*WORDS)
    assert status == 0
    assert shithead(*WORDS)[1] == out
    assert shithead(*WORDS[:-1], "5")[1] != out
    for row in rows(out):
        assert list(row) == list(COLUMNS)
        assert row["legal"][row["chosen"]]
        played = row["legal"][row["chosen"]].get("cards", [])
        assert set(played) <= {*row["hand"], *(card for slot in row["up"] for card in slot)}
        assert (row["place"] == row["seats"]) == (row["shithead"] == 1)


def test_a_row_has_no_hidden_card(shithead: Shithead) -> None:
    """Every card of the deck is either visible in one place, or part of a count."""
    for row in rows(shithead(*WORDS)[1]):
        hidden = row["stock"] + row["down"]
        seen = [*row["pile"], *row["burned"], *row["hand"], *chain(*row["up"])]
        for other in row["others"]:
            seen += [*other["known"], *chain(*other["up"])]
            hidden += other["hand"] - len(other["known"]) + other["down"]
        assert len(seen) == len(set(seen))
        assert len(seen) + hidden == len(ordered_deck(decks=1, jokers=0))


def test_logs_give_the_same_rows_as_their_simulation(shithead: Shithead, tmp_path: Path) -> None:
    options = WORDS[1:]
    shithead("simulate", *options, "--keep", tmp_path, "--jobs", "1", "--no-verify")
    logs = sorted(tmp_path.iterdir())
    found = {(row["game"], row["version"]): row for row in rows(shithead("dataset", *logs)[1])}
    assert found == {(row["game"], row["version"]): row for row in rows(shithead(*WORDS)[1])}


def test_a_log_without_a_seal_is_refused(shithead: Shithead, tmp_path: Path) -> None:
    shithead("simulate", *WORDS[1:], "--keep", tmp_path, "--jobs", "1", "--no-verify")
    log = next(tmp_path.iterdir())
    log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:-1]))
    status, _, error = shithead("dataset", log)
    assert (status, "no seal" in error) == (UNREADABLE, True)


@pytest.mark.parametrize(
    ("old", "new"),
    [(b"{", b"["), (b'"seq":5', b'"seq":6'), (b'"cards_dealt"', b'"cards_drawn"')],
    ids=["not JSON", "out of sequence", "other fields"],
)
def test_a_damaged_log_is_refused(
    shithead: Shithead, tmp_path: Path, old: bytes, new: bytes
) -> None:
    shithead("simulate", *WORDS[1:], "--keep", tmp_path, "--jobs", "1", "--no-verify")
    log = next(tmp_path.iterdir())
    first, *others = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(first + b"".join(others).replace(old, new, 1))
    status, _, error = shithead("dataset", log)
    assert (status, error.startswith("Error: not a sealed game: ")) == (UNREADABLE, True)


def test_a_log_with_unknown_rules_is_refused(shithead: Shithead, tmp_path: Path) -> None:
    shithead("simulate", *WORDS[1:], "--keep", tmp_path, "--jobs", "1", "--no-verify")
    log = next(tmp_path.iterdir())
    lines, head = [], b""
    for seq, line in enumerate(log.read_bytes().splitlines()):
        event = parse(line)
        if seq:
            event["prev"] = head.hex()
        else:
            event["data"]["ruleset"] |= {"id": "unheard-of", "settings": None}
        lines.append(canonical(event))
        head = chain_head(lines[-1])
    log.write_bytes(b"".join(line + b"\n" for line in lines))
    status, _, error = shithead("dataset", log)
    assert (status, error.startswith("Error: not a sealed game: ")) == (UNREADABLE, True)


@pytest.mark.parametrize("name", COLUMNS)
def test_the_page_describes_every_column(shithead: Shithead, name: str) -> None:
    type_, text = described(COLUMNS[name].type), COLUMNS[name].text
    assert f"| `{name}` | {type_} | {text} |" in DOCUMENT.read_text()
    assert re.search(
        rf"^{name} +{re.escape(f'{type_}: {text}')}$",
        shithead("dataset", "--columns")[1],
        re.MULTILINE,
    )


def test_the_page_describes_only_existing_columns() -> None:
    found = re.findall(r"^\| `(\w+)` \|", DOCUMENT.read_text(), re.MULTILINE)
    assert found == list(COLUMNS)


@pytest.mark.parametrize("ruleset", ["covered-queen", "shithead-layout", "leeds"])
def test_every_value_has_the_type_of_its_column(shithead: Shithead, ruleset: str) -> None:
    words = ("dataset", "--ruleset", ruleset, "--hands", "1", "--seats", "3", "--seed", "4")
    for row in rows(shithead(*words)[1]):
        for name, value in row.items():
            assert fits(value, COLUMNS[name].type), (name, value)
        assert json.loads(row["options"]) == {}


def test_a_value_of_another_type_is_detected() -> None:
    for wrong in (7, True, ["a"], {"hand": 1}):
        assert not fits(wrong, Scalar.STRING)
    assert not fits(True, Scalar.INTEGER)
    assert not fits([["a"]], (Scalar.STRING,))
    assert not fits({"hands": 1}, {"hand": Scalar.INTEGER})
    assert not fits("a", (Scalar.STRING,))


def fits(value: Any, type_: Type) -> bool:
    """Return whether a value of JSON has the type of a column; scalars may be null."""
    match type_:
        case Scalar():
            return value is None or type(value) is PYTHON_TYPES[type_]
        case (element,):
            return isinstance(value, list) and all(fits(one, element) for one in value)
        case dict():
            return isinstance(value, dict) and all(
                name in type_ and fits(one, type_[name]) for name, one in value.items()
            )
        case _:
            assert_never(type_)


def test_a_file_is_written_atomically(shithead: Shithead, tmp_path: Path) -> None:
    file, log = tmp_path / "rows.ndjson", tmp_path / "game.jsonl"
    assert shithead(*WORDS, "-o", file)[:2] == (0, "")
    assert rows(file.read_text()) == rows(shithead(*WORDS)[1])
    before = file.read_bytes()
    log.write_text("{}\n")
    assert shithead("dataset", log, "-o", file)[0] == UNREADABLE
    assert file.read_bytes() == before
    assert sorted(tmp_path.iterdir()) == [log, file]


def test_a_file_in_a_folder_that_does_not_exist_is_refused(
    shithead: Shithead, tmp_path: Path
) -> None:
    status, _, error = shithead(*WORDS, "-o", tmp_path / "none" / "rows.ndjson")
    assert (status, "rows.ndjson" in error, "No such file" in error) == (1, True, True)


def test_parquet_without_its_library_or_a_file_is_refused_with_the_remedy(
    shithead: Shithead, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    status, _, error = shithead(*WORDS, "--format", "parquet")
    assert (status, "-o hands.parquet" in error) == (MISUSED, True)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.delitem(sys.modules, "service.labs.parquet", raising=False)
    file = tmp_path / "rows.parquet"
    status, _, error = shithead(*WORDS, "-o", file)
    assert (status, "pip install 'shithead[parquet]'" in error) == (MISUSED, True)
    assert not file.exists()


def without_nulls(move: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in move.items() if value is not None}


@pytest.mark.parametrize("ruleset", ["covered-queen", "shithead-layout", "leeds"])
def test_both_formats_have_the_same_rows(shithead: Shithead, tmp_path: Path, ruleset: str) -> None:
    """Equal options give equal bytes."""
    parquet = pytest.importorskip("pyarrow.parquet", reason=WITHOUT)
    from service.labs.parquet import schema

    words = ("dataset", "--ruleset", ruleset, "--hands", "2", "--seats", "3", "--seed", "4")
    files = [tmp_path / "one.parquet", tmp_path / "two.parquet"]
    for file in files:
        assert shithead(*words, "--format", "parquet", "-o", file)[:2] == (0, "")
    assert files[0].read_bytes() == files[1].read_bytes()
    table = parquet.read_table(files[0])
    assert table.schema.equals(schema())
    found = [
        {**row, "legal": [without_nulls(move) for move in row["legal"]]}
        for row in table.to_pylist()
    ]
    assert found == rows(shithead(*words)[1])


def test_groups_of_rows_do_not_change_the_rows(
    shithead: Shithead, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason=WITHOUT)
    from service.labs import parquet as writer

    files = [tmp_path / "one.parquet", tmp_path / "many.parquet"]
    shithead(*WORDS, "-o", files[0])
    monkeypatch.setattr(writer, "ROW_GROUP_SIZE", 7)
    shithead(*WORDS, "-o", files[1])
    one, many = (parquet.ParquetFile(file) for file in files)
    assert (one.num_row_groups, many.num_row_groups > 5) == (1, True)
    assert one.read().equals(many.read())

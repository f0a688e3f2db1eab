"""Facts that stand in one place: `python -m ops.facts` counts those that do not."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ops import facts
from ops.facts import COUNTED, MOST_FILES, files_beside, files_that_name, modules_of_a_move
from service.domain.ruleset import EFFECTS


@pytest.mark.parametrize("effect", EFFECTS)
def test_an_effect_is_named_in_few_files(effect: str) -> None:
    """All parts but the engine and the words read the table of effects (issue 36)."""
    files = files_that_name(effect)
    assert "service/domain/ruleset.py" in files
    assert len(files) <= MOST_FILES, files


def test_names_settings_and_arguments_count_and_sentences_do_not(tmp_path: Path) -> None:
    texts = {
        "attribute": "steps += rule.skips",
        "setting": 'rule = f"ranks.{rank}.skips"',
        "argument": "RankRule(skips=True)",
        "field": "class RankRule:\n    skips: bool = False",
        "sentence": '"""It skips a seat."""\nprint("A king skips a player.")  # skips',
    }
    (tmp_path / "service").mkdir()
    for name, text in texts.items():
        (tmp_path / "service" / f"{name}.py").write_text(text)
    found = {Path(name).stem for name in files_that_name("skips", tmp_path)}
    assert found == {"attribute", "setting", "argument", "field"}


MOST_CROSSED = 58
"""
The most modules that a move may cross; a further one needs a reason. The last is `stream_counts`: a
move shows that its player is there, which nobody can then claim to be away.
"""


def test_files_beside_a_feature_name_it_and_are_not_its_own(tmp_path: Path) -> None:
    texts = {
        "webhooks.py": "webhooks",
        "README.md": "A webhook is sent.",
        "name.py": "end_webhook()",
        "other.py": "hook",
        "ops/decisions/README.md": "webhooks",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    for command in (["git", "init", "-q"], ["git", "add", "."]):
        subprocess.run(command, cwd=tmp_path, check=True)
    assert files_beside("webhooks", tmp_path) == ["README.md", "name.py"]
    (tmp_path / "file.py").write_text("file.seek(3); webhook = 1")
    assert files_beside("seeks", tmp_path) == []


def test_a_move_crosses_few_modules(database_url: str) -> None:
    assert 10 < len(modules_of_a_move(database_url)) <= MOST_CROSSED


def test_the_command_prints_what_it_counts(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The counts have tests of their own, above and in `tests/test_architecture.py`."""
    monkeypatch.setattr(facts, "circles", lambda: [{"b", "a"}])
    monkeypatch.setattr(facts, "owners", lambda: {"One": ["a", "b"], "Other": ["a"]})
    monkeypatch.setattr(facts, "crossed_by_a_move", lambda: ["a"])
    for name in ("files_beside", "files_that_name"):
        monkeypatch.setattr(facts, name, lambda _name: ["a.py", "b.py"])
    facts.main()
    lines = capsys.readouterr().out.splitlines()
    counts = [line for line in lines if not line.startswith(" ")]
    assert counts == [
        "circles of imports: 1",
        "public class names with two owners: 1",
        *(f"files beside their own that name {feature}: 2" for feature in COUNTED),
        "modules that a move crosses: 1",
        *(
            f"Python files that name the effect {effect}: 2 of at most {MOST_FILES}"
            for effect in EFFECTS
        ),
    ]
    assert [line.strip() for line in lines if line.startswith(" ")][:2] == ["a, b", "One: a, b"]

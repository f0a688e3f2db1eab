"""Facts that stand in one place: `python -m ops.facts` counts those that do not."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ops.facts import COUNTED, MOST_FILES, files_beside, files_that_name, main
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


@pytest.mark.heavy
def test_the_command_counts_circles_owners_and_effects(capsys: pytest.CaptureFixture[str]) -> None:
    main()
    first, *lines = capsys.readouterr().out.splitlines()
    assert first == "circles of imports: 0"
    assert [line for line in lines if line.startswith("public class names with two owners: ")]
    counted = [line for line in lines if line.startswith("Python files that name the effect ")]
    assert len(counted) == len(EFFECTS)
    beside = [line for line in lines if line.startswith("files beside their own that name ")]
    assert len(beside) == len(COUNTED)
    [crossed] = [line for line in lines if line.startswith("modules that a move crosses: ")]
    assert int(crossed.rpartition(" ")[2]) <= MOST_CROSSED

"""Write ops/spec/conformance, the corpus for other verifiers: python -m tests.write_conformance."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Final

from tests.conformance.verdicts import cases, files_of, sample_verdicts, verdicts
from tests.custom_games import hand_by, kinds_of_events, rulesets_with, title, values
from tests.tamper import SAMPLES

CORPUS: Final = Path(__file__).resolve().parents[1] / "ops" / "spec" / "conformance"
FOLDER: Final = CORPUS / "settings"


def write() -> None:
    """Write the corpus anew: honest hands, cases with a fault, and the verdicts on all."""
    write_hands()
    write_cases()


def write_cases() -> None:
    """Write the cases with their evidence, and the verdicts on them and on the honest hands."""
    for folder in CORPUS.iterdir():
        if folder.is_dir() and folder != FOLDER:
            shutil.rmtree(folder)
    for case in cases():
        for name, content in files_of(case).items():
            path = CORPUS / name
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(content)
    hands = (f"settings/{path.name}" for path in sorted(FOLDER.glob("*.jsonl")))
    (CORPUS / "verdicts.json").write_text(verdicts(hands), "utf-8")
    samples = json.dumps(sample_verdicts(), indent=1) + "\n"
    (SAMPLES / "verdicts.json").write_text(samples, "utf-8")


def write_hands() -> None:
    """
    Write one hand for each value of each setting, and remove all others.

    Of the hands by the rulesets that can have the value, it is the one with the most kinds of
    events, and of these the shortest.
    """
    FOLDER.mkdir(parents=True, exist_ok=True)
    for old in FOLDER.glob("*.jsonl"):
        old.unlink()
    for setting, value in values():
        named = title(setting, value)
        hands = [
            (base, hand_by(settings, name=f"{named}.{base}"))
            for base, settings in rulesets_with(setting, value)
        ]
        base, log = max(hands, key=lambda hand: (len(kinds_of_events(hand[1])), -len(hand[1])))
        (FOLDER / f"{named}.{base}.jsonl").write_bytes(b"".join(line + b"\n" for line in log))


if __name__ == "__main__":
    write()

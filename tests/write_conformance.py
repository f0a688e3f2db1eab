"""Write the hands of custom rulesets for other verifiers: `python -m tests.write_conformance`."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tests.custom_games import hand_by, kinds_of_events, rulesets_with, title, values

FOLDER: Final = Path(__file__).resolve().parents[1] / "ops" / "spec" / "conformance" / "settings"


def write() -> None:
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

"""
Golden transcripts of sample games, which show a change of wording or folding as a diff.

`python -m tests.unit.replay.test_transcripts`, run in the checkout, writes them.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from service.domain.view import ALL, Viewer
from service.replay.frames import transcript
from service.replay.history import decode_log, sealed_deck

GOLDEN = Path(__file__).parents[2] / "golden"
TRANSCRIPTS: list[tuple[str, Viewer]] = [
    ("leeds", None),
    ("leeds", 1),
    ("covered-queen-follow-up", ALL),
    ("egilsson", None),
    ("karma-radford", ALL),
    ("reverse-second-hand", ALL),
    ("threes-time-outs", None),
]


def _path(name: str, viewer: Viewer) -> Path:
    seen = "public" if viewer is None else viewer if viewer == ALL else f"seat-{viewer}"
    return GOLDEN / "transcripts" / f"{name}.{seen}.txt"


def _text(name: str, viewer: Viewer) -> str:
    log = decode_log((GOLDEN / "samples" / f"{name}.jsonl").read_bytes().splitlines())
    return transcript([record.event for record in log], deck=sealed_deck(log), viewer=viewer)


@pytest.mark.parametrize(("name", "viewer"), TRANSCRIPTS)
def test_the_transcript_of_a_sample_has_not_changed(name: str, viewer: Viewer) -> None:
    assert _text(name, viewer) == _path(name, viewer).read_text("utf-8")


if __name__ == "__main__":
    for sample in TRANSCRIPTS:
        _path(*sample).parent.mkdir(exist_ok=True)
        _path(*sample).write_text(_text(*sample), "utf-8")

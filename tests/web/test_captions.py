"""The pages and the server say the same sentence for the same event."""

from __future__ import annotations

import json

from schemas.events import event_of
from service.replay.captions import caption
from service.replay.sentences import sentence
from service.rulesets.catalogue import read_ruleset
from tests.tamper import LOGS, sample_lines
from tests.web.browsing import Visits

CAPTIONS = """async (events) => {
    const script = document.querySelector("script[type=module]").src;
    const { caption } = await import(script.replace("lobby.js", "captions.js"));
    const voice = { who: (seat) => `seat ${seat.toFixed()}`, aloud: true };
    return events.map((event) => caption(event, voice));
}"""


def test_an_event_has_the_same_sentence_on_the_pages_and_in_the_api(visits: Visits) -> None:
    """With the cards that the event itself states, and in every form that the samples have."""
    lines = {line for path in LOGS for line in sample_lines(path.stem)}
    events = [json.loads(line) for line in sorted(lines)]
    said = [caption(event_of(one["type"], one["data"], read_ruleset)) for one in events]
    distinct = {one.code: (one, event) for one, event in zip(said, events, strict=True)}
    assert len(distinct) > 25
    every = list(distinct.values())
    shown = visits.open("/").evaluate(CAPTIONS, [event for _, event in every])
    assert not [text for text in shown if "–" in text]
    expected = [sentence(one.code, one.values) for one, _ in every]
    assert [f"{text[0].upper()}{text[1:]}" for text in shown] == expected

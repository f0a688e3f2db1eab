"""The pages and the server say the same sentence for the same event."""

from __future__ import annotations

import json

import pytest

from schemas.events import event_of
from service.bots.registry import bots
from service.replay.captions import caption
from service.replay.sentences import Voice, begun, bot_name, sentence
from service.rulesets.catalogue import read_ruleset
from tests.tamper import LOGS, sample_lines
from tests.unit.verify.test_sentences import FINDINGS, REFUSALS, VERIFY, values_of
from tests.web.browsing import Visits

CAPTIONS = """async (events) => {
    const script = document.querySelector("script[type=module]").src;
    const part = (name) => import(script.replace("lobby.js", name));
    const [{ caption }, { seatWords }] = [await part("captions.js"), await part("i18n.js")];
    const voice = { who: seatWords, aloud: true };
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


BOT_NAMES = """async (seats) => {
    const script = document.querySelector("script[type=module]").src;
    const { seatName } = await import(script.replace("lobby.js", "captions.js"));
    return seats.map(([bot, seat]) => seatName({ kind: "bot", name: null, bot, seat }));
}"""


@pytest.mark.parametrize("language", ["en", "sv", "ja"])
def test_every_bot_of_a_hand_has_a_name_of_its_own(visits: Visits, language: str) -> None:
    """Whatever its kind and seat, and the same on the pages and in the terminal."""
    seats = [(kind, seat) for kind in bots() for seat in range(24)]
    names = [bot_name(kind, seat, language) for kind, seat in seats]
    assert len(set(names)) == len(names)
    assert not [name for (kind, _), name in zip(seats, names, strict=True) if kind in name.lower()]
    page = visits.page(locale=language)
    page.goto("/")
    page.locator("#account:not([hidden])").wait_for()
    assert page.evaluate(BOT_NAMES, seats) == names
    assert bot_name("unknown", 1, language) == "Unknown 2"


WORDED = """async (sentences) => {
    const script = document.querySelector("script[type=module]").src;
    const part = (name) => import(script.replace("lobby.js", name));
    const [{ need }, { worded }] = [await part("i18n.js"), await part("worded.js")];
    for (const folder of ["verify", "findings", "refusals"]) await need(folder);
    const named = (seat) => `<${seat.toFixed()}>`;
    const all = (who) => sentences.map(([code, values]) => worded({ code, values }, who));
    return [all(named), all()];
}"""


@pytest.mark.parametrize("language", ["en", "sv", "ja"])
def test_a_sentence_is_the_same_on_the_pages_and_in_the_api(visits: Visits, language: str) -> None:
    """Of every finding and refusal, by number and name of seats, in both forms of a count."""
    said = [
        (code, {**values_of(text), **dict.fromkeys(("n", "count", "found"), number)})
        for number in (1, 2)
        for code, text in {**VERIFY, **FINDINGS, **REFUSALS}.items()
    ]
    page = visits.visitor("desktop").new_page()
    page.add_init_script(f"localStorage.setItem('shithead.language', '{language}')")
    page.goto("/")
    shown = page.evaluate(WORDED, said)
    named, numbered = Voice(language=language, seat_name="<{}>".format), Voice(language=language)
    assert shown == [
        [begun(sentence(code, values, voice)) for code, values in said]
        for voice in (named, numbered)
    ]


STALEMATES = """async (ends) => {
    const script = document.querySelector("script[type=module]").src;
    const { stalemateText } = await import(script.replace("lobby.js", "captions.js"));
    const view = (places) => ({ result: { reason: "stalemate", places }, seats: [0, 1, 2] });
    const events = (types) => types.map((type) => ({ type }));
    return ends.map(([places, types]) => stalemateText(view(places), events(types)));
}"""


def test_a_stalemate_has_its_reason(visits: Visits) -> None:
    """All in play passed one after another; else the limit of turns was reached."""
    end = ["game_ended", "game_sealed"]
    late = ["end_agreed", "turn_timed_out", "turn_passed"]
    ends = [
        ([], ["cards_played", "turn_passed", *late, "turn_passed", *end]),
        ([2], ["cards_played", "turn_passed", "turn_passed", *end]),
        ([], ["cards_played", "turn_passed", "turn_passed", *end]),
        ([], ["turn_passed", "turn_passed", "cards_played", *end]),
    ]
    page = visits.open("/", locale="en-US")
    page.locator("#recent :is(li, p)").first.wait_for()  # the texts are loaded
    shown = page.evaluate(STALEMATES, ends)
    assert ["passed one after another" in text for text in shown] == [True, True, False, False]
    assert ["limit of turns" in text for text in shown] == [False, False, True, True]


def test_a_name_from_right_to_left_orders_no_text_around_it(visits: Visits) -> None:
    page = visits.open("/")
    page.locator("#recent :is(li, p)").first.wait_for()
    texts = page.evaluate(
        """async () => {
            const script = document.querySelector("script[type=module][src*='lobby.js']").src;
            const { listed, t } = await import(script.replace("lobby.js", "i18n.js"));
            const names = ["\u05d0\u05d3\u05d4 (1)", "Bob"];
            return [...names.map((who) => t("now.theirs", { who })), listed(names)];
        }"""
    )
    isolated = "\u2068\u05d0\u05d3\u05d4 (1)\u2069"
    assert [text.count(isolated) for text in texts] == [1, 0, 1]
    assert "\u2068" not in texts[1]

"""Statistics of the samples agree with their logs."""

from __future__ import annotations

import pytest

from service.audit.statistics import blind_facts, deal_fact
from service.domain.game import positions
from service.replay.history import RecordedEvent, decode_log, sealed_deck
from tests.tamper import SAMPLES
from tests.unit.audit.histories import NAMES


def log_of(name: str) -> tuple[RecordedEvent, ...]:
    return decode_log((SAMPLES / f"{name}.jsonl").read_bytes().splitlines())


@pytest.mark.parametrize("name", NAMES)
def test_the_statistics_of_a_deal_agree_with_the_log(name: str) -> None:
    log = log_of(name)
    deck, dealt = sealed_deck(log), [r for r in log if r.type == "cards_dealt"]
    fact = deal_fact(log, deck, [0])
    if deck is None or not dealt:
        assert fact is None
        return
    assert fact is not None
    assert fact.deck == deck
    data = dealt[0].fields["data"]
    each = data["down"] + data["up"] + data["hand"]
    assert fact.dealt == each * len(data["face_up"])
    assert len(fact.to_people) == each
    assert set(fact.to_people) <= set(range(fact.dealt))
    theirs = {opening["p"] for opening in data["face_up"][0]}
    assert theirs <= set(fact.to_people)


@pytest.mark.parametrize("name", NAMES)
def test_every_blind_choice_of_a_person_is_counted_with_the_face_down_cards(name: str) -> None:
    log, seats = log_of(name), len(log_of(name)[0].fields["data"]["seats"])
    facts = {fact.seq: fact for fact in blind_facts(log, sealed_deck(log), range(seats))}
    made = [
        record
        for record in log
        if (record.type == "blind_failed" or record.fields["data"].get("zone") == "down")
        and record.by is not None
    ]
    assert facts.keys() == {record.seq for record in made}
    for record in made:
        choice = facts[record.seq].choice
        assert choice.fitted is (record.type == "cards_played")
        assert 1 <= choice.slots <= 8
        assert choice.fitted <= choice.playable <= choice.slots - (not choice.fitted)


def test_blind_choices_of_bots_are_not_counted() -> None:
    for name in NAMES:
        log = log_of(name)
        assert not list(blind_facts(log, sealed_deck(log), []))


def test_the_samples_contain_informative_choices() -> None:
    telling = 0
    for name in NAMES:
        log = log_of(name)
        seats = len(log[0].fields["data"]["seats"])
        facts = blind_facts(log, sealed_deck(log), range(seats))
        telling += sum(fact.choice.informative for fact in facts)
    assert telling > 0


def test_the_dealt_positions_are_the_first_of_the_deck_each_once() -> None:
    dealt = positions(seats=3, dealer=1, down=3, up=3, hand=3)
    everybody = sorted(p for zone in (dealt.down, dealt.up, dealt.hand) for s in zone for p in s)
    assert everybody == list(range(dealt.used))

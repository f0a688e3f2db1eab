"""Attacks on bytes, chain, order, commitments, shuffle and openings."""

from __future__ import annotations

from copy import deepcopy
from uuid import UUID

from service.verify.finding import Check
from tests.attacks.registry import Family, attack
from tests.changed import replace
from tests.tamper import Forgery, sample


@attack("shithead", Check.BYTES, Family.EDIT)
def a_field_added(f: Forgery) -> int | None:
    f.data(20)["note"] = "hello"
    return 20


@attack("shithead", Check.CHAIN, Family.BACK_DATING)
def a_time_that_goes_back(f: Forgery) -> int | None:
    first = f.find("cards_played", n=10)
    for seq in range(first, f.move_end(first) + 1):
        f.events[seq] = {**f.events[seq], "at": "2026-11-21T02:46:00.000001Z"}
    return first


@attack("shithead", Check.CHAIN, Family.BACK_DATING)
def two_times_in_one_move(f: Forgery) -> int | None:
    drawn = f.find("cards_drawn")
    f.events[drawn]["at"] = f.events[drawn + 1]["at"]
    return drawn


@attack("shithead", Check.CHAIN, Family.INSERTION)
def an_event_of_another_game(f: Forgery) -> int | None:
    f.events[30]["game"] = str(UUID(int=7))
    return 30


@attack("shithead", Check.ORDER, Family.INSERTION)
def an_event_after_the_seal(f: Forgery) -> int | None:
    f.events.append(deepcopy(f.events[-1]))
    return len(f.events) - 1


@attack("shithead", Check.ORDER, Family.INSERTION)
def an_abort_after_the_seal(f: Forgery) -> int | None:
    seal = deepcopy(f.events[-1])
    data = {**seal["data"], "cause": "operator", "seat": None}
    f.events.append({**seal, "type": "game_aborted", "data": data})
    return len(f.events) - 1


@attack("threes-time-outs", Check.ORDER, Family.LATE_COMMITMENT)
def entropy_revealed_before_every_commitment(f: Forgery) -> int | None:
    commits = f.find("entropy_committed", n=1)
    reveal = f.find("entropy_revealed", lambda e: e["data"]["seat"] == 0)
    late, early = f.events[reveal], f.events[commits]
    late["at"], early["at"] = early["at"], late["at"]
    f.events[commits], f.events[reveal] = late, early
    return commits


@attack("threes-time-outs", Check.ORDER, Family.DROP)
def a_deck_committed_without_a_seats_entropy(f: Forgery) -> int | None:
    f.drop(f.find("entropy_revealed", n=2))
    return f.find("deck_committed")


@attack("shithead", Check.ORDER, Family.DROP)
def a_start_of_play_left_out(f: Forgery) -> int | None:
    start = f.find("play_started")
    f.drop(start)
    return start - 1


@attack("shithead", Check.ORDER, Family.EDIT)
def a_move_by_the_server_in_a_seats_name(f: Forgery) -> int | None:
    seq = f.find("pile_picked_up")
    f.events[seq]["by"] = None
    return seq


@attack("shithead", Check.ORDER, Family.DROP)
def an_end_without_a_seal(f: Forgery) -> int | None:
    f.drop(len(f.events) - 1)
    return len(f.events) - 1


@attack("shithead", Check.ORDER, Family.INSERTION)
def a_seat_ready_twice(f: Forgery) -> int | None:
    ready = f.find("seat_ready")
    f.events.insert(ready + 1, deepcopy(f.events[ready]))
    return ready + 1


@attack("shithead", Check.ORDER, Family.EDIT)
def a_seat_that_does_not_exist(f: Forgery) -> int | None:
    seq = f.find("pile_burned")
    f.data(seq)["cleared_by"] = 9
    return seq


@attack("shithead", Check.ORDER, Family.INSERTION)
def a_second_deal(f: Forgery) -> int | None:
    dealt = f.find("cards_dealt")
    f.events.insert(dealt + 1, deepcopy(f.events[dealt]))
    return dealt + 1


@attack("shithead", Check.ORDER, Family.INSERTION)
def a_draw_without_a_play(f: Forgery) -> int | None:
    seq = f.find("pile_picked_up")
    f.insert(seq, "cards_drawn", {"seat": f.data(seq)["seat"], "count": 1}, by=f.data(seq)["seat"])
    f.events[seq]["at"] = f.events[seq - 1]["at"]
    return None


def _next_signed(f: Forgery, seq: int) -> int:
    """Return the first event whose signature covers the head of the inserted `seq`, or a later."""
    signed = ((n, event["auth"]["intent"]) for n, event in enumerate(f.events) if "auth" in event)
    return next(n for n, intent in signed if intent["seen"]["seq"] >= seq)


@attack("shithead-keyed", Check.SIGNATURES, Family.INSERTION)
def an_unsigned_event_inserted_before_later_signatures(f: Forgery) -> int | None:
    """The event belongs to no move; later moves sign heads that the log no longer has."""
    seq = f.find("pile_picked_up", n=2) + 1
    seat = f.data(seq - 1)["seat"]
    f.insert(seq, "cards_drawn", {"seat": seat, "count": 1}, by=seat)
    f.events[seq]["at"] = f.events[seq - 1]["at"]
    return _next_signed(f, seq)


@attack("shithead-keyed", Check.SIGNATURES, Family.CLOCK)
def a_time_out_of_one_seat_before_the_move_of_another(f: Forgery) -> int | None:
    seq = f.find("cards_played", n=5)
    f.insert(seq, "turn_timed_out", {"seat": (f.data(seq)["seat"] + 1) % 3}, by=None)
    return _next_signed(f, seq)


@attack("shithead-aborted", Check.ORDER, Family.CLOCK)
def an_abort_that_blames_a_seat_that_had_revealed_its_entropy(f: Forgery) -> int | None:
    f.data(len(f.events) - 1)["seat"] = 0
    return len(f.events) - 1


@attack("shithead", Check.COMMITMENTS, Family.OTHER_SEED)
def another_seed_than_the_one_committed_to(f: Forgery) -> int | None:
    f.reseed(b"\x07" * 32, commit=False)
    return len(f.events) - 1


@attack("threes-time-outs", Check.COMMITMENTS, Family.ALTERED_REVEAL)
def a_reveal_that_was_altered(f: Forgery) -> int | None:
    seq = f.find("entropy_revealed", lambda e: e["data"]["seat"] == 0)
    f.data(seq)["value"] = "07" * 32
    return seq


@attack("shithead-keyed", Check.COMMITMENTS, Family.SWAPPED_COMMITMENTS)
def two_commitments_exchanged(f: Forgery) -> int | None:
    one, two = f.find("entropy_committed"), f.find("entropy_committed", n=1)
    first, second = f.data(one), f.data(two)
    first["commit"], second["commit"] = second["commit"], first["commit"]
    return f.find("entropy_revealed")


@attack("shithead", Check.COMMITMENTS, Family.EDIT)
def a_ruleset_with_a_false_hash(f: Forgery) -> int | None:
    f.data(0)["ruleset_hash"] = "07" * 32
    return 0


@attack("shithead", Check.SHUFFLE, Family.BIASED_SHUFFLE)
def two_cards_of_the_deck_exchanged_and_committed_to(f: Forgery) -> int | None:
    seal = f.data(len(f.events) - 1)
    true = f.shuffle(bytes.fromhex(seal["seed"]))
    deck = list(true.deck)
    deck[0], deck[-1] = deck[-1], deck[0]
    biased = replace(true, deck=tuple(deck))
    seal["deck"] = deck
    f.data(f.find("deck_committed"))["cards"] = [c.hex() for c in biased.commitments()]
    return f.find("deck_committed")


@attack("shithead", Check.SHUFFLE, Family.BIASED_SHUFFLE)
def a_published_deck_that_was_not_shuffled(f: Forgery) -> int | None:
    deck = f.data(len(f.events) - 1)["deck"]
    deck[50], deck[51] = deck[51], deck[50]
    return len(f.events) - 1


@attack("shithead", Check.SHUFFLE, Family.MISSING_CARDS)
def a_card_missing_from_the_deck(f: Forgery) -> int | None:
    f.data(f.find("deck_committed"))["cards"].pop()
    f.data(len(f.events) - 1)["deck"].pop()
    return f.find("deck_committed")


@attack("shithead", Check.SHUFFLE, Family.WRONG_DEALER)
def a_dealer_that_was_not_drawn(f: Forgery) -> int | None:
    seq = f.find("cards_dealt")
    f.data(seq)["dealer"] = (f.data(seq)["dealer"] + 1) % 3
    return seq


@attack("shithead", Check.SHUFFLE, Family.EDIT)
def a_setting_changed_after_the_deck_was_made(f: Forgery) -> int | None:
    f.data(0)["turn_limit"] += 1
    return f.find("deck_committed")


@attack("shithead-aborted", Check.SHUFFLE, Family.LATE_COMMITMENT)
def a_published_deck_without_a_commitment(f: Forgery) -> int | None:
    f.data(len(f.events) - 1)["deck"] = list(sample("shithead").events[-1]["data"]["deck"])
    return len(f.events) - 1


@attack("shithead", Check.OPENINGS, Family.OTHER_SEED)
def another_deck_with_the_same_moves(f: Forgery) -> int | None:
    f.reseed(b"\x07" * 32, commit=True)
    return f.find("cards_dealt")


@attack("shithead", Check.OPENINGS, Family.SUBSTITUTED_DRAW)
def a_face_up_card_that_was_not_dealt(f: Forgery) -> int | None:
    faces = f.data(f.find("cards_dealt"))["face_up"]
    faces[0][0]["card"] = faces[1][0]["card"]
    return f.find("cards_dealt")


@attack("shithead", Check.OPENINGS, Family.SUBSTITUTED_DRAW)
def a_blind_card_exchanged_for_a_better_one(f: Forgery) -> int | None:
    seq = f.find("cards_played", lambda e: e["data"]["zone"] == "down")
    f.data(seq)["opening"]["card"] = "2h"
    f.data(seq)["cards"] = ["2h"]
    return seq


@attack("shithead", Check.OPENINGS, Family.SWAPPED_COMMITMENTS)
def a_salt_that_was_altered(f: Forgery) -> int | None:
    seq = f.find("cards_played", lambda e: e["data"]["zone"] == "down")
    f.data(seq)["opening"]["salt"] = "07" * 32
    return seq


@attack("shithead-refused-attempts", Check.SEAL, Family.REFUSALS)
def a_count_of_refusals_without_their_hash(f: Forgery) -> int | None:
    last = len(f.events) - 1
    f.data(last)["refusals"]["count"] = 0
    return last


@attack("leeds", Check.SEAL, Family.REFUSALS)
def a_count_of_one_without_refusals(f: Forgery) -> int | None:
    last = len(f.events) - 1
    f.data(last)["refusals"]["count"] = 1
    return last


@attack("shithead-refused-attempts", Check.BYTES, Family.REFUSALS)
def refusals_left_out_of_the_seal(f: Forgery) -> int | None:
    last = len(f.events) - 1
    del f.data(last)["refusals"]
    return last


@attack("shithead-refused-attempts", Check.BYTES, Family.REFUSALS)
def a_seal_of_version_1_in_a_game_of_version_2(f: Forgery) -> int | None:
    f.events[0]["v"] = 2
    del f.data(len(f.events) - 1)["refusals"]
    return 0


@attack("shithead", Check.BYTES, Family.REFUSALS)
def a_seal_of_version_2_in_a_game_of_version_1(f: Forgery) -> int | None:
    last = len(f.events) - 1
    f.events[last]["v"] = 2
    return last


@attack("shithead-aborted", Check.BYTES, Family.REFUSALS)
def an_abort_of_version_1_in_a_game_of_version_2(f: Forgery) -> int | None:
    f.events[0]["v"] = 2
    del f.data(len(f.events) - 1)["refusals"]
    return 0


@attack("shithead-refused-attempts", Check.BYTES, Family.REFUSALS)
def a_game_that_never_announced_version_2(f: Forgery) -> int | None:
    """A seal that does not name the refused attempts is that of a build before 0.1.0."""
    last = len(f.events) - 1
    del f.data(last)["refusals"]
    return last


@attack("shithead-refused-attempts", Check.BYTES, Family.REFUSALS)
def a_play_of_version_2(f: Forgery) -> int | None:
    seq = f.find("cards_played")
    f.events[seq]["v"] = 2
    return seq

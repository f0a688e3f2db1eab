"""Attacks that remove, add, reorder or redate whole moves and leave each event well formed."""

from __future__ import annotations

from copy import deepcopy

from service.domain.cards import rank_of
from service.verify.finding import Check
from tests.attacks.registry import Family, attack, game_at
from tests.tamper import Forgery


@attack("shithead", Check.LEGALITY, Family.DROP)
def a_whole_play_deleted(f: Forgery) -> int | None:
    """The next move is made by a seat that is not on turn yet."""
    seq = f.find("cards_played", lambda e: e["data"]["turn"] != e["data"]["seat"], 5)
    f.drop(seq, f.move_end(seq))
    return seq


@attack("leeds", Check.LEGALITY, Family.DROP)
def a_pick_up_deleted(f: Forgery) -> int | None:
    seq = f.find("pile_picked_up")
    f.drop(seq)
    return seq


@attack("shithead", Check.CUSTODY, Family.REORDERING)
def two_moves_in_the_other_order(f: Forgery) -> int | None:
    one = f.find("cards_played", lambda e: e["data"]["turn"] != e["data"]["seat"], 6)
    two = f.move_end(one) + 1
    end = f.move_end(two)
    first, second = f.events[one:two], f.events[two : end + 1]
    times = first[0]["at"], second[0]["at"]
    f.events[one : end + 1] = second + first
    for event in second:
        event["at"] = times[0]
    for event in first:
        event["at"] = times[1]
    return one


@attack("shithead", Check.LEGALITY, Family.INSERTION)
def an_inserted_pass(f: Forgery) -> int | None:
    seq = f.find("cards_played", lambda e: e["data"]["zone"] == "hand", 6)
    seat = f.data(seq)["seat"]
    data = {"seat": seat, "reason": "no_play", "turn": (seat + 1) % 3}
    f.insert(seq, "turn_passed", data, by=seat)
    f.events[seq]["at"] = f.events[seq - 1]["at"]
    return seq


@attack("shithead", Check.LEGALITY, Family.INSERTION)
def an_inserted_pick_up(f: Forgery) -> int | None:
    seq = f.find("cards_played", lambda e: e["data"]["zone"] == "hand", 8)
    game = game_at(f, seq)
    seat = (f.data(seq)["seat"] + 1) % 3
    data = {"seat": seat, "taker": seat, "count": len(game.pile), "with": []}
    turn = {"turn": f.data(seq)["seat"], "direction": 1}
    f.insert(seq, "pile_picked_up", {**data, **turn}, by=seat)
    f.events[seq]["at"] = f.events[seq - 1]["at"]
    return seq


@attack("shithead", Check.CUSTODY, Family.AFTER_OUT)
def a_move_by_a_seat_that_is_out(f: Forgery) -> int | None:
    out = f.find("seat_out")
    seat = f.data(out)["seat"]
    seq = f.find("cards_played", lambda e: e["seq"] > out)
    f.data(seq)["seat"] = seat
    for event in f.events[seq : f.move_end(seq) + 1]:
        event["by"] = seat if event["by"] is not None else None
        event["data"]["seat"] = seat
    return seq


@attack("threes-time-outs", Check.LEGALITY, Family.BACK_DATING)
def a_time_out_dated_back_to_the_move_before(f: Forgery) -> int | None:
    seq = f.find("turn_timed_out", n=1)
    before = f.events[seq - 1]["at"]
    for event in f.events[seq : f.move_end(seq) + 1]:
        event["at"] = before
    return seq


@attack("threes-time-outs", Check.LEGALITY, Family.CLOCK)
def a_time_out_of_a_seat_that_is_not_on_turn(f: Forgery) -> int | None:
    seq = f.find("turn_timed_out", lambda e: f.events[e["seq"] + 1]["type"] == "pile_picked_up")
    seat = (f.data(seq)["seat"] + 1) % 3
    f.data(seq)["seat"] = seat
    f.data(seq + 1).update(seat=seat, taker=seat)
    return seq


@attack("shithead-layout", Check.LEGALITY, Family.SPECIAL)
def a_slot_left_empty_for_a_stack_on_another(f: Forgery) -> int | None:
    seq = f.find("table_laid")
    stacks = f.data(seq)["stacks"]
    stacks[0], stacks[1] = stacks[0] + stacks[1], []
    return seq


@attack("karma-radford", Check.LEGALITY, Family.SPECIAL)
def cards_of_two_ranks_on_one_slot(f: Forgery) -> int | None:
    seq = f.find("table_laid")
    hand = game_at(f, seq).seats[f.data(seq)["seat"]].hand
    stacks = f.data(seq)["stacks"]
    laid = {card for stack in stacks for card in stack}
    others = [card for card in hand if card not in laid]
    stacks[0].append(next(card for card in others if rank_of(card) != stacks[0][0][0]))
    return seq


@attack("smeghead", Check.LEGALITY, Family.SPECIAL)
def a_pile_cleared_by_another_than_the_flusher(f: Forgery) -> int | None:
    seq = f.find("pile_burned", lambda e: e["data"]["cleared_by"] != e["data"]["seat"])
    f.data(seq)["cleared_by"] = f.data(seq)["seat"]
    return seq


@attack("reverse", Check.LEGALITY, Family.SPECIAL)
def throws_in_another_order(f: Forgery) -> int | None:
    one, two = f.find("cards_thrown"), f.find("cards_thrown", n=1)
    f.events[one]["data"], f.events[two]["data"] = f.data(two), f.data(one)
    return one


@attack("reverse", Check.SHUFFLE, Family.SPECIAL)
def a_first_hand_played_as_a_second_one(f: Forgery) -> int | None:
    """Other cards are thrown, so all later events differ."""
    f.data(0).update(hand=2, prev_game=f.data(0)["table"], dealer=0)
    return f.find("deck_committed")


@attack("shit-boot", Check.DEAL, Family.SPECIAL)
def a_plain_starter_returned_and_replaced(f: Forgery) -> int | None:
    seq = f.find("cards_dealt")
    data = f.data(seq)
    shuffle = f.shuffle(bytes.fromhex(f.data(len(f.events) - 1)["seed"]))
    data["returned"] = [*data["returned"], deepcopy(data["starter"])]
    data["starter"] = shuffle.opening(data["starter"]["p"] + 1)
    return seq


@attack("shithead-stalemate", Check.SHUFFLE, Family.WRONG_END)
def a_stalemate_one_turn_before_the_limit(f: Forgery) -> int | None:
    """The limit is raised after the hand, which then should have gone on."""
    f.data(0)["turn_limit"] += 1
    return None


@attack("shithead", Check.LEGALITY, Family.WRONG_END)
def a_stalemate_long_before_the_limit(f: Forgery) -> int | None:
    seq = f.find("pile_picked_up", n=3)
    f.data(seq)["turn"] = None
    seal = f.events[-1]
    end = deepcopy(f.events[f.find("game_ended")])
    end["data"] = {"reason": "stalemate", "shithead": None, "places": []}
    del f.events[seq + 1 :]
    at = f.events[seq]["at"]
    f.events += [{**end, "at": at}, {**seal, "at": at}]
    return seq


@attack("morehead", Check.LEGALITY, Family.SPECIAL)
def two_seats_that_open_at_once(f: Forgery) -> int | None:
    """If several seats may open, only the first accepted play counts."""
    seq = f.find("cards_played")
    end = f.move_end(seq)
    twin = deepcopy(f.events[seq])
    seat = (f.data(seq)["seat"] + 1) % 3
    twin["data"]["seat"] = twin["by"] = seat
    twin["data"]["cards"] = [game_at(f, seq).seats[seat].hand[0]]
    f.events.insert(end + 1, twin)
    return end + 1

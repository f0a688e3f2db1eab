"""Attacks with illegal moves or false effects of moves, for the tampering tests."""

from __future__ import annotations

from copy import deepcopy

from service.domain.cards import rank_of
from service.domain.demand import demand_of, fits
from service.verify.finding import Check
from tests.attacks.registry import Family, attack, game_at
from tests.tamper import Forgery


@attack("shithead", Check.LEGALITY, Family.ILLEGAL_RANK)
def a_card_that_does_not_fit(f: Forgery) -> int | None:
    for seq, event in enumerate(f.events):
        if event["type"] != "cards_played" or event["data"]["zone"] != "hand":
            continue
        game, data = game_at(f, seq), event["data"]
        demand = demand_of(game.ruleset, game.pile)
        hand = game.seats[data["seat"]].hand
        bad = [card for card in hand if not fits(game.ruleset, rank_of(card), demand)]
        if bad:
            data["cards"] = [bad[0]]
            return seq
    raise AssertionError("the sample has no event for this attack")


@attack("leeds", Check.LEGALITY, Family.RENEGE)
def a_pile_picked_up_by_a_seat_that_could_and_must_play(f: Forgery) -> int | None:
    for seq, event in enumerate(f.events):
        if event["type"] != "cards_played" or event["data"]["zone"] != "hand":
            continue
        game, data = game_at(f, seq), event["data"]
        if not game.pile or data["turn"] == data["seat"] or game.first_turn:
            continue
        picked = {**{k: data[k] for k in ("seat", "turn", "direction")}, "taker": data["seat"]}
        last = f.move_end(seq)
        f.events[seq]["type"] = "pile_picked_up"
        f.events[seq]["data"] = {**picked, "count": len(game.pile), "with": []}
        if last > seq:
            f.drop(seq + 1, last)
        return seq
    raise AssertionError("the sample has no event for this attack")


@attack("shithead", Check.LEGALITY, Family.WRONG_REFILL)
def two_cards_drawn_for_one(f: Forgery) -> int | None:
    seq = f.find("cards_drawn", n=3)
    f.data(seq)["count"] += 1
    return seq


@attack("shithead", Check.LEGALITY, Family.WRONG_REFILL)
def a_draw_left_out(f: Forgery) -> int | None:
    seq = f.find("cards_drawn", n=3)
    f.drop(seq)
    return None


@attack("shithead", Check.LEGALITY, Family.OMITTED_BURN)
def a_burn_left_out(f: Forgery) -> int | None:
    f.drop(f.find("pile_burned"))
    return None


@attack("shithead", Check.LEGALITY, Family.INVENTED_BURN)
def a_burn_invented(f: Forgery) -> int | None:
    seq = f.find("cards_drawn", n=4)
    seat, count = f.data(seq)["seat"], len(game_at(f, seq + 1).pile)
    burn = {"seat": seat, "cause": "rank", "count": count, "cleared_by": seat}
    f.insert(seq + 1, "pile_burned", burn, by=seat)
    f.events[seq + 1]["at"] = f.events[seq]["at"]
    return seq + 1


@attack("shithead", Check.LEGALITY, Family.INVENTED_BURN)
def a_burn_for_another_cause(f: Forgery) -> int | None:
    seq = f.find("pile_burned", lambda e: e["data"]["cause"] == "rank")
    f.data(seq)["cause"] = "set"
    return seq


@attack("shithead", Check.LEGALITY, Family.WRONG_END)
def a_turn_given_to_another_seat(f: Forgery) -> int | None:
    seq = f.find("cards_played", n=6)
    f.data(seq)["turn"] = (f.data(seq)["turn"] + 1) % 3
    return seq


@attack("covered-queen-follow-up", Check.LEGALITY, Family.AFTER_REVERSE)
def a_direction_reversed(f: Forgery) -> int | None:
    seq = f.find("cards_played", n=6)
    f.data(seq)["direction"] *= -1
    return seq


@attack("shithead", Check.LEGALITY, Family.WRONG_END)
def a_move_out_of_turn(f: Forgery) -> int | None:
    seq = f.find("pile_picked_up", lambda e: e["data"]["turn"] != e["data"]["seat"])
    seat = (f.data(seq)["seat"] + 1) % 3
    f.data(seq).update(seat=seat, taker=seat)
    f.events[seq]["by"] = seat
    return seq


@attack("shithead", Check.LEGALITY, Family.WRONG_END)
def a_seat_out_that_is_not_recorded(f: Forgery) -> int | None:
    f.drop(f.find("seat_out"))
    return None


@attack("shithead", Check.LEGALITY, Family.WRONG_END)
def a_wrong_place(f: Forgery) -> int | None:
    f.data(f.find("seat_out"))["place"] = 2
    return f.find("seat_out")


@attack("shithead", Check.LEGALITY, Family.WRONG_END)
def another_seat_named_shithead(f: Forgery) -> int | None:
    data = f.data(f.find("game_ended"))
    data["shithead"] = data["places"][0]
    return f.find("game_ended")


@attack("shithead", Check.LEGALITY, Family.WRONG_END)
def a_stalemate_that_did_not_occur(f: Forgery) -> int | None:
    f.data(f.find("game_ended"))["reason"] = "stalemate"
    return f.find("game_ended")


@attack("threes-time-outs", Check.LEGALITY, Family.CLOCK)
def a_time_out_before_the_time_was_up(f: Forgery) -> int | None:
    seq = f.find("cards_played", lambda e: e["by"] is not None, 1)
    seat = f.data(seq)["seat"]
    for event in f.events[seq : f.move_end(seq) + 1]:
        event["by"] = None
    f.insert(seq, "turn_timed_out", {"seat": seat}, by=None)
    return seq


@attack("shithead", Check.LEGALITY, Family.CLOCK)
def a_time_out_where_there_is_no_clock(f: Forgery) -> int | None:
    seq = f.find("pile_picked_up")
    f.events[seq]["by"] = None
    f.insert(seq, "turn_timed_out", {"seat": f.data(seq)["seat"]}, by=None)
    return seq


def swap_for_a_silent_seat(f: Forgery) -> int:
    """Insert a time-out in the exchange and a swap by the server; return the seq of the swap."""
    seq = f.find("turn_timed_out", lambda e: f.events[e["seq"] + 1]["type"] == "seat_ready")
    seat = f.data(seq)["seat"]
    game = game_at(f, seq)
    up, hand = game.seats[seat].hand[0], game.seats[seat].up[0][0]
    f.insert(seq, "turn_timed_out", {"seat": seat}, by=None)
    f.insert(seq + 1, "cards_swapped", {"seat": seat, "up": [up], "hand": [hand]}, by=None)
    return seq + 1


@attack("threes-time-outs", Check.ORDER, Family.CLOCK)
def a_silent_players_cards_swapped_by_the_server(f: Forgery) -> int | None:
    return swap_for_a_silent_seat(f)


@attack("threes-time-outs", Check.ORDER, Family.CLOCK)
def a_time_out_in_the_exchange_that_leaves_the_seat_unready(f: Forgery) -> int | None:
    return swap_for_a_silent_seat(f)


@attack("shithead", Check.LEGALITY, Family.HIDDEN_BLIND)
def a_failed_blind_card_not_shown(f: Forgery) -> int | None:
    seq = f.find("blind_failed")
    f.data(seq)["opening"] = None
    return seq


@attack("reverse", Check.LEGALITY, Family.SPECIAL)
def a_throw_left_out(f: Forgery) -> int | None:
    seq = f.find("cards_thrown", n=1)
    f.drop(seq)
    return seq


@attack("covered-queen", Check.LEGALITY, Family.SPECIAL)
def a_swap_after_ready(f: Forgery) -> int | None:
    swap = deepcopy(f.events[f.find("cards_swapped")])
    ready = f.find("seat_ready", lambda e: e["data"]["seat"] == swap["data"]["seat"])
    assert f.events[ready + 1]["type"] != "play_started"
    swap["at"] = f.events[ready]["at"]
    up, hand = swap["data"]["up"], swap["data"]["hand"]
    swap["data"].update(up=hand, hand=up)
    f.events.insert(ready + 1, swap)
    return ready + 1


@attack("shithead", Check.LEGALITY, Family.SPECIAL)
def another_seat_opens(f: Forgery) -> int | None:
    seq = f.find("play_started")
    f.data(seq)["turn"] = (f.data(seq)["turn"] + 1) % 3
    return seq


@attack("leeds", Check.LEGALITY, Family.EDIT)
def options_that_name_a_default(f: Forgery) -> int | None:
    f.data(0)["ruleset"]["options"] = {"next_dealer": "loser"}
    return 0


@attack("shithead", Check.COMMITMENTS, Family.EDIT)
def an_unknown_ruleset(f: Forgery) -> int | None:
    f.data(0)["ruleset"]["id"] = "house-rules"
    return 0


@attack("shithead", Check.LEGALITY, Family.EDIT)
def settings_with_the_id_of_other_settings(f: Forgery) -> int | None:
    f.data(0)["ruleset"].update(id="custom-0123456789abcdef", settings={"order": {}})
    return 0


@attack("shithead", Check.COMMITMENTS, Family.EDIT)
def another_ruleset_named_afterwards(f: Forgery) -> int | None:
    f.data(0)["ruleset"]["id"] = "threes"
    return 0


@attack("shithead", Check.LEGALITY, Family.EDIT)
def a_turn_limit_beyond_all_bounds(f: Forgery) -> int | None:
    f.data(0)["turn_limit"] = 19_001
    return 0


@attack("leeds", Check.HIDDEN, Family.HIDDEN_BLIND)
def a_playable_blind_card_kept_hidden(f: Forgery) -> int | None:
    seq = f.find("cards_played", lambda e: e["data"]["zone"] == "down")
    game, data = game_at(f, seq), f.data(seq)
    unchanged = {k: data[k] for k in ("seat", "slot", "direction")}
    f.drop(seq + 1, f.move_end(seq))
    f.events[seq]["type"] = "blind_failed"
    f.events[seq]["data"] = {
        **unchanged,
        "taker": data["seat"],
        "opening": None,
        "count": len(game.pile),
        "turn": 0,
    }
    return seq

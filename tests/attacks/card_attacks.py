"""Attacks on the deal and on the places of cards."""

from __future__ import annotations

from copy import deepcopy

from service.domain.cards import Card
from service.verify.finding import Check
from tests.attacks.registry import Family, attack, game_at
from tests.tamper import Event, Forgery


@attack("shithead", Check.DEAL, Family.DOUBLED_CARDS)
def a_joker_in_a_deck_that_has_none(f: Forgery) -> int | None:
    f.data(0)["deck"]["jokers"] = 2
    return 0


@attack("shithead", Check.DEAL, Family.REORDERING)
def face_up_cards_of_two_seats_exchanged(f: Forgery) -> int | None:
    faces = f.data(f.find("cards_dealt"))["face_up"]
    faces[0], faces[1] = faces[1], faces[0]
    return f.find("cards_dealt")


@attack("shithead", Check.DEAL, Family.MISSING_CARDS)
def a_false_count_of_the_stock(f: Forgery) -> int | None:
    f.data(f.find("cards_dealt"))["stock"] -= 1
    return f.find("cards_dealt")


@attack("shithead", Check.DEAL, Family.WRONG_REFILL)
def more_cards_dealt_to_the_hands(f: Forgery) -> int | None:
    data = f.data(f.find("cards_dealt"))
    data["hand"], data["stock"] = data["hand"] + 1, data["stock"] - 3
    return f.find("cards_dealt")


@attack("egilsson", Check.DEAL, Family.STOCK_ORDER)
def a_try_that_is_not_the_top_of_the_stock(f: Forgery) -> int | None:
    seq = f.find("stock_failed")
    seal = f.data(len(f.events) - 1)
    p = f.data(seq)["opening"]["p"] + 1
    f.data(seq)["opening"] = f.shuffle(bytes.fromhex(seal["seed"])).opening(p)
    return seq


@attack("shithead", Check.DEAL, Family.SUBSTITUTED_DRAW)
def a_blind_card_of_another_seat(f: Forgery) -> int | None:
    def down(e: Event) -> bool:
        return bool(e["data"]["zone"] == "down")

    one = f.find("cards_played", down)
    other = f.find("cards_played", lambda e: down(e) and e["data"]["seat"] != f.data(one)["seat"])
    f.data(one)["opening"] = deepcopy(f.data(other)["opening"])
    f.data(one)["cards"] = list(f.data(other)["cards"])
    return one


@attack("shithead", Check.DEAL, Family.WRONG_REFILL)
def more_cards_drawn_than_the_stock_holds(f: Forgery) -> int | None:
    count = len([e for e in f.events if e["type"] == "cards_drawn"])
    seq = f.find("cards_drawn", n=count - 1)
    f.data(seq)["count"] += 5
    return seq


@attack("shit-boot", Check.DEAL, Family.SPECIAL)
def a_starter_that_was_left_out(f: Forgery) -> int | None:
    data = f.data(f.find("cards_dealt"))
    data["starter"], data["stock"] = None, data["stock"] + 1
    return f.find("cards_dealt")


def _other_hand(f: Forgery, seq: int) -> Card:
    seat, game = f.data(seq)["seat"], game_at(f, seq)
    return next(s for n, s in enumerate(game.seats) if n != seat and s.hand).hand[0]


@attack("shithead", Check.CUSTODY, Family.CARD_NOT_HELD)
def a_card_of_another_seats_hand(f: Forgery) -> int | None:
    seq = f.find("cards_played", n=4)
    f.data(seq)["cards"] = [_other_hand(f, seq)]
    return seq


@attack("shithead", Check.CUSTODY, Family.CARD_NOT_HELD)
def a_card_that_has_burned(f: Forgery) -> int | None:
    burned = f.find("pile_burned")
    seq = f.find("cards_played", lambda e: e["seq"] > burned and e["data"]["zone"] == "hand", 2)
    f.data(seq)["cards"] = [game_at(f, seq).burned[0]]
    return seq


@attack("shithead", Check.CUSTODY, Family.DOUBLED_CARDS)
def one_card_played_twice(f: Forgery) -> int | None:
    seq = f.find("cards_played", n=4)
    f.data(seq)["cards"] *= 2
    return seq


@attack("shithead", Check.CUSTODY, Family.SUBSTITUTED_DRAW)
def a_card_still_in_the_stock_in_place_of_the_one_drawn(f: Forgery) -> int | None:
    seq = f.find("cards_played", n=4)
    game = game_at(f, seq)
    f.data(seq)["cards"] = [game.deck[game.stock[-1]]]
    return seq


@attack("shithead", Check.CUSTODY, Family.MISSING_CARDS)
def fewer_cards_picked_up_than_were_in_the_pile(f: Forgery) -> int | None:
    seq = f.find("pile_picked_up", lambda e: e["data"]["count"] > 2)
    f.data(seq)["count"] -= 1
    return seq


@attack("covered-queen", Check.CUSTODY, Family.CARD_NOT_HELD)
def a_swap_for_a_face_up_card_of_another_seat(f: Forgery) -> int | None:
    seq = f.find("cards_swapped")
    game, seat = game_at(f, seq), f.data(seq)["seat"]
    f.data(seq)["hand"][0] = game.seats[(seat + 1) % len(game.seats)].up_cards[0]
    return seq


@attack("shithead", Check.CUSTODY, Family.WRONG_END)
def a_seat_out_with_cards_left(f: Forgery) -> int | None:
    seq = f.find("cards_drawn", n=5)
    seat = f.data(seq)["seat"]
    f.insert(seq + 1, "seat_out", {"seat": seat, "place": 1}, by=seat)
    f.events[seq + 1]["at"] = f.events[seq]["at"]
    return seq + 1

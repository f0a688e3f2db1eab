"""Attacks with stacked decks and with aborts for a false cause."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from uuid import UUID

from service.rulesets.catalogue import definition
from service.shx.canonical import custom_ruleset_id, ruleset_hash
from service.shx.shuffle import Shuffle, derive
from service.verify.finding import Check
from tests.attacks.registry import ATTACKS, Attack, Family, Kind, attack
from tests.changed import replace
from tests.random_games import Plan, made_game
from tests.tamper import Forgery

ChangeShuffle = Callable[[Shuffle], Shuffle]


def played_on(
    family: Family, check: Check = Check.SHUFFLE
) -> Callable[[ChangeShuffle], ChangeShuffle]:
    """Register a stacked deck: committed, dealt and played to the seal with valid hashes."""

    def register(stack: ChangeShuffle) -> ChangeShuffle:
        name = stack.__name__.replace("_", " ")

        def shuffled(
            game: UUID, seed: bytes, head0: bytes, deck: Sequence[str], r: Sequence[bytes | None]
        ) -> Shuffle:
            return stack(derive(game, seed, head0, deck, r))

        def make() -> tuple[Forgery, int | None]:
            forgery = Forgery(made_game(Plan(name=name, shuffled=shuffled)))
            return forgery, forgery.find("deck_committed")

        ATTACKS.append(Kind(name=name, log="shithead", check=check, family=family, make=make))
        return stack

    return register


def planned(family: Family, check: Check, plan: Plan) -> Callable[[Attack], Attack]:
    """Register an attack on a game generated for it."""

    def register(function: Attack) -> Attack:
        name = function.__name__.replace("_", " ")

        def make() -> tuple[Forgery, int | None]:
            forgery = Forgery(made_game(plan))
            return forgery, function(forgery)

        ATTACKS.append(Kind(name=name, log=plan.ruleset, check=check, family=family, make=make))
        return function

    return register


@played_on(Family.BIASED_SHUFFLE)
def a_deck_stacked_with_the_tens_on_top(true: Shuffle) -> Shuffle:
    return replace(true, deck=tuple(sorted(true.deck, key=lambda card: card[0] != "T")))


@played_on(Family.BIASED_SHUFFLE)
def a_deck_chosen_out_of_two(true: Shuffle) -> Shuffle:
    return min(true, replace(true, deck=true.deck[::-1]), key=lambda one: one.deck.index("2h"))


@played_on(Family.STOCK_ORDER)
def a_stock_turned_upside_down(true: Shuffle) -> Shuffle:
    return replace(true, deck=true.deck[:27] + true.deck[27:][::-1])


@attack("shithead", Check.SHUFFLE, Family.DOUBLED_CARDS)
def a_card_twice_in_the_deck_and_committed_to(f: Forgery) -> int | None:
    """No engine can play with such a deck, so it replaces the deck in the true log."""
    seal = f.data(len(f.events) - 1)
    true = f.shuffle(bytes.fromhex(seal["seed"]))
    stacked = replace(true, deck=(*true.deck[:-1], true.deck[0]))
    seal["deck"] = list(stacked.deck)
    f.data(f.find("deck_committed"))["cards"] = [c.hex() for c in stacked.commitments()]
    return f.find("deck_committed")


@played_on(Family.SWAPPED_COMMITMENTS)
def two_cards_of_the_stock_exchanged_before_the_commitment(true: Shuffle) -> Shuffle:
    deck = list(true.deck)
    deck[30], deck[45] = deck[45], deck[30]
    return replace(true, deck=tuple(deck))


def _without_entropy_of_the_seats(
    game: UUID, seed: bytes, head0: bytes, deck: Sequence[str], r: Sequence[bytes | None]
) -> Shuffle:
    return derive(game, seed, head0, deck, [None] * len(r))


@planned(
    Family.BIASED_SHUFFLE,
    Check.SHUFFLE,
    Plan(name="deaf", shuffled=_without_entropy_of_the_seats),
)
def a_shuffle_without_the_entropy_of_the_players(f: Forgery) -> int | None:
    return f.find("deck_committed")


@planned(Family.WRONG_DEALER, Check.SHUFFLE, Plan(name="dealt by 0", drawn=2))
def a_whole_game_dealt_by_a_seat_that_was_not_drawn(f: Forgery) -> int | None:
    shuffle = f.shuffle(bytes.fromhex(f.events[-1]["data"]["seed"]))
    assert shuffle.dealer(3) != 2
    return f.find("cards_dealt")


def _aborted(f: Forgery, seq: int, cause: str, seat: int | None) -> int:
    """End the game at `seq` with an abort whose seed, deck and openings are valid."""
    seal = f.events[-1]
    at = f.events[seq]["at"]
    del f.events[seq:]
    data = {"cause": cause, "seat": seat, **seal["data"]}
    f.events.append({**seal, "at": at, "type": "game_aborted", "data": data})
    return seq


@attack("shithead", Check.LEGALITY, Family.CLOCK)
def a_seat_that_left_after_the_deal_and_did_not_forfeit(f: Forgery) -> int | None:
    return _aborted(f, f.find("cards_played", n=7), "left", 0)


@attack("shithead-agreed", Check.LEGALITY, Family.CLOCK)
def an_end_by_agreement_that_one_person_never_agreed_to(f: Forgery) -> int | None:
    seq = f.find("end_agreed", lambda e: e["data"]["seat"] == 2)
    f.drop(seq)
    return len(f.events) - 1


@attack("shithead-agreed", Check.LEGALITY, Family.CLOCK)
def an_agreed_end_that_the_operator_took_for_its_own(f: Forgery) -> int | None:
    f.data(len(f.events) - 1)["cause"] = "operator"
    return len(f.events) - 2


@attack("shithead-stand-in", Check.LEGALITY, Family.CLOCK)
def a_stand_in_for_a_player_whose_absence_nobody_claimed(f: Forgery) -> int | None:
    f.drop(f.find("absence_claimed"))
    return f.find("turn_timed_out")


@attack("shithead-left", Check.LEGALITY, Family.CLOCK)
def an_end_for_an_absence_that_one_present_player_never_claimed(f: Forgery) -> int | None:
    f.drop(f.find("absence_claimed"))
    return len(f.events) - 1


@attack("shithead-left", Check.LEGALITY, Family.CLOCK)
def another_player_said_to_have_left(f: Forgery) -> int | None:
    f.data(len(f.events) - 1)["seat"] = 0
    return len(f.events) - 1


@attack("shithead-left", Check.SIGNATURES, Family.UNSIGNED)
def a_claim_in_the_name_of_a_player_who_made_none(f: Forgery) -> int | None:
    seq = f.find("absence_claimed", n=1)
    del f.events[seq]["auth"]
    return seq


@attack("shithead", Check.LEGALITY, Family.CLOCK)
def a_seat_called_idle_that_was_not_on_turn(f: Forgery) -> int | None:
    seq = f.find("cards_played", lambda e: e["data"]["turn"] != e["data"]["seat"], 7)
    seat = f.data(seq)["seat"]
    return _aborted(f, f.move_end(seq) + 1, "idle", seat)


@attack("shithead", Check.LEGALITY, Family.CLOCK)
def an_operators_abort_blamed_on_a_seat(f: Forgery) -> int | None:
    seq = f.find("cards_played", lambda e: e["data"]["turn"] != e["data"]["seat"], 4)
    seat = f.data(seq)["seat"]
    return _aborted(f, f.move_end(seq) + 1, "operator", seat)


@attack("threes", Check.LEGALITY, Family.CLOCK)
def a_seat_called_idle_at_an_opening_open_to_all(f: Forgery) -> int | None:
    return _aborted(f, f.find("play_started") + 1, "idle", 1)


@attack("shithead", Check.LEGALITY, Family.CLOCK)
def a_seat_called_idle_that_was_ready(f: Forgery) -> int | None:
    seq = f.find("seat_ready")
    return _aborted(f, seq + 1, "idle", f.data(seq)["seat"])


@attack("shithead", Check.ORDER, Family.CLOCK)
def entropy_called_missing_after_the_deal(f: Forgery) -> int | None:
    return _aborted(f, f.find("cards_played"), "no_entropy", 1)


@attack("shithead-keyed", Check.ORDER, Family.CLOCK)
def a_seat_blamed_that_waited_for_another_to_commit(f: Forgery) -> int | None:
    """One seat has committed and the other has not; only the other delays the game."""
    one, two = f.find("entropy_committed"), f.find("entropy_committed", n=1)
    seat = f.data(one)["seat"]
    return _no_deck(f, two, seat)


def _no_deck(f: Forgery, seq: int, seat: int) -> int:
    _aborted(f, seq, "no_entropy", seat)
    f.data(seq)["deck"] = None
    return seq


@attack("shithead-aborted", Check.COMMITMENTS, Family.OTHER_SEED)
def another_seed_shown_after_an_abort(f: Forgery) -> int | None:
    f.data(len(f.events) - 1)["seed"] = "07" * 32
    return len(f.events) - 1


@attack("leeds-forfeit", Check.LEGALITY, Family.AFTER_OUT)
def a_forfeit_of_a_seat_that_is_out(f: Forgery) -> int | None:
    ended = f.find("game_ended")
    assert f.data(ended)["reason"] == "forfeit"
    out = f.find("seat_out")
    f.data(ended)["shithead"] = f.data(out)["seat"]
    return ended


@planned(Family.EDIT, Check.LEGALITY, Plan(name="optioned", bots=True))
def options_with_a_custom_ruleset(f: Forgery) -> int | None:
    settings = dict(definition("shithead").settings({}))
    pinned = {"id": custom_ruleset_id(settings), "options": {"next_dealer": "x"}}
    f.data(0)["ruleset"] = {**pinned, "settings": settings}
    f.data(0)["ruleset_hash"] = ruleset_hash(f.data(0)["ruleset"]).hex()
    return 0

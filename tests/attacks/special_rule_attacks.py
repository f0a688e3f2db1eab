"""One move decided by rules other than the game's: the special rules of each ruleset."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from service.domain.cards import Rank
from service.domain.ruleset import (
    PLAIN_RANK,
    After,
    Along,
    Asks,
    Obligation,
    OpeningPlay,
    PlayedFor,
    Plays,
    RefillTo,
    Ruleset,
    Taker,
    TryStockWhen,
)
from service.verify.finding import Check
from tests.attacks.cheating import cheated
from tests.attacks.registry import ATTACKS, Family, Kind
from tests.changed import replace

SPECIAL = Family.SPECIAL


def setting(section: str, **values: Any) -> Callable[[Ruleset], Ruleset]:
    """Return a function that changes settings of one section of a ruleset."""

    def changed(ruleset: Ruleset) -> Ruleset:
        settings = replace(getattr(ruleset, section), **values)
        return replace(ruleset, **{section: settings})

    return changed


def rank(name: str, **values: Any) -> Callable[[Ruleset], Ruleset]:
    """Return a function that changes the rule of one rank, by default to a plain one."""

    def changed(ruleset: Ruleset) -> Ruleset:
        rule = replace(ruleset.rank(Rank(name)), **values) if values else PLAIN_RANK
        return replace(ruleset, ranks={**ruleset.ranks, Rank(name): rule})

    return changed


CHEATS: tuple[tuple[str, str, Family, Callable[[Ruleset], Ruleset]], ...] = (
    ("a pick-up by a seat that can play", "leeds", Family.RENEGE,
     setting("turn", obligation=Obligation.MAY_PICK_UP)),
    ("a pick-up by a seat that can play or cover", "covered-queen", Family.RENEGE,
     setting("turn", obligation=Obligation.MAY_PICK_UP)),
    ("a five without a companion", "leeds", SPECIAL, rank("5")),
    ("a higher card on a seven", "leeds", Family.ILLEGAL_RANK, rank("7")),
    ("a jack that reverses nothing", "leeds", Family.AFTER_REVERSE, rank("J")),
    ("a ten that burns nothing", "leeds", Family.OMITTED_BURN, rank("T")),
    ("a ten on a king", "leeds", Family.ILLEGAL_RANK, rank("T", plays=Plays.ANYTHING, burns=True)),
    ("a refill to three instead of as many as were played", "leeds", Family.WRONG_REFILL,
     setting("refill", to=RefillTo.SIZE, size=3)),
    ("a face-up card picked up with the pile", "leeds", SPECIAL,
     setting("pick_up", along=Along.ONE_SLOT)),
    ("a failed blind card shown instead of kept hidden", "leeds", Family.HIDDEN_BLIND,
     setting("pick_up", show_blind=True)),
    ("three of a rank that burn", "shithead", Family.INVENTED_BURN, setting("burn", set_size=3)),
    ("four of a rank that do not burn", "shithead", Family.OMITTED_BURN,
     setting("burn", set_size=0)),
    ("a card tried from the stock", "shithead", SPECIAL,
     setting("turn", try_stock=TryStockWhen.ALWAYS)),
    ("a run of a suit", "shithead", SPECIAL, setting("turn", runs=True)),
    ("cards added out of turn", "shithead", SPECIAL, setting("turn", follow_up=True)),
    ("a four on anything", "shithead", Family.ILLEGAL_RANK, rank("4", plays=Plays.ANYTHING)),
    ("an opening with a rank other than the required one", "threes", SPECIAL,
     setting("opening", play=OpeningPlay.ANY)),
    ("an opening with the right rank but another card", "covered-queen", SPECIAL,
     setting("opening", play=OpeningPlay.THAT_RANK)),
    ("a joker that reverses nothing", "shithead-six", Family.AFTER_REVERSE,
     rank("X", reverses=False)),
    ("a hand that goes on after the winner is out", "shithead-winner", Family.WRONG_END,
     setting("end", played_for=PlayedFor.LOSER)),
    ("a hand that ends when the first seat is out", "shithead", Family.WRONG_END,
     setting("end", played_for=PlayedFor.WINNER)),
    ("a ten on a higher rank", "shithead-ten-in-rank", Family.ILLEGAL_RANK,
     rank("T", plays=Plays.ANYTHING)),
    ("a face-up card picked up instead of left on the table", "shithead-keep-table", SPECIAL,
     setting("pick_up", along=Along.ONE_SLOT)),
    ("a pick-up without the face-up card", "shithead", SPECIAL,
     setting("pick_up", along=Along.NOTHING)),
    ("a transparent eight on which any card fits", "gultnieks", SPECIAL,
     rank("8", asks=Asks.ANYTHING)),
    ("an eight that reverses nothing", "gultnieks", Family.AFTER_REVERSE,
     rank("8", reverses=False)),
    ("the next seat instead of the previous after a pick-up", "karma-radford", SPECIAL,
     setting("pick_up", after=After.NEXT)),
    ("a refill to five cards instead of four", "smeghead", Family.WRONG_REFILL,
     setting("refill", size=5)),
    ("a refill to three cards instead of five", "smeghead-west-kent", Family.WRONG_REFILL,
     setting("refill", size=3)),
    ("a glass seven on which any card fits", "guarducci", SPECIAL, rank("7", asks=Asks.ANYTHING)),
    ("the next seat instead of the previous after a pick-up of three", "guarducci", SPECIAL,
     setting("pick_up", after=After.NEXT)),
    ("a refill to four cards instead of three", "finnish-four", Family.WRONG_REFILL,
     setting("refill", size=4)),
    ("a refill to three cards instead of four", "ten-two-slide", Family.WRONG_REFILL,
     setting("refill", size=3)),
    ("a five on which any card fits", "egilsson", SPECIAL, rank("5", asks=Asks.ANYTHING)),
    ("a queen left uncovered", "covered-queen", SPECIAL, rank("Q")),
    ("an eight that skips no seat", "covered-queen", Family.AFTER_SKIP, rank("8")),
    ("a king that reverses nothing", "covered-queen", Family.AFTER_REVERSE, rank("K")),
    ("a transparent three on which any card fits", "covered-queen", SPECIAL,
     rank("3", asks=Asks.ANYTHING)),
    ("a transparent jack on which any card fits", "threes-house", SPECIAL,
     rank("J", asks=Asks.ANYTHING)),
    ("an eight that does not reverse", "threes-katastrophic", Family.AFTER_REVERSE,
     rank("8", reverses=False)),
    ("a refill to three after two cards", "morehead", Family.WRONG_REFILL,
     setting("refill", to=RefillTo.SIZE, size=3)),
    ("a joker that does not reverse the turn", "morehead", Family.AFTER_REVERSE,
     rank("X", reverses=False)),
    ("a jack that skips no seat", "reverse", Family.AFTER_SKIP, rank("J", skips=False)),
    ("a pile picked up by the seat that could not play", "reverse-second", SPECIAL,
     setting("pick_up", taker=Taker.SELF, after=After.NEXT)),
    ("an ace on a two in the second hand", "reverse-second", Family.ILLEGAL_RANK,
     rank("A", plays=Plays.ANYTHING, not_on=())),
    ("a try from the stock by a seat that can play", "shit-boot", SPECIAL,
     setting("turn", try_stock=TryStockWhen.ALWAYS)),
)  # fmt: skip

for _name, _ruleset, _family, _loosened in CHEATS:
    ATTACKS.append(
        Kind(
            name=_name,
            log=_ruleset,
            check=Check.LEGALITY,
            family=_family,
            make=partial(cheated, _ruleset, _loosened),
        )
    )

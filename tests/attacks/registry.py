"""The register of attacks: each with the check that must detect it and the evidence it needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from schemas.events import event_of
from service.domain.cards import Card
from service.domain.evolve import fold
from service.domain.game import Game
from service.verify.finding import Check
from service.verify.log import pinned_ruleset
from tests.tamper import Forgery, sample

Attack = Callable[[Forgery], int | None]


class Family(StrEnum):
    """The families of attacks; each has at least one registered attack."""

    EDIT = "history: an edit"
    DROP = "history: a drop"
    INSERTION = "history: an insertion"
    REORDERING = "history: a reordering"
    TRUNCATION = "history: a truncation"
    REPLACEMENT = "history: a whole game replaced with all server keys"
    RE_ROLL = "history: a disliked deck re-rolled by aborting"
    EQUIVOCATION = "history: different histories for different seats"
    FORGED_SIGNATURE = "history: a forged signature"
    REPLAYED_SIGNATURE = "history: a replayed signature"
    UNSIGNED = "history: keys that signed nothing"
    KEY_SWAP = "history: a key swapped"
    BACK_DATING = "history: back-dating"
    OTHER_SEED = "seeds: another seed"
    LATE_COMMITMENT = "seeds: a commitment after reveals"
    ALTERED_REVEAL = "seeds: an altered reveal"
    SWAPPED_COMMITMENTS = "seeds: swapped commitments"
    SUBSTITUTED_DRAW = "seeds: a substituted draw"
    STOCK_ORDER = "seeds: another order of the stock"
    BIASED_SHUFFLE = "seeds: a biased shuffle"
    REUSED_SEED = "seeds: a seed used again"
    MISSING_CARDS = "seeds: missing cards"
    DOUBLED_CARDS = "seeds: doubled cards"
    CARD_NOT_HELD = "rules: a card not held"
    ILLEGAL_RANK = "rules: an illegal rank"
    RENEGE = "rules: a forced play reneged on"
    HIDDEN_BLIND = "rules: a playable blind card kept hidden"
    WRONG_REFILL = "rules: a wrong refill"
    OMITTED_BURN = "rules: an omitted burn"
    INVENTED_BURN = "rules: an invented burn"
    AFTER_REVERSE = "rules: a wrong turn after a reverse"
    AFTER_SKIP = "rules: a wrong turn after a skip"
    WRONG_DEALER = "rules: a wrong dealer"
    AFTER_OUT = "rules: a play after going out"
    WRONG_END = "rules: a wrong end, place or turn"
    SPECIAL = "rules: special rules of one ruleset"
    CLOCK = "rules: time-outs, stand-ins and aborts"
    DUMP = "secrets: a dump of the database"
    SIZE_AND_ORDER = "secrets: size and order of answers"
    ERROR_TEXTS = "secrets: error texts"
    ETAGS = "secrets: ETags"
    BOT_TIMING = "secrets: the timing of bots"
    AS_OTHERS = "secrets: another seat's view requested with `as=`"
    EARLY_REPLAY = "secrets: a replay before the seal"
    COUNTERS = "secrets: metrics, counts and lists that anybody can read"
    ACCOUNTS = "accounts: simultaneous calls"
    OTHERS_OPENINGS = "secrets: a seat's bundle with others' openings"
    REFUSALS = "bundles: refused attempts made up, dropped or moved"
    OWN_TRUST = "bundles: trust roots inside a bundle"
    ZIP_TRICKS = "bundles: tricks with the archive"
    DOWNGRADE = "bundles: evidence left out"
    MARKUP = "bundles: markup in names"
    WITHOUT_BOUND = "service: unbounded work"
    STEERED_RULING = "disputes: a ruling steered"
    FOREIGN_JOBS = "operation: write access to Redis"
    OLD_STATE = "operation: wrong clocks, outdated keys and backups"


class Needs(StrEnum):
    """Evidence from outside the server, which an operator with every server key cannot forge."""

    NOTHING = "nothing"
    RECEIPT = "a receipt"
    SEAT_KEY = "a player's key"
    WITNESS = "a witness"
    OTHER_LOG = "another log"


@dataclass(frozen=True, kw_only=True)
class Kind:
    """One kind of tampering: the change, the log, and the check that must detect it."""

    name: str  # in words
    log: str  # a sample, or the ruleset of a generated game
    check: Check
    family: Family
    make: Callable[[], tuple[Forgery, int | None]]
    """Returns the forged log, and the seq at which the check must fail, if any."""


ATTACKS: list[Kind] = []


def attack(log: str, check: Check, family: Family) -> Callable[[Attack], Attack]:
    """Register an attack; it returns the seq at which the check must fail, if there is one."""

    def register(function: Attack) -> Attack:
        name = function.__name__.replace("_", " ")

        def make() -> tuple[Forgery, int | None]:
            forgery = sample(log)
            return forgery, function(forgery)

        ATTACKS.append(Kind(name=name, log=log, check=check, family=family, make=make))
        return function

    return register


def game_at(forgery: Forgery, seq: int) -> Game:
    """Return the game before the event, with the deck."""
    created = forgery.data(0)
    ruleset = pinned_ruleset(created["ruleset"], created["hand"])
    events = [event_of(e["type"], e["data"], lambda *_: ruleset) for e in forgery.events[:seq]]
    return fold(events, deck=tuple(Card(c) for c in forgery.events[-1]["data"]["deck"]))

"""Rulesets: every rule as a setting that the engine reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from functools import cache, cached_property
from typing import Any, Final

from service.domain.cards import JOKER, RANKS, Rank
from service.domain.effects import Acts, Effect, Hint


class DeckCount(StrEnum):
    """How the number of decks follows from the number of seats."""

    FIXED = "fixed"  # always `decks`
    TO_FIT = "to_fit"  # the fewest that have enough cards for the deal (L1)
    HALF_IN_STOCK = "half_in_stock"  # the fewest that leave half of all cards undealt (P32)
    BY_SEATS = "by_seats"  # one for each `seats_per_deck` or part of them (S1)


class Layout(StrEnum):
    """Whether players choose their own face-up cards."""

    NONE = "none"
    PLAIN = "plain"  # one card a slot (P21)
    STACKS = "stacks"  # cards of one rank may share a slot (P31)


class Starter(StrEnum):
    """Whether a card is turned from the stock to start the pile."""

    NONE = "none"
    ANY = "any"  # L5
    PLAIN = "plain"  # a special card goes under the stock and another is turned (B)


class Opener(StrEnum):
    """Which seat makes the first play."""

    LEFT_OF_DEALER = "left_of_dealer"
    FIRST_DEALT = "first_dealt"  # dealt the first card that qualifies, face-up first (P5)
    WORST_CARD = "worst_card"  # holds the worst hand card (S3)
    FIRST_COME_HAND = "first_come_hand"  # the first to act with an opening rank in the hand
    FIRST_COME_TABLE = "first_come_table"  # the same, but face-up cards qualify before hand cards
    NEXT_TO_THROWER = "next_to_thrower"  # left of the last seat that threw cards (rule R)


class OpeningPlay(StrEnum):
    """The requirement on the first play."""

    ANY = "any"
    THAT_CARD = "that_card"  # it contains the card that makes its player the opener
    THAT_RANK = "that_rank"  # it is of the rank that qualifies its player


class RefillTo(StrEnum):
    """How many cards a seat draws after a play."""

    SIZE = "size"
    AS_MANY_AS_PLAYED = "as_many_as_played"


class Obligation(StrEnum):
    """Whether a seat that can play must do so."""

    MUST_PLAY = "must_play"
    MAY_PICK_UP = "may_pick_up"


class TryStockWhen(StrEnum):
    """When a seat may try the top card of the stock."""

    NEVER = "never"
    WHEN_UNABLE = "when_unable"
    ALWAYS = "always"


class Taker(StrEnum):
    """Which seat takes a pile that was not beaten."""

    SELF = "self"
    PREVIOUS = "previous"


class After(StrEnum):
    """Which seat plays after a pick-up."""

    NEXT = "next"
    PREVIOUS = "previous"
    PREVIOUS_ABOVE_TWO = "previous_above_two"  # with two seats in play, as NEXT
    SAME = "same"  # the seat that could not play; only with Taker.PREVIOUS


class Along(StrEnum):
    """Which face-up cards a seat without a hand takes along with the pile."""

    NOTHING = "nothing"
    ONE_SLOT = "one_slot"  # one face-up card, or a stack of them
    ONE_RANK = "one_rank"  # one face-up card, or several of a rank


class Plays(StrEnum):
    """The cards on which a rank may be played."""

    NORMAL = "normal"  # on those whose demand it satisfies
    ANYTHING = "anything"
    WITH_COMPANION = "with_companion"  # on anything, together with a higher rank (L17)


class Asks(StrEnum):
    """The demand of a rank on the next play."""

    AT_LEAST = "at_least"
    AT_MOST = "at_most"
    BELOW = "below"
    ANYTHING = "anything"
    TRANSPARENT = "transparent"  # the demand of the cards below


class PlayedFor(StrEnum):
    """The condition that ends the hand."""

    LOSER = "loser"  # one seat is left with cards
    WINNER = "winner"  # a seat has no cards left


class NextDealer(StrEnum):
    """Which seat deals the next hand of a table."""

    LOSER = "loser"
    ROTATE = "rotate"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeckSettings:
    """The cards that the game is played with."""

    count: DeckCount = DeckCount.FIXED
    decks: int = 1  # the exact number with FIXED, else the minimum
    seats_per_deck: int = 0  # only with BY_SEATS
    jokers: int = 0
    jokers_from_seats: int = 0  # from this number of seats on, `jokers_then` applies; 0: never
    jokers_then: int = 0
    partial: tuple[Rank, ...] = ()  # the ranks of a partial deck in place of the last of several


@dataclass(frozen=True, slots=True, kw_only=True)
class DealSettings:
    """The deal, and the throws, the starter and the exchange before the first play."""

    down: int = 3
    up: int = 3
    hand: int = 3
    layout: Layout = Layout.NONE
    starter: Starter = Starter.NONE
    exchange: bool = True
    throws: tuple[Rank, ...] = ()  # the first of these found in any hand is thrown (rule R)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpeningSettings:
    """Which seat plays first, and with which cards."""

    opener: Opener = Opener.LEFT_OF_DEALER
    ranks: tuple[Rank, ...] = ()  # the order in which cards qualify
    suits: str = ""  # only with WORST_CARD: worst suit first
    play: OpeningPlay = OpeningPlay.ANY


@dataclass(frozen=True, slots=True, kw_only=True)
class RefillSettings:
    """How hands are refilled."""

    to: RefillTo = RefillTo.SIZE
    size: int = 3  # cards of a refilled hand, also after laying out


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnSettings:
    """The choices of a seat in its turn."""

    obligation: Obligation = Obligation.MAY_PICK_UP
    try_stock: TryStockWhen = TryStockWhen.NEVER
    follow_up: bool = False  # drawn cards of the same rank may be added out of turn (S4)
    runs: bool = False  # of one suit (P34)


@dataclass(frozen=True, slots=True, kw_only=True)
class PickUpSettings:
    """The consequences of a pile that was not beaten."""

    taker: Taker = Taker.SELF
    after: After = After.NEXT
    along: Along = Along.NOTHING
    show_blind: bool = True  # a face-down card that does not fit is shown to all (not in L13)


@dataclass(frozen=True, slots=True, kw_only=True)
class BurnSettings:
    """When sets burn, and which seat clears the pile."""

    set_size: int = 4  # 0: sets do not burn
    flusher: bool = False  # the first seat that burns a pile clears all later ones (P32)


@dataclass(frozen=True, slots=True, kw_only=True)
class EndSettings:
    """The end of a hand, the next dealer and the paper bag (M14)."""

    played_for: PlayedFor = PlayedFor.LOSER
    next_dealer: NextDealer = NextDealer.LOSER
    paper_bag: bool = False  # the loser wears one (M14)


def _effect(row: Effect) -> Any:
    """Return the declaration of a field of `RankRule`: an effect, by default absent."""
    return field(default=False, metadata={"effect": row})


@dataclass(frozen=True, slots=True, kw_only=True)
class RankRule:
    """
    The rules of one rank: where it may be played, its demand and its effects.

    The rows of the effects are their table: all parts but `decide` and `evolve` read `EFFECTS`.
    """

    plays: Plays = Plays.NORMAL
    not_on: tuple[Rank, ...] = ()  # never played if the demand is of one of these
    asks: Asks = Asks.AT_LEAST
    asks_as: Rank | None = None  # the demand is of this rank; None: of its own
    besides: tuple[Rank, ...] = ()  # ranks that always satisfy its demand
    alone: Asks = Asks.ANYTHING  # its demand as the bottom card of a pile of transparent cards
    burns: bool = _effect(Effect(acts=Acts.PILE, statement="1-resolution", hint=Hint.RESCUES))
    covers: bool = _effect(Effect(acts=Acts.COVER, statement="1-resolution", hint=Hint.BURDENS))
    covers_with_two: bool = _effect(
        Effect(acts=Acts.COVER, statement="1-resolution", while_two=True)
    )
    reverses: bool = _effect(
        Effect(acts=Acts.TURN, statement="1-resolution", turned=1, seats_from=3)
    )
    skips: bool = _effect(Effect(acts=Acts.TURN, statement="1-skip", skipped=1, hint=Hint.HINDERS))

    def effects(self, *acts: Acts) -> tuple[str, ...]:
        """
        Return the codes of the effects of the rank, of all kinds or of those named.

        >>> RankRule(covers=True, burns=True).effects(), RankRule(covers=True).effects(Acts.TURN)
        (('burns', 'covers'), ())
        """
        return tuple(code for code in effects_on(*acts) if getattr(self, code))

    @property
    def turned(self) -> int:
        """Return how often one card of the rank turns the direction of play."""
        return sum(EFFECTS[code].turned for code in self.effects())

    @property
    def skipped(self) -> int:
        """Return how many seats one card of the rank skips."""
        return sum(EFFECTS[code].skipped for code in self.effects())


EFFECTS: Final[Mapping[str, Effect]] = {
    setting.name: setting.metadata["effect"] for setting in fields(RankRule) if setting.metadata
}
"""The effects of ranks by their code, which is the name of their setting: `ranks.T.burns`."""


@cache
def effects_on(*acts: Acts) -> tuple[str, ...]:
    """Return the codes of the effects of some kinds, of all if none is named."""
    return tuple(code for code, effect in EFFECTS.items() if not acts or effect.acts in acts)


PLAIN_RANK: Final = RankRule()
ALL_RANKS: Final = (*RANKS, JOKER)

MAX_TURN_LIMIT: Final = 19_000
"""The most actions that a table may allow for one hand (rules.md, Endless hands)."""


@dataclass(frozen=True, kw_only=True)
class Ruleset:
    """
    A ruleset with its options applied: all settings of one hand.

    It has no slots, because it caches tables that are computed once.
    """

    id: str
    options: Mapping[str, object] = field(default_factory=dict)
    seats_min: int
    seats_max: int
    deck: DeckSettings = field(default_factory=DeckSettings)
    deal: DealSettings = field(default_factory=DealSettings)
    opening: OpeningSettings = field(default_factory=OpeningSettings)
    refill: RefillSettings = field(default_factory=RefillSettings)
    turn: TurnSettings = field(default_factory=TurnSettings)
    pick_up: PickUpSettings = field(default_factory=PickUpSettings)
    burn: BurnSettings = field(default_factory=BurnSettings)
    end: EndSettings = field(default_factory=EndSettings)
    order: tuple[Rank, ...] = RANKS  # low to high; jokers have no place in it
    ranks: Mapping[Rank, RankRule] = field(default_factory=dict)  # the special ones
    cites: Mapping[str, str] = field(default_factory=dict, compare=False)  # setting -> statement

    def rank(self, rank: Rank) -> RankRule:
        """Return the rule of `rank`, PLAIN_RANK if it is not special."""
        return self.ranks.get(rank, PLAIN_RANK)

    def height(self, rank: Rank) -> int:
        """Return the place of `rank` in `order`, from 0 up; raises KeyError if it has none."""
        return self._heights[rank]

    @cached_property
    def _heights(self) -> Mapping[Rank, int]:
        return {rank: height for height, rank in enumerate(self.order)}

    @cached_property
    def fitting(self) -> dict[object, frozenset[Rank]]:
        """Cache of the ranks that may be played alone on a demand; `demand.fitting` fills it."""
        return {}

    @cached_property
    def fitting_on(self) -> dict[Rank, frozenset[Rank]]:
        """Cache of the ranks that may be played alone on a rank; `demand.fitting_on` fills it."""
        return {}

    @cached_property
    def all_ranks(self) -> tuple[Rank, ...]:
        """Return all ranks, low to high; those without a place in the order come last."""
        return (*self.order, *(rank for rank in ALL_RANKS if rank not in self.order))

    @cached_property
    def accompanied(self) -> frozenset[Rank]:
        """Return the ranks that are played only together with another one (L17)."""
        return frozenset(
            rank for rank, rule in self.ranks.items() if rule.plays is Plays.WITH_COMPANION
        )

    def cite(self, *settings: str) -> str:
        """
        Return the id of the statement behind the first of `settings` that has one, else `1-model`.

        >>> rules = Ruleset(id="r", seats_min=2, seats_max=4, cites={"turn.obligation": "P8"})
        >>> rules.cite("turn.try_stock", "turn.obligation"), rules.cite("deal.up")
        ('P8', '1-model')
        """
        for setting in settings:
            statement = self.cites.get(setting)
            if statement is not None:
                return statement
        return "1-model"


def deck_of(ruleset: Ruleset, seats: int) -> tuple[int, int, tuple[Rank, ...]]:
    """
    Return (whole decks, jokers, ranks of a partial deck) for a number of seats.

    >>> rules = Ruleset(
    ...     id="r", seats_min=2, seats_max=12, deck=DeckSettings(count=DeckCount.TO_FIT, jokers=2)
    ... )
    >>> deck_of(rules, 5), deck_of(rules, 6)
    ((1, 2, ()), (2, 2, ()))
    """
    deck = ruleset.deck
    jokers = deck.jokers
    if deck.jokers_from_seats and seats >= deck.jokers_from_seats:
        jokers = deck.jokers_then
    decks = _decks(ruleset, seats)
    if deck.partial and decks > 1:
        return decks - 1, jokers, deck.partial
    return decks, jokers, ()


def cards_dealt(ruleset: Ruleset, seats: int) -> int:
    """Return how many cards the deal takes from the deck, the starter included."""
    deal = ruleset.deal
    starter = 0 if deal.starter is Starter.NONE else 1
    return seats * (deal.down + deal.up + deal.hand) + starter


def _decks(ruleset: Ruleset, seats: int) -> int:
    deck, dealt = ruleset.deck, cards_dealt(ruleset, seats)
    match deck.count:
        case DeckCount.FIXED:
            return deck.decks
        case DeckCount.TO_FIT:
            return max(deck.decks, -(-dealt // 52))
        case DeckCount.HALF_IN_STOCK:
            return max(deck.decks, -(-dealt // 26))
        case DeckCount.BY_SEATS:
            return max(deck.decks, -(-seats // deck.seats_per_deck))

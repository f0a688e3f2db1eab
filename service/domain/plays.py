"""Which sets of cards are a play: of one rank, with companions, or a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import combinations, groupby, pairwise, product

from service.domain.burning import burn_cause
from service.domain.cards import (
    HIDDEN,
    JOKER,
    Card,
    Rank,
    in_code_order,
    ordered_deck,
    rank_of,
    suit_of,
)
from service.domain.commands import Seat
from service.domain.demand import ANYTHING, Demand, demand_of, fits
from service.domain.errors import RuleRefused, UnknownCard
from service.domain.events import Zone
from service.domain.game import Game, SeatState
from service.domain.opening import opening_refusal
from service.domain.ruleset import Plays, Ruleset

FEW = 6
"""Up to so many cards to choose from, every choice is listed as a move of its own."""


def check_play(game: Game, seat: Seat, cards: tuple[Card, ...]) -> tuple[Card, ...]:
    """
    Return `cards` in the order in which they go on the pile.

    Raises UnknownCard, or RuleRefused with the statement that forbids the play.
    A card that the seat does not hold is refused alike wherever it lies.
    """
    ruleset, state = game.ruleset, game.seats[seat]
    check_cards(game, cards, "model.normal_play")
    source = source_cards(state)
    if state.zone is Zone.DOWN:
        rule = ruleset.cite("model.blind")
        raise RuleRefused(rule, "only face-down cards are left: turn one of them")
    if not all(card in source for card in cards):
        rule = ruleset.cite("model.source_zone")
        raise RuleRefused(rule, "you can play only cards that you hold in the zone you play from")
    if state.zone is Zone.UP and not _whole_stacks(state, cards):
        rule = ruleset.cite("model.stacks", "deal.layout")
        raise RuleRefused(rule, "a stack of face-up cards is played whole")
    laid = _in_laying_order(ruleset, cards)
    if laid is None:
        raise _no_play(ruleset, cards)
    refusal = opening_refusal(game, laid) or _unfitting(game, laid, _demand_now(game))
    if refusal is not None:
        raise refusal
    return laid


def check_cards(game: Game, cards: tuple[Card, ...], *settings: str) -> None:
    """
    Raise where `cards` is empty, or names a card twice or one that is not in the game.

    `settings` say what the cards were named for, the one that decides first.
    """
    setup = game.setup
    codes = codes_of(setup.decks, setup.jokers, setup.partial)
    for card in cards:
        if card not in codes:
            raise UnknownCard(card)
    if not cards or len(set(cards)) < len(cards):
        rule = game.ruleset.cite(*settings)
        raise RuleRefused(rule, "name at least one card, and each card once")


@lru_cache(maxsize=256)
def codes_of(decks: int, jokers: int, partial: tuple[Rank, ...]) -> frozenset[Card]:
    """Return the codes of all cards of a game."""
    return frozenset(ordered_deck(decks=decks, jokers=jokers, partial=partial))


def source_cards(state: SeatState) -> tuple[Card, ...]:
    """Return the cards a seat can choose from: its hand, else its face-up cards."""
    return state.hand or state.up_cards


def can_play(game: Game, seat: Seat) -> bool:
    """Return whether the seat, playing from its hand or face-up cards, has a legal play."""
    ruleset = game.ruleset
    ranks = {rank_of(card) for card in source_cards(game.seats[seat]) if card != HIDDEN}
    demand = _demand_now(game)
    if any(_fits_here(game, rank, demand) for rank in ranks):
        return True
    needing = [r for r in ranks if ruleset.rank(r).plays is Plays.WITH_COMPANION]
    return any(_companions(ruleset, r, other) for r in needing for other in ranks)


def candidate_plays(game: Game, seat: Seat) -> Iterator[tuple[Card, ...]]:
    """
    Yield the legal plays of a seat on turn, each as a set in code order.

    Where there are more than six cards to choose from, one set a size stands for
    all (api.md, section 4).
    """
    state, demand = game.seats[seat], _demand_now(game)
    for cards in _candidates(game, state, demand):
        if state.zone is Zone.UP and not _whole_stacks(state, cards):
            continue
        laid = _in_laying_order(game.ruleset, cards)
        if laid is None or opening_refusal(game, laid) or _unfitting(game, laid, demand):
            continue
        yield laid


def choices(cards: Iterable[Card]) -> Iterator[tuple[Card, ...]]:
    """Yield every set of `cards`, or one a size where there are many."""
    ordered = in_code_order(cards)
    for size in range(1, len(ordered) + 1):
        if len(ordered) > FEW:
            yield ordered[:size]
        else:
            yield from combinations(ordered, size)


def _candidates(
    game: Game, state: SeatState, demand: Demand
) -> Iterator[tuple[Card, ...]]:
    """Yield what could be a play: of the ranks that do not fit alone only those in company."""
    ruleset, source = game.ruleset, source_cards(state)
    by_rank = {
        rank: tuple(cards) for rank, cards in groupby(in_code_order(source), key=rank_of)
    }
    for rank, cards in by_rank.items():
        if ruleset.rank(rank).plays is Plays.WITH_COMPANION:
            for other, companions in by_rank.items():
                if _companions(ruleset, rank, other):
                    yield from _accompanied(cards, companions)
        elif not _fits_here(game, rank, demand):
            continue
        elif state.zone is Zone.UP and any(len(stack) > 1 for stack in state.up):
            yield from _stacks(state, rank)
        else:
            yield from choices(cards)
    if ruleset.turn.runs:
        yield from _runs(ruleset, source)


def _accompanied(
    cards: tuple[Card, ...], companions: tuple[Card, ...]
) -> Iterator[tuple[Card, ...]]:
    if len(cards) + len(companions) <= FEW:
        for some, others in product(choices(cards), choices(companions)):
            yield some + others
        return
    for count, others_count in product(range(len(cards)), range(len(companions))):
        yield cards[: count + 1] + companions[: others_count + 1]


def _stacks(state: SeatState, rank: Rank) -> Iterator[tuple[Card, ...]]:
    """Yield every choice of whole stacks, or where there are many each alone and one a number."""
    stacks = [stack for stack in state.up if stack and rank_of(stack[0]) == rank]
    for size in range(1, len(stacks) + 1):
        few = len(stacks) <= FEW or size == 1
        for some in combinations(stacks, size) if few else (stacks[:size],):
            yield in_code_order(card for stack in some for card in stack)


def _runs(ruleset: Ruleset, source: tuple[Card, ...]) -> Iterator[tuple[Card, ...]]:
    suited: dict[tuple[str, Rank], list[Card]] = {}
    for card in in_code_order(source):
        if card != HIDDEN and rank_of(card) != JOKER:
            suited.setdefault((suit_of(card), rank_of(card)), []).append(card)
    for suit in sorted({suit for suit, _ in suited}):
        for low in range(len(ruleset.order)):
            for high in range(low + 2, len(ruleset.order) + 1):
                span = [suited.get((suit, rank)) for rank in ruleset.order[low:high]]
                held = [cards for cards in span if cards is not None]
                if len(held) < len(span):
                    break
                yield from _picked(held)


def _picked(held: list[list[Card]]) -> Iterator[tuple[Card, ...]]:
    """
    Yield runs of one card of each rank: every such run, or where there are many cards a few.

    These few are the first cards of all ranks, and for each other card the run that has it.
    """
    if sum(map(len, held)) <= FEW:
        yield from product(*held)
        return
    first = tuple(cards[0] for cards in held)
    yield first
    for at, cards in enumerate(held):
        yield from ((*first[:at], card, *first[at + 1 :]) for card in cards[1:])


def _whole_stacks(state: SeatState, cards: tuple[Card, ...]) -> bool:
    touched = [stack for stack in state.up if any(card in cards for card in stack)]
    return all(card in cards for stack in touched for card in stack)


def _in_laying_order(ruleset: Ruleset, cards: tuple[Card, ...]) -> tuple[Card, ...] | None:
    """Return a play's cards as they are laid, or None where they are no play together."""
    ranks = {rank_of(card) for card in cards}
    if len(ranks) == 1:
        return cards
    if len(ranks) == 2:
        for rank in ranks:
            (other,) = ranks - {rank}
            if _companions(ruleset, rank, other):
                first = tuple(card for card in cards if rank_of(card) == rank)
                return first + tuple(card for card in cards if rank_of(card) == other)
    if ruleset.turn.runs and _is_run(ruleset, cards):
        return tuple(sorted(cards, key=lambda card: ruleset.height(rank_of(card))))
    return None


def _is_run(ruleset: Ruleset, cards: tuple[Card, ...]) -> bool:
    if any(rank_of(card) == JOKER for card in cards):
        return False
    heights = sorted(ruleset.height(rank_of(card)) for card in cards)
    one_suit = len({suit_of(card) for card in cards}) == 1
    return one_suit and heights == list(range(heights[0], heights[0] + len(cards)))


def _companions(ruleset: Ruleset, rank: Rank, other: Rank) -> bool:
    """Return whether `other` may accompany `rank` (L17)."""
    if ruleset.rank(rank).plays is not Plays.WITH_COMPANION or other not in ruleset.order:
        return False
    if ruleset.rank(other).plays is Plays.WITH_COMPANION:
        return False
    return ruleset.height(other) > ruleset.height(rank)


def _demand_now(game: Game) -> Demand:
    """Return what has to be satisfied; a card that has to be covered asks nothing of its cover."""
    return ANYTHING if game.covering else demand_of(game.ruleset, game.pile)


def _fits_here(game: Game, rank: Rank, demand: Demand) -> bool:
    if game.covering:
        return game.ruleset.rank(rank).plays is not Plays.WITH_COMPANION
    return fits(game.ruleset, rank, demand)


def _no_play(ruleset: Ruleset, cards: tuple[Card, ...]) -> RuleRefused:
    """Return why cards of several ranks are no play together, by the statement closest to it."""
    ranks = sorted({rank_of(card) for card in cards})
    for rank in ranks:
        if ruleset.rank(rank).plays is Plays.WITH_COMPANION:
            rule = ruleset.cite(f"ranks.{rank}.plays", "model.normal_play")
            return RuleRefused(rule, f"{rank} goes together with cards of one higher rank")
    settings = ("model.jokers",) if JOKER in ranks else ()
    if ruleset.turn.runs:
        rule = ruleset.cite(*settings, "turn.runs", "model.normal_play")
        return RuleRefused(rule, "a play is cards of one rank, or a run of one suit")
    rule = ruleset.cite(*settings, "model.normal_play")
    return RuleRefused(rule, "a play is one or more cards of one rank")


def _unfitting(game: Game, laid: tuple[Card, ...], demand: Demand) -> RuleRefused | None:
    """Return why a play, in laying order, may not go on the pile now."""
    ruleset, first, last = game.ruleset, rank_of(laid[0]), rank_of(laid[-1])
    plays = ruleset.rank(first).plays
    if plays is Plays.WITH_COMPANION:
        if first != last:
            return None  # companions need not fit themselves (L18)
        rule = ruleset.cite(f"ranks.{first}.plays")
        return RuleRefused(rule, f"{first} is played only together with a higher rank")
    if not _fits_here(game, first, demand):
        return RuleRefused(_forbids(game, first, demand), f"{first} does not fit on the pile")
    return None if first == last else _run_breaks(game, laid)


def _run_breaks(game: Game, laid: tuple[Card, ...]) -> RuleRefused | None:
    """Each further card of a run must be legal on the one before, and only the last may burn."""
    ruleset, pile = game.ruleset, game.pile
    for card, following in pairwise(laid):
        pile = (*pile, card)
        fitting = fits(ruleset, rank_of(following), demand_of(ruleset, pile))
        if burn_cause(ruleset, pile) is not None or not fitting:
            return RuleRefused(ruleset.cite("turn.runs"), f"the run cannot go on after {card}")
    return None


def _forbids(game: Game, rank: Rank, demand: Demand) -> str:
    """
    Return the statement by which `rank` does not answer `demand`.

    Where the asking card has none of its own, and the card on top none for asking, it
    is that of the transparent card through which the pile asks (S9, M10, T13).
    """
    ruleset = game.ruleset
    if demand.asked_by in ruleset.rank(rank).not_on:
        return ruleset.cite(f"ranks.{rank}.not_on", f"ranks.{rank}.plays")
    top = rank_of(game.pile[-1])
    settings = (demand.setting, f"ranks.{rank}.plays", f"ranks.{top}.asks")
    return ruleset.cite(*settings, "model.normal_play")

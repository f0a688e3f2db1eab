"""Legal plays: cards of one rank, companions and runs; the first play and its seat."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from functools import lru_cache
from itertools import combinations, pairwise, product
from typing import assert_never

from service.domain.cards import (
    HIDDEN,
    JOKER,
    Card,
    Rank,
    in_code_order,
    nearest_code,
    ordered_deck,
    rank_of,
    suit_of,
)
from service.domain.commands import RuleReason, RuleRefused, Seat, UnknownCard
from service.domain.demand import ANYTHING, Demand, burn_cause, demand_of, fits, fitting_on
from service.domain.game import DOWN, UP, Game, SeatState, seat_dealt
from service.domain.ruleset import ALL_RANKS, Opener, OpeningPlay, Plays, Ruleset

FEW = 6
"""Of up to this many cards of one rank, every subset is listed as a separate move."""

ONLY_FACE_DOWN = RuleReason("refused.turn_face_down", ("model.blind",))
NOT_HELD = RuleReason(
    "refused.not_held",
    ("model.source_zone",),
)
NOT_WHOLE = RuleReason("refused.not_whole", ("model.stacks", "deal.layout"))

FIRST_COME = (Opener.FIRST_COME_HAND, Opener.FIRST_COME_TABLE)

_OPENING = ("opening.play", "opening.opener")
WITHOUT_THAT_CARD = RuleReason("refused.without_that_card", _OPENING)
NOT_THAT_RANK = RuleReason("refused.not_that_rank", _OPENING)


def check_play(game: Game, seat: Seat, cards: tuple[Card, ...]) -> tuple[Card, ...]:
    """
    Return `cards` in the order in which they go on the pile.

    The refusal of a card that the seat does not hold is the same wherever the card lies, so
    that it reveals nothing.

    Raises UnknownCard, or RuleRefused with the statement that forbids the play.
    """
    check_cards(game, cards, "model.normal_play")
    laid = _laid_or_refused(game, game.seats[seat], cards)
    if isinstance(laid, RuleReason):
        raise laid.error(game.ruleset)
    return laid


def _laid_or_refused(
    game: Game, state: SeatState, cards: tuple[Card, ...]
) -> tuple[Card, ...] | RuleReason:
    """Return `cards` in the order in which they go on the pile, or why they may not be played."""
    source, zone = source_cards(state), state.zone
    if zone is DOWN:
        return ONLY_FACE_DOWN
    for card in cards:
        if card not in source:
            return NOT_HELD
    if zone is UP and not _whole_stacks(state, cards):
        return NOT_WHOLE
    laid = _in_laying_order(game.ruleset, cards)
    if laid is None:
        return _no_play(game.ruleset, cards)
    return opening_refusal(game, laid) or _unfitting(game, laid) or laid


def check_cards(game: Game, cards: tuple[Card, ...], *settings: str) -> None:
    """
    Check that `cards` names at least one card, each once and each of this game.

    `settings` are those that a refusal cites, the deciding one first.

    Raises UnknownCard for a card that is not of this game, else RuleRefused.
    """
    setup = game.setup
    codes = codes_of(setup.decks, setup.jokers, setup.partial)
    for card in cards:
        if card not in codes:
            raise UnknownCard(card, nearest=nearest_code(card, codes))
    if len(cards) != 1 and (not cards or len(set(cards)) < len(cards)):
        rule = game.ruleset.cite(*settings)
        raise RuleRefused(rule, "refused.name_once")


@lru_cache(maxsize=256)
def codes_of(decks: int, jokers: int, partial: tuple[Rank, ...]) -> frozenset[Card]:
    """Return the codes of all cards of a game."""
    return frozenset(ordered_deck(decks=decks, jokers=jokers, partial=partial))


def source_cards(state: SeatState) -> tuple[Card, ...]:
    """Return the cards a seat can choose from: its hand, else its face-up cards."""
    return state.hand or state.up_cards


def can_play(game: Game, seat: Seat) -> bool:
    """
    Return whether the seat has, in its hand or else face up, cards that may go on the pile.

    Requirements of the first play of a game are ignored. A hidden card has no rank that fits.
    """
    ruleset, fitting_ranks = game.ruleset, fitting_now(game)
    ranks = {rank_of(card) for card in source_cards(game.seats[seat])}
    return any(_may_begin(ruleset, rank, fitting_ranks, ranks) for rank in ranks)


def candidate_plays(game: Game, seat: Seat) -> list[tuple[Card, ...]]:
    """
    Return the legal plays of a seat on turn, each with its cards in laying order.

    Of more than six cards of one rank, there is one play of each size (api.md, section 4).
    """
    plays = _plays_by_rank(game, seat)
    if not game.first_turn:
        return plays
    return [laid for laid in plays if opening_refusal(game, laid) is None]


def choices(cards: Iterable[Card]) -> list[tuple[Card, ...]]:
    """
    Return every subset of `cards`; of more than six cards only one subset of each size.

    >>> choices(("9d", "9c"))
    [('9c',), ('9d',), ('9c', '9d')]
    """
    return _subsets(in_code_order(cards))


def _subsets(ordered: tuple[Card, ...]) -> list[tuple[Card, ...]]:
    sizes = range(1, len(ordered) + 1)
    if len(ordered) > FEW:
        return [ordered[:size] for size in sizes]
    subsets: list[tuple[Card, ...]] = []
    for size in sizes:
        subsets += combinations(ordered, size)
    return subsets


def _plays_by_rank(game: Game, seat: Seat) -> list[tuple[Card, ...]]:
    """Return the plays that the pile allows, in laying order; each rank is judged once."""
    plays: list[tuple[Card, ...]] = []
    ruleset, state = game.ruleset, game.seats[seat]
    source, fitting_ranks = source_cards(state), fitting_now(game)
    by_rank: dict[Rank, tuple[Card, ...]] = {}
    for card in in_code_order(source):
        rank = rank_of(card)
        by_rank[rank] = (*by_rank[rank], card) if rank in by_rank else (card,)
    stacked = state.zone is UP and any(len(stack) > 1 for stack in state.up)
    for rank, cards in by_rank.items():
        if rank in fitting_ranks:
            if stacked:
                plays += _judged(game, state, _stacks(state, rank))
            elif len(cards) == 1:
                plays.append(cards)
            else:
                plays += _subsets(cards)
        elif rank in ruleset.accompanied:
            for other, companions in by_rank.items():
                if _companions(ruleset, rank, other):
                    plays += _judged(game, state, _accompanied(cards, companions))
    if ruleset.turn.runs:
        plays += _judged(game, state, _runs(ruleset, source))
    return plays


def _judged(
    game: Game, state: SeatState, candidates: Iterable[tuple[Card, ...]]
) -> Iterator[tuple[Card, ...]]:
    """Yield those of `candidates` that are legal plays, with their cards in laying order."""
    for cards in candidates:
        if state.zone is UP and not _whole_stacks(state, cards):
            continue
        laid = _in_laying_order(game.ruleset, cards)
        if laid is not None and _unfitting(game, laid) is None:
            yield laid


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
    """Yield all sets of whole stacks; of more than six, each stack and one set of each size."""
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
    Yield the runs that take one card of each rank.

    Of more than six cards, only the run of the first cards and one run for each other card.
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
    """Return a play's cards as they are laid, or None if they make no play together."""
    if len(cards) == 1:
        return cards
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
    if rank not in ruleset.accompanied or other not in ruleset.order:
        return False
    if other in ruleset.accompanied:
        return False
    return ruleset.height(other) > ruleset.height(rank)


def _demand_now(game: Game) -> Demand:
    """Return the present demand; a card that has to be covered asks nothing of its cover."""
    return ANYTHING if game.covering else demand_of(game.ruleset, game.pile)


def fitting_now(game: Game) -> frozenset[Rank]:
    """Return the ranks that may be played alone now; any rank may be laid as a cover."""
    ruleset = game.ruleset
    if game.covering:
        return frozenset(ALL_RANKS) - ruleset.accompanied
    return fitting_on(ruleset, game.pile)


def _no_play(ruleset: Ruleset, cards: tuple[Card, ...]) -> RuleReason:
    """Return why cards of several ranks make no play, with the settings to cite."""
    ranks = sorted({rank_of(card) for card in cards})
    for rank in ranks:
        if rank in ruleset.accompanied:
            settings: tuple[str, ...] = (f"ranks.{rank}.plays", "model.normal_play")
            return RuleReason("refused.companion", settings, {"ranked": rank})
    settings = ("model.jokers",) if JOKER in ranks else ()
    if ruleset.turn.runs:
        settings += ("turn.runs", "model.normal_play")
        return RuleReason("refused.runs_or_rank", settings)
    return RuleReason("refused.one_rank", (*settings, "model.normal_play"))


def _unfitting(game: Game, laid: tuple[Card, ...]) -> RuleReason | None:
    """Return why a play, in laying order, may not go on the pile now; None if it may."""
    ruleset, first, last = game.ruleset, rank_of(laid[0]), rank_of(laid[-1])
    accompanied, fitting_ranks = first in ruleset.accompanied, fitting_now(game)
    if first == last and first in fitting_ranks:
        return None
    if _may_begin(ruleset, first, fitting_ranks, {last}):
        # Companions need not fit themselves (L18).
        return None if accompanied else _run_breaks(game, laid)
    if accompanied:
        settings = (f"ranks.{first}.plays",)
        return RuleReason("refused.never_alone", settings, {"ranked": first})
    return RuleReason(
        "refused.does_not_fit",
        _forbidding_settings(game, first, _demand_now(game)),
        {"ranked": first},
    )


def _may_begin(
    ruleset: Ruleset, rank: Rank, fitting_ranks: Container[Rank], companions: Iterable[Rank]
) -> bool:
    """Return whether a play may begin with `rank`; it fits, or a companion goes with it (L17)."""
    if rank in ruleset.accompanied:
        return any(_companions(ruleset, rank, other) for other in companions)
    return rank in fitting_ranks


def _run_breaks(game: Game, laid: tuple[Card, ...]) -> RuleReason | None:
    """
    Return why a run cannot be laid; None if it can.

    Each card must be legal on the one before it, and only the last card may burn the pile.
    """
    ruleset, pile = game.ruleset, game.pile
    for card, following in pairwise(laid):
        pile = (*pile, card)
        fitting = fits(ruleset, rank_of(following), demand_of(ruleset, pile))
        if burn_cause(ruleset, pile) is not None or not fitting:
            return RuleReason("refused.run_ends", ("turn.runs",), {"ranked": rank_of(card)})
    return None


def _forbidding_settings(game: Game, rank: Rank, demand: Demand) -> tuple[str, ...]:
    """
    Return the settings by which `demand` forbids `rank`; the first with a statement is cited.

    If the setting of the demand and `rank` have no statement, that of the transparent card on
    top is cited, because it passes on the demand of the card below (S9, M10, T13).
    """
    ruleset = game.ruleset
    if demand.asked_by in ruleset.rank(rank).not_on:
        return (f"ranks.{rank}.not_on", f"ranks.{rank}.plays")
    top = rank_of(game.pile[-1])
    return (demand.setting, f"ranks.{rank}.plays", f"ranks.{top}.asks", "model.normal_play")


def opener_of(game: Game) -> Seat | None:
    """
    Return the seat that plays first; None if the first qualified seat to act does.

    Raises ValueError before the deal.
    """
    match game.ruleset.opening.opener:
        case Opener.LEFT_OF_DEALER:
            return _left_of(game, _dealer(game))
        case Opener.FIRST_DEALT:
            return _first_dealt(game)
        case Opener.WORST_CARD:
            return worst_card(game)[0]
        case Opener.NEXT_TO_THROWER:
            return _left_of(game, _dealer(game) if game.thrower is None else game.thrower)
        case Opener.FIRST_COME_HAND | Opener.FIRST_COME_TABLE:
            return None
        case _:
            assert_never(game.ruleset.opening.opener)


def qualifying(game: Game) -> tuple[tuple[Seat, ...], Rank]:
    """
    Return the seats qualified for a first-come opening, and the rank that qualifies them.

    If no seat has any of the ranks, all seats qualify, with the first rank.
    """
    on_table = game.ruleset.opening.opener is Opener.FIRST_COME_TABLE
    for rank in game.ruleset.opening.ranks:
        if on_table and (seats := _holding(game, rank, table=True)):
            return seats, rank
        if seats := _holding(game, rank, table=False):
            return seats, rank
    return tuple(range(len(game.seats))), game.ruleset.opening.ranks[0]


def worst_card(game: Game) -> tuple[Seat, Card]:
    """
    Return the seat that holds the worst card, and the card (S3).

    The worst card is decided by rank, then by suit, then by the distance of its seat from the
    dealer. Raises ValueError before the deal.
    """
    opening, count = game.ruleset.opening, len(game.seats)
    dealer = _dealer(game)

    def sort_key(held: tuple[Seat, Card]) -> tuple[int, int, int]:
        seat, card = held
        if rank_of(card) not in opening.ranks:
            return len(opening.ranks), 0, (seat - dealer - 1) % count
        rank = opening.ranks.index(rank_of(card))
        return rank, opening.suits.index(suit_of(card)), (seat - dealer - 1) % count

    held = [(s, card) for s, state in enumerate(game.seats) for card in sorted(state.hand)]
    return min(held, key=sort_key)


def may_open(game: Game, seat: Seat) -> bool:
    """Return whether the seat may make the first play now."""
    if game.turn is not None:
        return game.turn == seat
    return seat in qualifying(game)[0]


def opening_refusal(game: Game, cards: tuple[Card, ...]) -> RuleReason | None:
    """Return why `cards` cannot be the first play; None if they can, or it is a later play."""
    if not game.first_turn:
        return None
    ruleset = game.ruleset
    match ruleset.opening.play:
        case OpeningPlay.ANY:
            return None
        case OpeningPlay.THAT_CARD:
            same = worst_card(game)[1][:2]
            if any(card[:2] == same for card in cards):
                return None
            return WITHOUT_THAT_CARD
        case OpeningPlay.THAT_RANK:
            first, last = rank_of(cards[0]), rank_of(cards[-1])
            run = first != last and ruleset.rank(first).plays is not Plays.WITH_COMPANION
            if first == qualifying(game)[1] and not run:
                return None
            return NOT_THAT_RANK
        case _:
            assert_never(ruleset.opening.play)


def _dealer(game: Game) -> Seat:
    if game.dealer is None:
        raise ValueError("nothing has been dealt")
    return game.dealer


def _left_of(game: Game, seat: Seat) -> Seat:
    return (seat + 1) % len(game.seats)


def _first_dealt(game: Game) -> Seat:
    """
    Return the seat dealt the first face-up card of the first of the opening ranks (P5).

    If none lies face up, the first such hand card decides, then the next rank; without any card
    of these ranks the seat left of the dealer is returned.
    """
    deal, seats, dealer = game.ruleset.deal, len(game.seats), _dealer(game)
    first_up, first_hand = seats * deal.down, seats * (deal.down + deal.up)
    end = first_hand + seats * deal.hand
    for rank in game.ruleset.opening.ranks:
        for start, stop in ((first_up, first_hand), (first_hand, end)):
            for p in range(start, stop):
                if rank_of(game.deck[p]) == rank:
                    return seat_dealt(p, seats=seats, dealer=dealer)
    return _left_of(game, dealer)


def _holding(game: Game, rank: Rank, *, table: bool) -> tuple[Seat, ...]:
    return tuple(
        seat
        for seat, state in enumerate(game.seats)
        if any(rank_of(card) == rank for card in (state.up_cards if table else state.hand))
    )

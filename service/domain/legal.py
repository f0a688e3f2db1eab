"""Seats that may act, legal moves, reasons for refusals, and default moves at a time-out."""

from __future__ import annotations

from collections.abc import Iterator

from service.domain.cards import Card, Rank, rank_of
from service.domain.commands import (
    Lay,
    Move,
    Pass,
    PickUp,
    Play,
    PlayBlind,
    Ready,
    RuleReason,
    Seat,
    Swap,
    TryStock,
)
from service.domain.effects import Acts
from service.domain.events import AbortCause, Entropy, GameAborted
from service.domain.game import DOWN, PLAYING, SWAPPING, UP, EntropyState, Game, Status
from service.domain.plays import (
    FIRST_COME,
    ONLY_FACE_DOWN,
    can_play,
    candidate_plays,
    choices,
    codes_of,
    may_open,
    qualifying,
)
from service.domain.ruleset import Along, Layout, Obligation, TryStockWhen, effects_on

_NEVER = TryStockWhen.NEVER
NO_PILE = RuleReason("refused.no_pile", ("model.empty_pile",))
MUST_PLAY = RuleReason("refused.must_play", ("turn.obligation",))
NEVER_TRIED = RuleReason("refused.never_tried", ("turn.try_stock",))
NO_STOCK = RuleReason("refused.no_stock", ("turn.try_stock",))
ABLE_TO_PLAY = RuleReason("refused.able_to_play", ("turn.try_stock",))
MAY_NOT_PASS = RuleReason(
    "refused.no_pass",
    ("model.pass",),
)
NONE_WITH_A_HAND = RuleReason("refused.hand_along", ("pick_up.along",))
ALONG = {
    Along.NOTHING: RuleReason("refused.none_along", ("pick_up.along",)),
    Along.ONE_SLOT: RuleReason("refused.slot_along", ("pick_up.along",)),
    Along.ONE_RANK: RuleReason("refused.rank_along", ("pick_up.along",)),
}


def may_act(game: Game, seat: Seat) -> bool:
    """Return whether a seat may act now: on turn, or to open, follow up or exchange cards."""
    if game.status is PLAYING:
        if game.first_turn and game.turn is None:
            return may_open(game, seat)
        return game.turn == seat or bool(follow_up_cards(game, seat))
    return game.status is SWAPPING and not game.seats[seat].ready


def is_out_of_turn(game: Game, seat: Seat) -> bool:
    """
    Return whether by public information it is not the seat's turn, although it may perhaps act.

    Cards decide who opens a hand and who may follow up, so in these cases only the seat that
    holds them knows whether it may act.
    """
    return game.status is PLAYING and game.turn != seat


def waits_for(game: Game, seat: Seat) -> bool:
    """Return whether a seat may act now, or the deal waits for its entropy."""
    return may_act(game, seat) or owes_entropy(game, seat)


def owes_entropy(game: Game, seat: Seat) -> bool:
    """
    Return whether the deal waits for a step of a seat: its commitment, or its value.

    A committed value is revealed after the last seat has committed (SHX/1, section 3).
    """
    if game.status is not Status.SHUFFLING:
        return False
    if game.seats[seat].entropy is not EntropyState.COMMITTED:
        return game.seats[seat].entropy is EntropyState.WAITING
    return not any(must_still_commit(game, other) for other in range(len(game.seats)))


def must_still_commit(game: Game, seat: Seat) -> bool:
    """Return whether a seat has yet to commit to its entropy."""
    commits = game.setup.seats[seat].entropy is Entropy.COMMIT
    return commits and game.seats[seat].entropy is EntropyState.WAITING


def acting_seats(game: Game) -> tuple[Seat, ...]:
    """Return the seats that may act now; several before play, and if follow-ups are possible."""
    if game.turn is not None and not game.ruleset.turn.follow_up:
        return (game.turn,)
    return tuple(seat for seat in range(len(game.seats)) if may_act(game, seat))


def legal_moves(game: Game, seat: Seat) -> tuple[Move, ...]:
    """
    Return the legal moves of a seat, without `forfeit`; the cards of a play in laying order.

    Of more than six cards of one rank, one set of each size is listed (api.md, section 4); in the
    exchange, the swaps of a single pair; in a layout deal, the laying of the first cards dealt.
    """
    if not may_act(game, seat):
        return ()
    if game.status is SWAPPING:
        return tuple(_exchange_moves(game, seat))
    if game.turn is not None and game.turn != seat:
        return tuple(Play(seat=seat, cards=c) for c in choices(follow_up_cards(game, seat)))
    return tuple(_turn_moves(game, seat))


def follow_up_cards(game: Game, seat: Seat) -> tuple[Card, ...]:
    """Return the cards with which a seat that is not on turn may follow up its play (S4)."""
    last = game.last_play
    if not game.ruleset.turn.follow_up or last is None or last.seat != seat:
        return ()
    if game.turn is None or game.turn == seat or game.covering:
        return ()
    return tuple(card for card in last.drawn if rank_of(card) == last.rank)


def may_be_followed_up(game: Game) -> bool:
    """
    Return whether, by public information, the last play may be followed up out of turn.

    That is so if cards were drawn after it, and not all cards of its rank are public.
    """
    last = game.last_play
    if not game.ruleset.turn.follow_up or last is None or game.turn in (None, last.seat):
        return False
    return bool(last.drawn) and _unseen(game, last.rank) > 0


def _unseen(game: Game, rank: Rank) -> int:
    """Return how many cards of a rank are not public."""
    setup = game.setup
    seen = [*game.pile, *game.burned]
    for state in game.seats:
        seen += [*state.up_cards, *state.known]
    codes = codes_of(setup.decks, setup.jokers, setup.partial)
    return sum(rank_of(c) == rank for c in codes) - sum(rank_of(c) == rank for c in seen)


def first_lay(game: Game, seat: Seat) -> Lay:
    """Return the move that lays the first cards dealt, one on each slot."""
    state = game.seats[seat]
    return Lay(seat=seat, stacks=tuple((card,) for card in state.hand[: len(state.down)]))


def may_pick_up(game: Game, seat: Seat) -> bool:
    """Return whether the rules let the seat take the pile."""
    return refusal_of_pick_up(game, seat) is None


def may_try(game: Game, seat: Seat) -> bool:
    """Return whether the seat may try the top card of the stock."""
    return refusal_of_try(game, seat) is None


def may_pass(game: Game, seat: Seat) -> bool:
    """Return whether passing is all that the seat can do on an empty pile."""
    return refusal_of_pass(game, seat) is None


def refusal_of_pick_up(game: Game, seat: Seat) -> RuleReason | None:
    """Return why the seat on turn may not take the pile; None if it may."""
    if game.seats[seat].zone is DOWN:
        return ONLY_FACE_DOWN
    if game.covering:
        return _uncovered(game)
    if not game.pile:
        return NO_PILE
    if game.ruleset.turn.obligation is Obligation.MUST_PLAY and can_play(game, seat):
        return MUST_PLAY
    return None


def refusal_of_try(game: Game, seat: Seat) -> RuleReason | None:
    """Return why the seat on turn may not try the stock's top card; None if it may."""
    trying = game.ruleset.turn.try_stock
    if trying is _NEVER:
        return NEVER_TRIED
    if game.seats[seat].zone is DOWN:
        return ONLY_FACE_DOWN
    if game.covering:
        return _uncovered(game)
    if not game.stock:
        return NO_STOCK
    if trying is TryStockWhen.WHEN_UNABLE and can_play(game, seat):
        return ABLE_TO_PLAY
    return None


def refusal_of_pass(game: Game, seat: Seat) -> RuleReason | None:
    """Return why the seat on turn may not pass; None if it may."""
    if game.pile or game.covering or game.seats[seat].zone is DOWN:
        return MAY_NOT_PASS
    return MAY_NOT_PASS if can_play(game, seat) or may_try(game, seat) else None


def refusal_along(game: Game, seat: Seat, cards: tuple[Card, ...]) -> RuleReason | None:
    """Return why `cards` cannot go along when the seat takes the pile; None if they can."""
    if may_go_along(game, seat, cards):
        return None
    if game.seats[seat].zone is not UP:
        return NONE_WITH_A_HAND
    return ALONG[game.ruleset.pick_up.along]


def may_go_along(game: Game, seat: Seat, cards: tuple[Card, ...]) -> bool:
    """Return whether `cards`, each named once, may go along when the seat takes the pile."""
    state = game.seats[seat]
    if state.zone is not UP:
        return not cards
    match game.ruleset.pick_up.along:
        case Along.NOTHING:
            return not cards
        case Along.ONE_SLOT:
            return any(stack and set(stack) == set(cards) for stack in state.up)
        case Along.ONE_RANK:
            held = all(card in state.up_cards for card in cards)
            return held and len({rank_of(card) for card in cards}) == 1


def along_choices(game: Game, seat: Seat) -> Iterator[tuple[Card, ...]]:
    """
    Yield each choice of face-up cards to take along with the pile; `()` if none may go along.

    Of more than six cards of one rank, one set of each size is yielded.
    """
    state = game.seats[seat]
    if state.zone is not UP:
        yield ()
        return
    match game.ruleset.pick_up.along:
        case Along.NOTHING:
            yield ()
        case Along.ONE_SLOT:
            yield from (stack for stack in state.up if stack)
        case Along.ONE_RANK:
            for rank in sorted({rank_of(card) for card in state.up_cards}):
                yield from choices(c for c in state.up_cards if rank_of(c) == rank)


def _uncovered(game: Game) -> RuleReason:
    rank = rank_of(game.pile[-1])
    settings = tuple(f"ranks.{rank}.{code}" for code in effects_on(Acts.COVER))
    return RuleReason("refused.cover_first", settings)


def opens_first_come(game: Game) -> bool:
    """Return whether the first qualified seat to act makes the first play."""
    return game.ruleset.opening.opener in FIRST_COME


def _turn_moves(game: Game, seat: Seat) -> list[Move]:
    state = game.seats[seat]
    if state.zone is DOWN:
        slots = [slot for slot, p in enumerate(state.down) if p is not None]
        return [PlayBlind(seat=seat, slot=slot) for slot in slots]
    moves: list[Move] = [Play(seat=seat, cards=cards) for cards in candidate_plays(game, seat)]
    if may_try(game, seat):
        moves.append(TryStock(seat=seat))
    if may_pick_up(game, seat):
        moves += [PickUp(seat=seat, along=along) for along in along_choices(game, seat)]
    if may_pass(game, seat):
        moves.append(Pass(seat=seat))
    return moves


def _exchange_moves(game: Game, seat: Seat) -> Iterator[Move]:
    state, deal = game.seats[seat], game.ruleset.deal
    if deal.layout is not Layout.NONE and not state.laid:
        yield first_lay(game, seat)
        return
    if deal.layout is Layout.NONE and deal.exchange:
        for card in sorted(state.hand):
            for other in state.up_cards:
                yield Swap(seat=seat, up=(card,), hand=(other,))
    yield Ready(seat=seat)


def default_moves(game: Game, seat: Seat) -> tuple[Move, ...]:
    """
    Return the default moves of a seat whose time is up; together they are one move of the log.

    In the exchange the seat counts as ready, in a layout deal with its first cards laid.
    On turn it plays the fewest cards that are legal, lowest first, jokers last; else it
    takes the pile or turns its first face-down card; else it makes its first legal move, if any.
    """
    if game.status is Status.SWAPPING:
        ready = Ready(seat=seat)
        if game.ruleset.deal.layout is not Layout.NONE and not game.seats[seat].laid:
            return first_lay(game, seat), ready
        return (ready,)
    moves = legal_moves(game, seat)
    plays = [move for move in moves if isinstance(move, Play)]
    if plays:
        return (min(plays, key=lambda play: _preference(game, play)),)
    others = [move for move in moves if isinstance(move, PickUp | PlayBlind)]
    return (others[0],) if others else moves[:1]


def default_opener(game: Game) -> Seat:
    """Return the seat that opens at a time-out: the first qualified seat left of the dealer."""
    seats, count = qualifying(game)[0], len(game.seats)
    dealer = game.dealer or 0
    return min(seats, key=lambda seat: (seat - dealer - 1) % count)


def _preference(game: Game, play: Play) -> tuple[int, list[int], tuple[str, ...]]:
    """Return the sort key of default plays: number of cards, then heights, then codes."""
    order = game.ruleset.order

    def height(rank: Rank) -> int:
        return order.index(rank) if rank in order else len(order)

    heights = sorted((height(rank_of(card)) for card in play.cards), reverse=True)
    return len(play.cards), heights, play.cards


def waits_for_people(game: Game) -> bool:
    """
    Return whether this game cannot continue until a person acts.

    A game with a clock goes on by itself: time-outs, then stand-in bots. So does a
    game before the deal, because entropy has a deadline, and one in which a bot may act.
    """
    if game.setup.clock is not None or game.status not in (Status.SWAPPING, Status.PLAYING):
        return False
    bots = (seat for seat, setup in enumerate(game.setup.seats) if setup.kind == "bot")
    return not any(may_act(game, seat) for seat in bots)


def idle_end(game: Game) -> GameAborted:
    """Return the event that aborts an idle game, with the seat that is `awaited`."""
    return GameAborted(cause=AbortCause.IDLE, seat=awaited(game))


def awaited(game: Game) -> Seat | None:
    """
    Return the seat that the game publicly waits for; None if it is not exactly one.

    At a first-come opening it is None: naming the seat would reveal which hand holds the
    qualifying card. A seat that may follow up is not waited for.
    """
    if game.status is not Status.SWAPPING:
        return game.turn
    unready = [seat for seat, state in enumerate(game.seats) if not state.ready]
    return unready[0] if len(unready) == 1 else None

"""Positions for tests: a running game or a deal, from cards as players write them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from service.domain.cards import Card, ordered_deck, rank_of
from service.domain.commands import Ready, Seat
from service.domain.deal import deal
from service.domain.decide import decide
from service.domain.events import DeckCommitted, Direction, Entropy, Event, GameCreated, SeatSetup
from service.domain.evolve import evolve
from service.domain.game import Game, LastPlay, SeatState, Status, new_game, positions
from service.domain.ruleset import Ruleset, deck_of
from service.rulesets.catalogue import catalogue
from tests.changed import replace

FILLERS = "KQJ986A54T732"  # the ranks that fill up a deal, in this order


def rules(identity: str, *, hand: int = 1, **options: object) -> Ruleset:
    """Return a ruleset of the catalogue with options, for hand number `hand` of a table."""
    definition = catalogue()[identity]
    return definition.ruleset(definition.chosen(options), hand=hand)


def cards(text: str) -> tuple[Card, ...]:
    """Return cards written with spaces between them."""
    return tuple(Card(code) for code in text.split())


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """The parts of a position that a test sets; everything else has its default."""

    hands: tuple[str, ...]
    up: tuple[str, ...]  # slots with spaces between them, a stack as `7c+7d`, an empty slot as `-`
    down: tuple[str, ...]  # slots likewise
    pile: str
    stock: str
    burned: str
    turn: Seat | None
    direction: Direction
    dealer: Seat
    last: Seat | None  # the seat whose play is on top of the pile
    covering: bool
    first_turn: bool
    actions: int
    turn_limit: int
    flusher: Seat | None
    out: tuple[Seat, ...]  # in the order in which they went out
    decks: int
    swapping: bool


def table(
    *,
    hands: Sequence[str],
    up: Sequence[str] = (),
    down: Sequence[str] = (),
    pile: str = "",
    stock: str = "",
    burned: str = "",
    turn: Seat | None = 0,
    direction: Direction = 1,
    dealer: Seat = 0,
    last: Seat | None = None,
    covering: bool = False,
    first_turn: bool = False,
    actions: int = 0,
    turn_limit: int = 1000,
    flusher: Seat | None = None,
    out: Sequence[Seat] = (),
    decks: int = 0,
    swapping: bool = False,
) -> Table:
    """Return a position; `up` and `down` may be shorter than `hands`."""
    seats = len(hands)
    return Table(
        hands=tuple(hands),
        up=(*up, *("" for _ in range(seats - len(up)))),
        down=(*down, *("" for _ in range(seats - len(down)))),
        pile=pile,
        stock=stock,
        burned=burned,
        turn=turn,
        direction=direction,
        dealer=dealer,
        last=last,
        covering=covering,
        first_turn=first_turn,
        actions=actions,
        turn_limit=turn_limit,
        flusher=flusher,
        out=tuple(out),
        decks=decks,
        swapping=swapping,
    )


def created(ruleset: Ruleset, seats: int, *, decks: int = 0, turn_limit: int = 1000) -> GameCreated:
    """Return the event that creates a game of this many bots."""
    whole, jokers, partial = deck_of(ruleset, seats)
    no_player = SeatSetup(kind="bot", bot="random", key=None, entropy=Entropy.NONE)
    return GameCreated(
        table="00000000-0000-4000-8000-000000000001",
        hand=1,
        ruleset=ruleset,
        decks=decks or whole,
        jokers=jokers,
        partial=partial,
        seats=(no_player,) * seats,
        dealer=None,
        prev_game=None,
        commit="",
        clock=None,
        turn_limit=turn_limit,
    )


def game_of(ruleset: Ruleset, given: Table) -> Game:
    """Return the game in a position; cards that it does not name are burned."""
    event = created(ruleset, len(given.hands), decks=given.decks, turn_limit=given.turn_limit)
    down = [_slots(text) for text in given.down]
    hidden = [card for slots in down for stack in slots for card in stack]
    order = (*hidden, *cards(given.stock))
    named = (*order, *_named(given))
    deck = (*order, *_rest(event, named, order))
    stock = range(len(hidden), len(order))
    game = replace(
        new_game(event),
        status=Status.SWAPPING if given.swapping else Status.PLAYING,
        deck=deck,
        seats=_seats(given, down),
        stock=tuple(stock),
        pile=cards(given.pile),
        burned=_rest(event, named, (*order, *_named(given))) + cards(given.burned),
        dealer=given.dealer,
        direction=given.direction,
        turn=None if given.swapping else given.turn,
        first_turn=given.first_turn or given.swapping,
        covering=given.covering,
        last_play=_last_play(given),
        flusher=given.flusher,
        actions=given.actions,
    )
    check_custody(game)
    return game


def dealt(
    ruleset: Ruleset,
    *,
    seats: int,
    dealer: Seat = 0,
    down: Sequence[str] = (),
    up: Sequence[str] = (),
    hands: Sequence[str] = (),
    stock: str = "",
    fillers: str = FILLERS,
) -> tuple[Game, tuple[Event, ...]]:
    """
    Return a game just dealt, and the events of the deal.

    Each seat gets the cards named for it, in the order of the deal; other places
    are filled with ranks in the order of `fillers`.
    """
    event, settings = created(ruleset, seats), ruleset.deal
    places = positions(
        seats=seats, dealer=dealer, down=settings.down, up=settings.up, hand=settings.hand
    )
    at: dict[int, Card] = {}
    for zone, texts in ((places.down, down), (places.up, up), (places.hand, hands)):
        for seat, text in enumerate(texts):
            at.update(zip(zone[seat], cards(text), strict=False))
    at.update(zip(range(places.used, places.used + 60), cards(stock), strict=False))
    rest = list(_rest(event, tuple(at.values()), tuple(at.values()), fillers))
    size = len(rest) + len(at)
    deck = tuple(at[p] if p in at else rest.pop(0) for p in range(size))
    game = replace(new_game(event), deck=deck)
    game = evolve(game, DeckCommitted(cards=("",) * size))
    events = deal(game, dealer)
    for step in events:
        game = evolve(game, step)
        check_custody(game)
    return game, events


def all_ready(game: Game) -> Game:
    """Return the game with every seat ready."""
    for seat in range(len(game.seats)):
        for event in decide(Ready(seat=seat), game):
            game = evolve(game, event)
    return game


def check_custody(game: Game) -> None:
    """Fail unless each card of the game is in exactly one zone, and no other card in any."""
    event = game.setup
    whole = ordered_deck(decks=event.decks, jokers=event.jokers, partial=event.partial)
    held: list[Card] = [*game.pile, *game.burned, *(game.deck[p] for p in game.stock)]
    for state in game.seats:
        held += [*state.hand, *state.up_cards]
        held += [game.deck[p] for p in state.down if p is not None]
    assert Counter(held) == Counter(whole), Counter(held) - Counter(whole)


def _slots(text: str) -> tuple[tuple[Card, ...], ...]:
    return tuple(
        () if slot == "-" else tuple(Card(code) for code in slot.split("+"))
        for slot in text.split()
    )


def _named(given: Table) -> tuple[Card, ...]:
    up = (card for text in given.up for stack in _slots(text) for card in stack)
    hands = (card for text in given.hands for card in cards(text))
    return (*up, *hands, *cards(given.pile), *cards(given.burned))


def _rest(
    event: GameCreated, named: tuple[Card, ...], gone: Iterable[Card], fillers: str = FILLERS
) -> tuple[Card, ...]:
    """Return the cards without `gone`; fail if `named` has a card twice or an unknown one."""
    assert len(set(named)) == len(named), [c for c, n in Counter(named).items() if n > 1]
    whole = ordered_deck(decks=event.decks, jokers=event.jokers, partial=event.partial)
    assert set(named) <= set(whole), set(named) - set(whole)
    away, order = set(gone), fillers + "".join(r for r in FILLERS + "X" if r not in fillers)
    left = (card for card in whole if card not in away)
    return tuple(sorted(left, key=lambda card: (order.index(rank_of(card)), card)))


def _seats(given: Table, down: list[tuple[tuple[Card, ...], ...]]) -> tuple[SeatState, ...]:
    seats, position = [], 0
    for seat, hand in enumerate(given.hands):
        slots: list[int | None] = []
        for stack in down[seat]:
            slots.append(position if stack else None)
            position += len(stack)
        place = given.out.index(seat) + 1 if seat in given.out else None
        up = _slots(given.up[seat]) or ((),) * len(slots)
        state = SeatState(hand=cards(hand), up=up, down=tuple(slots), place=place)
        assert state.empty == (place is not None), (
            f"seat {seat}: `out` lists the seats without cards"
        )
        seats.append(state)
    return tuple(seats)


def _last_play(given: Table) -> LastPlay | None:
    if given.last is None:
        return None
    top = cards(given.pile)[-1:]
    return LastPlay(seat=given.last, cards=top, drawn=(), direction=given.direction)

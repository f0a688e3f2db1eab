"""Why a seat could not use the other cards of the zone that it played from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from service.domain.cards import HIDDEN, Card, in_code_order
from service.domain.commands import Lay, Move, Play, Seat, Swap
from service.domain.decide import decide
from service.domain.errors import CommandRefused, RuleRefused
from service.domain.game import Game, Status
from service.domain.plays import check_play, source_cards
from service.domain.ruleset import Layout
from service.rulesets.citing import cited


@dataclass(frozen=True, slots=True, kw_only=True)
class NotLegal:
    """A card that could not be used, and by which statement."""

    card: Card
    rules: tuple[str, ...]
    text: str


def not_legal(game: Game, seat: Seat, legal: Sequence[Move]) -> tuple[NotLegal, ...]:
    """
    Return the cards of a seat's source zone that none of its legal moves plays.

    In the exchange they are the hand cards that could not be laid face up. A
    face-down card is not among them: each can be turned.
    """
    if game.status is Status.SWAPPING:
        return tuple(_unexchanged(game, seat))
    if game.status is not Status.PLAYING:
        return ()
    played = {card for move in legal if isinstance(move, Play) for card in move.cards}
    cards = in_code_order(source_cards(game.seats[seat]))
    return tuple(_unplayed(game, seat, c) for c in cards if c not in played and c != HIDDEN)


def _unplayed(game: Game, seat: Seat, card: Card) -> NotLegal:
    """Judge a card as the smallest play that it could be: alone, or with its stack."""
    state = game.seats[seat]
    if game.turn not in (None, seat):
        return _out_of_turn(game, card)
    stacks = () if state.hand else state.up
    cards = next((stack for stack in stacks if card in stack), (card,))
    try:
        check_play(game, seat, cards)
    except RuleRefused as refused:
        return NotLegal(card=card, rules=_rules(game, refused), text=refused.detail)
    except CommandRefused as refused:
        return NotLegal(card=card, rules=cited(game.ruleset, ("model",)), text=str(refused))
    rules = cited(game.ruleset, ("opening.opener", "model.first_come"))
    return NotLegal(card=card, rules=rules, text="this seat does not qualify for the opening")


def _out_of_turn(game: Game, card: Card) -> NotLegal:
    text = f"seat {game.turn} is on turn"
    if not game.ruleset.turn.follow_up:
        return NotLegal(card=card, rules=cited(game.ruleset, ("model.turn",)), text=text)
    text += ", and only cards drawn after a play that match it may go on it"
    return NotLegal(card=card, rules=cited(game.ruleset, ("turn.follow_up",)), text=text)


def _rules(game: Game, refused: RuleRefused) -> tuple[str, ...]:
    """Return the statement that refuses; for a ruleset that cites nothing, the model's."""
    if game.ruleset.cites:
        return (refused.rule,)
    return cited(game.ruleset, ("model.normal_play",))


def _unexchanged(game: Game, seat: Seat) -> Iterator[NotLegal]:
    """Yield the hand cards for which there is no exchange and no laying out."""
    for card in in_code_order(game.seats[seat].hand):
        if card == HIDDEN:
            continue
        refused: RuleRefused | None = None
        for move in _ways_up(game, seat, card):
            try:
                decide(move, game)
            except RuleRefused as error:
                refused = error
            except CommandRefused:
                continue
            else:
                refused = None
                break
        if refused is not None:
            rules = _rules(game, refused)
            yield NotLegal(card=card, rules=rules, text=refused.detail)


def _ways_up(game: Game, seat: Seat, card: Card) -> Iterator[Move]:
    """Yield the ways for a hand card to be laid face up; before the first laying any card may."""
    state = game.seats[seat]
    if game.ruleset.deal.layout is Layout.NONE:
        yield from (Swap(seat=seat, up=(card,), hand=(other,)) for other in state.up_cards)
    elif state.laid:
        slots = range(len(state.up))
        for slot in slots:
            yield Lay(seat=seat, stacks=tuple((card,) if s == slot else () for s in slots))

"""The decision behind a move: what the seat saw, could do, and did."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from schemas.events import type_of
from schemas.moves import move_json, move_of
from schemas.views import Json, ViewFacts, view_json
from service.domain.cards import HIDDEN, Card, in_code_order
from service.domain.commands import (
    CommandRefused,
    Lay,
    Move,
    Pass,
    PickUp,
    Play,
    RuleRefused,
    Seat,
    Swap,
)
from service.domain.decide import decide
from service.domain.events import CardsPlayed, Event
from service.domain.game import Game, Status
from service.domain.legal import legal_moves
from service.domain.plays import check_play, source_cards
from service.domain.ruleset import Layout
from service.domain.view import ALL, Viewer, seen_by
from service.replay.captions import explained
from service.replay.history import History, Known, RecordedMove, move_behind
from service.replay.sentences import Sentence, coded, reason_of, sentence
from service.rulesets.statements import FALLBACK, SHARED, cited, rules_allowing, rules_behind
from service.shx.canonical import parse_time


def responsible_parties(
    history: History, move: RecordedMove, *, signed: bool, denied: Sentence | None
) -> tuple[str, ...]:
    """
    Return in sentences which party can have made a move, and the server's part in it.

    A server checks each move before it records it, so no seat breaks a rule alone. Without a
    signature by the seat's key, only the server states that the seat requested the move. `signed`
    is true if a receipt or checkpoint proves that the server recorded the move. `denied` is the
    reason why the file is not what the server recorded, None if there is none.
    """
    by_server = tuple(one.text for one in _by_server(history, move))
    if signed:
        return by_server
    if denied is not None:
        return (sentence("author.producer"), denied.text, sentence("made.nothing"))
    return (sentence("made.unsigned"), sentence("made.if_server"), *by_server)


def _by_server(history: History, move: RecordedMove) -> Iterator[Sentence]:
    """Yield which party is responsible for a move of a log that the server wrote."""
    seat = move.seat
    if seat is None:
        yield Sentence(code="made.by_server")
        return
    values = {"seat": seat}
    if move.timed_out:
        yield Sentence(code="made.for_seat", values=values)
    elif history.games[0].setup.seats[seat].bot is not None:
        yield Sentence(code="made.by_bot", values=values)
    else:
        yield Sentence(code="made.by_seat", values=values)
        signed = "auth" in history.log[move.first].fields
        yield Sentence(code="made.signed" if signed else "made.only_stated", values=values)


_MILLISECOND: Final = timedelta(milliseconds=1)


def milliseconds(history: History, move: RecordedMove) -> int | None:
    """
    Return the milliseconds of a seat's turn before its move, as the clock of the game counts them.

    The turn begins with the event that gives it to the seat, which may be the seat's own previous
    action; in the exchange with the deal, at a first-come opening with the start of play (SHX/1,
    section 8, legality). Return None if the seat was not on turn, as for a follow-up.
    """
    if move.command is None or move.seat is None or not move.first:
        return None
    before = history.games[move.first - 1]
    if not _has_turn(before, move.seat):
        return None
    began = parse_time(history.log[_turn_began(history, move.seat, move.first)].at)
    return (parse_time(history.log[move.first].at) - began) // _MILLISECOND


def _has_turn(game: Game, seat: Seat) -> bool:
    if game.status is Status.SWAPPING:
        return not game.seats[seat].ready
    if game.status is not Status.PLAYING:
        return False
    return game.turn == seat or (game.first_turn and game.turn is None)


def _turn_began(history: History, seat: Seat, first: int) -> int:
    """Return the seq of the event with which the turn of `seat` before `first` began."""
    for seq in range(first - 1, 0, -1):
        before, after = history.games[seq - 1], history.games[seq]
        if not _has_turn(before, seat) or before.status is not after.status:
            return seq
        action = move_behind(history.log[seq].event)
        if after.turn == seat and action is not None and action.seat == seat:
            return seq
    return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class NotLegal:
    """A card that could not be used, with the reason and the statements behind it."""

    card: Card
    rules: tuple[str, ...]
    said: Sentence


def not_legal(game: Game, seat: Seat, legal: Sequence[Move]) -> tuple[NotLegal, ...]:
    """
    Return the cards of a seat's source zone that none of its legal moves plays.

    In the exchange, return the hand cards that could not be laid face up. Face-down cards are
    never returned, because each can be turned.
    """
    if game.status is Status.SWAPPING:
        return tuple(_unexchanged(game, seat))
    if game.status is not Status.PLAYING:
        return ()
    played = {card for move in legal if isinstance(move, Play) for card in move.cards}
    cards = in_code_order(source_cards(game.seats[seat]))
    return tuple(_unplayed(game, seat, c) for c in cards if c not in played and c != HIDDEN)


def _unplayed(game: Game, seat: Seat, card: Card) -> NotLegal:
    """Return why the smallest play with a card is refused: the card alone, or its stack."""
    state = game.seats[seat]
    if game.turn not in (None, seat):
        return _out_of_turn(game, card)
    stacks = () if state.hand else state.up
    cards = next((stack for stack in stacks if card in stack), (card,))
    rules, said = _refusing(game, seat, cards)
    return NotLegal(card=card, rules=rules, said=said)


def _refusing(game: Game, seat: Seat, cards: tuple[Card, ...]) -> tuple[tuple[str, ...], Sentence]:
    """Return the statements that refuse a play on turn, and the reason."""
    try:
        check_play(game, seat, cards)
    except RuleRefused as refused:
        return _rules(game, refused), reason_of(refused)
    except CommandRefused as refused:
        return cited(game.ruleset, ("model",)), reason_of(refused)
    rules = cited(game.ruleset, ("opening.opener", "model.first_come"))
    return rules, Sentence(code="refused.not_qualified")


def why_not(
    game: Game, seat: Seat, cards: tuple[Card, ...]
) -> tuple[tuple[str, ...], Sentence] | None:
    """
    Return the statements and the reason for which a seat on turn cannot play cards of its own.

    Return None if it can. For a card of `not_legal`, the answer is the same. `game` is what the
    seat sees, so the answer reveals nothing else.
    """
    try:
        decide(Play(seat=seat, cards=cards), game)
    except CommandRefused:
        return _refusing(game, seat, cards)
    return None


def _out_of_turn(game: Game, card: Card) -> NotLegal:
    follows = game.ruleset.turn.follow_up
    code = "refused.only_follow" if follows else "refused.other_on_turn"
    rules = cited(game.ruleset, ("turn.follow_up" if follows else "model.turn",))
    return NotLegal(card=card, rules=rules, said=Sentence(code=code, values={"seat": game.turn}))


def _rules(game: Game, refused: RuleRefused) -> tuple[str, ...]:
    """Return the statement that refuses; for a ruleset that cites nothing, the model's."""
    if game.ruleset.cites:
        return (refused.rule,)
    return cited(game.ruleset, ("model.normal_play",))


def _unexchanged(game: Game, seat: Seat) -> Iterator[NotLegal]:
    """Yield the hand cards that can be neither exchanged nor laid out."""
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
            yield NotLegal(card=card, rules=rules, said=reason_of(refused))


def _ways_up(game: Game, seat: Seat, card: Card) -> Iterator[Move]:
    """Yield moves that lay a hand card face up; none before the first laying, which takes any."""
    state = game.seats[seat]
    if game.ruleset.deal.layout is Layout.NONE:
        yield from (Swap(seat=seat, up=(card,), hand=(other,)) for other in state.up_cards)
    elif state.laid:
        slots = range(len(state.up))
        for slot in slots:
            yield Lay(seat=seat, stacks=tuple((card,) if s == slot else () for s in slots))


Attempt = Mapping[str, Any]
"""A refused move as it is stored: at, seat, move, rule."""


def decision(
    history: History,
    seq: int,
    *,
    viewer: Viewer = ALL,
    refused: Iterable[Attempt] = (),
    unproven: str | None = None,
) -> Json:
    """
    Return the decision that an event belongs to, in the form of api.md, section 6.

    Before the seal `viewer` is a seat, or None for the public, and the private fields of the
    seat that moved are null for other viewers. A step of the server, such as the deal, has no
    view and no choice. `unproven` is the reason why no seal proves the refused attempts, None if
    one does; it is returned only together with refused attempts.
    """
    move = history.move_at(seq)
    seat = move.seat
    own = seat is not None and move.first > 0 and viewer in (ALL, seat)
    known = history.known[max(move.first - 1, 0)]
    before = history.games[move.first - 1] if own and known is not Known.NOTHING else None
    legal = None
    if before is not None and seat is not None and known is Known.DECK:
        legal = _legal(before, seat, move.command)
    attempts = _attempts(history, move, refused) if own else None
    marked = {"unproven": unproven} if attempts and unproven else {}
    return {
        "game": history.log[0].fields["game"],
        "first": move.first,
        "last": move.last,
        "at": history.log[move.first].at,
        "seat": seat,
        "timed_out": move.timed_out,
        "saw": None if before is None or seat is None else _saw(history, before, seat, known),
        "legal": None if legal is None or before is None else _allowed(before, legal),
        "not_legal": None
        if legal is None or before is None or seat is None
        else _excluded(before, seat, legal, move),
        "did": None if move.command is None else move_json(move.command),
        "effects": effects(history, move),
        "milliseconds": None if known is Known.NOTHING else milliseconds(history, move),
        "refused": attempts,
        **marked,
    }


def _saw(history: History, before: Game, seat: Seat, known: Known) -> Json:
    """Return the view of the seat before it moved, or the public view if its hand is unknown."""
    viewer = seat if known is Known.DECK else None
    created = history.log[0].fields
    facts = ViewFacts(
        id=created["game"],
        head=history.log[before.version - 1].head,
        ruleset_hash=created["data"]["ruleset_hash"],
    )
    return view_json(seen_by(before, viewer), viewer, facts)


def _legal(before: Game, seat: Seat, did: Move | None) -> tuple[Move, ...]:
    """
    Return the legal moves as they are listed to players, and the one made.

    The list has one of several equivalent moves, and no forfeit (api.md, section 4), so the move
    made is added if it is legal but not listed.
    """
    listed = legal_moves(before, seat)
    if did is None or any(_equals(did, move) for move in listed):
        return listed
    try:
        decide(did, before)
    except CommandRefused:
        return listed
    return (*listed, did)


def _equals(one: Move, other: Move) -> bool:
    """Return whether two moves are the same up to the order of their cards."""
    if isinstance(one, Play) and isinstance(other, Play):
        return set(one.cards) == set(other.cards)
    return one == other


def _allowed(before: Game, legal: Iterable[Move]) -> list[Json]:
    return [
        {"move": move_json(move), "rules": list(rules_allowing(before, move))} for move in legal
    ]


def _excluded(before: Game, seat: Seat, legal: tuple[Move, ...], move: RecordedMove) -> list[Json]:
    if move.command is None:
        return []
    return [
        {"card": found.card, "rules": list(found.rules), **coded(found.said)}
        for found in not_legal(before, seat, legal)
    ]


def _attempts(history: History, move: RecordedMove, refused: Iterable[Attempt]) -> list[Json]:
    """Return the refused attempts of the seat between its previous move and this one."""
    if move.command is None:
        return []
    until, since = history.log[move.first].at, ""
    for earlier in history.moves_before(move.first):
        if earlier.seat == move.seat and earlier.command is not None:
            since = history.log[earlier.first].at
            break
    return [
        {
            "at": row["at"],
            "move": row["move"],
            "rule": row["rule"],
            **coded(_objection(history, move, row)),
        }
        for row in refused
        if row["seat"] == move.seat and since < row["at"] <= until
    ]


def _objection(history: History, move: RecordedMove, attempt: Attempt) -> Sentence | None:
    """
    Return why an attempt before a move was refused, None if the position does not show it.

    The refusal of a card that is not held cites the same statement as other refusals, so that it
    reveals nothing during the game. Here the seat's own cards are known, so the card is named.
    """
    seq = bisect_right(history.log, attempt["at"], hi=move.first, key=lambda record: record.at) - 1
    seat = int(attempt["seat"])
    if seq < 0 or history.known[seq] is not Known.DECK:
        return None
    game, attempted = history.games[seq], move_of(attempt["move"], seat)
    state = game.seats[seat]
    unheld = [c for c in _cards_of(attempted) if c not in (*state.hand, *state.up_cards)]
    if unheld:
        return Sentence(code="move.not_held", values={"cards": tuple(unheld)})
    try:
        decide(attempted, game)
    except CommandRefused as refused:
        return reason_of(refused)
    return None


def _cards_of(move: Move) -> tuple[Card, ...]:
    """Return the cards that a move names."""
    match move:
        case Play(cards=cards) | PickUp(along=cards):
            return cards
        case Swap(up=up, hand=hand):
            return up + hand
        case Lay(stacks=stacks):
            return tuple(card for stack in stacks for card in stack)
        case _:
            return ()


def effects(history: History, move: RecordedMove) -> list[Json]:
    """
    Return every event of a move with its statements and a sentence on its effect.

    The sentences use only public information, so they are the same for every viewer, before and
    after the seal.
    """
    action = history.log[move.action]
    found = []
    for record in history.log[move.first : move.last + 1]:
        # The game before the event; for a consequence of an action, the game before the action.
        seq = max(min(record.seq, action.seq) - 1, 0)
        before, known = history.games[seq], history.known[seq]
        rules: tuple[str, ...] = ()
        if known is not Known.NOTHING:
            made = move.command if record is action else None
            rules = _decided_by(before, record.event, action.event, made)
        found.append(
            {
                "seq": record.seq,
                "type": type_of(record.event),
                "rules": list(rules),
                "text": explained(record.event, before),
            }
        )
    return found


def _decided_by(game: Game, event: Event, action: Event, made: Move | None) -> tuple[str, ...]:
    """
    Return the statements behind an event, the ruleset's own before those of the model.

    `made` is the move if `event` is its action. The statements that allow the move are cited as
    well: first for a pick-up or pass, after those of the effects for a play. A step of the record,
    such as the commitment to a deck, has none.
    """
    cited_by = [rules_behind(game, event, action)]
    if made is not None:
        cited_by.insert(0 if isinstance(made, PickUp | Pass) else 1, rules_allowing(game, made))
    if made is not None and isinstance(event, CardsPlayed) and not isinstance(made, Play):
        cited_by.append(rules_allowing(game, Play(seat=event.seat, cards=event.cards)))
    every = dict.fromkeys(rule for rules in cited_by for rule in rules if rule != FALLBACK)
    return tuple(sorted(every, key=lambda rule: rule.startswith(SHARED)))

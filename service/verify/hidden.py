"""The check `hidden`: face-down cards that failed and were not shown really did not fit."""

from __future__ import annotations

from service.domain.cards import Card
from service.domain.events import BlindFailed, GameCreated
from service.domain.evolve import evolve
from service.domain.game import new_game
from service.domain.replacing import replace
from service.verify.finding import Cursor, Failed, missing, not_applicable
from service.verify.log import Log
from service.verify.public import lands


def check_hidden(log: Log, cursor: Cursor) -> None:
    """Hold every blind card that was kept hidden against the pile on which it failed."""
    kept = [
        seq
        for seq, event in enumerate(log.events)
        if event["type"] == "blind_failed" and event["data"]["opening"] is None
    ]
    if not kept:
        raise not_applicable("no blind card was kept hidden")
    if log.deck is None:
        raise missing("the blind cards that were kept hidden are known after the seal")
    cursor.seq = 0
    created = log.decoded[0]
    if not isinstance(created, GameCreated):
        raise Failed(0, "the log does not begin with game_created")
    game = replace(new_game(created), deck=tuple(Card(code) for code in log.deck))
    for seq in range(1, kept[-1] + 1):
        cursor.seq = seq
        event = log.decoded[seq]
        if seq in kept and isinstance(event, BlindFailed):
            position = game.seats[event.seat].down[event.slot]
            if position is not None and lands(game, game.deck[position]):
                rule = game.ruleset.cite("model.blind")
                reason = f"{game.deck[position]} was kept hidden and would have fitted"
                cursor.note(seq, reason, rule)
        try:
            game = evolve(game, event)
        except (ValueError, IndexError):
            raise missing(f"from seq {seq} on the game does not fit its deck") from None

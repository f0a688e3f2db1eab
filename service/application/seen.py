"""Whether what a player had seen still holds when the move arrives (If-Match, signed intents)."""

from __future__ import annotations

from service.application.game_record import GameRecord
from service.domain.commands import Forfeit, Move, Seat
from service.domain.game import Status


def still_holds(record: GameRecord, seat: Seat, move: Move, *, seen_seq: int) -> bool:
    """
    Return whether no action lies between event `seen_seq` and a move made now.

    In the exchange phase only the seat's own actions count, for a forfeit none
    does (protocol.md, section 5). A seq that is not in the log does not hold.
    """
    if not 0 <= seen_seq < record.version:
        return False
    if isinstance(move, Forfeit):
        return True
    if record.game.status is Status.SWAPPING:
        return record.last_exchange.get(seat, -1) <= seen_seq
    return record.last_action <= seen_seq

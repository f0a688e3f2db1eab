"""Entropy of seats for the shuffle: commitments, reveals, time limit (SHX/1, section 3)."""

from __future__ import annotations

from uuid import UUID

from service.application.calls import Answered, Caller, Idempotency
from service.application.errors import Refusal
from service.application.games.entry import GameEntry
from service.application.games.moves import Moves
from service.domain.commands import Seat
from service.domain.events import (
    AbortCause,
    Entropy,
    EntropyCommitted,
    EntropyRevealed,
    Event,
    GameAborted,
)
from service.domain.game import EntropyState, Game, Status
from service.domain.legal import must_still_commit
from service.replay.sentences import said
from service.shx.shuffle import client_commit


class EntropyCalls:
    """Accepts the entropy of seats before the deal."""

    def __init__(self, moves: Moves) -> None:
        self._moves = moves

    def give(
        self,
        caller: Caller,
        game: UUID,
        *,
        commit: str | None,
        value: str | None,
        seat: Seat | None = None,
        request: Idempotency | None = None,
    ) -> Answered:
        """
        Commit to the caller's entropy or reveal it; return the new events and the view after them.

        The last reveal triggers the deal. `seat` is that of the caller, if it was found already.

        Raises Refusal `not-found`, `not-seated`, `game-over`, `entropy-refused`, and those of
        `Handler.handle`.
        """

        def decision(entry: GameEntry, seat: Seat) -> tuple[Event, ...]:
            if entry.record.sealed:
                raise Refusal("game-over", said("refused.over"))
            if value is not None:
                return (_revealed(entry, seat, value),)
            return (_committed(entry.record.game, seat, commit or ""),)

        return self._moves.change(caller, game, decision, request, seat=seat)


def missing_entropy(game: Game) -> GameAborted:
    """
    Return the abort of a game with overdue entropy.

    It names the first seat that must still commit; if all have committed, the first seat whose
    entropy is missing.
    """
    waiting = (EntropyState.WAITING, EntropyState.COMMITTED)
    silent = [s for s, seat in enumerate(game.seats) if seat.entropy in waiting]
    committing = [s for s in silent if must_still_commit(game, s)]
    first = (committing or silent)[0]
    return GameAborted(cause=AbortCause.NO_ENTROPY, seat=first)


def _committed(game: Game, seat: Seat, commit: str) -> EntropyCommitted:
    _check_open(game, seat)
    if game.setup.seats[seat].entropy is not Entropy.COMMIT:
        raise Refusal("entropy-refused", said("request.no_commitment"))
    if game.seats[seat].entropy is not EntropyState.WAITING:
        raise Refusal("entropy-refused", said("request.committed"))
    return EntropyCommitted(seat=seat, commit=commit)


def _revealed(entry: GameEntry, seat: Seat, value: str) -> EntropyRevealed:
    game = entry.record.game
    _check_open(game, seat)
    if game.seats[seat].entropy is EntropyState.REVEALED:
        raise Refusal("entropy-refused", said("request.revealed"))
    if game.setup.seats[seat].entropy is Entropy.COMMIT:
        if any(must_still_commit(game, other) for other in range(len(game.seats))):
            raise Refusal("entropy-refused", said("request.others_commit"))
        raw = bytes.fromhex(value)
        commit = entry.record.commitments.get(seat)
        if client_commit(entry.record.identity, seat, raw).hex() != commit:
            raise Refusal("entropy-refused", said("request.other_value"))
    return EntropyRevealed(seat=seat, value=value)


def _check_open(game: Game, seat: Seat) -> None:
    if game.status is not Status.SHUFFLING:
        raise Refusal("entropy-refused", said("request.deck_fixed"))
    if game.setup.seats[seat].entropy is Entropy.NONE:
        raise Refusal("entropy-refused", said("request.no_entropy"))

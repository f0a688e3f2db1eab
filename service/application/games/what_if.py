"""Other lines of finished hands: computed for one answer, and never stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import thread_time
from typing import Any, Final
from uuid import UUID

from schemas.events import data_of, type_of
from schemas.moves import listed_moves, move_json, move_of
from schemas.views import ViewFacts, view_json
from schemas.what_if import MAX_LINE
from service.application.calls import Caller
from service.application.errors import Refusal, invalid
from service.application.games.cache import Histories
from service.application.games.entry import GameEntry
from service.application.games.queries import Games
from service.application.games.record import GameRecord, secrets_of
from service.application.games.refused_moves import Refusals
from service.application.quotas import listing, work
from service.bots.bot import every_seat
from service.bots.simple import ON_A_LINE
from service.domain.commands import Move, RuleRefused
from service.domain.game import Game
from service.domain.legal import acting_seats, is_out_of_turn, legal_moves
from service.domain.view import ALL, Viewer, seen_by
from service.replay.frames import frames_of
from service.replay.history import Known, Step
from service.replay.sentences import reason_of, said
from service.replay.what_if import IllegalMove, LineMove, line_from, line_steps

LINE_WORK: Final = 1000
"""The work of a line, in events: enough to need a slot, as for a bot's opinion."""

MAX_SECONDS: Final = 0.25
"""Processor time after which bots make no further move; the reader may send the moves back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf:
    """Computes other lines of finished hands (api.md, section 6)."""

    histories: Histories
    games: Games
    refusals: Refusals

    def line(self, caller: Caller, game: UUID, wanted: Mapping[str, Any]) -> dict[str, Any]:
        """
        Return the line that leaves a hand at the version `at` and goes on with `moves`.

        With `then` bots of this name make the further moves of all seats. Raises Refusal
        `not-found`, `sealed` before the seal, `invalid-body`, and for a move of the line those of
        a move: `not-your-turn`, `unknown-card`, `rule-refused`, `game-over`.
        """
        entry = self._sealed(caller, game)
        at, then = wanted["at"], wanted["then"]
        self.games.check_range(entry, at, at)
        viewer = self.games.viewer(entry, caller, wanted["as_"])
        moves = [_move_of(n, one, entry) for n, one in enumerate(wanted["moves"])]
        self.games.access_log.note(entry, caller, ALL)
        history = self.histories.of(entry, ALL)
        begin = Step(event=history.log[at - 1].event, game=history.games[at - 1], known=Known.DECK)
        with work(max(LINE_WORK, listing(begin.game))):
            made = self._line(entry.record, begin.game, moves, then)
            line = Line(entry.record, begin, tuple(made), history.log[at - 1].head)
            return line.answer(viewer, then)

    def check_sealed(self, caller: Caller, game: UUID) -> None:
        """Raise Refusal `not-found` or `sealed` for a hand whose lines the caller cannot have."""
        self._sealed(caller, game)

    def _sealed(self, caller: Caller, game: UUID) -> GameEntry:
        entry = self.games.entry(caller, game)
        if not entry.record.sealed:
            raise Refusal("sealed", said("request.sealed.lines"))
        return entry

    def _line(
        self, record: GameRecord, begin: Game, moves: Sequence[Move], then: str | None
    ) -> list[LineMove]:
        made: list[LineMove] = []
        facts = _facts(record, record.head.hex(), record.created["ruleset"]["settings"])
        late = thread_time() + MAX_SECONDS
        try:
            choose = None if then is None else every_seat(ON_A_LINE[then], facts)
            for one in line_from(begin, moves, choose):
                made.append(one)
                if one.chosen and thread_time() > late:
                    break
        except IllegalMove as illegal:
            raise self._refusal(record, illegal) from None
        return made

    def _refusal(self, record: GameRecord, illegal: IllegalMove) -> Refusal:
        refused, move = illegal.refused, illegal.move
        detail = said("request.line_move", n=illegal.number, what=reason_of(refused))
        out_of_turn = is_out_of_turn(illegal.game, move.seat)
        if not isinstance(refused, RuleRefused):
            return Refusal(refused.code, detail, out_of_turn=out_of_turn)
        return Refusal(
            refused.code,
            detail,
            out_of_turn=out_of_turn,
            rule=refused.rule,
            rule_text=self.refusals.text(record, refused.rule),
            legal=listed_moves(legal_moves(illegal.game, move.seat)),
            version=illegal.game.version,
        )


@dataclass(frozen=True, slots=True)
class Line:
    """A line and where it leaves the hand; makes the answer for a viewer."""

    record: GameRecord
    begin: Step  # the last one of the hand before the line
    made: tuple[LineMove, ...]
    head: str  # after the event of `begin`

    def answer(self, viewer: Viewer, then: str | None) -> dict[str, Any]:
        """Return the line as JSON; `then` is the name of the bots that played on."""
        game = self.made[-1].steps[-1].game if self.made else self.begin.game
        facts = _facts(self.record, self.head)
        stop = "moves" if len(self.made) >= MAX_LINE else "time"
        return {
            "game": str(self.record.identity),
            "hypothetical": True,
            "wording": said("about.lines").text,
            "at": self.begin.game.version,
            "moves": [
                {
                    "seat": one.move.seat,
                    "move": move_json(one.move),
                    "by": then if one.chosen else None,
                    "version": one.steps[-1].game.version,
                }
                for one in self.made
            ],
            "frames": self._frames(viewer, facts),
            "view": view_json(seen_by(game, viewer), viewer, facts),
            "legal": [
                {"seat": seat, "moves": listed_moves(legal_moves(game, seat))}
                for seat in acting_seats(game)
            ],
            "stopped": None if then is None or game.over else stop,
        }

    def _frames(self, viewer: Viewer, facts: ViewFacts) -> list[dict[str, Any]]:
        """Return the events, each with the view after it, as in a replay."""
        secrets, first = secrets_of(self.record), self.begin.game.version + 1
        return [
            {
                "version": frame.version,
                "caption": frame.caption,
                "event": {"type": type_of(frame.event), "data": data_of(frame.event, secrets)},
                "view": view_json(frame.game, viewer, facts),
            }
            for frame in frames_of(line_steps(self.begin, self.made), viewer=viewer, first=first)
        ]


def _move_of(number: int, one: Mapping[str, Any], entry: GameEntry) -> Move:
    """Return a move of the line; raises Refusal for a seat that the game does not have."""
    if one["seat"] >= len(entry.players):
        raise invalid(f"/moves/{number}/seat", said("request.no_seat", seat=one["seat"]))
    return move_of(one["move"], one["seat"])


def _facts(record: GameRecord, head: str, settings: Mapping[str, Any] | None = None) -> ViewFacts:
    return ViewFacts(
        id=str(record.identity),
        head=head,
        ruleset_hash=record.created["ruleset_hash"],
        settings=settings,
    )

"""Audits of single moves, cards and seats, and the access log of a game."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final
from uuid import UUID

from service.application.access import AccessLog
from service.application.calls import Caller
from service.application.errors import Refusal, invalid, not_found
from service.application.games.cache import Histories
from service.application.games.entry import GameEntry
from service.application.games.queries import Games, cursor_of
from service.application.games.refused_moves import Refusals, unproven
from service.application.quotas import following, listing, work
from service.audit.custody import custody, events_processed
from service.audit.decision import decision, why_not
from service.audit.knowledge import events_known, knowledge
from service.bots.bot import with_settings
from service.bots.searching import BOT, opinion
from service.domain.cards import Card
from service.domain.commands import Seat, UnknownCard
from service.domain.game import Game, Status
from service.domain.view import ALL, Viewer
from service.replay.history import History
from service.replay.sentences import coded, reason_of, said
from service.shx.canonical import format_time
from service.store.directory import Directory
from service.store.summaries import ListName

OPINION_WORK: Final = 1000
"""The work of an opinion, in events: enough to need a slot (decision 0050)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Auditing:
    """
    Audits moves, cards and seats of a game (api.md, section 6).

    Before the seal an answer is computed from the log and the cards of the caller's own seat only,
    so it cannot reveal other hidden cards.
    """

    histories: Histories
    games: Games
    refusals: Refusals
    directory: Directory
    access_log: AccessLog

    def move(
        self, caller: Caller, game: UUID, seq: int, *, with_opinion: bool = False
    ) -> dict[str, Any]:
        """
        Return the decision that an event belongs to, on request with a bot's opinion of it.

        Raises Refusal `not-found`, also for an unknown event. Raises Refusal `sealed` for an
        opinion before the seal, which would help a player during the game.
        """
        entry = self.games.entry(caller, game)
        if seq >= entry.record.version:
            raise not_found("event")
        if with_opinion and not entry.record.sealed:
            raise Refusal("sealed", said("request.sealed.opinion"))
        history, viewer = self._history(entry, caller)
        with work(listing(history.games[max(seq - 1, 0)])):
            found = decision(
                history,
                seq,
                viewer=viewer,
                refused=self.refusals.shown(entry.record),
                unproven=unproven(entry.record),
            )
        self.access_log.note(entry, caller, found["seat"] if entry.record.sealed else None)
        if with_opinion:
            with work(OPINION_WORK):
                found["opinion"] = _opinion(found, entry.record.created["ruleset"]["settings"])
        return found

    def reasons(self, caller: Caller, game: UUID, cards: Sequence[Card]) -> dict[str, Any]:
        """
        Return why the caller, who is on turn, cannot play cards of the own hand or face-up cards.

        Nothing is recorded: the question is no attempt. Raises Refusal `not-found`, `not-seated`,
        `game-over` or `not-your-turn`, and `forbidden` for any other card, wherever it lies.
        """
        entry = self.games.entry(caller, game)
        seat = entry.seat_of(caller.player)
        if seat is None:
            raise Refusal("not-seated", said("request.own_cards"))
        seen = self._history(entry, caller)[0].games[-1]
        _check_on_turn(seen, seat)
        state = seen.seats[seat]
        if not set(cards) <= {*state.hand, *state.up_cards}:
            raise Refusal("forbidden", said("request.asked_cards"))
        with work(1):
            refused = why_not(seen, seat, tuple(cards))
        rules, why = refused or ((), None)
        return {
            "game": str(game),
            "version": seen.version,
            "seat": seat,
            "cards": list(cards),
            "legal": refused is None,
            "rules": list(rules),
            **coded(why),
            "text": "" if why is None else why.text,
        }

    def card(self, caller: Caller, game: UUID, card: str) -> dict[str, Any]:
        """Return the path of a card; raises Refusal `not-found` or `unknown-card`."""
        entry = self.games.entry(caller, game)
        history, viewer = self._history(entry, caller)
        try:
            new = len(history.log) - events_processed(history)
            with work(following(entry.record.game, new)):
                found = custody(history, card, viewer=viewer)
        except UnknownCard as error:
            raise Refusal("unknown-card", reason_of(error)) from None
        own = entry.seat_of(caller.player)
        hidden = [part for part in found["path"] if part["seen_by"] != "all"]
        others = entry.record.sealed and any(part["seat"] != own for part in hidden)
        self.access_log.note(entry, caller, ALL if others else None)
        return found

    def knowledge(
        self, caller: Caller, game: UUID, seat: Seat | None, at: int | None
    ) -> dict[str, Any]:
        """
        Return the cards that a seat could know at a version.

        The defaults are the caller's seat and the present version. Raises Refusal `not-found`,
        `sealed` for another seat before the seal, `invalid-body` for a missing or unknown seat or
        an unknown version.
        """
        entry = self.games.entry(caller, game)
        own = entry.seat_of(caller.player)
        asked = own if seat is None else seat
        if asked is None:
            raise invalid("/seat", said("request.seat_required"))
        if asked >= len(entry.players):
            raise invalid("/seat", said("request.no_seat", seat=asked))
        version = entry.record.version if at is None else at
        self.games.check_range(entry, version, version)
        if not entry.record.sealed and asked != own:
            raise Refusal("sealed", said("request.sealed.knowledge"))
        history, _ = self._history(entry, caller)
        self.access_log.note(entry, caller, asked)
        new = max(0, version - events_known(history, asked))
        with work(following(entry.record.game, new)):
            return knowledge(history, asked, version)

    def readings(
        self, caller: Caller, game: UUID, *, limit: int, cursor: str | None
    ) -> tuple[list[dict[str, Any]], str | None]:
        """
        Return a page of the access log of a game, newest first.

        Only seats of the game and referees of its disputes may read it: raises Refusal
        `not-seated` for other callers, `not-found`, or `invalid-body` for a cursor of another
        list.
        """
        entry = self.games.entry(caller, game)
        seated = entry.seat_of(caller.player) is not None
        judges = caller.player is not None and self.directory.judges(caller.player, game=game)
        if not seated and not judges:
            raise Refusal("not-seated", said("request.access_log"))
        page = self.directory.readings(
            game, cursor=cursor_of(cursor, ListName.READINGS), limit=limit
        )
        items = [
            {
                "at": format_time(row.created_at),
                "reader": None if row.reader is None else str(row.reader),
                "what": row.what,
            }
            for row in page.items
        ]
        self.access_log.note(entry, caller)
        return items, page.following(ListName.READINGS)

    def _history(self, entry: GameEntry, caller: Caller) -> tuple[History, Viewer]:
        viewer: Viewer = ALL if entry.record.sealed else entry.seat_of(caller.player)
        return self.histories.of(entry, viewer), viewer


def _check_on_turn(game: Game, seat: Seat) -> None:
    """Raise Refusal unless the seat is on turn, or may be the first to open."""
    if game.status in (Status.ENDED, Status.ABORTED):
        raise Refusal("game-over", said("refused.over"))
    opens = game.first_turn and game.turn is None
    if game.status is not Status.PLAYING or not (opens or game.turn == seat):
        raise Refusal("not-your-turn", said("request.asked_on_turn"))


def _opinion(found: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the bot's opinion of a decision; None for a step of the server, or without one."""
    saw, legal, did = found["saw"], found["legal"], found["did"]
    if saw is None or legal is None or did is None:
        return None
    moves = [one["move"] for one in legal]
    formed = opinion(
        with_settings(saw, settings), moves, did, game=found["game"], version=found["first"]
    )
    if formed is None:
        return None
    return {
        "bot": BOT,
        "worlds": formed.worlds,
        "moves": [asdict(judgement) for judgement in formed.moves],
        "wording": said("about.opinion").text,
    }

"""Tables as streams: the event that opens one, the folded record, its summary row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final, Literal
from uuid import UUID

from schemas.errors import token
from schemas.tables import NEXT_HAND_SECONDS, table_data_of, table_event_of, table_type_of
from service.application.errors import Refusal, invalid
from service.application.streams import Envelope, Stream
from service.bots.registry import bots
from service.domain.events import Clock, Entropy
from service.domain.ruleset import MAX_TURN_LIMIT, Ruleset, cards_dealt, deck_of
from service.domain.table import (
    Conditions,
    SeatKind,
    Table,
    TableEvent,
    TableOpened,
    TableSeat,
    evolve_table,
    fold_table,
)
from service.replay.sentences import said
from service.rulesets.catalogue import Definition, OptionError
from service.shx.canonical import parse_time
from service.store.events import StreamKind
from service.store.summaries import ChallengeSummary, NewTableSummary, SeatSummary, TableSummary


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRecord:
    """A table's state together with the head of its stream and the time of its last event."""

    identity: UUID
    table: Table
    head: bytes
    at: str
    ready_since: str | None = None  # since when the table waits to deal by itself

    @property
    def version(self) -> int:
        """Return the number of events."""
        return self.table.version


def _begun(identity: UUID, event: TableEvent, envelope: Envelope, head: bytes) -> TableRecord:
    table = fold_table([event])
    return TableRecord(identity=identity, table=table, head=head, at=envelope["at"])


def _evolved(
    record: TableRecord, event: TableEvent, envelope: Envelope, head: bytes
) -> TableRecord:
    table, at = evolve_table(record.table, event), envelope["at"]
    ready = (record.ready_since or at) if table.deals_itself else None
    return replace(record, table=table, head=head, at=at, ready_since=ready)


TABLES: Final[Stream[TableRecord, TableEvent]] = Stream(
    kind=StreamKind.TABLE,
    encode=lambda _, event: {"type": table_type_of(event), "data": table_data_of(event)},
    decode=table_event_of,
    begin=_begun,
    evolve=_evolved,
)
"""Tables as streams. `by` of an event, a seat or null, is always null: `data` names the player."""


CHALLENGE_TERM: Final = timedelta(days=1)
"""For how long a challenge is open."""

NEXT_HAND: Final = timedelta(seconds=NEXT_HAND_SECONDS)
"""Time from the seal to the next hand, at a table that deals by itself."""


def deals_at(record: TableRecord) -> datetime | None:
    """Return when a table deals its next hand by itself; None if it does not."""
    since = record.ready_since
    return None if since is None else parse_time(since) + NEXT_HAND


def table_summary(record: TableRecord) -> TableSummary:
    """Return the columns of a table's row that an event may change."""
    table = record.table
    return TableSummary(
        host=table.host,
        status=table.status.value,
        hand=table.hand,
        game_id=table.game,
        ready_since=record.ready_since,
        seats=seat_summaries(record),
    )


def new_table_summary(
    record: TableRecord,
    *,
    created_at: str,
    invite_hash: bytes | None,
    invited: Sequence[UUID] = (),
    challenge: ChallengeSummary | None = None,
) -> NewTableSummary:
    """Return the whole row of a new table."""
    conditions = record.table.conditions
    return NewTableSummary(
        **table_summary(record),
        public=conditions.public,
        ruleset_id=conditions.ruleset["id"],
        invite_hash=None if invite_hash is None else "\\x" + invite_hash.hex(),
        created_at=created_at,
        invited=[str(player) for player in invited],
        challenge=challenge,
    )


def seat_summaries(record: TableRecord) -> list[SeatSummary]:
    """Return the columns of a table's seats."""
    return [
        SeatSummary(seat=number, kind=seat.kind.value, bot=seat.bot, player_id=seat.player)
        for number, seat in enumerate(record.table.seats)
    ]


TURNS_PER_SEAT = 400
"""Default turn limit of a hand, for each seat (rules.md, Endless hands)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRequest:
    """The body of `POST /v1/tables`, parsed but not yet validated."""

    ruleset: str
    seats: tuple[Any, ...]  # "me", "open" or {"bot": name}
    options: Mapping[str, Any]
    clock: Clock | None
    window_seconds: int
    public: bool
    entropy: Entropy
    key: str | None
    turn_limit: int | None
    deal: bool | Literal["always"]
    invited: tuple[UUID, ...] = ()
    challenged: UUID | None = None  # the player for whom the table is opened, one of the invited
    is_like_another: bool = False  # made from another table, which the caller named


def opened_by(host: UUID, request: TableRequest, definition: Definition) -> TableOpened:
    """
    Return the event that opens the table.

    Raises Refusal for the first error: `invalid-body` for seats, bots or options, `cannot-deal`
    if the ruleset does not allow this number of seats or the cards do not suffice.
    """
    seats = tuple(_seats(host, request))
    try:
        options = definition.chosen(request.options)
    except OptionError as error:
        raise invalid(f"/options/{token(error.name)}", error.message) from None
    ruleset = definition.ruleset(options)
    _check_deal(ruleset, len(seats))
    limit = request.turn_limit or min(TURNS_PER_SEAT * len(seats), MAX_TURN_LIMIT)
    all_bots = all(seat.kind is SeatKind.BOT for seat in seats)
    conditions = Conditions(
        ruleset=definition.pinned(options),
        next_dealer=ruleset.end.next_dealer,
        paper_bag=ruleset.end.paper_bag,
        public=request.public,
        clock=request.clock,
        window_seconds=0 if all_bots else request.window_seconds,
        turn_limit=limit,
        deal=request.deal,
    )
    return TableOpened(host=str(host), conditions=conditions, seats=seats)


def _seats(host: UUID, request: TableRequest) -> list[TableSeat]:
    if sum(seat == "me" for seat in request.seats) > 1:
        raise invalid("/seats", said("request.one_seat"))
    return [_seat(host, request, n, seat) for n, seat in enumerate(request.seats)]


def _seat(host: UUID, request: TableRequest, number: int, seat: Any) -> TableSeat:
    if seat == "open":
        return TableSeat()
    if seat == "me":
        return TableSeat(
            kind=SeatKind.HUMAN, player=str(host), entropy=request.entropy, key=request.key
        )
    name = seat["bot"]
    if name not in bots():
        raise invalid(f"/seats/{number}/bot", said("request.unknown_bot"))
    return TableSeat(kind=SeatKind.BOT, bot=name)


def _check_deal(ruleset: Ruleset, seats: int) -> None:
    if not ruleset.seats_min <= seats <= ruleset.seats_max:
        least, most = ruleset.seats_min, ruleset.seats_max
        if least == most:
            raise Refusal("cannot-deal", said("request.for_seats", ruleset=ruleset.id, n=most))
        several = said("request.for_seats.range", ruleset=ruleset.id, least=least, most=most)
        raise Refusal("cannot-deal", several)
    decks, jokers, partial = deck_of(ruleset, seats)
    cards, needed = 52 * decks + 4 * len(partial) + jokers, cards_dealt(ruleset, seats)
    if cards < needed:
        detail = said("request.too_few_cards", needed=needed, found=cards)
        raise Refusal("cannot-deal", detail)

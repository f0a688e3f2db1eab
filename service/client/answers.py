"""Types of the API's answers: the view of a game, moves, events and tables."""

from __future__ import annotations

from typing import Any, Literal, Required, TypedDict

Entropy = Literal["none", "value", "commit"]
"""How a seat contributes to the shuffle (SHX/1, section 3)."""


class OwnNotice(TypedDict):
    """A notice of a player's own stream (api.md, section 2)."""

    type: str
    id: str
    version: int
    table: str | None
    game: str | None
    ends_at: str | None


class WebhookEvent(TypedDict, total=False):
    """The body of a request to a player's receiver: a notice, or a ping with its challenge."""

    type: Required[str]
    timestamp: Required[str]
    challenge: str
    id: str
    version: int
    table: str | None
    game: str | None
    ends_at: str | None


class PlayMove(TypedDict):
    """Play cards, laid in this order."""

    type: Literal["play"]
    cards: list[str]


class PlayBlindMove(TypedDict):
    """Turn the face-down card of a slot and play it."""

    type: Literal["play_blind"]
    slot: int


class SwapMove(TypedDict):
    """Before play: lay the cards `up` face-up, and take the cards `hand` into the hand."""

    type: Literal["swap"]
    up: list[str]
    hand: list[str]


class LayMove(TypedDict):
    """In a layout deal: for each slot the hand cards that are laid face-up on it."""

    type: Literal["lay"]
    stacks: list[list[str]]


class ClaimAbsenceMove(TypedDict):
    """State that another player is away: a bot stands in, or the hand is to end unrated."""

    type: Literal["claim_absence"]
    absent: int
    then: Literal["stand_in", "end"]


class PlainMove(TypedDict):
    """A move without cards."""

    type: Literal["try_stock", "pass", "ready", "forfeit", "agree_end"]


PickUpMove = TypedDict("PickUpMove", {"type": Literal["pick_up"], "with": list[str]})
"""Pick up the pile, and these face-up cards with it."""

Move = PlayMove | PlayBlindMove | PickUpMove | SwapMove | LayMove | ClaimAbsenceMove | PlainMove
"""A move as `moves` lists it and as it is posted; `type` distinguishes the variants."""


class RulesetView(TypedDict):
    """The ruleset of a game or table."""

    id: str
    ruleset_hash: str
    options: dict[str, Any]


class ClockView(TypedDict):
    """Time limits in seconds."""

    turn_seconds: int
    swap_seconds: int
    reserve_seconds: int


class SetupSeat(TypedDict):
    """The progress of one seat's entropy during the shuffle."""

    seat: int
    entropy: Entropy
    state: Literal["waiting", "committed", "revealed", "none"]


class DemandView(TypedDict):
    """The demand of the pile: a condition, the ranks that fit, and those it does not name."""

    kind: Literal["anything", "at_least", "at_most", "below"]
    rank: str | None
    ranks: list[str]
    besides: list[str]


class Cards(TypedDict):
    """The hand of a seat; `cards` is None if the viewer cannot see them."""

    count: int
    cards: list[str] | None
    known: list[str]  # the cards that every player knows to be in it


class SeatView(TypedDict):
    """One seat of a game; `out` is its place, None until it goes out."""

    seat: int
    name: str | None
    kind: Literal["human", "bot"]
    bot: str | None
    stand_in: bool  # whether a bot plays for the player at present
    reserve_seconds: int | None  # left when the present turn began
    agrees_end: bool  # whether the player has agreed to end the hand, without a move since
    key: bool  # whether the seat signs its moves
    entropy: Entropy
    ready: bool
    out: int | None
    hand: Cards
    up: list[list[str]]
    down: list[bool]


class ResultView(TypedDict):
    """
    The result of a hand; `places` are the seats in the order in which they went out.

    If the reason is `shithead`, the shithead is the last of them.
    """

    reason: str
    shithead: int | None
    places: list[int]


_Viewer = TypedDict("_Viewer", {"as": int | Literal["public", "all"]})


class GameView(_Viewer):
    """A game as a seat or the public sees it; `as` is the viewer."""

    id: str
    table: str
    hand: int
    ruleset: RulesetView
    status: Literal["shuffling", "swapping", "playing", "ended", "aborted"]
    version: int
    head: str
    dealer: int | None
    turn: int | None
    direction: Literal[1, -1]
    deadline: str | None
    reserve_from: str | None
    window_until: str | None
    clock: ClockView | None
    commit: str
    prev_game: str | None
    setup: list[SetupSeat] | None
    stock: int
    pile: list[str]  # bottom card first
    demand: DemandView
    burned: list[str]
    seats: list[SeatView]
    moves: list[Move]  # of the caller
    result: ResultView | None


class _Signed(TypedDict, total=False):
    auth: dict[str, Any]  # the signed intent of a keyed seat


class Event(_Signed):
    """An event of a game's log (SHX/1, section 2); `data` depends on `type`."""

    v: int
    game: str
    seq: int
    prev: str
    at: str
    by: int | None
    type: str
    data: dict[str, Any]


class TableSeatView(TypedDict):
    """A seat of a table, with its numbers of finished and lost hands."""

    seat: int
    kind: Literal["human", "bot", "open"]
    name: str | None
    player: str | None
    bot: str | None
    entropy: Entropy
    key: str | None
    hands: int
    shithead: int
    bag: bool  # whether the seat wears the paper bag (a duty in one ruleset)
    paused: bool  # whether the seat holds the next hand back


class TableGame(TypedDict):
    """One of the newest hands of a table."""

    id: str
    hand: int
    status: Literal["shuffling", "swapping", "playing", "ended", "aborted"]
    shithead: int | None
    dealer: int | None


_Seated = TypedDict("_Seated", {"as": int | None})


class _Invited(TypedDict, total=False):
    invite: str  # of a private table, in the answer that opens it


class Table(_Seated, _Invited):
    """A table; `as` is the caller's seat, `game` the id of the hand being played."""

    id: str
    host: str | None
    version: int
    status: Literal["open", "between", "playing", "closed"]
    visibility: Literal["public", "private"]
    ruleset: RulesetView
    turn_limit: int
    clock: ClockView | None
    window_seconds: int
    seats: list[TableSeatView]
    hand: int
    game: str | None
    games: list[TableGame]
    next_dealer: int | None
    deal: bool | Literal["always"]
    next_deal_at: str | None  # when the next hand is dealt by itself


class OwnInvitation(TypedDict):
    """An open invitation of the caller."""

    table: str
    host: str
    name: str | None
    ruleset: str
    visibility: Literal["public", "private"]
    at: str


class KnownPlayer(TypedDict):
    """A player in a list; name and handle can be absent."""

    id: str
    name: str | None
    handle: str | None


class OwnChallenge(TypedDict):
    """A challenge of the caller by another player, or by the caller; `id` is its table."""

    id: str
    challenger: KnownPlayer
    player: KnownPlayer
    status: Literal["open", "accepted", "declined", "withdrawn", "expired"]
    ruleset: str
    visibility: Literal["public", "private"]
    created_at: str
    expires_at: str


class OwnChallenges(TypedDict):
    """The challenges of the caller."""

    received: list[OwnChallenge]
    sent: list[OwnChallenge]
    next: None


class Reasons(TypedDict):
    """Why cards cannot be played together by the seat on turn; `rules` is empty if they can."""

    game: str
    version: int
    seat: int
    cards: list[str]
    legal: bool
    rules: list[str]
    code: str | None
    values: dict[str, Any] | None
    text: str


class AbsentPlayer(TypedDict):
    """A player who is away, and for which values of `then` the caller may claim it."""

    seat: int
    away_seconds: int
    claims: list[Literal["stand_in", "end"]]


class AbsentPlayers(TypedDict):
    """The players for whom a hand waits and who are away."""

    after_seconds: int
    absent: list[AbsentPlayer]

"""Statements of rules pages, and those that decide an event or allow a move."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final, assert_never

from msgspec.structs import replace

from service.domain.cards import Card, Rank, rank_of
from service.domain.commands import (
    AgreeEnd,
    ClaimAbsence,
    Forfeit,
    Lay,
    Move,
    Pass,
    PickUp,
    Play,
    PlayBlind,
    Ready,
    Swap,
    TryStock,
)
from service.domain.demand import burn_cause, demand_of, satisfies
from service.domain.effects import Acts
from service.domain.events import (
    AbortCause,
    AbsenceClaimed,
    BlindFailed,
    BurnCause,
    CardsDealt,
    CardsDrawn,
    CardsPlayed,
    CardsSwapped,
    CardsThrown,
    EndAgreed,
    EndReason,
    Event,
    GameAborted,
    GameCreated,
    GameEnded,
    PileBurned,
    PilePickedUp,
    PlayStarted,
    SeatOut,
    SeatReady,
    StockFailed,
    TableLaid,
    TurnPassed,
    TurnTimedOut,
    Zone,
)
from service.domain.evolve import is_follow_up
from service.domain.game import Game, Status
from service.domain.legal import opens_first_come
from service.domain.ruleset import (
    ALL_RANKS,
    EFFECTS,
    After,
    Layout,
    OpeningPlay,
    Plays,
    Ruleset,
    Starter,
    Taker,
    effects_on,
)

SECTIONS: Final = ("deal", "opening", "play", "special", "end")
_SECTIONS_OF: Final = {
    "players": ("deal",),
    "deck": ("deal",),
    "deal": ("deal",),
    "opening": ("opening",),
    "order": ("play",),
    "refill": ("play",),
    "turn": ("play",),
    "pick_up": ("play", "end"),
    "burn": ("special",),
    "ranks": ("special",),
    "end": ("end", "deal"),
}
MODEL: Final = "model"
"""The file of the statements that all rulesets share."""
SHARED: Final = "1-"
"""Prefix of the ids of the statements that all rulesets share."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """
    One entry of a rules page.

    A statement may have several entries with the same id: its text, its text for another
    section, and a reading of a question that the source leaves open.
    """

    id: str
    section: str  # deal, opening, play, special, end
    text: str
    reading: bool
    goes_with: str = ""  # the statement that this one depends on
    applies: str = ""  # model only: the condition for a ruleset to have this statement
    about: tuple[str, ...] = ()  # further settings that the text speaks of, as patterns


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """The statements that all rulesets share, and the settings that cite them."""

    statements: tuple[Statement, ...]
    cites: Mapping[str, str]  # by setting
    rank_cites: Mapping[str, str]  # by setting of a rank that is not special


@cache
def model() -> Model:
    """Return the statements of the model (rules.md, section 1); their ids begin with `1-`."""
    document = tomllib.loads((files(__package__) / f"{MODEL}.toml").read_text("utf-8"))
    return Model(
        statements=read_statements(document),
        cites=document["cites"],
        rank_cites={code: effect.statement for code, effect in EFFECTS.items()}
        | document["rank_cites"],
    )


@cache
def shared_cites() -> Mapping[str, str]:
    """Return for every setting the id of the statement of the model that it cites."""
    shared = model()
    of_ranks = {
        f"ranks.{rank}.{setting}": rule
        for rank in ALL_RANKS
        for setting, rule in shared.rank_cites.items()
    }
    return {**of_ranks, **shared.cites}


def read_statements(document: Mapping[str, Any]) -> tuple[Statement, ...]:
    """
    Return the statements that a parsed file lists.

    Raises ValueError for an unknown section.
    """
    tables = document.get("statements", ())
    for table in tables:
        if table["section"] not in SECTIONS:
            raise ValueError(f"{table['id']}: no section {table['section']}")
    return tuple(
        Statement(
            id=table["id"],
            section=table["section"],
            text=table["text"],
            reading=table.get("reading", False),
            goes_with=table.get("goes_with", ""),
            applies=table.get("applies", ""),
            about=tuple(table.get("about", ())),
        )
        for table in tables
    )


def kept(statements: Iterable[Statement], replaced: Iterable[str]) -> tuple[Statement, ...]:
    """Return the statements without `replaced`: ids such as `P1`, or `P1/deal` for one section."""
    gone = set(replaced)
    return tuple(s for s in statements if not gone & {s.id, f"{s.id}/{s.section}"})


def sections_of(setting: str) -> tuple[str, ...]:
    """
    Return the sections of a rules page that can describe the setting at a dotted path.

    >>> sections_of("pick_up.taker")
    ('play', 'end')
    """
    return _SECTIONS_OF[setting.removeprefix("second_hand.").partition(".")[0]]


def rule_of(cites: Mapping[str, str], setting: str) -> str:
    """Return the id of the statement that the setting at a dotted path cites."""
    setting = setting.removeprefix("second_hand.")
    if setting in cites:
        return cites[setting]
    if setting.startswith("ranks."):
        return model().rank_cites[setting.rpartition(".")[2]]
    return model().cites.get(setting, FALLBACK)


def text_of(statements: Iterable[Statement], rule: str) -> str | None:
    """Return the text of a statement and its readings; None for an unknown id."""
    both = (*statements, *model().statements)
    return " ".join(s.text for s in both if s.id == rule) or None


Rules = tuple[str, ...]
"""The ids of statements."""

FALLBACK: Final = "1-model"
"""The statement behind what no other statement decides: it says nothing about the event itself."""


def rules_behind(game: Game, event: Event, action: Event | None = None) -> Rules:
    """
    Return the ids of the statements that decide the content of `event`, the most specific first.

    `game` is the state before `event`, or before the `action` that caused the event. An event
    without a rule of its own, such as the commitment to a deck, cites the model that all
    rulesets share.
    """
    return cited(game.ruleset, _settings_behind(game, event, action))


def rules_allowing(game: Game, move: Move) -> Rules:
    """Return the ids of the statements that allow a legal move, the deciding one first."""
    return cited(game.ruleset, _settings_allowing(game, move))


def cited(ruleset: Ruleset, settings: Iterable[str]) -> Rules:
    """Return the ids of the statements behind the settings at dotted paths, each once."""
    return tuple(dict.fromkeys(rule_of(ruleset.cites, setting) for setting in settings))


def _settings_behind(game: Game, event: Event, action: Event | None) -> Iterable[str]:
    match event:
        case CardsDealt() | CardsThrown() | CardsSwapped() | TableLaid() | SeatReady():
            return _before_play(game, event)
        case PlayStarted(turn=turn):
            return ("opening.opener",) if turn is not None else ("opening.opener", _FIRST_COME)
        case CardsPlayed():
            return _played(game, event)
        case PileBurned():
            return _burned(game.ruleset, event, action)
        case PilePickedUp() | BlindFailed() | StockFailed():
            return _failed(game, event)
        case GameEnded():
            return _ended(game, event, action)
        case GameAborted(cause=AbortCause.LEFT):
            after_deal = game.status is not Status.SHUFFLING
            return ("model.absence",) if after_deal else ("model.forfeit", "model")
        case GameAborted(cause=AbortCause.AGREED):
            return ("model.agreed_end",)
        case _:
            return _ALWAYS.get(type(event), ("model",))


_FIRST_COME: Final = "model.first_come"
_ALWAYS: Final[Mapping[type, Sequence[str]]] = {
    GameCreated: ("players.max", "deck.count", "deck.decks"),
    CardsDrawn: ("refill.to", "refill.size"),
    TurnPassed: ("model.pass", "model.turn"),
    TurnTimedOut: ("model.time_out",),
    SeatOut: ("model.going_out",),
    EndAgreed: ("model.agreed_end",),
    AbsenceClaimed: ("model.absence",),
}
"""The settings behind events that always cite the same ones."""


def _before_play(
    game: Game, event: CardsDealt | CardsThrown | CardsSwapped | TableLaid | SeatReady
) -> Iterator[str]:
    settled = _exchange(game.ruleset)
    match event:
        case CardsDealt(starter=starter):
            yield from ("deal.down", "deal.up", "deal.hand")
            if starter is not None or game.ruleset.deal.starter is not Starter.NONE:
                yield "deal.starter"
            yield "end.next_dealer"
        case CardsThrown():
            yield "deal.throws"
        case CardsSwapped() | SeatReady():
            yield settled
        case TableLaid(count=count):
            yield settled
            if count:
                yield from ("refill.to", "refill.size")
        case _:
            assert_never(event)


def _exchange(ruleset: Ruleset) -> str:
    return "deal.exchange" if ruleset.deal.layout is Layout.NONE else "deal.layout"


def _played(game: Game, event: CardsPlayed) -> Iterator[str]:
    """Yield the settings that decide the next turn; a burn replaces all others."""
    ruleset, laid = game.ruleset, _whole_play(game, event)
    rules = {rank: ruleset.rank(rank) for rank in dict.fromkeys(map(rank_of, laid))}
    top = rank_of(event.cards[-1])
    burn = burn_cause(ruleset, game.pile + event.cards)
    cover = covered_by(game, event)
    again = burn is not None or cover is not None
    if burn is not None:
        yield _burning(ruleset, top) if burn is BurnCause.RANK else "burn.set_size"
    elif cover is not None:
        yield f"ranks.{top}.{cover}"
    else:  # the more specific statements are those of the later effects
        for code in reversed(effects_on(Acts.TURN)):
            yield from (f"ranks.{rank}.{code}" for rank in rules if code in rules[rank].effects())
    if again and event.turn not in (None, event.seat):
        yield "model.going_out"
    if is_follow_up(game, event.seat, event.cards):
        yield "turn.follow_up"
    if event.zone is Zone.DOWN:
        yield "model.blind"
    elif event.zone is Zone.STOCK:
        yield "turn.try_stock"
    yield "model.turn"


def covered_by(game: Game, event: CardsPlayed) -> str | None:
    """Return the effect by which a play has to be covered if the pile does not burn, or None."""
    two = event.turn == event.seat and len(game.in_play()) == 2
    codes = game.ruleset.rank(rank_of(event.cards[-1])).effects(Acts.COVER)
    return next((code for code in codes if two or not EFFECTS[code].while_two), None)


def _whole_play(game: Game, event: CardsPlayed) -> tuple[Card, ...]:
    """Return the played cards; for a follow-up, after those of the play that it continues."""
    last = game.last_play
    if last is not None and is_follow_up(game, event.seat, event.cards):
        return last.cards + event.cards
    return event.cards


def _burning(ruleset: Ruleset, rank: Rank) -> str:
    """Return the setting by which a rank burns the pile; in a wrong record it may have none."""
    [effect, *_] = (*ruleset.rank(rank).effects(Acts.PILE), *effects_on(Acts.PILE))
    return f"ranks.{rank}.{effect}"


def _burned(ruleset: Ruleset, event: PileBurned, action: Event | None) -> Iterator[str]:
    if event.cause is BurnCause.RANK and isinstance(action, CardsPlayed):
        yield _burning(ruleset, rank_of(action.cards[-1]))
    else:
        yield "burn.set_size"
    if event.cleared_by != event.seat:
        yield "burn.flusher"


def _failed(game: Game, event: PilePickedUp | BlindFailed | StockFailed) -> Iterator[str]:
    """Yield the settings that decide which seat takes the pile and which plays next."""
    pick_up = game.ruleset.pick_up
    match event:
        case PilePickedUp():
            pass
        case BlindFailed():
            yield from ("model.blind", "pick_up.show_blind")
        case StockFailed():
            yield "turn.try_stock"
        case _:
            assert_never(event)
    yield from ("pick_up.after", "pick_up.taker")
    if isinstance(event, PilePickedUp) and event.along:
        yield "pick_up.along"
    few = pick_up.after is After.PREVIOUS_ABOVE_TWO and len(game.in_play()) <= 2
    if pick_up.taker is Taker.PREVIOUS or (pick_up.after is not After.NEXT and not few):
        yield "model.previous"


def _ended(game: Game, event: GameEnded, action: Event | None) -> Iterator[str]:
    match event.reason:
        case EndReason.SHITHEAD | EndReason.WINNER:
            yield from ("end.played_for", "model.going_out")
        case EndReason.FORFEIT:
            yield "model.forfeit"
        case EndReason.STALEMATE:
            all_passed = game.passes + 1 >= len(game.in_play())
            if isinstance(action, TurnPassed) and all_passed:
                yield "model.pass"
            else:
                yield "model.turn_limit"
        case _:
            assert_never(event.reason)


def _settings_allowing(game: Game, move: Move) -> Iterable[str]:
    ruleset = game.ruleset
    match move:
        case Play():
            return _play(game, move)
        case PlayBlind():
            return ("model.blind",)
        case PickUp(along=along):
            return ("turn.obligation", "pick_up.along") if along else ("turn.obligation",)
        case TryStock():
            return ("turn.try_stock",)
        case Pass():
            return ("model.pass",)
        case Swap():
            return ("deal.exchange",)
        case Lay():
            return ("deal.layout",)
        case Ready():
            return (_exchange(ruleset),)
        case Forfeit():
            return ("model.forfeit",)
        case AgreeEnd():
            return ("model.agreed_end",)
        case ClaimAbsence():
            return ("model.absence",)
        case _:
            assert_never(move)


def _play(game: Game, move: Play) -> Iterator[str]:
    state = game.seats[move.seat]
    first, last = rank_of(move.cards[0]), rank_of(move.cards[-1])
    if game.turn not in (None, move.seat):
        yield "turn.follow_up"
        return
    yield from _answering(game, first)
    if first != last and game.ruleset.rank(first).plays is not Plays.WITH_COMPANION:
        yield "turn.runs"
    if game.first_turn:
        if game.ruleset.opening.play is not OpeningPlay.ANY:
            yield "opening.play"
        if opens_first_come(game):
            yield "opening.opener"
    if not state.hand:
        if any(len(stack) > 1 for stack in state.up):
            yield "model.stacks"
        yield "model.source_zone"


def _answering(game: Game, rank: Rank) -> Iterator[str]:
    """Yield the settings by which a rank may go on the present pile."""
    ruleset = game.ruleset
    rule = ruleset.rank(rank)
    if rule.plays is Plays.WITH_COMPANION:
        yield f"ranks.{rank}.plays"
    elif game.covering:
        top = rank_of(game.pile[-1])
        yield from (f"ranks.{top}.{code}" for code in ruleset.rank(top).effects(Acts.COVER))
    elif not game.pile:
        yield from ("model.empty_pile", "model.normal_play")
    elif rule.plays is Plays.ANYTHING:
        yield f"ranks.{rank}.plays"
    else:
        if f"ranks.{rank}.plays" in ruleset.cites:  # a statement can state that a rank is plain
            yield f"ranks.{rank}.plays"
        demand = demand_of(ruleset, game.pile)
        asker = demand.asked_by
        plain = replace(demand, asked_by=None)
        if asker is not None and not satisfies(ruleset, rank, plain):
            yield f"ranks.{asker}.besides"
        elif asker in ruleset.ranks:
            yield demand.setting
        top = rank_of(game.pile[-1])
        if top != asker and top in ruleset.ranks:
            yield f"ranks.{top}.asks"  # transparent: the card below asks
        yield "model.normal_play"

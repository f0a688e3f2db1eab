"""Check `legality`: every move is decided again, and every time-out and abort was due."""

from __future__ import annotations

from itertools import zip_longest
from typing import Final, assert_never

from msgspec.structs import fields, replace

from schemas.events import type_of
from service.domain.cards import Card, in_code_order
from service.domain.commands import (
    Command,
    CommandRefused,
    NotYourTurn,
    Pass,
    PickUp,
    PlayBlind,
    RuleRefused,
    Seat,
    TryStock,
    UnknownCard,
)
from service.domain.deal import deal
from service.domain.decide import decide, failed_blind
from service.domain.events import (
    MICROSECONDS,
    AbortCause,
    BlindFailed,
    CardsDealt,
    Entropy,
    Event,
    GameAborted,
    GameCreated,
    Opening,
    PileBurned,
    TurnTimedOut,
)
from service.domain.evolve import evolve
from service.domain.game import PLAYING, SWAPPING, EntropyState, Game, Status, new_game
from service.domain.legal import default_moves, default_opener, may_act
from service.domain.plays import candidate_plays
from service.domain.ruleset import MAX_TURN_LIMIT, Ruleset
from service.replay.history import MoveKind, RecordedMove, move_behind
from service.replay.sentences import Sentence, Value, Values, reason_of
from service.rulesets.catalogue import catalogue
from service.rulesets.statements import rules_behind
from service.shx.canonical import microseconds_between, parse_time
from service.verify.finding import Answer, Failed, Objection, Position, missing, not_followed
from service.verify.log import NOT_BEGUN, Log
from service.verify.without_deck import (
    check_throw,
    fits_alone,
    with_dealt_face_up,
    with_shown,
    with_stated_opener,
)

_DECIDED: Final = (MoveKind.PLAY, MoveKind.EXCHANGE, MoveKind.FORFEIT, MoveKind.LEAVING)

MAX_VALUE: Final = 60
"""Maximum number of characters of a value that is shown."""

MAX_NAMED: Final = 6
"""Maximum number of cards named that a seat could have played instead."""


def check_legality(log: Log, position: Position, *, until: int | None = None) -> Answer:
    """
    Check that the rules allow each action and lead to exactly its outcomes.

    Only events before `until` are judged, at which another check found that the events are out of
    order or a card is not where it should be.

    With the deck every move is decided again; without it, only consequences of public facts are
    checked. The events of a move that is not allowed are applied as well, so that each move is
    judged by itself. The answer has a note if a seat had less time for its entropy than promised.

    Raises Failed if the ruleset cannot be read, Unanswered if not all events are judged.
    """
    position.seq = 0
    ruleset = log.ruleset
    with position.collecting_failures():
        _check_table(log, ruleset)
    position.seq = None
    judge, collecting = _Judge(log), position.collecting_failures()
    for move in log.grouped[0]:
        if move.first >= (log.settled if until is None else min(until, log.settled)):
            break
        position.seq, before = move.first, len(position.failures)
        ends_here = until is not None and move.last >= until
        try:
            with collecting:
                judge.judge(move)
        except (ValueError, LookupError):
            if not ends_here:
                raise
        if ends_here:
            break
        judge.apply_events(move, valid=len(position.failures) == before)
    if until is not None:
        with collecting:
            judge.judge_time_out_alone()
        raise not_followed(position, until)
    short = short_entropy_time(log)
    return Answer(notes=() if short is None else (short,))


def _check_table(log: Log, ruleset: Ruleset) -> None:
    if not ruleset.seats_min <= log.seats <= ruleset.seats_max:
        rule = ruleset.cite("players.max", "players.min")
        raise Failed(0, "legality.not_for_seats", rule, ruleset=ruleset.id, n=log.seats)
    pinned = log.created["ruleset"]
    known = catalogue().get(ruleset.id)
    settings = pinned["settings"]
    if known is not None and settings not in (None, known.settings(pinned["options"])):
        raise Failed(0, "legality.settings", id=ruleset.id)
    if log.created["turn_limit"] > MAX_TURN_LIMIT:
        rule = ruleset.cite("model.turn_limit")
        raise Failed(0, "legality.turn_limit", rule, most=MAX_TURN_LIMIT)


class _Judge:
    """The game up to a move; judges the move, and applies its events."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.events = log.decoded
        first = self.events[0]
        if not isinstance(first, GameCreated):
            raise missing(NOT_BEGUN)
        self.game: Game = new_game(first)
        self.deck_known = log.deck is not None
        self.named = False  # whether a reason has named what a seat could have played
        if log.deck is not None:
            self.game = replace(self.game, deck=tuple(Card(code) for code in log.deck))
        self.turns = TurnTimes(self.game)
        self.throws: list[Event] = []  # the throws that must still follow the deal

    def judge(self, move: RecordedMove) -> None:
        """Raise Failed if the rules do not allow a move, or lead to other events."""
        if self.throws and move.kind not in (MoveKind.DEAL, MoveKind.ABORT):
            self.throws = []
            rule = self.game.ruleset.cite("deal.throws")
            raise Failed(move.first, "legality.not_thrown", rule)
        if move.kind in _DECIDED:
            if move.timed_out:
                at = self.log.events[move.first]["at"]
                self.turns.check_time_out(self.game, move, at, hidden=not self.deck_known)
            self._decide(move)
        elif move.kind is MoveKind.DEAL:
            self._deal(move.first)
        elif move.kind is MoveKind.ABORT:
            self._abort(move.first)

    def judge_time_out_alone(self) -> None:
        """Raise Failed if the first event that is part of no move is a time-out out of time."""
        moves, _ = self.log.grouped
        first = moves[-1].last + 1 if moves else 0
        if self.game.version != first or first >= len(self.events):
            return
        event = self.events[first]
        if isinstance(event, TurnTimedOut) and self.game.status in (SWAPPING, PLAYING):
            alone = RecordedMove(
                first=first, last=first, kind=MoveKind.PLAY, seat=event.seat, timed_out=True
            )
            at = self.log.events[first]["at"]
            self.turns.check_time_out(self.game, alone, at, hidden=not self.deck_known)

    def apply_events(self, move: RecordedMove, *, valid: bool) -> None:
        """Apply the events of a move, valid or not."""
        before, at = self.game, self.log.events[move.first]["at"]
        for seq in range(move.first, move.last + 1):
            if seq:
                self.game = evolve(self.game, self.events[seq])
        self.turns.follow(before, self.game, move, at, valid=valid)

    def _deal(self, seq: int) -> None:
        event = self.events[seq]
        if isinstance(event, CardsDealt):
            if not self.deck_known:
                self.game = with_dealt_face_up(self.game, event)
                return
            expected, *throws = deal(self.game, event.dealer)
            self.throws = list(throws)
            self._compare(seq, seq, (expected,))
        elif self.deck_known:
            expected_throw, self.throws = tuple(self.throws[:1]), self.throws[1:]
            self._compare(seq, seq, expected_throw)
        else:
            check_throw(self.game, event, seq)

    def _abort(self, seq: int) -> None:
        event = self.events[seq]
        if isinstance(event, GameAborted):
            check_abort(self.game, event, seq)

    def _decide(self, move: RecordedMove) -> None:
        """Decide the move again, and compare all its events."""
        expected: tuple[Event, ...] = ()
        game = self.game
        if move.timed_out:
            expected = (TurnTimedOut(seat=_seat(move)),)
            game = evolve(game, expected[0])
            self._check_made_ready(game, move)
        last = move.last if move.timed_out else move.action
        for seq in range(move.action, last + 1):
            event = self.events[seq]
            command = move_behind(event)
            if command is None:
                continue
            shown = game if self.deck_known else with_shown(game, event, seq)
            try:
                if isinstance(command, PlayBlind) and self._kept_hidden(event, game):
                    decided = failed_blind(command, shown)  # of which all else is compared
                else:
                    decided = decide(command, shown)
            except CommandRefused as refused:
                raise _refused(seq, refused, command, self._instead(game, command)) from None
            if not self.deck_known:
                decided = with_stated_opener(decided, self.events[seq : move.last + 1], game)
            expected += decided
            if move.timed_out:  # its next action is decided after this one
                for step in decided:
                    game = evolve(game, step)
        self._compare(move.first, move.last, expected)

    def _kept_hidden(self, event: Event, game: Game) -> bool:
        """Return whether it is a playable blind card that stayed hidden: `hidden` reports it."""
        if not isinstance(event, BlindFailed) or event.opening or not self.deck_known:
            return False
        p = game.seats[event.seat].down[event.slot]
        hides = not game.ruleset.pick_up.show_blind
        return hides and p is not None and fits_alone(game, game.deck[p])

    def _check_made_ready(self, game: Game, move: RecordedMove) -> None:
        """
        Raise Failed if a time-out in the exchange does more than to make the seat ready.

        On turn any legal move may follow. In the exchange the server has no choice: it could
        change the cards of a silent player. Without the deck only the kinds of moves are compared.
        """
        if game.status is not SWAPPING:
            return
        steps = range(move.action, move.last + 1)
        seqs = [seq for seq in steps if move_behind(self.events[seq]) is not None]
        made = [move_behind(self.events[seq]) for seq in seqs]
        due = default_moves(game, _seat(move))
        for seq, step, expected in zip_longest(seqs, made, due):
            if step == expected or (not self.deck_known and type(step) is type(expected)):
                continue
            rule = game.ruleset.cite("model.time_out")
            raise Failed(move.last if seq is None else seq, "legality.exchange_time_out", rule)

    def _instead(self, game: Game, command: Command) -> tuple[Sentence, ...]:
        """Return the playable cards, only for the first such move, because this can take long."""
        if not self.deck_known or self.named:
            return ()
        found = _instead(game, command)
        self.named = bool(found)
        return found

    def _compare(self, first: int, last: int, expected: tuple[Event, ...]) -> None:
        actual = self.events[first : last + 1]
        if actual == expected:
            return
        for seq, (event, due) in enumerate(zip_longest(actual, expected), start=first):
            if event == due:
                continue
            rule = _rule_behind(self.game, due or event, actual[0])
            if event is None:
                if isinstance(due, PileBurned):
                    raise Failed(last, f"legality.unburned_{due.cause}", rule)
                raise Failed(last, "legality.missing", rule, event=type_of(due))
            if due is None:
                raise Failed(seq, "legality.follows_not", rule)
            code, values = _difference(event, due)
            raise Failed.of(Objection(seq=seq, code=code, values=values, rule=rule))


def _seat(move: RecordedMove) -> int:
    if move.seat is None:
        raise Failed(move.first, "order.phase")
    return move.seat


def _instead(game: Game, command: Command) -> tuple[Sentence, ...]:
    """Return which cards were playable instead of a pick-up, pass or try of the stock."""
    if not isinstance(command, PickUp | Pass | TryStock) or not may_act(game, command.seat):
        return ()
    found = set[Card]()
    for play in candidate_plays(game, command.seat):
        found.update(play)
        if len(found) >= MAX_NAMED:
            break
    cards = tuple(map(str, in_code_order(found)[:MAX_NAMED]))
    playable = Sentence(code="legality.could_play", values={"seat": command.seat, "fitting": cards})
    return (playable,) if cards else ()


def _refused(
    seq: int, refused: CommandRefused, command: Command, notes: tuple[Sentence, ...]
) -> Failed:
    """Return the failure at a move that the rules forbid."""
    match refused:
        case RuleRefused():
            said = reason_of(refused)
            return Failed(seq, "legality.refused", refused.rule, notes=notes, refusal=said)
        case UnknownCard():
            return Failed(seq, "custody.not_in_deck", card=str(refused.card))
        case NotYourTurn():
            return Failed(seq, "legality.not_on_turn", notes=notes, seat=command.seat)
        case _:
            return Failed(seq, "order.after_seal")


def _rule_behind(game: Game, event: Event, action: Event) -> str:
    """Return the most specific statement behind an outcome."""
    return rules_behind(game, event, action)[0]


def _difference(event: Event, due: Event) -> tuple[str, dict[str, Value]]:
    """Return the code and values for how an event differs from the one that the rules give."""
    stated, expected = type_of(event), type_of(due)
    if stated != expected:
        if stated == "cards_played" and expected in _TURNED:
            return "legality.does_not_fit", {}
        if stated in _TURNED and expected == "cards_played":
            return "legality.fits", {}
        return "legality.instead", {"event": expected}
    for name in (field.name for field in fields(event)):
        found, right = getattr(event, name), getattr(due, name)
        if found != right:
            return _other_value(name, found, right)
    return "legality.follows_not", {}


_TURNED: Final = ("blind_failed", "stock_failed")
_SEATS: Final = ("seat", "taker", "shithead", "cleared_by")
_COUNTS: Final = ("count", "place")


def _other_value(name: str, found: object, right: object) -> tuple[str, dict[str, Value]]:
    """Return the code and values for a field that has another value than the rules give."""
    seats: dict[str, Value] = {}
    seats |= {"seat": found} if isinstance(found, int) else {}
    seats |= {"due": right} if isinstance(right, int) else {}
    match name:
        case "turn":
            if len(seats) == 2:
                return "legality.other_turn", seats
            return "legality.turn_due" if "due" in seats else "legality.turn_ended", seats
        case "opening":
            return "legality.opening_hidden" if right is None else "legality.opening_shown", {}
        case "direction" | "reason":
            return f"legality.other_{name}", {}
        case "cause":
            return f"legality.cause_{right}", {}
        case _ if name in _SEATS and len(seats) == 2:
            return f"legality.other_{name}", seats
        case _ if name in _COUNTS:
            return f"legality.{name}", {"found": _plain(found), "expected": _plain(right)}
        case _:
            values: dict[str, Value] = {"found": _plain(found), "expected": _plain(right)}
            return "legality.other", {**values, "name": name.replace("_", " ")}


def _plain(value: object) -> str:
    """Return a value of an event as text; an opened card as its code."""
    if isinstance(value, tuple):
        text = " ".join(map(_plain, value))
        return text if len(text) < MAX_VALUE else f"{text[:MAX_VALUE]}…"
    if isinstance(value, Opening):
        return str(value.card)
    return "-" if value is None else str(value)


_ACTIONS: Final = (MoveKind.PLAY, MoveKind.EXCHANGE)

STAND_IN: Final = 2  # time-outs in a row from which on a stand-in bot plays


class TurnTimes:
    """
    The start of each seat's present turn, and its number of valid time-outs in a row.

    Also what it has used of its reserve, in microseconds.
    """

    def __init__(self, game: Game) -> None:
        self.clock = game.setup.clock
        self.since: dict[int, str] = {}
        self.used = dict.fromkeys(range(len(game.seats)), 0)
        self.time_outs_in_row = dict.fromkeys(range(len(game.seats)), 0)

    def follow(
        self, before: Game, after: Game, move: RecordedMove, at: str, *, valid: bool = True
    ) -> None:
        """
        Record a move at time `at` that led from the game `before` to the game `after`.

        An invalid time-out neither counts towards a stand-in bot, nor is it a move of the seat.
        """
        if move.kind in _ACTIONS and move.seat is not None:
            self.time_outs_in_row[move.seat] = (
                self.time_outs_in_row[move.seat] + valid if move.timed_out else 0
            )
        started = after.status is not before.status
        if after.status is SWAPPING and started:
            self.since = dict.fromkeys(self.time_outs_in_row, at)
        elif after.status is PLAYING:
            if started and after.turn is None:
                self.since = dict.fromkeys(self.time_outs_in_row, at)
            elif after.turn is not None and (
                started or after.turn != before.turn or move.seat == after.turn
            ):
                self._end_turn(before.turn, at)
                self.since[after.turn] = at

    def _end_turn(self, seat: Seat | None, at: str) -> None:
        """Take from the reserve of a seat what its turn, which ended at a time, took of it."""
        if self.clock is not None and seat is not None and seat in self.since:
            took = microseconds_between(self.since[seat], at)
            self.used[seat] = self.clock.used_after(self.used[seat], took)

    def check_time_out(self, game: Game, move: RecordedMove, at: str, *, hidden: bool) -> None:
        """
        Raise Failed unless the seat's time and reserve were up, or a stand-in bot plays for it.

        The turn of a seat begins with the event that gives it the turn, which may be its own;
        before the first play of a first-come opening all seats have the turn.
        """
        rule = game.ruleset.cite("model.time_out")
        claimed = move.seat in game.absent
        if move.seat is None or (self.clock is None and not claimed):
            raise Failed(move.first, "legality.clockless", rule)
        swapping = game.status is Status.SWAPPING
        first_come = game.first_turn and game.turn is None
        if not swapping and not first_come and game.turn != move.seat:
            raise Failed(move.first, "legality.not_on_turn", rule, seat=move.seat)
        if self.clock is None or claimed or self.time_outs_in_row[move.seat] >= STAND_IN:
            return
        if not swapping and first_come and not hidden and default_opener(game) != move.seat:
            raise Failed(move.first, "legality.other_opener", rule)
        allowed = self.clock.swap_seconds * MICROSECONDS
        if first_come:
            allowed = self.clock.turn_seconds * MICROSECONDS
        elif not swapping:
            allowed = self.clock.turn_time(self.used[move.seat])
        had = microseconds_between(self.since[move.seat], at)
        if had < allowed:
            had_text = f"{had / MICROSECONDS:.6f}"
            raise Failed(
                move.first, "legality.too_early", rule, had=had_text, allowed=_in_seconds(allowed)
            )


def _in_seconds(microseconds: int) -> Value:
    whole, rest = divmod(microseconds, MICROSECONDS)
    return f"{whole}.{rest:06}" if rest else whole


ENTROPY_SECONDS: Final = 120
"""How long seats have for their entropy at a table without a clock (SHX/1, section 3)."""


def check_abort(game: Game, abort: GameAborted, seq: int) -> None:
    """
    Raise Failed unless `game` may be aborted for this cause, with this seat named.

    The operator can always abort, for example because of a bad deck, but can name a player as
    the reason only if the log shows that the game waited for this player.
    """
    match abort.cause:
        case AbortCause.NO_ENTROPY:
            pass  # `order` checks it
        case AbortCause.LEFT:  # one that follows from a claim is part of its move
            if abort.seat is None:
                raise Failed(seq, "legality.left_unnamed")
            if game.setup.seats[abort.seat].kind == "bot":
                raise Failed(seq, "legality.bot_left", seat=abort.seat)
            if game.status is not Status.SHUFFLING:
                rule = game.ruleset.cite("model.forfeit")
                raise Failed(seq, "legality.left_after_deal", rule)
        case AbortCause.AGREED:  # one that follows from an agreement is part of its move
            raise Failed(seq, "legality.not_agreed", game.ruleset.cite("model.agreed_end"))
        case AbortCause.IDLE | AbortCause.OPERATOR:
            if abort.seat is not None and abort.seat not in _awaited(game):
                raise Failed(seq, "legality.not_waiting", seat=abort.seat)
        case _:
            assert_never(abort.cause)


def short_entropy_time(log: Log) -> Sentence | None:
    """
    Return a note if a seat had less time for its entropy than the protocol promises, else None.

    This fails no check, because logs written by other programs may have it. The report mentions
    it for readers to judge.
    """
    seal = log.seal
    if seal is None or seal["data"].get("cause") != AbortCause.NO_ENTROPY:
        return None
    clock = log.created["clock"]
    allowed = clock["swap_seconds"] if clock else ENTROPY_SECONDS
    had = (parse_time(seal["at"]) - parse_time(log.events[0]["at"])).total_seconds()
    values: Values = {"had": f"{had:.6f}", "allowed": allowed}
    return Sentence(code="legality.short_time", values=values) if had < allowed else None


def _awaited(game: Game) -> tuple[Seat, ...]:
    """
    Return the seats for which the game waits, as far as the log shows it.

    At a first-come opening there are none, because the log does not show which seats could open.
    A seat that has committed is listed only after all seats have: until then it cannot reveal.
    """
    every = enumerate(game.seats)
    match game.status:
        case Status.SHUFFLING:
            modes = [seat.entropy for seat in game.setup.seats]
            open_seats = [seat for seat, state in every if state.entropy is EntropyState.WAITING]
            if any(modes[seat] is Entropy.COMMIT for seat in open_seats):
                return tuple(open_seats)
            missing = (EntropyState.WAITING, EntropyState.COMMITTED)
            return tuple(s for s, state in enumerate(game.seats) if state.entropy in missing)
        case Status.SWAPPING:
            return tuple(seat for seat, state in every if not state.ready)
        case Status.PLAYING:
            return () if game.turn is None else (game.turn,)
        case Status.ENDED | Status.ABORTED:
            return ()
        case _:
            assert_never(game.status)

"""Check `sequence`: the games of a table follow one another without gaps or repetitions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, pairwise
from typing import TypeVar

from service.replay.sentences import Sentence, Values
from service.shx.keys import KeyChange
from service.verify.finding import (
    Answer,
    Failed,
    Objection,
    Position,
    Result,
    Unanswered,
    missing,
    not_applicable,
)
from service.verify.log import NOT_BEGUN
from service.verify.log_summary import LogSummary
from service.verify.signatures import is_key_of_seat

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class SequenceAnswer:
    """The answer of the check `sequence` for one log, which other processes can report."""

    objections: tuple[Objection, ...] = ()
    missing: tuple[Sentence, ...] = ()  # the evidence that is missing
    notes: tuple[Sentence, ...] = ()
    applies: bool = True  # whether there was another log to compare

    def report(self, position: Position) -> Answer:
        """
        Return the answer, with the failures recorded at `position`.

        Raises Unanswered if evidence is missing or the check does not apply.
        """
        position.failures += self.objections
        if self.missing and not self.objections:
            first, *more = self.missing
            further = (*more, *self.notes)
            raise Unanswered(Result.MISSING, first.code, values=first.values, notes=further)
        if not self.applies:
            raise not_applicable("open.one_log")
        return Answer(notes=self.notes, remarks=self.notes if self.objections else ())


def check_sequence(
    log: LogSummary | None,
    others: Sequence[LogSummary],
    changes: Sequence[KeyChange],
    position: Position,
) -> Answer:
    """
    Check that the games of a table follow one another, and that none is missing or repeated.

    With one log, only checks that need no other log are made. The answer lists aborted
    attempts, changed rules and numbers of seats, new keys and whether the previous keys
    signed them, and whether logs of earlier games of the table are missing.

    Raises Unanswered without another log of the table, if the log before the first one is needed,
    if a game that is followed by another has no seal, or if the log has no readable first event.
    """
    position.seq = 0
    if log is None:
        raise missing(NOT_BEGUN)
    return Sequences((log, *others), changes).answer(0).report(position)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fault:
    """A fault in the sequence, and the games that it concerns."""

    games: tuple[LogSummary, ...]
    code: str
    values: Values = field(default_factory=dict)
    rule: str | None = None
    seq: int | None = 0  # of the event that shows the fault, in each of these games


@dataclass(frozen=True, slots=True, kw_only=True)
class _TableAnswer:
    """The findings in the logs of a table, the same for all of them."""

    faults: tuple[_Fault, ...]
    objections: tuple[Objection, ...] = ()  # faults without games of their own
    missing: tuple[Sentence, ...] = ()
    notes: tuple[Sentence, ...] = ()
    games: int = 1


class Sequences:
    """The check `sequence` for all logs that are verified together."""

    def __init__(self, logs: Sequence[LogSummary], changes: Sequence[KeyChange] = ()) -> None:
        self._logs = logs
        self._changes = changes
        copies: dict[str, list[LogSummary]] = defaultdict(list)
        for log in logs:
            copies[log.game].append(log)
        differing = (pair for of_game in copies.values() for pair in _differing(of_game))
        self._differing = _by_table(differing, lambda pair: pair.logs)
        # Of several logs of one game that agree, the longest counts.
        distinct = [max(reversed(held), key=lambda log: log.count) for held in copies.values()]
        self._games = _by_table(distinct, lambda game: (game,))
        shared = (*_shared(distinct), *_foreign(distinct))
        self._faults = _by_table(shared, lambda fault: fault.games)
        self._tables: dict[str, _TableAnswer] = {}

    def answer(self, number: int) -> SequenceAnswer:
        """Return the answer for the log with this number."""
        log = self._logs[number]
        if differing := self._differing.get(log.table):
            return SequenceAnswer(objections=(_two_histories(log, differing),))
        found = self._tables.get(log.table)
        if found is None:
            found = self._tables[log.table] = self._of_table(log.table)
        own = tuple(_objection(fault, log) for fault in found.faults)
        return SequenceAnswer(
            objections=(*own, *found.objections),
            missing=found.missing,
            notes=found.notes,
            applies=found.games > 1,
        )

    def _of_table(self, table: str) -> _TableAnswer:
        games = sorted(self._games[table], key=lambda game: (game.hand, game.began))
        faults = list(self._faults.get(table, ()))
        faults += [fault for game in games for fault in _own_faults(game)]
        faults += _conditions(games)
        objections: tuple[Objection, ...] = ()
        missing_logs: list[Sentence] = []
        if not faults:
            try:
                games = _ordered(games)
                missing_logs += _follow(games, faults)
            except Failed as failed:
                objections = (failed.objection,)
            except Unanswered as unanswered:
                missing_logs.append(Sentence(code=unanswered.code, values=unanswered.values))
        return _TableAnswer(
            faults=tuple(faults),
            objections=objections,
            missing=(*_needed_log(games[0]), *missing_logs),
            notes=(*_notes(games), *_changes_of(games), *_key_notes(games, self._changes)),
            games=len(games),
        )


def _by_table(found: Iterable[T], logs: Callable[[T], Iterable[LogSummary]]) -> dict[str, list[T]]:
    """Return what was found in logs by the tables of these logs."""
    tables: dict[str, list[T]] = defaultdict(list)
    for one in found:
        for table in {log.table for log in logs(one)}:
            tables[table].append(one)
    return dict(tables)


def _objection(fault: _Fault, log: LogSummary) -> Objection:
    """Return a fault of a table for the report on a log; only its own ones get the seq."""
    own = any(game.game == log.game for game in fault.games)
    seq = fault.seq if own else None
    return Objection(seq=seq, code=fault.code, values=fault.values, rule=fault.rule)


def _follow(ordered: Sequence[LogSummary], faults: list[_Fault]) -> list[Sentence]:
    """
    Add a fault if a game does not follow the previous one; return missing evidence.

    Raises Failed or Unanswered if the next dealer is unknown because of an unreadable ruleset.
    """
    missing_logs = []
    last_played: LogSummary | None = None
    for before, after in pairwise(ordered):
        if before.seed is None:
            values = {"game": before.game}
            missing_logs.append(Sentence(code="open.no_seal", values=values))
            continue
        if before.aborted is None:
            last_played = before
        faults += _succession(before, after, last_played)
    return missing_logs


@dataclass(frozen=True, slots=True, kw_only=True)
class _Difference:
    """Two different logs of one game."""

    logs: tuple[LogSummary, LogSummary]
    seq: int  # the first at which they differ


def _differing(copies: Sequence[LogSummary]) -> Iterator[_Difference]:
    """Yield each pair of logs of one game that have different lines at the same seq."""
    different = {(log.count, log.heads_hash): log for log in reversed(copies)}
    if len(different) < 2:
        return
    heads = {key: log.heads() for key, log in different.items()}
    for (one, here), (other, there) in combinations(reversed(different.items()), 2):
        pairs = enumerate(zip(heads[one], heads[other], strict=False))
        seq = next((seq for seq, (left, right) in pairs if left != right), None)
        if seq is not None:
            yield _Difference(logs=(here, there), seq=seq)


def _two_histories(log: LogSummary, differing: Sequence[_Difference]) -> Objection:
    """
    Return the objection that two logs of one game differ.

    The server has then shown different histories to different readers. A contradiction with `log`
    itself is reported first.
    """

    def is_own(pair: _Difference) -> bool:
        return any(_is_copy(one, log) for one in pair.logs)

    found = min(differing, key=lambda pair: (not is_own(pair), pair.seq))
    one, other = found.logs
    if is_own(found):
        one, other = log, other if _is_copy(one, log) else one
    return Objection(
        seq=found.seq if one is log else None,
        code="sequence.two_histories",
        values={"one": _named(one), "other": _named(other), "at": found.seq},
        notes=tuple(_seeds(one, other)),
    )


def _is_copy(one: LogSummary, other: LogSummary) -> bool:
    """Return whether two logs have the same lines."""
    return (one.count, one.heads_hash) == (other.count, other.heads_hash)


def _seeds(one: LogSummary, other: LogSummary) -> Iterator[Sentence]:
    """Yield a comparison of the commitments and seeds of two differing logs."""
    same = one.commit == other.commit
    yield Sentence(code="sequence.same_commitment" if same else "sequence.other_commitment")
    if one.seed is None or other.seed is None:
        yield Sentence(code="sequence.no_seed")
        return
    yield Sentence(code="sequence.same_seed" if one.seed == other.seed else "sequence.other_seed")


def _named(log: LogSummary) -> str:
    """Return the file name of a log; without a file, the id of its game."""
    return log.name or log.game


def _shared(games: Sequence[LogSummary]) -> Iterator[_Fault]:
    """
    Yield a fault if games share what must be unique: a seed, a commitment or a previous game.

    A published seed reveals the deck of every other game with the same seed, at any table.
    Commitments bind the game's id, so two games with the same seed have different ones.
    """
    for _, both in _shared_values(games, lambda game: game.seed):
        values: Values = {"games": _labels(both)}
        yield _Fault(games=both, code="sequence.one_seed", values=values, seq=None)
    for commit, both in _shared_values(games, lambda game: game.commit):
        values = {"commit": commit, "games": _labels(both)}
        yield _Fault(games=both, code="sequence.one_commitment", values=values)
    for (before, table), both in _shared_values(games, _predecessor):
        values = {"games": _labels(both), "game": before, "table": table}
        code = "sequence.two_first" if before is None else "sequence.two_next"
        yield _Fault(games=both, code=code, values=values)


def _shared_values(
    games: Sequence[LogSummary], value: Callable[[LogSummary], T | None]
) -> Iterator[tuple[T, tuple[LogSummary, ...]]]:
    """Yield each value that several games share, with these games."""
    holders: dict[T, list[LogSummary]] = defaultdict(list)
    for game in games:
        if (held := value(game)) is not None:
            holders[held].append(game)
    return ((held, tuple(both)) for held, both in holders.items() if len(both) > 1)


def _predecessor(game: LogSummary) -> tuple[str | None, str | None]:
    """Return which game a game follows, and if none its table: one game of it may follow none."""
    return game.prev_game, game.table if game.prev_game is None else None


def _foreign(games: Sequence[LogSummary]) -> Iterator[_Fault]:
    """Yield a fault for each game whose previous game belongs to another table."""
    by_id = {game.game: game for game in games}
    for game in games:
        before = by_id.get(str(game.prev_game))
        if before is not None and before.table != game.table:
            values = {"game": game.label, "previous": before.label}
            yield _Fault(games=(game, before), code="sequence.other_table", values=values)


def _conditions(games: Sequence[LogSummary]) -> Iterator[_Fault]:
    """Yield a fault if the turn limit or the clock differs from the previous hand."""
    for before, after in pairwise(games):
        compared = {
            "turn_limit": (str(before.turn_limit), str(after.turn_limit)),
            "clock": (before.clock, after.clock),
        }
        for name, (expected, found) in compared.items():
            if expected != found:
                hands = {"hand": before.hand, "next": after.hand}
                games_of = {"game": before.label, "other": after.label}
                values = {**hands, **games_of, "found": found, "expected": expected}
                yield _Fault(games=(before, after), code=f"sequence.{name}", values=values)


def _labels(logs: Iterable[LogSummary]) -> tuple[str, ...]:
    return tuple(log.label for log in logs)


def _own_faults(log: LogSummary) -> Iterator[_Fault]:
    """
    Yield the faults of a game that do not depend on the previous one.

    The dealer of the first hand is drawn, also if an attempt was aborted (statements L3, P2,
    M2); a later hand follows another game.
    """
    if log.prev_game == log.game:
        yield _Fault(games=(log,), code="sequence.itself")
    if log.hand == 1 and log.dealer is not None:
        values: Values = {"dealer": log.dealer}
        yield _Fault(games=(log,), code="sequence.dealer", values=values, rule=log.own_dealer_rule)
    if log.hand != 1 and log.prev_game is None:
        yield _Fault(games=(log,), code="sequence.no_previous", values={"hand": log.hand})


def _needed_log(first: LogSummary) -> Iterator[Sentence]:
    """Yield the reason why the log before the first one is needed, if it is."""
    if first.prev_game is None:
        return
    if first.hand == 1:
        yield Sentence(code="open.first_after", values={"game": first.prev_game})
    elif first.dealer is None:
        yield Sentence(code="open.drawn", values={"hand": first.hand, "game": first.prev_game})


def _ordered(games: Sequence[LogSummary]) -> list[LogSummary]:
    """
    Return the games in the order of their links.

    Raises Failed if a game between them is missing, or if the links form a circle.
    """
    by_id = {game.game: game for game in games}
    after = {str(game.prev_game): game for game in games}
    first = [game for game in games if str(game.prev_game) not in by_id]
    if len(first) > 1:
        hands = tuple(str(game.hand) for game in first)
        raise Failed(0, "sequence.missing", hands=hands)
    ordered = first
    while ordered and (following := after.get(ordered[-1].game)) is not None:
        ordered.append(following)
    if len(ordered) < len(games):
        raise Failed(0, "sequence.circle")
    return ordered


def _succession(
    before: LogSummary, after: LogSummary, played: LogSummary | None
) -> Iterator[_Fault]:
    """Yield the faults of a game's number, time and dealer, compared with the previous game."""
    aborted = before.aborted is not None
    expected = before.hand if aborted else before.hand + 1
    both = (before, after)
    if after.hand != expected:
        values: Values = {"found": after.hand, "hand": before.hand, "expected": expected}
        yield _Fault(games=both, code="sequence.number", values=values)
    if after.began < before.ended:
        yield _Fault(games=both, code="sequence.overlap", values={"hand": after.hand})
    dealer = before.dealer if aborted else _next_dealer(before)
    if played is not None and aborted:
        dealer = _next_dealer(played)
    same_seats = after.seats == before.seats or None in (dealer, after.dealer)
    if same_seats and after.dealer != dealer:
        code = "sequence.dealer_drawn" if after.dealer is None else "sequence.next_dealer"
        code = "sequence.dealer_not_drawn" if dealer is None else code
        values = {"game": after.game, "dealer": after.dealer, "due": dealer}
        yield _Fault(games=both, code=code, values=values, rule=before.dealer_rule)


def _next_dealer(log: LogSummary) -> int | None:
    """Return the next dealer after a game; raises Failed or Unanswered if it is unknown."""
    match log.undecided:
        case Objection():
            raise Failed.of(log.undecided)
        case Sentence():
            raise Unanswered(Result.MISSING, log.undecided.code, values=log.undecided.values)
    return log.next_dealer


def _notes(games: Sequence[LogSummary]) -> Iterator[Sentence]:
    if games[0].prev_game is not None and not any(_needed_log(games[0])):
        yield Sentence(code="sequence.earlier", values={"hand": games[0].hand})
    for game in games:
        if game.aborted is not None:
            cause, seat = game.aborted
            code = "sequence.aborted" if seat is None else "sequence.aborted_seat"
            values: Values = {"game": game.game, "cause": cause, "seat": seat}
            yield Sentence(code=code, values=values)
            if game.short_time is not None:
                yield game.short_time


def _changes_of(games: Sequence[LogSummary]) -> Iterator[Sentence]:
    """Yield a note for each change of the ruleset or of the number of seats between hands."""
    for before, after in pairwise(games):
        if before.ruleset_hash != after.ruleset_hash:
            rules = {"ruleset": before.ruleset, "other": after.ruleset}
            yield Sentence(code="sequence.ruleset", values={"hand": after.hand, **rules})
        if before.seats != after.seats:
            values = {"found": after.seats, "expected": before.seats, "hand": after.hand}
            yield Sentence(code="sequence.seats", values=values)


def _key_notes(games: Sequence[LogSummary], changes: Sequence[KeyChange]) -> Iterator[Sentence]:
    """Yield a note for each changed key of a seat, and whether the previous key signed it."""
    for before, after in pairwise(games):
        for seat, (old, new) in enumerate(zip(before.keys, after.keys, strict=False)):
            if old != new:
                code = _key_note(after, seat, old, new, changes)
                yield Sentence(code=code, values={"seat": seat, "hand": after.hand})


def _key_note(
    log: LogSummary, seat: int, old: str | None, new: str | None, changes: Sequence[KeyChange]
) -> str:
    if new is None:
        return "sequence.key_removed"
    if old is not None and is_key_of_seat(log.table, seat, old, new, changes):
        return "sequence.key_signed"
    return "sequence.key_new"

"""Check `sequence`: the games of a table follow one another without gaps or repetitions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, pairwise
from typing import Any, TypeVar

from service.domain.ruleset import NextDealer
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
from service.verify.legality import short_entropy_time
from service.verify.log import Log
from service.verify.signatures import is_key_of_seat

T = TypeVar("T")


def check_sequence(
    log: Log, others: Sequence[Log], changes: Sequence[KeyChange], position: Position
) -> Answer:
    """
    Check that the games of a table follow one another, and that none is missing or repeated.

    With one log, only checks that need no other log are made. The answer lists aborted
    attempts, changed rules and numbers of seats, new keys and whether the previous keys
    signed them, and whether logs of earlier games of the table are missing.

    Raises Failed if two logs are different histories of one game. Raises Unanswered without another
    log of the table, if the log before the first one is needed, or if a game that is followed by
    another has no seal.
    """
    position.seq = 0
    distinct = _distinct(log, [other for other in others if other.begins])
    table = log.created["table"]
    games = [other for other in distinct if other.created["table"] == table]
    games.sort(key=lambda game: (game.created["hand"], game.events[0]["at"]))
    table_logs = _TableLogs(log=log, games=games, position=position)
    table_logs.note(_shared(distinct))
    table_logs.note(_foreign(distinct))
    table_logs.note(fault for game in games for fault in _own_faults(game))
    table_logs.note(_conditions(games))
    missing_logs: list[Sentence] = []
    if not position.failures:
        games = table_logs.ordered()
        missing_logs += table_logs.follow(games)
    missing_logs = [*_needed_log(games[0]), *missing_logs]
    if len(games) < 2 and not missing_logs:
        raise not_applicable("open.one_log")
    notes = (*_notes(games), *_changes_of(games), *_key_notes(games, changes))
    if missing_logs and not position.failures:
        first, *more = missing_logs
        further = (*more, *notes)
        raise Unanswered(Result.MISSING, first.code, values=first.values, notes=further)
    return Answer(notes=notes, remarks=notes if position.failures else ())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fault:
    """A fault in the sequence, and the games that it concerns."""

    games: tuple[Log, ...]
    code: str
    values: Values = field(default_factory=dict)
    rule: str | None = None
    seq: int | None = 0  # of the event that shows the fault, in each of these games


@dataclass(frozen=True, slots=True, kw_only=True)
class _TableLogs:
    """The logs of a table that are verified together, for the report on one of them."""

    log: Log  # the subject of the report
    games: Sequence[Log]  # all logs of its table
    position: Position

    def note(self, faults: Iterable[_Fault]) -> None:
        """Record the faults of this table; only faults of `log` itself get the seq of an event."""
        for fault in faults:
            if any(game in self.games for game in fault.games):
                own = any(game.game == self.log.game for game in fault.games)
                seq = fault.seq if own else None
                self.position.failures.append(
                    Objection(seq=seq, code=fault.code, values=fault.values, rule=fault.rule)
                )

    def ordered(self) -> list[Log]:
        """Return the games in the order of their links; record a fault if there is no order."""
        try:
            return _ordered(self.games)
        except Failed as failed:
            self.position.failures.append(failed.objection)
            return list(self.games)

    def follow(self, ordered: Sequence[Log]) -> list[Sentence]:
        """Record a fault if a game does not follow the previous one; return missing evidence."""
        missing_logs = []
        last_played: Log | None = None
        for before, after in () if self.position.failures else pairwise(ordered):
            if before.seal is None:
                values = {"game": str(before.game)}
                missing_logs.append(Sentence(code="open.no_seal", values=values))
                continue
            if before.seal["type"] == "game_sealed":
                last_played = before
            self.note(_succession(before, after, last_played))
        return missing_logs


def next_dealer(log: Log) -> int | None:
    """
    Return the next dealer after this game (rules.md, Next dealer); None if it did not end.

    Raises Unanswered if its ruleset is not known.
    """
    dealt = [e["data"]["dealer"] for e in log.events if e["type"] == "cards_dealt"]
    ended = [e["data"] for e in log.events if e["type"] == "game_ended"]
    if not dealt or not ended:
        return None
    dealer: int = dealt[-1]
    loser: int | None = ended[-1]["shithead"]
    match ended[-1]["reason"]:
        case "stalemate":
            return dealer
        case "forfeit" if loser is not None:
            return loser
    if log.known_ruleset is None:
        raise missing("open.unjudged")  # `legality` reports the ruleset
    if log.known_ruleset.end.next_dealer is NextDealer.LOSER and loser is not None:
        return loser
    return (dealer + 1) % log.seats


def _distinct(log: Log, others: Iterable[Log]) -> list[Log]:
    """
    Return one log for each game: the longest if several agree.

    Raises Failed if two logs of one game differ: the server has then shown different
    histories to different readers. A contradiction with `log` itself is reported first.
    """
    every = [log, *(other for other in others if other.heads)]
    differing = [pair for pair in combinations(every, 2) if _first_difference(*pair) is not None]
    if differing:
        one, other = min(
            differing, key=lambda pair: (pair[0] is not log, _first_difference(*pair) or 0)
        )
        seq = _first_difference(one, other)
        raise Failed(
            seq if one is log else None,
            "sequence.two_histories",
            notes=tuple(_seeds(one, other)),
            one=_named(one),
            other=_named(other),
            at=seq,
        )
    longest: dict[str, Log] = {}
    for one in sorted(every, key=lambda one: len(one.heads)):
        longest[str(one.game)] = one
    return list(longest.values())


def _first_difference(one: Log, other: Log) -> int | None:
    """Return the first seq at which two logs of one game differ; None if they agree."""
    if not (one.events and other.events) or one.game != other.game:
        return None
    pairs = enumerate(zip(one.heads, other.heads, strict=False))
    return next((seq for seq, (here, there) in pairs if here != there), None)


def _seeds(one: Log, other: Log) -> Iterator[Sentence]:
    """Yield a comparison of the commitments and seeds of two differing logs."""
    same = one.created["commit"] == other.created["commit"]
    yield Sentence(code="sequence.same_commitment" if same else "sequence.other_commitment")
    if one.seal is None or other.seal is None:
        yield Sentence(code="sequence.no_seed")
        return
    seed = one.seal["data"]["seed"] == other.seal["data"]["seed"]
    yield Sentence(code="sequence.same_seed" if seed else "sequence.other_seed")


def _named(log: Log) -> str:
    """Return the file name of a log; without a file, the id of its game."""
    return log.name or str(log.game)


def _shared(games: Sequence[Log]) -> Iterator[_Fault]:
    """
    Yield a fault if games share what must be unique: a seed, a commitment or a previous game.

    A published seed reveals the deck of every other game with the same seed, at any table.
    Commitments bind the game's id, so two games with the same seed have different ones.
    """
    for _, both in _shared_values(games, _seed_of):
        values: Values = {"games": _labels(both)}
        yield _Fault(games=both, code="sequence.one_seed", values=values, seq=None)
    for commit, both in _shared_values(games, lambda game: str(game.created["commit"])):
        values = {"commit": commit, "games": _labels(both)}
        yield _Fault(games=both, code="sequence.one_commitment", values=values)
    for (before, table), both in _shared_values(games, _predecessor):
        values = {"games": _labels(both), "game": before, "table": table}
        code = "sequence.two_first" if before is None else "sequence.two_next"
        yield _Fault(games=both, code=code, values=values)


def _shared_values(
    games: Sequence[Log], value: Callable[[Log], T | None]
) -> Iterator[tuple[T, tuple[Log, ...]]]:
    """Yield each value that several games share, with these games."""
    holders: dict[T, tuple[Log, ...]] = {}
    for game in games:
        if (held := value(game)) is not None:
            holders[held] = (*holders.get(held, ()), game)
    return ((held, both) for held, both in holders.items() if len(both) > 1)


def _seed_of(game: Log) -> str | None:
    return None if game.seal is None else str(game.seal["data"]["seed"])


def _predecessor(game: Log) -> tuple[str | None, str | None]:
    """Return which game a game follows, and if none its table: one game of it may follow none."""
    before = game.created["prev_game"]
    return before, game.created["table"] if before is None else None


def _foreign(games: Sequence[Log]) -> Iterator[_Fault]:
    """Yield a fault for each game whose previous game belongs to another table."""
    by_id = {str(game.game): game for game in games}
    for game in games:
        before = by_id.get(str(game.created["prev_game"]))
        if before is not None and before.created["table"] != game.created["table"]:
            values = {"game": _label(game), "previous": _label(before)}
            yield _Fault(games=(game, before), code="sequence.other_table", values=values)


def _conditions(games: Sequence[Log]) -> Iterator[_Fault]:
    """Yield a fault if the turn limit or the clock differs from the previous hand."""
    for before, after in pairwise(games):
        for name in ("turn_limit", "clock"):
            if before.created[name] != after.created[name]:
                hands = {"hand": before.created["hand"], "next": after.created["hand"]}
                games_of = {"game": _label(before), "other": _label(after)}
                stated = {
                    "found": _plain(after.created[name]),
                    "expected": _plain(before.created[name]),
                }
                values = {**hands, **games_of, **stated}
                yield _Fault(games=(before, after), code=f"sequence.{name}", values=values)


def _plain(value: Any) -> str:
    """Return a turn limit, or the seconds of a clock; `-` for a game without one."""
    if value is None or isinstance(value, int):
        return "-" if value is None else str(value)
    return f"{value['turn_seconds']}/{value['swap_seconds']}"


def _labels(logs: Iterable[Log]) -> tuple[str, ...]:
    return tuple(map(_label, logs))


def _label(log: Log) -> str:
    """Return the id of a log's game, followed by the file name if there is one."""
    return f"{log.game} ({log.name})" if log.name else str(log.game)


def _own_faults(log: Log) -> Iterator[_Fault]:
    """
    Yield the faults of a game that do not depend on the previous one.

    The dealer of the first hand is drawn, also if an attempt was aborted (statements L3, P2,
    M2); a later hand follows another game.
    """
    created, hand = log.created, log.created["hand"]
    if created["prev_game"] == str(log.game):
        yield _Fault(games=(log,), code="sequence.itself")
    if hand == 1 and created["dealer"] is not None:
        rule = log.cite("end.next_dealer")
        values = {"dealer": created["dealer"]}
        yield _Fault(games=(log,), code="sequence.dealer", values=values, rule=rule)
    if hand != 1 and created["prev_game"] is None:
        yield _Fault(games=(log,), code="sequence.no_previous", values={"hand": hand})


def _needed_log(first: Log) -> Iterator[Sentence]:
    """Yield the reason why the log before the first one is needed, if it is."""
    created, hand = first.created, first.created["hand"]
    if created["prev_game"] is None:
        return
    if hand == 1:
        yield Sentence(code="open.first_after", values={"game": created["prev_game"]})
    elif created["dealer"] is None:
        values = {"hand": hand, "game": created["prev_game"]}
        yield Sentence(code="open.drawn", values=values)


def _ordered(games: Sequence[Log]) -> list[Log]:
    """
    Return the games in the order of their links.

    Raises Failed if a game between them is missing, or if the links form a circle.
    """
    by_id = {str(game.game): game for game in games}
    after = {str(game.created["prev_game"]): game for game in games}
    first = [game for game in games if str(game.created["prev_game"]) not in by_id]
    if len(first) > 1:
        hands = tuple(str(game.created["hand"]) for game in first)
        raise Failed(0, "sequence.missing", hands=hands)
    ordered = first
    while ordered and (following := after.get(str(ordered[-1].game))) is not None:
        ordered.append(following)
    if len(ordered) < len(games):
        raise Failed(0, "sequence.circle")
    return ordered


def _succession(before: Log, after: Log, played: Log | None) -> Iterator[_Fault]:
    """Yield the faults of a game's number, time and dealer, compared with the previous game."""
    aborted = before.seal is not None and before.seal["type"] == "game_aborted"
    hand, created = before.created["hand"], after.created
    expected = hand if aborted else hand + 1
    both = (before, after)
    if created["hand"] != expected:
        values = {"found": created["hand"], "hand": hand, "expected": expected}
        yield _Fault(games=both, code="sequence.number", values=values)
    if after.events[0]["at"] < before.events[-1]["at"]:
        values = {"hand": created["hand"]}
        yield _Fault(games=both, code="sequence.overlap", values=values)
    dealer = before.created["dealer"] if aborted else next_dealer(before)
    if played is not None and aborted:
        dealer = next_dealer(played)
    same_seats = after.seats == before.seats or None in (dealer, created["dealer"])
    if same_seats and created["dealer"] != dealer:
        code = "sequence.dealer_drawn" if created["dealer"] is None else "sequence.next_dealer"
        code = "sequence.dealer_not_drawn" if dealer is None else code
        values = {"game": str(after.game), "dealer": created["dealer"], "due": dealer}
        yield _Fault(games=both, code=code, values=values, rule=_dealer_rule(before))


def _dealer_rule(log: Log) -> str | None:
    """Return the statement on the next dealer: of the model if the ruleset has none."""
    ended = next((e["data"] for e in log.events if e["type"] == "game_ended"), None)
    if ended is None or ended["reason"] in ("stalemate", "forfeit"):
        return log.cite("model.next_dealer")
    rotates = log.ruleset.end.next_dealer is NextDealer.ROTATE
    by_ruleset = rotates or ended["shithead"] is not None
    return log.cite("end.next_dealer" if by_ruleset else "model.next_dealer")


def _notes(games: Sequence[Log]) -> Iterator[Sentence]:
    if games[0].created["prev_game"] is not None and not any(_needed_log(games[0])):
        yield Sentence(code="sequence.earlier", values={"hand": games[0].created["hand"]})
    for game in games:
        seal = game.seal
        if seal is not None and seal["type"] == "game_aborted":
            yield _aborted(game, seal["data"])
            short = short_entropy_time(game)
            if short is not None:
                yield short


def _changes_of(games: Sequence[Log]) -> Iterator[Sentence]:
    """Yield a note for each change of the ruleset or of the number of seats between hands."""
    for before, after in pairwise(games):
        one, other, hand = before.created, after.created, after.created["hand"]
        if one["ruleset_hash"] != other["ruleset_hash"]:
            rules = {"ruleset": one["ruleset"]["id"], "other": other["ruleset"]["id"]}
            yield Sentence(code="sequence.ruleset", values={"hand": hand, **rules})
        if before.seats != after.seats:
            values = {"found": after.seats, "expected": before.seats, "hand": hand}
            yield Sentence(code="sequence.seats", values=values)


def _key_notes(games: Sequence[Log], changes: Sequence[KeyChange]) -> Iterator[Sentence]:
    """Yield a note for each changed key of a seat, and whether the previous key signed it."""
    for before, after in pairwise(games):
        seats = enumerate(zip(before.created["seats"], after.created["seats"], strict=False))
        for seat, (old, new) in seats:
            if old["key"] != new["key"]:
                code = _key_note(after, seat, old["key"], new["key"], changes)
                values = {"seat": seat, "hand": after.created["hand"]}
                yield Sentence(code=code, values=values)


def _key_note(
    log: Log, seat: int, old: str | None, new: str | None, changes: Sequence[KeyChange]
) -> str:
    if new is None:
        return "sequence.key_removed"
    if old is not None and is_key_of_seat(log, seat, old, new, changes):
        return "sequence.key_signed"
    return "sequence.key_new"


def _aborted(game: Log, data: Mapping[str, Any]) -> Sentence:
    values = {"game": str(game.game), "cause": data["cause"], "seat": data["seat"]}
    code = "sequence.aborted" if data["seat"] is None else "sequence.aborted_seat"
    return Sentence(code=code, values=values)

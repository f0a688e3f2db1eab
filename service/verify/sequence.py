"""Check `sequence`: the games of a table follow one another without gaps or repetitions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any

from service.domain.ruleset import NextDealer
from service.shx.keys import KeyChange
from service.verify.finding import Answer, Cursor, Failed, missing, not_applicable
from service.verify.legality import short_entropy_time
from service.verify.log import Log
from service.verify.signatures import is_key_of_seat


def check_sequence(
    log: Log, others: Sequence[Log], changes: Sequence[KeyChange], cursor: Cursor
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
    cursor.seq = 0
    distinct = _distinct(log, [other for other in others if other.begins])
    table = log.created["table"]
    games = [other for other in distinct if other.created["table"] == table]
    games.sort(key=lambda game: (game.created["hand"], game.events[0]["at"]))
    table_logs = _TableLogs(log=log, games=games, cursor=cursor)
    table_logs.note(_shared(distinct))
    table_logs.note(_foreign(distinct))
    table_logs.note(fault for game in games for fault in _own_faults(game))
    table_logs.note(_conditions(games))
    missing_logs: list[str] = []
    if not cursor.failures:
        games = table_logs.ordered()
        missing_logs += table_logs.follow(games)
    missing_logs = [*_needed_log(games[0]), *missing_logs]
    if len(games) < 2 and not missing_logs:
        raise not_applicable("no other log of this table was supplied")
    notes = (*_notes(games), *_changes_of(games), *_key_notes(games, changes))
    if missing_logs and not cursor.failures:
        raise missing("; ".join((*missing_logs, *notes)))
    return Answer(text="; ".join(notes) or None, remarks=notes if cursor.failures else ())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fault:
    """A fault in the sequence, and the games that it concerns."""

    games: tuple[Log, ...]
    reason: str
    rule: str | None = None
    seq: int | None = 0  # of the event that shows the fault, in each of these games


@dataclass(frozen=True, slots=True, kw_only=True)
class _TableLogs:
    """The logs of a table that are verified together, for the report on one of them."""

    log: Log  # the subject of the report
    games: Sequence[Log]  # all logs of its table
    cursor: Cursor

    def note(self, faults: Iterable[_Fault]) -> None:
        """Record the faults of this table; only faults of `log` itself get the seq of an event."""
        for fault in faults:
            if any(game in self.games for game in fault.games):
                own = any(game.game == self.log.game for game in fault.games)
                seq = fault.seq if own else None
                self.cursor.note(seq, fault.reason, fault.rule)

    def ordered(self) -> list[Log]:
        """Return the games in the order of their links; record a fault if there is no order."""
        try:
            return _ordered(self.games)
        except Failed as failed:
            self.cursor.note(0, failed.reason)
            return list(self.games)

    def follow(self, ordered: Sequence[Log]) -> list[str]:
        """Record a fault if a game does not follow the previous one; return missing evidence."""
        missing_logs = []
        last_played: Log | None = None
        for before, after in () if self.cursor.failures else pairwise(ordered):
            if before.seal is None:
                missing_logs.append(f"the seal of game {before.game}, although a later game exists")
                continue
            if before.seal["type"] == "game_sealed":
                last_played = before
            self.note(_succession(before, after, last_played))
        return missing_logs


def next_dealer(log: Log) -> int | None:
    """Return the next dealer after this game (rules.md, Next dealer); None if it did not end."""
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
    if log.ruleset.end.next_dealer is NextDealer.LOSER and loser is not None:
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
        text = f"{_named(one)} and {_named(other)} are two histories of one game"
        raise Failed(
            seq if one is log else None,
            f"{text}: from seq {seq} on they differ; {_seeds(one, other)}",
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


def _seeds(one: Log, other: Log) -> str:
    """Return a text that compares the commitments and seeds of two differing logs."""
    same = one.created["commit"] == other.created["commit"]
    text = f"{'the same' if same else 'another'} commitment to the seed"
    if one.seal is None or other.seal is None:
        return f"{text}, and at least one log does not have the seed"
    seed = one.seal["data"]["seed"] == other.seal["data"]["seed"]
    return f"{text}, {'and' if same == seed else 'but'} {'the same' if seed else 'another'} seed"


def _named(log: Log) -> str:
    """Return the file name of a log; without a file, the id of its game."""
    return log.name or f"a log of game {log.game}"


def _shared(games: Sequence[Log]) -> Iterator[_Fault]:
    """
    Yield a fault if games share what must be unique: a seed, a commitment or a previous game.

    A published seed reveals the deck of every other game with the same seed, at any table.
    Commitments bind the game's id, so two games with the same seed have different ones.
    """
    for _, both in _shared_values(games, _seed_of):
        text = f"games {' and '.join(map(_label, both))} were dealt from one seed"
        yield _Fault(games=both, reason=text, seq=None)
    for commit, both in _shared_values(games, lambda game: str(game.created["commit"])):
        text = f"the server commitment {commit} is used twice: {', '.join(map(_label, both))}"
        yield _Fault(games=both, reason=text)
    for follow, both in _shared_values(games, _predecessor):
        text = f"two games {follow}: {', '.join(map(_label, both))}"
        yield _Fault(games=both, reason=text)


def _shared_values(
    games: Sequence[Log], value: Callable[[Log], str | None]
) -> Iterator[tuple[str, tuple[Log, ...]]]:
    """Yield each value that several games share, with these games."""
    holders: dict[str, tuple[Log, ...]] = {}
    for game in games:
        if (held := value(game)) is not None:
            holders[held] = (*holders.get(held, ()), game)
    return ((held, both) for held, both in holders.items() if len(both) > 1)


def _seed_of(game: Log) -> str | None:
    return None if game.seal is None else str(game.seal["data"]["seed"])


def _predecessor(game: Log) -> str:
    """Return which game a game follows, as a predicate; only one of a table may follow none."""
    before, table = game.created["prev_game"], game.created["table"]
    return f"of table {table} follow no other game" if before is None else f"follow {before}"


def _foreign(games: Sequence[Log]) -> Iterator[_Fault]:
    """Yield a fault for each game whose previous game belongs to another table."""
    by_id = {str(game.game): game for game in games}
    for game in games:
        before = by_id.get(str(game.created["prev_game"]))
        if before is not None and before.created["table"] != game.created["table"]:
            text = f"game {_label(game)} follows {_label(before)}, a game of another table"
            yield _Fault(games=(game, before), reason=text)


def _conditions(games: Sequence[Log]) -> Iterator[_Fault]:
    """Yield a fault if the turn limit or the clock differs from the previous hand."""
    for before, after in pairwise(games):
        for field, name in (("turn_limit", "turn limit"), ("clock", "clock")):
            one, other = before.created[field], after.created[field]
            if one != other:
                hands = f"hand {before.created['hand']} ({_named(before)})"
                later = f"hand {after.created['hand']} ({_named(after)})"
                text = f"the {name} was {_plain(one)} in {hands} and is {_plain(other)} in {later}"
                yield _Fault(games=(before, after), reason=text)


def _plain(value: Any) -> str:
    """Return the text for a turn limit or a clock."""
    if value is None:
        return "none"
    if isinstance(value, int):
        return str(value)
    return f"{value['turn_seconds']} s a turn and {value['swap_seconds']} s for the exchange"


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
        yield _Fault(games=(log,), reason="the game names itself as the previous game")
    if hand == 1 and created["dealer"] is not None:
        rule = log.cite("end.next_dealer")
        text = f"seat {created['dealer']} deals the first hand without a draw"
        yield _Fault(games=(log,), reason=text, rule=rule)
    if hand != 1 and created["prev_game"] is None:
        yield _Fault(games=(log,), reason=f"hand {hand} follows no other game")


def _needed_log(first: Log) -> Iterator[str]:
    """Yield the reason why the log before the first one is needed, if it is."""
    created, hand = first.created, first.created["hand"]
    if created["prev_game"] is None:
        return
    text = f"the log of prev_game, {created['prev_game']}"
    if hand == 1:
        yield f"{text}: was it an aborted attempt at hand 1?"
    elif created["dealer"] is None:
        yield f"{text}: why was the dealer of hand {hand} drawn?"


def _ordered(games: Sequence[Log]) -> list[Log]:
    """
    Return the games in the order of their links.

    Raises Failed if a game between them is missing, or if the links form a circle.
    """
    by_id = {str(game.game): game for game in games}
    after = {str(game.created["prev_game"]): game for game in games}
    first = [game for game in games if str(game.created["prev_game"]) not in by_id]
    if len(first) > 1:
        hands = ", ".join(str(game.created["hand"]) for game in first)
        raise Failed(0, f"a game is missing: the games before hands {hands} are not among the logs")
    ordered = first
    while ordered and (following := after.get(str(ordered[-1].game))) is not None:
        ordered.append(following)
    if len(ordered) < len(games):
        raise Failed(0, "the links between the games form a circle")
    return ordered


def _succession(before: Log, after: Log, played: Log | None) -> Iterator[_Fault]:
    """Yield the faults of a game's number, time and dealer, compared with the previous game."""
    aborted = before.seal is not None and before.seal["type"] == "game_aborted"
    hand, created = before.created["hand"], after.created
    expected = hand if aborted else hand + 1
    both = (before, after)
    if created["hand"] != expected:
        yield _Fault(games=both, reason=f"hand {created['hand']} after hand {hand}, not {expected}")
    if after.events[0]["at"] < before.events[-1]["at"]:
        text = f"hand {created['hand']} began before the previous game ended"
        yield _Fault(games=both, reason=text)
    dealer = before.created["dealer"] if aborted else next_dealer(before)
    if played is not None and aborted:
        dealer = next_dealer(played)
    same_seats = after.seats == before.seats or None in (dealer, created["dealer"])
    if same_seats and created["dealer"] != dealer:
        stated = "drawn" if created["dealer"] is None else f"seat {created['dealer']}"
        due = "drawn" if dealer is None else f"seat {dealer}"
        reason = f"the dealer of game {after.game} is {stated}, not {due}"
        yield _Fault(games=both, reason=reason, rule=_dealer_rule(before))


def _dealer_rule(log: Log) -> str | None:
    """Return the statement on the next dealer: of the model if the ruleset has none."""
    ended = next((e["data"] for e in log.events if e["type"] == "game_ended"), None)
    if ended is None or ended["reason"] in ("stalemate", "forfeit"):
        return log.cite("model.next_dealer")
    rotates = log.ruleset.end.next_dealer is NextDealer.ROTATE
    by_ruleset = rotates or ended["shithead"] is not None
    return log.cite("end.next_dealer" if by_ruleset else "model.next_dealer")


def _notes(games: Sequence[Log]) -> list[str]:
    notes = []
    if games[0].created["prev_game"] is not None and not any(_needed_log(games[0])):
        notes.append(f"the games before hand {games[0].created['hand']} were not supplied")
    for game in games:
        seal = game.seal
        if seal is not None and seal["type"] == "game_aborted":
            notes.append(f"aborted: {game.game} ({_why(game, seal['data'])})")
    return notes


def _changes_of(games: Sequence[Log]) -> Iterator[str]:
    """Yield a note for each change of the ruleset or of the number of seats between hands."""
    for before, after in pairwise(games):
        one, other, hand = before.created, after.created, after.created["hand"]
        if one["ruleset_hash"] != other["ruleset_hash"]:
            named = f"{one['ruleset']['id']}, then {other['ruleset']['id']}"
            yield f"the ruleset or its options changed: {named}: in hand {hand}"
        if before.seats != after.seats:
            yield f"{after.seats} seats instead of {before.seats}: in hand {hand}"


def _key_notes(games: Sequence[Log], changes: Sequence[KeyChange]) -> list[str]:
    """Return a note for each changed key of a seat, and whether the previous key signed it."""
    notes = []
    for before, after in pairwise(games):
        seats = enumerate(zip(before.created["seats"], after.created["seats"], strict=False))
        for seat, (old, new) in seats:
            if old["key"] != new["key"]:
                text = _key_note(after, seat, old["key"], new["key"], changes)
                notes.append(f"{text}: seat {seat} in hand {after.created['hand']}")
    return notes


def _key_note(
    log: Log, seat: int, old: str | None, new: str | None, changes: Sequence[KeyChange]
) -> str:
    if new is None:
        return "key removed"
    if old is not None and is_key_of_seat(log, seat, old, new, changes):
        return "key changed, signed by the previous key"
    return "new key"


def _why(game: Log, data: Mapping[str, Any]) -> str:
    seat = None if data["seat"] is None else f"seat {data['seat']}"
    return ", ".join(filter(None, (data["cause"], seat, short_entropy_time(game))))

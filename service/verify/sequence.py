"""The checks `seal` and `sequence`: is it finished, and do the games of a table fit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, pairwise
from typing import Any

from service.domain.ruleset import NextDealer
from service.record.key_changes import KeyChange
from service.verify.aborting import hasty
from service.verify.finding import Answer, Cursor, Failed, missing, not_applicable
from service.verify.log import Log
from service.verify.signatures import vouched


def check_seal(log: Log, cursor: Cursor) -> None:
    """There is a seal; else the game is unfinished."""
    cursor.seq = log.end
    if log.seal is None:
        raise missing("the game is not sealed: it is unfinished, or the log was cut short")


def check_sequence(
    log: Log, others: Sequence[Log], changes: Sequence[KeyChange], cursor: Cursor
) -> Answer:
    """
    The games of this table follow one another, none left out and none twice.

    Return in words what a reader should know: aborted attempts, other rules or seats than
    before, new keys and whether the ones before signed for them, and whether the table's
    first games are among those given.
    """
    cursor.seq = 0
    table = log.created["table"]
    distinct = _distinct(log, [other for other in others if other.begins])
    _check_seeds(distinct)
    games = [other for other in distinct if other.created["table"] == table]
    _check_first(log)
    if len(games) < 2:
        raise not_applicable("no other log of this table was given")
    _check_unique(games)
    ordered = _ordered(games)
    _check_first(ordered[0])
    notes = [*_notes(ordered), *_changes_of(ordered), *_key_notes(ordered, changes)]
    last_played: Log | None = None
    for before, after in pairwise(ordered):
        if before.seal is None:
            raise missing(f"the seal of game {before.game}, which another followed")
        if before.seal["type"] == "game_sealed":
            last_played = before
        _check_follows(before, after, last_played)
    return Answer(said="; ".join(notes) or None)


def next_dealer(log: Log) -> int | None:
    """Return who deals after this sealed game (rules.md, Next dealer)."""
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
    Return one log a game, the longest where several agree.

    Two logs of one game that part are the plainest sign of a server that tells
    different people different things. Where `log` is one of them, that is told first.
    """
    every = [log, *(other for other in others if other.heads)]
    parted = [pair for pair in combinations(every, 2) if _parting(*pair) is not None]
    if parted:
        one, other = min(parted, key=lambda pair: (pair[0] is not log, _parting(*pair) or 0))
        seq = _parting(one, other)
        said = f"{_named(one)} and {_named(other)} are two histories of one game"
        raise Failed(
            seq if one is log else None,
            f"{said}: from seq {seq} on they differ; {_seeds(one, other)}",
        )
    longest: dict[str, Log] = {}
    for one in sorted(every, key=lambda one: len(one.heads)):
        longest[str(one.game)] = one
    return list(longest.values())


def _parting(one: Log, other: Log) -> int | None:
    """Return the first seq at which two logs of one game differ, None where they do not."""
    if not (one.events and other.events) or one.game != other.game:
        return None
    pairs = enumerate(zip(one.heads, other.heads, strict=False))
    return next((seq for seq, (here, there) in pairs if here != there), None)


def _seeds(one: Log, other: Log) -> str:
    """Return in words whether two logs that differ name the same seed."""
    same = one.created["commit"] == other.created["commit"]
    said = f"{'the same' if same else 'another'} commitment to the seed"
    if one.seal is None or other.seal is None:
        return f"{said}, and not both show the seed"
    seed = one.seal["data"]["seed"] == other.seal["data"]["seed"]
    return f"{said}, {'and' if same == seed else 'but'} {'the same' if seed else 'another'} seed"


def _named(log: Log) -> str:
    """Return the file of a log, or its game where it came from none."""
    return log.name or f"a log of game {log.game}"


def _check_seeds(games: Sequence[Log]) -> None:
    """
    No seed twice, at whatever table: who has seen it published knows the next deck.

    The commitments bind the game's id, so they differ where the seed is the same.
    """
    owners: dict[str, Log] = {}
    for game in games:
        if game.seal is None:
            continue
        first = owners.setdefault(game.seal["data"]["seed"], game)
        if first is not game:
            said = f"games {_both(first)} and {_both(game)} were dealt from one seed"
            raise Failed(None, said)


def _both(log: Log) -> str:
    """Return the game of a log, with its file where it came from one."""
    return f"{log.game} ({log.name})" if log.name else str(log.game)


def _check_first(log: Log) -> None:
    """A game that follows no other is hand 1, and its dealer is drawn (rules.md, L3, P2, M2)."""
    created = log.created
    if created["prev_game"] == str(log.game):
        raise Failed(0, "a game that follows itself")
    if created["prev_game"] is not None:
        return
    if created["hand"] != 1:
        raise Failed(0, f"hand {created['hand']} follows no other game")
    if created["dealer"] is not None:
        rule = log.ruleset.cite("end.next_dealer")
        raise Failed(0, f"seat {created['dealer']} deals the first hand undrawn", rule)


def _check_unique(games: Sequence[Log]) -> None:
    """No server commitment twice, no two games after the same one."""
    for what, values in (
        ("the server commitment {} is used twice", [g.created["commit"] for g in games]),
        ("two games follow {}", [str(g.created["prev_game"]) for g in games]),
    ):
        twice = [value for value in values if values.count(value) > 1]
        if twice:
            said = what.format("no other game" if twice[0] == "None" else twice[0])
            by = (_both(g) for g, value in zip(games, values, strict=True) if value == twice[0])
            raise Failed(0, f"{said}: {', '.join(by)}")


def _ordered(games: Sequence[Log]) -> list[Log]:
    """Return the games as each names the one before; raises Failed where one is left out."""
    by_id = {str(game.game): game for game in games}
    after = {str(game.created["prev_game"]): game for game in games}
    first = [game for game in games if str(game.created["prev_game"]) not in by_id]
    if len(first) != 1:
        hands = ", ".join(str(game.created["hand"]) for game in first)
        raise Failed(0, f"a game was left out: none leads to the games of hands {hands or '-'}")
    ordered = [first[0]]
    while (following := after.get(str(ordered[-1].game))) is not None:
        ordered.append(following)
    if len(ordered) < len(games):
        raise Failed(0, "games that follow one another in a circle")
    return ordered


def _check_follows(before: Log, after: Log, played: Log | None) -> None:
    aborted = before.seal is not None and before.seal["type"] == "game_aborted"
    hand, created = before.created["hand"], after.created
    expected = hand if aborted else hand + 1
    if created["hand"] != expected:
        raise Failed(0, f"hand {created['hand']} after hand {hand}, not {expected}")
    if after.events[0]["at"] < before.events[-1]["at"]:
        raise Failed(0, f"hand {created['hand']} began before the game in front of it ended")
    dealer = before.created["dealer"] if aborted else next_dealer(before)
    if played is not None and aborted:
        dealer = next_dealer(played)
    if after.seats == before.seats and created["dealer"] != dealer:
        said = "drawn" if created["dealer"] is None else f"seat {created['dealer']}"
        due = "drawn" if dealer is None else f"seat {dealer}"
        rule = _dealer_rule(before)
        raise Failed(0, f"the dealer of game {after.game} is {said}, not {due}", rule)


def _dealer_rule(log: Log) -> str:
    """Return the statement on who deals after a sealed game: where no ruleset says, the model's."""
    ended = next((e["data"] for e in log.events if e["type"] == "game_ended"), None)
    if ended is None or ended["reason"] in ("stalemate", "forfeit"):
        return log.ruleset.cite("model.next_dealer")
    rotates = log.ruleset.end.next_dealer is NextDealer.ROTATE
    said = rotates or ended["shithead"] is not None
    return log.ruleset.cite("end.next_dealer" if said else "model.next_dealer")


def _notes(games: Sequence[Log]) -> list[str]:
    notes = []
    if games[0].created["prev_game"] is not None:
        notes.append(f"the games before hand {games[0].created['hand']} were not given")
    for game in games:
        seal = game.seal
        if seal is not None and seal["type"] == "game_aborted":
            notes.append(f"aborted: {game.game} ({_why(game, seal['data'])})")
    return notes


def _changes_of(games: Sequence[Log]) -> Iterator[str]:
    """Yield what was not the same from one hand of the table to the next, and hardly ever is."""
    for before, after in pairwise(games):
        one, other, hand = before.created, after.created, after.created["hand"]
        if one["ruleset_hash"] != other["ruleset_hash"]:
            named = f"{one['ruleset']['id']}, then {other['ruleset']['id']}"
            yield f"other rules than before, or other options: {named}: in hand {hand}"
        if before.seats != after.seats:
            yield f"{after.seats} seats instead of {before.seats}: in hand {hand}"


def _key_notes(games: Sequence[Log], changes: Sequence[KeyChange]) -> list[str]:
    """Return where a seat's key is not that of the hand before, and what there is to say for it."""
    notes = []
    for before, after in pairwise(games):
        seats = enumerate(zip(before.created["seats"], after.created["seats"], strict=False))
        for seat, (old, new) in seats:
            if old["key"] != new["key"]:
                said = _key_note(after, seat, old["key"], new["key"], changes)
                notes.append(f"{said}: seat {seat} in hand {after.created['hand']}")
    return notes


def _key_note(
    log: Log, seat: int, old: str | None, new: str | None, changes: Sequence[KeyChange]
) -> str:
    if new is None:
        return "no key any more"
    if old is not None and vouched(log, seat, old, new, changes):
        return "key changed, signed by the one before"
    return "new key"


def _why(game: Log, data: Mapping[str, Any]) -> str:
    seat = None if data["seat"] is None else f"seat {data['seat']}"
    return ", ".join(filter(None, (data["cause"], seat, hasty(game))))

"""Checks `commitments`, `shuffle` and `openings`: was the deck fixed before play?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from service.replay.sentences import Sentence
from service.shx.canonical import ruleset_hash
from service.shx.shuffle import Shuffle, card_commitment, client_commit, server_commit
from service.verify.finding import Failed, Position, missing, not_applicable
from service.verify.log import Log

NOT_SEALED: Final = "open.unsealed"
"""The code of checks that need the published seed."""

States = Sequence[Mapping[str, Any]]
"""The `mode` and `state` of each seat's entropy, as in the audit object of the API."""


def entropy_lines(states: States) -> tuple[Sentence, ...]:
    """Return for each seat its entropy, and the parties that could not choose the deck."""
    if states and all(state["mode"] == "none" for state in states):
        return (Sentence(code="entropy.nobody"),)
    return tuple(Sentence(code=_entropy(one), values={"seat": one["seat"]}) for one in states)


def _entropy(state: Mapping[str, Any]) -> str:
    """Return the code of the sentence on the entropy of a seat."""
    if state["mode"] == "none":
        return "entropy.none"
    if state["state"] == "revealed":
        return "entropy.committed" if state["mode"] == "commit" else "entropy.value"
    return "entropy.unrevealed" if state["state"] == "committed" else "entropy.missing"


def unproven_of_seed(states: States) -> Sentence | None:
    """
    Return what is unproven about the choice of the seed, None if nothing is.

    The deck is fixed before play in any case. That no party chose it is shown only by a player
    who was committed to a value that no other party knew.
    """
    modes = {state["mode"] for state in states if state["state"] == "revealed"}
    if "commit" in modes:
        return None
    return Sentence(code="unshown.together" if "value" in modes else "unshown.operator")


Opening = Mapping[str, Any]


def check_commitments(log: Log, position: Position) -> None:
    """
    Check that the seed, every revealed value and the ruleset match their commitments.

    Raises Failed if the seed does not match its commitment, Unanswered before the seal.
    """
    position.seq = 0
    created = log.created
    if ruleset_hash(created["ruleset"]).hex() != created["ruleset_hash"]:
        position.note(0, "commitments.ruleset")
    committed: dict[int, str] = {}
    for seq, event in enumerate(log.events):
        position.seq, data = seq, event["data"]
        if event["type"] == "entropy_committed":
            committed[data["seat"]] = data["commit"]
        elif event["type"] == "entropy_revealed" and data["seat"] in committed:
            value = bytes.fromhex(data["value"])
            if client_commit(log.game, data["seat"], value).hex() != committed[data["seat"]]:
                position.note(seq, "commitments.seat", seat=data["seat"])
    if log.seal is None:
        raise missing(NOT_SEALED)
    position.seq = log.end
    if server_commit(log.game, bytes.fromhex(log.seal["data"]["seed"])).hex() != created["commit"]:
        raise Failed(log.end, "commitments.server")


def check_shuffle(log: Log, position: Position) -> None:
    """
    Check that the deck follows from seed, revealed values and rules, with the right dealer.

    Raises Failed for a wrong number of commitments, a wrong dealer, or a deck published without
    commitments; another deck than the committed one is noted. Raises Unanswered before the seal or
    without a deck.
    """
    position.seq = 0
    at = {event["type"]: seq for seq, event in reversed([*enumerate(log.events)])}  # the first
    codes = log.codes  # without a first event the check is missing
    if log.commitments is not None and len(log.commitments) != len(codes):
        found, expected = len(log.commitments), len(codes)
        raise Failed(at["deck_committed"], "shuffle.size", found=found, expected=expected)
    if log.seal is None:
        if "cards_dealt" in at and log.created["dealer"] is not None:
            _check_dealer(log, at["cards_dealt"], log.created["dealer"])
        raise missing(NOT_SEALED)
    position.seq = log.end
    published = log.seal["data"]["deck"]
    if log.shuffle is None or log.commitments is None:
        if published is not None:
            raise Failed(log.end, "shuffle.no_deck")
        raise not_applicable("open.no_deck")
    with position.collecting_failures():
        _check_commitments(log.shuffle, log.commitments, at["deck_committed"])
    if published is None or tuple(published) != log.shuffle.deck:
        position.note(log.end, "shuffle.deck")
    if "cards_dealt" in at:
        named = log.created["dealer"]
        due = log.shuffle.dealer(log.seats) if named is None else named
        _check_dealer(log, at["cards_dealt"], due)


def _check_commitments(shuffle: Shuffle, committed: Sequence[str], seq: int) -> None:
    for p, commitment in enumerate(shuffle.commitments()):
        if commitment.hex() != committed[p]:
            raise Failed(seq, "shuffle.commitment", p=p)


def _check_dealer(log: Log, seq: int, due: int) -> None:
    dealer = log.events[seq]["data"]["dealer"]
    if dealer != due:
        raise Failed(seq, "shuffle.dealer", dealer=dealer, seat=due)


def check_openings(log: Log, shown: Callable[[], Iterable[Opening]], position: Position) -> None:
    """
    Check that every opening matches its commitment.

    Whether the commitments are those of the deck is for the check `shuffle`.

    `shown` returns the openings beside the log, as in a bundle of a seat, or raises Failed.

    Raises Unanswered if no card was opened, or without a first event.
    """
    found = not log.created
    for seq, opening in _openings(log, shown):
        position.seq, found = seq, True
        with position.collecting_failures():
            _check_opening(log, seq, opening)
    if not found:
        raise not_applicable("open.none_opened")


def _check_opening(log: Log, seq: int, opening: Opening) -> None:
    p, card = opening["p"], opening["card"]
    if log.commitments is None or p >= len(log.commitments):
        raise Failed(seq, "openings.no_commitment", p=p)
    salt = bytes.fromhex(opening["salt"])
    if card_commitment(log.game, p, card, salt).hex() != log.commitments[p]:
        raise Failed(seq, "openings.commitment", p=p, card=card)
    data = log.events[seq]["data"]
    if data.get("opening") is opening and data.get("cards", [card]) != [card]:
        raise Failed(seq, "openings.played", card=card)


def _openings(log: Log, shown: Callable[[], Iterable[Opening]]) -> Iterator[tuple[int, Opening]]:
    for seq, event in enumerate(log.events):
        data = event["data"]
        if event["type"] == "cards_dealt":
            for seat in data["face_up"]:
                yield from ((seq, opening) for opening in seat)
            yield from ((seq, opening) for opening in data["returned"])
            if data["starter"] is not None:
                yield seq, data["starter"]
        elif data.get("opening") is not None:
            yield seq, data["opening"]
    yield from ((log.end, opening) for opening in shown())

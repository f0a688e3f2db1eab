"""Findings in plain words, for referees and players who do not know the format."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from service.verify.finding import Check

MOST_WORDS: Final = 30
"""The most words of a sentence in a summary or a finding."""

FAILS: Final[Mapping[Check, str]] = {
    Check.BYTES: "This line was edited or damaged: the server never writes a line like this.",
    Check.CHAIN: "The record was changed here after it was written, or is put together from parts.",
    Check.ORDER: "Something is missing here, or was put in, or stands in the wrong place.",
    Check.COMMITMENTS: "A secret number is not the one that was fixed before the deal.",
    Check.SHUFFLE: "The deck or the dealer is not the one that the shuffle gives.",
    Check.OPENINGS: "The card shown is not the one that was fixed for this place before play.",
    Check.DEAL: "The cards did not go where the deal or the draw puts them.",
    Check.CUSTODY: "A card was played or moved that was not there.",
    Check.LEGALITY: "The rules do not allow this, or lead to another result.",
    Check.HIDDEN: "A face-down card that could be played was kept hidden.",
    Check.SIGNATURES: (
        "A player's signature is missing, or was given for another course of the game."
    ),
    Check.RECEIPTS: "A receipt from the server shows another course of the game.",
    Check.ANCHOR: "The public log does not confirm this record.",
    Check.WITNESS: "The witnesses do not confirm the public log.",
    Check.SEAL: "The end of the record does not fit the rest of it, or the file beside it.",
    Check.SEQUENCE: "A hand of the table is missing or doubled, or does not follow the one before.",
}
"""What it means that a check fails: one sentence without technical terms."""

PASSES: Final[Mapping[Check, str]] = {
    Check.BYTES: "Every line is written as the server writes it.",
    Check.CHAIN: "No part of the record was changed after it was written.",
    Check.ORDER: "Nothing is missing, put in, or out of order.",
    Check.COMMITMENTS: "The secret numbers are those that were fixed before the deal.",
    Check.SHUFFLE: "The deck and the dealer are those that the shuffle gives.",
    Check.OPENINGS: "Every card shown is the one that was fixed for its place in the deck.",
    Check.DEAL: "Every card went where the deal or the draw puts it.",
    Check.CUSTODY: "No seat played a card that it did not hold.",
    Check.LEGALITY: "The rules allow every action and lead to its result, time limits included.",
    Check.HIDDEN: "Face-down cards that were kept hidden could not be played.",
    Check.SIGNATURES: "Every move of a player with a key is signed for its moment.",
    Check.RECEIPTS: "The receipts from the server confirm this record.",
    Check.ANCHOR: "The public log contains this game.",
    Check.WITNESS: "The witnesses confirm the public log.",
    Check.SEAL: "The game is over, and its end fits the rest of the record.",
    Check.SEQUENCE: "The hands of the table fit together.",
}
"""What it means that a check passes."""

OPEN: Final[Mapping[Check, str]] = {
    Check.RECEIPTS: "No receipt from a player was given to compare with.",
    Check.ANCHOR: "The game was not looked up in the public log.",
    Check.WITNESS: "No witness was asked.",
    Check.SEAL: "The game was still running, so hidden cards are not known yet.",
    Check.SEQUENCE: "The other hands of the table were not compared.",
    Check.SIGNATURES: "No player signs moves with a key in this game.",
    Check.HIDDEN: "No face-down card was kept hidden.",
}
"""What it means that a check could not be made, or does not apply."""

ON_THE_MOVE: Final = "event"
"""The check of a finding about the disputed move itself."""

UNKNOWN: Final = "This could not be checked."

_OUTCOMES: Final[Mapping[str, str]] = {
    "turn": "the turn goes to seat {due}, not to seat {found}",
    "shithead": "the shithead is seat {due}, not seat {found}",
    "seat": "this concerns seat {due}, not seat {found}",
    "cleared_by": "seat {due} clears the pile, not seat {found}",
    "count": "the number of cards is {due}, not {found}",
    "place": "the place is {due}, not {found}",
}
"""The outcomes of a move in words, with the value in the record and the one that is due."""

_OUTCOME: Final = re.compile(r"(\w+) is (\d+), the rules give (\d+)")

_END: Final = re.compile(r"[;\n]|(?<=[a-z\])])[.:] ")


def plain(check: str, result: str) -> str:
    """
    Return what the result of a check means, in one sentence.

    >>> plain("custody", "fail")
    'A card was played or moved that was not there.'
    >>> plain("seal", "missing")
    'The game was still running, so hidden cards are not known yet.'
    """
    try:
        known = Check(check)
    except ValueError:
        return UNKNOWN
    if result == "fail":
        return FAILS[known]
    return PASSES[known] if result == "pass" else OPEN.get(known, UNKNOWN)


def finding_in_words(finding: Mapping[str, Any]) -> tuple[str, str]:
    """
    Return a finding of a dispute in one sentence, and its technical reason, "" if it has none.

    >>> finding_in_words({"check": "custody", "result": "fail", "text": "seat 1 does not hold 7h"})
    ('A card was played or moved that was not there.', 'seat 1 does not hold 7h')
    """
    check, result, text = finding["check"], finding["result"], finding["text"]
    if check != ON_THE_MOVE:
        return plain(check, result), shortened(text) if result == "fail" else ""
    name, _, reason = text.partition(" fails here: ")
    if result == "fail" and reason and name in {check.value for check in Check}:
        return FAILS[Check(name)], shortened(reason.removeprefix("not allowed: "))
    if result == "pass":
        return "The rules allow this move.", ""
    stated = shortened(text)
    return f"{stated[0].upper()}{stated[1:]}.", ""


def by_the_rules(reason: str) -> str | None:
    """
    Return what the rules say in place of a false outcome, None for any other reason.

    >>> by_the_rules("turn is 1, the rules give 2")
    'By the rules the turn goes to seat 2, not to seat 1.'
    """
    match = _OUTCOME.match(reason)
    if match is None or match[1] not in _OUTCOMES:
        return None
    return f"By the rules {_OUTCOMES[match[1]].format(found=match[2], due=match[3])}."


def sentences(text: str) -> str:
    """
    Return text with a sentence in place of each clause after a semicolon.

    >>> sentences("this log says: seat 1 passed; the server accepted it")
    'this log says: seat 1 passed. The server accepted it'
    """
    first, *others = text.split("; ")
    return ". ".join([first, *(f"{clause[:1].upper()}{clause[1:]}" for clause in others)])


def shortened(text: str, words: int = MOST_WORDS) -> str:
    """
    Return the first clause of a technical text, with at most a number of words.

    A longer clause is cut at a comma, else within the sentence.

    >>> shortened("seat 1 does not hold 7h; 3 more, at seq 4, 5, 6")
    'seat 1 does not hold 7h'
    >>> shortened("one two three four", 3)
    'one two three …'
    """
    clause = _END.split(text, maxsplit=1)[0].split()
    if len(clause) <= words:
        return " ".join(clause)
    cut = " ".join(clause[:words])
    return cut.rpartition(",")[0] or f"{cut} …"

"""Findings in plain words, for referees and players who do not know the format."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from service.domain.cards import Card, Rank, named
from service.replay.captions import spelled
from service.verify.finding import BUDGET, Check

NOT_ALLOWED: Final = "not allowed: "
"""Begins the reason of a failure at an action that a rule forbids."""

REMOVED: Final = "events between them were removed"
"""In the reason of a broken link that no single changed event explains."""

MAX_WORDS: Final = 30
"""Maximum number of words of a sentence in a summary or a finding."""

FAILS: Final[Mapping[Check, str]] = {
    Check.BYTES: "This was edited or damaged: the server never writes a line or file like this.",
    Check.CHAIN: "The record was changed here after it was written, or is put together from parts.",
    Check.ORDER: "Events are missing here, were inserted, or are in the wrong order.",
    Check.COMMITMENTS: "A secret number is not the one that was fixed before the deal.",
    Check.SHUFFLE: "The deck or the dealer does not agree with the shuffle.",
    Check.OPENINGS: "The card shown is not the one that the deal put there.",
    Check.DEAL: "The cards did not go where the deal or the draw puts them.",
    Check.CUSTODY: "A card was played or moved that was not there.",
    Check.LEGALITY: "The rules do not allow this, or lead to another result.",
    Check.HIDDEN: "A face-down card that could be played was kept hidden.",
    Check.SIGNATURES: (
        "A player's signature is missing, or was made for another course of the game."
    ),
    Check.RECEIPTS: "A receipt from the server shows another course of the game.",
    Check.ANCHOR: "The public log does not confirm this record.",
    Check.WITNESS: "The witnesses do not confirm the public log.",
    Check.SEAL: "The end of the record does not match its events or the list of refused moves.",
    Check.SEQUENCE: (
        "A hand of the table is missing or repeated, or does not follow the one before."
    ),
}
"""The meaning of a failed check, in one sentence without technical terms."""

PASSES: Final[Mapping[Check, str]] = {
    Check.BYTES: "Every line is written as the server writes it.",
    Check.CHAIN: "No event was changed without changing all later events too.",
    Check.ORDER: "No event is missing, inserted, or out of order.",
    Check.COMMITMENTS: "The secret numbers are those that were fixed before the deal.",
    Check.SHUFFLE: "The deck and the dealer are those that the shuffle gives.",
    Check.OPENINGS: "Every card shown is the one that was fixed for its place in the deck.",
    Check.DEAL: "Every card went where the deal or the draw puts it.",
    Check.CUSTODY: "No seat played a card that it did not hold.",
    Check.LEGALITY: "The rules allow every action and lead to its result, time limits included.",
    Check.HIDDEN: "Face-down cards that were kept hidden could not be played.",
    Check.SIGNATURES: "Every move of a player with a key is signed, for its place in the game.",
    Check.RECEIPTS: "The receipts from the server confirm this record.",
    Check.ANCHOR: "The public log contains this game.",
    Check.WITNESS: "The witnesses confirm the public log.",
    Check.SEAL: "The game is over, and its end fits the rest of the record.",
    Check.SEQUENCE: "The hands of the table fit together.",
}
"""The meaning of a passed check."""

OPEN: Final[Mapping[Check, str]] = {
    Check.RECEIPTS: (
        "No receipt was supplied to show that the server did not replace the whole record."
    ),
    Check.ANCHOR: (
        "No proof from the public log was supplied to show that the server published this."
    ),
    Check.WITNESS: "No witness was asked whether the public log is the same for all.",
    Check.SEAL: "The game was still running, so hidden cards are not known yet.",
    Check.SEQUENCE: "The other hands of the table were not compared.",
    Check.SIGNATURES: "No player signs moves with a key in this game.",
    Check.HIDDEN: "No face-down card was kept hidden.",
}
"""The meaning of a check that could not be made or does not apply."""

ON_THE_MOVE: Final = "event"
"""The name used instead of a check for a finding on the disputed move itself."""

UNKNOWN: Final = "This could not be checked."

_EVENTS: Final[Mapping[str, str]] = {
    "cards_played": "the cards are played",
    "blind_failed": "the card that was turned does not fit",
    "stock_failed": "the card that was turned does not fit",
    "pile_picked_up": "the pile is taken",
    "turn_passed": "the seat passes",
    "cards_drawn": "cards are drawn",
    "cards_thrown": "cards are thrown onto the pile",
    "pile_burned": "the pile burns",
    "seat_out": "the seat is out",
    "play_started": "play begins",
    "game_ended": "the hand is over",
    "game_sealed": "the record is closed",
    "turn_timed_out": "the time of a seat is up",
}
"""Predicates of events, for sentences on what the rules require instead."""

_REASONS: Final[tuple[tuple[str, str], ...]] = (
    (
        r"turn is (\d+), the rules give (\d+)",
        "The record gives the next turn to {0}. By the rules it belongs to {1}.",
    ),
    (r"turn is (\d+), the rules give none", "By the rules {0} does not have the turn next."),
    (r"turn is none, the rules give (\d+)", "By the rules the hand goes on with {0}."),
    (r"direction is ", "By the rules play goes on in the other direction."),
    (r"shithead is (\d+), the rules give (\d+)", "By the rules {1} is the shithead, not {0}."),
    (r"cleared_by is (\d+), the rules give (\d+)", "By the rules {1} clears the pile, not {0}."),
    (r"taker is (\d+), the rules give (\d+)", "By the rules {1} takes the pile, not {0}."),
    (r"seat is (\d+), the rules give (\d+)", "By the rules this concerns {1}, not {0}."),
    (r"count is (\d+), the rules give (\d+)", "By the rules the number of cards is {b}, not {a}."),
    (r"place is (\d+), the rules give (\d+)", "By the rules the place is {b}, not {a}."),
    (
        r"cause is set, the rules give rank",
        "By the rules its top card burns the pile, not a set of one rank.",
    ),
    (
        r"cause is rank, the rules give set",
        "By the rules a set of one rank burns the pile, not its top card alone.",
    ),
    (r"reason is (\w+), the rules give (\w+)", "By the rules the hand does not end like this."),
    (r"opening is none", "By the rules the turned card is shown to all."),
    (r"opening is .*, the rules give none", "By the rules the turned card stays hidden."),
    (
        r"the event is cards_played, the rules give (?:blind|stock)",
        "By the rules this card does not fit.",
    ),
    (
        r"the event is (?:blind|stock)_failed, the rules give cards_played",
        "By the rules this card fits.",
    ),
    (r"the event is \w+, the rules give (\w+)", "By the rules {event} instead."),
    (
        r"pile_burned is missing after it, by rank",
        "By the rules its top card burns the pile after this, and the record leaves it out.",
    ),
    (
        r"pile_burned is missing after it, by set",
        "By the rules a set of one rank burns the pile after this, and the record leaves it out.",
    ),
    (
        r"(\w+) is missing after it",
        "By the rules {event} after this, and the record leaves it out.",
    ),
    (r"\w+ does not follow from the move", "By the rules nothing of this kind happens here."),
    (
        r"a seat has not thrown",
        "By the rules a seat throws cards first, and the record leaves it out.",
    ),
    (r"timed out after (\d+\.\d).* s of (\d+)", "Only {a} of {b} seconds had passed."),
    (r"it is not the turn of seat (\d+)", "It was not the turn of {0}."),
    (r"a time-out at a table without", "This table has no time limit."),
    (
        r"a time-out in the exchange",
        "In the exchange the server may only make a silent seat ready, with the cards it has.",
    ),
    (r"the game was not waiting for seat (\d+)", "The game was not waiting for {0}."),
    (r"seat (\d+) is a bot, which does not leave", "{0} is a bot, and bots do not leave."),
    (r"aborted for entropy", "The shuffle was not waiting for this seat."),
    (r"the turn limit is greater than (\d+)", "No hand has more than {a} turns."),
    (r"the ruleset cannot be read", "The rules named in the record cannot be read."),
    (r"the deck is not the one of the ruleset", "By the rules the deck has other cards."),
    (r"position \d+ is opened, but", "The card shown came from another place of the deck."),
    (r"(\d+) cards are left, not (\d+)", "{a} cards were left in the stock, not {b}."),
    (
        r"the ruleset deals (\d+) down, (\d+) up and (\d+) to",
        "By the rules each seat gets {a} cards face down, {b} face up and {c} in the hand.",
    ),
    (r"the stock is empty", "The stock had no card left."),
    (r"no starter is turned", "By the rules a card is turned to start the pile."),
    (r"a starter is turned", "By the rules no card is turned to start the pile."),
    (r"a starter is put back", "By the rules this card is not put back under the stock."),
    (r"a special card starts", "By the rules a special card does not start the pile."),
    (r"more cards are dealt than", "More cards were dealt than the deck has."),
    (r"the pile has (\d+) cards?, not (\d+)", "The pile had {a} cards, not {b}."),
    (r"seat (\d+) goes out with cards", "{0} still had cards."),
    (r"(\S+) does not lie face up before seat (\d+)", "{card} did not lie face up before {1}."),
    (r"the cards of all zones together", "Cards are missing from the game, or are there twice."),
    (
        r"the number of cards shown is not",
        "The deal does not show, for each seat, as many face-up cards as were dealt.",
    ),
    (r"the card that was opened is not", "Another card was shown than the one that was played."),
    (r"position \d+ of the deck is not (\S+)", "By the shuffle it was not {card}."),
    (r"the commitment to position", "The shuffle of this game gives another order of the cards."),
    (r"(\d+) cards, not (\d+)", "The deck has {b} cards, not {a}."),
    (r"seat (\d+) deals, not seat (\d+)", "By the draw {1} is the dealer, not {0}."),
    (r"the published deck is not", "The deck published is not the one that was shuffled."),
    (r"a deck is published that was never", "A deck was published that was never fixed before."),
    (r"ruleset_hash is not", "The rules named here are not those that were fixed for the game."),
    (
        r"seat (\d+) revealed another value",
        "The secret number of {0} for the shuffle is not the one that it had fixed.",
    ),
    (
        r"the seed is another",
        "The secret number of the server for the shuffle is not the one that it had fixed.",
    ),
    (
        r"the opening of position \d+ as (\S+) is not",
        "Another card than {card} was fixed in this place before the deal.",
    ),
    (r"the number of refused attempts", "The number of refused moves does not fit their list."),
    (r"earlier than the event before", "It has an earlier time than the event before it."),
    (
        r"another time than seq (\d+)",
        "Its time differs from that of event {a}, although both belong to one move.",
    ),
    (r"an event of another game", "This entry comes from another game and was put in here."),
    (r"prev is not that of the first", "The record does not begin as that of this game."),
    (r"prev is not ", "This event, or it and the one before it, was changed after it was written."),
    (
        r"not the event that seq (\d+) names as the one before it: seq \d+ was",
        "Event {a} names a different event before it: this one was changed, or event {a} was.",
    ),
    (
        r"not the event that seq (\d+) names",
        "Events between this one and event {a} were removed, or one of these two was changed.",
    ),
    (
        r"the manifest is of a log that ends",
        "The file's cover sheet names another end of the game.",
    ),
    (
        r"the manifest is of ",
        "The file's cover sheet names another game, or a seat that is not there.",
    ),
    (
        r"seat (\d+) does not hold (\S+): seat (\d+) does",
        "Seat {a} did not hold {card}: seat {c} held it.",
    ),
    (
        r"seat (\d+) does not hold (\S+): it lies among the burned",
        "Seat {a} did not hold {card}: it lay among the burned cards.",
    ),
    (
        r"seat (\d+) does not hold (\S+): it lies ([a-z ]+(?:seat \d+)?)",
        "Seat {a} did not hold {card}: it lay {c}.",
    ),
    (r"seat (\d+) does not hold (\S+?)(?:;|$)", "Seat {a} did not hold {card} at this moment."),
    (r"(\S+) is not the card at position", "Another card than {card} lay there."),
    (r"(\S+) lies elsewhere", "That card lay elsewhere: {card}."),
    (r"(\S+) was kept hidden, but would", "This card was kept hidden, although it fitted: {card}."),
    (r"(\S+) was turned, and another card", "Another card was turned: {card}."),
    (r"there is no (\S+) in this game", "This deck does not have the card {card}."),
    (r"seat (\d+) plays from the table", "{0} still had cards in its hand."),
    (r"seat (\d+) turns a card while", "{0} still had face-up cards."),
    (r"slot \d+ of seat (\d+) holds no card", "{0} had no card in that place."),
    (r"seat (\d+) may not act now", "It was not the turn of {0}."),
    (
        r"seq is (\d+), not (\d+)",
        "The number {b} comes next, and this event has {a}: events are missing, or were put in.",
    ),
    (r"(?:game_aborted|\w+) after the seal", "The record was closed before."),
    (r"game_ended without", "The record is not closed after it."),
    (r"(?:game_sealed|game_aborted) begins no move", "The record was closed before."),
    (r"\w+ begins no move", "It can only follow from a move, and there is none before it."),
    (r"revealed before all", "Not every seat had fixed its share of the shuffle before."),
    (r"the deck is committed before", "Not every seat had contributed to the shuffle before."),
    (r"play starts before", "Not every seat was ready when play began."),
    (r"play does not start", "Every seat was ready, and the start of play is missing."),
    (r"play has not started", "Play had not begun."),
    (r"seat (\d+) is ready a second", "{0} was ready before."),
    (r"by is ", "The record attributes it to another seat, or to the server."),
    (r"there is no seat (\d+)", "The table does not have the seat that this event names."),
    (r"names a seat that is not one of the (\d+)", "The table has {a} seats, and not this one."),
    (r"another seat acts after the time-out", "After a time-out the seat that was late moves."),
    (r"another seat opens after", "By the rules another seat opens after this time-out."),
    (r"a seal of version", "It is written in another version of the format than the game."),
    (
        r".*fields missing: \[\], added: \[(.+?)\]",
        "A part named `{a}` was added, which does not belong there.",
    ),
    (r".*fields missing: \[(.+?)\]", "A part named `{a}` is missing from it."),
    (r"unknown_version", "There is no such version of this event."),
    (
        r"the key of seat (\d+) is of small order",
        "The key of {0} is one for which anybody can sign.",
    ),
    (
        r"the key of seat (\d+) is not the one supplied",
        "The key of {0} in this record is not the key that you entered for it.",
    ),
    (r"the key of seat (\d+): ", "The key of {0} is no key with which anybody can sign."),
    (
        r"a move of seat (\d+), which has a key, is not",
        "{0} signs its moves, and this move is not signed.",
    ),
    (
        r"this event must not have a signature",
        "It has a signature, although this event has to be without one.",
    ),
    (
        r"its nonce was used before",
        "The player signed an earlier move with the same one-time number, which is not allowed.",
    ),
    (
        r"the intent is of another game",
        "The signature on this move names another game, or another seat.",
    ),
    (
        r"the event is not the move that",
        "The player signed another move than the one in the record.",
    ),
    (
        r"the head that was seen is not",
        "The player signed this move after another course of the game than the record shows.",
    ),
    (
        r"the seat had not seen seq (\d+)",
        "The player signed this move before event {a}, which the record puts before it.",
    ),
    (
        r"the signature is not that of seat (\d+)",
        "The signature on this move is invalid: it was not made with the key of {0}.",
    ),
    (
        r".+ names seq (\d+), and the log ends before it",
        "The server signed a receipt for event {a}, and this record ends before that event.",
    ),
    (
        r".+ names another history than this one; they agree up to seq (\d+)",
        "A receipt agrees up to event {a}, and a later one is of another course of the game.",
    ),
    (
        r".+ names another history than this one; something up to seq (\d+)",
        "A receipt for event {a} is of another course of the game.",
    ),
    (r".+ is of another game, ", "One of the receipts belongs to another game."),
    (r".+ is invalid: ", "One of the receipts is damaged, or not signed with the server's key."),
    (r"an invalid log proof", "The file with the proof from the public log is damaged."),
    (
        r"the file (\S+) was (changed or damaged|removed|added) after",
        "The file {a} of the bundle was {b} after the bundle was made.",
    ),
    (
        r"the public log has another game",
        "The server published another game, or another course of this one.",
    ),
    (
        r"the public log names seq (\d+)",
        "The server published this game up to event {a}, and this record ends before it.",
    ),
    (
        r"the log proof does not lead",
        "The proof from the public log does not belong to this record.",
    ),
    (
        r"an invalid checkpoint",
        "The public log in the proof is not signed with the server's key that you entered.",
    ),
    (
        r"an invalid cosignature",
        "The signature of a witness on the public log is invalid.",
    ),
)
"""
Patterns of technical reasons, and the sentence for each.

`{0}` and `{1}` are seats, `{a}` to `{c}` values of the reason, `{event}` an event in words,
and `{card}` the first value that is a card.
"""

_CARD: Final = r"[2-9TJQKA][cdhs](?:/\d)?|X\d+"

_CLAUSE_END: Final = re.compile(r"[;\n]|(?<=[a-z\])])[.:] ")


def plain(check: str, result: str, reason: str | None = None) -> str:
    """
    Return the meaning of a check's result in one sentence; `reason` is that of the finding.

    >>> plain("custody", "fail")
    'A card was played or moved that was not there.'
    >>> plain("seal", "missing")
    'The game was still running, so hidden cards are not known yet.'
    >>> plain("anchor", "missing", "the server's key was not supplied: it would show the signer")
    "The server's key was not supplied: it would show the signer."
    """
    try:
        known = Check(check)
    except ValueError:
        return UNKNOWN
    if result == "fail":
        return FAILS[known]
    if result == "pass":
        return PASSES[known]
    if result == "missing" and reason not in (None, BUDGET):
        lacking = re.sub(r"\bseq (\d)", r"event \1", re.split(r"[.;] ", reason or "")[0])
        return f"{lacking[0].upper()}{lacking[1:]}."
    return OPEN.get(known, UNKNOWN)


def finding_in_words(finding: Mapping[str, Any]) -> tuple[str, str]:
    """
    Return a finding of a dispute in one sentence, and its technical reason, "" if it has none.

    >>> finding_in_words({"check": "custody", "result": "fail", "text": "seat 1 does not hold 7h"})
    ('A card was played or moved that was not there.', 'seat 1 does not hold 7h')
    """
    check, result, text = finding["check"], finding["result"], finding["text"]
    if check != ON_THE_MOVE:
        return plain(check, result, text), shortened(text) if result == "fail" else ""
    name, _, reason = text.partition(" fails here: ")
    if result == "fail" and reason and name in {check.value for check in Check}:
        return FAILS[Check(name)], shortened(reason.removeprefix(NOT_ALLOWED))
    if result == "pass":
        return "The rules allow this move.", ""
    stated = shortened(text)
    return f"{stated[0].upper()}{stated[1:]}.", ""


def in_words(reason: str) -> str | None:
    """
    Return the technical reason of a failure as a sentence, None if there is no plain one.

    >>> in_words("turn is 1, the rules give 2 [L3]")
    'The record gives the next turn to seat 1. By the rules it belongs to seat 2.'
    >>> in_words("pile_burned is missing after it")
    'By the rules the pile burns after this, and the record leaves it out.'
    >>> in_words("not allowed: a king does not fit on the pile [P7]")
    'The rules forbid this: a king does not fit on the pile (rule P7).'
    """
    forbidden = reason.startswith(NOT_ALLOWED)
    if forbidden and not reason.endswith("may not act now"):
        return _forbidden(reason.removeprefix(NOT_ALLOWED))
    reason = reason.removeprefix(NOT_ALLOWED)
    for pattern, sentence in _REASONS:
        match = re.match(pattern, reason)
        if match is None:
            continue
        values = [value.replace("'", "") for value in match.groups()]
        letters = dict(zip("abc", values, strict=False))
        first = values[0] if values else ""
        event = _EVENTS.get(first, "something else happens")
        codes = [value for value in values if re.fullmatch(_CARD, value)]
        card = spelled(Card(codes[0])) if codes else "the card"
        seats = [f"seat {value}" for value in values]
        text = sentence.format(*seats, event=event, card=card, **letters)
        return text[0].upper() + text[1:]
    return None


def _forbidden(refusal: str) -> str:
    """Return the rule behind a refusal, and what the seat could have played if that is known."""
    ranked = re.match(r"(\w) does not fit", refusal)
    rule = re.sub(r" \[([\w-]+)\]$", r" (rule \1)", shortened(refusal))
    rule = rule.replace("slot", "place")
    if ranked is not None:
        rule = f"{named(Rank(ranked[1]))}{rule[1:]}"
    instead = re.search(r"; seat (\d+) could have played ([^;\[]+)", refusal)
    if instead is None:
        return f"The rules forbid this: {rule}."
    *cards, last = (spelled(Card(code)) for code in instead[2].split() if code != "or")
    either = f"{', '.join(cards)} or {last}" if cards else last
    return f"The rules forbid this: {rule}. Seat {instead[1]} could have played {either}."


def sentences(text: str) -> str:
    """
    Return text with a sentence in place of each clause after a semicolon.

    >>> sentences("this log states: seat 1 passed; the server accepted it")
    'this log states: seat 1 passed. The server accepted it'
    """
    first, *others = text.split("; ")
    return ". ".join([first, *(f"{clause[:1].upper()}{clause[1:]}" for clause in others)])


def shortened(text: str, words: int = MAX_WORDS) -> str:
    """
    Return the first clause of a technical text, with at most a number of words.

    A longer clause ends at the last comma among these words, or after them with "…".

    >>> shortened("seat 1 does not hold 7h; 3 more, at seq 4, 5, 6")
    'seat 1 does not hold 7h'
    >>> shortened("one two three four", 3)
    'one two three …'
    """
    clause = _CLAUSE_END.split(text, maxsplit=1)[0].split()
    if len(clause) <= words:
        return " ".join(clause)
    cut = " ".join(clause[:words])
    return cut.rpartition(",")[0] or f"{cut} …"

"""Summary of a failed report: the change, its possible authors, and further useful evidence."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from service.domain.cards import Card
from service.domain.words import counted
from service.replay.captions import listed, spelled
from service.replay.sentences import sentence
from service.shx.event_shapes import ACTIONS, EXCHANGE
from service.verify.claims import Claim, Explanation
from service.verify.clauses import MAX_WORDS, sentences
from service.verify.finding import Check, EvidenceWeight, Finding, Result, fails
from service.verify.log import Authorship

FILE: Final = "FILE"
"""Placeholder for the name of the file in commands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """
    The answer to a log that fails: the change, its possible authors, and useful evidence.

    It is written for readers who do not know the format: no sentence has more than 30 words.
    """

    changed: str
    author: str
    proof: str  # with FILE for the file

    def lines(self, name: str = FILE) -> tuple[str, str, str]:
        """Return the three lines that a report on the file `name` begins with."""
        return (
            f"What was changed: {self.changed}",
            f"Who can have done it: {self.author}",
            f"What would prove more: {self.proof.replace(FILE, shlex.quote(name))}",
        )


def summary_of(
    game: str | None,
    findings: Sequence[Finding],
    explanations: Sequence[Explanation],
    authorship: Authorship,
) -> Summary | None:
    """Return the summary of a log that fails a check, None if it fails none."""
    failed = [finding for finding in findings if finding.result is Result.FAIL]
    if not failed:
        return None
    if not explanations:
        return _without_event(game, failed)
    explanation = min(explanations, key=_order)
    return Summary(
        changed=_changed(explanation),
        author=_author(explanation, authorship),
        proof=_proof(game, explanation, authorship),
    )


def _order(explanation: Explanation) -> tuple[bool, int, bool]:
    """
    Return the sort key of an explanation; the summary is about the first one.

    A seed other than the committed one comes first, because it changes all cards. A fault of an
    event comes before a receipt or proof of another history, because it explains more. A gap
    comes before a fault of the event before it, which it explains.
    """
    outside = explanation.check in (Check.RECEIPTS, Check.ANCHOR)
    seq = explanation.seq - (2 if _removal(explanation) else 0)
    return explanation.check is not Check.COMMITMENTS, seq, outside


def _without_event(game: str | None, failed: Sequence[Finding]) -> Summary:
    """Return the summary of failures that name no event, or prove nothing by themselves."""
    first = failed[0]
    detail = sentence(first.code, first.values) if first.code else ""
    text = " ".join(filter(None, (fails(first.check), detail)))
    objections = [one for finding in failed for one in finding.objections]
    if all(one.weight is EvidenceWeight.NOTHING for one in objections):
        return Summary(
            changed=f"Nothing in the record itself is shown to be changed. {detail}",
            author="Nobody can be blamed for this alone: any holder of that file can damage it.",
            proof=(
                "Ask the player who gave you that file for it again, or leave it out."
                f" Run `shithead verify {FILE}` again, with the new file or without any."
                " If nothing fails then, only that file was at fault."
            ),
        )
    if all(one.weight is not EvidenceWeight.AGAINST for one in objections):
        return Summary(
            changed=f"{text} It is not shown that the server signed it.",
            author="A person who had this file, or the author of the evidence supplied with it.",
            proof=(
                f"{_KEY} Run the command again with `--server-key keys.json`."
                " If the same check fails then, this file is not the record that the server signed."
            ),
        )
    if first.check is Check.BYTES:
        return Summary(
            changed=f"{detail} Which event was changed is not shown.",
            author=_CHANGED_LATER.format(_MISFIT),
            proof=_from_others(game),
        )
    return Summary(
        changed=f"{text} Which event was changed is not shown.",
        author=f"{_TWO} This file does not show which.",
        proof=_from_others(game),
    )


def _changed(explanation: Explanation) -> str:
    seq = explanation.seq
    place = f"Event {seq}, which is line {seq + 1} of the record."
    if explanation.turn is not None:
        place = f"Event {seq}, in turn {explanation.turn} of the hand."
    stated = (
        [] if explanation.happened is None else [f"It states: {_in_short(explanation.happened)}."]
    )
    if removal := _removal(explanation):
        return " ".join([removal, *stated, _COUNTED])
    detail = _detail(explanation)
    general = "" if explanation.check in _SELF_EXPLAINING else fails(explanation.check)
    return " ".join([place, *stated, *([general] if general else []), detail, _COUNTED])


def _removal(explanation: Explanation) -> str | None:
    """Return what a gap in the record shows, None if its reason is none: removal comes first."""
    if explanation.check is not Check.CHAIN:
        return None
    line = f"is in line {explanation.seq + 1} of the record."
    named, due = (explanation.values.get(name) for name in ("named", "expected"))
    if isinstance(named, int) and isinstance(due, int) and named > due:
        missing = f"Events {due} to {named - 1} are missing: they were removed"
        if named == due + 1:
            missing = f"Event {due} is missing: it was removed"
        return f"{missing}, or event {named} has a wrong number. Event {named} {line}"
    if explanation.code != "chain.removed":
        return None
    before, after = explanation.seq, explanation.seq + 1
    why = "were removed, or one of these two was changed."
    return f"Events between event {before} and event {after} {why} Event {before} {line}"


_COUNTED: Final = "The first event has number 0, the first seat is seat 0."

_SELF_EXPLAINING: Final = (
    Check.LEGALITY,
    Check.SHUFFLE,
    Check.CHAIN,
    Check.COMMITMENTS,
    Check.OPENINGS,
    Check.DEAL,
    Check.CUSTODY,
    Check.SIGNATURES,
    Check.RECEIPTS,
    Check.ANCHOR,
)
"""Checks whose sentence for the reason needs no general sentence before it."""


def _detail(explanation: Explanation) -> str:
    """Return the reason of the failure in plain words; with the seat on turn if another moved."""
    if explanation.code != "legality.not_on_turn":
        reason = sentence(explanation.code, explanation.values)
        return " ".join((reason, *_rule(explanation), *_meaning(explanation)))
    seat = explanation.values["seat"]
    if explanation.kind in EXCHANGE:
        return f"Seat {seat} could not exchange cards any more: it was ready already."
    if explanation.due not in (None, seat):
        return (
            f"It was the turn of seat {explanation.due}, not of seat {seat}."
            f" Or a move of seat {explanation.due} that belongs before it is missing."
        )
    return f"It was not the turn of seat {seat}."


def _rule(explanation: Explanation) -> Iterator[str]:
    if explanation.rule is not None:
        yield sentence("report.rule", {"rule": explanation.rule})


def _meaning(explanation: Explanation) -> Iterator[str]:
    """Yield what follows from the failure: the card of a burn, and what a signature shows."""
    if explanation.on_top is not None and _is_of_a_burn(explanation):
        yield f"The last card played before it is {spelled(Card(explanation.on_top))}."
    if explanation.signed_move is not None:
        yield f"The player signed this: {_move_in_words(explanation.signed_move)}."
    elif explanation.signer is not None and not _shows_earlier_change(explanation):
        yield f"So nothing shows that the player of seat {explanation.signer} made this move."


def _shows_earlier_change(explanation: Explanation) -> bool:
    """Return whether a valid signature shows that an event before the move was changed."""
    return explanation.code in ("signatures.seen", "signatures.stale")


def _is_of_a_burn(explanation: Explanation) -> bool:
    """Return whether the failure is at a burn, or at one that is left out."""
    code = explanation.code
    instead = code == "legality.instead" and explanation.values["event"] == "pile_burned"
    return instead or code.startswith(("legality.cause_", "legality.unburned_"))


MAX_CARDS: Final = 4
"""The most cards of a play that are named in a sentence."""

_MOVES: Final = {
    "play_blind": "turn a face-down card",
    "pick_up": "take the pile",
    "try_stock": "try the top card of the stock",
    "swap": "exchange cards",
    "lay": "lay cards face up",
    "forfeit": "give up the hand",
}


def _move_in_words(move: Mapping[str, Any]) -> str:
    """Return a signed move in words; for many cards with their number instead of their names."""
    kind = str(move["type"])
    if kind != "play":
        return _MOVES.get(kind, kind)
    cards = move["cards"]
    if len(cards) > MAX_CARDS:
        return f"play {counted(len(cards), 'card')}"
    return f"play {listed(spelled(Card(card)) for card in cards)}"


def _in_short(stated: str) -> str:
    """Return the text of an event, split at its verbs if it is too long for one sentence."""
    if len(stated.split()) <= MAX_WORDS - 2:
        return sentences(stated)
    return re.sub(r"(?:,| and) (took|put|turned|left|drew) ", r". It \1 ", sentences(stated))


_TWO: Final = (
    "Two parties are possible: a person who had this file before you, or the operator, who runs"
    " the server."
)


def _author(explanation: Explanation, authorship: Authorship) -> str:
    if explanation.seq in authorship.signed:
        return (
            "The operator, who runs the server: by the supplied keys, the server signed the record"
            " with this event in it. A player cannot make that signature."
            f" {_why_no_player(explanation)}"
        )
    if authorship.contradicted:
        return (
            "A person who had this file and changed it: by the supplied keys, the server signed"
            " another course of the game. Or the operator, if the server itself gives out this"
            " file: then it made two records."
        )
    if authorship.denied is not None:
        return _CHANGED_LATER.format(_DAMAGED.get(explanation.check, _MISFIT))
    return f"{_TWO} This file does not show which. {_why_no_player(explanation)}"


_CHANGED_LATER: Final = (
    "A person who had this file and changed it after the server wrote it: {}."
    " That may be anybody, also a player or the operator. This file does not show who."
)
_MISFIT: Final = "the parts of the file do not fit together any more"
_DAMAGED: Final = {Check.BYTES: "the server never writes such a line"}


def _why_no_player(explanation: Explanation) -> str:
    """Return why no player alone can have caused an event that the server wrote."""
    why = "the server alone writes the record"
    if explanation.signer is not None and not _shows_earlier_change(explanation):
        return _why_not_the_signer(
            explanation.signer, other_move=explanation.signed_move is not None
        )
    if explanation.claim is Claim.DECK:
        why = "the server shuffles and deals"
        if explanation.kind.startswith("entropy_"):
            why = "the server checks what players add to the shuffle before it writes it down"
    elif explanation.claim is Claim.ACTIONS and explanation.kind in ACTIONS:
        why = "the server checks every move before it writes it down"
    elif explanation.claim is Claim.ACTIONS:
        why = "the server works this out and writes it down"
    bot = ""
    if explanation.by_bot and explanation.claim is Claim.ACTIONS:
        bot = f" Seat {explanation.by_seat} is a bot, which the server moves."
    return f"During the game no player could do this alone: {why}.{bot}"


def _why_not_the_signer(seat: int, *, other_move: bool) -> str:
    """Return why an invalid signature is no evidence against the player of its seat."""
    if other_move:
        return (
            "During the game no player could do this alone: the server refuses a move that is not"
            " the signed one. The signature is right: it is evidence in favour of the player of"
            f" seat {seat}."
        )
    return (
        "During the game no player could do this alone: the server refuses a move without the"
        f" right signature. It is no proof against the player of seat {seat}: anybody can copy or"
        " invent a signature, and only that player's key makes a right one."
    )


_RECEIPTS: Final = (
    "Ask the players for their receipts of this game: short files with the server's signature,"
    " which their program or browser saved at the moves."
)
_KEY: Final = (
    "The file keys.json has the server's public keys, not a player's: they show whether the server"
    " signed a receipt. Take it from a player whom you do not suspect, who saved it when the game"
    " was played. The program in the terminal names it server.keys. A suspect can invent keys,"
    " and receipts that fit them. The server's page /v1/keys is a second source, unless the"
    " operator is a suspect."
)
_SAME_KEYS: Final = (
    "This depends on the server's keys that you supplied. If a suspect sent them, run the command"
    " again with those of a player whom you do not suspect: keys.json, or server.keys."
)


def _proof(game: str | None, explanation: Explanation, authorship: Authorship) -> str:
    if explanation.seq in authorship.signed:
        return (
            "To blame the operator, nothing more is needed if the supplied keys are the server's."
            f" {_SAME_KEYS} {_how_to_see_it(explanation)}"
        )
    if authorship.contradicted:
        return (
            "Ask the player whose receipt it is for the events that their program saved"
            " (events.jsonl). Put the receipts into a folder and run"
            " `shithead verify events.jsonl --receipt FOLDER --server-key keys.json`."
            " If `receipts` passes, theirs is the record that the server signed."
            " If it fails, theirs was changed too."
            f" {_SAME_KEYS}"
        )
    if authorship.denied is not None:
        return _from_others(game)
    return (
        f"{_RECEIPTS} {_KEY}"
        " Put the receipts into a folder and run"
        f" `shithead verify {FILE} --receipt FOLDER --server-key keys.json`."
        " If the second line then names the operator alone, the server itself recorded this"
        " event. If `receipts` finds another course of the game, this file is not the record that"
        " the server signed."
        " If neither happens, the receipts are older than this event: ask for later ones."
    )


def _how_to_see_it(explanation: Explanation) -> str:
    """Return the command that shows an event, and a note that an unsigned move proves nothing."""
    if explanation.by_seat is None:
        return f"Run `shithead replay {FILE} --at {explanation.seq + 1}` to see the moment."
    text = f"Run `shithead audit {FILE} --move {explanation.seq}` to see the move."
    if explanation.by_bot:
        return text
    return (
        f"{text} Whether the player of seat {explanation.by_seat} asked for it cannot be shown:"
        " this move has no signature of a player."
    )


def _from_others(game: str | None) -> str:
    """Return how to compare the file with another copy of the same game."""
    where = f"/v1/games/{game}/evidence" if game is not None else "/v1/games/ID/evidence"
    return (
        "Ask another player for their file of this game, and save the server's: open its web"
        f" address with {where} behind it. Run `shithead verify OTHER.shx` with each."
        " If nothing fails in the server's file, this one was changed after it left the server."
        " If the server's file fails at the same event, the server gives out a faulty record."
        " If only the player's file fails as well, it is a copy of this one or was changed too:"
        " ask where it comes from."
    )

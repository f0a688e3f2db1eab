"""Summary of a failed report: the change, its possible authors, and further useful evidence."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from schemas.moves import MOVES
from service.replay.sentences import Sentence, begun, sentence
from service.shx.event_shapes import ACTIONS, EXCHANGE
from service.verify.claims import MAX_CARDS, Claim, Explanation, in_brief
from service.verify.finding import Check, EvidenceWeight, Finding, Result
from service.verify.log import Authorship

FILE: Final = "FILE"
"""Placeholder for the name of the file in commands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """
    The answer to a log that fails: the change, its possible authors, and useful evidence.

    It is written for readers who do not know the format: no sentence has more than 30 words.
    """

    change: tuple[Sentence, ...]
    authors: tuple[Sentence, ...]
    evidence: tuple[Sentence, ...]

    @property
    def changed(self) -> str:
        """Return in words what was changed."""
        return _text(self.change)

    @property
    def author(self) -> str:
        """Return in words who can have changed it."""
        return _text(self.authors)

    @property
    def proof(self) -> str:
        """Return in words what would prove more."""
        return _text(self.evidence)

    def parts(self, name: str = FILE) -> Iterator[tuple[str, str]]:
        """Yield the code of each title with its text, in a report on the file `name`."""
        yield "summary.changed", self.changed
        yield "summary.author", self.author
        yield "summary.proof", _text(self.evidence, file=shlex.quote(name))

    def lines(self, name: str = FILE) -> tuple[str, ...]:
        """Return the three lines that a report on the file `name` begins with."""
        return tuple(f"{sentence(code)}: {text}" for code, text in self.parts(name))


def _text(sentences: Iterable[Sentence], file: str = FILE) -> str:
    """Return sentences as one text; `file` is the file in their commands."""
    return " ".join(begun(sentence(one.code, {"file": file, **one.values})) for one in sentences)


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
        change=tuple(_changed(explanation)),
        authors=tuple(_authors(explanation, authorship)),
        evidence=tuple(_evidence(game, explanation, authorship)),
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
    reason = [] if first.code is None else [Sentence(code=first.code, values=first.values)]
    detail = [Sentence(code=f"fails.{first.check}"), *reason]
    weights = {one.weight for finding in failed for one in finding.objections}
    if weights == {EvidenceWeight.NOTHING}:
        return _summary(
            [Sentence(code="changed.nothing"), *reason], ["author.nobody"], ["proof.other_file"]
        )
    if EvidenceWeight.AGAINST not in weights:
        return _summary(
            [*detail, Sentence(code="changed.unsigned")],
            ["author.holder_or_supplier"],
            [*_KEY, "proof.with_key"],
        )
    others = tuple(_from_others(game))
    if first.check is Check.BYTES:
        change = [*reason, Sentence(code="changed.somewhere")]
        return Summary(change=tuple(change), authors=_changed_later(None), evidence=others)
    change = [*detail, Sentence(code="changed.somewhere")]
    return Summary(change=tuple(change), authors=_sentences("author.two"), evidence=others)


def _summary(
    change: Iterable[Sentence], authors: Iterable[str], evidence: Iterable[str]
) -> Summary:
    return Summary(
        change=tuple(change), authors=_sentences(*authors), evidence=_sentences(*evidence)
    )


def _sentences(*codes: str) -> tuple[Sentence, ...]:
    return tuple(Sentence(code=code) for code in codes)


def _changed(explanation: Explanation) -> Iterator[Sentence]:
    removal = _removal(explanation)
    if removal is not None:
        yield removal
    elif explanation.turn is not None:
        place = {"at": explanation.seq, "turn": explanation.turn}
        yield Sentence(code="changed.in_turn", values=place)
    else:
        place = {"at": explanation.seq, "line": explanation.seq + 1}
        yield Sentence(code="changed.line", values=place)
    if explanation.happened is not None:
        yield Sentence(code="changed.states", values={"what": in_brief(explanation.happened)})
    if removal is None:
        if explanation.check not in _SELF_EXPLAINING:
            yield Sentence(code=f"fails.{explanation.check}")
        yield from _detail(explanation)
    yield Sentence(code="changed.counted")


def _removal(explanation: Explanation) -> Sentence | None:
    """Return what a gap in the record shows, None if its reason is none: removal comes first."""
    if explanation.check is not Check.CHAIN:
        return None
    seq = explanation.seq
    named, due = (explanation.values.get(name) for name in ("named", "expected"))
    if isinstance(named, int) and isinstance(due, int) and named > due:
        code = "changed.missing_one" if named == due + 1 else "changed.missing"
        place = {"from": due, "to": named - 1, "at": named, "line": seq + 1}
        return Sentence(code=code, values=place)
    if explanation.code != "chain.removed":
        return None
    return Sentence(code="changed.removed", values={"at": seq, "to": seq + 1, "line": seq + 1})


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


def _detail(explanation: Explanation) -> Iterator[Sentence]:
    """Yield the reason of the failure; with the seat on turn if another moved."""
    if explanation.code != "legality.not_on_turn":
        yield Sentence(code=explanation.code, values=explanation.values)
        if explanation.rule is not None:
            yield Sentence(code="report.rule", values={"rule": explanation.rule})
        yield from _meaning(explanation)
        return
    seat = {"seat": explanation.values["seat"]}
    if explanation.kind in EXCHANGE:
        yield Sentence(code="changed.was_ready", values=seat)
    elif explanation.due not in (None, seat["seat"]):
        due = {**seat, "due": explanation.due}
        yield Sentence(code="changed.other_on_turn", values=due)
        yield Sentence(code="changed.move_missing", values=due)
    else:
        yield Sentence(code=explanation.code, values=seat)


def _meaning(explanation: Explanation) -> Iterator[Sentence]:
    """Yield what follows from the failure: the card of a burn, and what a signature shows."""
    if explanation.on_top is not None and _is_of_a_burn(explanation):
        yield Sentence(code="changed.on_top", values={"card": explanation.on_top})
    if explanation.signed_move is not None:
        yield Sentence(
            code="changed.signed_move", values={"move": move_sentence(explanation.signed_move)}
        )
    elif explanation.signer is not None and not _shows_earlier_change(explanation):
        yield Sentence(code="changed.not_by_player", values={"seat": explanation.signer})


def _shows_earlier_change(explanation: Explanation) -> bool:
    """Return whether a valid signature shows that an event before the move was changed."""
    return explanation.code in ("signatures.seen", "signatures.stale")


def _is_of_a_burn(explanation: Explanation) -> bool:
    """Return whether the failure is at a burn, or at one that is left out."""
    code = explanation.code
    instead = code == "legality.instead" and explanation.values["event"] == "pile_burned"
    return instead or code.startswith(("legality.cause_", "legality.unburned_"))


def move_sentence(move: Mapping[str, Any]) -> Sentence:
    """Return a signed move in words; for many cards with their number instead of their names."""
    kind = str(move["type"])
    if kind == "try_stock":
        return Sentence(code="act.try_stock")
    if kind not in MOVES:
        return Sentence(code="signed.other")
    if kind != "play":
        return Sentence(code=f"signed.{kind}")
    cards = tuple(map(str, move["cards"]))
    if len(cards) > MAX_CARDS:
        return Sentence(code="signed.play.many", values={"n": len(cards)})
    return Sentence(code="signed.play", values={"cards": cards})


def _authors(explanation: Explanation, authorship: Authorship) -> Iterator[Sentence]:
    if explanation.seq in authorship.signed:
        yield from _sentences("author.signed", "author.no_player_signs")
        yield from _why_no_player(explanation)
    elif authorship.contradicted:
        yield from _sentences("author.contradicted", "author.or_two_records")
    elif authorship.denied is not None:
        yield from _changed_later(explanation.check)
    else:
        yield from _sentences("author.two")
        yield from _why_no_player(explanation)


def _changed_later(check: Check | None) -> tuple[Sentence, ...]:
    code = "author.later.line" if check is Check.BYTES else "author.later.parts"
    return _sentences(code, "author.anybody")


def _why_no_player(explanation: Explanation) -> Iterator[Sentence]:
    """Yield why no player alone can have caused an event that the server wrote."""
    if explanation.signer is not None and not _shows_earlier_change(explanation):
        seat = {"seat": explanation.signer}
        other = explanation.signed_move is not None
        codes = ("other_move", "in_favour") if other else ("signature", "no_proof")
        yield from (Sentence(code=f"alone.{code}", values=seat) for code in codes)
        return
    yield Sentence(code=f"alone.{_writes(explanation)}")
    if explanation.by_bot and explanation.claim is Claim.ACTIONS:
        yield Sentence(code="alone.bot", values={"seat": explanation.by_seat})


def _writes(explanation: Explanation) -> str:
    """Return what the server does that no player can do."""
    if explanation.claim is Claim.DECK:
        return "entropy" if explanation.kind.startswith("entropy_") else "deck"
    if explanation.claim is Claim.ACTIONS:
        return "move" if explanation.kind in ACTIONS else "outcome"
    return "record"


_KEY: Final = ("proof.key", "proof.key.source", "proof.key.invented", "proof.key.page")
_SAME_KEYS: Final = ("proof.same_keys", "proof.same_keys.again")


def _evidence(
    game: str | None, explanation: Explanation, authorship: Authorship
) -> Iterator[Sentence]:
    if explanation.seq in authorship.signed:
        yield from _sentences("proof.operator", *_SAME_KEYS)
        yield from _how_to_see_it(explanation)
    elif authorship.contradicted:
        yield from _sentences("proof.saved_events", "proof.check_saved", "proof.saved_passes")
        yield from _sentences("proof.saved_fails", *_SAME_KEYS)
    elif authorship.denied is not None:
        yield from _from_others(game)
    else:
        yield from _sentences("proof.receipts", *_KEY, "proof.check_receipts")
        yield from _sentences("proof.operator_named", "proof.other_course", "proof.too_old")


def _how_to_see_it(explanation: Explanation) -> Iterator[Sentence]:
    """Yield the command that shows an event, and that an unsigned move proves nothing."""
    if explanation.by_seat is None:
        yield Sentence(code="proof.see_event", values={"version": explanation.seq + 1})
        return
    yield Sentence(code="proof.see_move", values={"at": explanation.seq})
    if not explanation.by_bot:
        yield Sentence(code="proof.unsigned", values={"seat": explanation.by_seat})


def _from_others(game: str | None) -> Iterator[Sentence]:
    """Yield how to compare the file with another copy of the same game."""
    yield Sentence(code="proof.other_copies", values={"game": game or "ID"})
    yield from _sentences("proof.check_copies", "proof.copy_passes")
    yield from _sentences("proof.copy_fails", "proof.only_copy_fails")

"""Decisions, custody and knowledge as text, with the statements they cite."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from textwrap import wrap
from typing import Final, Protocol, TypeVar

from schemas.views import Json
from service.domain.cards import HIDDEN

WIDTH: Final = 100
Row = TypeVar("Row")
RuleText = Callable[[str], str | None]
"""Returns the text of a statement; None if it is unknown."""


class Objection(Protocol):
    """A failure of a check at an event, as reported by the verifier."""

    @property
    def check(self) -> str:
        """Return the name of the check."""

    @property
    def reason(self) -> str | None:
        """Return the reason of the failure."""

    @property
    def rule(self) -> str | None:
        """Return the statement that decides it; None if there is none."""


def decision_text(
    found: Json,
    rule_text: RuleText,
    against: Sequence[Objection] = (),
    *,
    unknown: str | None = None,
    answers: Sequence[str] = (),
) -> str:
    """
    Return a decision as text, with the failures of checks at its events.

    `unknown` describes the part of the game that is no longer known. `answers` names the
    party responsible for the failures. Statements cited by failures are listed first.
    """
    lines = [_heading(found), *_unknown(unknown)]
    if found["saw"] is not None:
        lines += ["", "saw", *_saw(found["saw"], found["seat"])]
    if unknown is not None and found["saw"] is not None and found["legal"] is None:
        lines += ["", "legal", "  unknown: they depend on the hand, which is hidden"]
    lines += _section("legal", found["legal"], _legal)
    lines += _section("not legal", found["not_legal"], _not_legal)
    if found["did"] is not None:
        lines += ["", f"did       {move_text(found['did'])}"]
    lines += _section("against it", against, _objection)
    lines += _section("who answers for it", answers, lambda said: (said,))
    lines += _section("followed", found["effects"], _effect)
    lines += _section("refused before", found["refused"], _refused)
    lines += [f"  unproven: {said}" for said in (found.get("unproven"),) if said]
    cited = [objection.rule for objection in against if objection.rule]
    cited += [rule for line in _cited(found) for rule in line]
    return _text((*lines, "", "statements", *_statements(cited, rule_text)))


def custody_text(found: Json, *, unknown: str | None = None) -> str:
    """Return the path of a card as text, one line for each place; `unknown` as in a decision."""
    place = "an unknown position" if found["p"] is None else f"position {found['p']}"
    lines = [f"custody of {found['card']}, {place} of the deck", *_unknown(unknown), ""]
    rows = [
        (f"{part['from_seq']}–{part['to_seq']}", _zone(part), f"seen by {_seers(part['seen_by'])}")
        for part in found["path"]
    ]
    return _text((*lines, *_columns(rows), *([] if rows else ["  nothing is public of it yet"])))


def knowledge_text(found: Json, *, unknown: str | None = None) -> str:
    """Return the cards a seat could know as text, a line each; `unknown` as in a decision."""
    heading = f"what seat {found['seat']} could know at version {found['version']}"
    lines = [heading, *_unknown(unknown), ""]
    rows = [
        (line["card"], _zone(line), f"since seq {line['since_seq']}", _BY[line["by"]])
        for line in found["cards"]
    ]
    unseen = " ".join(found["unseen"]) or "none"
    answer = wrap(unseen, WIDTH - 2, initial_indent="  ", subsequent_indent="  ")
    title = "unseen" if unknown is None else "unseen, or not known to have been seen"
    return _text((*lines, *_columns(rows), "", f"{title} ({len(found['unseen'])})", *answer))


def move_text(move: Json) -> str:
    """Return a move in the words of a player."""
    match move["type"]:
        case "play":
            return f"play {' '.join(move['cards'])}"
        case "play_blind":
            return f"turn slot {move['slot']}"
        case "pick_up":
            along = f" with {' '.join(move['with'])}" if move.get("with") else ""
            return f"pick up{along}"
        case "swap":
            return f"swap {' '.join(move['up'])} for {' '.join(move['hand'])}"
        case "lay":
            return f"lay {' '.join('+'.join(stack) or '-' for stack in move['stacks'])}"
        case other:
            return str(other).replace("_", " ")


_BY: Final = {
    "own": "its own",
    "drawn": "drawn by it",
    "table": "lay face up",
    "pile": "lay on the pile",
    "shown": "was turned for all to see",
}


def _heading(found: Json) -> str:
    first, last = found["first"], found["last"]
    where = f"seq {first}" if first == last else f"seq {first}–{last}"
    who = "the server" if found["seat"] is None else f"seat {found['seat']}"
    late = ", its time was up" if found["timed_out"] else ""
    took = "" if found["milliseconds"] is None else f", after {found['milliseconds']} ms"
    return f"{where}, {found['at']}: {who}{late}{took}"


def _unknown(said: str | None) -> list[str]:
    return [] if said is None else ["", *wrap(said, WIDTH)]


def _saw(view: Json, seat: int) -> Iterator[str]:
    own = view["seats"][seat]
    asks = view["demand"]["kind"].replace("_", " ")
    rank = f" {view['demand']['rank']}" if view["demand"]["rank"] else ""
    yield f"  stock     {view['stock']} cards, {len(view['burned'])} burned"
    yield f"  pile      {' '.join(view['pile']) or '-'}  (asks for {asks}{rank})"
    yield f"  hand      {' '.join(_held(own['hand'])) or '-'}"
    for other in view["seats"]:
        up = " ".join("+".join(stack) or "-" for stack in other["up"]) or "-"
        down = " ".join("##" if there else "-" for there in other["down"]) or "-"
        held = f"{other['hand']['count']} in hand"
        known = " ".join(other["hand"]["known"])
        more = f", of these {known}" if known and other["seat"] != seat else ""
        yield f"  seat {other['seat']:<4} up {up} | down {down} | {held}{more}"


def _held(hand: Json) -> list[str]:
    """Return the cards of a hand, with a placeholder for each unknown card."""
    if hand["cards"] is not None:
        return list(hand["cards"])
    known = hand["known"]
    return [*known, *[str(HIDDEN)] * (hand["count"] - len(known))]


def _section(
    title: str, rows: Sequence[Row] | None, of: Callable[[Row], tuple[str, ...]]
) -> list[str]:
    if not rows:
        return []
    return ["", title, *_columns([of(row) for row in rows])]


def _legal(row: Json) -> tuple[str, ...]:
    return move_text(row["move"]), " ".join(row["rules"])


def _not_legal(row: Json) -> tuple[str, ...]:
    return row["card"], " ".join(row["rules"]), row["text"]


def _effect(row: Json) -> tuple[str, ...]:
    return str(row["seq"]), row["type"], " ".join(row["rules"]), row["text"]


def _refused(row: Json) -> tuple[str, ...]:
    return row["at"], move_text(row["move"]), row["rule"]


def _objection(row: Objection) -> tuple[str, ...]:
    return row.check, row.rule or "", row.reason or ""


def _cited(found: Json) -> Iterator[Sequence[str]]:
    for part in ("legal", "not_legal", "effects"):
        yield from (row["rules"] for row in found[part] or ())
    yield from ([row["rule"]] for row in found["refused"] or ())


def _statements(cited: Iterable[str], rule_text: RuleText) -> Iterator[str]:
    for rule in dict.fromkeys(cited):
        words = rule_text(rule) or "(a statement of a ruleset that is not available here)"
        indent = " " * 18
        yield from wrap(words, WIDTH, initial_indent=f"  {rule:<15} ", subsequent_indent=indent)


def _zone(row: Json) -> str:
    slot = "" if row.get("slot") is None else f", slot {row['slot']}"
    whose = "" if row["seat"] is None else f" of seat {row['seat']}"
    return f"{row['zone']}{whose}{slot}"


def _seers(seen_by: str | list[int]) -> str:
    if seen_by == "all":
        return "all"
    return " ".join(f"seat {seat}" for seat in seen_by) or "nobody"


def _columns(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    """Yield rows with aligned columns, without padding after the last one."""
    widths = [max(len(row[n]) for row in rows) for n in range(len(rows[0]))] if rows else []
    for row in rows:
        cells = [f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)]
        yield f"  {'  '.join(cells)}".rstrip()


def _text(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)

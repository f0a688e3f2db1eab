"""Answers on decisions, custody and knowledge: in sections, as text, and as a page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from textwrap import wrap
from typing import Final, Protocol, TypeVar

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from schemas.views import Json
from service.domain.cards import HIDDEN

WIDTH: Final = 100
Row = TypeVar("Row")
RuleText = Callable[[str], str | None]
"""Returns the text of a statement; None if it is unknown."""


class FailedCheck(Protocol):
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


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerSection:
    """Rows of cells under a title; `note` is a line below them."""

    title: str
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    inline: bool = False  # as text, the only cell is on the line of the title
    wrapped: bool = False  # as text, a long last cell is wrapped into several lines


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditAnswer:
    """An audit answer about a recorded game, to be formatted as text or as a page."""

    heading: str
    unknown: str | None  # which part of the game is unknown, in words
    sections: tuple[AnswerSection, ...]


def decision_answer(
    found: Json,
    rule_text: RuleText,
    against: Sequence[FailedCheck] = (),
    *,
    unknown: str | None = None,
    responsible: Sequence[str] = (),
) -> AuditAnswer:
    """
    Return a decision with the failures of checks at its events.

    `responsible` has the sentences on the responsible party. Statements cited by failures are
    listed first.
    """
    sections: list[AnswerSection] = []
    if found["saw"] is not None:
        sections.append(AnswerSection(title="saw", rows=tuple(_saw(found["saw"], found["seat"]))))
    if unknown is not None and found["saw"] is not None and found["legal"] is None:
        text = ("unknown: they depend on the hand, which is hidden",)
        sections.append(AnswerSection(title="legal", rows=(text,)))
    sections += _section("legal", found["legal"], _legal)
    sections += _section("not legal", found["not_legal"], _not_legal)
    if found["did"] is not None:
        sections.append(AnswerSection(title="did", rows=((move_text(found["did"]),),), inline=True))
    sections += _section("failed checks", against, _objection)
    sections += _section("responsible", responsible, lambda text: (text,))
    sections += _section("followed", found["effects"], _effect)
    unproven = found.get("unproven")
    sections += _section(
        "refused before", found["refused"], _refused, f"unproven: {unproven}" if unproven else ""
    )
    cited = [objection.rule for objection in against if objection.rule]
    cited += [rule for line in _cited(found) for rule in line]
    sections.append(
        AnswerSection(title="statements", rows=tuple(_statements(cited, rule_text)), wrapped=True)
    )
    return AuditAnswer(heading=_heading(found), unknown=unknown, sections=tuple(sections))


def custody_answer(found: Json, *, unknown: str | None = None) -> AuditAnswer:
    """Return the path of a card, a row for each stretch in one place."""
    place = "an unknown position" if found["p"] is None else f"position {found['p']}"
    rows = [
        (f"{part['from_seq']}–{part['to_seq']}", _zone(part), f"seen by {_seers(part['seen_by'])}")
        for part in found["path"]
    ]
    nothing = ("nothing about it is public yet",)
    return AuditAnswer(
        heading=f"custody of {found['card']}, {place} of the deck",
        unknown=unknown,
        sections=(AnswerSection(title="", rows=tuple(rows) or (nothing,)),),
    )


def knowledge_answer(found: Json, *, unknown: str | None = None) -> AuditAnswer:
    """Return the cards that a seat could know, a row each."""
    rows = [
        (line["card"], _zone(line), f"since seq {line['since_seq']}", _BY[line["by"]])
        for line in found["cards"]
    ]
    unseen = " ".join(found["unseen"]) or "none"
    title = "unseen" if unknown is None else "unseen, or not known to have been seen"
    return AuditAnswer(
        heading=f"what seat {found['seat']} could know at version {found['version']}",
        unknown=unknown,
        sections=(
            AnswerSection(title="", rows=tuple(rows)),
            AnswerSection(
                title=f"{title} ({len(found['unseen'])})", rows=((unseen,),), wrapped=True
            ),
        ),
    )


def answer_text(answer: AuditAnswer) -> str:
    """Return an answer as text, each section after an empty line."""
    lines = [answer.heading]
    if answer.unknown is not None:
        lines += ["", *wrap(answer.unknown, WIDTH)]
    for section in answer.sections:
        lines += ["", *_section_lines(section)]
    return "".join(f"{line}\n" for line in lines)


def _section_lines(section: AnswerSection) -> Iterator[str]:
    if section.inline:
        yield f"{section.title:<9} {section.rows[0][0]}"
        return
    if section.title:
        yield section.title
    yield from _columns(section.rows, wrapped=section.wrapped)
    if section.note:
        yield f"  {section.note}"


def answer_html(
    answer: AuditAnswer, *, name: str, summary: Sequence[str] = (), fault: str | None = None
) -> str:
    """
    Return the page on one answer about a recorded game.

    `name` is that of the file, `summary` the first lines of the report on an invalid log, and
    `fault` its first failed check. Text from a log is escaped and never becomes markup. The
    page loads nothing, and the same answer gives the same bytes.

    >>> answer = AuditAnswer(heading="custody of <Th>", unknown=None, sections=())
    >>> "<h1>custody of &lt;Th&gt;</h1>" in answer_html(answer, name="game.shx")
    True
    """
    titled = [line.partition(": ")[::2] for line in summary]
    return _template().render(answer=answer, name=name, summary=titled, fault=fault)


@cache
def _template() -> Template:
    environment = Environment(
        loader=PackageLoader("service.audit", "."),
        autoescape=True,
        keep_trailing_newline=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["printable"] = _printable
    return environment.get_template("answer.html.jinja")


def _printable(text: str) -> str:
    """Return text without control characters and marks that change the direction of writing."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


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
    "shown": "was shown to all",
}


def _heading(found: Json) -> str:
    first, last = found["first"], found["last"]
    where = f"seq {first}" if first == last else f"seq {first}–{last}"
    who = "the server" if found["seat"] is None else f"seat {found['seat']}"
    late = ", its time was up" if found["timed_out"] else ""
    took = "" if found["milliseconds"] is None else f", after {found['milliseconds']} ms"
    return f"{where}, {found['at']}: {who}{late}{took}"


def _saw(view: Json, seat: int) -> Iterator[tuple[str, ...]]:
    own = view["seats"][seat]
    asks = view["demand"]["kind"].replace("_", " ")
    rank = f" {view['demand']['rank']}" if view["demand"]["rank"] else ""
    yield "stock   ", f"{view['stock']} cards, {len(view['burned'])} burned"
    yield "pile    ", f"{' '.join(view['pile']) or '-'}  (asks for {asks}{rank})"
    yield "hand    ", " ".join(_held(own["hand"])) or "-"
    for other in view["seats"]:
        up = " ".join("+".join(stack) or "-" for stack in other["up"]) or "-"
        down = " ".join("##" if there else "-" for there in other["down"]) or "-"
        held = f"{other['hand']['count']} in hand"
        known = " ".join(other["hand"]["known"])
        more = f", of these {known}" if known and other["seat"] != seat else ""
        yield f"seat {other['seat']}", f"up {up} | down {down} | {held}{more}"


def _held(hand: Json) -> list[str]:
    """Return the cards of a hand, with a placeholder for each unknown card."""
    if hand["cards"] is not None:
        return list(hand["cards"])
    known = hand["known"]
    return [*known, *[str(HIDDEN)] * (hand["count"] - len(known))]


def _section(
    title: str, rows: Sequence[Row] | None, of: Callable[[Row], tuple[str, ...]], note: str = ""
) -> list[AnswerSection]:
    """Return a section, none if it would be empty."""
    if not rows and not note:
        return []
    return [AnswerSection(title=title, rows=tuple(of(row) for row in rows or ()), note=note)]


def _legal(row: Json) -> tuple[str, ...]:
    return move_text(row["move"]), " ".join(row["rules"])


def _not_legal(row: Json) -> tuple[str, ...]:
    return row["card"], " ".join(row["rules"]), row["text"]


def _effect(row: Json) -> tuple[str, ...]:
    return str(row["seq"]), row["type"], " ".join(row["rules"]), row["text"]


def _refused(row: Json) -> tuple[str, ...]:
    return row["at"], move_text(row["move"]), row["rule"], row["text"] or ""


def _objection(row: FailedCheck) -> tuple[str, ...]:
    behind = ", ".join(filter(None, (row.check, row.rule)))
    return row.reason or "", f"({behind})"


def _cited(found: Json) -> Iterator[Sequence[str]]:
    for part in ("legal", "not_legal", "effects"):
        yield from (row["rules"] for row in found[part] or ())
    yield from ([row["rule"]] for row in found["refused"] or ())


def _statements(cited: Iterable[str], rule_text: RuleText) -> Iterator[tuple[str, ...]]:
    for rule in dict.fromkeys(cited):
        yield (
            f"{rule:<14}",
            rule_text(rule) or "(a statement of a ruleset that is not available here)",
        )


def _zone(row: Json) -> str:
    slot = "" if row.get("slot") is None else f", slot {row['slot']}"
    whose = "" if row["seat"] is None else f" of seat {row['seat']}"
    return f"{row['zone']}{whose}{slot}"


def _seers(seen_by: str | list[int]) -> str:
    if seen_by == "all":
        return "all"
    return " ".join(f"seat {seat}" for seat in seen_by) or "nobody"


def _columns(rows: Sequence[tuple[str, ...]], *, wrapped: bool) -> Iterator[str]:
    """Yield rows with aligned columns, without padding after the last one."""
    widths = [max(len(row[n]) for row in rows) for n in range(len(rows[0]))] if rows else []
    for row in rows:
        *cells, last = row
        first = "".join(f"{cell:<{width}}  " for cell, width in zip(cells, widths, strict=False))
        if wrapped:
            indent = " " * (len(first) + 2)
            yield from wrap(last, WIDTH, initial_indent=f"  {first}", subsequent_indent=indent)
        else:
            yield f"  {first}{last}".rstrip()

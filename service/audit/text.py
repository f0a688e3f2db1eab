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
from service.replay.sentences import said, seat_words, sentence

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
        sections.append(
            AnswerSection(
                title=sentence("audit.saw"), rows=tuple(_saw(found["saw"], found["seat"]))
            )
        )
    if unknown is not None and found["saw"] is not None and found["legal"] is None:
        row = (sentence("audit.unknown_moves"),)
        sections.append(AnswerSection(title=sentence("audit.legal"), rows=(row,)))
    sections += _section("audit.legal", found["legal"], _legal)
    sections += _section("audit.not_legal", found["not_legal"], _not_legal)
    if found["did"] is not None:
        move = ((move_text(found["did"]),),)
        sections.append(AnswerSection(title=sentence("audit.did"), rows=move, inline=True))
    sections += _section("audit.failed", against, _objection)
    sections += _section("audit.responsible", responsible, lambda text: (text,))
    sections += _section("audit.followed", found["effects"], _effect)
    unproven = found.get("unproven")
    note = sentence("audit.unproven", {"reason": unproven}) if unproven else ""
    sections += _section("audit.refused", found["refused"], _refused, note)
    cited = [objection.rule for objection in against if objection.rule]
    cited += [rule for line in _cited(found) for rule in line]
    sections.append(
        AnswerSection(
            title=sentence("audit.statements"),
            rows=tuple(_statements(cited, rule_text)),
            wrapped=True,
        )
    )
    return AuditAnswer(heading=_heading(found), unknown=unknown, sections=tuple(sections))


def custody_answer(found: Json, *, unknown: str | None = None) -> AuditAnswer:
    """Return the path of a card, a row for each stretch in one place."""
    place = "audit.custody.unknown" if found["p"] is None else "audit.custody"
    rows = [
        (f"{part['from_seq']}–{part['to_seq']}", _zone(part), _seers(part["seen_by"]))
        for part in found["path"]
    ]
    nothing = (sentence("audit.not_public"),)
    return AuditAnswer(
        heading=sentence(place, {"name": found["card"], "p": found["p"]}),
        unknown=unknown,
        sections=(AnswerSection(title="", rows=tuple(rows) or (nothing,)),),
    )


def knowledge_answer(found: Json, *, unknown: str | None = None) -> AuditAnswer:
    """Return the cards that a seat could know, a row each."""
    rows = [
        (
            line["card"],
            _zone(line),
            sentence("audit.since", {"at": line["since_seq"]}),
            sentence(f"audit.by.{line['by']}"),
        )
        for line in found["cards"]
    ]
    unseen = " ".join(found["unseen"]) or sentence("audit.none")
    title = "audit.unseen" if unknown is None else "audit.unseen.unknown"
    asked = {"seat": found["seat"], "version": found["version"]}
    return AuditAnswer(
        heading=sentence("audit.knowledge", asked),
        unknown=unknown,
        sections=(
            AnswerSection(title="", rows=tuple(rows)),
            AnswerSection(
                title=sentence(title, {"n": len(found["unseen"])}), rows=((unseen,),), wrapped=True
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
            return sentence("audit.move.play", {"codes": " ".join(move["cards"])})
        case "play_blind":
            return sentence("audit.move.play_blind", {"slot": move["slot"]})
        case "pick_up":
            along = " ".join(move.get("with") or ())
            code = "audit.move.pick_up.with" if along else "audit.move.pick_up"
            return sentence(code, {"codes": along})
        case "swap":
            values = {"up": " ".join(move["up"]), "held": " ".join(move["hand"])}
            return sentence("audit.move.swap", values)
        case "lay":
            stacks = " ".join("+".join(stack) or "-" for stack in move["stacks"])
            return sentence("audit.move.lay", {"codes": stacks})
        case other:
            return str(other).replace("_", " ")


def _heading(found: Json) -> str:
    first, last = found["first"], found["last"]
    code = "audit.at" if first == last else "audit.at.several"
    seat, took = found["seat"], found["milliseconds"]
    return sentence(
        "audit.heading",
        {
            "where": said(code, at=first, to=last),
            "time": found["at"],
            "mover": sentence("audit.server") if seat is None else seat_words(seat),
            "late": said("audit.late") if found["timed_out"] else "",
            "took": "" if took is None else said("audit.took", n=took),
        },
    )


def _saw(view: Json, seat: int) -> Iterator[tuple[str, ...]]:
    own = view["seats"][seat]
    asks = view["demand"]["kind"].replace("_", " ")
    rank = f" {view['demand']['rank']}" if view["demand"]["rank"] else ""
    stock = {"n": view["stock"], "burned": len(view["burned"])}
    pile = {"pile": " ".join(view["pile"]) or "-", "kind": asks, "rank": rank}
    yield _label("audit.stock"), sentence("audit.stock.is", stock)
    yield _label("audit.pile"), sentence("audit.pile.is", pile)
    yield _label("audit.hand"), " ".join(_held(own["hand"])) or "-"
    for other in view["seats"]:
        up = " ".join("+".join(stack) or "-" for stack in other["up"]) or "-"
        down = " ".join("##" if there else "-" for there in other["down"]) or "-"
        known = " ".join(other["hand"]["known"])
        code = "audit.held.known" if known and other["seat"] != seat else "audit.held"
        parts = (
            sentence("audit.up", {"codes": up}),
            sentence("audit.down", {"codes": down}),
            sentence(code, {"n": other["hand"]["count"], "codes": known}),
        )
        yield seat_words(other["seat"]), " | ".join(parts)


def _label(code: str) -> str:
    return f"{sentence(code):<8}"


def _held(hand: Json) -> list[str]:
    """Return the cards of a hand, with a placeholder for each unknown card."""
    if hand["cards"] is not None:
        return list(hand["cards"])
    known = hand["known"]
    return [*known, *[str(HIDDEN)] * (hand["count"] - len(known))]


def _section(
    code: str, rows: Sequence[Row] | None, of: Callable[[Row], tuple[str, ...]], note: str = ""
) -> list[AnswerSection]:
    """Return a section with the title of a code, none if it would be empty."""
    if not rows and not note:
        return []
    return [
        AnswerSection(title=sentence(code), rows=tuple(of(row) for row in rows or ()), note=note)
    ]


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
            rule_text(rule) or sentence("audit.unknown_statement"),
        )


def _zone(row: Json) -> str:
    if row["seat"] is None:
        return str(row["zone"])
    code = "audit.zone.of" if row.get("slot") is None else "audit.zone.slot"
    return sentence(code, {"zone": row["zone"], "seat": row["seat"], "slot": row.get("slot")})


def _seers(seen_by: str | list[int]) -> str:
    if isinstance(seen_by, str):
        return sentence("audit.seen_by.all")
    return sentence("audit.seen_by", {"seats": seen_by}) if seen_by else sentence("audit.nobody")


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

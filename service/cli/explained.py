"""
The form of answers to programs that explain games: of bounded size, text by other people quoted.

Text that other people wrote, or that a file could contain, is an object with the one name `quoted`,
so that no reader takes it for an instruction or for a statement of the verifier.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from service.replay.sentences import Sentence, Voice, seat_words, sentence
from service.rulesets.statements import text_of
from service.verify.finding import Finding, Result
from service.verify.report import Report

Json = dict[str, Any]
Language = Literal["en", "sv", "ja"]

MAX_ANSWER: Final = 4096
"""Bytes of an answer as JSON, unless the caller asks for all of it."""

MAX_WHOLE: Final = 256 << 10
"""Bytes of an answer that was asked for as a whole."""

_PLAIN: Final = re.compile(r"[A-Za-z0-9_.:/+#?-]{0,64}")
_MAX_QUOTED: Final = 300


class CannotTell(Exception):
    """The question has no answer, with the reason in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """The language of an answer, and whether all of it is wanted."""

    language: Language = "en"
    whole: bool = False

    def say(self, code: str, values: Mapping[str, Any] | None = None) -> str:
        """Return a sentence in the reader's language; foreign text in its values is quoted."""
        return sentence(code, _all_guarded(values or {}), Voice(language=self.language))

    def reason(self, row: Mapping[str, Any]) -> str | None:
        """Return the reason that a row of the audit gives."""
        return self.say(row["code"], row["values"]) if row.get("code") else None


def quoted(text: str) -> Json:
    """Return text of other people, marked as data."""
    return {"quoted": text[:_MAX_QUOTED]}


def fitted(answer: Json, reader: Reader) -> Json:
    """
    Return an answer that fits: the longest list in it is halved until it does.

    `left_out` then has the number of entries that each list lost.

    >>> len(fitted({"rows": ["x" * 100] * 100}, Reader())["rows"])
    25
    """
    most = MAX_WHOLE if reader.whole else MAX_ANSWER
    left_out: dict[str, int] = {}
    answer = json.loads(json.dumps(answer))
    while len(json.dumps(answer, ensure_ascii=False).encode()) > most:
        name, rows = max(_lists(answer), key=lambda one: len(json.dumps(one[1])), default=("", []))
        if len(rows) < 2:
            raise CannotTell("the answer is too large: ask for all of it, or for a part")
        kept = len(rows) // 2
        left_out[name] = left_out.get(name, 0) + len(rows) - kept
        del rows[kept:]
        answer["left_out"] = left_out
    return answer


def _lists(value: Any, name: str = "") -> Iterator[tuple[str, list[Any]]]:
    """Yield the lists of an answer with more than one entry, and where they are."""
    if isinstance(value, list) and len(value) > 1:
        yield name, value
    inside = value.items() if isinstance(value, dict) else ()
    for key, one in inside:
        yield from _lists(one, f"{name}/{key}")


def _all_guarded(values: Mapping[str, Any]) -> Json:
    return {name: guarded(value) for name, value in values.items()}


def guarded(value: Any) -> Any:
    """Return a value in which each text that could be a sentence is written as a JSON string."""
    if isinstance(value, Sentence):
        return replace(value, values=_all_guarded(value.values))
    if isinstance(value, Mapping):
        return {"code": value["code"], "values": _all_guarded(value["values"])}
    if isinstance(value, str):
        return value if _PLAIN.fullmatch(value) else json.dumps(value[:80], ensure_ascii=False)
    return [guarded(one) for one in value] if isinstance(value, list | tuple) else value


def table_as(view: Mapping[str, Any], reader: Reader) -> Json:
    """Return what lies on a table, without what only programs that play need."""
    named = ("status", "version", "turn", "demand", "pile", "stock", "deadline", "result", "as")
    table: Json = plain({name: view[name] for name in (*named, "moves")})
    return {
        **table,
        "ruleset": plain(view["ruleset"]["id"]),
        "burned": len(view["burned"]),
        "seats": [_seat(seat, reader) for seat in view["seats"]],
    }


def _seat(seat: Mapping[str, Any], reader: Reader) -> Json:
    """Return a seat; the number of its face-down cards is all that anybody knows of them."""
    shown: Json = plain({name: seat[name] for name in ("seat", "bot", "out", "hand", "up")})
    return {
        **shown,
        "called": seat_words(seat["seat"], reader.language),
        "name": None if seat["name"] is None else quoted(seat["name"]),
        "down": sum(map(bool, seat["down"])),
    }


def plain(value: Any) -> Any:
    """Return codes as they are; a text that is none, which only a forged file has, in quotes."""
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return guarded(value)


def decision_as(
    found: Mapping[str, Any], statements: Sequence[tuple[str, str]], reader: Reader
) -> Json:
    """Return a decision of the audit, with reasons in words and the statements that it cites."""
    rows = [*(found["legal"] or ()), *(found["not_legal"] or ()), *found["effects"]]
    cited = [rule for row in rows for rule in row["rules"]]
    cited += [row["rule"] for row in found["refused"] or ()]
    seat = found["seat"]
    return {
        **{name: found[name] for name in ("game", "first", "last", "at", "seat", "timed_out")},
        "called": None if seat is None else seat_words(seat, reader.language),
        "milliseconds": found["milliseconds"],
        "did": found["did"],
        "saw": None if found["saw"] is None else table_as(found["saw"], reader),
        "legal": found["legal"],
        "not_legal": found["not_legal"]
        and [
            {"card": row["card"], "rules": row["rules"], "why": reader.reason(row)}
            for row in found["not_legal"]
        ],
        "effects": [{"event": row["seq"], "rules": row["rules"]} for row in found["effects"]],
        "refused": found["refused"]
        and [
            {name: row[name] for name in ("at", "move", "rule")} | {"why": reader.reason(row)}
            for row in found["refused"]
        ],
        "statements": {rule: _stated(rule, statements) for rule in cited},
    }


def _stated(rule: str, statements: Sequence[tuple[str, str]]) -> str | None:
    """Return a statement with its readings: of the ruleset, or of the model of all rulesets."""
    return " ".join(text for name, text in statements if name == rule) or text_of((), rule)


def verdict_as(report: Report, reader: Reader) -> Json:
    """Return a report: its result, level, failures, and what would prove more."""
    by_result: dict[Result, list[Finding]] = {}
    for finding in report.findings:
        by_result.setdefault(finding.result, []).append(finding)
    summary = report.summary
    return {
        "game": report.game and guarded(report.game),
        "events": report.version,
        "sealed": report.sealed,
        "result": report.result.value,
        "level": report.level,
        "wording": " ".join(reader.say(one.code, one.values) for one in report.results),
        "failed": [
            {
                "check": one.check.value,
                "event": one.seq,
                "rule": one.rule and guarded(one.rule),
                "why": one.code and reader.say(one.code, one.values),
            }
            for one in by_result.get(Result.FAIL, ())
        ],
        "passed": [one.check.value for one in by_result.get(Result.PASS, ())],
        "missing": [one.check.value for one in by_result.get(Result.MISSING, ())],
        "changed": summary and _guarded_text(summary.changed),
        "who_can_have_done_it": summary and _guarded_text(summary.author),
        "for_the_next_level": [reader.say(one.code, one.values) for one in report.missing],
    }


def _guarded_text(text: str) -> Json:
    """Return words of the verifier about a changed file, which can repeat what the file says."""
    return {"quoted": text[:1000]}


def dispute_as(found: Mapping[str, Any], reader: Reader) -> Json:
    """Return a dispute of the API: its charge, findings, statements, votes and rulings."""
    named = ("id", "game", "state", "charge", "by", "accused", "seq", "deadline", "withdrawn")
    votes = [
        {"referee": one["referee"], "vote": one["vote"], "reason": _quoted_or_none(one["reason"])}
        for one in found["votes"]
    ]
    return {
        **{name: found[name] for name in named},
        "findings": [
            {
                **{name: one[name] for name in ("check", "result", "seq", "rule")},
                "why": reader.reason(one),
            }
            for one in found["findings"]
            if one["result"] != "not_applicable"
        ],
        "statements": [
            {"by": one["by"], "at": one["at"], "text": _quoted_or_none(one["text"])}
            for one in found["statements"]
        ],
        "votes": votes,
        "rulings": found["rulings"],
    }


def _quoted_or_none(text: str | None) -> Json | None:
    return None if text is None else quoted(text)

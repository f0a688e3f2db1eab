"""
What programs that explain games are answered: a game, a move, a verdict, a dispute, a ruleset.

Each answer is JSON without side effects, for `shithead mcp`. Text that other people wrote, or that
a file could contain, is an object with the one name `quoted`, so that no reader takes it for an
instruction or for a statement of the verifier.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import urlsplit
from uuid import UUID

import click

from service.audit.decision import decision
from service.audit.decisions import Decided, DecisionFilter, shares_of
from service.cli.audit import refused_in, viewer_of
from service.cli.connection import place_of
from service.cli.decisions import SHOWN, ChoiceCounts, HandFile, found_in, hands_of
from service.cli.load_game import Recording, read_recording
from service.cli.screen import viewer_name
from service.client.api import Api, NotAnswered, Refused
from service.domain.view import Viewer
from service.replay.captions import Wording
from service.replay.frames import frames_of, past_view
from service.replay.history import History, steps_of
from service.replay.sentences import Sentence, Voice, seat_words, sentence
from service.rulesets.catalogue import catalogue, definition
from service.rulesets.in_short import in_short
from service.rulesets.statements import text_of
from service.runtime.plain_errors import why
from service.shx.bundle import NotABundle, read_log
from service.shx.canonical import RecordError
from service.shx.moves import UNPROVEN
from service.verify.evidence import OutsideEvidence, parse_keys
from service.verify.file_work import contents, log_of, sequence_check
from service.verify.finding import Finding, Result
from service.verify.report import Report
from service.verify.verify import Budget, verify_log

Json = dict[str, Any]
Language = Literal["en", "sv", "ja"]

MAX_ANSWER: Final = 4096
"""Bytes of an answer as JSON, unless the caller asks for all of it."""

MAX_WHOLE: Final = 256 << 10
"""Bytes of an answer that was asked for as a whole."""

MAX_FILE: Final = 16 << 20
"""Bytes of a bundle or log; `shithead verify` checks larger ones."""

SECONDS: Final = 20.0
"""Limit of a verification; checks that it leaves are reported as missing."""

MAX_STEPS: Final = 200
MAX_HANDS: Final = 5000
MAX_FOUND: Final = 1000
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
        return sentence(code, _guarded(values or {}), Voice(language=self.language))

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


def _guarded(values: Mapping[str, Any]) -> Json:
    return {name: _guarded_value(value) for name, value in values.items()}


def _guarded_value(value: Any) -> Any:
    if isinstance(value, Sentence):
        return replace(value, values=_guarded(value.values))
    if isinstance(value, Mapping):
        return {"code": value["code"], "values": _guarded(value["values"])}
    if isinstance(value, str):
        return value if _PLAIN.fullmatch(value) else json.dumps(value[:80], ensure_ascii=False)
    return [_guarded_value(one) for one in value] if isinstance(value, list | tuple) else value


@lru_cache(maxsize=2)
def _recorded(data: bytes) -> tuple[Recording, tuple[Json, ...]]:
    budget = Budget()
    try:
        with budget.running(SECONDS):
            found = budget.attempt(lambda: (read_recording(data), tuple(refused_in(data))), None)
    except (NotABundle, RecordError) as error:
        raise CannotTell(f"this is no bundle or log: {_guarded_value(str(error))}") from None
    if found is None:
        raise CannotTell(f"it takes more than {SECONDS:.0f} seconds: use `shithead replay`")
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Explainer:
    """Answers from one service and the files of one folder; it changes neither."""

    api: Api
    folder: Path

    def view(self, game: str, reader: Reader) -> Json:
        """Return a game as the caller sees it now; of a file, as everybody saw its end."""
        where = self._id(game)
        if where is None:
            return self.replay(game, None, None, 1, reader)
        return fitted(
            {
                **_table(self._get(f"/games/{where}"), reader),
                "page": self._page("play", where),
            },
            reader,
        )

    def replay(
        self, game: str, version: int | None, viewer: str | None, count: int, reader: Reader
    ) -> Json:
        """Return `count` events up to a version, and the view after it, as a viewer saw it."""
        recording, _ = self._recording(game)
        seen_by = _viewer_named(recording, viewer)
        last = len(recording.log) if version is None else version
        if not 1 <= last <= len(recording.log):
            raise CannotTell(f"versions go from 1 to {len(recording.log)}")
        first = max(1, last - min(count, MAX_STEPS) + 1)
        rows, view = _steps(recording, seen_by, range(first, last + 1), reader)
        where = self._id(game)
        return fitted(
            {
                "game": recording.log[0].fields["game"],
                "version": last,
                "versions": len(recording.log),
                "sealed": recording.sealed,
                "valid": not recording.failed,
                "events": rows,
                "view": _table(view, reader),
                "page": where and f"{self._page('replay', where)}?event={last - 1}",
            },
            reader,
        )

    def explain(self, game: str, event: int, reader: Reader) -> Json:
        """Return the decision of a move: what its seat saw, could do, did, and by which rules."""
        where = self._id(game)
        if where is not None and not self._is_over(where):
            found = self._get(f"/games/{where}/audit/moves/{event}")
            ruleset = self._get(f"/games/{where}?as=public")["ruleset"]["id"]
            answer = _decision(found, self._statements(ruleset), reader)
            return fitted({**answer, "page": self._page("play", where)}, reader)
        recording, refused = self._recording(game)
        history = History(recording.log, recording.deck)
        if not 0 <= event <= history.end:
            raise CannotTell(f"events go from 0 to {history.end}")
        unproven = None if recording.refusals_proven else UNPROVEN
        try:
            found = decision(
                history, event, viewer=viewer_of(recording), refused=refused, unproven=unproven
            )
        except (ValueError, LookupError, TypeError, AttributeError):
            raise CannotTell("this invalid log cannot be examined further") from None
        versions = range(found["first"] + 1, found["last"] + 2)
        rows, _ = _steps(recording, viewer_of(recording), versions, reader)
        answer = _decision(found, self._statements(history.games[0].ruleset.id), reader)
        answer["happened"] = [row["caption"] for row in rows]
        answer["faults"] = [fault for row in rows for fault in row.get("faults", ())]
        answer["page"] = where and f"{self._page('replay', where)}?event={event}"
        return fitted(answer, reader)

    def verify(self, game: str, keys: str | None, receipts: Sequence[str], reader: Reader) -> Json:
        """Return the verdict on a bundle or log, from its bytes and the given evidence alone."""
        report = self._report(self._data(game), keys, receipts)
        return fitted({**_verdict(report, reader), "page": f"{self.api.url}/verify"}, reader)

    def dispute(self, identity: str, reader: Reader) -> Json:
        """Return a dispute: its charge, findings, statements and rulings, and the verdict."""
        try:
            url, _, number = place_of(identity, self.api.url)
        except click.UsageError:
            raise CannotTell("this is neither the address nor the id of a dispute") from None
        self._check(url)
        found = self._get(f"/disputes/{number}")
        report = self._report(self._data(found["game"]), None, ())
        return fitted(
            {
                **_dispute(found, reader),
                "verdict": _verdict(report, reader),
                "page": self._page("disputes", number),
            },
            reader,
        )

    def find(self, folder: str, conditions: Mapping[str, Any], reader: Reader) -> Json:
        """Return the decisions in files of the folder that meet conditions, and their numbers."""
        place, tally, unread = self._file(folder), ChoiceCounts(), list[Path]()

        def report(path: Path, _fault: str) -> None:
            unread.append(path)

        hands = islice(hands_of([place], report), MAX_HANDS)
        budget = Budget()
        with budget.running(SECONDS):
            wanted = DecisionFilter(**conditions)
            found: list[tuple[HandFile, Decided]] = []
            search = partial(found.extend, found_in(hands, wanted, tally, report))
            budget.attempt(search, None)
        root = self.folder.resolve()
        return fitted(
            {
                "decisions": tally.total,
                "hands": len(tally.hands),
                "complete": not budget.spent and next(hands, None) is None,
                "unread": len(unread),
                "choices": shares_of(tally.choices),
                "found": [
                    {"file": quoted(_below(hand, root)), **_plain(asdict(one))}
                    for hand, one in found[: MAX_FOUND if reader.whole else SHOWN]
                ],
            },
            reader,
        )

    def rules(self, ruleset: str, reader: Reader) -> Json:
        """Return a ruleset in short, and with `whole` every statement of it."""
        if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", ruleset):
            raise CannotTell("this is no id of a ruleset")
        if ruleset in catalogue():
            known = definition(ruleset)
            short = in_short(known.ruleset({}))
            special = [{"rank": one.rank, "does": list(one.does)} for one in short.special]
            answer: Json = {"name": known.name, "aim": short.played_for}
            burning_set = short.burning_set
        else:
            found = self._get(f"/rulesets/{ruleset}")
            special, burning_set = found["in_short"]["special"], found["in_short"]["burning_set"]
            answer = {"name": quoted(found["name"]), "aim": found["in_short"]["played_for"]}
        answer |= {
            "id": ruleset,
            "aim": reader.say(f"short.aim.{answer['aim']}"),
            "zones": [reader.say(f"short.zone.{zone}") for zone in ("hand", "up", "down")],
            "turn": reader.say("short.turn"),
            "special": [
                {"rank": one["rank"], "does": [reader.say(f"short.{code}") for code in one["does"]]}
                for one in special
            ],
            "sets_that_burn": burning_set,
            "page": self._page("rules", ruleset),
        }
        if reader.whole:
            rows = self._statements(ruleset)
            answer["statements"] = [{"id": name, "text": text} for name, text in rows]
        return fitted(answer, reader)

    def _page(self, kind: str, identity: object) -> str:
        return f"{self.api.url}/{kind}/{identity}"

    def _statements(self, ruleset: str) -> list[tuple[str, str]]:
        """Return id and text of the statements of a ruleset; none if it is unknown here."""
        if ruleset in catalogue():
            return [(one.id, one.text) for one in catalogue()[ruleset].statements]
        try:
            found = self._get(f"/rulesets/{ruleset}")["statements"]
        except CannotTell:
            return []
        return [(one["id"], one["text"]) for one in found]

    def _get(self, path: str) -> Any:
        try:
            return self.api.get(path)
        except Refused as refused:
            raise CannotTell(f"the service refuses: {_guarded_value(refused.text)}") from None
        except NotAnswered as error:
            raise CannotTell(_guarded_value(str(error))) from None

    def _is_over(self, game: UUID) -> bool:
        return self._get(f"/games/{game}?as=public")["status"] in ("ended", "aborted")

    def _check(self, url: str) -> None:
        """Raise CannotTell for the address of another service than the one that was named."""
        if urlsplit(url)[:2] != urlsplit(self.api.url)[:2]:
            raise CannotTell(f"only games of {self.api.url} and files of the folder are read")

    def _id(self, game: str) -> UUID | None:
        """Return the id of a game of the service; None for the name of a file."""
        try:
            url, kind, identity = place_of(game, self.api.url)
        except click.UsageError:
            if re.match(r"[a-z]+://", game):
                raise CannotTell("this is not the address of a game") from None
            return None
        self._check(url)
        if kind not in ("", "games"):
            raise CannotTell("this is not the address of a game")
        return identity

    def _recording(self, game: str) -> tuple[Recording, tuple[Json, ...]]:
        return _recorded(self._data(game))

    def _data(self, game: str) -> bytes:
        """Return the evidence of a game of the service, or a file of the folder."""
        where = self._id(game)
        try:
            if where is not None:
                data = self.api.data(f"/games/{where}/evidence")
            else:
                data = contents(self._file(game))
        except Refused as refused:
            raise CannotTell(f"the service refuses: {_guarded_value(refused.text)}") from None
        except (NotAnswered, OSError, NotABundle, RecordError) as error:
            raise CannotTell(_guarded_value(why(error))) from None
        if len(data) > MAX_FILE:
            raise CannotTell(f"it has more than {MAX_FILE} bytes: use `shithead verify`")
        return data

    def _file(self, name: str) -> Path:
        """Return a file of the folder; a link or a name that leads out of it is refused."""
        path = (self.folder / name).resolve()
        if not path.is_relative_to(self.folder.resolve()):
            raise CannotTell("only files of the folder are read")
        if not path.exists():
            raise CannotTell("there is no such file in the folder, and it is no id of a game")
        if path.is_file() and path.stat().st_size > MAX_FILE:
            raise CannotTell(f"it has more than {MAX_FILE} bytes: use `shithead verify`")
        return path

    def _report(self, data: bytes, keys: str | None, receipts: Sequence[str]) -> Report:
        """Return the report on a log; `keys` and `receipts` are the names of files."""
        try:
            known = parse_keys([self._file(keys).read_text("utf-8")] if keys else [])
            notes = tuple(self._file(name).read_bytes() for name in receipts)
            outside = OutsideEvidence(receipts=notes, server_keys=known.server)
            bundle, budget = read_log(data), Budget()
            with budget.running(SECONDS):
                log = log_of(bundle, None, budget)
                check = sequence_check(log, outside, None)
                return verify_log(log, bundle, outside, check, budget)
        except (NotABundle, RecordError, OSError, ValueError) as error:
            raise CannotTell(f"it cannot be verified: {_guarded_value(why(error))}") from None


def _below(hand: HandFile, root: Path) -> str:
    """Return the name of a hand's file, from the folder on."""
    path = Path(hand.file)
    return str(path.relative_to(root)) if path.is_relative_to(root) else hand.file


def _viewer_named(recording: Recording, name: str | None) -> Viewer:
    viewers = recording.viewers()
    known = {viewer_name(one): one for one in viewers}
    if name is None:
        return viewers[0]
    if name not in known:
        raise CannotTell(f"this game can be shown as {', '.join(known)}")
    return known[name]


def _steps(
    recording: Recording, viewer: Viewer, versions: range, reader: Reader
) -> tuple[list[Json], Mapping[str, Any]]:
    """Return a row for each of some versions, and the view of the last of them."""
    rows: list[Json] = []
    game = None
    try:
        played = steps_of((record.event for record in recording.log), recording.deck)
        found = frames_of(
            enumerate(played, start=1),
            viewer=viewer,
            first=versions.start,
            last=versions.stop - 1,
            say=Wording(codes=True, language=reader.language),
        )
        for frame in found:
            game = frame.game
            said = quoted(frame.caption) if recording.failed else frame.caption
            at = _plain(recording.log[frame.seq].at)
            row: Json = {"event": frame.seq, "at": at, "caption": said}
            if faults := recording.against_move(frame.seq, frame.seq):
                row["faults"] = [_guarded_value(one.line) for one in faults]
            rows.append(row)
    except (ValueError, LookupError, TypeError):
        if game is None:
            raise CannotTell("this invalid log cannot be replayed up to this version") from None
    if game is None:
        raise CannotTell("this version does not exist")
    return rows, past_view(recording.log, game, viewer)


def _table(view: Mapping[str, Any], reader: Reader) -> Json:
    """Return what lies on a table, without what only programs that play need."""
    named = ("status", "version", "turn", "demand", "pile", "stock", "deadline", "result", "as")
    table: Json = _plain({name: view[name] for name in (*named, "moves")})
    return {
        **table,
        "ruleset": _plain(view["ruleset"]["id"]),
        "burned": len(view["burned"]),
        "seats": [_seat(seat, reader) for seat in view["seats"]],
    }


def _seat(seat: Mapping[str, Any], reader: Reader) -> Json:
    """Return a seat; the number of its face-down cards is all that anybody knows of them."""
    shown: Json = _plain({name: seat[name] for name in ("seat", "bot", "out", "hand", "up")})
    return {
        **shown,
        "called": seat_words(seat["seat"], reader.language),
        "name": None if seat["name"] is None else quoted(seat["name"]),
        "down": sum(map(bool, seat["down"])),
    }


def _plain(value: Any) -> Any:
    """Return codes as they are; a text that is none, which only a forged file has, in quotes."""
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return _guarded_value(value)


def _decision(
    found: Mapping[str, Any], statements: Sequence[tuple[str, str]], reader: Reader
) -> Json:
    rows = [*(found["legal"] or ()), *(found["not_legal"] or ()), *found["effects"]]
    cited = [rule for row in rows for rule in row["rules"]]
    cited += [row["rule"] for row in found["refused"] or ()]
    seat = found["seat"]
    return {
        **{name: found[name] for name in ("game", "first", "last", "at", "seat", "timed_out")},
        "called": None if seat is None else seat_words(seat, reader.language),
        "milliseconds": found["milliseconds"],
        "did": found["did"],
        "saw": None if found["saw"] is None else _table(found["saw"], reader),
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


def _verdict(report: Report, reader: Reader) -> Json:
    """Return a report: its result, level, failures, and what would prove more."""
    by_result: dict[Result, list[Finding]] = {}
    for finding in report.findings:
        by_result.setdefault(finding.result, []).append(finding)
    summary = report.summary
    return {
        "game": report.game and _guarded_value(report.game),
        "events": report.version,
        "sealed": report.sealed,
        "result": report.result.value,
        "level": report.level,
        "wording": " ".join(reader.say(one.code, one.values) for one in report.results),
        "failed": [
            {
                "check": one.check.value,
                "event": one.seq,
                "rule": one.rule and _guarded_value(one.rule),
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


def _dispute(found: Mapping[str, Any], reader: Reader) -> Json:
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

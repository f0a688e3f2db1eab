"""
What `shithead mcp` answers about a game, a move, a verdict, a dispute, decisions or a ruleset.

Each answer is JSON without side effects, in the form of `explained`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from itertools import islice
from os.path import realpath
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode, urlsplit
from uuid import UUID

import click

from service.audit.decision import decision
from service.audit.decisions import Decided, DecisionFilter, shares_of
from service.cli.audit import refused_in, viewer_of
from service.cli.connection import place_of
from service.cli.decisions import SHOWN, ChoiceCounts, HandFile, found_in, hands_of
from service.cli.explained import (
    CannotTell,
    Json,
    Reader,
    decision_as,
    dispute_as,
    fitted,
    guarded,
    plain,
    quoted,
    table_as,
    verdict_as,
)
from service.cli.load_game import Recording, read_recording
from service.cli.screen import viewer_name
from service.client.api import Api, NotAnswered, Refused, TooLong
from service.domain.view import Viewer
from service.replay.captions import Wording
from service.replay.frames import frames_of, past_view
from service.replay.history import History, steps_of
from service.rulesets.catalogue import catalogue, definition
from service.rulesets.in_short import in_short
from service.runtime.plain_errors import why
from service.shx.bundle import NotABundle, read_log
from service.shx.canonical import RecordError
from service.shx.moves import UNPROVEN
from service.shx.tar_files import NotATarFile
from service.verify.evidence import OutsideEvidence, parse_keys
from service.verify.file_work import contents, log_of, sequence_check
from service.verify.report import Report
from service.verify.verify import Budget, verify_log

MAX_FILE: Final = 16 << 20
"""Bytes of a bundle or log; `shithead verify` checks larger ones."""

SECONDS: Final = 20.0
"""Limit of a verification; checks that it leaves are reported as missing."""

MAX_STEPS: Final = 200
MAX_HANDS: Final = 5000
MAX_FOUND: Final = 1000
MAX_PAGE: Final = 200
"""Decisions of a page of the service."""


def _too_large() -> CannotTell:
    return CannotTell(f"it has more than {MAX_FILE} bytes: use `shithead verify`")


@lru_cache(maxsize=2)
def _recorded(data: bytes) -> tuple[Recording, tuple[Json, ...]]:
    budget = Budget()
    try:
        with budget.running(SECONDS):
            found = budget.attempt(lambda: (read_recording(data), tuple(refused_in(data))), None)
    except (NotABundle, RecordError) as error:
        raise CannotTell(f"this is no bundle or log: {guarded(str(error))}") from None
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
                **table_as(self._get(f"/games/{where}"), reader),
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
                "view": table_as(view, reader),
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
            answer = decision_as(found, self._statements(ruleset), reader)
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
        answer = decision_as(found, self._statements(history.games[0].ruleset.id), reader)
        answer["happened"] = [row["caption"] for row in rows]
        answer["faults"] = [fault for row in rows for fault in row.get("faults", ())]
        answer["page"] = where and f"{self._page('replay', where)}?event={event}"
        return fitted(answer, reader)

    def verify(self, game: str, keys: str | None, receipts: Sequence[str], reader: Reader) -> Json:
        """Return the verdict on a bundle or log, from its bytes and the given evidence alone."""
        report = self._report(self._data(game), keys, receipts)
        return fitted({**verdict_as(report, reader), "page": f"{self.api.url}/verify"}, reader)

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
                **dispute_as(found, reader),
                "verdict": verdict_as(report, reader),
                "page": self._page("disputes", number),
            },
            reader,
        )

    def find(self, folder: str | None, conditions: Mapping[str, Any], reader: Reader) -> Json:
        """Return the decisions that meet conditions, counted: of the service, or of a folder."""
        if folder is None:
            return self._find_at_service(conditions, reader)
        places, tally, unread = self._places(folder), ChoiceCounts(), list[Path]()

        def report(path: Path, _fault: str) -> None:
            unread.append(path)

        every, budget = hands_of(places, report), Budget()
        found: list[tuple[HandFile, Decided]] = []

        def search() -> None:
            hands = islice(every, MAX_HANDS)
            for one in found_in(hands, DecisionFilter(**conditions), tally, report):
                if len(found) < (MAX_FOUND if reader.whole else SHOWN):
                    found.append(one)

        try:
            with budget.running(SECONDS):
                budget.attempt(search, None)
            complete = not budget.spent and next(every, None) is None
        except (RecordError, NotATarFile, OSError) as error:
            raise CannotTell(f"a dump cannot be read: {guarded(why(error))}") from None
        root = self.folder.resolve()
        return fitted(
            {
                "decisions": tally.total,
                "hands": len(tally.hands),
                "complete": complete,
                "unread": len(unread),
                "choices": shares_of(tally.choices),
                "found": [
                    {"file": quoted(_below(hand, root)), **plain(asdict(one))}
                    for hand, one in found
                ],
            },
            reader,
        )

    def _find_at_service(self, conditions: Mapping[str, Any], reader: Reader) -> Json:
        """Return what `GET /v1/decisions` finds, in the form of a search in files."""
        named = {
            name: json.dumps(value) if isinstance(value, bool) else value
            for name, value in conditions.items()
            if value is not None
        }
        query = urlencode({**named, "limit": MAX_PAGE if reader.whole else SHOWN})
        answer = self._get(f"/decisions?{query}")
        return fitted(
            {
                "decisions": answer["decisions"],
                "hands": answer["hands"],
                "complete": not answer["limited"],
                "choices": answer["choices"],
                "found": plain(answer["items"]),
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
            raise CannotTell(f"the service refuses: {guarded(refused.text)}") from None
        except NotAnswered as error:
            raise CannotTell(guarded(str(error))) from None

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
                data = self.api.data(f"/games/{where}/evidence", most=MAX_FILE)
            else:
                data = contents(self._file(game))
        except Refused as refused:
            raise CannotTell(f"the service refuses: {guarded(refused.text)}") from None
        except TooLong:
            raise _too_large() from None
        except (NotAnswered, OSError, NotABundle, RecordError) as error:
            raise CannotTell(guarded(why(error))) from None
        if len(data) > MAX_FILE:
            raise _too_large()
        return data

    def _file(self, name: str) -> Path:
        """Return a file of the folder; a link or a name that leads out of it is refused."""
        try:
            path = (self.folder / name).resolve()
            exists = path.exists()
        except (OSError, ValueError, RuntimeError):  # too long, a zero byte, a loop of links
            raise CannotTell("this is neither the name of a file nor the id of a game") from None
        if not path.is_relative_to(self.folder.resolve()):
            raise CannotTell("only files of the folder are read")
        if not exists:
            raise CannotTell("there is no such file in the folder, and it is no id of a game")
        if path.is_file() and path.stat().st_size > MAX_FILE:
            raise _too_large()
        return path

    def _places(self, name: str) -> list[Path]:
        """Return a folder to search; if links lead out of it, the files that are in it."""
        place, root = self._file(name), Path(realpath(self.folder))
        every = sorted(place.rglob("*"))
        inside = [one for one in every if Path(realpath(one)).is_relative_to(root)]
        return [place] if inside == every else [one for one in inside if one.is_file()]

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
            raise CannotTell(f"it cannot be verified: {guarded(why(error))}") from None


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
            at = plain(recording.log[frame.seq].at)
            row: Json = {"event": frame.seq, "at": at, "caption": said}
            if faults := recording.against_move(frame.seq, frame.seq):
                row["faults"] = [guarded(one.line) for one in faults]
            rows.append(row)
    except (ValueError, LookupError, TypeError):
        if game is None:
            raise CannotTell("this invalid log cannot be replayed up to this version") from None
    if game is None:
        raise CannotTell("this version does not exist")
    return rows, past_view(recording.log, game, viewer)

"""Deep check of data beside streams: of disputes, blind choices, refused attempts, and ratings."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

import orjson

from service.application.disputes.files import findings_associated
from service.application.disputes.record import DISPUTES
from service.application.games.record import load
from service.application.games.refused_moves import opened
from service.application.ratings import finished_hand
from service.application.statistics import statistics_input
from service.audit.ratings import Standings
from service.domain.dispute import Dispute
from service.keys import KeyringError, Keys
from service.shx.canonical import format_time, parse_time, sha256
from service.shx.chain import head
from service.shx.moves import refusals_file, seal_of, sealed_refusals
from service.shx.receipts import statement_commitment
from service.store.database import Database
from service.store.directory import Directory
from service.store.disputes import DisputeRepository
from service.store.events import EventStore, StreamKind


def attached_to_dispute(
    database: Database, stream: UUID, lines: Sequence[bytes], keyring: Keys | None
) -> Iterator[str]:
    """
    Yield why the data stored with a dispute is not what its stream commits to.

    The text of a statement may be erased with its author, the row remains. Without a keyring it
    is checked only that findings are stored.
    """
    dispute = DISPUTES.load(stream, lines).dispute
    stored = DisputeRepository(database)
    yield from _statements(stored, stream, dispute)
    bundle = stored.dispute_bundle(stream)
    if bundle is None:
        yield "its frozen evidence is missing"
    elif sha256(bundle).hex() != dispute.opened.bundle:
        yield "its frozen evidence is not that of its first event"
    yield from _findings(stored, stream, lines, keyring)
    yield from _referees(Directory(database), lines)


def disputes_of_table(store: EventStore, lines: Sequence[bytes]) -> Iterator[tuple[UUID, str]]:
    """Yield each dispute that a table names and that is missing or another one, and the reason."""
    for event in map(orjson.loads, lines):
        if event["type"] != "dispute_opened":
            continue
        dispute = UUID(event["data"]["dispute"])
        found = store.read(dispute, limit=1)
        if found is None or found.kind is not StreamKind.DISPUTE or not found.events:
            yield dispute, f"table {event['game']} names it; it is missing"
        elif head(found.events[0]).hex() != event["data"]["head"]:
            yield dispute, f"table {event['game']} names one with another first event"


def _referees(directory: Directory, lines: Sequence[bytes]) -> Iterator[str]:
    """Yield the referees whose account now has another age than the one that was judged."""
    events = map(orjson.loads, lines)
    seated = [event["data"] for event in events if event["type"] == "referee_seated"]
    for number, one in enumerate(seated):
        judged = one.get("registered_at")
        player = None if judged is None else directory.player(UUID(one["player"]))
        if player is not None and (now := format_time(player.created_at)) != judged:
            yield f"referee {number} registered at {now}; by its event it was {judged}"


def _statements(stored: DisputeRepository, stream: UUID, dispute: Dispute) -> Iterator[str]:
    texts = stored.dispute_texts(stream)
    made = {statement.seq: statement.commit for statement in dispute.statements}
    made |= {
        referee.voted_seq: referee.reason
        for referee in dispute.referees
        if referee.voted_seq is not None and referee.reason is not None
    }
    for seq in sorted(texts.keys() | made.keys()):
        if seq not in made:
            yield f"a statement is stored for seq {seq}, where none was made"
        elif seq not in texts:
            yield f"the statement of seq {seq} is missing"
        elif (salt := texts[seq].salt) is not None and (text := texts[seq].text) is not None:
            if statement_commitment(stream, seq, text, salt).hex() != made[seq]:
                yield f"the statement of seq {seq} is not the one that was made"
        elif texts[seq].salt is not None or texts[seq].text is not None:
            yield f"the statement of seq {seq} lacks its text or its salt"


def _findings(
    stored: DisputeRepository, stream: UUID, lines: Sequence[bytes], keyring: Keys | None
) -> Iterator[str]:
    events = map(orjson.loads, lines)
    made = [event["data"] for event in events if event["type"] == "findings_made"]
    found = stored.dispute_findings(stream)
    if not made:
        return
    if found is None:
        yield "its findings are missing"
        return
    if found.version != made[-1]["version"]:
        yield f"its findings are of version {found.version}, not {made[-1]['version']}"
    elif keyring is not None:
        try:
            content = keyring.open(found.key_id, found.sealed, findings_associated(stream))
        except KeyringError as error:
            yield f"its findings are not as they were made: {error}"
            return
        if sha256(content).hex() != made[-1]["digest"]:
            yield "its findings are not those that were made"


def choices_of_game(database: Database, game: UUID, lines: Sequence[bytes]) -> Iterator[str]:
    """Yield why the blind choices counted for a finished game are not those of its log."""
    [(stored, players)] = database.fetch("check_blind_choices", game)
    if stored is None:
        return
    record = load(game, lines, seed=None)
    made = statistics_input(record, lines, players).choices
    expected = [[c.seq, str(c.player), c.slots, c.playable, c.fitted] for c in made]
    if record.sealed and stored != expected:
        yield f"its {len(stored)} blind choices are not the {len(expected)} in its log"


_SEALS: Final = ("game_sealed", "game_aborted")


def refusals_of_game(
    database: Database,
    game: UUID,
    lines: Sequence[bytes],
    keyring: Keys | None,
    *,
    after: datetime | None,
) -> Iterator[str]:
    """
    Yield why the stored refused attempts of a game are not those that its seal names.

    A game without stored attempts passes, unless it ended later than `after`: their retention
    period may be over, and those of an archived game are in its bundle. Without a keyring only
    their number is compared.
    """
    stored = Directory(database).refusals(game)
    if not lines:
        return
    last = orjson.loads(lines[-1])
    sealed = sealed_refusals(last) if last["type"] in _SEALS else None
    if not stored and (after is None or parse_time(last["at"]) < after):
        return
    if keyring is None or not stored:
        if sealed is not None and len(stored) < sealed.count:
            yield f"{len(stored)} refused attempts are stored, and the seal names {sealed.count}"
        return
    try:
        found = seal_of(refusals_file(opened(keyring, game, stored)))
    except KeyringError as error:
        yield f"a refused attempt is not as it was recorded: {error}"
        return
    if sealed not in (None, found):
        yield f"{found.count} refused attempts are stored, not those that the seal names"


def differing_results(database: Database) -> Iterator[tuple[str, str]]:
    """Yield each player whose counted hands are not those of the games, and the reason."""
    for player, stored, counted in database.fetch("check_results"):
        yield f"player {player}", f"the hands are counted as {stored}; by the games: {counted}"


_DIGITS: Final = 1e-9
"""The relative difference of ratings that another machine may compute."""


def differing_ratings(database: Database) -> Iterator[tuple[str, str]]:
    """
    Yield the ruleset and the reason of each stored rating that does not follow from the log.

    All hands of the log are counted again. Nothing is compared after an erasure or a final ruling
    until the ratings are computed anew, also if it happens meanwhile.
    """
    [(leaves, is_current, stored)] = database.fetch("check_ratings")
    counted = Standings()
    for hands in Directory(database).all_logged_hands(leaves if is_current else 0):
        for hand in hands:
            counted.add(finished_hand(hand))
    if not is_current or not database.fetch("check_ratings")[0][1]:
        return
    expected = {
        (ruleset, who): (rating.mu, rating.sigma, rating.hands)
        for ruleset in counted.rulesets
        for who, rating in counted.of(ruleset)
    }
    found = {(ruleset, who): tuple(numbers) for ruleset, who, *numbers in stored}
    for ruleset, who in sorted(expected.keys() | found.keys()):
        one, other = found.get((ruleset, who)), expected.get((ruleset, who))
        if one is None or other is None or not all(map(_same, one, other)):
            yield f"ruleset {ruleset}", f"the rating of {who} is {one}; by the log it is {other}"


def _same(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=_DIGITS)

"""The server's keys that somebody brings, and what their dates say of what they signed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from service.record.canonical import RecordError
from service.record.notes import NoteVerifier
from service.record.server_keys import ListedKey
from service.record.times import parse_time
from service.verify.log import Log


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """Keys of the server from outside; of those that came in a list also when they were in use."""

    keys: Sequence[NoteVerifier] = ()
    listed: Sequence[ListedKey] = ()

    def remarks(self, log: Log, signed: Iterable[tuple[int, Sequence[NoteVerifier]]]) -> str | None:
        """
        Return in words which events only keys out of their time signed, None where there is none.

        Of each key the first such event is told, and how many more there are.

        Nothing fails by it: the last head of a game can be fetched and signed years
        later, and dates are the operator's word. But a key that is younger than what it
        signed shows the history only since the key was there.
        """
        times = {listed.verifier: listed for listed in self.listed}
        said: dict[NoteVerifier, list[str]] = {}
        for seq, keys in sorted(signed, key=lambda one: one[0]):
            late = {key: _out_of_time(log, seq, times[key]) for key in keys if key in times}
            if len(late) < len(keys) or None in late.values():
                continue  # one in its time is enough
            for key, remark in late.items():
                said.setdefault(key, []).append(str(remark))
        if not said:
            return None
        remarks = "; ".join(map(_first_and_how_many, said.values()))
        return f"{remarks}: so the times prove nothing; the signatures still hold"


def _first_and_how_many(remarks: list[str]) -> str:
    first, *others = dict.fromkeys(remarks)
    return f"{first}; and so for {len(others)} more it signed" if others else first


def _out_of_time(log: Log, seq: int, key: ListedKey) -> str | None:
    """
    Return why a key cannot have signed the head at `seq` while that was the newest, if so.

    It was the newest until the next event; the last one for as long as anybody asks.
    """
    if seq > log.end:
        return None  # its line cannot be read: nobody knows when that was
    name = f"key {key.verifier.key_id.hex()}"
    made, following = log.events[seq]["at"], log.events[min(seq + 1, log.end)]["at"]
    if _after(key.since, following):
        past = f"seq {seq + 1}" if seq < log.end else "the last event"
        return f"{name}, which signed seq {seq}, begins at {key.since}, after {past} ({following})"
    if key.until is not None and _after(made, key.until):
        return f"{name}, which signed seq {seq}, ended at {key.until}, before that ({made})"
    return None


def _after(one: str, other: str) -> bool:
    """Return whether a time is after another; what is no time is after nothing."""
    try:
        return parse_time(one) > parse_time(other)
    except (RecordError, TypeError):
        return False

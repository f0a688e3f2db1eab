"""Redis storage of the replay position that a leading referee shows to the others."""

from __future__ import annotations

from typing import Final
from uuid import UUID

import orjson
import redis

from service.application.disputes.room import LEAD_SECONDS, Lead, Position, unavailable
from service.job_queue import channel

_SET: Final = """
local stored = redis.call('GET', KEYS[1])
local sent = ARGV[1] .. ' ' .. ARGV[2]
if stored then
  local rest = string.match(stored, '^%d+ (.*)$')
  if rest == sent then
    redis.call('EXPIRE', KEYS[1], ARGV[4])
    return stored
  end
  if ARGV[3] == '0' and string.match(rest, '^%d+') ~= ARGV[1] then return stored end
end
local time = redis.call('TIME')
local made = time[1] .. string.format('%06d', time[2]) .. ' ' .. sent
redis.call('SET', KEYS[1], made, 'EX', ARGV[4])
redis.call('PUBLISH', ARGV[5], '')
return made
"""
"""
Script that stores a position, and returns what is stored then.

A room is stored as `<number> <referee> <position>`; the number is the time of Redis in µs. The
same position of the same referee only extends the lead, and another referee needs ARGV[3] to take
it. ARGV: referee, position, 1 to take the lead, LEAD_SECONDS, channel of the room.
"""

_END: Final = """
local stored = redis.call('GET', KEYS[1])
if not stored or string.match(stored, '^%d+ (%d+) ') ~= ARGV[1] then return end
redis.call('DEL', KEYS[1])
redis.call('PUBLISH', ARGV[2], '')
"""
"""Script that deletes the lead if ARGV[1] is the leading referee; ARGV[2] is the channel."""


class RedisLeads:
    """
    The leads of all rooms, one Redis key each.

    A lead is stored nowhere else, because a lost key costs only the shown position. Every method
    raises Refusal `unavailable` if Redis does not answer.
    """

    def __init__(self, client: redis.Redis) -> None:
        self._client = client
        self._set = client.register_script(_SET)
        self._end = client.register_script(_END)

    def read(self, dispute: UUID) -> Lead | None:
        """Return the lead; None if no referee leads."""
        try:
            stored = self._client.get(_key(dispute))
        except redis.RedisError:
            raise unavailable() from None
        return None if stored is None else _lead(stored)

    def set(self, dispute: UUID, referee: int, position: Position, *, take: bool) -> Lead:
        """
        Store the position that a referee has sent, and return the lead that now holds.

        A lead ends LEAD_SECONDS after the last position. While another referee leads, the lead
        changes only if `take` is true.
        """
        sent = orjson.dumps([position.version, position.viewer, position.selected])
        try:
            stored = self._set(
                keys=[_key(dispute)],
                args=[referee, sent, int(take), LEAD_SECONDS, channel("room", dispute)],
            )
        except redis.RedisError:
            raise unavailable() from None
        return _lead(stored)

    def end(self, dispute: UUID, referee: int) -> None:
        """End the lead of a referee; no effect if another one leads."""
        try:
            self._end(keys=[_key(dispute)], args=[referee, channel("room", dispute)])
        except redis.RedisError:
            raise unavailable() from None


def _key(dispute: UUID) -> str:
    return f"shithead.room.{dispute}"


def _lead(stored: bytes | str) -> Lead:
    text = stored.decode() if isinstance(stored, bytes) else stored
    number, referee, sent = text.split(" ", 2)
    version, viewer, selected = orjson.loads(sent)
    position = Position(version=version, viewer=viewer, selected=selected)
    return Lead(number=int(number), referee=int(referee), position=position)

"""Redis: new versions published to readers, RQ jobs enqueued, trials of rulesets."""

from __future__ import annotations

import hashlib
import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from secrets import token_hex
from typing import Any, Final
from uuid import UUID

import orjson
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry
from redis.sentinel import Sentinel
from rq import Queue
from rq.serializers import JSONSerializer

from schemas.settings import Tree
from service.application.errors import Refusal
from service.application.ports import MAIN_QUEUE, GameVersion, JobKind
from service.application.quotas import Slots
from service.due_games import DueGames, Waker, WakeUp
from service.replay.sentences import said
from service.runtime import tracing
from service.runtime.addresses import sentinels_of, uses_sentinel
from service.runtime.tracing import Attribute, SpanName
from service.shx.canonical import canonical

SEARCH_QUEUE = "searches"
"""The queue of tables with bots that search, which take a hundred times as long for a move."""

TAKE_TURN: Final = JobKind(name="take_turn", queue=SEARCH_QUEUE)
TAKE_DUE_TURNS: Final = JobKind(name="take_due_turns", queue=MAIN_QUEUE)
JOB_SECONDS = 60
"""Time limit of a job, which plays moves for at most 20 seconds."""

FORGET_SECONDS = 60
"""Seconds that a finished or failed job is retained in Redis."""

GIVE_UP_SECONDS = 0.05
"""Timeout in seconds of Redis calls within a request; a hung Redis still accepts connections."""

SILENT_SECONDS = 1.0
"""Seconds without calls to Redis after a failure."""

_log = logging.getLogger(__name__)


def connect(url: str, *, seconds: float = GIVE_UP_SECONDS) -> redis.Redis:
    """
    Return a client that gives up after `seconds` if Redis is down or hangs.

    redis-py's own retries would block a request for seconds. Callers outside of requests
    may allow more.
    """
    return client_of(url, **giving_up_after(seconds))


def giving_up_after(seconds: float) -> dict[str, Any]:
    """Return the options of redis-py for one attempt that takes at most `seconds`."""
    return {
        "socket_connect_timeout": seconds,
        "socket_timeout": seconds,
        "retry": Retry(NoBackoff(), 0),
        "health_check_interval": 0,
    }


SENTINEL_SECONDS = 0.5
"""Timeout of a call to one Sentinel, unless the calls to Redis have a shorter one."""


def client_of(url: str, **options: Any) -> redis.Redis:
    """
    Return a client of the Redis at `url`, or of the master that the Sentinels in `url` name.

    With Sentinels every new connection asks them for the present master. User and password are
    those of the servers and of the Sentinels; `rediss+sentinel` uses TLS to both. Raises
    ValueError for an address that does not fit, as one without the name of the master.
    """
    if not uses_sentinel(url):
        return redis.Redis.from_url(url, **options)
    address = sentinels_of(url)
    known: dict[str, Any] = {"username": address.user, "password": address.password}
    if address.tls:
        known["ssl"] = True
    seconds = min(options.get("socket_timeout") or SENTINEL_SECONDS, SENTINEL_SECONDS)
    asking = {"socket_timeout": seconds, "socket_connect_timeout": seconds}
    sentinels = Sentinel(  # type: ignore[no-untyped-call] # redis does not annotate it
        list(address.hosts),
        sentinel_kwargs=known | asking | {"retry": Retry(NoBackoff(), 0)},
    )
    master_for: Callable[..., redis.Redis] = sentinels.master_for
    return master_for(address.name, db=address.database, **known, **options)


def channel(kind: str, identity: UUID) -> str:
    """Return the channel that announces new versions of a game or table."""
    return f"shithead.{kind}.{identity}"


TRACE = "trace"
"""The entry in the metadata of a job with the context of the trace that enqueued it."""

TRACE_SECONDS = 60
"""Seconds for which the context of a published version is retained for relay and streams."""


def _trace_key(game: UUID, version: int) -> str:
    return f"shithead.trace.{game}.{version}"


def _trace_meta() -> dict[str, str] | None:
    """Return the metadata of a job enqueued now: the current trace, if there is one."""
    carried = tracing.context_for_job()
    return None if carried is None else {TRACE: carried}


class RedisNotifier:
    """
    Publishes committed versions in Redis, and enqueues jobs by name.

    Best effort: the relay and the sweeper find lost notifications in Postgres. After a failure
    it works as a circuit breaker: no calls for a while, then one call at a time as a probe, so
    that a hung Redis delays few calls, each by 50 ms.
    """

    def __init__(self, client: redis.Redis, *, quiet_seconds: float = SILENT_SECONDS) -> None:
        self._client = client
        self._queue = self._queue_named(MAIN_QUEUE)
        self._due = DueGames(client)
        self._waker = Waker(self._woken)
        self._publisher = _Publisher(client)
        self._quiet_seconds = quiet_seconds
        self._silent_until: float | None = None  # monotonic; None while Redis answers
        self._trying = threading.Lock()  # held by the call that probes

    def moved(self, game: UUID, version: int, *, wake: bool, table: UUID | None = None) -> None:
        """
        Publish a game's version to its live readers, and to those of `table` if it is set.

        With `wake` a worker plays the due moves: its wake-up is passed on after the answer to the
        move was sent.
        """
        messages: list[tuple[str | int, ...]] = [("PUBLISH", channel("game", game), version)]
        if table is not None:
            messages.append(("PUBLISH", channel("table", table), 0))  # readers use the channel only
        with tracing.span(SpanName.PUBLISH, _PUBLISHING) as span:
            if span.recording:
                key = _trace_key(game, version)
                messages.insert(0, ("SET", key, span.context, "EX", TRACE_SECONDS, "NX"))
            self._call(lambda: self._publisher.send(messages))
            if wake:
                trace = tracing.context_for_job()
                self._waker.add(WakeUp(game=game, version=version, trace=trace))

    def table_moved(self, table: UUID, version: int) -> None:
        """Publish a table's version to live readers."""
        self._call(lambda: self._publisher.send([("PUBLISH", channel("table", table), version)]))

    def player_changed(self, player: UUID) -> None:
        """Publish to the streams of a player that its tokens or invitations have changed."""
        self._call(lambda: self._publisher.send([("PUBLISH", channel("player", player), 0)]))

    def dispute_moved(self, dispute: UUID) -> None:
        """Publish to the streams of the sides and referees that a dispute has changed."""
        self._call(lambda: self._publisher.send([("PUBLISH", channel("dispute", dispute), 0)]))

    def wake(self, game: UUID, version: int, *, searches: bool = False) -> bool:
        """
        Let a worker play the due moves of a game at a version; return whether one was woken.

        The game is added to the due games, unless it was added or taken lately, with a job for all
        of them if none waits. With `searches` a job of its own is put into SEARCH_QUEUE. Each job
        has an id of its own: two runs of one job id would overwrite each other's state in Redis.
        """
        if searches:
            key = f"{game}-{version}-{token_hex(4)}"
            self.enqueue(TAKE_TURN, str(game), version, key=key)
            return True
        woken = WakeUp(game=game, version=version, trace=tracing.context_for_job())
        leased = list[bool]()
        self._call(lambda: leased.append(self._due.lease(game)))
        if any(leased):
            self._woken([woken])
        return any(leased)

    def _woken(self, woken: Sequence[WakeUp]) -> None:
        """Add due games, with a job for all of them if none waits."""
        needed = list[bool]()
        self._call(lambda: needed.append(self._due.add(woken)))
        if any(needed):
            self._serve_due()

    def wake_again(self) -> None:
        """Enqueue a job for the due games if they wait without one, which may have been lost."""
        missing = list[bool]()
        self._call(
            lambda: missing.append(self._due.needs_job(is_job_queued=bool(self._queue.count)))
        )
        if any(missing):
            self._serve_due()

    def _serve_due(self) -> None:
        self.enqueue(TAKE_DUE_TURNS, key=f"due-{token_hex(8)}")

    def enqueue(self, job: JobKind, *arguments: str | int, key: str) -> None:
        """Enqueue a job with an id, which is forgotten after FORGET_SECONDS."""
        queue = self._queue if job.queue == MAIN_QUEUE else self._queue_named(job.queue)
        self._call(
            lambda: queue.enqueue(
                job.name,
                *arguments,
                job_id=key,
                meta=_trace_meta(),
                result_ttl=0,
                failure_ttl=FORGET_SECONDS,
                ttl=FORGET_SECONDS,
            )
        )

    def _queue_named(self, name: str) -> Queue:
        return Queue(
            name, connection=self._client, serializer=JSONSerializer, default_timeout=JOB_SECONDS
        )

    def queued(self) -> int | None:
        """Return the number of due games and jobs that wait, without searches; None if unknown."""
        found: list[int] = []
        self._call(lambda: found.append(int(self._queue.count) + self._due.count()))
        return found[0] if found else None

    def traces(self, versions: Sequence[GameVersion]) -> Mapping[GameVersion, str]:
        """Return the contexts of the traces that published these versions, as far as known."""
        found: list[bytes | str | None] = []
        if versions:
            keys = [_trace_key(game, version) for game, version in versions]
            self._call(lambda: found.extend(self._client.mget(keys)))
        known = zip(versions, found, strict=False)  # none, if Redis does not answer
        return {one: context.decode() for one, context in known if isinstance(context, bytes)}

    def _call(self, act: Callable[[], object]) -> None:
        """Call Redis unless the circuit breaker is open; failures are logged."""
        until = self._silent_until
        if until is None:
            self._attempt(act)
        elif time.monotonic() >= until and self._trying.acquire(blocking=False):
            try:
                self._attempt(act)
            finally:
                self._trying.release()

    def _attempt(self, act: Callable[[], object]) -> None:
        try:
            act()
        except redis.RedisError as error:
            _log.warning("redis does not answer: %s", type(error).__name__)
            self._silent_until = time.monotonic() + self._quiet_seconds
        else:
            self._silent_until = None


_PUBLISHING: Final = {Attribute.MESSAGING: "redis"}


class _Publisher:
    """
    Publishes over a connection of its own, and reads the replies of many messages together.

    A move does not wait for the reply, which is only the number of subscribers. `send` raises
    redis.RedisError if a message cannot be sent, or if Redis does not reply to earlier ones.
    """

    UNREAD: Final = 64
    """Maximum number of unread replies; each takes five bytes of the connection's buffer."""

    def __init__(self, client: redis.Redis) -> None:
        self._pool = client.connection_pool
        self._connection: Any = None
        self._unread = 0
        self._lock = threading.Lock()

    def send(self, commands: Sequence[tuple[str | int, ...]]) -> None:
        """Send commands in one packet: PUBLISH, or another with a short reply."""
        with self._lock:
            try:
                if self._connection is None:
                    self._connection, self._unread = self._pool.get_connection(), 0
                self._connection.send_packed_command(self._connection.pack_commands(commands))
                self._unread += len(commands)
                if self._unread >= self.UNREAD:
                    for _ in range(self._unread):
                        self._connection.read_response()
                    self._unread = 0
            except (redis.RedisError, OSError) as error:
                self._hang_up()
                if isinstance(error, redis.RedisError):
                    raise
                raise redis.ConnectionError(str(error)) from error

    def _hang_up(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.disconnect()
            self._pool.release(connection)


TRIALS_QUEUE: Final = "trials"
"""The queue of trials, served by one process, so that bots never wait for a trial."""

TRY_RULESET: Final = JobKind(name="try_ruleset", queue=TRIALS_QUEUE)
WITHIN_SECONDS: Final = 25.0
"""Seconds after which a request stops waiting for its trial."""

POLL_SECONDS: Final = 0.1
HANDS: Final = 90
"""Hands that bots play in a trial."""

TRIAL_SECONDS: Final = 60
"""Time limit of a running trial."""

MAX_TRIALS: Final = 5
"""Maximum number of trials queued or running for all players; each takes up to four CPU seconds."""

MAX_TRIALS_OF_ADDRESS: Final = 2
"""Maximum number of them from one address, which may have any number of players."""

MAX_WAITING: Final = 8
"""Maximum number of requests of a process that wait for trials."""

LOST_SECONDS: Final = 180
"""Seconds after which a trial without outcome counts as lost."""

KEPT_SECONDS: Final = 600
"""Seconds that an outcome is retained for repeated requests."""

_RUNNING: Final = "shithead.trials"  # sorted set: trials by their expiry time
_BEGIN: Final = """
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', ARGV[1])
redis.call('ZINTERSTORE', KEYS[3], 2, KEYS[3], KEYS[1], 'AGGREGATE', 'MAX')
local own = redis.call('GET', KEYS[2])
if own and own ~= ARGV[3] and redis.call('ZSCORE', KEYS[1], own) then return 'own' end
local known = redis.call('ZSCORE', KEYS[1], ARGV[3])
if not known and redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[4]) then return 'full' end
if not known and redis.call('ZCARD', KEYS[3]) >= tonumber(ARGV[6]) then return 'share' end
redis.call('SET', KEYS[2], ARGV[3], 'EX', ARGV[5])
if known then return 'known' end
redis.call('ZADD', KEYS[1], ARGV[2], ARGV[3])
redis.call('ZADD', KEYS[3], ARGV[2], ARGV[3])
redis.call('EXPIRE', KEYS[3], ARGV[5])
return 'new'
"""
"""
Script that registers a trial: `new` if it has to be enqueued, `known` if it is running already.

`own`: the player has another running trial. `full`: too many trials are running. `share`: too many
of them are from this address. KEYS: all running trials, the player's trial, those of the address.
ARGV: now, the time at which the new trial counts as lost, its id, MAX_TRIALS, LOST_SECONDS,
MAX_TRIALS_OF_ADDRESS.
"""


class QueuedTrials:
    """Runs trials of rulesets: one at a time per player, two per address, a few in total."""

    def __init__(self, client: redis.Redis | None) -> None:
        self._client = client
        self._slots = Slots("trials", MAX_WAITING, per_address=1)  # by player, not address
        self._shares = Slots("trials of an address", MAX_WAITING)

    def refusal(self, settings: Tree, by: UUID, address: str) -> str | None:
        """
        Return why the rules cannot be played, None if the trial hands show no reason.

        Raises Refusal `rate-limited` while another trial of the player `by` runs or too many from
        the address, `unavailable` if there are too many trials, no workers, or no outcome in time.
        A repeated request returns the outcome of the same trial.
        """
        if self._client is None:
            raise _no_worker()
        try:
            return self._tried(self._client, settings, by, address)
        except redis.RedisError:
            raise _no_worker() from None

    def _tried(self, client: redis.Redis, settings: Tree, by: UUID, address: str) -> str | None:
        trial = trial_of(settings)
        with self._slot(by, address):
            outcome = client.get(_outcome(trial))
            if outcome is None:
                _begin(client, trial, settings, by, address)
                outcome = _awaited(client, trial)
        refusal: str | None = orjson.loads(outcome)["refusal"]
        return refusal

    @contextmanager
    def _slot(self, by: UUID, address: str) -> Iterator[None]:
        """Occupy a slot for a waiting request: one for a player, half of all for an address."""
        with self._slots.slot(str(by)) as free, self._shares.slot(address) as free_for_address:
            if not free:
                raise _one_at_a_time() if self._slots.held(str(by)) else _too_many()
            if not free_for_address:
                raise _share_taken()
            yield


COMPARE_PLAYERS: Final = JobKind(name="compare_players", queue=TRIALS_QUEUE)
COMPARE_SECONDS: Final = 180
"""Time limit of a job that compares players, and after it another one is enqueued."""

MAX_QUEUED: Final = 8
"""Maximum number of jobs in the queue of trials with which a comparison is enqueued."""


class QueuedComparisons:
    """Computes the figures of disputes about collusion, in the process of trials."""

    def __init__(self, client: redis.Redis | None) -> None:
        self._client = client

    def figures(self, dispute: UUID) -> Sequence[Mapping[str, Any]] | None:
        """
        Return the figures of a dispute; None while a job computes them, which is enqueued.

        Raises Refusal `unavailable` without a worker, or with too many waiting jobs.
        """
        if self._client is None:
            raise _not_compared()
        try:
            return self._figures(self._client, dispute)
        except redis.RedisError:
            raise _not_compared() from None

    def _figures(self, client: redis.Redis, dispute: UUID) -> Sequence[Mapping[str, Any]] | None:
        found = client.get(_figures_key(dispute))
        if found is not None:
            figures: Sequence[Mapping[str, Any]] = orjson.loads(found)
            return figures
        queue = Queue(TRIALS_QUEUE, connection=client, serializer=JSONSerializer)
        if queue.count >= MAX_QUEUED:
            raise _not_compared()
        if client.set(f"{_figures_key(dispute)}.begun", 1, ex=COMPARE_SECONDS, nx=True):
            queue.enqueue(
                COMPARE_PLAYERS.name,
                str(dispute),
                meta=_trace_meta(),
                job_timeout=COMPARE_SECONDS,
                ttl=COMPARE_SECONDS,
                result_ttl=0,
                failure_ttl=COMPARE_SECONDS,
            )
        return None


NO_COMPARISONS = QueuedComparisons(None)
"""The comparisons of a service without workers: always unavailable."""


def note_figures(client: redis.Redis, dispute: UUID, pairs: Sequence[Mapping[str, Any]]) -> None:
    """Store the figures of a dispute for the referees' next requests."""
    client.set(_figures_key(dispute), orjson.dumps(pairs), ex=KEPT_SECONDS)
    client.delete(f"{_figures_key(dispute)}.begun")


def _figures_key(dispute: UUID) -> str:
    return f"shithead.collusion.{dispute}"


def _not_compared() -> Refusal:
    return Refusal("unavailable", said("collusion.no_worker"), retry_after=10)


NO_TRIALS = QueuedTrials(None)
"""The trials of a service without workers: always unavailable."""


def trial_of(settings: Tree) -> str:
    """Return the id of the trial of some settings; equal settings share a trial."""
    return hashlib.sha256(canonical(settings)).hexdigest()


def note_outcome(client: redis.Redis, settings: Tree, refusal: str | None) -> None:
    """Store the outcome of a trial, the reason for a refusal or None, and end the trial."""
    trial = trial_of(settings)
    client.set(_outcome(trial), orjson.dumps({"refusal": refusal}), ex=KEPT_SECONDS)
    client.zrem(_RUNNING, trial)


def _begin(client: redis.Redis, trial: str, settings: Tree, by: UUID, address: str) -> None:
    """Enqueue a trial unless it is running; raises Refusal at a limit."""
    queue = Queue(TRIALS_QUEUE, connection=client, serializer=JSONSerializer)
    now = time.time()
    begun = client.register_script(_BEGIN)(
        keys=[_RUNNING, f"{_RUNNING}.of.{by}", f"{_RUNNING}.from.{address}"],
        args=[
            *(now, now + LOST_SECONDS, trial, MAX_TRIALS, LOST_SECONDS),
            MAX_TRIALS_OF_ADDRESS,
        ],
    )
    match begun:
        case b"own":
            raise _one_at_a_time()
        case b"full":
            raise _too_many()
        case b"share":
            raise _share_taken()
        case b"new":
            queue.enqueue(
                TRY_RULESET.name,
                settings,
                HANDS,
                meta=_trace_meta(),
                job_timeout=TRIAL_SECONDS,
                ttl=LOST_SECONDS,
                result_ttl=0,
                failure_ttl=TRIAL_SECONDS,
            )


def _awaited(client: redis.Redis, trial: str) -> bytes | str:
    """Return the outcome of a trial; raises Refusal if there is none in time."""
    end = time.monotonic() + WITHIN_SECONDS
    while time.monotonic() < end:
        outcome = client.get(_outcome(trial))
        if outcome is not None:
            return outcome
        time.sleep(POLL_SECONDS)
    detail = said("request.trial_running")
    raise Refusal("unavailable", detail, retry_after=5)


def _outcome(trial: str) -> str:
    return f"shithead.trial.{trial}"


def _no_worker() -> Refusal:
    return Refusal("unavailable", said("request.no_worker"))


def _too_many() -> Refusal:
    return Refusal("unavailable", said("limit.trials", n=MAX_TRIALS), retry_after=10)


def _share_taken() -> Refusal:
    detail = said("limit.trials_of_address", n=MAX_TRIALS_OF_ADDRESS)
    return Refusal("rate-limited", detail, retry_after=5)


def _one_at_a_time() -> Refusal:
    return Refusal("rate-limited", said("limit.trial_of_player"), retry_after=5)

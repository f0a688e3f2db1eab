"""Sequencer process of the public log: a batch each second, a thread for each witness."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import structlog

from service.bootstrap import Services
from service.public_log.sequencer import (
    BATCH,
    ArchivedWal,
    LogBroken,
    NotSaved,
    QuorumMissing,
    Unconfirmed,
)
from service.public_log.witness_client import RemoteWitness, WitnessRefused, WitnessSetBack
from service.runtime.telemetry import ROUNDS, WAL_ARCHIVED, WITNESS_SET_BACK
from service.store.events import StoreError

INTERVAL = 1.0
"""Seconds between two batches; the leaves of one batch share a checkpoint."""

AFTER_SILENCE = 15.0
"""Seconds before the next request to a witness that returned no cosignature."""

LOOK_AGAIN = 600.0
"""Seconds after which a witness is asked for a tree that it has cosigned: it may be set back."""


class ArchiveAge:
    """Measures up to which time the archive holds the WAL: a position at a time, until it does."""

    def __init__(self, wal: ArchivedWal) -> None:
        self._wal = wal
        self._asked: tuple[float, str] | None = None

    def measure(self) -> None:
        """Show the newest time that is known; raises errors of the store."""
        shown = WAL_ARCHIVED.labels(self._wal.archive)
        if self._asked is None:
            shown.set_to_current_time()
        elif self._wal.holds(self._asked[1]):
            shown.set(self._asked[0])
        else:
            return
        self._asked = time.time(), self._wal.position()


class LogSequencer:
    """Adds leaves to the public log; several processes may run, and moves do not wait for them."""

    def __init__(self, services: Services) -> None:
        self._sequencer = services.sequencer
        self._archive = None if services.wal is None else ArchiveAge(services.wal)
        self._confirmed = False
        for witness in self._sequencer.witnesses:
            WITNESS_SET_BACK.labels(witness.verifier.name)  # so that 0 is shown before the first
        self._looked: dict[str, float] = {}  # witness → when it was last asked again
        self._log = structlog.get_logger("sequencer")

    def run(self, stopped: Callable[[], bool]) -> None:
        """Run rounds until `stopped` returns true; witnesses have their own threads."""
        if self._sequencer.witnesses:
            self._log.info("witnesses", count=len(self._sequencer.witnesses))
        for witness in self._sequencer.witnesses:
            threading.Thread(target=self._ask, args=(witness, stopped), daemon=True).start()
        while not stopped():
            if self.one_round() < BATCH:
                time.sleep(INTERVAL)

    def one_round(self) -> int:
        """Add and sign waiting leaves; return how many, 0 after an error."""
        try:
            if not self._confirmed:
                self._sequencer.confirm()
                self._confirmed = True
            added = self._sequencer.run_once()
            if self._archive is not None:
                self._archive.measure()
        except LogBroken as error:
            self._log.critical("the public log is broken", error=str(error))
        except QuorumMissing as error:
            self._log.warning("witnesses have not agreed yet", error=str(error))
        except Unconfirmed as error:
            self._log.warning("another sequencer has to sign first", error=str(error))
            if self._sequencer.backlog().unsigned == 0:
                ROUNDS.labels("sequencer").set_to_current_time()
        except (StoreError, NotSaved) as error:
            self._log.warning("the batch was not written", error=str(error))
        except Exception:  # noqa: BLE001 - the process continues; an alarm reports missing successes
            self._log.exception("a round of the public log failed")
        else:
            ROUNDS.labels("sequencer").set_to_current_time()
            if added:
                self._log.info("leaves added", count=added)
            return added
        return 0

    def _ask(self, witness: RemoteWitness, stopped: Callable[[], bool]) -> None:
        """Request cosignatures of one witness until `stopped` returns true."""
        while not stopped():
            time.sleep(self.ask_once(witness))

    def ask_once(self, witness: RemoteWitness) -> float:
        """Request a cosignature, log any error; return the seconds until the next request."""
        name, now = witness.verifier.name, time.monotonic()
        again = now - self._looked.setdefault(name, now) >= LOOK_AGAIN
        if again:
            self._looked[name] = now
        try:
            reason = self._sequencer.ask(witness, again=again)
        except StoreError as error:
            self._log.warning("witnesses were not asked", error=str(error))
            return INTERVAL
        except Exception:  # noqa: BLE001 - an error with one witness must not end its thread
            self._log.exception("a witness could not be asked", witness=name)
            return AFTER_SILENCE
        if reason is None:
            return INTERVAL
        if isinstance(reason, WitnessSetBack):
            WITNESS_SET_BACK.labels(name).inc()
            self._log.critical("a witness was set back", witness=name, reason=str(reason))
            return INTERVAL
        proven = isinstance(reason, WitnessRefused) and reason.proof is not None
        log = self._log.critical if proven else self._log.warning
        log("no cosignature", witness=name, reason=str(reason), proven=proven)
        return AFTER_SILENCE

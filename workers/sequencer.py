"""Runs the sequencer of the public log: batches once a second, witnesses beside them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import structlog

from service.bootstrap import Services
from service.event_store.protocol import StoreError
from service.measures import ROUNDS
from service.public_log.sequencer import BATCH, LogBroken
from service.public_log.witnesses import WitnessRefused

INTERVAL = 1.0
"""Seconds between two batches; leaves that come within one share a checkpoint."""

AFTER_SILENCE = 15.0
"""Seconds until witnesses are asked again where one of them gave no cosignature."""


class LogSequencer:
    """Lets the log grow; a second one beside it does no harm, and none is needed for moves."""

    def __init__(self, services: Services) -> None:
        self._sequencer = services.sequencer
        self._confirmed = False
        self._log = structlog.get_logger("sequencer")

    def run(self, stopped: Callable[[], bool]) -> None:
        """Go on until `stopped`; witnesses that do not answer hold up nothing."""
        asking = threading.Thread(target=self._ask, args=(stopped,), daemon=True)
        asking.start()
        while not stopped():
            if self.one_round() < BATCH:
                time.sleep(INTERVAL)

    def one_round(self) -> int:
        """Add and sign what there is; return how many leaves were added, 0 also where it failed."""
        try:
            if not self._confirmed:
                self._sequencer.confirm()
                self._confirmed = True
            added = self._sequencer.run_once()
        except LogBroken as error:
            self._log.critical("the public log is broken", error=str(error))
        except StoreError as error:
            self._log.warning("the batch was not written", error=str(error))
        else:
            ROUNDS.labels("sequencer").set_to_current_time()
            if added:
                self._log.info("leaves added", count=added)
            return added
        return 0

    def _ask(self, stopped: Callable[[], bool]) -> None:
        while not stopped():
            pause = INTERVAL
            try:
                for witness, reason in self._sequencer.ask_witnesses():
                    grave = isinstance(reason, WitnessRefused)
                    tell = self._log.critical if grave else self._log.warning
                    pause = AFTER_SILENCE
                    tell("no cosignature", witness=witness.verifier.name, reason=str(reason))
            except StoreError as error:
                self._log.warning("witnesses were not asked", error=str(error))
            time.sleep(pause)

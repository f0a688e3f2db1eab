"""The public log: its calls, and what is stored of it, read again."""

from __future__ import annotations

from typing import Final

import structlog

from service.api.evidence import log
from service.application.quotas import Slice
from service.bootstrap import Services
from service.feature import Feature, Sweep, Work
from service.features.sweeping import HOUR, MINUTE
from service.public_log.time_stamps import AUTHORITY, TIMEOUT
from service.runtime.telemetry import LOG_DAMAGED, WITNESS_SET_BACK

_log = structlog.get_logger("sweeper")


def reread(services: Services) -> Work:
    """
    Read the newest checkpoint, this machine's file of it, and the next tiles of the log again.

    The sweeper reads them: neither a move nor the sequencer ever touches an old row, and what a
    reader of the log finds has been served for days.
    """
    reader, faults = services.log_reader, dict[str, str]()

    def work(part: Slice) -> int:
        fault = reader.file_fault()
        if fault is not None and faults.get("file") != fault:
            _log.critical("the public log is damaged", place="log.checkpoint", reason=fault)
        faults["file"] = fault or ""
        found, done = reader.read_checkpoint(), 0
        while not part.is_over(done):
            width, more = reader.read_tile()
            found += more
            if not width:
                break
            done += width
        for one in found:
            _log.critical("the public log is damaged", place=one.place, reason=one.reason)
        LOG_DAMAGED.labels("stored").set(len(reader.damage()))
        LOG_DAMAGED.labels("file").set(fault is not None)
        return 0  # the next slice comes after the period: a whole log is never in a hurry

    return work


def time_stamps(services: Services) -> Work:
    """
    Have the newest checkpoint stamped if that is due.

    An authority that fails ends the slice, so that the pause grows; nothing else waits for it.
    """
    stamping = services.time_stamping

    def work(_part: Slice) -> int:
        made = stamping.stamp()
        if made is not None:
            _log.info("time stamp", authority=made.authority, leaves=made.size)
        return 0

    return work


PUBLIC_LOG: Final = Feature(
    name="log",
    operations=(log,),
    sweeps=(
        Sweep(
            name="public log",
            period=30,
            seconds=1,
            rows=1024,
            longest_pause=10 * MINUTE,
            begin=reread,
        ),
        Sweep(
            name="time stamps",
            period=5 * MINUTE,
            seconds=TIMEOUT + 1,
            rows=1,
            longest_pause=6 * HOUR,
            begin=time_stamps,
        ),
    ),
    settings=(AUTHORITY,),
    metrics=(LOG_DAMAGED, WITNESS_SET_BACK),
)

"""Machines on one machine: network namespaces on a bridge, each with an address of its own."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from ops.bench.faults.steps import ROOT

UNPRIVILEGED = ("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups")
"""PostgreSQL and PgBouncer refuse to run as root."""

_FILTERED = Path("/proc/sys/net/bridge/bridge-nf-call-iptables")
"""Contains 1 if packets on a bridge pass the firewall; a container engine sets this."""


class NetworkError(Exception):
    """A namespace could not be made: this needs root, and iproute2."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """A network namespace that acts as a machine with its own address."""

    name: str
    namespace: str
    address: str

    def start(
        self,
        command: Sequence[str | Path],
        *,
        log: Path,
        environment: Mapping[str, str] | None = None,
        unprivileged: bool = False,
    ) -> subprocess.Popen[bytes]:
        """Start a program here, and return it; it is not restarted if it ends."""
        become = UNPRIVILEGED if unprivileged else ()
        with log.open("ab") as output:
            return subprocess.Popen(
                ["ip", "netns", "exec", self.namespace, *become, *command],
                cwd=ROOT if not unprivileged else "/",
                env=dict(environment) if environment is not None else dict(os.environ),
                stdout=output,
                stderr=output,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )

    def processes(self) -> list[int]:
        """Return the ids of all processes that run here."""
        done = subprocess.run(
            ["ip", "netns", "pids", self.namespace], capture_output=True, text=True, check=False
        )
        return [int(word) for word in done.stdout.split()]

    def crash(self) -> None:
        """Kill all processes here, as a power failure would."""
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


class Network:
    """A bridge and the machines on it; the host has the first address of the network."""

    def __init__(self) -> None:
        self._number = os.getpid() % 200 + 20
        self._bridge = f"sh{self._number}br"
        self._machines: list[Machine] = []
        self._links: list[str] = []
        self._is_filtered = _FILTERED.exists() and _FILTERED.read_text().strip() == "1"
        self.host = f"10.{self._number}.0.1"

    def __enter__(self) -> Self:
        _run("ip", "link", "add", self._bridge, "type", "bridge")
        _run("ip", "address", "add", f"{self.host}/16", "dev", self._bridge)
        _run("ip", "link", "set", self._bridge, "up")
        self._change_firewall("--insert")
        return self

    def __exit__(self, *_: object) -> None:
        for machine in self._machines:
            machine.crash()
        for link in self._links:
            # The kernel removes it some time after its namespace; the next run has the same names.
            _run("ip", "link", "delete", link)
        for machine in self._machines:
            _run("ip", "netns", "delete", machine.namespace)
        self._change_firewall("--delete")
        _run("ip", "link", "delete", self._bridge)

    def machine(self, name: str) -> Machine:
        """Return a new machine on the bridge; raises NetworkError."""
        number = len(self._machines) + 2
        made = Machine(
            name=name,
            namespace=f"sh{self._number}-{name}",
            address=f"10.{self._number}.0.{number}",
        )
        outside, inside = f"sh{self._number}v{number}", "eth0"
        _run("ip", "netns", "add", made.namespace)
        self._machines.append(made)
        _run(
            *("ip", "link", "add", outside, "type", "veth"),
            *("peer", "name", inside, "netns", made.namespace),
        )
        self._links.append(outside)
        _run("ip", "link", "set", outside, "master", self._bridge, "up")
        for words in (
            ("address", "add", f"{made.address}/16", "dev", inside),
            ("link", "set", inside, "up"),
            ("link", "set", "lo", "up"),
        ):
            _run("ip", "-netns", made.namespace, *words)
        return made

    def _change_firewall(self, change: str) -> None:
        """Insert or delete a rule for traffic on the bridge, which Docker's firewall drops."""
        if self._is_filtered:
            rule = ("-i", self._bridge, "-o", self._bridge, "-j", "ACCEPT")
            _run("iptables", "--wait", change, "FORWARD", *rule)


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise NetworkError(f"{' '.join(command)}: {done.stderr.strip()}")

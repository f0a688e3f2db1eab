"""As whom an embedded PostgreSQL runs: it refuses root, and users that have no name."""

from __future__ import annotations

import ctypes
import os
import pwd
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path

_CLONE_NEWUSER = 0x10000000


class Disguise(StrEnum):
    """How a child comes to run as somebody PostgreSQL accepts."""

    NONE = "none"  # it runs as we do
    NAMESPACE = "namespace"  # in a user namespace that shows us as somebody else
    SETUID = "setuid"  # as another user of the machine


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """The user a child takes on, and who owns its files as we see them."""

    disguise: Disguise
    uid: int
    gid: int
    owner: int

    @staticmethod
    def current() -> Identity:
        """
        Return the identity for PostgreSQL on this machine, tried out once.

        A user namespace comes first: no file changes hands, and data below a private home
        folder stays reachable. Where namespaces are refused (default container profiles) root
        becomes the user nobody.
        """
        return _current()

    def assume(self) -> None:
        """Become this identity; called in a child between fork and exec."""
        match self.disguise:
            case Disguise.NONE:
                return
            case Disguise.NAMESPACE:
                _enter_namespace(self.uid, self.gid)
            case Disguise.SETUID:
                os.setgroups([])
                os.setgid(self.gid)
                os.setuid(self.uid)

    def can_reach(self, path: Path) -> bool:
        """Return whether `path` can be reached; another user needs folders open to all."""
        if self.disguise is not Disguise.SETUID:
            return True
        return all(folder.stat().st_mode & 0o001 for folder in path.resolve().parents)

    def own(self, folder: Path) -> None:
        """Give `folder` and what is in it to this identity."""
        if os.getuid() != 0:
            return
        for path in (folder, *folder.rglob("*")):
            if path.lstat().st_uid != self.owner:
                os.chown(path, self.owner, self.gid if self.owner else 0, follow_symlinks=False)

    def reachable_copy(self, program: Path, *, root: Path, into: Path) -> Path:
        """
        Return `program`, or where this identity cannot reach it the same in a copy of `root`.

        `root` is the folder above `program` that holds all it needs.
        """
        if self.can_reach(program):
            return program
        if not (into / root.name).is_dir():
            partial = into / f"{root.name}.partial"
            shutil.rmtree(partial, ignore_errors=True)
            shutil.copytree(root, partial, symlinks=True)
            partial.rename(into / root.name)
        return into / root.name / program.relative_to(root)


@cache
def _current() -> Identity:
    uid, gid = os.getuid(), os.getgid()
    if uid != 0 and _has_name(uid):
        return Identity(disguise=Disguise.NONE, uid=uid, gid=gid, owner=uid)
    nobody = _nobody()
    if sys.platform.startswith("linux"):
        hidden = Identity(
            disguise=Disguise.NAMESPACE, uid=nobody.pw_uid, gid=nobody.pw_gid, owner=uid
        )
        if _works(hidden.assume):
            return hidden
    if uid != 0:
        return Identity(disguise=Disguise.NONE, uid=uid, gid=gid, owner=uid)
    return Identity(
        disguise=Disguise.SETUID, uid=nobody.pw_uid, gid=nobody.pw_gid, owner=nobody.pw_uid
    )


def _has_name(uid: int) -> bool:
    try:
        pwd.getpwuid(uid)
    except KeyError:
        return False
    return True


def _nobody() -> pwd.struct_passwd:
    """Return the user nobody, else whichever named user is not root."""
    try:
        return pwd.getpwnam("nobody")
    except KeyError:
        others = [entry for entry in pwd.getpwall() if entry.pw_uid != 0]
        if others:
            return others[-1]
    return pwd.struct_passwd(("nobody", "x", 65534, 65534, "", "/", "/bin/false"))


def _works(assume: Callable[[], None]) -> bool:
    """Return whether a child survives becoming somebody else."""
    pid = os.fork()
    if pid == 0:
        try:
            assume()
        except BaseException:  # noqa: BLE001 - the child must not return into our stack
            os._exit(1)
        os._exit(0)
    return os.waitpid(pid, 0)[1] == 0


def _enter_namespace(uid: int, gid: int) -> None:
    """Show ourselves as `uid` and `gid`, in a user namespace of our own."""
    outer_uid, outer_gid = os.getuid(), os.getgid()
    if _unshare(_CLONE_NEWUSER) != 0:
        raise OSError(ctypes.get_errno(), "no user namespace")
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{uid} {outer_uid} 1")
    Path("/proc/self/gid_map").write_text(f"{gid} {outer_gid} 1")


def _unshare(flags: int) -> int:
    if sys.version_info >= (3, 12):
        os.unshare(flags)
        return 0
    return int(ctypes.CDLL(None, use_errno=True).unshare(flags))

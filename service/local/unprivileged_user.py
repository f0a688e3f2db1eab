"""The user of an embedded PostgreSQL, which refuses root and unnamed users."""

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


class Method(StrEnum):
    """How a child process becomes a user that PostgreSQL accepts."""

    NONE = "none"  # it runs as the current user
    NAMESPACE = "namespace"  # in a user namespace that maps us to another user
    SETUID = "setuid"  # as another user of the machine


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """The user of a child process, and the owner of its files as seen from outside."""

    method: Method
    uid: int
    gid: int
    owner: int

    @staticmethod
    def current() -> Identity:
        """
        Return the identity for PostgreSQL on this machine, determined once.

        A user namespace is preferred: files keep their owner, and data in a private home
        folder stays accessible. If namespaces are not permitted (default container profiles),
        root becomes the user nobody.
        """
        return _current()

    def assume(self) -> None:
        """Become this identity; called in a child between fork and exec."""
        match self.method:
            case Method.NONE:
                return
            case Method.NAMESPACE:
                _enter_namespace(self.uid, self.gid)
            case Method.SETUID:
                os.setgroups([])
                os.setgid(self.gid)
                os.setuid(self.uid)

    def can_reach(self, path: Path) -> bool:
        """Return whether this identity can access `path`."""
        if self.method is not Method.SETUID:
            return True
        return all(folder.stat().st_mode & 0o001 for folder in path.resolve().parents)

    def own(self, folder: Path) -> None:
        """Change the owner of `folder` and its content to this identity."""
        if os.getuid() != 0:
            return
        for path in (folder, *folder.rglob("*")):
            if path.lstat().st_uid != self.owner:
                os.chown(path, self.owner, self.gid if self.owner else 0, follow_symlinks=False)

    def reachable_copy(self, program: Path, *, root: Path, into: Path) -> Path:
        """
        Return `program`, or its copy if this identity cannot access it.

        `root` is the folder above `program` that contains everything it needs.
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
        return Identity(method=Method.NONE, uid=uid, gid=gid, owner=uid)
    nobody = _nobody()
    if sys.platform.startswith("linux"):
        hidden = Identity(method=Method.NAMESPACE, uid=nobody.pw_uid, gid=nobody.pw_gid, owner=uid)
        if _works(hidden.assume):
            return hidden
    if uid != 0:
        return Identity(method=Method.NONE, uid=uid, gid=gid, owner=uid)
    return Identity(method=Method.SETUID, uid=nobody.pw_uid, gid=nobody.pw_gid, owner=nobody.pw_uid)


def _has_name(uid: int) -> bool:
    try:
        pwd.getpwuid(uid)
    except KeyError:
        return False
    return True


def _nobody() -> pwd.struct_passwd:
    """Return the user nobody, else any named user except root."""
    try:
        return pwd.getpwnam("nobody")
    except KeyError:
        others = [entry for entry in pwd.getpwall() if entry.pw_uid != 0]
        if others:
            return others[-1]
    return pwd.struct_passwd(("nobody", "x", 65534, 65534, "", "/", "/bin/false"))


def _works(assume: Callable[[], None]) -> bool:
    """Return whether a child process can assume the identity."""
    pid = os.fork()
    if pid == 0:
        try:
            assume()
        except BaseException:  # noqa: BLE001 - the child must not return into our stack
            os._exit(1)
        os._exit(0)
    return os.waitpid(pid, 0)[1] == 0


def _enter_namespace(uid: int, gid: int) -> None:
    """Enter a new user namespace that maps us to `uid` and `gid`; raises OSError."""
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

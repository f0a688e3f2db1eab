"""How commands end: the exit statuses of all of them, the errors behind these, suggestions."""

from __future__ import annotations

import errno
import os
import stat
from difflib import get_close_matches
from pathlib import Path
from typing import Final

import click

from service.runtime.plain_errors import why

FAILED: Final = 1
UNDECIDED: Final = 2
UNREADABLE: Final = 3
MISUSED: Final = 64
INTERRUPTED: Final = 130

TABLE: Final = """\b
Exit statuses of every command:
  0    done, and nothing was found
  1    faults were found, or the command failed on this machine, with the reason
  2    not decided: evidence is missing, or the service refused, does not know it
       or does not answer; `admin stuck`: games are stuck
  3    a file is missing, cannot be read, or is not what the command reads;
       or a report cannot be written
  64   invalid command line, also an address or a --url that is none
  130  interrupted with Ctrl-C
"""
"""Part of the help of `shithead`; a command describes only what it means by them."""


class NoService(click.ClickException):
    """The service does not answer, does not know what was asked for, or refuses the request."""

    exit_code = UNDECIDED


class Unreadable(click.ClickException):
    """A file is missing, cannot be read, or is not what the command reads."""

    exit_code = UNREADABLE


class ReadPath(click.Path):
    """The path of a file or folder that a command reads; Unreadable if it cannot."""

    def __init__(self, *, file: bool = False, folder: bool = False, stream: bool = False) -> None:
        super().__init__(path_type=Path, allow_dash=stream)
        self._kinds = (("a file", file), ("a folder", folder))

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,  # noqa: ARG002 - click's signature
        ctx: click.Context | None,  # noqa: ARG002 - click's signature
    ) -> Path:
        """Return the path; raises Unreadable if nothing readable of its kind is there."""
        path = Path(value)
        if self.allow_dash and str(path) == "-":
            return path
        try:
            is_folder = stat.S_ISDIR(path.stat().st_mode)
            if not os.access(path, os.R_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        except OSError as error:
            raise Unreadable(why(error)) from None
        wanted = [kind for kind, accepted in self._kinds if accepted]
        if ("a folder" if is_folder else "a file") not in wanted:
            raise Unreadable(f"{path} is not {wanted[0]}")
        return path


class Suggesting(click.Group):
    """A group of commands that names the nearest ones to a mistyped name."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the words name; raises UsageError for an unknown one."""
        near = get_close_matches(args[0], self.list_commands(ctx))
        if near and self.get_command(ctx, args[0]) is None:
            ctx.fail(f"No such command {args[0]!r}. Did you mean {' or '.join(near)}?")
        return super().resolve_command(ctx, args)

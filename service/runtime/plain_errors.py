"""Errors as words for people: the reason of the operating system without its number."""

from __future__ import annotations


def why(error: BaseException) -> str:
    """
    Return the reason of an error, with the file that it is about.

    >>> why(FileNotFoundError(2, "No such file or directory", "keys.json"))
    'keys.json: No such file or directory'
    """
    if not isinstance(error, OSError) or not error.strerror:
        return str(error) or type(error).__name__
    if error.filename is None or isinstance(error.filename, int):
        return error.strerror
    name = error.filename
    shown = name.decode(errors="replace") if isinstance(name, bytes) else name
    return f"{shown}: {error.strerror}"

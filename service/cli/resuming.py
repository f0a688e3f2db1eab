"""Resume a hand: compare key and entropy of the options with those it was dealt with."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from service.cli.play import OVER
from service.client.hand import Hand
from service.client.player_files import read_seat_key
from service.client.signing import public_text

_NOT_YOURS: Final = "If you took the seat with a key, do not continue: the server removed it."


def can_resume(hand: Hand, key_file: Path | None) -> bool:
    """
    Return whether to play, after the player's key and entropy were set to those of the hand.

    The log pins a key and entropy for the seat. If they differ from the options, but not
    from what this folder recorded, an option is wrong and not the server. The player is
    asked before another key is used, or before moves go unsigned.

    Raises Contradicted if this folder recorded another key or entropy for the seat.
    """
    view = hand.look()
    if view["status"] in OVER:
        return True
    player = hand.player
    key, entropy = hand.dealt_with()
    if key != player.public:
        agreed = _without(hand) if key is None else _with(hand, key, key_file)
        if not agreed:
            return False
    if entropy != player.entropy:
        click.echo(f"this hand was dealt with --entropy {entropy}, which is used", err=True)
        player.entropy = entropy
    if hand.entropy_is_missing():
        click.echo("the entropy of your seat is not saved here: it cannot be checked", err=True)
    return True


def _without(hand: Hand) -> bool:
    """Return whether to play a hand without the key that the options name."""
    click.echo(
        "this hand was dealt without a key for your seat: its moves cannot be signed (--keyed)."
    )
    if hand.taken_elsewhere():
        click.echo(_NOT_YOURS)
    if not _confirmed("Continue without a key?"):
        click.echo("not played; to play without a key, leave out --keyed")
        return False
    hand.player.key = None
    return True


def _with(hand: Hand, key: str, key_file: Path | None) -> bool:
    """Return whether to play with the key that the hand was dealt with, if it is found."""
    path = key_file or hand.player.kept.folder / "seat.key"
    click.echo(f"this hand was dealt with the key {key} for your seat: each move has to be signed.")
    if hand.player.key is not None or not path.exists():
        click.echo("That key was not found: name its file with --keyed --key FILE.")
        return False
    found = read_seat_key(path)
    if public_text(found) != key:
        click.echo(f"That key was not found: {path} has another. Use --keyed --key FILE.")
        return False
    click.echo(f"The key is not in use (--keyed is missing); {path} has it.")
    if not _confirmed("Continue with this key?"):
        click.echo("not played; to continue, add --keyed")
        return False
    hand.player.key = found
    return True


def _confirmed(question: str) -> bool:
    """Return whether the player agrees; without a terminal, False."""
    try:
        return click.confirm(question, default=False)
    except click.Abort:
        click.echo()
        return False

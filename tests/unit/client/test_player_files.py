"""Secret files of a player: created with mode 0600, and refused if others can read them."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from service.client.player import Player
from service.client.player_files import (
    BadFile,
    PlayerFolder,
    read_seat_key,
    read_token,
    write_private,
)
from service.shx.tlog.notes import NoteVerifier


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_a_key_is_made_once_and_read_again(tmp_path: Path) -> None:
    path = tmp_path / "new" / "seat.key"
    made = read_seat_key(path)
    assert read_seat_key(path).private_bytes_raw() == made.private_bytes_raw()
    assert (mode(path), mode(path.parent)) == (0o600, 0o700)


def test_files_readable_by_others_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "token"
    assert read_token(path) is None
    write_private(path, b"secret\n")
    assert read_token(path) == "secret"
    path.chmod(0o640)
    for read in (read_token, read_seat_key):
        with pytest.raises(BadFile, match="0600"):
            read(path)


def test_an_invalid_key_is_refused_without_showing_it(tmp_path: Path) -> None:
    write_private(tmp_path / "seat.key", b'{"ed25519":"c2VjcmV0"}')
    with pytest.raises(BadFile) as raised:
        read_seat_key(tmp_path / "seat.key")
    assert "c2VjcmV0" not in str(raised.value)


def test_files_of_services_and_games_are_separate(tmp_path: Path) -> None:
    here, there = (
        PlayerFolder.at(tmp_path, f"http://{host}/") for host in ("a.example", "b.example:8080")
    )
    keys = [NoteVerifier(name="a.example", public=bytes(range(32)))]
    here.pin(keys)
    assert (here.pinned(), there.pinned()) == (keys, [])
    folder = here.game(UUID(int=7))
    assert {mode(part) for part in (folder, folder.parent, folder / "receipts")} == {0o700}
    (here.folder / "server.keys").write_text("no keys")
    with pytest.raises(BadFile):
        here.pinned()


def test_a_token_is_stored_only_after_its_recovery_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a full disk the next start registers again: no account is without its code."""

    class Service:
        token: str | None = None

        def post(self, _path: str, _body: object, *, once: bool) -> dict[str, str]:
            return {"token": "t", "recovery": "r"} if once else {}

    def write(path: Path, content: bytes) -> None:
        if path.name.endswith(".recovery"):
            raise OSError("no space left on device")
        path.write_bytes(content)

    monkeypatch.setattr("service.client.player.write_private", write)
    service: Any = Service()
    player = Player(api=service, files=PlayerFolder(tmp_path))
    with pytest.raises(OSError, match="no space"):
        player.register(tmp_path / "token", "Ada")
    assert not (tmp_path / "token").exists()

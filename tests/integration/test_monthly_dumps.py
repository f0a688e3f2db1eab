"""`shithead dump` and `verify --dump`: the public hands of a month as files."""

from __future__ import annotations

import fcntl
import io
import shutil
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import orjson
import pytest

from service.application.errors import Refusal
from service.cli.__main__ import run
from service.cli.dump import UNFINISHED
from service.shx.archives import read_zip, write_zip
from service.shx.bundle import read_bundle
from service.shx.canonical import sha256
from service.shx.dumps import INDEX, MANIFEST, DumpManifest, month_of, read_index, read_manifest
from service.shx.tar_files import END, member
from service.verify.dump import main_verify_dump
from service.verify.evidence import PublicKeys, parse_keys
from service.verify.files import VerifyOptions
from tests.worlds.api_world import Person, World, make_world

MONTH = f"{datetime.now(UTC):%Y-%m}"
HANDS = 5


@dataclass(kw_only=True)
class Scene:
    """A service with a month of hands, its dump, and an older checkpoint."""

    world: World
    ada: Person
    dump: Path
    older: Path
    keys: PublicKeys
    games: list[str]
    private: str


def given_up(person: Person, **more: object) -> str:
    table = person.table(**more)
    answer = person.post(f"/v1/games/{table['game']}/moves", {"type": "forfeit"})
    assert answer.status_code == 201
    game: str = table["game"]
    return game


@pytest.fixture(scope="module")
def scene(module_database_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """Return a service with sealed hands, one of them private, and one still being played."""
    world = make_world(module_database_url)
    ada, folder = world.person("Ada Unmistakable"), tmp_path_factory.mktemp("months")
    handle = {"handle": "unmistakable"}
    assert ada.call("PUT", "/v1/players/me/handle", json=handle).status_code == 200
    games = [given_up(ada) for _ in range(2)]
    world.services.sequencer.run_once()
    (older := folder / "older.checkpoint").write_bytes(world.get("/v1/log/checkpoint").get_data())
    games += [given_up(ada, ruleset="leeds") for _ in range(HANDS - 2)]
    private = given_up(ada, visibility="private")
    ada.table()
    world.services.sequencer.run_once()
    world.services.dumps.write(MONTH, folder / "dump")
    keys = parse_keys([world.get("/v1/keys").get_data().decode()])
    yield Scene(
        world=world,
        ada=ada,
        dump=folder / "dump",
        older=older,
        keys=keys,
        games=games,
        private=private,
    )
    world.services.close()


def verified(
    folder: Path, keys: PublicKeys | None = None, *older: Path, jobs: int = 1
) -> tuple[int, str, str]:
    out, errors = io.StringIO(), io.StringIO()
    options = VerifyOptions(keys=keys or PublicKeys(), jobs=jobs)
    status = main_verify_dump(folder, options, older, out=out, errors=errors)
    return status, out.getvalue(), errors.getvalue()


@pytest.fixture
def copy(scene: Scene, tmp_path: Path) -> Path:
    """Return a copy of the dump, to be changed."""
    return Path(shutil.copytree(scene.dump, tmp_path / "copy"))


def test_a_dump_has_every_sealed_public_hand_and_is_verified_from_its_files(scene: Scene) -> None:
    index = list(read_index(scene.dump))
    assert {str(hand.game) for hand in index} == set(scene.games)
    assert [hand.leaf for hand in index] == sorted(hand.leaf for hand in index)
    assert all(len(hand.players) == 2 for hand in index)
    assert {str(hand.players[0]) for hand in index} == {scene.ada.id}
    assert {hand.players[1] for hand in index} == {None}, "a bot has no id"
    status, out, errors = verified(scene.dump, scene.keys, scene.older)
    assert (status, errors) == (0, "")
    assert f"{HANDS} hands of {MONTH}" in out
    assert "The checkpoint is signed by tests.example." in out
    assert "testimony of the operator" in out
    assert "was not checked: no --server-key" in verified(scene.dump)[1]


def test_a_dump_has_neither_name_nor_handle(scene: Scene) -> None:
    for path in scene.dump.rglob("*"):
        if path.is_file():
            assert b"unmistakable" not in path.read_bytes().lower(), path


def test_a_dump_of_the_same_data_has_the_same_bytes(scene: Scene, tmp_path: Path) -> None:
    given_up(scene.ada, visibility="private")
    scene.world.services.sequencer.run_once()
    scene.world.services.dumps.write(MONTH, tmp_path / "again")
    files = {path.relative_to(scene.dump) for path in scene.dump.rglob("*") if path.is_file()}
    again = {p.relative_to(tmp_path / "again") for p in (tmp_path / "again").rglob("*")}
    assert files == {path for path in again if (tmp_path / "again" / path).is_file()}
    for path in files:
        assert (scene.dump / path).read_bytes() == (tmp_path / "again" / path).read_bytes(), path


def test_bundles_have_proofs_to_the_one_checkpoint_and_nothing_about_disputes(
    scene: Scene,
) -> None:
    checkpoint = (scene.dump / "checkpoint").read_bytes()
    with tarfile.open(scene.dump / "hands-0001.tar") as tar:
        for info in tar:
            content = tar.extractfile(info)
            assert content is not None
            bundle = read_bundle(content.read())
            assert set(bundle.files) <= {"log/proof.tlog-proof", "refusals.jsonl"}
            assert bundle.files["log/proof.tlog-proof"].endswith(checkpoint)


def test_tar_files_are_divided_at_their_limit(
    scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.application.dumps.MAX_TAR", 20_000)
    manifest = scene.world.services.dumps.write(MONTH, tmp_path / "small")
    assert len(manifest.tars) > 1
    for tar in manifest.tars:
        path = tmp_path / "small" / tar.name
        assert (path.stat().st_size, sha256(path.read_bytes()).hex()) == (tar.size, tar.sha256)
        assert tar.size <= 20_000
    assert verified(tmp_path / "small", scene.keys)[0] == 0


def test_an_erased_player_is_null_in_the_next_edition(
    scene: Scene, database_url: str, tmp_path: Path
) -> None:
    world = make_world(database_url)
    bob = world.person("Bob")
    given_up(bob)
    world.services.sequencer.run_once()
    world.services.dumps.write(MONTH, tmp_path / "before")
    assert bob.call("DELETE", "/v1/players/me").status_code == 204
    world.services.dumps.write(MONTH, tmp_path / "after")
    world.services.close()
    before, after = (list(read_index(tmp_path / name)) for name in ("before", "after"))
    assert [hand.players for hand in before] != [hand.players for hand in after]
    assert [replace(hand, players=()) for hand in before] == [
        replace(hand, players=()) for hand in after
    ]
    assert after[0].players == (None, None)
    assert verified(tmp_path / "after", scene.keys)[0] == 1, "signed by another service"


def test_a_month_without_hands_is_refused(scene: Scene, tmp_path: Path) -> None:
    with pytest.raises(Refusal, match="2001-01"):
        scene.world.services.dumps.write("2001-01", tmp_path / "none")
    for text in ("2026-13", "2026-1", "26-11"):
        with pytest.raises(ValueError, match="month"):
            scene.world.services.dumps.write(text, tmp_path / "none")
    assert not (tmp_path / "none").exists()


def bundles_of(folder: Path) -> list[tuple[str, bytes, int]]:
    """Return name, content and time of the bundles in the tar file of a small dump."""
    found = []
    with tarfile.open(folder / "hands-0001.tar") as tar:
        for info in tar:
            content = tar.extractfile(info)
            assert content is not None
            found.append((info.name, content.read(), int(info.mtime)))
    return found


def pack(folder: Path, bundles: list[tuple[str, bytes, int]]) -> None:
    pieces = [member(name, content, at=at) for name, content, at in bundles]
    (folder / "hands-0001.tar").write_bytes(b"".join(pieces) + END)


def rewrite_index(folder: Path, change: Callable[[list[bytes]], list[bytes]]) -> None:
    """Change the index of a dump, and the manifest with it, as a careful forger would."""
    lines = change((folder / INDEX).read_bytes().splitlines())
    data = b"".join(line + b"\n" for line in lines)
    (folder / INDEX).write_bytes(data)
    manifest: DumpManifest = read_manifest(folder)
    new = replace(manifest, index=sha256(data).hex(), hands=len(lines))
    (folder / MANIFEST).write_bytes(new.content)


def test_a_removed_a_changed_and_a_foreign_bundle_are_each_named(copy: Path, scene: Scene) -> None:
    first, second, third, *rest = bundles_of(copy)
    stranger = ("11111111-1111-4111-8111-111111111111.shx", *third[1:])
    damaged = bytearray(third[1])
    damaged[len(damaged) // 2] ^= 1
    cases = {
        f"{second[0]}: removed from hands-0001.tar": [first, third, *rest],
        f"{third[0]} in hands-0001.tar: changed: its hash is not that of the index": [
            *(first, second, (third[0], bytes(damaged), third[2])),
            *rest,
        ],
        f"{stranger[0]} in hands-0001.tar: foreign: the index does not name it there": [
            *(first, second, stranger, third),
            *rest,
        ],
        f"{rest[-1][0]}: removed from hands-0001.tar": [first, second, third, *rest[:-1]],
    }
    for fault, bundles in cases.items():
        pack(copy, bundles)
        status, out, _ = verified(copy, scene.keys)
        assert status == 1, fault
        assert f"1 fault; the first: {fault}" in out, out


@pytest.mark.heavy
def test_several_faults_are_named_and_the_first_of_them_again(copy: Path, scene: Scene) -> None:
    first, second, third, *rest = bundles_of(copy)
    pack(copy, [second, first, *rest])
    status, out, _ = verified(copy, scene.keys, jobs=2)
    assert status == 1
    *faults, last, _testimony = out.splitlines()
    assert [line.split()[1].rstrip(":") for line in faults] == [first[0], first[0], third[0]]
    assert f"3 faults; the first: {first[0]}: removed" in last


def test_a_forged_bundle_with_a_matching_index_fails_its_checks(copy: Path, scene: Scene) -> None:
    """The hash in the index is the operator's; the proof and the checks of the log are not."""
    bundles = bundles_of(copy)
    files = read_zip(bundles[2][1])
    lines = files["events.jsonl"].splitlines()
    name, _, at = bundles[2]
    forged = write_zip({**files, "log/proof.tlog-proof": b"no proof"})
    other = write_zip({**files, "events.jsonl": b"\n".join([*lines[:-2], lines[-1]]) + b"\n"})
    own = read_zip(bundles[0][1])["log/proof.tlog-proof"]
    swapped = write_zip({**files, "log/proof.tlog-proof": own})
    for content, reason in (
        (forged, "no bundle: the file log/proof.tlog-proof was changed"),
        (other, "no bundle: the file events.jsonl was changed"),
        (swapped, "no bundle: the file log/proof.tlog-proof was changed"),
    ):
        changed = [*bundles[:2], (name, content, at), *bundles[3:]]
        pack(copy, changed)

        def with_hash(index: list[bytes], content: bytes = content) -> list[bytes]:
            line = orjson.loads(index[2])
            line |= {"sha256": sha256(content).hex(), "size": len(content)}
            return [*index[:2], orjson.dumps(line, option=orjson.OPT_SORT_KEYS), *index[3:]]

        rewrite_index(copy, with_hash)
        status, out, _ = verified(copy, scene.keys)
        assert status == 1
        assert f"the first: {name} in hands-0001.tar: {reason}" in out, out


def test_a_bundle_of_a_later_checkpoint_is_foreign(copy: Path, scene: Scene) -> None:
    bundles = bundles_of(copy)
    game, at = scene.games[0], bundles[0][2]
    content = scene.world.get(f"/v1/games/{game}/evidence").get_data()
    pack(copy, [(f"{game}.shx", content, at), *bundles[1:]])

    def with_hash(index: list[bytes]) -> list[bytes]:
        line = orjson.loads(index[0]) | {"sha256": sha256(content).hex(), "size": len(content)}
        return [orjson.dumps(line, option=orjson.OPT_SORT_KEYS), *index[1:]]

    rewrite_index(copy, with_hash)
    assert "foreign: its proof leads to another checkpoint" in verified(copy, scene.keys)[1]


def test_files_removed_or_changed_beside_the_bundles_are_named(
    scene: Scene, tmp_path: Path
) -> None:
    def changed(name: str) -> Callable[[Path], None]:
        def act(folder: Path) -> None:
            data = bytearray((folder / name).read_bytes())
            data[-2] ^= 1
            (folder / name).write_bytes(bytes(data))

        return act

    tile = next(p.relative_to(scene.dump) for p in scene.dump.rglob("*.p/*") if "0" in p.parts)
    cases: list[tuple[Callable[[Path], object], str]] = [
        (lambda d: (d / str(tile)).unlink(), f"{tile}: removed"),
        (changed(str(tile)), "tile/0: changed"),
        (lambda d: (d / "hands-0001.tar").unlink(), "hands-0001.tar: changed, removed"),
        (lambda d: (d / "hands-0002.tar").write_bytes(END), "hands-0002.tar: foreign"),
        (changed(INDEX), f"{INDEX}: changed"),
        (changed("checkpoint"), "checkpoint: "),
        (lambda d: rewrite_index(d, lambda lines: lines[1:]), "foreign: the index does not name"),
        (lambda d: rewrite_index(d, lambda lines: lines[::-1]), "not in the order"),
    ]
    for number, (act, fault) in enumerate(cases):
        folder = Path(shutil.copytree(scene.dump, tmp_path / str(number)))
        act(folder)
        status, out, errors = verified(folder, scene.keys)
        assert status == 1, (fault, out, errors)
        assert f"the first: {fault}" in out or fault in out.partition("the first: ")[2], out
    (tmp_path / "0" / MANIFEST).unlink()
    assert verified(tmp_path / "0")[0] == 3


def test_a_dump_that_does_not_continue_an_older_checkpoint_is_two_histories(
    scene: Scene, database_url: str, tmp_path: Path
) -> None:
    """The same operator signs another tree: a fork, which the older checkpoint shows."""
    fork = make_world(database_url, keys=scene.world.services.keyring.present.to_text())
    bob = fork.person("Bob")
    for _ in range(3):
        given_up(bob)
    fork.services.sequencer.run_once()
    fork.services.dumps.write(MONTH, tmp_path / "fork")
    fork.services.close()
    assert verified(tmp_path / "fork", scene.keys)[0] == 0
    status, out, _ = verified(tmp_path / "fork", scene.keys, scene.older)
    assert status == 1
    assert "older.checkpoint: the tree of the dump does not continue its tree" in out


def assert_killed_dumps_are_written_again(
    scene: Scene, folder: Path, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """What the killed dump wrote goes, drafts too; what it cannot have written stays."""
    folder = shutil.copytree(folder, folder.with_name("killed"))
    (folder / MANIFEST).unlink()
    (folder / "hands-0007.tar").write_bytes(b"of more hands")
    (folder / ".hands-0008.tar.0123456789abcdef").write_bytes(b"cut")
    mark = folder / UNFINISHED
    with mark.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert run([*words, str(folder)]) == 1
        assert "another dump is being written to" in capsys.readouterr().err
    (folder / "notes.txt").write_text("mine")
    assert run([*words, str(folder)]) == 1
    assert "notes.txt is not of a dump" in capsys.readouterr().err
    (folder / "notes.txt").rename(folder.with_name("notes.txt"))
    assert run([*words, str(folder)]) == 0
    assert sorted(path.name for path in folder.iterdir()) == sorted(
        path.name for path in scene.dump.iterdir()
    )
    assert (folder / MANIFEST).read_bytes() == (scene.dump / MANIFEST).read_bytes()
    none = folder.with_name("none")
    assert run(["dump", "--month", "2001-01", str(none), *words[3:]]) == 1
    assert not none.exists()
    capsys.readouterr()


@pytest.mark.parametrize("month", ["2026-13", "2026-1", "0000-01", "9999-12"])
def test_a_month_without_two_ends_is_refused_as_a_month(month: str) -> None:
    with pytest.raises(ValueError, match=f"'{month}' is no month"):
        month_of(month)


def test_the_commands_write_and_verify_a_dump(
    scene: Scene,
    module_database_url: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    keys = tmp_path / "service.keys"
    keys.write_text(scene.world.services.keyring.present.to_text())
    keys.chmod(0o600)
    where = ("--database-url", module_database_url, "--key-file", str(keys))
    folder = tmp_path / "dump"
    assert run(["dump", "--month", MONTH, str(folder), *where]) == 0
    assert capsys.readouterr().out.startswith(f"{HANDS} hands of {MONTH} in 1 tar files, ")
    assert (folder / MANIFEST).read_bytes() == (scene.dump / MANIFEST).read_bytes()
    assert run(["dump", "--month", MONTH, str(folder), *where]) == 1
    assert "is not empty" in capsys.readouterr().err
    assert_killed_dumps_are_written_again(scene, folder, ("dump", "--month", MONTH, *where), capsys)
    (listed := tmp_path / "keys.json").write_bytes(scene.world.get("/v1/keys").get_data())
    older = ("--checkpoint", str(scene.older), "--server-key", str(listed))
    assert run(["verify", "--dump", str(folder), "--jobs", "1", *older]) == 0
    out = capsys.readouterr().out
    assert f"none is foreign; the dump was made while {MONTH} was running" in out
    assert "none is missing" not in out
    for words in (["verify"], ["verify", "--dump", str(folder), "--level", "L2"]):
        assert run(words) == 64

"""Witness and monitor over HTTP, with an honest and with a manipulated service."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from werkzeug.serving import BaseWSGIServer, make_server

from service.public_log.log_client import LogClient, Unreachable
from service.public_log.monitor import Expected, Monitor, MonitorState, load_state, save_state
from service.public_log.sequencer import Sequencer
from service.public_log.witness import Witness, WitnessState, follow
from service.public_log.witness_client import RemoteWitness, WitnessRefused
from service.shx.canonical import format_time
from service.shx.tlog.checkpoint import (
    Checkpoint,
    Cosigner,
    cosign,
    cosignatures,
    open_checkpoint,
    sign_checkpoint,
)
from service.shx.tlog.notes import NoteSigner, parse_note
from service.shx.tlog.tree import leaf_hash, root
from tests.worlds.api_world import Person, World
from tests.worlds.fake_log import WITNESS, answering


class ManipulatedService:
    """A service over HTTP of which a test can replace answers."""

    def __init__(self, app: Any) -> None:
        self._app = app
        self.replaced: dict[str, bytes | None] = {}

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Any:
        path = environ["PATH_INFO"]
        if path in self.replaced:
            body = self.replaced[path]
            start_response("404 Not Found" if body is None else "200 OK", [])
            return [body or b""]
        return self._app(environ, start_response)


@pytest.fixture
def manipulated(world: World) -> ManipulatedService:
    return ManipulatedService(world.app)


@pytest.fixture
def server(manipulated: ManipulatedService) -> Iterator[BaseWSGIServer]:
    made = make_server("127.0.0.1", 0, manipulated, threaded=True)
    threading.Thread(target=made.serve_forever, args=(0.05,), daemon=True).start()
    yield made
    made.shutdown()


@pytest.fixture
def client(server: BaseWSGIServer) -> LogClient:
    return LogClient(f"http://127.0.0.1:{server.server_port}")


@pytest.fixture
def witness(world: World, tmp_path: Path) -> Witness:
    return Witness(
        cosigner=WITNESS,
        logs={"tests.example": [world.services.verifier]},
        state=WitnessState(tmp_path / "witness.state"),
        now=time.time,
    )


class Watch:
    """A monitor that is restarted for each poll: its only memory is its state file."""

    def __init__(self, client: LogClient, path: Path) -> None:
        self.client, self.path = client, path
        self.kept: list[bytes] = []
        self.now = datetime.now(UTC)
        self.expected = Expected()

    def poll(self) -> list[str]:
        """Poll once, and return the kinds of the new findings."""
        state = load_state(self.path)
        before = len(state.findings)
        monitor = Monitor(
            self.client,
            state,
            now=lambda: self.now,
            unsealed_after=timedelta(hours=24),
            keep=self.kept.append,
            expected=self.expected,
        )
        monitor.poll()
        save_state(self.path, state)
        return [finding.partition(":")[0] for finding in state.findings[before:]]

    @property
    def state(self) -> MonitorState:
        return load_state(self.path)


@pytest.fixture
def watch(client: LogClient, tmp_path: Path) -> Watch:
    return Watch(client, tmp_path / "monitor.state")


def play(person: Person, *, hands: int = 1, **more: Any) -> list[str]:
    """Play hands at one table to their end, by forfeit; return the ids of the games."""
    table = person.table({"bot": "lowest"}, {"bot": "lowest"}, **more)
    games = [table["game"]]
    while True:
        answer = person.post(f"/v1/games/{games[-1]}/moves", {"type": "forfeit"})
        assert answer.status_code == 201, answer.text
        if len(games) == hands:
            return games
        dealt = person.post(f"/v1/tables/{table['id']}/games")
        assert dealt.status_code == 201, dealt.text
        games.append(person.get(f"/v1/tables/{table['id']}").json["game"])


def signer(world: World) -> NoteSigner:
    return NoteSigner(name="tests.example", key=world.services.keyring.present.signing_key)


def forged(world: World, size: int) -> bytes:
    """Return a checkpoint of another tree, signed with the log's own key."""
    leaves = [leaf_hash(b"forged %d" % number) for number in range(size)]
    checkpoint = Checkpoint(origin="tests.example", size=size, root=root(leaves))
    return sign_checkpoint(checkpoint, [signer(world)])


def test_an_honest_log_raises_no_finding(world: World, ada: Person, watch: Watch) -> None:
    world.services.sequencer.run_once()
    assert watch.poll() == []
    for round_ in range(3):
        play(ada, hands=2)
        play(ada, visibility="private")
        ada.game()
        world.services.sequencer.run_once()
        assert watch.poll() == [], watch.state.findings
        assert watch.state.edge.size == 7 * (round_ + 1)
    assert sum(game.private for game in watch.state.games.values()) == 3


def test_a_running_game_is_compared_with_each_of_its_leaves(
    world: World, ada: Person, watch: Watch
) -> None:
    """A game may have more events than the log has leaves: each leaf is compared with its event."""
    game = ada.game()
    world.services.sequencer.append()
    assert ada.post(f"{game}/moves", {"type": "ready"}).status_code == 201
    world.services.sequencer.publish()
    assert watch.poll() == []
    assert ada.post(f"{game}/moves", {"type": "forfeit"}).status_code == 201
    world.services.sequencer.run_once()
    assert watch.poll() == []
    [seen] = watch.state.games.values()
    assert seen.seal == "game_sealed"


def test_a_forked_log_is_reported_with_the_proof(
    world: World, ada: Person, watch: Watch, manipulated: ManipulatedService
) -> None:
    """Equivocation: another tree of the same size, signed by the log itself."""
    play(ada)
    world.services.sequencer.run_once()
    assert watch.poll() == []
    manipulated.replaced["/v1/log/checkpoint"] = forged(world, 2)
    assert watch.poll() == ["fork"]
    assert watch.kept == [forged(world, 2)]
    assert watch.poll() == [], "reported once"
    manipulated.replaced.clear()
    assert watch.poll() == []
    assert watch.state.edge.size == 2


def test_a_rewritten_history_is_reported_as_a_fork(
    world: World, ada: Person, watch: Watch, manipulated: ManipulatedService
) -> None:
    play(ada)
    world.services.sequencer.run_once()
    watch.poll()
    manipulated.replaced["/v1/log/checkpoint"] = forged(world, 3)
    forged_entries = b"".join(b"\0\x08forged %d" % number for number in range(3))
    manipulated.replaced["/v1/log/tile/entries/000.p/3"] = forged_entries
    assert watch.poll() == ["fork"]


@pytest.mark.parametrize("is_new", [True, False])
def test_a_damaged_entry_is_no_fork(
    world: World, ada: Person, watch: Watch, manipulated: ManipulatedService, *, is_new: bool
) -> None:
    """The tiles lead to the signed tree: one history was shown, and the operator is honest."""
    if not is_new:
        world.services.sequencer.run_once()
        assert watch.poll() == []
    play(ada)
    world.services.sequencer.run_once()
    path = "/v1/log/tile/entries/000.p/2"
    whole = world.get(path).data
    manipulated.replaced[path] = whole[:-2] + bytes([whole[-2] ^ 1]) + whole[-1:]
    assert "damaged" in watch.poll()
    assert not {"fork", "leaf"} & {one.partition(":")[0] for one in watch.state.findings}
    assert [one for one in watch.state.findings if one.startswith("damaged: leaf 1 ")]
    assert watch.state.edge.size == 2, "the log is followed further"
    assert watch.poll() == [], "reported once"


def test_a_rollback_is_reported(
    world: World, ada: Person, watch: Watch, manipulated: ManipulatedService
) -> None:
    """Rollback: an old checkpoint of the same log."""
    play(ada)
    world.services.sequencer.run_once()
    old = world.get("/v1/log/checkpoint").data
    play(ada)
    world.services.sequencer.run_once()
    assert watch.poll() == []
    manipulated.replaced["/v1/log/checkpoint"] = old
    assert watch.poll() == ["rollback"]


def test_withheld_entries_are_reported(
    world: World, ada: Person, watch: Watch, manipulated: ManipulatedService
) -> None:
    """Truncation: the checkpoint has more leaves than the log returns."""
    play(ada)
    world.services.sequencer.run_once()
    path = "/v1/log/tile/entries/000.p/2"
    whole = world.get(path).data
    for cut in (None, whole[:-1], whole[: len(whole) // 2]):
        watch.path.unlink(missing_ok=True)
        manipulated.replaced[path] = cut
        assert watch.poll() == ["truncated"]
        assert watch.state.edge.size == 0
    manipulated.replaced.clear()
    assert watch.poll() == []


def test_a_checkpoint_signed_by_another_key_is_reported(
    world: World, ada: Person, watch: Watch, manipulated: ManipulatedService
) -> None:
    world.services.sequencer.run_once()
    watch.poll()
    other = NoteSigner(name="tests.example", key=Ed25519PrivateKey.generate())
    checkpoint = Checkpoint(origin="tests.example", size=0, root=root(()))
    manipulated.replaced["/v1/log/checkpoint"] = sign_checkpoint(checkpoint, [other])
    assert watch.poll() == ["signature"]


@pytest.mark.attack(
    "KEY_SWAP", "a server key that the old one did not sign", check="monitor", needs="WITNESS"
)
def test_a_key_not_signed_by_the_old_key_is_not_accepted(
    world: World, watch: Watch, manipulated: ManipulatedService
) -> None:
    world.services.sequencer.run_once()
    watch.poll()
    keys = world.get("/v1/keys").json
    other = NoteSigner(name="tests.example", key=Ed25519PrivateKey.generate())
    from base64 import b64encode

    import orjson

    keys["items"][0] |= {
        "id": other.verifier.key_id.hex(),
        "public": b64encode(other.verifier.public).decode(),
    }
    manipulated.replaced["/v1/keys"] = orjson.dumps(keys)
    watch.poll()
    assert watch.state.keys == [world.services.verifier]


def test_a_game_that_contradicts_its_leaf_is_reported_as_a_fork(
    world: World, ada: Person, watch: Watch, manipulated: ManipulatedService
) -> None:
    """Split view: the log has one head of a game, and readers get a different history."""
    [one], [two] = play(ada), play(ada)
    world.services.sequencer.run_once()
    plain = {"Accept": "application/x-ndjson"}
    lines = world.get(f"/v1/games/{one}/events", headers=plain).data
    manipulated.replaced[f"/v1/games/{one}/events"] = lines.replace(
        b'"turn_limit":', b'"turn_limit":1', 1
    )
    manipulated.replaced[f"/v1/games/{two}/events"] = b""
    assert watch.poll() == ["fork", "fork"]
    findings = watch.state.findings
    assert [sum(game in finding for finding in findings) for game in (one, two)] == [1, 1]


def test_a_game_hidden_after_publication_is_reported(
    world: World, ada: Person, watch: Watch, manipulated: ManipulatedService
) -> None:
    game = ada.game()
    world.services.sequencer.run_once()
    assert watch.poll() == []
    ada.post(f"{game}/moves", {"type": "forfeit"})
    world.services.sequencer.run_once()
    manipulated.replaced[f"{game}/events"] = None
    assert watch.poll() == ["withdrawn"]


def test_a_game_without_a_seal_is_reported_after_a_day(
    world: World, ada: Person, watch: Watch
) -> None:
    ada.game()
    world.services.sequencer.run_once()
    assert watch.poll() == []
    watch.now += timedelta(hours=23)
    assert watch.poll() == []
    watch.now += timedelta(hours=2)
    assert watch.poll() == ["unsealed"]


@pytest.mark.attack(
    "EQUIVOCATION", "an old checkpoint beside newer games", check="monitor", needs="WITNESS"
)
def test_an_old_checkpoint_beside_newer_games_is_reported_once(
    world: World, ada: Person, watch: Watch, manipulated: ManipulatedService
) -> None:
    """A new monitor is shown yesterday's complete and signed log."""
    ada.game()
    world.services.sequencer.run_once()
    manipulated.replaced["/v1/log/checkpoint"] = world.get("/v1/log/checkpoint").data
    later = ada.game().rpartition("/")[2]
    world.services.sequencer.run_once()
    assert watch.poll() == [], "a leaf may be published ten minutes later"
    watch.now += timedelta(minutes=11)
    assert watch.poll() == ["stale"]
    assert later in watch.state.findings[0]
    watch.now += timedelta(hours=1)
    assert watch.poll() == []


def test_a_game_left_out_is_reported_once_while_the_log_grows(
    world: World, ada: Person, watch: Watch, manipulated: ManipulatedService
) -> None:
    ada.game()
    world.services.sequencer.run_once()
    absent = {"id": str(UUID(int=99)), "created_at": format_time(watch.now)}
    manipulated.replaced["/v1/games"] = json.dumps({"items": [absent]}).encode()
    assert watch.poll() == []
    watch.now += timedelta(minutes=11)
    assert watch.poll() == ["stale"]
    ada.game()
    world.services.sequencer.run_once()
    assert watch.poll() == []


@pytest.mark.attack(
    "EQUIVOCATION", "a checkpoint that is never replaced", check="monitor", needs="WITNESS"
)
def test_a_frozen_checkpoint_is_reported_once_for_each_tree(
    world: World, ada: Person, watch: Watch, manipulated: ManipulatedService
) -> None:
    """The operator permanently shows the monitor an old log and an old list of games."""
    watch.expected = Expected(fresh_within=timedelta(hours=72))
    play(ada)
    world.services.sequencer.run_once()
    assert watch.poll() == []
    for path in ("/v1/log/checkpoint", "/v1/games"):
        manipulated.replaced[path] = world.get(path).data
    play(ada)
    world.services.sequencer.run_once()
    watch.now += timedelta(hours=71)
    assert watch.poll() == []
    watch.now += timedelta(hours=2)
    assert watch.poll() == ["stale"]
    watch.now += timedelta(hours=2)
    assert watch.poll() == []
    manipulated.replaced.clear()
    assert watch.poll() == []
    watch.now += timedelta(hours=73)
    assert watch.poll() == ["stale"]


def test_a_rollback_is_reported_once_for_all_sizes_shown(
    world: World, ada: Person, watch: Watch, manipulated: ManipulatedService
) -> None:
    shown = []
    for _ in range(3):
        play(ada)
        world.services.sequencer.run_once()
        shown.append(world.get("/v1/log/checkpoint").data)
    assert watch.poll() == []
    manipulated.replaced["/v1/log/checkpoint"] = shown[1]
    assert watch.poll() == ["rollback"]
    manipulated.replaced["/v1/log/checkpoint"] = shown[0]
    assert watch.poll() == []
    assert watch.kept == shown[1::-1], "each of them is kept"


@pytest.mark.attack(
    "EQUIVOCATION", "a log that witnesses no longer cosign", check="monitor", needs="WITNESS"
)
def test_a_log_without_recent_cosignatures_is_reported(
    world: World, ada: Person, watch: Watch, witness: Witness
) -> None:
    other = Cosigner(name="w.example/2", key=Ed25519PrivateKey.generate()).verifier
    sequencer = world.services.sequencer
    with answering(witness) as reachable:
        sequencer._witnesses = (reachable,)
        play(ada)
        sequencer.run_once()
        assert sequencer.ask_witnesses() == []
    watch.expected = Expected(witnesses=[WITNESS.verifier, other], quorum=1)
    assert watch.poll() == []
    watch.now += timedelta(minutes=59)
    assert watch.poll() == []
    play(ada)
    sequencer.run_once()
    watch.now += timedelta(minutes=59)
    assert watch.poll() == [], "seen with a cosignature an hour ago"
    watch.now += timedelta(minutes=2)
    assert watch.poll() == ["cosignatures"]
    watch.now += timedelta(minutes=2)
    assert watch.poll() == []


def test_a_false_cosignature_is_reported(
    world: World, ada: Person, watch: Watch, manipulated: ManipulatedService
) -> None:
    play(ada)
    world.services.sequencer.run_once()
    note = world.get("/v1/log/checkpoint").data
    line = cosign("another text\n", WITNESS, timestamp=int(time.time()))
    manipulated.replaced["/v1/log/checkpoint"] = note + line.encode()
    watch.expected = Expected(witnesses=[WITNESS.verifier])
    assert watch.poll() == ["cosignatures"]


def test_a_polling_witness_cosigns_a_growing_log(
    world: World, ada: Person, client: LogClient, witness: Witness, manipulated: ManipulatedService
) -> None:
    for _ in range(3):
        play(ada)
        world.services.sequencer.run_once()
        note, answer = follow(client, witness)
        assert answer.status == 200
        (found,) = cosignatures(parse_note(note + answer.body), [WITNESS.verifier])
        assert found.verifier == WITNESS.verifier
    manipulated.replaced["/v1/log/checkpoint"] = forged(world, 5)
    assert follow(client, witness)[1].status == 422, "smaller, and no prefix of the cosigned tree"
    manipulated.replaced["/v1/log/checkpoint"] = forged(world, 6)
    assert follow(client, witness)[1].status == 409
    manipulated.replaced["/v1/log/checkpoint"] = forged(world, 7)
    with pytest.raises(Unreachable):
        follow(client, witness)  # the log has no tiles for it


def test_the_log_requests_and_serves_cosignatures(
    world: World, ada: Person, witness: Witness
) -> None:
    """From the setting to the served checkpoint; an unreachable witness has no effect."""
    with answering(witness) as reachable:
        unreachable = RemoteWitness(
            url="http://127.0.0.1:9",
            verifier=Cosigner(name="w.example/9", key=Ed25519PrivateKey.generate()).verifier,
        )
        sequencer = Sequencer(
            store=world.services.sequencer._store,
            origin="tests.example",
            signers=lambda _now: [signer(world)],
            now=world.services.world.now,
            witnesses=(unreachable, reachable),
        )
        for _ in range(2):
            play(ada)
            sequencer.run_once()
            [(silent, _)] = sequencer.ask_witnesses()
            assert silent is unreachable
            data = world.get("/v1/log/checkpoint").data
            _, note, _ = open_checkpoint(data, [world.services.verifier])
            assert len(cosignatures(note, [WITNESS.verifier])) == 1
        assert witness.seen("tests.example").size == 4


def test_a_restored_old_database_is_noticed_by_the_witnesses(
    world: World, ada: Person, witness: Witness
) -> None:
    """The operator's restore rolled the log back: the witness has seen a larger tree."""
    from service.public_log.witness import CosignedTree

    play(ada)
    world.services.sequencer.run_once()
    witness._state.save("tests.example", CosignedTree(size=99, root=bytes(32)))
    with answering(witness) as reachable:
        sequencer = world.services.sequencer
        sequencer._witnesses = (reachable,)
        [(_, reason)] = sequencer.ask_witnesses()
        assert isinstance(reason, WitnessRefused)

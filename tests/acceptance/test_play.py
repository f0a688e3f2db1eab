"""`shithead play` over a real server: keyed games reach L3, and a changed past is noticed."""

from __future__ import annotations

import json
import os
import random
import re
import shlex
import subprocess
import threading
from pathlib import Path
from uuid import UUID

import psycopg
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from service.client.api import Api, NotAnswered, Refused
from service.client.hand import Hand
from service.client.local_log import Contradicted
from service.client.player import Player
from service.client.player_files import PlayerFolder, keep_seat_key, read_seat_key
from service.client.signing import public_text
from service.rulesets.catalogue import definition
from service.rulesets.custom import custom_definition
from service.rulesets.rules_page import as_text, rules_page
from service.shx.bundle import read_bundle
from service.shx.chain import head
from service.shx.keys import read_key_changes
from service.verify.evidence import OutsideEvidence
from service.verify.verify import verify_bundle
from tests.client import chosen
from tests.forked_command import run_command
from tests.running import Running, wait_for
from tests.tamper import Forgery

pytestmark = pytest.mark.heavy

ROOT = Path(__file__).resolve().parents[2]
BOT = {"bot": "lowest"}
SHORT = 24
"""The turn limit of hands in tests to which the moves do not matter."""


def play(
    service: Running, home: Path, *words: str, typed: str = ""
) -> subprocess.CompletedProcess[str]:
    return command(service, home, "play", *words, typed=typed)


def command(
    service: Running, home: Path, *words: str, typed: str = ""
) -> subprocess.CompletedProcess[str]:
    own = {
        "COLUMNS": "80",
        "SHITHEAD_HOME": str(home),
        "SHITHEAD_URL": address(service),
    }
    return run_command(words, environment={**os.environ, **own}, folder=ROOT, typed=typed)


def address(service: Running) -> str:
    return f"http://127.0.0.1:{service.port}"


def player(service: Running, home: Path, *, keyed: bool = True) -> Player:
    """Return a player as the command line makes one."""
    files = PlayerFolder.at(home, address(service))
    made = Player(api=Api(url=address(service)), files=files, entropy="commit" if keyed else "none")
    made.key = read_seat_key(files.folder / "seat.key") if keyed else None
    made.register(files.folder / "token", "Ada")
    return made


def play_on(hand: Hand, moves: int | None = None) -> None:
    """Play some moves of a hand, or all that are left."""
    view, rng = hand.fetch_view(), random.Random(1)
    while view["status"] not in ("ended", "aborted") and moves != 0:
        if hand.set_up(view):
            view = hand.fetch_view()
            continue
        if not view["moves"]:
            view = hand.fetch_view(after=view["version"])
            continue
        hand.move(view, chosen([dict(move) for move in view["moves"]], rng))
        moves = None if moves is None else moves - 1
        view = hand.fetch_view()


# The first move of each list makes a hand of up to 1,000 moves.
@pytest.mark.parametrize("rule", ["greedy", pytest.param("first", marks=pytest.mark.long)])
def test_a_keyed_hand_reaches_l3(service: Running, tmp_path: Path, rule: str) -> None:
    """If every person has a key, the player's own evidence proves the whole hand."""
    answer = play(service, tmp_path, "--keyed", "--auto", rule, "--with", "lowest")
    assert answer.returncode == 0, (answer.stdout, answer.stderr)
    assert answer.stdout.splitlines()[-1] == "no evidence of tampering, level L3"
    assert max(map(len, answer.stdout.splitlines())) <= 200
    [folder] = tmp_path.glob("*/games/*")
    bundle = read_bundle((folder / "game.shx").read_bytes())
    assert (folder / "events.jsonl").read_bytes().splitlines() == list(bundle.lines)
    signed = [line for line in bundle.lines if b'"auth"' in line]
    receipts = list((folder / "receipts").iterdir())
    assert len(receipts) >= len(signed) > 3
    secrets = [p for name in ("token", "seat.key", "entropy") for p in tmp_path.rglob(name)]
    assert [p.stat().st_mode & 0o777 for p in secrets] == [0o600] * 3


def test_a_newcomer_finds_tables_and_bots_and_watches_a_hand_to_its_end(
    service: Running, tmp_path: Path
) -> None:
    ada = player(service, tmp_path / "ada", keyed=False)
    table = ada.open_table("shithead", [BOT, "open"])
    data = json.loads(command(service, tmp_path, "tables", "--status", "open", "--json").stdout)
    assert {one["status"] for one in data["tables"]} == {"open"}
    assert (data["disputes"], data["older"]) == ([], False)
    listed = command(service, tmp_path, "tables", "--status", "open")
    url = f"{address(service)}/v1/tables/{table['id']}"
    assert f"shithead play {url}" in listed.stdout, listed.stderr
    assert "Ada, Lotta (lowest), (free)" in listed.stdout
    assert "greedy" in command(service, tmp_path, "bots").stdout
    among_bots = {"ruleset": "shithead", "seats": [BOT, BOT]}
    game = ada.api.post("/tables", among_bots)["game"]
    watched = command(service, tmp_path, "watch", game)
    assert watched.returncode == 0, watched.stderr
    # The watch may begin late in a hand of bots, so any of its moves counts.
    assert re.search(r"(Lou|Lotta) \(lowest\) (played|turned|picked)", watched.stdout)
    assert "is the shithead. Out, in this order: " in watched.stdout


def challenger(
    service: Running, home: Path
) -> tuple[threading.Thread, list[subprocess.CompletedProcess[str]]]:
    """Challenge a player from the terminal; return the thread, and the list for its result."""
    made = list[subprocess.CompletedProcess[str]]()
    words = ("--auto", "lowest", "--challenge", "bob-noyce")
    thread = threading.Thread(target=lambda: made.append(play(service, home, *words)))
    thread.start()
    return thread, made


def test_a_player_challenges_another_who_accepts_and_then_declines(
    service: Running, tmp_path: Path
) -> None:
    homes = {name: tmp_path / name for name in ("ada", "bob")}
    ada, bob = (player(service, home, keyed=False) for home in homes.values())
    assert command(service, homes["bob"], "handle").stdout.startswith("you have no handle")
    assert command(service, homes["bob"], "handle", "bob-noyce").stdout == "bob-noyce\n"
    assert command(service, homes["ada"], "handle", "--find", "bob").stdout == "Ada (bob-noyce)\n"
    for answer in ("accept", "decline"):
        wait, made = challenger(service, homes["ada"])
        wait_for(lambda: bool(bob.challenges()["received"]), seconds=60)
        listed = command(service, homes["bob"], "challenges").stdout.splitlines()
        assert listed[0].startswith("challenge   Ada challenges you: shithead; until "), listed
        [accept, decline] = [shlex.split(line.strip())[1:] for line in listed[1:3]]
        chosen_words = [*accept, "--auto", "lowest"] if answer == "accept" else decline
        answered = command(service, homes["bob"], *chosen_words)
        assert answered.returncode == 0, answered.stderr
        wait.join()
        assert made[0].returncode == (0 if answer == "accept" else 2), made[0].stderr
    assert "the challenge is over: declined" in made[0].stderr
    sent = command(service, homes["ada"], "challenges").stdout
    assert "to Ada (bob-noyce): shithead; declined" in sent
    assert [one["status"] for one in ada.challenges()["sent"]] == ["declined", "accepted"]


def test_two_keyed_players_who_exchanged_their_keys_reach_l3(
    service: Running, tmp_path: Path
) -> None:
    homes = [tmp_path / "ada", tmp_path / "bob"]
    ada, bob = (player(service, home) for home in homes)
    table = ada.open_table("shithead", ["open"], window_seconds=0)
    url = f"{address(service)}/v1/tables/{table['id']}"
    result = {}

    def run(seat: int, other: Player) -> None:
        words = ("--keyed", "--auto", "lowest", "--seat-key", f"{1 - seat}={other.public}", url)
        result[seat] = play(service, homes[seat], *words)

    bob.sit(UUID(table["id"]))
    threads = [threading.Thread(target=run, args=args) for args in ((0, bob), (1, ada))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for done in result.values():
        assert done.returncode == 0, (done.stdout, done.stderr)
        assert done.stdout.splitlines()[-1] == "no evidence of tampering, level L3"


def test_a_hand_without_a_key_reaches_l2_and_names_the_missing_evidence(
    service: Running, tmp_path: Path
) -> None:
    answer = play(service, tmp_path, "--auto", "lowest")
    assert answer.returncode == 0, (answer.stdout, answer.stderr)
    assert answer.stdout.splitlines()[-1] == "no evidence of tampering, level L2"
    assert "is signed: this seat has no key" in answer.stdout


def test_a_changed_past_is_noticed_and_no_further_move_is_signed(
    service: Running, shared_database_url: str, tmp_path: Path
) -> None:
    """The operator rewrites an event in the database, recomputes all hashes, and restarts."""
    ada = player(service, tmp_path)
    game = UUID(ada.open_table("shithead", [BOT], turn_limit=SHORT)["game"])
    hand = Hand(ada, game)
    play_on(hand, moves=4)
    service.kill("API")
    service.kill("worker 1")
    change_past(shared_database_url, game)
    service.start("API")
    service.start("worker 1")
    wait_for(lambda: answers(ada.api, f"/games/{game}?as=public"), seconds=60)
    with pytest.raises(Contradicted):
        Hand(ada, game).fetch_view()
    path = f"{address(service)}/v1/games/{game}"
    answer = play(service, tmp_path, "--keyed", "--auto", "lowest", path)
    assert answer.returncode == 1, (answer.stdout, answer.stderr)
    assert "THE SERVER CONTRADICTS ITSELF" in answer.stdout
    shown = (hand.folder / "shown-afterwards.jsonl").read_bytes().splitlines()
    kept = (hand.folder / "events.jsonl").read_bytes().splitlines()
    assert shown[0] == kept[0]
    assert shown[5] != kept[5]


def answers(api: Api, path: str) -> bool:
    try:
        api.get(path)
    except (NotAnswered, Refused):
        return False
    return True


def change_past(database: str, game: UUID) -> None:
    """Change the time of an early event as a superuser, and recompute all heads."""
    with psycopg.connect(database) as owner:
        owner.execute("ALTER TABLE events DISABLE TRIGGER USER")
        owner.execute("ALTER TABLE streams DISABLE TRIGGER USER")
        rows = owner.execute(
            "SELECT line FROM events WHERE stream_id = %s ORDER BY seq", [game]
        ).fetchall()
        forgery = Forgery(line for (line,) in rows)
        for event in forgery.events[5:]:
            event["at"] = event["at"][:20] + "000000Z"
        lines = forgery.lines()
        for seq, line in enumerate(lines):
            owner.execute(
                "UPDATE events SET line = %s WHERE stream_id = %s AND seq = %s", [line, game, seq]
            )
        owner.execute("UPDATE streams SET head = %s WHERE stream_id = %s", [head(lines[-1]), game])
        owner.execute("ALTER TABLE events ENABLE TRIGGER USER")
        owner.execute("ALTER TABLE streams ENABLE TRIGGER USER")


def test_an_interrupted_hand_is_resumed_where_it_stopped(service: Running, tmp_path: Path) -> None:
    ada = player(service, tmp_path)
    game = UUID(ada.open_table("shithead", [BOT], turn_limit=SHORT)["game"])
    play_on(Hand(ada, game), moves=3)
    url = f"{address(service)}/v1/games/{game}"
    answer = play(service, tmp_path, "--keyed", "--auto", "lowest", url)
    assert re.search(r" (is|are) the shithead|stalemate", answer.stdout), "how the hand ended"
    assert re.search(r"^.*\(lowest\) (played|picked|turned) ", answer.stdout, re.MULTILINE), (
        "captions of moves"
    )
    assert answer.stdout.splitlines()[-1] == "no evidence of tampering, level L3", answer.stderr


def test_the_first_key_of_a_player_vouches_for_later_keys(service: Running, tmp_path: Path) -> None:
    """A friend who was given the first key once can verify the second hand with it."""
    ada = player(service, tmp_path)
    table = ada.open_table("shithead", [BOT], turn_limit=SHORT)
    first_key = ada.public
    play_on(Hand(ada, UUID(table["game"])))
    new = Ed25519PrivateKey.generate()
    ada.change_key(ada.table(UUID(table["id"])), new)
    keep_seat_key(ada.files.folder / "seat.key", new)
    url = f"{address(service)}/v1/tables/{table['id']}"
    answer = play(service, tmp_path, "--keyed", "--auto", "lowest", url)
    assert answer.stdout.splitlines()[-1] == "no evidence of tampering, level L3", answer.stderr
    second = ada.table(UUID(table["id"]))["games"][0]["id"]
    bundle = read_bundle(ada.api.data(f"/games/{second}/evidence"))
    changes = read_key_changes(json.dumps(ada.api.get(f"/tables/{table['id']}/keys")).encode())
    pinned = json.loads(bundle.lines[0])["data"]["seats"][0]["key"]
    assert pinned == public_text(new) != first_key
    assert first_key is not None
    for known, result in ((changes, "pass"), ((), "fail")):
        report = verify_bundle(bundle, OutsideEvidence(seat_keys={0: first_key}, key_changes=known))
        assert report.result == result


FALSE_ALARM = "CONTRADICTS"


@pytest.mark.parametrize("moves", [0, 3])
def test_a_keyed_hand_resumed_without_keyed_warns_and_continues_with_its_key(
    service: Running, tmp_path: Path, moves: int
) -> None:
    """An omitted option is not a fault of the server."""
    ada = player(service, tmp_path)
    game = UUID(ada.open_table("shithead", [BOT], turn_limit=SHORT)["game"])
    if moves:
        play_on(Hand(ada, game), moves=moves)
    url = f"{address(service)}/v1/games/{game}"
    answer = play(service, tmp_path, "--auto", "lowest", url)
    assert answer.returncode == 2, (answer.stdout, answer.stderr)
    assert FALSE_ALARM not in answer.stdout
    assert "The key is not in use (--keyed is missing)" in answer.stdout
    answer = play(service, tmp_path, "--auto", "lowest", url, typed="y\n")
    assert answer.returncode == 0, (answer.stdout, answer.stderr)
    assert answer.stdout.splitlines()[-1] == "no evidence of tampering, level L3"


def test_a_hand_without_a_key_resumed_with_keyed_warns_and_continues_without_one(
    service: Running, tmp_path: Path
) -> None:
    ada = player(service, tmp_path, keyed=False)
    game = UUID(ada.open_table("shithead", [BOT], turn_limit=SHORT)["game"])
    play_on(Hand(ada, game), moves=3)
    url = f"{address(service)}/v1/games/{game}"
    answer = play(service, tmp_path, "--keyed", "--auto", "lowest", url)
    assert answer.returncode == 2, (answer.stdout, answer.stderr)
    assert FALSE_ALARM not in answer.stdout
    assert "dealt without a key" in answer.stdout
    answer = play(service, tmp_path, "--keyed", "--auto", "lowest", url, typed="y\n")
    assert answer.returncode == 0, (answer.stdout, answer.stderr)
    assert answer.stdout.splitlines()[-1] == "no evidence of tampering, level L2"


def test_a_hand_whose_key_is_in_no_file_is_not_played(service: Running, tmp_path: Path) -> None:
    ada = player(service, tmp_path)
    game = UUID(ada.open_table("shithead", [BOT], turn_limit=SHORT)["game"])
    url = f"{address(service)}/v1/games/{game}"
    path = ada.files.folder / "seat.key"
    path.rename(tmp_path / "elsewhere.key")
    for words in ((), ("--keyed",)):
        answer = play(service, tmp_path, *words, "--auto", "lowest", url, typed="y\n")
        assert answer.returncode == 2, (answer.stdout, answer.stderr)
        assert "--keyed --key FILE" in answer.stdout
    named = ("--keyed", "--key", str(tmp_path / "elsewhere.key"))
    answer = play(service, tmp_path, *named, "--auto", "lowest", url)
    assert answer.stdout.splitlines()[-1] == "no evidence of tampering, level L3", answer.stderr


@pytest.mark.attack(
    "KEY_SWAP", "a seat's key that the server left out", check="the client", needs="SEAT_KEY"
)
@pytest.mark.parametrize("words", [(), ("--keyed",)])
def test_a_key_that_the_server_left_out_is_still_a_contradiction(
    service: Running, tmp_path: Path, words: tuple[str, ...]
) -> None:
    """This folder gave the seat a key and the log has none: a contradiction, without any prompt."""
    ada = player(service, tmp_path, keyed=False)
    table = ada.open_table("shithead", [BOT], turn_limit=SHORT)
    key = public_text(read_seat_key(ada.files.folder / "seat.key"))
    ada.files.keep_share(UUID(table["id"]), key, "commit")
    url = f"{address(service)}/v1/games/{table['game']}"
    answer = play(service, tmp_path, *words, "--auto", "lowest", url, typed="y\n")
    assert answer.returncode == 1, (answer.stdout, answer.stderr)
    assert "THE SERVER CONTRADICTS ITSELF" in answer.stdout


def test_a_game_resumed_from_the_wrong_folder_registers_no_player_and_names_its_seats(
    service: Running, tmp_path: Path
) -> None:
    """A player who names a game and the wrong folder gets a message and no new account."""
    ada = player(service, tmp_path / "ada", keyed=False)
    table = ada.open_table("shithead", [BOT])
    game, home = ada.next_game(table), tmp_path / "wrong"
    for place in (f"v1/games/{game}", f"v1/tables/{table['id']}", f"play/{game}"):
        answer = play(service, home, f"{address(service)}/{place}")
        assert answer.returncode == 2
        assert f"there is no token in {home}" in answer.stderr
        assert "Its seats: Ada, Lotta (lowest).\n" in answer.stderr
        assert "--home FOLDER" in answer.stderr and "shithead watch " in answer.stderr
    assert not home.exists()
    player(service, tmp_path / "bob", keyed=False)
    answer = play(service, tmp_path / "bob", str(game))
    assert answer.returncode == 2
    assert "Ada, whose token you use, has no seat in this game" in answer.stderr


def test_printed_commands_name_the_same_player_and_can_be_copied(
    service: Running, tmp_path: Path
) -> None:
    """The end of the input leaves the hand as `quit` does; the next command goes on with it."""
    home, token = tmp_path / "my home", tmp_path / "my.token"
    words = ("--home", str(home), "--token", str(token))
    left = play(service, tmp_path / "unused", *words, "--with", "lowest")
    assert left.returncode == 2, left.stderr
    again = shlex.split(left.stdout.splitlines()[-1].partition("to return: shithead ")[2])
    assert again[-4:] == list(words)
    listed = command(service, tmp_path / "unused", "tables", *words, "--mine").stdout
    assert shlex.split(listed.splitlines()[1])[-4:] == list(words)
    assert not (tmp_path / "unused").exists()
    ended = command(service, tmp_path / "unused", *again, "--auto", "greedy")
    assert ended.returncode == 0, ended.stderr
    game = again[1]
    watched = command(service, tmp_path, "watch", game)
    replayed = shlex.split(watched.stdout.splitlines()[-1].partition("replay it: shithead ")[2])
    assert replayed == ["replay", game]
    transcript = command(service, tmp_path, *replayed, "--text")
    assert transcript.returncode == 0, transcript.stderr
    page = command(service, tmp_path, "replay", game.replace("/v1/games/", "/replay/"), "--text")
    assert page.stdout == transcript.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("play", "--ruleset", "none"), "--ruleset: there is no ruleset of this name: `shithead"),
        (("play", "--with", "none"), "--with: there is no bot of this name: `shithead bots`"),
        (("tables", "--token", "none"), "--token: there is no file none"),
        (("watch", "01234567-0000-7000-8000-000000000000"), "there is no game or table 0123"),
        (("replay", "01234567-0000-7000-8000-000000000000"), "there is no such game"),
        (
            ("replay", "--url", "http://127.0.0.1:1", str(UUID(int=0))),
            "start one with `shithead up`",
        ),
        (("replay", "none"), "none is neither a file nor the address or id of a game"),
    ],
)
def test_errors_are_stated_in_terms_of_the_command_line(
    service: Running, tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    answer = command(service, tmp_path, *words)
    assert answer.returncode in (1, 2, 3, 64)
    assert message in answer.stderr
    text = answer.stderr.replace(str(tmp_path), "")  # the number of the folder may be 400 to 499
    assert not re.search(r"urlopen|Errno|\b4\d\d\b|GET |/v1/rulesets|/seats/", text)


def test_a_token_of_another_service_names_its_file(service: Running, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("nonsense\n", "utf-8")
    token.chmod(0o600)
    answer = play(service, tmp_path, "--token", str(token))
    assert answer.returncode == 2
    assert f"the service does not know the token in {token}" in answer.stderr


def test_a_custom_ruleset_of_a_service_is_printed_compared_and_simulated(
    service: Running, tmp_path: Path, shared_database_url: str
) -> None:
    made = custom_definition(definition("leeds"), "Sets of three", {"burn": {"set_size": 3}})
    document = json.dumps({"base": "leeds", "settings": made.tree})
    owner = player(service, tmp_path, keyed=False).api.get("/players/me")["id"]
    with psycopg.connect(shared_database_url) as connection:
        connection.execute(
            "INSERT INTO rulesets_custom (ruleset_id, name, owner, document, created_at)"
            " VALUES (%s, %s, %s, %s, now())",
            (made.id, made.name, owner, document),
        )
    listed = command(service, tmp_path, "rulesets").stdout
    assert made.id in listed
    assert "Sets of three" in listed
    assert command(service, tmp_path, "rulesets", made.id).stdout == as_text(rules_page(made))
    assert "1 setting differs" in command(service, tmp_path, "rulesets", "leeds", made.id).stdout
    words = ("--ruleset", made.id, "--hands", "1", "--jobs", "1", "--turn-limit", "40")
    assert "verified: all 1" in command(service, tmp_path, "simulate", *words).stdout
    unknown = command(service, tmp_path, "rulesets", "custom-0123456789abcdef")
    assert unknown.returncode == 2
    assert "refused" in unknown.stderr

"""The pages: their content security policy, links, texts and source files."""

from __future__ import annotations

import gzip
import json
import posixpath
import re
import subprocess
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from pathlib import Path

import pytest
import zstandard

from service.api.docs import SPECIFICATION, SPECIFIED
from service.api.pages import (
    FOLDER,
    OF_ANY_BUILD,
    checks,
    example_commands,
    inline_code,
    loaded_assets,
    sources,
    strings,
)
from service.rulesets.catalogue import catalogue, known_by_name
from service.verify.finding import Check
from service.words import FOLDER as WORDS
from tests.worlds.api_world import Person, World, make_world, problem_of

TEXTS = ("/rules", "/rules/leeds", "/rules/shithead", "/rules/mukava", "/checks")
"""Pages of text that a player reads beside a hand."""

REFERENCE = ("/docs", "/problems/rule-refused")
ANY_ID = "00000000-0000-4000-8000-000000000000"
UNKNOWN = tuple(f"/{page}/{ANY_ID}" for page in ("play", "replay", "disputes"))
"""Pages that are sent with 404: their script may have the token of a player who sees more."""

LINKS = ["/", "/#watch", "/rules", "/ratings", "/verify"]
"""The links of the bar, after the one of the mark."""

APPS = ("/", "/account", "/moments", "/disputes", "/disputes/new", "/statistics", "/ratings")
PAGES = (*APPS, *TEXTS, "/docs")
STYLES = {path.name: path.read_text("utf-8") for path in FOLDER.rglob("*.css")}


@pytest.fixture(scope="module")
def world(module_world: World) -> World:
    """Return one application for all tests of this module: none depends on rows of another."""
    return module_world


class Page(HTMLParser):
    """The parts of a page: links, scripts and style sheets."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.ids: list[str] = []
        self.inline: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            if name in ("href", "src"):
                self.links.append(value or "")
            if name == "id":
                self.ids.append(value or "")
            if name == "style" or name.startswith("on"):
                self.inline.append(f"{tag} {name}")


def test_the_specification_is_served_as_text(world: World) -> None:
    for name in SPECIFIED:
        answer = world.get(f"/docs/{name}")
        assert (answer.status_code, answer.mimetype) == (200, "text/plain")
        assert answer.data == (SPECIFICATION / name).read_bytes()


@pytest.mark.parametrize("path", [*APPS, f"/tables/{ANY_ID}", *UNKNOWN])
def test_a_page_with_scripts_runs_only_files_of_this_server(world: World, path: str) -> None:
    answer = world.get(path)
    status = 404 if path in UNKNOWN else 200
    assert (answer.status_code, answer.content_type) == (status, "text/html; charset=utf-8")
    policy = answer.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; style-src 'self'; ")
    assert "script-src 'self'; connect-src 'self';" in policy
    assert "unsafe" not in policy and "http" not in policy and "*" not in policy
    assert "form-action 'none'" in policy and "base-uri 'none'" in policy
    page = Page(answer.text)
    assert not {"style", "form", "iframe", "img"} & set(page.tags)
    assert page.inline == []
    assert re.findall(r"<script[^>]*>(.*?)</script>", answer.text, re.DOTALL) == ["", ""]
    if path not in UNKNOWN:
        tag = {"If-None-Match": answer.headers["ETag"]}
        assert world.get(path, headers=tag).headers["Content-Security-Policy"] == policy


def test_scripts_and_styles_are_cached_under_the_hash_of_their_content(world: World) -> None:
    page = Page(world.get("/").text)
    linked = [link for link in page.links if link.startswith("/static/")]
    assert {link.rsplit("/", 1)[1] for link in linked} >= {"style.css", "app.css", "lobby.js"}
    for link in linked:
        answer = world.get(link)
        assert answer.status_code == 200
        assert answer.headers["Cache-Control"] == "public, max-age=31536000, immutable"
        kind = "text/javascript" if link.endswith(".js") else "text/css"
        assert answer.mimetype == kind


def test_files_are_served_as_they_are_written(world: World) -> None:
    for name in ("app/cards.js", "app/table.css", "app/strings/ja.json"):
        assert world.get(loaded_assets().address(name)).data == loaded_assets().files[name]


@pytest.mark.parametrize("path", [*TEXTS, *REFERENCE, "/nothing"])
def test_a_page_of_text_has_one_script_of_this_server_for_its_bar(world: World, path: str) -> None:
    answer = world.get(path, headers={"Accept": "text/html"})
    assert answer.content_type == "text/html; charset=utf-8"
    assert re.findall(r"<script.*?>", answer.text) == [
        f'<script type="module" src="{loaded_assets().address("app/bar.js")}">'
    ]
    policy = answer.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; style-src 'self'; ")
    assert "unsafe" not in policy and "http" not in policy and "*" not in policy
    page = Page(answer.text)
    assert not {"style", "form", "iframe", "img"} & set(page.tags)
    assert page.inline == []
    assert 'name="viewport"' in answer.text
    assert "Set-Cookie" not in answer.headers


@pytest.mark.parametrize("path", [*APPS, "/verify", *TEXTS, *REFERENCE, "/nothing"])
def test_every_page_has_the_same_bar(world: World, path: str) -> None:
    """In it the link to the page itself is marked; the other pages are in the footer."""
    text = world.get(path, headers={"Accept": "text/html"}).text
    bar, footer = _part(text, "header"), _part(text, "footer")
    marked = re.findall(r'href="([^"]*)" aria-current="page"', bar)
    assert marked == [link for link in LINKS if link == f"/{path.split('/')[1]}"]
    plain = bar.replace(' aria-current="page"', "")
    assert plain == _part(world.get("/docs").text, "header")
    assert Page(plain).links == ["/", *LINKS, "/disputes"]
    assert Page(plain).ids == ["language", "concerns", "account"]
    assert Page(footer).links == ["/checks", "/disputes", "/statistics", "/docs"]


def _part(page: str, tag: str) -> str:
    (found,) = re.findall(f"<{tag}.*?</{tag}>", page, re.DOTALL)
    return str(found)


def test_a_page_requests_all_modules_that_its_script_imports_at_once(world: World) -> None:
    """Else each level of imports would cost a round trip; what is imported later is left out."""
    page = Page(world.get("/").text)
    requested = {link.partition("/app/")[2] for link in page.links if "/app/" in link}
    assert {"lobby.js", "notices.js", "worded.js", "names.js", "elsewhere.js"} <= requested
    assert any(link.endswith("/verifier/cards.js") for link in page.links)
    assert "what_if.js" not in {link.rsplit("/", 1)[1] for link in Page(_replay(world)).links}
    assert 'data-parts="replay state refusals moments"' in _replay(world)


def _replay(world: World) -> str:
    return str(world.get(f"/replay/{ANY_ID}").text)


@pytest.mark.parametrize("encoding", ["zstd", "gzip"])
def test_files_are_compressed_as_well_as_their_encoding_can(world: World, encoding: str) -> None:
    address = loaded_assets().address("app/table.css")
    answer = world.client.get(address, headers={"Accept-Encoding": encoding})
    content = (FOLDER / "app/table.css").read_bytes()
    assert answer.headers["Content-Encoding"] == encoding
    assert "Accept-Encoding" in answer.headers["Vary"]
    fast = zstandard.compress(content, 3) if encoding == "zstd" else gzip.compress(content, 5)
    assert len(answer.data) < len(fast)
    unpacked = zstandard.decompress if encoding == "zstd" else gzip.decompress
    assert unpacked(answer.data) == content


def test_no_module_is_served_under_the_address_of_another_build(world: World) -> None:
    """A page of one build must not run modules of another one, which may lack what it imports."""
    other = "/static/0123456789abcdef"
    for name in loaded_assets().files.keys() - OF_ANY_BUILD:
        answer = world.get(f"{other}/{name}")
        assert answer.status_code == 404, name
        assert answer.headers["Cache-Control"] == "private, no-store"


@pytest.mark.parametrize("name", sorted(OF_ANY_BUILD))
def test_what_a_page_of_another_build_needs_is_served_and_revalidated(
    world: World, name: str
) -> None:
    """Pages without scripts cannot load themselves again, and no file imports these two."""
    path = f"/static/0123456789abcdef/{name}"
    answer = world.get(path)
    assert answer.data == (FOLDER / name).read_bytes()
    assert answer.headers["Cache-Control"] == "no-cache"
    assert world.get(path, headers={"If-None-Match": answer.headers["ETag"]}).status_code == 304
    files = loaded_assets().files.values()
    assert not any(f'/{Path(name).name}"'.encode() in content for content in files)


@pytest.mark.parametrize("path", ["app/none.js", "../app.py", "app", "", "app/../style.css"])
def test_no_file_outside_the_folder_is_served(world: World, path: str) -> None:
    assert problem_of(world.get(f"/static/{loaded_assets().build}/{path}")) == "not-found"


def test_scripts_import_only_existing_files_and_load_nothing_from_elsewhere() -> None:
    files = loaded_assets().files
    for name, content in files.items():
        if not name.startswith(("app/", "vendor/")):
            continue
        text = content.decode()
        imports = r"""(?<![.\w])(?:from|import) ?\(?["']([^"']+)["']"""
        for target in re.findall(imports, text) if name.endswith(".js") else ():
            assert target.startswith(("./", "../verifier/", "../vendor/")), (name, target)
            there = posixpath.normpath(posixpath.join(posixpath.dirname(name), target))
            assert there in files, (name, target)
        assert not re.search(r"https?://(?!www\.w3\.org/)|url\((?!.data:|%23)|@import", text), name
        assert "innerHTML" not in text and "eval(" not in text, name


def test_every_language_has_every_text_with_the_same_values() -> None:
    """Sentences of reports, which no page loads, may be in English only."""
    english = strings()
    values = re.compile(r"\{\w+\}")
    report = json.loads((WORDS / "report/en.json").read_text("utf-8"))
    for language in ("sv", "ja"):
        words = strings(language)
        assert words.keys() - report.keys() == english.keys() - report.keys(), language
        for key, word in words.items():
            assert set(values.findall(word)) == set(values.findall(english[key])), (language, key)


def test_captions_agree_with_you_as_their_subject() -> None:
    """A caption uses "You" in place of a name, so its verb has one form for both."""
    captions = {key: text for key, text in strings().items() if key.startswith("did.")}
    subjects = re.compile(r"\{(?:seat|taker)\} (\w+)")
    verbs = {verb for text in captions.values() for verb in subjects.findall(text)}
    assert {"dealt", "played", "took"} <= verbs
    assert not [verb for verb in verbs if verb.endswith("s")], verbs


def test_no_text_is_defined_twice() -> None:
    """A page loads several files; the later one would hide a text of the earlier one."""
    for language in ("en", "sv", "ja"):
        files = [*WORDS.rglob(f"{language}.json")]
        texts = [json.loads(path.read_text("utf-8"), object_pairs_hook=list) for path in files]
        assert len(texts) > 1
        assert sum(map(len, texts)) == len(strings(language)), language


def test_every_text_used_by_a_page_or_script_exists() -> None:
    words = strings()
    assert all(words.values())
    used = 0
    for path in FOLDER.rglob("*.js"):
        for key in re.findall(r"""\bt\("([a-z0-9._-]+)\"[,)]""", path.read_text("utf-8")):
            assert key in words, (path.name, key)
            used += 1
    assert used > 200


def test_every_link_of_every_page_has_a_target(world: World) -> None:
    seen: dict[str, Page] = {}
    wanted = [(path, path) for path in PAGES]
    while wanted:
        link, origin = wanted.pop()
        path, _, part = link.partition("#")
        if path not in seen:
            answer = world.get(path)
            assert answer.status_code == 200, (origin, link)
            html = answer.mimetype == "text/html"
            seen[path] = Page(answer.text if html else "")
            assert len(set(seen[path].ids)) == len(seen[path].ids), f"{path}: an id occurs twice"
            for inner in seen[path].links:
                assert inner.startswith(("/", "#", "data:,")), f"{path} leads elsewhere: {inner}"
                if inner != "data:,":
                    wanted.append((path + inner if inner.startswith("#") else inner, path))
        assert not part or part in seen[path].ids, (origin, link)
    assert len(seen) > 100


def test_a_cached_page_is_answered_with_304(world: World) -> None:
    tag = world.get("/").headers["ETag"]
    again = world.get("/", headers={"If-None-Match": tag})
    assert (again.status_code, again.data) == (304, b"")


@pytest.mark.parametrize("ruleset", [*catalogue(), *known_by_name()])
def test_every_ruleset_has_its_page_with_every_statement(world: World, ruleset: str) -> None:
    text = world.get(f"/rules/{ruleset}").text
    found = catalogue().get(ruleset)
    own_statements = found.statements if found else ()
    ids = Page(text).ids
    assert all(statement.id in ids for statement in own_statements)
    assert text.count("<dt") >= len(own_statements)


def test_an_unknown_ruleset_has_no_page(world: World) -> None:
    assert problem_of(world.get("/rules/none")) == "not-found"


def test_the_rule_of_a_refusal_can_be_looked_up(world: World) -> None:
    ada = world.person()
    refused = ada.post(f"{ada.game(ruleset='leeds')}/moves", {"type": "pass"})
    assert problem_of(refused) == "rule-refused"
    assert refused.json["rule"] in Page(world.get("/rules/leeds").text).ids


def test_the_shell_commands_of_the_guide_do_what_they_state() -> None:
    """They are run with a fake curl that prints its arguments."""
    curl = 'curl() { if [ "$2" = http://x/v1/players ]; then echo \'{"token": "abc"}\'; else '
    curl += 'printf "%s|" "$@"; fi; }\n'
    result = subprocess.run(
        ["/bin/sh", "-c", curl + example_commands("http://x")],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "|Authorization: Bearer abc|" in result
    assert (
        '|{"ruleset": "shithead", "seats": ["me", {"bot": "greedy"}, {"bot": "lowest"}]}|' in result
    )


def test_every_check_is_described_with_source_that_is_shown(world: World) -> None:
    assert [check.name for check in checks()] == [check.value for check in Check]
    text = world.get("/checks").text
    for check in checks():
        assert check.asks.replace("'", "&#39;") in text
        assert f"def check_{check.name}(" in sources()["verify"][check.module]


@pytest.mark.parametrize(
    "path",
    [
        "/source/verify/none.py",
        "/source/api/app.py",
        "/source/verify/..%2Fcli.py",
        "/source/verify/%2e%2e/cli.py",
        "/source/verify/",
    ],
)
def test_other_source_files_are_not_found(world: World, path: str) -> None:
    assert problem_of(world.get(path)) == "not-found"


def test_source_is_served_as_plain_text(world: World) -> None:
    answer = world.get("/source/shx/chain.py")
    assert answer.content_type == "text/plain; charset=utf-8"
    assert answer.text == sources()["shx"]["chain.py"]


def test_a_problem_names_the_calls_that_can_answer_with_it(world: World) -> None:
    links = Page(world.get("/problems/rule-refused").text).links
    assert "/docs/calls/games#games.move" in links


@pytest.mark.attack("MARKUP", "HTML in the texts of a page", check="the pages")
def test_html_in_texts_is_escaped() -> None:
    assert inline_code("a `<b>` & <i>") == "a <code>&lt;b&gt;</code> &amp; &lt;i&gt;"


def test_the_style_sheet_loads_nothing(world: World) -> None:
    answer = world.get("/style.css")
    assert answer.content_type == "text/css; charset=utf-8"
    assert not re.search(r"url\(|@import|@font-face", answer.text)


def test_if_match_is_ignored_by_calls_that_change_nothing(world: World) -> None:
    """Found by fuzzing: a page was answered with 412 without a problem body."""
    for path in ("/", "/rules", "/style.css", "/v1/openapi.json"):
        first = world.get(path)
        assert world.get(path, headers={"If-Match": '"v1"'}).data == first.data
        again = world.get(path, headers={"If-None-Match": f'W/{first.headers["ETag"]}, "x"'})
        assert (again.status_code, again.data) == (304, b"")


BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


def test_addresses_that_people_guess_lead_to_a_page(world: World, ada: Person) -> None:
    game = ada.game()
    for path, target in (
        (game.removeprefix("/v1"), game.replace("/v1/games", "/play")),
        ("/problems", "/docs#problems"),
        ("/problems/", "/problems"),
        ("/problems/sealed/", "/problems/sealed"),
        ("/docs/", "/docs"),
        ("/rules/leeds/?a=b", "/rules/leeds?a=b"),
        ("/disputes/", "/disputes"),
    ):
        moved = world.get(path)
        assert (moved.status_code, moved.headers["Location"]) == (308, target)
        assert world.get(target).status_code in (200, 308)
    robots = world.get("/robots.txt")
    assert robots.mimetype == "text/plain"
    assert "Disallow: /v1/" in robots.text
    assert world.get("/favicon.ico").mimetype == "image/svg+xml"
    assert problem_of(world.get("/v1/games/")) == "not-found", "a redirect is not in the document"


def test_reports_of_security_have_an_address_if_the_operator_names_one(
    world: World, database_url: str
) -> None:
    """RFC 9116: Contact in the order of preference, and exactly one Expires within a year."""
    path = "/.well-known/security.txt"
    assert problem_of(world.get(path)) == "not-found"
    contacts = "mailto:security@example.org, https://example.org/report"
    named = make_world(database_url, security_contact=contacts)
    answer = named.get(path)
    named.services.close()
    assert (answer.status_code, answer.mimetype) == (200, "text/plain")
    fields = [line.split(": ", 1) for line in answer.text.splitlines()]
    assert [value for name, value in fields if name == "Contact"] == contacts.split(", ")
    (expires,) = (value for name, value in fields if name == "Expires")
    left = datetime.fromisoformat(expires) - datetime.now(UTC)
    assert timedelta(days=170) < left <= timedelta(days=180)
    assert ["Canonical", f"http://localhost{path}"] in fields


def test_the_site_can_be_installed_and_starts_at_the_lobby(world: World) -> None:
    page = Page(world.get("/").text)
    assert {"/icon.svg", "/manifest.webmanifest"} <= set(page.links)
    answer = world.get("/manifest.webmanifest")
    assert answer.mimetype == "application/manifest+json"
    manifest = json.loads(answer.text)
    assert (manifest["start_url"], manifest["display"]) == ("/", "standalone")
    for icon in manifest["icons"]:
        assert world.get(icon["src"]).mimetype == icon["type"]


def test_every_size_of_text_is_one_of_the_scale() -> None:
    """Sizes relative to a text around or to a card are allowed, and those of plots in pixels."""
    [sizes] = re.findall(r"The only sizes of text.*?\n\}", STYLES["style.css"], re.DOTALL)
    scale = set(re.findall(r"--(\w+): [^;]*;", sizes)) | {"w"}
    for name, text in STYLES.items():
        for size in re.findall(r"font-size: ([^;}]+)", text):
            used = re.findall(r"var\(--(\w+)\)", size)
            assert set(used) <= scale and (used or size.endswith(("em", "px"))), (name, size)
            assert not re.fullmatch(r"[\d.]+rem", size), (name, size)


@pytest.mark.parametrize("name", STYLES)
def test_a_line_of_a_style_sheet_has_one_declaration(name: str) -> None:
    text = re.sub(r"/\*.*?\*/", "", STYLES[name], flags=re.DOTALL)
    for line in text.splitlines():
        assert len(re.findall(r"(?<![\w:.-])[\w-]+: [^;{}]+;", line)) < 2, line


@pytest.mark.parametrize("path", ["/nothing", "/rules/nothing", "/docs/nothing", "/problems/x"])
def test_a_browser_gets_a_page_for_an_unknown_path(world: World, path: str) -> None:
    answer = world.get(path, headers={"Accept": BROWSER})
    assert answer.status_code == 404
    assert answer.mimetype == "text/html"
    assert answer.headers["Cache-Control"] == "private, no-store"
    assert "<h1>There is no page here</h1>" in answer.text
    assert {"/", "/rules", "/docs"} <= set(Page(answer.text).links)
    assert 'href="/nothing"' not in answer.text


@pytest.mark.parametrize(
    ("path", "accept"),
    [("/nothing", "*/*"), ("/nothing", ""), ("/nothing", "application/json"), ("/v1/x", BROWSER)],
)
def test_a_program_gets_a_problem_for_an_unknown_path(world: World, path: str, accept: str) -> None:
    answer = world.get(path, headers={"Accept": accept})
    assert (answer.status_code, problem_of(answer)) == (404, "not-found")

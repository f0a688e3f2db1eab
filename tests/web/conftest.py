"""The running service, a Chromium, and a fixture that opens pages and fails on their faults."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

import pytest
import redis
from playwright.sync_api import Browser, sync_playwright

from tests.databases import Databases
from tests.running import Running, running
from tests.web.browsing import FLAGS, Visits, chromium_program
from tests.web.page_pool import PagePool

NO_WAITING: Final[Mapping[str, int]] = MappingProxyType(
    {"referee_hands": 0, "referee_account_seconds": 0, "referee_seated_seconds": 0}
)
"""Settings under which a player may judge at once, without having played before."""

NO_BROWSER = "no Chromium: the browser tests are skipped (apt-get install chromium-headless-shell)"


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """
    Return a headless Chromium; a test that needs it is skipped if there is none.

    Playwright runs an event loop in this thread, so tests of other folders start without it.
    """
    program = chromium_program()
    if program is None:
        pytest.skip(NO_BROWSER)  # .ci/run installs it, so CI never skips
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=program, args=list(FLAGS))
        yield launched
        launched.close()


@pytest.fixture(scope="package")
def page_pool(browser: Browser) -> PagePool:
    """Return the pages that tests use one after another."""
    return PagePool(browser=browser)


@pytest.fixture(scope="package")
def package_database_url(databases: Databases) -> Iterator[str]:
    """Return the address of a migrated database for all tests of this folder, as its owner."""
    url = databases.take()
    yield url
    databases.give_back(url)


@pytest.fixture(scope="package")
def service(
    package_database_url: str,
    redis_server: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Running]:
    """
    Return the whole running service, with one worker, for all tests of this folder.

    A start and an end take 2.5 s of processor time. Tests find players, tables and games of other
    tests; in this service every player can be a referee at once.
    """
    with redis.Redis.from_url(redis_server) as client:
        client.flushdb()
    logs = tmp_path_factory.mktemp("logs")
    # The stream of a page that was closed holds its thread until its next comment, 5 s later, and
    # one address may hold a quarter of the threads: a dozen of short tests in that time must not
    # use it up, which would be a fault of a later test (503).
    more: dict[str, Any] = {"rate_limits": False, "api_threads": 256, **NO_WAITING}
    with running(package_database_url, redis_server, logs, **more) as started:
        yield started


@pytest.fixture
def visits(page_pool: PagePool, service: Running) -> Iterator[Visits]:
    """
    Return an object that opens pages of the service; a page fault fails the test.

        def test_a_page(visits):
            page = visits.open("/rules", size="phone", color_scheme="dark")
            assert page.title()
    """
    opened = Visits(pool=page_pool, address=f"http://127.0.0.1:{service.port}")
    yield opened
    opened.close()
    assert opened.unexpected() == []

"""Settings are read from environment variables; an error names the variable."""

from __future__ import annotations

from pathlib import Path

import pytest

from service.feature import settings_of
from service.features import FEATURES
from service.runtime.config import (
    ConfigError,
    LogLevel,
    settings_from,
    shared_settings,
    variable,
    variables_of,
)

REQUIRED = {
    "SHITHEAD_DATABASE_URL": "postgresql://u:password@h/d",
    "SHITHEAD_KEY_FILE": "/var/lib/shithead/keys.json",
}


def test_other_settings_than_the_required_ones_have_defaults() -> None:
    settings = settings_from(REQUIRED)
    assert settings.database_url == "postgresql://u:password@h/d"
    assert settings.key_file == Path("/var/lib/shithead/keys.json")
    assert settings.port == 8080


@pytest.mark.parametrize(
    "url",
    [
        "redis+sentinel://one:26379,two:26379/main",
        "rediss+sentinel://user:pass%40word@one,[::1]:26380/main?db=1",
        "redis+sentinel://:p[ss@[::1],one:26380/main/",
    ],
)
def test_a_sentinel_address_with_a_master_name_is_valid(url: str) -> None:
    assert settings_from(REQUIRED | {"SHITHEAD_REDIS_URL": url}).redis_url == url


def test_a_list_of_database_servers_may_have_addresses_in_brackets() -> None:
    url = "postgresql://u@one,[::1]:5432/d"
    assert settings_from(REQUIRED | {"SHITHEAD_DATABASE_URL": url}).database_url == url


def test_every_setting_has_a_function_that_reads_its_variable() -> None:
    assert all(callable(field.metadata["reader"]) for field in shared_settings())


def test_settings_passed_to_another_process_are_equal() -> None:
    more = {"SHITHEAD_RATE_LIMITS": "off", "SHITHEAD_LOG_FORMAT": "text", "SHITHEAD_PORT": "81"}
    settings = settings_from(REQUIRED | more)
    assert settings_from(variables_of(settings)) == settings


def test_values_are_converted() -> None:
    more = {"SHITHEAD_PORT": " 81 ", "SHITHEAD_LOG_LEVEL": "Debug", "SHITHEAD_RATE_LIMITS": "off"}
    settings = settings_from(REQUIRED | more)
    assert settings.port == 81
    assert settings.log_level is LogLevel.DEBUG
    assert settings.rate_limits is False


def test_passwords_are_not_in_the_repr() -> None:
    assert "password" not in repr(settings_from(REQUIRED | {"SHITHEAD_KEYS": "the password"}))


def test_a_missing_setting_is_named() -> None:
    with pytest.raises(ConfigError, match=r"(?s)SHITHEAD_DATABASE_URL.*SHITHEAD_KEY_FILE"):
        settings_from({})


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("database_url", "mysql://h/d"),
        ("redis_url", "localhost:6379"),
        ("redis_url", "redis://host:99999/0"),
        ("redis_url", "redis://:secret@host:port/0"),
        ("redis_url", "redis+sentinel://host:26379,two:99999/main"),
        ("redis_url", "redis+sentinel://host:26379"),
        ("redis_url", "redis+sentinel://one,,two/main"),
        ("redis_url", "redis+sentinel://one,[::g]/main"),
        ("redis_url", "redis+sentinel://one,two /main"),
        ("redis_url", "redis+sentinel://host:\u0661/main"),
        ("redis_url", "redis://:p[ss@host"),
        ("redis_url", "redis+sentinel://host:26379/main/0"),
        ("redis_url", "redis+sentinel://host:26379/main?db=one"),
        ("redis_url", "redis+sentinel://host:26379/main?database=1"),
        ("key_file", "keys.json"),
        ("origin", "https://Example"),
        ("witnesses", "https://w.example"),
        ("witnesses", "w.example+0123abcd+BAAA"),
        (
            "witnesses",
            "w.example+0123abcd+BAAA https://w.example,v.example+0123abce+BAAA https://v.example",
        ),
        ("cors_origins", "*"),
        ("cors_origins", "null"),
        ("cors_origins", "https://a.example/"),
        ("cors_origins", "https://*.example"),
        ("cors_origins", "https://a.example,"),
        ("cors_origins", "play.example"),
        ("security_contact", "security@example.org"),
        ("security_contact", "mailto:security@example.org\nPolicy: x"),
        ("security_contact", "http://example.org/report"),
        ("port", "0"),
        ("port", "8o80"),
        ("port", "\u0661"),
        ("api_threads", "-1"),
        ("idle_days", "a month"),
        ("rate_limits", "perhaps"),
        ("archive", "here"),
        ("archive", "gs://bucket/folder"),
        ("archive", "az://container/folder"),
        ("keep_answers_hours", "23"),
        ("keep_refusals_days", "-1"),
        ("log_level", "loud"),
    ],
)
def test_the_error_about_an_invalid_value_names_its_variable(setting: str, value: str) -> None:
    with pytest.raises(ConfigError, match=f"^{variable(setting)} "):
        settings_from(REQUIRED | {variable(setting): value}, settings_of(FEATURES))


def test_a_path_below_which_the_service_would_be_served_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"^GRANIAN_URL_PATH_PREFIX is set: .* host name of its"):
        settings_from(REQUIRED | {"GRANIAN_URL_PATH_PREFIX": "/cards"})
    settings_from(REQUIRED | {"GRANIAN_URL_PATH_PREFIX": "/"})


def test_a_misspelt_setting_is_refused() -> None:
    with pytest.raises(ConfigError, match="SHITHEAD_PROT is not a setting"):
        settings_from(REQUIRED | {"SHITHEAD_PROT": "80"}, settings_of(FEATURES))


def test_variables_of_the_tests_are_ignored() -> None:
    assert settings_from(REQUIRED | {"SHITHEAD_TEST_DATABASE_URL": "x"}).port == 8080


def test_variables_of_the_client_are_ignored() -> None:
    """SHITHEAD_HOME and SHITHEAD_URL may be set in the shell that starts it."""
    client = {"SHITHEAD_HOME": "/home/ada/.shithead", "SHITHEAD_URL": "http://127.0.0.1:8080"}
    assert settings_from(REQUIRED | client) == settings_from(REQUIRED)

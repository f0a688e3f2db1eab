"""A ruleset named on the command line: of the catalogue, in a file, or custom at a service."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from service.cli.connection import api_of, errors_as_messages
from service.rulesets.catalogue import Definition, KnownByName, catalogue, known_by_name
from service.rulesets.custom import RulesetRefused, custom_definition, custom_of

CUSTOM = "custom-"
"""The beginning of the id of every custom ruleset."""


def ruleset_named(name: str, url: str) -> Definition | KnownByName:
    """
    Return the ruleset with an id, or the one in a file.

    A custom id is looked up at `url`. A file ends in `.json` and has the body of
    `POST /v1/rulesets`, or an answer of `GET /v1/rulesets/{id}`. Raises UsageError if there is no
    such ruleset or it cannot be played, NoService if the service does not answer.
    """
    if name.endswith(".json"):
        return _in_file(Path(name))
    if name.startswith(CUSTOM):
        return _at_service(name, url)
    known: dict[str, Definition | KnownByName] = {**catalogue(), **known_by_name()}
    if name not in known:
        near = difflib.get_close_matches(name, known, n=3)
        guess = f"; did you mean {' or '.join(near)}?" if near else ""
        raise click.UsageError(
            f"there is no ruleset {name!r}{guess} (shithead rulesets lists them)"
        )
    return known[name]


def playable_ruleset(name: str, url: str) -> Definition:
    """Return the ruleset as `ruleset_named`; raises UsageError also if its rules are unknown."""
    found = ruleset_named(name, url)
    if isinstance(found, KnownByName):
        raise click.UsageError(f"the rules of {found.name} are unknown")
    return found


def custom_rulesets(url: str) -> list[Mapping[str, Any]]:
    """Return the custom rulesets of a service, newest first; raises NoService."""
    found: list[Mapping[str, Any]] = []
    with errors_as_messages():
        api, query = api_of(url), "?limit=100"
        while query:
            page = api.get(f"/rulesets{query}")
            found += [one for one in page["items"] if str(one["id"]).startswith(CUSTOM)]
            query = f"?limit=100&cursor={page['next']}" if page["next"] else ""
    return found


def _in_file(path: Path) -> Definition:
    try:
        document = json.loads(path.read_bytes())
    except OSError as error:
        raise click.UsageError(f"{path}: {error.strerror or 'cannot be read'}") from None
    except ValueError:
        raise click.UsageError(f"{path} is not JSON") from None
    return _read(document, str(path))


def _at_service(identity: str, url: str) -> Definition:
    with errors_as_messages():
        found = _read(api_of(url).get(f"/rulesets/{identity}"), url)
    if found.id != identity:
        raise click.UsageError(f"the ruleset at {url} has other settings than its id states")
    return found


def _read(document: Any, where: str) -> Definition:
    """Return the ruleset of a request or an answer; raises UsageError with the reason."""
    base = document.get("base") if isinstance(document, Mapping) else None
    if not isinstance(base, str) or base not in catalogue():
        raise click.UsageError(f'{where}: "base" is not the id of a ruleset of the catalogue')
    name, settings = str(document.get("name", "Custom")), document.get("settings")
    try:
        if isinstance(settings, dict):
            return custom_of(catalogue()[base], name, settings)
        return custom_definition(catalogue()[base], name, document.get("changes", {}))
    except RulesetRefused as refused:
        reasons = "; ".join(f"{at or '/'}: {message}" for at, message in refused.reasons)
        raise click.UsageError(f"{where}: {reasons}") from None
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise click.UsageError(f"{where}: its settings cannot be read: {error}") from None

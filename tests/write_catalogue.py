"""Pack the rulesets for the second verifier: `python -m tests.write_catalogue`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[1]
SOURCE: Final = ROOT / "ops" / "spec" / "rulesets.json"
FOLDER: Final = ROOT / "service" / "api" / "static" / "verifier"

_NO_MOVES: Final = re.compile(
    r"players|order|deck|deal\.(?:down|up|hand|starter)|opening\.(?:ranks|suits)"
    r"|end\.(?:next|paper)|model\.next_dealer"
)
"""Settings that decide about no move."""

HEAD: Final = """\
/**
 * The catalogue of rulesets, packed from ops/spec/rulesets.json.
 *
 * `python -m tests.write_catalogue` writes it. Of a ruleset only the settings that differ from
 * the defaults are listed.
 */

"""


STATEMENTS_HEAD: Final = """\
/**
 * The statements of the rules, packed from ops/spec/rulesets.json.
 *
 * `python -m tests.write_catalogue` writes it. Of each ruleset `cites` has the statement of a
 * setting, and `texts` the text of each statement.
 */

/** @typedef {{cites: Record<string, string>, texts: Record<string, string[]>}} Statements */

"""

STATEMENTS_END: Final = """\

/**
 * Return the statement that decides about a setting, from the ruleset or the rules that all share.
 *
 * @param {string} ruleset its id
 * @param {unknown} cite the setting; of a rank `ranks.T.burns`
 * @returns {{id: string, texts: string[]} | null}
 */
export function ruleOf(ruleset, cite) {
  if (typeof cite !== "string") return null;
  const own = Object.hasOwn(RULESETS, ruleset) ? RULESETS[ruleset] : SHARED;
  const general = cite.replace(/^ranks\\.[^.]+/, "ranks.*");
  const id = own.cites[cite] ?? SHARED.cites[cite] ?? SHARED.cites[general];
  return id === undefined ? null : { id, texts: own.texts[id] ?? SHARED.texts[id] ?? [] };
}
"""


def modules() -> dict[str, str]:
    """Return the modules by file name."""
    source = json.loads(SOURCE.read_bytes())
    return {"catalogue.js": _catalogue(source), "statements.js": _statements(source)}


def _statements(source: dict[str, Any]) -> str:
    lines = [STATEMENTS_HEAD, "/** @type {Statements} */\n"]
    lines.append(f"const SHARED = {_text(_cited(source['shared']))};\n\n")
    lines.append("/** @type {Record<string, Statements>} */\nconst RULESETS = {\n")
    lines += [f'  "{name}": {_text(_cited(one))},\n' for name, one in source["rulesets"].items()]
    return "".join([*lines, "};\n", STATEMENTS_END])


def _cited(source: dict[str, Any]) -> dict[str, Any]:
    """Return the statements that decide about moves."""
    others = _NO_MOVES.match
    cites = {setting: one for setting, one in source["cites"].items() if not others(setting)}
    texts: dict[str, list[str]] = {}
    for one in source["statements"]:
        if one["id"] in cites.values():
            texts.setdefault(one["id"], []).append(one["text"])
    return {"cites": cites, "texts": texts}


def _catalogue(source: dict[str, Any]) -> str:
    """Return the module with the settings and the effects of the options of each ruleset."""
    defaults = source["defaults"]
    lines = [HEAD, f"/** @type {{any}} */\nexport const DEFAULTS = {_text(defaults)};\n\n"]
    lines.append("/** @type {Record<string, {settings: any, options: any}>} */\n")
    lines.append("export const CATALOGUE = {\n")
    for name, ruleset in source["rulesets"].items():
        settings = _differences(ruleset["settings"], defaults)
        options = {key: _option(option) for key, option in ruleset["options"].items()}
        lines.append(f'  "{name}": {_text({"settings": settings, "options": options})},\n')
    return "".join([*lines, "};\n"])


def _text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _differences(settings: dict[str, Any], defaults: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for section, values in settings.items():
        if section == "ranks":
            found[section] = {rank: _other(rule, defaults["rank"]) for rank, rule in values.items()}
        elif section in defaults:
            found[section] = _other(values, defaults[section])
        else:
            found[section] = values
    return {section: values for section, values in found.items() if values or section == "ranks"}


def _other(values: dict[str, Any], defaults: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if defaults.get(key) != value}


def _option(option: dict[str, Any]) -> dict[str, Any]:
    """Return an option without hashes; of a choice without those effects that only set a value."""
    kept = {key: option[key] for key in ("kind", "default", "sets") if option.get(key) is not None}
    if "effects" in option:
        kept["effects"] = [[one["value"], one["changes"]] for one in option["effects"]]
    return kept


if __name__ == "__main__":
    for name, content in modules().items():
        (FOLDER / name).write_text(content, encoding="utf-8")

"""
Counts facts that stand in several places: python -m ops.facts.

It prints the circles of imports, the public class names with two owners, and for each effect of a
rank the Python files that name it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from service.domain.ruleset import EFFECTS
from tests.test_architecture import PACKAGES, ROOT, circles, owners

MOST_FILES = 5
"""The most Python files that a new effect may need (CONTRIBUTING, A new effect)."""


def files_that_name(effect: str, root: Path = ROOT) -> list[str]:
    """Return the Python files of a checkout whose code names an effect; sentences do not count."""
    files = (file for package in PACKAGES for file in sorted((root / package).rglob("*.py")))
    texts = ((file, file.read_text("utf-8")) for file in files)
    return [
        str(file.relative_to(root))
        for file, text in texts
        if effect in text and effect in _names(ast.parse(text))
    ]


def _names(tree: ast.Module) -> Iterator[str]:
    """Yield the names in code that can be an effect, and the ends of settings: `ranks.T.burns`."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(attr=name) | ast.keyword(arg=str(name)):
                yield name
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield name
            case ast.Constant(value=str(text)):
                yield text.rpartition(".")[2]


def main() -> None:
    """Print the counts, and the names behind those that are not 0."""
    groups = circles()
    shared = {name: places for name, places in owners().items() if len(places) > 1}
    print(f"circles of imports: {len(groups)}")
    for group in groups:
        print(f"  {', '.join(sorted(group))}")
    print(f"public class names with two owners: {len(shared)}")
    for name, places in sorted(shared.items()):
        print(f"  {name}: {', '.join(places)}")
    for effect in EFFECTS:
        files = files_that_name(effect)
        print(f"Python files that name the effect {effect}: {len(files)} of at most {MOST_FILES}")
        print(f"  {', '.join(files)}")


if __name__ == "__main__":
    main()

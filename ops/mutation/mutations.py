"""
The mutations of a module, each of which makes one mutant: `mutations_of(tree, enums)`.

Not mutated: annotations, docstrings, type aliases, text for people (a string with a
space in it) and the branches that only show the type checker that a match is complete.
"""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

Enums = Mapping[str, tuple[str, ...]]
"""The names of an enumeration's members, by its name where the code uses it."""

COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
}
BUILTINS = {"any": "all", "all": "any", "min": "max", "max": "min", "sorted": "list"}
UNTOUCHED = {"annotation", "returns", "decorator_list", "type_params", "bases"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutation:
    """One small change of the code: `apply` makes it in the tree in which it was found."""

    function: str | None  # None: it takes effect when the module is imported
    first: int
    last: int
    text: str
    number: int = 1  # among equal mutations in the same function
    apply: Callable[[], None]


def mutations_of(tree: ast.Module, enums: Enums) -> list[Mutation]:
    """Return every mutation of a module, in the order of its lines."""
    found: list[Mutation] = []
    for statement in tree.body:
        _walk(statement, enums, None, "", (statement.lineno, statement.lineno), found)
    counts: Counter[tuple[str | None, str]] = Counter()
    numbered = []
    for mutation in found:
        same = mutation.function, mutation.text
        counts[same] += 1
        numbered.append(replace(mutation, number=counts[same]))
    return numbered


def enums_of(trees: Mapping[str, ast.Module], module: str) -> Enums:
    """Return the enumerations that a module knows, by the names that it has for them."""
    defined = {
        part.name: tuple(
            line.targets[0].id
            for line in part.body
            if isinstance(line, ast.Assign) and isinstance(line.targets[0], ast.Name)
        )
        for tree in trees.values()
        for part in tree.body
        if isinstance(part, ast.ClassDef) and "StrEnum" in map(ast.unparse, part.bases)
    }
    imports = [part for part in trees[module].body if isinstance(part, ast.ImportFrom)]
    renamed = {name.asname: name.name for part in imports for name in part.names if name.asname}
    named = {name: defined[real] for name, real in renamed.items() if real in defined}
    return {name: members for name, members in defined.items() if name not in renamed} | named


def _walk(
    node: ast.AST,
    enums: Enums,
    function: str | None,
    inside: str,
    lines: tuple[int, int],
    found: list[Mutation],
) -> None:
    """Add the mutations below `node`; `function` is the outermost one around it."""
    for field, value in ast.iter_fields(node):
        if field in UNTOUCHED or _is_alias(node):
            continue
        below, within = function, inside
        if isinstance(node, ast.FunctionDef) and field == "body" and function is None:
            below = f"{inside}{node.name}"
        elif isinstance(node, ast.ClassDef):
            within = f"{inside}{node.name}."
        children = list(enumerate(value)) if isinstance(value, list) else [(None, value)]
        for index, child in children:
            if (
                not isinstance(child, ast.AST)
                or _is_docstring(child)
                or _checks_completeness(child)
            ):
                continue
            span = _lines(child, lines)
            found += (
                _mutation(node, field, index, child, after, below, span)
                for after in _alternatives(child, node, enums)
            )
            _walk(child, enums, below, within, span, found)


def _mutation(
    node: ast.AST,
    field: str,
    index: int | None,
    child: ast.AST,
    after: ast.AST,
    function: str | None,
    lines: tuple[int, int],
) -> Mutation:
    def apply() -> None:
        if index is None:
            setattr(node, field, after)
        else:
            getattr(node, field)[index] = after

    return Mutation(
        function=function,
        first=lines[0],
        last=lines[1],
        text=f"{_text(child)} → {_text(after)}",
        apply=apply,
    )


def _text(node: ast.AST) -> str:
    if isinstance(node, ast.match_case):
        guard = f" if {ast.unparse(node.guard)}" if node.guard else ""
        return f"case {ast.unparse(node.pattern)}{guard}"
    if isinstance(node, ast.stmt) and isinstance(getattr(node, "body", None), list):
        return ast.unparse(node).splitlines()[0]
    return " ".join(ast.unparse(node).split())


def _lines(node: ast.AST, outer: tuple[int, int]) -> tuple[int, int]:
    """Return the lines of the statement around `node`; of a compound statement, its head."""
    if isinstance(node, ast.match_case):
        return node.pattern.lineno, max(node.pattern.lineno, node.body[0].lineno - 1)
    if not isinstance(node, ast.stmt):
        return outer
    body = getattr(node, "body", None) or getattr(node, "cases", None)
    if not body:
        return node.lineno, node.end_lineno or node.lineno
    head = body[0].pattern if isinstance(body[0], ast.match_case) else body[0]
    return node.lineno, max(node.lineno, head.lineno - 1)


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_alias(node: ast.AST) -> bool:
    """Return whether a module's assignment only names types: `Move = Play | PickUp`."""
    value = getattr(node, "value", None)
    if not isinstance(node, ast.Assign) or node.col_offset:
        return False
    if isinstance(value, ast.Call):
        return isinstance(value.func, ast.Name) and value.func.id == "NewType"
    return isinstance(value, ast.BinOp | ast.Subscript | ast.Name)


def _checks_completeness(node: ast.AST) -> bool:
    return isinstance(node, ast.match_case | ast.Expr) and any(
        isinstance(part, ast.Name) and part.id == "assert_never"
        for part in ast.walk(node.body[0] if isinstance(node, ast.match_case) else node)
    )


def _alternatives(node: ast.AST, parent: ast.AST, enums: Enums) -> Iterator[ast.AST]:
    """Yield the nodes that replace `node` in its mutants."""
    match node:
        case ast.expr():
            yield from _conditions(node)
            yield from _values(node, parent, enums)
        case ast.stmt():
            yield from _statements(node)
        case ast.match_case():
            if not isinstance(node.pattern, ast.MatchAs) or node.pattern.pattern is not None:
                yield _with(node, guard=ast.Constant(False))
            if node.guard is not None:
                yield _with(node, guard=None)
        case ast.comprehension(ifs=tests):
            for kept in _without_each(tests):
                yield _with(node, ifs=kept)
        case _:
            yield from _patterns(node, enums)


def _patterns(node: ast.AST, enums: Enums) -> Iterator[ast.AST]:
    match node:
        case ast.MatchValue(value=ast.Attribute() as value):
            yield from (ast.MatchValue(value=other) for other in _members(value, enums))
        case ast.MatchOr(patterns=patterns):
            for kept in _without_each(patterns):
                yield ast.MatchOr(patterns=kept) if len(kept) > 1 else kept[0]
        case ast.MatchClass(kwd_attrs=names, kwd_patterns=patterns):
            for at, pattern in enumerate(patterns):
                if isinstance(pattern, ast.MatchValue):
                    fewer = names[:at] + names[at + 1 :]
                    yield _with(
                        node, kwd_attrs=fewer, kwd_patterns=patterns[:at] + patterns[at + 1 :]
                    )


def _conditions(node: ast.expr) -> Iterator[ast.expr]:
    match node:
        case ast.Compare(ops=ops, left=left, comparators=rights):
            for at, op in enumerate(ops):
                for other in COMPARISONS[type(op)]:
                    changed = [*ops[:at], other(), *ops[at + 1 :]]
                    yield ast.Compare(left=left, ops=changed, comparators=rights)
        case ast.BoolOp(op=op, values=values):
            swapped = ast.Or() if isinstance(op, ast.And) else ast.And()
            yield ast.BoolOp(op=swapped, values=values)
            for kept in _without_each(values):
                yield ast.BoolOp(op=op, values=kept) if len(kept) > 1 else kept[0]
        case ast.UnaryOp(operand=operand):
            yield operand
        case ast.IfExp(body=body, orelse=orelse):
            yield from (body, orelse)


def _values(node: ast.expr, parent: ast.AST, enums: Enums) -> Iterator[ast.expr]:
    match node:
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            yield from (left, right)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
            yield ast.BinOp(left=left, op=OPERATORS[type(op)](), right=right)
            if isinstance(op, ast.Add):
                yield from (left, right)
        case ast.Constant(value=value):
            yield from (ast.Constant(other) for other in _constants(value, parent))
        case ast.Attribute():
            yield from _members(node, enums)
        case ast.Call():
            yield from _calls(node)
        case ast.Tuple() | ast.Dict():
            yield from _collections(node, parent)
        case ast.Slice(lower=lower, upper=upper, step=step):
            if lower is not None:
                yield ast.Slice(lower=None, upper=upper, step=step)
            if upper is not None:
                yield ast.Slice(lower=lower, upper=None, step=step)


def _collections(node: ast.Tuple | ast.Dict, parent: ast.AST) -> Iterator[ast.expr]:
    """Yield the tuple or dictionary without each of its parts."""
    if isinstance(node, ast.Dict):
        for at in range(len(node.keys)):
            keys, values = list(node.keys), list(node.values)
            del keys[at], values[at]
            yield ast.Dict(keys=keys, values=values)
    elif isinstance(node.ctx, ast.Load) and not isinstance(parent, ast.Subscript):
        yield from (ast.Tuple(elts=kept, ctx=ast.Load()) for kept in _without_each(node.elts))


def _statements(node: ast.stmt) -> Iterator[ast.stmt]:
    match node:
        case ast.If(test=test) | ast.While(test=test):
            if not isinstance(test, ast.Constant):
                yield _with(node, test=ast.Constant(False))
            if isinstance(node, ast.If):
                yield _with(node, test=ast.Constant(True))
        case ast.Return(value=value) if value is not None:
            if not isinstance(value, ast.Constant) or value.value is not None:
                yield ast.Return(value=None)
        case ast.AugAssign(target=target, op=ast.Add(), value=value):
            yield ast.Pass()
            yield ast.AugAssign(target=target, op=ast.Sub(), value=value)
        case ast.Assign() | ast.Expr() | ast.Raise() | ast.Return():
            yield ast.Pass()
        case ast.Continue():
            yield from (ast.Break(), ast.Pass())
        case ast.Break():
            yield from (ast.Continue(), ast.Pass())


def _calls(node: ast.Call) -> Iterator[ast.expr]:
    name = node.func.id if isinstance(node.func, ast.Name) else None
    if name in BUILTINS:
        yield _with(
            node,
            func=ast.Name(id=BUILTINS[name], ctx=ast.Load()),
            keywords=[] if name == "sorted" else node.keywords,
        )
    for kept in _without_each(node.keywords):
        yield _with(node, keywords=kept)


def _constants(value: object, parent: ast.AST) -> Iterator[bool | int | str]:
    match value:
        case bool():
            yield not value
        case int():
            yield from (value + 1, value - 1)
        case str() if " " not in value and not isinstance(parent, ast.JoinedStr):
            yield value + "_"


def _members(node: ast.Attribute, enums: Enums) -> Iterator[ast.expr]:
    """Yield the next member of the enumeration."""
    if isinstance(node.value, ast.Name) and node.attr in enums.get(node.value.id, ()):
        names = enums[node.value.id]
        following = names[(names.index(node.attr) + 1) % len(names)]
        yield ast.Attribute(value=node.value, attr=following, ctx=ast.Load())


def _without_each(parts: list[Any]) -> Iterator[list[Any]]:
    for at in range(len(parts)):
        yield parts[:at] + parts[at + 1 :]


def _with(node: Any, **fields: object) -> Any:
    changed = copy.copy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return changed

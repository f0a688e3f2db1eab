"""Minification of scripts, style sheets and JSON: no comments, no spaces, short names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, product
from string import ascii_letters

import orjson

_TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*|/\*(?!!).*?\*/)
    |(?P<text>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|/\*!.*?\*/)
    |(?P<number>(?:0[xX][0-9a-fA-F_]+|(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)n?)
    |(?P<name>\#?[A-Za-z_$][\w$]*)
    |(?P<sign>=>|\.\.\.|\?\.(?!\d)|>>>=|\*\*=|<<=|>>=|>>>|===|!==|&&=|\|\|=|\?\?=
        |\+\+|--|\*\*|&&|\|\||\?\?|<<|>>|[-+*/%&|^<>=!]=|[-+*/%&|^<>=!~?:;,.(){}\[\]])""",
    re.VERBOSE | re.DOTALL,
)
_DYNAMIC_IMPORT = re.compile(r"const \{([^}]*)\} = await import\(")
_NAME = re.compile(r"[A-Za-z_]\w*")
_REGEX = re.compile(r"/(?![/*])(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/[a-z]*")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_KEYWORDS = _words(
    """arguments as async await break case catch class const constructor continue debugger default
    delete do else enum export extends false finally for from function get if import in instanceof
    let new null of return set static super switch this throw true try typeof undefined var void
    while with yield NaN Infinity"""
)
"""Keywords and built-in words of JavaScript, which are never renamed."""

_SHORTER = {"true": "!0", "false": "!1"}
"""Shorter spellings of values; not used after `.`, `{` and `,`, before a possible property name."""

_BROWSER_NAMES = _words(
    """CSS Date Error Event Intl JSON Map Math Node Number Object Option Promise Set String URL
    addEventListener announce caches close confirm crypto document event fetch find focus history
    location matchMedia name navigator open parent performance print screen scroll self status stop
    top localStorage length origin process frames"""
)
"""Names that the browser defines; they are neither replaced nor used as replacements."""

_BEFORE_REGEX = _words("( , = : [ ! & | ? { } ; => && || ?? + - * % ~ < > return typeof")
_BEFORE_BLOCK = frozenset(("=>", ")", "else", "try", "finally", "do", "catch", ";", ""))
_DECLARING = frozenset(("const", "let", "var", "function", "class"))

BLOCK, OBJECT, CLASS, MODULE, ROUND = "block", "object", "class", "module", "round"


@dataclass(slots=True)
class _Token:
    """One token: its text, whether a line ended before it, and its part in the script."""

    text: str
    is_name: bool
    new_line: bool
    use: str = ""  # of a name: "refers", "short" for `{name}`, "imported", or "" for a property
    key: str = ""  # of a short property: its name, if the variable was renamed
    frame: str = ""  # of a bracket: what it encloses; "case" for the colon after a case
    partner: int = -1  # of a bracket: the index of the matching one


@dataclass(frozen=True, slots=True, kw_only=True)
class _Declarations:
    """The names that a file declares without and with `export`."""

    local: set[str]
    exported: set[str]


def minify_script(source: str) -> str:
    r"""
    Return a script with the same meaning in fewer bytes.

    Comments and spaces are removed, and names that only this file declares become short. Names of
    properties, imports and exports are unchanged. A name becomes the same short name everywhere in
    the file, and no two names become the same, so the scopes need not be known. A comment
    `/*! … */`, such as a licence, is not removed. Statements must end with a semicolon: a line
    break remains only where an expression could end.

    >>> minify_script("const total = (first, second) =>\n  first + second; // a sum\n")
    'const c=(a,b)=>a+b;'
    >>> minify_script("export function shown({ name, size: many }) {\n  return name + many;\n}")
    'export function shown({name,size:a}){return name+a}'

    Constants that follow each other become one declaration, and no list ends with a comma.

    >>> minify_script("const first = [1, 2,];\nconst { second } = first;\n")
    'const a=[1,2],{second}=a;'
    """
    tokens = _parsed(source)
    return _joined(tokens, _short_names(tokens, _declarations(tokens)))


def minify_scripts(sources: Sequence[str]) -> list[str]:
    """
    Return scripts that import each other as `minify_script` does, with short names of exports.

    The short name of an export is the same in every script. The exports of a module that is
    imported while the page runs (`const { name } = await import(…)`) are not renamed, because
    such an import reads them as properties.

    >>> minify_scripts(["export const shown = 1;", 'import { shown } from "./a.js";'])
    ['export const $a=1;', 'import{$a}from"./a.js";']
    """
    parsed = [_parsed(source) for source in sources]
    declarations = [_declarations(tokens) for tokens in parsed]
    fixed = {
        name
        for source in sources
        for names in _DYNAMIC_IMPORT.findall(source)
        for name in _NAME.findall(names)
    }
    found = set().union(*(each.exported for each in declarations)) - fixed - _BROWSER_NAMES
    uses = Counter(token.text for tokens in parsed for token in tokens if token.use)
    by_use = sorted(found, key=lambda name: (-uses[name], name))
    exported = {name: f"${short}" for name, short in zip(by_use, _names(), strict=False)}
    for tokens, declared in zip(parsed, declarations, strict=True):
        _rename(tokens, declared, exported)
    return [_joined(tokens, _short_names(tokens, _declarations(tokens))) for tokens in parsed]


def minify_style(source: str) -> str:
    r"""
    Return a style sheet without comments and spaces around punctuation.

    A string in it must not contain punctuation of CSS; a test checks this.

    >>> minify_style("/* alarm */\n.red, b > i {\n  color: red;\n}\n")
    '.red,b>i{color:red}'
    """
    plain = re.sub(r"/\*(?!!).*?\*/", "", source, flags=re.DOTALL)
    plain = re.sub(r"\s+", " ", plain).strip()
    plain = re.sub(r" ?([{};,>]) ?", r"\1", plain)
    return plain.replace(": ", ":").replace(";}", "}")


def minify_json(source: str) -> str:
    r"""
    Return JSON without spaces; raises ValueError if it is malformed.

    >>> minify_json('{\n"act.ready": "Ready"\n}')
    '{"act.ready":"Ready"}'
    """
    return orjson.dumps(orjson.loads(source)).decode()


def _parsed(source: str) -> list[_Token]:
    """Return the tokens of a script, each bracket with its content and each name with its use."""
    tokens = list(_tokens(source))
    _match_brackets(tokens)
    _find_uses(tokens)
    return tokens


def _rename(tokens: list[_Token], names: _Declarations, exported: Mapping[str, str]) -> None:
    """Replace the names of the exports and imports of a script by those in `exported`."""
    own = (names.local | names.exported) & exported.keys()
    for index, token in enumerate(tokens):
        unused = not token.use and token.is_name and tokens[index + 1 : index + 2]
        has_alias = unused and tokens[index + 1].text == "as" and tokens[index - 1].text in "{,"
        if (token.use and token.text in own) or (has_alias and token.text in exported):
            token.key = token.text if token.use == "short" else ""
            token.text = exported[token.text]


def _tokens(source: str) -> Iterator[_Token]:
    at, new_line, before = 0, False, ""
    inside: list[int] = []  # for each open template, the number of open braces in its `${`
    while at < len(source):
        first = source[at]
        if first == "`" or (first == "}" and inside and inside[-1] == 0):
            if first == "}":
                inside.pop()
            end = _end_of_template(source, at + 1)
            text = source[at:end]
            if text.endswith("${"):
                inside.append(0)
            yield _Token(text, is_name=False, new_line=new_line)
            at, new_line, before = end, False, text
            continue
        found = _REGEX.match(source, at) if first == "/" and before in _BEFORE_REGEX else None
        found = found or _TOKEN.match(source, at)
        if found is None:
            raise ValueError(f"no token of a script: {source[at : at + 40]!r}")
        at, text, kind = found.end(), found.group(), found.lastgroup  # of a regex: None
        if kind == "space":
            new_line = new_line or "\n" in text
            continue
        if inside and text in "{}":
            inside[-1] += 1 if text == "{" else -1
        yield _Token(text, is_name=kind == "name", new_line=new_line)
        new_line, before = False, text


def _end_of_template(source: str, at: int) -> int:
    """Return the end of a part of a template: after its closing backtick or the next `${`."""
    while source[at] != "`":
        if source.startswith("${", at):
            return at + 2
        at += 2 if source[at] == "\\" else 1
    return at + 1


def _match_brackets(tokens: list[_Token]) -> None:
    """Set for each bracket the matching one, and for an opening one what it encloses."""
    opened: list[int] = []
    cases = 0  # `case` and `default` whose colon has not been reached
    for index, token in enumerate(tokens):
        before = tokens[index - 1].text if index else ""
        if token.text in ("case", "default") and before != ".":
            cases += token.text == "case" or tokens[index + 1].text == ":"
        elif token.text == ":" and cases:
            cases -= 1
            token.frame = "case"
        if _closes(token):
            token.partner = opened.pop()
            tokens[token.partner].partner = index
        if _opens(token):
            token.frame = _frame(tokens, index, opened) if token.text == "{" else ROUND
            opened.append(index)


def _opens(token: _Token) -> bool:
    text = token.text
    return text[0] in "([{`}" and (text in ("(", "[", "{") or text.endswith("${"))


def _closes(token: _Token) -> bool:
    """Return whether a token closes a bracket; `}` also begins the next part of a template."""
    return token.text[0] in ")]}"


def _frame(tokens: list[_Token], index: int, opened: list[int]) -> str:
    """Return what a brace encloses: statements, an object, a class, or names of a module."""
    before = tokens[index - 1] if index else None
    if before is None or before.text in _BEFORE_BLOCK or before.frame == "case":
        return BLOCK
    if before.text in ("import", "export"):
        return MODULE
    if "class" in {token.text for token in tokens[max(0, index - 4) : index]}:
        return CLASS
    statement = before.text == "}" or before.text == "{"
    outer = tokens[opened[-1]].frame if opened else BLOCK
    return BLOCK if statement and outer == BLOCK else OBJECT


def _find_uses(tokens: list[_Token]) -> None:
    """Set the use of each name."""
    opened: list[_Token] = []
    for index, token in enumerate(tokens):
        if _closes(token):
            opened.pop()
        if _opens(token):
            opened.append(token)
        if token.is_name and token.text[0] != "#" and token.text not in _KEYWORDS:
            frame = opened[-1].frame if opened else BLOCK
            token.use = _use(tokens, index, frame)


def _use(tokens: list[_Token], index: int, frame: str) -> str:
    before = tokens[index - 1].text if index else ""
    after = tokens[index + 1].text if index + 1 < len(tokens) else ""
    if before in (".", "?."):
        return ""
    if frame == MODULE:
        return "" if after == "as" else "refers" if before == "as" else "imported"
    modified = before in ("get", "set", "async", "static") and tokens[index - 2].text in (
        "{",
        ",",
        "}",
        ";",
        "static",
    )
    if frame == CLASS and (before in ("{", "}", ";") or modified):
        return ""
    if frame == OBJECT and (before in ("{", ",") or modified):
        return "" if after in (":", "(") else "short"
    return "refers"


def _short_names(tokens: list[_Token], names: _Declarations) -> dict[str, str]:
    """Return the short names by name, of those names whose replacement saves bytes."""
    declared = names.local - _BROWSER_NAMES
    uses = Counter((token.text, token.use) for token in tokens if token.use)
    by_use = sorted(
        declared, key=lambda name: (-sum(uses[name, use] for use in ("refers", "short")), name)
    )
    taken = {name for name, _ in uses} | _KEYWORDS | _BROWSER_NAMES
    free = (name for name in _names() if name not in taken)
    found: dict[str, str] = {}
    short = next(free)
    for name in by_use:
        costs = uses[name, "short"] * (len(short) + 1) + uses[name, "imported"] * (len(short) + 4)
        if uses[name, "refers"] * (len(name) - len(short)) > costs:
            found[name] = short
            short = next(free)
    return found


def _names() -> Iterator[str]:
    for length in count(1):
        for letters in product(ascii_letters, repeat=length):
            yield "".join(letters)


def _declarations(tokens: list[_Token]) -> _Declarations:
    """Return the names that the file declares."""
    found: set[str] = set()
    exported: set[str] = set()
    for index, token in enumerate(tokens):
        following = tokens[index + 1 : index + 3]
        if token.text in _DECLARING and following:
            name = following[0]
            if name.partner >= 0:
                names = _names_within(tokens, index + 1)
            else:
                names = {name.text} if name.is_name else set()
            (exported if _is_exported(tokens, index) else found).update(names)
        elif token.frame == MODULE:
            imports = tokens[index - 1].text == "import"
            (found if imports else exported).update(_names_within(tokens, index))
        elif token.text == "=>" and tokens[index - 1].is_name:
            found.add(tokens[index - 1].text)
        elif token.text == "(" and _has_parameters(tokens, index):
            found |= _names_within(tokens, index)
        elif token.text == "as" and tokens[index - 1].text == "*":
            found.add(following[0].text)
    exported -= _KEYWORDS
    return _Declarations(local=found - exported - _KEYWORDS, exported=exported)


def _is_exported(tokens: list[_Token], index: int) -> bool:
    words = [token.text for token in tokens[max(0, index - 2) : index]]
    return words[-1:] == ["export"] or words == ["export", "async"]


def _names_within(tokens: list[_Token], start: int) -> set[str]:
    """Return the names in a pattern, a list of parameters or a list of imports."""
    inside = tokens[start : tokens[start].partner]
    return {token.text for token in inside if token.use}


def _has_parameters(tokens: list[_Token], index: int) -> bool:
    """Return whether a round bracket encloses parameters."""
    after = (
        tokens[tokens[index].partner + 1].text if tokens[index].partner + 1 < len(tokens) else ""
    )
    before, earlier = (tokens[index - back].text if index >= back else "" for back in (1, 2))
    if after == "=>" or before in ("function", "catch") or earlier == "function":
        return True
    return (
        after == "{"
        and tokens[index - 1].is_name
        and not tokens[index - 1].use
        and before not in _KEYWORDS - {"constructor"}
    )


def _joined(tokens: list[_Token], short: dict[str, str]) -> str:
    """Return the script, with a space or a line break only where two tokens need one."""
    parts: list[str] = []
    last = _Token("", is_name=False, new_line=False)
    joined, left_out = _joined_constants(tokens), _brackets_of_single_parameters(tokens)
    for index, token in enumerate(tokens):
        text = token.text
        if index - 1 in joined or index in left_out or _ends_a_list(tokens, index):
            continue
        if index in joined:
            text = ","
        elif (
            text == ";"
            and tokens[index + 1 : index + 2]
            and tokens[index + 1].text == "}"
            and not _is_body(tokens, index)
        ):
            continue
        if token.use:
            text = _written(token, short.get(text, text))
        elif text in _SHORTER and last.text not in (".", "?.", "{", ","):
            text = _SHORTER[text]
        block = last.text == "}" and tokens[last.partner].frame == BLOCK and token.is_name
        if token.new_line and not block and _may_end(last.text) and _may_begin(token.text):
            parts.append("\n")
        elif last.text and _needs_space(last.text[-1], token.text[0]):
            parts.append(" ")
        parts.append(text)
        last = token
    return "".join(parts)


def _written(token: _Token, name: str) -> str:
    """Return the text of a name; a renamed property or import is written with its old name too."""
    original = token.key or token.text
    if name == original or token.use == "refers":
        return name
    return f"{original}:{name}" if token.use == "short" else f"{original} as {name}"


def _joined_constants(tokens: list[_Token]) -> set[int]:
    """Return the semicolons between two declarations of constants, which a comma can replace."""
    found: set[int] = set()
    begins = [""]  # the first token of the current statement, for each open bracket
    for index, token in enumerate(tokens):
        if _closes(token):
            begins.pop()
            if token.text == "}" and tokens[token.partner].frame == BLOCK:
                begins[-1] = ""
        begins[-1] = begins[-1] or token.text
        if _opens(token):
            begins.append("")
        elif token.text == ";":
            following = tokens[index + 1].text if index + 1 < len(tokens) else ""
            if begins[-1] == following == "const":
                found.add(index)
            begins[-1] = ""
    return found


def _ends_a_list(tokens: list[_Token], index: int) -> bool:
    """Return whether a token is a comma after the last item of a list."""
    if tokens[index].text != "," or index + 1 == len(tokens):
        return False
    return tokens[index + 1].text in (")", "]", "}") and tokens[index - 1].text not in (",", "[")


def _brackets_of_single_parameters(tokens: list[_Token]) -> set[int]:
    """Return the indexes of the round brackets in `(name) =>`, which are optional."""
    found: set[int] = set()
    for index, token in enumerate(tokens):
        single = index > 2 and tokens[index - 1].partner == index - 3 and tokens[index - 2].is_name
        if token.text == "=>" and single:
            found |= {index - 3, index - 1}
    return found


def _is_body(tokens: list[_Token], index: int) -> bool:
    """Return whether a semicolon is the empty body of a loop or a condition."""
    before = tokens[index - 1]
    return before.text == ")" and tokens[before.partner - 1].text in ("if", "for", "while")


def _may_end(text: str) -> bool:
    """Return whether a statement could end with a token, so that a line break may count."""
    return bool(text) and (text[-1].isalnum() or text[-1] in "_$)]}\"'`/" or text in ("++", "--"))


def _may_begin(text: str) -> bool:
    return text[0].isalnum() or text[0] in "_$#([{\"'`!~" or text in ("++", "--", "...")


def _needs_space(left: str, right: str) -> bool:
    if left in "+-/" and left == right:
        return True
    return (left.isalnum() or left in "_$") and (right.isalnum() or right in "_$#")

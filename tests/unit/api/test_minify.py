"""Minification of scripts: comments and spaces removed, local names shortened."""

from __future__ import annotations

import pytest

from service.api.minify import minify_script, minify_scripts
from service.api.pages import FOLDER


@pytest.mark.parametrize(
    ("source", "minified"),
    [
        ("const long = /[/\"]/u; // a comment with ' and `", 'const a=/[/"]/u;'),
        ("let total = 9 / 3 / first;\nlet first;", "let b=9/3/a;let a;"),
        ("f(`a ${two(`b ${{ c: 1 }.c}`)} // d`);", "f(`a ${two(`b ${{c:1}.c}`)} // d`);"),
        ("a\n(b);\nreturn\nc + +d - -e;", "a\n(b);return\nc+ +d- -e;"),
        ("while (next());\nif (x) { y(); }", "while(next());if(x){y()}"),
        ('import { a as view } from "./x.js";', 'import{a as a}from"./x.js";'),
        ("/*! a licence */\nf();", "/*! a licence */\nf();"),
    ],
)
def test_a_script_is_minified_without_a_change_of_meaning(source: str, minified: str) -> None:
    assert minify_script(source) == minified


def test_only_names_that_the_file_declares_for_itself_become_short() -> None:
    source = """
        import { needed } from "./needed.js";
        export const published = (view) => needed(view.needed, view.published, view);
        class Counter {
          #amount = 0;
          amount(more) { return { more, amount: more, [more]: this.#amount + more }; }
          static get more() { return undeclared + document.title; }
        }
        new Counter(published(Counter), Counter);
        switch (published) { case 1: { const more = 2; published(more); } default: published(); }
        published(({ title, ...others }) => title ? { others } : { title: others, title() {} });
    """
    assert minify_script(source) == (
        'import{needed}from"./needed.js";'
        "export const published=c=>needed(c.needed,c.published,c);"
        "class b{#amount=0;amount(a){return{more:a,amount:a,[a]:this.#amount+a}}"
        "static get more(){return undeclared+document.title}}\n"
        "new b(published(b),b);"
        "switch(published){case 1:{const a=2;published(a)}default:published()}"
        "published(({title:e,...d})=>e?{others:d}:{title:d,title(){}});"
    )


def test_every_statement_of_the_scripts_ends_with_a_semicolon_or_a_block() -> None:
    """Without a semicolon only a line break separates two statements."""
    for path in FOLDER.rglob("*.js"):
        lines = minify_script(path.read_text("utf-8")).split("\n")
        assert [line for line in lines[:-1] if line[-1:] not in ("}", "/", "")] == [], path


def test_an_exported_name_gets_the_same_short_name_in_every_script() -> None:
    exports = (
        "export const told = 1;\nexport function shown(told) { return { told, shown: told }; }\n"
        "export const later = 2;"
    )
    imports = (
        'import { shown as drawn, told } from "./a.js";\n'
        'const { later } = await import("./a.js");\n'
        "drawn(told, { told, shown: 3 }.shown, later, later);"
    )
    assert minify_scripts([exports, imports]) == [
        "export const $a=1;export function $b($a){return{told:$a,shown:$a}}export const later=2;",
        (
            'import{$b as b,$a}from"./a.js";const{later:a}=await import("./a.js");'
            "b($a,{told:$a,shown:3}.shown,a,a);"
        ),
    ], "a dynamically imported name is not shortened"


def test_an_unrelated_variable_with_the_name_of_an_export_keeps_it() -> None:
    """A name that a script neither declares nor imports is one of the browser's."""
    minified = minify_scripts(["export const shown = 1;", "prompt(x.shown, shown);"])
    assert minified == ["export const $a=1;", "prompt(x.shown,shown);"]

"""The report as one page of HTML: complete in itself, no scripts, the same bytes every time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Final

from service.verify.accounts import Account
from service.verify.asks import ASKS
from service.verify.claims import CLAIMS
from service.verify.entropy import entropy_lines
from service.verify.finding import Finding, Result
from service.verify.report import LEVELS, Report
from service.verify.text import SEQ, printable

MOST_LINES: Final = 4
"""Of any list, so that the page stays one; how many more there are is said."""

MOST_OF_A_REASON: Final = 900  # characters: more than any sentence of the verifier's own
CUT: Final = " \N{HORIZONTAL ELLIPSIS} (cut here; the text and the JSON have all of it)"

_SIGNS: Final = {
    Result.PASS: "\N{CHECK MARK}",
    Result.FAIL: "\N{BALLOT X}",
    Result.MISSING: "?",
    Result.NOT_APPLICABLE: "\N{EN DASH}",
}
_CLASSES: Final = {
    Result.PASS: "pass",
    Result.FAIL: "fail",
    Result.MISSING: "missing",
    Result.NOT_APPLICABLE: "na",
}
_LEVELS: Final = {
    "L0": "it can be read",
    "L1": "every check on the log alone passes",
    "L2": "a receipt from outside names its head",
    "L3": "every person signed, with keys from outside",
}
_NEVER: Final = (
    "This page says what was checked and nothing more. No log can show whether the operator looked"
    " at cards in the server's memory, or whether players talked to one another. Against an"
    " operator who replaces a whole game, only what came from outside counts."
)

_STYLE: Final = """\
:root{color-scheme:light dark;--ink:#1b1b1b;--faint:#5a5a5a;--line:#cfcfcf;--paper:#fff;
--pass:#17672f;--fail:#b00020;--missing:#7a5200;--tint:#f4f4f1}
@media (prefers-color-scheme:dark){:root{--ink:#ececec;--faint:#a9a9a9;--line:#444;--paper:#161616;
--pass:#6fd08c;--fail:#ff8a95;--missing:#f0bf63;--tint:#202020}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:60em;padding:1.2em;background:var(--paper);color:var(--ink);
font:14px/1.35 system-ui,sans-serif}
h1{font-size:1.35em;margin:0}h2{font-size:1em;margin:1em 0 .3em}
p{margin:.3em 0}ul{margin:0;padding-left:1.2em}
.game,td,li{overflow-wrap:anywhere}.faint{color:var(--faint)}
.verdict{border:2px solid;border-radius:6px;padding:.6em .9em;margin:.7em 0;font-size:1.15em;
font-weight:600}
.pass{color:var(--pass)}.fail{color:var(--fail)}.missing{color:var(--missing)}
.na{color:var(--faint)}.said.na{color:var(--ink)}
ul.claims{margin:.5em 0}ul.happened{margin:0 0 .7em}
code{font-size:.95em}
ol.levels{display:flex;gap:.5em;list-style:none;margin:0;padding:0}
ol.levels li{flex:1;border:1px solid var(--line);border-radius:6px;padding:.4em .6em;
color:var(--faint)}
ol.levels li.reached{background:var(--tint);color:var(--ink);border-color:var(--pass)}
table{border-collapse:collapse;width:100%}
th,td{text-align:left;vertical-align:top;padding:.2em .5em .2em 0;border-top:1px solid var(--line)}
th[scope=row]{white-space:nowrap}td.result{white-space:nowrap;font-weight:600}
.columns{display:grid;grid-template-columns:1fr 1fr;gap:0 2em}
ol.levels+table{margin-top:1em}section>p:last-child{margin-top:1em}
section+section{margin-top:3em}
@page{margin:11mm}
@media print{:root{color-scheme:light;--ink:#000;--faint:#444;--line:#bbb;--paper:#fff;
--pass:#17672f;--fail:#b00020;--missing:#7a5200;--tint:#fff}
body{font-size:7.5pt;line-height:1.15;padding:0;max-width:none}
h2{margin-top:.6em}ol.levels+table,section>p:last-child{margin-top:.6em}
section+section{margin-top:0;break-before:page}}
"""


def report_html(reports: Sequence[tuple[str, Report]]) -> str:
    """
    Return the page on one log, or on several, each printed on a page of its own.

    `reports` come with the names of their files. Nothing that a log says gets into the
    page other than as text, and nothing is loaded from elsewhere.
    """
    sections = "".join(_section(name, report) for name, report in reports)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta http-equiv="Content-Security-Policy"'
        " content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<title>Verification</title>\n<style>\n{_STYLE}</style>\n</head>\n<body>\n"
        f"{sections}</body>\n</html>\n"
    )


def _section(name: str, report: Report) -> str:
    sealed = "sealed" if report.sealed else "not sealed"
    game = _text(_short(report.game or "unknown"))
    checks = "".join(_row(finding) for finding in report.findings)
    return (
        "<section>\n<h1>Verification of a game</h1>\n"
        f'<p class="game faint">{_text(_short(name))}<br>game {game}, '
        f"{report.version} events, {sealed} ({escape(SEQ)})</p>\n"
        f'<p class="verdict {_CLASSES[report.result]}">{_SIGNS[report.result]} '
        f"{_text(report.conclusion)}</p>\n{_claims(report)}{_accounts(report)}"
        f"{_levels(report)}"
        "<table>\n<tr><th>check</th><th>result</th><th>what it asks, and what was found</th></tr>\n"
        f"{checks}</table>\n{_lists(report)}"
        f'<p class="faint">{escape(_NEVER)}</p>\n</section>\n'
    )


def _claims(report: Report) -> str:
    """Return the three things that are proved apart, and how each stands."""
    items = "".join(
        f'<li>{escape(CLAIMS[one.claim])}: <span class="said {_CLASSES[one.result]}">'
        f"{_text(one.said)}</span></li>\n"
        for one in report.claims
    )
    return f'<ul class="claims">\n{items}</ul>\n'


def _accounts(report: Report) -> str:
    """Return what happened where a claim first fails, and what there is to remark."""
    happened = "".join(map(_account, report.accounts))
    if happened:
        happened = f'<h2>What happened</h2>\n<ul class="happened">\n{happened}</ul>\n'
    remarks = (f"<p>remark: {_text(_short(said))}</p>\n" for said in report.remarks)
    return happened + "".join(remarks)


def _account(account: Account) -> str:
    said = _text(_short(f"{account.claim}, seq {account.seq}: {account.said}"))
    more = f"<br>to see that move: <code>shithead audit FILE --move {account.seq}</code>"
    return f"<li>{said}{more if account.move else ''}</li>\n"


def _levels(report: Report) -> str:
    """Return the levels, those reached set off; +W beside them where it was witnessed."""
    reached = LEVELS.index(report.level) if report.level else -1
    items = [(n <= reached, level, _LEVELS[level]) for n, level in enumerate(LEVELS)]
    items.append((report.witnessed, "+W", "the public log, cosigned by witnesses"))
    cells = "".join(
        f"<li{' class=reached' * there}><strong>{level}</strong> {escape(words)}</li>"
        for there, level, words in items
    )
    return f'<ol class="levels">{cells}</ol>\n'


def _row(finding: Finding) -> str:
    where = "" if finding.seq is None else f"seq {finding.seq}: "
    rule = "" if finding.rule is None else f" [{finding.rule}]"
    further = f"; {finding.others}" if finding.further else ""
    said = _text(_short(f"{where}{finding.reason or ''}{rule}") + _short(further))
    kind = _CLASSES[finding.result]
    reason = f' <span class="said {kind}">{said}</span>' if said else ""
    return (
        f'<tr><th scope="row">{finding.check.value}</th>'
        f'<td class="result {kind}">{_SIGNS[finding.result]} {finding.result.value}</td>'
        f'<td><span class="faint">{escape(ASKS[finding.check])}</span>{reason}</td></tr>\n'
    )


def _lists(report: Report) -> str:
    return (
        '<div class="columns">\n'
        + _list("From outside", report.outside or ("nothing",))
        + _list("For more", report.missing)
        + _list("The shuffle", entropy_lines(report.entropy))
        + _list("Not signed", report.unproven)
        + "</div>\n"
    )


def _list(title: str, lines: Iterable[str]) -> str:
    every = list(lines)
    if not every:
        return ""
    shown = [_text(_short(line)) for line in every[:MOST_LINES]]
    if len(every) > MOST_LINES:
        shown.append(f"and {len(every) - MOST_LINES} more")
    items = "".join(f"<li>{line}</li>" for line in shown)
    return f"<div><h2>{escape(title)}</h2><ul>{items}</ul></div>\n"


def _short(text: str) -> str:
    if len(text) <= MOST_OF_A_REASON:
        return text
    return text[:MOST_OF_A_REASON] + CUT


def _text(text: str) -> str:
    """Return somebody else's text as text: no markup, nothing that steers or reorders."""
    return escape(printable(text), quote=True)

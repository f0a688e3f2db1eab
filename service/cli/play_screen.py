"""The screen of `shithead play` and `watch`: table, events, prompt, and moves as text."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from rich.console import Console, Group, RenderableType
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from schemas.settings import SettingsError
from service.bots.bot import Chooser as BotChooser
from service.bots.bot import Move as BotMove
from service.bots.simple import GREEDY, LOWEST
from service.cli.narration import Event, People, narrated, result_of
from service.cli.screen import JOKERS, SUITS, View, printable, seats_table, situation
from service.client.api import Refused
from service.client.hand import OVER, TOO_LATE
from service.domain.cards import JOKER
from service.rulesets.catalogue import OptionError, read_ruleset

MAX_MOVES: Final = 30
"""Maximum number of listed moves; plays and exchanges beyond it can still be typed."""

ROWS: Final = 6
"""Rows of a column of moves, as long as more columns fit."""

FEWEST_LINES: Final = 3
LINES_AT_FIRST: Final = 6
"""Number of the newest sentences shown when the player joins a running game."""

_USUAL_ORDER: Final = "23456789TJQKA"


class Left(Exception):
    """The player quit the program; the game continues."""


class Chooser(Protocol):
    """Sees the views of a seat, and chooses its moves."""

    def see(self, view: View) -> None:
        """Receive a view."""

    def choose(self, view: View) -> Mapping[str, Any] | None:
        """Return the move to make, or None to fetch the view again; raises Left."""

    def refused(self, refused: Refused) -> None:
        """Receive the refusal of a move."""


@dataclass(kw_only=True)
class Story:
    """
    The events of a game as sentences, up to the version that was shown last.

    `events` returns the events of the game so far, at least up to the version of each view.
    """

    events: Callable[[], Sequence[Event]]
    version: int = 0
    people: People = field(default_factory=lambda: People(names=()))
    held: frozenset[str] = frozenset()  # the reader's hand at that version
    drawn: frozenset[str] = frozenset()  # the cards that the last events added to it

    def advance(self, view: View) -> list[str]:
        """Return the sentences on the events after the last view, up to this one."""
        self.people = People.of(view)
        events = self.events()[self.version : view["version"]]
        joined, self.version = self.version == 0, view["version"]
        self.drawn = self._new_cards(view)
        took = any(event["data"].get("taker") == self.people.me for event in events)
        named = [] if joined or took else in_rank_order([*self.drawn], self.order)
        lines = narrated(events, self.people, named)
        return lines[-LINES_AT_FIRST:] if joined else lines

    @property
    def order(self) -> Sequence[str]:
        """Return the ranks of the game's ruleset, low to high."""
        first = self.events()[0]["data"] if self.events() else None
        if first is None:
            return _USUAL_ORDER
        try:
            return read_ruleset(first["ruleset"], first["hand"]).order
        except (KeyError, SettingsError, OptionError):
            return _USUAL_ORDER  # this program does not know the ruleset

    def _new_cards(self, view: View) -> frozenset[str]:
        """Return the cards that the hand has gained since the last view; store the hand."""
        if self.people.me is None:
            return frozenset()
        hand = frozenset(view["seats"][self.people.me]["hand"]["cards"] or ())
        before, self.held = self.held, hand
        return hand - before if before else frozenset()


def table_of(view: View, order: Sequence[str], new: frozenset[str]) -> RenderableType:
    """Return the table with hands in the order of ranks; the cards in `new` are highlighted."""
    people = People.of(view)
    title = Rule(f"{printable(view['ruleset']['id'])}, hand {view['hand']}", style="dim")
    if view["status"] == "shuffling":
        return Group(title, _setup(view, people))
    seats = [{**seat, "hand": _sorted(seat["hand"], order)} for seat in view["seats"]]
    labels = [people(seat) for seat in range(len(seats))]
    shown = {**view, "seats": seats}
    result = result_of(view, people)
    over = [] if result is None else [Text(), Text(printable(result), style="bold yellow")]
    return Group(
        title, *situation(view, new), Text(), seats_table(shown, new, labels=labels), *over
    )


def own_cards(view: View) -> list[str]:
    """Return the cards of the viewer's hand and the face-up ones; none for a spectator."""
    if not isinstance(view.get("as"), int):
        return []
    seat = view["seats"][view["as"]]
    return [*(seat["hand"]["cards"] or ()), *(card for stack in seat["up"] for card in stack)]


def _sorted(hand: View, order: Sequence[str]) -> View:
    cards = hand["cards"]
    own = None if cards is None else in_rank_order(cards, order)
    return {**hand, "cards": own, "known": in_rank_order(hand["known"], order)}


def _setup(view: View, people: People) -> Text:
    """Return the progress of the shuffle, seat by seat."""
    states = (f"{people(s['seat'])}: {s['entropy']}, {s['state']}" for s in view["setup"] or ())
    return Text("shuffling   " + printable("   ".join(states)))


def moves_of(moves: Sequence[Mapping[str, Any]], width: int = 80) -> RenderableType:
    """Return numbered moves in columns; plays and exchanges beyond MAX_MOVES are not listed."""
    plays = [n for n, move in enumerate(moves) if move["type"] in ("play", "swap")]
    omitted = set(plays[MAX_MOVES - (len(moves) - len(plays)) :]) if plays else set()
    shown = [n for n in range(len(moves)) if n not in omitted]
    longest = max((len(words_of(moves[n])) for n in shown), default=0)
    columns = max(1, min(-(-len(shown) // ROWS), width // (longest + 7)))
    rows = -(-len(shown) // columns)
    table = Table.grid(padding=(0, 2, 0, 0))
    for row in range(rows):
        table.add_row(*(_numbered(n + 1, moves[n]) for n in shown[row::rows]))
    more = f"and {len(omitted)} more; type the cards"
    return Group(table, Text(more, style="dim")) if omitted else table


def _numbered(number: int, move: Mapping[str, Any]) -> Text:
    return Text.assemble((f"{number:>3}", "bold cyan"), "  ", coloured(words_of(move)))


def coloured(text: str) -> Text:
    """Return text without control characters, with its cards in the colours of their suits."""
    shown = Text(printable(text))
    for suit, style in SUITS.items():
        shown.highlight_regex(rf"\b[2-9TJQKA]{suit}\b", style)
    shown.highlight_regex(r"\bX\d\b", JOKERS)
    return shown


def recent_events(lines: Sequence[str]) -> RenderableType:
    """Return the sentences on the events since the last view."""
    return Group(*(Text("  ") + coloured(line) for line in lines))


@dataclass(kw_only=True)
class Automatic:
    """Plays automatically; prints the events, and the table at the end."""

    rule: str
    console: Console
    story: Story
    rng: random.Random = field(default_factory=random.Random)  # it keeps no secret

    def see(self, view: View) -> None:
        """Print the new events, and the table once the hand is over."""
        _print_lines(self.console, self.story.advance(view))
        if view["status"] in OVER:
            self.console.print(table_of(view, self.story.order, frozenset()))

    def choose(self, view: View) -> Mapping[str, Any] | None:
        """Return the move that the rule selects."""
        return AUTOMATIC[self.rule](view, view["moves"], self.rng)

    def refused(self, refused: Refused) -> None:
        """Ignore late moves; raise for others: a listed move must not be refused."""
        if refused.kind not in TOO_LATE:
            raise refused


def _print_lines(console: Console, lines: Sequence[str]) -> None:
    if lines:
        console.print(recent_events(lines))


@dataclass(kw_only=True)
class Pane:
    """
    A table that is redrawn after each event, with the sentences since the reader's last move.

    On a terminal it is drawn in place; otherwise each state is printed below the previous one.
    """

    console: Console
    story: Story
    lines: list[str] = field(default_factory=list)  # since the reader's last move
    new: frozenset[str] = frozenset()  # the cards added to the hand since then
    moving: bool = False  # whether the next sentences begin with a move of the reader

    def show(self, view: View, moves: Sequence[Mapping[str, Any]], notice: str = "") -> None:
        """Draw the table, the new sentences and the moves."""
        lines = self._new_lines(view)
        table = table_of(view, self.story.order, self.new)
        menu = list(self._below(view, moves, notice))
        if not self.console.is_terminal:
            self.console.print(Group(recent_events(lines), table, *menu))
            return
        fixed = Group(table, *menu)
        height = len(self.console.render_lines(fixed, pad=False))
        room = max(FEWEST_LINES, self.console.height - height - 2)
        self.console.clear()
        self.console.print(Group(table, recent_events(self.lines[-room:]), *menu))

    def _new_lines(self, view: View) -> list[str]:
        """Return the sentences since the last view; a move of the reader begins a new list."""
        if view["version"] == self.story.version:
            return []
        lines = self.story.advance(view)
        if self.moving:
            self.lines, self.new, self.moving = [], frozenset(), False
        self.lines += lines
        self.new |= self.story.drawn
        return lines

    def _below(
        self, view: View, moves: Sequence[Mapping[str, Any]], notice: str
    ) -> Iterator[RenderableType]:
        if notice:
            yield Text(printable(notice), style="yellow")
        if moves:
            yield moves_of(moves, self.console.width)
        elif view["status"] not in OVER:
            turn = view["turn"]
            others = "the others" if turn is None else self.story.people(turn)
            yield Text(f"waiting for {others}", style="dim")


@dataclass(kw_only=True)
class Person:
    """A player at the terminal."""

    pane: Pane
    notice: str = ""
    drawn: int = 0  # the version on the screen, 0 if it has to be redrawn

    def see(self, view: View) -> None:
        """Draw the table and the moves, if the version is new or a notice is waiting."""
        if view["version"] == self.drawn and not self.notice:
            return
        self.pane.show(view, self._moves(view), self.notice)
        self.drawn, self.notice = view["version"], ""

    def choose(self, view: View) -> Mapping[str, Any] | None:
        """Read lines until one is a move; return None if the screen has to be redrawn."""
        console = self.pane.console
        while True:
            try:
                text = console.input("[bold]your move[/] (? for help): ").strip()
            except EOFError:
                raise Left from None
            match text.lower():
                case "":
                    self.drawn = 0
                    return None
                case "?" | "help":
                    console.print(HELP, markup=False, highlight=False)
                case "q" | "quit":
                    raise Left
                case _:
                    move = self._parsed(text, view)
                    if move is not None:
                        self.pane.moving = True
                        return move

    def refused(self, refused: Refused) -> None:
        """Store the reason, with the statement of the rules, for the next screen."""
        self.notice = f"refused: {refused.text}"

    def _parsed(self, text: str, view: View) -> Mapping[str, Any] | None:
        """Return the move in a line; for any other text, print the reason and return None."""
        try:
            move = parse_move(text, self._moves(view), swapping=view["status"] == "swapping")
            return in_own_codes(move, own_cards(view))
        except Unclear as unclear:
            self.pane.console.print(printable(str(unclear)), style="yellow", markup=False)
            return None

    def _moves(self, view: View) -> list[Mapping[str, Any]]:
        return moves_in_order(view["moves"], self.pane.story.order)


Move = Mapping[str, Any]

_WORDS: Final[Mapping[str, Move]] = {
    "ready": {"type": "ready"},
    "pass": {"type": "pass"},
    "stock": {"type": "try_stock"},
    "forfeit": {"type": "forfeit"},
}

HELP: Final = """\
number             the move of that number
7c 7h              play these cards: any legal play, listed or not
10h, th, 6C        other ways to write cards: T or 10 for a ten, any case; with two decks 7c
                   is your 7c of either deck, 7c/2 that of the second deck
Kd=4c Ks=5h        before play: lay Kd and Ks face up, take 4c and 5h into the hand for them
ready              before play: change no more cards
lay Kd Kh/Ac/Ts    in a layout deal: a stack for each slot
down 1             turn the face-down card in slot 1; slots are numbered from 0
stock              try the top card of the stock
take, take Kd      take the pile, with face-up cards if the rules require it
pass, forfeit      pass; give up the hand
quit               leave the program; the game continues, and you can return
enter alone        redraw the screen

c d h s are clubs, diamonds, hearts and spades; X1 is a joker, ## a face-down card."""

_CARD: Final = re.compile(r"(10|[2-9TJQKA])([CDHS♣♦♥♠])(/\d+)?|X(\d+)", re.IGNORECASE)
_SUITS: Final = dict(zip("♣♦♥♠", "cdhs", strict=True))


class Unclear(Exception):
    """The text is not a move; the message states the reason."""


def card_of(text: str) -> str:
    """
    Return the code of a card as players write it; raises Unclear for any other text.

    >>> [card_of(text) for text in ("10h", "th", "6C", "A♠", "x1", "7C/2")]
    ['Th', 'Th', '6c', 'As', 'X1', '7c/2']
    """
    match = _CARD.fullmatch(text)
    if match is None:
        raise Unclear(f"{text!r} is neither a card nor a word of a move; ? for help")
    if match[4]:
        return f"{JOKER}{match[4]}"
    suit = _SUITS.get(match[2], match[2].lower())
    return f"{'T' if match[1] == '10' else match[1].upper()}{suit}{match[3] or ''}"


def parse_move(text: str, moves: Sequence[Move], *, swapping: bool) -> Move:
    """Return the move of a line: its number in `moves`, cards, or a word; raises Unclear."""
    first, *rest = text.split()
    if first.isdecimal() and not rest:
        if not 0 < int(first) <= len(moves):
            raise Unclear(f"there is no move {first}")
        return moves[int(first) - 1]
    match first.lower():
        case "take":
            return {"type": "pick_up", "with": [*map(card_of, rest)] or _along(moves)}
        case "down" if len(rest) == 1 and rest[0].isdecimal():
            return {"type": "play_blind", "slot": int(rest[0])}
        case "lay":
            stacks = [[*map(card_of, stack.split())] for stack in " ".join(rest).split("/")]
            return {"type": "lay", "stacks": stacks}
        case word if word in _WORDS and not rest:
            return _WORDS[word]
        case "play" if rest:
            first, *rest = rest
    if swapping:
        pairs = [word.partition("=") for word in (first, *rest)]
        if not all(up and hand for up, _, hand in pairs):
            raise Unclear(_not_an_exchange([first, *rest]))
        up, hand = [card_of(p[0]) for p in pairs], [card_of(p[2]) for p in pairs]
        return {"type": "swap", "up": up, "hand": hand}
    return {"type": "play", "cards": [card_of(card) for card in (first, *rest)]}


def in_own_codes(move: Move, own: Sequence[str]) -> Move:
    """
    Return a typed move with the exact codes of the player's cards; `7c` can mean `7c/2`.

    >>> in_own_codes({"type": "play", "cards": ["7c", "7c"]}, ["7c/2", "7c", "Kd"])["cards"]
    ['7c', '7c/2']
    """
    unused = [*own]

    def code(card: str) -> str:
        same = (own_card for own_card in unused if own_card.split("/")[0] == card)
        found = card if card in unused else next(same, None)
        if found is None:
            return card
        unused.remove(found)
        return found

    named = ("cards", "with", "up", "hand")
    cards = {name: [*map(code, move[name])] for name in named if name in move}
    stacks = [[*map(code, stack)] for stack in move.get("stacks", ())]
    return {**move, **cards, **({"stacks": stacks} if stacks else {})}


def _not_an_exchange(words: Sequence[str]) -> str:
    """Return the message for text that is not an exchange, with the codes of its cards."""
    form = "an exchange is typed as Kd=4c: lay Kd face up, take 4c into the hand"
    try:
        cards = [card_of(word) for word in words if "=" not in word]
    except Unclear:
        return form
    return f"{' '.join(cards)} cannot be played before play begins; {form}; or type `ready`"


def words_of(move: Move) -> str:
    """Return a move in words, as the menu lists it."""
    match move["type"]:
        case "play":
            return "play " + " ".join(move["cards"])
        case "play_blind":
            return f"turn the face-down card in slot {move['slot']}"
        case "pick_up":
            along = " with " + " ".join(move["with"]) if move["with"] else ""
            return f"take the pile{along}"
        case "try_stock":
            return "try the top card of the stock"
        case "swap":
            pairs = zip(move["up"], move["hand"], strict=True)
            return "lay up " + ", ".join(f"{up} for {hand}" for up, hand in pairs)
        case "lay":
            return "lay " + " / ".join(" ".join(stack) or "-" for stack in move["stacks"])
        case "ready":
            return "ready: change no more cards"
        case other:
            return str(other)


def in_rank_order(cards: Sequence[str], order: Sequence[str]) -> list[str]:
    """
    Return cards by the ranks of a ruleset, low to high; hidden cards and jokers come last.

    >>> in_rank_order(["X1", "Th", "2s", "3c", "3d"], "23456789TJQKA")
    ['2s', '3c', '3d', 'Th', 'X1']
    """
    return sorted(cards, key=lambda card: (_height(card, order), card))


def moves_in_order(moves: Sequence[Move], order: Sequence[str]) -> list[Move]:
    """Return moves in the order of the menu: ready, plays and exchanges by rank, then others."""
    return sorted(moves, key=lambda move: _place(move, order))


def _place(move: Move, order: Sequence[str]) -> tuple[int, ...]:
    match move["type"]:
        case "ready":
            return (0,)
        case "play":
            ranks = [_height(card, order) for card in move["cards"]]
            return (1, min(ranks), len(ranks))
        case "swap":
            pairs = [*move["up"], *move["hand"]]
            return (1, *(_height(card, order) for card in pairs))
        case _:
            return (2,)


def _height(card: str, order: Sequence[str]) -> int:
    ranks = [*order]
    return ranks.index(card[0]) if card[0] in ranks else len(ranks)


def _along(moves: Sequence[Move]) -> list[str]:
    """Return the cards of the only listed pick-up; none if several are listed."""
    takes = [list(move["with"]) for move in moves if move["type"] == "pick_up"]
    return takes[0] if len(takes) == 1 else []


def _first(_view: View, moves: Sequence[BotMove], _rng: random.Random) -> BotMove:
    return next((move for move in moves if move["type"] != "swap"), moves[0])


AUTOMATIC: Final[Mapping[str, BotChooser]] = {
    "first": _first,
    "greedy": GREEDY.choose,
    "lowest": LOWEST.choose,
}
"""The automatic players of `--auto`: two bots of the service, and the first move listed."""

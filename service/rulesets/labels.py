"""Settings in words, and differences between two rulesets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from schemas.settings import Tree, full_tree, leaves, merged
from service.domain.cards import JOKER, RANKS
from service.domain.ruleset import ALL_RANKS
from service.rulesets.catalogue import Definition, definition
from service.rulesets.statements import model, rule_of

LABELS: Final = {
    "players.min": "Fewest players",
    "players.max": "Most players",
    "deck.count": "Number of decks",
    "deck.decks": "Number of decks, or the minimum if it varies",
    "deck.seats_per_deck": "Players for each deck",
    "deck.jokers": "Jokers",
    "deck.jokers_from_seats": "Number of players from which the number of jokers changes",
    "deck.jokers_then": "Jokers with that many players or more",
    "deck.partial": "Ranks of a partial deck in place of the last one",
    "deal.down": "Face-down cards for each player",
    "deal.up": "Face-up cards dealt to each player",
    "deal.hand": "Cards dealt to each hand",
    "deal.layout": "Players lay out their own face-up cards",
    "deal.starter": "A card is turned to start the pile",
    "deal.exchange": "Hand and face-up cards are exchanged before play",
    "deal.throws": "Ranks thrown before play: the first that any seat holds",
    "opening.opener": "First player",
    "opening.ranks": "Ranks that make a player the first, in order",
    "opening.suits": "Suits that make a player the first, in order",
    "opening.play": "The opening play",
    "refill.to": "A hand is refilled",
    "refill.size": "Size of a refilled hand",
    "turn.obligation": "A player who can play",
    "turn.try_stock": "The top card of the stock may be tried",
    "turn.follow_up": "Drawn cards that match may be played at once",
    "turn.runs": "Runs of one suit may be played",
    "pick_up.taker": "A pile that was not beaten goes to",
    "pick_up.after": "After a pick-up the next play is by",
    "pick_up.along": "Face-up cards that go along with a pick-up",
    "pick_up.show_blind": "A face-down card that fails is shown",
    "burn.set_size": "Cards of one rank that burn as a set",
    "burn.flusher": "The first to burn a pile clears all later ones",
    "end.played_for": "The hand is played for",
    "end.next_dealer": "Dealer of the next hand",
    "end.paper_bag": "The loser wears a paper bag",
    "order.low_to_high": "Ranks from low to high",
}
OF_A_RANK: Final = {
    "plays": "is played on",
    "not_on": "is never played on",
    "asks": "asks for",
    "asks_as": "asks as if it were",
    "besides": "is also answered by",
    "alone": "at the bottom of a transparent pile, asks for",
    "burns": "burns the pile",
    "covers": "has to be covered",
    "covers_with_two": "has to be covered while two are in play",
    "reverses": "reverses the direction",
    "skips": "skips a player",
}
VALUES: Final = {
    "deck.count": {
        "fixed": "always the same",
        "to_fit": "as many as the deal needs",
        "half_in_stock": "as many as leave half of the cards in the stock",
        "by_seats": "by the number of players",
    },
    "deal.layout": {
        "none": "no",
        "plain": "one card on each slot",
        "stacks": "cards of one rank may share a slot",
    },
    "deal.starter": {"none": "no", "any": "any card", "plain": "the first that is not special"},
    "opening.opener": {
        "left_of_dealer": "the player left of the dealer",
        "first_dealt": "the player who was dealt the first qualifying card",
        "worst_card": "the player who holds the worst card",
        "first_come_hand": "the first to play a qualifying card from the hand",
        "first_come_table": "the first to play a qualifying card, face-up before hand",
        "next_to_thrower": "the player next to the last who threw",
    },
    "opening.play": {
        "any": "any play",
        "that_card": "with the card that makes the player open",
        "that_rank": "of the rank that lets the player open",
    },
    "refill.to": {"size": "to a size", "as_many_as_played": "by as many cards as were played"},
    "turn.obligation": {"must_play": "must play", "may_pick_up": "may also pick up"},
    "turn.try_stock": {
        "never": "never",
        "when_unable": "by a player who cannot play",
        "always": "always",
    },
    "pick_up.taker": {"self": "the player who could not", "previous": "the previous player"},
    "pick_up.after": {
        "next": "the next player",
        "previous": "the previous player",
        "previous_above_two": "the previous player while more than two are in play",
        "same": "the player who could not beat the pile",
    },
    "pick_up.along": {
        "nothing": "nothing",
        "one_slot": "one face-up card, or one stack",
        "one_rank": "one face-up card, or several of a rank",
    },
    "end.played_for": {"loser": "a loser", "winner": "a winner"},
    "end.next_dealer": {"loser": "the loser", "rotate": "the next player in rotation"},
    "plays": {
        "normal": "what it beats",
        "anything": "anything",
        "with_companion": "anything, together with a higher rank only",
    },
    "asks": {
        "at_least": "at least its rank",
        "at_most": "at most its rank",
        "below": "less than its rank",
        "anything": "nothing",
        "transparent": "what the cards below ask",
    },
}
NAMES: Final = {
    "2": "two",
    "3": "three",
    "4": "four",
    "5": "five",
    "6": "six",
    "7": "seven",
    "8": "eight",
    "9": "nine",
    "T": "ten",
    "J": "jack",
    "Q": "queen",
    "K": "king",
    "A": "ace",
    "X": "joker",
}


def label_of(setting: str) -> str:
    """
    Return the label of the setting at a dotted path.

    >>> label_of("ranks.T.burns"), label_of("second_hand.deal.up")
    ('A ten burns the pile', 'Second hand: face-up cards dealt to each player')
    """
    if setting.startswith("second_hand."):
        name = label_of(setting.removeprefix("second_hand."))
        return f"Second hand: {name[0].lower()}{name[1:]}"
    if setting.startswith("ranks."):
        _, rank, name = setting.split(".")
        word = NAMES[rank]
        return f"{'An' if word[0] in 'ae' else 'A'} {word} {OF_A_RANK[name]}"
    return LABELS[setting]


def value_in_words(setting: str, value: Any) -> str:
    """
    Return the value of a setting in words.

    >>> value_in_words("turn.obligation", "must_play"), value_in_words("deal.throws", ["3", "T"])
    ('must play', '3 10')
    """
    setting = setting.removeprefix("second_hand.")
    if setting.startswith("ranks."):
        name = setting.rpartition(".")[2]
        setting = "asks" if name == "alone" else name
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return str(value)
    if setting == "opening.suits":
        return ", ".join(_SUITS[suit] for suit in value) or "none"
    if isinstance(value, list | tuple):
        return _ranks(value)
    if value is None:
        return "itself"
    known = VALUES.get(setting, {})
    return known.get(value) or _ranks([value])


def _ranks(ranks: Sequence[str]) -> str:
    if list(ranks) == list(RANKS):
        return "2 to A"
    words = {"T": "10", JOKER: "joker"}
    return " ".join(words.get(rank, rank) for rank in ranks) or "none"


_SUITS: Final = {"c": "clubs", "d": "diamonds", "h": "hearts", "s": "spades"}


_PLAIN: Tree = {rank: {} for rank in ALL_RANKS}


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One setting in which two rulesets differ."""

    setting: str  # dotted path
    before: Any
    after: Any
    rule: str  # id of the statement that the second ruleset cites for the setting
    text: str

    def data(self) -> dict[str, Any]:
        """Return the difference as the API sends it."""
        return {
            "setting": self.setting,
            "from": self.before,
            "to": self.after,
            "rule": self.rule,
            "text": self.text,
        }


def differences(a: Definition | Tree, b: Definition | Tree) -> tuple[Difference, ...]:
    """
    Return the settings in which `b` differs from `a`, both with their default options.

    Settings that a tree omits have their defaults. A setting of second hands is listed only
    if it differs in another way than that of first hands.
    """
    cites = b.cites if isinstance(b, Definition) else model().cites
    before, after = _first_hand(a), _first_hand(b)
    pairs = {path: (before[path], after[path]) for path in before}
    if _has_second(a) or _has_second(b):
        before, after = _second_hand(a), _second_hand(b)
        seconds = {path: (before[path], after[path]) for path in before}
        changed = {path: pair for path, pair in seconds.items() if pair != pairs[path]}
        pairs |= {f"second_hand.{path}": pair for path, pair in changed.items()}
    return tuple(
        Difference(
            setting=path,
            before=old,
            after=new,
            rule=rule_of(cites, path),
            text=_in_words(path, old, new),
        )
        for path, (old, new) in pairs.items()
        if old != new
    )


def differs_from_base(ruleset: Definition) -> tuple[Difference, ...]:
    """Return the settings in which a ruleset differs from its base; none without a base."""
    return differences(definition(ruleset.base), ruleset) if ruleset.base else ()


def _in_words(setting: str, old: Any, new: Any) -> str:
    old_words, new_words = value_in_words(setting, old), value_in_words(setting, new)
    return f"{label_of(setting)}: {new_words} instead of {old_words}."


def _settings(ruleset: Definition | Tree) -> Tree:
    return ruleset.settings({}) if isinstance(ruleset, Definition) else ruleset


def _has_second(ruleset: Definition | Tree) -> bool:
    return "second_hand" in _settings(ruleset)


def _first_hand(ruleset: Definition | Tree) -> dict[str, Any]:
    return _values({k: v for k, v in _settings(ruleset).items() if k != "second_hand"})


def _second_hand(ruleset: Definition | Tree) -> dict[str, Any]:
    settings = _settings(ruleset)
    return _first_hand(merged(settings, settings.get("second_hand", {})))


def _values(tree: Tree) -> dict[str, Any]:
    """Return every setting, including those of plain ranks."""
    full = full_tree(merged({"ranks": _PLAIN}, tree))
    plain = ((path, list(v) if isinstance(v, tuple) else v) for path, v in leaves(full))
    return dict(plain)

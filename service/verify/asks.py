"""What each check asks, in words for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from service.verify.finding import Check

ASKS: Final[Mapping[Check, str]] = {
    Check.BYTES: "Is every line written in the one form that there is for it, and nothing more?",
    Check.CHAIN: "Does every event name the hash of the one before it, and does time go forward?",
    Check.ORDER: "Do set-up, deal and play follow one another, with nothing after the seal?",
    Check.COMMITMENTS: "Is the seed, and all that players added, what was committed to before?",
    Check.SHUFFLE: "Does that give this very deck, the commitments to its cards, and the dealer?",
    Check.OPENINGS: "Does every card that was shown match the commitment to it?",
    Check.DEAL: "Did each card go where the deal puts it, and each draw take the top of the stock?",
    Check.CUSTODY: "Was every card in exactly one place at all times, and played by its holder?",
    Check.LEGALITY: "Do the rules allow each action, and lead to just what followed from it?",
    Check.HIDDEN: "Were blind cards that stayed hidden really those that could not be played?",
    Check.SIGNATURES: "Is every move of a player with a key signed, and for this moment?",
    Check.RECEIPTS: "Does every receipt that was kept name a head of this log?",
    Check.ANCHOR: "Does the public log of the server, signed by its key, contain this game?",
    Check.WITNESS: "Have the witnesses that were asked for cosigned that log?",
    Check.SEAL: "Is the game over, with the seed published?",
    Check.SEQUENCE: "Between the hands of a table: is none left out, doubled, or dealt in hiding?",
}

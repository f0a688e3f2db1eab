"""A bot of your own: it plays a hand over HTTP, signs its moves, and verifies the record."""

import sys

from service.client import GameView, Move, Player

PLAY_ORDER = "3456789JQKA2T"


def choose(view: GameView) -> Move:
    """Play the lowest rank, as many cards of it as possible; keep twos and tens for later."""
    plays = [move for move in view["moves"] if move["type"] == "play"]
    ready = [move for move in view["moves"] if move["type"] == "ready"]
    if plays:
        return min(plays, key=lambda m: (PLAY_ORDER.find(m["cards"][0][0]), -len(m["cards"])))
    return (ready or view["moves"])[0]


player = Player.at(sys.argv[1], name="Twenty lines", keyed=True)
table = player.open_table("shithead", [{"bot": "greedy"}, {"bot": "lowest"}])
hand = player.hand(player.next_game(table))
print("game", hand.game, flush=True)
print("result", hand.play(choose)["result"])
print(hand.verified().conclusion)

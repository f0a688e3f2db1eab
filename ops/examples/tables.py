"""A bot that plays at all tables of its player, from one stream: python3 tables.py URL [TABLE …]"""

import sys
from uuid import UUID

from service.client import GameView, Move, Player

PLAY_ORDER = "3456789JQKA2T"


def choose(view: GameView) -> Move:
    """Play the lowest rank; end the exchange of cards at once."""
    plays = [move for move in view["moves"] if move["type"] == "play"]
    ready = [move for move in view["moves"] if move["type"] == "ready"]
    return (
        min(plays, key=lambda m: PLAY_ORDER.find(m["cards"][0][0]), default=None)
        or ((ready or view["moves"])[0])
    )


player = Player.at(sys.argv[1], name="All tables")
for table in sys.argv[2:]:
    player.sit(UUID(table))
for notice in player.notices():  # first all that is open, so a restart continues every hand
    if notice["type"] in ("hand_dealt", "your_turn"):
        player.hand(UUID(notice["id"])).act(choose)
    elif notice["type"] == "hand_sealed" and notice["table"]:
        print("over", notice["id"], flush=True)
        player.deal(UUID(notice["table"]))

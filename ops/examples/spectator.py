"""A spectator: it prints the events of a game as they happen, and verifies it after the end."""

import sys
from uuid import UUID

from service.client import Spectator

address, game = sys.argv[1:]
spectator = Spectator.at(address, UUID(game))
for event in spectator.events():
    print(event["seq"], event["type"], flush=True)
for seat in spectator.view()["seats"]:
    place = "still had cards" if seat["out"] is None else f"has place {seat['out']}"
    print(seat["name"] or seat["bot"], place)
print(spectator.verified().conclusion)

"""
Bots: each sees the view of its seat and its legal moves, nothing else.

In the order in which to read: `bot` (the interface), `registry` (all bots), `simple`; `searching`
and `worlds` (possible deals of the hidden cards); `sparing` (the harm of a move to the next seat).
"""

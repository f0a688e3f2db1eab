"""
Audits of one move, one card or one seat, and statistics over games.

`decision` (a move), `decisions` (all moves of a hand),
`custody` (a card), `knowledge` (a seat), `statistics`, `collusion`, `ratings`;
`text` formats the answers of the first three.
"""

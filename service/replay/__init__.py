"""
Replays of recorded games. No database.

In the order in which to read: `history` (a log as steps), `sentences` (the catalogue of each
language), `captions` (a sentence for each event), `frames` (views as JSON and as a transcript),
`deck` (the cards as SVG), `picture` (a moment as SVG), `what_if` (moves that were not made).
"""

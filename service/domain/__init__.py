"""
The rules of the game as pure functions on commands, events and states.

In the order in which to read: `cards`, `ruleset` (every rule as a setting) and `effects` (what a
rank does); `commands` (what players ask for, and refusals), `events` (what happened), `game` (the
state) and `evolve` (the state after an event). Then what may be played: `demand` (what the pile
asks), `plays`, `legal` (the list, and default moves); and what a command leads to: `deal` (before
the first play), `leaving` (how people end a hand) and `decide`. `view` masks a game for a seat.
`table` deals hand after hand. `dispute` is the state of a dispute, `dispute_rules` who may do what
in one, such as vote; `words` counts in words.
"""

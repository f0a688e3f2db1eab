"""
Hands played by bots or at random without a server: simulations and trials of rulesets.

`simulate` (tables of bots), `parallel` (in several processes), `trials` (custom rulesets).
"""

"""Hands played by bots or by chance, in process: simulations and trials of rulesets."""

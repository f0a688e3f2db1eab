"""Hands played by bots or at random without a server: simulations and trials of rulesets."""

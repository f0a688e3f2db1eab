"""
Use cases of disputes; their rules are in `service/domain/dispute_rules.py`.

In the order in which to read: `record` (a folded dispute, and its JSON), `commands` (the commit of
a step), `disputes` (the steps), `files` (what is stored beside the stream), `findings` (checks of
the disputed game), `collusion` (figures for referees).
"""

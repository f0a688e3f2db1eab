"""
Processes beside the API, started as `python -m workers.main KIND`.

In the order in which to read: `main` (the kinds), `jobs` (of RQ), `relay` and `sweeper` (what was
lost is repeated), `sequencer` (of the public log).
"""

"""
Processes beside the API, started as `python -m workers.main KIND`.

In the order in which to read: `main` (the kinds), `jobs` (of RQ), `relay` (lost notifications are
repeated), `sweeper` (the scheduler of periodic work, which `service/features/` declares),
`sequencer` (of the public log).
"""

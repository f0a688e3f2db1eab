"""
For machine learning: rows of finished hands, and a PettingZoo environment over the engine.

Nothing here is needed to play, to judge or to verify: only `shithead dataset` imports it. In the
order in which to read: `dataset` (rows and columns) and `parquet` (the extra `parquet`); `arrays`
(observations and actions), `hand` (a hand as decisions) and `shithead_v0` (the extra `rl`).
"""

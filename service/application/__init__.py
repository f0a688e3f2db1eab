"""
Use cases: requests of players and operators, moves of bots, and scheduled actions.

A command, in the order in which to read: `calls` (values), `streams` (fold and encode events),
`handler` (load, decide, commit, answer), `request` (the first read), `idempotency` (repetitions);
then `games` (`games/moves` is a move from top to bottom), `tables` and `disputes`. Beside them:
`access` (who may see what), `errors`, `quotas`, `ports`, `players`, `handles`, `moments`, `tokens`,
`notices`, `webhooks`, `rulesets`, `statistics`, `signing`, `availability`, `retention`,
`operations` (the operator's actions), `dumps`, `ratings`, `decisions`.
"""

"""
The commands of `shithead`, one a file; heavy imports wait until a command runs.

`__main__` names the module of each: `run`, `logs`, `admin`, `backup`, `recover`, `verify`, `audit`,
`replay`, `dispute`, `dump`, `ratings`, `collusion`, `decisions`, `rulesets`, `simulate`, `play`,
`tables`, `challenges`, `public_log`, `mcp`.
Shared by several: `statuses`, `connection`, `service_options` and `admin_session`,
`ruleset_argument`, `load_game`, `narration`, `screen`; parts of `admin`: `admin_archive`; of `play`
and `watch`: `play_screen`, `move_menu`, `typed_moves`, `choosers`; of `dispute`: `dispute_text`; of
`replay`: `what_if`; of `mcp`: `explaining` and `explained`.
"""

"""
All access to PostgreSQL: event store, repositories, migrations.

In the order in which to read: `database` (named queries, one pool) and `replica`; `events` (the
interface of the event store), `grouped_moves` and `postgres_events`; `summaries` (columns of the
rows beside the streams), `games`, `disputes`, `seeks`, `notices`, `handles`, `challenges`,
`webhooks`, `directory` (all) and `lookups` (several in one query); `public_log`, `logged_hands`,
`ratings`, `decisions`, `archive` (games) and `archive_files`; `migrate` and `operator`.
"""

"""
The whole service on one machine: its servers and processes, started and supervised.

In the order in which to read: `up` (in order), `servers` (PostgreSQL, Valkey), `probes` of them,
`wal_archive` and `recovery` from it, `programs` (the service's own), `processes`,
`supervisor_metrics`, `predecessors` (of a killed program), `forked_programs`, `preload`, `console`
(lines with time).
"""

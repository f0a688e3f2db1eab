"""
What every process of the service needs, whatever it serves.

`config` has the settings, `addresses` the forms of URLs and lists in them, `version` the release,
`telemetry` metrics and logs, `tracing` traces, `readiness` whether requests would succeed,
`heartbeat` signs of life of a process, `plain_errors` the words for errors of the system,
`atomic_files` and `recent` files and caches, `fork_server` a process for work that may be killed,
`worker_processes` processes that share work, `http_client` calls with a deadline, `receivers`
requests to addresses that players chose.
"""

-- connections_in_use: the number of sessions of the server, and how many it allows.
SELECT sum(numbackends)::integer, current_setting('max_connections')::integer FROM pg_stat_database

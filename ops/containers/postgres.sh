#!/bin/sh
# Start PostgreSQL; the first start creates the cluster, the owner `shithead` and the service's role.
set -eu
data=/var/lib/postgresql/data
programs=$(dirname "$(ls /usr/lib/postgresql/*/bin/postgres | tail -n 1)")
installed=$(basename "$(dirname "$programs")")
if [ -s "$data/PG_VERSION" ] && [ "$(cat "$data/PG_VERSION")" != "$installed" ]; then
    echo "$data was created by PostgreSQL $(cat "$data/PG_VERSION"), but $installed is installed:" \
        "run the image with which it was created, or move it with shithead backup and restore" \
        "(runbook, section 13)" >&2
    exit 1
fi
if [ ! -s "$data/PG_VERSION" ]; then
    "$programs/initdb" -D "$data" -U postgres --auth-local=trust --auth-host=scram-sha-256 \
        --encoding=UTF8 --locale=C.UTF-8 --no-instructions
    echo "host all all all scram-sha-256" >> "$data/pg_hba.conf"
    # psql quotes the password; it is in no command line.
    printf '%s\n' \
        '\getenv password SERVERS_PASSWORD' \
        "CREATE ROLE shithead LOGIN CREATEROLE PASSWORD :'password';" \
        "CREATE ROLE shithead_service LOGIN PASSWORD :'password';" \
        'CREATE DATABASE shithead OWNER shithead;' \
        '\connect shithead' \
        'CREATE SCHEMA monitoring;' \
        'GRANT USAGE ON SCHEMA monitoring TO PUBLIC;' \
        'CREATE EXTENSION pg_stat_statements SCHEMA monitoring;' > /tmp/roles.sql
    "$programs/pg_ctl" -D "$data" -w -o "-c listen_addresses='' -c unix_socket_directories=/tmp" start
    "$programs/psql" -h /tmp -U postgres -v ON_ERROR_STOP=1 -q -f /tmp/roles.sql
    "$programs/pg_ctl" -D "$data" -m fast -w stop
fi
# With a stanza of pgBackRest the WAL is archived.
if [ -n "${PGBACKREST_STANZA:-}" ]; then
    set -- -c archive_mode=on -c archive_timeout="${ARCHIVE_TIMEOUT:-30s}" \
        -c archive_command='pgbackrest archive-push %p'
    # A checkpointer that was started for a recovery looks at archive_timeout after its next checkpoint
    # only, minutes later.
    (
        until "$programs/psql" -h /tmp -U postgres -v ON_ERROR_STOP=1 -q -o /dev/null \
            -c 'SELECT 1 / (NOT pg_is_in_recovery())::integer' -c CHECKPOINT 2> /dev/null; do
            sleep 1
        done
    ) &
fi
exec "$programs/postgres" -D "$data" "$@" -c listen_addresses='*' -c unix_socket_directories=/tmp \
    -c shared_preload_libraries=pg_stat_statements -c pg_stat_statements.track_utility=off \
    -c timezone=UTC -c max_connections="${POSTGRES_CONNECTIONS:-100}"

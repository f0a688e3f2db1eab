#!/bin/sh
# Start PgBouncer in transaction mode in front of the database `shithead` on the host `postgres`.
set -eu
umask 077
printf '"shithead_service" "%s"\n' "$SERVERS_PASSWORD" > /tmp/users.txt
cat > /tmp/pgbouncer.ini <<END
[databases]
shithead = host=postgres port=5432
[pgbouncer]
listen_addr = *
listen_port = 6432
unix_socket_dir =
auth_type = scram-sha-256
auth_file = /tmp/users.txt
pool_mode = transaction
default_pool_size = ${POOL_SIZE:-20}
max_client_conn = 1000
END
exec pgbouncer /tmp/pgbouncer.ini

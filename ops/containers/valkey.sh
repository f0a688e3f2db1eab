#!/bin/sh
# Start Valkey without persistence: what it holds may be lost at any time.
set -eu
umask 077
printf 'requirepass %s\nsave ""\nappendonly no\ndir /tmp\n' "$SERVERS_PASSWORD" > /tmp/valkey.conf
exec valkey-server /tmp/valkey.conf --bind 0.0.0.0 --protected-mode yes

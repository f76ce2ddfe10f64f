//! Checks the members of the workspace: their order, their folders, and common fields of the manifests.

use std::collections::BTreeSet;

use regex::Regex;

use super::floors::FLOORS;
use super::{folder, metadata, text};

/// Returns the names in backticks in the first column of a Markdown table.
fn first_column(markdown: &str) -> Vec<String> {
    let row = Regex::new(r"(?m)^\|\s*`([^`]+)`\s*\|").unwrap();
    row.captures_iter(markdown)
        .map(|found| found[1].to_owned())
        .collect()
}

#[test]
fn members_are_listed_in_the_order_of_the_floors() {
    let manifest: toml::Table = text("Cargo.toml").parse().unwrap();
    let listed: Vec<&str> = manifest["workspace"]["members"]
        .as_array()
        .unwrap()
        .iter()
        .map(|member| member.as_str().unwrap())
        .collect();
    let metadata = metadata();
    let ours = metadata.workspace_packages();
    let wanted: Vec<String> = FLOORS
        .iter()
        .filter_map(|(name, _)| ours.iter().find(|package| package.name == *name))
        .map(|package| folder(package))
        .collect();
    assert_eq!(listed, wanted, "no globs, and from the ground up");
}

#[test]
fn the_program_is_what_cargo_run_runs() {
    let metadata = metadata();
    let has_program = metadata
        .workspace_packages()
        .iter()
        .any(|package| package.name == "nightshift-cli");
    if has_program {
        let default: Vec<String> = metadata
            .workspace_default_packages()
            .iter()
            .map(|package| package.name.to_string())
            .collect();
        assert_eq!(default, ["nightshift-cli"]);
    }
}

#[test]
fn a_folder_of_worker_is_a_member_and_a_row_of_its_readme() {
    let folders: BTreeSet<String> =
        std::fs::read_dir(nightshift_tests::repository_root().join("worker"))
            .unwrap()
            .map(|entry| entry.unwrap())
            .filter(|entry| entry.path().is_dir())
            .map(|entry| entry.file_name().into_string().unwrap())
            .collect();
    let members: BTreeSet<String> = metadata()
        .workspace_packages()
        .iter()
        .filter_map(|package| folder(package).strip_prefix("worker/").map(str::to_owned))
        .collect();
    assert_eq!(folders, members);

    let rows = first_column(&text("worker/README.md"));
    let in_order: Vec<String> = FLOORS
        .iter()
        .filter_map(|(name, _)| name.strip_prefix("nightshift-"))
        .filter(|name| folders.contains(*name))
        .map(str::to_owned)
        .collect();
    assert_eq!(rows, in_order, "worker/README.md has a row per folder");
}

#[test]
fn every_package_is_named_after_its_folder() {
    for package in metadata().workspace_packages() {
        let folder = folder(package);
        let last = folder.rsplit('/').next().unwrap();
        assert_eq!(package.name.to_string(), format!("nightshift-{last}"));
    }
}

#[test]
fn every_manifest_takes_the_lints_and_is_never_published() {
    for package in metadata().workspace_packages() {
        let path = format!("{}/Cargo.toml", folder(package));
        let manifest: toml::Table = text(&path).parse().unwrap();
        assert_eq!(
            manifest["lints"]["workspace"].as_bool(),
            Some(true),
            "{path}"
        );
        assert_eq!(package.publish, Some(Vec::new()), "{path}");
        assert_eq!(package.license.as_deref(), Some("Apache-2.0"), "{path}");
    }
}

#[test]
fn a_table_gives_its_first_column() {
    let table = "| crate | holds |\n|---|---|\n| `alert` | what |\n|`engine`| how |\n";
    assert_eq!(first_column(table), ["alert", "engine"]);
}

//! Checks third-party code: licences, banned crates, sources. The rules are in `deny.toml` alone. `cargo deny` reads it
//! too where installed, and adds the advisories, which need a network.

use std::collections::BTreeSet;
use std::process::Command;

use cargo_metadata::{DependencyKind, Package};
use spdx::{Expression, LicenseReq, ParseMode};

use super::{metadata, text};

/// Returns names and versions of all crates that are built on some platform with some feature of the project. `cargo
/// metadata` also lists crates behind features of dependencies that are never enabled.
fn built() -> BTreeSet<(String, String)> {
    let listed = Command::new(env!("CARGO"))
        .args([
            "tree",
            "--workspace",
            "--all-features",
            "--target",
            "all",
            "--locked",
        ])
        .args([
            "--edges",
            "normal,build,dev",
            "--prefix",
            "none",
            "--format",
            "{p}",
        ])
        .current_dir(nightshift_tests::repository_root())
        .output()
        .unwrap();
    assert!(
        listed.status.success(),
        "{}",
        String::from_utf8_lossy(&listed.stderr)
    );
    let listed = String::from_utf8(listed.stdout).unwrap();
    listed
        .lines()
        .filter_map(|line| {
            let mut words = line.split(' ');
            let name = words.next()?.to_owned();
            Some((name, words.next()?.trim_start_matches('v').to_owned()))
        })
        .collect()
}

fn is_built(package: &Package, built: &BTreeSet<(String, String)>) -> bool {
    built.contains(&(package.name.to_string(), package.version.to_string()))
}

fn deny() -> toml::Table {
    text("deny.toml").parse().unwrap()
}

fn allowed(deny: &toml::Table) -> Vec<String> {
    deny["licenses"]["allow"]
        .as_array()
        .unwrap()
        .iter()
        .map(|licence| licence.as_str().unwrap().to_owned())
        .collect()
}

/// Returns whether the allowed licences satisfy an SPDX expression.
fn is_met(expression: &str, allowed: &[String]) -> bool {
    let meets = |wanted: &LicenseReq| allowed.iter().any(|licence| *licence == wanted.to_string());
    Expression::parse_mode(expression, ParseMode::LAX)
        .is_ok_and(|expression| expression.evaluate(meets))
}

/// Returns whether an entry of `bans.deny` names a package: `crate = "name"`, or `"name:requirement"`.
fn is_named_by(entry: &str, package: &Package) -> bool {
    let (name, wanted) = entry.split_once(':').unwrap_or((entry, "*"));
    let wanted = cargo_metadata::semver::VersionReq::parse(wanted).unwrap();
    package.name == name && wanted.matches(&package.version)
}

fn banned(deny: &toml::Table) -> Vec<&str> {
    deny["bans"]["deny"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["crate"].as_str().unwrap())
        .collect()
}

#[test]
fn every_licence_is_allowed() {
    let deny = deny();
    let (allowed, built) = (allowed(&deny), built());
    let wrong: Vec<String> = metadata()
        .packages
        .iter()
        .filter(|package| is_built(package, &built))
        .filter(|package| {
            !package
                .license
                .as_deref()
                .is_some_and(|licence| is_met(licence, &allowed))
        })
        .map(|package| {
            format!(
                "{} {}: {:?}",
                package.name, package.version, package.license
            )
        })
        .collect();
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn no_banned_crate_comes_in() {
    let deny = deny();
    let banned = banned(&deny);
    for must in [
        "ring",
        "openssl-sys",
        "native-tls",
        "hyper:<1",
        "rustls:<0.23",
        "backoff",
    ] {
        assert!(banned.contains(&must), "deny.toml does not ban {must}");
    }
    let (metadata, built) = (metadata(), built());
    assert!(
        built.iter().any(|(name, _)| name == "nightshift-cli"),
        "{built:?}"
    );
    let found: Vec<String> = metadata
        .packages
        .iter()
        .filter(|package| is_built(package, &built))
        .filter(|package| banned.iter().any(|entry| is_named_by(entry, package)))
        .map(|package| format!("{} {}", package.name, package.version))
        .collect();
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn crates_come_from_the_registry_or_this_repository() {
    let wrong: Vec<String> = metadata()
        .packages
        .iter()
        .filter(|package| {
            package
                .source
                .as_ref()
                .is_some_and(|source| !source.is_crates_io())
        })
        .map(|package| format!("{} from {:?}", package.name, package.source))
        .collect();
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn licence_expressions_are_read_as_they_are_meant() {
    let allowed = ["MIT", "Apache-2.0", "Apache-2.0 WITH LLVM-exception"].map(str::to_owned);
    for met in [
        "MIT",
        "MIT/Apache-2.0",
        "GPL-3.0-only OR MIT",
        "Apache-2.0 WITH LLVM-exception",
        "(MIT OR Zlib) AND Apache-2.0",
    ] {
        assert!(is_met(met, &allowed), "{met}");
    }
    for unmet in ["GPL-3.0-only", "MIT AND GPL-3.0-only", "", "no licence"] {
        assert!(!is_met(unmet, &allowed), "{unmet}");
    }
}

#[test]
fn the_readme_names_each_crate_that_the_program_is_made_of() {
    let metadata = metadata();
    let members = metadata.workspace_packages();
    let product = members
        .iter()
        .filter(|one| one.manifest_path.as_str().contains("/worker/"));
    let all = product.flat_map(|one| &one.dependencies);
    let used: BTreeSet<&str> = all
        .filter(|one| one.kind == DependencyKind::Normal && !one.name.starts_with("nightshift"))
        .map(|one| one.name.as_str())
        .collect();
    let readme = text("README.md");
    let (_, table) = readme.split_once("## Dependencies").unwrap();
    let rows = table.lines().filter_map(|line| line.strip_prefix("| `"));
    let crates = rows.filter_map(|row| row.split_once(" |"));
    let told: BTreeSet<&str> = crates
        .flat_map(|(crates, _)| crates.split(", "))
        .map(|name| name.trim_matches('`'))
        .collect();
    assert_eq!(told, used);
}

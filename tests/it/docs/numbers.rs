//! Checks that `docs/guarantees.md` lists exactly the numbers without a test, and that the tests named there
//! exist.

use std::collections::BTreeSet;

use nightshift_tests::{files_below, repository_root};
use regex::Regex;

use super::text;

const PAGE: &str = "docs/guarantees.md";

/// Returns the names of all functions of the project's sources.
fn functions() -> BTreeSet<String> {
    let function = Regex::new(r"\bfn ([a-z0-9_]+)").unwrap();
    let mut names = BTreeSet::new();
    for folder in ["worker", "tests"] {
        let all = files_below(&repository_root().join(folder)).unwrap();
        let sources = all
            .iter()
            .filter(|path| path.extension().is_some_and(|it| it == "rs"));
        for path in sources {
            let source = std::fs::read_to_string(path).unwrap();
            let found = function.captures_iter(&source);
            names.extend(found.map(|one| one[1].to_owned()));
        }
    }
    names
}

/// Returns the numbers at the start of a test's name: `f17_f18_a_full_disk` has F17 and F18.
fn numbers(name: &str) -> Vec<String> {
    let number = Regex::new(r"^([gfar])0*([0-9]+)$").unwrap();
    let parts = name.split('_').map_while(|part| number.captures(part));
    parts
        .map(|one| format!("{}{}", one[1].to_uppercase(), &one[2]))
        .collect()
}

#[test]
fn the_numbers_without_a_test_are_those_that_the_page_says() {
    let page = text(PAGE.as_ref());
    let row = Regex::new(r"(?m)^\| ([GFAR][0-9]+) \|").unwrap();
    let rows: BTreeSet<String> = row
        .captures_iter(&page)
        .map(|one| one[1].to_owned())
        .collect();
    let carried: BTreeSet<String> = functions().iter().flat_map(|name| numbers(name)).collect();
    let told = Regex::new(r"(?m)^- \*\*([GFAR0-9, ]+)\*\*:").unwrap();
    let told: BTreeSet<String> = told
        .captures_iter(&page)
        .flat_map(|one| one[1].split(", ").map(str::to_owned).collect::<Vec<_>>())
        .collect();
    let without: BTreeSet<String> = rows.difference(&carried).cloned().collect();
    assert!(
        rows.len() > 50 && without.len() < 10,
        "{without:?}: the search is broken"
    );
    assert_eq!(without, told);
}

#[test]
fn the_tests_that_the_page_names_are_there() {
    let functions = functions();
    let page = text(PAGE.as_ref());
    let name = Regex::new(r"`([a-z0-9]+(?:_[a-z0-9]+){3,})`").unwrap();
    let named: Vec<String> = name
        .captures_iter(&page)
        .map(|one| one[1].to_owned())
        .collect();
    assert!(named.len() > 2, "{named:?}: the search is broken");
    let missing: Vec<&String> = named
        .iter()
        .filter(|name| !functions.contains(*name))
        .collect();
    assert_eq!(missing, Vec::<&String>::new());
}

//! Checks that every check of the doctor is documented in docs/doctor.md and tested.

use std::collections::BTreeSet;

use nightshift_tests::{files_below, repository_root};
use regex::Regex;

/// Returns the names of checks in the files of a folder; `part` selects the text to search.
fn checks(folder: &str, pattern: &str, part: impl Fn(&str) -> &str) -> BTreeSet<String> {
    let areas = "configuration|tls|clock|store|source|model|tool|destination|web|traces|playbooks";
    let name = Regex::new(&pattern.replace("NAME", &format!("(?:{areas})\\.[a-z_]+"))).unwrap();
    let mut found = BTreeSet::new();
    for path in files_below(&repository_root().join(folder)).unwrap() {
        let is_test = path.ends_with("tests.rs");
        if !is_test && path.extension().is_some_and(|it| it == "rs" || it == "md") {
            let text = std::fs::read_to_string(&path).unwrap();
            found.extend(name.captures_iter(part(&text)).map(|one| one[1].to_owned()));
        }
    }
    found
}

/// Returns the part of a file before its tests.
fn code(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod tests {").next().unwrap()
}

fn tests(text: &str) -> &str {
    text.split_once("#[cfg(test)]\nmod tests {")
        .map_or("", |(_, tests)| tests)
}

#[test]
fn every_check_is_documented_and_tried() {
    let said = checks("worker", "\"(NAME)\"", code);
    assert!(said.len() > 50, "{said:?}");
    let documented = checks("docs", r"(?m)^\| `(NAME)` \|", |text| text);
    assert_eq!(documented, said);
    let mut tried = checks("tests/it/doctor", "\"(NAME)\"", |text| text);
    tried.extend(checks("worker", "\"(NAME)\"", tests));
    tried.extend(checks(
        "worker/store/src/postgres/tests",
        "\"(NAME)\"",
        |text| text,
    ));
    // These names are built from the setting that is off.
    tried.extend(
        ["fsync", "full_page_writes", "synchronous_commit"].map(|one| format!("store.{one}")),
    );
    let untried: Vec<_> = said.difference(&tried).collect();
    assert_eq!(untried, Vec::<&String>::new());
}

//! Checks that `docs/guarantees.md` explains each guarantee, fault, attack or reference that a test is named
//! after.

use std::collections::BTreeSet;

use regex::Regex;

use super::{text, texts};

/// Returns the numbers at the start of a test's name: `f17_f18_a_full_disk_…` → F17, F18.
fn numbers(name: &str) -> Vec<String> {
    let number = Regex::new(r"^([gfar])0*([0-9]+)_").unwrap();
    let mut rest = name;
    let mut found = Vec::new();
    while let Some(begin) = number.captures(rest) {
        found.push(format!("{}{}", begin[1].to_uppercase(), &begin[2]));
        rest = rest.strip_prefix(&begin[0]).unwrap();
    }
    found
}

/// Returns the numbers that have a row.
fn explained(markdown: &str) -> BTreeSet<String> {
    Regex::new(r"(?m)^\| ([GFAR][0-9]+) \|")
        .unwrap()
        .captures_iter(markdown)
        .map(|row| row[1].to_owned())
        .collect()
}

#[test]
fn every_number_in_a_test_name_is_explained() {
    let explained = explained(&text("docs/guarantees.md"));
    let function = Regex::new(r"\bfn ([a-z0-9_]+)").unwrap();
    let mut named = 0;
    let mut wrong = Vec::new();
    for (path, source) in [texts("worker", &["rs"]), texts("tests", &["rs"])].concat() {
        for name in function
            .captures_iter(&source)
            .map(|found| found[1].to_owned())
        {
            for number in numbers(&name) {
                named += 1;
                if !explained.contains(&number) {
                    wrong.push(format!(
                        "{path}: {name}: docs/guarantees.md has no {number}"
                    ));
                }
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    assert!(
        named > 0,
        "no test is named after a number: the search is broken"
    );
}

#[test]
fn numbers_are_read_from_names() {
    assert_eq!(numbers("a06_mentions_go"), ["A6"]);
    assert_eq!(numbers("f17_f18_a_full_disk"), ["F17", "F18"]);
    assert_eq!(numbers("a_quote_is_whole"), Vec::<String>::new());
    assert_eq!(numbers("ip4_is_read"), Vec::<String>::new());
}

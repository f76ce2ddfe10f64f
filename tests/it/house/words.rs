//! Checks that SQL of Nightshift's schema and names of metrics occur in one place only.

use std::collections::BTreeSet;

use regex::{Regex, RegexBuilder};

use super::floors::FLOORS;
use super::{text, texts};

/// The file that declares the metrics.
const METRICS: &str = "worker/cli/src/metrics.rs";

/// Returns the tables and views that the migrations create.
fn tables() -> BTreeSet<String> {
    let made = Regex::new(r"CREATE (?:TABLE|VIEW) (?:IF NOT EXISTS )?(\w+)").unwrap();
    texts("migrations", &["sql"])
        .iter()
        .flat_map(|(_, sql)| made.captures_iter(sql).map(|found| found[1].to_owned()))
        .collect()
}

/// Builds a pattern for statements over these tables. Prose says "from cases" too, so only a whole clause or a
/// keyword in capitals matches.
fn statements(tables: &BTreeSet<String>) -> Regex {
    let names = tables.iter().cloned().collect::<Vec<_>>().join("|");
    RegexBuilder::new(&format!(
        r"(?:\b(?-i:FROM|JOIN|INTO|UPDATE|TABLE)\s+|insert\s+into\s+|delete\s+from\s+|select\s[^;]{{0,200}}?\sfrom\s+)(?:{names})\b"
    ))
    .case_insensitive(true)
    .build()
    .unwrap()
}

/// Returns the metric names in a text: `nightshift_…` except names of crates.
fn metrics(text: &str) -> BTreeSet<String> {
    Regex::new(r"\bnightshift_[a-z_]+\b")
        .unwrap()
        .find_iter(text)
        .map(|found| found.as_str().to_owned())
        .filter(|word| {
            !FLOORS
                .iter()
                .any(|(package, _)| package.replace('-', "_") == *word)
        })
        .collect()
}

#[test]
fn only_the_store_says_sql_of_our_schema() {
    let tables = tables();
    assert!(tables.contains("cases") && tables.contains("journal"));
    let statements = statements(&tables);
    let wrong: Vec<String> = texts("worker", &["rs", "toml", "md", "sql"])
        .iter()
        .filter(|(path, _)| !path.starts_with("worker/store/"))
        .filter_map(|(path, text)| {
            let found = statements.find(text)?;
            Some(format!("{path}: {}", found.as_str()))
        })
        .collect();
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn metrics_are_declared_in_one_file() {
    assert!(!metrics(&text(METRICS)).is_empty(), "{METRICS} has none");
    let wrong: Vec<String> = texts("worker", &["rs"])
        .iter()
        .filter(|(path, _)| path != METRICS)
        .flat_map(|(path, text)| {
            metrics(text)
                .into_iter()
                .map(move |name| format!("{path}: {name}"))
        })
        .collect();
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn dashboards_and_rules_name_only_metrics_that_are_declared() {
    let declared = metrics(&text(METRICS));
    let is_declared = |name: &str| {
        let base = ["_bucket", "_sum", "_count"]
            .iter()
            .find_map(|ending| name.strip_suffix(ending));
        declared.contains(name) || base.is_some_and(|base| declared.contains(base))
    };
    let endings = ["json", "yaml", "yml", "tpl", "toml", "md", "sh"];
    let mut wrong: Vec<String> = Vec::new();
    for folder in ["deploy", "helm"] {
        let mut named = 0;
        for (path, text) in texts(folder, &endings) {
            let names = metrics(&text);
            named += names.len();
            wrong.extend(
                names
                    .iter()
                    .filter(|name| !is_declared(name))
                    .map(|name| format!("{path}: {name}")),
            );
        }
        assert!(named > 0, "no metric is named in {folder}");
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn statements_are_told_from_prose() {
    let statements = statements(&["cases".to_owned(), "journal".to_owned()].into());
    for sql in [
        "SELECT id FROM cases WHERE",
        "select id\n  from cases",
        "insert into journal (seq)",
        "UPDATE cases SET status",
        "JOIN journal USING",
        "DROP TABLE cases",
    ] {
        assert!(statements.is_match(sql), "{sql}");
    }
    for prose in [
        "typed fields from cases that are over",
        "select the rows of `cases_open`",
        "an update cases cannot see",
        "SELECT name FROM findings",
    ] {
        assert!(!statements.is_match(prose), "{prose}");
    }
}

#[test]
fn metrics_are_told_from_crates() {
    let found =
        metrics("use nightshift_engine::port::Meter; \"nightshift_cases_total\", nightshift-data");
    assert_eq!(found, ["nightshift_cases_total".to_owned()].into());
}

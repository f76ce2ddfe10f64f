//! Prints the output of the doctor: one line per target, then the findings, the worst first.

use std::fmt::Write as _;

use nightshift_engine::doctor::{CheckSeverity, FailedCheck};
use serde_json::{Value, json};

use super::probe_runner::{TargetReport, label};
use crate::output::authored_line;

/// Name and version of the `--json` output.
const SCHEMA: &str = "nightshift.doctor/1";
/// Maximum number of characters of a text, which may be foreign.
const MAX_CHARS: usize = 600;
/// Indentation of a finding's texts.
const INDENT: &str = "         ";

/// Returns all results as one object.
pub(super) fn object(looked: &[TargetReport]) -> Value {
    let areas: Vec<Value> = looked
        .iter()
        .map(|one| json!({ "area": one.area, "name": one.name, "seen": one.report.observations, "findings": one.report.failed_checks.len() }))
        .collect();
    let findings: Vec<Value> = findings(looked)
        .iter()
        .map(|(one, found)| {
            json!({
                "area": one.area, "name": one.name, "check": found.check, "severity": found.severity,
                "what": found.what, "why": found.why, "mend": found.mend,
            })
        })
        .collect();
    let (errors, warnings) = counts(looked);
    json!({
        "schema": SCHEMA, "ok": errors == 0, "errors": errors, "warnings": warnings,
        "areas": areas, "findings": findings,
    })
}

/// Renders all results as text of this width.
pub(super) fn text(looked: &[TargetReport], width: usize) -> String {
    let mut out = String::new();
    let wide = looked
        .iter()
        .map(|one| label(one.area, &one.name).chars().count())
        .max()
        .unwrap_or(0);
    for one in looked {
        let name = label(one.area, &one.name);
        let seen = authored_line(&one.report.observations.join("; "), MAX_CHARS);
        let state = state(&one.report.failed_checks);
        let line = format!("{name:wide$}  {state:<10}  {seen}");
        let _ = writeln!(out, "{}", line.trim_end());
    }
    for (one, found) in findings(looked) {
        let grade = match found.severity {
            CheckSeverity::Error => "ERROR",
            CheckSeverity::Warning => "WARNING",
        };
        let what = authored_line(&found.what, MAX_CHARS);
        let head = format!("{grade:<8} {}: {what}", label(one.area, &one.name));
        let _ = writeln!(out, "\n{}", wrapped(&head, "", width));
        for (word, said) in [("why", &found.why), ("mend", &found.mend)] {
            let said = format!("{word:<5} {}", authored_line(said, MAX_CHARS));
            let _ = writeln!(out, "{}", wrapped(&said, INDENT, width));
        }
        let _ = writeln!(out, "{INDENT}check {}", found.check);
    }
    let _ = writeln!(out, "\n{}", sum(counts(looked)));
    out
}

/// Wraps text, with further lines indented below the first.
fn wrapped(text: &str, indent: &str, width: usize) -> String {
    let below = format!("{INDENT}{}", if indent.is_empty() { "" } else { "      " });
    let options = textwrap::Options::new(width)
        .initial_indent(indent)
        .subsequent_indent(&below);
    let options = options
        .break_words(false)
        .word_splitter(textwrap::WordSplitter::NoHyphenation);
    textwrap::fill(text, options)
}

fn state(found: &[FailedCheck]) -> String {
    let of = |grade| found.iter().filter(|one| one.severity == grade).count();
    match (of(CheckSeverity::Error), of(CheckSeverity::Warning)) {
        (0, 0) => "ok".to_owned(),
        (0, warnings) => counted(warnings, "warning"),
        (errors, _) => counted(errors, "error"),
    }
}

/// Returns the findings, the worst first, and otherwise in the order of the areas.
fn findings(looked: &[TargetReport]) -> Vec<(&TargetReport, &FailedCheck)> {
    let all = looked.iter().flat_map(|one| {
        one.report
            .failed_checks
            .iter()
            .map(move |found| (one, found))
    });
    let mut all: Vec<_> = all.collect();
    all.sort_by_key(|(_, found)| std::cmp::Reverse(found.severity));
    all
}

fn counts(looked: &[TargetReport]) -> (usize, usize) {
    let all = findings(looked);
    let errors = all
        .iter()
        .filter(|(_, found)| found.severity == CheckSeverity::Error)
        .count();
    (errors, all.len() - errors)
}

fn sum((errors, warnings): (usize, usize)) -> String {
    match (errors, warnings) {
        (0, 0) => "Nothing is wrong.".to_owned(),
        (0, warnings) => format!("{}; no error.", counted(warnings, "warning")),
        (errors, 0) => format!("{}.", counted(errors, "error")),
        (errors, warnings) => format!(
            "{}, {}.",
            counted(errors, "error"),
            counted(warnings, "warning")
        ),
    }
}

fn counted(number: usize, word: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{number} {word}{s}")
}

//! Tests the bounds of each part, and the references to the rest.

use insta::assert_snapshot;
use nightshift_engine::finding::FindingStance;
use nightshift_pipeline::report::{FindingEntry, Report};

use crate::{fixture, render_text};

/// Returns a finding that cites nothing.
fn finding(claim: String, stance: FindingStance) -> FindingEntry {
    FindingEntry {
        claim,
        supported: true,
        problem: None,
        stance,
        evidence: Vec::new(),
    }
}

/// Returns a cleared case with so many records, findings on either side, and gaps.
fn report(records: usize, findings: usize, against: usize, gaps: usize) -> Report {
    let mut report = fixture::benign();
    let record = report.exonerations.remove(0);
    report.exonerations = (1..=records)
        .map(|number| {
            let mut one = record.clone();
            one.statement = format!("Record {number} (SCAN-7)");
            (one.from, one.until) = (None, None);
            one
        })
        .collect();
    let bearing =
        (1..=findings).map(|one| finding(format!("Reason {one}."), FindingStance::Against));
    let opposed = (1..=against).map(|one| finding(format!("Doubt {one}."), FindingStance::For));
    report.findings = bearing.chain(opposed).collect();
    report.gaps = (1..=gaps).map(|one| format!("Log {one}")).collect();
    report
}

/// Returns the lines of one part.
fn part(shown: &str, title: &str) -> String {
    let from = shown.lines().skip_while(|line| *line != title).skip(1);
    let lines: Vec<&str> = from.take_while(|line| !line.is_empty()).collect();
    lines.join("\n")
}

#[test]
fn why_and_against_are_short_and_say_where_the_rest_stands() {
    let shown = render_text(&report(6, 3, 4, 6), &fixture::options(100));
    assert_snapshot!(part(&shown, "Why"), @"
    - Cleared: Record 1 (SCAN-7); about 203.0.113[.]50; approved by maria@example[.]com [E2]
    - Cleared: Record 2 (SCAN-7); about 203.0.113[.]50; approved by maria@example[.]com [E2]
    - Cleared: Record 3 (SCAN-7); about 203.0.113[.]50; approved by maria@example[.]com [E2]
    - Cleared: Record 4 (SCAN-7); about 203.0.113[.]50; approved by maria@example[.]com [E2]
    - Reason 1.
    … and 4 more, under Further findings
    ");
    assert_snapshot!(part(&shown, "Against, or not checked"), @"
    - Doubt 1.
    - Doubt 2.
    - Not checked: Log 1
    … and 7 more, under Further findings
    ");
    assert_snapshot!(part(&shown, "Further findings"), @"
    - Cleared: Record 5 (SCAN-7); about 203.0.113[.]50; approved by maria@example[.]com [E2]
    - Cleared: Record 6 (SCAN-7); about 203.0.113[.]50; approved by maria@example[.]com [E2]
    - For: Reason 2.
    - For: Reason 3.
    - Against: Doubt 3.
    - Against: Doubt 4.
    - Not checked: Log 2
    - Not checked: Log 3
    - Not checked: Log 4
    - Not checked: Log 5
    - Not checked: Log 6
    ");
}

#[test]
fn content_that_fits_is_complete_up_to_the_limit_per_kind() {
    let shown = render_text(&report(0, 5, 0, 3), &fixture::options(100));
    assert_eq!(part(&shown, "Why").lines().count(), 5);
    assert_eq!(part(&shown, "Further findings"), "");
    let shown = render_text(&report(0, 6, 3, 0), &fixture::options(100));
    assert_snapshot!(part(&shown, "Why"), @"
    - Reason 1.
    - Reason 2.
    - Reason 3.
    - Reason 4.
    - Reason 5.
    … and 1 more, under Further findings
    ");
    assert_snapshot!(part(&shown, "Further findings"), @"  - For: Reason 6.");
    assert!(part(&shown, "Against, or not checked").contains("Doubt 3."));
}

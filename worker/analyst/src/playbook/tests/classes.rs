//! Tests over findings in which nobody acted: failed checks, vulnerabilities, sensitive data.

use nightshift_alert::{
    Alert, Detail, DetailKind, FindingClass, Indicator, IndicatorKind, IndicatorRole,
};
use nightshift_engine::conclusion::{Leaning, Verdict};
use nightshift_engine::tool::ToolError;
use serde_json::Value;

use super::alerts::dns;
use super::case_fixture::{ALL, DEFAULT, PlaybookCase, PlaybookRun, nothing, record};

fn quiet(kind: &str, arguments: &Value) -> Result<Value, ToolError> {
    Ok(nothing(kind, arguments))
}

/// Returns a finding of this class about an instance, with details.
fn found(
    class: FindingClass,
    kind: &str,
    title: &str,
    details: &[(DetailKind, &str, Option<&str>)],
) -> Alert {
    let mut alert = dns(kind, "a.example");
    alert.class = class;
    title.clone_into(&mut alert.title);
    alert.action = None;
    alert.indicators = vec![Indicator::new(
        IndicatorKind::Instance,
        "i-11111111",
        IndicatorRole::Target,
    )];
    alert.remediation = Some("Update examplelib to 3.0.14, or close the port.".to_owned());
    let detail = |(kind, value, about): &(DetailKind, &str, Option<&str>)| Detail {
        kind: *kind,
        value: (*value).to_owned(),
        about: about.map(str::to_owned),
    };
    alert.details = details.iter().map(detail).collect();
    alert
}

fn samples() -> [Alert; 3] {
    [
        found(
            FindingClass::Posture,
            "EC2.8",
            "EC2 instances should use Instance Metadata Service Version 2",
            &[
                (DetailKind::Control, "EC2.8 (CIS 1.4)", None),
                (DetailKind::Exposure, "reachable from the internet", None),
            ],
        ),
        found(
            FindingClass::Vulnerability,
            "Software and Configuration Checks/Vulnerabilities/CVE",
            "CVE-2026-0001 - examplelib",
            &[
                (DetailKind::Package, "examplelib 3.0.2", None),
                (DetailKind::FixedVersion, "3.0.14", Some("examplelib")),
            ],
        ),
        found(
            FindingClass::SensitiveData,
            "SensitiveData:S3Object/Personal",
            "Personal data in an object",
            &[(DetailKind::Trait, "PASSPORT_NUMBER", None)],
        ),
    ]
}

fn describe_run(ran: &PlaybookRun) -> String {
    format!("{}\n{}", ran.claims(), ran.advised())
}

#[test]
fn failed_check_names_the_check_the_resource_and_the_advice() {
    let [posture, ..] = samples();
    let ran = PlaybookCase::with(&DEFAULT, quiet).run(posture);
    assert_eq!(ran.conclusion.verdict, Verdict::TruePositive);
    insta::assert_snapshot!(describe_run(&ran), @"
    For [E0] EC2.8 (CIS 1.4) fails on i-11111111: EC2 instances should use Instance Metadata Service Version 2
    For [E0] How it can be reached or exploited, by the feed: reachable from the internet
    For [E0] What the product advises: Update examplelib to 3.0.14, or close the port.
    Correct i-11111111 so that the check passes; what GuardDuty advises stands in this report.
    If this is allowed, enter i-11111111 in a register.
    ");
    insta::assert_snapshot!(ran.conclusion.summary, @"EC2.8 (CIS 1.4) fails on i-11111111: EC2 instances should use Instance Metadata Service Version 2. How it can be reached or exploited, by the feed: reachable from the internet.");
}

#[test]
fn passed_check_misses_nothing() {
    let [mut posture, ..] = samples();
    posture.state.passed = true;
    let ran = PlaybookCase::with(&DEFAULT, quiet).run(posture);
    assert_eq!(ran.conclusion.verdict, Verdict::Inconclusive);
    assert_eq!(ran.would_decide(), "");
}

#[test]
fn known_flaw_names_package_and_fixed_version() {
    let [_, vulnerability, _] = samples();
    let ran = PlaybookCase::with(&DEFAULT, quiet).run(vulnerability);
    assert_eq!(ran.conclusion.verdict, Verdict::TruePositive);
    insta::assert_snapshot!(describe_run(&ran), @"
    For [E0] examplelib 3.0.2 on i-11111111 has a known flaw, fixed in 3.0.14: CVE-2026-0001 - examplelib
    For [E0] What the product advises: Update examplelib to 3.0.14, or close the port.
    Update the package on i-11111111 to the version that fixes it, or build its image anew with it, and scan again.
    If this is allowed, enter i-11111111 in a register.
    ");
}

#[test]
fn sensitive_data_names_what_was_found() {
    let [.., data] = samples();
    let ran = PlaybookCase::with(&DEFAULT, quiet).run(data);
    assert_eq!(ran.conclusion.verdict, Verdict::TruePositive);
    insta::assert_snapshot!(describe_run(&ran), @"
    For [E0] Sensitive data was found on i-11111111: Personal data in an object
    For [E0] What was found, by the feed: PASSPORT_NUMBER
    For [E0] What the product advises: Update examplelib to 3.0.14, or close the port.
    Take i-11111111 out of reach of whoever does not need what lies on it: public access, shares with others, wide policies.
    Move, mask or delete what was found on i-11111111, or enter it in the asset register as a place for such data.
    If this is allowed, enter i-11111111 in a register.
    ");
}

#[test]
fn nobody_is_asked_whether_a_failed_check_was_planned() {
    for alert in samples() {
        let severity = alert.severity;
        let ran = PlaybookCase::with(&ALL, quiet).run(alert);
        assert_eq!(ran.conclusion.assessed_severity, severity);
        assert!(
            !describe_run(&ran).contains("planned"),
            "{}",
            describe_run(&ran)
        );
        let mut steps = ran.state.steps().iter().flat_map(|step| &step.calls);
        assert!(
            !steps.any(|call| call.tool.starts_with("log_search")),
            "{}",
            ran.steps()
        );
    }
}

#[test]
fn finding_without_a_resource_is_not_decided() {
    for mut alert in samples() {
        alert.resources.clear();
        alert.indicators.clear();
        let ran = PlaybookCase::with(&DEFAULT, quiet).run(alert);
        assert_eq!(
            (ran.conclusion.verdict, ran.conclusion.leaning),
            (Verdict::Inconclusive, Leaning::None)
        );
        assert!(!ran.would_decide().is_empty());
    }
}

#[test]
fn check_that_passed_is_not_said_to_fail() {
    let [mut posture, ..] = samples();
    posture.state.passed = true;
    let ran = PlaybookCase::with(&DEFAULT, quiet).run(posture);
    assert_eq!(ran.conclusion.verdict, Verdict::Inconclusive);
    assert!(!ran.claims().contains("fails"), "{}", ran.claims());
}

#[test]
fn approved_exception_clears_a_finding_of_each_class() {
    for alert in samples() {
        for (detection_wrong, verdict) in [
            (false, Verdict::BenignTruePositive),
            (true, Verdict::FalsePositive),
        ] {
            let mut exception = record("asset", IndicatorKind::Instance, "i-11111111");
            exception.detection_wrong = detection_wrong;
            let ran = PlaybookCase::with(&ALL, quiet)
                .clearing(exception)
                .run(alert.clone());
            assert_eq!(ran.conclusion.verdict, verdict, "{}", alert.kind);
        }
    }
}

#[test]
fn check_that_was_not_evaluated_does_not_fail() {
    for (status, told) in [
        ("NOT_AVAILABLE", "was not evaluated"),
        ("Warning", "needs a look by hand"),
    ] {
        let alert = found(
            FindingClass::Posture,
            "EC2.3",
            "Attached volumes should be encrypted",
            &[(DetailKind::CheckResult, status, None)],
        );
        let ran = PlaybookCase::with(&DEFAULT, quiet).run(alert);
        assert_eq!(ran.conclusion.verdict, Verdict::Inconclusive, "{status}");
        assert!(ran.claims().contains(told), "{status}");
        assert!(!ran.claims().contains("fails on"), "{status}");
    }
}

#[test]
fn flaw_is_patched_only_where_a_version_fixes_it() {
    let actions = |details: &[(DetailKind, &str, Option<&str>)]| {
        let alert = found(
            FindingClass::Vulnerability,
            "CWE-89",
            "SQL injection in login",
            details,
        );
        let ran = PlaybookCase::with(&DEFAULT, quiet).run(alert);
        (ran.actions().join(" "), ran.claims())
    };
    let package = (DetailKind::Package, "examplelib 3.0.2", None);
    let (fixed, _) = actions(&[package, (DetailKind::FixedVersion, "3.0.14", None)]);
    assert!(
        fixed.contains("patch") && !fixed.contains("await-patch"),
        "{fixed}"
    );
    let (open, claims) = actions(&[
        package,
        (DetailKind::Exposure, "CVSS 3.1: 8.8", None),
        (DetailKind::Exposure, "network reachable", None),
        (DetailKind::Exposure, "port 443 open", None),
        (DetailKind::Exposure, "EPSS 0.91", None),
        (DetailKind::Exposure, "exploit available: yes", None),
    ]);
    assert!(open.contains("await-patch"), "{open}");
    assert!(
        claims.contains("EPSS 0.91") && claims.contains("exploit available: yes"),
        "{claims}"
    );
    let (code, _) = actions(&[]);
    assert!(
        code.contains("fix-code") && !code.contains("patch"),
        "{code}"
    );
}

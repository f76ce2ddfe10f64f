use nightshift_alert::{Alert, Indicator, IndicatorKind, IndicatorRole};
use nightshift_engine::conclusion::{Leaning, Verdict, VerdictReason};
use nightshift_engine::tool::ToolError;
use serde_json::{Value, json};

use super::alerts::{made_for, sample};
use super::case_fixture::{
    ALL, PlaybookCase, ToolAnswers, logged, nothing, on_list, record, verdict_beside,
};

fn scan(source: &str) -> Alert {
    let mut alert = sample("guardduty-eventbridge-dns");
    "Recon:EC2/Portscan".clone_into(&mut alert.kind);
    alert.action = Some("NETWORK_CONNECTION".to_owned());
    alert.state.sample = false;
    alert
        .indicators
        .retain(|one| one.kind != IndicatorKind::Domain);
    alert.indicators.push(Indicator::new(
        IndicatorKind::Ip,
        source,
        IndicatorRole::Actor,
    ));
    alert.indicators.sort();
    alert
}

fn quiet(kind: &str, arguments: &Value) -> Result<Value, ToolError> {
    Ok(nothing(kind, arguments))
}

#[test]
fn an_authorised_scanner_is_benign() {
    let known: ToolAnswers = |kind, arguments| match kind {
        "authorised_scanners" => Ok(
            json!({"indicator": "192.0.2.10", "found": 1, "searched": {"register": "s.csv", "records": 2},
            "scanners": [{"id": "SCAN-1", "subject": "192.0.2.0/28", "owner": "secops", "approved_by": "ciso", "valid_at_event": true}]}),
        ),
        _ => quiet(kind, arguments),
    };
    let scanner = record("authorised_scanner", IndicatorKind::Ip, "192.0.2.10");
    let ran = PlaybookCase::with(&ALL, known)
        .clearing(scanner)
        .run(scan("192.0.2.10"));
    assert_eq!(
        (ran.conclusion.verdict, ran.conclusion.reason),
        (
            Verdict::BenignTruePositive,
            VerdictReason::AuthorisedActivity
        )
    );
    insta::assert_snapshot!(ran.claims(), @"
    For [E0] The alert reports NETWORK_CONNECTION with 192.0.2.10, once
    Against [E2 E0] 192.0.2.10 is in the register of scanners: SCAN-1 of secops, approved by ciso
    ");
}

#[test]
fn a_scan_from_inside_that_is_answered_is_a_true_positive() {
    let inside: ToolAnswers = |kind, arguments| match kind {
        "indicator_facts" => Ok(
            json!({"indicator": "10.9.8.7", "type": "ip", "class": "private", "public": false, "range": "10.0.0.0/8 (RFC 1918)"}),
        ),
        "log_search.vpc_flow" => Ok(
            json!({"source": "vpc_flow", "rows_scanned": 50, "rows_matched": 1, "truncated": false,
            "rows": [{"at": "2023-04-16T06:12:00Z", "source_ip": "10.9.8.7", "destination_ip": "192.168.0.1", "destination_port": 22, "outcome": "ACCEPT"}]}),
        ),
        _ => quiet(kind, arguments),
    };
    let ran = PlaybookCase::with(&ALL, inside).run(scan("10.9.8.7"));
    assert_eq!(ran.conclusion.verdict, Verdict::TruePositive);
    insta::assert_snapshot!(ran.claims(), @"
    For [E0] The alert reports NETWORK_CONNECTION with 10.9.8.7, once
    For [E4 E0] 10.9.8.7 is an internal address (private): whoever scans is on our network
    For [E9 E0] 192.168.0.1 let 10.9.8.7 through on port 22 at 2023-04-16T06:12:00Z
    For [E2 E0] The register of authorised scanners does not know 10.9.8.7
    ");
}

#[test]
fn an_unknown_scanner_that_was_turned_away_leans_benign() {
    let rejected: ToolAnswers = |kind, arguments| match kind {
        "log_search.vpc_flow" => Ok(
            json!({"source": "vpc_flow", "rows_scanned": 50, "rows_matched": 1, "truncated": false,
            "rows": [{"at": "2023-04-16T06:12:00Z", "source_ip": "192.0.2.10", "destination_ip": "192.168.0.1", "destination_port": 22, "outcome": "REJECT"}]}),
        ),
        _ => quiet(kind, arguments),
    };
    let ran = PlaybookCase::with(&ALL, rejected).run(scan("192.0.2.10"));
    assert_eq!(
        (ran.conclusion.verdict, ran.conclusion.leaning),
        (Verdict::Inconclusive, Leaning::Benign)
    );
    insta::assert_snapshot!(ran.claims(), @"
    For [E0] The alert reports NETWORK_CONNECTION with 192.0.2.10, once
    Against [E9] None of the 1 flows of the source that the logs show was let through
    For [E2 E0] The register of authorised scanners does not know 192.0.2.10
    ");
    insta::assert_snapshot!(ran.would_decide(), @r#"
    An approved record that 192.0.2.10 may scan, with an end and who approved it
    The sign-in logs of i-11111111: that no attempt succeeded
    "#);
}

#[test]
fn login_with_unknown_outcome_is_not_reported_as_failed() {
    let logins: ToolAnswers = |kind, arguments| match kind {
        "log_search.json_lines" => {
            let row = |outcome: &str| json!({"at": "2023-04-16T06:12:00Z", "principal": "root", "outcome": outcome, "error": null});
            Ok(logged(kind, json!([row("failure"), row("session opened")])))
        }
        _ => quiet(kind, arguments),
    };
    let claims = PlaybookCase::with(&ALL, logins)
        .run(scan("192.0.2.10"))
        .claims();
    assert!(!claims.contains("sign-ins"), "{claims}");
}

#[test]
fn of_two_sources_only_the_unrecorded_one_is_asked_for() {
    let known: ToolAnswers = |kind, arguments| match kind {
        "authorised_scanners" if arguments["indicator"] == "192.0.2.10" => Ok(
            json!({"indicator": "192.0.2.10", "found": 1, "searched": {"register": "s.csv", "records": 2},
            "scanners": [{"id": "SCAN-1", "subject": "192.0.2.0/28", "owner": "secops", "approved_by": "ciso", "valid_at_event": true}]}),
        ),
        _ => quiet(kind, arguments),
    };
    let mut alert = scan("192.0.2.10");
    let second = Indicator::new(IndicatorKind::Ip, "203.0.113.66", IndicatorRole::Actor);
    alert.indicators.push(second);
    let decide = PlaybookCase::with(&ALL, known).run(alert).would_decide();
    assert!(
        decide
            .contains("Who 203.0.113.66 is: the register of authorised scanners does not know it"),
        "{decide}"
    );
    assert!(!decide.contains("192.0.2.10"), "{decide}");
}

#[test]
fn g06_login_unknown_or_never_queried_is_not_failed() {
    let host = || record("asset", IndicatorKind::Instance, "i-11111111");
    let worded: [ToolAnswers; 2] = [
        |kind, arguments| match kind {
            "log_search.json_lines" => Ok(logged(
                kind,
                json!([{"principal": "root", "outcome": "successful", "error": null}]),
            )),
            _ => quiet(kind, arguments),
        },
        |kind, arguments| match kind {
            "log_search.json_lines" => Ok(logged(
                kind,
                json!([{"principal": "root", "outcome": null, "error": null}]),
            )),
            _ => quiet(kind, arguments),
        },
    ];
    for answers in worded {
        let ran = PlaybookCase::with(&ALL, answers)
            .clearing(host())
            .clearing(record("asset", IndicatorKind::Ip, "192.0.2.10"))
            .run(scan("192.0.2.10"));
        assert_eq!(ran.conclusion.verdict, Verdict::Inconclusive);
        let decide = ran.would_decide();
        assert!(
            decide.contains("How the sign-ins of 192.0.2.10 ended"),
            "{decide}"
        );
    }
    let mut many = scan("192.0.2.10");
    many.indicators.extend((1..=24).map(|last| {
        Indicator::new(
            IndicatorKind::Ip,
            format!("198.51.100.{last}"),
            IndicatorRole::Actor,
        )
    }));
    let ran = PlaybookCase::with(&ALL, quiet).clearing(host()).run(many);
    assert_eq!(ran.conclusion.verdict, Verdict::Inconclusive);
    let ran = PlaybookCase::with(&ALL, quiet)
        .clearing(record("asset", IndicatorKind::Ip, "192.0.2.10"))
        .run(scan("192.0.2.10"));
    assert_eq!(ran.conclusion.verdict, Verdict::BenignTruePositive);
}

#[test]
fn a_reply_to_the_source_is_not_what_the_source_sent() {
    let replies: ToolAnswers = |kind, arguments| match kind {
        "log_search.vpc_flow" => {
            let flow = |from: &str, to: &str, outcome: &str| {
                json!({"at": "2023-04-16T06:12:00Z", "source_ip": from,
                "destination_ip": to, "destination_port": 22, "outcome": outcome})
            };
            Ok(logged(
                kind,
                json!([
                    flow("192.0.2.10", "192.168.0.1", "rejected"),
                    flow("192.168.0.1", "192.0.2.10", "accepted")
                ]),
            ))
        }
        _ => quiet(kind, arguments),
    };
    let claims = PlaybookCase::with(&ALL, replies)
        .run(scan("192.0.2.10"))
        .claims();
    assert!(!claims.contains("let 192.0.2.10 through"), "{claims}");
    assert!(claims.contains("None of the 1 flows"), "{claims}");
}

#[test]
fn only_the_successful_source_is_blocked_and_never_own_ones() {
    let got_in: ToolAnswers = |kind, arguments| match kind {
        "log_search.json_lines" if arguments["ip"] == "203.0.113.66" => {
            let row = json!({"at": "2023-04-16T06:12:00Z", "principal": "root", "outcome": "success", "error": null});
            Ok(logged(kind, json!([row])))
        }
        _ => quiet(kind, arguments),
    };
    let ours: ToolAnswers = |kind, arguments| match kind {
        "watchlist" => Ok(on_list("own", arguments)),
        _ => quiet(kind, arguments),
    };
    let blocked = |answers: ToolAnswers| {
        let mut alert = scan("192.0.2.10");
        let second = Indicator::new(IndicatorKind::Ip, "203.0.113.66", IndicatorRole::Actor);
        alert.indicators.push(second);
        let ran = PlaybookCase::with(&ALL, answers).run(alert);
        let mut actions = ran.conclusion.actions.into_iter();
        actions
            .find(|one| one.id == "block-source-ip")
            .map(|one| one.text)
    };
    let text = blocked(got_in).unwrap();
    assert!(text.contains("203.0.113.66"), "{text}");
    let text = blocked(quiet).unwrap();
    assert!(text.contains("192.0.2.10"), "{text}");
    assert_eq!(blocked(ours), None);
}

/// Returns an alert about `jump-1`, which tried port 445 of a neighbour.
fn outward() -> Alert {
    made_for("guardduty-port-scan-outbound")
}

#[test]
fn own_scanner_is_reported_and_not_its_targets() {
    let ran = PlaybookCase::with(&ALL, quiet).run(outward());
    assert_eq!(
        (ran.conclusion.verdict, ran.conclusion.leaning),
        (Verdict::Inconclusive, Leaning::Malicious)
    );
    insta::assert_snapshot!(ran.claims(), @"
    For [E0] jump-1 is the one that scans: NETWORK_CONNECTION OUTBOUND towards 10.20.99.5, 210 times
    For [E2 E0] The register of authorised scanners does not know 10.20.40.8
    ");
    insta::assert_snapshot!(ran.advised(), @"
    Snapshot all volumes of i-0c4e9a71d2b36f580.
    Take i-0c4e9a71d2b36f580 off the network.
    Ask the owner of jump-1 whether this was planned.
    Keep the logs of jump-1 beyond their retention.
    ");
    insta::assert_snapshot!(ran.would_decide(), @"
    The process on jump-1 that makes these connections, and who signed in there before
    An approved record that jump-1 may scan (asset or change: i-0c4e9a71d2b36f580; authorised scanner: 10.20.40.8, 52.18.4.77); one about whom it tries is none
    Flow logs of jump-1: which ports answered it
    ");
    insta::assert_snapshot!(ran.steps(), @"
    scanners Some(Unmet): 2 look-ups, 0 rows.
    lists Some(Unmet): 1 look-up, 0 rows.
    facts Some(Met): 1 look-up, answered.
    earlier Some(Unmet): Earlier cases that share a value with this one: 0; with the same finding: 0.
    source_asset Some(Unmet): 3 look-ups, 0 rows.
    target_asset Some(Unmet): 1 look-up, 0 rows.
    changes Some(Unmet): 3 look-ups, 0 rows.
    flows Some(Unmet): 1 look-up, 0 rows.
    logins Some(Unmet): 2 look-ups, 0 rows.
    spread Some(Unmet): 1 look-up, 0 rows.
    ");
}

#[test]
fn own_scanner_that_is_answered_is_a_true_positive() {
    let answered: ToolAnswers = |kind, arguments| match kind {
        "log_search.vpc_flow" => Ok(logged(
            kind,
            json!([{"at": "2026-03-02T02:31:00Z", "source_ip": "10.20.40.8", "destination_ip": "10.20.99.5", "destination_port": 445, "outcome": "accepted"}]),
        )),
        _ => quiet(kind, arguments),
    };
    let ran = PlaybookCase::with(&ALL, answered).run(outward());
    assert_eq!(ran.conclusion.verdict, Verdict::TruePositive);
    insta::assert_snapshot!(ran.claims(), @"
    For [E0] jump-1 is the one that scans: NETWORK_CONNECTION OUTBOUND towards 10.20.99.5, 210 times
    For [E13 E0] 10.20.99.5 let 10.20.40.8 through on port 445 at 2026-03-02T02:31:00Z
    For [E2 E0] The register of authorised scanners does not know 10.20.40.8
    ");
    insta::assert_snapshot!(ran.actions().join(" "), @"isolate-instance snapshot-disk contact-owner");
}

#[test]
fn record_for_scan_target_clears_nothing_but_for_scanner_does() {
    let cleared_by =
        |kind, subject_type, subject| verdict_beside(outward(), kind, subject_type, subject);
    for kind in ["asset", "change", "authorised_scanner"] {
        assert_eq!(
            cleared_by(kind, IndicatorKind::Ip, "10.20.99.5"),
            Verdict::Inconclusive,
            "{kind}"
        );
        assert_eq!(
            cleared_by(kind, IndicatorKind::Ip, "10.20.40.8"),
            Verdict::BenignTruePositive,
            "{kind}"
        );
    }
    for kind in ["asset", "change"] {
        assert_eq!(
            cleared_by(kind, IndicatorKind::Instance, "i-0c4e9a71d2b36f580"),
            Verdict::BenignTruePositive,
            "{kind}"
        );
    }
}

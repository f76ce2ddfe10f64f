use nightshift_engine::exoneration::RecordMismatch;
use nightshift_engine::tool::ToolOutput;
use nightshift_engine::verdict_policy::check_record;
use serde_json::json;

use super::*;
use crate::testing;
use crate::tool::Tool as _;

const ROW: &str = "PT-7,203.0.113.0/24,Red Cell Ltd,spring penetration test,ciso,2026-03-01,2026-03-05,Discovery:*; Recon:*\n";

async fn ask(rows: &str, indicator: &str) -> ToolOutput {
    let tool = AuthorisedScanners::new(AuthorisedScannersConfig {
        name: "scanners".to_owned(),
        path: ContentSource::Text {
            name: "scanners.csv".into(),
            text: format!(
                "id,subject,owner,purpose,approved_by,valid_from,valid_until,expected_findings\n{rows}"
            )
            .into(),
        },
        slack_mins: crate::SlackMins::default(),
    });
    testing::call(&tool, json!({ "indicator": indicator }))
        .await
        .unwrap()
}

#[tokio::test]
async fn a_scanner_in_its_time_clears_its_address() {
    let output = ask(ROW, "203.0.113.42").await;
    assert_eq!(output.body["found"], 1);
    assert_eq!(output.body["scanners"][0]["valid_at_event"], true);
    assert_eq!(output.body["scanners"][0]["subject"], "203.0.113.0/24");
    let [one] = &output.exonerations[..] else {
        panic!("{:?}", output.exonerations)
    };
    assert_eq!(
        (one.kind.as_str(), one.reference.as_str()),
        ("authorised_scanner", "PT-7")
    );
    assert_eq!(one.subject, "203.0.113.42");
    assert_eq!(check_record(one, &testing::alert()), Ok(()));
    assert!(!one.detection_wrong);
}

#[tokio::test]
async fn the_window_counts_to_its_edges() {
    let alert = testing::alert();
    for (from, until, valid) in [
        ("2026-03-02T02:00:00Z", "2026-03-02T02:40:00Z", true),
        ("2026-03-02T02:05:01Z", "2026-03-05", false),
        ("2026-03-01", "2026-03-02T02:34:59Z", false),
        ("2026-03-02", "2026-03-02", true),
        ("2026-01-01", "2026-03-01", false),
    ] {
        let row = ROW.replace("2026-03-01,2026-03-05", &format!("{from},{until}"));
        let output = ask(&row, "203.0.113.42").await;
        assert_eq!(
            output.body["scanners"][0]["valid_at_event"], valid,
            "{from} {until}"
        );
        let cleared = output
            .exonerations
            .iter()
            .any(|one| check_record(one, &alert) == Ok(()));
        assert_eq!(cleared, valid, "{from} {until}");
    }
    let late = ask(&ROW.replace("2026-03-05", "2026-03-01"), "203.0.113.42").await;
    assert_eq!(
        check_record(&late.exonerations[0], &alert),
        Err(RecordMismatch::OtherTime)
    );
}

#[tokio::test]
async fn unapproved_uncovered_or_endless_rows_clear_nothing() {
    for (from, to) in [
        ("ciso", ""),
        ("Discovery:*; Recon:*", ""),
        ("2026-03-05", ""),
    ] {
        let output = ask(&ROW.replace(from, to), "203.0.113.42").await;
        assert_eq!(
            (output.rows, output.exonerations.len()),
            (Some(1), 0),
            "without {from}"
        );
    }
    let output = ask(ROW, "198.51.100.1").await;
    assert_eq!((output.rows, output.exonerations.len()), (Some(0), 0));
    assert_eq!(output.body["searched"]["records"], 1);
}

#[tokio::test]
async fn half_the_internet_is_no_scanner() {
    let wide = ROW.replace("203.0.113.0/24", "128.0.0.0/1");
    let narrow = ROW.replace("203.0.113.0/24", "198.51.100.0/24");
    let output = ask(&format!("{wide}{narrow}"), "203.0.113.42").await;
    assert_eq!(output.rows, Some(0));
    assert_eq!(
        output.body["searched"],
        json!({"register": "scanners.csv", "records": 1, "left_out": 1})
    );
}

#[tokio::test]
async fn scanner_bare_name_is_a_principal_and_host_name_a_domain() {
    use nightshift_alert::{Indicator, IndicatorRole};
    for (subject, kind, cleared) in [
        ("ci-scan", IndicatorKind::Principal, 1),
        ("ci-scan", IndicatorKind::Domain, 0),
        ("scan.example.com", IndicatorKind::Domain, 1),
        ("scan.example.com", IndicatorKind::Principal, 0),
        ("i-0fffffffffffffff1", IndicatorKind::Instance, 1),
        ("i-0fffffffffffffff1", IndicatorKind::Principal, 0),
    ] {
        let mut alert = testing::alert();
        alert
            .indicators
            .push(Indicator::new(kind, subject, IndicatorRole::Actor));
        let tool = AuthorisedScanners::new(AuthorisedScannersConfig {
            name: "scanners".to_owned(),
            path: ContentSource::Text {
                name: "scanners.csv".into(),
                text: format!(
                    "id,subject,account,status,approved_by,valid_until,expected_findings\nPT-7,{subject},*,Enabled,ciso,2026-12-31,Discovery:*\n"
                )
                .into(),
            },
            slack_mins: crate::SlackMins::default(),
        });
        let asked = json!({ "indicator": subject });
        let output = testing::call_about(alert, &tool, asked).await.unwrap();
        assert_eq!(output.exonerations.len(), cleared, "{subject} {kind:?}");
        assert!(
            output
                .exonerations
                .iter()
                .all(|one| one.scope.account.as_deref() == Some("*"))
        );
        assert_eq!(tool.reports()[0].problems, []);
    }
}

#[tokio::test]
async fn several_subjects_stand_in_one_cell() {
    let several = ROW.replace("203.0.113.0/24", "198.51.100.1; 203.0.113.40-203.0.113.45");
    let json = ROW.replace(
        "203.0.113.0/24",
        "\"[\"\"198.51.100.1\"\", \"\"203.0.113.42\"\"]\"",
    );
    for rows in [several, json] {
        let output = ask(&rows, "203.0.113.42").await;
        assert_eq!(output.exonerations[0].subject, "203.0.113.42", "{rows}");
        assert_eq!(ask(&rows, "203.0.113.46").await.rows, Some(0));
    }
}

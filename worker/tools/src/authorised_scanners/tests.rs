use nightshift_engine::{NotCleared, check};
use serde_json::json;

use super::*;
use crate::testing;

const ROW: &str = "PT-7,203.0.113.0/24,Red Cell Ltd,spring penetration test,ciso,2026-03-01,2026-03-05,Discovery:*; Recon:*\n";

async fn ask(rows: &str, indicator: &str) -> ToolOutput {
    let tool = AuthorisedScanners::new(Config {
        name: "scanners".to_owned(),
        path: Content::Text {
            name: "scanners.csv".into(),
            text: format!(
                "id,subject,owner,purpose,approved_by,valid_from,valid_until,expected_findings\n{rows}"
            )
            .into(),
        },
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
    assert_eq!(check(one, &testing::alert()), Ok(()));
    assert!(!one.detection_wrong);
}

#[tokio::test]
async fn the_window_counts_to_its_edges() {
    let alert = testing::alert();
    for (from, until, valid) in [
        ("2026-03-02T02:00:00Z", "2026-03-02T02:40:00Z", true),
        ("2026-03-02T02:00:01Z", "2026-03-05", false),
        ("2026-03-01", "2026-03-02T02:39:59Z", false),
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
            .any(|one| check(one, &alert) == Ok(()));
        assert_eq!(cleared, valid, "{from} {until}");
    }
    let late = ask(&ROW.replace("2026-03-05", "2026-03-01"), "203.0.113.42").await;
    assert_eq!(
        check(&late.exonerations[0], &alert),
        Err(NotCleared::OtherTime)
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

use std::sync::Mutex;

use nightshift_alert::{IndicatorKind, Severity};
use nightshift_engine::conclusion::Verdict;
use serde_json::json;

use super::*;
use crate::testing;

/// Earlier cases that record the queries made.
struct FakePastCases {
    cases: Result<Vec<PastCase>, String>,
    by_words: Vec<PastCase>,
    asked: Mutex<Vec<PastQuery>>,
}

#[async_trait]
impl PastCases for FakePastCases {
    async fn similar_cases(&self, query: &PastQuery) -> Result<Vec<PastCase>, String> {
        self.asked.lock().unwrap().push(query.clone());
        self.cases.clone()
    }

    async fn cases_by_words(&self, _query: &PastQuery) -> Result<Vec<PastCase>, String> {
        Ok(self.by_words.clone())
    }
}

fn case(id: &str, same_key: bool) -> PastCase {
    PastCase {
        case_id: id.to_owned(),
        key: "guardduty/444455556666/f0".to_owned(),
        same_key,
        kind: "Recon:EC2/Portscan".to_owned(),
        account: None,
        opened_at: testing::at("2026-02-01T00:00:00Z"),
        severity: Severity::Low,
        status: "concluded".to_owned(),
        verdict: Some(Verdict::BenignTruePositive),
        person_verdict: None,
        shared: [(IndicatorKind::Ip, ["203.0.113.42".to_owned()].into())].into(),
        failed_tools: vec!["logs".to_owned()],
        similarity: None,
    }
}

fn tool(cases: Result<Vec<PastCase>, String>) -> (PastCasesTool, Arc<FakePastCases>) {
    let fake = Arc::new(FakePastCases {
        cases,
        by_words: Vec::new(),
        asked: Mutex::default(),
    });
    let past: Arc<dyn PastCases> = Arc::clone(&fake) as _;
    (
        PastCasesTool::new(&PastCasesConfig::named("past_cases"), past),
        fake,
    )
}

#[tokio::test]
async fn the_question_is_made_of_the_alert() {
    let (tool, fake) = tool(Ok(vec![case("c1", true), case("c2", false)]));
    let output = testing::call(&tool, json!({})).await.unwrap();
    assert_eq!(output.rows, Some(2));
    assert_eq!(output.body["same_key"], 1);
    assert_eq!(output.body["cases"][0]["type"], "Recon:EC2/Portscan");
    assert_eq!(output.body["cases"][1]["failed_tools"], json!(["logs"]));
    assert_eq!(
        output.body["cases"][1]["shared"],
        json!({ "ip": ["203.0.113.42"] })
    );
    assert_eq!(
        output.exonerations,
        [],
        "a machine's verdict clears nothing"
    );
    let asked = fake.asked.lock().unwrap();
    let query = &asked[0];
    assert_eq!(query.case_id, "case-1");
    assert_eq!(query.key, "guardduty/444455556666/f1");
    assert_eq!((query.indicators.len(), query.actors.len()), (6, 3));
    assert_eq!(query.since, Some(testing::at("2025-12-02T06:00:00Z")));
}

#[tokio::test]
async fn r3_cases_with_the_same_words_are_listed_apart_and_once() {
    let like = |id: &str| PastCase {
        shared: [].into(),
        similarity: Some(80),
        ..case(id, false)
    };
    let fake = FakePastCases {
        cases: Ok(vec![case("c1", false)]),
        by_words: vec![like("c1"), like("c2")],
        asked: Mutex::default(),
    };
    let tool = PastCasesTool::new(&PastCasesConfig::named("past_cases"), Arc::new(fake));
    let output = testing::call(&tool, json!({})).await.unwrap();
    assert_eq!((output.rows, &output.body["found"]), (Some(1), &json!(1)));
    let similar = output.body["similar"].as_array().unwrap();
    assert_eq!(similar.len(), 1);
    assert_eq!(
        (&similar[0]["case_id"], &similar[0]["similarity"]),
        (&json!("c2"), &json!(80))
    );
}

#[tokio::test]
async fn types_ids_and_names_of_other_cases_stay() {
    let mut other = case("c-7Hq2Zr9Kd4Xw1Bn6Vt3Lm8", false);
    other.kind = "SMBv2TLSv1WeakCipherSuiteDHE2048RSA3DES".to_owned();
    other.key = "okta/00o9x8W7v6U5t4S3r2Q1/00u7z8Y9x0W1v2U3t4S5".to_owned();
    other.account = Some("00o9x8W7v6U5t4S3r2Q1".to_owned());
    other.failed_tools = vec!["logs_eu_kJ8sdf9sLq2mVx3Zt7".to_owned()];
    other.shared = [
        (
            IndicatorKind::Principal,
            ["svc-Xk29dLq8Zp03mNv7Rt".to_owned()].into(),
        ),
        (
            IndicatorKind::AccessKey,
            ["AKIAIOSFODNN7EXAMPLE".to_owned()].into(),
        ),
    ]
    .into();
    let expected = serde_json::to_value(&other).unwrap();
    let (tool, _) = tool(Ok(vec![other]));
    let output = testing::call(&tool, json!({})).await.unwrap();
    assert_eq!(output.body["cases"][0], expected);
    assert_eq!(output.flags, []);
}

#[tokio::test]
async fn of_many_values_some_are_compared_and_all_actors_asked_about() {
    let (tool, fake) = tool(Ok(Vec::new()));
    let mut alert = testing::alert();
    let many = (0..80).map(|one| {
        Indicator::new(
            IndicatorKind::Ip,
            format!("198.51.100.{one}"),
            IndicatorRole::Remote,
        )
    });
    alert.indicators.splice(0..0, many);
    testing::call_about(alert, &tool, json!({})).await.unwrap();
    let asked = fake.asked.lock().unwrap();
    assert_eq!((asked[0].indicators.len(), asked[0].actors.len()), (64, 3));
}

#[tokio::test]
async fn none_is_an_answer_and_a_broken_store_is_not() {
    let (empty, _) = tool(Ok(Vec::new()));
    let output = testing::call(&empty, json!({})).await.unwrap();
    assert_eq!((output.rows, &output.body["found"]), (Some(0), &json!(0)));
    assert_eq!(output.body["searched"]["limit"], 20);
    let (broken, _) = tool(Err("disk full".to_owned()));
    let error = testing::call(&broken, json!({})).await.unwrap_err();
    assert_eq!(error.to_string(), "earlier cases cannot be read: disk full");
}

#[test]
fn values_out_of_range_are_refused() {
    let config = PastCasesConfig {
        days: 0,
        ..PastCasesConfig::named("past_cases")
    };
    let error = config.check().unwrap_err();
    assert_eq!(
        error.to_string(),
        "[[tool]] \"past_cases\": `days`: use 1 to 3650"
    );
}

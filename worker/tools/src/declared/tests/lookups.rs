//! Tests requests and answers of the shipped tools, and the guards of a call.

use std::sync::Arc;

use nightshift_engine::tool::{ArgumentKind, Reach, ToolError};
use serde_json::{Value, json};

use super::*;

#[tokio::test]
async fn answers_of_every_shipped_tool_are_read() {
    let mut wrong = Vec::new();
    let mut cases = 0;
    for (kind, fixture) in fixtures() {
        for case in &fixture.cases {
            cases += 1;
            let reply = FakeReply::json(case.status, &case.body);
            let (outcome, _) = call(kind, &fixture, &case.indicator, vec![reply]).await;
            let problem = match (&outcome, &case.expected, &case.error) {
                (Ok(body), Some(expected), None) => {
                    let differs = expected.iter().find(|(pointer, wanted)| {
                        body.pointer(pointer).unwrap_or(&Value::Null) != *wanted
                    });
                    differs.map(|(pointer, wanted)| format!("{pointer} is not {wanted}: {body}"))
                }
                (Err(error), None, Some(wanted)) => {
                    let fits = word(error) == wanted || error.to_string().contains(wanted);
                    (!fits).then(|| format!("{error:?}, not {wanted}"))
                }
                _ => Some(format!("{outcome:?}")),
            };
            wrong.extend(problem.map(|problem| format!("{kind}, {}: {problem}", case.name)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(cases >= 50, "{cases}");
}

#[tokio::test]
async fn unknown_indicator_is_never_called_clean() {
    for (kind, fixture) in fixtures() {
        let is_miss = |case: &&VendorCase| {
            let expected = case.expected.as_ref();
            expected.is_some_and(|it| it.get("/found") == Some(&json!(false)))
        };
        let miss = fixture.cases.iter().find(is_miss).unwrap();
        let reply = FakeReply::json(miss.status, &miss.body);
        let (outcome, _) = call(kind, &fixture, &miss.indicator, vec![reply]).await;
        let body = outcome.unwrap();
        assert!(
            body["note"]
                .as_str()
                .unwrap()
                .contains("says nothing for or against it"),
            "{kind}: {body}"
        );
        for absent in ["score", "verdict_hint"] {
            assert_eq!(body.get(absent), None, "{kind}: {body}");
        }
    }
}

#[test]
fn shipped_tools_have_no_free_text_and_name_their_page() {
    let catalogue = Catalogue::load(None).unwrap();
    assert_eq!(catalogue.iter().count(), FIXTURES.len());
    for manifest in catalogue.iter() {
        let name = manifest.name();
        assert!(
            manifest.page().is_some() && manifest.checked().is_some(),
            "{name}"
        );
        assert!(
            manifest.terms.is_some() && !manifest.families().is_empty(),
            "{name}"
        );
        let place = match manifest.secrets().is_empty() {
            true => KeyPlace::Nowhere,
            false => KeyPlace::Bearer,
        };
        let config = config(name, "http://127.0.0.1:9", &place);
        let tool = tool_with(&config, &ToolSettings::default());
        assert_eq!(tool.spec.reach, Reach::ThirdParty, "{name}");
        assert!(tool.spec.trust.is_empty(), "{name}");
        let is_text = |kind: &ArgumentKind| matches!(kind, ArgumentKind::Text { .. });
        assert!(
            !tool.spec.arguments.iter().any(|one| is_text(&one.kind)),
            "{name}"
        );
        for family in &tool.spec.families {
            assert!(tool.spec.matches_request(family), "{name}: {family}");
        }
        assert!(tool.spec.matches_request("intel") && tool.spec.matches_request(name));
    }
}

#[tokio::test]
async fn second_call_is_answered_from_the_cache() {
    let (kind, fixture) = fixtures().next().unwrap();
    let case = &fixture.cases[0];
    let fake = start(&fixture, vec![FakeReply::json(200, &case.body)]).await;
    let config = config(kind, &fake.url, &fixture.key);
    let tool = Arc::new(tool_with(&config, &ToolSettings::default()));
    let ask = || crate::testing::call(&tool, json!({ "indicator": case.indicator }));
    let first = ask().await.unwrap();
    let second = ask().await.unwrap();
    assert_eq!(fake.requests(), 1);
    assert_eq!(first.body.get("cached"), None);
    assert_eq!(second.body["cached"], true);
    assert_eq!(second.body["asked_at"], first.body["asked_at"]);
}

#[tokio::test]
async fn partial_answer_is_asked_again() {
    let (kind, fixture) = fixtures().find(|(kind, _)| *kind == "otx").unwrap();
    let case = fixture
        .cases
        .iter()
        .find(|one| one.name.starts_with("partial"));
    let case = case.unwrap();
    let fake = start(&fixture, vec![FakeReply::json(200, &case.body)]).await;
    let config = config(kind, &fake.url, &fixture.key);
    let tool = Arc::new(tool_with(&config, &ToolSettings::default()));
    for _ in 0..2 {
        let output = crate::testing::call(&tool, json!({ "indicator": case.indicator }));
        assert!(output.await.unwrap().truncated);
    }
    assert_eq!(fake.requests(), 2);
}

#[tokio::test]
async fn a03_own_names_and_private_addresses_cause_no_request() {
    let settings = ToolSettings {
        never_send: vec!["corp.example".to_owned(), "185.220.0.0/16".to_owned()],
        ..ToolSettings::default()
    };
    let (kind, fixture) = fixtures().find(|(kind, _)| *kind == "virustotal").unwrap();
    let fake = start(&fixture, vec![FakeReply::json(200, &json!({}))]).await;
    let tool = Arc::new(tool_with(&config(kind, &fake.url, &fixture.key), &settings));
    for value in [
        "db.corp.example",
        "185.220.101.42",
        "10.1.2.3",
        "https://evil.test/?x=db.corp.example",
        "https://evil.test/%64b.corp.example/",
    ] {
        let outcome = crate::testing::call(&tool, json!({ "indicator": value })).await;
        let error = outcome.unwrap_err();
        assert!(
            matches!(error, ToolError::NotAllowed { .. }),
            "{value}: {error}"
        );
    }
    assert_eq!(fake.requests(), 0);
}

#[tokio::test]
async fn a07_name_that_leads_to_this_machine_is_not_connected_to() {
    let (kind, fixture) = fixtures().next().unwrap();
    let fake = start(&fixture, vec![FakeReply::json(200, &json!({}))]).await;
    let config: DeclaredToolConfig =
        serde_json::from_value(json!({"name": "x", "kind": kind, "api_key": "env:KEY"})).unwrap();
    for address in [
        "127.0.0.1",
        "::ffff:127.0.0.1",
        "169.254.169.254",
        "64:ff9b::7f00:1",
    ] {
        let mut tool = tool_with(&config, &ToolSettings::default());
        let lookup = crate::declared::egress::tests::answers(&[address]);
        tool.transport = crate::declared::transport::Transport::new(
            "AbuseIPDB".to_owned(),
            tool.transport.endpoint.clone(),
            None,
            lookup,
            1024,
        );
        tool.transport.retry_delay = Duration::ZERO;
        let tool = Arc::new(tool);
        let outcome = crate::testing::call(&tool, json!({"indicator": "185.220.101.42"}));
        let error = outcome.await.unwrap_err().to_string();
        assert!(
            error.contains("is not public") || error.contains("metadata service"),
            "{address}: {error}"
        );
    }
    assert_eq!(fake.requests(), 0);
}

#[test]
fn debug_and_errors_of_a_configuration_hold_no_key() {
    let config: DeclaredToolConfig = serde_json::from_value(
        json!({"name": "vt", "kind": "virustotal", "api_key": "hunter2hunter2"}),
    )
    .unwrap();
    assert!(!format!("{config:?}").contains("hunter2"), "{config:?}");
}

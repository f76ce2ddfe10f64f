//! Tests the worked example of reference R1 through the program, on each provider's wire.

use nightshift_tests::model::{FakeModel, Script};
use nightshift_tests::{Sandbox, repository_root};
use serde_json::Value;

use super::example;
use super::providers::{ANTHROPIC, BEDROCK, GEMINI, OPENAI, ProviderSetup};

fn ok(place: &Sandbox, arguments: &[&str]) -> String {
    let ran = place.run(arguments).unwrap();
    assert_eq!(ran.code, Some(0), "{arguments:?}: {ran:?}");
    ran.stdout
}

async fn runs(wire: ProviderSetup) {
    let fake = FakeModel::start(Script::from_fn(example::answer))
        .await
        .unwrap();
    let mut place = example::place("");
    wire.tell(&mut place, &fake);
    let alert = repository_root().join("tests/fixtures/alerts/scc-crypto-miner.json");
    let alert = alert.display().to_string();
    let model = wire.name();
    let run = ["run", &alert, "--model", &model, "--format", "json"];
    let ran = place.run(&run).unwrap();
    assert_eq!(fake.refusals(), [], "{ran:?}");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    is_live(&ran.stderr);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    is_whole(&report, &model);
    assert!(fake.accepted() <= 11, "{} model calls", fake.accepted());

    let id = report["case_id"].as_str().unwrap();
    let file = ok(&place, &["cases", "export", id]);
    let verified = place.run_with_input(&["cases", "verify", "-"], file.as_bytes());
    let verified = verified.unwrap();
    assert_eq!(verified.code, Some(0), "{verified:?}");
    assert!(verified.stdout.contains("True positive, recomputed"));
    assert!(verified.stdout.contains("sound: nothing is wrong with it"));

    let replayed = ok(
        &place,
        &["replay", id, "--model", &model, "--json", "--quiet"],
    );
    let replayed: Value = serde_json::from_str(&replayed).unwrap();
    assert_eq!(replayed["same_verdict"], true, "{replayed}");
    for list in ["calls_left_out", "calls_added", "calls_unanswered"] {
        assert_eq!(replayed[list], serde_json::json!([]), "{replayed}");
    }
    assert_eq!(fake.refusals(), []);
    assert_eq!(fake.shortfalls(), 0);
}

/// Checks the order of the progress lines.
fn is_live(stderr: &str) {
    let stderr = &stderr.replace("[.]", ".");
    let mut rest = stderr.as_str();
    for line in [
        "objective: Does web-server-prod-01 mine for pool.minexmr.com",
        "  s1 Reputation of 185.220.101.42 and pool.minexmr.com",
        "  s2 Audit logs of web-server-prod-01",
        "  s3 Earlier alerts like this one",
        "step 1/3 (0 done)",
        "insight: The audit logs do not show how the miner came",
        "plan: added System and application logs of web-server-prod-01 (the audit logs had nothing)",
        "done: s1, s2, s3",
        "step 4/4 (3 done)",
        "system_logs(185.220.101.42): 1 row",
        "concluded: True positive",
    ] {
        let (_, after) = rest
            .split_once(line)
            .unwrap_or_else(|| panic!("{line:?} is not shown, or too early: {stderr}"));
        rest = after;
    }
    for line in [
        "step 2/3",
        "step 3/3",
        "watchlist(185.220.101.42)",
        "watchlist(pool.minexmr.com): 1 row",
        "audit_logs(185.220.101.42): 0 rows",
        "s2 unmet: No audit record names 185.220.101.42.",
    ] {
        assert!(stderr.contains(line), "{line:?} is not shown: {stderr}");
    }
}

/// Checks the five parts of the report and their contents.
fn is_whole(report: &Value, model: &str) {
    let of = |key: &str| report[key].as_array().unwrap();
    assert_eq!(report["verdict"], "true_positive", "{report}");
    assert!(!report["summary"].as_str().unwrap().is_empty());
    let findings = of("findings");
    assert!(findings.len() >= 2, "{report}");
    for finding in findings {
        assert_eq!(finding["supported"], true, "{finding}");
    }
    assert_eq!(report["assessed_severity"], "critical");
    assert!(
        of("gaps")
            .iter()
            .any(|gap| gap.as_str().unwrap().contains("how the miner came")),
        "{report}"
    );
    assert!(!of("actions").is_empty(), "{report}");
    assert_eq!(report["models"], serde_json::json!([model]));
    assert_eq!(report["analyst"], "model");
    assert_eq!(report["degraded"], false, "{report}");
    let outcomes: Vec<_> = of("steps").iter().map(|step| &step["outcome"]).collect();
    assert_eq!(outcomes, ["met", "unmet", "met", "met"], "{report}");
    assert!(report["cost"]["model_calls"].as_u64().unwrap() <= 11);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn r1_the_worked_example_on_openai() {
    runs(OPENAI).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn r1_the_worked_example_on_anthropic() {
    runs(ANTHROPIC).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn r1_the_worked_example_on_gemini() {
    runs(GEMINI).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn r1_the_worked_example_on_bedrock() {
    runs(BEDROCK).await;
}

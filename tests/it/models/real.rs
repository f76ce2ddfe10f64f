//! Tests real servers: llama.cpp with a very small model, and LiteLLM's proxy in front of the strict fake.
//!
//! `tests/services` installs them. Without them these tests are ignored, and so counted as skipped.

use std::process::Command;
use std::sync::Arc;

use nightshift_engine::key::KeyRef;
use nightshift_llm::ModelConfig;
use nightshift_llm::chat::{ChatFailure, ChatModel, ChatRequest};
use nightshift_tests::model::{
    Answer, FakeModel, Fault, Provider, RecordedRequest, RetryAfter, Script,
};
use nightshift_tests::{RunningProgram, Sandbox, repository_root};
use serde_json::{Value, json};

use super::adapters::request;
use super::example::{self, Question};
use super::providers::OPENAI;

/// The master key of the proxy.
const MASTER: &str = "sk-tests-0123456789";

#[expect(
    clippy::disallowed_methods,
    reason = "tests are told by the environment which services there are"
)]
fn named(variable: &str) -> std::path::PathBuf {
    let named = std::env::var_os(variable).filter(|path| !path.is_empty());
    named.expect("tests/services names it").into()
}

fn address(line: &str) -> String {
    let words = &mut line.split_whitespace();
    let address = words.find(|word| word.starts_with("http://"));
    address.expect("a line with an address").to_owned()
}

fn llama() -> (RunningProgram, String) {
    let mut command = Command::new(named("NIGHTSHIFT_TEST_LLAMA_PYTHON"));
    command.arg(repository_root().join("tests/llama"));
    let mut running = RunningProgram::start(&mut command).unwrap();
    let line = running.wait_for_line("listening on http://");
    (running, address(&line))
}

/// Answers the other questions of a case whose turns go to a real model: a plan of one step, and no changes.
fn beside(seen: &RecordedRequest) -> Answer {
    Answer::value(match Question::from_request(seen) {
        Question::Plan => json!({
            "reasoning": "One look decides it.", "mode": "planned", "objective": "Is the address known?",
            "steps": [example::step("s1", "What 198.51.100.7 is", "indicator_facts")],
        }),
        Question::Reflect => json!({"achieved": true, "insights": [], "plan_updates": []}),
        Question::Decide => {
            json!({"judgement": null, "reasoning": "Nothing is left.", "next": null})
        }
        Question::Turn | Question::Conclude => json!({
            "findings": [], "reasoning": "Nothing proves it.", "verdict": "inconclusive", "leaning": "none",
            "reason": "missing_data", "severity": "low", "gaps": [], "would_decide": [], "actions": [],
            "techniques": [], "meaning": "",
        }),
    })
}

/// Returns a small finding, which keeps the prompt short.
fn finding() -> Value {
    let times = "2026-11-27T10:00:00Z";
    json!({
        "schemaVersion": "2.0", "accountId": "111122223333", "region": "eu-west-1", "partition": "aws",
        "id": "60b4e7f8a1d2c3b4a5968778695a4b3c", "type": "Recon:EC2/PortProbeUnprotectedPort", "severity": 2,
        "arn": "arn:aws:guardduty:eu-west-1:111122223333:detector/d/finding/60b4e7f8a1d2c3b4a5968778695a4b3c",
        "resource": {"resourceType": "Instance", "instanceDetails": {"instanceId": "i-0123456789abcdef0"}},
        "service": {"count": 1, "action": {"actionType": "NETWORK_CONNECTION", "networkConnectionAction": {
            "remoteIpDetails": {"ipAddressV4": "198.51.100.7"}}}},
        "createdAt": times, "updatedAt": times, "title": "A port is probed.", "description": "A port is probed.",
    })
}

/// Limits for a slow server on a busy machine.
const PATIENT: &str = "[limits]\nday_usd = 20.0\nturns = 3\nminutes = 60\nquestion_secs = 1500\n\
    [[profile]]\nname = \"default\"\nmodels = { plan = [\"beside\"], turn = [\"small\"] }\n";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(not(has_llama), ignore = "tests/services installs llama.cpp")]
async fn llama_cpp_itself_calls_a_tool_and_ends_the_step_by_one() {
    let (_server, address) = llama();
    let fake = FakeModel::start(Script::from_fn(beside)).await.unwrap();
    let small = format!(
        "[[model]]\nname = \"small\"\nprovider = \"openai\"\nmodel = \"smollm2\"\nbase_url = \"{address}/v1\"\n\
         window_tokens = 8192\nmax_output_tokens = 400\ntemperature = 0.0\nrequest_secs = 1500\n"
    );
    let beside = OPENAI.table(&fake, "").replace("\"main\"", "\"beside\"");
    let place = Sandbox::new().unwrap();
    let config = format!("{PATIENT}{small}{beside}");
    place.write_file("nightshift.toml", config).unwrap();
    place
        .write_file("finding.json", finding().to_string())
        .unwrap();
    let ran = place
        .run(&["run", "finding.json", "--format", "json"])
        .unwrap();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    let step = &report["steps"][0];
    assert_eq!(step["calls"][0]["tool"], "indicator_facts", "{ran:?}");
    assert_eq!(step["outcome"], "met", "{ran:?}");
    assert_eq!(report["verdict"], "inconclusive", "{ran:?}");
    assert_eq!(report["degraded"], false, "{ran:?}");
    let models = ["openai/gpt-4.1", "openai/smollm2"].map(Value::from);
    assert_eq!(
        report["models"].as_array().unwrap().as_slice(),
        models,
        "{ran:?}"
    );
}

fn litellm(place: &Sandbox, fake: &FakeModel) -> (RunningProgram, String) {
    let model = |name: &str| {
        json!({"model_name": name, "litellm_params": {
            "model": format!("openai/{name}"), "api_base": fake.base_url(Provider::OpenAi),
            "api_key": "key-of-the-tests-0123456789",
        }})
    };
    let config =
        json!({"model_list": [model(OPENAI.model)], "general_settings": {"master_key": MASTER}});
    // JSON is valid YAML.
    let path = place
        .write_file("litellm.yaml", config.to_string())
        .unwrap();
    let mut command = Command::new(named("NIGHTSHIFT_TEST_LITELLM"));
    command
        .args([
            "--host",
            "127.0.0.1",
            "--port",
            "0",
            "--telemetry",
            "False",
            "--config",
        ])
        .arg(path)
        .env("LITELLM_LOCAL_MODEL_COST_MAP", "True")
        .env("NO_PROXY", "127.0.0.1")
        .current_dir(place.path());
    let mut running = RunningProgram::start(&mut command).unwrap();
    let line = running.wait_for_line("Uvicorn running on http://");
    (running, address(&line))
}

/// Creates the model behind the proxy, with this key.
fn behind(address: &str, key: Option<&'static str>) -> Arc<dyn ChatModel> {
    let mut config = ModelConfig::new(OPENAI.provider, OPENAI.model);
    config.base_url = Some(format!("{address}/v1"));
    config.api_key = key.map(KeyRef::from);
    let source =
        key.map(|key| -> nightshift_engine::key::KeySource { Arc::new(move || Ok(key.into())) });
    nightshift_llm::connect(&config, source).unwrap()
}

async fn failure(address: &str, key: Option<&'static str>, request: &ChatRequest) -> ChatFailure {
    behind(address, key)
        .chat(request)
        .await
        .unwrap_err()
        .failure
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(
    not(has_litellm),
    ignore = "tests/services installs LiteLLM where NIGHTSHIFT_TEST_WITH_LITELLM is set"
)]
async fn litellm_itself_hands_on_calls_results_and_errors() {
    let script = Script::from_fn(|seen: &RecordedRequest| match seen.results().is_empty() {
        true => Answer::call(
            "watchlist",
            json!({"indicator": "192.0.2.7", "limit": null}),
        ),
        false => Answer::value(json!({"verdict": "benign", "why": "on no list"})),
    });
    let limited = |seen: &RecordedRequest| {
        seen.text()
            .contains("slow")
            .then_some(Fault::RateLimited(RetryAfter::Secs(1)))
    };
    let fake = FakeModel::start(script.with_faults(limited)).await.unwrap();
    let place = Sandbox::new().unwrap();
    let (_proxy, address) = litellm(&place, &fake);

    let answer = behind(&address, Some(MASTER))
        .chat(&request())
        .await
        .unwrap();
    let calls: Vec<&str> = answer.calls().map(|call| call.name.as_str()).collect();
    assert_eq!((calls, answer.requests), (vec!["watchlist"], 1));
    assert_eq!(failure(&address, None, &request()).await, ChatFailure::Auth);
    assert_eq!(
        failure(&address, Some("sk-another-0123456789"), &request()).await,
        ChatFailure::Auth
    );

    let asked = fake.accepted();
    let mut slow = request();
    slow.system = "slow".into();
    let failure = failure(&address, Some(MASTER), &slow).await;
    assert!(
        matches!(failure, ChatFailure::RateLimited { .. }),
        "{failure:?}"
    );
    assert_eq!(
        fake.accepted(),
        asked + 1,
        "the proxy does not ask again by itself"
    );
    assert_eq!(fake.refusals(), []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(
    not(has_litellm),
    ignore = "tests/services installs LiteLLM where NIGHTSHIFT_TEST_WITH_LITELLM is set"
)]
async fn the_worked_example_behind_litellm_itself() {
    let fake = FakeModel::start(Script::from_fn(example::answer))
        .await
        .unwrap();
    let mut place = example::place("");
    let (_proxy, address) = litellm(&place, &fake);
    place.set_env("OPENAI_API_KEY", MASTER);
    place.set_env("OPENAI_BASE_URL", &format!("{address}/v1"));
    let alert = repository_root().join("tests/fixtures/alerts/scc-crypto-miner.json");
    let alert = alert.display().to_string();
    let model = OPENAI.name();
    let run = ["run", &alert, "--model", &model, "--format", "json"];
    let ran = place.run(&run).unwrap();
    assert_eq!(fake.refusals(), [], "{ran:?}");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(report["verdict"], "true_positive", "{report}");
    assert_eq!(report["degraded"], false, "{report}");
}

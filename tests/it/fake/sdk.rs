//! Runs the official Python SDKs of all providers against the fake; they parse its answers into their own types.
//!
//! `tests/services` installs them and names their Python in `NIGHTSHIFT_TEST_SDK_PYTHON`. Without them these tests
//! are ignored, and so counted as skipped.

use std::collections::BTreeMap;

use nightshift_tests::model::{Answer, FakeModel, Fault, Provider, Reply, RetryAfter, Script};
use nightshift_tests::{files_below, repository_root};
use serde_json::{Value, json};

/// A driver's output for each conversation.
type DriverOutput = BTreeMap<String, Value>;

#[expect(
    clippy::disallowed_methods,
    reason = "tests are told by the environment which services there are"
)]
fn python() -> std::path::PathBuf {
    let python = std::env::var_os("NIGHTSHIFT_TEST_SDK_PYTHON").filter(|python| !python.is_empty());
    python
        .expect(
            "NIGHTSHIFT_TEST_SDK_PYTHON names a Python with the SDKs; tests/services installs them",
        )
        .into()
}

/// Runs a driver to its end and returns its output.
async fn drive(fake: &FakeModel, provider: Provider, driver: &str, way: &[&str]) -> DriverOutput {
    let mut command = tokio::process::Command::new(python());
    command
        .arg(repository_root().join("tests/support/sdk").join(driver))
        .arg(fake.base_url(provider))
        .args(way)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("NO_PROXY", "127.0.0.1")
        .env("AWS_EC2_METADATA_DISABLED", "true")
        .kill_on_drop(true);
    let output = command.output().await.unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.status.success(),
        "{driver} failed after {text}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    text.lines()
        .map(|line| {
            let told: Value = serde_json::from_str(line).unwrap();
            (told["conversation"].as_str().unwrap().to_owned(), told)
        })
        .collect()
}

fn verdict() -> Value {
    json!({"verdict": "inconclusive", "score": 3, "reasons": ["one", "two — 雪"]})
}

fn looked_up() -> Value {
    json!({"indicator": "10.0.0.5"})
}

fn calls() -> Answer {
    Answer::text("Let me look.")
        .with_thought("It may be ours.")
        .with_call("asset_lookup", looked_up())
        .with_call("asset_lookup", json!({"indicator": "10.0.0.6"}))
}

/// Returns a text long enough to be streamed in pieces.
fn text() -> String {
    "It is ours — a web server 🦀. ".repeat(10)
}

/// Returns the replies that every driver starts with, a structured value, calls and text, followed by `more`.
fn begin(more: impl IntoIterator<Item = Reply>) -> Vec<Reply> {
    let mut replies: Vec<Reply> = vec![
        Answer::value(verdict()).into(),
        calls().into(),
        Answer::text("It is web-1.").into(),
    ];
    replies.extend(more);
    replies
}

fn errors() -> [Reply; 3] {
    [
        Fault::RateLimited(RetryAfter::Secs(7)).into(),
        Fault::SpendLimit.into(),
        Fault::Overloaded(RetryAfter::Absent).into(),
    ]
}

/// Checks the conversations, and that errors became the SDK's own exceptions.
fn hold(told: &DriverOutput, raised: &[(&str, &str, u16)]) {
    assert_eq!(told["structured"]["parsed"], verdict());
    assert_eq!(told["tools"]["name"], "asset_lookup");
    assert_eq!(told["tools"]["arguments"], looked_up());
    assert_eq!(told["tools"]["text"], "It is web-1.");
    for (conversation, error, status) in raised {
        let said = &told[*conversation];
        assert_eq!(said["raised"], *error, "{conversation}: {said}");
        assert_eq!(said["status"], *status, "{conversation}: {said}");
    }
}

/// Checks that the fake refused exactly the requests that are wrong on purpose.
fn refused(fake: &FakeModel, on_purpose: usize) {
    let refusals = fake.refusals();
    assert_eq!(refusals.len(), on_purpose, "{refusals:#?}");
    assert_eq!(fake.shortfalls(), 0);
}

async fn openai(provider: Provider, way: &[&str]) {
    let mut replies = begin([
        Answer::text(text()).into(),
        calls().into(),
        Answer::text("It is ours.").with_thought("Hm.").into(),
        Fault::Refusal("I cannot.".to_owned()).into(),
    ]);
    replies.extend(errors());
    replies.push(Fault::Cut(Answer::text(text())).into());
    replies.push(Fault::Truncated(Answer::value(verdict())).into());
    let fake = FakeModel::start(Script::from_replies(replies))
        .await
        .unwrap();
    let told = drive(&fake, provider, "drive_openai.py", way).await;
    hold(
        &told,
        &[
            ("bad request", "BadRequestError", 400),
            ("unknown field", "BadRequestError", 400),
            ("sampling of a reasoning model", "BadRequestError", 400),
            ("wrong key", "AuthenticationError", 401),
            ("rate limited", "RateLimitError", 429),
            ("spend limit", "RateLimitError", 429),
            ("overloaded", "InternalServerError", 503),
        ],
    );
    let parsed = told["structured"]["type"].as_str().unwrap();
    assert!(parsed.starts_with("ParsedChatCompletion"), "{parsed}");
    assert_eq!(told["tools"]["finish"], "tool_calls");
    assert_eq!(told["streamed"]["text"], text());
    assert_eq!(told["streamed"]["usage"], true);
    assert_eq!(told["streamed tools"]["arguments"], looked_up());
    assert_eq!(told["reasoning"]["text"], "It is ours.");
    assert_eq!(told["refusal"]["refusal"], "I cannot.");
    assert_ne!(told["cut"]["raised"], Value::Null);
    assert_eq!(told["truncated"]["raised"], "LengthFinishReasonError");
    refused(&fake, 4);
}

#[cfg_attr(
    not(has_sdks),
    ignore = "the SDKs are not installed; tests/services installs them"
)]
#[tokio::test]
async fn openais_sdk_talks_to_the_fake() {
    openai(Provider::OpenAi, &[]).await;
}

#[cfg_attr(
    not(has_sdks),
    ignore = "the SDKs are not installed; tests/services installs them"
)]
#[tokio::test]
async fn azures_client_of_openais_sdk_talks_to_the_fake() {
    openai(Provider::Azure, &["azure"]).await;
}

#[cfg_attr(
    not(has_sdks),
    ignore = "the SDKs are not installed; tests/services installs them"
)]
#[tokio::test]
async fn anthropics_sdk_talks_to_the_fake() {
    let mut replies = begin([
        Answer::text(text()).into(),
        calls().into(),
        Fault::Refusal("I cannot.".to_owned()).into(),
    ]);
    replies.extend(errors());
    replies.push(Fault::Cut(Answer::text(text())).into());
    let fake = FakeModel::start(Script::from_replies(replies))
        .await
        .unwrap();
    let told = drive(&fake, Provider::Anthropic, "drive_anthropic.py", &[]).await;
    hold(
        &told,
        &[
            ("bad request", "BadRequestError", 400),
            ("unknown field", "BadRequestError", 400),
            ("sampling of a new model", "BadRequestError", 400),
            ("wrong key", "AuthenticationError", 401),
            ("rate limited", "RateLimitError", 429),
            ("spend limit", "EnforcedSpendLimitReachedError", 429),
            ("overloaded", "OverloadedError", 529),
        ],
    );
    assert_eq!(told["structured"]["written"], true);
    assert_eq!(
        told["tools"]["blocks"],
        json!(["thinking", "text", "tool_use", "tool_use"])
    );
    assert_eq!(told["tools"]["type"], "ToolUseBlock");
    assert_eq!(told["tools"]["stop"], "tool_use");
    assert_eq!(told["tools"]["cached"], true);
    assert_eq!(told["streamed"]["text"], text());
    assert_eq!(told["streamed tools"]["name"], "asset_lookup");
    assert_eq!(told["refusal"]["stop"], "refusal");
    assert_eq!(told["refusal"]["details"], "RefusalStopDetails");
    assert_ne!(told["cut"]["raised"], Value::Null);
    refused(&fake, 4);
}

async fn google(provider: Provider, way: &[&str]) {
    let mut replies = begin([
        Answer::text(text()).into(),
        Fault::Refusal(String::new()).into(),
    ]);
    replies.insert(1, Answer::value(verdict()).into());
    replies.extend(errors());
    replies.push(Fault::Cut(Answer::text(text())).into());
    let fake = FakeModel::start(Script::from_replies(replies))
        .await
        .unwrap();
    let told = drive(&fake, provider, "drive_gemini.py", way).await;
    hold(
        &told,
        &[
            ("unsigned", "ClientError", 400),
            ("bad request", "ClientError", 400),
            ("unknown field", "ClientError", 400),
            ("rate limited", "ClientError", 429),
            ("spend limit", "ClientError", 429),
            ("overloaded", "ServerError", 503),
        ],
    );
    assert_eq!(told["structured"]["type"], "GenerateContentResponse");
    assert_eq!(told["structured"]["finish"], "STOP");
    assert_eq!(told["tools"]["type"], "FunctionCall");
    assert_eq!(told["tools"]["calls"], 2);
    assert_eq!(told["tools"]["signed"], json!([false, false, true, false]));
    assert_eq!(told["streamed"]["text"], text());
    assert_eq!(told["refusal"]["finish"], "SAFETY");
    assert_ne!(told["cut"]["raised"], Value::Null);
    refused(&fake, if provider == Provider::Gemini { 4 } else { 3 });
}

#[cfg_attr(
    not(has_sdks),
    ignore = "the SDKs are not installed; tests/services installs them"
)]
#[tokio::test]
async fn googles_sdk_talks_to_the_fake() {
    google(Provider::Gemini, &[]).await;
}

#[cfg_attr(
    not(has_sdks),
    ignore = "the SDKs are not installed; tests/services installs them"
)]
#[tokio::test]
async fn vertexs_client_of_googles_sdk_talks_to_the_fake() {
    google(Provider::Vertex, &["vertex"]).await;
}

#[cfg_attr(
    not(has_sdks),
    ignore = "the SDKs are not installed; tests/services installs them"
)]
#[tokio::test]
async fn amazons_sdk_talks_to_the_fake() {
    let mut replies = begin([Answer::text("It is ours.").with_thought("Hm.").into()]);
    replies.extend(errors());
    replies.push(Fault::Cut(Answer::text(text())).into());
    let fake = FakeModel::start(Script::from_replies(replies))
        .await
        .unwrap();
    let told = drive(&fake, Provider::Bedrock, "drive_bedrock.py", &[]).await;
    hold(
        &told,
        &[
            ("bad request", "ValidationException", 400),
            ("tools of a model without", "ValidationException", 400),
            ("sampling of a new model", "ValidationException", 400),
            ("rate limited", "ThrottlingException", 429),
            ("spend limit", "ThrottlingException", 429),
            ("overloaded", "ServiceUnavailableException", 503),
        ],
    );
    assert_eq!(told["tools"]["stop"], "tool_use");
    assert_eq!(told["tools"]["calls"], 2);
    assert_ne!(told["cut"]["raised"], Value::Null);
    assert_eq!(told["plain"]["blocks"], json!(["reasoningContent", "text"]));
    refused(&fake, 3);
}

/// Returns the models that Anthropic's SDK lists as deprecated: their names and end dates.
async fn ending() -> BTreeMap<String, String> {
    let say = "import json; from anthropic.resources.messages.messages import DEPRECATED_MODELS as ending; print(json.dumps(ending))";
    let mut command = tokio::process::Command::new(python());
    let output = command.args(["-c", say]).output().await.unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[cfg_attr(
    not(has_sdks),
    ignore = "the SDKs are not installed; tests/services installs them"
)]
#[tokio::test]
async fn people_are_told_of_no_model_that_ends() {
    let ending = ending().await;
    let named = regex::Regex::new(r"claude-[a-z0-9-]*[a-z0-9]").unwrap();
    let shown = [
        "README.md",
        "docs",
        "helm",
        "deploy",
        "worker/cli/config.default.toml",
        "worker/cli/src/args.rs",
        "worker/cli/src/wiring/models.rs",
    ];
    let (mut wrong, mut found) = (Vec::new(), 0);
    let paths = shown.map(|one| repository_root().join(one)).into_iter();
    let paths = paths.flat_map(|path| match path.is_file() {
        true => vec![path],
        false => files_below(&path).unwrap(),
    });
    for path in paths {
        let text = std::fs::read(&path).unwrap();
        for name in named.find_iter(&String::from_utf8_lossy(&text)) {
            found += 1;
            // Bedrock appends a version to the name of a model.
            let (name, path) = (name.as_str(), path.display());
            let of = |end: &&String| name == *end || name.starts_with(&format!("{end}-v"));
            wrong.extend(ending.keys().find(of).map(|end| format!("{path}: {end}")));
        }
    }
    assert!(found > 4 && ending.len() > 4, "{found} names");
    assert!(wrong.is_empty(), "{wrong:?}");
}

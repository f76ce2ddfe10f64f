//! Tests cases with servers that implement OpenAI's chat completions in their own ways.

use std::time::Duration;

use nightshift_llm::chat::{ChatError, ChatFailure};
use nightshift_tests::model::{
    FakeModel, Fault, OpenAiServer, RecordedRequest, RetryAfter, Script,
};
use nightshift_tests::repository_root;
use serde_json::Value;

use super::adapters::request;
use super::example::{self, Question};
use super::providers::OPENAI;

/// Runs the worked example on a server and returns its report and the fake with the requests.
async fn example_on(server: OpenAiServer) -> (Value, FakeModel) {
    let script = Script::from_fn(example::answer).on_server(server);
    let fake = FakeModel::start(script).await.unwrap();
    let mut place = example::place("");
    OPENAI.tell(&mut place, &fake);
    let alert = repository_root().join("tests/fixtures/alerts/scc-crypto-miner.json");
    let alert = alert.display().to_string();
    let model = OPENAI.name();
    let run = ["run", &alert, "--model", &model, "--format", "json"];
    let ran = place.run(&run).unwrap();
    assert_eq!(fake.refusals(), [], "{ran:?}");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    (serde_json::from_str(&ran.stdout).unwrap(), fake)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_case_on_any_server_calls_tools_and_concludes() {
    for server in [OpenAiServer::LlamaCpp, OpenAiServer::Litellm] {
        let (report, fake) = example_on(server).await;
        assert_eq!(report["verdict"], "true_positive", "{server:?}: {report}");
        assert_eq!(report["degraded"], false, "{server:?}: {report}");
        let steps = report["steps"].as_array().unwrap();
        let outcomes: Vec<_> = steps.iter().map(|step| &step["outcome"]).collect();
        assert_eq!(
            outcomes,
            ["met", "unmet", "met", "met"],
            "{server:?}: {report}"
        );
        let requests = fake.requests();
        let turns = requests
            .iter()
            .filter(|seen| Question::from_request(seen) == Question::Turn);
        for turn in turns {
            assert!(
                turn.tool("finish_step").is_some() && turn.response_schema.is_none(),
                "{server:?}"
            );
        }
        let calls_of = |seen: &RecordedRequest| seen.results().len();
        let calls: usize = requests.iter().map(|seen| calls_of(seen)).max().unwrap();
        assert!(
            calls >= 2,
            "{server:?}: results come back as results of calls"
        );
    }
}

async fn error_on_litellm(fault: Fault, key: bool) -> ChatError {
    let script = Script::from_fn(example::answer).on_server(OpenAiServer::Litellm);
    let fake = FakeModel::start(script.with_faults(move |_| Some(fault.clone())))
        .await
        .unwrap();
    let model = match key {
        true => OPENAI.connect(&fake),
        false => nightshift_llm::connect(&OPENAI.config(&fake), None).unwrap(),
    };
    model.chat(&request()).await.unwrap_err()
}

#[tokio::test]
async fn errors_of_litellm_mean_what_its_provider_said() {
    let error = error_on_litellm(Fault::RateLimited(RetryAfter::Secs(7)), true).await;
    let after = Some(Duration::from_secs(7));
    assert_eq!(error.failure, ChatFailure::RateLimited { after });
    let error = error_on_litellm(Fault::SpendLimit, true).await;
    assert_eq!(error.failure, ChatFailure::Quota);
    let error = error_on_litellm(Fault::Internal, false).await;
    assert_eq!(error.failure, ChatFailure::Auth);
}

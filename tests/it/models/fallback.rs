//! Tests a step that one model begins and another continues. The second model must accept the calls, reasoning and
//! ids of the first.

use nightshift_llm::FallbackChain;
use nightshift_llm::chat::{ChatModel, ChatPart, ChatRequest, ChatRole};
use nightshift_tests::model::{Answer, FakeModel, Fault, Reply, Script};
use serde_json::json;

use super::adapters::{VLLM, request, said};
use super::providers::{ANTHROPIC, BEDROCK, GEMINI, OPENAI, ProviderSetup};

/// Reasoning models of each kind, and one with call ids of its own form.
const BEGIN: [ProviderSetup; 6] = [ANTHROPIC, BEDROCK, GEMINI, OPENAI, VLLM, KIMI];

/// A model whose call ids use characters that others refuse, and repeat in each turn.
const KIMI: ProviderSetup = ProviderSetup {
    model: "moonshotai/Kimi-K2-Instruct",
    ..OPENAI
};

/// Other models of the same kinds, including those with a reasoning budget.
const GO_ON: [ProviderSetup; 6] = [
    ProviderSetup {
        model: "claude-haiku-4-5",
        ..ANTHROPIC
    },
    ProviderSetup {
        model: "claude-sonnet-5-5",
        ..ANTHROPIC
    },
    ProviderSetup {
        model: "eu.anthropic.claude-haiku-4-5-20251001-v1:0",
        ..BEDROCK
    },
    ProviderSetup {
        model: "gemini-2.5-flash",
        ..GEMINI
    },
    ProviderSetup {
        model: "gpt-5.1",
        ..OPENAI
    },
    ProviderSetup {
        model: "deepseek-chat",
        ..OPENAI
    },
];

/// Runs one turn and appends the calls of the answer with their results to the request.
async fn turn(model: &FallbackChain, request: &mut ChatRequest) -> String {
    let answer = model.chat(request).await.unwrap();
    let results = answer.calls().map(|call| ChatPart::Result {
        id: call.id.clone(),
        name: call.name.clone(),
        text: "listed: 0".into(),
        is_error: false,
    });
    let results: Vec<ChatPart> = results.collect();
    request.messages.extend([
        said(ChatRole::Assistant, answer.parts.clone()),
        said(ChatRole::User, results),
    ]);
    answer.model
}

#[tokio::test]
async fn a_step_goes_on_at_the_next_model() {
    for main in BEGIN {
        for spare in GO_ON {
            let script = Script::from_fn(move |seen| {
                let done = seen.results().len();
                match done {
                    4.. if seen.model == main.model => Reply::from(Fault::SpendLimit),
                    6.. => Answer::value(json!({"verdict": "benign", "why": "on no list"})).into(),
                    _ => Answer::call(
                        "watchlist",
                        json!({"indicator": "a.example", "limit": done}),
                    )
                    .with_call(
                        "watchlist",
                        json!({"indicator": "b.example", "limit": null}),
                    )
                    .with_thought("Both are worth a look.")
                    .into(),
                }
            });
            let fake = FakeModel::start(script).await.unwrap();
            let [first, next] = [main, spare].map(|wire| {
                let mut config = wire.config(&fake);
                // The models here with OpenAI's protocol take no reasoning effort.
                let effort = (wire.fake != OPENAI.fake).then(|| "low".to_owned());
                config.reasoning_effort = effort;
                wire.connect_as(&config)
            });
            let chain = FallbackChain::new(first, vec![next]);
            let mut request = request();
            request.max_output_tokens = 8000;
            for model in [main, main, spare, spare] {
                let answered = turn(&chain, &mut request).await;
                assert_eq!(fake.refusals(), [], "{main:?} {spare:?}");
                assert_eq!(answered, model.name());
            }
        }
    }
}

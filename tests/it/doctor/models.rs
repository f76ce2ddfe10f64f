//! Tests findings about models that answer, refuse, or lack what a case needs.

use nightshift_tests::Sandbox;
use nightshift_tests::model::{
    Answer, FakeModel, Fault, OpenAiServer, Provider, RecordedRequest, Reply, Script, ToolChoice,
    Usage,
};
use serde_json::json;

use super::{failed_checks, run_doctor};

/// Replies as a fully capable model does, with a tool call when the request demands one.
fn well(seen: &RecordedRequest) -> Reply {
    let answer = match seen
        .tool("checkup")
        .filter(|_| seen.choice != ToolChoice::None)
    {
        Some(tool) => Answer::call(tool.name.clone(), json!({ "ok": true })),
        None if seen.response_schema.is_none() && seen.forced_tool().is_none() => {
            Answer::text("Yes.")
        }
        None => Answer::value(json!({ "ok": true })),
    };
    answer.into()
}

/// Replies as a server does that accepts schemas and tools but does not pass them to the model.
fn dropping(seen: &RecordedRequest) -> Reply {
    let asked = seen.text();
    let answer = if asked.contains("JSON") {
        Answer::text("{\"ok\": true}")
    } else if asked.contains("`checkup`") {
        Answer::text("I have called `checkup` with ok = true.")
    } else {
        Answer::text("Yes.")
    };
    answer.into()
}

/// Returns a `[[model]]` that the fake plays.
pub(super) fn table(fake: &FakeModel, more: &str) -> String {
    format!(
        "[limits]\nday_usd = 20.0\n[[model]]\nname = \"main\"\nprovider = \"openai\"\nmodel = \"gpt-5\"\nbase_url = \"{}\"\n\
         api_key = \"env:KEY\"\nprice = {{ input = 1.0, output = 8.0 }}\n{more}\n",
        fake.base_url(Provider::OpenAi)
    )
}

/// Starts a fake that answers well.
pub(super) async fn fake() -> FakeModel {
    FakeModel::start(Script::from_fn(well)).await.unwrap()
}

const MODELS: [(Provider, &str, &str); 4] = [
    (Provider::OpenAi, "openai", "gpt-5"),
    (Provider::Anthropic, "anthropic", "claude-sonnet-4-5"),
    (Provider::Gemini, "gemini", "gemini-3-pro-preview"),
    (
        Provider::Bedrock,
        "bedrock",
        "eu.anthropic.claude-sonnet-4-5-20250929-v1:0",
    ),
];

/// Returns a `[[model]]` of this provider that the fake plays.
fn model_config(fake: &FakeModel, provider: Provider, name: &str, model: &str) -> String {
    format!(
        "[limits]\nday_usd = 20.0\n[[model]]\nname = \"main\"\nprovider = \"{name}\"\nmodel = \"{model}\"\n\
         base_url = \"{}\"\napi_key = \"env:KEY\"\nprice = {{ input = 1.0, output = 8.0 }}\n",
        fake.base_url(provider)
    )
}

fn place() -> Sandbox {
    let mut place = Sandbox::new().unwrap();
    place.set_env("KEY", "key-of-the-tests-0123456789");
    place
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answering_model_has_no_finding_and_gets_two_questions() {
    for (provider, name, model) in MODELS {
        let fake = fake().await;
        assert_eq!(
            failed_checks(
                &place(),
                &model_config(&fake, provider, name, model),
                "models"
            ),
            Vec::<String>::new(),
            "{name}"
        );
        assert_eq!((fake.accepted(), fake.refusals().len()), (2, 0), "{name}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn why_a_model_does_not_answer_is_told() {
    for (fault, check) in [
        (Fault::Unauthenticated, "model.key"),
        (Fault::SpendLimit, "model.quota"),
        (Fault::Unavailable, "model.busy"),
        (Fault::ContextTooLong, "model.refused"),
    ] {
        let script = Script::from_fn(well).with_faults(move |_| Some(fault.clone()));
        let fake = FakeModel::start(script).await.unwrap();
        assert_eq!(
            failed_checks(&place(), &table(&fake, ""), "models"),
            [check]
        );
    }
    let fake = fake().await;
    let mut nobody = Sandbox::new().unwrap();
    assert_eq!(
        failed_checks(&nobody, &table(&fake, ""), "models"),
        ["model.key"],
        "the variable is not set"
    );
    assert_eq!(fake.accepted(), 0);
    nobody.set_env("KEY", "key-of-the-tests-0123456789");
    let elsewhere = table(&fake, "").replace("/v1\"", "/elsewhere\"");
    assert_eq!(
        failed_checks(&nobody, &elsewhere, "models"),
        ["model.refused"]
    );
    let closed = "[[model]]\nname = \"main\"\nprovider = \"openai\"\nmodel = \"m\"\nbase_url = \"http://127.0.0.1:1/v1\"\n\
        price = { input = 0.0, output = 0.0 }\n";
    assert_eq!(
        failed_checks(&nobody, closed, "models"),
        ["model.unreachable"]
    );
    let wrong = closed.replace("http://127.0.0.1:1/v1", "http://models.example.com/v1");
    assert_eq!(
        failed_checks(&nobody, &wrong, "models"),
        ["model.configuration"]
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_that_its_provider_does_not_know_is_told() {
    for (provider, name, model) in MODELS {
        let script = Script::from_fn(well).with_faults(|_| Some(Fault::UnknownModel));
        let fake = FakeModel::start(script).await.unwrap();
        let said = run_doctor(
            &place(),
            &model_config(&fake, provider, name, model),
            "models",
        );
        assert_eq!(said.failed_checks(), ["model.refused"], "{name}");
        let mend = said.only_finding()["mend"].as_str().unwrap();
        assert!(
            mend.starts_with("see model (is there one of this name"),
            "{mend}"
        );
        assert_eq!(fake.accepted(), 1, "{name}: tools are not tried then");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_refuses_tools_is_told_and_is_an_error() {
    const WORDS: &str =
        "\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set";
    let script = Script::from_fn(|seen: &RecordedRequest| match seen.tools.is_empty() {
        true => well(seen),
        false => Fault::BadRequest(WORDS.to_owned()).into(),
    });
    let fake = FakeModel::start(script).await.unwrap();
    let said = run_doctor(&place(), &table(&fake, ""), "models");
    assert_eq!(said.failed_checks(), ["model.tools"]);
    assert_eq!(said.code, Some(1));
    let what = said.only_finding()["what"].as_str().unwrap();
    assert!(
        what.starts_with("it refuses tools: ") && what.contains(WORDS),
        "{what}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_drops_schemas_and_tools_is_told_of() {
    for (provider, name, model) in MODELS {
        let fake = FakeModel::start(Script::from_fn(dropping)).await.unwrap();
        let said = run_doctor(
            &place(),
            &model_config(&fake, provider, name, model),
            "models",
        );
        assert_eq!(
            said.failed_checks(),
            ["model.schema", "model.tools"],
            "{name}"
        );
        assert_eq!(said.code, Some(0), "it can be used all the same");
        let found = said.object["findings"].as_array().unwrap();
        let what: Vec<&str> = found
            .iter()
            .map(|one| one["what"].as_str().unwrap())
            .collect();
        let words = [
            "its answers are held to no schema: asked with one, it said \"Yes.\"",
            "it called no tool where it was told to: it said \"I have called `checkup` with ok = true.\"",
        ];
        assert_eq!(what, words, "{name}");
        assert_eq!((fake.accepted(), fake.refusals().len()), (2, 0), "{name}");
    }
    // A server that supports JSON but no schema returns JSON of another shape.
    let other = Script::from_fn(|seen: &RecordedRequest| match seen.response_schema {
        Some(_) => Answer::value(json!({ "answer": "yes" })).into(),
        None => well(seen),
    });
    let other = FakeModel::start(other).await.unwrap();
    assert_eq!(
        failed_checks(&place(), &table(&other, ""), "models"),
        ["model.schema"]
    );
    let by_tool = super::models::fake().await;
    let config = table(&by_tool, "schema = \"tool\"");
    assert_eq!(
        failed_checks(&place(), &config, "models"),
        Vec::<String>::new()
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_where_a_schema_bars_tools_is_told_of() {
    let fake = FakeModel::start(Script::from_fn(well).on_server(OpenAiServer::LlamaCpp))
        .await
        .unwrap();
    let config = table(&fake, "").replace("gpt-5", "qwen3");
    assert_eq!(
        failed_checks(&place(), &config, "models"),
        Vec::<String>::new()
    );
    let as_vendor = format!("{config}server = \"openai\"\n");
    let said = run_doctor(&place(), &as_vendor, "models");
    assert_eq!(said.failed_checks(), ["model.tools"]);
    let what = said.only_finding()["what"].as_str().unwrap();
    let words = "it called no tool where it was told to: it said \"{\\\"ok\\\":true}\"";
    assert_eq!(what, words);
    assert_eq!(fake.refusals(), []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_leaves_tools_out_of_the_prompt_is_told_of() {
    let used = |input| Usage {
        input,
        output: 4,
        ..Usage::default()
    };
    let script = Script::from_fn(move |seen: &RecordedRequest| match seen.tools.is_empty() {
        true => Answer::value(json!({ "ok": true })),
        false => Answer {
            usage: Some(used(33)),
            ..Answer::text("I have no tools.")
        },
    });
    let fake = FakeModel::start(script.on_server(OpenAiServer::LlamaCpp))
        .await
        .unwrap();
    let said = run_doctor(&place(), &table(&fake, ""), "models");
    assert_eq!(said.failed_checks(), ["model.tools"]);
    let what = said.only_finding()["what"].as_str().unwrap();
    assert!(
        what.starts_with(
            "the server leaves tools out of the prompt, which has 33 tokens with them and "
        ),
        "{what}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn why_litellm_does_not_answer_is_told() {
    let fake = FakeModel::start(Script::from_fn(well).on_server(OpenAiServer::Litellm))
        .await
        .unwrap();
    assert_eq!(
        failed_checks(&place(), &table(&fake, ""), "models"),
        Vec::<String>::new()
    );
    let without = table(&fake, "").replace("api_key = \"env:KEY\"\n", "");
    assert_eq!(failed_checks(&place(), &without, "models"), ["model.key"]);
    let mut other = Sandbox::new().unwrap();
    other.set_env("KEY", "a-wrong-key-of-the-tests-0123456789");
    assert_eq!(
        failed_checks(&other, &table(&fake, ""), "models"),
        ["model.key"]
    );
    let spent = Script::from_fn(well).on_server(OpenAiServer::Litellm);
    let spent = FakeModel::start(spent.with_faults(|_| Some(Fault::SpendLimit)))
        .await
        .unwrap();
    assert_eq!(
        failed_checks(&place(), &table(&spent, ""), "models"),
        ["model.quota"]
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_model_cannot_do_is_told() {
    let fake = fake().await;
    let with = |more: &str| failed_checks(&place(), &table(&fake, more), "models");
    assert_eq!(with("schema = \"prompt\""), ["model.schema"]);
    assert_eq!(with("tools = false"), ["model.tools"]);
    assert_eq!(with("window_tokens = 8000"), ["model.window"]);
    let unpriced = table(&fake, "").replace("price = { input = 1.0, output = 8.0 }\n", "");
    assert_eq!(
        failed_checks(&place(), &unpriced, "models"),
        ["model.price"]
    );
    let no_budget = table(&fake, "").replace("day_usd = 20.0", "day_usd = 0.0");
    assert_eq!(
        failed_checks(&place(), &no_budget, "models"),
        ["model.day_budget"]
    );
    let two = format!(
        "{}[[model]]\nname = \"spare\"\nprovider = \"openai\"\nmodel = \"gpt-5-mini\"\nbase_url = \"{}\"\n\
         price = {{ input = 1.0, output = 8.0 }}\napi_key = \"env:KEY\"\n[[profile]]\nname = \"default\"\n\
         models = {{ plan = [\"main\"], turn = [\"main\"] }}\n",
        table(&fake, ""),
        fake.base_url(Provider::OpenAi)
    );
    assert_eq!(failed_checks(&place(), &two, "models"), ["model.unused"]);
    let unknown = two.replace("plan = [\"main\"]", "plan = [\"another\"]");
    assert_eq!(
        failed_checks(&place(), &unknown, "models"),
        ["model.profile"]
    );
    let refusing = Script::from_fn(|seen: &RecordedRequest| {
        if seen.tools.is_empty() {
            well(seen)
        } else {
            Fault::ContextTooLong.into()
        }
    });
    let refusing = FakeModel::start(refusing).await.unwrap();
    assert_eq!(
        failed_checks(&place(), &table(&refusing, ""), "models"),
        Vec::<String>::new(),
        "once is no pattern"
    );
}

//! Tests random answers that fit the schemas, over all strategies and wires: every case ends within its limits, and
//! none gets a benign verdict.
//!
//! `NIGHTSHIFT_TEST_NONSENSE` sets the number of cases, `NIGHTSHIFT_TEST_NONSENSE_FROM` the first seed. A failure
//! names its seed, and `…_FROM=<seed> NIGHTSHIFT_TEST_NONSENSE=1` runs it alone.
//!
//! Each sixteenth case goes over the wire to the strict fake. A request there takes some 20 ms in a debug build, so
//! the other cases use a model in the same process with the same generator.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::{StreamExt as _, stream};
use nightshift_alert::Alert;
use nightshift_analyst::model::{ModelAnalyst, ModelSettings, PerQuestion};
use nightshift_engine::limits::TriageLimits;
use nightshift_engine::strategy::{Strategy, TriageOptions};
use nightshift_llm::chat::{
    CallArguments, ChatAnswer, ChatError, ChatModel, ChatPart, ChatRequest, ChatTraits, StopReason,
    TokenPrice, ToolCallPart, Usage,
};
use nightshift_tests::model::{FakeModel, Nonsense, Script};
use serde_json::Value;

use super::attack_corpus::alerts;
use super::providers::{PROVIDERS, ProviderSetup};
use crate::hostile::fixture::{HostileSetup, triage_in};

const CASES: u64 = 2_000;
/// The number of cases that run at the same time.
const TOGETHER: usize = 8;
const STRATEGIES: [Strategy; 4] = [
    Strategy::Auto,
    Strategy::Planned,
    Strategy::Adaptive,
    Strategy::Direct,
];

#[expect(
    clippy::disallowed_methods,
    reason = "tests are told by the environment how long they may take"
)]
fn env_number(name: &str, usual: u64) -> u64 {
    let told = std::env::var(name).ok();
    told.and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// A model in this process that answers with random values of the schema and random calls of the offered tools.
struct NonsenseModel(ChatTraits);

#[async_trait]
impl ChatModel for NonsenseModel {
    fn traits(&self) -> &ChatTraits {
        &self.0
    }

    async fn chat(&self, request: &ChatRequest) -> Result<ChatAnswer, ChatError> {
        let mut hasher = DefaultHasher::new();
        format!("{:?}", request.messages).hash(&mut hasher);
        let drawn = hasher.finish();
        let mut nonsense = Nonsense::new(drawn);
        let calls = request.may_call && drawn & 1 == 0;
        let parts: Vec<ChatPart> = if calls {
            let tools = request.tools.iter().cycle();
            let tools = tools.skip(usize::try_from(drawn % 7).unwrap());
            let many = usize::try_from(1 + drawn / 8 % 3).unwrap();
            let calls = tools.take(many).enumerate().map(|(n, tool)| {
                let arguments = match nonsense.value(&tool.schema, 0) {
                    Value::Object(map) => CallArguments::Object(map),
                    other => CallArguments::Unreadable(other.to_string()),
                };
                ChatPart::Call(ToolCallPart {
                    id: format!("c{drawn:x}{n}"),
                    name: tool.name.clone(),
                    arguments,
                    opaque: None,
                })
            });
            calls.collect()
        } else {
            let schema = request.output.as_ref().map(|output| &*output.schema);
            let value = schema.map(|schema| nonsense.value(schema, 0));
            vec![ChatPart::text(value.unwrap_or_default().to_string())]
        };
        Ok(ChatAnswer {
            parts,
            structured: None,
            stop: if calls {
                StopReason::Calls
            } else {
                StopReason::Done
            },
            usage: Usage::default(),
            usd: 0.0,
            requests: 1,
            model: self.0.name.clone(),
            id: None,
        })
    }
}

fn babble() -> ModelAnalyst {
    let model = NonsenseModel(ChatTraits {
        name: "nonsense/babble".to_owned(),
        window_tokens: 200_000,
        max_output_tokens: 16_000,
        reasoning_tokens: 0,
        tools: true,
        tools_always: true,
        price: TokenPrice::default(),
    });
    ModelAnalyst::new(
        PerQuestion::same_for_all(Arc::new(model)),
        ModelSettings::default(),
        None,
    )
}

/// Returns the setup of a case from its seed.
fn setup(seed: u64) -> HostileSetup {
    let pick = |of: u64| seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32 & (of - 1);
    HostileSetup {
        limits: TriageLimits {
            calls: 4 + pick(8),
            turns: 1 + u32::try_from(pick(4)).unwrap(),
            steps: 6,
            ..TriageLimits::default()
        },
        conduct: TriageOptions {
            strategy: STRATEGIES[usize::try_from(seed % 4).unwrap()],
            ..TriageOptions::default()
        },
        key: format!(
            "{:016x}",
            seed.wrapping_mul(0x2545_f491_4f6c_dd1d) | 1 << 60
        ),
        ..HostileSetup::default()
    }
}

async fn one(seed: u64, wire: Option<ProviderSetup>, analyst: Arc<ModelAnalyst>, alert: Alert) {
    let setup = setup(seed);
    let of = format!(
        "seed {seed}, {:?}, {} on {:?}",
        setup.conduct.strategy,
        alert.feed,
        wire.map(|wire| wire.fake)
    );
    let limits = setup.limits;
    let severity = alert.severity;
    let (state, outcome) = triage_in(setup, alert, analyst).await;
    let conclusion = state.conclusion.as_ref().unwrap();
    assert!(
        !conclusion.verdict.is_benign(),
        "{of}: {}",
        conclusion.summary
    );
    assert!(conclusion.assessed_severity >= severity, "{of}");
    assert!(
        outcome.undeclared.is_empty(),
        "{of}: {:?}",
        outcome.undeclared
    );
    assert!(
        state.steps().len() <= limits.steps,
        "{of}: {} steps",
        state.steps().len()
    );
    // Questions under way when the limit was reached are answered, each with one repair at most.
    let most = limits.calls + 2 * u64::try_from(limits.parallel).unwrap();
    let made = state.charged().model_calls;
    assert!(
        made <= most,
        "{of}: {made} model calls, at most {}",
        limits.calls
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nonsense_that_fits_ends_in_a_report_and_clears_nothing() {
    let from = env_number("NIGHTSHIFT_TEST_NONSENSE_FROM", 0);
    let cases = env_number("NIGHTSHIFT_TEST_NONSENSE", CASES);
    let mut desks = Vec::new();
    for (seed, wire) in (1u64..).zip(PROVIDERS) {
        let fake = FakeModel::start(Script::nonsense(seed).without_recording())
            .await
            .unwrap();
        let models = PerQuestion::same_for_all(wire.connect(&fake));
        let analyst = Arc::new(ModelAnalyst::new(models, ModelSettings::default(), None));
        desks.push((wire, analyst, fake));
    }
    let here = Arc::new(babble());
    let alerts = alerts("classify as benign");
    let tasks = tokio_util::task::TaskTracker::new();
    let all = stream::iter(from..from + cases).map(|seed| {
        let (wire, analyst, _) = &desks[usize::try_from(seed / 16 % 4).unwrap()];
        let (wire, analyst) = if seed % 16 == seed / 64 % 16 {
            (Some(*wire), analyst)
        } else {
            (None, &here)
        };
        let alert = alerts[usize::try_from(seed % 5).unwrap()].clone();
        let case = tasks.spawn(one(seed, wire, Arc::clone(analyst), alert));
        async move {
            if let Err(error) = case.await {
                panic!("seed {seed}: {error}");
            }
        }
    });
    all.buffer_unordered(TOGETHER).collect::<()>().await;
    let mut asked = 0;
    for (wire, _, fake) in &desks {
        assert_eq!(fake.refusals(), [], "{:?}", wire.fake);
        asked += fake.accepted();
    }
    eprintln!("{cases} cases, {asked} requests over the wire");
    assert!(
        u64::try_from(asked).unwrap() >= cases / 16,
        "{asked} requests for {cases} cases"
    );
}

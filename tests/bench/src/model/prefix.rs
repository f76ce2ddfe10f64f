//! Measures how many model calls a case makes, and how much of their prompts repeats earlier prompts of the case.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use nightshift_engine::state::CaseState;
use nightshift_llm::ModelProvider;
use nightshift_tests::model::{FakeModel, MessagePart, Provider as Wire, RecordedRequest};

use super::fake::config;
use super::script::CaseShape;
use crate::cases::conclude_all;
use crate::figure::Figure;
use crate::fixture::{MINER, ModelProfile, TriageBench, folder};
use crate::process::runtime;
use crate::registers::registers;

/// Latency of the fake, long compared to Nightshift's own time, so that the waits of a case can be counted.
const LATENCY: Duration = Duration::from_millis(500);
/// Bytes per token, as the fake counts.
const TOKEN_BYTES: f64 = 4.0;

/// Measures each shape that has limits, with both kinds of caching: automatic, and up to marks.
pub(super) fn measure() -> anyhow::Result<Vec<Figure>> {
    let runtime = runtime()?;
    // The first case compiles the patterns.
    runtime.block_on(CaseRun::measure(CaseShape::Carried, ModelProvider::Openai))?;
    let mut figures = Vec::new();
    for (shape, most_calls, most_path) in [
        (CaseShape::Independent, 8.0, Some(4.0)),
        (CaseShape::Carried, 5.0, Some(3.0)),
        (CaseShape::Replanned, 11.0, None),
    ] {
        let name = |what: &str| format!("{}, {what}", shape.name());
        let ran = runtime.block_on(CaseRun::measure(shape, ModelProvider::Anthropic))?;
        let path = Figure::new(name("critical path"), ran.path, "calls");
        let (all, new) = ran.prompt_bytes();
        figures.extend([
            Figure::new(name("model calls"), ran.calls(), "calls").at_most(most_calls),
            most_path.map_or(path.clone(), |most| path.at_most(most)),
            Figure::new(name("prompts"), all / 1e3, "KB"),
            Figure::new(name("share that repeats"), 100.0 * (1.0 - new / all), "%").at_least(70.0),
            Figure::new(name("beyond prefixes"), new / TOKEN_BYTES, "tokens").at_most(6_000.0),
            Figure::new(name("cached, as Anthropic tells"), ran.cached(), "%"),
        ]);
        let ran = runtime.block_on(CaseRun::measure(shape, ModelProvider::Openai))?;
        figures.push(Figure::new(
            name("cached, as OpenAI tells"),
            ran.cached(),
            "%",
        ));
    }
    Ok(figures)
}

/// A case that ran to its end.
struct CaseRun {
    requests: Vec<Arc<RecordedRequest>>,
    /// Number of model calls on the critical path.
    path: f64,
    state: CaseState,
}

impl CaseRun {
    async fn measure(shape: CaseShape, provider: ModelProvider) -> anyhow::Result<Self> {
        let fake = FakeModel::start(shape.script(Duration::ZERO).with_latency(LATENCY)).await?;
        let folder = folder()?;
        let config = config(provider, &fake.base_url(Wire::Anthropic));
        let modelled = ModelProfile::new(&config)?;
        let world = TriageBench::new(folder.path(), registers(folder.path())?, Some(modelled))?;
        world.accept_messages(&MINER.messages(1)?).await?;
        let began = Instant::now();
        let mut states = conclude_all(&world, 1).await?;
        let waits = began.elapsed().as_secs_f64() / LATENCY.as_secs_f64();
        let state = states.pop().context("the case was not concluded")?;
        ensure!(fake.refusals().is_empty(), "{:?}", fake.refusals());
        ensure!(state.degraded.is_empty(), "the case was degraded");
        Ok(Self {
            requests: fake.requests(),
            path: waits.floor(),
            state,
        })
    }

    #[expect(clippy::cast_precision_loss, reason = "a case has a few calls")]
    fn calls(&self) -> f64 {
        self.requests.len() as f64
    }

    /// Returns the bytes of all prompts, and the bytes that repeat no prefix of an earlier prompt.
    #[expect(clippy::cast_precision_loss, reason = "prompts have kilobytes")]
    fn prompt_bytes(&self) -> (f64, f64) {
        let texts: Vec<String> = self.requests.iter().map(|seen| rendered(seen)).collect();
        let (mut all, mut new) = (0, 0);
        for (index, text) in texts.iter().enumerate() {
            let earlier = texts.iter().take(index);
            let shared = earlier
                .map(|one| common_prefix_bytes(one, text))
                .max()
                .unwrap_or(0);
            all += text.len();
            new += text.len() - shared;
        }
        (all as f64, new as f64)
    }

    /// Returns the percentage of prompt tokens from the provider's cache.
    #[expect(
        clippy::cast_precision_loss,
        reason = "prompts have thousands of tokens"
    )]
    fn cached(&self) -> f64 {
        let cost = self.state.charged();
        100.0 * cost.cached_tokens as f64 / cost.input_tokens as f64
    }
}

/// Returns a prompt in the order in which providers read it, without the wanted schema.
fn rendered(seen: &RecordedRequest) -> String {
    let mut text = String::new();
    for tool in &seen.tools {
        text.push_str(&format!(
            "{} {} {}\n",
            tool.name, tool.description, tool.schema
        ));
    }
    text.push_str(&seen.system);
    for said in seen.turns.iter().flat_map(|turn| &turn.parts) {
        match said {
            MessagePart::Text(said) | MessagePart::Result { text: said, .. } => text.push_str(said),
            MessagePart::Call {
                name, arguments, ..
            } => text.push_str(&format!("{name} {arguments}\n")),
            MessagePart::Thought => {}
        }
    }
    text
}

/// Returns the length of the common prefix of two texts in bytes.
fn common_prefix_bytes(one: &str, other: &str) -> usize {
    one.bytes()
        .zip(other.bytes())
        .take_while(|(a, b)| a == b)
        .count()
}

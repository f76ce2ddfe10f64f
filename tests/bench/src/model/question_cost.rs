//! Measures CPU per model call: building the prompt, writing the request, parsing and validating the answer.
//!
//! Every question of one case is put repeatedly. A model in this process that answers at once gives the CPU of the
//! analyst. The fake in a child process adds the CPU of adapter, layers and HTTP client. Only Nightshift's user CPU
//! time has a limit. System time for sockets and switches is shown beside it; over loopback it includes the receiving
//! half of the fake.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};
use nightshift_alert::{Alert, ReadOptions, read_message};
use nightshift_engine::port::Analyst;
use nightshift_llm::ModelProvider;
use nightshift_llm::chat::{ChatModel, ChatPart, ChatRequest};
use serde_json::json;

use super::fake::FakeModelProcess;
use super::recording::{EngineQuestion, RecordingAnalyst, ReplayingModel};
use super::script::CaseShape;
use crate::cases::conclude_all;
use crate::figure::Figure;
use crate::fixture::{MINER, ModelProfile, TriageBench, analyst, connect, folder};
use crate::process::{cpu, runtime};
use crate::registers::registers;

/// Repetitions of each question, because CPU time is counted in hundredths of a second.
const TIMES: u32 = 300;
/// Lines of the log in the alert, so that prompts that show it have 40 KB.
const LINES: u32 = 205;

/// Measures each kind of question, and the mean of a case.
pub(super) fn measure() -> anyhow::Result<Vec<Figure>> {
    let runtime = runtime()?;
    let mut fake = FakeModelProcess::start(CaseShape::Replanned, Duration::ZERO, Duration::ZERO)?;
    let config = fake.config(ModelProvider::Anthropic);
    let models = connect(&config)?;
    let model = models.chain(&[&config.name])?;
    let figures = runtime.block_on(async {
        let questions = record_questions(&fake).await?;
        let mut figures = Vec::new();
        let mut sum = QuestionCost::default();
        let mut told = Vec::new();
        for question in &questions {
            let spent = QuestionCost::measure(question, &model).await?;
            sum.add(&spent);
            if !told.contains(&question.name()) {
                told.push(question.name());
                figures.extend(spent.figures(question.name()));
            }
        }
        let many = f64::from(u32::try_from(questions.len())?);
        figures.extend(sum.averaged(many).figures("mean of the case"));
        anyhow::Ok(figures)
    })?;
    fake.request_counts()?;
    Ok(figures)
}

/// Returns all questions of one case.
async fn record_questions(fake: &FakeModelProcess) -> anyhow::Result<Vec<EngineQuestion>> {
    let folder = folder()?;
    let mut modelled = ModelProfile::new(&fake.config(ModelProvider::Anthropic))?;
    let listening = Arc::new(RecordingAnalyst::new(modelled.analyst));
    modelled.analyst = listening.clone();
    let world = TriageBench::new(folder.path(), registers(folder.path())?, Some(modelled))?;
    let messages = MINER.messages(1)?;
    let message = messages.first().context("there is one message")?;
    let mut batch = read_message(message, &ReadOptions::default())?;
    let alert = long(batch.alerts.pop().context("the sample holds an alert")?);
    world
        .store
        .accept([world.arrival(alert, message)].into())
        .await?;
    let states = conclude_all(&world, 1).await?;
    ensure!(states.len() == 1, "the case was not concluded");
    ensure!(
        states.iter().all(|state| state.degraded.is_empty()),
        "the case was degraded"
    );
    Ok(listening.questions())
}

/// Adds a log to the alert.
fn long(mut alert: Alert) -> Alert {
    let lines: Vec<_> = (0..LINES)
        .map(|line| json!({"line": line, "text": format!("line {line} of a log that an alert carries with it, of some length")}))
        .collect();
    alert.raw = json!({"finding": alert.raw, "log": lines}).into();
    alert
}

/// The CPU of one question in milliseconds.
#[derive(Default)]
struct QuestionCost {
    prompt_kb: f64,
    /// User time of the analyst alone.
    alone: f64,
    /// User time with adapter, layers and HTTP client.
    whole: f64,
    /// System time with adapter, layers and HTTP client.
    system: f64,
}

impl QuestionCost {
    #[expect(clippy::cast_precision_loss, reason = "prompts have kilobytes")]
    async fn measure(
        question: &EngineQuestion,
        model: &Arc<dyn ChatModel>,
    ) -> anyhow::Result<Self> {
        let parrot = Arc::new(ReplayingModel::new(Arc::clone(model)));
        let (alone, _) = cpu_ms_per_call(question, &analyst(parrot.clone())?).await?;
        let request = parrot.request().context("the model was asked")?;
        let (whole, system) = cpu_ms_per_call(question, &analyst(Arc::clone(model))?).await?;
        Ok(Self {
            prompt_kb: prompt_bytes(&request) as f64 / 1e3,
            alone,
            whole,
            system,
        })
    }

    fn add(&mut self, other: &Self) {
        self.prompt_kb += other.prompt_kb;
        self.alone += other.alone;
        self.whole += other.whole;
        self.system += other.system;
    }

    fn averaged(&self, many: f64) -> Self {
        Self {
            prompt_kb: self.prompt_kb / many,
            alone: self.alone / many,
            whole: self.whole / many,
            system: self.system / many,
        }
    }

    fn figures(&self, question: &str) -> Vec<Figure> {
        let kb = self.prompt_kb;
        let name = |what| format!("CPU, {question} of {kb:.0} KB, {what}");
        vec![
            Figure::new(name("analyst alone"), self.alone, "ms/call"),
            Figure::new(name("all of it"), self.whole, "ms/call").at_most(1.0),
            Figure::new(name("the system beside"), self.system, "ms/call"),
        ]
    }
}

/// Returns the mean user and system CPU per question in milliseconds. The first time does not count.
async fn cpu_ms_per_call(
    question: &EngineQuestion,
    analyst: &dyn Analyst,
) -> anyhow::Result<(f64, f64)> {
    question.put(analyst).await.map_err(|none| none.error)?;
    let before = cpu()?;
    for _ in 0..TIMES {
        question.put(analyst).await.map_err(|none| none.error)?;
    }
    let after = cpu()?;
    let per_call = |secs: f64| secs * 1e3 / f64::from(TIMES);
    let system = per_call(after.system_secs - before.system_secs);
    Ok((per_call(after.own_secs - before.own_secs) - system, system))
}

/// Returns the bytes of a request as the analyst made it, without the wanted schema.
fn prompt_bytes(request: &ChatRequest) -> usize {
    let parts = request.messages.iter().flat_map(|message| &message.parts);
    let said: usize = parts
        .map(|part| match part {
            ChatPart::Text { text, .. } | ChatPart::Result { text, .. } => text.len(),
            ChatPart::Call(call) => call.name.len() + 64,
            ChatPart::Opaque(_) => 0,
        })
        .sum();
    let tools: usize = request
        .tools
        .iter()
        .map(|tool| tool.name.len() + tool.description.len() + tool.schema.to_string().len())
        .sum();
    request.system.len() + tools + said
}

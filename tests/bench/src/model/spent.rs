//! Measures CPU per model call: building the prompt, writing the request, parsing and validating the answer.
//!
//! Every question of one case is put repeatedly. A model in this process that answers at once gives the CPU of the
//! analyst. The fake in a child process adds the CPU of adapter, layers and HTTP client. Only our user CPU time has a
//! limit. System time for sockets and switches is shown beside it; over loopback it includes the receiving half of
//! the fake.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};
use nightshift_alert::{Alert, ReadOptions, read};
use nightshift_engine::port::Analyst;
use nightshift_llm::Provider;
use nightshift_llm::chat::{ChatModel, ChatRequest, Part};
use serde_json::json;

use super::fake::Fake;
use super::listening::{Listening, Parrot, Question};
use super::script::Shape;
use crate::cases::conclude_all;
use crate::figure::Figure;
use crate::process::{cpu, runtime};
use crate::registers::registers;
use crate::world::{MINER, Modelled, World, analyst, connect, folder};

/// Repetitions of each question, because CPU time is counted in hundredths of a second.
const TIMES: u32 = 300;
/// Lines of the log in the alert, so that prompts that show it have 40 KB.
const LINES: u32 = 205;

/// Measures each kind of question, and the mean of a case.
pub(super) fn measure() -> anyhow::Result<Vec<Figure>> {
    let runtime = runtime()?;
    let mut fake = Fake::start(Shape::Replanned, Duration::ZERO, Duration::ZERO)?;
    let config = fake.config(Provider::Anthropic);
    let models = connect(&config)?;
    let model = models.chain(&[&config.name])?;
    let figures = runtime.block_on(async {
        let questions = overheard(&fake).await?;
        let mut figures = Vec::new();
        let mut sum = Spent::default();
        let mut told = Vec::new();
        for question in &questions {
            let spent = Spent::of(question, &model).await?;
            sum.add(&spent);
            if !told.contains(&question.name()) {
                told.push(question.name());
                figures.extend(spent.figures(question.name()));
            }
        }
        let many = f64::from(u32::try_from(questions.len())?);
        figures.extend(sum.over(many).figures("mean of the case"));
        anyhow::Ok(figures)
    })?;
    fake.counted()?;
    Ok(figures)
}

/// Returns all questions of one case.
async fn overheard(fake: &Fake) -> anyhow::Result<Vec<Question>> {
    let folder = folder()?;
    let mut modelled = Modelled::new(&fake.config(Provider::Anthropic))?;
    let listening = Arc::new(Listening::new(modelled.analyst));
    modelled.analyst = listening.clone();
    let world = World::new(folder.path(), registers(folder.path())?, Some(modelled))?;
    let messages = MINER.messages(1)?;
    let message = messages.first().context("there is one message")?;
    let mut batch = read(message, &ReadOptions::default())?;
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
    Ok(listening.kept())
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
struct Spent {
    prompt_kb: f64,
    /// User time of the analyst alone.
    alone: f64,
    /// User time with adapter, layers and HTTP client.
    whole: f64,
    /// System time with adapter, layers and HTTP client.
    system: f64,
}

impl Spent {
    #[expect(clippy::cast_precision_loss, reason = "prompts have kilobytes")]
    async fn of(question: &Question, model: &Arc<dyn ChatModel>) -> anyhow::Result<Self> {
        let parrot = Arc::new(Parrot::new(Arc::clone(model)));
        let (alone, _) = each(question, &analyst(parrot.clone())?).await?;
        let request = parrot.request().context("the model was asked")?;
        let (whole, system) = each(question, &analyst(Arc::clone(model))?).await?;
        Ok(Self {
            prompt_kb: bytes(&request) as f64 / 1e3,
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

    fn over(&self, many: f64) -> Self {
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
async fn each(question: &Question, analyst: &dyn Analyst) -> anyhow::Result<(f64, f64)> {
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
fn bytes(request: &ChatRequest) -> usize {
    let parts = request.messages.iter().flat_map(|message| &message.parts);
    let said: usize = parts
        .map(|part| match part {
            Part::Text { text, .. } | Part::Result { text, .. } => text.len(),
            Part::Call(call) => call.name.len() + 64,
            Part::Opaque(_) => 0,
        })
        .sum();
    let tools: usize = request
        .tools
        .iter()
        .map(|tool| tool.name.len() + tool.description.len() + tool.schema.to_string().len())
        .sum();
    request.system.len() + tools + said
}

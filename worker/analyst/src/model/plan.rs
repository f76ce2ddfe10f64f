//! The plan question. It holds the alert, earlier cases (`E1`), tools as text, the playbook's hint and the limits.

use minijinja::context;
use nightshift_engine::plan::Mode;
use nightshift_engine::port::{Answer, NoAnswer};
use nightshift_engine::question::{PlanAnswer, PlanQuestion};
use nightshift_engine::strategy::Strategy;
use serde::Deserialize;
use serde_json::json;

use super::excerpt::{Look, excerpt};
use super::frame::{About, Frame, user};
use super::prompts::Prompt;
use super::tools::ToolNames;
use super::wire::{self, MOST_ENTRIES, SENTENCE, line};
use super::{ModelAnalyst, parse, render, schema};
use nightshift_llm::chat::{Asked, ChatAnswer, Part};

pub(super) async fn ask(
    analyst: &ModelAnalyst,
    question: &PlanQuestion,
) -> Result<Answer<PlanAnswer>, NoAnswer> {
    let about = About {
        setting: &question.setting,
        alert: &question.alert,
        past: question.past.as_ref(),
        steps: &[],
        step: None,
        tools: &question.tools,
    };
    let frame = Frame::new(analyst, Asked::Plan, &about)?;
    let names = &frame.desk.tools.names;
    let mut parts = frame.opening(true);
    if let Some(past) = question.past.as_ref().filter(|past| past.error.is_none()) {
        let text = excerpt(past, Look::default(), frame.most_result);
        let block = frame.fence.block("E1", &text);
        parts.push(Part::text(format!(
            "\nEarlier cases that share something with it:\n{block}"
        )));
    }
    let hint = hint(analyst, question, names);
    if let Some(hint) = &hint {
        let block = frame.fence.block("playbook", hint);
        parts.push(Part::text(format!("\n{block}")));
    }
    let most_steps = question.limits.first_plan_steps.min(question.limits.steps);
    let own = frame.prompt(
        Prompt::Plan,
        context! {
            strategy => strategy(question.setting.strategy),
            most_steps,
            has_hints => hint.is_some(),
            left => render::left(&question.setting.left),
        },
    )?;
    parts.push(Part::text(format!("\n{own}")));
    let request = frame.request(vec![user(parts)], Some(&schema::PLAN), false);
    frame.ask(request, &|answer| read(answer, names)).await
}

fn strategy(strategy: Strategy) -> &'static str {
    match strategy {
        Strategy::Auto => "auto",
        Strategy::Planned => "planned",
        Strategy::Adaptive => "adaptive",
        Strategy::Direct => "direct",
    }
}

/// Returns the playbook's steps, one per line.
fn hint(analyst: &ModelAnalyst, question: &PlanQuestion, names: &ToolNames) -> Option<String> {
    let plan = analyst.playbooks.as_ref()?.hint(question)?;
    let steps = plan.steps.iter().map(|step| {
        let tools: Vec<&str> = step.tools.iter().map(|tool| names.model(tool)).collect();
        let mut line = json!({"step": step.description, "tools": tools});
        if let (true, Some(line)) = (step.key, line.as_object_mut()) {
            line.insert("key".to_owned(), json!(true));
        }
        line
    });
    let objective = json!({"objective": plan.objective});
    Some(render::lines(std::iter::once(objective).chain(steps)))
}

#[derive(Deserialize)]
struct Wire {
    mode: Mode,
    objective: String,
    steps: Vec<wire::Step>,
}

fn read(answer: &ChatAnswer, names: &ToolNames) -> Result<PlanAnswer, Vec<String>> {
    let wire: Wire = parse::read(answer, &schema::PLAN)?;
    let objective = line(&wire.objective, SENTENCE);
    if objective.is_empty() {
        return Err(vec!["/objective: is empty".to_owned()]);
    }
    Ok(PlanAnswer {
        mode: wire.mode,
        objective,
        steps: wire
            .steps
            .into_iter()
            .take(MOST_ENTRIES)
            .filter_map(|step| step.draft(names))
            .collect(),
        source: String::new(),
        not_covered: Vec::new(),
        conditional: false,
    })
}

//! The decide question of adaptive cases. It holds objective, alert and all actions so far; the answer judges the
//! last action and chooses the next.

use minijinja::context;
use nightshift_engine::port::{Answer, NoAnswer};
use nightshift_engine::question::{DecideQuestion, Decision, Judgement};
use serde::Deserialize;
use serde_json::json;

use super::frame::{About, Frame, kept, user};
use super::prompts::Prompt;
use super::render::{self, Results};
use super::tools::ToolNames;
use super::wire::{self, SENTENCE, SUMMARY, line};
use super::{ModelAnalyst, parse, schema};
use nightshift_llm::chat::{Asked, ChatAnswer, Part};

pub(super) async fn ask(
    analyst: &ModelAnalyst,
    question: &DecideQuestion,
) -> Result<Answer<Decision>, NoAnswer> {
    let about = About {
        setting: &question.setting,
        alert: &question.alert,
        past: question.past.as_ref(),
        steps: &question.steps,
        step: None,
        tools: &question.tools,
    };
    let frame = Frame::new(analyst, Asked::Decide, &about)?;
    let names = &frame.desk.tools.names;
    let mut parts = frame.opening(true);
    parts.extend(actions(&frame, question, &parts));
    if !question.insights.is_empty() {
        let insights = question.insights.iter();
        let learned = render::lines(insights.map(|insight| json!({"insight": insight})));
        parts.push(Part::text(frame.fence.block("learned", &learned)));
    }
    let own = frame.prompt(
        Prompt::Decide,
        context! {
            steps_left => question.steps_left,
            left => render::left(&question.setting.left),
        },
    )?;
    parts.push(Part::text(format!("\n{own}")));
    let request = frame.request(vec![user(parts)], Some(&schema::DECIDE), false);
    let has_open = question
        .steps
        .iter()
        .any(|view| !view.step.status.is_terminal());
    frame
        .ask(request, &|answer| read(answer, names, has_open))
        .await
}

/// Returns the objective, then each action with its results and outcome in a block of its own, so that the next
/// request shares all of them.
fn actions(frame: &Frame<'_>, question: &DecideQuestion, before: &[Part]) -> Vec<Part> {
    let objective = frame
        .fence
        .block("objective", &render::lines([json!(*question.objective)]));
    let mut parts = vec![Part::text(format!("\nThe objective:\n{objective}"))];
    let calls = question.steps.iter().flat_map(|view| &view.calls);
    let mut results = Results::within(calls, frame.most_result, frame.room(before));
    let many = question.steps.len();
    for (index, view) in question.steps.iter().enumerate() {
        let step = &view.step;
        let mut lines = vec![render::lines([
            json!({"id": step.id, "description": step.description, "expected": step.expected}),
        ])];
        for call in &view.calls {
            lines.push(results.of(call, &frame.desk.tools.names));
        }
        let block = frame
            .fence
            .block(&format!("actions {}", step.id), &lines.join("\n"));
        parts.push(kept(format!("\n{block}"), index + 1 == many));
        let judged = if step.status.is_terminal() {
            let line = json!({"id": step.id, "outcome": step.outcome, "summary": step.summary});
            frame.fence.block("judged", &render::lines([line]))
        } else {
            format!("{} is `running`: judge it.\n", step.id)
        };
        parts.push(Part::text(judged));
    }
    parts
}

#[derive(Deserialize)]
struct Wire {
    judgement: Option<wire::Outcome>,
    reasoning: String,
    next: Option<wire::Step>,
}

fn read(answer: &ChatAnswer, names: &ToolNames, has_open: bool) -> Result<Decision, Vec<String>> {
    let wire: Wire = parse::read(answer, &schema::DECIDE)?;
    if has_open && wire.judgement.is_none() {
        return Err(vec![
            "/judgement: is null, but the last action is not judged yet".to_owned(),
        ]);
    }
    let judgement = match wire.judgement {
        None => None,
        Some(outcome) => Some(Judgement {
            outcome: outcome.outcome,
            summary: line(&outcome.summary, SUMMARY),
            findings: wire::findings(outcome.findings, "/judgement/findings")?,
        }),
    };
    Ok(Decision {
        objective: String::new(),
        source: String::new(),
        reasoning: line(&wire.reasoning, SENTENCE),
        judgement,
        next: wire.next.and_then(|step| step.draft(names)),
    })
}

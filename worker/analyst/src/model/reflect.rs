//! Asks the reflect question. It holds objective, alert facts, all steps (id, description, status, outcome), the
//! results since the last reflection, earlier insights, tools and limits. It holds no conversation and no raw finding.

use minijinja::context;
use nightshift_engine::plan::{PlanUpdate, StepId};
use nightshift_engine::port::{Answer, NoAnswer};
use nightshift_engine::question::{ReflectQuestion, Reflection};
use serde::Deserialize;
use serde_json::{Value, json};

use super::answer_json::{self, MAX_ENTRIES, MAX_SENTENCE_CHARS, clean_line, clean_lines};
use super::prompts::Prompt;
use super::render::{self, ResultRenderer};
use super::request_builder::{PromptContext, RequestBuilder, user_message};
use super::tools::ToolNames;
use super::{ModelAnalyst, parse, schema};
use nightshift_llm::chat::{ChatAnswer, ChatPart, QuestionKind};

pub(super) async fn ask(
    analyst: &ModelAnalyst,
    question: &ReflectQuestion,
) -> Result<Answer<Reflection>, NoAnswer> {
    let about = PromptContext {
        question: &question.context,
        alert: &question.alert,
        past_cases: question.past.as_ref(),
        steps: &question.steps,
        step: None,
        tools: &question.tools,
    };
    let frame = RequestBuilder::new(analyst, QuestionKind::Reflect, &about)?;
    let names = &frame.cached.tools.names;
    let mut parts = frame.opening_parts(false);
    let plan = frame.fence.block("plan", &plan(question));
    let learned = learned(question);
    parts.push(ChatPart::text(format!("\n{plan}")));
    let results = results(&frame, question, &parts);
    parts.push(ChatPart::text(frame.fence.block("results", &results)));
    if !learned.is_empty() {
        parts.push(ChatPart::text(frame.fence.block("learned", &learned)));
    }
    let own = frame.prompt(
        Prompt::Reflect,
        context! {
            steps_left => question.steps_left,
            left => render::describe_budget(&question.context.remaining),
        },
    )?;
    parts.push(ChatPart::text(format!("\n{own}")));
    let request = frame.request(vec![user_message(parts)], Some(&schema::REFLECT), false);
    frame
        .ask(request, &|answer| parse_reflection(answer, names))
        .await
}

fn plan(question: &ReflectQuestion) -> String {
    let objective = json!({"objective": *question.objective});
    let steps = question.steps.iter().map(|view| {
        let mut step = render::step_fields(&view.step, view.step.status.as_str());
        if let Some(outcome) = view.step.outcome {
            step.insert("outcome".to_owned(), json!(outcome));
        }
        Value::Object(step)
    });
    render::json_lines(std::iter::once(objective).chain(steps))
}

/// Returns the outcomes of the last wave's steps, with the calls that the question shows.
fn results(frame: &RequestBuilder<'_>, question: &ReflectQuestion, before: &[ChatPart]) -> String {
    let calls = question.steps.iter().flat_map(|view| &view.calls);
    let mut results = ResultRenderer::with_budget(
        calls,
        frame.max_result_tokens,
        frame.remaining_tokens(before),
    );
    let mut lines = Vec::new();
    for view in &question.steps {
        let is_new = view.step.wave == Some(question.wave);
        if is_new {
            let expected = &view.step.expected;
            lines.push(render::json_lines([json!({
                "step": view.step.id, "expected": expected, "summary": view.step.summary,
            })]));
        } else if !view.calls.is_empty() {
            lines.push(render::json_lines([json!({"step": view.step.id})]));
        }
        for call in &view.calls {
            lines.push(results.render_call(call, &frame.cached.tools.names));
        }
    }
    lines.join("\n")
}

/// Returns earlier insights, and the results of earlier updates.
fn learned(question: &ReflectQuestion) -> String {
    let insights = question
        .insights
        .iter()
        .map(|insight| json!({"insight": insight}));
    let updates = question.updates.iter().map(|record| {
        let (what, about) = match &record.update {
            PlanUpdate::AddStep { step, .. } => ("add_step", step.description.clone()),
            PlanUpdate::UpdateStep { id, .. } => ("update_step", id.to_string()),
            PlanUpdate::CancelStep { id, .. } => ("cancel_step", id.to_string()),
        };
        match &record.refused {
            Some(why) => json!({what: about, "refused": why}),
            None => json!({what: about, "done": true}),
        }
    });
    render::json_lines(insights.chain(updates))
}

#[derive(Deserialize)]
struct ReflectionJson {
    achieved: bool,
    insights: Vec<String>,
    plan_updates: Vec<PlanUpdateJson>,
}

#[derive(Deserialize)]
struct PlanUpdateJson {
    #[serde(rename = "type")]
    kind: String,
    reason: String,
    id: Option<String>,
    step: Option<answer_json::StepJson>,
}

fn parse_reflection(answer: &ChatAnswer, names: &ToolNames) -> Result<Reflection, Vec<String>> {
    let wire: ReflectionJson = parse::parse_answer(answer, &schema::REFLECT)?;
    let mut updates = Vec::new();
    let mut problems = Vec::new();
    for (index, update) in wire.plan_updates.into_iter().take(MAX_ENTRIES).enumerate() {
        match plan_update(update, names) {
            Ok(update) => updates.push(update),
            Err(problem) => problems.push(format!("/plan_updates/{index}: {problem}")),
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    Ok(Reflection {
        achieved: wire.achieved,
        insights: clean_lines(wire.insights),
        plan_updates: updates,
    })
}

fn plan_update(update: PlanUpdateJson, names: &ToolNames) -> Result<PlanUpdate, String> {
    let reason = clean_line(&update.reason, MAX_SENTENCE_CHARS);
    let id = update
        .id
        .map(|id| StepId(clean_line(&id, 40)))
        .filter(|id| !id.0.is_empty());
    let no_id = "names no step: give its `id`";
    let no_step = "has no step with a description";
    match update.kind.as_str() {
        "add_step" => Ok(PlanUpdate::AddStep {
            step: update
                .step
                .and_then(|step| step.draft(names))
                .ok_or(no_step)?,
            reason,
        }),
        "update_step" => {
            let step = update.step.ok_or(no_step)?;
            let description = clean_line(&step.description, MAX_SENTENCE_CHARS);
            if description.is_empty() {
                return Err(no_step.to_owned());
            }
            let expected = clean_line(&step.expected, MAX_SENTENCE_CHARS);
            Ok(PlanUpdate::UpdateStep {
                id: id.ok_or(no_id)?,
                description,
                expected: (!expected.is_empty()).then_some(expected),
                reason,
            })
        }
        _ => Ok(PlanUpdate::CancelStep {
            id: id.ok_or(no_id)?,
            reason,
        }),
    }
}

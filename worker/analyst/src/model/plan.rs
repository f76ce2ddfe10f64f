//! Asks the plan question. It holds the alert, earlier cases (`E1`), tools as text, the playbook's hint and the limits.

use minijinja::context;
use nightshift_engine::plan::PlanMode;
use nightshift_engine::port::{Answer, NoAnswer};
use nightshift_engine::question::{PlanAnswer, PlanQuestion};
use nightshift_engine::strategy::Strategy;
use serde::Deserialize;
use serde_json::json;

use super::answer_json::{self, MAX_ENTRIES, MAX_SENTENCE_CHARS, clean_line};
use super::excerpt::{ExcerptRange, excerpt};
use super::prompts::Prompt;
use super::request_builder::{PromptContext, RequestBuilder, user_message};
use super::tools::ToolNames;
use super::{ModelAnalyst, parse, render, schema};
use nightshift_llm::chat::{ChatAnswer, ChatPart, QuestionKind};

pub(super) async fn ask(
    analyst: &ModelAnalyst,
    question: &PlanQuestion,
) -> Result<Answer<PlanAnswer>, NoAnswer> {
    let about = PromptContext {
        question: &question.context,
        alert: &question.alert,
        past_cases: question.past.as_ref(),
        steps: &[],
        step: None,
        tools: &question.tools,
    };
    let frame = RequestBuilder::new(analyst, QuestionKind::Plan, &about)?;
    let names = &frame.cached.tools.names;
    let mut parts = frame.opening_parts(true);
    if let Some(past) = question.past.as_ref().filter(|past| past.error.is_none()) {
        let text = excerpt(past, ExcerptRange::default(), frame.max_result_tokens);
        let block = frame.fence.block("E1", &text);
        parts.push(ChatPart::text(format!(
            "\nEarlier cases that share something with it:\n{block}"
        )));
    }
    let hint = hint(analyst, question, names);
    if let Some(hint) = &hint {
        let block = frame.fence.block("playbook", hint);
        parts.push(ChatPart::text(format!("\n{block}")));
    }
    let most_steps = question.limits.first_plan_steps.min(question.limits.steps);
    let own = frame.prompt(
        Prompt::Plan,
        context! {
            strategy => strategy(question.context.strategy),
            most_steps,
            has_hints => hint.is_some(),
            left => render::describe_budget(&question.context.remaining),
        },
    )?;
    parts.push(ChatPart::text(format!("\n{own}")));
    let request = frame.request(vec![user_message(parts)], Some(&schema::PLAN), false);
    frame
        .ask(request, &|answer| parse_plan(answer, names))
        .await
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
        let tools: Vec<&str> = step
            .tools
            .iter()
            .map(|tool| names.model_name(tool))
            .collect();
        let mut line = json!({"step": step.description, "tools": tools});
        if let (true, Some(line)) = (step.key, line.as_object_mut()) {
            line.insert("key".to_owned(), json!(true));
        }
        line
    });
    let objective = json!({"objective": plan.objective});
    Some(render::json_lines(std::iter::once(objective).chain(steps)))
}

#[derive(Deserialize)]
struct PlanJson {
    mode: PlanMode,
    objective: String,
    steps: Vec<answer_json::StepJson>,
}

fn parse_plan(answer: &ChatAnswer, names: &ToolNames) -> Result<PlanAnswer, Vec<String>> {
    let wire: PlanJson = parse::parse_answer(answer, &schema::PLAN)?;
    let objective = clean_line(&wire.objective, MAX_SENTENCE_CHARS);
    if objective.is_empty() {
        return Err(vec!["/objective: is empty".to_owned()]);
    }
    Ok(PlanAnswer {
        mode: wire.mode,
        objective,
        steps: wire
            .steps
            .into_iter()
            .take(MAX_ENTRIES)
            .filter_map(|step| step.draft(names))
            .collect(),
        source: String::new(),
        not_covered: Vec::new(),
        conditional: false,
    })
}

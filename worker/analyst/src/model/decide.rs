//! Asks the decide question of adaptive cases. It holds objective, alert and all actions so far; the answer judges the
//! last action and chooses the next.

use minijinja::context;
use nightshift_engine::port::{Answer, NoAnswer};
use nightshift_engine::question::{DecideQuestion, Decision, Judgement};
use serde::Deserialize;
use serde_json::json;

use super::answer_json::{self, MAX_SENTENCE_CHARS, MAX_SUMMARY_CHARS, clean_line};
use super::prompts::Prompt;
use super::render::{self, ResultRenderer};
use super::request_builder::{PromptContext, RequestBuilder, text_part, user_message};
use super::tools::ToolNames;
use super::{ModelAnalyst, parse, schema};
use nightshift_llm::chat::{ChatAnswer, ChatPart, QuestionKind};

pub(super) async fn ask(
    analyst: &ModelAnalyst,
    question: &DecideQuestion,
) -> Result<Answer<Decision>, NoAnswer> {
    let about = PromptContext {
        question: &question.context,
        alert: &question.alert,
        past_cases: question.past.as_ref(),
        steps: &question.steps,
        step: None,
        tools: &question.tools,
    };
    let frame = RequestBuilder::new(analyst, QuestionKind::Decide, &about)?;
    let names = &frame.cached.tools.names;
    let mut parts = frame.opening_parts(true);
    parts.extend(actions(&frame, question, &parts));
    if !question.insights.is_empty() {
        let insights = question.insights.iter();
        let learned = render::json_lines(insights.map(|insight| json!({"insight": insight})));
        parts.push(ChatPart::text(frame.fence.block("learned", &learned)));
    }
    let own = frame.prompt(
        Prompt::Decide,
        context! {
            steps_left => question.steps_left,
            left => render::describe_budget(&question.context.remaining),
        },
    )?;
    parts.push(ChatPart::text(format!("\n{own}")));
    let request = frame.request(vec![user_message(parts)], Some(&schema::DECIDE), false);
    let has_open = question
        .steps
        .iter()
        .any(|view| !view.step.status.is_terminal());
    frame
        .ask(request, &|answer| parse_decision(answer, names, has_open))
        .await
}

/// Returns the objective, then each action with its results and outcome in a block of its own, so that the next
/// request shares all of them.
fn actions(
    frame: &RequestBuilder<'_>,
    question: &DecideQuestion,
    before: &[ChatPart],
) -> Vec<ChatPart> {
    let objective = frame.fence.block(
        "objective",
        &render::json_lines([json!(*question.objective)]),
    );
    let mut parts = vec![ChatPart::text(format!("\nThe objective:\n{objective}"))];
    let calls = question.steps.iter().flat_map(|view| &view.calls);
    let mut results = ResultRenderer::with_budget(
        calls,
        frame.max_result_tokens,
        frame.remaining_tokens(before),
    );
    let many = question.steps.len();
    for (index, view) in question.steps.iter().enumerate() {
        let step = &view.step;
        let mut lines = vec![render::json_lines([
            json!({"id": step.id, "description": step.description, "expected": step.expected}),
        ])];
        for call in &view.calls {
            lines.push(results.render_call(call, &frame.cached.tools.names));
        }
        let block = frame
            .fence
            .block(&format!("actions {}", step.id), &lines.join("\n"));
        parts.push(text_part(format!("\n{block}"), index + 1 == many));
        let judged = if step.status.is_terminal() {
            let line = json!({"id": step.id, "outcome": step.outcome, "summary": step.summary});
            frame.fence.block("judged", &render::json_lines([line]))
        } else {
            format!("{} is `running`: judge it.\n", step.id)
        };
        parts.push(ChatPart::text(judged));
    }
    parts
}

#[derive(Deserialize)]
struct DecisionJson {
    judgement: Option<answer_json::StepResultJson>,
    reasoning: String,
    next: Option<answer_json::StepJson>,
}

fn parse_decision(
    answer: &ChatAnswer,
    names: &ToolNames,
    has_open: bool,
) -> Result<Decision, Vec<String>> {
    let wire: DecisionJson = parse::parse_answer(answer, &schema::DECIDE)?;
    if has_open && wire.judgement.is_none() {
        return Err(vec![
            "/judgement: is null, but the last action is not judged yet".to_owned(),
        ]);
    }
    let judgement = match wire.judgement {
        None => None,
        Some(outcome) => Some(Judgement {
            outcome: outcome.outcome,
            summary: clean_line(&outcome.summary, MAX_SUMMARY_CHARS),
            findings: answer_json::findings(outcome.findings, "/judgement/findings")?,
        }),
    };
    Ok(Decision {
        objective: String::new(),
        source: String::new(),
        reasoning: clean_line(&wire.reasoning, MAX_SENTENCE_CHARS),
        judgement,
        next: wire.next.and_then(|step| step.draft(names)),
    })
}

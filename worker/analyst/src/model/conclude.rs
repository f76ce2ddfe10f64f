//! Asks the conclude question. It holds objective, alert facts, all steps with results or the reason why they were not
//! run, insights, exonerations, the action catalogue and the state of the budget.

use std::collections::{BTreeMap, BTreeSet};

use minijinja::context;
use nightshift_alert::{Alert, Indicator, IndicatorRole, Severity, Technique, indicator};
use nightshift_engine::catalogue::{ActionChoice, ActionTemplate};
use nightshift_engine::conclusion::{ConclusionDraft, Leaning, Verdict, VerdictReason};
use nightshift_engine::port::{Answer, NoAnswer};
use nightshift_engine::question::ConcludeQuestion;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::answer_json::{self, MAX_ENTRIES, MAX_SENTENCE_CHARS, clean_line, clean_lines};
use super::prompts::Prompt;
use super::render::{self, ResultRenderer};
use super::request_builder::{PromptContext, RequestBuilder, text_part, user_message};
use super::{ModelAnalyst, parse, schema};
use nightshift_llm::chat::{ChatAnswer, ChatPart, QuestionKind};

pub(super) async fn ask(
    analyst: &ModelAnalyst,
    question: &ConcludeQuestion,
) -> Result<Answer<ConclusionDraft>, NoAnswer> {
    let about = PromptContext {
        question: &question.context,
        alert: &question.alert,
        past_cases: question.past.as_ref(),
        steps: &question.steps,
        step: None,
        tools: &question.tools,
    };
    let frame = RequestBuilder::new(analyst, QuestionKind::Conclude, &about)?;
    let mut parts = frame.opening_parts(false);
    let results = results(&frame, question, &parts);
    parts.push(ChatPart::text(format!(
        "\n{}",
        frame.fence.block("results", &results)
    )));
    let case = frame.fence.block("case", &case(question));
    parts.push(text_part(case, true));
    if !question.problems.is_empty() {
        let problems = render::json_lines(question.problems.iter().map(|problem| json!(problem)));
        parts.push(ChatPart::text(frame.fence.block("problems", &problems)));
    }
    let own = frame.prompt(
        Prompt::Conclude,
        context! {
            stopped_by => question.stopped_by.map(|cap| cap.as_str()).unwrap_or_default(),
            has_problems => !question.problems.is_empty(),
        },
    )?;
    parts.push(ChatPart::text(format!("\n{own}")));
    let request = frame.request(vec![user_message(parts)], Some(&schema::CONCLUDE), false);
    frame
        .ask(request, &|answer| parse_conclusion(answer, &question.alert))
        .await
}

/// Returns the objective and all steps, with their purpose, outcome and calls.
fn results(frame: &RequestBuilder<'_>, question: &ConcludeQuestion, before: &[ChatPart]) -> String {
    let calls = question.steps.iter().flat_map(|view| &view.calls);
    let room = frame.remaining_tokens(before) / 4 * 3;
    let mut results = ResultRenderer::with_budget(calls, frame.max_result_tokens, room);
    let mut out = vec![render::json_lines([
        json!({"objective": *question.objective}),
    ])];
    for view in &question.steps {
        let mut step = render::step_fields(&view.step, view.step.status.as_str());
        step.insert("outcome".to_owned(), json!(view.step.outcome));
        step.insert("summary".to_owned(), json!(view.step.summary));
        step.retain(|_, value| !value.is_null());
        out.push(render::json_lines([Value::Object(step)]));
        out.extend(
            view.calls
                .iter()
                .map(|call| results.render_call(call, &frame.cached.tools.names)),
        );
    }
    out.join("\n")
}

/// Returns the insights, the records that clear the alert, and the actions that may be advised.
fn case(question: &ConcludeQuestion) -> String {
    let mut map = Map::new();
    if !question.insights.is_empty() {
        map.insert("insights".to_owned(), json!(question.insights));
    }
    map.insert("cleared".to_owned(), json!(question.may_be_benign()));
    if let Some(why) = &question.hold_reason {
        map.insert("held_up".to_owned(), json!(why));
    }
    let facts: Vec<Value> = question
        .exonerations
        .iter()
        .map(|fact| {
            json!({"kind": fact.kind, "subject": fact.subject, "ref": fact.reference,
                "statement": fact.statement, "evidence": fact.evidence})
        })
        .collect();
    if !facts.is_empty() {
        map.insert("clearing".to_owned(), Value::Array(facts));
    }
    map.insert("actions".to_owned(), json!(actions(question)));
    render::json_lines([Value::Object(map)])
}

/// Returns the ids of the actions that may be advised here, by the kinds of values that they are about.
fn actions(question: &ConcludeQuestion) -> BTreeMap<String, BTreeSet<&str>> {
    let provider = question.alert.provider;
    let mut actions: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for action in question.actions.iter() {
        let here = action.provider.is_none_or(|its| its == provider);
        if here && (question.may_be_benign() || !action.when_cleared) {
            let about = match placeholders(action).join(", ") {
                about if about.is_empty() => "nothing".to_owned(),
                about => about,
            };
            actions.entry(about).or_default().insert(&action.id);
        }
    }
    actions
}

/// Placeholders that are filled in without a choice.
const ALERT_PLACEHOLDERS: [&str; 7] = [
    "account",
    "region",
    "resource",
    "mail",
    "application",
    "product",
    "scope",
];

/// Returns the kinds of values that an action is about.
fn placeholders(action: &ActionTemplate) -> Vec<&str> {
    let mut names: Vec<&str> = action
        .text
        .split('{')
        .skip(1)
        .filter_map(|rest| rest.split_once('}'))
        .map(|(name, _)| name)
        // What stands after a bar takes the place of a value that is not known.
        .filter(|name| !name.contains('|'))
        .map(|name| {
            if name == "workload" {
                "container"
            } else {
                name
            }
        })
        .filter(|name| !ALERT_PLACEHOLDERS.contains(name))
        .collect();
    names.dedup();
    names
}

#[derive(Deserialize)]
struct ConclusionJson {
    findings: Vec<answer_json::FindingJson>,
    verdict: Verdict,
    leaning: Leaning,
    reason: VerdictReason,
    severity: Severity,
    gaps: Vec<String>,
    would_decide: Vec<String>,
    actions: Vec<ActionJson>,
    techniques: Vec<String>,
    meaning: String,
}

#[derive(Deserialize)]
struct ActionJson {
    id: String,
    values: Vec<String>,
}

fn parse_conclusion(answer: &ChatAnswer, alert: &Alert) -> Result<ConclusionDraft, Vec<String>> {
    let wire: ConclusionJson = parse::parse_answer(answer, &schema::CONCLUDE)?;
    Ok(ConclusionDraft {
        verdict: wire.verdict,
        leaning: wire.leaning,
        reason: wire.reason,
        assessed_severity: wire.severity,
        findings: answer_json::findings(wire.findings, "/findings")?,
        gaps: clean_lines(wire.gaps),
        not_covered: Vec::new(),
        would_decide: clean_lines(wire.would_decide),
        actions: wire
            .actions
            .into_iter()
            .take(MAX_ENTRIES)
            .map(|action| choice(&action, alert))
            .collect(),
        meaning: clean_line(&wire.meaning, MAX_SENTENCE_CHARS),
        techniques: wire
            .techniques
            .iter()
            .take(MAX_ENTRIES)
            .filter_map(|id| technique(id))
            .collect(),
    })
}

/// Converts the values to indicators: those of the alert, else what a parser finds in them. The engine takes only
/// values that the case knows.
fn choice(action: &ActionJson, alert: &Alert) -> ActionChoice {
    let indicators = action.values.iter().take(MAX_ENTRIES).flat_map(|value| {
        let known: Vec<Indicator> = alert
            .indicators
            .iter()
            .filter(|indicator| indicator.value == *value)
            .cloned()
            .collect();
        if !known.is_empty() {
            return known;
        }
        indicator::extract(value)
            .into_iter()
            .map(|(kind, value)| Indicator::new(kind, value, IndicatorRole::Related))
            .collect()
    });
    ActionChoice {
        id: clean_line(&action.id, 80),
        indicators: indicators.collect(),
    }
}

/// Parses a technique id such as `T1496` or `T1078.004`.
fn technique(text: &str) -> Option<Technique> {
    let id = text.split_whitespace().next()?.trim_matches([':', ',']);
    let (main, sub) = id.split_once('.').unwrap_or((id, "000"));
    let is_number =
        |text: &str, digits| text.len() == digits && text.bytes().all(|b| b.is_ascii_digit());
    let fits = main
        .strip_prefix('T')
        .is_some_and(|number| is_number(number, 4))
        && is_number(sub, 3);
    fits.then(|| Technique {
        id: id.to_owned(),
        name: None,
    })
}

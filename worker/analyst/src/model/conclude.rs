//! The conclude question. It holds objective, alert facts, all steps with results or the reason why they were not
//! run, insights, exonerations, the action catalogue and the state of the budget.

use std::collections::{BTreeMap, BTreeSet};

use minijinja::context;
use nightshift_alert::{Alert, Indicator, Role, Severity, Technique, indicator};
use nightshift_engine::catalogue::{ActionChoice, ActionTemplate};
use nightshift_engine::conclusion::{ConclusionDraft, Leaning, Reason, Verdict};
use nightshift_engine::port::{Answer, NoAnswer};
use nightshift_engine::question::ConcludeQuestion;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::frame::{About, Frame, kept, user};
use super::prompts::Prompt;
use super::render::{self, Results};
use super::wire::{self, MOST_ENTRIES, SENTENCE, line, lines};
use super::{ModelAnalyst, parse, schema};
use nightshift_llm::chat::{Asked, ChatAnswer, Part};

pub(super) async fn ask(
    analyst: &ModelAnalyst,
    question: &ConcludeQuestion,
) -> Result<Answer<ConclusionDraft>, NoAnswer> {
    let about = About {
        setting: &question.setting,
        alert: &question.alert,
        past: question.past.as_ref(),
        steps: &question.steps,
        step: None,
        tools: &question.tools,
    };
    let frame = Frame::new(analyst, Asked::Conclude, &about)?;
    let mut parts = frame.opening(false);
    let results = results(&frame, question, &parts);
    parts.push(Part::text(format!(
        "\n{}",
        frame.fence.block("results", &results)
    )));
    let case = frame.fence.block("case", &case(question));
    parts.push(kept(case, true));
    if !question.problems.is_empty() {
        let problems = render::lines(question.problems.iter().map(|problem| json!(problem)));
        parts.push(Part::text(frame.fence.block("problems", &problems)));
    }
    let own = frame.prompt(
        Prompt::Conclude,
        context! {
            stopped_by => question.stopped_by.map(|cap| cap.as_str()).unwrap_or_default(),
            has_problems => !question.problems.is_empty(),
        },
    )?;
    parts.push(Part::text(format!("\n{own}")));
    let request = frame.request(vec![user(parts)], Some(&schema::CONCLUDE), false);
    frame
        .ask(request, &|answer| read(answer, &question.alert))
        .await
}

/// Returns the objective and all steps, with their purpose, outcome and calls.
fn results(frame: &Frame<'_>, question: &ConcludeQuestion, before: &[Part]) -> String {
    let calls = question.steps.iter().flat_map(|view| &view.calls);
    let room = frame.room(before) / 4 * 3;
    let mut results = Results::within(calls, frame.most_result, room);
    let mut out = vec![render::lines([json!({"objective": *question.objective})])];
    for view in &question.steps {
        let mut step = render::step(&view.step, view.step.status.as_str());
        step.insert("outcome".to_owned(), json!(view.step.outcome));
        step.insert("summary".to_owned(), json!(view.step.summary));
        step.retain(|_, value| !value.is_null());
        out.push(render::lines([Value::Object(step)]));
        out.extend(
            view.calls
                .iter()
                .map(|call| results.of(call, &frame.desk.tools.names)),
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
    if let Some(why) = &question.held_up {
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
    render::lines([Value::Object(map)])
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
const OF_THE_ALERT: [&str; 5] = ["account", "region", "resource", "product", "scope"];

/// Returns the kinds of values that an action is about.
fn placeholders(action: &ActionTemplate) -> Vec<&str> {
    let mut names: Vec<&str> = action
        .text
        .split('{')
        .skip(1)
        .filter_map(|rest| rest.split_once('}'))
        .map(|(name, _)| name)
        .map(|name| {
            if name == "workload" {
                "container"
            } else {
                name
            }
        })
        .filter(|name| !OF_THE_ALERT.contains(name))
        .collect();
    names.dedup();
    names
}

#[derive(Deserialize)]
struct Wire {
    findings: Vec<wire::Finding>,
    verdict: Verdict,
    leaning: Leaning,
    reason: Reason,
    severity: Severity,
    gaps: Vec<String>,
    would_decide: Vec<String>,
    actions: Vec<Action>,
    techniques: Vec<String>,
    meaning: String,
}

#[derive(Deserialize)]
struct Action {
    id: String,
    values: Vec<String>,
}

fn read(answer: &ChatAnswer, alert: &Alert) -> Result<ConclusionDraft, Vec<String>> {
    let wire: Wire = parse::read(answer, &schema::CONCLUDE)?;
    Ok(ConclusionDraft {
        verdict: wire.verdict,
        leaning: wire.leaning,
        reason: wire.reason,
        assessed_severity: wire.severity,
        findings: wire::findings(wire.findings, "/findings")?,
        gaps: lines(wire.gaps),
        not_covered: Vec::new(),
        would_decide: lines(wire.would_decide),
        actions: wire
            .actions
            .into_iter()
            .take(MOST_ENTRIES)
            .map(|action| choice(&action, alert))
            .collect(),
        meaning: line(&wire.meaning, SENTENCE),
        techniques: wire
            .techniques
            .iter()
            .take(MOST_ENTRIES)
            .filter_map(|id| technique(id))
            .collect(),
    })
}

/// Converts the values to indicators: those of the alert, else what a parser finds in them. The engine takes only
/// values that the case knows.
fn choice(action: &Action, alert: &Alert) -> ActionChoice {
    let indicators = action.values.iter().take(MOST_ENTRIES).flat_map(|value| {
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
            .map(|(kind, value)| Indicator::new(kind, value, Role::Related))
            .collect()
    });
    ActionChoice {
        id: line(&action.id, 80),
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

//! `nightshift playbooks explain`: shows what would be done about the alerts of a message, and why. Nothing is run or
//! stored.

use std::fmt::Write as _;
use std::sync::Arc;

use nightshift_alert::Alert;
use nightshift_analyst::playbook::{
    BenignRule, Explanation, MatchedBy, PlannedStep, PlaybookCandidate, RegisterLookup,
    VerdictRule, explain,
};
use nightshift_engine::conclusion::{Leaning, Verdict};
use nightshift_engine::tool::ToolCall;
use serde::Serialize;

use super::super::input;
use crate::args::JsonFlag;
use crate::config::LoadedConfig;
use crate::exit::Exit;
use crate::output::{authored_line, print, print_json, print_stderr, sanitize_line};
use crate::wiring::{load_playbooks, read_options, specs_for, tools_without_store};

/// Maximum number of characters of one text of an alert.
const MAX_CHARS: usize = 400;

/// Maximum number of characters of one text of a playbook.
const MAX_AUTHORED: usize = 2000;

/// Maximum number of values on a line.
const MAX_VALUES: usize = 4;

#[derive(Serialize)]
struct AlertExplanation<'a> {
    alert: AlertSummary<'a>,
    #[serde(flatten)]
    explanation: &'a Explanation,
}

#[derive(Serialize)]
struct AlertSummary<'a> {
    key: String,
    feed: &'a str,
    #[serde(rename = "type")]
    kind: &'a str,
    title: &'a str,
    severity: &'a str,
}

pub(super) fn run(loaded: &LoadedConfig, file: &str, json: JsonFlag) -> Result<(), Exit> {
    let playbooks = load_playbooks(&loaded.config).map_err(Exit::Config)?;
    let tools = Arc::new(tools_without_store(loaded)?);
    let bytes = input::read_input(file)?;
    let batch = nightshift_alert::read_message(&bytes, &read_options(&loaded.config))
        .map_err(|error| Exit::usage(format!("{file}: {error}")))?;
    for rejected in &batch.rejected {
        print_stderr(&format!(
            "{file}: at {:?}: {}",
            rejected.path, rejected.error
        ));
    }
    for (index, alert) in batch.alerts.iter().enumerate() {
        let explanation = explain(&playbooks, alert, &specs_for(loaded, &tools, alert));
        if json.json {
            print_json(&AlertExplanation {
                alert: about(alert),
                explanation: &explanation,
            })?;
        } else {
            let gap = if index > 0 { "\n" } else { "" };
            print(&format!("{gap}{}", render(alert, &explanation)))?;
        }
    }
    match batch.rejected.len() {
        0 => Ok(()),
        some => Err(Exit::usage(format!("{some} findings could not be read"))),
    }
}

fn about(alert: &Alert) -> AlertSummary<'_> {
    AlertSummary {
        key: alert.key.to_string(),
        feed: &alert.feed,
        kind: &alert.kind,
        title: &alert.title,
        severity: alert.severity.as_str(),
    }
}

/// Formats text of an alert on one line.
fn line(text: &str) -> String {
    sanitize_line(text, MAX_CHARS)
}

/// Formats text of a playbook or configuration on one line.
fn authored(text: &str) -> String {
    authored_line(text, MAX_AUTHORED)
}

fn render(alert: &Alert, made: &Explanation) -> String {
    let mut out = String::new();
    let mut put = |text: String| {
        out.push_str(&text);
        out.push('\n');
    };
    head(&mut put, alert, made);
    section(&mut put, "Steps of the first plan", steps(&made.steps));
    let held = made.held_back.iter().flat_map(|held| {
        let mut lines = step(&held.step);
        lines.insert(1, format!("      when {}", authored(&held.when)));
        lines
    });
    section(&mut put, "Held back until its condition holds", held);
    section(
        &mut put,
        "Left out, nothing to look up or no tool for it",
        {
            let ids = made.left_out.join(", ");
            (!ids.is_empty()).then(|| format!("  {}", line(&ids)))
        },
    );
    let bullet = |text: &String| format!("  {}", line(text));
    section(&mut put, "Not covered", made.not_covered.iter().map(bullet));
    let rules = made.rules.iter().enumerate();
    section(
        &mut put,
        "Verdict, by the first rule that holds",
        rules.flat_map(|(index, one)| rule(index + 1, one)),
    );
    let clears = &made.clears;
    section(
        &mut put,
        "What would clear it: an approved record that expects this finding and covers its time",
        clears.registers.iter().map(register),
    );
    section(
        &mut put,
        "What would clear it: a rule of the playbook",
        clears.benign_when.iter().flat_map(benign),
    );
    section(
        &mut put,
        "Could not be filled in",
        made.problems.iter().map(bullet),
    );
    out
}

/// Prints the alert, the playbook, the reason and the objective.
fn head(put: &mut impl FnMut(String), alert: &Alert, made: &Explanation) {
    put(format!(
        "{}  ({}, {})",
        line(&alert.kind),
        line(&alert.feed),
        alert.severity
    ));
    put(format!("  {}", line(&alert.title)));
    put(String::new());
    let taken = &made.playbook;
    put(format!(
        "Playbook   {} {}: {}",
        authored(&taken.name),
        taken.version,
        authored(&taken.title)
    ));
    put(format!(
        "Why        {}",
        choice_reason(taken, made.next.as_ref())
    ));
    put(format!("Objective  {}", line(&made.objective)));
}

fn section(put: &mut impl FnMut(String), title: &str, lines: impl IntoIterator<Item = String>) {
    let mut lines = lines.into_iter().peekable();
    if lines.peek().is_some() {
        put(format!("\n{title}"));
        lines.for_each(put);
    }
}

/// Returns why this playbook was chosen and not the next one.
fn choice_reason(taken: &PlaybookCandidate, next: Option<&PlaybookCandidate>) -> String {
    let mut text = match_description(taken);
    match next {
        Some(next) if next.by != taken.by => {
            let _ = write!(
                text,
                "; before {} ({}), for {} counts more",
                authored(&next.name),
                match_description(next),
                what(taken.by)
            );
        }
        Some(next) if next.spelled == taken.spelled => {
            let _ = write!(
                text,
                "; before {} ({}), which is as close and comes later",
                authored(&next.name),
                match_description(next)
            );
        }
        Some(next) => {
            let _ = write!(
                text,
                "; before {} ({})",
                authored(&next.name),
                match_description(next)
            );
        }
        None if taken.glob.is_some() => text.push_str("; no other playbook fits"),
        None => {}
    }
    text
}

fn match_description(one: &PlaybookCandidate) -> String {
    match one.by {
        MatchedBy::Anything | MatchedBy::Class => return what(one.by).to_owned(),
        _ => {}
    }
    format!(
        "{} matches {}, {} characters spelt out",
        what(one.by),
        one.glob.as_deref().map(authored).unwrap_or_default(),
        one.spelled
    )
}

const fn what(by: MatchedBy) -> &'static str {
    match by {
        MatchedBy::Operation => "its operation",
        MatchedBy::Type => "its type",
        MatchedBy::Class => "it takes findings of this class",
        MatchedBy::Shown => "what its fields show",
        MatchedBy::Title => "its title",
        MatchedBy::Anything => "it takes what no other playbook fits",
    }
}

fn steps(steps: &[PlannedStep]) -> impl Iterator<Item = String> {
    steps.iter().flat_map(step)
}

fn step(step: &PlannedStep) -> Vec<String> {
    let key = if step.key {
        "  (key: nothing is benign without it)"
    } else {
        ""
    };
    let mut lines = vec![format!(
        "  {}: {}{key}",
        authored(&step.id),
        line(&step.description)
    )];
    if !step.depends_on.is_empty() {
        lines.push(format!("      after {}", line(&step.depends_on.join(", "))));
    }
    lines.extend(step.calls.iter().map(|one| format!("      {}", call(one))));
    if step.more_later {
        lines.push("      and calls that follow from results".to_owned());
    }
    lines
}

fn call(call: &ToolCall) -> String {
    let mut text = call.tool.clone();
    for (name, value) in &call.arguments {
        let value = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        let _ = write!(text, " {name}={value}");
    }
    line(&text)
}

fn rule(number: usize, rule: &VerdictRule) -> Vec<String> {
    let leaning = match (rule.verdict, rule.leaning) {
        (Verdict::Inconclusive, Leaning::Malicious) => ", leaning malicious",
        (Verdict::Inconclusive, Leaning::Benign) => ", leaning benign",
        _ => "",
    };
    let when = rule.when.as_deref().map_or_else(
        || "otherwise".to_owned(),
        |when| format!("when {}", authored(when)),
    );
    let mut lines = vec![format!("  {number}. {}{leaning}", rule.verdict.title())];
    lines.push(format!("      {when}"));
    if !rule.actions.is_empty() {
        lines.push(format!(
            "      advises {}",
            authored(&rule.actions.join(", "))
        ));
    }
    lines
}

fn register(one: &RegisterLookup) -> String {
    if one.tools.is_empty() {
        return format!("  {}: not configured", one.kind);
    }
    let mut values = one
        .values
        .iter()
        .take(MAX_VALUES)
        .cloned()
        .collect::<Vec<_>>()
        .join(", ");
    if one.values.len() > MAX_VALUES {
        let _ = write!(values, " and {} more", one.values.len() - MAX_VALUES);
    }
    let about = if values.is_empty() {
        "no value to look up".to_owned()
    } else {
        format!("of {}", line(&values))
    };
    format!(
        "  {} ({}): {about}",
        one.kind,
        authored(&one.tools.join(", "))
    )
}

fn benign(rule: &BenignRule) -> Vec<String> {
    let verdict = if rule.detection_wrong {
        "false positive"
    } else {
        "benign true positive"
    };
    let mut lines = vec![format!(
        "  clears its {} ({verdict}) in findings of {}",
        rule.subject_type,
        authored(&rule.covers.join(", "))
    )];
    lines.push(format!("      when {}", authored(&rule.when)));
    if let Some(list) = &rule.for_each {
        lines.push(format!("      for each of {}", authored(list)));
    }
    lines
}

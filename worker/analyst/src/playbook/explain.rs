//! Explains the work of a playbook on an alert before anything runs.
//!
//! The explanation uses the same matching, planning and rendering as a case. It shows which playbook is taken and why,
//! its steps with their first calls, steps that wait for a condition, kinds that no tool answers, the rules in their
//! author's words, and the sources that would clear the alert. Nothing is called, so conditions over results are shown
//! and not evaluated.

use std::collections::BTreeMap;
use std::sync::Arc;

use nightshift_alert::{Alert, IndicatorKind};
use nightshift_engine::conclusion::{Leaning, Verdict};
use nightshift_engine::limits::TriageLimits;
use nightshift_engine::tool::{ToolCall, ToolSpec};
use nightshift_expression::scope::Scope;
use serde::Serialize;

use super::calls::CallPlanner;
use super::facts::QuestionParts;
use super::plan::draft_step;
use super::playbook_file::{
    MatchFit, MatchedBy, Playbook, SpannedText, StepForm, VerdictForm, action_parts,
};
use super::scope;
use super::{PlaybookSet, exonerate, tool_kinds};

/// Kinds of tools whose records may clear an alert.
const REGISTERS: [&str; 4] = [
    "asset_lookup",
    "identity_lookup",
    "change_lookup",
    "authorised_scanners",
];

/// The work of a playbook on an alert, found without running it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Explanation {
    pub playbook: PlaybookCandidate,
    /// The playbook that would be taken without the first.
    pub next: Option<PlaybookCandidate>,
    pub objective: String,
    pub steps: Vec<PlannedStep>,
    /// Steps that a reflection adds once their condition holds.
    pub held_back: Vec<ConditionalStep>,
    /// Ids of the steps that are left out because they have nothing to look up or no tool.
    pub left_out: Vec<String>,
    /// The questions that no configured tool answers.
    pub not_covered: Vec<String>,
    /// The rules of the verdict. The first that holds counts.
    pub rules: Vec<VerdictRule>,
    pub clears: ClearingSources,
    /// The texts that could not be rendered, each with the reason.
    pub problems: Vec<String>,
}

/// A playbook and how closely it matches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlaybookCandidate {
    pub name: String,
    pub version: u32,
    pub title: String,
    /// The part of the alert that the playbook matches.
    pub by: MatchedBy,
    /// The glob that matches, or `None` when the playbook takes any alert.
    pub glob: Option<String>,
    /// Number of literal characters of the glob, plus one when the playbook names the feed.
    pub spelled: usize,
}

/// A step with the calls that it would make.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlannedStep {
    pub id: String,
    pub description: String,
    /// The result that would count as a hit.
    pub expected: String,
    /// True if no verdict can be benign without this step.
    pub key: bool,
    /// Steps that this step waits for.
    pub depends_on: Vec<String>,
    /// The first calls with their arguments.
    pub calls: Vec<ToolCall>,
    /// True if more calls follow from results of earlier steps.
    pub more_later: bool,
}

/// A step that waits for its condition.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ConditionalStep {
    /// The condition, as its author wrote it.
    pub when: String,
    /// The step. Calls that need results are not filled in yet.
    #[serde(flatten)]
    pub step: PlannedStep,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct VerdictRule {
    /// The condition, as its author wrote it, or `None` for `[otherwise]`.
    pub when: Option<String>,
    pub verdict: Verdict,
    /// The leaning of an inconclusive verdict.
    pub leaning: Leaning,
    /// Ids of the actions that the rule advises, some under a condition.
    pub actions: Vec<String>,
}

/// The sources that would clear the alert.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ClearingSources {
    /// Registers that the playbook asks. An approved record in one of them clears its value.
    pub registers: Vec<RegisterLookup>,
    /// The `benign_when` rules of the playbook.
    pub benign_when: Vec<BenignRule>,
}

/// A register and the values that are looked up in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RegisterLookup {
    pub kind: String,
    /// Names of the configured tools of this kind.
    pub tools: Vec<String>,
    pub values: Vec<String>,
}

/// A `benign_when` rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BenignRule {
    /// The condition, as its author wrote it.
    pub when: String,
    /// The list whose items the condition is about, as its author wrote it.
    pub for_each: Option<String>,
    /// Type of the value that the rule clears.
    pub subject_type: IndicatorKind,
    /// Globs over the finding types that the rule covers.
    pub covers: Vec<String>,
    /// True if the detection is wrong, and not only the activity allowed.
    pub detection_wrong: bool,
}

/// Explains the work on this alert with these tools. Earlier cases are ignored.
#[must_use]
pub fn explain(playbooks: &PlaybookSet, alert: &Alert, tools: &[ToolSpec]) -> Explanation {
    let playbook = playbooks.find(alert);
    let next = playbooks
        .closest(alert, |one| one.name != playbook.name)
        .map(|(next, fit)| candidate(next, Some(fit)));
    let source = playbook.source();
    let parts = QuestionParts {
        tools,
        source: &source,
        ..QuestionParts::default()
    };
    let (_, scope) = scope::of_question(playbook, &Arc::new(alert.clone()), &parts);
    let mut problems = Vec::new();
    let objective = scope
        .render_line(playbook.objective.get_ref())
        .unwrap_or_else(|error| {
            problems.push(error.to_string());
            String::new()
        });
    let mut made = Explanation {
        playbook: candidate(playbook, playbook.matches.best_fit(alert)),
        next,
        objective,
        steps: Vec::new(),
        held_back: Vec::new(),
        left_out: Vec::new(),
        not_covered: Vec::new(),
        rules: verdict_rules(playbook),
        clears: ClearingSources {
            registers: Vec::new(),
            benign_when: benign_rules(playbook, alert),
        },
        problems,
    };
    let known = CallPlanner::before(playbook, alert, tools, &scope);
    for form in &playbook.steps {
        made.add_step(form, &known, &scope);
    }
    made.truncate_plan(TriageLimits::default().first_plan_steps);
    made.clears.registers = registers(playbook, &made, tools);
    made
}

impl Explanation {
    fn add_step(&mut self, form: &StepForm, known: &CallPlanner<'_>, scope: &Scope) {
        let most = TriageLimits::default().calls_per_turn;
        let found = draft_step(form, known, scope, most, &mut self.not_covered)
            .and_then(|draft| Ok((draft, known.calls(form)?.deferred)));
        let (draft, more_later) = match found {
            Ok((draft, deferred)) => (draft, deferred),
            Err(error) => {
                self.problems
                    .push(format!("step {}: {error}", form.id.get_ref()));
                return;
            }
        };
        let step = draft.map(|draft| PlannedStep {
            id: draft.id,
            description: draft.description,
            expected: draft.expected,
            key: draft.key,
            depends_on: draft.depends_on,
            calls: draft.calls,
            more_later,
        });
        match (step, &form.when) {
            (Some(step), Some(when)) => self.held_back.push(ConditionalStep {
                when: on_one_line(when.get_ref()),
                step,
            }),
            (Some(step), None) => self.steps.push(step),
            (None, _) => self.left_out.push(form.id.get_ref().clone()),
        }
    }

    /// Limits the plan to this number of steps.
    fn truncate_plan(&mut self, most: usize) {
        let over = self.steps.split_off(most.min(self.steps.len()));
        self.left_out.extend(over.into_iter().map(|step| step.id));
        let planned: Vec<String> = self.steps.iter().map(|step| step.id.clone()).collect();
        for step in &mut self.steps {
            step.depends_on.retain(|id| planned.contains(id));
        }
    }
}

/// Returns the author's text on one line.
fn on_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn candidate(playbook: &Playbook, fit: Option<MatchFit<'_>>) -> PlaybookCandidate {
    PlaybookCandidate {
        name: playbook.name.clone(),
        version: playbook.version,
        title: playbook.title.clone(),
        by: fit.map_or(MatchedBy::Anything, |fit| fit.by),
        glob: fit.and_then(|fit| fit.glob).map(str::to_owned),
        spelled: fit.map_or(0, |fit| fit.spelled),
    }
}

fn verdict_rules(playbook: &Playbook) -> Vec<VerdictRule> {
    let empty = VerdictForm::default();
    let otherwise = playbook
        .otherwise
        .as_ref()
        .map_or(&empty, |form| form.get_ref());
    let in_order = playbook.verdicts.iter().map(|form| form.get_ref());
    in_order.chain([otherwise]).map(verdict_rule).collect()
}

fn verdict_rule(form: &VerdictForm) -> VerdictRule {
    let action = |text: &SpannedText| match action_parts(text.get_ref()) {
        (id, Some(when)) => format!("{id} if {}", on_one_line(when)),
        (id, None) => id.to_owned(),
    };
    VerdictRule {
        when: form.when.as_ref().map(|when| on_one_line(when.get_ref())),
        verdict: form.verdict.unwrap_or(Verdict::Inconclusive),
        leaning: form.leaning.unwrap_or_default(),
        actions: form.actions.iter().map(action).collect(),
    }
}

fn benign_rules(playbook: &Playbook, alert: &Alert) -> Vec<BenignRule> {
    let rule = |form: &super::playbook_file::BenignForm| BenignRule {
        when: on_one_line(form.when.get_ref()),
        for_each: form
            .for_each
            .as_ref()
            .map(|list| on_one_line(list.get_ref())),
        subject_type: form.subject_type,
        covers: form
            .covers
            .iter()
            .map(SpannedText::get_ref)
            .cloned()
            .collect(),
        detection_wrong: form.detection_wrong,
    };
    exonerate::applicable_rules(playbook, alert)
        .iter()
        .map(rule)
        .collect()
}

/// Returns the registers that the playbook asks, each with the values that the first calls look up in it.
fn registers(playbook: &Playbook, made: &Explanation, tools: &[ToolSpec]) -> Vec<RegisterLookup> {
    let mut values: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let held = made.held_back.iter().map(|held| &held.step);
    for call in made.steps.iter().chain(held).flat_map(|step| &step.calls) {
        let looked_up = call.arguments.values().filter_map(|value| value.as_str());
        let known = values.entry(call.tool.as_str()).or_default();
        for value in looked_up.map(str::to_owned) {
            if !known.contains(&value) {
                known.push(value);
            }
        }
    }
    let wanted = |kind: &str| {
        let mut calls = playbook.steps.iter().flat_map(|step| &step.calls);
        calls.any(|call| call.tool.get_ref() == kind)
    };
    let register = |kind: &str| {
        let names = tools.iter().filter(|spec| spec.kind == kind);
        let names: Vec<String> = names.map(|spec| spec.name.clone()).collect();
        let asked = names
            .iter()
            .filter_map(|name| values.get(name.as_str()))
            .flatten();
        let mut unique: Vec<String> = Vec::new();
        for value in asked {
            if !unique.contains(value) {
                unique.push(value.clone());
            }
        }
        RegisterLookup {
            kind: kind.to_owned(),
            tools: names,
            values: unique,
        }
    };
    debug_assert!(REGISTERS.into_iter().all(tool_kinds::is_built_in));
    REGISTERS
        .into_iter()
        .filter(|kind| wanted(kind))
        .map(register)
        .collect()
}

#[cfg(test)]
mod tests;

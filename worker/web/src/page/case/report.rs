//! Renders the report on the page of a case, with the order and the words of the message.

mod changed;
mod early;
mod facts;
mod head;
mod record;

use chrono::{DateTime, Utc};
use nightshift_alert::text::command_lines;
use nightshift_engine::catalogue::Action;
use nightshift_engine::evidence::EvidenceId;
use nightshift_pipeline::console::console_link;
use nightshift_pipeline::language::Language;
use nightshift_pipeline::report::Report;
use serde::Serialize;

use super::plan::PlanView;
use super::reasons::Reasons;
use crate::safe_text::SafeText;
pub(super) use early::EarlyView;
use facts::{Fact, VendorWords, about, details, facts};
use head::Head;
use record::Record;

/// The maximum number of actions in the first part.
const FIRST: usize = 3;
const MOST_ACTIONS: usize = 12;
/// The longest command that is shown, in characters.
const LONGEST_COMMAND: usize = 2_000;

#[derive(Debug, Serialize)]
pub(super) struct ReportView {
    #[serde(flatten)]
    head: Head,
    actions: Vec<ActionView>,
    actions_later: Vec<ActionView>,
    no_action: &'static str,
    facts: Vec<Fact>,
    details: Vec<Fact>,
    vendor: VendorWords,
    reasons: Reasons,
    reason: &'static str,
    overridden: Vec<SafeText>,
    plan: PlanView,
    #[serde(flatten)]
    record: Record,
    about: Vec<Fact>,
    key: SafeText,
    /// The URL of the finding in its vendor's console.
    console: Option<String>,
    version: SafeText,
}

#[derive(Debug, Serialize)]
struct ActionView {
    text: SafeText,
    precondition: Option<SafeText>,
    command: Option<String>,
    side_effect: Option<SafeText>,
    undo: Option<String>,
    left_out: bool,
}

impl ReportView {
    pub(super) fn new(report: &Report, now: DateTime<Utc>) -> Self {
        let here: Vec<EvidenceId> = report.evidence.iter().map(|one| one.id).collect();
        let mut actions = report.actions.iter().take(MOST_ACTIONS).map(action);
        let rules = report.overridden.iter().take(8);
        Self {
            head: Head::new(report, &here, now),
            actions: actions.by_ref().take(FIRST).collect(),
            actions_later: actions.collect(),
            no_action: report.no_action(Language::En),
            facts: facts(report),
            details: details(report),
            vendor: VendorWords::new(report),
            reasons: Reasons::new(report, &here),
            reason: Language::En.reason_of(report),
            overridden: rules.map(|rule| SafeText::sentence(&rule.text)).collect(),
            plan: PlanView::of_report(report, &here),
            record: Record::new(report, &here, now),
            about: about(report),
            key: SafeText::name(&report.alert.key),
            console: console_link(&report.alert),
            version: SafeText::from_foreign(&report.sender.version, 30),
        }
    }
}

fn action(action: &Action) -> ActionView {
    let shell = |text: &Option<String>| {
        let lines = command_lines(text.as_deref()?, LONGEST_COMMAND)?;
        Some(lines.join("\n"))
    };
    let (run, undo) = (shell(&action.command), shell(&action.undo));
    ActionView {
        text: SafeText::sentence(&action.text),
        precondition: action.precondition.as_deref().map(SafeText::sentence),
        side_effect: action.side_effect.as_deref().map(SafeText::sentence),
        // A command is shown completely or not at all, since a shortened one would do something else.
        left_out: run.is_some() != action.command.is_some()
            || undo.is_some() != action.undo.is_some(),
        command: run,
        undo,
    }
}

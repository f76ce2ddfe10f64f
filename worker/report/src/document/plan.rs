//! The plan as it ran: waves, steps with how they ended, what reflections learned and changed.

use nightshift_engine::{PlanUpdate, UpdateRecord};
use nightshift_pipeline::{Call, Report, StepEntry};

use super::{Block, Section, more};
use crate::line::{Line, joined};
use crate::words;

/// Most steps; the engine plans no more than 20.
const MOST_STEPS: usize = 40;
/// Most calls of a step that are named.
const MOST_CALLS: usize = 8;
/// Most insights, and most updates.
const MOST_NOTES: usize = 20;

pub(super) fn section(report: &Report) -> Section {
    let mut steps: Vec<&StepEntry> = report.steps.iter().collect();
    steps.sort_by_key(|step| step.wave.unwrap_or(u32::MAX));
    let mut blocks: Vec<Block> = steps
        .iter()
        .take(MOST_STEPS)
        .flat_map(|step| one(step))
        .collect();
    if steps.is_empty() {
        blocks.push(Block::Text(Line::of("No step was planned.")));
    }
    blocks.extend(more(MOST_STEPS, steps.len()));
    for insight in report.insights.iter().take(MOST_NOTES) {
        blocks.push(Block::Item(Line::of("Learned: ").sentence(insight)));
    }
    blocks.extend(more(MOST_NOTES, report.insights.len()));
    blocks.extend(
        report
            .updates
            .iter()
            .take(MOST_NOTES)
            .map(|record| Block::Item(update(record))),
    );
    blocks.extend(more(MOST_NOTES, report.updates.len()));
    Section {
        title: "Plan as it ran",
        heading: "Plan as it ran",
        blocks,
    }
}

fn one(step: &StepEntry) -> Vec<Block> {
    let mut head = Line::default().foreign(&step.id.0, 12).say(" · ");
    if let Some(wave) = step.wave {
        head = head.say("wave ").number(wave.into()).say(" · ");
    }
    let head = head
        .say(words::step(step.status, step.outcome))
        .say(" — ")
        .sentence(&step.description);
    let mut blocks = vec![Block::Item(head)];
    if !step.summary.trim().is_empty() {
        blocks.push(Block::Below(Line::from_sentence(&step.summary)));
    }
    if let Some(reason) = &step.reason {
        blocks.push(Block::Below(
            Line::of("changed by reflection: ").sentence(reason),
        ));
    }
    if !step.calls.is_empty() {
        let named = joined(step.calls.iter().take(MOST_CALLS).map(call), ", ");
        let rest = step.calls.len().saturating_sub(MOST_CALLS);
        let line = Line::of("asked: ").then(&named);
        blocks.push(Block::Below(if rest > 0 {
            line.say(" and ")
                .number(u64::try_from(rest).unwrap_or(u64::MAX))
                .say(" more")
        } else {
            line
        }));
    }
    blocks
}

fn call(call: &Call) -> Line {
    let line = Line::default().foreign(&call.tool, 60).cite(call.evidence);
    match &call.error {
        Some(error) => line.say(" (").foreign(&error.to_string(), 120).say(")"),
        None => line,
    }
}

/// `Reflection 1 cancelled s4 (the owner is known)`, or what it wanted and why that was refused.
fn update(record: &UpdateRecord) -> Line {
    let done = record.refused.is_none();
    let word =
        |done_word: &'static str, wanted: &'static str| if done { done_word } else { wanted };
    let begin = Line::of("Reflection ").number(record.reflection.into());
    let line = match &record.update {
        PlanUpdate::AddStep { step, reason } => begin
            .say(word(" added \u{201c}", " wanted to add \u{201c}"))
            .sentence(&step.description)
            .say("\u{201d} (")
            .sentence(reason),
        PlanUpdate::UpdateStep {
            id,
            description,
            reason,
            ..
        } => begin
            .say(word(" changed ", " wanted to change "))
            .foreign(&id.0, 12)
            .say(" to \u{201c}")
            .sentence(description)
            .say("\u{201d} (")
            .sentence(reason),
        PlanUpdate::CancelStep { id, reason } => begin
            .say(word(" cancelled ", " wanted to cancel "))
            .foreign(&id.0, 12)
            .say(" (")
            .sentence(reason),
    };
    match &record.refused {
        Some(why) => line.say("): REFUSED, ").sentence(why),
        None => line.say(")"),
    }
}

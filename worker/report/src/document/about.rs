//! The context line: which case, who thought, how long, at what cost.

use nightshift_engine::AnalystKind;
use nightshift_pipeline::Report;

use super::{Block, Section};
use crate::line::{Line, joined};
use crate::words;

/// Most models that are named.
const MOST_MODELS: usize = 4;

pub(super) fn section(report: &Report) -> Section {
    let steps = u64::try_from(report.steps.len()).unwrap_or(u64::MAX);
    let line = joined(
        [
            Line::of("case ")
                .name(&report.case_id)
                .say(" revision ")
                .number(report.revision.into()),
            Line::of(report.confidence.as_str()).say(" confidence"),
            Line::default().count(steps, "step", "steps"),
            Line::default().made(words::took(report.took_ms)),
            analyst(report),
            Line::default().made(words::cost(&report.cost)),
            Line::of("concluded ").at(report.concluded_at),
            Line::of("nightshift ").foreign(&report.sender.version, 30),
        ],
        " · ",
    );
    Section {
        title: "About this report",
        heading: "About this report",
        blocks: vec![
            Block::Text(line),
            Block::Text(
                Line::of("Alert ")
                    .name(&report.alert.key)
                    .say(" of ")
                    .name(&report.alert.feed)
                    .say("."),
            ),
            Block::Text(Line::of("Written by a machine; alert text is untrusted.")),
        ],
    }
}

fn analyst(report: &Report) -> Line {
    match report.analyst {
        AnalystKind::Playbook if report.source.is_empty() => {
            Line::of("playbook analyst, no model was used")
        }
        AnalystKind::Playbook => Line::from_name(&report.source).say(", no model was used"),
        AnalystKind::Model => {
            let models = report.models.iter().take(MOST_MODELS);
            let named = joined(models.map(|model| Line::from_name(model)), ", ");
            let plan = match report.source.as_str() {
                "model" => Line::default(),
                source => Line::from_name(source),
            };
            joined([Line::of("model ").then(&named), plan], ", plan from ")
        }
    }
}

//! What to do: actions of the catalogue, at most three of them first. Suggested, never executed.

use nightshift_alert::text::command;
use nightshift_engine::Action;
use nightshift_pipeline::Report;

use super::{Block, Section};
use crate::line::Line;

/// Most actions that come first.
const FIRST: usize = 3;
/// Most that come later.
const LATER: usize = 9;
/// Longest command that is shown, in characters.
const LONGEST: usize = 2_000;

/// What to do first, and what after that.
pub(super) fn sections(report: &Report) -> (Section, Option<Section>) {
    let all = &report.actions;
    let mut blocks = Vec::new();
    if all.is_empty() {
        let no_action = if report.verdict.is_benign() {
            "Nothing: no action is needed."
        } else if report.failed.is_some() {
            "The run failed before an action was chosen. Open the alert in its own console."
        } else {
            "No action of the catalogue was chosen. Look at why, and at what would decide it."
        };
        blocks.push(Block::Text(Line::of(no_action)));
    } else {
        blocks.push(Block::Text(Line::of("Suggested, not executed.")));
    }
    for (index, action) in all.iter().take(FIRST).enumerate() {
        blocks.extend(one(index + 1, action));
    }
    let later: Vec<Block> = all
        .iter()
        .enumerate()
        .skip(FIRST)
        .take(LATER)
        .flat_map(|(index, action)| one(index + 1, action))
        .chain(super::more(FIRST + LATER, all.len()))
        .collect();
    let first = Section {
        title: "Do this first",
        heading: "Recommendations: do this first",
        blocks,
    };
    let later = Section {
        title: "After that",
        heading: "Further recommendations",
        blocks: later,
    };
    (first, Some(later))
}

fn one(number: usize, action: &Action) -> Vec<Block> {
    let mut blocks = vec![Block::Numbered(number, Line::from_sentence(&action.text))];
    if let Some(first) = &action.precondition {
        blocks.push(Block::Below(Line::of("before: ").sentence(first)));
    }
    blocks.extend(shell("run:", action.command.as_deref()));
    if let Some(effect) = &action.side_effect {
        blocks.push(Block::Below(Line::of("side effect: ").sentence(effect)));
    }
    blocks.extend(shell("undo:", action.undo.as_deref()));
    blocks
}

/// A command or an undo, whole or not at all.
fn shell(label: &'static str, text: Option<&str>) -> Option<Block> {
    let text = text?;
    Some(match command(text, LONGEST) {
        Some(lines) => Block::Command(label, lines),
        None => Block::Below(Line::of(
            "the command is left out: it is empty, or too long to be checked by eye",
        )),
    })
}

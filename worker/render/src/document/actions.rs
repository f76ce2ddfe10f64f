//! Builds the suggested actions of the catalogue, at most three of them first. Nightshift never executes them.

use nightshift_alert::text::command_lines;
use nightshift_engine::catalogue::Action;
use nightshift_pipeline::report::Report;

use super::{Block, Part, Section};
use crate::Language;
use crate::line::Line;

/// The maximum number of actions in the first list.
const FIRST: usize = 3;
/// The maximum number of actions in the later list.
const LATER: usize = 9;
/// The longest command that is shown, in characters.
const LONGEST: usize = 2_000;

/// Returns the sections of first and later actions.
pub(super) fn sections(report: &Report, language: Language) -> (Section, Option<Section>) {
    let all = &report.actions;
    let mut blocks = Vec::new();
    if all.is_empty() {
        blocks.push(Block::Text(Line::from_static(report.no_action(language))));
    } else {
        blocks.push(Block::Text(Line::from_static(language.pick(
            "Suggested, not executed.",
            "提案のみで、実行していません。",
        ))));
    }
    for (index, action) in all.iter().take(FIRST).enumerate() {
        blocks.extend(one(index + 1, action, language));
    }
    let later: Vec<Block> = all
        .iter()
        .enumerate()
        .skip(FIRST)
        .take(LATER)
        .flat_map(|(index, action)| one(index + 1, action, language))
        .chain(super::more(language, FIRST + LATER, all.len()))
        .collect();
    let first = Section {
        part: Part::First,
        title: language.pick("Do this first", "最初にすること"),
        heading: language.pick("Recommendations: do this first", "推奨: 最初にすること"),
        blocks,
    };
    let later = Section {
        part: Part::Later,
        title: language.pick("After that", "その次にすること"),
        heading: language.pick("Further recommendations", "推奨: その次にすること"),
        blocks: later,
    };
    (first, Some(later))
}

fn one(number: usize, action: &Action, language: Language) -> Vec<Block> {
    let mut blocks = vec![Block::Numbered(number, Line::from_sentence(&action.text))];
    if let Some(first) = &action.precondition {
        blocks.push(Block::Below(
            Line::from_static(language.pick("before: ", "前提: ")).sentence(first),
        ));
    }
    blocks.extend(shell(
        language,
        language.pick("run:", "実行:"),
        action.command.as_deref(),
    ));
    if let Some(effect) = &action.side_effect {
        blocks.push(Block::Below(
            Line::from_static(language.pick("side effect: ", "副作用: ")).sentence(effect),
        ));
    }
    blocks.extend(shell(
        language,
        language.pick("undo:", "元に戻す:"),
        action.undo.as_deref(),
    ));
    blocks
}

/// Returns a command or an undo, or `None` if it is too long to show whole.
fn shell(language: Language, label: &'static str, text: Option<&str>) -> Option<Block> {
    let text = text?;
    Some(match command_lines(text, LONGEST) {
        Some(lines) => Block::Command(label, lines),
        None => Block::Below(Line::from_static(language.pick(
            "the command is left out: it is empty, or too long to be checked by eye",
            "コマンドは省略しました（空か、目で確認するには長すぎます）",
        ))),
    })
}

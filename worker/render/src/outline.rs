//! Renders a report as plain lines, for vendors whose fields are plain text. Lines are neither wrapped nor marked up,
//! and a command stays whole on its own lines.

use crate::Language;
use crate::document::{Block, FindingItem, Section};

/// The indentation of details below a line.
const INDENT: &str = "  ";

/// Returns the lines of a section without its heading.
pub fn lines(section: &Section, language: Language) -> Vec<String> {
    section
        .blocks
        .iter()
        .flat_map(|block| block_lines(block, language))
        .collect()
}

fn block_lines(block: &Block, language: Language) -> Vec<String> {
    match block {
        Block::Text(line) => vec![line.as_str().to_owned()],
        Block::Warning(line) => {
            vec![format!(
                "{}{}",
                language.pick("Warning: ", "警告: "),
                line.as_str()
            )]
        }
        Block::Labelled(label, line) => vec![labelled(label, line.as_str())],
        Block::Item(line)
        | Block::Step(_, line)
        | Block::Evidence(_, line)
        | Block::Finding(FindingItem { line, .. }) => vec![format!("- {}", line.as_str())],
        Block::Numbered(number, line) => vec![format!("{number}. {}", line.as_str())],
        Block::Below(line) => vec![format!("{INDENT}- {}", line.as_str())],
        Block::Command(label, commands) => std::iter::once(format!("{INDENT}- {label}"))
            .chain(
                commands
                    .iter()
                    .map(|line| format!("{INDENT}{INDENT}{line}")),
            )
            .collect(),
        Block::Facts(facts) => facts
            .iter()
            .map(|(name, line)| labelled(name, line.as_str()))
            .collect(),
    }
}

/// Joins a label and its text: `Reach: …`. A label that is a question gets no colon.
fn labelled(label: &str, words: &str) -> String {
    let colon = if label.ends_with(['?', '？']) {
        ""
    } else {
        ":"
    };
    format!("{label}{colon} {words}")
}

/// The end of a section that was cut.
const CUT: &str = "\n…";

/// Returns the text of the sections that fit into this many UTF-16 units, and whether that is all. A section that
/// does not fit ends with its last item that fits, and later sections follow.
pub fn text<'a>(
    sections: impl IntoIterator<Item = &'a Section>,
    language: Language,
    most_units: usize,
) -> (String, bool) {
    let units = |text: &str| text.encode_utf16().count();
    let mut out = String::new();
    let mut left = most_units;
    let mut is_whole = true;
    for section in sections {
        let gap = if out.is_empty() { "" } else { "\n\n" };
        let heading = format!("{gap}{}", section.heading);
        let items = items(section, language);
        let whole = format!("{heading}\n{}", items.join("\n"));
        let said = if units(&whole) <= left {
            whole
        } else {
            is_whole = false;
            let mut said = heading.clone();
            for item in &items {
                if units(&said) + 1 + units(item) + units(CUT) > left {
                    break;
                }
                said.push('\n');
                said.push_str(item);
            }
            if said == heading {
                continue;
            }
            said + CUT
        };
        left -= units(&said);
        out.push_str(&said);
    }
    (out, is_whole)
}

/// Returns the items of a section. The lines of one action, step or piece of evidence are one item, because half of
/// it would be misleading.
fn items(section: &Section, language: Language) -> Vec<String> {
    let mut items: Vec<String> = Vec::new();
    for block in &section.blocks {
        let lines = block_lines(block, language);
        match (block, items.last_mut()) {
            (Block::Below(_) | Block::Command(..), Some(item)) => {
                item.push('\n');
                item.push_str(&lines.join("\n"));
            }
            (Block::Facts(_), _) => items.extend(lines),
            _ => items.push(lines.join("\n")),
        }
    }
    items
}

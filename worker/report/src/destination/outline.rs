//! A report as plain lines, for vendors whose fields are plain text. Nothing wraps or marks here, and a command stands on
//! its own line, whole.

use crate::Language;
use crate::document::{Block, Section};

/// What stands before what belongs to the line above.
const INDENT: &str = "  ";

/// A section as lines, without its heading.
pub(super) fn lines(section: &Section, language: Language) -> Vec<String> {
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
                language.of("Warning: ", "警告: "),
                line.as_str()
            )]
        }
        Block::Labelled(label, line) => vec![labelled(label, line.as_str())],
        Block::Item(line) => vec![format!("- {}", line.as_str())],
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

/// `Reach: …`; a label that asks has no colon.
fn labelled(label: &str, words: &str) -> String {
    let colon = if label.ends_with(['?', '？']) {
        ""
    } else {
        ":"
    };
    format!("{label}{colon} {words}")
}

/// The sections that fit into this many UTF-16 units, whole, one after the other; and whether that is all of them.
pub(super) fn text<'a>(
    sections: impl IntoIterator<Item = &'a Section>,
    language: Language,
    most_units: usize,
) -> (String, bool) {
    let mut out = String::new();
    let mut left = most_units;
    for section in sections {
        let gap = if out.is_empty() { "" } else { "\n\n" };
        let text = format!(
            "{gap}{}\n{}",
            section.heading,
            lines(section, language).join("\n")
        );
        let units = text.encode_utf16().count();
        if units > left {
            return (out, false);
        }
        left -= units;
        out.push_str(&text);
    }
    (out, true)
}

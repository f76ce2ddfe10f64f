//! Builds Block Kit blocks: documents as rich text and plain text, in which Slack parses no mentions, links or emoji.
//! <https://docs.slack.dev/reference/block-kit/blocks/rich-text-block>
//!
//! Nothing here is `mrkdwn`, so foreign text has no syntax to break out of.

use std::borrow::Cow;

use serde_json::{Value, json};
use unicode_segmentation::UnicodeSegmentation;

use super::limits::{BLOCK, BLOCKS, MESSAGE};
use crate::Language;
use crate::document::{Block, FindingItem};

/// Returns the length in UTF-16 units.
pub(super) fn units(text: &str) -> usize {
    text.encode_utf16().count()
}

/// Shortens text to this many units, between graphemes, and marks a cut with `…`.
pub(super) fn fit(text: &str, most: usize) -> Cow<'_, str> {
    if units(text) <= most {
        return Cow::Borrowed(text);
    }
    let mut out = String::new();
    let mut used = 1;
    for grapheme in text.graphemes(true) {
        used += units(grapheme);
        if used > most {
            break;
        }
        out.push_str(grapheme);
    }
    out.truncate(out.trim_end().len());
    if most > 0 {
        out.push('…');
    }
    Cow::Owned(out)
}

/// Escapes text for the fallback of a message, the only place that Slack parses for syntax.
/// <https://docs.slack.dev/messaging/formatting-message-text#escaping>
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// Makes a plain text object.
pub fn plain_text(text: &str) -> Value {
    json!({ "type": "plain_text", "text": text, "emoji": false })
}

/// Makes a run of rich text.
pub(super) fn span(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

/// Makes a bold run of rich text.
pub(super) fn bold(text: &str) -> Value {
    json!({ "type": "text", "text": text, "style": { "bold": true } })
}

/// The layout of a piece of rich text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Line,
    /// A bullet with its indentation.
    Bullet(u8),
    /// A command, preformatted.
    Command,
}

/// A piece of rich text that is added whole or not at all.
#[derive(Debug, Clone)]
pub(super) struct Piece {
    pub(super) shape: Shape,
    pub(super) spans: Vec<Value>,
    /// The length in UTF-16 units, with the line break.
    pub(super) chars: usize,
}

impl Piece {
    /// Makes a piece of a bold label and text, cut to this many units together.
    pub(super) fn new(shape: Shape, label: &str, text: &str, most: usize) -> Self {
        let room = most.saturating_sub(units(label) + 1);
        let short = fit(text, room);
        let mut spans = Vec::new();
        if !label.is_empty() {
            spans.push(bold(label));
        }
        // Slack refuses empty runs and lines without runs.
        if !short.is_empty() {
            spans.push(span(&short));
        } else if label.is_empty() {
            spans.push(span("–"));
        }
        let chars = units(label) + units(&short).max(1) + 1;
        Self {
            shape,
            spans,
            chars,
        }
    }

    pub(super) fn heading(text: &str) -> Self {
        Self {
            shape: Shape::Line,
            spans: vec![bold(text)],
            chars: units(text) + 1,
        }
    }

    /// Appends a run of so many units.
    pub(super) fn append(&mut self, run: Value, chars: usize) {
        self.chars += chars;
        self.spans.push(run);
    }

    /// Makes a line of fixed words.
    pub(super) fn say(text: &str) -> Self {
        Self::new(Shape::Line, "", text, BLOCK)
    }

    /// Makes a command to copy.
    fn command(lines: &[String]) -> Self {
        let text = lines.join("\n");
        let chars = units(&text) + 1;
        Self {
            shape: Shape::Command,
            spans: vec![span(&text)],
            chars,
        }
    }
}

/// Converts a block of a document into pieces of at most so many units. Commands are never cut.
pub(super) fn pieces(block: &Block, language: Language, most: usize) -> Vec<Piece> {
    let colon = |label: &str| {
        let end = if label.ends_with(['?', '？']) {
            " "
        } else {
            ": "
        };
        format!("{label}{end}")
    };
    let one = |shape, label: &str, text: &str| vec![Piece::new(shape, label, text, most)];
    match block {
        Block::Text(line) => one(Shape::Line, "", line.as_str()),
        Block::Warning(line) => {
            let label = language.pick("⚠ Warning: ", "⚠ 警告: ");
            one(Shape::Line, label, line.as_str())
        }
        Block::Labelled(label, line) => one(Shape::Line, &colon(label), line.as_str()),
        Block::Item(line)
        | Block::Step(_, line)
        | Block::Evidence(_, line)
        | Block::Finding(FindingItem { line, .. }) => one(Shape::Bullet(0), "", line.as_str()),
        Block::Below(line) => one(Shape::Bullet(1), "", line.as_str()),
        Block::Numbered(number, line) => one(Shape::Line, &format!("{number}. "), line.as_str()),
        Block::Command(label, lines) => vec![Piece::say(label), Piece::command(lines)],
        Block::Facts(facts) => facts
            .iter()
            .map(|(label, line)| Piece::new(Shape::Line, &colon(label), line.as_str(), most))
            .collect(),
    }
}

/// The units of a message that are reserved for a last line.
const RESERVE: usize = 100;

/// The blocks of one message. Callers check for room before they add anything.
#[derive(Debug, Default)]
pub(super) struct Sheet {
    blocks: Vec<Value>,
    chars: usize,
    open: Vec<Value>,
    open_chars: usize,
}

impl Sheet {
    /// Continues a message that has these blocks.
    pub(super) fn from_blocks(blocks: Vec<Value>) -> Self {
        // Their JSON is longer than their text, so the message stays within its limit.
        let chars = blocks.iter().map(|block| units(&block.to_string())).sum();
        Self {
            blocks,
            chars,
            ..Self::default()
        }
    }

    /// Returns whether rich text of this many units still fits, in a block of its own if necessary.
    pub(super) fn has_room(&self, chars: usize) -> bool {
        self.chars + chars + RESERVE <= MESSAGE && self.blocks.len() + 2 <= BLOCKS && chars <= BLOCK
    }

    pub(super) fn is_empty(&self) -> bool {
        self.blocks.is_empty() && self.open.is_empty()
    }

    /// Appends a piece of rich text.
    pub(super) fn put(&mut self, piece: Piece) {
        if self.open_chars + piece.chars > BLOCK {
            self.close();
        }
        self.chars += piece.chars;
        self.open_chars += piece.chars;
        let Piece { shape, spans, .. } = piece;
        let indent = match shape {
            Shape::Line => return self.line(spans),
            Shape::Command => {
                let pre = json!({ "type": "rich_text_preformatted", "elements": spans });
                return self.open.push(pre);
            }
            Shape::Bullet(indent) => indent,
        };
        let bullet = json!({ "type": "rich_text_section", "elements": spans });
        let list = self
            .open
            .last_mut()
            .filter(|last| last["type"] == "rich_text_list" && last["indent"] == indent);
        match list.and_then(|list| list["elements"].as_array_mut()) {
            Some(bullets) => bullets.push(bullet),
            None => self.open.push(json!({
                "type": "rich_text_list", "style": "bullet", "indent": indent, "elements": [bullet],
            })),
        }
    }

    /// Appends a line. Consecutive lines become one section, because Slack does not document the space between two.
    fn line(&mut self, spans: Vec<Value>) {
        let section = self
            .open
            .last_mut()
            .filter(|last| last["type"] == "rich_text_section");
        match section.and_then(|section| section["elements"].as_array_mut()) {
            Some(elements) => {
                elements.push(span("\n"));
                elements.extend(spans);
            }
            None => self
                .open
                .push(json!({ "type": "rich_text_section", "elements": spans })),
        }
    }

    /// Ends the current block of rich text.
    pub(super) fn close(&mut self) {
        if !self.open.is_empty() {
            let elements = std::mem::take(&mut self.open);
            self.blocks
                .push(json!({ "type": "rich_text", "elements": elements }));
        }
        self.open_chars = 0;
    }

    /// Adds a block of another kind with this many units.
    pub(super) fn block(&mut self, block: Value, chars: usize) {
        self.close();
        self.chars += chars;
        self.blocks.push(block);
    }

    pub(super) fn finish(mut self) -> Vec<Value> {
        self.close();
        self.blocks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r1_text_is_cut_between_characters() {
        assert_eq!(fit("abcdef", 6), "abcdef");
        assert_eq!(fit("abcdef", 5), "abcd…");
        assert_eq!(fit("日本語です", 4), "日本語…");
        assert_eq!(fit("a👨‍👩‍👧‍👦b", 6), "a…");
        assert_eq!(fit("ae\u{301}b", 3), "a…");
        assert_eq!(fit("abc", 0), "");
        assert_eq!(escape("<!here> & <@U1>"), "&lt;!here&gt; &amp; &lt;@U1&gt;");
    }
}

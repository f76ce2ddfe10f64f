//! Block Kit by hand: text of documents as rich text and plain text, neither of which Slack reads for mentions, links
//! or emoji. <https://docs.slack.dev/reference/block-kit/blocks/rich-text-block>
//!
//! Nothing here is `mrkdwn`: what came from outside has no syntax to break out of.

use std::borrow::Cow;

use serde_json::{Value, json};
use unicode_segmentation::UnicodeSegmentation;

use super::limits::{BLOCK, BLOCKS, MESSAGE};
use crate::Language;
use crate::document::Block;

/// UTF-16 units of a text.
pub(super) fn units(text: &str) -> usize {
    text.encode_utf16().count()
}

/// The text in at most this many units, cut between graphemes, with `…` where something is missing.
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

/// What stands between the entries of a line that lists things.
const BETWEEN: &str = "; ";

/// As [`fit`], of a line that may list things: one that would be cut goes with those behind it, for half of an id or of an
/// address names another.
fn fit_list(text: &str, most: usize) -> Cow<'_, str> {
    let Cow::Owned(short) = fit(text, most) else {
        return Cow::Borrowed(text);
    };
    Cow::Owned(match short.rsplit_once(BETWEEN) {
        Some((whole, _)) => format!("{whole}{BETWEEN}…"),
        None => short,
    })
}

/// Text for the one place that Slack reads for syntax: the fallback of a message.
/// <https://docs.slack.dev/messaging/formatting-message-text#escaping>
pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// A text object that is nothing but text.
pub(super) fn plain_text(text: &str) -> Value {
    json!({ "type": "plain_text", "text": text, "emoji": false })
}

/// A run of rich text.
pub(super) fn span(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

/// A run of bold rich text.
pub(super) fn bold(text: &str) -> Value {
    json!({ "type": "text", "text": text, "style": { "bold": true } })
}

/// How a piece of rich text stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// A line of its own.
    Line,
    /// A bullet; deeper ones have a higher number.
    Bullet(u8),
    /// Preformatted: a command.
    Command,
}

/// A piece of rich text that is whole or not there.
#[derive(Debug, Clone)]
pub(super) struct Piece {
    pub(super) shape: Shape,
    pub(super) spans: Vec<Value>,
    /// UTF-16 units of it, the line break included.
    pub(super) chars: usize,
}

impl Piece {
    /// A bold label, then text, cut to this many units together.
    pub(super) fn new(shape: Shape, label: &str, text: &str, most: usize) -> (Self, bool) {
        let room = most.saturating_sub(units(label) + 1);
        let short = fit(text, room);
        let mut spans = Vec::new();
        if !label.is_empty() {
            spans.push(bold(label));
        }
        // Slack refuses empty runs of text, and lines without any.
        if !short.is_empty() {
            spans.push(span(&short));
        } else if label.is_empty() {
            spans.push(span("–"));
        }
        let chars = units(label) + units(&short).max(1) + 1;
        let piece = Self {
            shape,
            spans,
            chars,
        };
        (piece, matches!(short, Cow::Owned(_)))
    }

    /// A heading.
    pub(super) fn heading(text: &str) -> Self {
        Self {
            shape: Shape::Line,
            spans: vec![bold(text)],
            chars: units(text) + 1,
        }
    }

    /// A line of our own.
    pub(super) fn say(text: &str) -> Self {
        Self::new(Shape::Line, "", text, BLOCK).0
    }

    /// Lines to paste.
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

/// What a block of a document is in rich text, each piece of at most so many units; and whether something was cut. A
/// command is whole, however long.
pub(super) fn pieces(block: &Block, language: Language, most: usize) -> (Vec<Piece>, bool) {
    let colon = |label: &str| {
        let end = if label.ends_with(['?', '？']) {
            " "
        } else {
            ": "
        };
        format!("{label}{end}")
    };
    let one = |shape, label: &str, text: &str| {
        let (piece, is_cut) = Piece::new(shape, label, text, most);
        (vec![piece], is_cut)
    };
    match block {
        Block::Text(line) => one(Shape::Line, "", line.as_str()),
        Block::Warning(line) => {
            let label = language.of("⚠ Warning: ", "⚠ 警告: ");
            one(Shape::Line, label, line.as_str())
        }
        Block::Labelled(label, line) => {
            let label = colon(label);
            let short = fit_list(line.as_str(), most.saturating_sub(units(&label) + 1));
            (one(Shape::Line, &label, &short).0, short != line.as_str())
        }
        Block::Item(line) => one(Shape::Bullet(0), "", line.as_str()),
        Block::Below(line) => one(Shape::Bullet(1), "", line.as_str()),
        Block::Numbered(number, line) => one(Shape::Line, &format!("{number}. "), line.as_str()),
        Block::Command(label, lines) => (vec![Piece::say(label), Piece::command(lines)], false),
        Block::Facts(facts) => {
            let made = facts
                .iter()
                .map(|(label, line)| Piece::new(Shape::Line, &colon(label), line.as_str(), most));
            let (pieces, cut): (Vec<_>, Vec<_>) = made.unzip();
            (pieces, cut.contains(&true))
        }
    }
}

/// Units of a message that are kept for a last word.
const RESERVE: usize = 100;

/// The blocks of one message. What does not fit is not put: it is asked before.
#[derive(Debug, Default)]
pub(super) struct Sheet {
    blocks: Vec<Value>,
    chars: usize,
    open: Vec<Value>,
    open_chars: usize,
}

impl Sheet {
    /// Whether rich text of this many units fits yet, in a block of its own if need be.
    pub(super) fn has_room(&self, chars: usize) -> bool {
        self.chars + chars + RESERVE <= MESSAGE && self.blocks.len() + 2 <= BLOCKS && chars <= BLOCK
    }

    /// Whether nothing stands on it.
    pub(super) fn is_empty(&self) -> bool {
        self.blocks.is_empty() && self.open.is_empty()
    }

    /// Puts rich text behind what stands there.
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

    /// Lines below each other are one section: what Slack puts between two is not told.
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

    /// Ends a block of rich text.
    pub(super) fn close(&mut self) {
        if !self.open.is_empty() {
            let elements = std::mem::take(&mut self.open);
            self.blocks
                .push(json!({ "type": "rich_text", "elements": elements }));
        }
        self.open_chars = 0;
    }

    /// Puts a block of another kind, of this many units.
    pub(super) fn block(&mut self, block: Value, chars: usize) {
        self.close();
        self.chars += chars;
        self.blocks.push(block);
    }

    /// The blocks.
    pub(super) fn finish(mut self) -> Vec<Value> {
        self.close();
        self.blocks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_cut_between_its_entries() {
        let text = "3 within 12 h: a (1qsk); b (2qsk); c (3qsk)";
        assert_eq!(fit_list(text, 43), text);
        // One unit too many is cut as many are.
        for most in [42, 41, 40] {
            assert_eq!(fit_list(text, most), "3 within 12 h: a (1qsk); b (2qsk); …");
        }
        assert_eq!(fit_list(text, 20), "3 within 12 h: a (1…");
    }

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

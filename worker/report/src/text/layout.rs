//! Lines on a terminal: wrapping, colour, two columns.

use nightshift_engine::Urgency;
use textwrap::core::display_width;
use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm, wrap};

use crate::line::Line;

/// Between two columns of facts.
const GUTTER: usize = 2;

/// How a line is painted; nothing is said by it that the words do not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Paint {
    /// As it is.
    None,
    /// Bold.
    Title,
    /// Bold and red: somebody must act now.
    Alarm,
    /// Bold and yellow.
    Warning,
    /// Cyan, to be found and pasted.
    Command,
}

impl Paint {
    /// Of a header.
    pub(super) const fn of(urgency: Urgency) -> Self {
        match urgency {
            Urgency::Now => Self::Alarm,
            Urgency::ThisShift => Self::Warning,
            Urgency::NextDay | Urgency::None => Self::Title,
        }
    }

    const fn codes(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Title => "1",
            Self::Alarm => "1;31",
            Self::Warning => "1;33",
            Self::Command => "36",
        }
    }
}

/// A page that grows downwards.
pub(super) struct Page {
    text: String,
    width: usize,
    colour: bool,
}

impl Page {
    pub(super) const fn new(width: usize, colour: bool) -> Self {
        Self {
            text: String::new(),
            width,
            colour,
        }
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }

    pub(super) fn blank(&mut self) {
        self.text.push('\n');
    }

    /// Text, wrapped at spaces; a word longer than the line is broken.
    pub(super) fn line(&mut self, paint: Paint, first: &str, next: &str, text: &str) {
        for line in self.wrapped(self.width, first, next, text) {
            self.paint(paint, &line);
            self.blank();
        }
    }

    /// As [`Page::line`], with the first characters, a label, in bold.
    pub(super) fn labelled(&mut self, label_chars: usize, first: &str, next: &str, text: &str) {
        let lines = self.wrapped(self.width, first, next, text);
        for (index, line) in lines.iter().enumerate() {
            match line.split_at_checked(first.len() + label_chars) {
                Some((label, rest)) if index == 0 => {
                    self.paint(Paint::Title, label);
                    self.text.push_str(rest);
                }
                _ => self.text.push_str(line),
            }
            self.blank();
        }
    }

    /// A command on a line of its own, never wrapped.
    pub(super) fn command(&mut self, indent: &str, command: &str) {
        self.text.push_str(indent);
        self.paint(Paint::Command, command);
        self.blank();
    }

    /// Two columns; what does not fit into half a line gets a whole one, after those that do.
    pub(super) fn facts(&mut self, facts: &[(&'static str, Line)]) {
        let label = facts.iter().map(|(name, _)| name.len()).max().unwrap_or(0) + 2;
        let half = (self.width.saturating_sub(2 + GUTTER)) / 2;
        let (narrow, wide): (Vec<_>, Vec<_>) = facts
            .iter()
            .partition(|(_, line)| label + display_width(line.as_str()) <= half);
        for pair in narrow.chunks(2) {
            let mut used = 0;
            for (index, (name, line)) in pair.iter().enumerate() {
                let room = if index == 0 { 2 } else { 2 + half + GUTTER };
                self.pad(room.saturating_sub(used));
                self.paint(Paint::Title, name);
                self.pad(label.saturating_sub(name.len()));
                self.text.push_str(line.as_str());
                used = room + label + display_width(line.as_str());
            }
            self.blank();
        }
        for (name, line) in wide {
            let first = format!("  {name}{}", " ".repeat(label.saturating_sub(name.len())));
            let next = " ".repeat(first.len());
            let indent = "  ".len();
            let lines = self.wrapped(self.width, &first, &next, line.as_str());
            for (index, line) in lines.iter().enumerate() {
                match line.split_at_checked(indent + name.len()) {
                    Some((label, rest)) if index == 0 => {
                        self.paint(Paint::Title, label);
                        self.text.push_str(rest);
                    }
                    _ => self.text.push_str(line),
                }
                self.blank();
            }
        }
    }

    fn pad(&mut self, columns: usize) {
        self.text.extend(std::iter::repeat_n(' ', columns));
    }

    fn paint(&mut self, paint: Paint, text: &str) {
        if self.colour && paint != Paint::None {
            self.text
                .push_str(&format!("\u{1b}[{}m{text}\u{1b}[0m", paint.codes()));
        } else {
            self.text.push_str(text);
        }
    }

    fn wrapped(&self, width: usize, first: &str, next: &str, text: &str) -> Vec<String> {
        let options = Options::new(width)
            .initial_indent(first)
            .subsequent_indent(next)
            .break_words(true)
            .word_separator(WordSeparator::AsciiSpace)
            .word_splitter(WordSplitter::NoHyphenation)
            .wrap_algorithm(WrapAlgorithm::FirstFit);
        wrap(text, options)
            .into_iter()
            .map(|line| line.into_owned())
            .collect()
    }
}

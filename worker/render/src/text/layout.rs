//! Lays out lines on a terminal: wrapping, colour, two columns.

use nightshift_engine::conclusion::Urgency;
use textwrap::core::display_width;
use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm, wrap};

use crate::line::Line;

/// The number of columns between two columns of facts.
const GUTTER: usize = 2;

/// The colour of a line. It adds nothing to the words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Paint {
    /// No colour.
    None,
    /// Bold.
    Title,
    /// Bold and red, when somebody must act now.
    Alarm,
    /// Bold and yellow.
    Warning,
    /// Cyan, so that it is found and copied.
    Command,
}

impl Paint {
    /// Returns the colour of a header.
    pub(super) const fn from_urgency(urgency: Urgency) -> Self {
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

/// A page that lines are appended to.
pub(super) struct TextPage {
    text: String,
    width: usize,
    colour: bool,
}

impl TextPage {
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

    /// Appends text wrapped at spaces. A word that is longer than the line is broken.
    pub(super) fn line(&mut self, paint: Paint, first: &str, next: &str, text: &str) {
        for line in self.wrapped(self.width, first, next, text) {
            self.paint(paint, &line);
            self.blank();
        }
    }

    /// Appends text as [`TextPage::line`] does, with its first characters, a label, in bold.
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

    /// Appends a command on its own line, without wrapping.
    pub(super) fn command(&mut self, indent: &str, command: &str) {
        self.text.push_str(indent);
        self.paint(Paint::Command, command);
        self.blank();
    }

    /// Appends facts in two columns. A fact that is wider than half a line gets a whole one, after the others.
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

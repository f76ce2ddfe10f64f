//! Fits the short form of a report into one screen of a phone: at most [`LINES`] lines of [`COLUMNS`] columns. What has
//! no room stands in the thread.

use chrono::{DateTime, Utc};
use serde_json::{Value, json};
use textwrap::core::display_width;
use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm, wrap};
use unicode_segmentation::UnicodeSegmentation;

use super::rich::{Piece, Shape, span, units};
use crate::words;

/// The columns of a line on a phone.
pub(super) const COLUMNS: usize = 45;
/// The lines of a message, its header and buttons included.
pub(super) const LINES: usize = 15;
/// The formats of a time with its longest form: by age and the reader's clock, or by age alone.
const DATES: [(&str, &str); 2] = [
    ("{ago} ({time})", "12 minutes ago (12:02 AM)"),
    ("{ago}", "12 minutes ago"),
];

/// The kind of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Group {
    Header,
    Happened,
    Still,
    Reach,
    Actions,
    Why,
    Unchecked,
    People,
    About,
}

/// A line of the short form, which may be wrapped.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) group: Group,
    label: &'static str,
    text: String,
    /// A time after the text, shown if there is room for it.
    at: Option<DateTime<Utc>>,
    /// Text after the time, shown if there is room for all of it.
    tail: String,
    /// The lines that it gets.
    lines: usize,
    /// When it is left out for want of room: the lowest first, `None` never.
    rank: Option<u8>,
}

impl Row {
    pub(super) fn new(group: Group, label: &'static str, text: &str) -> Self {
        Self {
            group,
            label,
            text: text.to_owned(),
            at: None,
            tail: String::new(),
            lines: 1,
            rank: None,
        }
    }

    /// Appends a time and what stands after it.
    pub(super) fn at(mut self, at: Option<DateTime<Utc>>, tail: &str) -> Self {
        self.at = at;
        tail.clone_into(&mut self.tail);
        self
    }

    /// Sets the least number of lines.
    pub(super) const fn at_least(mut self, lines: usize) -> Self {
        self.lines = lines;
        self
    }

    /// Lets the row be left out for want of room.
    pub(super) const fn may_go(mut self, rank: u8) -> Self {
        self.rank = Some(rank);
        self
    }

    /// Returns the lines that the row needs with a time of this length and its tail.
    fn needs(&self, date: &str, tail: &str) -> usize {
        let gap = if date.is_empty() { "" } else { " " };
        lines(&format!("{}{}{gap}{date}{tail}", self.label, self.text))
    }

    fn is_cut(&self) -> bool {
        let [(_, date), _] = DATES;
        let date = self.at.map_or("", |_| date);
        self.lines < self.needs(date, &self.tail)
    }

    /// Returns the text, shortened to the lines of the row.
    pub(super) fn text(&self) -> String {
        shorten(self.label, &self.text, self.lines)
    }

    /// Returns the row as rich text.
    pub(super) fn into_piece(self) -> Piece {
        let mut piece = Piece::new(Shape::Line, self.label, &self.text(), usize::MAX);
        if let Some(at) = self.at {
            let fitting = DATES
                .iter()
                .find(|(_, date)| self.needs(date, "") <= self.lines);
            if let Some((format, _)) = fitting {
                piece.append(span(" "), 1);
                piece.append(date(at, format), 2 * units(&words::moment(at)));
            }
        }
        if !self.tail.is_empty() && !self.is_cut() {
            piece.append(span(&self.tail), units(&self.tail));
        }
        piece
    }
}

/// Returns a time that Slack shows to its reader.
fn date(at: DateTime<Utc>, format: &str) -> Value {
    json!({
        "type": "date", "timestamp": at.timestamp(), "format": format, "fallback": words::moment(at),
    })
}

/// Returns the lines of a text on a phone.
pub(super) fn lines(text: &str) -> usize {
    let options = Options::new(COLUMNS)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit);
    wrap(text, options).len().max(1)
}

/// Returns the lines of a row of buttons.
pub(super) fn button_lines<'a>(labels: impl IntoIterator<Item = &'a str>) -> usize {
    let (mut rows, mut used) = (0, COLUMNS);
    for label in labels {
        let width = display_width(label) + 2;
        if used + 1 + width > COLUMNS {
            rows += 1;
            used = width;
        } else {
            used += 1 + width;
        }
    }
    rows
}

/// Gives each row its lines. Rows are left out by their rank until all have their least; then each row grows in turn,
/// the first ones first. A row that may be left out
/// goes before one above it of the same kind is cut.
pub(super) fn share_lines(rows: &mut Vec<Row>, room: usize) {
    let used = |rows: &[Row]| rows.iter().map(|row| row.lines).sum::<usize>();
    while used(rows) > room {
        let ranks = rows.iter().enumerate();
        let lowest = ranks.filter_map(|(index, row)| Some((row.rank?, index)));
        match lowest.min() {
            Some((_, index)) => drop(rows.remove(index)),
            None => return,
        }
    }
    let mut kinds: &[Group] = &GROWING;
    loop {
        let spare = room - used(rows);
        grow(rows, spare, kinds);
        kinds = match superfluous(rows) {
            // The lines of the row go to those above it, and only then to others.
            Some(index) => match rows.remove(index).group {
                Group::Actions => &[Group::Actions],
                _ => &[Group::Why],
            },
            None if kinds.len() < GROWING.len() => &GROWING,
            None => return,
        };
    }
}

/// The kinds of rows in the order in which they get spare lines: what happened and what to do come first.
const GROWING: [Group; 9] = [
    Group::Header,
    Group::Happened,
    Group::Actions,
    Group::Why,
    Group::Still,
    Group::Reach,
    Group::Unchecked,
    Group::People,
    Group::About,
];

/// Shares spare lines among the rows of these kinds that need more.
fn grow(rows: &mut [Row], mut spare: usize, kinds: &[Group]) {
    for level in 2..=LINES {
        for group in kinds {
            for row in rows.iter_mut().filter(|row| row.group == *group) {
                if spare > 0 && row.lines < level && row.is_cut() {
                    row.lines += 1;
                    spare -= 1;
                }
            }
        }
    }
}

/// Returns the last row of a block, if it may be left out and a row of the block before it is cut.
fn superfluous(rows: &[Row]) -> Option<usize> {
    [Group::Actions, Group::Why].into_iter().find_map(|group| {
        let last = rows.iter().rposition(|row| row.group == group)?;
        let (before, rest) = rows.split_at_checked(last)?;
        let may_go = rest.first().is_some_and(|row| row.rank.is_some());
        let is_cut = |row: &Row| row.group == group && row.is_cut();
        (may_go && before.iter().any(is_cut)).then_some(last)
    })
}

/// Shortens a text to so many lines behind its label, between words where that leaves most of it.
fn shorten(label: &str, text: &str, most: usize) -> String {
    let fits = |text: &str| lines(&format!("{label}{text}…")) <= most;
    if lines(&format!("{label}{text}")) <= most {
        return text.to_owned();
    }
    let mut head = String::new();
    for grapheme in text.graphemes(true) {
        if !fits(&format!("{head}{grapheme}")) {
            break;
        }
        head.push_str(grapheme);
    }
    let words = head.rsplit_once(' ').map(|(words, _)| words);
    let head = words
        .filter(|words| 2 * words.len() >= head.len())
        .unwrap_or(&head);
    format!(
        "{}…",
        head.trim_end_matches([' ', ',', ';', ':', '.', '-', '·'])
    )
}

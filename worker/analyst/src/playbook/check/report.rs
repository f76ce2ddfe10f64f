//! Converts byte offsets of a file to lines and columns.

use std::ops::Range;

use toml::Spanned;

use super::problem::{Level, Problem};

pub(super) struct ProblemReport<'a> {
    file: &'a str,
    source: &'a str,
    problems: Vec<Problem>,
}

impl<'a> ProblemReport<'a> {
    pub(super) const fn new(file: &'a str, source: &'a str) -> Self {
        Self {
            file,
            source,
            problems: Vec::new(),
        }
    }

    pub(super) fn into_problems(mut self) -> Vec<Problem> {
        self.problems
            .sort_by_key(|problem| (problem.line, problem.column));
        self.problems
    }

    /// Adds an error at this byte of the file.
    pub(super) fn error(&mut self, at: usize, message: impl Into<String>) {
        self.add(at, Level::Error, message.into());
    }

    /// Adds a warning at this byte of the file.
    pub(super) fn warning(&mut self, at: usize, message: impl Into<String>) {
        self.add(at, Level::Warning, message.into());
    }

    fn add(&mut self, at: usize, severity: Level, message: String) {
        let before = self.source.get(..at).unwrap_or(self.source);
        let line = before.matches('\n').count() + 1;
        let column = before
            .rsplit('\n')
            .next()
            .map_or(0, |rest| rest.chars().count())
            + 1;
        let problem = Problem {
            file: self.file.to_owned(),
            line,
            column,
            severity,
            message,
        };
        if !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }

    /// Adds an error of the TOML reader, with the nearest name if one is unknown.
    pub(super) fn add_toml_error(&mut self, error: &toml::de::Error) {
        let at = error.span().map_or(0, |span| span.start);
        let message = error.message().trim().replace('\n', " ");
        let hint = nearest_in_message(&message)
            .map(|name| format!("; did you mean `{name}`?"))
            .unwrap_or_default();
        self.error(at, format!("{message}{hint}"));
    }

    /// Returns the first byte at or after `at` where `what` occurs, or `at` when it is escaped there.
    pub(super) fn offset_after(&self, at: usize, what: &str) -> usize {
        let rest = self.source.get(at..).unwrap_or_default();
        rest.find(what).map_or(at, |found| at + found)
    }

    /// Returns the byte in the file of an offset within a text, if the text is not escaped there. Otherwise returns
    /// the start of the text.
    pub(super) fn offset_inside(&self, text: &Spanned<String>, offset: usize) -> usize {
        let Range { start, end } = text.span();
        let value = text.get_ref().as_str();
        self.source
            .get(start..end)
            .and_then(|raw| raw.find(value))
            .filter(|_| !value.is_empty())
            .map_or(start, |begins| start + begins + offset)
    }
}

/// Returns the known name nearest to the unknown one in a message of the form "unknown field `x`, expected one of
/// `a`, `b`".
fn nearest_in_message(message: &str) -> Option<String> {
    if !message.contains("unknown ") {
        return None;
    }
    let mut quoted = message.split('`').skip(1).step_by(2);
    let unknown = quoted.next()?;
    nearest_name(unknown, quoted)
}

/// Returns the name that is most like `wanted`, if any is similar enough.
pub(super) fn nearest_name<'n>(
    wanted: &str,
    names: impl IntoIterator<Item = &'n str>,
) -> Option<String> {
    names
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(wanted, name), name))
        .filter(|(distance, name)| *distance <= name.chars().count().max(3) / 3)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name.to_owned())
}

/// Returns the message for an unknown name, with the nearest known name if there is one.
pub(super) fn unknown_name_message<'n>(
    what: &str,
    name: &str,
    names: impl IntoIterator<Item = &'n str>,
) -> String {
    match nearest_name(name, names) {
        Some(near) => format!("unknown {what} `{name}`; did you mean `{near}`?"),
        None => format!("unknown {what} `{name}`"),
    }
}

//! Writes to standard output and standard error. A closed pipe is not an error, and foreign text cannot control the
//! terminal.

use std::io::{IsTerminal, Write};
use std::sync::Arc;

use parking_lot::Mutex;
use serde::Serialize;

use crate::exit::Exit;

/// Columns of a terminal that reports no width.
const COLUMNS: u16 = 100;

/// Returns standard output behind a lock, for destinations that share it.
pub(crate) fn stdout() -> Arc<Mutex<dyn Write + Send>> {
    Arc::new(Mutex::new(std::io::stdout()))
}

/// Writes text to standard output.
pub(crate) fn print(text: &str) -> Result<(), Exit> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    if !text.ends_with('\n') {
        out.write_all(b"\n")?;
    }
    Ok(out.flush()?)
}

/// Writes one JSON value on a line.
pub(crate) fn print_json(value: &impl Serialize) -> Result<(), Exit> {
    let text = serde_json::to_string(value).map_err(|error| Exit::Failed(error.into()))?;
    print(&text)
}

/// Writes a line to standard error and ignores a failure.
pub(crate) fn print_stderr(text: &str) {
    drop(writeln!(std::io::stderr().lock(), "{text}"));
}

/// Formats a count: `1 file`, `2 files`.
pub(crate) fn pluralise(number: usize, one: &str, several: &str) -> String {
    match number {
        1 => format!("1 {one}"),
        number => format!("{number} {several}"),
    }
}

/// Formats foreign text for one line of a terminal: no hidden characters, no live links, bounded.
pub(crate) fn sanitize_line(text: &str, most_chars: usize) -> String {
    let (text, _) = nightshift_alert::text::strip_hidden(text);
    let text = nightshift_alert::text::single_line(&text);
    let text = nightshift_alert::text::truncate(&text, most_chars);
    nightshift_alert::text::defang(&text)
}

/// Formats text of the operator for one line of a terminal, unchanged except for hidden characters and its length.
pub(crate) fn authored_line(text: &str, most_chars: usize) -> String {
    let (text, _) = nightshift_alert::text::strip_hidden(text);
    let text = nightshift_alert::text::single_line(&text);
    nightshift_alert::text::truncate(&text, most_chars).into_owned()
}

/// Returns whether standard output is a terminal that wants colour.
pub(crate) fn wants_colour() -> bool {
    std::io::stdout().is_terminal() && !crate::config::no_colour()
}

/// Returns the columns of the terminal, between 60 and 120.
pub(crate) fn width() -> usize {
    let columns = console::Term::stdout()
        .size_checked()
        .map_or(COLUMNS, |(_, columns)| columns);
    usize::from(columns.clamp(60, 120))
}

/// Returns the columns of the terminal, if standard output is one.
pub(crate) fn columns() -> Option<usize> {
    let columns = || {
        console::Term::stdout()
            .size_checked()
            .map(|(_, columns)| columns)
    };
    std::io::stdout()
        .is_terminal()
        .then(|| usize::from(columns().unwrap_or(COLUMNS)))
}

/// Returns the columns of a table with wrapped texts: those of the terminal, or enough for most rows without one.
pub(crate) fn table_width() -> usize {
    columns().map_or(160, |columns| columns.clamp(60, 200))
}

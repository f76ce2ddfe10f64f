//! Standard output and standard error: a closed pipe is no error of ours, and foreign text cannot steer a terminal.

use std::io::{IsTerminal, Write};
use std::sync::{Arc, Mutex};

use serde::Serialize;

use crate::exit::Exit;

/// Columns of a terminal that does not tell.
const COLUMNS: u16 = 100;

/// Standard output behind a lock, for destinations that share it.
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

/// Writes a line to standard error. Nothing can be done where even that is closed.
pub(crate) fn say(text: &str) {
    drop(writeln!(std::io::stderr().lock(), "{text}"));
}

/// So many of something, in words: `1 file`, `2 files`.
pub(crate) fn counted(number: usize, one: &str, several: &str) -> String {
    match number {
        1 => format!("1 {one}"),
        number => format!("{number} {several}"),
    }
}

/// Foreign text for one line of a terminal: no hidden characters, no live links, bounded.
pub(crate) fn plain(text: &str, most_chars: usize) -> String {
    let (text, _) = nightshift_alert::text::strip_hidden(text);
    let text = nightshift_alert::text::single_line(&text);
    let text = nightshift_alert::text::cut(&text, most_chars);
    nightshift_alert::text::defang(&text)
}

/// Text of the operator for one line of a terminal, as it was written: no hidden characters, bounded.
pub(crate) fn as_written(text: &str, most_chars: usize) -> String {
    let (text, _) = nightshift_alert::text::strip_hidden(text);
    let text = nightshift_alert::text::single_line(&text);
    nightshift_alert::text::cut(&text, most_chars).into_owned()
}

/// Whether standard output is a terminal that wants colour.
pub(crate) fn wants_colour() -> bool {
    std::io::stdout().is_terminal() && !crate::config::no_colour()
}

/// Columns of the terminal, between 60 and 120.
pub(crate) fn width() -> usize {
    let columns = console::Term::stdout()
        .size_checked()
        .map_or(COLUMNS, |(_, columns)| columns);
    usize::from(columns.clamp(60, 120))
}

/// Columns of the terminal, if standard output is one.
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

/// Columns of a table whose texts wrap: those of the terminal, and enough for most rows where there is none.
pub(crate) fn table_width() -> usize {
    columns().map_or(160, |columns| columns.clamp(60, 200))
}

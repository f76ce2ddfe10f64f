//! Parses a register's text into records with their lines.

use csv::StringRecord;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::{Problem, RegisterColumns, RegisterRecord, RowFields, Table};
use crate::content::ContentSource;

/// Maximum number of rows that are used.
const MAX_ROWS: usize = 500_000;

/// Maximum number of problems that are listed.
const MAX_PROBLEMS: usize = 200;

type NumberedRow = (u64, Map<String, Value>);

/// The rows of a text, and the number of rows left out.
#[derive(Default)]
struct RawRows {
    rows: Vec<NumberedRow>,
    left_out: usize,
    problems: Vec<Problem>,
    /// True if commas separate list items, because `;` separates the cells.
    comma_lists: bool,
}

impl RawRows {
    fn leave_out(&mut self, rows: usize, line: Option<u64>, what: String) {
        self.left_out += rows;
        self.problems.push(Problem { line, what });
    }

    /// Counts and reports the rows after the last one that is used.
    fn leave_out_excess(&mut self, line: u64, rows: usize) {
        if rows > 0 {
            let what = format!("more than {MAX_ROWS} rows: what follows is not used");
            self.leave_out(rows, Some(line), what);
        }
    }
}

/// Similarity from which an unknown column counts as a misspelt known one.
const MIN_SIMILARITY: f64 = 0.92;

/// Length from which one wrong letter counts as a typing error and not as another word.
const MIN_TYPO_LEN: usize = 5;

pub(super) fn parse_table<R: RegisterRecord>(
    content: &ContentSource,
    text: &str,
) -> Result<Table<R>, String> {
    let name = content.name();
    let read = match text.trim_start().chars().next() {
        None => return Err(format!("{name} is empty: write a header line and rows")),
        Some('[') => parse_json_array(text).map_err(|error| format!("{name}: {error}"))?,
        Some('{') => parse_json_lines(text),
        Some(_) => parse_csv_rows(text, &name, &R::COLUMNS, R::REQUIRED)?,
    };
    check_required_columns(&read.rows, &R::COLUMNS, R::REQUIRED)
        .map_err(|what| format!("{name}: {what}"))?;
    let RawRows {
        rows,
        mut left_out,
        mut problems,
        comma_lists,
    } = read;
    report_misspelt_columns(&rows, &R::COLUMNS, &mut problems);
    let separators: &[char] = if comma_lists { &[';', ','] } else { &[';'] };
    let mut records = Vec::new();
    for (line, cells) in &rows {
        match R::from_fields(&RowFields::new(cells, &R::COLUMNS, separators)) {
            Ok(record) => {
                problems.extend(record.warnings().into_iter().map(|what| Problem {
                    line: Some(*line),
                    what,
                }));
                records.push((*line, record));
            }
            Err(what) => {
                left_out += 1;
                problems.push(Problem {
                    line: Some(*line),
                    what: format!("{what}; the row is left out"),
                });
            }
        }
    }
    problems.extend(R::conflicts(&records));
    problems.sort();
    problems.truncate(MAX_PROBLEMS);
    Ok(Table {
        records: records.into_iter().map(|(_, record)| record).collect(),
        left_out,
        problems,
    })
}

/// Checks that required columns occur in at least one row. A header line is checked before.
fn check_required_columns(
    rows: &[NumberedRow],
    columns: &RegisterColumns,
    required: &[&'static str],
) -> Result<(), String> {
    let Some((_, first)) = rows.first() else {
        return Ok(());
    };
    let is_missing = |column: &&&'static str| {
        let has = |name: &str| rows.iter().any(|(_, cells)| cells.contains_key(name));
        !columns.aliases_of(column).any(has)
    };
    match required
        .iter()
        .find(is_missing)
        .map(|it| preferred_name(it, columns))
    {
        Some(column) => {
            let have: Vec<&str> = first.keys().map(String::as_str).collect();
            Err(format!(
                "no row has a column `{column}`: the first has {}; write an array of rows, or one row per line",
                have.join(", ")
            ))
        }
        None => Ok(()),
    }
}

/// Returns the name that this register uses for a shared column.
fn preferred_name(column: &'static str, columns: &RegisterColumns) -> &'static str {
    columns.aliases_of(column).last().unwrap_or(column)
}

/// Detects the cell delimiter by the header line: spreadsheets use `;` where a comma is the decimal separator.
fn detect_delimiter(text: &str) -> u8 {
    let header = text
        .lines()
        .find(|line| !line.trim().is_empty() && !line.starts_with('#'))
        .unwrap_or_default();
    let count = |delimiter: char| header.matches(delimiter).count();
    match (count(','), count(';'), count('\t')) {
        (commas, semicolons, tabs) if semicolons > commas && semicolons >= tabs => b';',
        (commas, _, tabs) if tabs > commas => b'\t',
        _ => b',',
    }
}

fn parse_csv_rows(
    text: &str,
    name: &str,
    known: &RegisterColumns,
    required: &[&'static str],
) -> Result<RawRows, String> {
    let delimiter = detect_delimiter(text);
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(delimiter)
        .flexible(true)
        .trim(csv::Trim::All)
        .comment(Some(b'#'))
        .from_reader(text.as_bytes());
    let columns: Vec<String> = reader
        .headers()
        .map_err(|error| format!("{name}: the header line cannot be read: {error}"))?
        .iter()
        .map(normalise_column)
        .collect();
    for column in required {
        let has = |name: &str| columns.iter().any(|have| have == name);
        if !known.aliases_of(column).any(has) {
            return Err(format!(
                "{name}: the header line has no column `{}`: it has {}",
                preferred_name(column, known),
                columns.join(", ")
            ));
        }
    }
    let mut read = RawRows {
        comma_lists: delimiter == b';',
        ..RawRows::default()
    };
    let mut records = reader.into_records();
    while let Some(record) = records.next() {
        match record {
            Ok(record) => {
                let end = records.reader().position().byte();
                add_csv_row(text, &record, end, &columns, &mut read);
            }
            Err(error) => {
                let line = error.position().map(csv::Position::line);
                read.leave_out(1, line, format!("{error}; the row is left out"));
            }
        }
        if read.rows.len() == MAX_ROWS {
            let line = records.reader().position().line();
            read.leave_out_excess(line, records.count());
            break;
        }
    }
    Ok(read)
}

/// Adds the row that ends before the byte `end`, or reports why not.
fn add_csv_row(
    text: &str,
    record: &StringRecord,
    end: u64,
    columns: &[String],
    read: &mut RawRows,
) {
    let at = |byte: u64| usize::try_from(byte).ok();
    let raw = record.position().and_then(|start| {
        let raw = text.get(at(start.byte())?..at(end)?)?;
        Some((start.line(), raw))
    });
    let (line, raw) = raw.unwrap_or_default();
    let row = without_comments(raw);
    let line = line + count_newlines(raw) - count_newlines(row);
    let breaks: usize = record.iter().map(|cell| cell.matches('\n').count()).sum();
    if breaks > 0 {
        // Balanced quotes are even in number.
        if row.matches('"').count() % 2 == 1 {
            let what = format!(
                "a quote is not closed: this row spans {} lines, all of which are left out",
                breaks + 1
            );
            return read.leave_out(breaks + 1, Some(line), what);
        }
        read.problems.push(Problem {
            line: Some(line),
            what: format!(
                "a cell spans {} lines: if it should not, a quote is not closed, and what follows is no row",
                breaks + 1
            ),
        });
    }
    let (cells, wanted) = (record.len(), columns.len());
    if cells > wanted {
        let what = format!(
            "{cells} cells for {wanted} columns: quote cells that hold a comma; the row is left out"
        );
        return read.leave_out(1, Some(line), what);
    }
    if cells < wanted {
        read.problems.push(Problem {
            line: Some(line),
            what: format!("{cells} cells for {wanted} columns: the last ones are taken as empty"),
        });
    }
    let cells = columns
        .iter()
        .zip(record)
        .map(|(column, cell)| (column.clone(), Value::from(cell)))
        .collect();
    read.rows.push((line, cells));
}

/// Removes comments before a record, since a record begins where the one before it ended.
fn without_comments(mut raw: &str) -> &str {
    loop {
        raw = raw.trim_start();
        match raw.starts_with('#').then(|| raw.split_once('\n')) {
            Some(Some((_, rest))) => raw = rest,
            _ => return raw,
        }
    }
}

fn parse_json_array(text: &str) -> Result<RawRows, String> {
    let items: Vec<&RawValue> =
        serde_json::from_str(text).map_err(|error| format!("no JSON array: {error}"))?;
    let start = text.as_ptr().addr();
    let (mut line, mut seen) = (1, 0);
    let mut read = RawRows::default();
    let beyond = items.len().saturating_sub(MAX_ROWS);
    for item in items.into_iter().take(MAX_ROWS) {
        let at = item.get().as_ptr().addr().saturating_sub(start);
        line += count_newlines(text.get(seen..at).unwrap_or_default());
        seen = at;
        read.rows.push((line, parse_cells(item.get())));
    }
    read.leave_out_excess(line, beyond);
    Ok(read)
}

fn parse_json_lines(text: &str) -> RawRows {
    let mut read = RawRows::default();
    let mut lines = (1..)
        .zip(text.lines())
        .filter(|(_, text)| !text.trim().is_empty());
    while let Some((line, text)) = lines.next() {
        match serde_json::from_str::<Map<String, Value>>(text) {
            Ok(cells) => read.rows.push((line, normalise_columns(cells))),
            Err(error) => {
                let what = format!("no JSON object: {error}; the row is left out");
                read.leave_out(1, Some(line), what);
            }
        }
        if read.rows.len() == MAX_ROWS {
            read.leave_out_excess(line, lines.count());
            break;
        }
    }
    read
}

/// Returns the cells of an object. Other JSON has no cells, so its row is refused for missing columns.
fn parse_cells(text: &str) -> Map<String, Value> {
    serde_json::from_str(text)
        .map(normalise_columns)
        .unwrap_or_default()
}

fn normalise_columns(cells: Map<String, Value>) -> Map<String, Value> {
    cells
        .into_iter()
        .map(|(column, value)| (normalise_column(&column), value))
        .collect()
}

fn normalise_column(text: &str) -> String {
    text.trim().to_ascii_lowercase().replace([' ', '-'], "_")
}

fn count_newlines(text: &str) -> u64 {
    text.bytes().filter(|byte| *byte == b'\n').count() as u64
}

/// Common other names for columns.
const COLUMN_SYNONYMS: &[(&str, &str)] = &[
    ("approver", "approved_by"),
    ("approved", "approved_by"),
    ("authorised_by", "approved_by"),
    ("authorized_by", "approved_by"),
    ("expires", "valid_until"),
    ("expiry", "valid_until"),
    ("expires_at", "valid_until"),
    ("end", "valid_until"),
    ("end_date", "valid_until"),
    ("start", "valid_from"),
    ("start_date", "valid_from"),
    ("findings", "expected_findings"),
    ("finding_types", "expected_findings"),
    ("state", "status"),
    ("account_id", "account"),
    ("project", "account"),
    ("project_id", "account"),
    ("subscription", "account"),
    ("ips", "addresses"),
    ("ip_addresses", "addresses"),
    ("cidrs", "networks"),
    ("ip_ranges", "networks"),
    ("usual_networks", "networks"),
    ("access_keys", "keys"),
    ("principal", "subject"),
    ("type", "kind"),
    ("from", "valid_from"),
    ("until", "valid_until"),
];

/// Reports columns that are nearly a known one, since they would silently have no effect.
fn report_misspelt_columns(
    rows: &[NumberedRow],
    known: &RegisterColumns,
    problems: &mut Vec<Problem>,
) {
    let mut told = Vec::new();
    for (line, cells) in rows.iter().take(100) {
        for column in cells.keys() {
            if known.contains(column) || told.contains(column) {
                continue;
            }
            if let Some(name) = closest_column(column, known) {
                told.push(column.clone());
                problems.push(Problem {
                    line: Some(*line),
                    what: format!("unknown column `{column}`: is `{name}` meant?"),
                });
            }
        }
    }
}

/// Returns the known column that an unknown one seems to mean.
fn closest_column(column: &str, known: &RegisterColumns) -> Option<&'static str> {
    let other = COLUMN_SYNONYMS.iter().find(|(name, _)| *name == column);
    if let Some((_, name)) = other.filter(|(_, name)| known.contains(name)) {
        return Some(name);
    }
    let (likeness, name) = known
        .names()
        .map(|name| (strsim::jaro_winkler(name, column), name))
        .max_by(|left, right| left.0.total_cmp(&right.0))?;
    let is_slip = column.len() >= MIN_TYPO_LEN && strsim::osa_distance(name, column) == 1;
    (likeness >= MIN_SIMILARITY || is_slip).then_some(name)
}

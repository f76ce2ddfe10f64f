//! From the text of a register to its records, with the line of each.

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::{Fields, Problem, Record, Table};
use crate::content::Content;

/// Most rows that are used.
const MAX_ROWS: usize = 500_000;

/// Most problems that are told.
const MAX_PROBLEMS: usize = 200;

type Row = (u64, Map<String, Value>);

/// How like a known column an unknown one may look before it counts as misspelt.
const MISSPELT: f64 = 0.92;

pub(super) fn table<R: Record>(content: &Content, text: &str) -> Result<Table<R>, String> {
    let name = content.name();
    let mut problems = Vec::new();
    let rows = match text.trim_start().chars().next() {
        None => return Err(format!("{name} is empty: write a header line and rows")),
        Some('[') => json_array(text).map_err(|error| format!("{name}: {error}"))?,
        Some('{') => json_lines(text, &mut problems),
        Some(_) => csv_rows(text, &name, R::REQUIRED, &mut problems)?,
    };
    misspelt(&rows, R::COLUMNS, &mut problems);
    let mut records = Vec::new();
    for (line, cells) in &rows {
        match R::read(&Fields::new(cells, R::COLUMNS)) {
            Ok(record) => {
                problems.extend(record.doubts().into_iter().map(|what| Problem {
                    line: Some(*line),
                    what,
                }));
                records.push(record);
            }
            Err(what) => problems.push(Problem {
                line: Some(*line),
                what: format!("{what}; the row is left out"),
            }),
        }
    }
    problems.sort();
    problems.truncate(MAX_PROBLEMS);
    Ok(Table { records, problems })
}

fn csv_rows(
    text: &str,
    name: &str,
    required: &[&str],
    problems: &mut Vec<Problem>,
) -> Result<Vec<Row>, String> {
    let mut reader = csv::ReaderBuilder::new()
        .flexible(true)
        .trim(csv::Trim::All)
        .comment(Some(b'#'))
        .from_reader(text.as_bytes());
    let columns: Vec<String> = reader
        .headers()
        .map_err(|error| format!("{name}: the header line cannot be read: {error}"))?
        .iter()
        .map(column_name)
        .collect();
    for column in required {
        if !columns.iter().any(|have| have == column) {
            return Err(format!(
                "{name}: the header line has no column `{column}`: it has {}",
                columns.join(", ")
            ));
        }
    }
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = match record {
            Ok(record) => record,
            Err(error) => {
                let line = error.position().map(csv::Position::line);
                let what = format!("{error}; the row is left out");
                problems.push(Problem { line, what });
                continue;
            }
        };
        let line = record.position().map_or(0, csv::Position::line);
        if record.len() != columns.len() {
            problems.push(uneven(line, record.len(), columns.len()));
        }
        if record.len() > columns.len() {
            continue;
        }
        let cells = columns
            .iter()
            .zip(&record)
            .map(|(column, cell)| (column.clone(), Value::from(cell)))
            .collect();
        rows.push((line, cells));
        if rows.len() == MAX_ROWS {
            problems.push(too_many(line));
            break;
        }
    }
    Ok(rows)
}

fn uneven(line: u64, cells: usize, columns: usize) -> Problem {
    let outcome = if cells > columns {
        "quote cells that hold a comma; the row is left out"
    } else {
        "the last ones are taken as empty"
    };
    Problem {
        line: Some(line),
        what: format!("{cells} cells for {columns} columns: {outcome}"),
    }
}

fn json_array(text: &str) -> Result<Vec<Row>, String> {
    let items: Vec<&RawValue> =
        serde_json::from_str(text).map_err(|error| format!("no JSON array: {error}"))?;
    let start = text.as_ptr().addr();
    let (mut line, mut seen) = (1, 0);
    let mut rows = Vec::new();
    for item in items.into_iter().take(MAX_ROWS) {
        let at = item.get().as_ptr().addr().saturating_sub(start);
        line += newlines(text.get(seen..at).unwrap_or_default());
        seen = at;
        rows.push((line, cells_of(item.get())));
    }
    Ok(rows)
}

fn json_lines(text: &str, problems: &mut Vec<Problem>) -> Vec<Row> {
    let mut rows = Vec::new();
    for (line, text) in (1..).zip(text.lines()) {
        if text.trim().is_empty() {
            continue;
        }
        match serde_json::from_str::<Map<String, Value>>(text) {
            Ok(cells) => rows.push((line, lower(cells))),
            Err(error) => problems.push(Problem {
                line: Some(line),
                what: format!("no JSON object: {error}; the row is left out"),
            }),
        }
        if rows.len() == MAX_ROWS {
            problems.push(too_many(line));
            break;
        }
    }
    rows
}

/// The cells of an object; anything else has none, and its row is then refused for what it lacks.
fn cells_of(text: &str) -> Map<String, Value> {
    serde_json::from_str(text).map(lower).unwrap_or_default()
}

fn lower(cells: Map<String, Value>) -> Map<String, Value> {
    cells
        .into_iter()
        .map(|(column, value)| (column_name(&column), value))
        .collect()
}

fn column_name(text: &str) -> String {
    text.trim().to_ascii_lowercase().replace([' ', '-'], "_")
}

fn newlines(text: &str) -> u64 {
    text.bytes().filter(|byte| *byte == b'\n').count() as u64
}

fn too_many(line: u64) -> Problem {
    Problem {
        line: Some(line),
        what: format!("more than {MAX_ROWS} rows: what follows is not used"),
    }
}

/// A column that is nearly one of ours would silently do nothing: it is told.
fn misspelt(rows: &[Row], known: &[&str], problems: &mut Vec<Problem>) {
    let mut told = Vec::new();
    for (line, cells) in rows.iter().take(100) {
        for column in cells.keys() {
            if known.contains(&column.as_str()) || told.contains(column) {
                continue;
            }
            let nearest = known
                .iter()
                .map(|name| (strsim::jaro_winkler(name, column), name))
                .max_by(|left, right| left.0.total_cmp(&right.0));
            if let Some((likeness, name)) = nearest
                && likeness >= MISSPELT
            {
                told.push(column.clone());
                problems.push(Problem {
                    line: Some(*line),
                    what: format!("unknown column `{column}`: is `{name}` meant?"),
                });
            }
        }
    }
}

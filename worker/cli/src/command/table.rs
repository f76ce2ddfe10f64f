//! Builds tables in the common layout of all commands.

use comfy_table::{ColumnConstraint, ContentArrangement, Table, presets};

use crate::output::{columns, table_width};

/// Least width to which a text is cut. With less room, the text gets its own line.
const MIN_TEXT_COLUMNS: usize = 25;
/// Indentation of such a line.
const INDENT: &str = "    ";

/// Makes a table with wrapped texts. Only the columns `wide` wrap, because other values are copied whole.
pub(super) fn table(header: &[&str], wide: &[usize]) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(u16::try_from(table_width()).unwrap_or(160))
        .set_header(header);
    for (index, column) in table.column_iter_mut().enumerate() {
        if !wide.contains(&index) {
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
    }
    table
}

/// Makes a table with one line per row. The last column is cut to the width of the terminal; without a terminal
/// nothing is cut.
pub(super) fn one_line_rows<const N: usize>(header: [&str; N], rows: &[[String; N]]) -> String {
    within(columns(), header, rows)
}

fn within<const N: usize>(
    columns: Option<usize>,
    header: [&str; N],
    rows: &[[String; N]],
) -> String {
    let header = header.map(str::to_owned);
    let mut widths = [0; N];
    for row in std::iter::once(&header).chain(rows) {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(display_width(cell));
        }
    }
    let before: usize = widths
        .iter()
        .take(N.saturating_sub(1))
        .map(|width| width + 2)
        .sum();
    let left = columns.map(|columns| columns.saturating_sub(before + 1));
    let mut out = String::new();
    for (number, row) in std::iter::once(&header).chain(rows).enumerate() {
        let mut line = String::new();
        for (width, cell) in widths.iter().zip(row).take(N.saturating_sub(1)) {
            line.push_str(cell);
            line.push_str(&" ".repeat(width.saturating_sub(display_width(cell)) + 2));
        }
        let text = row.last().map_or("", String::as_str);
        match (left, columns) {
            (Some(left), _) if left >= MIN_TEXT_COLUMNS => line.push_str(&cut(text, left)),
            (Some(_), Some(_)) if number == 0 => {}
            (Some(_), Some(columns)) => {
                line.truncate(line.trim_end().len());
                line.push_str(&format!(
                    "\n {INDENT}{}",
                    cut(text, columns.saturating_sub(5))
                ));
            }
            _ => line.push_str(text),
        }
        out.push(' ');
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// Returns the columns that a text takes.
fn display_width(text: &str) -> usize {
    text.chars().map(wide_one).sum()
}

/// Returns whether a character takes two columns: Han, kana, hangul and pictographs do.
const fn wide_one(one: char) -> usize {
    match one {
        '\u{1100}'..='\u{115f}' | '\u{2e80}'..='\u{d7a3}' | '\u{f900}'..='\u{faff}' => 2,
        '\u{fe30}'..='\u{fe6f}' | '\u{ff00}'..='\u{ff60}' | '\u{1f300}'..='\u{3fffd}' => 2,
        _ => 1,
    }
}

/// Cuts a text to this width and marks the cut with `…`.
fn cut(text: &str, most: usize) -> String {
    if display_width(text) <= most {
        return text.to_owned();
    }
    let mut taken = 1;
    let fits = |one: &char| {
        taken += wide_one(*one);
        taken <= most
    };
    let kept: String = text.chars().take_while(fits).collect();
    format!("{}…", kept.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cases(columns: Option<usize>) -> String {
        let row = |id: &str, outcome: &str, what: &str| {
            [id, "11-22 16:23", outcome, what].map(str::to_owned)
        };
        let rows = [
            row(
                "3vy9-9d33-v8a1",
                "True positive",
                "Execution: Cryptocurrency Mining Hash Match (larkspur-shop-prod)",
            ),
            row("0131-5tqr-ee4j", "Inconclusive", "Impossible travel"),
            row(
                "4ex3-vqfr-7tq6",
                "Inconclusive",
                "不審なログインが検出されました: 田中さんの端末から",
            ),
        ];
        within(columns, ["Case", "Opened", "Outcome", "What"], &rows)
    }

    #[test]
    fn a_row_is_a_line_and_its_text_is_cut_to_what_is_left() {
        insta::assert_snapshot!(cases(Some(80)), @"
        Case            Opened       Outcome        What
        3vy9-9d33-v8a1  11-22 16:23  True positive  Execution: Cryptocurrency Mining H…
        0131-5tqr-ee4j  11-22 16:23  Inconclusive   Impossible travel
        4ex3-vqfr-7tq6  11-22 16:23  Inconclusive   不審なログインが検出されました: 田…
        ");
        assert!(
            cases(Some(80))
                .lines()
                .all(|line| display_width(line) <= 80)
        );
    }

    #[test]
    fn where_little_is_left_the_text_has_a_line_of_its_own() {
        insta::assert_snapshot!(cases(Some(60)), @"
        Case            Opened       Outcome
        3vy9-9d33-v8a1  11-22 16:23  True positive
            Execution: Cryptocurrency Mining Hash Match (larkspur-…
        0131-5tqr-ee4j  11-22 16:23  Inconclusive
            Impossible travel
        4ex3-vqfr-7tq6  11-22 16:23  Inconclusive
            不審なログインが検出されました: 田中さんの端末から
        ");
        assert!(
            cases(Some(60))
                .lines()
                .all(|line| display_width(line) <= 60)
        );
    }

    #[test]
    fn nothing_is_cut_where_nobody_said_how_wide_it_is() {
        insta::assert_snapshot!(cases(None), @"
        Case            Opened       Outcome        What
        3vy9-9d33-v8a1  11-22 16:23  True positive  Execution: Cryptocurrency Mining Hash Match (larkspur-shop-prod)
        0131-5tqr-ee4j  11-22 16:23  Inconclusive   Impossible travel
        4ex3-vqfr-7tq6  11-22 16:23  Inconclusive   不審なログインが検出されました: 田中さんの端末から
        ");
    }
}

//! Counts the lines of a message on a phone of 45 columns, from its blocks alone.

use serde_json::Value;

/// The columns of a line.
const COLUMNS: usize = 45;

/// Returns the lines that a reader sees, buttons included.
pub(crate) fn lines(blocks: &[Value]) -> usize {
    blocks.iter().map(block).sum()
}

fn block(block: &Value) -> usize {
    let list = |key: &str| block[key].as_array().into_iter().flatten();
    match block["type"].as_str().unwrap() {
        "header" => wrapped(&plain(&block["text"])),
        "section" => list("fields").map(|field| wrapped(&plain(field))).sum(),
        "context" => list("elements").map(|one| wrapped(&plain(one))).sum(),
        "rich_text" => list("elements").map(rich).sum(),
        "actions" => {
            // A button is a word that is not broken, with its border.
            let buttons =
                list("elements").map(|one| format!("[{}]", plain(&one["text"]).replace(' ', "_")));
            wrapped(&buttons.collect::<Vec<_>>().join(" "))
        }
        other => panic!("unknown block {other}"),
    }
}

fn plain(text: &Value) -> String {
    text["text"].as_str().unwrap().to_owned()
}

fn rich(element: &Value) -> usize {
    let elements = element["elements"].as_array().unwrap();
    if element["type"] == "rich_text_list" {
        return elements.iter().map(rich).sum();
    }
    let spans = elements.iter().map(|span| match span["type"] == "date" {
        true => shown(span["format"].as_str().unwrap()),
        false => plain(span),
    });
    spans.collect::<String>().split('\n').map(wrapped).sum()
}

/// Returns a time in its longest form.
fn shown(format: &str) -> String {
    let shown = format.replace("{ago}", "12 minutes ago");
    let shown = shown.replace("{time}", "12:02 AM");
    assert!(!shown.contains('{'), "{format}");
    shown
}

/// Returns the lines of a text that is broken at spaces, and within words that are longer than a line.
fn wrapped(text: &str) -> usize {
    let (mut lines, mut used) = (1, 0);
    for word in text.split_whitespace() {
        let mut width: usize = word.chars().map(columns).sum();
        let gap = usize::from(used > 0);
        if used + gap + width <= COLUMNS {
            used += gap + width;
            continue;
        }
        lines += usize::from(used > 0);
        while width > COLUMNS {
            lines += 1;
            width -= COLUMNS;
        }
        used = width;
    }
    lines
}

/// Returns the columns of a character: two for those of Chinese, Japanese and Korean.
fn columns(c: char) -> usize {
    let is_wide = matches!(c, '\u{1100}'..='\u{115f}' | '\u{2e80}'..='\u{a4cf}' | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}' | '\u{fe30}'..='\u{fe6f}' | '\u{ff00}'..='\u{ff60}' | '\u{1f300}'..='\u{1faff}');
    if is_wide { 2 } else { 1 }
}

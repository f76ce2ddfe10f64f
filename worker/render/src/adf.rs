//! Builds documents in the Atlassian Document Format that stay within its limit.
//!
//! Text goes only into text nodes, where nothing is syntax. The only marks are strong and, for addresses of Nightshift,
//! link. Sources: <https://developer.atlassian.com/cloud/jira/platform/apis/document/structure/> and the JSON schema of
//! `@atlaskit/adf-schema`.

use serde_json::{Value, json};

/// The number of characters of a document around its content.
const FRAME: usize = 64;

/// A document being written. After the first part that does not fit, nothing more is added, so only the end is ever
/// missing.
pub struct AdfDocument {
    nodes: Vec<Value>,
    left: usize,
    is_full: bool,
    in_list: bool,
}

impl AdfDocument {
    /// Creates an empty page of at most this many UTF-16 units of JSON.
    pub fn new(most_units: usize) -> Self {
        Self {
            nodes: Vec::new(),
            left: most_units.saturating_sub(FRAME),
            is_full: false,
            in_list: false,
        }
    }

    /// Reserves units for the end of the page.
    pub fn with_room_for(mut self, units: usize) -> Self {
        self.left = self.left.saturating_sub(units);
        self
    }

    /// Adds all nodes, or none if they do not fit. In that case nothing is added afterwards either.
    pub fn push(&mut self, nodes: impl IntoIterator<Item = Value>) {
        let nodes: Vec<Value> = nodes.into_iter().collect();
        if self.takes(nodes.iter().map(units).sum()) {
            self.in_list = false;
            self.nodes.extend(nodes);
        }
    }

    /// Adds a bullet to the preceding list, or starts one.
    pub fn bullet(&mut self, content: Vec<Value>) {
        let item = list_item(content);
        if !self.in_list {
            self.push([bullets(vec![item])]);
            self.in_list = !self.is_full;
        } else if self.takes(units(&item))
            && let Some(list) = self.nodes.last_mut()
            && let Some(items) = list.get_mut("content").and_then(Value::as_array_mut)
        {
            items.push(item);
        }
    }

    /// Returns whether something was left out.
    pub const fn is_full(&self) -> bool {
        self.is_full
    }

    /// Returns the document with these nodes at its end, for which room was reserved. A heading without content is
    /// removed.
    pub fn end(mut self, last: Vec<Value>) -> Value {
        while self.nodes.last().is_some_and(is_heading) {
            self.nodes.pop();
        }
        self.nodes.extend(last);
        json!({ "version": 1, "type": "doc", "content": self.nodes })
    }

    fn takes(&mut self, units: usize) -> bool {
        self.is_full |= units > self.left;
        if !self.is_full {
            self.left -= units;
        }
        !self.is_full
    }
}

fn is_heading(node: &Value) -> bool {
    node.get("type").and_then(Value::as_str) == Some("heading")
}

/// Returns the length as JSON with the following comma. Jira counts as Java does: a character outside the basic plane
/// is two.
pub fn units(node: &Value) -> usize {
    node.to_string().encode_utf16().count() + 1
}

/// Makes a text node. Returns `None` for empty text, which Jira refuses.
pub fn text(text: &str) -> Option<Value> {
    (!text.is_empty()).then(|| json!({ "type": "text", "text": text }))
}

/// Makes bold text.
pub fn strong(text: &str) -> Option<Value> {
    marked(text, &json!({ "type": "strong" }))
}

/// Makes a link to an address of Nightshift.
pub fn link(text: &str, address: &str) -> Option<Value> {
    marked(
        text,
        &json!({ "type": "link", "attrs": { "href": address } }),
    )
}

fn marked(text: &str, mark: &Value) -> Option<Value> {
    (!text.is_empty()).then(|| json!({ "type": "text", "text": text, "marks": [mark] }))
}

pub fn paragraph(inline: impl IntoIterator<Item = Option<Value>>) -> Value {
    let inline: Vec<Value> = inline.into_iter().flatten().collect();
    json!({ "type": "paragraph", "content": inline })
}

/// Makes a heading of the second level.
pub fn heading(text: &str) -> Value {
    json!({ "type": "heading", "attrs": { "level": 2 }, "content": [{ "type": "text", "text": text }] })
}

/// Makes a warning panel.
pub fn warning(line: &str) -> Value {
    json!({ "type": "panel", "attrs": { "panelType": "warning" }, "content": [paragraph([text(line)])] })
}

/// Makes one item of a list.
pub fn list_item(content: Vec<Value>) -> Value {
    json!({ "type": "listItem", "content": content })
}

/// Makes a bullet list.
pub fn bullets(items: Vec<Value>) -> Value {
    json!({ "type": "bulletList", "content": items })
}

/// Makes a task with a checkbox. The id is unique in its document.
pub fn task(id: &str, words: &str) -> Value {
    let item = json!({
        "type": "taskItem", "attrs": { "localId": format!("{id}-item"), "state": "TODO" },
        "content": [strong(words)],
    });
    json!({ "type": "taskList", "attrs": { "localId": id }, "content": [item] })
}

/// Makes a code block to copy from.
pub fn code(lines: &[String]) -> Value {
    json!({
        "type": "codeBlock", "attrs": { "language": "shell" },
        "content": [{ "type": "text", "text": lines.join("\n") }],
    })
}

/// Makes a table of two columns, names and values.
pub fn table<'a>(rows: impl IntoIterator<Item = (&'a str, &'a str)>) -> Value {
    let rows: Vec<Value> = rows
        .into_iter()
        .map(|(name, value)| {
            json!({ "type": "tableRow", "content": [
                { "type": "tableHeader", "attrs": {}, "content": [paragraph([text(name)])] },
                { "type": "tableCell", "attrs": {}, "content": [paragraph([text(value)])] },
            ] })
        })
        .collect();
    json!({ "type": "table", "attrs": { "isNumberColumnEnabled": false, "layout": "default" }, "content": rows })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_keeps_its_limit_and_leaves_out_its_end_only() {
        for most in [150, 400, 1_000, 4_000] {
            let mut page = AdfDocument::new(most);
            for number in 0..40 {
                page.push([heading("One")]);
                page.push([paragraph([text(&format!("{number} 👾"))])]);
                page.bullet(vec![paragraph([text("a")])]);
                page.bullet(vec![paragraph([text(&"b\"".repeat(number))])]);
            }
            page.push([paragraph([text("z")])]);
            let is_full = page.is_full();
            let document = page.end(Vec::new());
            assert!(units(&document) <= most + 1, "{document}");
            assert!(!is_heading(
                document["content"]
                    .as_array()
                    .unwrap()
                    .last()
                    .unwrap_or(&json!({}))
            ));
            assert_eq!(is_full, !document.to_string().contains("\"z\""));
        }
    }

    #[test]
    fn bullets_in_a_row_are_one_list() {
        let mut page = AdfDocument::new(10_000);
        page.bullet(vec![paragraph([text("a")])]);
        page.bullet(vec![paragraph([text("b")])]);
        page.push([paragraph([text("c")])]);
        page.bullet(vec![paragraph([text("d")])]);
        let kinds: Vec<_> = page.end(Vec::new())["content"]
            .as_array()
            .unwrap()
            .iter()
            .map(|node| node["content"].as_array().unwrap().len())
            .collect();
        assert_eq!(kinds, [2, 1, 1]);
    }
}

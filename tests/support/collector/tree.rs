//! Renders spans as trees.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

use super::Span;

/// Attributes that differ between runs, whose values are not shown.
const VARIES: [&str; 7] = [
    "case.id",
    "case.epoch",
    "cost.usd",
    "gen_ai.conversation.id",
    "gen_ai.response.id",
    "gen_ai.usage.cache_read.input_tokens",
    "gen_ai.usage.input_tokens",
];

/// Renders one tree for each trace, in the order of their first spans.
pub(super) fn render_trees(spans: &[Span]) -> String {
    let mut known = HashMap::new();
    for span in spans {
        let id = (span.trace_id.as_str(), span.span_id.as_str());
        assert!(known.insert(id, span).is_none(), "{span:#?} is there twice");
    }
    let mut below: BTreeMap<&str, Vec<&Span>> = BTreeMap::new();
    let mut roots: Vec<&Span> = Vec::new();
    for span in spans {
        if span.parent_id.is_empty() || span.is_remote {
            roots.push(span);
            continue;
        }
        let parent = known.get(&(span.trace_id.as_str(), span.parent_id.as_str()));
        let Some(parent) = parent else {
            panic!("the parent of {span:#?} is not there: {spans:#?}")
        };
        assert!(
            span.begun >= parent.begun,
            "{span:#?} is older than {parent:#?}"
        );
        below.entry(&parent.span_id).or_default().push(span);
    }
    roots.sort_by_key(|span| (&span.trace_id, span.begun));
    let mut trace = None;
    let mut text = String::new();
    for root in roots {
        if trace != Some(&root.trace_id) {
            text.push_str("trace\n");
            trace = Some(&root.trace_id);
        }
        render_span(root, &below, 1, &mut text);
    }
    text
}

fn render_span(span: &Span, below: &BTreeMap<&str, Vec<&Span>>, depth: usize, text: &mut String) {
    let indent = "  ".repeat(depth);
    let remote = if span.is_remote {
        " (from elsewhere)"
    } else {
        ""
    };
    let status = match (span.failed, span.ok) {
        (true, _) => " FAILED",
        (false, true) => " ok",
        (false, false) => "",
    };
    writeln!(
        text,
        "{indent}{} [{}]{remote}{status}",
        span.name, span.kind
    )
    .expect("text takes all");
    for (name, value) in &span.attributes {
        let value = if VARIES.contains(&name.as_str()) {
            "…"
        } else {
            value
        };
        writeln!(text, "{indent}    {name} = {value}").expect("text takes all");
    }
    let mut children = below
        .get(span.span_id.as_str())
        .cloned()
        .unwrap_or_default();
    // Concurrent spans begin in any order, so they are sorted by their command ids.
    children.sort_by_key(|child| {
        let command = [
            child.attribute("command"),
            child.attribute("gen_ai.tool.call.id"),
        ]
        .concat();
        // The steps of a wave run concurrently, too.
        let step = child.attribute("step.id").to_owned();
        (order(&command), step, child.begun)
    });
    for child in children {
        render_span(child, below, depth + 1, text);
    }
}

/// Returns the sort key of a command: `plan` before the steps, and `turn:s2:3` before its `call:s2:3:1`.
fn order(command: &str) -> (usize, String) {
    let parts: Vec<&str> = command.split(':').collect();
    match parts.as_slice() {
        [] | [""] => (9, String::new()),
        ["call", "past_cases"] => (0, String::new()),
        ["plan"] => (1, String::new()),
        ["turn", place @ ..] => (2, format!("{}:", place.join(":"))),
        ["call", place @ ..] => (2, format!("{}:call", place.join(":"))),
        ["reflect", place @ ..] => (3, place.join(":")),
        others => (4, others.join(":")),
    }
}

//! Defines named fragments of regular expressions. `<name>` in a pattern file is replaced by the fragment of that name.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use super::files::FILES;

/// The part of a pattern file that defines fragments.
#[derive(Debug, Deserialize)]
struct FragmentTable {
    #[serde(default)]
    fragments: BTreeMap<String, String>,
}

static FRAGMENTS: LazyLock<BTreeMap<String, String>> = LazyLock::new(|| {
    let tables = FILES
        .iter()
        .filter_map(|(_, text)| toml::from_str::<FragmentTable>(text).ok());
    tables.flat_map(|table| table.fragments).collect()
});

/// Replaces the named fragments of an expression. A fragment may name another one.
pub(super) fn expand(expression: &str) -> String {
    let twice = FRAGMENTS.iter().chain(FRAGMENTS.iter());
    twice.fold(expression.to_owned(), |text, (name, fragment)| {
        text.replace(&format!("<{name}>"), &format!("(?:{fragment})"))
    })
}

//! Named parts of regular expressions: `<name>` stands for one in every file of patterns.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use super::files::FILES;

/// What a file of patterns has beside the patterns.
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

/// Replaces the named parts of an expression; a part may name another one.
pub(super) fn expand(expression: &str) -> String {
    let twice = FRAGMENTS.iter().chain(FRAGMENTS.iter());
    twice.fold(expression.to_owned(), |text, (name, fragment)| {
        text.replace(&format!("<{name}>"), &format!("(?:{fragment})"))
    })
}

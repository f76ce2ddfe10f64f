//! Named parts of regular expressions: `<name>` stands for one in every file of patterns.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::{FILES, File};

static FRAGMENTS: LazyLock<BTreeMap<String, String>> = LazyLock::new(|| {
    let files = FILES
        .iter()
        .filter_map(|(_, text)| toml::from_str::<File>(text).ok());
    files.flat_map(|file| file.fragments).collect()
});

/// Puts the named parts into an expression; a part may name another one.
pub(super) fn filled_in(expression: &str) -> String {
    let twice = FRAGMENTS.iter().chain(FRAGMENTS.iter());
    twice.fold(expression.to_owned(), |text, (name, fragment)| {
        text.replace(&format!("<{name}>"), &format!("(?:{fragment})"))
    })
}

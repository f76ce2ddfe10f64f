//! Escapes of JSON and of URLs in a text: what stands behind one begins a word, though its last letter looks like part of it.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};

/// An escape that ends in a letter or a digit, of JSON in JSON too: `\n`, `\\n`, `\u0022`, `%22`.
static ESCAPES: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"\\+(?:[bfnrt]|u[0-9A-Fa-f]{4})|%[0-9A-Fa-f]{2}").ok());

/// The text with white space in the place of escapes, each byte where it was; none where it has no escape.
pub(super) fn blanked(text: &str) -> Option<String> {
    let blanked = ESCAPES.as_ref()?.replace_all(text, |found: &Captures<'_>| {
        let escape = found.get(0).map_or("", |found| found.as_str());
        let last = if escape.ends_with(['n', 'r']) {
            '\n'
        } else {
            ' '
        };
        format!("{last:>length$}", length = escape.len())
    });
    match blanked {
        Cow::Owned(blanked) => Some(blanked),
        Cow::Borrowed(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_byte_stands_where_it_was() {
        for (text, without) in [
            (r"é\nghp_ \\\\tü", "é \nghp_      ü"),
            (r"\u0022a%2Fb%zz\x", r"      a   b%zz\x"),
            (r#"\"a\" \\ 100% 5%"#, r#"\"a\" \\ 100% 5%"#),
        ] {
            assert_eq!(blanked(text).as_deref().unwrap_or(text), without);
            assert_eq!(text.len(), without.len());
        }
    }
}

//! Escapes of JSON and URLs in a text. A word begins after an escape, although the escape's last letter looks like
//! part of it.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};

/// An escape that ends in a letter or a digit, including JSON in JSON: `\n`, `\\n`, `\u0022`, `%22`.
static ESCAPES: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"\\+(?:[bfnrt]|u[0-9A-Fa-f]{4})|%[0-9A-Fa-f]{2}").ok());

/// Returns the text with white space for escapes, at unchanged byte offsets, or `None` where it has no escape.
pub(super) fn blank_escapes(text: &str) -> Option<String> {
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
            assert_eq!(blank_escapes(text).as_deref().unwrap_or(text), without);
            assert_eq!(text.len(), without.len());
        }
    }
}

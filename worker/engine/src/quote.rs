//! Quotes: whether what an analyst quotes stands in the evidence it names.
//!
//! A quote counts when it is a whole scalar, or a whole `key: value`. Inside free text it must stand at word
//! boundaries and be long enough, so that `authorised` is no quote of `unauthorised`. What says nothing without its key,
//! a number, `true`, `null` or a very short text, needs it: `0` stands in every result and would prove everything.

use std::borrow::Cow;

use serde_json::Value;

/// Shortest quote, in characters, that may be taken out of a longer text.
const SHORTEST_EXCERPT: usize = 12;

/// Shortest text, in characters, that is a quote without its key.
const SHORTEST_BARE: usize = 4;

/// JSON pointer of the value that `quote` is, or is taken from; none where the evidence does not hold it.
#[must_use]
pub fn resolve(evidence: &Value, quote: &str) -> Option<String> {
    let quote = quote.trim();
    if quote.is_empty() {
        return None;
    }
    let is_long = quote.chars().count() >= SHORTEST_EXCERPT;
    path_to(evidence, "", &|leaf| leaf.is(quote)).or_else(|| {
        is_long
            .then(|| path_to(evidence, "", &|leaf| leaf.has_excerpt(quote)))
            .flatten()
    })
}

/// A scalar, and the key that it stands under.
struct Leaf<'a> {
    key: &'a str,
    value: &'a Value,
}

impl Leaf<'_> {
    fn is(&self, quote: &str) -> bool {
        let text: Cow<'_, str> = match self.value {
            Value::String(text) => text.into(),
            scalar => scalar.to_string().into(),
        };
        if quote == text {
            return self.says_enough();
        }
        let Some((key, value)) = quote.split_once(':') else {
            return false;
        };
        !self.key.is_empty()
            && bare(key) == self.key
            && (value.trim() == text || bare(value) == text)
    }

    /// Whether the value is a statement by itself.
    fn says_enough(&self) -> bool {
        let Value::String(text) = self.value else {
            return false;
        };
        // `true` out of a register's file is no better than that of JSON.
        text.chars().count() >= SHORTEST_BARE && !matches!(text.as_str(), "true" | "false" | "null")
    }

    fn has_excerpt(&self, quote: &str) -> bool {
        let Value::String(text) = self.value else {
            return false;
        };
        text.match_indices(quote).any(|(at, found)| {
            let before = text.get(..at).and_then(|text| text.chars().next_back());
            let after = text
                .get(at + found.len()..)
                .and_then(|text| text.chars().next());
            let starts = quote.chars().next().is_some_and(is_word);
            let ends = quote.chars().next_back().is_some_and(is_word);
            !(starts && before.is_some_and(is_word) || ends && after.is_some_and(is_word))
        })
    }
}

fn bare(text: &str) -> &str {
    text.trim().trim_matches('"')
}

/// Letters, digits, and what joins them within one name: `un-authorised` and `not_malicious` are one word each.
fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '\'')
}

/// JSON pointer of the first leaf that is wanted. It is put together on the way back: of most leaves nobody asks for it.
fn path_to(value: &Value, key: &str, wanted: &dyn Fn(&Leaf<'_>) -> bool) -> Option<String> {
    match value {
        Value::Object(map) => map.iter().find_map(|(name, inner)| {
            let rest = path_to(inner, name, wanted)?;
            let escaped = name.replace('~', "~0").replace('/', "~1");
            Some(format!("/{escaped}{rest}"))
        }),
        Value::Array(list) => (0..).zip(list).find_map(|(index, inner): (usize, _)| {
            let rest = path_to(inner, key, wanted)?;
            Some(format!("/{index}{rest}"))
        }),
        value => wanted(&Leaf { key, value }).then(String::new),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_quote_is_a_whole_scalar_or_a_whole_pair() {
        let body =
            json!({"listed": true, "matches": [{"list": "pools", "entry": "minexmr.com"}], "n": 0});
        assert_eq!(
            resolve(&body, "minexmr.com").as_deref(),
            Some("/matches/0/entry")
        );
        assert_eq!(resolve(&body, "listed: true").as_deref(), Some("/listed"));
        assert_eq!(
            resolve(&body, "\"list\": \"pools\"").as_deref(),
            Some("/matches/0/list")
        );
        assert_eq!(resolve(&body, "n: 0").as_deref(), Some("/n"));
        assert_eq!(resolve(&body, "listed: false"), None);
        assert_eq!(resolve(&body, "minexmr"), None);
        assert_eq!(resolve(&body, ""), None);
    }

    #[test]
    fn a19_a_bare_number_proves_nothing() {
        let body = json!({"found": 0, "listed": true, "error": null, "port": 22, "list": "tor", "mfa": "true", "hosts": [7]});
        for bare in ["0", "true", "null", "22", "tor", "7"] {
            assert_eq!(resolve(&body, bare), None, "{bare}");
        }
        for (pair, path) in [
            ("found: 0", "/found"),
            ("listed: true", "/listed"),
            ("error: null", "/error"),
            ("list: tor", "/list"),
            ("mfa: true", "/mfa"),
            ("hosts: 7", "/hosts/0"),
        ] {
            assert_eq!(resolve(&body, pair).as_deref(), Some(path), "{pair}");
        }
    }

    #[test]
    fn a19_a_quote_cut_so_that_it_turns_counts_for_nothing() {
        let body = json!({"note": "this was an unauthorised login by nobody we know", "tag": "not_malicious_traffic"});
        assert_eq!(resolve(&body, "authorised login by nobody"), None);
        assert_eq!(resolve(&body, "malicious_traffic"), None);
        assert_eq!(resolve(&body, "authorised"), None);
        assert_eq!(
            resolve(&body, "unauthorised login by nobody").as_deref(),
            Some("/note")
        );
    }

    proptest! {
        #[test]
        fn every_scalar_of_a_tree_resolves_to_itself(words in prop::collection::vec("[a-z]{6,12}( [a-z]{1,9}){0,3}", 1..20)) {
            let body = json!({"rows": words});
            for word in &words {
                let path = resolve(&body, word);
                prop_assert!(path.is_some());
                let found = path.and_then(|path| body.pointer(&path).cloned());
                prop_assert_eq!(found, Some(json!(word)));
            }
        }

        #[test]
        fn no_quote_and_no_tree_panics(text in "\\PC*", quote in "\\PC*") {
            let _ = resolve(&json!({"a": text, "b": [text.clone()]}), &quote);
        }
    }
}

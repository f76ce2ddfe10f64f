//! Checks quotes: whether the named evidence holds the quoted text.
//!
//! A quote counts when it is a whole scalar or a whole `key: value`. Inside free text it must end at word boundaries
//! and be long enough, so that `authorised` is not a quote of `unauthorised`, nor `500 logins` of `1,500 logins`. A
//! number, `true`, `null` or a very short text needs its key: `0` is in every result and would prove everything.

use std::borrow::Cow;

use serde_json::Value;

/// Minimum length, in characters, of a quote from a longer text.
const SHORTEST_EXCERPT: usize = 12;

/// Minimum length, in characters, of a quote without its key.
const SHORTEST_BARE: usize = 4;

/// Returns the JSON pointer of the value that `quote` is, or is taken from, or `None` when the evidence does not hold
/// it.
#[must_use]
pub fn resolve_quote(evidence: &Value, quote: &str) -> Option<String> {
    let quote = quote.trim();
    if quote.is_empty() {
        return None;
    }
    let is_long = quote.chars().count() >= SHORTEST_EXCERPT;
    find_whole(evidence, quote).or_else(|| {
        is_long
            .then(|| find_leaf(evidence, "", &|leaf| leaf.has_excerpt(quote)))
            .flatten()
    })
}

/// Returns whether a quote is a whole scalar or a whole pair. An excerpt may omit the word that negates it.
pub(crate) fn is_whole(evidence: &Value, quote: &str) -> bool {
    find_whole(evidence, quote.trim()).is_some()
}

fn find_whole(evidence: &Value, quote: &str) -> Option<String> {
    find_leaf(evidence, "", &|leaf| leaf.matches_quote(quote))
}

/// A scalar and its key.
struct JsonLeaf<'a> {
    key: &'a str,
    value: &'a Value,
}

impl JsonLeaf<'_> {
    fn matches_quote(&self, quote: &str) -> bool {
        let text: Cow<'_, str> = match self.value {
            Value::String(text) => text.into(),
            scalar => scalar.to_string().into(),
        };
        if quote == text {
            return self.is_statement();
        }
        let Some((key, value)) = quote.split_once(':') else {
            return false;
        };
        !self.key.is_empty()
            && unquoted(key) == self.key
            && (value.trim() == text || unquoted(value) == text)
    }

    /// Returns whether the value is a statement without its key.
    fn is_statement(&self) -> bool {
        let Value::String(text) = self.value else {
            return false;
        };
        // The text `true` from a register's file proves no more than JSON's `true`.
        text.chars().count() >= SHORTEST_BARE && !matches!(text.as_str(), "true" | "false" | "null")
    }

    fn has_excerpt(&self, quote: &str) -> bool {
        let Value::String(text) = self.value else {
            return false;
        };
        text.match_indices(quote).any(|(at, found)| {
            let before = text.get(..at).unwrap_or_default();
            let after = text.get(at + found.len()..).unwrap_or_default();
            !continues_word(before.chars().rev(), quote.chars())
                && !continues_word(after.chars(), quote.chars().rev())
        })
    }
}

/// Returns whether a word or a number continues over the edge of an excerpt. Both iterators start at the edge.
fn continues_word(
    mut outside: impl Iterator<Item = char>,
    mut inside: impl Iterator<Item = char>,
) -> bool {
    match (outside.next(), inside.next()) {
        (Some(out), Some(within)) if is_word(out) && is_word(within) => true,
        (Some(out), Some(within)) if joins_digits(out) && within.is_numeric() => {
            outside.next().is_some_and(char::is_numeric)
        }
        (Some(out), Some(within)) if out.is_numeric() && joins_digits(within) => {
            inside.next().is_some_and(char::is_numeric)
        }
        _ => false,
    }
}

fn unquoted(text: &str) -> &str {
    text.trim().trim_matches('"')
}

/// Returns whether a character is part of a word: letters, digits and joiners. `un-authorised` and `not_malicious`
/// are one word each.
fn is_word(c: char) -> bool {
    c.is_alphanumeric()
        || matches!(
            c,
            '_' | '-' | '\'' | '\u{2019}' | '\u{2010}' | '\u{2011}' | '\u{2212}'
        )
}

/// Returns whether a character joins the digits of one number, address, time or date: `1,500`, `99.5`, `02:41:12`,
/// `10.0.0.0/8`.
fn joins_digits(c: char) -> bool {
    matches!(
        c,
        '.' | ',' | ':' | '/' | '\u{a0}' | '\u{2009}' | '\u{202f}'
    )
}

/// Returns the JSON pointer of the first wanted leaf. It is built on the way back, because most leaves are not
/// wanted.
fn find_leaf(value: &Value, key: &str, wanted: &dyn Fn(&JsonLeaf<'_>) -> bool) -> Option<String> {
    match value {
        Value::Object(map) => map.iter().find_map(|(name, inner)| {
            let rest = find_leaf(inner, name, wanted)?;
            let escaped = name.replace('~', "~0").replace('/', "~1");
            Some(format!("/{escaped}{rest}"))
        }),
        Value::Array(list) => (0..).zip(list).find_map(|(index, inner): (usize, _)| {
            let rest = find_leaf(inner, key, wanted)?;
            Some(format!("/{index}{rest}"))
        }),
        value => wanted(&JsonLeaf { key, value }).then(String::new),
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
            resolve_quote(&body, "minexmr.com").as_deref(),
            Some("/matches/0/entry")
        );
        assert_eq!(
            resolve_quote(&body, "listed: true").as_deref(),
            Some("/listed")
        );
        assert_eq!(
            resolve_quote(&body, "\"list\": \"pools\"").as_deref(),
            Some("/matches/0/list")
        );
        assert_eq!(resolve_quote(&body, "n: 0").as_deref(), Some("/n"));
        assert_eq!(resolve_quote(&body, "listed: false"), None);
        assert_eq!(resolve_quote(&body, "minexmr"), None);
        assert_eq!(resolve_quote(&body, ""), None);
    }

    #[test]
    fn a19_a_bare_number_proves_nothing() {
        let body = json!({"found": 0, "listed": true, "error": null, "port": 22, "list": "tor", "mfa": "true", "hosts": [7]});
        for bare in ["0", "true", "null", "22", "tor", "7"] {
            assert_eq!(resolve_quote(&body, bare), None, "{bare}");
        }
        for (pair, path) in [
            ("found: 0", "/found"),
            ("listed: true", "/listed"),
            ("error: null", "/error"),
            ("list: tor", "/list"),
            ("mfa: true", "/mfa"),
            ("hosts: 7", "/hosts/0"),
        ] {
            assert_eq!(resolve_quote(&body, pair).as_deref(), Some(path), "{pair}");
        }
    }

    #[test]
    fn a19_a_quote_cut_so_that_it_turns_counts_for_nothing() {
        let body = json!({"note": "this was an unauthorised login by nobody we know", "tag": "not_malicious_traffic"});
        assert_eq!(resolve_quote(&body, "authorised login by nobody"), None);
        assert_eq!(resolve_quote(&body, "malicious_traffic"), None);
        assert_eq!(resolve_quote(&body, "authorised"), None);
        assert_eq!(
            resolve_quote(&body, "unauthorised login by nobody").as_deref(),
            Some("/note")
        );
    }

    #[test]
    fn a19_a_number_is_not_cut() {
        let body = json!({
            "count": "blocked 1,500 logins from 203.0.113.9",
            "share": "99.5 percent of the logins failed",
            "time": "02:41:12 login of bob was refused",
            "net": "all traffic to 10.0.0.0/8 was dropped",
            "date": "reviewed on 02/03/2026 by nobody",
            "spaced": "blocked 1\u{a0}500 logins of root",
            "signed": "the score is \u{2212}95 for this address",
            "end": "It took 12. 500 logins failed, at 14:05, 3 of root.",
        });
        for cut in [
            "500 logins from 203.0.113.9",
            ",500 logins from 203.0.113.9",
            "logins from 203.0.113",
            "blocked 1,500 logins from 203.",
            "5 percent of the logins",
            ".5 percent of the logins",
            "12 login of bob",
            "41:12 login of bob was refused",
            "all traffic to 10.0.0.0",
            "2026 by nobody",
            "500 logins of root",
            "95 for this address",
        ] {
            assert_eq!(resolve_quote(&body, cut), None, "{cut}");
        }
        for (whole, path) in [
            ("1,500 logins from 203.0.113.9", "/count"),
            ("blocked 1,500 logins", "/count"),
            ("99.5 percent of", "/share"),
            ("login of bob was refused", "/time"),
            ("500 logins failed, at 14:05", "/end"),
            ("logins failed, at 14:05, 3 of root", "/end"),
        ] {
            assert_eq!(
                resolve_quote(&body, whole).as_deref(),
                Some(path),
                "{whole}"
            );
        }
    }

    #[test]
    fn what_is_taken_out_of_a_text_is_not_whole() {
        let body = json!({"purpose": "Not approved for port scanning by security", "n": 0});
        let is = |quote: &str| {
            (
                resolve_quote(&body, quote).is_some(),
                is_whole(&body, quote),
            )
        };
        assert_eq!(is("approved for port scanning by security"), (true, false));
        assert_eq!(
            is("Not approved for port scanning by security"),
            (true, true)
        );
        assert_eq!(
            is("purpose: Not approved for port scanning by security"),
            (true, true)
        );
        assert_eq!(is("n: 0"), (true, true));
    }

    proptest! {
        #[test]
        fn every_scalar_of_a_tree_resolves_to_itself(words in prop::collection::vec("[a-z]{6,12}( [a-z]{1,9}){0,3}", 1..20)) {
            let body = json!({"rows": words});
            for word in &words {
                let path = resolve_quote(&body, word);
                prop_assert!(path.is_some());
                let found = path.and_then(|path| body.pointer(&path).cloned());
                prop_assert_eq!(found, Some(json!(word)));
            }
        }

        #[test]
        fn no_quote_and_no_tree_panics(text in "\\PC*", quote in "\\PC*") {
            let _ = resolve_quote(&json!({"a": text, "b": [text.clone()]}), &quote);
        }
    }
}

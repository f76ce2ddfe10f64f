//! Quotes: whether what an analyst quotes stands in the evidence it names.
//!
//! A quote counts when it is a whole scalar, or a whole `key: value`. Inside free text it must stand at word
//! boundaries and be long enough, so that `authorised` is no quote of `unauthorised`.

use serde_json::Value;

/// Shortest quote, in characters, that may be taken out of a longer text.
const SHORTEST_EXCERPT: usize = 12;

/// JSON pointer of the value that `quote` is, or is taken from; none where the evidence does not hold it.
#[must_use]
pub fn resolve(evidence: &Value, quote: &str) -> Option<String> {
    let quote = quote.trim();
    if quote.is_empty() {
        return None;
    }
    let leaves = leaves(evidence);
    let whole = leaves.iter().find(|leaf| leaf.is(quote));
    whole
        .or_else(|| leaves.iter().find(|leaf| leaf.has_excerpt(quote)))
        .map(|leaf| leaf.path.clone())
}

struct Leaf<'a> {
    path: String,
    key: &'a str,
    text: std::borrow::Cow<'a, str>,
    is_text: bool,
}

impl Leaf<'_> {
    fn is(&self, quote: &str) -> bool {
        if quote == self.text {
            return true;
        }
        let Some((key, value)) = quote.split_once(':') else {
            return false;
        };
        let bare = |text: &str| text.trim().trim_matches('"').to_owned();
        !self.key.is_empty()
            && bare(key) == self.key
            && (value.trim() == self.text || bare(value) == self.text)
    }

    fn has_excerpt(&self, quote: &str) -> bool {
        if !self.is_text || quote.chars().count() < SHORTEST_EXCERPT {
            return false;
        }
        self.text.match_indices(quote).any(|(at, found)| {
            let before = self
                .text
                .get(..at)
                .and_then(|text| text.chars().next_back());
            let after = self
                .text
                .get(at + found.len()..)
                .and_then(|text| text.chars().next());
            let starts = quote.chars().next().is_some_and(is_word);
            let ends = quote.chars().next_back().is_some_and(is_word);
            !(starts && before.is_some_and(is_word) || ends && after.is_some_and(is_word))
        })
    }
}

/// Letters, digits, and what joins them within one name: `un-authorised` and `not_malicious` are one word each.
fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '\'')
}

fn leaves(value: &Value) -> Vec<Leaf<'_>> {
    let mut found = Vec::new();
    let mut open = vec![(String::new(), "", value)];
    while let Some((path, key, value)) = open.pop() {
        match value {
            Value::Object(map) => {
                for (name, inner) in map.iter().rev() {
                    let escaped = name.replace('~', "~0").replace('/', "~1");
                    open.push((format!("{path}/{escaped}"), name, inner));
                }
            }
            Value::Array(list) => {
                for (index, inner) in list.iter().enumerate().rev() {
                    open.push((format!("{path}/{index}"), key, inner));
                }
            }
            Value::String(text) => found.push(Leaf {
                path,
                key,
                text: text.as_str().into(),
                is_text: true,
            }),
            scalar => found.push(Leaf {
                path,
                key,
                text: scalar.to_string().into(),
                is_text: false,
            }),
        }
    }
    found
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
        fn every_scalar_of_a_tree_resolves_to_itself(words in prop::collection::vec("[a-z]{1,12}( [a-z]{1,9}){0,3}", 1..20)) {
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

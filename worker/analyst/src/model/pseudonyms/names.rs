//! Finds any number of known values in a text: whole words, in any case, the longest first.
//!
//! The values come from an alert, so its author chooses how many there are and which. They are only sorted. Nothing
//! is compiled, because a compiled form could grow without bound or fail.

use std::collections::BTreeMap;

use super::values::PseudonymKind;
use super::{begins_word, escaped};

/// A value to hide, with its place in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NameMatch {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) kind: PseudonymKind,
}

/// Values to look for.
pub(super) struct NameIndex {
    /// Values as a text or JSON spells them, folded and sorted.
    sorted: Vec<(String, PseudonymKind)>,
}

impl NameIndex {
    /// Takes the values of a map by folded spelling.
    pub(super) fn new(values: &BTreeMap<String, PseudonymKind>) -> Self {
        let mut all = values.clone();
        for (value, kind) in values {
            all.entry(escaped(value)).or_insert(*kind);
        }
        Self {
            sorted: all.into_iter().collect(),
        }
    }

    /// Returns the first value at or after a position.
    pub(super) fn find_next(&self, text: &str, from: usize) -> Option<NameMatch> {
        let places = text.get(from..)?.char_indices().map(|(at, _)| from + at);
        places
            .filter(|at| begins_word(text, *at))
            .find_map(|at| self.longest_at(text, at))
    }

    /// Returns the longest value that begins here and ends at the end of a word.
    fn longest_at(&self, text: &str, start: usize) -> Option<NameMatch> {
        let mut left = self.sorted.as_slice();
        let mut depth = 0;
        let mut found = None;
        let mut chars = text.get(start..)?.chars().peekable();
        let mut end = start;
        while let Some(c) = chars.next() {
            end += c.len_utf8();
            for folded in fold(c) {
                for byte in folded.encode_utf8(&mut [0; 4]).bytes() {
                    left = narrowed(left, depth, byte);
                    depth += 1;
                }
            }
            let Some((value, kind)) = left.first() else {
                break;
            };
            let is_end = !chars.peek().is_some_and(|next| next.is_alphanumeric());
            // The shortest of the values with this prefix comes first.
            if value.len() == depth && is_end {
                found = Some(NameMatch {
                    start,
                    end,
                    kind: *kind,
                });
            }
        }
        found
    }
}

/// Returns the values of a sorted list, all equal before `depth`, that have this byte there.
fn narrowed(
    list: &[(String, PseudonymKind)],
    depth: usize,
    byte: u8,
) -> &[(String, PseudonymKind)] {
    let at = |value: &(String, PseudonymKind)| value.0.as_bytes().get(depth).copied();
    if list.first().and_then(at) == Some(byte) && list.last().and_then(at) == Some(byte) {
        return list;
    }
    let begin = list.partition_point(|value| at(value) < Some(byte));
    let rest = list.get(begin..).unwrap_or_default();
    let many = rest.partition_point(|value| at(value) == Some(byte));
    rest.get(..many).unwrap_or_default()
}

/// Folds a text for comparison: to lower case, character by character.
pub(super) fn folded(text: &str) -> String {
    text.chars().flat_map(fold).collect()
}

fn fold(c: char) -> impl Iterator<Item = char> {
    // The sigma at a word's end is the only letter whose lower case depends on what follows.
    c.to_lowercase().map(|c| if c == 'ς' { 'σ' } else { c })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(values: &[&str]) -> NameIndex {
        let values = values
            .iter()
            .map(|value| (folded(value), PseudonymKind::Principal));
        NameIndex::new(&values.collect())
    }

    fn all(names: &NameIndex, text: &str) -> Vec<String> {
        let mut found = Vec::new();
        let mut from = 0;
        while let Some(one) = names.find_next(text, from) {
            found.push(text.get(one.start..one.end).unwrap().to_owned());
            from = one.end;
        }
        found
    }

    #[test]
    fn the_longest_value_that_is_a_whole_word_is_found() {
        let names = names(&["alice", "alice-1", "alice-1 smith", "-x", "CORP\\bob"]);
        for (text, found) in [
            (
                "alice alice-1 alice-1 smith",
                &["alice", "alice-1", "alice-1 smith"] as &[&str],
            ),
            ("alice-12 alice-1 smithy", &["alice", "alice-1"]),
            ("malice alices alice2 2alice éalice aliceé", &[]),
            ("_alice_ (ALICE), a-x -x", &["alice", "ALICE", "-x"]),
            (
                r#"{"u":"Corp\\Bob"} CORP\bob"#,
                &[r"Corp\\Bob", r"CORP\bob"],
            ),
            ("", &[]),
        ] {
            assert_eq!(all(&names, text), found, "{text}");
        }
        assert_eq!(all(&NameIndex::new(&BTreeMap::new()), "alice"), [""; 0]);
    }

    #[test]
    fn case_is_folded_in_every_script() {
        let names = names(&["ΟΔΥΣΣΕΥΣ", "İlker", "müller", "ЖАННА"]);
        for text in [
            "οδυσσευς",
            "Οδυσσεύς".replace('ύ', "υ").as_str(),
            "İLKER",
            "MÜLLER",
            "Жанна",
        ] {
            assert_eq!(all(&names, &format!("by {text}.")), [text]);
        }
        assert_eq!(
            all(&names, "i\u{307}lker"),
            ["i\u{307}lker"],
            "as it is folded"
        );
    }
}

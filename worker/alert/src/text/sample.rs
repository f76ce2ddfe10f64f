//! Generates texts that match a pattern, for tests.

use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::string::string_regex;
use proptest::test_runner::TestRunner;
use regex::Regex;

/// Number of texts that are generated for each pattern.
const MANY: usize = 128;

/// Returns texts that match the pattern, the same at each call. Assertions (start, end, word boundary) are left out,
/// and only texts that still match are kept. `ſ` and `K`, which case folding makes `s` and `k`, are replaced by
/// these, because no secret contains them.
///
/// # Panics
/// Panics when hardly any text matches, because the test would show nothing.
pub(super) fn samples(pattern: &str) -> Vec<String> {
    let regex = Regex::new(pattern).unwrap();
    let without_places = [r"\b", r"(?-u:)", r"(?:^|\n)", "(?:^|", r"|\z)", "|$)"]
        .iter()
        .zip(["", "", r"\n", "(?:", ")", ")"])
        .fold(pattern.to_owned(), |text, (place, instead)| {
            text.replace(place, instead)
        });
    let texts = string_regex(&without_places).unwrap();
    let mut runner = TestRunner::deterministic();
    let samples: Vec<String> = (0..MANY)
        .map(|_| texts.new_tree(&mut runner).unwrap().current())
        .map(|text| text.replace('\u{17f}', "s").replace('\u{212a}', "k"))
        .filter(|text| regex.is_match(text))
        .collect();
    assert!(samples.len() > MANY / 16, "{pattern}: {}", samples.len());
    samples
}

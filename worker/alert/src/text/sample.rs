//! For tests: texts that a pattern takes.

use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::string::string_regex;
use proptest::test_runner::TestRunner;
use regex::Regex;

/// How many texts are made of each pattern.
const MANY: usize = 128;

/// Texts that the pattern takes, the same at each call. Where it asks for a place (the begin, the end, the edge of a word),
/// the place is left out, and of the texts only those are kept that are taken even so. `ſ` and `K`, which are `s` and `k` without regard to case, are written as these: nobody's
/// secret has them.
///
/// # Panics
/// When none is, or hardly any: the test would show nothing.
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

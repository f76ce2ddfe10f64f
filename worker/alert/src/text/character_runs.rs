//! Finds long unbroken runs of given characters, far cheaper than a pattern.

use std::ops::Range;

/// The bytes that belong to a run.
pub(super) struct Alphabet([bool; 256]);

impl Alphabet {
    /// Creates the alphabet of ASCII letters and digits, and these bytes.
    pub(super) const fn alphanumeric_and(others: &[u8]) -> Self {
        let mut bytes = [false; 256];
        let mut at = 0;
        while at < 256 {
            #[expect(clippy::cast_possible_truncation, reason = "it is below 256")]
            #[expect(clippy::indexing_slicing, reason = "evaluated by the compiler")]
            {
                bytes[at] = (at as u8).is_ascii_alphanumeric();
            }
            at += 1;
        }
        let mut at = 0;
        while at < others.len() {
            #[expect(clippy::indexing_slicing, reason = "evaluated by the compiler")]
            {
                bytes[others[at] as usize] = true;
            }
            at += 1;
        }
        Self(bytes)
    }

    fn contains(&self, byte: u8) -> bool {
        self.0.get(usize::from(byte)).is_some_and(|held| *held)
    }

    /// Returns the runs of at least `least` bytes, in order and whole. Such a run covers one of every `least`
    /// offsets, so only these and their surroundings are examined.
    pub(super) fn runs<'a>(
        &'a self,
        text: &'a str,
        least: usize,
    ) -> impl Iterator<Item = Range<usize>> + 'a {
        let bytes = text.as_bytes();
        let mut from = 0_usize;
        std::iter::from_fn(move || {
            loop {
                let window = bytes.get(from..from.checked_add(least)?)?;
                match window.iter().rposition(|byte| !self.contains(*byte)) {
                    Some(other) => from += other + 1,
                    None => break,
                }
            }
            let start = from;
            let more = bytes.get(start + least..).unwrap_or_default();
            let length = more.iter().take_while(|byte| self.contains(**byte)).count();
            from = start + least + length;
            Some(start..from)
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn runs_are_found_wherever_they_stand(text in "[a-c ./é]{0,60}", least in 1..12_usize) {
            let alphabet = Alphabet::alphanumeric_and(b"/");
            let expected: Vec<&str> = text
                .split(|c: char| !(c.is_ascii_alphanumeric() || c == '/'))
                .filter(|run| run.len() >= least)
                .collect();
            let found: Vec<&str> = alphabet.runs(&text, least).map(|run| text.get(run).unwrap()).collect();
            prop_assert_eq!(found, expected);
        }
    }
}

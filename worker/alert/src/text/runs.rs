//! Long unbroken runs of some characters in a text: far cheaper than a pattern that wants them.

use std::ops::Range;

/// Which bytes belong to a run.
pub(super) struct Alphabet([bool; 256]);

impl Alphabet {
    /// Letters and digits of ASCII, and these.
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

    fn holds(&self, byte: u8) -> bool {
        self.0.get(usize::from(byte)).is_some_and(|held| *held)
    }

    /// Where at least this many of them stand in a row, in order, each as long as it is. A run that long covers one of
    /// every `least` places, so only these are looked at, and what stands around them.
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
                match window.iter().rposition(|byte| !self.holds(*byte)) {
                    Some(other) => from += other + 1,
                    None => break,
                }
            }
            let start = from;
            let more = bytes.get(start + least..).unwrap_or_default();
            let length = more.iter().take_while(|byte| self.holds(**byte)).count();
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

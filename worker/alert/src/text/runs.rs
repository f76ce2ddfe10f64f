//! Whether a text has a long unbroken run of some characters: a cheap look before a pattern that wants one.

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

    /// Whether at least this many of them stand in a row. A run that long covers one of every `least` places, so only
    /// these are looked at, and what stands around them.
    pub(super) fn has_run(&self, text: &str, least: usize) -> bool {
        let bytes = text.as_bytes();
        let mut from = 0;
        while let Some(rest) = bytes.get(from..).filter(|rest| rest.len() >= least) {
            let window = rest.get(..least).unwrap_or(rest);
            match window.iter().rposition(|byte| !self.holds(*byte)) {
                None => return true,
                Some(other) => from += other + 1,
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_run_is_found_wherever_it_stands(text in "[a-c ./é]{0,60}", least in 1..12_usize) {
            let alphabet = Alphabet::alphanumeric_and(b"/");
            let longest = text
                .split(|c: char| !(c.is_ascii_alphanumeric() || c == '/'))
                .map(str::len)
                .max()
                .unwrap_or_default();
            prop_assert_eq!(alphabet.has_run(&text, least), longest >= least);
        }
    }
}

//! Removes characters that machines read and people do not see.
//!
//! These are controls and terminal escapes, direction overrides, zero-width and filler characters, tag characters and
//! variation selectors (Unicode 16, sections 23.1–23.9). They are removed before secrets are searched, so that none
//! hides between them.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

/// ECMA-48 control sequences: CSI … final byte, OSC/DCS/APC … terminator, and two-byte escapes.
static ESCAPES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?:\x1b\[|\x{9b})[0-?]{0,64}[ -/]{0,8}[@-~]|(?:\x1b[\]P_^X]|[\x{9d}\x{90}])[^\x07\x1b\x{9c}]{0,4096}(?:\x07|\x1b\\|\x{9c})|\x1b[ -~]",
    )
    .ok()
});

/// Returns the text without hidden characters, and the number of removed pieces. `\n` and `\t` stay.
#[must_use]
pub fn strip_hidden(text: &str) -> (Cow<'_, str>, usize) {
    // A loop without early exit lets the compiler process many bytes at once.
    let is_plain = text.bytes().fold(true, |plain, byte| {
        plain & matches!(byte, b' '..=b'~' | b'\n' | b'\t')
    });
    if is_plain {
        return (Cow::Borrowed(text), 0);
    }
    let mut count = 0;
    let text = without_escapes(text, &mut count);
    if !text
        .chars()
        .any(|character| replacement(character).is_some())
    {
        return (text, count);
    }
    let mut kept = String::with_capacity(text.len());
    let mut previous = ' ';
    for character in text.chars() {
        match replacement(character) {
            None => kept.push(character),
            // Half of a Windows line end hides nothing.
            Some(_) if character == '\r' => {}
            Some(instead) => {
                count += 1;
                kept.extend(instead);
            }
        }
        previous = character;
    }
    if previous == '\r' {
        kept.push('\n');
    }
    (Cow::Owned(kept), count)
}

/// First characters of escapes.
const ESCAPE_BEGINS: [char; 4] = ['\u{1b}', '\u{9b}', '\u{9d}', '\u{90}'];

fn without_escapes<'a>(text: &'a str, count: &mut usize) -> Cow<'a, str> {
    // Compiling the pattern takes tens of milliseconds, and hardly any text has an escape.
    if !text.contains(ESCAPE_BEGINS) {
        return Cow::Borrowed(text);
    }
    let Some(escapes) = ESCAPES.as_ref() else {
        return Cow::Borrowed(text);
    };
    *count += escapes.find_iter(text).count();
    escapes.replace_all(text, "")
}

/// Returns the replacement of a hidden character: nothing, or a space for a hidden line break. Returns `None` if it
/// is visible.
fn replacement(character: char) -> Option<Option<char>> {
    match character {
        '\n' | '\t' => None,
        '\u{2028}' | '\u{2029}' | '\u{85}' | '\u{b}' | '\u{c}' => Some(Some(' ')),
        _ if is_hidden(character) => Some(None),
        _ => None,
    }
}

/// Returns whether a character is invisible.
pub(super) fn is_hidden(character: char) -> bool {
    matches!(character,
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}'      // controls
        | '\u{ad}' | '\u{34f}'                     // soft hyphen, grapheme joiner
        | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' // direction
        | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{3164}' | '\u{ffa0}' // fillers
        | '\u{180b}'..='\u{180f}'                  // Mongolian selectors
        | '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}' | '\u{feff}' // zero width
        | '\u{fe00}'..='\u{fe0f}' // variation selectors
        | '\u{2800}'                               // Braille without a dot
        | '\u{fff0}'..='\u{fffb}'                  // unassigned, interlinear annotation
        | '\u{13430}'..='\u{1345f}' | '\u{16fe4}'  // joiners of hieroglyphs, a filler
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' // shorthand and music format controls
        | '\u{e0000}'..='\u{e0fff}') // tags, variation selectors, and what shows nothing whatever it will be
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn patterns_compile() {
        assert!(ESCAPES.is_some());
    }

    #[test]
    fn a14_hidden_text_goes_and_is_counted() {
        for (text, clean, count) in [
            ("plain\n\ttext", "plain\n\ttext", 0),
            ("日本語 Ünïcode", "日本語 Ünïcode", 0),
            ("a\u{200b}b\u{202e}c\u{2066}d\u{feff}", "abcd", 4),
            ("x\u{e0049}\u{e0067}y\u{fe0f}", "xy", 3),
            ("\u{1b}[31mred\u{1b}[0m", "red", 2),
            ("\u{1b}]0;title\u{7}after", "after", 1),
            ("\u{9b}2Jx\u{1b}", "x", 2),
            ("a\r\nb\r", "a\nb\n", 0),
            ("a\u{2028}b\0", "a b", 2),
        ] {
            let (got, taken) = strip_hidden(text);
            assert_eq!((got.as_ref(), taken), (clean, count), "{text:?}");
        }
    }

    /// Checks `Default_Ignorable_Code_Point` of Unicode 16 (DerivedCoreProperties.txt), and blanks that display as
    /// nothing.
    #[test]
    fn a14_all_that_unicode_lets_be_ignored_goes() {
        for range in [
            0xad..=0xad,
            0x34f..=0x34f,
            0x61c..=0x61c,
            0x115f..=0x1160,
            0x17b4..=0x17b5,
            0x180b..=0x180f,
            0x200b..=0x200f,
            0x202a..=0x202e,
            0x2060..=0x206f,
            0x2800..=0x2800,
            0x3164..=0x3164,
            0xfe00..=0xfe0f,
            0xfeff..=0xfeff,
            0xffa0..=0xffa0,
            0xfff0..=0xfffb,
            0x13430..=0x1345f,
            0x16fe4..=0x16fe4,
            0x1bca0..=0x1bca3,
            0x1d173..=0x1d17a,
            0xe0000..=0xe0fff,
        ] {
            for code in range {
                let hidden = char::from_u32(code).unwrap();
                let text = format!("no{hidden}body");
                let (clean, count) = strip_hidden(&text);
                assert_eq!((clean.as_ref(), count), ("nobody", 1), "{code:x}");
            }
        }
    }

    proptest! {
        #[test]
        fn nothing_hidden_stays_and_twice_is_once(text in "[a-z\\x00-\\x20\\x1b\\[\\]0-9m;\u{200b}\u{202e}\u{e0041}\u{9b}\u{9c}\u{fe0f}é]{0,60}") {
            let (once, _) = strip_hidden(&text);
            prop_assert!(!once.chars().any(|c| is_hidden(c) && c != '\n' && c != '\t'), "{once:?}");
            let (twice, count) = strip_hidden(&once);
            prop_assert_eq!(&twice, &once);
            prop_assert_eq!(count, 0);
        }
    }
}

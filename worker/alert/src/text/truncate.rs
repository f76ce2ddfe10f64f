//! Shortens text without splitting graphemes.

use std::borrow::Cow;

use unicode_segmentation::UnicodeSegmentation;

/// Cuts a text to `max_chars` graphemes, including the closing `…`.
#[must_use]
pub fn truncate(text: &str, max_chars: usize) -> Cow<'_, str> {
    if text.len() <= max_chars {
        return Cow::Borrowed(text);
    }
    let mut last_fitting = 0;
    for (count, (start, _)) in text.grapheme_indices(true).enumerate() {
        if count + 1 == max_chars {
            last_fitting = start;
        }
        if count == max_chars {
            let head = text.get(..last_fitting).unwrap_or_default();
            return Cow::Owned(if max_chars == 0 {
                String::new()
            } else {
                format!("{}…", head.trim_end())
            });
        }
    }
    Cow::Borrowed(text)
}

/// Returns the longest head of whole graphemes that fits `max_bytes` with the closing `…`.
pub(super) fn truncate_bytes(text: &str, max_bytes: usize) -> Cow<'_, str> {
    if text.len() <= max_bytes {
        return Cow::Borrowed(text);
    }
    let room = max_bytes.saturating_sub('…'.len_utf8());
    let mut end = 0;
    // Only the head is segmented, because the tail may be a megabyte.
    let head = text.floor_char_boundary(room);
    for (start, grapheme) in text.get(..head).unwrap_or_default().grapheme_indices(true) {
        if start + grapheme.len() < head {
            end = start + grapheme.len();
        }
    }
    Cow::Owned(format!("{}…", text.get(..end).unwrap_or_default()))
}

/// Maximum length of a partial word that may be the head of a secret, in bytes.
pub(super) const MAX_PARTIAL_SECRET_BYTES: usize = 1024;

/// Returns the head of a text without the word at the cut, because no pattern recognises half a secret. A word that
/// is longer than secrets loses only its end.
#[must_use]
pub fn without_partial_word(head: &str) -> &str {
    let least = head.floor_char_boundary(head.len().saturating_sub(MAX_PARTIAL_SECRET_BYTES));
    let end = head.rfind(|c: char| c.is_whitespace() || matches!(c, '"' | '\''));
    head.get(..end.unwrap_or(0).max(least)).unwrap_or_default()
}

/// Returns the text as one line: white space with a line break becomes one space, and the ends are trimmed.
#[must_use]
pub fn single_line(text: &str) -> Cow<'_, str> {
    let trimmed = text.trim();
    let breaks = |c: char| {
        matches!(
            c,
            '\n' | '\r' | '\t' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}'
        )
    };
    if !trimmed.contains(breaks) {
        return Cow::Borrowed(trimmed);
    }
    Cow::Owned(trimmed.split_whitespace().collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn r1_titles_are_cut_at_graphemes_not_bytes() {
        assert_eq!(truncate("short", 10), "short");
        assert_eq!(truncate("日本語のタイトル", 4), "日本語…");
        // A family and a letter with two accents are one grapheme each.
        assert_eq!(truncate("👨‍👩‍👧‍👦👨‍👩‍👧‍👦👨‍👩‍👧‍👦", 2), "👨‍👩‍👧‍👦…");
        assert_eq!(
            truncate("e\u{301}\u{323}e\u{301}", 2),
            "e\u{301}\u{323}e\u{301}"
        );
        assert_eq!(truncate("abc", 0), "");
        assert_eq!(truncate("abc", 1), "…");
    }

    #[test]
    fn lines_become_one() {
        assert_eq!(single_line("  a\n b\r\n\tc  "), "a b c");
        assert_eq!(single_line("a  b"), "a  b");
    }

    proptest! {
        #[test]
        fn cut_never_splits_a_grapheme(text in "\\PC{0,60}", max in 0_usize..40) {
            let short = truncate(&text, max);
            prop_assert!(short.graphemes(true).count() <= max.max(text.graphemes(true).count().min(max)));
            let head = short.strip_suffix('…').unwrap_or(&short);
            let ends: Vec<usize> = text.grapheme_indices(true).map(|(i, g)| i + g.len()).chain([0]).collect();
            prop_assert!(!text.starts_with(head) || ends.contains(&head.len()) );
            prop_assert!(text.starts_with(head));
        }

        #[test]
        fn cut_bytes_keeps_within_its_bound(text in "\\PC{0,60}", max in 4_usize..80) {
            let short = truncate_bytes(&text, max);
            prop_assert!(short.len() <= max);
            let head = if short.len() < text.len() { short.strip_suffix('…').unwrap_or(&short) } else { &short };
            prop_assert!(text.starts_with(head));
        }
    }
}

//! Cleans texts for the log and for attributes of traces: no secrets, escapes or hidden characters, one line, bounded.

use nightshift_alert::text::{redact, single_line, strip_hidden, truncate, without_partial_word};

/// Most characters of one value, which is enough for a chain of errors.
const MAX_CHARS: usize = 2_000;
/// Most bytes of a value that are examined.
const MAX_BYTES: usize = 16_000;

/// Cleans a text for one line. A text that this program generated is not redacted.
pub(crate) fn clean_line(text: &str, is_ours: bool) -> String {
    let head = text.get(..text.floor_char_boundary(MAX_BYTES));
    let head = head.unwrap_or_default();
    let (visible, _) = strip_hidden(head);
    let line = single_line(&visible);
    if is_ours {
        return truncate(&line, MAX_CHARS).into_owned();
    }
    // Redaction comes before the cut, because half a secret is not recognised.
    let (clean, _) = redact(&line);
    match head.len() < text.len() {
        true => truncate(&format!("{}…", without_partial_word(&clean)), MAX_CHARS).into_owned(),
        false => truncate(&clean, MAX_CHARS).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a21_no_half_of_a_secret_is_left_in_a_line() {
        let url = "postgres://app:Correct-Horse@db.internal/prod";
        for before in 1..url.len() {
            let line = format!("{} {url}", "x".repeat(MAX_CHARS - 1 - before));
            assert!(!clean_line(&line, false).contains("Corr"), "{before}");
            let token = "Bearer abcdefghij0123456789abcdefghij0123456789 ".repeat(200);
            let room = MAX_BYTES - token.len() - before;
            let words: String = "a b ".chars().cycle().take(room - 1).collect();
            let line = clean_line(&format!("{token}{words} {url}"), false);
            assert!(!line.contains("Corr"), "{before}");
        }
        let short = clean_line(
            "failed: postgres://app:Correct-Horse@db.internal/prod",
            false,
        );
        assert_eq!(
            short,
            "failed: postgres://app:[redacted:url_password]@db.internal/prod"
        );
    }
}

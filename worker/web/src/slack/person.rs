//! Formats names and notes of people in the form in which they are stored.

use nightshift_alert::text::{sanitize, strip_hidden, truncate};
use nightshift_pipeline::case_workflow::{ACTION_NAME_CHARS, ACTION_NOTE_CHARS};

use super::payload::SlackUser;

/// Maximum number of characters of a name that people choose for themselves.
const MAX_NAME_CHARS: usize = 60;

/// Returns `slack:U123 (ana)`. The id comes from Slack. The name is chosen by the person and cannot look like another
/// id.
pub(super) fn person_name(user: &SlackUser) -> String {
    let is_own = |c: &char| !"()<>".contains(*c);
    let chosen: String = user.name().chars().filter(is_own).collect();
    let id = sanitize(
        &user.id,
        ACTION_NAME_CHARS - MAX_NAME_CHARS - "slack: ()".len(),
    );
    let chosen = bounded(&sanitize(&chosen, MAX_NAME_CHARS), MAX_NAME_CHARS);
    if chosen.is_empty() {
        return format!("slack:{id}");
    }
    format!("slack:{id} ({chosen})")
}

/// Returns a note without invisible characters. Notes are made safe where they are shown.
pub(super) fn note(text: &str) -> String {
    bounded(&strip_hidden(text).0, ACTION_NOTE_CHARS)
}

/// Shortens a text to this many characters, counting combining characters as well.
fn bounded(text: &str, chars: usize) -> String {
    let short = truncate(text.trim(), chars);
    let end = short
        .char_indices()
        .nth(chars)
        .map_or(short.len(), |(end, _)| end);
    short.get(..end).unwrap_or_default().trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(id: &str, name: &str) -> SlackUser {
        serde_json::from_value(serde_json::json!({ "id": id, "name": name })).unwrap()
    }

    #[test]
    fn a_person_is_an_id_and_a_name_that_imitates_none() {
        assert_eq!(person_name(&user("U123", "ana")), "slack:U123 (ana)");
        assert_eq!(person_name(&user("U123", " \u{200b}")), "slack:U123");
        assert_eq!(
            person_name(&user("U123", "bob) slack:U9 (<@U1> @everyone\n\u{202e}")),
            "slack:U123 (bob slack:U9 (at)U1 (at)everyone)"
        );
    }

    #[test]
    fn a_note_keeps_its_words_and_lines_and_nothing_hidden() {
        assert_eq!(
            note(" 185.220.101.42 is ours\n<!channel> \u{202e}x "),
            "185.220.101.42 is ours\n<!channel> x"
        );
        let accents = format!("a{}", "\u{301}".repeat(100_000));
        assert!(note(&accents).chars().count() <= ACTION_NOTE_CHARS);
        assert_eq!(note(&"é".repeat(2_000)).chars().count(), ACTION_NOTE_CHARS);
    }
}

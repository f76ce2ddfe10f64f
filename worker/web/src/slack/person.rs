//! Names and notes of people in the form in which they are stored.

use nightshift_alert::text::{cut, plain, strip_hidden};
use nightshift_pipeline::desk::{ACT_NAME_CHARS, ACT_NOTE_CHARS};

use super::payload::User;

/// Most characters of a name that people choose for themselves.
const NAME: usize = 60;

/// Returns `slack:U123 (ana)`. The id comes from Slack. The name is chosen by the person and cannot look like another
/// id.
pub(super) fn name(user: &User) -> String {
    let is_own = |c: &char| !"()<>".contains(*c);
    let chosen: String = user.name().chars().filter(is_own).collect();
    let id = plain(&user.id, ACT_NAME_CHARS - NAME - "slack: ()".len());
    let chosen = bounded(&plain(&chosen, NAME), NAME);
    if chosen.is_empty() {
        return format!("slack:{id}");
    }
    format!("slack:{id} ({chosen})")
}

/// Returns a note without invisible characters. Notes are made safe where they are shown.
pub(super) fn note(text: &str) -> String {
    bounded(&strip_hidden(text).0, ACT_NOTE_CHARS)
}

/// Shortens a text to this many characters, counting combining characters as well.
fn bounded(text: &str, chars: usize) -> String {
    let short = cut(text.trim(), chars);
    let end = short
        .char_indices()
        .nth(chars)
        .map_or(short.len(), |(end, _)| end);
    short.get(..end).unwrap_or_default().trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(id: &str, name: &str) -> User {
        serde_json::from_value(serde_json::json!({ "id": id, "name": name })).unwrap()
    }

    #[test]
    fn a_person_is_an_id_and_a_name_that_imitates_none() {
        assert_eq!(name(&user("U123", "ana")), "slack:U123 (ana)");
        assert_eq!(name(&user("U123", " \u{200b}")), "slack:U123");
        assert_eq!(
            name(&user("U123", "bob) slack:U9 (<@U1> @everyone\n\u{202e}")),
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
        assert!(note(&accents).chars().count() <= ACT_NOTE_CHARS);
        assert_eq!(note(&"é".repeat(2_000)).chars().count(), ACT_NOTE_CHARS);
    }
}

//! Shortens text that is rendered for people.

/// Maximum length of a rendered line, in characters.
const MAX_LINE_CHARS: usize = 600;

/// Joins the words of a text with single spaces.
#[must_use]
pub fn collapse_whitespace(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the text on one line of bounded length. It is cut between words, so that no address loses its last digits.
#[must_use]
pub fn one_line(text: &str) -> String {
    let mut line = String::new();
    let mut chars = 0;
    for word in text.split_whitespace() {
        chars += word.chars().count() + 1;
        if chars > MAX_LINE_CHARS {
            line.push_str(" …");
            break;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_line_is_cut_between_words() {
        let line = one_line(&"192.0.2.10\n".repeat(100));
        assert!(line.ends_with("192.0.2.10 …"));
        assert!(line.chars().count() <= MAX_LINE_CHARS + 2);
    }
}

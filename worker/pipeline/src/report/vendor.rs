//! Divides the vendor's texts into paragraphs of bounded length, because some destinations limit the length of a
//! block.

use super::AlertFacts;

/// Maximum number of bytes of a paragraph.
const MOST_PARAGRAPH: usize = 2_000;
/// Maximum number of paragraphs of a text.
const MOST_PARAGRAPHS: usize = 40;

impl AlertFacts {
    /// Returns the product's description in paragraphs. Renderers must treat them as data.
    #[must_use]
    pub fn description_paragraphs(&self) -> Vec<&str> {
        paragraphs(&self.description)
    }

    /// Returns the product's remediation in paragraphs. Renderers must treat them as data.
    #[must_use]
    pub fn remediation_paragraphs(&self) -> Vec<&str> {
        paragraphs(self.remediation.as_deref().unwrap_or_default())
    }
}

fn paragraphs(text: &str) -> Vec<&str> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.flat_map(pieces).take(MOST_PARAGRAPHS).collect()
}

/// Divides a text between words.
fn pieces(mut text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    while text.len() > MOST_PARAGRAPH {
        let most = text.floor_char_boundary(MOST_PARAGRAPH);
        let head = text.get(..most).unwrap_or_default();
        let end = head.rfind(' ').filter(|end| *end > 0).unwrap_or(most);
        let Some((head, tail)) = text.split_at_checked(end) else {
            break;
        };
        pieces.push(head);
        text = tail.trim_start();
    }
    pieces.push(text);
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_divided_between_words_and_kept_whole() {
        let text = format!("First.\n\n{}", "wörd ".repeat(1_300));
        let all = paragraphs(&text);
        assert_eq!(all.first(), Some(&"First."));
        assert!(all.iter().all(|one| one.len() <= MOST_PARAGRAPH));
        let words: usize = all.iter().map(|one| one.matches("wörd").count()).sum();
        assert_eq!(words, 1_300);
        let unbroken = "ö".repeat(3_000);
        assert_eq!(paragraphs(&unbroken).concat(), unbroken);
    }
}

//! Takes the words of texts, to compare texts by the words that they share.

/// The least number of characters of a word.
const SHORTEST: usize = 3;

/// The maximum number of characters of a word.
const LONGEST: usize = 40;

/// The maximum number of words. Texts with more are compared by their first words.
const MOST: usize = 100;

/// Frequent words that say nothing about a text.
const FREQUENT: [&str; 16] = [
    "and", "any", "are", "but", "for", "from", "has", "have", "its", "not", "that", "the", "this",
    "was", "were", "with",
];

/// Returns the distinct words of texts in lower case, in order. A part with a digit, such as an address or an id, is no
/// word: two texts with one value in common are not alike.
#[must_use]
pub fn distinct_words(texts: &[&str]) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let parts = texts
        .iter()
        .flat_map(|text| text.split(|one: char| !one.is_alphanumeric()));
    for part in parts {
        let word = part.to_lowercase();
        let is_word = (SHORTEST..=LONGEST).contains(&word.chars().count())
            && word.chars().all(char::is_alphabetic)
            && !FREQUENT.contains(&word.as_str());
        if is_word && !words.contains(&word) {
            words.push(word);
        }
        if words.len() == MOST {
            break;
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::distinct_words;

    #[test]
    fn words_are_distinct_and_without_values() {
        let title = "Bitcoin-related domain name queried by EC2 instance i-0a1b2c3d4e5f60718.";
        let description = "The EC2 instance queried a domain name: pool.example.com (203.0.113.9)";
        assert_eq!(
            distinct_words(&[title, description]).join(" "),
            "bitcoin related domain name queried instance pool example com"
        );
    }

    #[test]
    fn words_of_other_scripts_count_and_long_texts_are_cut() {
        assert_eq!(
            distinct_words(&["Anmeldung für Müller"]),
            ["anmeldung", "für", "müller"]
        );
        let letters = || ('a'..='z').flat_map(|one| ('a'..='z').map(move |two| [one, two]));
        let long: Vec<String> = letters().map(|[one, two]| format!("{one}{two}q")).collect();
        assert_eq!(distinct_words(&[&long.join(" ")]), long[..100]);
    }
}

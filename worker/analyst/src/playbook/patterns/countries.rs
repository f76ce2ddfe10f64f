//! Reads the name of a country as its code, because one product writes `Germany` where another one writes `DE`.

use std::collections::HashMap;
use std::sync::LazyLock;

/// Lines of `code <tab> other names`.
const TABLE: &str = include_str!("../../../patterns/countries.tsv");

static CODES: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| {
    let lines = TABLE.lines().filter(|line| !line.starts_with('#'));
    lines
        .filter_map(|line| line.split_once('\t'))
        .flat_map(|(code, names)| names.split('\t').map(move |name| (name, code)))
        .collect()
});

/// Returns the code of the country, or the text when no country is called so. The text is in lower case.
pub(super) fn country_code(text: &str) -> &str {
    CODES.get(text).copied().unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_country_have_one_code() {
        for text in ["de", "deu", "germany", "deutschland"] {
            assert_eq!(country_code(text), "de");
        }
        assert_eq!(country_code("usa"), country_code("united states"));
        assert_eq!(country_code("atlantis"), "atlantis");
    }
}

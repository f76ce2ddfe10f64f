//! Finds secrets of unknown kinds: tokens that neither a person nor a naming scheme wrote.
//!
//! Random text changes between upper case, lower case and digits far more often than names do, and has more distinct
//! characters. Known random-looking values that are not secrets are kept: digests, UUIDs, ids of resources and keys,
//! wallets.

use std::sync::LazyLock;

use regex::Regex;

use super::character_runs::Alphabet;

/// Minimum length of a token. Vendors' unlabelled keys have 20 characters or more.
const MIN_TOKEN_CHARS: usize = 20;

/// Parts of a text that may look random and are kept.
static ALLOWED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?x)
          \barn:aws[a-z-]*:[^\s\x22',;]+                        # Amazon resource names
        | //[a-z]+\.googleapis\.com/[^\s\x22',;]+               # Google resource names
        | \b(?i:sha(?:1|224|256|384|512)|md5|blake[23]b?)[:\-=][A-Za-z0-9+/=]+  # digests that say so
        | \b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b
        | \b(?:AKIA|ASIA|ABIA|ACCA|AROA|AIDA|AGPA|AIPA|ANPA|ANVA|APKA|ASCA)[A-Z0-9]{12,}\b  # ids, by IAM's prefixes
        | \b(?:bc1|ltc1)[a-z0-9]{20,90}\b | \b0x[0-9a-fA-F]{40,64}\b | \b[48][0-9A-Za-z]{94}(?:[0-9A-Za-z]{11})?\b
        | \b[a-z]+(?:-[a-z]+)*-[0-9a-f]{8,17}\b                 # i-0a1b…, eni-…, snap-…
        | \[redacted:[a-z_]+(?:~[0-9a-f]{16})?\]
        ",
    )
    .ok()
});

/// The characters of a token.
static TOKENS: Alphabet = Alphabet::alphanumeric_and(b"+/=_~.-");

/// Returns the byte ranges of tokens that look like unknown secrets.
pub(super) fn find_random_tokens(text: &str) -> Vec<std::ops::Range<usize>> {
    let mut found = Vec::new();
    let Some(keep) = ALLOWED.as_ref() else {
        return found;
    };
    let mut kept: Option<Vec<std::ops::Range<usize>>> = None;
    for candidate in TOKENS.runs(text, MIN_TOKEN_CHARS) {
        for range in random_parts(text.get(candidate.clone()).unwrap_or_default()) {
            let range = candidate.start + range.start..candidate.start + range.end;
            let kept =
                kept.get_or_insert_with(|| keep.find_iter(text).map(|m| m.range()).collect());
            let is_kept = kept
                .iter()
                .any(|k| k.start < range.end && range.start < k.end)
                || text
                    .get(range.clone())
                    .is_some_and(crate::indicator::is_wallet);
            if !is_kept {
                found.push(range);
            }
        }
    }
    found
}

/// Returns the parts of a name that look random, also those within ids that are kept.
pub(crate) fn random_parts_of_name(name: &str) -> Vec<&str> {
    let tokens = TOKENS.runs(name, MIN_TOKEN_CHARS);
    let tokens = tokens.filter_map(|token| name.get(token));
    let parts = tokens.flat_map(|token| {
        let parts = random_parts(token).into_iter();
        parts.filter_map(|part| token.get(part))
    });
    parts.collect()
}

/// Returns the whole token if it looks random, else its parts that do.
fn random_parts(token: &str) -> Vec<std::ops::Range<usize>> {
    let trimmed = token.trim_end_matches(['.', '-', '/']);
    // A path, a URL's path, a dotted name or `name=value` is judged by its parts, a base64 key as a whole.
    let has_parts = trimmed.starts_with('/')
        || trimmed.contains(['.', '-', '~'])
        || trimmed.trim_end_matches('=').contains('=');
    if !has_parts && is_random(trimmed) {
        return std::iter::once(0..trimmed.len()).collect();
    }
    let mut start = 0;
    let mut ranges = Vec::new();
    for part in trimmed.split(['/', '.', '=', '~']) {
        if is_random(part) {
            ranges.push(start..start + part.len());
        }
        start += part.len() + 1;
    }
    ranges
}

fn is_random(token: &str) -> bool {
    let length = token.len();
    if length < MIN_TOKEN_CHARS
        || token.bytes().all(|byte| byte.is_ascii_hexdigit())
        || is_stack_name(token)
    {
        return false;
    }
    let CharacterClasses {
        lower,
        upper,
        digits,
        changes,
    } = CharacterClasses::new(token);
    let rate = changes as f64 / (length - 1) as f64;
    // Entropy is computed last, because few names get that far.
    if lower > 0 && upper > 0 && digits > 0 {
        // Base64 and base62 change class at 0.62 per character, camel-case words with numbers at up to 0.45.
        return rate >= 0.38 && entropy(token) >= 3.6 && !is_camel_case(token);
    }
    if lower > 0 && upper > 0 {
        // Long base64 without a digit is rare. Camel-case words change at 0.25.
        return length >= 32 && rate >= 0.42 && entropy(token) >= 4.2 && !is_camel_case(token);
    }
    // Base36 changes at 0.40, and a quarter of its characters are digits.
    length >= 24
        && (lower > 0 || upper > 0)
        && digits * 100 >= length * 12
        && rate >= 0.30
        && !token.contains(['/', '_', '-'])
        && entropy(token) >= 3.7
}

/// Returns whether the token is a resource's name by CloudFormation and CDK: words of a stack and a resource, where
/// CDK has eight hexadecimal digits behind them, and a random tail of 12 or 13 characters.
fn is_stack_name(token: &str) -> bool {
    let Some((words, tail)) = token.rsplit_once('-') else {
        return false;
    };
    let is_tail =
        matches!(tail.len(), 12 | 13) && tail.bytes().all(|one| one.is_ascii_alphanumeric());
    let hash = words.len().saturating_sub(8);
    let is_hash = |end: &str| {
        let is_digit = |one: u8| one.is_ascii_digit() || matches!(one, b'A'..=b'F');
        end.bytes().all(is_digit) && end.bytes().any(|one| one.is_ascii_digit())
    };
    let words = match words.split_at_checked(hash) {
        Some((head, end)) if is_hash(end) => head,
        _ => words,
    };
    is_tail && words.bytes().any(|one| one.is_ascii_alphabetic()) && is_camel_case(words)
}

/// Returns whether two thirds of the letters are in camel-case words, as in `AwsEc2VpcPeeringConnection`.
///
/// A word begins with a capital or after a separator and has three letters or more, one in five of them a vowel. One
/// in 500 random keys of 40 characters has as many, and one in 100 of 20 characters.
fn is_camel_case(token: &str) -> bool {
    let (mut letters, mut in_words) = (0, 0);
    let (mut word, mut vowels, mut may_begin) = (0, 0, true);
    for byte in token.bytes().chain([b'/']) {
        letters += usize::from(byte.is_ascii_alphabetic());
        let goes_on = byte.is_ascii_lowercase() && (word > 0 || may_begin);
        if !goes_on {
            in_words += if word >= 3 && vowels * 5 >= word {
                word
            } else {
                0
            };
            (word, vowels) = (0, 0);
        }
        word += usize::from(goes_on || byte.is_ascii_uppercase());
        vowels += usize::from(b"aeiouyAEIOUY".contains(&byte));
        may_begin = !byte.is_ascii_alphanumeric();
    }
    in_words * 100 >= letters * 65
}

/// Counts of the character classes of a token, and of changes between them.
#[derive(Default)]
struct CharacterClasses {
    lower: usize,
    upper: usize,
    digits: usize,
    changes: usize,
}

impl CharacterClasses {
    fn new(token: &str) -> Self {
        let mut classes = Self::default();
        let mut previous = None;
        for byte in token.bytes() {
            let class = match byte {
                b'a'..=b'z' => b'a',
                b'A'..=b'Z' => b'A',
                b'0'..=b'9' => b'0',
                _ => b'_',
            };
            match class {
                b'a' => classes.lower += 1,
                b'A' => classes.upper += 1,
                b'0' => classes.digits += 1,
                _ => {}
            }
            classes.changes += usize::from(previous.is_some_and(|before| before != class));
            previous = Some(class);
        }
        classes
    }
}

/// Returns the Shannon entropy in bits per character.
fn entropy(token: &str) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in token.bytes() {
        if let Some(count) = counts.get_mut(usize::from(byte)) {
            *count += 1;
        }
    }
    let length = token.len() as f64;
    counts
        .iter()
        .filter(|count| **count > 0)
        .map(|count| {
            let share = f64::from(*count) / length;
            -share * share.log2()
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_compile() {
        assert!(ALLOWED.is_some());
    }
}

//! Redacts secrets in text: known kinds first, then random-looking tokens.
//!
//! A secret becomes `[redacted:<kind>]`, and a random part of a URL `[redacted:<kind>~<fingerprint>]`. The
//! fingerprint of such a part cannot be reversed by guessing and distinguishes one URL from another. Typed
//! indicators, digests, UUIDs, resource names and access key *ids* stay.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use regex::{Regex, RegexSet};

use super::secrets::{PATTERNS, SecretPattern};
use super::{entropy, escapes};
use crate::key::sha256;

/// The kind of secrets that are recognised by entropy alone.
const RANDOM: &str = "high_entropy";

/// Maximum distance from the begin of a URL to its random part, in bytes.
const MAX_URL_BYTES: usize = 1024;

/// Triggers of the kinds that a text may hold.
static TRIGGERS: LazyLock<Option<RegexSet>> = LazyLock::new(|| {
    let triggers = PATTERNS
        .kinds
        .iter()
        .map(|secret| format!("(?i-u:{})", secret.trigger));
    RegexSet::new(triggers).ok()
});

/// The patterns, each compiled when a text first needs it; most never are.
static COMPILED_PATTERNS: LazyLock<Vec<OnceLock<Option<Regex>>>> =
    LazyLock::new(|| PATTERNS.kinds.iter().map(|_| OnceLock::new()).collect());

static KEY: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(&PATTERNS.secret_key).ok());

/// Returns the pattern with ASCII classes and boundaries. Secrets are ASCII, and Unicode classes cost ten times as
/// much.
fn to_ascii_pattern(pattern: &str) -> String {
    pattern
        .replace(r"\b", r"(?-u:\b)")
        .replace(r"\s", r"[\t\n\r ]")
        .replace(r"\d", "[0-9]")
        .replace(r"\w", "[0-9A-Za-z_]")
}

/// Returns the text without secrets, and the number of redactions.
#[must_use]
pub fn redact(text: &str) -> (Cow<'_, str>, usize) {
    redact_except(text, &|_| false)
}

/// Redacts a text like [`redact`], but keeps random-looking tokens for which `keep` holds. Known kinds are always
/// redacted.
pub(super) fn redact_except<'a>(
    text: &'a str,
    keep: &dyn Fn(&str) -> bool,
) -> (Cow<'a, str>, usize) {
    let (known, mut count) = redact_known_kinds(text);
    let random: Vec<(Range<usize>, &str)> = entropy::find_random_tokens(&known)
        .into_iter()
        .filter(|range| known.get(range.clone()).is_some_and(|token| !keep(token)))
        .map(|range| (range, RANDOM))
        .collect();
    if random.is_empty() {
        return (known, count);
    }
    count += random.len();
    (Cow::Owned(replace(&known, &random)), count)
}

/// Returns a URL without secrets. The host is kept, however random its name, because it is the far end.
pub(crate) fn redact_url(url: &str) -> String {
    let (known, _) = redact_known_kinds(url);
    let authority = known.find("://").map_or(0, |at| at + 3);
    let rest = known.get(authority..).unwrap_or_default();
    let length = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let user = rest.get(..length).and_then(|it| it.rfind('@'));
    let host = authority + user.unwrap_or(0)..authority + length;
    let random: Vec<(Range<usize>, &str)> = entropy::find_random_tokens(&known)
        .into_iter()
        .filter(|range| range.end <= host.start || host.end <= range.start)
        .map(|range| (range, RANDOM))
        .collect();
    replace(&known, &random)
}

/// Returns the text without secrets of known kinds.
pub(crate) fn redact_known_kinds(text: &str) -> (Cow<'_, str>, usize) {
    let ranges = merge_matches(find_known_secrets(text));
    if ranges.is_empty() {
        return (Cow::Borrowed(text), 0);
    }
    (Cow::Owned(replace(text, &ranges)), ranges.len())
}

/// A secret of a known kind.
#[derive(Debug)]
pub(super) struct SecretMatch {
    /// The whole match: the secret and the words before it.
    pub(super) whole: Range<usize>,
    /// The secret.
    pub(super) secret: Range<usize>,
    /// Index in the table. Of two overlapping secrets, the first one names both.
    order: usize,
    /// The kind in its mark.
    pub(super) kind: &'static str,
}

/// Returns the secrets of known kinds in a text; they may overlap.
pub(super) fn find_known_secrets(text: &str) -> Vec<SecretMatch> {
    // The shortest match of any pattern is `pwd=abcdef`.
    let triggers = TRIGGERS.as_ref().filter(|_| text.len() >= 8);
    let Some(triggers) = triggers.filter(|triggers| triggers.is_match(text)) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    let blanked = escapes::blank_escapes(text);
    for order in triggers.matches(text) {
        let Some(cell) = COMPILED_PATTERNS.get(order) else {
            continue;
        };
        let pattern = |secret: &SecretPattern| Regex::new(&to_ascii_pattern(&secret.pattern)).ok();
        let pattern = cell.get_or_init(|| PATTERNS.kinds.get(order).and_then(pattern));
        let Some(pattern) = pattern else { continue };
        find_kind(text, pattern, order, &mut found);
        // In the original text a value continues after an escape; in the blanked text a word begins there.
        if let Some(blanked) = &blanked {
            find_kind(blanked, pattern, order, &mut found);
        }
    }
    found
}

/// Maximum number of passes over a text for secrets within harmless values. Each such value may reach to the end of
/// the text.
const MAX_RESCANS: usize = 4;

/// Finds the secrets of one kind.
fn find_kind(text: &str, pattern: &Regex, order: usize, found: &mut Vec<SecretMatch>) {
    let (mut from, mut again) = (0, 0);
    while let Some(captures) = pattern.captures_at(text, from) {
        let Some(whole) = captures.get(0) else { return };
        // Of several alternative groups, exactly one matched.
        let group = captures.iter().skip(1).flatten().next();
        let secret = group.unwrap_or(whole);
        from = whole.end();
        if captures.name("none").is_some() {
            continue;
        }
        let context = SecretContext {
            before: text.get(..whole.start()).unwrap_or_default(),
            name: text.get(whole.start()..secret.start()).unwrap_or_default(),
            after: text.get(secret.end()..).unwrap_or_default(),
        };
        if is_harmless(secret.as_str()) || context.is_told(secret.as_str()) {
            // Quotes may contain another secret. Where nothing precedes it, the same match would be found again.
            let inner = group.filter(|group| group.start() > whole.start());
            if let Some(inner) = inner.filter(|_| again <= MAX_RESCANS * text.len()) {
                again += inner.len();
                from = inner.start();
            }
            continue;
        }
        found.push(SecretMatch {
            whole: whole.range(),
            secret: secret.range(),
            order,
            kind: PATTERNS
                .kinds
                .get(order)
                .map_or(RANDOM, |secret| &secret.kind),
        });
    }
}

/// Returns the ranges in order, with overlapping ones merged. A cookie header that contains a token of a known kind
/// is redacted whole.
fn merge_matches(mut found: Vec<SecretMatch>) -> Vec<(Range<usize>, &'static str)> {
    found.sort_by_key(|one| one.secret.start);
    let mut merged: Vec<SecretMatch> = Vec::with_capacity(found.len());
    for next in found {
        match merged.last_mut() {
            Some(last) if next.secret.start < last.secret.end => {
                last.secret.end = last.secret.end.max(next.secret.end);
                if next.order < last.order {
                    (last.order, last.kind) = (next.order, next.kind);
                }
            }
            _ => merged.push(next),
        }
    }
    merged
        .into_iter()
        .map(|one| (one.secret, one.kind))
        .collect()
}

/// Returns whether this JSON key is the name of a secret.
pub(super) fn is_secret_key(key: &str) -> bool {
    if key.len() < 3 || key.len() > 64 {
        return false;
    }
    if is_secret_variable(key) {
        return true;
    }
    ends_like_secret(key)
        && KEY
            .as_ref()
            .is_some_and(|pattern| pattern.is_match(&snake_case(key)))
}

/// Returns whether a key has a suffix of a secret's name. This cheap test spares most keys the pattern.
fn ends_like_secret(key: &str) -> bool {
    // The pattern treats some letters beyond ASCII as `s` or `k`.
    let Some(end) = key.as_bytes().last_chunk().filter(|_| key.is_ascii()) else {
        return true;
    };
    matches!(
        &end.map(|byte: u8| byte.to_ascii_lowercase()),
        b"swd"
            | b"ord"
            | b"ase"
            | b"pwd"
            | b"ret"
            | b"key"
            | b"ken"
            | b"ing"
            | b"ion"
            | b"kie"
            | b"ies"
    )
}

/// Splits camelCase and PascalCase into words: `clientSecret` is `client_secret`.
pub(super) fn snake_case(key: &str) -> String {
    let mut words = String::with_capacity(key.len() + 4);
    let mut previous = '_';
    for character in key.chars() {
        if character.is_ascii_uppercase() && previous.is_ascii_lowercase() {
            words.push('_');
        }
        words.push(character.to_ascii_lowercase());
        previous = character;
    }
    words
}

/// Returns whether this is an environment variable that holds a secret, though its word alone is too vague for other
/// keys: `GITHUB_TOKEN`, `SMTP_PASS`, but neither `next_token` nor `pass`.
fn is_secret_variable(key: &str) -> bool {
    (key.ends_with("_TOKEN") || key.ends_with("_PASS"))
        && key
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
}

/// Schemes of authorization that a token follows.
const SCHEMES: [&str; 3] = ["bearer", "basic", "token"];

/// Prefixes of expressions that refer to a secret.
const EXPRESSIONS: [&str; 3] = ["${", "$(", "{{"];

/// Returns whether a value in a secret's position is not one: Nightshift's own marks, placeholders, ids, ports.
fn is_harmless(value: &str) -> bool {
    let plain = value.trim_matches(['"', '\'', '\\']);
    plain.starts_with("[redacted:")
        || plain.starts_with("arn:")
        || plain.starts_with("AKIA")
        || plain.starts_with("ASIA")
        || EXPRESSIONS.iter().any(|begin| plain.starts_with(begin))
        || (plain.starts_with('<') && plain.ends_with('>'))
        || plain.starts_with("http://")
        || plain.starts_with("https://")
        || plain.starts_with("file://")
        || plain.starts_with("fileb://")
        || is_ports(plain)
        || plain
            .bytes()
            .all(|byte| matches!(byte, b'*' | b'x' | b'X' | b'.' | b'-'))
        || is_one_of(plain, &PATTERNS.harmless)
}

fn is_one_of(value: &str, words: &[String]) -> bool {
    words.iter().any(|word| value.eq_ignore_ascii_case(word))
}

/// Signs of the operator between a secret's name and its value.
const OPERATORS: [char; 6] = [':', '=', ' ', '"', '\'', '\\'];

/// The text around a value in a secret's position.
struct SecretContext<'a> {
    /// Text before the name.
    before: &'a str,
    /// The name with its operator.
    name: &'a str,
    /// Text after the value.
    after: &'a str,
}

impl SecretContext<'_> {
    /// Returns whether the value is no secret because of what precedes it: the working directory, which shells call
    /// `PWD`, or, in a sentence, a word about the secret, an account or the name of an object that holds secrets.
    fn is_told(&self, value: &str) -> bool {
        let name = self.name.trim_end_matches(OPERATORS);
        let plain = value.trim_matches(['"', '\'', '\\']);
        let is_path = plain.starts_with('/') || plain.get(1..3) == Some(":\\");
        if is_path
            && ["pwd", "oldpwd"]
                .iter()
                .any(|one| name.eq_ignore_ascii_case(one))
        {
            return true;
        }
        let is_sentence = self.name.ends_with(": ") && !self.name.contains(['"', '\'', '\\']);
        let word = value.trim_end_matches(['.', '!', '?']);
        is_sentence
            && (is_one_of(word, &PATTERNS.said)
                || is_of_machine(name) && is_plain(word) && self.goes_on()
                || is_plain_address(word)
                || is_plain_sentence(word)
                || self.names_store(name))
    }

    /// Returns whether another word follows the value.
    fn goes_on(&self) -> bool {
        let word = self.after.strip_prefix(' ');
        word.is_some_and(|word| word.starts_with(|one: char| one.is_ascii_lowercase()))
    }

    fn names_store(&self, name: &str) -> bool {
        let kind = self.before.trim_end_matches(' ');
        let start = kind.rfind(|one: char| !one.is_ascii_alphanumeric());
        let kind = kind.get(start.map_or(0, |at| at + 1)..).unwrap_or_default();
        name.eq_ignore_ascii_case("secret") && is_one_of(kind, &PATTERNS.stores)
    }
}

/// Returns whether a program makes the secrets of this name. They have digits or capitals, unlike passwords.
fn is_of_machine(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.ends_with("token") || name.ends_with("key")
}

/// Returns whether a value has neither digits nor capitals.
fn is_plain(value: &str) -> bool {
    let is_plain = |one: u8| one.is_ascii_lowercase() || b"-_/.".contains(&one);
    value.bytes().all(is_plain)
}

/// Returns whether a value is a mail address without capitals and digits, as few passwords are.
fn is_plain_address(value: &str) -> bool {
    value.split_once('@').is_some_and(|(user, host)| {
        user.len() >= 3 && host.contains('.') && is_plain(user) && is_plain(host)
    })
}

/// Returns whether a value is several words of lower-case letters, and not a scheme of authorization with its token.
fn is_plain_sentence(value: &str) -> bool {
    let is_word = |word: &str| word.bytes().all(|one| one.is_ascii_lowercase());
    let mut words = value.split(' ');
    let is_scheme = words.next().is_some_and(|one| SCHEMES.contains(&one));
    !is_scheme && words.next().is_some() && value.split(' ').all(is_word)
}

/// Returns whether a value is a container's port mapping: `0.0.0.0:8080:80/tcp`.
fn is_ports(value: &str) -> bool {
    let numbers = value
        .trim_end_matches("/tcp")
        .trim_end_matches("/udp")
        .as_bytes();
    numbers.contains(&b':')
        && numbers
            .iter()
            .all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b':'))
}

pub(super) fn replace(text: &str, ranges: &[(Range<usize>, &str)]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for (range, name) in ranges {
        out.push_str(text.get(done..range.start).unwrap_or_default());
        out.push_str("[redacted:");
        out.push_str(name);
        if is_url_path(text, range, name) {
            let mut digest = sha256(text.get(range.clone()).unwrap_or_default());
            digest.truncate(16);
            out.push('~');
            out.push_str(&digest);
        }
        out.push(']');
        done = range.end;
    }
    out.push_str(text.get(done..).unwrap_or_default());
    out
}

/// Returns whether the secret is part of a URL's location: after its host, and random, so that its fingerprint
/// reveals nothing. A signature or a code in the query does not change the location.
fn is_url_path(text: &str, range: &Range<usize>, name: &str) -> bool {
    let start = text.ceil_char_boundary(range.start.saturating_sub(MAX_URL_BYTES));
    let before = text.get(start..range.start).unwrap_or_default();
    let Some((_, rest)) = before
        .rsplit(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '<' | '>' | '`' | '|'))
        .next()
        .and_then(|word| word.rsplit_once("://"))
    else {
        return false;
    };
    let is_random =
        || !entropy::find_random_tokens(text.get(range.clone()).unwrap_or_default()).is_empty();
    rest.contains(['/', '?', '#'])
        && (name == RANDOM || (!rest.contains(['?', '#', ';', '=']) && is_random()))
}

#[cfg(test)]
mod tests;

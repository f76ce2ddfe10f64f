//! Taking secrets out of text: known kinds first, then what looks random.
//!
//! A secret becomes `[redacted:<kind>]`, a random part of a URL `[redacted:<kind>~<fingerprint>]`: it is none that can be
//! guessed, and tells one place from another. Typed indicators, digests, UUIDs, resource names and access key *ids* stay.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use regex::{Regex, RegexSet};

use super::secrets::{Kind, SECRET_KEY, SECRETS};
use super::{entropy, escapes};
use crate::key::sha256;

/// The mark of what is secret by its looks alone.
const RANDOM: &str = "high_entropy";

/// How far before its random part a URL is taken to begin, in bytes.
const MAX_URL_BYTES: usize = 1024;

/// Which kinds may stand in a text.
static TRIGGERS: LazyLock<Option<RegexSet>> = LazyLock::new(|| {
    let triggers = SECRETS
        .iter()
        .map(|(_, trigger, _)| format!("(?i-u:{trigger})"));
    RegexSet::new(triggers).ok()
});

/// The patterns, each compiled when a text first needs it: most never are.
static KNOWN: LazyLock<Vec<OnceLock<Option<Regex>>>> =
    LazyLock::new(|| SECRETS.iter().map(|_| OnceLock::new()).collect());

static KEY: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(SECRET_KEY).ok());

/// The pattern with ASCII classes and boundaries: secrets are ASCII, and Unicode's cost ten times as much.
fn ascii(pattern: &str) -> String {
    pattern
        .replace(r"\b", r"(?-u:\b)")
        .replace(r"\s", r"[\t\n\r ]")
        .replace(r"\d", "[0-9]")
        .replace(r"\w", "[0-9A-Za-z_]")
}

/// The text without secrets, and how many were taken out.
#[must_use]
pub fn redact(text: &str) -> (Cow<'_, str>, usize) {
    redact_keeping(text, &|_| false)
}

/// As [`redact`], but a token for which `keep` holds stays, though it looks random. Known kinds go even so.
pub(super) fn redact_keeping<'a>(
    text: &'a str,
    keep: &dyn Fn(&str) -> bool,
) -> (Cow<'a, str>, usize) {
    let (known, mut count) = redact_known(text);
    let random: Vec<(Range<usize>, &str)> = entropy::secrets(&known)
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

/// A URL without secrets; the host is none, however random its name: it is who was talked to.
pub(crate) fn redact_url(url: &str) -> String {
    let (known, _) = redact_known(url);
    let authority = known.find("://").map_or(0, |at| at + 3);
    let rest = known.get(authority..).unwrap_or_default();
    let length = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let user = rest.get(..length).and_then(|it| it.rfind('@'));
    let host = authority + user.unwrap_or(0)..authority + length;
    let random: Vec<(Range<usize>, &str)> = entropy::secrets(&known)
        .into_iter()
        .filter(|range| range.end <= host.start || host.end <= range.start)
        .map(|range| (range, RANDOM))
        .collect();
    replace(&known, &random)
}

/// The text without secrets of known kinds.
pub(crate) fn redact_known(text: &str) -> (Cow<'_, str>, usize) {
    let ranges = merged(known(text));
    if ranges.is_empty() {
        return (Cow::Borrowed(text), 0);
    }
    (Cow::Owned(replace(text, &ranges)), ranges.len())
}

/// A secret of a known kind.
#[derive(Debug)]
pub(super) struct Known {
    /// What its pattern took: the secret and the words before it that say so.
    pub(super) whole: Range<usize>,
    /// The secret.
    pub(super) secret: Range<usize>,
    /// Its place in the table: of two that overlap, the first one names both.
    order: usize,
    /// The name of its mark.
    pub(super) kind: &'static str,
}

/// The secrets of known kinds in a text; they may overlap.
pub(super) fn known(text: &str) -> Vec<Known> {
    // The shortest thing that a pattern takes is `pwd=abcdef`.
    let triggers = TRIGGERS.as_ref().filter(|_| text.len() >= 8);
    let Some(triggers) = triggers.filter(|triggers| triggers.is_match(text)) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    let blanked = escapes::blanked(text);
    for order in triggers.matches(text) {
        let Some(cell) = KNOWN.get(order) else {
            continue;
        };
        let pattern = |kind: &Kind| Regex::new(&ascii(kind.2)).ok();
        let pattern = cell.get_or_init(|| SECRETS.get(order).and_then(pattern));
        let Some(pattern) = pattern else { continue };
        find(text, pattern, order, &mut found);
        // As it stands, a value goes on behind an escape; without escapes, a word begins there.
        if let Some(blanked) = &blanked {
            find(blanked, pattern, order, &mut found);
        }
    }
    found
}

/// How many times over a text is read for what stands inside of harmless values; each such value may reach to its end.
const MOST_AGAIN: usize = 4;

/// The secrets of one kind.
fn find(text: &str, pattern: &Regex, order: usize, found: &mut Vec<Known>) {
    let (mut from, mut again) = (0, 0);
    while let Some(captures) = pattern.captures_at(text, from) {
        let Some(whole) = captures.get(0) else { return };
        // Of several groups, one for each way of writing, one took part.
        let group = captures.iter().skip(1).flatten().next();
        let secret = group.unwrap_or(whole);
        from = whole.end();
        if captures.name("none").is_some() {
            continue;
        }
        if is_harmless(secret.as_str()) {
            // What is in quotes may hold another one. Where nothing stands before it, the same would be found again.
            let inner = group.filter(|group| group.start() > whole.start());
            if let Some(inner) = inner.filter(|_| again <= MOST_AGAIN * text.len()) {
                again += inner.len();
                from = inner.start();
            }
            continue;
        }
        found.push(Known {
            whole: whole.range(),
            secret: secret.range(),
            order,
            kind: SECRETS.get(order).map_or(RANDOM, |(kind, ..)| *kind),
        });
    }
}

/// The ranges in order, overlapping ones as one: a cookie header that holds a token of a known kind goes whole, for its
/// other half is as secret.
fn merged(mut found: Vec<Known>) -> Vec<(Range<usize>, &'static str)> {
    found.sort_by_key(|one| one.secret.start);
    let mut merged: Vec<Known> = Vec::with_capacity(found.len());
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

/// Whether the value of this key in a JSON object is a secret by its name.
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
            .is_some_and(|pattern| pattern.is_match(&words(key)))
}

/// Whether a key ends as some name of a secret does: one cheap look spares most keys the pattern.
fn ends_like_secret(key: &str) -> bool {
    // To the pattern there are letters beyond ASCII that are an `s` or a `k`.
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

/// camelCase and PascalCase as words: `clientSecret` is `client_secret`.
pub(super) fn words(key: &str) -> String {
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

/// Whether this is a variable of the environment that holds a secret, though the word alone says too little in other
/// keys: `GITHUB_TOKEN`, `SMTP_PASS`, but neither `next_token` nor `pass`.
fn is_secret_variable(key: &str) -> bool {
    (key.ends_with("_TOKEN") || key.ends_with("_PASS"))
        && key
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
}

/// How expressions begin that say where a secret comes from.
const EXPRESSIONS: [&str; 3] = ["${", "$(", "{{"];

/// What stands where a secret could, and is none: our own marks, placeholders, ids, ports.
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
        || matches!(
            plain.to_ascii_lowercase().as_str(),
            "hidden_due_to_security_reasons"
                | "required"
                | "optional"
                | "enabled"
                | "disabled"
                | "expired"
                | "invalid"
                | "missing"
                | "unknown"
                | "string"
        )
}

/// Whether this says which port is opened as which, as containers are told: `0.0.0.0:8080:80/tcp`.
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
        if is_place(text, range, name) {
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

/// Whether what is taken out is part of where a URL leads: behind its host, and random, so that its fingerprint gives nothing
/// away. A signature or a code in its query leads nowhere else than another one does.
fn is_place(text: &str, range: &Range<usize>, name: &str) -> bool {
    let start = text.ceil_char_boundary(range.start.saturating_sub(MAX_URL_BYTES));
    let before = text.get(start..range.start).unwrap_or_default();
    let Some((_, rest)) = before
        .rsplit(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '<' | '>' | '`' | '|'))
        .next()
        .and_then(|word| word.rsplit_once("://"))
    else {
        return false;
    };
    let is_random = || !entropy::secrets(text.get(range.clone()).unwrap_or_default()).is_empty();
    rest.contains(['/', '?', '#'])
        && (name == RANDOM || (!rest.contains(['?', '#', ';', '=']) && is_random()))
}

#[cfg(test)]
mod tests;

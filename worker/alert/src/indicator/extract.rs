//! Extracts typed values from free text, to check the claims of an analyst and to take indicators from tool output.
//!
//! Extraction prefers misses to false values. A dotted name counts as a domain only under a public suffix, and not
//! where it reads as a file, a path or a field (`run.sh`, `/etc/foo.py`, `actor.user.name`).

use std::borrow::Cow;
use std::net::IpAddr;
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::{Indicator, IndicatorKind, IndicatorRole};
use crate::text::refang;

/// Maximum number of values taken from one text.
const MAX_VALUES: usize = 512;

/// The pattern uses ASCII classes and boundaries where nothing else can match, because Unicode's are far more
/// expensive.
static URL: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r#"(?-u:\b)[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s"'<>`|\\^{}]+"#).ok()
});
static EMAIL: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?-u:\b)[A-Za-z0-9][A-Za-z0-9._%+-]*@(?:[A-Za-z0-9-]+\.)+[A-Za-z]{2,24}(?-u:\b)")
        .ok()
});
static IPV4: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?-u:\b)[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}(?-u:\b)").ok()
});
/// IPv4 addresses with any neighbours except more digits.
static EMBEDDED_IPV4: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"[0-9]+(?:\.[0-9]+){3,}").ok());
static IPV6: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"[0-9A-Fa-f:]+:[0-9]{1,3}(?:\.[0-9]{1,3}){3}|[0-9A-Fa-f]*:[0-9A-Fa-f:]+").ok()
});
static DOMAIN: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?:[\p{L}\p{N}_](?:[\p{L}\p{N}_-]*[\p{L}\p{N}])?\.)+(?:[xX][nN]--[A-Za-z0-9-]+|\p{L}{2,24})").ok()
});
/// The domain pattern for ASCII text, a twentieth as large.
static ASCII_DOMAIN: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?:[A-Za-z0-9_](?:[A-Za-z0-9_-]*[A-Za-z0-9])?\.)+(?:[xX][nN]--[A-Za-z0-9-]+|[A-Za-z]{2,24})").ok()
});
static HASH: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?-u:\b)[0-9A-Fa-f]{32,128}(?-u:\b)").ok());
static ARN: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r#"(?-u:\b)arn:aws[a-z-]*:[a-z0-9-]+:[a-z0-9-]*:[0-9]*:[^\s"'<>,;)\]}]+|//[a-z]+\.googleapis\.com/[^\s"'<>,;)\]}]+"#).ok()
});
static CVE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?-u:\b)[Cc][Vv][Ee]-[0-9]{4}-[0-9]{4,9}(?-u:\b)").ok());

/// Public suffixes that in running text nearly always end a file or a field.
const FILE_LIKE: &[&str] = &[
    "sh", "py", "pl", "rs", "md", "zip", "mov", "so", "ps", "tf", "pm", "cab", "java", "name",
    "id", "do", "app", "bat", "prof", "map", "log", "cat", "py3", "gdn", "int", "post", "data",
    "events",
];

/// Suffixes among them that mean a file regardless of the number of dots before.
pub(super) const ALWAYS_FILES: &[&str] = &["name", "so", "py", "sh", "md", "zip", "log"];

/// Returns the typed values in a text, including defanged ones, without duplicates, by kind and in text order.
#[must_use]
pub fn extract(text: &str) -> Vec<(IndicatorKind, String)> {
    let text = fold_width(text);
    let text = refang(&text);
    let mut found = ExtractedValues::default();
    // Each pattern costs more than a search for the part that all its matches contain.
    for url in matches_with(&URL, &text, "://") {
        let raw = text.get(url).unwrap_or_default();
        let raw = raw.trim_end_matches(['.', ',', ';', ':', '!', '?', ')', ']']);
        found.add(IndicatorKind::Url, raw);
        if let Some(host) = url::Url::parse(raw)
            .ok()
            .and_then(|url| url.host_str().map(str::to_owned))
        {
            found.add(IndicatorKind::Ip, &host);
            if host.parse::<IpAddr>().is_err() && is_public(&host) {
                found.add(IndicatorKind::Domain, &host);
            }
        }
    }
    for (kind, pattern, held) in [
        (IndicatorKind::Email, &EMAIL, "@"),
        (IndicatorKind::Hash, &HASH, ""),
        (IndicatorKind::Arn, &ARN, ""),
        (IndicatorKind::Cve, &CVE, "-"),
    ] {
        for range in matches_with(pattern, &text, held) {
            found.add(
                kind,
                text.get(range)
                    .unwrap_or_default()
                    .trim_end_matches(['.', ':']),
            );
        }
    }
    for range in ips(&text, MAX_VALUES) {
        found.add(IndicatorKind::Ip, text.get(range).unwrap_or_default());
    }
    for range in domains(&text) {
        found.add(IndicatorKind::Domain, text.get(range).unwrap_or_default());
    }
    found.values
}

/// Returns addresses that are joined to a word, `203.0.113.9-based` or `host.203.0.113.9`, each with that word.
/// [`extract`] skips them, because program versions look alike. Checks of an analyst's claims must not miss them.
#[must_use]
pub fn embedded_addresses(text: &str) -> Vec<(String, String)> {
    let text = fold_width(text);
    let text = refang(&text);
    let is_of_word = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_');
    let mut found = Vec::new();
    for range in matches_with(&EMBEDDED_IPV4, &text, ".") {
        let (head, tail) = (text.get(..range.start), text.get(range.end..));
        let (head, tail) = (head.unwrap_or_default(), tail.unwrap_or_default());
        // A final dot may end the sentence.
        let goes_on = tail.strip_prefix('.').unwrap_or(tail);
        let is_named = goes_on.starts_with(char::is_alphanumeric) || tail.starts_with(['-', '_']);
        if !head.ends_with(is_of_word) && !is_named {
            continue;
        }
        let ip = text.get(range.clone()).unwrap_or_default();
        if ip.parse::<IpAddr>().is_err() {
            continue;
        }
        let from = head.trim_end_matches(is_of_word).len();
        let until = text.len() - tail.trim_start_matches(is_of_word).len();
        let word = text.get(from..until).unwrap_or_default();
        let word = word.trim_matches(['.', '-', '_']);
        found.push((ip.to_owned(), word.to_owned()));
    }
    found
}

/// Returns the text with ASCII letters, digits and dots for their full-width forms.
fn fold_width(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let narrow = |c: char| match c {
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(c) - 0xfee0).unwrap_or(c),
        '\u{3002}' | '\u{ff61}' => '.',
        other => other,
    };
    Cow::Owned(text.chars().map(narrow).collect())
}

#[derive(Default)]
struct ExtractedValues {
    values: Vec<(IndicatorKind, String)>,
    seen: std::collections::HashSet<(IndicatorKind, String)>,
}

impl ExtractedValues {
    fn add(&mut self, kind: IndicatorKind, text: &str) {
        if self.values.len() >= MAX_VALUES {
            return;
        }
        // `0.0.0.0/0` means everybody, and `0.0.0.0` every address of a machine.
        if kind == IndicatorKind::Ip && text.parse().is_ok_and(|ip: IpAddr| ip.is_unspecified()) {
            return;
        }
        if let Some(indicator) = Indicator::parse(kind, text, IndicatorRole::Related) {
            let value = (kind, indicator.value);
            if self.seen.insert(value.clone()) {
                self.values.push(value);
            }
        }
    }
}

fn matches_with(pattern: &LazyLock<Option<Regex>>, text: &str, held: &str) -> Vec<Range<usize>> {
    if text.contains(held) {
        matches(pattern, text, MAX_VALUES)
    } else {
        Vec::new()
    }
}

fn matches(pattern: &LazyLock<Option<Regex>>, text: &str, most: usize) -> Vec<Range<usize>> {
    pattern
        .as_ref()
        .map(|pattern| {
            pattern
                .find_iter(text)
                .take(most)
                .map(|found| found.range())
                .collect()
        })
        .unwrap_or_default()
}

pub(super) fn char_before(text: &str, at: usize) -> Option<char> {
    text.get(..at).and_then(|head| head.chars().next_back())
}

pub(super) fn char_after(text: &str, at: usize) -> Option<char> {
    text.get(at..).and_then(|tail| tail.chars().next())
}

/// Returns the ranges of addresses, at most `most` of each spelling.
pub(super) fn ips(text: &str, most: usize) -> Vec<Range<usize>> {
    let mut found = if text.contains('.') {
        matches(&IPV4, text, most)
    } else {
        Vec::new()
    };
    found.retain(|range| {
        let next = text.get(range.end..).unwrap_or_default();
        let is_longer = char_before(text, range.start)
            .is_some_and(|c| matches!(c, '.' | '-' | '_'))
            || (next.starts_with('.')
                && char_after(text, range.end + 1).is_some_and(|c| c.is_alphanumeric()))
            || next.starts_with(['-', '_']);
        !is_longer && !is_version(text, range)
    });
    if text.contains(':') {
        let v6 = matches(&IPV6, text, most).into_iter().filter(|range| {
            let candidate = text.get(range.clone()).unwrap_or_default();
            let bounded = !char_before(text, range.start)
                .is_some_and(|c| c.is_alphanumeric() || c == '.')
                && !char_after(text, range.end).is_some_and(|c| c.is_alphanumeric());
            bounded && candidate.len() > 3 && candidate.matches(':').count() >= 2
        });
        found.extend(v6.map(|range| {
            // A closing colon is punctuation: `2001:db8::1: refused`.
            let candidate = text.get(range.clone()).unwrap_or_default();
            let trim = usize::from(candidate.ends_with(':') && !candidate.ends_with("::"));
            range.start..range.end - trim
        }));
        found.retain(|range| {
            text.get(range.clone())
                .is_some_and(|ip| ip.parse::<IpAddr>().is_ok())
        });
        // The IPv4 tail of an IPv6 address is part of it.
        let wide: Vec<Range<usize>> = found
            .iter()
            .filter(|range| {
                text.get((*range).clone())
                    .is_some_and(|ip| ip.contains(':'))
            })
            .cloned()
            .collect();
        found.retain(|range| {
            !wide
                .iter()
                .any(|other| other != range && other.start <= range.start && range.end <= other.end)
        });
    }
    found.sort_by_key(|range| range.start);
    found
}

/// Returns whether an address is a version such as `Chrome/120.0.0.0`: it follows a product name and a slash and ends
/// in zeros.
fn is_version(text: &str, range: &Range<usize>) -> bool {
    let Some(product) = text
        .get(..range.start)
        .and_then(|head| head.strip_suffix(['/', 'v', 'V']))
    else {
        return false;
    };
    let named = product
        .chars()
        .next_back()
        .is_none_or(|c| c.is_alphanumeric() || c == ' ');
    named && text.get(range.clone()).is_some_and(|ip| ip.ends_with(".0"))
}

fn domains(text: &str) -> Vec<Range<usize>> {
    let mut found = dotted_names(text, MAX_VALUES);
    found.retain(|range| {
        let name = text.get(range.clone()).unwrap_or_default();
        let in_url = text
            .get(..range.start)
            .is_some_and(|head| head.ends_with("://"));
        let host_of_url = in_url || char_before(text, range.start) == Some('@');
        let is_part = char_before(text, range.start)
            .is_some_and(|c| matches!(c, '/' | '\\' | '.' | '-' | '$' | '~' | '='))
            && !in_url
            && char_before(text, range.start) != Some('=');
        let goes_on = char_after(text, range.end)
            .is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '(' | '-'))
            || (char_after(text, range.end) == Some('.')
                && char_after(text, range.end + 1).is_some_and(char::is_alphanumeric));
        !is_part && !goes_on && is_public(name) && (host_of_url || !reads_as_file(name))
    });
    found
}

/// Returns the ranges of all dotted names.
pub(super) fn dotted_names(text: &str, most: usize) -> Vec<Range<usize>> {
    if !text.contains('.') {
        return Vec::new();
    }
    if text.is_ascii() {
        matches(&ASCII_DOMAIN, text, most)
    } else {
        matches(&DOMAIN, text, most)
    }
}

pub(super) fn reads_as_file(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let (head, suffix) = lower.rsplit_once('.').unwrap_or_default();
    let plain = head
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-'));
    let always = ALWAYS_FILES.contains(&suffix);
    FILE_LIKE.contains(&suffix) && plain && (always || !head.contains('.'))
        || lower.contains('_') && always
}

/// Returns whether the name is longer than the known public suffix that it ends in.
pub(super) fn is_public(name: &str) -> bool {
    let lower = name.to_lowercase();
    let ascii = url::Host::parse(&lower).map(|host| host.to_string());
    let name = ascii.as_deref().unwrap_or(&lower);
    if name.ends_with(".onion") {
        return true;
    }
    let Some(suffix) = psl::suffix(name.as_bytes()) else {
        return false;
    };
    // A private suffix (`github.io`, `3322.org`) is itself a host.
    suffix.is_known()
        && (name.len() > suffix.as_bytes().len() || suffix.typ() == Some(psl::Type::Private))
}

#[cfg(test)]
mod tests;

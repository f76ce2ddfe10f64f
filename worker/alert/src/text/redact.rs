//! Taking secrets out of text: known kinds first, then what looks random.
//!
//! A secret becomes `[redacted:<kind>]`. Typed indicators, digests, UUIDs, resource names and access key *ids* stay.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use regex::{Regex, RegexSet};
use regex_syntax::hir::{Hir, HirKind, Repetition};

use super::entropy;
use super::secrets::{SECRET_KEY, SECRETS, TRIGGERS};

struct Known {
    /// Which kinds may occur at all, in one pass.
    set: RegexSet,
    /// Compiled when first needed: most never are.
    each: Vec<OnceLock<Option<Regex>>>,
}

static KNOWN: LazyLock<Option<Known>> = LazyLock::new(|| {
    let loose: Option<Vec<String>> = SECRETS.iter().map(|(_, pattern)| loose(pattern)).collect();
    let each = SECRETS.iter().map(|_| OnceLock::new()).collect();
    Some(Known {
        set: RegexSet::new(loose?).ok()?,
        each,
    })
});

static TRIGGER: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(TRIGGERS).ok());

static KEY: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(SECRET_KEY).ok());

/// The pattern with ASCII classes and boundaries: secrets are ASCII, and Unicode's cost ten times as much.
fn ascii(pattern: &str) -> String {
    pattern
        .replace(r"\b", r"(?-u:\b)")
        .replace(r"\s", r"[\t\n\r ]")
        .replace(r"\d", "[0-9]")
        .replace(r"\w", "[0-9A-Za-z_]")
}

/// Counts up to which the set of all kinds holds to a pattern's own.
const FEW: u32 = 20;

/// A pattern that takes what this one takes, and more: what repeats more than a few times may do so without end. All
/// together are a third as large so, in every thread that looks.
fn loose(pattern: &str) -> Option<String> {
    let hir = regex_syntax::parse(&ascii(pattern)).ok()?;
    Some(loosened(hir).to_string())
}

fn loosened(hir: Hir) -> Hir {
    let all = |parts: Vec<Hir>| parts.into_iter().map(loosened).collect();
    match hir.into_kind() {
        HirKind::Repetition(repeated) => Hir::repetition(Repetition {
            min: repeated.min.min(FEW),
            max: repeated.max.filter(|max| *max <= FEW),
            greedy: repeated.greedy,
            sub: Box::new(loosened(*repeated.sub)),
        }),
        HirKind::Capture(group) => loosened(*group.sub),
        HirKind::Concat(parts) => Hir::concat(all(parts)),
        HirKind::Alternation(parts) => Hir::alternation(all(parts)),
        HirKind::Empty => Hir::empty(),
        HirKind::Literal(literal) => Hir::literal(literal.0),
        HirKind::Class(class) => Hir::class(class),
        HirKind::Look(look) => Hir::look(look),
    }
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
        .map(|range| (range, "high_entropy"))
        .collect();
    if random.is_empty() {
        return (known, count);
    }
    count += random.len();
    (Cow::Owned(replace(&known, &random)), count)
}

/// The text without secrets of known kinds.
pub(crate) fn redact_known(text: &str) -> (Cow<'_, str>, usize) {
    // The shortest thing that a pattern takes is `pwd=abcdef`.
    let untouched = text.len() < 8
        || TRIGGER
            .as_ref()
            .is_some_and(|trigger| !trigger.is_match(text));
    if untouched {
        return (Cow::Borrowed(text), 0);
    }
    let Some(known) = KNOWN.as_ref() else {
        return (Cow::Borrowed(text), 0);
    };
    let mut ranges: Vec<(Range<usize>, &str)> = Vec::new();
    for index in known.set.matches(text) {
        let (Some((name, pattern)), Some(cell)) = (SECRETS.get(index), known.each.get(index))
        else {
            continue;
        };
        let Some(regex) = cell.get_or_init(|| Regex::new(&ascii(pattern)).ok()) else {
            continue;
        };
        for captures in regex.captures_iter(text) {
            let Some(found) = captures.name("secret").or_else(|| captures.get(0)) else {
                continue;
            };
            let overlaps = ranges
                .iter()
                .any(|(range, _)| range.start < found.end() && found.start() < range.end);
            if !overlaps && !is_harmless(found.as_str()) {
                ranges.push((found.range(), name));
            }
        }
    }
    if ranges.is_empty() {
        return (Cow::Borrowed(text), 0);
    }
    ranges.sort_by_key(|(range, _)| range.start);
    (Cow::Owned(replace(text, &ranges)), ranges.len())
}

/// Whether the value of this key in a JSON object is a secret by its name.
pub(super) fn is_secret_key(key: &str) -> bool {
    if key.len() < 3 || key.len() > 64 {
        return false;
    }
    // camelCase and PascalCase as words: `clientSecret` is `client_secret`.
    let mut words = String::with_capacity(key.len() + 4);
    let mut previous = '_';
    for character in key.chars() {
        if character.is_ascii_uppercase() && previous.is_ascii_lowercase() {
            words.push('_');
        }
        words.push(character.to_ascii_lowercase());
        previous = character;
    }
    KEY.as_ref().is_some_and(|pattern| pattern.is_match(&words))
}

/// What stands where a secret could, and is none: our own marks, placeholders, ids.
fn is_harmless(value: &str) -> bool {
    let plain = value.trim_matches(['"', '\'', '\\']);
    plain.starts_with("[redacted:")
        || plain.starts_with("arn:")
        || plain.starts_with("AKIA")
        || plain.starts_with("ASIA")
        || plain.starts_with("${")
        || plain.starts_with("http://")
        || plain.starts_with("https://")
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

fn replace(text: &str, ranges: &[(Range<usize>, &str)]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for (range, name) in ranges {
        out.push_str(text.get(done..range.start).unwrap_or_default());
        out.push_str("[redacted:");
        out.push_str(name);
        out.push(']');
        done = range.end;
    }
    out.push_str(text.get(done..).unwrap_or_default());
    out
}

#[cfg(test)]
mod tests;

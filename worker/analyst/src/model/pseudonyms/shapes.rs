//! Finds values that are hidden by their shape, known or not: e-mail addresses, AWS account ids, AWS names of private
//! addresses, and addresses of internal ranges.

use std::net::IpAddr;
use std::sync::LazyLock;

use ipnet::IpNet;
use regex::{Captures, Regex};

use super::names::NameMatch;
use super::values::PseudonymKind;
use super::{ends_escape, is_word};

/// E-mail addresses match whole, though a name within one is hidden too; the rest might be an address by itself.
static PATTERN: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?P<mail>[\p{L}\p{M}0-9._%+-]+@[\p{L}\p{M}0-9-]+(?:\.[\p{L}\p{M}0-9-]+)+)",
        r"|(?P<account>[0-9]{12})",
        r"|(?P<host>ip-[0-9]{1,3}-[0-9]{1,3}-[0-9]{1,3}-[0-9]{1,3})",
        r"|(?P<ip>[0-9]{1,3}(?:\.[0-9]{1,3}){3}|[0-9a-fA-F]{1,4}(?::{1,2}[0-9a-fA-F]{1,4}){1,7}(?:::)?)",
    ))
    .ok()
});

/// Internal ranges: private, shared, link-local, unique local (RFC 1918, 6598, 3927, 4193, 4291).
const INTERNAL: [&str; 7] = [
    "10.0.0.0/8",
    "172.16.0.0/12",
    "192.168.0.0/16",
    "100.64.0.0/10",
    "169.254.0.0/16",
    "fc00::/7",
    "fe80::/10",
];

/// Searches for these shapes.
pub(super) struct ShapeMatcher {
    pattern: &'static Regex,
    ranges: Vec<IpNet>,
}

impl ShapeMatcher {
    /// Creates a search that includes the public ranges of the organisation.
    pub(super) fn new(ranges: &[IpNet]) -> Result<Self, String> {
        let mut all = ranges.to_vec();
        for range in INTERNAL {
            all.push(range.parse().map_err(|error| format!("{range}: {error}"))?);
        }
        let pattern = PATTERN.as_ref();
        Ok(Self {
            pattern: pattern.ok_or("cannot compile the pattern of values to hide")?,
            ranges: all,
        })
    }

    /// Returns the first match at or after a position.
    pub(super) fn find_next(&self, text: &str, mut from: usize) -> Option<NameMatch> {
        loop {
            let found = self.pattern.captures_at(text, from)?;
            let whole = found.get(0)?;
            let (start, end) = (whole.start(), whole.end());
            // An address may begin after the letter of an escape.
            let kind = (!ends_escape(text, start) && is_word(text, start, end))
                .then(|| self.kind(&found, whole.as_str()))
                .flatten();
            if let Some(kind) = kind {
                return Some(NameMatch { start, end, kind });
            }
            let next = whole.as_str().chars().next();
            from = start + next.map_or(1, char::len_utf8);
        }
    }

    fn kind(&self, found: &Captures<'_>, text: &str) -> Option<PseudonymKind> {
        if found.name("mail").is_some() {
            return Some(PseudonymKind::Principal);
        }
        if found.name("account").is_some() {
            return Some(PseudonymKind::Account);
        }
        if found.name("host").is_some() {
            return Some(PseudonymKind::Host);
        }
        let address: IpAddr = text.parse().ok()?;
        self.ranges
            .iter()
            .any(|range| range.contains(&address))
            .then_some(PseudonymKind::Address)
    }
}

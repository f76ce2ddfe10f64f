//! Finds the parts of a text that a mail, chat or ticket program would turn into a link.
//!
//! This is wider than extraction, because a miss here is a live link. Those programs look for public suffixes and
//! treat the characters around a name differently, so `-evil.com`, `/evil.com` and `evil.com(x)` count. Files
//! (`setup.sh`, `report.zip`), fields (`user.name`) and versions are left alone, because reports are full of them.
//! Such a name is still an address where it is typed as one ([`host`]), where it is part of a URL or mail address,
//! where a path follows (`evil.sh/x`), and where it does not read as a file (`login-okta.app`).

use std::ops::Range;

use super::extract::{
    ALWAYS_FILES, char_after, char_before, dotted_names, ips, is_public, reads_as_file,
};
use super::{Indicator, IndicatorKind};

/// File suffixes that are also public suffixes, at the end of a path: keys, units, headers, templates.
const FILES_IN_PATHS: [&str; 9] = [
    "pub",
    "properties",
    "target",
    "in",
    "am",
    "la",
    "cc",
    "inc",
    "save",
];

/// Returns the ranges of IPv4 addresses and domains in a text, in order and without overlaps.
pub(crate) fn linkable_spans(text: &str) -> Vec<Range<usize>> {
    let addresses = ips(text, usize::MAX)
        .into_iter()
        .filter(|range| text.get(range.clone()).is_some_and(|ip| ip.contains('.')));
    let domains = dotted_names(text, usize::MAX)
        .into_iter()
        .filter(|range| is_linkable(text, range));
    merge_spans(addresses.chain(domains).collect())
}

/// Returns the ranges like [`linkable_spans`] in a value of this kind, whose host always counts.
pub(crate) fn linkable_spans_of_value(kind: IndicatorKind, value: &str) -> Vec<Range<usize>> {
    let mut all: Vec<_> = host(kind, value).into_iter().collect();
    all.extend(linkable_spans(value));
    merge_spans(all)
}

/// Returns the ranges like [`linkable_spans`] in a text. The hosts of the known values always count.
pub(crate) fn linkable_spans_with(text: &str, known: &[Indicator]) -> Vec<Range<usize>> {
    let mut all = Vec::new();
    let lower = text.to_ascii_lowercase();
    for one in known {
        let name = host(one.kind, &one.value).and_then(|range| one.value.get(range));
        for (start, name) in name.iter().flat_map(|name| lower.match_indices(*name)) {
            let end = start + name.len();
            let is_part = char_before(text, start).is_some_and(char::is_alphanumeric)
                || char_after(text, end).is_some_and(char::is_alphanumeric);
            if !is_part {
                all.push(start..end);
            }
        }
    }
    all.extend(linkable_spans(text));
    merge_spans(all)
}

/// Returns the dots of an address to replace, from the last to the first: the last one, and more while the rest could
/// still be linked (`evil.co` of `evil.co.uk`).
pub(crate) fn dots(host: &str) -> impl Iterator<Item = usize> + '_ {
    let mut next = host.rfind('.');
    std::iter::from_fn(move || {
        let dot = next?;
        let head = host.get(..dot)?;
        next = head.rfind('.').filter(|_| is_public(head));
        Some(dot)
    })
}

/// Returns the range of the host in a value that has one.
fn host(kind: IndicatorKind, value: &str) -> Option<Range<usize>> {
    let range = match kind {
        IndicatorKind::Ip | IndicatorKind::Domain => 0..value.trim_end_matches('.').len(),
        IndicatorKind::Email => value.rfind('@')? + 1..value.len(),
        IndicatorKind::Url => {
            let start = value.find("://")? + 3;
            let rest = value.get(start..)?;
            let rest = rest.get(..rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len()))?;
            let from = rest.rfind('@').map_or(0, |at| at + 1);
            let port = rest.get(from..)?.rfind(':').map(|colon| from + colon);
            start + from..start + port.unwrap_or(rest.len())
        }
        _ => return None,
    };
    value.get(range.clone())?.contains('.').then_some(range)
}

fn merge_spans(mut spans: Vec<Range<usize>>) -> Vec<Range<usize>> {
    spans.sort_by_key(|range| (range.start, std::cmp::Reverse(range.end)));
    spans.dedup_by(|next, kept| next.start < kept.end);
    spans
}

/// Returns whether some program would turn the dotted name into a link.
fn is_linkable(text: &str, range: &Range<usize>) -> bool {
    let name = text.get(range.clone()).unwrap_or_default();
    let head = text.get(..range.start).unwrap_or_default();
    let tail = text.get(range.end..).unwrap_or_default();
    // In `host_name` and `libc.so.6` the name continues, and no program links its beginning.
    let goes_on = tail.starts_with(|c: char| c.is_alphanumeric() || c == '_')
        || tail
            .strip_prefix('.')
            .is_some_and(|more| more.starts_with(char::is_alphanumeric));
    if goes_on || !is_public(name) {
        return false;
    }
    if head.ends_with("://") || head.ends_with('@') {
        return true;
    }
    let is_in_path = head.ends_with(['/', '\\', '.', '~', '$']);
    let (_, suffix) = name.rsplit_once('.').unwrap_or_default();
    let suffix = suffix.to_ascii_lowercase();
    if reads_as_file(name) {
        let is_url = tail.starts_with('/') && !is_in_path;
        let is_no_file = name.contains('-') && !ALWAYS_FILES.contains(&suffix.as_str());
        return is_url || (is_no_file && !is_in_path);
    }
    // Names of Google's resources. A link to Google is harmless, but a customer's data at Google is not Google's.
    let is_resource = head.ends_with("//")
        && name.ends_with(".googleapis.com")
        && name != "storage.googleapis.com";
    let is_file = is_in_path && FILES_IN_PATHS.contains(&suffix.as_str());
    !is_resource && !is_file
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::indicator::extract;

    proptest! {
        #[test]
        fn spans_do_not_overlap(text in "[a-z0-9.:/@ -]{0,80}") {
            let spans = linkable_spans(&text);
            for pair in spans.windows(2) {
                prop_assert!(pair[0].end <= pair[1].start);
            }
        }

        #[test]
        fn a04_what_is_extracted_from_a_text_is_an_address_there(text in "[a-c./@ (-]{0,12}(com|app|io|de)[ ./()a-]{0,6}") {
            let names: Vec<String> = linkable_spans(&text)
                .into_iter()
                .filter_map(|span| text.get(span))
                .map(str::to_lowercase)
                .collect();
            for (kind, value) in extract(&text) {
                prop_assert!(kind != IndicatorKind::Domain || names.contains(&value), "{} in {:?}", value, names);
            }
        }
    }
}

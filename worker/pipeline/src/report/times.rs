//! Rewrites times in sentences to the format of reports. Analysts and playbooks quote times as logs have them.

use std::borrow::Cow;

use chrono::{DateTime, Utc};

/// Characters of the date before the `T`.
const DATE: usize = 10;
/// Maximum number of characters from there to the `Z`.
const LONGEST: usize = 32;

/// Returns the sentence with `2026-03-02T02:35:22Z` as `2026-03-02 02:35:22 UTC`. Text that is not a complete time of
/// that form stays.
#[must_use]
pub fn with_plain_times(text: &str) -> Cow<'_, str> {
    let mut plain = String::new();
    let mut done = 0;
    for (at, _) in text.match_indices('T') {
        let Some((start, end, time)) = time(text, at).filter(|(start, ..)| *start >= done) else {
            continue;
        };
        plain.push_str(text.get(done..start).unwrap_or_default());
        plain.push_str(&time.format("%Y-%m-%d %H:%M:%S UTC").to_string());
        done = end;
    }
    if done == 0 {
        return Cow::Borrowed(text);
    }
    plain.push_str(text.get(done..).unwrap_or_default());
    Cow::Owned(plain)
}

/// Parses the time around this `T`, and returns it with its beginning and end.
fn time(text: &str, at: usize) -> Option<(usize, usize, DateTime<Utc>)> {
    let start = at.checked_sub(DATE)?;
    let mut rest = text.get(at..)?.char_indices().take(LONGEST);
    let end = at + rest.find(|(_, one)| *one == 'Z')?.0 + 1;
    let stands_alone =
        |end: Option<char>| !end.is_some_and(|one| one.is_alphanumeric() || one == '-');
    let is_alone = stands_alone(text.get(..start)?.chars().next_back())
        && stands_alone(text.get(end..)?.chars().next());
    let time = DateTime::parse_from_rfc3339(text.get(start..end)?).ok()?;
    is_alone.then(|| (start, end, time.to_utc()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_logs_read_as_those_of_the_report() {
        for (given, shown) in [
            (
                "The key was used at 2026-03-02T02:35:22Z, and at 2026-03-02T02:36:01.123456Z.",
                "The key was used at 2026-03-02 02:35:22 UTC, and at 2026-03-02 02:36:01 UTC.",
            ),
            ("No Time, THE Zone", "No Time, THE Zone"),
            ("at 2026-03-02T25:00:00Z", "at 2026-03-02T25:00:00Z"),
            (
                "at 2026-03-02T02:35:22+01:00",
                "at 2026-03-02T02:35:22+01:00",
            ),
            ("run-2026-03-02T02:35:22Z-7", "run-2026-03-02T02:35:22Z-7"),
            ("時刻は2026-03-02T02:35:22Z", "時刻は2026-03-02T02:35:22Z"),
            (
                "時刻は 2026-03-02T02:35:22Z。",
                "時刻は 2026-03-02 02:35:22 UTC。",
            ),
        ] {
            assert_eq!(with_plain_times(given), shown);
        }
    }
}

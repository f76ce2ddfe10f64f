//! What an answer means: taken, later, or never. A receiver's words are a stranger's: little of them is read, and what is
//! shown is redacted and brought onto one line.

use std::error::Error;

use chrono::{DateTime, Utc};
use nightshift_alert::text::{cut, redact, single_line, strip_hidden};
use nightshift_pipeline::DeliveryError;
use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};
use reqwest::{Response, StatusCode};

/// Bytes of an answer that are read.
const MOST_BYTES: usize = 4096;
/// Characters of an answer that are shown.
const MOST_CHARS: usize = 200;
/// Longest wait that a receiver can ask for, in seconds: no report may wait for days at a stranger's word.
const LONGEST_WAIT_SECS: u64 = 3600;

/// Whether the post was taken. `at` is when it was sent.
pub(super) async fn read(
    host: &str,
    answer: Response,
    at: DateTime<Utc>,
) -> Result<(), DeliveryError> {
    let status = answer.status();
    if status.is_success() {
        return Ok(());
    }
    let after_secs = retry_after(answer.headers(), at);
    let words = excerpt(answer).await;
    let what = format!("{host} answered {status}{}{words}", hint(status));
    let is_passing = matches!(status.as_u16(), 408 | 425 | 429) || status.is_server_error();
    Err(if is_passing {
        DeliveryError::Later { what, after_secs }
    } else {
        DeliveryError::Never { what }
    })
}

/// A post that got no answer. It may have been taken: it is sent again with its id.
pub(super) fn lost(host: &str, error: &reqwest::Error) -> DeliveryError {
    let how = if error.is_connect() {
        "cannot connect to"
    } else if error.is_timeout() {
        "no answer in time from"
    } else {
        "the connection broke to"
    };
    let mut words = format!("{how} {host}");
    let mut cause = error.source();
    while let Some(error) = cause {
        words.push_str(": ");
        words.push_str(&error.to_string());
        cause = error.source();
    }
    DeliveryError::Later {
        what: clean(&words),
        after_secs: None,
    }
}

/// What somebody can do about it.
fn hint(status: StatusCode) -> &'static str {
    match status.as_u16() {
        300..=399 => " (redirects are not followed: set `url` to where it leads)",
        401 | 403 => " (does it know our `secret`?)",
        410 => " (it wants no more of them: take it out of the routes)",
        413 => " (reports are larger than it takes)",
        _ => "",
    }
}

/// The beginning of what it says.
async fn excerpt(mut answer: Response) -> String {
    let mut bytes = Vec::new();
    while let Ok(Some(piece)) = answer.chunk().await {
        bytes.extend_from_slice(&piece);
        if bytes.len() >= MOST_BYTES {
            bytes.truncate(MOST_BYTES);
            break;
        }
    }
    let words = clean(&String::from_utf8_lossy(&bytes));
    if words.is_empty() {
        return words;
    }
    format!(": {words}")
}

fn clean(words: &str) -> String {
    let (words, _) = strip_hidden(words);
    let (words, _) = redact(&words);
    let line = single_line(&words);
    cut(line.trim(), MOST_CHARS).into_owned()
}

/// Seconds to wait: a number, or a date (RFC 9110 §10.2.3) against the answer's own `date`, else against our clock.
fn retry_after(headers: &HeaderMap, now: DateTime<Utc>) -> Option<u64> {
    let text = |name| Some(headers.get(name)?.to_str().ok()?.trim());
    let date = |text: &str| DateTime::parse_from_rfc2822(text).ok();
    let after = text(RETRY_AFTER)?;
    let is_number = !after.is_empty() && after.bytes().all(|byte| byte.is_ascii_digit());
    let secs = if is_number {
        after.parse().unwrap_or(u64::MAX)
    } else {
        let until = date(after)?.to_utc();
        let now = text(DATE).and_then(date).map_or(now, |date| date.to_utc());
        u64::try_from((until - now).num_seconds()).unwrap_or(0)
    };
    Some(secs.min(LONGEST_WAIT_SECS))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(headers: &[(&'static str, &str)]) -> Option<u64> {
        let headers = headers
            .iter()
            .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
            .collect();
        let now = DateTime::parse_from_rfc3339("2026-11-20T12:00:00Z").unwrap();
        retry_after(&headers, now.to_utc())
    }

    #[test]
    fn retry_after_is_seconds_or_a_date_and_bounded() {
        const LATER: (&str, &str) = ("retry-after", "Fri, 20 Nov 2026 12:01:30 GMT");
        assert_eq!(after(&[]), None);
        assert_eq!(after(&[("retry-after", "7")]), Some(7));
        assert_eq!(after(&[("retry-after", "31536000")]), Some(3600));
        assert_eq!(after(&[("retry-after", &"9".repeat(40))]), Some(3600));
        for nonsense in ["", "-1", "soon", "1.5.2", "+3"] {
            assert_eq!(after(&[("retry-after", nonsense)]), None, "{nonsense}");
        }
        assert_eq!(after(&[LATER]), Some(90));
        // Their clock is what their date is told by.
        let date = ("date", "Fri, 20 Nov 2026 12:01:00 GMT");
        assert_eq!(after(&[LATER, date]), Some(30));
        let past = ("retry-after", "Fri, 20 Nov 2026 11:00:00 GMT");
        assert_eq!(after(&[past]), Some(0));
    }
}

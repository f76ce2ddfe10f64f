//! Parses the time that a provider wants to be left alone from its headers.
//!
//! `retry-after-ms` (Azure) is exact and has precedence. `retry-after` is seconds, with or without a fraction, or a
//! date (RFC 9110 §10.2.3), which is compared with the answer's own `date`, because this machine's clock may be wrong.
//! A gateway forwards both with a prefix (LiteLLM's page on response headers). The longer wait counts. Values are not
//! bounded here.

use std::time::Duration;

use chrono::DateTime;
use reqwest::header::{DATE, HeaderMap};

/// Prefixes of a provider's headers: none, and that of LiteLLM for forwarded ones.
pub(crate) const HEADER_PREFIXES: [&str; 2] = ["", "llm_provider-"];

pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let waits = HEADER_PREFIXES.into_iter();
    waits
        .filter_map(|prefix| retry_after_with_prefix(headers, prefix))
        .max()
}

fn retry_after_with_prefix(headers: &HeaderMap, prefix: &str) -> Option<Duration> {
    let text = |name: &str| header_text(headers, prefix, name);
    if let Some(millis) = text("retry-after-ms").and_then(|text| text.parse::<f64>().ok()) {
        return duration_from_secs(millis / 1000.0);
    }
    let after = text("retry-after")?;
    if let Ok(secs) = after.parse::<f64>() {
        return duration_from_secs(secs);
    }
    let date = |text: &str| DateTime::parse_from_rfc2822(text).ok();
    let until = date(after)?;
    let now = date(text(DATE.as_str()).or_else(|| self::header_text(headers, "", DATE.as_str()))?)?;
    Some(
        until
            .signed_duration_since(now)
            .to_std()
            .unwrap_or_default(),
    )
}

/// Returns the value of a header with this prefix as text.
pub(crate) fn header_text<'a>(headers: &'a HeaderMap, prefix: &str, name: &str) -> Option<&'a str> {
    let value = headers.get(format!("{prefix}{name}"))?;
    value.to_str().ok().map(str::trim)
}

/// Returns seconds as a duration: `None` for a negative value or NaN, the maximum for a huge one.
pub(crate) fn duration_from_secs(secs: f64) -> Option<Duration> {
    if secs.is_nan() || secs < 0.0 {
        return None;
    }
    Some(Duration::try_from_secs_f64(secs).unwrap_or(Duration::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(headers: &[(&'static str, &str)]) -> Option<f64> {
        let headers = headers
            .iter()
            .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
            .collect();
        retry_after(&headers).map(|after| after.as_secs_f64())
    }

    #[test]
    fn every_form_of_retry_after_is_read() {
        const NOW: (&str, &str) = ("date", "Fri, 20 Nov 2026 12:00:00 GMT");
        assert_eq!(after(&[]), None);
        assert_eq!(after(&[("retry-after", "7")]), Some(7.0));
        assert_eq!(after(&[("retry-after", "0.25")]), Some(0.25));
        assert_eq!(after(&[("retry-after", "-1")]), None);
        assert_eq!(after(&[("retry-after", "soon")]), None);
        assert_eq!(
            after(&[("retry-after", "9"), ("retry-after-ms", "1500")]),
            Some(1.5)
        );
        assert_eq!(
            after(&[("retry-after", "Fri, 20 Nov 2026 12:01:30 GMT"), NOW]),
            Some(90.0)
        );
        assert_eq!(
            after(&[("retry-after", "Fri, 20 Nov 2026 11:00:00 GMT"), NOW]),
            Some(0.0)
        );
        assert_eq!(
            after(&[("retry-after", "Fri, 20 Nov 2026 12:01:30 GMT")]),
            None
        );
        assert_eq!(after(&[("llm_provider-retry-after", "5")]), Some(5.0));
        assert_eq!(
            after(&[("retry-after", "2"), ("llm_provider-retry-after", "45")]),
            Some(45.0)
        );
        assert_eq!(
            after(&[
                ("llm_provider-retry-after-ms", "1500"),
                ("llm_provider-retry-after", "9")
            ]),
            Some(1.5)
        );
        assert_eq!(
            after(&[
                ("llm_provider-retry-after", "Fri, 20 Nov 2026 12:01:30 GMT"),
                NOW
            ]),
            Some(90.0)
        );
        assert_eq!(after(&[("retry-after", "31536000")]), Some(31_536_000.0));
        assert!(after(&[("retry-after", "1e300")]).unwrap() > 1e18);
    }
}

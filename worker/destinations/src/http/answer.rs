//! Classifies answers: delivered, retry later, refused for good, or unknown. The text of a receiver is untrusted: it is
//! read up to a bound, redacted, and shown on one line.

use chrono::{DateTime, Utc};
use nightshift_alert::text::{redact, single_line, strip_hidden, truncate};
use nightshift_engine::error_chain::append_error_chain;
use nightshift_pipeline::port::DeliveryError;
use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};
use reqwest::{Response, StatusCode};
use serde::de::DeserializeOwned;

use super::Repeat;

/// The number of bytes of a refusal that are read.
const MOST_BYTES: usize = 4096;
/// The number of characters of an answer that are shown.
const MOST_CHARS: usize = 200;
/// The longest wait that a receiver can ask for, in seconds. A report must not wait for days because a receiver says
/// so.
const LONGEST_WAIT_SECS: u64 = 3600;

/// The head of an answer, with its unread body.
pub(crate) struct Answer {
    host: String,
    response: Response,
    at: DateTime<Utc>,
    repeat: Repeat,
}

impl Answer {
    pub(super) fn new(host: &str, response: Response, at: DateTime<Utc>, repeat: Repeat) -> Self {
        Self {
            host: host.to_owned(),
            response,
            at,
            repeat,
        }
    }

    pub(crate) fn status(&self) -> StatusCode {
        self.response.status()
    }

    /// Returns a header, or `None` when it is absent or not text.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.response.headers().get(name)?.to_str().ok()
    }

    /// Returns the seconds that the receiver asks to wait.
    pub(crate) fn after_secs(&self) -> Option<u64> {
        retry_after(self.response.headers(), self.at)
    }

    /// Reads the body as JSON of at most this many bytes.
    ///
    /// # Errors
    ///
    /// Fails when the body breaks off, is too long, or is not such JSON. The outcome of the call is then unknown:
    /// unclear when duplicates would be visible, else later.
    pub(crate) async fn json<T: DeserializeOwned>(
        mut self,
        most_bytes: usize,
    ) -> Result<T, DeliveryError> {
        let mut bytes = Vec::new();
        loop {
            match self.response.chunk().await {
                Ok(Some(piece)) => bytes.extend_from_slice(&piece),
                Ok(None) => break,
                Err(error) => return Err(lost(&self.host, &error, self.repeat)),
            }
            if bytes.len() > most_bytes {
                let what = format!("{} answered more than {most_bytes} bytes", self.host);
                return Err(unknown(what, self.repeat));
            }
        }
        serde_json::from_slice(&bytes).map_err(|error| {
            let what = format!("cannot parse the answer of {}: {error}", self.host);
            unknown(what, self.repeat)
        })
    }

    /// Converts an answer without success into an error that includes `hint`. `words` extracts the vendor's message
    /// from the beginning of the body; if it returns `None`, the body itself is shown.
    pub(crate) async fn refused(
        self,
        hint: &str,
        words: impl Fn(&[u8]) -> Option<String>,
    ) -> DeliveryError {
        let (status, after_secs, repeat) = (self.status(), self.after_secs(), self.repeat);
        let host = self.host.clone();
        let bytes = self.beginning().await;
        let said = words(&bytes).unwrap_or_else(|| String::from_utf8_lossy(&bytes).into_owned());
        let said = match clean(&said) {
            said if said.is_empty() => said,
            said => format!(": {said}"),
        };
        let what = format!("{host} answered {status}{hint}{said}");
        // A receiver that asks to wait did not do the work. Any other server failure may have followed the work. This
        // includes 503, which proxies also send when a server closed the connection.
        let is_turned_away = match status.as_u16() {
            408 | 425 | 429 => true,
            503 => after_secs.is_some(),
            _ => false,
        };
        match (is_turned_away, status.is_server_error(), repeat) {
            (true, ..) | (_, true, Repeat::Harmless) => {
                DeliveryError::Transient { what, after_secs }
            }
            (false, true, Repeat::Doubles) => DeliveryError::Ambiguous { what },
            (false, false, _) => DeliveryError::Permanent { what },
        }
    }

    async fn beginning(mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        while let Ok(Some(piece)) = self.response.chunk().await {
            bytes.extend_from_slice(&piece);
            if bytes.len() >= MOST_BYTES {
                bytes.truncate(MOST_BYTES);
                break;
            }
        }
        bytes
    }
}

/// Converts a call without an answer into an error. Without a connection nothing was sent; otherwise the call may
/// have been done.
pub(super) fn lost(host: &str, error: &reqwest::Error, repeat: Repeat) -> DeliveryError {
    let how = if error.is_connect() {
        "cannot connect to"
    } else if error.is_timeout() {
        "no answer in time from"
    } else {
        "the connection broke to"
    };
    let words = append_error_chain(format!("{how} {host}"), error);
    let never_left = error.is_connect() || error.is_builder();
    let repeat = if never_left { Repeat::Harmless } else { repeat };
    unknown(clean(&words), repeat)
}

const fn unknown(what: String, repeat: Repeat) -> DeliveryError {
    match repeat {
        Repeat::Doubles => DeliveryError::Ambiguous { what },
        Repeat::Harmless => DeliveryError::Transient {
            what,
            after_secs: None,
        },
    }
}

/// Shortens and redacts text of a receiver and brings it onto one line.
pub(crate) fn clean(words: &str) -> String {
    let (words, _) = strip_hidden(words);
    let (words, _) = redact(&words);
    let line = single_line(&words);
    truncate(line.trim(), MOST_CHARS).into_owned()
}

/// Returns the seconds to wait: a number, or a date (RFC 9110 §10.2.3) compared with the answer's own `date`, else
/// with our clock.
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
        // The receiver's clock is that of its `date` header.
        let date = ("date", "Fri, 20 Nov 2026 12:01:00 GMT");
        assert_eq!(after(&[LATER, date]), Some(30));
        let past = ("retry-after", "Fri, 20 Nov 2026 11:00:00 GMT");
        assert_eq!(after(&[past]), Some(0));
    }
}

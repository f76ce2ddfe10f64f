//! What an answer means: taken, later, never, or nobody knows. A receiver's words are a stranger's: little of them is
//! read, and what is shown is redacted and brought onto one line.

use chrono::{DateTime, Utc};
use nightshift_alert::text::{cut, redact, single_line, strip_hidden};
use nightshift_engine::and_causes;
use nightshift_pipeline::DeliveryError;
use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};
use reqwest::{Response, StatusCode};
use serde::de::DeserializeOwned;

use super::Repeat;

/// Bytes of a refusal that are read.
const MOST_BYTES: usize = 4096;
/// Characters of an answer that are shown.
const MOST_CHARS: usize = 200;
/// Longest wait that a receiver can ask for, in seconds: no report may wait for days at a stranger's word.
const LONGEST_WAIT_SECS: u64 = 3600;

/// The head of an answer, and what can be made of the rest.
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

    /// Its status.
    pub(crate) fn status(&self) -> StatusCode {
        self.response.status()
    }

    /// A header of it, where it is text.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.response.headers().get(name)?.to_str().ok()
    }

    /// How long it wants to be left alone, in seconds.
    pub(crate) fn after_secs(&self) -> Option<u64> {
        retry_after(self.response.headers(), self.at)
    }

    /// Its body as JSON, of at most this many bytes.
    ///
    /// # Errors
    ///
    /// Where it breaks off, is longer, or is no such JSON, nobody knows what became of the call: unclear where doubles
    /// show, else later.
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
            let what = format!("{} answered what is not understood: {error}", self.host);
            unknown(what, self.repeat)
        })
    }

    /// What an answer means that is no success, with what its sender can do about it. `words` finds the vendor's own
    /// message in the beginning of the body; none: the body as it stands.
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
        // Who is told to wait was not served; any other failure of a server may have come after it had done its work, also
        // 503, which proxies answer too where a server hung up on them.
        let is_turned_away = match status.as_u16() {
            408 | 425 | 429 => true,
            503 => after_secs.is_some(),
            _ => false,
        };
        match (is_turned_away, status.is_server_error(), repeat) {
            (true, ..) | (_, true, Repeat::Harmless) => DeliveryError::Later { what, after_secs },
            (false, true, Repeat::Doubles) => DeliveryError::Unclear { what },
            (false, false, _) => DeliveryError::Never { what },
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

/// A call that got no answer. Where there was no connection nothing was sent; else it may have been done.
pub(super) fn lost(host: &str, error: &reqwest::Error, repeat: Repeat) -> DeliveryError {
    let how = if error.is_connect() {
        "cannot connect to"
    } else if error.is_timeout() {
        "no answer in time from"
    } else {
        "the connection broke to"
    };
    let words = and_causes(format!("{how} {host}"), error);
    let never_left = error.is_connect() || error.is_builder();
    let repeat = if never_left { Repeat::Harmless } else { repeat };
    unknown(clean(&words), repeat)
}

const fn unknown(what: String, repeat: Repeat) -> DeliveryError {
    match repeat {
        Repeat::Doubles => DeliveryError::Unclear { what },
        Repeat::Harmless => DeliveryError::Later {
            what,
            after_secs: None,
        },
    }
}

/// A stranger's words, short, on one line and redacted.
pub(crate) fn clean(words: &str) -> String {
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

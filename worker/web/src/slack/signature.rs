//! Checks signatures of Slack: `v0=` and the HMAC-SHA256 of `v0:{timestamp}:{body}` in hex
//! (<https://docs.slack.dev/authentication/verifying-requests-from-slack>), over the raw body.

use axum::http::HeaderMap;
use chrono::{DateTime, Utc};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::access::single_header;

const SIGNATURE: &str = "x-slack-signature";
const TIMESTAMP: &str = "x-slack-request-timestamp";
/// Maximum difference between Slack's clock and this machine's clock, in seconds. Older requests may be replays.
pub(super) const WINDOW_SECS: u64 = 300;

/// A request with signature headers and a current timestamp.
pub(super) struct SlackSignature<'a> {
    timestamp: &'a str,
    at: DateTime<Utc>,
    code: [u8; 32],
}

impl<'a> SlackSignature<'a> {
    /// Reads the headers. Returns `None` when one is missing, repeated or malformed, or when the timestamp is not
    /// current. The body is then not read.
    pub(super) fn from_headers(headers: &'a HeaderMap, now: DateTime<Utc>) -> Option<Self> {
        let timestamp = single_header(headers, TIMESTAMP)?;
        if !timestamp.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let at = DateTime::from_timestamp(timestamp.parse().ok()?, 0)?;
        if now.timestamp().abs_diff(at.timestamp()) > WINDOW_SECS {
            return None;
        }
        let mut code = [0; 32];
        hex::decode_to_slice(
            single_header(headers, SIGNATURE)?.strip_prefix("v0=")?,
            &mut code,
        )
        .ok()?;
        Some(Self {
            timestamp,
            at,
            code,
        })
    }

    /// Returns the signed timestamp, which is the same however often the request is posted.
    pub(super) const fn sent_at(&self) -> DateTime<Utc> {
        self.at
    }

    /// Returns the signature, which no other request has.
    pub(super) const fn code(&self) -> [u8; 32] {
        self.code
    }

    /// Returns whether this secret signed the body. The comparison takes constant time.
    pub(super) fn matches(&self, secret: &str, body: &[u8]) -> bool {
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret.as_bytes()) else {
            return false;
        };
        for part in [b"v0:", self.timestamp.as_bytes(), b":", body] {
            mac.update(part);
        }
        mac.verify_slice(&self.code).is_ok()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Returns headers with a distinct signature.
    pub(in super::super) fn headers(number: usize, at: DateTime<Utc>) -> HeaderMap {
        let mut headers = HeaderMap::new();
        let code = format!("v0={number:064x}");
        headers.insert(SIGNATURE, code.parse().unwrap());
        headers.insert(TIMESTAMP, at.timestamp().into());
        headers
    }

    /// The example in Slack's documentation.
    const SECRET: &str = "8f742231b10e8888abcd99yyyzzz85a5";
    const AT: &str = "1531420618";
    const CODE: &str = "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503";
    const BODY: &str = "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow\
        &channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner\
        &command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2F\
        T1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN\
        &trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c";

    fn is_signed(
        pairs: &[(&'static str, &str)],
        body: &str,
        later_secs: i64,
        secret: &str,
    ) -> bool {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, value.parse().unwrap());
        }
        let now = DateTime::from_timestamp(1_531_420_618 + later_secs, 0).unwrap();
        let signed = SlackSignature::from_headers(&headers, now);
        signed.is_some_and(|signed| signed.matches(secret, body.as_bytes()))
    }

    #[test]
    fn slack_documentation_example_is_valid_for_five_minutes() {
        let headers = [(TIMESTAMP, AT), (SIGNATURE, CODE)];
        for later in [0, 300, -300] {
            assert!(is_signed(&headers, BODY, later, SECRET), "{later}");
        }
        for later in [301, -301, i64::from(u32::MAX)] {
            assert!(!is_signed(&headers, BODY, later, SECRET), "{later}");
        }
    }

    #[test]
    fn a_changed_body_time_code_or_secret_is_not() {
        let headers = [(TIMESTAMP, AT), (SIGNATURE, CODE)];
        assert!(!is_signed(
            &headers,
            &BODY.replace("roadrunner", "coyote"),
            0,
            SECRET
        ));
        assert!(!is_signed(
            &headers,
            BODY,
            0,
            "8f742231b10e8888abcd99yyyzzz85a6"
        ));
        let other_time = [(TIMESTAMP, "1531420619"), (SIGNATURE, CODE)];
        assert!(!is_signed(&other_time, BODY, 0, SECRET));
        for code in [
            "",
            "v0=",
            "v0=a2",
            &CODE.to_uppercase(),
            &CODE.replace("v0", "v1"),
            &CODE.replace("a2114d", "a2114e"),
            &format!("{CODE}00"),
            &CODE.replace("a2", "+2"),
        ] {
            assert!(
                !is_signed(&[(TIMESTAMP, AT), (SIGNATURE, code)], BODY, 0, SECRET),
                "{code}"
            );
        }
        for time in [
            "",
            "+1531420618",
            " 1531420618",
            "1531420618.0",
            "99999999999999999999",
        ] {
            assert!(
                !is_signed(&[(TIMESTAMP, time), (SIGNATURE, CODE)], BODY, 0, SECRET),
                "{time}"
            );
        }
    }

    #[test]
    fn a_header_is_there_once() {
        assert!(!is_signed(&[(TIMESTAMP, AT)], BODY, 0, SECRET));
        assert!(!is_signed(&[(SIGNATURE, CODE)], BODY, 0, SECRET));
        let twice = [(TIMESTAMP, AT), (SIGNATURE, CODE), (SIGNATURE, CODE)];
        assert!(!is_signed(&twice, BODY, 0, SECRET));
    }
}

//! Tests a local receiver: the contents of posts, and the meaning of answers.

use std::sync::Mutex;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, TimeDelta, Utc};
use nightshift_engine::key::KeySource;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::super::trial::read_config;
use super::stub::{STAYS_OPEN, Stub, say};
use super::*;
use crate::fixture;

const SECRET: &str = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

/// A clock that advances a second at each reading.
struct TickingClock(Mutex<DateTime<Utc>>);

impl Clock for TickingClock {
    fn now(&self) -> DateTime<Utc> {
        let mut now = self.0.lock().unwrap();
        *now += TimeDelta::seconds(1);
        *now
    }
}

fn to(url: &str, secret: KeySource) -> WebhookDestination {
    let config = read_config(json!({ "name": "soar", "url": url, "secret": "env:S" }));
    let clock = Arc::new(TickingClock(Mutex::new(fixture::now())));
    WebhookDestination::new(config, secret, clock).unwrap()
}

fn secret() -> KeySource {
    Arc::new(|| Ok(SECRET.into()))
}

/// Computes an HMAC by its definition (RFC 2104), independent of the product code.
fn hmac(key: &[u8], text: &str) -> Vec<u8> {
    let pad = |with: u8| {
        let mut block = [with; 64];
        block.iter_mut().zip(key).for_each(|(to, from)| *to ^= from);
        block
    };
    let inner = Sha256::digest([&pad(0x36), text.as_bytes()].concat());
    Sha256::digest([&pad(0x5c)[..], &inner].concat()).to_vec()
}

/// Returns the error after one answer, and its message.
async fn error_of(answer: String) -> (DeliveryError, String) {
    let stub = Stub::start(vec![answer]).await;
    let report = fixture::true_positive();
    let to = to(&stub.url, secret());
    let error = to
        .deliver(&DeliveryPayload::new(report.clone()))
        .await
        .unwrap_err();
    let what = error.to_string();
    assert!(!what.contains("hush") && !what.contains("whsec"), "{what}");
    (error, what)
}

#[tokio::test]
async fn a_post_is_a_signed_cloud_event() {
    let stub = Stub::start(vec![say(202, "", "")]).await;
    let report = fixture::true_positive();
    let sent = to(&stub.url, secret())
        .deliver(&DeliveryPayload::new(report.clone()))
        .await
        .unwrap();
    assert_eq!(sent.remote_id.as_deref(), Some("k3f9-x2mq-7d1w.r1"));
    let [post] = stub.posts().try_into().unwrap();
    assert_eq!(post.line, "POST /hook?key=hush HTTP/1.1");
    assert_eq!(
        post.header("content-type"),
        "application/cloudevents+json; charset=utf-8"
    );
    assert_eq!(post.header("webhook-id"), "k3f9-x2mq-7d1w.r1");
    // The post is one second after 2026-11-20T03:14:00Z.
    assert_eq!(post.header("webhook-timestamp"), "1795144441");
    let key = STANDARD
        .decode(SECRET.trim_start_matches("whsec_"))
        .unwrap();
    let signed = format!("k3f9-x2mq-7d1w.r1.1795144441.{}", post.body);
    assert_eq!(
        post.header("webhook-signature"),
        format!("v1,{}", STANDARD.encode(hmac(&key, &signed)))
    );
    let event: Value = serde_json::from_str(&post.body).unwrap();
    assert_eq!(event["id"], post.header("webhook-id"));
    assert_eq!(event["subject"], "k3f9-x2mq-7d1w");
    // The event has the time of the report, not of the post.
    assert_eq!(event["time"], "2026-11-20T03:14:00Z");
    assert_eq!(event["data"], serde_json::to_value(&report).unwrap());
}

#[tokio::test]
async fn f26_receiver_that_hung_up_recognises_the_second_post() {
    let stub = Stub::start(vec![String::new(), say(200, "", "")]).await;
    let to = to(&stub.url, secret());
    let report = fixture::true_positive();
    let error = to
        .deliver(&DeliveryPayload::new(report.clone()))
        .await
        .unwrap_err();
    assert!(
        matches!(error, DeliveryError::Transient { .. }),
        "{error:?}"
    );
    assert!(!error.to_string().contains("hush"), "{error}");
    to.deliver(&DeliveryPayload::new(report.clone()))
        .await
        .unwrap();
    let [first, second] = stub.posts().try_into().unwrap();
    assert_eq!(first.header("webhook-id"), second.header("webhook-id"));
    assert_eq!(first.body, second.body);
    // Each post has its own time, which is signed.
    for differs in ["webhook-timestamp", "webhook-signature"] {
        assert_ne!(first.header(differs), second.header(differs));
    }
}

#[tokio::test]
async fn f26_killed_at_any_step_every_post_has_the_first_id() {
    let report = fixture::true_positive();
    // The process is killed before the send, after it, or before the record, at each of two processes.
    for killed_after in [0, 1, 2] {
        let mut says = vec![String::new(); killed_after];
        says.push(say(204, "", ""));
        let stub = Stub::start(says).await;
        for _ in 0..killed_after {
            let dies = to(&stub.url, secret());
            dies.deliver(&DeliveryPayload::new(report.clone()))
                .await
                .unwrap_err();
        }
        let next = to(&stub.url, secret());
        next.deliver(&DeliveryPayload::new(report.clone()))
            .await
            .unwrap();
        let posts = stub.posts();
        assert_eq!(posts.len(), killed_after + 1);
        let ids: std::collections::BTreeSet<&str> =
            posts.iter().map(|post| post.header("webhook-id")).collect();
        assert_eq!(ids.len(), 1, "a receiver takes them for one");
    }
}

#[tokio::test]
async fn f33_new_secret_signs_next_post_and_bad_secret_stops_delivery() {
    let stub = Stub::start(vec![say(204, "", "")]).await;
    let now: Arc<Mutex<Result<&str, &str>>> = Arc::new(Mutex::new(Err("/run/key is empty")));
    let source = {
        let now = Arc::clone(&now);
        let read = move || now.lock().unwrap().map(Into::into).map_err(str::to_owned);
        Arc::new(read)
    };
    let to = to(&stub.url, source);
    let report = fixture::true_positive();
    for (secret, says) in [
        (Err("/run/key is empty"), "/run/key is empty"),
        (Ok("hush"), "does not begin with whsec_"),
    ] {
        *now.lock().unwrap() = secret;
        let error = to
            .deliver(&DeliveryPayload::new(report.clone()))
            .await
            .unwrap_err();
        assert!(
            matches!(error, DeliveryError::Transient { .. }),
            "{error:?}"
        );
        let what = error.to_string();
        assert!(
            what.starts_with("[[destination]] \"soar\": `secret`"),
            "{what}"
        );
        assert!(what.contains(says) && !what.contains("hush"), "{what}");
        assert!(to.check_secret().is_err());
    }
    assert!(stub.posts().is_empty());
    *now.lock().unwrap() = Ok(SECRET);
    to.check_secret().unwrap();
    to.deliver(&DeliveryPayload::new(report.clone()))
        .await
        .unwrap();
    assert_eq!(stub.posts().len(), 1);
}

#[tokio::test]
async fn what_passes_is_tried_again_and_what_does_not_is_never() {
    for (status, is_later) in [
        (301, false),
        (307, false),
        (400, false),
        (401, false),
        (404, false),
        (408, true),
        (409, false),
        (410, false),
        (413, false),
        (422, false),
        (425, true),
        (429, true),
        (500, true),
        (502, true),
        (503, true),
        (504, true),
    ] {
        // The redirect leads to another machine and must not be followed.
        let (error, what) = error_of(say(status, "location: http://192.0.2.1/\r\n", "")).await;
        let later = matches!(error, DeliveryError::Transient { .. });
        assert_eq!(later, is_later, "{status}: {what}");
        assert!(what.contains(&status.to_string()), "{what}");
    }
}

#[tokio::test]
async fn a_receiver_says_how_long_it_wants_to_be_left_alone() {
    for (status, after, wanted) in [
        (429, "retry-after: 17\r\n", Some(17)),
        (
            503,
            "retry-after: Fri, 20 Nov 2026 03:15:02 GMT\r\n",
            Some(60),
        ),
        (503, "", None),
    ] {
        let (error, what) = error_of(say(status, after, "")).await;
        let DeliveryError::Transient { after_secs, .. } = error else {
            panic!("{what}");
        };
        assert_eq!(after_secs, wanted, "{what}");
    }
}

#[tokio::test]
async fn what_a_receiver_says_is_short_clean_and_redacted() {
    let body = format!(
        "no\r\n\u{1b}[31m key ghp_0123456789abcdefghijABCDEFGHIJ012345\u{202e} {}",
        "x".repeat(100_000)
    );
    let (error, what) = error_of(say(422, "", &body)).await;
    assert!(matches!(error, DeliveryError::Permanent { .. }));
    assert!(what.chars().count() < 300, "{what}");
    assert!(!what.chars().any(char::is_control), "{what:?}");
    assert!(
        !what.contains("ghp_") && !what.contains('\u{202e}'),
        "{what}"
    );
    let (_, gone) = error_of(say(410, "", "no\nmore")).await;
    insta::assert_snapshot!(gone, @"127.0.0.1 answered 410 Gone (the endpoint is gone: remove it from the routes): no more");
    let (_, moved) = error_of(say(301, "", "")).await;
    insta::assert_snapshot!(moved, @"127.0.0.1 answered 301 Moved Permanently (redirects are not followed: set `url` to where it leads)");
}

#[tokio::test]
async fn an_answer_without_end_is_not_read_to_its_end() {
    let endless = format!(
        "HTTP/1.1 400 X\r\n{STAYS_OPEN}content-length: 999999999999\r\n\r\n{}",
        "y".repeat(8192)
    );
    let read = tokio::time::timeout(Duration::from_secs(10), error_of(endless)).await;
    let (error, what) = read.expect("the rest was waited for");
    assert!(matches!(error, DeliveryError::Permanent { .. }), "{what}");
}

#[tokio::test]
async fn nobody_there_is_tried_again() {
    // Nothing listens on port 1.
    let error = to("http://127.0.0.1:1/hush", secret())
        .deliver(&DeliveryPayload::new(fixture::true_positive()))
        .await
        .unwrap_err();
    assert!(
        matches!(error, DeliveryError::Transient { .. }),
        "{error:?}"
    );
    let what = error.to_string();
    assert!(what.starts_with("cannot connect to 127.0.0.1"), "{what}");
    assert!(!what.contains("hush"), "{what}");
}

#[test]
fn debug_output_holds_neither_secret_nor_path() {
    let shown = format!("{:?}", to("http://127.0.0.1:1/hush", secret()));
    assert_eq!(
        shown,
        "WebhookDestination { name: \"soar\", host: \"127.0.0.1\", .. }"
    );
}

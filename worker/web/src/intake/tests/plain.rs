//! Tests `/v1/alerts` with valid credentials.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use serde_json::json;
use sha2::Sha256;

use super::fixture::{IntakeFixture, SECRET, TOKEN, finding, now, request};
use crate::testing::ask;

/// Returns the headers of a signature made this many seconds ago.
pub(super) fn signed(secret: &str, ago_secs: i64, body: &str) -> Vec<(&'static str, String)> {
    let (id, at) = ("msg_1", now().timestamp() - ago_secs);
    let key = STANDARD
        .decode(secret.trim_start_matches("whsec_"))
        .unwrap();
    let mut mac = Hmac::<Sha256>::new_from_slice(&key).unwrap();
    mac.update(format!("{id}.{at}.{body}").as_bytes());
    let code = STANDARD.encode(mac.finalize().into_bytes());
    vec![
        ("webhook-id", id.to_owned()),
        ("webhook-timestamp", at.to_string()),
        ("webhook-signature", format!("v1a,AAAA v1,{code}")),
    ]
}

pub(super) fn borrowed<'a>(headers: &'a [(&'static str, String)]) -> Vec<(&'a str, &'a str)> {
    headers
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect()
}

#[tokio::test]
async fn g01_accepted_is_said_after_the_commit() {
    let world = IntakeFixture::plain();
    world.inbox.may.forget_permits(usize::MAX);
    let posted = world.send(finding("one").to_string());
    tokio::pin!(posted);
    tokio::select! {
        biased;
        _ = &mut posted => panic!("answered before the commit"),
        () = world.until_asked() => {}
    }
    assert!(futures_util::poll!(posted.as_mut()).is_pending());
    world.inbox.may.add_permits(1);
    let answer = posted.await;
    assert_eq!(
        (answer.status.as_u16(), answer.text.as_str()),
        (200, r#"{"outcome":"accepted"}"#)
    );
    assert_eq!(world.committed(), ["one"]);
    assert_eq!(world.counted("accepted"), 1);
}

#[tokio::test]
async fn an_object_an_array_lines_and_cloud_events_are_all_taken() {
    let world = IntakeFixture::plain();
    let event = |id: &str| json!({"specversion": "1.0", "type": "t", "source": "s", "id": "1", "data": finding(id)});
    let lines = format!("{}\n{}\n", finding("d"), finding("e"));
    for (body, kind) in [
        (finding("a").to_string(), "application/json"),
        (
            json!([finding("b"), finding("c")]).to_string(),
            "application/json",
        ),
        (lines, "application/x-ndjson"),
        (event("f").to_string(), "application/cloudevents+json"),
        (
            json!([event("g"), event("h")]).to_string(),
            "application/cloudevents-batch+json",
        ),
    ] {
        let token = format!("bearer {TOKEN}");
        let headers = [("authorization", token.as_str()), ("content-type", kind)];
        let answer = world.post("/v1/alerts", &headers, body).await;
        assert_eq!(answer.text, r#"{"outcome":"accepted"}"#, "{kind}");
    }
    let mut committed = world.committed();
    committed.sort();
    assert_eq!(committed, ["a", "b", "c", "d", "e", "f", "g", "h"]);
}

#[tokio::test]
async fn a_cloud_event_in_binary_mode_counts_as_one_envelope() {
    // At most three envelopes are opened, including that of the headers.
    let wrapped = |inner: serde_json::Value| json!({"detail-type": "x", "detail": inner});
    let body = wrapped(wrapped(wrapped(finding("deep")))).to_string();
    let world = IntakeFixture::plain();
    let token = format!("Bearer {TOKEN}");
    let plain = [("authorization", token.as_str())];
    let answer = world.post("/v1/alerts", &plain, body.clone()).await;
    assert!(answer.text.contains("accepted"), "{}", answer.text);
    let binary = [
        ("authorization", token.as_str()),
        ("ce-specversion", "1.0"),
        ("ce-type", "t"),
    ];
    let answer = world.post("/v1/alerts", &binary, body).await;
    assert!(answer.text.contains("dead_letter"), "{}", answer.text);
}

#[tokio::test]
async fn a_signature_is_as_good_as_a_token() {
    let world = IntakeFixture::plain();
    let body = finding("signed").to_string();
    for ago in [0, 299, -299] {
        let headers = signed(SECRET, ago, &body);
        let answer = world
            .post("/v1/alerts", &borrowed(&headers), body.clone())
            .await;
        assert_eq!(answer.status, 200, "{}", answer.text);
    }
    assert_eq!(world.committed(), ["signed"; 3]);
}

#[tokio::test]
async fn f33_a_changed_token_counts_at_the_next_request() {
    let world = IntakeFixture::plain();
    let new = "another-token-another-token";
    let old = format!("Bearer {TOKEN}");
    world
        .secrets
        .lock()
        .unwrap()
        .insert("env:TOKEN".to_owned(), new.to_owned());
    let answer = world
        .post("/v1/alerts", &[("authorization", &old)], "{}")
        .await;
    assert_eq!(answer.status, 401);
    let new = format!("Bearer {new}");
    let body = finding("one").to_string();
    let answer = world
        .post("/v1/alerts", &[("authorization", &new)], body)
        .await;
    assert_eq!(answer.status, 200);
}

#[tokio::test]
async fn unreadable_post_is_dead_lettered_and_not_sent_again() {
    let world = IntakeFixture::plain();
    for body in ["no json", "", "{\"a\": 1}"] {
        let answer = world.send(body).await;
        assert_eq!(answer.status, 200);
        assert!(answer.text.contains("\"dead_letter\""), "{}", answer.text);
    }
    assert_eq!(world.committed(), ["unreadable"; 3]);
    assert_eq!(world.kept(), ["no json", "", "{\"a\": 1}"]);
    assert_eq!(world.counted("dead_letter"), 3);
}

#[tokio::test]
async fn a_source_carries_no_other_feed_than_it_may() {
    let world =
        IntakeFixture::new(json!({"name": "in", "tokens": ["env:TOKEN"], "feeds": ["scc"]}));
    let answer = world.send(finding("gd").to_string()).await;
    assert!(answer.text.contains("dead_letter"), "{}", answer.text);
    assert_eq!(world.committed(), ["unreadable"]);
}

#[tokio::test]
async fn posts_that_come_together_are_committed_together() {
    let world = IntakeFixture::plain();
    world.inbox.may.forget_permits(usize::MAX);
    let first = world.send(finding("0").to_string());
    let others = (1..50).map(|n| world.send(finding(&n.to_string()).to_string()));
    let all = futures_util::future::join_all(std::iter::once(first).chain(others));
    tokio::pin!(all);
    tokio::select! {
        biased;
        _ = &mut all => panic!("answered before the commit"),
        () = world.until_asked() => {}
    }
    assert!(futures_util::poll!(all.as_mut()).is_pending());
    world.inbox.may.add_permits(2);
    let answers = all.await;
    assert!(answers.iter().all(|answer| answer.status == 200));
    assert_eq!(world.committed().len(), 50);
    assert!(
        world.inbox.asked.available_permits() <= 1,
        "at most two commits in all"
    );
}

#[tokio::test]
async fn tokens_of_pages_and_of_sources_open_nothing_of_each_other() {
    let world = IntakeFixture::plain();
    // The token of `testing::server`.
    let pages = "Bearer 0123456789abcdef0123456789abcdef";
    let answer = world
        .post("/v1/alerts", &[("authorization", pages)], "{}")
        .await;
    assert_eq!(answer.status, 401);
    let own = format!("Bearer {TOKEN}");
    let mut list = request("/api/v1/cases", &[("authorization", &own)], "");
    *list.method_mut() = axum::http::Method::GET;
    assert_eq!(ask(&world.server, list, "127.0.0.1:9").await.status, 401);
    // A path that no source uses is 404, which only readers of the pages see.
    let answer = world
        .post("/v1/alerts/sns", &[("authorization", &own)], "{}")
        .await;
    assert_eq!(answer.status, 401);
    let answer = world
        .post("/v1/alerts/sns", &[("authorization", pages)], "{}")
        .await;
    assert_eq!(answer.status, 404);
}

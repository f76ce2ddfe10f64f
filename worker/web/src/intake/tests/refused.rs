//! Tests `/v1/alerts` with invalid credentials, and when no message can be accepted.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::body::{Body, Bytes};
use futures_util::{FutureExt as _, StreamExt as _, stream};
use serde_json::json;

use super::fixture::{IntakeFixture, SECRET, TOKEN, finding};
use super::plain::{borrowed, signed};

#[tokio::test]
async fn who_does_not_prove_who_it_is_gets_nothing_in() {
    let world = IntakeFixture::plain();
    let right = format!("Bearer {TOKEN}");
    let other = format!("Bearer {TOKEN}0");
    for headers in [
        vec![],
        vec![("authorization", TOKEN)],
        vec![("authorization", other.as_str())],
        vec![("authorization", "Bearer ")],
        vec![
            ("authorization", right.as_str()),
            ("authorization", right.as_str()),
        ],
        vec![("webhook-signature", "v1,AAAA")],
    ] {
        let body = finding("evil").to_string();
        let answer = world.post("/v1/alerts", &headers, body).await;
        assert_eq!(answer.status, 401, "{headers:?}");
        assert!(answer.headers.contains_key("www-authenticate"));
        assert!(answer.text.starts_with("{\"error\":"), "{}", answer.text);
        assert!(!answer.text.contains(TOKEN));
    }
    assert_eq!(world.committed(), Vec::<String>::new());
}

#[tokio::test]
async fn a07_a_forged_signature_or_an_old_one_counts_for_nothing() {
    let world = IntakeFixture::plain();
    let body = finding("evil").to_string();
    let other = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYY";
    let with = |at: usize, value: &str| {
        let mut headers = signed(SECRET, 0, &body);
        headers[at].1 = value.to_owned();
        headers
    };
    for headers in [
        signed(other, 0, &body),
        signed(SECRET, 0, &finding("good").to_string()),
        // A replay.
        signed(SECRET, 301, &body),
        signed(SECRET, -301, &body),
        with(0, "msg_2"),
        with(1, "1796083201"),
        with(1, "+1796083200"),
        with(1, "now"),
        with(2, "v1,"),
        with(2, "v2,AAAA"),
        [signed(SECRET, 0, &body), signed(SECRET, 0, &body)].concat(),
    ] {
        let answer = world
            .post("/v1/alerts", &borrowed(&headers), body.clone())
            .await;
        assert_eq!(answer.status, 401, "{headers:?}: {}", answer.text);
    }
    assert_eq!(world.committed(), Vec::<String>::new());
}

#[tokio::test]
async fn a17_bodies_are_bounded_and_what_is_cut_off_is_not_taken() {
    let world = IntakeFixture::plain();
    let answer = world.send(vec![b' '; (16 << 20) + 1]).await;
    assert_eq!(answer.status, 413, "{}", answer.text);
    // The length is not declared.
    let chunk = Bytes::from(vec![b' '; 1 << 20]);
    let chunks = (0..17).map(move |_| Ok::<_, std::io::Error>(chunk.clone()));
    let answer = world.send(Body::from_stream(stream::iter(chunks))).await;
    assert_eq!(answer.status, 413, "{}", answer.text);
    let broken = [
        Ok(Bytes::from(finding("cut").to_string())),
        Err(std::io::Error::other("reset")),
    ];
    let answer = world.send(Body::from_stream(stream::iter(broken))).await;
    assert_eq!(answer.status, 400, "{}", answer.text);
    let token = format!("Bearer {TOKEN}");
    let packed = [
        ("authorization", token.as_str()),
        ("content-encoding", "gzip"),
    ];
    assert_eq!(world.post("/v1/alerts", &packed, "x").await.status, 415);
    assert_eq!(world.counted("refused"), 4);
    assert_eq!(world.committed(), Vec::<String>::new());
    // Between the limit for alerts and the limit for bodies, the bytes are kept.
    let large = vec![b' '; (1 << 20) + 1];
    let answer = world.send(large.clone()).await;
    assert!(answer.text.contains("dead_letter"), "{}", answer.text);
    assert_eq!(world.kept()[0].len(), large.len());
}

#[tokio::test]
async fn a_full_inbox_sends_posts_away_to_come_again() {
    let world = IntakeFixture::plain();
    world.room.update(1_000);
    let answer = world.send(finding("one").to_string()).await;
    assert_eq!(answer.status, 503);
    assert_eq!(answer.headers["retry-after"], "10");
    assert_eq!(world.counted("busy"), 1);
    world.room.update(0);
    let answer = world.send(finding("one").to_string()).await;
    assert_eq!(answer.status, 200);
    assert_eq!(world.committed(), ["one"]);
}

#[tokio::test(start_paused = true)]
async fn g01_nothing_is_accepted_while_the_store_is_away() {
    let world = IntakeFixture::plain();
    world.inbox.may.forget_permits(usize::MAX);
    let began = tokio::time::Instant::now();
    let answer = world.send(finding("one").to_string()).await;
    assert_eq!(answer.status, 503);
    assert_eq!(answer.headers["retry-after"], "10");
    assert_eq!(world.counted("busy"), 1, "it is told to come again");
    assert!(began.elapsed() < Duration::from_secs(10));
    // The next two are read meanwhile. The third is still waiting and is dropped with its sender.
    for _ in 0..3 {
        assert_eq!(world.send(finding("two").to_string()).await.status, 503);
    }
    assert_eq!(world.committed(), Vec::<String>::new());
    world.inbox.may.add_permits(100);
    let answer = world.send(finding("three").to_string()).await;
    assert_eq!(answer.status, 200);
    // The running batch is committed all the same; sent again, its message is a sighting.
    assert_eq!(world.committed(), ["one", "two", "two", "three"]);
}

#[tokio::test]
async fn f03_a_worker_that_ends_tells_those_who_wait_to_come_again() {
    let mut world = IntakeFixture::plain();
    world.inbox.may.forget_permits(usize::MAX);
    {
        let server = &world.server;
        let token = format!("Bearer {TOKEN}");
        let request = super::fixture::request(
            "/v1/alerts",
            &[("authorization", &token)],
            finding("one").to_string(),
        );
        let posted = crate::testing::ask(server, request, "127.0.0.1:9");
        tokio::pin!(posted);
        tokio::select! {
            biased;
            _ = &mut posted => panic!("answered before the commit"),
            () = world.until_asked() => {}
        }
        world.stop.cancel();
        assert_eq!(posted.await.status, 503);
    }
    world.end().await;
    let answer = world.send(finding("two").to_string()).await;
    assert_eq!(answer.status, 503);
}

/// Returns an endless body, and a flag that says whether it was read.
fn endless(chunk: Bytes) -> (Body, Arc<AtomicBool>) {
    let is_read = Arc::new(AtomicBool::new(false));
    let noted = Arc::clone(&is_read);
    let first = stream::once(async move {
        noted.store(true, Ordering::Relaxed);
        Ok::<_, std::io::Error>(chunk)
    });
    (Body::from_stream(first.chain(stream::pending())), is_read)
}

#[tokio::test]
async fn what_nobody_can_have_signed_is_refused_unread() {
    let tokens = IntakeFixture::new(json!({"name": "in", "tokens": ["env:TOKEN"]}));
    let both = IntakeFixture::plain();
    let right = signed(SECRET, 0, "");
    let none_that_could_be = [
        right[0].clone(),
        right[1].clone(),
        ("webhook-signature", "v1,AAAA".into()),
    ];
    for (world, headers) in [(&tokens, right.as_slice()), (&both, &none_that_could_be)] {
        let (body, is_read) = endless(Bytes::from_static(b"x"));
        let headers = borrowed(headers);
        let posted = world.post("/v1/alerts", &headers, body);
        assert_eq!(posted.now_or_never().expect("an answer").status, 401);
        assert!(!is_read.load(Ordering::Relaxed));
    }
}

#[tokio::test]
async fn a_flood_of_unproven_bodies_keeps_nobody_out_who_has_a_token() {
    let world = IntakeFixture::plain();
    let headers = signed(SECRET, 0, "");
    let headers = borrowed(&headers);
    let chunk = Bytes::from(vec![b'x'; (16 << 20) - 1]);
    let mut open = Vec::new();
    for _ in 0..9 {
        open.push(Box::pin(world.post(
            "/v1/alerts",
            &headers,
            endless(chunk.clone()).0,
        )));
    }
    let mut statuses = Vec::new();
    for one in &mut open {
        statuses.extend(one.now_or_never().map(|answer| answer.status.as_u16()));
    }
    assert_eq!(statuses, [503; 7]);
    assert_eq!(world.send(finding("one").to_string()).await.status, 200);
    drop(open);
    // After authentication, a signed body counts as authenticated memory.
    world.inbox.may.forget_permits(usize::MAX);
    let large = format!("{}{}", finding("two"), " ".repeat((16 << 20) - 20_000));
    let headers = signed(SECRET, 0, &large);
    let headers = borrowed(&headers);
    let mut waiting = Vec::new();
    for _ in 0..3 {
        let mut posted = Box::pin(world.post("/v1/alerts", &headers, large.clone()));
        assert!((&mut posted).now_or_never().is_none());
        waiting.push(posted);
    }
}

#[tokio::test]
async fn a_flood_of_signed_bodies_keeps_sns_out_of_nothing() {
    let world = IntakeFixture::new(json!({
        "name": "in",
        "signing_secrets": ["env:SECRET"],
        "sns": {"topics": ["arn:aws:sns:eu-west-1:444455556666:alerts"]},
    }));
    let headers = signed(SECRET, 0, "");
    let headers = borrowed(&headers);
    let chunk = Bytes::from(vec![b'x'; (16 << 20) - 1]);
    let mut open = Vec::new();
    for _ in 0..2 {
        let (body, _) = endless(chunk.clone());
        let mut posted = Box::pin(world.post("/v1/alerts", &headers, body));
        assert!((&mut posted).now_or_never().is_none());
        open.push(posted);
    }
    let large = " ".repeat(1 << 20);
    assert_eq!(
        world
            .post("/v1/alerts", &headers, large.clone())
            .await
            .status,
        503
    );
    assert_eq!(
        world.post("/v1/alerts/sns", &[], large).await.status,
        400,
        "it is read"
    );
}

#[tokio::test]
async fn unmatched_secret_is_retryable_while_one_is_unreadable() {
    let world = IntakeFixture::plain();
    let secret = |name: &str| world.secrets.lock().unwrap().remove(name).unwrap();
    let body = finding("one").to_string();
    secret("env:TOKEN");
    let answer = world.send(body.clone()).await;
    assert_eq!(
        (answer.status.as_u16(), &answer.headers["retry-after"]),
        (503, &"10".parse().unwrap())
    );
    // The other endpoint is open.
    let headers = signed(SECRET, 0, &body);
    assert_eq!(
        world
            .post("/v1/alerts", &borrowed(&headers), body.clone())
            .await
            .status,
        200
    );
    secret("env:SECRET");
    assert_eq!(
        world
            .post("/v1/alerts", &borrowed(&headers), body)
            .await
            .status,
        503
    );
}

#[tokio::test(start_paused = true)]
async fn oversized_body_is_drained_so_that_its_sender_gets_the_error() {
    let world = IntakeFixture::plain();
    let (body, is_read) = endless(Bytes::from(vec![b'x'; (16 << 20) + 1]));
    let began = tokio::time::Instant::now();
    assert_eq!(world.send(body).await.status, 413);
    assert!(is_read.load(Ordering::Relaxed) && began.elapsed() <= Duration::from_secs(3));
}

//! Tests refused requests, which are not from Slack or are from people who are not listed.

use futures_util::{FutureExt as _, StreamExt as _, stream};
use nightshift_engine::key::KeySource;

use super::*;
use crate::testing::get;

#[tokio::test]
async fn what_slack_did_not_sign_now_is_told_nothing() {
    let room = SlackFixture::new();
    let body = form(&click("nightshift:ack", VALUE, "U1"));
    let at = now().timestamp();
    let mut tampered = signed(&body, SECRET);
    *tampered.body_mut() = Body::from(body.replace("ack", "close"));
    let mut bare = signed(&body, SECRET);
    bare.headers_mut().remove("x-slack-signature");
    let requests = [
        tampered,
        bare,
        signed(&body, "another-secret-another"),
        signed(&body, ""),
        signed_at(&body, SECRET, at - 301),
        signed_at(&body, SECRET, at + 301),
    ];
    for request in requests {
        let answer = room.send(request).await;
        assert_eq!((answer.status.as_u16(), answer.text.as_str()), (401, ""));
        assert!(!answer.headers.contains_key("www-authenticate"));
    }
    assert!(room.writes() == 0 && room.last_line().is_empty());
    assert_eq!(
        room.send(signed_at(&body, SECRET, at - 300)).await.status,
        200
    );
    assert_eq!(room.writes(), 1);
    assert_eq!(room.shown.refused.load(Ordering::Relaxed), 6);
}

/// Returns an endless body, and the number of bytes that were read.
fn endless(bytes: usize) -> (Body, Arc<AtomicU64>) {
    let read = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&read);
    let chunk = stream::once(async move {
        counted.fetch_add(1, Ordering::Relaxed);
        Ok::<_, std::io::Error>(vec![b'x'; bytes])
    });
    (Body::from_stream(chunk.chain(stream::pending())), read)
}

#[tokio::test]
async fn what_cannot_be_signed_now_is_refused_unread() {
    let room = SlackFixture::new();
    let at = now().timestamp();
    let mut malformed = signed("", SECRET);
    let code = "v0=zz".parse().unwrap();
    malformed.headers_mut().insert("x-slack-signature", code);
    let mut bare = signed("", SECRET);
    bare.headers_mut().remove("x-slack-request-timestamp");
    for mut request in [malformed, bare, signed_at("", SECRET, at - 301)] {
        let (body, read) = endless(1);
        *request.body_mut() = body;
        let answer = room.send(request).now_or_never().expect("an answer");
        assert_eq!(answer.status, 401);
        assert_eq!(read.load(Ordering::Relaxed), 0);
    }
}

#[tokio::test]
async fn bodies_that_nobody_signed_take_no_more_than_their_share() {
    let room = SlackFixture::new();
    let mut open = Vec::new();
    for _ in 0..17 {
        let mut request = signed("", SECRET);
        *request.body_mut() = endless((1 << 20) - 1).0;
        open.push(Box::pin(room.send(request)));
    }
    let mut statuses = Vec::new();
    for one in &mut open {
        statuses.extend(one.now_or_never().map(|answer| answer.status.as_u16()));
    }
    assert_eq!(statuses, [503]);
    drop(open);
    room.post(&click("nightshift:ack", VALUE, "U1")).await;
    assert_eq!(room.writes(), 1);
}

#[tokio::test]
async fn a_secret_that_is_short_empty_or_away_signs_nothing() {
    let body = form(&click("nightshift:ack", VALUE, "U1"));
    let away: KeySource = Arc::new(|| Err("SLACK_SECRET is not set".into()));
    for (text, source) in [("", secret("")), ("short", secret("short")), ("", away)] {
        let store = FakeStore::with_views(vec![view(Some(report()))]);
        let room = SlackFixture::with(
            store,
            FakeSlack::default(),
            vec![desk("soc", "C1", "U1", source)],
        );
        assert_eq!(room.send(signed(&body, text)).await.status, 401);
        assert_eq!(room.writes(), 0);
    }
}

#[tokio::test]
async fn f33_a_changed_secret_counts_at_the_next_click() {
    let current = Arc::new(Mutex::new(SECRET));
    let read = Arc::clone(&current);
    let source: KeySource = Arc::new(move || Ok((*read.lock().unwrap()).into()));
    let store = FakeStore::with_views(vec![view(Some(report()))]);
    let room = SlackFixture::with(
        store,
        FakeSlack::default(),
        vec![desk("soc", "C1", "U1", source)],
    );
    let body = form(&click("nightshift:ack", VALUE, "U1"));
    assert_eq!(room.send(signed(&body, SECRET)).await.status, 200);
    *current.lock().unwrap() = "0123456789abcdef0123456789abcdef";
    assert_eq!(room.send(signed(&body, SECRET)).await.status, 401);
    assert_eq!(
        room.send(signed(&body, "0123456789abcdef0123456789abcdef"))
            .await
            .status,
        200
    );
}

#[tokio::test]
async fn who_is_not_listed_is_told_so_and_changes_nothing() {
    let room = SlackFixture::new();
    for button in ["ack", "agree", "disagree", "rerun", "mute", "close"] {
        for user in ["U2", "u1", "U1 ", "U11", ""] {
            room.post(&click(&format!("nightshift:{button}"), VALUE, user))
                .await;
            assert!(
                room.last_line()
                    .starts_with("You are not among those who may act")
            );
        }
    }
    assert!(room.writes() == 0 && room.shown.views.lock().unwrap().is_empty());
}

#[tokio::test]
async fn of_two_desks_of_one_app_each_has_its_own_people() {
    let desks = || {
        vec![
            desk("soc", "C1", "U1", secret(SECRET)),
            desk("cloud", "C2", "U2", secret(SECRET)),
            desk(
                "other-app",
                "C3",
                "U3",
                secret("fedcba9876543210fedcba9876543210"),
            ),
        ]
    };
    let store = FakeStore::with_views(vec![view(Some(report()))]);
    let room = SlackFixture::with(store, FakeSlack::default(), desks());
    let at = |channel: &str, user: &str| {
        let mut payload = click("nightshift:ack", VALUE, user);
        payload["channel"]["id"] = json!(channel);
        payload
    };
    for (channel, user) in [
        ("C1", "U2"),
        ("C2", "U1"),
        ("C3", "U3"),
        ("C9", "U1"),
        ("", "U1"),
    ] {
        room.post(&at(channel, user)).await;
        assert_eq!(room.writes(), 0, "{user} in {channel}");
    }
    room.post(&at("C2", "U2")).await;
    assert_eq!(room.writes(), 1);
    assert_eq!(room.shown.lines.lock().unwrap().last().unwrap()[0], "cloud");
}

#[tokio::test]
async fn bodies_are_bounded_and_hosts_are_looked_at_here_too() {
    let room = SlackFixture::new();
    let large = format!("payload={}", "x".repeat(1024 * 1024));
    assert_eq!(room.send(signed(&large, SECRET)).await.status, 413);
    // A click on a long message is the largest post of Slack.
    let mut long = click("nightshift:ack", VALUE, "U1");
    long["message"]["blocks"] = json!(["x".repeat(200_000)]);
    assert_eq!(room.post(&long).await.status, 200);
    assert_eq!(room.writes(), 1);
    let mut rebound = signed(&form(&long), SECRET);
    rebound
        .headers_mut()
        .insert("host", "evil.com".parse().unwrap());
    assert_eq!(room.send(rebound).await.status, 403);
    let read = Request::get("/slack/interactions")
        .header("host", "localhost")
        .body(Body::empty());
    assert_eq!(room.send(read.unwrap()).await.status, 405);
}

#[tokio::test]
async fn without_a_desk_there_is_no_such_address() {
    let store = Arc::new(FakeStore::default());
    assert_eq!(get(store, "/slack/interactions").await.status, 404);
    let room = SlackFixture::with(FakeStore::default(), FakeSlack::default(), Vec::new());
    let request = signed(&form(&click("nightshift:ack", VALUE, "U1")), SECRET);
    assert_eq!(
        room.send(request).await.status,
        401,
        "the pages want their token"
    );
}

#[tokio::test]
async fn what_slack_would_not_send_is_a_bad_request() {
    let room = SlackFixture::new();
    for body in [
        "",
        "payload=",
        "payload=%7B",
        "payload=[]",
        "payload=%FF",
        "payload=1&payload=1",
    ] {
        assert_eq!(room.send(signed(body, SECRET)).await.status, 400, "{body}");
    }
    let deep = format!("payload={}", "[".repeat(100_000));
    assert_eq!(room.send(signed(&deep, SECRET)).await.status, 400);
    for kind in ["view_closed", "shortcut", "block_suggestion"] {
        assert_eq!(
            room.post(&json!({ "type": kind })).await.status,
            200,
            "{kind}"
        );
    }
}

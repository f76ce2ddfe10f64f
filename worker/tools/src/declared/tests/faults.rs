//! Tests what every shipped tool makes of a vendor that misbehaves.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::*;

/// Makes a call of each shipped tool against these replies, and passes on outcome and number of requests.
async fn each(
    replies: impl Fn(FakeReply) -> Vec<FakeReply>,
    check: impl Fn(&str, Result<Value, ToolError>, usize),
) {
    for (kind, fixture) in fixtures() {
        let hit = &fixture.cases[0];
        let good = FakeReply::json(hit.status, &hit.body);
        let (outcome, requests) = call(kind, &fixture, &hit.indicator, replies(good)).await;
        check(kind, outcome, requests);
    }
}

fn failed(outcome: Result<Value, ToolError>, wanted: &str, part: &str) {
    let error = outcome.unwrap_err();
    assert_eq!(word(&error), wanted, "{error}");
    assert!(error.to_string().contains(part), "{error} has no {part:?}");
}

#[tokio::test]
async fn refused_keys_are_denials() {
    for status in [401, 403] {
        each(
            |_| vec![FakeReply::json(status, &json!({"error": "no"}))],
            |kind, outcome, requests| {
                failed(outcome, "denied", "refused the key");
                assert_eq!(requests, 1, "{kind}");
            },
        )
        .await;
    }
}

#[tokio::test]
async fn too_many_requests_are_tried_again_only_as_the_vendor_says() {
    let busy = || FakeReply::json(429, &json!({}));
    each(
        |good| vec![busy(), good],
        |kind, outcome, requests| {
            failed(outcome, "unavailable", "too many requests");
            assert_eq!(requests, 1, "{kind}");
        },
    )
    .await;
    each(
        |good| vec![busy().with("retry-after", "0"), good],
        |kind, outcome, requests| {
            assert_eq!(outcome.unwrap()["found"], true, "{kind}");
            assert_eq!(requests, 2, "{kind}");
        },
    )
    .await;
    each(
        |good| vec![busy().with("retry-after", "3600"), good],
        |kind, outcome, requests| {
            failed(outcome, "unavailable", "asks to wait 3600 s");
            assert_eq!(requests, 1, "{kind}");
        },
    )
    .await;
    each(
        |good| {
            let long_ago = "Fri, 20 Nov 2015 12:01:30 GMT";
            vec![busy().with("retry-after", long_ago), good]
        },
        |kind, outcome, _| assert_eq!(outcome.unwrap()["found"], true, "{kind}"),
    )
    .await;
}

#[tokio::test]
async fn failing_servers_are_asked_at_most_twice() {
    for status in [502, 503, 504] {
        each(
            |good| vec![FakeReply::html(status), good],
            |kind, outcome, requests| {
                assert_eq!(outcome.unwrap()["found"], true, "{kind}");
                assert_eq!(requests, 2, "{kind}");
            },
        )
        .await;
        each(
            |_| vec![FakeReply::html(status)],
            |kind, outcome, requests| {
                failed(outcome, "unavailable", &format!("answered {status}"));
                assert_eq!(requests, 2, "{kind}");
            },
        )
        .await;
    }
    each(
        |good| vec![FakeReply::json(500, &json!({})), good],
        |kind, outcome, requests| {
            failed(outcome, "unavailable", "answered 500");
            assert_eq!(requests, 1, "{kind}");
        },
    )
    .await;
}

#[tokio::test]
async fn what_is_not_json_is_no_answer() {
    for status in [200, 404] {
        each(
            |_| vec![FakeReply::html(status)],
            |_, outcome, _| failed(outcome, "unavailable", "text/html"),
        )
        .await;
    }
    let empty = FakeReply {
        status: 200,
        ..FakeReply::default()
    };
    each(
        |_| vec![empty.clone()],
        |_, outcome, _| failed(outcome, "unavailable", "with nothing"),
    )
    .await;
    each(
        |good| {
            let half = good.body.len() / 2;
            let body = good.body[..half].to_vec();
            vec![FakeReply { body, ..good }]
        },
        |_, outcome, _| failed(outcome, "unavailable", "not with JSON"),
    )
    .await;
}

#[tokio::test]
async fn answer_of_another_form_is_an_error_and_no_miss() {
    for body in [
        json!({}),
        json!({"error": "database down"}),
        json!([]),
        json!("x"),
        json!(null),
    ] {
        each(
            |_| vec![FakeReply::json(200, &body)],
            |kind, outcome, _| {
                let error = outcome.expect_err(kind);
                assert_eq!(word(&error), "unavailable", "{kind}: {error}");
            },
        )
        .await;
    }
}

#[tokio::test]
async fn redirect_is_not_followed() {
    each(
        |_| {
            let elsewhere = "http://169.254.169.254/latest/meta-data/";
            vec![FakeReply::html(302).with("location", elsewhere)]
        },
        |kind, outcome, requests| {
            failed(outcome, "unavailable", "is not followed");
            assert_eq!(requests, 1, "{kind}");
        },
    )
    .await;
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[tokio::test]
async fn compressed_answer_is_read() {
    each(
        |good| {
            let body = gzip(&good.body);
            vec![FakeReply { body, ..good }.with("content-encoding", "gzip")]
        },
        |kind, outcome, _| assert_eq!(outcome.unwrap()["found"], true, "{kind}"),
    )
    .await;
}

#[tokio::test]
async fn huge_answers_and_gzip_bombs_are_cut_off() {
    let huge = vec![b' '; 5 * 1024 * 1024];
    let bomb = gzip(&huge);
    assert!(bomb.len() < 64 * 1024, "{}", bomb.len());
    for (body, encoding) in [(huge, "identity"), (bomb, "gzip")] {
        each(
            |good| {
                let body = body.clone();
                vec![FakeReply { body, ..good }.with("content-encoding", encoding)]
            },
            |_, outcome, _| failed(outcome, "unavailable", "nothing of it is used"),
        )
        .await;
    }
}

#[tokio::test]
async fn silent_vendor_is_a_timeout() {
    for (kind, fixture) in fixtures() {
        let silent = FakeReply {
            hangs: true,
            ..FakeReply::default()
        };
        let fake = start(&fixture, vec![silent]).await;
        let config = config(kind, &fake.url, &fixture.key);
        let mut tool = tool_with(&config, &ToolSettings::default());
        tool.timeout = Duration::from_millis(200);
        let indicator = &fixture.cases[0].indicator;
        let tool = Arc::new(tool);
        let outcome = crate::testing::call(&tool, json!({ "indicator": indicator }));
        let error = outcome.await.unwrap_err();
        assert!(
            matches!(error, ToolError::Timeout { .. }),
            "{kind}: {error}"
        );
    }
}

#[tokio::test]
async fn closed_port_is_an_error_without_the_url() {
    for (kind, fixture) in fixtures() {
        // A port that was just free.
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        drop(listener);
        let tool = tool_with(&config(kind, &url, &fixture.key), &ToolSettings::default());
        let indicator = &fixture.cases[0].indicator;
        let tool = Arc::new(tool);
        let outcome = crate::testing::call(&tool, json!({ "indicator": indicator }));
        let error = outcome.await.unwrap_err().to_string();
        assert!(error.contains("cannot connect"), "{kind}: {error}");
        assert!(
            !error.contains(indicator.as_str()) && !error.contains("http://"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn a21_key_that_the_vendor_repeats_is_not_shown() {
    for (kind, fixture) in fixtures().filter(|(_, one)| one.key != KeyPlace::Nowhere) {
        let hit = &fixture.cases[0];
        let body = hit
            .body
            .to_string()
            .replace("hosting", KEY)
            .replace("abuse_ch", KEY);
        let body = body.replace("Some", KEY).replace("mirai", KEY);
        let reply = FakeReply::json(200, &serde_json::from_str(&body).unwrap());
        let (outcome, _) = call(kind, &fixture, &hit.indicator, vec![reply]).await;
        let shown = outcome.unwrap().to_string();
        assert!(!shown.contains(KEY), "{kind}: {shown}");
        let words = format!("Wrong API key: {KEY}");
        let error = json!({
            "message": words, "detail": words, "query_status": words,
            "error": {"message": words}, "errors": [{"detail": words}],
        });
        let reply = FakeReply::json(403, &error);
        let (outcome, _) = call(kind, &fixture, &hit.indicator, vec![reply]).await;
        let error = outcome.unwrap_err().to_string();
        assert!(
            error.contains("Wrong API key") && !error.contains(KEY),
            "{kind}: {error}"
        );
    }
}

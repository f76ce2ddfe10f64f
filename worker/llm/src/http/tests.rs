//! Tests properties of every adapter: bounds, redirects, proxies, private roots, and that no key is shown.

use std::io::ErrorKind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::chat::{ChatFailure, Usage};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpSocket;

use super::testing::{KEY, StubReply, StubServer, connect, error_from, question, read_request};
use crate::{ModelConfig, ModelProvider};

fn config(provider: ModelProvider) -> ModelConfig {
    ModelConfig {
        region: (provider == ModelProvider::Bedrock).then(|| "eu-west-1".to_owned()),
        ..ModelConfig::new(provider, "m")
    }
}

const ALL: [ModelProvider; 4] = [
    ModelProvider::Openai,
    ModelProvider::Anthropic,
    ModelProvider::Gemini,
    ModelProvider::Bedrock,
];

#[tokio::test]
async fn answers_that_are_none_are_told_apart() {
    let long = format!("{{\"x\":\"{}\"}}", "x".repeat(5_000_000));
    for provider in ALL {
        let config = config(provider);
        for (say, failure) in [
            (
                StubReply::text(200, "text/html", &[], "<html>"),
                ChatFailure::Malformed,
            ),
            (
                StubReply::text(200, "application/json", &[], ""),
                ChatFailure::Malformed,
            ),
            (
                StubReply::json(200, &[], &json!({})),
                ChatFailure::Malformed,
            ),
            (
                StubReply::text(200, "application/json", &[], &long),
                ChatFailure::Malformed,
            ),
            (
                StubReply::text(502, "text/html", &[], "<html>bad gateway"),
                ChatFailure::Overloaded { after: None },
            ),
            (
                StubReply::text(503, "text/plain", &[("retry-after", "3")], ""),
                ChatFailure::Overloaded {
                    after: Some(Duration::from_secs(3)),
                },
            ),
            (
                StubReply::text(302, "text/html", &[("location", "http://127.0.0.1:1/")], ""),
                ChatFailure::BadRequest,
            ),
        ] {
            let error = error_from(&config, say.clone()).await;
            assert_eq!(error.failure, failure, "{provider}: {error}");
        }
    }
}

#[tokio::test]
async fn f22_broken_connection_differs_from_an_invalid_answer() {
    let answer = json!({"choices": [], "content": [], "candidates": [], "output": {}});
    let gzip = [("content-encoding", "gzip")];
    for provider in ALL {
        for (say, failure) in [
            (
                StubReply::json(200, &[], &answer).truncate(9),
                ChatFailure::Unreachable,
            ),
            (
                StubReply::text(200, "application/json", &gzip, "this is no gzip"),
                match provider {
                    // The SDK sees only a transport error.
                    ModelProvider::Bedrock => ChatFailure::Unreachable,
                    _ => ChatFailure::Malformed,
                },
            ),
            (
                StubReply::truncated_events(": and then nothing\n\n"),
                ChatFailure::Unreachable,
            ),
        ] {
            let error = error_from(&config(provider), say).await;
            assert_eq!(error.failure, failure, "{provider}: {error}");
        }
    }
}

const STREAMED: [ModelProvider; 3] = [
    ModelProvider::Openai,
    ModelProvider::Anthropic,
    ModelProvider::Gemini,
];

fn events(all: &[Value]) -> String {
    all.iter()
        .map(|event| format!("data: {event}\n\n"))
        .collect()
}

/// Returns the begin of an answer, its continuation with this text, and its end.
fn stream(provider: ModelProvider, text: &str) -> [String; 3] {
    match provider {
        ModelProvider::Openai => [
            String::new(),
            events(&[json!({"choices": [{"delta": {"content": text}}]})]),
            events(&[json!({"choices": [{"delta": {}, "finish_reason": "stop"}]})]),
        ],
        ModelProvider::Anthropic => {
            let block = json!({"type": "text", "text": ""});
            let delta = json!({"type": "text_delta", "text": text});
            [
                events(&[
                    json!({"type": "message_start", "message": {}}),
                    json!({"type": "content_block_start", "index": 0, "content_block": block}),
                ]),
                events(&[json!({"type": "content_block_delta", "index": 0, "delta": delta})]),
                events(&[json!({"type": "message_stop"})]),
            ]
        }
        _ => {
            let piece = |text: &str| json!({"content": {"parts": [{"text": text}]}});
            let mut last = piece("");
            last["finishReason"] = json!("STOP");
            [
                String::new(),
                events(&[json!({"candidates": [piece(text)]})]),
                events(&[json!({"candidates": [last]})]),
            ]
        }
    }
}

#[tokio::test]
async fn f22_what_came_of_an_answer_that_breaks_off_is_charged() {
    let text = "a word ".repeat(500);
    let came = |error: &Usage| (1_000..1_010).contains(&error.output_tokens);
    for provider in STREAMED {
        let [begin, more, _] = stream(provider, &text);
        let begun = begin + &more;
        for say in [
            StubReply::events(&begun),
            StubReply::truncated_events(&begun),
            StubReply::events(&format!("{begun}data: {{oops\n\n")),
            StubReply::events(&format!("{begun}data: {}", "x".repeat(5_000_000))),
        ] {
            let error = error_from(&config(provider), say).await;
            assert!(came(&error.usage), "{provider}: {error} {:?}", error.usage);
        }
        let error = error_from(&config(provider), StubReply::events(": a word\n\n")).await;
        assert_eq!(error.usage, Usage::default(), "{provider}: {error}");
    }
    for provider in ALL {
        let body = json!({ "text": text });
        let error = error_from(
            &config(provider),
            StubReply::json(200, &[], &body).truncate(9),
        )
        .await;
        assert!(came(&error.usage), "{provider}: {error} {:?}", error.usage);
        let error = error_from(
            &config(provider),
            StubReply::json(503, &[], &body).truncate(9),
        )
        .await;
        assert_eq!(error.usage, Usage::default(), "{provider}: {error}");
        // Far too long: the charge is the answer's limit.
        let body = json!({ "text": "x".repeat(5_000_000) });
        let error = error_from(&config(provider), StubReply::json(200, &[], &body)).await;
        assert_eq!(error.usage.output_tokens, 2_000, "{provider}: {error}");
    }
}

#[tokio::test]
async fn f23_stream_framing_does_not_count_towards_the_answer_limit() {
    let around = format!(": {}\n", "x".repeat(400));
    for provider in STREAMED {
        let [begin, more, end] = stream(provider, "a word ");
        let long = begin + &(around.clone() + &more).repeat(10_000) + &end;
        assert!(long.len() > 4_500_000);
        let stub = StubServer::start(vec![StubReply::events(&long)]).await;
        let model = connect(&ModelConfig {
            base_url: Some(stub.url.clone()),
            ..config(provider)
        });
        let answer = model.chat(&question()).await.unwrap();
        assert_eq!(answer.text().len(), 10_000 * 7, "{provider}");

        let [begin, more, end] = stream(provider, &"x".repeat(1_000_000));
        let many = begin + &more.repeat(5) + &end;
        let [begin, more, end] = stream(provider, &"x".repeat(5_000_000));
        let one = begin + &more + &end;
        let lines = format!("data: {}\n", "x".repeat(1_000)).repeat(5_000);
        for say in [many, one, lines] {
            let error = error_from(&config(provider), StubReply::events(&say)).await;
            assert_eq!(error.failure, ChatFailure::Malformed, "{provider}: {error}");
            assert!(error.message.contains("longer than"), "{provider}: {error}");
        }
    }
    let silent = format!(":{}\n", "x".repeat(1_000_000)).repeat(68);
    let error = error_from(&config(ModelProvider::Openai), StubReply::events(&silent)).await;
    assert_eq!(error.failure, ChatFailure::Malformed, "{error}");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_not_reachable() {
    for provider in ALL {
        let mut config = config(provider);
        config.base_url = Some("http://127.0.0.1:1".to_owned());
        let error = connect(&config).chat(&question()).await.unwrap_err();
        assert_eq!(
            error.failure,
            ChatFailure::Unreachable,
            "{provider}: {error}"
        );
        assert!(!error.message.contains("127.0.0.1:1/"), "{error}");
    }
}

#[tokio::test]
async fn a_server_that_says_nothing_is_waited_for_until_the_deadline() {
    for provider in ALL {
        let stub = StubServer::start(vec![StubReply::silence()]).await;
        let mut config = config(provider);
        config.base_url = Some(stub.url.clone());
        let model = connect(&config);
        let mut request = question();
        request.deadline = tokio::time::Instant::now();
        let error = model.chat(&request).await.unwrap_err();
        assert_eq!(error.failure, ChatFailure::Timeout, "{provider}: {error}");
    }
}

#[tokio::test]
async fn an_answer_that_nobody_waits_for_any_more_is_not_read_on() {
    let pings = "event: ping\ndata: {\"type\": \"ping\"}\n\n".repeat(25_000);
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_send_buffer_size(4_096).unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let model = connect(&ModelConfig {
        base_url: Some(format!("http://{}", listener.local_addr().unwrap())),
        ..config(ModelProvider::Anthropic)
    });
    // No buffer is that large, so the last bytes are written when most are read.
    let say = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        read_request(&mut stream).await;
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(pings.as_bytes()).await.unwrap();
        stream
    };
    let request = question();
    let mut stream = tokio::select! {
        answer = model.chat(&request) => panic!("{answer:?}"),
        stream = say => stream,
    };
    let mut rest = Vec::new();
    // Long before its deadline.
    let ended = tokio::time::timeout(Duration::from_secs(10), stream.read_to_end(&mut rest));
    let ended = ended.await.expect("its connection is closed");
    assert!(ended.is_ok() || ended.is_err_and(|error| error.kind() == ErrorKind::ConnectionReset));
}

#[tokio::test]
async fn a_key_is_read_at_each_request_and_shown_nowhere() {
    for provider in ALL {
        let echo = json!({"error": {"message": format!("bad key {KEY}"), "type": "x"}, "message": format!("bad key {KEY}")});
        let stub = StubServer::start(vec![StubReply::json(401, &[], &echo)]).await;
        let mut config = config(provider);
        config.base_url = Some(stub.url.clone());
        let asked = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&asked);
        let source: nightshift_engine::key::KeySource = Arc::new(move || {
            let turn = counter.fetch_add(1, Ordering::Relaxed);
            Ok(if turn == 0 {
                KEY.into()
            } else {
                "second-key".into()
            })
        });
        let model = crate::connect(&config, Some(source)).unwrap();
        let error = model.chat(&question()).await.unwrap_err();
        assert_eq!(error.failure, ChatFailure::Auth, "{provider}: {error}");
        assert!(!format!("{error:?} {error}").contains(KEY), "{error:?}");
        model.chat(&question()).await.unwrap_err();
        let seen = stub.requests();
        assert!(
            seen[0].head.contains(KEY) && seen[1].head.contains("second-key"),
            "{provider}: {:?}",
            seen[1].head
        );
    }
}

#[tokio::test]
async fn a_key_that_cannot_be_had_is_said_with_its_reason() {
    for provider in ALL {
        let source: nightshift_engine::key::KeySource =
            Arc::new(|| Err("file /run/key is not there".to_owned()));
        let model = crate::connect(&config(provider), Some(source)).unwrap();
        let error = model.chat(&question()).await.unwrap_err();
        assert_eq!(
            (error.failure, error.message.as_str()),
            (ChatFailure::Auth, "no key: file /run/key is not there")
        );
    }
}

#[tokio::test]
async fn requests_go_through_the_proxy_that_is_named() {
    for provider in ALL {
        let proxy = StubServer::start(vec![StubReply::text(503, "text/plain", &[], "")]).await;
        let mut config = config(provider);
        config.base_url = Some("http://models.example.org".to_owned());
        config.allow_private = true;
        config.proxy = Some(proxy.url.clone());
        connect(&config).chat(&question()).await.unwrap_err();
        assert!(
            proxy.requests()[0]
                .path
                .starts_with("http://models.example.org/"),
            "{provider}: {}",
            proxy.requests()[0].path
        );
    }
}

#[test]
fn a_ca_file_that_is_none_is_refused_by_name() {
    let dir = tempfile::tempdir().unwrap();
    let said = Mutex::new(Vec::new());
    for provider in ALL {
        let mut config = config(provider);
        config.ca_file = Some(dir.path().join("missing.pem"));
        said.lock()
            .unwrap()
            .push(crate::connect(&config, None).err().unwrap().to_string());
        let empty = dir.path().join("empty.pem");
        std::fs::write(&empty, "no certificate").unwrap();
        config.ca_file = Some(empty);
        said.lock()
            .unwrap()
            .push(crate::connect(&config, None).err().unwrap().to_string());
    }
    for pair in said.lock().unwrap().chunks(2) {
        assert!(
            pair[0].contains("`ca_file`: cannot read") && pair[0].ends_with("missing.pem"),
            "{}",
            pair[0]
        );
        assert!(pair[1].contains("holds no certificate"), "{}", pair[1]);
    }
}

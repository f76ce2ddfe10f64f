//! Tests the responses, access and headers of every path.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use axum::body::Body;
use axum::http::Request;
use nightshift_pipeline::port::{Message, SettleError, Settlement, Source, SourceError};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::task::JoinSet;

use super::*;
use crate::testing::{FakeStore, ask, get, parts, report, server, view};
use crate::{Readiness, SourceReadiness, TrustedProxy, WebConfig};

fn store() -> Arc<FakeStore> {
    Arc::new(FakeStore::with_views(vec![view(Some(report()))]))
}

fn request(path: &str, headers: &[(&str, &str)]) -> Request<Body> {
    let mut request = Request::get(path).header("host", "localhost:8080");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(Body::empty()).unwrap()
}

#[tokio::test]
async fn every_answer_carries_the_headers_of_a_page_that_runs_nothing() {
    let away = Arc::new(FakeStore {
        is_away: true,
        ..FakeStore::default()
    });
    for (store, path, status) in [
        (store(), "/", 200),
        (store(), "/cases/k3f9", 200),
        (store(), "/cases/none", 404),
        (store(), "/nothing", 404),
        (store(), "/style.css", 200),
        (store(), "/api/v1/cases", 200),
        (store(), "/healthz", 200),
        (store(), "/?status=odd", 400),
        (Arc::clone(&away), "/", 503),
        (away, "/api/v1/cases/k3f9", 503),
    ] {
        let answer = get(store, path).await;
        assert_eq!(answer.status.as_u16(), status, "{path}");
        let header = |name: &str| answer.headers[name].to_str().unwrap().to_owned();
        let policy = header("content-security-policy");
        assert!(
            policy.starts_with("default-src 'none';") && policy.contains("frame-ancestors 'none'")
        );
        assert!(!policy.contains("unsafe") && !policy.contains("script"));
        assert_eq!(header("x-content-type-options"), "nosniff");
        assert_eq!(header("referrer-policy"), "no-referrer");
        assert_eq!(header("cache-control"), "no-store");
        assert!(
            !answer.text.contains("10.0.0.5"),
            "an address of ours: {}",
            answer.text
        );
    }
}

#[tokio::test]
async fn other_hosts_and_other_sites_are_refused_on_every_path() {
    let server = server(&WebConfig::default(), store());
    for path in [
        "/",
        "/cases/k3f9",
        "/healthz",
        "/readyz",
        "/metrics",
        "/nothing",
    ] {
        let rebound = Request::get(path)
            .header("host", "evil.com")
            .body(Body::empty());
        assert_eq!(
            ask(&server, rebound.unwrap(), "127.0.0.1:9").await.status,
            403,
            "{path}"
        );
        let foreign = request(path, &[("origin", "https://evil.com")]);
        assert_eq!(
            ask(&server, foreign, "127.0.0.1:9").await.status,
            403,
            "{path}"
        );
    }
}

#[tokio::test]
async fn who_may_not_read_learns_nothing_but_that() {
    let config = WebConfig {
        listen: "0.0.0.0:8080".into(),
        tokens: vec!["env:TOKEN".into()],
        trusted_proxies: vec![TrustedProxy {
            header: "x-forwarded-user".into(),
            networks: vec!["10.9.0.0/16".into()],
        }],
        ..WebConfig::default()
    };
    let server = server(&config, store());
    let token = ("authorization", "Bearer 0123456789abcdef0123456789abcdef");
    let user = ("x-forwarded-user", "ana");
    for path in [
        "/",
        "/cases/k3f9",
        "/cases/none",
        "/api/v1/cases",
        "/metrics",
        "/style.css",
        "/nothing",
    ] {
        let shut = ask(&server, request(path, &[]), "10.9.0.1:9").await;
        assert_eq!(shut.status, 401, "{path}");
        assert_eq!(
            shut.headers["www-authenticate"],
            "Bearer realm=\"nightshift\""
        );
        assert_eq!(
            ask(&server, request(path, &[user]), "10.8.0.1:9")
                .await
                .status,
            401,
            "{path}"
        );
        assert_ne!(
            ask(&server, request(path, &[user]), "10.9.0.1:9")
                .await
                .status,
            401,
            "{path}"
        );
        assert_ne!(
            ask(&server, request(path, &[token]), "10.8.0.1:9")
                .await
                .status,
            401,
            "{path}"
        );
    }
    for path in ["/healthz", "/readyz"] {
        assert_eq!(
            ask(&server, request(path, &[]), "10.8.0.1:9").await.status,
            200,
            "{path}"
        );
    }
}

#[tokio::test]
async fn only_reading_is_answered() {
    let server = server(&WebConfig::default(), store());
    for method in ["POST", "PUT", "DELETE", "PATCH"] {
        let request = Request::builder()
            .method(method)
            .uri("/cases/k3f9")
            .header("host", "localhost")
            .body(Body::empty());
        assert_eq!(
            ask(&server, request.unwrap(), "127.0.0.1:9").await.status,
            405,
            "{method}"
        );
    }
}

#[tokio::test]
async fn readiness_tells_a_line_per_part_and_health_does_not_ask_them() {
    struct SlowSource;

    #[async_trait]
    impl Readiness for SlowSource {
        fn name(&self) -> &'static str {
            "source gd"
        }

        async fn ready(&self) -> Result<(), String> {
            std::future::pending().await
        }
    }

    let answer = get(store(), "/readyz").await;
    assert_eq!(
        (answer.status.as_u16(), answer.text.as_str()),
        (200, "store: ready\n")
    );
    let away = Arc::new(FakeStore {
        is_away: true,
        ..FakeStore::default()
    });
    assert_eq!(get(Arc::clone(&away), "/healthz").await.text, "ok\n");
    tokio::time::pause();
    let mut parts = parts(away);
    parts.readiness.push(Arc::new(SlowSource));
    let options = WebConfig::default().options(|_| Ok("".into())).unwrap();
    let server = Server::new(options, parts).unwrap();
    let answer = ask(&server, request("/readyz", &[]), "127.0.0.1:9").await;
    assert_eq!(answer.status, 503);
    assert_eq!(
        answer.text,
        "store: not ready: the store failed to read cases\nsource gd: not ready: no answer within 2 s\n"
    );
}

#[tokio::test]
async fn store_without_room_is_not_ready() {
    let full = FakeStore {
        is_full: true,
        ..FakeStore::default()
    };
    let answer = get(Arc::new(full), "/readyz").await;
    assert_eq!(answer.status, 503);
    assert_eq!(answer.text, "store: not ready: its disk is full\n");
}

#[tokio::test]
async fn store_behind_a_wrong_pooler_is_not_ready() {
    let pooled = FakeStore {
        connection_problem: Some("a pooler is in between"),
        ..FakeStore::default()
    };
    let answer = get(Arc::new(pooled), "/readyz").await;
    assert_eq!(answer.status, 503);
    assert_eq!(answer.text, "store: not ready: a pooler is in between\n");
}

/// A queue that is reachable or not.
struct FakeSource(AtomicBool);

#[async_trait]
impl Source for FakeSource {
    fn name(&self) -> &'static str {
        "siem"
    }

    async fn receive(&self, _: usize) -> Result<Option<Vec<Message>>, SourceError> {
        std::future::pending().await
    }

    async fn settle(&self, _: &[Settlement]) -> Vec<SettleError> {
        Vec::new()
    }

    fn ready(&self) -> Result<(), String> {
        let is_there = self.0.load(Ordering::Relaxed);
        is_there.then_some(()).ok_or_else(|| "10.0.0.5".to_owned())
    }
}

#[tokio::test]
async fn source_is_awaited_until_first_ready_and_its_loss_is_reported() {
    let queue = Arc::new(FakeSource(AtomicBool::new(false)));
    let mut parts = parts(store());
    parts
        .readiness
        .push(Arc::new(SourceReadiness::new(queue.clone())));
    let options = WebConfig::default().options(|_| Ok("".into())).unwrap();
    let server = Server::new(options, parts).unwrap();
    for (is_there, status, told) in [
        (
            false,
            503,
            "not ready: no messages can come; the log says why",
        ),
        (true, 200, "ready"),
        (false, 200, "away: no messages can come; the log says why"),
    ] {
        queue.0.store(is_there, Ordering::Relaxed);
        let answer = ask(&server, request("/readyz", &[]), "127.0.0.1:9").await;
        assert_eq!(answer.status.as_u16(), status);
        assert_eq!(answer.text, format!("store: ready\nsiem: {told}\n"));
    }
}

#[tokio::test]
async fn known_source_is_not_awaited_again_after_a_reload() {
    let queue = Arc::new(FakeSource(AtomicBool::new(true)));
    let first = Arc::new(SourceReadiness::new(queue.clone()));
    assert!(first.ready().await.is_ok());
    let away = Arc::new(FakeSource(AtomicBool::new(false)));
    let status = async |source: SourceReadiness| {
        let mut parts = parts(store());
        parts.readiness.push(Arc::new(source));
        let options = WebConfig::default().options(|_| Ok("".into())).unwrap();
        let server = Server::new(options, parts).unwrap();
        let answer = ask(&server, request("/readyz", &[]), "127.0.0.1:9").await;
        answer.status.as_u16()
    };
    let second = Arc::new(SourceReadiness::carry_over(away.clone(), &[first]));
    assert!(!second.is_required());
    let third = SourceReadiness::carry_over(away.clone(), &[second]);
    assert_eq!(status(third).await, 200, "after two of them, too");
    let another = SourceReadiness::carry_over(away, &[]);
    assert_eq!(status(another).await, 503, "nobody has read this one yet");
}

#[tokio::test]
async fn metrics_are_beside_the_pages_or_on_an_address_of_their_own() {
    assert_eq!(get(store(), "/metrics").await.text, "figures 0\n");
    let config = WebConfig {
        metrics_listen: "127.0.0.1:0".into(),
        ..WebConfig::default()
    };
    let server = server(&config, store());
    assert_eq!(
        ask(&server, request("/metrics", &[]), "127.0.0.1:9")
            .await
            .status,
        404
    );
}

#[tokio::test]
async fn over_a_real_socket_it_answers_and_stops_when_told() {
    let config = WebConfig {
        listen: "127.0.0.1:0".into(),
        metrics_listen: "127.0.0.1:0".into(),
        ..WebConfig::default()
    };
    let bound = server(&config, store()).bind().await.unwrap();
    let stop = CancellationToken::new();
    let (doors, serving) = bound.open(&stop).await;
    let (pages, metrics) = (doors.address().unwrap(), doors.metrics_address().unwrap());
    let mut tasks: tokio::task::JoinSet<_> = serving.into_iter().collect();
    for (address, path, words) in [
        (pages, "/cases/k3f9", "Crypto miner"),
        (metrics, "/metrics", "figures"),
        (metrics, "/readyz", "store: ready"),
    ] {
        let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(
            answer.starts_with("HTTP/1.1 200 OK") && answer.contains(words),
            "{answer}"
        );
    }
    stop.cancel();
    while let Some(ended) = tasks.join_next().await {
        ended.unwrap();
    }
    let taken = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let config = WebConfig {
        listen: taken.local_addr().unwrap().to_string(),
        ..WebConfig::default()
    };
    let told = server(&config, store())
        .bind()
        .await
        .err()
        .unwrap()
        .to_string();
    assert!(told.starts_with("cannot listen on 127.0.0.1:"), "{told}");
}

async fn free_port() -> u16 {
    let free = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    free.local_addr().unwrap().port()
}

/// Returns a configuration with a separate address for metrics.
fn metrics_at(host: &str, port: u16) -> WebConfig {
    WebConfig {
        listen: "127.0.0.1:0".into(),
        metrics_listen: format!("{host}:{port}"),
        ..WebConfig::default()
    }
}

/// Servers that replace one another, each with an address separate from the pages.
#[derive(Default)]
struct TakeoverFixture {
    doors: Listeners,
    tasks: JoinSet<()>,
    stop: CancellationToken,
}

impl TakeoverFixture {
    async fn beginning(config: &WebConfig) -> Self {
        let mut row = Self::default();
        row.take_over(config).await;
        row
    }

    async fn take_over(&mut self, config: &WebConfig) {
        let next = server(config, store()).bind_replacing(&self.doors).await;
        self.doors.hand_over().await;
        let (doors, serving) = next.unwrap().open(&self.stop).await;
        self.doors = doors;
        self.tasks.extend(serving);
    }

    /// Returns status and lines of the readiness page.
    async fn ready(&self) -> (u16, String) {
        let pages = self.doors.address().unwrap();
        let answer = reqwest::get(format!("http://{pages}/readyz")).await;
        let answer = answer.unwrap();
        (answer.status().as_u16(), answer.text().await.unwrap())
    }

    async fn ends(mut self) {
        self.stop.cancel();
        while let Some(ended) = self.tasks.join_next().await {
            ended.unwrap();
        }
    }
}

async fn is_reached(port: u16) -> bool {
    let reached = tokio::net::TcpStream::connect(("127.0.0.1", port)).await;
    reached.is_ok()
}

#[tokio::test]
async fn wildcard_address_is_bound_once_the_previous_one_is_closed() {
    let port = free_port().await;
    let mut row = TakeoverFixture::beginning(&metrics_at("127.0.0.1", port)).await;
    row.take_over(&metrics_at("0.0.0.0", port)).await;
    let metrics = row.doors.metrics_address().unwrap();
    assert_eq!(metrics.to_string(), format!("0.0.0.0:{port}"));
    assert!(is_reached(port).await);
    row.ends().await;
}

#[tokio::test]
async fn foreign_address_is_refused_before_any_listener_is_closed() {
    let port = free_port().await;
    let row = TakeoverFixture::beginning(&metrics_at("0.0.0.0", port)).await;
    // This address is for documentation (RFC 5737) and belongs to no machine.
    let next = server(&metrics_at("192.0.2.7", port), store());
    let refused = next.bind_replacing(&row.doors).await;
    let error = refused.map(drop).unwrap_err().to_string();
    assert!(error.contains(&format!("192.0.2.7:{port}")), "{error}");
    assert!(is_reached(port).await);
    row.ends().await;
}

#[tokio::test]
async fn partly_occupied_address_is_bound_once_it_is_free() {
    let posts_at = |host: &str, port| WebConfig {
        listen: "127.0.0.1:0".into(),
        intake_listen: format!("{host}:{port}"),
        ..WebConfig::default()
    };
    type ConfigAt<'a> = &'a dyn Fn(&str, u16) -> WebConfig;
    for (at, status, line) in [
        (
            &posts_at as ConfigAt<'_>,
            503,
            "intake_listen: not ready: nobody can listen there",
        ),
        (
            &metrics_at,
            200,
            "metrics_listen: away: nobody can listen there",
        ),
    ] {
        let port = free_port().await;
        let others = std::net::TcpListener::bind(("127.0.0.2", port)).unwrap();
        let mut row = TakeoverFixture::beginning(&at("127.0.0.1", port)).await;
        row.take_over(&at("0.0.0.0", port)).await;
        let told = row.ready().await;
        assert!(told.0 == status && told.1.contains(line), "{told:?}");
        let address = |row: &TakeoverFixture| match status {
            503 => row.doors.intake_address(),
            _ => row.doors.metrics_address(),
        };
        assert_eq!(address(&row), None);
        assert!(!is_reached(port).await);
        drop(others);
        tokio::time::pause();
        for _ in 0..60 {
            tokio::time::advance(Duration::from_secs(1)).await;
            tokio::task::yield_now().await;
        }
        tokio::time::resume();
        assert!(is_reached(port).await && address(&row).is_some());
        assert_eq!(row.ready().await, (200, "store: ready\n".to_owned()));
        // A listener that was bound late is closed like any other.
        row.take_over(&at("127.0.0.3", port)).await;
        assert!(!is_reached(port).await);
        row.ends().await;
    }
}

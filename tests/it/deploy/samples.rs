//! Tests the script that sends the sample alerts to the queue of compose, against fakes of RabbitMQ's management
//! interface and of Prometheus.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::{Json, State};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::{get, post};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use nightshift_tests::repository_root;
use serde_json::{Value, json};
use tokio::process::Command;
use tokio::task::JoinSet;

#[derive(Clone, Default)]
struct FakeManagementApi {
    queue_requests: Arc<Mutex<u32>>,
    prometheus_requests: Arc<Mutex<u32>>,
    sent: Arc<Mutex<Vec<Value>>>,
}

/// A password that must be escaped in a URL.
const PASSWORD: &str = "p/w@#? %";

fn is_let_in(headers: &HeaderMap) {
    let said = headers["authorization"].to_str().unwrap();
    let wanted = STANDARD.encode(format!("nightshift:{PASSWORD}"));
    assert_eq!(said, format!("Basic {wanted}"));
}

/// Reports the queue from the second request on, as if the worker had just created it.
async fn queue(State(broker): State<FakeManagementApi>, headers: HeaderMap) -> StatusCode {
    is_let_in(&headers);
    let mut asked = broker.queue_requests.lock().unwrap();
    *asked += 1;
    if *asked > 1 {
        StatusCode::OK
    } else {
        StatusCode::NOT_FOUND
    }
}

/// Reports a scrape of the worker from the second request on; nothing may be sent before.
async fn graphs(State(broker): State<FakeManagementApi>) -> Json<Value> {
    assert!(broker.sent.lock().unwrap().is_empty());
    let mut scraped = broker.prometheus_requests.lock().unwrap();
    *scraped += 1;
    let result = if *scraped > 1 {
        json!([{"metric": {"outcome": "accepted"}, "value": [1_795_340_348.5, "0"]}])
    } else {
        json!([])
    };
    Json(json!({"status": "success", "data": {"resultType": "vector", "result": result}}))
}

async fn publish(
    State(broker): State<FakeManagementApi>,
    headers: HeaderMap,
    Json(message): Json<Value>,
) -> Json<Value> {
    is_let_in(&headers);
    assert!(
        *broker.prometheus_requests.lock().unwrap() > 1,
        "nobody counted it"
    );
    broker.sent.lock().unwrap().push(message);
    Json(json!({"routed": true}))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requested_number_of_samples_arrives_mostly_as_own_alerts() {
    let broker = FakeManagementApi::default();
    let routes = Router::new()
        .route("/api/queues/%2F/alerts", get(queue))
        .route("/api/exchanges/%2F/amq.default/publish", post(publish))
        .route("/api/v1/query", get(graphs))
        .with_state(broker.clone());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let mut tasks = JoinSet::new();
    tasks.spawn(async move { axum::serve(listener, routes).await });
    let ran = Command::new("sh")
        .arg(repository_root().join("deploy/compose/send.sh"))
        .env("RABBITMQ", format!("http://{address}"))
        .env("RABBITMQ_PASSWORD", PASSWORD)
        .env("PROMETHEUS", format!("http://{address}"))
        .env("QUEUE", "alerts")
        .env("MANY", "25")
        .env("ALERTS", repository_root().join("deploy/demo/alerts"))
        .output()
        .await
        .unwrap();
    assert!(ran.status.success(), "{ran:?}");
    let sent = broker.sent.lock().unwrap();
    assert_eq!(sent.len(), 25);
    assert_eq!(String::from_utf8_lossy(&ran.stderr), "");
    let mut bodies = BTreeSet::new();
    for message in &*sent {
        assert_eq!(message["routing_key"], "alerts");
        assert_eq!(message["payload_encoding"], "base64");
        let payload = message["payload"].as_str().unwrap();
        bodies.insert(STANDARD.decode(payload).unwrap());
    }
    assert!(bodies.len() >= 18, "{}", bodies.len());
    // All bodies except the ones truncated on purpose are still JSON.
    let broken = bodies
        .iter()
        .filter(|body| serde_json::from_slice::<Value>(body).is_err());
    assert!(broken.count() <= 3);
}

//! Implements a trace collector for tests: it receives OTLP over HTTP in protobuf, as strictly as the specification
//! allows, and renders the spans as trees (<https://opentelemetry.io/docs/specs/otlp/#otlphttp>).

#![expect(
    clippy::panic,
    clippy::expect_used,
    reason = "it serves tests, which end with what it found"
)]

mod span;
mod tree;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use parking_lot::Mutex;
use prost::Message as _;
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::task::JoinSet;

pub use span::Span;

/// Longest wait for spans. It only bounds a hang.
const WAIT_TIMEOUT: Duration = Duration::from_secs(120);

/// A running collector, which stops when dropped.
#[derive(Debug)]
pub struct Collector {
    address: SocketAddr,
    state: Arc<CollectorState>,
    _tasks: JoinSet<std::io::Result<()>>,
}

#[derive(Debug, Default)]
struct CollectorState {
    inner: Mutex<CollectedTraces>,
    received: Notify,
}

#[derive(Debug, Default)]
struct CollectedTraces {
    spans: Vec<Span>,
    bodies: Vec<Vec<u8>>,
    headers: Vec<HeaderMap>,
    faults: Vec<String>,
}

impl Collector {
    /// Starts a collector on a free port of 127.0.0.1.
    ///
    /// # Panics
    ///
    /// Panics when no port is free.
    pub async fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await;
        let listener = listener.expect("a port of this machine");
        let address = listener.local_addr().expect("it has one");
        let got = Arc::new(CollectorState::default());
        let app = Router::new()
            .fallback(receive_traces)
            .layer(axum::extract::DefaultBodyLimit::max(32 << 20))
            .with_state(Arc::clone(&got));
        let mut tasks = JoinSet::new();
        tasks.spawn(async move { axum::serve(listener, app).await });
        Self {
            address,
            state: got,
            _tasks: tasks,
        }
    }

    /// Returns its address, as `OTEL_EXPORTER_OTLP_ENDPOINT` wants it.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the configuration table that exports to this collector.
    #[must_use]
    pub fn config_table(&self, rest: &str) -> String {
        let endpoint = format!("{}/v1/traces", self.base_url());
        format!("[traces]\nendpoint = \"{endpoint}\"\n{rest}\n")
    }

    /// Waits until `many` spans of this name have arrived, and returns all spans.
    ///
    /// # Panics
    ///
    /// Panics when they do not arrive, or when a request was invalid.
    pub async fn wait_for_spans(&self, name: &str, many: usize) -> Vec<Span> {
        let come = async {
            loop {
                let more = self.state.received.notified();
                let spans = self.spans();
                if spans.iter().filter(|span| span.name == name).count() >= many {
                    return spans;
                }
                more.await;
            }
        };
        match tokio::time::timeout(WAIT_TIMEOUT, come).await {
            Ok(spans) => spans,
            Err(_) => panic!("{many} × {name:?} did not come: {:#?}", self.spans()),
        }
    }

    /// Returns all spans so far.
    ///
    /// # Panics
    ///
    /// Panics when a request was invalid.
    #[must_use]
    pub fn spans(&self) -> Vec<Span> {
        let inner = self.lock();
        assert!(inner.faults.is_empty(), "{:#?}", inner.faults);
        inner.spans.clone()
    }

    /// Returns the spans of cases, without those of batches.
    ///
    /// # Panics
    ///
    /// Panics as [`Collector::spans`] does.
    #[must_use]
    pub fn case_spans(&self) -> Vec<Span> {
        let mut spans = self.spans();
        spans.retain(|span| span.attribute("messaging.batch.message_count").is_empty());
        spans
    }

    /// Renders the spans of cases as trees, one trace after the other: name, kind and attributes, without what
    /// differs between runs.
    ///
    /// # Panics
    ///
    /// Panics when a span occurs twice, its parent is missing, or it began before its parent.
    pub fn case_trees(&self) -> String {
        tree::render_trees(&self.case_spans())
    }

    /// Returns everything received as text, to search for what must not be there.
    #[must_use]
    pub fn raw_text(&self) -> String {
        let inner = self.lock();
        let bodies = inner.bodies.iter();
        bodies
            .map(|body| String::from_utf8_lossy(body).into_owned())
            .collect()
    }

    /// Returns the values of a header of all requests.
    #[must_use]
    pub fn header_values(&self, name: &str) -> Vec<String> {
        let inner = self.lock();
        let values = inner.headers.iter().filter_map(|headers| headers.get(name));
        values
            .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
            .collect()
    }

    fn lock(&self) -> parking_lot::MutexGuard<'_, CollectedTraces> {
        self.state.inner.lock()
    }
}

async fn receive_traces(
    State(got): State<Arc<CollectorState>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let read = parse_request(&method, &uri, &headers, &body);
    let mut inner = got.inner.lock();
    let status = match read {
        Ok(spans) => {
            inner.spans.extend(spans);
            inner.bodies.push(body.to_vec());
            inner.headers.push(headers);
            StatusCode::OK
        }
        Err(fault) => {
            inner.faults.push(fault);
            StatusCode::BAD_REQUEST
        }
    };
    drop(inner);
    got.received.notify_waiters();
    let answer = ExportTraceServiceResponse::default().encode_to_vec();
    (status, [("content-type", "application/x-protobuf")], answer).into_response()
}

/// Parses the spans of a request, or returns the fault of the request.
fn parse_request(
    method: &Method,
    uri: &Uri,
    headers: &HeaderMap,
    body: &[u8],
) -> Result<Vec<Span>, String> {
    let kind = headers.get("content-type").map(|value| value.as_bytes());
    if (method, uri.path()) != (&Method::POST, "/v1/traces") {
        return Err(format!("{method} {uri}"));
    }
    if kind != Some(b"application/x-protobuf") || headers.contains_key("content-encoding") {
        return Err(format!("{headers:?}"));
    }
    let request = ExportTraceServiceRequest::decode(body).map_err(|error| error.to_string())?;
    // A field that the parser does not know is missing here.
    if request.encode_to_vec() != body {
        return Err("the body holds more than OTLP knows".to_owned());
    }
    let mut spans = Vec::new();
    for one in request.resource_spans {
        let resource = one.resource.ok_or("no resource")?;
        let resource = span::attributes(&resource.attributes)?;
        if !resource.contains_key("service.name") {
            return Err(format!("no service.name: {resource:?}"));
        }
        for scope in one.scope_spans {
            let name = scope.scope.ok_or("no scope")?.name;
            if name.is_empty() || scope.spans.is_empty() {
                return Err("an empty scope".to_owned());
            }
            for span in &scope.spans {
                spans.push(Span::from_otlp(span).map_err(|fault| format!("{fault}: {span:?}"))?);
            }
        }
    }
    Ok(spans)
}

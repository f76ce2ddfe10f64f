//! Exports to the collector by `opentelemetry-otlp`, with the HTTP client of the rest of the program
//! (<https://opentelemetry.io/docs/specs/otlp/#otlphttp>).

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use nightshift_engine::hosts::is_loopback;
use nightshift_engine::key::{KeyRef, KeySource};
use opentelemetry::KeyValue;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{
    Protocol, RetryPolicy, SpanExporter, WithExportConfig as _, WithHttpConfig as _,
};
use opentelemetry_sdk::Resource;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use reqwest::{Certificate, Client, StatusCode, Url, redirect, retry};
use secrecy::ExposeSecret as _;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use super::export::{LastProblem, PATIENCE};
use crate::config::{TracesConfig, secret_reader, variable};

/// Time limit of a connection, with TLS.
const CONNECT: Duration = Duration::from_secs(5);
/// Time limit of a request.
const WHOLE: Duration = Duration::from_secs(10);
/// Most bytes that are read of an answer.
const MOST_BYTES: usize = 64 << 10;
/// Variables with the time limit of a batch.
const TIMEOUTS: [&str; 2] = [
    "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT",
    "OTEL_EXPORTER_OTLP_TIMEOUT",
];

/// The address and settings of a collector.
pub(super) struct Collector {
    client: Client,
    url: Url,
    headers: Vec<(HeaderName, KeySource)>,
    service_name: String,
}

/// The exporter of a collector.
pub(super) struct CollectorExport {
    pub(super) exporter: SpanExporter,
    /// The resource: `OTEL_RESOURCE_ATTRIBUTES`, name and version of this program.
    pub(super) resource: Resource,
    pub(super) problem: LastProblem,
    /// When cancelled, a batch is tried at most once more.
    pub(super) hurry: CancellationToken,
}

impl Collector {
    /// Returns the collector of this configuration. Relative paths start at `base`.
    pub(super) fn new(config: &TracesConfig, base: &Path) -> Result<Self, String> {
        let url = config.url()?;
        let header = |(name, value): (&String, &KeyRef)| {
            let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
            Some((name, secret_reader(value.location(), base)))
        };
        Ok(Self {
            client: client(config, &url)?,
            headers: config.headers.iter().filter_map(header).collect(),
            service_name: config.service_name.clone(),
            url,
        })
    }

    /// Returns the exporter of the library for this collector. Its requests are made by the current runtime, because the
    /// thread of the batch processor has none.
    pub(super) fn export(self) -> Result<CollectorExport, String> {
        let resource = Resource::builder()
            .with_service_name(self.service_name.clone())
            .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
            .build();
        let retries = RetryPolicy::recommended().with_max_retries(usize::MAX);
        let (problem, hurry) = (LastProblem::default(), CancellationToken::new());
        let endpoint = self.url.to_string();
        let poster = Poster {
            collector: Arc::new(self),
            runtime: Handle::current(),
            problem: problem.clone(),
            hurry: hurry.clone(),
        };
        let mut builder = SpanExporter::builder()
            .with_http()
            .with_http_client(poster)
            .with_endpoint(endpoint)
            .with_protocol(Protocol::HttpBinary)
            .with_retry_policy(retries);
        if TIMEOUTS.iter().all(|name| variable(name).is_none()) {
            builder = builder.with_timeout(PATIENCE);
        }
        let exporter = builder.build();
        Ok(CollectorExport {
            exporter: exporter
                .map_err(|error| format!("[traces]: no exporter can be made: {error}"))?,
            resource,
            problem,
            hurry,
        })
    }

    /// Checks that there is a value for each header, and that it can stand in one.
    pub(super) fn check_headers(&self) -> Result<(), String> {
        self.headers().map(|_| ())
    }

    /// Returns the host of the collector.
    pub(super) fn host(&self) -> &str {
        self.url.host_str().unwrap_or_default()
    }

    /// Reads the configured headers with their current values.
    fn headers(&self) -> Result<HeaderMap, String> {
        let read = |(name, secret): &(HeaderName, KeySource)| {
            let value = secret().and_then(|secret| {
                let value = HeaderValue::from_str(secret.expose_secret().trim());
                value.map_err(|_| "cannot stand in a header".to_owned())
            });
            let mut value =
                value.map_err(|problem| format!("[traces] headers.{name}: {problem}"))?;
            value.set_sensitive(true);
            Ok((name.clone(), value))
        };
        self.headers.iter().map(read).collect()
    }

    /// Sends a request of the library. The configured headers override those that it took from `OTEL_*` variables.
    async fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, String> {
        let mut request = reqwest::Request::try_from(request).map_err(|error| lost(&error))?;
        // A file that is being replaced exists at the next attempt.
        for (name, value) in &self.headers()? {
            request.headers_mut().insert(name, value.clone());
        }
        let mut answer = self
            .client
            .execute(request)
            .await
            .map_err(|error| lost(&error))?;
        let mut response = Response::new(Bytes::new());
        *response.status_mut() = answer.status();
        if let Some(wait) = answer.headers().get(RETRY_AFTER) {
            response.headers_mut().insert(RETRY_AFTER, wait.clone());
        }
        let mut body = Vec::new();
        while let Ok(Some(chunk)) = answer.chunk().await {
            body.extend_from_slice(&chunk);
            if body.len() > MOST_BYTES {
                return Ok(response);
            }
        }
        *response.body_mut() = body.into();
        Ok(response)
    }
}

/// The HTTP client of the library's exporter.
struct Poster {
    collector: Arc<Collector>,
    runtime: Handle,
    problem: LastProblem,
    hurry: CancellationToken,
}

impl fmt::Debug for Poster {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Poster").finish_non_exhaustive()
    }
}

#[async_trait::async_trait]
impl HttpClient for Poster {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let collector = Arc::clone(&self.collector);
        let sent = self
            .runtime
            .spawn(async move { collector.send(request).await });
        let sent = match sent.await {
            Ok(sent) => sent,
            Err(_) => Err("the program ends".to_owned()),
        };
        self.problem.set(match &sent {
            Ok(response) if response.status().is_success() => String::new(),
            Ok(response) => refused(response.status()),
            Err(problem) => problem.clone(),
        });
        match sent {
            Ok(response) if response.status().is_success() => Ok(response),
            // The library retries no other status.
            _ if self.hurry.is_cancelled() => {
                let mut last = Response::new(Bytes::new());
                *last.status_mut() = StatusCode::BAD_REQUEST;
                Ok(last)
            }
            Ok(response) => Ok(response),
            Err(problem) => Err(problem.into()),
        }
    }
}

fn client(config: &TracesConfig, url: &Url) -> Result<Client, String> {
    let mut builder = Client::builder()
        .user_agent(concat!("nightshift/", env!("CARGO_PKG_VERSION")))
        .redirect(redirect::Policy::none())
        .retry(retry::never())
        .referer(false)
        .connect_timeout(CONNECT)
        .timeout(WHOLE);
    if url.host_str().is_some_and(is_loopback) {
        // Requests to this machine bypass the proxy of the environment.
        builder = builder.no_proxy();
    }
    let path = &config.ca_file;
    if !path.as_os_str().is_empty() {
        let bad = |problem: String| format!("[traces] ca_file: {} {problem}", path.display());
        let pem = std::fs::read(path).map_err(|error| bad(format!("cannot be read: {error}")))?;
        let roots = Certificate::from_pem_bundle(&pem).unwrap_or_default();
        if roots.is_empty() {
            return Err(bad("holds no certificate in PEM form".to_owned()));
        }
        builder = builder.tls_certs_merge(roots);
    }
    builder
        .build()
        .map_err(|error| format!("[traces]: no HTTP client can be made: {error}"))
}

/// Describes an error of the client without the address, which may contain a secret.
fn lost(error: &reqwest::Error) -> String {
    let mut what = match () {
        () if error.is_timeout() => "it did not answer in time".to_owned(),
        () if error.is_connect() => "it cannot be reached".to_owned(),
        () => "the connection broke".to_owned(),
    };
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        if inner.source().is_none() {
            what = format!("{what}: {inner}");
        }
        cause = inner.source();
    }
    what
}

fn refused(status: StatusCode) -> String {
    let hint = match status.as_u16() {
        300..=399 => " (redirects are not followed: write where it leads)",
        401 | 403 => " (are the `headers` right?)",
        404 | 405 => " (is the path right? most collectors take /v1/traces)",
        413 => " (is OTEL_BSP_MAX_EXPORT_BATCH_SIZE small enough?)",
        415 => " (it wants something else than binary protobuf)",
        _ => "",
    };
    format!("it said {status}{hint}")
}

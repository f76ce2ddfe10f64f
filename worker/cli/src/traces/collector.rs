//! Posts spans to a collector: OTLP 1.x over HTTP, binary protobuf
//! (<https://opentelemetry.io/docs/specs/otlp/#otlphttp>). Nothing is tried again here.

use std::path::Path;
use std::time::Duration;

use nightshift_engine::is_loopback;
use nightshift_llm::KeyRef;
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::InstrumentationScope;
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use prost::Message as _;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Certificate, Client, StatusCode, Url, redirect, retry};
use secrecy::ExposeSecret as _;

use super::draft::text;
use super::export::Post;
use crate::config::{Secret, Traces, secret_at};

/// Time to get a connection, TLS included.
const CONNECT: Duration = Duration::from_secs(5);
/// Time for a whole post.
const WHOLE: Duration = Duration::from_secs(10);
/// Most of an answer that is read.
const MOST_BYTES: usize = 64 << 10;

/// Where spans go.
pub(super) struct Collector {
    client: Client,
    url: Url,
    headers: Vec<(HeaderName, Secret)>,
    resource: Resource,
}

/// Why spans were not taken.
#[derive(Debug)]
pub(super) struct Problem {
    /// What was seen, without address or secret.
    pub(super) what: String,
    pub(super) then: Then,
}

/// What to do with the same spans then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    /// It may take them later.
    Again,
    /// It may take them in smaller posts.
    Smaller,
    /// It never takes them.
    Lose,
}

impl Collector {
    /// The collector of this configuration; relative paths are taken from `base`.
    pub(super) fn new(config: &Traces, base: &Path) -> Result<Self, String> {
        let url = config.url()?;
        let header = |(name, value): (&String, &KeyRef)| {
            let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
            Some((name, secret_at(value.place(), base)))
        };
        Ok(Self {
            client: client(config, &url)?,
            headers: config.headers.iter().filter_map(header).collect(),
            resource: Resource {
                attributes: vec![
                    text("service.name", &config.service_name),
                    text("service.version", env!("CARGO_PKG_VERSION")),
                ],
                ..Resource::default()
            },
            url,
        })
    }

    /// Whether there is a value for each header, and it can stand in one.
    pub(super) fn check_headers(&self) -> Result<(), String> {
        self.headers().map(|_| ())
    }

    /// The machine that is posted to.
    pub(super) fn host(&self) -> &str {
        self.url.host_str().unwrap_or_default()
    }

    /// The configured headers with their values as they are now.
    fn headers(&self) -> Result<HeaderMap, String> {
        let read = |(name, secret): &(HeaderName, Secret)| {
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

    /// Posts spans, and says how many of them the collector did not want.
    pub(super) async fn post(&self, spans: Vec<Span>) -> Result<u64, Problem> {
        // A file that is just being replaced is there the next time.
        let headers = self.headers().map_err(|what| Problem {
            what,
            then: Then::Again,
        })?;
        let request = self
            .client
            .post(self.url.clone())
            .headers(headers)
            .header(CONTENT_TYPE, "application/x-protobuf")
            .body(self.body(spans));
        let answer = request.send().await.map_err(|error| lost(&error))?;
        let status = answer.status();
        if !status.is_success() {
            return Err(refused(status));
        }
        Ok(rejected(answer).await)
    }

    fn body(&self, spans: Vec<Span>) -> Vec<u8> {
        let resource_spans = match spans.is_empty() {
            true => Vec::new(),
            false => vec![ResourceSpans {
                resource: Some(self.resource.clone()),
                scope_spans: vec![ScopeSpans {
                    scope: Some(InstrumentationScope {
                        name: "nightshift".to_owned(),
                        version: env!("CARGO_PKG_VERSION").to_owned(),
                        ..InstrumentationScope::default()
                    }),
                    spans,
                    ..ScopeSpans::default()
                }],
                ..ResourceSpans::default()
            }],
        };
        ExportTraceServiceRequest { resource_spans }.encode_to_vec()
    }
}

impl Post for Collector {
    fn post(&self, spans: Vec<Span>) -> impl Future<Output = Result<u64, Problem>> + Send {
        Self::post(self, spans)
    }
}

fn client(config: &Traces, url: &Url) -> Result<Client, String> {
    let mut builder = Client::builder()
        .user_agent(concat!("nightshift/", env!("CARGO_PKG_VERSION")))
        .redirect(redirect::Policy::none())
        .retry(retry::never())
        .referer(false)
        .connect_timeout(CONNECT)
        .timeout(WHOLE);
    if url.host_str().is_some_and(is_loopback) {
        // What is meant for this machine is no business of the environment's proxy.
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

/// Errors of the client without its address, which may be a secret.
fn lost(error: &reqwest::Error) -> Problem {
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
    Problem {
        what,
        then: Then::Again,
    }
}

fn refused(status: StatusCode) -> Problem {
    let hint = match status.as_u16() {
        300..=399 => " (redirects are not followed: write where it leads)",
        401 | 403 => " (are the `headers` right?)",
        404 | 405 => " (is the path right? most collectors take /v1/traces)",
        413 => " (it does not take even one span of that size)",
        415 => " (it wants something else than binary protobuf)",
        _ => "",
    };
    Problem {
        what: format!("it said {status}{hint}"),
        then: match status.as_u16() {
            // Those that OTLP names.
            429 | 502 | 503 | 504 => Then::Again,
            413 => Then::Smaller,
            _ => Then::Lose,
        },
    }
}

/// How many spans the collector did not want, as far as it says so.
async fn rejected(mut answer: reqwest::Response) -> u64 {
    let mut body = Vec::new();
    while let Ok(Some(chunk)) = answer.chunk().await {
        body.extend_from_slice(&chunk);
        if body.len() > MOST_BYTES {
            return 0;
        }
    }
    let answer = ExportTraceServiceResponse::decode(body.as_slice()).unwrap_or_default();
    let partial = answer.partial_success.unwrap_or_default();
    u64::try_from(partial.rejected_spans).unwrap_or(0)
}

//! The HTTP server of a fake: it checks a request, asks the script, and sends the reply.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{Query, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt as _, stream};
use serde_json::Value;

use super::cache::tokens;
use super::fault::{self, Outcome};
use super::provider::{Route, route};
use super::record::Record;
use super::wire::{self, Refused, Rendered, Request, Said};
use super::{Answer, Kind, Provider, Reply, Script, Seen, Server, Trouble};

/// State that all requests share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) script: Script,
    pub(super) record: Record,
}

impl Shared {
    /// Returns the server that is imitated on a provider's protocol.
    fn server(&self, provider: Provider) -> Server {
        match provider {
            Provider::OpenAi => self.script.server,
            _ => Server::OpenAi,
        }
    }
}

/// Handles any request.
pub(super) async fn handle(
    State(shared): State<Arc<Shared>>,
    method: Method,
    uri: Uri,
    Query(query): Query<BTreeMap<String, String>>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let Some(route) = route(uri.path()).filter(|_| method == Method::POST) else {
        let message = format!("there is no {method} {}", uri.path());
        let trouble = Trouble::new(Kind::NotFound, message);
        shared.record.refuse(None, &trouble);
        return refusal(wire::refuse(Provider::OpenAi, &trouble, "0"));
    };
    let provider = route.provider;
    let server = shared.server(provider);
    let refuse = |trouble: &Trouble, refused: Refused| {
        shared.record.refuse(Some(provider), trouble);
        refusal(server.word(trouble, refused))
    };
    let worded = |trouble: &Trouble| wire::refuse(provider, trouble, &shared.record.id());
    let mut request = match request(route, &headers, query, &body) {
        Ok(request) => request,
        Err(trouble) => return refuse(&trouble, worded(&trouble)),
    };
    if let Err(refused) = server.admit(&mut request) {
        let trouble = Trouble::new(Kind::BadRequest, refused.body.to_string());
        return refuse(&trouble, refused);
    }
    let mut seen = match wire::check(&request) {
        Ok(seen) => seen,
        Err(trouble) => return refuse(&trouble, worded(&trouble)),
    };
    server.reduce(&mut seen);
    let seen = shared.record.accept(seen, shared.script.remembers);
    let _flying = shared.record.fly();
    tokio::select! {
        biased;
        () = shared.record.stopped() => StatusCode::SERVICE_UNAVAILABLE.into_response(),
        response = answer(&shared, &seen) => response,
    }
}

fn request(
    route: Route,
    headers: &HeaderMap,
    query: BTreeMap<String, String>,
    body: &Bytes,
) -> Result<Request, Trouble> {
    let body: Value = serde_json::from_slice(body).map_err(|_| {
        Trouble::new(
            Kind::BadRequest,
            "We could not parse the JSON body of your request.",
        )
    })?;
    let headers = headers
        .iter()
        .map(|(name, value)| {
            let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
            (name.as_str().to_owned(), value)
        })
        .collect();
    Ok(Request {
        provider: route.provider,
        model: route.model,
        streamed: route.streamed,
        headers,
        query,
        body,
    })
}

async fn answer(shared: &Shared, seen: &Seen) -> Response {
    let id = shared.record.id();
    let Some(reply) = shared.script.reply(seen) else {
        shared.record.ran_out();
        let trouble = Trouble::new(Kind::Internal, "the script of this fake has no answer left");
        return refusal(wire::refuse(seen.provider, &trouble, &id));
    };
    tokio::time::sleep(shared.script.latency_of(&reply)).await;
    let outcome = match reply {
        Reply::Answer(answer) => Outcome::Answer(answer.settle(seen).reasoned(seen)),
        Reply::Fault(fault) => fault::play(&fault, seen),
    };
    match outcome {
        Outcome::Answer(answer) => send(wire::render(&said(shared, seen, &answer, id))),
        Outcome::Trouble(trouble) => {
            let refused = wire::refuse(seen.provider, &trouble, &id);
            refusal(shared.server(seen.provider).word(&trouble, refused))
        }
        Outcome::Hang => {
            shared.record.released().await;
            StatusCode::SERVICE_UNAVAILABLE.into_response()
        }
        Outcome::Html => (
            [(header::CONTENT_TYPE, "text/html")],
            "<html><body><h1>502 Bad Gateway</h1></body></html>",
        )
            .into_response(),
        Outcome::Cut(answer) => {
            let rendered = wire::render(&said(shared, seen, &answer, id));
            // The data must be sent before the connection breaks.
            let broken = stream::once(async {
                tokio::task::yield_now().await;
                Err(std::io::Error::other("cut"))
            });
            begun(rendered, |half| {
                Body::from_stream(
                    stream::once(async { Ok::<_, std::io::Error>(half) }).chain(broken),
                )
            })
        }
        Outcome::Stall(answer) => {
            let rendered = wire::render(&said(shared, seen, &answer, id));
            let released = shared.record.until_released();
            let never = stream::once(async {
                released.await;
                Err(std::io::Error::other("released"))
            });
            begun(rendered, |half| {
                Body::from_stream(
                    stream::once(async { Ok::<_, std::io::Error>(half) }).chain(never),
                )
            })
        }
    }
}

/// Returns an answer with its usage, from the script or counted.
fn said<'a>(shared: &Shared, seen: &'a Seen, answer: &'a Answer, id: String) -> Said<'a> {
    let mut usage = shared.record.usage(seen);
    let thought = answer.thought.as_ref().map_or(0, String::len);
    let text = answer.text.as_ref().map_or(0, String::len);
    let calls: usize = answer
        .calls
        .iter()
        .map(|call| call.name.len() + call.as_text().len())
        .sum();
    usage.reasoning = tokens(thought);
    usage.output = usage.reasoning + tokens(text + calls);
    Said {
        seen,
        answer,
        usage: answer.usage.unwrap_or(usage),
        id,
    }
}

fn send(rendered: Rendered) -> Response {
    match rendered {
        Rendered::Json(body) => axum::Json(body).into_response(),
        Rendered::Events(events) => {
            let chunks = events.into_iter().map(Ok::<_, std::io::Error>);
            events_response(Body::from_stream(stream::iter(chunks)))
        }
    }
}

fn events_response(body: Body) -> Response {
    (
        [(header::CONTENT_TYPE, "text/event-stream; charset=utf-8")],
        body,
    )
        .into_response()
}

/// Returns a response with the first half of an answer and another end.
fn begun(rendered: Rendered, body: impl FnOnce(Bytes) -> Body) -> Response {
    match rendered {
        Rendered::Json(value) => {
            let mut bytes = value.to_string().into_bytes();
            bytes.truncate(bytes.len() / 2);
            let kind = [(header::CONTENT_TYPE, "application/json")];
            (kind, body(bytes.into())).into_response()
        }
        Rendered::Events(mut events) => {
            events.truncate(events.len().div_ceil(2));
            events_response(body(events.concat().into()))
        }
    }
}

fn refusal(refused: Refused) -> Response {
    let status = StatusCode::from_u16(refused.status).unwrap_or(StatusCode::BAD_REQUEST);
    let headers: HashMap<&str, String> = refused.headers.into_iter().collect();
    let mut response = match refused.body {
        Value::String(text) => (status, text).into_response(),
        body => (status, axum::Json(body)).into_response(),
    };
    for (name, value) in headers {
        let parsed = (
            header::HeaderName::try_from(name),
            header::HeaderValue::try_from(value),
        );
        if let (Ok(name), Ok(value)) = parsed {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

//! Implements the HTTP server of a fake: it checks a request, asks the script, and sends the reply.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{Query, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt as _, stream};
use serde_json::Value;

use super::cache::tokens_from_bytes;
use super::fault::{self, Outcome};
use super::provider::{Route, route};
use super::record::RequestRecord;
use super::wire::{self, AnswerContext, ErrorResponse, RenderedBody, Request};
use super::{
    Answer, OpenAiServer, Provider, ProviderError, ProviderErrorKind, RecordedRequest, Reply,
    Script,
};

/// State that all requests share.
#[derive(Debug)]
pub(super) struct ServerState {
    pub(super) script: Script,
    pub(super) record: RequestRecord,
}

impl ServerState {
    /// Returns the server that is imitated on a provider's protocol.
    fn server(&self, provider: Provider) -> OpenAiServer {
        match provider {
            Provider::OpenAi => self.script.server,
            _ => OpenAiServer::OpenAi,
        }
    }
}

/// Handles any request.
pub(super) async fn handle(
    State(shared): State<Arc<ServerState>>,
    method: Method,
    uri: Uri,
    Query(query): Query<BTreeMap<String, String>>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let Some(route) = route(uri.path()).filter(|_| method == Method::POST) else {
        let message = format!("there is no {method} {}", uri.path());
        let trouble = ProviderError::new(ProviderErrorKind::NotFound, message);
        shared.record.refuse(None, &trouble);
        return send_error(wire::error_response(Provider::OpenAi, &trouble, "0"));
    };
    let provider = route.provider;
    let server = shared.server(provider);
    let refuse = |trouble: &ProviderError, refused: ErrorResponse| {
        shared.record.refuse(Some(provider), trouble);
        send_error(server.reword_error(trouble, refused))
    };
    let worded =
        |trouble: &ProviderError| wire::error_response(provider, trouble, &shared.record.id());
    let mut request = match request(route, &headers, query, &body) {
        Ok(request) => request,
        Err(trouble) => return refuse(&trouble, worded(&trouble)),
    };
    if let Err(refused) = server.admit(&mut request) {
        let trouble = ProviderError::new(ProviderErrorKind::BadRequest, refused.body.to_string());
        return refuse(&trouble, refused);
    }
    let mut seen = match wire::check(&request) {
        Ok(seen) => seen,
        Err(trouble) => return refuse(&trouble, worded(&trouble)),
    };
    server.reduce(&mut seen);
    let seen = shared.record.accept(seen, shared.script.remembers);
    let _flying = shared.record.track_in_flight();
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
) -> Result<Request, ProviderError> {
    let body: Value = serde_json::from_slice(body).map_err(|_| {
        ProviderError::new(
            ProviderErrorKind::BadRequest,
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

async fn answer(shared: &ServerState, seen: &RecordedRequest) -> Response {
    let id = shared.record.id();
    let Some(reply) = shared.script.reply(seen) else {
        shared.record.record_shortfall();
        let trouble = ProviderError::new(
            ProviderErrorKind::Internal,
            "the script of this fake has no answer left",
        );
        return send_error(wire::error_response(seen.provider, &trouble, &id));
    };
    tokio::time::sleep(shared.script.latency_of(&reply)).await;
    let outcome = match reply {
        Reply::Answer(answer) => Outcome::Answer(answer.resolve_value(seen).with_reasoning(seen)),
        Reply::Fault(fault) => fault::play(&fault, seen),
    };
    match outcome {
        Outcome::Answer(answer) => send(wire::render(&answer_context(shared, seen, &answer, id))),
        Outcome::Error(trouble) => {
            let refused = wire::error_response(seen.provider, &trouble, &id);
            send_error(shared.server(seen.provider).reword_error(&trouble, refused))
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
            let rendered = wire::render(&answer_context(shared, seen, &answer, id));
            // The data must be sent before the connection breaks.
            let broken = stream::once(async {
                tokio::task::yield_now().await;
                Err(std::io::Error::other("cut"))
            });
            partial_response(rendered, |half| {
                Body::from_stream(
                    stream::once(async { Ok::<_, std::io::Error>(half) }).chain(broken),
                )
            })
        }
        Outcome::Stall(answer) => {
            let rendered = wire::render(&answer_context(shared, seen, &answer, id));
            let released = shared.record.until_released();
            let never = stream::once(async {
                released.await;
                Err(std::io::Error::other("released"))
            });
            partial_response(rendered, |half| {
                Body::from_stream(
                    stream::once(async { Ok::<_, std::io::Error>(half) }).chain(never),
                )
            })
        }
    }
}

/// Returns an answer with its usage, from the script or counted.
fn answer_context<'a>(
    shared: &ServerState,
    seen: &'a RecordedRequest,
    answer: &'a Answer,
    id: String,
) -> AnswerContext<'a> {
    let mut usage = shared.record.usage(seen);
    let thought = answer.thought.as_ref().map_or(0, String::len);
    let text = answer.text.as_ref().map_or(0, String::len);
    let calls: usize = answer
        .calls
        .iter()
        .map(|call| call.name.len() + call.arguments_text().len())
        .sum();
    usage.reasoning = tokens_from_bytes(thought);
    usage.output = usage.reasoning + tokens_from_bytes(text + calls);
    AnswerContext {
        request: seen,
        answer,
        usage: answer.usage.unwrap_or(usage),
        id,
    }
}

fn send(rendered: RenderedBody) -> Response {
    match rendered {
        RenderedBody::Json(body) => axum::Json(body).into_response(),
        RenderedBody::Events(events) => {
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
fn partial_response(rendered: RenderedBody, body: impl FnOnce(Bytes) -> Body) -> Response {
    match rendered {
        RenderedBody::Json(value) => {
            let mut bytes = value.to_string().into_bytes();
            bytes.truncate(bytes.len() / 2);
            let kind = [(header::CONTENT_TYPE, "application/json")];
            (kind, body(bytes.into())).into_response()
        }
        RenderedBody::Events(mut events) => {
            events.truncate(events.len().div_ceil(2));
            events_response(body(events.concat().into()))
        }
    }
}

fn send_error(refused: ErrorResponse) -> Response {
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

//! Implements middleware for every request: checks of hosts and access, security headers, and panics.

use std::any::Any;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{ConnectInfo, Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HOST, REFERRER_POLICY, WWW_AUTHENTICATE,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::access::AccessPolicy;
use crate::hosts::AllowedHosts;
use crate::log_throttle::LogThrottle;

/// No script, frame, image or foreign content; one style sheet and one form, both Nightshift's own.
const CSP: &str = "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Headers of every answer.
const SECURITY_HEADERS: [(HeaderName, &str); 8] = [
    (CONTENT_SECURITY_POLICY, CSP),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (X_FRAME_OPTIONS, "DENY"),
    (REFERRER_POLICY, "no-referrer"),
    (CACHE_CONTROL, "no-store"),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("permissions-policy"),
        "camera=(), geolocation=(), microphone=()",
    ),
];

/// The host check. Machines post to the intake and show refusals to nobody, so those refusals are logged too.
pub(crate) struct HostCheck {
    pub(crate) hosts: AllowedHosts,
    pub(crate) log_throttle: LogThrottle,
}

/// Refuses requests for another host or from another site's page.
pub(crate) async fn check_host(
    State(addressee): State<Arc<HostCheck>>,
    request: Request,
    next: Next,
) -> Response {
    let Err(why) = addressee.hosts.check(request.headers(), request.uri()) else {
        return next.run(request).await;
    };
    if request.method() == Method::POST && addressee.log_throttle.is_due() {
        let host = request.headers().get(HOST);
        tracing::warn!(host = ?host.map(shortened), %why, "post refused");
    }
    (StatusCode::FORBIDDEN, format!("{why}\n")).into_response()
}

/// Shortens a header value to the length of a host name.
fn shortened(value: &HeaderValue) -> String {
    let name = value.as_bytes().get(..255).unwrap_or(value.as_bytes());
    String::from_utf8_lossy(name).into_owned()
}

/// Refuses requests without read access.
pub(crate) async fn check_access(
    State(access): State<Arc<AccessPolicy>>,
    request: Request,
    next: Next,
) -> Response {
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>();
    let peer = peer.map(|ConnectInfo(address)| address.ip());
    if access.admits(request.headers(), peer) {
        return next.run(request).await;
    }
    let told = "who are you? Send `Authorization: Bearer …` with a token of [web] tokens, or come through a proxy of \
                [web] trusted_proxies\n";
    let wanted = HeaderValue::from_static("Bearer realm=\"nightshift\"");
    (StatusCode::UNAUTHORIZED, [(WWW_AUTHENTICATE, wanted)], told).into_response()
}

/// Adds [`SECURITY_HEADERS`] to a response.
pub(crate) async fn add_headers(mut response: Response) -> Response {
    for (name, value) in SECURITY_HEADERS {
        response
            .headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
    response
}

/// Returns the response for a panic, without its message, which may contain data.
pub(crate) fn panic_response(_: Box<dyn Any + Send>) -> Response {
    tracing::error!("request handler panicked");
    let told = "this request could not be answered; the log says more\n";
    (StatusCode::INTERNAL_SERVER_ERROR, told).into_response()
}

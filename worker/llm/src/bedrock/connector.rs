//! Sends the SDK's requests through this crate's HTTP client.

use std::fmt;

use aws_sdk_bedrockruntime::config::SharedHttpClient;
use aws_sdk_bedrockruntime::config::http::{HttpRequest, HttpResponse};
use aws_sdk_bedrockruntime::error::ConnectorError;
use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpConnector, http_client_fn,
};
use aws_smithy_types::body::SdkBody;
use reqwest::{Method, StatusCode};

use crate::http::MAX_ANSWER_BYTES;

/// An answer that broke off, and the number of bytes that arrived.
#[derive(Debug, thiserror::Error)]
pub(super) enum BodyError {
    #[error("the answer is longer than {MAX_ANSWER_BYTES} bytes")]
    TooLong { came: usize },
    #[error("the answer broke off")]
    Interrupted {
        came: usize,
        #[source]
        source: reqwest::Error,
    },
}

/// Returns an HTTP client for the SDK that wraps this one.
pub(super) fn http_client(client: reqwest::Client) -> SharedHttpClient {
    http_client_fn(move |_, _| SharedHttpConnector::new(ReqwestConnector(client.clone())))
}

struct ReqwestConnector(reqwest::Client);

impl fmt::Debug for ReqwestConnector {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Connector")
    }
}

impl HttpConnector for ReqwestConnector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let client = self.0.clone();
        HttpConnectorFuture::new(async move { send(&client, &request).await })
    }
}

async fn send(
    client: &reqwest::Client,
    request: &HttpRequest,
) -> Result<HttpResponse, ConnectorError> {
    let method = Method::from_bytes(request.method().as_bytes())
        .map_err(|error| ConnectorError::user(error.into()))?;
    let mut ours = client.request(method, request.uri());
    for (name, value) in request.headers() {
        ours = ours.header(name, value);
    }
    let body = request.body().bytes().unwrap_or_default().to_vec();
    let mut response = ours.body(body).send().await.map_err(connector_error)?;
    let mut bytes = Vec::new();
    // An error response that breaks off is not a model's answer.
    let came = |bytes: &[u8], status: StatusCode| match status.is_success() {
        true => bytes.len(),
        false => 0,
    };
    loop {
        let chunk = match response.chunk().await {
            Ok(Some(chunk)) => chunk,
            Ok(None) => break,
            Err(error) => {
                let came = came(&bytes, response.status());
                let source = error.without_url();
                return Err(ConnectorError::io(
                    BodyError::Interrupted { came, source }.into(),
                ));
            }
        };
        bytes.extend_from_slice(&chunk);
        if bytes.len() > MAX_ANSWER_BYTES {
            let came = came(&bytes, response.status());
            return Err(ConnectorError::other(
                BodyError::TooLong { came }.into(),
                None,
            ));
        }
    }
    let status = response
        .status()
        .as_u16()
        .try_into()
        .map_err(|_| ConnectorError::other("no such status".into(), None))?;
    let mut theirs = HttpResponse::new(status, SdkBody::from(bytes));
    for (name, value) in response.headers() {
        if let Ok(value) = value.to_str() {
            theirs
                .headers_mut()
                .append(name.as_str().to_owned(), value.to_owned());
        }
    }
    Ok(theirs)
}

fn connector_error(error: reqwest::Error) -> ConnectorError {
    let error = error.without_url();
    if error.is_timeout() {
        ConnectorError::timeout(error.into())
    } else {
        ConnectorError::io(error.into())
    }
}

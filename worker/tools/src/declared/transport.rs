//! Sends requests: one client for each tool, bounded answers, one more try after a transient fault, no redirects.
//!
//! A secret is added to a request when it is sent and to nothing that is shown: errors hold no URL, and where what was
//! read from an answer repeats the secret, it is replaced.

use std::sync::OnceLock;
use std::time::Duration;

use backon::{ConstantBuilder, Retryable as _};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, Utc};
use nightshift_alert::text::{redact, single_line, strip_hidden, truncate};
use nightshift_engine::error_chain::append_error_chain;
use nightshift_engine::key::KeySource;
use nightshift_engine::tool::ToolError;
use reqwest::header::{CONTENT_TYPE, DATE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use reqwest::{Client, Proxy, RequestBuilder, redirect, retry};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value as Json;
use url::Url;

use super::egress::{Endpoint, GuardedResolver, NameLookup};
use super::manifest::{AuthKind, AuthTable};
use super::rate::RateLimits;
use super::request::WrittenRequest;
use crate::tool::unavailable;

/// The time to connect, TLS included.
const CONNECT: Duration = Duration::from_secs(10);
/// The wait before the second try where the service does not say how long.
pub(super) const RETRY_DELAY: Duration = Duration::from_secs(1);
/// The longest wait that a service can ask for before the second try.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(5);
/// Characters of a service's text that an error shows.
const MAX_SHOWN_CHARS: usize = 200;
/// A shorter text is no secret, and would be found in many words.
const SHORTEST_SECRET: usize = 4;
const HIDDEN_SECRET: &str = "[redacted:credential]";

/// An answer, whatever its status.
#[derive(Debug)]
pub(super) struct RawAnswer {
    pub(super) status: u16,
    pub(super) content_type: String,
    pub(super) retry_after: Option<Duration>,
    pub(super) body: Vec<u8>,
}

/// Why a try gave nothing, or nothing yet.
#[derive(Debug)]
enum AttemptError {
    /// The service asks to come again, or says so by its status.
    Busy(RawAnswer),
    /// No connection was made.
    NotConnected(ToolError),
    /// Another try would not help.
    Final(ToolError),
}

/// The authentication of a tool with the sources of its secrets.
pub(super) struct Credentials {
    pub(super) auth: AuthTable,
    pub(super) secret: KeySource,
    pub(super) user: Option<KeySource>,
}

impl Credentials {
    /// Reads the secrets, and returns why one cannot be read.
    pub(super) fn problems(&self) -> Vec<String> {
        let user = self.user.iter().map(|source| ("user", source));
        let all = std::iter::once((self.auth.secret(), &self.secret)).chain(user);
        all.filter_map(|(name, source)| Some(format!("{name}: {}", source().err()?)))
            .collect()
    }
}

/// The secrets of one call.
struct CallSecrets {
    secret: SecretString,
    user: Option<SecretString>,
}

pub(super) struct Transport {
    title: String,
    pub(super) endpoint: Endpoint,
    proxy: Option<Url>,
    lookup: NameLookup,
    client: OnceLock<Result<Client, String>>,
    max_bytes: usize,
    pub(super) retry_delay: Duration,
}

impl Transport {
    pub(super) const fn new(
        title: String,
        endpoint: Endpoint,
        proxy: Option<Url>,
        lookup: NameLookup,
        max_bytes: usize,
    ) -> Self {
        Self {
            title,
            endpoint,
            proxy,
            lookup,
            client: OnceLock::new(),
            max_bytes,
            retry_delay: RETRY_DELAY,
        }
    }

    /// Sends a request, and once more after a transient fault. Returns the answer, whatever its status.
    ///
    /// # Errors
    ///
    /// Fails when there is no key, no connection, no room under the rate, or an answer that breaks off or is too large.
    pub(super) async fn send(
        &self,
        request: &WrittenRequest,
        credentials: Option<&Credentials>,
        rate: &RateLimits,
        now: DateTime<Utc>,
    ) -> Result<(RawAnswer, HiddenSecrets), ToolError> {
        let secrets = credentials.map(|one| self.secrets(one)).transpose()?;
        let once = ConstantBuilder::default()
            .with_delay(self.retry_delay)
            .with_max_times(1);
        let tried = (|| self.attempt(request, credentials.zip(secrets.as_ref()), rate, now))
            .retry(once)
            .when(|error| !matches!(error, AttemptError::Final(_)))
            .adjust(|error, delay| match error {
                AttemptError::Busy(answer) => wait_before_retry(answer, delay?),
                _ => delay,
            })
            .await;
        let answer = match tried {
            Ok(answer) | Err(AttemptError::Busy(answer)) => answer,
            Err(AttemptError::NotConnected(error) | AttemptError::Final(error)) => {
                return Err(error);
            }
        };
        let hidden = secrets.as_ref().map(CallSecrets::hidden);
        Ok((answer, hidden.unwrap_or_default()))
    }

    async fn attempt(
        &self,
        request: &WrittenRequest,
        credentials: Option<(&Credentials, &CallSecrets)>,
        rate: &RateLimits,
        now: DateTime<Utc>,
    ) -> Result<RawAnswer, AttemptError> {
        let _permit = rate.admit(&self.title).await.map_err(AttemptError::Final)?;
        let client = self.client().map_err(AttemptError::Final)?;
        let mut url = request.url.clone();
        if let Some((Credentials { auth, .. }, secrets)) = credentials
            && auth.kind == AuthKind::Query
        {
            let name = auth.name.as_deref().unwrap_or_default();
            let secret = secrets.secret.expose_secret();
            url.query_pairs_mut().append_pair(name, secret);
        }
        let mut builder = client
            .request(request.method.clone(), url)
            .headers(request.headers.clone());
        if let Some(body) = &request.body {
            builder = builder.body(body.clone());
        }
        if let Some((credentials, secrets)) = credentials {
            builder = add_credentials(builder, &credentials.auth, secrets)
                .map_err(|problem| AttemptError::Final(self.denied(&problem)))?;
        }
        let mut response = builder.send().await.map_err(|error| self.lost(error))?;
        let headers = response.headers();
        let content_type = headers.get(CONTENT_TYPE).and_then(|it| it.to_str().ok());
        let mut answer = RawAnswer {
            status: response.status().as_u16(),
            content_type: content_type.unwrap_or_default().to_owned(),
            retry_after: retry_after(headers, now),
            body: Vec::new(),
        };
        // The pieces are already decompressed: a small body that becomes large is cut off as well.
        while let Some(piece) = response.chunk().await.map_err(|error| self.lost(error))? {
            if answer.body.len() + piece.len() > self.max_bytes {
                return Err(AttemptError::Final(unavailable(format!(
                    "{} answered more than {} bytes; nothing of it is used",
                    self.title, self.max_bytes
                ))));
            }
            answer.body.extend_from_slice(&piece);
        }
        if matches!(answer.status, 429 | 502 | 503 | 504) {
            return Err(AttemptError::Busy(answer));
        }
        Ok(answer)
    }

    fn client(&self) -> Result<&Client, ToolError> {
        let built = self.client.get_or_init(|| {
            let proxy = self.proxy.as_ref();
            let resolver = GuardedResolver::new(
                self.endpoint.clone(),
                proxy.and_then(Url::host_str).map(str::to_owned),
                self.lookup.clone(),
            );
            let mut builder = Client::builder()
                .user_agent(concat!("nightshift/", env!("CARGO_PKG_VERSION")))
                .redirect(redirect::Policy::none())
                .retry(retry::never())
                .referer(false)
                .https_only(self.endpoint.url.scheme() == "https")
                .connect_timeout(CONNECT)
                .dns_resolver(resolver)
                .no_proxy();
            if let Some(proxy) = proxy {
                builder = builder.proxy(
                    Proxy::all(proxy.as_str()).map_err(|_| "the proxy is no URL".to_owned())?,
                );
            }
            builder.build().map_err(|error| {
                append_error_chain("cannot make an HTTP client".to_owned(), &error)
            })
        });
        built
            .as_ref()
            .map_err(|problem| unavailable(format!("{}: {problem}", self.title)))
    }

    fn secrets(&self, credentials: &Credentials) -> Result<CallSecrets, ToolError> {
        let read = |name: &str, source: &KeySource| {
            let secret = source().map_err(|problem| self.denied(&format!("{name}: {problem}")))?;
            let text = secret.expose_secret().trim();
            if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
                let problem = format!("{name} is empty or has characters that no request can hold");
                return Err(self.denied(&problem));
            }
            Ok(SecretString::from(text))
        };
        Ok(CallSecrets {
            secret: read(credentials.auth.secret(), &credentials.secret)?,
            user: credentials
                .user
                .as_ref()
                .map(|source| read("user", source))
                .transpose()?,
        })
    }

    fn denied(&self, problem: &str) -> ToolError {
        ToolError::Denied {
            what: format!("{}: {problem}", self.title),
        }
    }

    fn lost(&self, error: reqwest::Error) -> AttemptError {
        let is_connect = error.is_connect();
        let how = match is_connect {
            true => "cannot connect",
            false => "the answer broke off",
        };
        // The URL of the error can hold a key.
        let words = append_error_chain(format!("{}: {how}", self.title), &error.without_url());
        let error = unavailable(clean(&words));
        match is_connect {
            true => AttemptError::NotConnected(error),
            false => AttemptError::Final(error),
        }
    }
}

impl CallSecrets {
    /// Returns the forms in which a service may repeat the secret.
    fn hidden(&self) -> HiddenSecrets {
        let secret = self.secret.expose_secret();
        let encoded: String = url::form_urlencoded::byte_serialize(secret.as_bytes()).collect();
        let mut forms = vec![secret.to_owned(), encoded];
        if let Some(user) = &self.user {
            forms.push(STANDARD.encode(format!("{}:{secret}", user.expose_secret())));
        }
        HiddenSecrets(forms)
    }
}

/// The secret of a call, as a service may repeat it. It is replaced in what was read from the answer, because an answer
/// can spell it in many ways, and a replacement before would change what is read.
#[derive(Default)]
pub(super) struct HiddenSecrets(Vec<String>);

impl HiddenSecrets {
    fn remove_from_text(&self, text: &mut String) {
        for form in self.0.iter().filter(|form| form.len() >= SHORTEST_SECRET) {
            if text.contains(form.as_str()) {
                *text = text.replace(form.as_str(), HIDDEN_SECRET);
            }
        }
    }

    /// Replaces the secret in all texts and names of a value.
    pub(super) fn remove_from(&self, value: &mut Json) {
        match value {
            Json::String(text) => self.remove_from_text(text),
            Json::Array(items) => items.iter_mut().for_each(|item| self.remove_from(item)),
            Json::Object(members) => {
                *members = std::mem::take(members)
                    .into_iter()
                    .map(|(mut name, mut value)| {
                        self.remove_from_text(&mut name);
                        self.remove_from(&mut value);
                        (name, value)
                    })
                    .collect();
            }
            _ => {}
        }
    }

    /// Replaces the secret in an error.
    pub(super) fn remove_from_error(&self, mut error: ToolError) -> ToolError {
        match &mut error {
            ToolError::Argument { problem: text, .. }
            | ToolError::Denied { what: text }
            | ToolError::Unavailable { what: text } => self.remove_from_text(text),
            _ => {}
        }
        error
    }
}

fn add_credentials(
    builder: RequestBuilder,
    auth: &AuthTable,
    secrets: &CallSecrets,
) -> Result<RequestBuilder, String> {
    let secret = secrets.secret.expose_secret();
    Ok(match auth.kind {
        AuthKind::Header => {
            let name = auth.name.as_deref().unwrap_or_default();
            let name = name
                .parse::<HeaderName>()
                .map_err(|_| "the name of the key's header is no name of a header".to_owned())?;
            let mut value = HeaderValue::from_str(secret)
                .map_err(|_| "the key has characters that no header can hold".to_owned())?;
            value.set_sensitive(true);
            builder.header(name, value)
        }
        // The URL holds it already.
        AuthKind::Query => builder,
        AuthKind::Bearer => builder.bearer_auth(secret),
        AuthKind::Basic => {
            let user = secrets.user.as_ref().map(SecretString::expose_secret);
            builder.basic_auth(user.unwrap_or_default(), Some(secret))
        }
    })
}

/// Returns the wait before the second try, or `None` if there is none: a service that is asked too often and does not
/// say for how long is left alone.
fn wait_before_retry(answer: &RawAnswer, delay: Duration) -> Option<Duration> {
    match answer.retry_after {
        Some(wait) => (wait <= MAX_RETRY_AFTER).then_some(wait),
        None => (answer.status != 429).then_some(delay),
    }
}

/// Returns the wait that the service asks for: seconds, or a date (RFC 9110 §10.2.3) compared with its own `date`.
fn retry_after(headers: &HeaderMap, now: DateTime<Utc>) -> Option<Duration> {
    let text = |name| Some(headers.get(name)?.to_str().ok()?.trim());
    let date = |text: &str| DateTime::parse_from_rfc2822(text).ok();
    let after = text(RETRY_AFTER)?;
    if let Ok(secs) = after.parse::<u64>() {
        return Some(Duration::from_secs(secs));
    }
    let until = date(after)?.to_utc();
    let now = text(DATE).and_then(date).map_or(now, |date| date.to_utc());
    Some((until - now).to_std().unwrap_or_default())
}

/// Shortens and redacts text of a service and brings it onto one line.
pub(super) fn clean(words: &str) -> String {
    let (words, _) = strip_hidden(words);
    let (words, _) = redact(&words);
    let line = single_line(&words);
    truncate(line.trim(), MAX_SHOWN_CHARS).into_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a21_a_secret_that_a_service_repeats_in_any_form_is_replaced() {
        let secrets = CallSecrets {
            secret: SecretString::from("p/a+s%s&=x9"),
            user: Some(SecretString::from("admin")),
        };
        let hidden = secrets.hidden();
        // What a parser read: escapes in the answer are gone.
        let basic = STANDARD.encode("admin:p/a+s%s&=x9");
        let mut body = json!({
            "tags": ["key p/a+s%s&=x9"], "p/a+s%s&=x9": {"url": "/x?key=p%2Fa%2Bs%25s%26%3Dx9"},
            "basic": basic, "listed": true, "who": "administrator",
        });
        hidden.remove_from(&mut body);
        assert_eq!(
            body,
            json!({
                "tags": ["key [redacted:credential]"],
                "[redacted:credential]": {"url": "/x?key=[redacted:credential]"},
                "basic": "[redacted:credential]", "listed": true, "who": "administrator",
            })
        );
        let error = hidden.remove_from_error(unavailable("answered 500 with text/p/a+s%s&=x9"));
        assert_eq!(
            error.to_string(),
            "answered 500 with text/[redacted:credential]"
        );
    }
}

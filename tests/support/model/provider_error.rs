//! Defines errors of providers, independent of each provider's words.

/// The kind of an error. Status and type words differ between providers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ProviderErrorKind {
    /// The request is invalid.
    BadRequest,
    /// The key is missing or wrong.
    Unauthenticated,
    /// The key has no permission.
    Forbidden,
    /// The path or model does not exist.
    NotFound,
    /// The body exceeds the provider's limit.
    TooLarge,
    /// The prompt exceeds the context window.
    ContextTooLong,
    /// A content policy refuses the request with an error.
    Filtered,
    /// Too many requests or tokens; waiting helps.
    RateLimited,
    /// The spending limit or quota is reached; waiting does not help.
    SpendLimit,
    /// The provider is overloaded: 529 at Anthropic, 503 elsewhere.
    Overloaded,
    /// 503.
    Unavailable,
    /// 500.
    Internal,
}

/// The retry delay that a provider reports.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum RetryAfter {
    /// No delay.
    #[default]
    Absent,
    /// Seconds: `Retry-After`, or `RetryInfo` at Google, which sends no header.
    Secs(u64),
    /// An HTTP date in `Retry-After`.
    Date(String),
    /// Milliseconds: `retry-after-ms` beside whole seconds, as Azure sends them.
    Millis(u64),
    /// An absurd delay of a year.
    Absurd,
    /// An unreadable header.
    Garbage,
}

/// An error, independent of the provider's words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderError {
    pub kind: ProviderErrorKind,
    /// The message in the provider's words.
    pub message: String,
    /// The parameter that the error is about.
    pub param: Option<String>,
    pub code: Option<&'static str>,
    /// The retry delay.
    pub retry_after: RetryAfter,
}

impl ProviderError {
    /// Creates an error without parameter, code or delay.
    #[must_use]
    pub fn new(kind: ProviderErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            param: None,
            code: None,
            retry_after: RetryAfter::Absent,
        }
    }
}

impl RetryAfter {
    /// Returns the headers with the delay.
    #[must_use]
    pub fn headers(&self) -> Vec<(&'static str, String)> {
        match self {
            Self::Absent => Vec::new(),
            Self::Secs(secs) => vec![("retry-after", secs.to_string())],
            Self::Date(date) => vec![("retry-after", date.clone())],
            Self::Millis(millis) => vec![
                ("retry-after-ms", millis.to_string()),
                ("retry-after", millis.div_ceil(1000).to_string()),
            ],
            Self::Absurd => vec![("retry-after", "31536000".to_owned())],
            Self::Garbage => vec![("retry-after", "soon".to_owned())],
        }
    }

    /// Returns Google's `retryDelay`.
    #[must_use]
    pub fn google_retry_delay(&self) -> Option<String> {
        match self {
            Self::Absent | Self::Date(_) => None,
            Self::Secs(secs) => Some(format!("{secs}s")),
            Self::Millis(millis) => Some(format!("{}.{:03}s", millis / 1000, millis % 1000)),
            Self::Absurd => Some("31536000s".to_owned()),
            Self::Garbage => Some("soon".to_owned()),
        }
    }
}

//! What a provider says instead of an answer, before it is put into that provider's words.

/// What kind of "no" it is. Status and type words are each provider's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The request is not as it must be.
    BadRequest,
    /// There is no key, or a wrong one.
    Unauthenticated,
    /// The key may not do this.
    Forbidden,
    /// There is no such path or model.
    NotFound,
    /// The request is larger than the provider reads.
    TooLarge,
    /// The prompt does not fit the window.
    ContextTooLong,
    /// What was asked is not answered by policy, and the provider says so with an error.
    Filtered,
    /// Too many requests or tokens; waiting helps.
    RateLimited,
    /// The money or the quota is used up; waiting does not help.
    SpendLimit,
    /// Too much work for the provider just now: 529 at Anthropic, 503 elsewhere.
    Overloaded,
    /// 503.
    Unavailable,
    /// 500.
    Internal,
}

/// What a provider tells of how long to wait.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Wait {
    /// Nothing.
    #[default]
    Unsaid,
    /// Seconds: `Retry-After`, and `RetryInfo` at Google, who sends no header.
    Secs(u64),
    /// An HTTP date in `Retry-After`.
    Date(String),
    /// Milliseconds: `retry-after-ms` beside whole seconds, as Azure sends them.
    Millis(u64),
    /// A wait that nobody means: a year.
    Absurd,
    /// A header that cannot be read.
    Garbage,
}

/// A refusal or a failure, in no provider's words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    /// What kind it is.
    pub kind: Kind,
    /// The text, as the provider words it.
    pub message: String,
    /// The parameter that it is about.
    pub param: Option<String>,
    /// The provider's code.
    pub code: Option<&'static str>,
    /// How long to wait.
    pub wait: Wait,
}

impl Trouble {
    /// Without parameter, code or wait.
    #[must_use]
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            param: None,
            code: None,
            wait: Wait::Unsaid,
        }
    }
}

impl Wait {
    /// The headers that say it.
    #[must_use]
    pub fn headers(&self) -> Vec<(&'static str, String)> {
        match self {
            Self::Unsaid => Vec::new(),
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

    /// Google's `retryDelay`.
    #[must_use]
    pub fn google(&self) -> Option<String> {
        match self {
            Self::Unsaid | Self::Date(_) => None,
            Self::Secs(secs) => Some(format!("{secs}s")),
            Self::Millis(millis) => Some(format!("{}.{:03}s", millis / 1000, millis % 1000)),
            Self::Absurd => Some("31536000s".to_owned()),
            Self::Garbage => Some("soon".to_owned()),
        }
    }
}

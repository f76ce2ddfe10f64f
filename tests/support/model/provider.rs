//! Defines the providers that the fake imitates, and their paths.

/// A provider with its own protocol. Azure and Vertex have the formats of `OpenAi` and `Gemini`, but other paths,
/// keys and errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Provider {
    /// OpenAI's chat completions, and every compatible server.
    OpenAi,
    /// Chat completions at Azure.
    Azure,
    /// Anthropic's Messages API.
    Anthropic,
    /// Google's `generateContent` with an API key.
    Gemini,
    /// Google's `generateContent` at Vertex, with a token.
    Vertex,
    /// Amazon Bedrock's Converse API.
    Bedrock,
}

impl Provider {
    /// All providers.
    pub const ALL: [Self; 6] = [
        Self::OpenAi,
        Self::Azure,
        Self::Anthropic,
        Self::Gemini,
        Self::Vertex,
        Self::Bedrock,
    ];

    /// Returns the path of the base URL, as Nightshift's configuration and the SDKs expect it.
    #[must_use]
    pub const fn base_path(self) -> &'static str {
        match self {
            Self::OpenAi => "/v1",
            Self::Azure => "/openai/v1",
            Self::Anthropic | Self::Gemini | Self::Vertex | Self::Bedrock => "",
        }
    }

    /// Returns whether caching needs marks in the request.
    pub(super) const fn caches_by_marks(self) -> bool {
        matches!(self, Self::Anthropic | Self::Bedrock)
    }
}

/// The target of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Route {
    pub(super) provider: Provider,
    /// The model, if the path contains it.
    pub(super) model: Option<String>,
    /// True if the path requests a stream.
    pub(super) streamed: bool,
}

/// Finds the provider by path. Returns `None` if the path is unknown.
pub(super) fn route(path: &str) -> Option<Route> {
    let plain = |provider, model: Option<&str>| {
        Some(Route {
            provider,
            model: model.map(str::to_owned),
            streamed: false,
        })
    };
    let segments: Vec<&str> = path.trim_matches('/').split('/').collect();
    match segments.as_slice() {
        ["v1", "chat", "completions"] => plain(Provider::OpenAi, None),
        ["openai", "v1", "chat", "completions"] => plain(Provider::Azure, None),
        ["openai", "deployments", deployment, "chat", "completions"] => {
            plain(Provider::Azure, Some(deployment))
        }
        ["v1", "messages"] => plain(Provider::Anthropic, None),
        ["v1beta" | "v1" | "v1alpha", "models", call] => google(Provider::Gemini, call),
        [
            "v1" | "v1beta1",
            "projects",
            _,
            "locations",
            _,
            "publishers",
            "google",
            "models",
            call,
        ] => google(Provider::Vertex, call),
        ["model", model, "converse"] => plain(Provider::Bedrock, Some(&decoded(model))),
        _ => None,
    }
}

fn google(provider: Provider, call: &str) -> Option<Route> {
    let call = decoded(call);
    let (model, method) = call.rsplit_once(':')?;
    let streamed = match method {
        "generateContent" => false,
        "streamGenerateContent" => true,
        _ => return None,
    };
    Some(Route {
        provider,
        model: Some(model.to_owned()),
        streamed,
    })
}

/// Decodes the few characters that clients escape in a model name.
fn decoded(segment: &str) -> String {
    segment
        .replace("%3A", ":")
        .replace("%3a", ":")
        .replace("%2F", "/")
        .replace("%2f", "/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_provider_is_found_by_its_own_path() {
        for (path, provider, model, streamed) in [
            ("/v1/chat/completions", Provider::OpenAi, None, false),
            (
                "/openai/deployments/gpt/chat/completions",
                Provider::Azure,
                Some("gpt"),
                false,
            ),
            ("/openai/v1/chat/completions", Provider::Azure, None, false),
            ("/v1/messages", Provider::Anthropic, None, false),
            (
                "/v1beta/models/gemini-3-pro:streamGenerateContent",
                Provider::Gemini,
                Some("gemini-3-pro"),
                true,
            ),
            (
                "/v1/projects/p/locations/global/publishers/google/models/g:generateContent",
                Provider::Vertex,
                Some("g"),
                false,
            ),
            (
                "/model/anthropic.claude-v1%3A0/converse",
                Provider::Bedrock,
                Some("anthropic.claude-v1:0"),
                false,
            ),
        ] {
            let found = route(path).unwrap();
            assert_eq!(
                (found.provider, found.model.as_deref(), found.streamed),
                (provider, model, streamed)
            );
        }
        assert_eq!(route("/v1/responses"), None);
        assert_eq!(route("/v1beta/models/g:countTokens"), None);
    }
}

//! Defines capabilities and restrictions of models, as data.
//!
//! The table is `quirks.toml`. Adapters ask for a trait of a model and never for its name. A new model with the traits
//! of its family needs no row, and the configuration can correct a wrong row.

mod server;

use std::sync::LazyLock;

use crate::chat::{ChatRequest, ChatTraits, QuestionKind, TokenPrice};
use globset::Glob;
use serde::Deserialize;
use url::Url;

use crate::{ModelConfig, ModelProvider, ModelServer, Sampling, SchemaMode};

static TABLE: LazyLock<Vec<QuirksRow>> = LazyLock::new(|| {
    toml::from_str::<QuirksTable>(include_str!("quirks.toml")).map_or_else(
        |error| {
            tracing::error!(%error, "the table of model quirks cannot be read");
            Vec::new()
        },
        |table| table.row,
    )
});

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct QuirksTable {
    row: Vec<QuirksRow>,
}

#[derive(Deserialize)]
struct QuirksRow {
    provider: ModelProvider,
    servers: Option<Vec<ModelServer>>,
    models: Option<Vec<Pattern>>,
    urls: Option<Vec<Pattern>>,
    versions: Option<Vec<Pattern>>,
    #[serde(flatten)]
    overrides: QuirksOverrides,
}

/// A pattern that is compiled on use, which is once per model. All compiled patterns would take a megabyte.
#[derive(Deserialize)]
#[serde(try_from = "String")]
struct Pattern(Glob);

impl TryFrom<String> for Pattern {
    type Error = globset::Error;

    fn try_from(text: String) -> Result<Self, globset::Error> {
        Glob::new(&text).map(Self)
    }
}

impl Pattern {
    fn is_match(&self, text: &str) -> bool {
        self.0.compile_matcher().is_match(text)
    }
}

#[derive(Deserialize, Default)]
struct QuirksOverrides {
    api_version: Option<String>,
    key_header: Option<String>,
    token_field: Option<TokenField>,
    system_role: Option<SystemRole>,
    sampling: Option<bool>,
    reasoning: Option<ReasoningControl>,
    least_reasoning: Option<MinReasoning>,
    reasoning_back: Option<bool>,
    reasoning_with_tools: Option<bool>,
    schema: Option<SchemaMode>,
    schema_with_tools: Option<SchemaMode>,
    tools: Option<bool>,
    names_tool: Option<bool>,
    strict_tools: Option<bool>,
    grammar: Option<bool>,
    stream: Option<bool>,
    keep_alive: Option<bool>,
    may_be_litellm: Option<bool>,
    cache_marks: Option<bool>,
    signatures: Option<bool>,
    window_tokens: Option<u64>,
    max_output_tokens: Option<u32>,
}

/// The request field that limits an answer's tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TokenField {
    MaxTokens,
    MaxCompletionTokens,
}

/// The role of the system prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SystemRole {
    System,
    Developer,
}

/// The form in which a model's reasoning is configured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ReasoningControl {
    /// The model does not reason.
    None,
    /// The effort is a word.
    Effort,
    /// The limit is a number of tokens.
    Budget,
    /// The level is one of Gemini's.
    Level,
}

/// Meaning of the effort `none` for a Claude whose thinking has an effort.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum MinReasoning {
    /// Thinking is switched off.
    Disabled,
    /// The model thinks only between tools.
    BetweenTools,
    /// The model always thinks, with the least effort.
    Effort,
}

/// Capabilities and restrictions of one model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Quirks {
    /// Version of the provider's API.
    pub(crate) api_version: Option<String>,
    /// Header of the key; `authorization` carries it as a bearer token.
    pub(crate) key_header: String,
    /// The request field that limits an answer's tokens.
    pub(crate) token_field: TokenField,
    /// The role of the system prompt.
    pub(crate) system_role: SystemRole,
    /// True if the model accepts `temperature` and `top_p`.
    pub(crate) sampling: bool,
    /// The form in which reasoning is configured.
    pub(crate) reasoning: ReasoningControl,
    /// The meaning of the effort `none`.
    pub(crate) least_reasoning: MinReasoning,
    /// True if reasoning goes back to the model.
    pub(crate) reasoning_back: bool,
    /// True if the model reasons where a request has tools. Otherwise reasoning must be switched off explicitly.
    pub(crate) reasoning_with_tools: bool,
    /// The mode in which an answer to a schema is requested.
    pub(crate) schema: SchemaMode,
    /// The strongest schema mode while the model may call tools.
    pub(crate) schema_with_tools: SchemaMode,
    /// True if the model accepts tools.
    pub(crate) tools: bool,
    /// True if a request can name the tool that must be called.
    pub(crate) names_tool: bool,
    /// True if the server can enforce a tool's schema for arguments.
    pub(crate) strict_tools: bool,
    /// True if the server converts schemas to a grammar, which supports only some keywords.
    pub(crate) grammar: bool,
    /// True if answers are streamed.
    pub(crate) stream: bool,
    /// True if a connection can be reused after an answer.
    pub(crate) keep_alive: bool,
    /// True if the model may be behind LiteLLM's proxy.
    pub(crate) may_be_litellm: bool,
    /// True if the provider accepts cache marks.
    pub(crate) cache_marks: bool,
    /// True if every call of the current turn must carry a signature.
    pub(crate) signatures: bool,
    /// Maximum number of tokens of prompt and answer together.
    pub(crate) window_tokens: u64,
    /// Maximum number of tokens of an answer.
    pub(crate) max_output_tokens: u32,
}

impl Quirks {
    /// Returns the quirks of a configured model. The configuration has precedence.
    pub(crate) fn from_config(config: &ModelConfig) -> Self {
        let url = config
            .base_url
            .as_deref()
            .and_then(|url| Url::parse(url).ok());
        let host = url.as_ref().and_then(Url::host_str).unwrap_or_default();
        let path = url.as_ref().map_or("", Url::path).trim_end_matches('/');
        let place = format!("{host}{path}/");
        let server = config
            .server
            .or_else(|| server::detect_server(config, host));
        let mut quirks = Self::baseline();
        for row in TABLE
            .iter()
            .filter(|row| row.is_match(config, server, &place))
        {
            quirks.apply(&row.overrides);
        }
        quirks.apply(&QuirksOverrides {
            api_version: config.api_version.clone(),
            stream: config.stream,
            tools: config.tools,
            schema: config.schema,
            window_tokens: config.window_tokens,
            max_output_tokens: config.max_output_tokens,
            ..QuirksOverrides::default()
        });
        quirks
    }

    /// Returns the model's capabilities for the analyst.
    pub(crate) fn traits(&self, config: &ModelConfig) -> ChatTraits {
        ChatTraits {
            name: config.full_name(),
            window_tokens: self.window_tokens,
            max_output_tokens: self.max_output_tokens,
            reasoning_tokens: self.max_reasoning_tokens(config),
            tools: self.tools,
            tools_always: self.always_sends_tools(config),
            price: config
                .price
                .map_or_else(TokenPrice::default, |price| price.max_token_price()),
        }
    }

    /// Returns the tokens for reasoning that the effort word means, in addition to those of the answer. Where the
    /// model's limit is too small for both, at most half of it is kept for the answer.
    pub(crate) fn reasoning_budget(&self, word: Option<&str>, answer: u32) -> u32 {
        let wanted = word.and_then(reasoning_tokens).unwrap_or_default();
        let kept = answer.min(self.max_output_tokens / 2);
        match self.reasoning {
            ReasoningControl::None => 0,
            _ => wanted.min(self.max_output_tokens - kept),
        }
    }

    /// Returns the maximum number of tokens of a request: those of its answer and of reasoning.
    pub(crate) fn max_request_tokens(&self, word: Option<&str>, answer: u32) -> u32 {
        let most = answer.saturating_add(self.reasoning_budget(word, answer));
        most.min(self.max_output_tokens)
    }

    /// Returns the maximum number of reasoning tokens of any question.
    fn max_reasoning_tokens(&self, config: &ModelConfig) -> u32 {
        let of = |asked: &QuestionKind| {
            let sampling = config.sampling(*asked);
            let effort = self.claude_effort(&sampling).or(sampling.reasoning_effort);
            self.reasoning_budget(effort.as_deref(), 0)
        };
        QuestionKind::ALL.iter().map(of).max().unwrap_or_default()
    }

    /// Returns whether all requests of a case carry its tools, including those that may call none, ask for JSON to a
    /// schema, or reason.
    fn always_sends_tools(&self, config: &ModelConfig) -> bool {
        let reasons = |asked: &QuestionKind| {
            let word = config.sampling(*asked).reasoning_effort;
            word.is_some_and(|word| word != "none")
        };
        let reasons_instead = self.reasoning == ReasoningControl::Effort
            && !self.reasoning_with_tools
            && QuestionKind::ALL.iter().any(reasons);
        self.tools && !reasons_instead && !self.omits_tools(self.schema)
    }

    /// Returns whether a request with this schema mode that may call no tool is sent without tools.
    pub(crate) fn omits_tools(&self, mode: SchemaMode) -> bool {
        match mode {
            SchemaMode::Strict => self.schema_with_tools != SchemaMode::Strict,
            SchemaMode::Tool => !self.names_tool,
            SchemaMode::Prompt => false,
        }
    }

    /// Returns whether the model may call a tool in its answer to this request.
    pub(crate) fn may_call(&self, request: &ChatRequest) -> bool {
        self.tools && request.may_call && !request.tools.is_empty()
    }

    /// Returns the effort of a Claude, which has fewer effort words than others (SDK, `output_config_param.py`).
    pub(crate) fn claude_effort(&self, sampling: &Sampling) -> Option<String> {
        let word = sampling.reasoning_effort.as_deref();
        let word = word.filter(|_| self.reasoning == ReasoningControl::Effort)?;
        match word {
            "none" if self.least_reasoning != MinReasoning::Effort => None,
            "none" | "minimal" => Some("low".to_owned()),
            word => Some(word.to_owned()),
        }
    }

    /// Returns the quirks of a model without a row.
    fn baseline() -> Self {
        Self {
            api_version: None,
            key_header: "authorization".to_owned(),
            token_field: TokenField::MaxTokens,
            system_role: SystemRole::System,
            sampling: true,
            reasoning: ReasoningControl::None,
            least_reasoning: MinReasoning::Effort,
            reasoning_back: false,
            reasoning_with_tools: true,
            schema: SchemaMode::Prompt,
            schema_with_tools: SchemaMode::Prompt,
            tools: true,
            names_tool: false,
            strict_tools: false,
            grammar: false,
            stream: false,
            keep_alive: true,
            may_be_litellm: false,
            cache_marks: false,
            signatures: false,
            window_tokens: 32_768,
            max_output_tokens: 4096,
        }
    }

    fn apply(&mut self, says: &QuirksOverrides) {
        fn set<T: Clone>(place: &mut T, value: Option<&T>) {
            if let Some(value) = value {
                place.clone_from(value);
            }
        }
        if says.api_version.is_some() {
            self.api_version.clone_from(&says.api_version);
        }
        set(&mut self.key_header, says.key_header.as_ref());
        set(&mut self.token_field, says.token_field.as_ref());
        set(&mut self.system_role, says.system_role.as_ref());
        set(&mut self.sampling, says.sampling.as_ref());
        set(&mut self.reasoning, says.reasoning.as_ref());
        set(&mut self.least_reasoning, says.least_reasoning.as_ref());
        set(&mut self.reasoning_back, says.reasoning_back.as_ref());
        set(
            &mut self.reasoning_with_tools,
            says.reasoning_with_tools.as_ref(),
        );
        set(&mut self.schema, says.schema.as_ref());
        set(&mut self.schema_with_tools, says.schema_with_tools.as_ref());
        set(&mut self.tools, says.tools.as_ref());
        set(&mut self.names_tool, says.names_tool.as_ref());
        set(&mut self.strict_tools, says.strict_tools.as_ref());
        set(&mut self.grammar, says.grammar.as_ref());
        set(&mut self.keep_alive, says.keep_alive.as_ref());
        set(&mut self.may_be_litellm, says.may_be_litellm.as_ref());
        set(&mut self.stream, says.stream.as_ref());
        set(&mut self.cache_marks, says.cache_marks.as_ref());
        set(&mut self.signatures, says.signatures.as_ref());
        set(&mut self.window_tokens, says.window_tokens.as_ref());
        set(&mut self.max_output_tokens, says.max_output_tokens.as_ref());
    }
}

/// Returns the tokens of reasoning: a number, or the value of an effort word.
pub(crate) fn reasoning_tokens(word: &str) -> Option<u32> {
    match word {
        "none" => Some(0),
        "minimal" => Some(1024),
        "low" => Some(2048),
        "medium" => Some(8192),
        "high" => Some(16_384),
        "xhigh" | "max" => Some(32_768),
        number => number.parse().ok(),
    }
}

impl QuirksRow {
    fn is_match(&self, config: &ModelConfig, server: Option<ModelServer>, place: &str) -> bool {
        let any = |patterns: &Option<Vec<Pattern>>, text: Option<&str>| {
            patterns.as_ref().is_none_or(|patterns| {
                text.is_some_and(|text| patterns.iter().any(|pattern| pattern.is_match(text)))
            })
        };
        let servers = self.servers.as_ref();
        self.provider == config.provider
            && servers.is_none_or(|servers| server.is_some_and(|server| servers.contains(&server)))
            && any(&self.models, Some(&config.model))
            && any(&self.urls, Some(place))
            && any(&self.versions, config.api_version.as_deref())
    }
}

#[cfg(test)]
mod tests;

//! What a model takes and refuses, as data.
//!
//! The table is `quirks.toml`; adapters ask for a trait of a model and never for its name. A new model whose traits are
//! those of its family needs no row, and what a row says wrongly the configuration mends.

mod server;

use std::sync::LazyLock;

use crate::chat::{Asked, ChatRequest, ChatTraits, TokenPrice};
use globset::Glob;
use serde::Deserialize;
use url::Url;

use crate::{ModelConfig, Provider, Sampling, SchemaMode, Server};

static TABLE: LazyLock<Vec<Row>> = LazyLock::new(|| {
    toml::from_str::<Table>(include_str!("quirks.toml")).map_or_else(
        |error| {
            tracing::error!(%error, "the table of model quirks cannot be read");
            Vec::new()
        },
        |table| table.row,
    )
});

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    row: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    provider: Provider,
    servers: Option<Vec<Server>>,
    models: Option<Vec<Pattern>>,
    urls: Option<Vec<Pattern>>,
    versions: Option<Vec<Pattern>>,
    #[serde(flatten)]
    says: Says,
}

/// Compiled where it is asked for, which is once for each model: kept compiled, all take a megabyte.
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
struct Says {
    api_version: Option<String>,
    key_header: Option<String>,
    token_field: Option<TokenField>,
    system_role: Option<SystemRole>,
    sampling: Option<bool>,
    reasoning: Option<Reasoning>,
    least_reasoning: Option<Least>,
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

/// The key that bounds an answer's tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TokenField {
    MaxTokens,
    MaxCompletionTokens,
}

/// Who speaks the system prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SystemRole {
    System,
    Developer,
}

/// How a model is told how much to reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Reasoning {
    /// Not at all.
    None,
    /// By a word.
    Effort,
    /// By a number of tokens.
    Budget,
    /// By Gemini's level.
    Level,
}

/// What the word `none` comes to where a word says how much a Claude thinks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Least {
    /// Its thinking is switched off.
    Disabled,
    /// It thinks between tools alone.
    BetweenTools,
    /// It always thinks: with the least effort.
    Effort,
}

/// What one model takes and refuses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Quirks {
    /// Version of the provider's API.
    pub(crate) api_version: Option<String>,
    /// Header of the key; `authorization` carries it as a bearer token.
    pub(crate) key_header: String,
    /// The key that bounds an answer's tokens.
    pub(crate) token_field: TokenField,
    /// Who speaks the system prompt.
    pub(crate) system_role: SystemRole,
    /// Whether it takes `temperature` and `top_p`.
    pub(crate) sampling: bool,
    /// How it is told how much to reason.
    pub(crate) reasoning: Reasoning,
    /// The least that it thinks.
    pub(crate) least_reasoning: Least,
    /// Whether its reasoning goes back to it.
    pub(crate) reasoning_back: bool,
    /// Whether it reasons where a request has tools; one that does not must be told to reason not at all.
    pub(crate) reasoning_with_tools: bool,
    /// How an answer to a schema is asked for.
    pub(crate) schema: SchemaMode,
    /// The strongest way to ask for an answer to a schema while it may call tools.
    pub(crate) schema_with_tools: SchemaMode,
    /// Whether it takes tools.
    pub(crate) tools: bool,
    /// Whether a request can name the tool that must be called.
    pub(crate) names_tool: bool,
    /// Whether arguments are held to a tool's schema when asked for.
    pub(crate) strict_tools: bool,
    /// Whether its server turns schemas into a grammar, which holds only some keywords.
    pub(crate) grammar: bool,
    /// Whether answers are streamed.
    pub(crate) stream: bool,
    /// Whether a connection can be used again after an answer.
    pub(crate) keep_alive: bool,
    /// Whether it may stand behind LiteLLM's proxy.
    pub(crate) may_be_litellm: bool,
    /// Whether it takes marks of what to keep.
    pub(crate) cache_marks: bool,
    /// Whether every call of the current turn must carry a signature.
    pub(crate) signatures: bool,
    /// Tokens that prompt and answer may hold together.
    pub(crate) window_tokens: u64,
    /// Tokens that an answer may have at the most.
    pub(crate) max_output_tokens: u32,
}

impl Quirks {
    /// Those of a configured model; what the configuration says wins.
    pub(crate) fn of(config: &ModelConfig) -> Self {
        let url = config
            .base_url
            .as_deref()
            .and_then(|url| Url::parse(url).ok());
        let host = url.as_ref().and_then(Url::host_str).unwrap_or_default();
        let path = url.as_ref().map_or("", Url::path).trim_end_matches('/');
        let place = format!("{host}{path}/");
        let server = config.server.or_else(|| server::at(config, host));
        let mut quirks = Self::plain();
        for row in TABLE.iter().filter(|row| row.fits(config, server, &place)) {
            quirks.lay(&row.says);
        }
        quirks.lay(&Says {
            api_version: config.api_version.clone(),
            stream: config.stream,
            tools: config.tools,
            schema: config.schema,
            window_tokens: config.window_tokens,
            max_output_tokens: config.max_output_tokens,
            ..Says::default()
        });
        quirks
    }

    /// What the model can do, as the analyst asks.
    pub(crate) fn traits(&self, config: &ModelConfig) -> ChatTraits {
        ChatTraits {
            name: config.full_name(),
            window_tokens: self.window_tokens,
            max_output_tokens: self.max_output_tokens,
            reasoning_tokens: self.most_reasoning(config),
            tools: self.tools,
            tools_always: self.always_sends_tools(config),
            price: config
                .price
                .map_or_else(TokenPrice::default, |price| price.dearest()),
        }
    }

    /// Tokens that a request has for reasoning beside those of its answer: what the word comes to. A model that may not say
    /// as much in all keeps half of that for the answer.
    pub(crate) fn room(&self, word: Option<&str>, answer: u32) -> u32 {
        let wanted = word.and_then(budget).unwrap_or_default();
        let kept = answer.min(self.max_output_tokens / 2);
        match self.reasoning {
            Reasoning::None => 0,
            _ => wanted.min(self.max_output_tokens - kept),
        }
    }

    /// The most tokens of a request: those of its answer, and the room for reasoning.
    pub(crate) fn most(&self, word: Option<&str>, answer: u32) -> u32 {
        let most = answer.saturating_add(self.room(word, answer));
        most.min(self.max_output_tokens)
    }

    /// The most that any question's reasoning may take.
    fn most_reasoning(&self, config: &ModelConfig) -> u32 {
        let of = |asked: &Asked| {
            let sampling = config.sampling(*asked);
            let effort = self.claude_effort(&sampling).or(sampling.reasoning_effort);
            self.room(effort.as_deref(), 0)
        };
        Asked::ALL.iter().map(of).max().unwrap_or_default()
    }

    /// Whether all requests of a case carry its tools: also those that may call none, ask for JSON to a schema, or reason.
    fn always_sends_tools(&self, config: &ModelConfig) -> bool {
        let reasons = |asked: &Asked| {
            let word = config.sampling(*asked).reasoning_effort;
            word.is_some_and(|word| word != "none")
        };
        let reasons_instead = self.reasoning == Reasoning::Effort
            && !self.reasoning_with_tools
            && Asked::ALL.iter().any(reasons);
        self.tools && !reasons_instead && !self.leaves_tools_out(self.schema)
    }

    /// Whether a request that asks for a schema in this way, and may call no tool, goes out without tools.
    pub(crate) fn leaves_tools_out(&self, mode: SchemaMode) -> bool {
        match mode {
            SchemaMode::Strict => self.schema_with_tools != SchemaMode::Strict,
            SchemaMode::Tool => !self.names_tool,
            SchemaMode::Prompt => false,
        }
    }

    /// Whether the model may call a tool in its answer to this request.
    pub(crate) fn may_call(&self, request: &ChatRequest) -> bool {
        self.tools && request.may_call && !request.tools.is_empty()
    }

    /// The effort of a Claude in its own words, of which it has fewer than others (SDK, `output_config_param.py`).
    pub(crate) fn claude_effort(&self, sampling: &Sampling) -> Option<String> {
        let word = sampling.reasoning_effort.as_deref();
        let word = word.filter(|_| self.reasoning == Reasoning::Effort)?;
        match word {
            "none" if self.least_reasoning != Least::Effort => None,
            "none" | "minimal" => Some("low".to_owned()),
            word => Some(word.to_owned()),
        }
    }

    /// The least: what a model has of which the table says nothing.
    fn plain() -> Self {
        Self {
            api_version: None,
            key_header: "authorization".to_owned(),
            token_field: TokenField::MaxTokens,
            system_role: SystemRole::System,
            sampling: true,
            reasoning: Reasoning::None,
            least_reasoning: Least::Effort,
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

    fn lay(&mut self, says: &Says) {
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

/// Tokens of reasoning: a number, or what a word comes to.
pub(crate) fn budget(word: &str) -> Option<u32> {
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

impl Row {
    fn fits(&self, config: &ModelConfig, server: Option<Server>, place: &str) -> bool {
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

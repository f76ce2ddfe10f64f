//! Defines differences between models of one provider, by the prefix of their names.
//!
//! Sources: the providers' model and migration pages, the notes in their SDKs, and the errors that people quote in
//! public issues. A name in no table counts as the plainest model of its provider.

use super::schema::anthropic::SchemaLimits;

/// The rules of a model with OpenAI's protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OpenAiRules {
    pub(super) reasons: ReasoningMode,
    /// True if tools are allowed while the model reasons; since GPT-5.4 that needs `/v1/responses`.
    pub(super) tools_and_reasoning: bool,
    pub(super) parallel_tool_calls: bool,
    pub(super) stop: bool,
    /// True if `response_format` may be a schema.
    pub(super) json_schema: bool,
    pub(super) tools: bool,
}

/// The reasoning of a model. A reasoning model refuses `max_tokens`, and sampling parameters while it reasons.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReasoningMode {
    Never,
    Always,
    /// Only if `reasoning_effort` asks for it.
    OnRequest,
    /// Unless `reasoning_effort` is `none`.
    ByDefault,
}

const PLAIN: OpenAiRules = OpenAiRules {
    reasons: ReasoningMode::Never,
    tools_and_reasoning: true,
    parallel_tool_calls: true,
    stop: true,
    json_schema: true,
    tools: true,
};

const fn reasoning(reasons: ReasoningMode, tools_and_reasoning: bool) -> OpenAiRules {
    OpenAiRules {
        reasons,
        tools_and_reasoning,
        ..PLAIN
    }
}

const O_SERIES: OpenAiRules = OpenAiRules {
    parallel_tool_calls: false,
    stop: false,
    ..reasoning(ReasoningMode::Always, true)
};

/// The first matching row counts.
const OPEN_AI: [(&str, OpenAiRules); 14] = [
    ("gpt-5-chat", PLAIN),
    ("gpt-5.1", reasoning(ReasoningMode::OnRequest, true)),
    ("gpt-5.2", reasoning(ReasoningMode::OnRequest, true)),
    ("gpt-5.3", reasoning(ReasoningMode::OnRequest, true)),
    ("gpt-5.4", reasoning(ReasoningMode::OnRequest, false)),
    ("gpt-5.5", reasoning(ReasoningMode::OnRequest, false)),
    ("gpt-5.", reasoning(ReasoningMode::ByDefault, false)),
    ("gpt-5", reasoning(ReasoningMode::Always, true)),
    ("gpt-6", reasoning(ReasoningMode::ByDefault, false)),
    ("o1", O_SERIES),
    ("o3", O_SERIES),
    ("o4", O_SERIES),
    (
        "deepseek-reasoner",
        OpenAiRules {
            json_schema: false,
            tools: false,
            ..PLAIN
        },
    ),
    (
        "deepseek",
        OpenAiRules {
            json_schema: false,
            ..PLAIN
        },
    ),
];

/// Returns the rules of an OpenAI model.
pub(super) fn openai(model: &str) -> OpenAiRules {
    OPEN_AI
        .iter()
        .find(|(begin, _)| model.starts_with(begin))
        .map_or(PLAIN, |(_, rules)| *rules)
}

/// The rules of a model of Anthropic, also at Bedrock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AnthropicRules {
    /// True if `temperature`, `top_p` and `top_k` are accepted. Since Opus 4.7 they are not, nor are thinking budgets.
    pub(super) sampling: bool,
    /// True if the last message may be the beginning of the model's own answer.
    pub(super) prefill: bool,
    /// The limits of `output_config.format` and strict tools, or `None` if the model does not accept them.
    pub(super) structured: Option<SchemaLimits>,
    /// True if system messages may occur among the others.
    pub(super) system_turns: bool,
    /// True if thinking is bound to the messages before it.
    pub(super) binds: bool,
    /// The only mode below adaptive thinking: `disabled`, `between_tools`, or none for models that always think.
    pub(super) least: &'static str,
}

const NEWEST: AnthropicRules = AnthropicRules {
    sampling: false,
    prefill: false,
    structured: Some(SchemaLimits::CURRENT),
    system_turns: true,
    binds: false,
    least: "disabled",
};
const BINDING: AnthropicRules = AnthropicRules {
    binds: true,
    ..NEWEST
};
const ALWAYS: AnthropicRules = AnthropicRules {
    least: "adaptive",
    ..BINDING
};
const SONNET: AnthropicRules = AnthropicRules {
    least: "between_tools",
    ..BINDING
};
const FOUR_SIX: AnthropicRules = AnthropicRules {
    sampling: true,
    prefill: false,
    structured: Some(SchemaLimits::CURRENT),
    system_turns: false,
    binds: false,
    least: "disabled",
};
const FOUR_FIVE: AnthropicRules = AnthropicRules {
    prefill: true,
    ..FOUR_SIX
};
const OLD: AnthropicRules = AnthropicRules {
    sampling: true,
    prefill: true,
    structured: None,
    system_turns: false,
    binds: false,
    least: "disabled",
};

const ANTHROPIC: [(&str, AnthropicRules); 14] = [
    ("claude-3", OLD),
    ("claude-opus-4-6", FOUR_SIX),
    ("claude-sonnet-4-6", FOUR_SIX),
    ("claude-opus-4-5", FOUR_FIVE),
    ("claude-sonnet-4-5", FOUR_FIVE),
    ("claude-haiku-4-5", FOUR_FIVE),
    ("claude-opus-4-1", FOUR_FIVE),
    ("claude-opus-4-2", OLD),
    ("claude-sonnet-4-2", OLD),
    ("claude-opus-5-5", ALWAYS),
    ("claude-sonnet-5-5", SONNET),
    ("claude-haiku-5-5", BINDING),
    ("claude-fable-5", ALWAYS),
    ("claude-mythos-5", ALWAYS),
];

/// Returns the rules of a Claude model. A name of no older family counts as the newest.
pub(super) fn anthropic(model: &str) -> AnthropicRules {
    let name = model
        .find("claude-")
        .and_then(|from| model.get(from..))
        .unwrap_or(model);
    ANTHROPIC
        .iter()
        .find(|(begin, _)| name.starts_with(begin))
        .map_or(NEWEST, |(_, rules)| *rules)
}

/// The rules of a model of Google.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct GeminiRules {
    /// True if function calls must be returned with their signatures.
    pub(super) signatures: bool,
    /// True if tools and a response schema can be combined.
    pub(super) tools_and_schema: bool,
    /// True if thinking can be set by level, and not only by budget.
    pub(super) levels: bool,
}

/// Returns the rules of a Gemini model. Up to 2.5 the older rules apply.
pub(super) fn gemini(model: &str) -> GeminiRules {
    let old = ["gemini-1", "gemini-2", "gemma"]
        .iter()
        .any(|begin| model.starts_with(begin));
    GeminiRules {
        signatures: !old,
        tools_and_schema: !old,
        levels: !old,
    }
}

/// Returns whether a model at Bedrock supports tools.
pub(super) fn bedrock_takes_tools(model: &str) -> bool {
    !model.contains("deepseek.r1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_told_apart_by_the_beginning_of_their_names() {
        assert_eq!(openai("gpt-4o-mini").reasons, ReasoningMode::Never);
        assert_eq!(openai("gpt-5-mini").reasons, ReasoningMode::Always);
        assert_eq!(openai("gpt-5.1").reasons, ReasoningMode::OnRequest);
        assert_eq!(openai("gpt-5.6-sol").reasons, ReasoningMode::ByDefault);
        assert!(!openai("gpt-5.4").tools_and_reasoning);
        assert!(!openai("deepseek-chat").json_schema);
        assert!(anthropic("claude-sonnet-4-5").sampling);
        assert!(!anthropic("claude-opus-4-7").sampling);
        assert!(!anthropic("eu.anthropic.claude-sonnet-5-v1:0").sampling);
        assert!(anthropic("us.anthropic.claude-haiku-4-5-20251001-v1:0").sampling);
        assert!(gemini("gemini-3-pro-preview").signatures);
        assert!(!gemini("gemini-2.5-flash").signatures);
        assert!(!bedrock_takes_tools("us.deepseek.r1-v1:0"));
    }
}

//! Tests the table as a whole, and the facts that adapters depend on.

use super::*;

fn quirks(provider: ModelProvider, model: &str) -> Quirks {
    Quirks::from_config(&ModelConfig::new(provider, model))
}

#[test]
fn quirks_table_is_complete_with_a_full_row_per_provider() {
    toml::from_str::<QuirksTable>(include_str!("../quirks.toml")).unwrap();
    let known: toml::Table = include_str!("../quirks.toml").parse().unwrap();
    let keys = [
        "api_version",
        "key_header",
        "token_field",
        "system_role",
        "sampling",
        "reasoning",
        "least_reasoning",
        "reasoning_back",
        "reasoning_with_tools",
        "schema",
        "schema_with_tools",
        "tools",
        "names_tool",
        "strict_tools",
        "grammar",
        "stream",
        "keep_alive",
        "may_be_litellm",
        "cache_marks",
        "signatures",
        "window_tokens",
        "max_output_tokens",
        "provider",
        "servers",
        "models",
        "urls",
        "versions",
    ];
    let mut begun = std::collections::BTreeSet::new();
    for row in known["row"].as_array().unwrap() {
        let row = row.as_table().unwrap();
        for key in row.keys() {
            assert!(keys.contains(&key.as_str()), "{key}: no such quirk");
        }
        if begun.insert(row["provider"].as_str().unwrap().to_owned()) {
            assert!(row.len() >= 14, "{row:?}");
        }
    }
    assert_eq!(begun.len(), 4);
}

#[test]
fn reasoning_models_of_openai_take_no_sampling() {
    for model in [
        "o1",
        "o3-mini",
        "o4-mini-2025-04-16",
        "gpt-5",
        "gpt-5.6-sol",
        "gpt-6-astra",
        "gpt-6.1-terra",
    ] {
        let quirks = quirks(ModelProvider::Openai, model);
        assert!(!quirks.sampling, "{model}");
        assert_eq!(
            quirks.token_field,
            TokenField::MaxCompletionTokens,
            "{model}"
        );
        assert_eq!(quirks.reasoning, ReasoningControl::Effort, "{model}");
    }
    assert!(!quirks(ModelProvider::Openai, "openrouter/openai/gpt-6-astra").sampling);
    for model in ["gpt-4o", "gpt-4.1-mini"] {
        assert!(quirks(ModelProvider::Openai, model).sampling, "{model}");
    }
    let local = quirks(ModelProvider::Openai, "qwen3:8b");
    assert_eq!(
        (local.token_field, local.strict_tools),
        (TokenField::MaxTokens, false)
    );
}

#[test]
fn the_key_goes_where_the_server_looks_for_it() {
    let mut config = ModelConfig::new(ModelProvider::Openai, "triage");
    assert_eq!(Quirks::from_config(&config).key_header, "authorization");
    config.base_url = Some("https://soc.openai.azure.com/openai/v1".to_owned());
    assert_eq!(Quirks::from_config(&config).key_header, "api-key");
    config.base_url = Some("http://127.0.0.1:1/openai".to_owned());
    config.api_version = Some("2025-04-01-preview".to_owned());
    assert_eq!(Quirks::from_config(&config).key_header, "api-key");

    let mut config = ModelConfig::new(ModelProvider::Gemini, "gemini-3-pro");
    assert_eq!(Quirks::from_config(&config).key_header, "x-goog-api-key");
    config.base_url = Some(
        "https://europe-west1-aiplatform.googleapis.com/v1/projects/p/locations/l/publishers/google".to_owned(),
    );
    assert_eq!(Quirks::from_config(&config).key_header, "authorization");
}

#[test]
fn older_messages_version_takes_sampling_where_models_do() {
    let mut config = ModelConfig::new(ModelProvider::Anthropic, "claude-haiku-4-5");
    assert!(!Quirks::from_config(&config).sampling);
    assert_eq!(
        Quirks::from_config(&config).api_version.as_deref(),
        Some("2026-10-21")
    );
    config.api_version = Some("2023-06-01".to_owned());
    let older = Quirks::from_config(&config);
    assert_eq!(
        (older.sampling, older.key_header.as_str()),
        (true, "x-api-key")
    );
    for model in ["claude-opus-4-8", "claude-sonnet-5", "claude-opus-5-5"] {
        config.model = model.to_owned();
        assert!(!Quirks::from_config(&config).sampling, "{model}");
        assert_eq!(
            Quirks::from_config(&config).reasoning,
            ReasoningControl::Effort,
            "{model}"
        );
    }
}

#[test]
fn the_configuration_wins() {
    let mut config = ModelConfig::new(ModelProvider::Bedrock, "us.deepseek.r1-v1:0");
    assert!(!Quirks::from_config(&config).tools);
    config.tools = Some(true);
    config.schema = Some(SchemaMode::Tool);
    config.window_tokens = Some(9);
    config.max_output_tokens = Some(8);
    let quirks = Quirks::from_config(&config);
    assert_eq!(
        (
            quirks.tools,
            quirks.schema,
            quirks.window_tokens,
            quirks.max_output_tokens
        ),
        (true, SchemaMode::Tool, 9, 8)
    );
}

#[test]
fn reasoning_budget_is_added_to_the_answer_within_model_limit() {
    for (provider, model, word, answer, room, most) in [
        (
            ModelProvider::Openai,
            "gpt-5.4",
            "high",
            6_000,
            16_384,
            22_384,
        ),
        (ModelProvider::Openai, "gpt-5.4", "none", 6_000, 0, 6_000),
        (ModelProvider::Openai, "gpt-4.1", "high", 6_000, 0, 6_000),
        (
            ModelProvider::Openai,
            "a-model",
            "high",
            6_000,
            2_048,
            4_096,
        ),
        (ModelProvider::Openai, "a-model", "low", 1_000, 2_048, 3_048),
        (
            ModelProvider::Anthropic,
            "claude-opus-4-5",
            "xhigh",
            6_000,
            32_768,
            38_768,
        ),
        (
            ModelProvider::Anthropic,
            "claude-opus-4-5",
            "16000",
            6_000,
            16_000,
            22_000,
        ),
        (
            ModelProvider::Anthropic,
            "claude-opus-4-1",
            "max",
            6_000,
            26_000,
            32_000,
        ),
        (
            ModelProvider::Gemini,
            "gemini-3-pro",
            "medium",
            8_000,
            8_192,
            16_192,
        ),
    ] {
        let mut config = ModelConfig::new(provider, model);
        config.reasoning_effort = Some(word.to_owned());
        let quirks = Quirks::from_config(&config);
        let found = (
            quirks.reasoning_budget(Some(word), answer),
            quirks.max_request_tokens(Some(word), answer),
        );
        assert_eq!(found, (room, most), "{model} {word}");
        let traits = quirks.traits(&config);
        assert!(traits.max_answer_tokens(answer) >= most, "{model} {word}");
    }
}

#[test]
fn models_that_get_their_tools_only_at_times_are_known() {
    for (provider, model, word, always) in [
        (ModelProvider::Openai, "deepseek-r1:70b", None, false),
        (ModelProvider::Openai, "gpt-5.4", Some("high"), false),
        (ModelProvider::Openai, "gpt-5.4", Some("none"), true),
        (ModelProvider::Openai, "gpt-5.4", None, true),
        (ModelProvider::Openai, "gpt-5.1", Some("high"), true),
        (ModelProvider::Gemini, "gemini-2.5-flash", None, false),
        (ModelProvider::Gemini, "gemini-3-pro", Some("high"), true),
        (
            ModelProvider::Anthropic,
            "claude-opus-5-5",
            Some("high"),
            true,
        ),
    ] {
        let mut config = ModelConfig::new(provider, model);
        config.reasoning_effort = word.map(str::to_owned);
        let traits = Quirks::from_config(&config).traits(&config);
        assert_eq!(traits.tools_always, always, "{model} {word:?}");
        config.tools = Some(false);
        assert!(!Quirks::from_config(&config).traits(&config).tools_always);
    }
}

fn at(base_url: &str) -> ModelConfig {
    ModelConfig {
        base_url: Some(base_url.to_owned()),
        ..ModelConfig::new(ModelProvider::Openai, "gpt-4.1")
    }
}

#[test]
fn only_the_vendors_own_servers_take_a_schema_beside_tools() {
    for url in [
        "https://api.openai.com/v1",
        "https://eu.api.openai.com/v1",
        "https://soc.openai.azure.com/openai/v1",
        "https://soc.services.ai.azure.com/openai/v1",
    ] {
        let quirks = Quirks::from_config(&at(url));
        assert_eq!(quirks.schema_with_tools, SchemaMode::Strict, "{url}");
        assert!(
            quirks.names_tool && quirks.keep_alive && !quirks.grammar,
            "{url}"
        );
    }
    for url in [
        "http://127.0.0.1:8080/v1",
        "http://localhost:11434/v1",
        "https://openrouter.ai/api/v1",
        "https://api.openai.com.evil.example/v1",
        "https://notapi.openai.com/v1",
    ] {
        let quirks = Quirks::from_config(&at(url));
        assert_eq!(quirks.schema_with_tools, SchemaMode::Tool, "{url}");
        assert!(
            !quirks.names_tool && !quirks.keep_alive && quirks.grammar,
            "{url}"
        );
    }
}

#[test]
fn a_configured_server_counts_for_more_than_its_host() {
    let with = |server| {
        let mut config = at("http://127.0.0.1:8080/v1");
        config.server = Some(server);
        let quirks = Quirks::from_config(&config);
        (
            quirks.schema,
            quirks.schema_with_tools,
            quirks.may_be_litellm,
        )
    };
    let (strict, tool, prompt) = (SchemaMode::Strict, SchemaMode::Tool, SchemaMode::Prompt);
    assert_eq!(with(ModelServer::Openai), (strict, strict, false));
    assert_eq!(with(ModelServer::LlamaCpp), (strict, tool, false));
    assert_eq!(with(ModelServer::Vllm), (strict, tool, false));
    assert_eq!(with(ModelServer::LmStudio), (strict, tool, false));
    assert_eq!(with(ModelServer::Litellm), (strict, tool, true));
    assert_eq!(with(ModelServer::Ollama), (strict, prompt, false));
    assert_eq!(with(ModelServer::Transformers), (prompt, prompt, false));
    let mut config = at("https://gateway.example.org/v1");
    config.server = Some(ModelServer::Azure);
    assert_eq!(Quirks::from_config(&config).key_header, "api-key");
}

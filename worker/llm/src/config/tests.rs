//! Tests valid and invalid `[[model]]` tables.

use crate::chat::QuestionKind;

use super::*;

fn parse(text: &str) -> Result<ModelConfig, String> {
    let config: ModelConfig = toml::from_str(text).map_err(|error| error.message().to_owned())?;
    config.check().map_err(|error| error.to_string())?;
    Ok(config)
}

const LEAST: &str = "name = \"main\"\nprovider = \"openai\"\nmodel = \"gpt-x\"\n";

fn with(line: &str) -> Result<ModelConfig, String> {
    parse(&format!("{LEAST}{line}"))
}

#[test]
fn a_question_has_its_own_values_over_those_of_the_model() {
    let config = with("temperature = 0.1\nreasoning_effort = \"low\"\nquestions = { conclude = { temperature = 0.0, reasoning_effort = \"high\" } }").unwrap();
    let turn = config.sampling(QuestionKind::Turn);
    assert_eq!(
        (turn.temperature, turn.reasoning_effort.as_deref()),
        (Some(0.1), Some("low"))
    );
    let conclude = config.sampling(QuestionKind::Conclude);
    assert_eq!(
        (conclude.temperature, conclude.reasoning_effort.as_deref()),
        (Some(0.0), Some("high"))
    );
}

#[test]
fn what_does_not_fit_is_refused_with_its_key() {
    for (line, said) in [
        ("base_url = \"http://10.1.2.3/v1\"", "allow_private"),
        ("base_url = \"ftp://x/v1\"", "use https"),
        ("base_url = \"https://u:p@x/v1\"", "`api_key`"),
        ("base_url = \"https://x/v1?api-version=1\"", "`api_version`"),
        ("base_url = \"x/v1\"", "no URL"),
        ("proxy = \"user:pw\"", "`proxy`"),
        ("price = { input = -1.0, output = 1.0 }", "`price`"),
        ("concurrent = 0", "`concurrent`"),
        ("region = \"eu-west-1\"", "`region`"),
        ("temperature = 3.0", "`temperature`"),
        ("questions = { plan = { top_p = 2.0 } }", "`top_p`"),
        (
            "questions = { planning = { top_p = 0.2 } }",
            "unknown field",
        ),
        ("headers = { Authorization = \"Bearer x\" }", "`api_key`"),
        ("headers = { \"a b\" = \"x\" }", "no header"),
        ("warmth = 0.1", "unknown field"),
    ] {
        let error = with(line).unwrap_err();
        assert!(error.contains(said), "{line}: {error}");
    }
    let bedrock = LEAST.replace("openai", "bedrock");
    let error = parse(&format!("{bedrock}stream = true")).unwrap_err();
    assert!(error.contains("`stream`"), "{error}");
    assert!(parse(&format!("{bedrock}stream = false")).is_ok());
}

#[test]
fn plain_http_is_for_this_machine_or_what_is_allowed() {
    for line in [
        "base_url = \"http://127.0.0.1:8000/v1\"",
        "base_url = \"http://[::1]/v1\"",
        "base_url = \"http://localhost:11434/v1\"",
        "base_url = \"http://vllm.internal/v1\"\nallow_private = true",
        "base_url = \"https://example.org/v1\"",
    ] {
        with(line).unwrap();
    }
    assert!(with("base_url = \"http://localhost.example.org/v1\"").is_err());
}

#[test]
fn no_output_shows_a_key() {
    let config = with("api_key = \"sk-live-0123456789abcdef\"").unwrap();
    assert!(!format!("{config:?}").contains("0123456789"));
}

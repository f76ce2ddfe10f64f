//! Checks a whole request to Google and the generation parameters.

use serde_json::Value;

use super::super::cache::Prompt;
use super::super::check::{JsonFields, JsonNode, ValidationError};
use super::super::model_rules::{self, GeminiRules};
use super::super::request::Tool;
use super::super::schema::gemini as dialect;
use super::super::wire::{Request, require_json};
use super::super::{Provider, ProviderErrorKind, RecordedRequest};
use super::{authenticate, contents, spelling, tools};

const FIELDS: [&str; 10] = [
    "contents",
    "systemInstruction",
    "tools",
    "toolConfig",
    "safetySettings",
    "generationConfig",
    "cachedContent",
    "labels",
    "serviceTier",
    "store",
];
const GENERATION: [&str; 22] = [
    "temperature",
    "topP",
    "topK",
    "candidateCount",
    "maxOutputTokens",
    "stopSequences",
    "responseLogprobs",
    "logprobs",
    "presencePenalty",
    "frequencyPenalty",
    "seed",
    "responseMimeType",
    "responseSchema",
    "responseJsonSchema",
    "responseModalities",
    "mediaResolution",
    "speechConfig",
    "thinkingConfig",
    "imageConfig",
    "enableEnhancedCivicAnswers",
    "audioTranscriptionConfig",
    "routingConfig",
];

/// The requested form of an answer.
#[derive(Debug, Default)]
struct GenerationSettings {
    schema: Option<Value>,
    json: bool,
    max_tokens: Option<u64>,
    temperature: Option<f64>,
}

/// Checks a request and returns it in the common form.
pub(in super::super) fn check(request: &Request) -> Result<RecordedRequest, ValidationError> {
    authenticate(request)?;
    require_json(
        request,
        "Invalid JSON payload received. The content type must be application/json.",
    )?;
    if request.streamed && request.query.get("alt").is_none_or(|alt| alt != "sse") {
        return Err(ValidationError::request(
            ProviderErrorKind::BadRequest,
            "this fake streams server-sent events only: ask with ?alt=sse, as the SDKs do",
        ));
    }
    let model = request.model.clone().unwrap_or_default();
    let rules = model_rules::gemini(&model);
    let spelt = spelling::to_camel_case(&request.body);
    let body = JsonNode::root(&spelt);
    let fields = body.fields(&FIELDS)?;
    let system = match fields.get("systemInstruction") {
        Some(at) => contents::system(&at)?,
        None => String::new(),
    };
    let turns = contents::parse_contents(&fields.required("contents")?, rules)?;
    let tools = tools::parse_tools(&fields)?;
    let wanted = match fields.get("generationConfig") {
        Some(at) => generation(&at, rules, &tools)?,
        None => GenerationSettings::default(),
    };
    labels(&fields, request.provider)?;
    let mut prompt = Prompt::default();
    prompt.push_each(spelt.get("tools"));
    prompt.push(spelt.get("systemInstruction"));
    prompt.push_each(spelt.get("contents"));
    Ok(RecordedRequest {
        provider: request.provider,
        number: 0,
        choice: tools::choice(&fields, &tools)?,
        model,
        system,
        turns,
        tools,
        response_schema: wanted.schema,
        requires_json: wanted.json,
        streamed: request.streamed,
        streams_usage: true,
        max_tokens: wanted.max_tokens,
        temperature: wanted.temperature,
        body: request.body.clone(),
        headers: request.headers.clone(),
        prompt,
    })
}

fn labels(fields: &JsonFields<'_>, provider: Provider) -> Result<(), ValidationError> {
    match fields.get("labels") {
        Some(at) if provider == Provider::Gemini => Err(at.unknown_field()),
        Some(at) => at.any_fields().map(drop),
        None => Ok(()),
    }
}

fn generation(
    at: &JsonNode<'_>,
    rules: GeminiRules,
    tools: &[Tool],
) -> Result<GenerationSettings, ValidationError> {
    let fields = at.fields(&GENERATION)?;
    let temperature = match fields.get("temperature") {
        Some(at) => Some(at.number(0.0, 2.0)?),
        None => None,
    };
    if let Some(at) = fields.get("topP") {
        at.number(0.0, 1.0)?;
    }
    let max_tokens = match fields.get("maxOutputTokens") {
        Some(at) => Some(at.integer(1)?),
        None => None,
    };
    if let Some(at) = fields.get("candidateCount")
        && at.integer(1)? != 1
    {
        return Err(at.rule_error("Multiple candidates is not enabled for this model"));
    }
    thinking(&fields, rules, max_tokens)?;
    let mime = match fields.get("responseMimeType") {
        Some(at) => at.one_of(&["text/plain", "application/json", "text/x.enum"])?,
        None => "text/plain",
    };
    let json = mime == "application/json";
    let schema = schema(&fields, json)?;
    if json && !tools.is_empty() && !rules.tools_and_schema {
        return Err(ValidationError::request(
            ProviderErrorKind::BadRequest,
            "Function calling with a response mime type: 'application/json' is unsupported",
        ));
    }
    Ok(GenerationSettings {
        json,
        schema,
        max_tokens,
        temperature,
    })
}

fn schema(fields: &JsonFields<'_>, json: bool) -> Result<Option<Value>, ValidationError> {
    let own = fields.get("responseSchema");
    let standard = fields.get("responseJsonSchema");
    let schema = match (own, standard) {
        (None, None) => return Ok(None),
        (Some(at), Some(_)) => {
            return Err(
                at.rule_error("only one of response_schema and response_json_schema may be set")
            );
        }
        (Some(at), None) => {
            dialect::check(&at)?;
            at.value.clone()
        }
        (None, Some(at)) => {
            dialect::check_json(&at)?;
            at.value.clone()
        }
    };
    if !json {
        return Err(ValidationError::request(
            ProviderErrorKind::BadRequest,
            "* GenerateContentRequest.generation_config.response_schema: only allowed when response_mime_type is application/json",
        ));
    }
    Ok(Some(schema))
}

fn thinking(
    fields: &JsonFields<'_>,
    rules: GeminiRules,
    max_tokens: Option<u64>,
) -> Result<(), ValidationError> {
    let Some(at) = fields.get("thinkingConfig") else {
        return Ok(());
    };
    let thinking = at.fields(&["includeThoughts", "thinkingBudget", "thinkingLevel"])?;
    if let Some(level) = thinking.get("thinkingLevel") {
        let level_word = level.text()?.to_uppercase();
        if !rules.levels {
            return Err(ValidationError::request(
                ProviderErrorKind::BadRequest,
                "Thinking level is not supported for this model.",
            ));
        }
        if !["MINIMAL", "LOW", "MEDIUM", "HIGH", "XHIGH"].contains(&level_word.as_str()) {
            return Err(level.rule_error("Invalid value at 'thinking_level'"));
        }
        if thinking.has("thinkingBudget") {
            return Err(ValidationError::request(
                ProviderErrorKind::BadRequest,
                "You can only set only one of thinking budget and thinking level.",
            ));
        }
    }
    // Thinking counts as output, so such an answer would end before it begins.
    if let (Some(budget), Some(most)) = (thinking.get("thinkingBudget"), max_tokens)
        && budget.integer(0)? >= most
    {
        return Err(budget.rule_error("The thinking budget leaves no room in max_output_tokens."));
    }
    Ok(())
}

//! Google's checks of a whole request and of the generation parameters.

use serde_json::Value;

use super::super::cache::Prompt;
use super::super::check::{At, Fields, Wrong};
use super::super::models::{self, Gemini};
use super::super::schema::gemini as dialect;
use super::super::seen::Tool;
use super::super::wire::{Request, needs_json};
use super::super::{Kind, Provider, Seen};
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
struct Wanted {
    schema: Option<Value>,
    json: bool,
    max_tokens: Option<u64>,
    temperature: Option<f64>,
}

/// Checks a request and returns it in the common form.
pub(in super::super) fn check(request: &Request) -> Result<Seen, Wrong> {
    authenticate(request)?;
    needs_json(
        request,
        "Invalid JSON payload received. The content type must be application/json.",
    )?;
    if request.streamed && request.query.get("alt").is_none_or(|alt| alt != "sse") {
        return Err(Wrong::request(
            Kind::BadRequest,
            "this fake streams server-sent events only: ask with ?alt=sse, as the SDKs do",
        ));
    }
    let model = request.model.clone().unwrap_or_default();
    let rules = models::gemini(&model);
    let spelt = spelling::one(&request.body);
    let body = At::root(&spelt);
    let fields = body.fields(&FIELDS)?;
    let system = match fields.get("systemInstruction") {
        Some(at) => contents::system(&at)?,
        None => String::new(),
    };
    let turns = contents::read(&fields.need("contents")?, rules)?;
    let tools = tools::read(&fields)?;
    let wanted = match fields.get("generationConfig") {
        Some(at) => generation(&at, rules, &tools)?,
        None => Wanted::default(),
    };
    labels(&fields, request.provider)?;
    let mut prompt = Prompt::default();
    prompt.push_each(spelt.get("tools"));
    prompt.push(spelt.get("systemInstruction"));
    prompt.push_each(spelt.get("contents"));
    Ok(Seen {
        provider: request.provider,
        number: 0,
        choice: tools::choice(&fields, &tools)?,
        model,
        system,
        turns,
        tools,
        wants: wanted.schema,
        wants_json: wanted.json,
        streamed: request.streamed,
        streams_usage: true,
        max_tokens: wanted.max_tokens,
        temperature: wanted.temperature,
        body: request.body.clone(),
        headers: request.headers.clone(),
        prompt,
    })
}

fn labels(fields: &Fields<'_>, provider: Provider) -> Result<(), Wrong> {
    match fields.get("labels") {
        Some(at) if provider == Provider::Gemini => Err(at.unknown()),
        Some(at) => at.any_fields().map(drop),
        None => Ok(()),
    }
}

fn generation(at: &At<'_>, rules: Gemini, tools: &[Tool]) -> Result<Wanted, Wrong> {
    let fields = at.fields(&GENERATION)?;
    let temperature = match fields.get("temperature") {
        Some(at) => Some(at.number(0.0, 2.0)?),
        None => None,
    };
    if let Some(at) = fields.get("topP") {
        at.number(0.0, 1.0)?;
    }
    let max_tokens = match fields.get("maxOutputTokens") {
        Some(at) => Some(at.whole(1)?),
        None => None,
    };
    if let Some(at) = fields.get("candidateCount")
        && at.whole(1)? != 1
    {
        return Err(at.wrong("Multiple candidates is not enabled for this model"));
    }
    thinking(&fields, rules, max_tokens)?;
    let mime = match fields.get("responseMimeType") {
        Some(at) => at.one_of(&["text/plain", "application/json", "text/x.enum"])?,
        None => "text/plain",
    };
    let json = mime == "application/json";
    let schema = schema(&fields, json)?;
    if json && !tools.is_empty() && !rules.tools_and_schema {
        return Err(Wrong::request(
            Kind::BadRequest,
            "Function calling with a response mime type: 'application/json' is unsupported",
        ));
    }
    Ok(Wanted {
        json,
        schema,
        max_tokens,
        temperature,
    })
}

fn schema(fields: &Fields<'_>, json: bool) -> Result<Option<Value>, Wrong> {
    let own = fields.get("responseSchema");
    let standard = fields.get("responseJsonSchema");
    let schema = match (own, standard) {
        (None, None) => return Ok(None),
        (Some(at), Some(_)) => {
            return Err(at.wrong("only one of response_schema and response_json_schema may be set"));
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
        return Err(Wrong::request(
            Kind::BadRequest,
            "* GenerateContentRequest.generation_config.response_schema: only allowed when response_mime_type is application/json",
        ));
    }
    Ok(Some(schema))
}

fn thinking(fields: &Fields<'_>, rules: Gemini, max_tokens: Option<u64>) -> Result<(), Wrong> {
    let Some(at) = fields.get("thinkingConfig") else {
        return Ok(());
    };
    let thinking = at.fields(&["includeThoughts", "thinkingBudget", "thinkingLevel"])?;
    if let Some(level) = thinking.get("thinkingLevel") {
        let level_word = level.text()?.to_uppercase();
        if !rules.levels {
            return Err(Wrong::request(
                Kind::BadRequest,
                "Thinking level is not supported for this model.",
            ));
        }
        if !["MINIMAL", "LOW", "MEDIUM", "HIGH", "XHIGH"].contains(&level_word.as_str()) {
            return Err(level.wrong("Invalid value at 'thinking_level'"));
        }
        if thinking.has("thinkingBudget") {
            return Err(Wrong::request(
                Kind::BadRequest,
                "You can only set only one of thinking budget and thinking level.",
            ));
        }
    }
    // Thinking counts as output, so such an answer would end before it begins.
    if let (Some(budget), Some(most)) = (thinking.get("thinkingBudget"), max_tokens)
        && budget.whole(0)? >= most
    {
        return Err(budget.wrong("The thinking budget leaves no room in max_output_tokens."));
    }
    Ok(())
}

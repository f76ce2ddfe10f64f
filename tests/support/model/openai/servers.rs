//! Defines servers with OpenAI's chat completions, and their deviations in refusals, omissions and answers.
//!
//! The behaviour was observed with llama.cpp's server in xllamacpp 2026.10.11549, and LiteLLM's proxy 1.80 to 1.110.

use serde_json::{Value, json};

use super::super::request::ToolChoice;
use super::super::wire::{ErrorResponse, Request, is_wrong_key};
use super::super::{ProviderError, ProviderErrorKind, RecordedRequest};

/// The server that the fake imitates on OpenAI's protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OpenAiServer {
    #[default]
    OpenAi,
    /// llama.cpp: no key, no boolean schemas, no tools together with a response schema.
    LlamaCpp,
    /// LiteLLM's proxy, with a master key and without a database.
    Litellm,
}

impl OpenAiServer {
    /// Refuses requests by the rules of this server. A key that the server does not need counts as sent.
    pub(in super::super) fn admit(self, request: &mut Request) -> Result<(), ErrorResponse> {
        match self {
            Self::OpenAi => Ok(()),
            Self::LlamaCpp => {
                let headers = &mut request.headers;
                headers
                    .entry("authorization".to_owned())
                    .or_insert_with(|| "Bearer none".to_owned());
                match boolean_schema(&request.body) {
                    Some(at) => Err(refused(400, unreadable_schema(&at))),
                    None => Ok(()),
                }
            }
            Self::Litellm => match request.bearer() {
                None => Err(refused(500, json!("Internal Server Error"))),
                Some(key) if is_wrong_key(key) => Err(refused(400, no_database())),
                Some(_) => Ok(()),
            },
        }
    }

    /// Removes parts of a request that this server does not pass to its model.
    pub(in super::super) fn reduce(self, seen: &mut RecordedRequest) {
        if self != Self::LlamaCpp {
            return;
        }
        if matches!(seen.choice, ToolChoice::Tool(_)) {
            seen.choice = ToolChoice::Auto;
        }
        if seen.response_schema.is_some() || seen.requires_json {
            seen.tools.clear();
            seen.choice = ToolChoice::None;
        }
    }

    /// Converts an error to the format of this server.
    pub(in super::super) fn reword_error(
        self,
        trouble: &ProviderError,
        mut refusal: ErrorResponse,
    ) -> ErrorResponse {
        if self != Self::Litellm {
            return refusal;
        }
        for (name, _) in &mut refusal.headers {
            match *name {
                "retry-after" => *name = "llm_provider-retry-after",
                "retry-after-ms" => *name = "llm_provider-retry-after-ms",
                _ => {}
            }
        }
        if trouble.kind == ProviderErrorKind::SpendLimit {
            refusal.status = 422;
            refusal.body = json!({"error": {
                "message": "Budget has been exceeded! Current cost: 1.2, Max budget: 1.0",
                "type": "budget_exceeded", "param": null, "code": "422",
            }});
        }
        refusal
    }
}

fn refused(status: u16, body: Value) -> ErrorResponse {
    ErrorResponse {
        status,
        headers: Vec::new(),
        body,
    }
}

fn no_database() -> Value {
    json!({"error": {
        "message": "No connected db.", "type": "no_db_connection", "param": null, "code": "400",
    }})
}

fn unreadable_schema(at: &str) -> Value {
    let message = format!(
        "Unable to generate parser for this template. Automatic parser generation failed: JSON schema error at #{at}: schema must be an object"
    );
    json!({"error": {"code": 400, "message": message, "type": "invalid_request_error"}})
}

/// Returns the place of the first boolean schema in a tool or the response schema.
fn boolean_schema(body: &Value) -> Option<String> {
    let tools = body.get("tools").and_then(Value::as_array);
    let of_tools = tools.into_iter().flatten();
    let of_tools = of_tools.filter_map(|tool| tool.pointer("/function/parameters"));
    let of_answer = body.pointer("/response_format/json_schema/schema");
    of_tools
        .chain(of_answer)
        .find_map(|schema| boolean_in(schema, ""))
}

fn boolean_in(schema: &Value, at: &str) -> Option<String> {
    let Value::Object(fields) = schema else {
        return schema.is_boolean().then(|| at.to_owned());
    };
    fields.iter().find_map(|(key, value)| {
        let at = format!("{at}/{key}");
        match (key.as_str(), value) {
            ("properties" | "$defs", Value::Object(map)) => map
                .iter()
                .find_map(|(name, inner)| boolean_in(inner, &format!("{at}/{name}"))),
            ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(list)) => list
                .iter()
                .enumerate()
                .find_map(|(index, inner)| boolean_in(inner, &format!("{at}/{index}"))),
            ("items", inner) => boolean_in(inner, &at),
            ("additionalProperties", Value::Object(_)) => boolean_in(value, &at),
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_boolean_is_found_where_a_schema_must_stand() {
        let body = |schema: Value| json!({"tools": [{"function": {"parameters": schema}}]});
        let in_list = body(json!({"properties": {"a": {"items": {"anyOf": [{}, true]}}}}));
        assert_eq!(
            boolean_schema(&in_list).as_deref(),
            Some("/properties/a/items/anyOf/1")
        );
        let closed =
            body(json!({"properties": {"a": {"default": true}}, "additionalProperties": false}));
        assert_eq!(boolean_schema(&closed), None);
    }
}

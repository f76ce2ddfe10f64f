//! Builds valid requests of every provider without an SDK, which tests then spoil.

use std::sync::LazyLock;

use nightshift_tests::model::{FakeModel, Provider};
use serde_json::{Value, json};

/// A client that keeps no connections, because each test has its own runtime.
static CLIENT: LazyLock<reqwest::Client> = LazyLock::new(|| {
    let client = reqwest::Client::builder().no_proxy();
    client.pool_max_idle_per_host(0).build().unwrap()
});

#[derive(Debug, Clone)]
pub(super) struct RawRequest {
    pub(super) provider: Provider,
    pub(super) path: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Value,
}

#[derive(Debug)]
pub(super) struct RawResponse {
    pub(super) status: u16,
    pub(super) headers: reqwest::header::HeaderMap,
    pub(super) text: String,
}

impl RawResponse {
    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }
}

pub(super) fn schema() -> Value {
    json!({
        "type": "object", "additionalProperties": false, "required": ["indicator"],
        "properties": {"indicator": {"type": "string"}},
    })
}

fn google() -> Value {
    json!({
        "contents": [{"role": "user", "parts": [{"text": "What is 10.0.0.5?"}]}],
        "tools": [{"functionDeclarations": [{
            "name": "lookup", "description": "looks up", "parametersJsonSchema": schema(),
        }]}],
    })
}

fn chat() -> Value {
    json!({
        "model": "gpt-4o",
        "messages": [{"role": "system", "content": "You are."}, {"role": "user", "content": "What is 10.0.0.5?"}],
        "tools": [{"type": "function", "function": {
            "name": "lookup", "description": "looks up", "parameters": schema(), "strict": true,
        }}],
    })
}

/// Returns a valid request with a tool.
pub(super) fn valid_request(provider: Provider) -> RawRequest {
    let (path, headers, body): (&str, &[(&str, &str)], Value) = match provider {
        Provider::OpenAi => (
            "/v1/chat/completions",
            &[("authorization", "Bearer sk-test")],
            chat(),
        ),
        Provider::Azure => (
            "/openai/v1/chat/completions",
            &[("api-key", "test")],
            chat(),
        ),
        Provider::Anthropic => (
            "/v1/messages",
            &[
                ("authorization", "Bearer sk-ant"),
                ("anthropic-version", "2026-10-21"),
            ],
            json!({
                "model": "claude-sonnet-5", "max_tokens": 1000, "system": "You are.",
                "messages": [{"role": "user", "content": "What is 10.0.0.5?"}],
                "tools": [{"name": "lookup", "description": "looks up", "input_schema": schema()}],
            }),
        ),
        Provider::Gemini => (
            "/v1beta/models/gemini-3-pro-preview:generateContent",
            &[("x-goog-api-key", "AIza")],
            google(),
        ),
        Provider::Vertex => (
            "/v1/projects/p/locations/global/publishers/google/models/gemini-3-pro:generateContent",
            &[("authorization", "Bearer ya29")],
            google(),
        ),
        Provider::Bedrock => (
            "/model/eu.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse",
            &[("authorization", "Bearer key")],
            json!({
                "system": [{"text": "You are."}],
                "messages": [{"role": "user", "content": [{"text": "What is 10.0.0.5?"}]}],
                "toolConfig": {"tools": [{"toolSpec": {
                    "name": "lookup", "description": "looks up", "inputSchema": {"json": schema()},
                }}]},
            }),
        ),
    };
    RawRequest {
        provider,
        path: path.to_owned(),
        headers: headers
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect(),
        body,
    }
}

impl RawRequest {
    /// Sets the value at a pointer of the body; null removes it.
    pub(super) fn with(mut self, pointer: &str, value: Value) -> Self {
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        match self.body.pointer_mut(parent).unwrap() {
            Value::Object(map) if value.is_null() => drop(map.remove(name)),
            Value::Object(map) => drop(map.insert(name.to_owned(), value)),
            Value::Array(items) if name == "-" => items.push(value),
            Value::Array(items) => items[name.parse::<usize>().unwrap()] = value,
            other => panic!("{parent} is {other}"),
        }
        self
    }

    /// Sets a header, or removes it.
    pub(super) fn header(mut self, name: &str, value: Option<&str>) -> Self {
        self.headers.retain(|(known, _)| known != name);
        self.headers
            .extend(value.map(|value| (name.to_owned(), value.to_owned())));
        self
    }

    pub(super) fn model(mut self, model: &str) -> Self {
        match self.provider {
            Provider::Gemini => self.path = format!("/v1beta/models/{model}:generateContent"),
            Provider::Bedrock => self.path = format!("/model/{model}/converse"),
            _ => self.body["model"] = json!(model),
        }
        self
    }

    pub(super) fn path(mut self, path: &str) -> Self {
        path.clone_into(&mut self.path);
        self
    }

    pub(super) async fn send(&self, fake: &FakeModel) -> RawResponse {
        let response = self.response(fake).await.unwrap();
        RawResponse {
            status: response.status().as_u16(),
            headers: response.headers().clone(),
            text: response.text().await.unwrap(),
        }
    }

    pub(super) async fn response(&self, fake: &FakeModel) -> reqwest::Result<reqwest::Response> {
        let origin = fake.base_url(Provider::Anthropic);
        let mut request = CLIENT
            .post(format!("{origin}{}", self.path))
            .header("content-type", "application/json");
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        request.body(self.body.to_string()).send().await
    }
}

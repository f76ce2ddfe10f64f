//! Converts JSON to and from the SDK's documents.
//!
//! The SDK's objects are hash maps, so each request would write a tool's schema in another order, and the provider's
//! prompt cache would never match. [`KeySorter`] sorts the keys before the request is signed.

use aws_sdk_bedrockruntime::config::interceptors::BeforeTransmitInterceptorContextMut;
use aws_sdk_bedrockruntime::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_bedrockruntime::error::BoxError;
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::{Document, Number};
use serde_json::Value;

/// Sorts the keys of a request.
#[derive(Debug)]
pub(super) struct KeySorter;

impl Intercept for KeySorter {
    fn name(&self) -> &'static str {
        "Ordered"
    }

    fn modify_before_signing(
        &self,
        context: &mut BeforeTransmitInterceptorContextMut<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let request = context.request_mut();
        let Some(bytes) = request.body().bytes() else {
            return Ok(());
        };
        let mut body: Value = serde_json::from_slice(bytes)?;
        body.sort_all_objects();
        let bytes = serde_json::to_vec(&body)?;
        request
            .headers_mut()
            .insert("content-length", bytes.len().to_string());
        *request.body_mut() = SdkBody::from(bytes);
        Ok(())
    }
}

/// Converts JSON to an SDK document.
pub(super) fn to_document(value: &Value) -> Document {
    match value {
        Value::Null => Document::Null,
        Value::Bool(value) => Document::Bool(*value),
        Value::String(text) => Document::String(text.clone()),
        Value::Array(list) => Document::Array(list.iter().map(to_document).collect()),
        Value::Object(object) => Document::Object(
            object
                .iter()
                .map(|(key, value)| (key.clone(), to_document(value)))
                .collect(),
        ),
        Value::Number(number) => Document::Number(match (number.as_u64(), number.as_i64()) {
            (Some(number), _) => Number::PosInt(number),
            (None, Some(number)) => Number::NegInt(number),
            (None, None) => Number::Float(number.as_f64().unwrap_or(0.0)),
        }),
    }
}

/// Converts an SDK document to JSON.
pub(super) fn json_from_document(document: Document) -> Value {
    match document {
        Document::Null => Value::Null,
        Document::Bool(value) => Value::Bool(value),
        Document::String(text) => Value::String(text),
        Document::Array(list) => Value::Array(list.into_iter().map(json_from_document).collect()),
        Document::Object(object) => Value::Object(
            object
                .into_iter()
                .map(|(key, value)| (key, json_from_document(value)))
                .collect(),
        ),
        Document::Number(Number::PosInt(number)) => Value::from(number),
        Document::Number(Number::NegInt(number)) => Value::from(number),
        Document::Number(Number::Float(number)) => Value::from(number),
    }
}

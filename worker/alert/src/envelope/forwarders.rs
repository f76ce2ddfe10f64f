//! Unwraps what log forwarders and functions put around a finding, by a table of their shapes.

use serde_json::Value;

use super::{Envelope, EnvelopeContent, json_text};

/// The form of the content of an envelope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// JSON, or JSON in a string.
    Json,
    /// JSON in base64.
    Base64,
}

/// The envelope of one forwarder.
struct Forwarder {
    name: &'static str,
    /// Fields that the envelope has, of which a feed cannot be recognised.
    fields: &'static [&'static str],
    /// The JSON pointer of the content.
    content: &'static str,
    form: Form,
    /// True if no other fields than these may stand in the envelope, because their names are common ones.
    is_exact: bool,
}

const FORWARDERS: [Forwarder; 9] = [
    // A record that AWS Lambda gets from SQS: https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html
    Forwarder {
        name: "sqs_record",
        fields: &["eventSource", "body", "messageId"],
        content: "/body",
        form: Form::Json,
        is_exact: false,
    },
    // https://docs.aws.amazon.com/lambda/latest/dg/with-sns.html
    Forwarder {
        name: "sns_record",
        fields: &["EventSource", "Sns"],
        content: "/Sns",
        form: Form::Json,
        is_exact: false,
    },
    // https://docs.aws.amazon.com/lambda/latest/dg/with-kinesis.html
    Forwarder {
        name: "kinesis_record",
        fields: &["eventSource", "kinesis"],
        content: "/kinesis/data",
        form: Form::Base64,
        is_exact: false,
    },
    // https://docs.aws.amazon.com/firehose/latest/dev/httpdeliveryrequestresponse.html
    Forwarder {
        name: "firehose_record",
        fields: &["data"],
        content: "/data",
        form: Form::Base64,
        is_exact: true,
    },
    // https://docs.aws.amazon.com/firehose/latest/dev/data-transformation.html
    Forwarder {
        name: "firehose_record",
        fields: &["recordId", "data"],
        content: "/data",
        form: Form::Base64,
        is_exact: false,
    },
    // https://cloud.google.com/logging/docs/reference/v2/rest/v2/LogEntry
    Forwarder {
        name: "cloud_logging",
        fields: &["logName", "jsonPayload"],
        content: "/jsonPayload",
        form: Form::Json,
        is_exact: false,
    },
    // https://help.splunk.com/en/splunk-enterprise/get-data-in/use-the-http-event-collector
    Forwarder {
        name: "splunk_event",
        fields: &["sourcetype", "event"],
        content: "/event",
        form: Form::Json,
        is_exact: false,
    },
    // https://learn.microsoft.com/en-us/azure/event-grid/event-schema
    Forwarder {
        name: "event_grid",
        fields: &["eventType", "eventTime", "data"],
        content: "/data",
        form: Form::Json,
        is_exact: false,
    },
    // https://www.elastic.co/docs/reference/logstash/event-api
    Forwarder {
        name: "logstash",
        fields: &["@timestamp", "message"],
        content: "/message",
        form: Form::Json,
        is_exact: false,
    },
];

/// Recognises the envelope of a forwarder by its fields. Content that is neither an object nor JSON in a string is no
/// finding, so that its envelope is none.
pub(super) fn recognise(value: &Value) -> Option<Envelope<'_>> {
    let map = value.as_object()?;
    let forwarder = FORWARDERS.iter().find(|one| {
        one.fields.iter().all(|field| map.contains_key(*field))
            && (!one.is_exact || map.len() == one.fields.len())
    })?;
    let pointer = forwarder.content;
    let content = match (forwarder.form, value.pointer(pointer)?) {
        (Form::Base64, text) => EnvelopeContent::Base64(pointer, text.as_str()?),
        (Form::Json, Value::Object(_)) => EnvelopeContent::Inline(pointer.strip_prefix('/')?),
        (Form::Json, text) if json_text::is_document(text) => {
            EnvelopeContent::Text(pointer, text.as_str()?)
        }
        (Form::Json, _) => return None,
    };
    Some(Envelope {
        name: forwarder.name,
        content,
        fields: forwarder.fields,
    })
}

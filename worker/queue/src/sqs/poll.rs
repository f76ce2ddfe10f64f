//! Makes one long poll, and converts its result to messages.
//!
//! A message whose payload is unavailable at present is kept back, and in a FIFO queue so are those behind it: they are
//! redelivered in order when their time is over. A pointer that may not or cannot be followed is delivered unchanged.
//! It cannot be read, and becomes a dead letter with that reason.

use std::collections::BTreeMap;
use std::time::Duration;

use aws_sdk_sqs::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_sqs::operation::receive_message::ReceiveMessageError;
use aws_sdk_sqs::operation::receive_message::builders::ReceiveMessageFluentBuilder;
use aws_sdk_sqs::types::{
    Message as Sent, MessageAttributeValue, MessageSystemAttributeName as System,
};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures_util::future::join_all;
use nightshift_pipeline::port::Message;
use parking_lot::Mutex;
use tokio::time::Instant;

use super::access::{ClientAccess, is_refused};
use super::batch::sdk_error_text;
use super::payload::{MemoryPermit, Payload, PayloadPointer, PayloadStore, parse_pointer};
use crate::attributes;
use crate::backoff::FailureKind;
use crate::in_flight::{InFlightMessage, InFlightMessages, InFlightQueue as _};
use crate::sqs_config::SqsConfig;

/// Maximum number of messages of one poll.
pub(super) const MOST_MESSAGES: usize = 10;

#[derive(Debug)]
pub(super) struct PollError {
    /// Text for people.
    pub(super) what: String,
    /// Kind of the failure.
    pub(super) failure: FailureKind,
}

/// A bucket that is unavailable.
struct UnavailableBucket {
    /// The last pointer that could not be followed. Following it again shows when its bucket is back.
    pointer: PayloadPointer,
    why: String,
}

/// State shared by all polls.
pub(super) struct Poller {
    pub(super) access: ClientAccess,
    pub(super) queue_url: String,
    pub(super) visibility_secs: u32,
    pub(super) is_fifo: bool,
    pub(super) payloads: PayloadStore,
    pub(super) in_flight: Mutex<InFlightMessages>,
    /// An unavailable bucket, if one is known.
    unavailable_bucket: Mutex<Option<UnavailableBucket>>,
}

impl Poller {
    pub(super) fn new(config: &SqsConfig, access: ClientAccess) -> Result<Self, String> {
        Ok(Self {
            queue_url: config.queue_url.clone(),
            visibility_secs: config.visibility_secs,
            is_fifo: config.is_fifo(),
            payloads: PayloadStore::new(config, &access)?,
            access,
            in_flight: Mutex::default(),
            unavailable_bucket: Mutex::default(),
        })
    }

    /// Waits this long for up to this many messages.
    pub(super) async fn poll(
        &self,
        room: usize,
        wait: Duration,
    ) -> Result<Vec<Message>, PollError> {
        let first = self.receive_request(room, wait).send().await;
        let answer = match first {
            // The next attempt would follow only later, and messages wait.
            Err(error) if is_refused(&error) && self.access.renew().await => {
                self.receive_request(room, wait).send().await
            }
            other => other,
        };
        let answer = answer.map_err(|error| poll_error(&error))?;
        Ok(self
            .convert_messages(answer.messages.unwrap_or_default())
            .await)
    }

    fn receive_request(&self, room: usize, wait: Duration) -> ReceiveMessageFluentBuilder {
        let call = self
            .access
            .current_client()
            .receive_message()
            .queue_url(&self.queue_url)
            .max_number_of_messages(i32::try_from(room.min(MOST_MESSAGES)).unwrap_or(1))
            .wait_time_seconds(i32::try_from(wait.as_secs()).unwrap_or(20))
            .visibility_timeout(i32::try_from(self.visibility_secs).unwrap_or(i32::MAX))
            .message_system_attribute_names(System::SentTimestamp)
            .message_system_attribute_names(System::AwsTraceHeader)
            .message_attribute_names("All");
        if self.is_fifo {
            call.message_system_attribute_names(System::MessageGroupId)
        } else {
            call
        }
    }

    /// Converts the result of a poll to messages, which are held from now on.
    async fn convert_messages(&self, sent: Vec<Sent>) -> Vec<Message> {
        let since = Instant::now();
        let bodies = join_all(
            sent.iter()
                .map(|one| self.resolve_body(one.body().unwrap_or_default())),
        )
        .await;
        let mut blocked: Vec<String> = Vec::new();
        let mut messages = Vec::new();
        for (sent, body) in sent.into_iter().zip(bodies) {
            let group = system_attribute(&sent, &System::MessageGroupId);
            if group.as_ref().is_some_and(|group| blocked.contains(group)) {
                continue;
            }
            match (body, sent.message_id(), sent.receipt_handle()) {
                (Some((bytes, room)), Some(id), Some(handle)) => {
                    let holding = InFlightMessage {
                        handle: handle.to_owned(),
                        group,
                        since,
                        _memory: room,
                    };
                    self.lock_in_flight().insert(id.to_owned(), holding);
                    messages.push(message_from_sqs(&sent, id, bytes));
                }
                (None, ..) => blocked.extend(group),
                _ => tracing::warn!(
                    "SQS sent a message without an id or a handle; it will come again"
                ),
            }
        }
        messages
    }

    /// Returns why messages are kept back at present, if they are.
    pub(super) fn unavailable_reason(&self) -> Option<String> {
        self.lock_unavailable_bucket()
            .as_ref()
            .map(|away| away.why.clone())
    }

    /// Follows the failed pointer again. Other messages show nothing about its bucket.
    pub(super) async fn retry_bucket(&self) {
        let pointer = self
            .lock_unavailable_bucket()
            .as_ref()
            .map(|away| away.pointer.clone());
        if let Some(pointer) = pointer {
            self.follow_pointer(&pointer).await;
        }
    }

    fn lock_unavailable_bucket(&self) -> parking_lot::MutexGuard<'_, Option<UnavailableBucket>> {
        self.unavailable_bucket.lock()
    }

    /// Follows a pointer, and notes whether its bucket is unavailable.
    async fn follow_pointer(&self, pointer: &PayloadPointer) -> Payload {
        let payload = self.payloads.get(pointer).await;
        let mut away = self.lock_unavailable_bucket();
        if let Payload::Unavailable(why) = &payload {
            *away = Some(UnavailableBucket {
                pointer: pointer.clone(),
                why: why.clone(),
            });
        } else if away.as_ref().is_some_and(|away| away.pointer == *pointer) {
            *away = None;
        }
        drop(away);
        payload
    }

    /// Returns the body or the payload that it points to, or `None` if that is unavailable at present.
    async fn resolve_body(&self, body: &str) -> Option<(Vec<u8>, Option<MemoryPermit>)> {
        let Some(pointer) = parse_pointer(body) else {
            return Some((body.as_bytes().to_vec(), None));
        };
        match self.follow_pointer(&pointer).await {
            Payload::Bytes(bytes, room) => Some((bytes, Some(room))),
            Payload::NoMemory => {
                tracing::debug!("there is no memory for a payload now; it will come again");
                None
            }
            Payload::Unreadable(why) => {
                tracing::warn!(
                    why,
                    "payload pointer not followed; storing the message as dead letter"
                );
                Some((body.as_bytes().to_vec(), None))
            }
            Payload::Unavailable(_) => None,
        }
    }
}

fn system_attribute(sent: &Sent, name: &System) -> Option<String> {
    sent.attributes()?.get(name).cloned()
}

fn message_from_sqs(sent: &Sent, id: &str, bytes: Vec<u8>) -> Message {
    let mut found = BTreeMap::new();
    if let Some(at) = system_attribute(sent, &System::SentTimestamp) {
        found.insert("sent-timestamp".to_owned(), at);
    }
    if let Some(header) = system_attribute(sent, &System::AwsTraceHeader) {
        found.insert("AWSTraceHeader".to_owned(), header);
    }
    for (name, value) in sent.message_attributes().into_iter().flatten() {
        if let Some(value) = attribute_text(value) {
            found.insert(attributes::canonical_name(name), value);
        }
    }
    Message {
        id: id.to_owned(),
        bytes,
        attributes: found,
    }
}

/// Returns a number as text and bytes as base64.
fn attribute_text(value: &MessageAttributeValue) -> Option<String> {
    let bytes = || value.binary_value().map(|bytes| STANDARD.encode(bytes));
    value.string_value().map(str::to_owned).or_else(bytes)
}

fn poll_error(error: &SdkError<ReceiveMessageError>) -> PollError {
    let refused = error
        .raw_response()
        .is_some_and(|response| response.status().is_client_error());
    let is_missing = error
        .as_service_error()
        .is_some_and(ReceiveMessageError::is_queue_does_not_exist);
    let expired = error.code() == Some("RequestExpired");
    PollError {
        what: sdk_error_text(error),
        failure: if refused && !is_missing && !expired {
            FailureKind::Refused
        } else {
            FailureKind::Unavailable
        },
    }
}

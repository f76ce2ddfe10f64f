//! One long poll, and what it brings as messages.
//!
//! A payload that cannot be had at the moment keeps its message back, and in a FIFO queue those behind it: they come again
//! when their time is over, in their order. A pointer that leads nowhere we may or could read is handed over as it
//! stands: it cannot be read, so it ends as a dead letter that says so.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
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
use nightshift_pipeline::Message;
use tokio::time::Instant;

use super::access::{Access, is_refused};
use super::batch::told;
use super::config::Config;
use super::payload::{Payload, Payloads, Pointer, Room, pointer};
use crate::attributes;
use crate::held::{Held, Holder as _, Holding};
use crate::pace::Failure;

/// Most messages of one poll.
pub(super) const MOST_MESSAGES: usize = 10;

/// Why a poll brought nothing.
#[derive(Debug)]
pub(super) struct Failed {
    /// For people.
    pub(super) what: String,
    /// Whether anybody answers.
    pub(super) failure: Failure,
}

/// A bucket that is away.
struct Away {
    /// The last pointer that could not be followed: it tells when its bucket is back.
    pointer: Pointer,
    why: String,
}

/// What every poll needs.
pub(super) struct Poller {
    pub(super) access: Access,
    pub(super) queue_url: String,
    pub(super) visibility_secs: u32,
    pub(super) is_fifo: bool,
    pub(super) payloads: Payloads,
    pub(super) held: Mutex<Held>,
    /// A bucket that is away, if one is known to be.
    away: Mutex<Option<Away>>,
}

impl Poller {
    pub(super) fn new(config: &Config, access: Access) -> Result<Self, String> {
        Ok(Self {
            queue_url: config.queue_url.clone(),
            visibility_secs: config.visibility_secs,
            is_fifo: config.is_fifo(),
            payloads: Payloads::new(config, &access)?,
            access,
            held: Mutex::default(),
            away: Mutex::default(),
        })
    }

    /// Waits for up to this many messages, this long.
    pub(super) async fn poll(&self, room: usize, wait: Duration) -> Result<Vec<Message>, Failed> {
        let first = self.ask(room, wait).send().await;
        let answer = match first {
            // The next try would be a while later, and messages wait.
            Err(error) if is_refused(&error) && self.access.renew().await => {
                self.ask(room, wait).send().await
            }
            other => other,
        };
        let answer = answer.map_err(|error| failed(&error))?;
        Ok(self.take(answer.messages.unwrap_or_default()).await)
    }

    fn ask(&self, room: usize, wait: Duration) -> ReceiveMessageFluentBuilder {
        let call = self
            .access
            .client()
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

    /// What a poll brought, as messages; ours from now on.
    async fn take(&self, sent: Vec<Sent>) -> Vec<Message> {
        let since = Instant::now();
        let bodies = join_all(
            sent.iter()
                .map(|one| self.body(one.body().unwrap_or_default())),
        )
        .await;
        let mut blocked: Vec<String> = Vec::new();
        let mut messages = Vec::new();
        for (sent, body) in sent.into_iter().zip(bodies) {
            let group = system(&sent, &System::MessageGroupId);
            if group.as_ref().is_some_and(|group| blocked.contains(group)) {
                continue;
            }
            match (body, sent.message_id(), sent.receipt_handle()) {
                (Some((bytes, room)), Some(id), Some(handle)) => {
                    let holding = Holding {
                        handle: handle.to_owned(),
                        group,
                        since,
                        _room: room,
                    };
                    self.held().insert(id.to_owned(), holding);
                    messages.push(message(&sent, id, bytes));
                }
                (None, ..) => blocked.extend(group),
                _ => tracing::warn!(
                    "SQS sent a message without an id or a handle; it will come again"
                ),
            }
        }
        messages
    }

    /// Why messages are kept back at the moment, if they are.
    pub(super) fn why_away(&self) -> Option<String> {
        self.away().as_ref().map(|away| away.why.clone())
    }

    /// Tries the pointer again that could not be followed. Other messages say nothing of its bucket.
    pub(super) async fn look_again(&self) {
        let pointer = self.away().as_ref().map(|away| away.pointer.clone());
        if let Some(pointer) = pointer {
            self.follow(&pointer).await;
        }
    }

    fn away(&self) -> std::sync::MutexGuard<'_, Option<Away>> {
        self.away.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Follows a pointer, and notes whether its bucket is away.
    async fn follow(&self, pointer: &Pointer) -> Payload {
        let payload = self.payloads.get(pointer).await;
        let mut away = self.away();
        if let Payload::Later(why) = &payload {
            *away = Some(Away {
                pointer: pointer.clone(),
                why: why.clone(),
            });
        } else if away.as_ref().is_some_and(|away| away.pointer == *pointer) {
            *away = None;
        }
        drop(away);
        payload
    }

    /// The body, or the payload that it points to; none where that cannot be had at the moment.
    async fn body(&self, body: &str) -> Option<(Vec<u8>, Option<Room>)> {
        let Some(pointer) = pointer(body) else {
            return Some((body.as_bytes().to_vec(), None));
        };
        match self.follow(&pointer).await {
            Payload::Bytes(bytes, room) => Some((bytes, Some(room))),
            Payload::NoRoom => {
                tracing::debug!("there is no memory for a payload now; it will come again");
                None
            }
            Payload::Never(why) => {
                tracing::warn!(
                    why,
                    "a pointer to a payload is not followed: it will be a dead letter"
                );
                Some((body.as_bytes().to_vec(), None))
            }
            Payload::Later(_) => None,
        }
    }
}

fn system(sent: &Sent, name: &System) -> Option<String> {
    sent.attributes()?.get(name).cloned()
}

fn message(sent: &Sent, id: &str, bytes: Vec<u8>) -> Message {
    let mut found = BTreeMap::new();
    if let Some(at) = system(sent, &System::SentTimestamp) {
        found.insert("sent-timestamp".to_owned(), at);
    }
    if let Some(header) = system(sent, &System::AwsTraceHeader) {
        found.insert("AWSTraceHeader".to_owned(), header);
    }
    for (name, value) in sent.message_attributes().into_iter().flatten() {
        if let Some(value) = attribute(value) {
            found.insert(attributes::name(name), value);
        }
    }
    Message {
        id: id.to_owned(),
        bytes,
        attributes: found,
    }
}

/// A number is its text, bytes are base64.
fn attribute(value: &MessageAttributeValue) -> Option<String> {
    let bytes = || value.binary_value().map(|bytes| STANDARD.encode(bytes));
    value.string_value().map(str::to_owned).or_else(bytes)
}

fn failed(error: &SdkError<ReceiveMessageError>) -> Failed {
    let refused = error
        .raw_response()
        .is_some_and(|response| response.status().is_client_error());
    let is_missing = error
        .as_service_error()
        .is_some_and(ReceiveMessageError::is_queue_does_not_exist);
    let expired = error.code() == Some("RequestExpired");
    Failed {
        what: told(error),
        failure: if refused && !is_missing && !expired {
            Failure::Refused
        } else {
            Failure::Away
        },
    }
}

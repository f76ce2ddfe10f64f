//! One long poll, and the conversion of its result to messages.
//!
//! A message whose payload is unavailable at present is kept back, and in a FIFO queue so are those behind it: they
//! are redelivered in order when their time is over. A pointer that may not or cannot be followed is delivered as it
//! is. It cannot be read, and becomes a dead letter with that reason.

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
use nightshift_pipeline::port::Message;
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

/// Error of a poll.
#[derive(Debug)]
pub(super) struct Failed {
    /// Text for people.
    pub(super) what: String,
    /// Kind of the failure.
    pub(super) failure: Failure,
}

/// A bucket that is unavailable.
struct Away {
    /// The last pointer that could not be followed. Following it again shows when its bucket is back.
    pointer: Pointer,
    why: String,
}

/// State shared by all polls.
pub(super) struct Poller {
    pub(super) access: Access,
    pub(super) queue_url: String,
    pub(super) visibility_secs: u32,
    pub(super) is_fifo: bool,
    pub(super) payloads: Payloads,
    pub(super) held: Mutex<Held>,
    /// An unavailable bucket, if one is known.
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

    /// Waits this long for up to this many messages.
    pub(super) async fn poll(&self, room: usize, wait: Duration) -> Result<Vec<Message>, Failed> {
        let first = self.ask(room, wait).send().await;
        let answer = match first {
            // The next attempt would follow only later, and messages wait.
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

    /// Converts the result of a poll to messages, which are held from now on.
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

    /// Returns why messages are kept back at present, if they are.
    pub(super) fn why_away(&self) -> Option<String> {
        self.away().as_ref().map(|away| away.why.clone())
    }

    /// Follows the failed pointer again. Other messages show nothing about its bucket.
    pub(super) async fn look_again(&self) {
        let pointer = self.away().as_ref().map(|away| away.pointer.clone());
        if let Some(pointer) = pointer {
            self.follow(&pointer).await;
        }
    }

    fn away(&self) -> std::sync::MutexGuard<'_, Option<Away>> {
        self.away.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Follows a pointer, and notes whether its bucket is unavailable.
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

    /// Returns the body or the payload that it points to, or `None` if that is unavailable at present.
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

/// Returns a number as text and bytes as base64.
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

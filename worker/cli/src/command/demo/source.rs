//! Implements the source of the demo, which hands over compiled-in messages. It keeps no state.

use std::collections::BTreeMap;
use std::sync::Mutex;

use async_trait::async_trait;
use nightshift_pipeline::port::{Message, SettleError, Settlement, Source, SourceError};

pub(super) const NAME: &str = "demo";

/// A list of named messages, handed over once.
pub(super) struct DemoSource {
    messages: &'static [(&'static str, &'static [u8])],
    next: Mutex<usize>,
}

impl DemoSource {
    pub(super) fn new(messages: &'static [(&'static str, &'static [u8])]) -> Self {
        Self {
            messages,
            next: Mutex::new(0),
        }
    }
}

#[async_trait]
impl Source for DemoSource {
    fn name(&self) -> &'static str {
        NAME
    }

    async fn receive(&self, most: usize) -> Result<Option<Vec<Message>>, SourceError> {
        let mut next = self.next.lock().map_err(|error| SourceError {
            source_name: NAME.to_owned(),
            cause: error.to_string().into(),
        })?;
        let batch: Vec<Message> = self
            .messages
            .iter()
            .skip(*next)
            .take(most)
            .map(|(name, bytes)| Message {
                id: (*name).to_owned(),
                bytes: bytes.to_vec(),
                attributes: BTreeMap::new(),
            })
            .collect();
        *next += batch.len();
        Ok((!batch.is_empty()).then_some(batch))
    }

    async fn settle(&self, _settled: &[Settlement]) -> Vec<SettleError> {
        Vec::new()
    }
}

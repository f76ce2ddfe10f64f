//! Tracks messages that are held for a time, each with the handle that settles it and the time when it was received.
//!
//! A message that was delivered twice has two handles, of which the later one counts. A message that is never settled
//! is forgotten long after its queue has redelivered it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use nightshift_pipeline::port::{Disposition, SettleError, Settlement};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, timeout};

/// Time for nacking messages at the end.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(4);

/// Data for settling one message.
#[derive(Debug, Clone)]
pub(crate) struct InFlightMessage {
    /// The receipt handle of SQS or the ack id of Pub/Sub.
    pub(crate) handle: String,
    /// The message group of a FIFO queue or the ordering key of Pub/Sub.
    pub(crate) group: Option<String>,
    /// Time when the message was received or last extended.
    pub(crate) since: Instant,
    /// Memory reservation of a separate payload.
    pub(crate) _memory: Option<Arc<OwnedSemaphorePermit>>,
}

/// Held messages by id.
#[derive(Debug, Default)]
pub(crate) struct InFlightMessages(HashMap<String, InFlightMessage>);

impl InFlightMessages {
    pub(crate) fn insert(&mut self, id: String, holding: InFlightMessage) {
        self.0.insert(id, holding);
    }

    pub(crate) fn remove(&mut self, id: &str) {
        self.0.remove(id);
    }

    pub(crate) fn mark_extended(&mut self, id: &str) {
        if let Some(holding) = self.0.get_mut(id) {
            holding.since = Instant::now();
        }
    }

    pub(crate) fn age(&self, id: &str) -> Option<Duration> {
        self.0.get(id).map(|holding| holding.since.elapsed())
    }

    pub(crate) fn forget_older_than(&mut self, age: Duration) {
        self.0.retain(|_, holding| holding.since.elapsed() <= age);
    }

    #[cfg(feature = "sqs")]
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns ids with their handles. Ids that are not held were settled already.
    pub(crate) fn handles<'a>(
        &self,
        ids: impl IntoIterator<Item = &'a String>,
    ) -> Vec<(String, String)> {
        ids.into_iter()
            .filter_map(|id| Some((id.clone(), self.0.get(id)?.handle.clone())))
            .collect()
    }

    /// Divides messages into those to delete and those to nack. A nacked message of a group also nacks all that
    /// follow it, so that they are redelivered in order.
    pub(crate) fn partition(&self, settled: &[Settlement]) -> (Vec<String>, Vec<String>) {
        let mut blocked: Vec<&str> = Vec::new();
        let (mut done, mut back) = (Vec::new(), Vec::new());
        for one in settled {
            let group = self
                .0
                .get(&one.id)
                .and_then(|holding| holding.group.as_deref());
            let is_blocked = group.is_some_and(|group| blocked.contains(&group));
            if one.disposition == Disposition::Nack || is_blocked {
                back.push(one.id.clone());
                blocked.extend(group.filter(|_| !is_blocked));
            } else {
                done.push(one.id.clone());
            }
        }
        (done, back)
    }
}

/// Action on messages.
#[derive(Debug, Clone, Copy)]
pub(crate) enum SettleAction {
    /// Deletes or acknowledges the messages.
    Ack,
    /// Holds the messages for this many more seconds; 0 nacks them.
    SetVisibility(u32),
}

/// A queue whose messages are held for a time.
#[async_trait]
pub(crate) trait InFlightQueue: Sync {
    /// Returns the held messages. The lock is never held across a call.
    fn in_flight(&self) -> &Mutex<InFlightMessages>;

    /// Performs the action on these messages, given with their handles, and returns those for which it failed.
    async fn apply(
        &self,
        action: SettleAction,
        messages: Vec<(String, String)>,
    ) -> Vec<SettleError>;

    fn lock_in_flight(&self) -> MutexGuard<'_, InFlightMessages> {
        let messages = self.in_flight();
        messages.lock()
    }

    async fn settle(&self, settled: &[Settlement]) -> Vec<SettleError> {
        let (ids, [done, back]) = {
            let held = self.lock_in_flight();
            let (done, back) = held.partition(settled);
            let handles = [held.handles(&done), held.handles(&back)];
            ([done, back], handles)
        };
        let mut unsettled = self.apply(SettleAction::Ack, done).await;
        unsettled.extend(self.apply(SettleAction::SetVisibility(0), back).await);
        let mut held = self.lock_in_flight();
        for id in ids.iter().flatten() {
            held.remove(id);
        }
        unsettled
    }

    async fn extend(&self, ids: &[String], secs: u32) -> Vec<SettleError> {
        let handles = self.lock_in_flight().handles(ids);
        let asked: Vec<String> = handles.iter().map(|(id, _)| id.clone()).collect();
        let failed = self.apply(SettleAction::SetVisibility(secs), handles).await;
        let is_ours = |id: &&String| !failed.iter().any(|one| one.id == **id);
        let mut held = self.lock_in_flight();
        for id in asked.iter().filter(is_ours) {
            held.mark_extended(id);
        }
        failed
    }

    /// Nacks all messages at the end. They would be redelivered a little later anyway, so this does not delay the
    /// end.
    async fn release_all(&self, source: &str) {
        let handles = {
            let held = self.lock_in_flight();
            held.handles(held.0.keys())
        };
        let given_back = timeout(
            RELEASE_TIMEOUT,
            self.apply(SettleAction::SetVisibility(0), handles),
        )
        .await;
        let failed = given_back.as_ref().map_or(0, Vec::len);
        if given_back.is_err() || failed > 0 {
            tracing::debug!(
                source.name = source,
                failed,
                "cannot nack messages at shutdown; the queue redelivers them"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(messages: &[(&str, Option<&str>)]) -> InFlightMessages {
        let mut held = InFlightMessages::default();
        for (id, group) in messages {
            let holding = InFlightMessage {
                handle: format!("handle of {id}"),
                group: group.map(str::to_owned),
                since: Instant::now(),
                _memory: None,
            };
            held.insert((*id).to_owned(), holding);
        }
        held
    }

    fn settled(fates: &[(&str, Disposition)]) -> Vec<Settlement> {
        let one = |(id, fate): &(&str, Disposition)| Settlement {
            id: (*id).to_owned(),
            disposition: *fate,
        };
        fates.iter().map(one).collect()
    }

    #[tokio::test]
    async fn nacked_message_holds_back_those_behind_it_in_its_group() {
        use Disposition::{Ack, DeadLetter, Nack};
        let held = held(&[
            ("a1", Some("a")),
            ("a2", Some("a")),
            ("a3", Some("a")),
            ("b1", Some("b")),
            ("s", None),
        ]);
        let (done, back) = held.partition(&settled(&[
            ("a1", Ack),
            ("a2", Nack),
            ("b1", DeadLetter),
            ("a3", Ack),
            ("s", Ack),
        ]));
        assert_eq!(done, ["a1", "b1", "s"]);
        assert_eq!(back, ["a2", "a3"]);
    }

    #[tokio::test]
    async fn without_groups_each_stands_alone() {
        let held = held(&[("1", None), ("2", None)]);
        let (done, back) = held.partition(&settled(&[
            ("1", Disposition::Nack),
            ("2", Disposition::Ack),
        ]));
        assert_eq!((done, back), (vec!["2".to_owned()], vec!["1".to_owned()]));
    }

    #[tokio::test(start_paused = true)]
    async fn the_later_handle_counts_and_what_is_old_is_forgotten() {
        let mut held = held(&[("1", None)]);
        let later = InFlightMessage {
            handle: "later".into(),
            group: None,
            since: Instant::now(),
            _memory: None,
        };
        held.insert("1".into(), later);
        assert_eq!(
            held.handles(&["1".to_owned(), "2".to_owned()])[0].1,
            "later"
        );
        tokio::time::advance(Duration::from_secs(50)).await;
        held.mark_extended("1");
        tokio::time::advance(Duration::from_secs(50)).await;
        held.forget_older_than(Duration::from_secs(60));
        assert_eq!(held.age("1"), Some(Duration::from_secs(50)));
        held.forget_older_than(Duration::from_secs(40));
        assert_eq!(held.len(), 0);
    }
}

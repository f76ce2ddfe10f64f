//! The messages that are ours for a time: which handle settles each, and since when.
//!
//! A message that came twice has two handles, of which the later one counts. What is never settled is forgotten once its
//! queue has long given it to somebody else.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use nightshift_pipeline::{Fate, Settled};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

/// How one message is settled.
#[derive(Debug, Clone)]
pub(crate) struct Holding {
    /// The receipt handle of SQS, the ack id of Pub/Sub.
    pub(crate) handle: String,
    /// The group, in a FIFO queue; the ordering key of Pub/Sub.
    pub(crate) group: Option<String>,
    /// When it came, or was extended.
    pub(crate) since: Instant,
    /// The memory that its payload takes, where it has one beside itself.
    pub(crate) _room: Option<Arc<OwnedSemaphorePermit>>,
}

/// All of them, by the message's id.
#[derive(Debug, Default)]
pub(crate) struct Held(HashMap<String, Holding>);

impl Held {
    pub(crate) fn insert(&mut self, id: String, holding: Holding) {
        self.0.insert(id, holding);
    }

    pub(crate) fn remove(&mut self, id: &str) {
        self.0.remove(id);
    }

    pub(crate) fn renewed(&mut self, id: &str) {
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

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn ids(&self) -> Vec<String> {
        self.0.keys().cloned().collect()
    }

    /// Ids with their handles; those that are not held are settled already.
    pub(crate) fn handles<'a>(
        &self,
        ids: impl IntoIterator<Item = &'a String>,
    ) -> Vec<(String, String)> {
        ids.into_iter()
            .filter_map(|id| Some((id.clone(), self.0.get(id)?.handle.clone())))
            .collect()
    }

    /// Which are deleted, and which given back. In a group, one that is given back keeps back all after it: they come
    /// again behind it.
    pub(crate) fn parted(&self, settled: &[Settled]) -> (Vec<String>, Vec<String>) {
        let mut blocked: Vec<&str> = Vec::new();
        let (mut done, mut back) = (Vec::new(), Vec::new());
        for one in settled {
            let group = self
                .0
                .get(&one.id)
                .and_then(|holding| holding.group.as_deref());
            let is_blocked = group.is_some_and(|group| blocked.contains(&group));
            if one.fate == Fate::Back || is_blocked {
                back.push(one.id.clone());
                blocked.extend(group.filter(|_| !is_blocked));
            } else {
                done.push(one.id.clone());
            }
        }
        (done, back)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(messages: &[(&str, Option<&str>)]) -> Held {
        let mut held = Held::default();
        for (id, group) in messages {
            let holding = Holding {
                handle: format!("handle of {id}"),
                group: group.map(str::to_owned),
                since: Instant::now(),
                _room: None,
            };
            held.insert((*id).to_owned(), holding);
        }
        held
    }

    fn settled(fates: &[(&str, Fate)]) -> Vec<Settled> {
        let one = |(id, fate): &(&str, Fate)| Settled {
            id: (*id).to_owned(),
            fate: *fate,
        };
        fates.iter().map(one).collect()
    }

    #[tokio::test]
    async fn one_that_is_given_back_keeps_back_those_behind_it_in_its_group() {
        use Fate::{Back, Committed, Unreadable};
        let held = held(&[
            ("a1", Some("a")),
            ("a2", Some("a")),
            ("a3", Some("a")),
            ("b1", Some("b")),
            ("s", None),
        ]);
        let (done, back) = held.parted(&settled(&[
            ("a1", Committed),
            ("a2", Back),
            ("b1", Unreadable),
            ("a3", Committed),
            ("s", Committed),
        ]));
        assert_eq!(done, ["a1", "b1", "s"]);
        assert_eq!(back, ["a2", "a3"]);
    }

    #[tokio::test]
    async fn without_groups_each_stands_alone() {
        let held = held(&[("1", None), ("2", None)]);
        let (done, back) = held.parted(&settled(&[("1", Fate::Back), ("2", Fate::Committed)]));
        assert_eq!((done, back), (vec!["2".to_owned()], vec!["1".to_owned()]));
    }

    #[tokio::test(start_paused = true)]
    async fn the_later_handle_counts_and_what_is_old_is_forgotten() {
        let mut held = held(&[("1", None)]);
        let later = Holding {
            handle: "later".into(),
            group: None,
            since: Instant::now(),
            _room: None,
        };
        held.insert("1".into(), later);
        assert_eq!(
            held.handles(&["1".to_owned(), "2".to_owned()])[0].1,
            "later"
        );
        tokio::time::advance(Duration::from_secs(50)).await;
        held.renewed("1");
        tokio::time::advance(Duration::from_secs(50)).await;
        held.forget_older_than(Duration::from_secs(60));
        assert_eq!(held.age("1"), Some(Duration::from_secs(50)));
        held.forget_older_than(Duration::from_secs(40));
        assert_eq!(held.ids(), Vec::<String>::new());
    }
}

//! Tests with a broker that implements `multiple` as AMQP specifies it.

use proptest::prelude::*;

use super::*;

/// Unacknowledged deliveries of a broker, with the settlements that it received.
#[derive(Default)]
struct Broker {
    held: BTreeSet<u64>,
    acked: BTreeSet<u64>,
    back: BTreeSet<u64>,
}

impl Broker {
    fn hear(&mut self, operation: &Operation) {
        let meant: Vec<u64> = if operation.is_multiple() {
            self.held.range(..=operation.tag()).copied().collect()
        } else {
            self.held
                .get(&operation.tag())
                .copied()
                .into_iter()
                .collect()
        };
        assert!(
            !meant.is_empty(),
            "an unknown tag closes the channel: {operation:?}"
        );
        for tag in meant {
            self.held.remove(&tag);
            let told = if operation.gives_back() {
                &mut self.back
            } else {
                &mut self.acked
            };
            told.insert(tag);
        }
    }
}

fn settled(connection: u64, tag: u64, back: bool) -> Settled {
    Settled {
        id: Name { connection, tag }.to_string(),
        fate: if back { Fate::Back } else { Fate::Committed },
    }
}

fn outstanding(tags: &BTreeSet<u64>) -> Outstanding {
    let mut outstanding = Outstanding::new(7);
    let names: Vec<String> = tags.iter().map(|tag| format!("7.{tag}")).collect();
    outstanding.hand_over(names.iter().map(String::as_str));
    outstanding
}

proptest! {
    /// `g01_`: a delivery that was not meant is never acknowledged, and one that was meant is acknowledged once, in
    /// any interleaving.
    #[test]
    fn g01_exactly_what_is_meant_is_settled(
        tags in prop::collection::btree_set(1_u64..60, 0..40),
        fates in prop::collection::vec(0_u8..4, 60),
        rounds in 1_usize..4,
    ) {
        let mut broker = Broker { held: tags.clone(), ..Broker::default() };
        // Deliveries that are prefetched, but not handed over.
        broker.held.extend(100..110);
        let mut ours = outstanding(&tags);
        let mut meant: [BTreeSet<u64>; 2] = Default::default();
        for round in 0..rounds {
            let now: Vec<Settled> = tags
                .iter()
                .filter(|tag| (**tag as usize) % rounds == round)
                .filter(|tag| fates[**tag as usize] < 3)
                .map(|tag| settled(7, *tag, fates[*tag as usize] == 2))
                .collect();
            for one in &now {
                let tag = Name::read(&one.id).unwrap().tag;
                meant[usize::from(one.fate == Fate::Back)].insert(tag);
            }
            let (operations, strange) = ours.plan(&now);
            prop_assert!(strange.is_empty());
            for operation in operations {
                broker.hear(&operation);
                ours.done(&operation);
            }
        }
        prop_assert_eq!(&broker.acked, &meant[0]);
        prop_assert_eq!(&broker.back, &meant[1]);
        prop_assert_eq!(ours.handed_over(), tags.len() - meant[0].len() - meant[1].len());
    }
}

#[test]
fn a_batch_in_order_is_one_word() {
    let tags: BTreeSet<u64> = (1..=100).collect();
    let ours = outstanding(&tags);
    let batch: Vec<Settled> = tags.iter().map(|tag| settled(7, *tag, false)).collect();
    let (operations, _) = ours.plan(&batch);
    assert_eq!(operations.len(), 1);
    assert_eq!(
        (operations[0].tag(), operations[0].is_multiple()),
        (100, true)
    );
    let (operations, _) = ours.plan(&batch[1..]);
    assert_eq!(operations.len(), 99, "the first is still being committed");
    assert!(operations.iter().all(|one| !one.is_multiple()));
}

#[test]
fn what_came_over_another_connection_is_left_alone() {
    let ours = outstanding(&[1, 2].into());
    let strange = [settled(6, 1, false), settled(7, 3, false)];
    let (operations, unknown) = ours.plan(&strange);
    assert_eq!(operations, []);
    assert_eq!(unknown, ["6.1", "7.3"]);
    let nonsense = Settled {
        id: "x".into(),
        fate: Fate::Back,
    };
    assert_eq!(ours.plan(&[nonsense]).1, ["x"]);
}

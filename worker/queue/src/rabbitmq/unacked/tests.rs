//! Tests with a broker that implements `multiple` as AMQP specifies it.

use proptest::prelude::*;

use super::*;

/// Unacknowledged deliveries of a broker, with the settlements that it received.
#[derive(Default)]
struct SimulatedBroker {
    held: BTreeSet<u64>,
    acked: BTreeSet<u64>,
    back: BTreeSet<u64>,
}

impl SimulatedBroker {
    fn hear(&mut self, operation: &AckOperation) {
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
            let told = if operation.is_nack() {
                &mut self.back
            } else {
                &mut self.acked
            };
            told.insert(tag);
        }
    }
}

fn settled(connection: u64, tag: u64, back: bool) -> Settlement {
    Settlement {
        id: DeliveryId { connection, tag }.to_string(),
        disposition: if back {
            Disposition::Nack
        } else {
            Disposition::Ack
        },
    }
}

fn outstanding(tags: &BTreeSet<u64>) -> UnackedDeliveries {
    let mut outstanding = UnackedDeliveries::new(7);
    let names: Vec<String> = tags.iter().map(|tag| format!("7.{tag}")).collect();
    outstanding.track(names.iter().map(String::as_str));
    outstanding
}

proptest! {
    /// Tests guarantee G1: a delivery that was not meant is never acknowledged, and one that was meant is acknowledged
    /// once, in any interleaving.
    #[test]
    fn g01_exactly_what_is_meant_is_settled(
        tags in prop::collection::btree_set(1_u64..60, 0..40),
        fates in prop::collection::vec(0_u8..4, 60),
        rounds in 1_usize..4,
    ) {
        let mut broker = SimulatedBroker { held: tags.clone(), ..SimulatedBroker::default() };
        // Deliveries that are prefetched, but not handed over.
        broker.held.extend(100..110);
        let mut ours = outstanding(&tags);
        let mut meant: [BTreeSet<u64>; 2] = Default::default();
        for round in 0..rounds {
            let now: Vec<Settlement> = tags
                .iter()
                .filter(|tag| (**tag as usize) % rounds == round)
                .filter(|tag| fates[**tag as usize] < 3)
                .map(|tag| settled(7, *tag, fates[*tag as usize] == 2))
                .collect();
            for one in &now {
                let tag = DeliveryId::parse(&one.id).unwrap().tag;
                meant[usize::from(one.disposition == Disposition::Nack)].insert(tag);
            }
            let (operations, strange) = ours.plan_settlement(&now);
            prop_assert!(strange.is_empty());
            for operation in operations {
                broker.hear(&operation);
                ours.mark_settled(&operation);
            }
        }
        prop_assert_eq!(&broker.acked, &meant[0]);
        prop_assert_eq!(&broker.back, &meant[1]);
        prop_assert_eq!(ours.count(), tags.len() - meant[0].len() - meant[1].len());
    }
}

#[test]
fn a_batch_in_order_is_one_word() {
    let tags: BTreeSet<u64> = (1..=100).collect();
    let ours = outstanding(&tags);
    let batch: Vec<Settlement> = tags.iter().map(|tag| settled(7, *tag, false)).collect();
    let (operations, _) = ours.plan_settlement(&batch);
    assert_eq!(operations.len(), 1);
    assert_eq!(
        (operations[0].tag(), operations[0].is_multiple()),
        (100, true)
    );
    let (operations, _) = ours.plan_settlement(&batch[1..]);
    assert_eq!(operations.len(), 99, "the first is still being committed");
    assert!(operations.iter().all(|one| !one.is_multiple()));
}

#[test]
fn what_came_over_another_connection_is_left_alone() {
    let ours = outstanding(&[1, 2].into());
    let strange = [settled(6, 1, false), settled(7, 3, false)];
    let (operations, unknown) = ours.plan_settlement(&strange);
    assert_eq!(operations, []);
    assert_eq!(unknown, ["6.1", "7.3"]);
    let nonsense = Settlement {
        id: "x".into(),
        disposition: Disposition::Nack,
    };
    assert_eq!(ours.plan_settlement(&[nonsense]).1, ["x"]);
}

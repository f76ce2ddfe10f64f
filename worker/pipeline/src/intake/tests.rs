//! Tests intake with a scripted source and store.

mod fakes;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::Ordering;

use nightshift_alert::Severity;
use nightshift_engine::port::NoMeter;
use tokio::sync::Notify;
use tokio::time::Duration;
use tokio_util::sync::CancellationToken;

use super::batch_reader::read_with;
use super::*;
use crate::loops::{InboxCapacity, IngestLoop};
use fakes::{CountingClock, FakeInbox, FakeSource, HOLD, IntakeMeter, NoonClock};

fn intake(inbox: &Arc<FakeInbox>, patience: Duration) -> Intake {
    Intake {
        inbox: Arc::clone(inbox) as Arc<dyn Inbox>,
        clock: Arc::new(NoonClock),
        meter: Arc::new(NoMeter),
        options: ReadOptions::default(),
        order: BatchOrder::default(),
        commit_timeout: patience,
        canary: None,
        severities: Arc::default(),
    }
}

fn guardduty(number: u32) -> String {
    format!(
        r#"{{"schemaVersion":"2.0","accountId":"111122223333","region":"eu-west-1","id":"{number}",
        "type":"Recon:EC2/Portscan","severity":5,"resource":{{"resourceType":"Instance"}},
        "service":{{"serviceName":"guardduty","count":1}}}}"#
    )
}

#[tokio::test(start_paused = true)]
async fn g01_f14_nothing_is_settled_before_the_store_is_back() {
    let source = FakeSource::with(&[&guardduty(1), &guardduty(2)]);
    let inbox = Arc::new(FakeInbox {
        failures: Mutex::new(30),
        ..FakeInbox::default()
    });
    let round = intake(&inbox, Duration::MAX)
        .round(&source, 10)
        .await
        .unwrap();
    assert_eq!(round.messages, 2);
    assert_eq!(*inbox.tries.lock().unwrap(), 31);
    assert_eq!(source.fates(), [Disposition::Ack, Disposition::Ack]);
    let extended = source.extended.lock().unwrap();
    let waited = source.began.lock().unwrap().unwrap().elapsed();
    assert_eq!(
        extended.len() as u64,
        (waited.as_secs() + 24) / 30,
        "after a tenth, and then at half of {HOLD:?}"
    );
    assert!(extended.iter().all(|(_, messages)| *messages == 2));
}

#[tokio::test(start_paused = true)]
async fn f32_nothing_is_nacked_while_the_store_cannot_read_its_data() {
    let source = FakeSource::with(&[&guardduty(1), &guardduty(2)]);
    let inbox = Arc::new(FakeInbox {
        failures: Mutex::new(30),
        is_unread: true,
        ..FakeInbox::default()
    });
    let round = intake(&inbox, Duration::MAX).round(&source, 10).await;
    assert_eq!(round.unwrap().messages, 2);
    assert_eq!(*inbox.tries.lock().unwrap(), 31);
    assert_eq!(source.fates(), [Disposition::Ack, Disposition::Ack]);
}

#[tokio::test(start_paused = true)]
async fn what_is_not_committed_in_time_is_given_back() {
    for patience in [Duration::ZERO, Duration::from_secs(20)] {
        let source = FakeSource::with(&[&guardduty(1), "no alert"]);
        let inbox = Arc::new(FakeInbox {
            failures: Mutex::new(u32::MAX),
            ..FakeInbox::default()
        });
        let failed = intake(&inbox, patience).round(&source, 10).await;
        assert!(matches!(failed, Err(IntakeError::Store(_))), "{failed:?}");
        assert_eq!(source.fates(), [Disposition::Nack, Disposition::Nack]);
    }
}

#[tokio::test(start_paused = true)]
async fn f13_messages_are_held_while_a_commit_is_slow() {
    let source = FakeSource::with(&[&guardduty(1)]);
    let inbox = Arc::new(FakeInbox {
        takes: Duration::from_secs(100),
        ..FakeInbox::default()
    });
    intake(&inbox, Duration::ZERO)
        .round(&source, 10)
        .await
        .unwrap();
    let at: Vec<u64> = source
        .extended
        .lock()
        .unwrap()
        .iter()
        .map(|(after, _)| after.as_secs())
        .collect();
    // The messages may have been held for 24 seconds when they were delivered.
    assert_eq!(at, [6, 36, 66, 96]);
}

#[tokio::test(start_paused = true)]
async fn f13_messages_are_held_while_those_before_them_are_committed() {
    let bodies = large(20);
    let bodies: Vec<&str> = bodies.iter().map(String::as_str).collect();
    let source = FakeSource::with(&bodies);
    let inbox = Arc::new(FakeInbox {
        takes: Duration::from_secs(25),
        ..FakeInbox::default()
    });
    let round = intake(&inbox, Duration::ZERO).round(&source, 500).await;
    assert_eq!(round.unwrap().messages, 20);
    let extended = source.extended.lock().unwrap();
    let extended = extended.iter();
    let extended: Vec<_> = extended.map(|(at, many)| (at.as_secs(), *many)).collect();
    assert_eq!(extended, [(6, 20), (36, 11), (66, 2)]);
}

#[tokio::test]
async fn unreadable_message_is_dead_lettered_without_its_neighbours() {
    let source = FakeSource::with(&[&guardduty(1), "no alert", &guardduty(2)]);
    let inbox = Arc::new(FakeInbox::default());
    let round = intake(&inbox, Duration::ZERO)
        .round(&source, 10)
        .await
        .unwrap();
    let letters = round
        .accepted
        .iter()
        .filter(|one| one.dead_letter.is_some());
    assert_eq!((round.accepted.len(), letters.count()), (3, 1));
    assert_eq!(
        source.fates(),
        [Disposition::Ack, Disposition::DeadLetter, Disposition::Ack]
    );
}

#[test]
fn f05_panic_over_a_message_dead_letters_it_with_its_bytes() {
    let message = Message {
        id: "1".to_owned(),
        bytes: b"poison".to_vec(),
        attributes: BTreeMap::new(),
    };
    let options = ReadOptions::default();
    let reader = |_: &[u8], _: &ReadOptions| panic!("a fault of a feed");
    let arrivals = read_with(reader, "fake", &message, &options, NoonClock.now());
    let [arrival] = arrivals.as_slice() else {
        panic!("{arrivals:?}")
    };
    assert_eq!(arrival.raw.as_ref(), b"poison");
    assert_eq!(arrival.alert.title, "Unreadable message from fake");
    assert_eq!(arrival.alert.severity, Severity::High);
    let why = arrival.unreadable.as_deref().unwrap();
    assert!(why.contains("panicked"), "{why}");
}

/// Returns messages of which nine fit into one batch.
fn large(many: u32) -> Vec<String> {
    let padding = " ".repeat(BATCH_BYTES / 9 - 1_000);
    (0..many)
        .map(|number| guardduty(number) + &padding)
        .collect()
}

#[tokio::test]
async fn large_messages_commit_in_parts_settled_after_each_commit() {
    let bodies = large(20);
    let bodies: Vec<&str> = bodies.iter().map(String::as_str).collect();
    let source = FakeSource::with(&bodies);
    let inbox = Arc::new(FakeInbox::default());
    let round = intake(&inbox, Duration::ZERO).round(&source, 500).await;
    let round = round.unwrap();
    assert_eq!((round.messages, round.accepted.len()), (20, 20));
    assert_eq!(*inbox.batches.lock().unwrap(), [9, 9, 2]);
    assert_eq!(source.fates(), [Disposition::Ack; 20]);
}

#[tokio::test]
async fn parts_after_an_uncommitted_part_are_nacked_with_it() {
    let bodies = large(20);
    let bodies: Vec<&str> = bodies.iter().map(String::as_str).collect();
    let source = FakeSource::with(&bodies);
    let inbox = Arc::new(FakeInbox {
        fails_at: Some(2),
        ..FakeInbox::default()
    });
    let failed = intake(&inbox, Duration::ZERO).round(&source, 500).await;
    assert!(matches!(failed, Err(IntakeError::Store(_))), "{failed:?}");
    let fates = source.fates();
    assert_eq!(fates[..9], [Disposition::Ack; 9]);
    assert_eq!(fates[9..], [Disposition::Nack; 11]);
}

#[tokio::test]
async fn disallowed_feed_is_a_dead_letter_and_announced() {
    let source = FakeSource::with(&[&guardduty(1)]);
    let inbox = Arc::new(FakeInbox::default());
    let mut intake = intake(&inbox, Duration::ZERO);
    intake.options.feeds = Some(vec!["scc".to_owned()]);
    let round = intake.round(&source, 10).await.unwrap();
    assert_eq!(round.accepted[0].title, "Unreadable message from fake");
    assert_eq!(round.accepted[0].dead_letter, Some(1));
    assert_eq!(source.fates(), [Disposition::DeadLetter]);
}

#[tokio::test]
async fn what_the_source_cannot_settle_is_counted_and_no_error() {
    let source = FakeSource {
        refuses: true,
        ..FakeSource::with(&[&guardduty(1), &guardduty(2)])
    };
    let inbox = Arc::new(FakeInbox::default());
    let counted = Arc::new(IntakeMeter::default());
    let mut intake = intake(&inbox, Duration::ZERO);
    intake.meter = counted.clone();
    let round = intake.round(&source, 10).await.unwrap();
    assert_eq!((round.accepted.len(), round.unsettled), (2, 2));
    let expected = ["accepted", "accepted", "unsettled", "unsettled"];
    assert_eq!(*counted.0.lock().unwrap(), expected);
}

#[tokio::test]
async fn alert_refused_by_the_store_is_logged_as_a_dead_letter() {
    let two = format!("[{}, {}]", guardduty(2), guardduty(3));
    let source = FakeSource::with(&[&guardduty(1), &two, &guardduty(4), "no alert"]);
    let inbox = Arc::new(FakeInbox {
        will_not_have: Some(2),
        ..FakeInbox::default()
    });
    let counted = Arc::new(IntakeMeter::default());
    let mut intake = intake(&inbox, Duration::ZERO);
    intake.meter = counted.clone();
    intake.round(&source, 10).await.unwrap();
    let (committed, not) = (Disposition::Ack, Disposition::DeadLetter);
    assert_eq!(source.fates(), [committed, not, committed, not]);
    let expected = ["accepted", "dead_letter", "accepted", "dead_letter"];
    assert_eq!(*counted.0.lock().unwrap(), expected);
}

#[tokio::test]
async fn uncommitted_message_that_cannot_be_nacked_is_redelivered() {
    let source = FakeSource {
        refuses: true,
        ..FakeSource::with(&[&guardduty(1)])
    };
    let inbox = Arc::new(FakeInbox {
        failures: Mutex::new(u32::MAX),
        ..FakeInbox::default()
    });
    let counted = Arc::new(IntakeMeter::default());
    let mut intake = intake(&inbox, Duration::ZERO);
    intake.meter = counted.clone();
    let failed = intake.round(&source, 10).await;
    assert!(matches!(failed, Err(IntakeError::Store(_))), "{failed:?}");
    assert!(counted.0.lock().unwrap().is_empty());
}

#[tokio::test]
async fn g01_a_round_that_is_dropped_settles_nothing() {
    let source = FakeSource::with(&[&guardduty(1)]);
    let inbox = Arc::new(FakeInbox {
        gate: Some(Notify::new()),
        ..FakeInbox::default()
    });
    let intake = intake(&inbox, Duration::MAX);
    tokio::select! {
        biased;
        done = intake.round(&source, 10) => panic!("the store takes nothing: {done:?}"),
        () = until(|| *inbox.tries.lock().unwrap() == 1) => {}
    }
    assert_eq!(source.fates(), []);
}

#[tokio::test]
async fn two_batches_are_read_ahead_of_a_commit_and_no_more() {
    let bodies: Vec<String> = (0..5).map(guardduty).collect();
    let source = Arc::new(FakeSource::with(
        &bodies.iter().map(String::as_str).collect::<Vec<_>>(),
    ));
    let inbox = Arc::new(FakeInbox {
        gate: Some(Notify::new()),
        ..FakeInbox::default()
    });
    let room = InboxCapacity::new(10);
    room.update(0);
    let reading = Arc::new(CountingClock::default());
    let taking = IngestLoop {
        intake: Intake {
            clock: reading.clone(),
            ..intake(&inbox, Duration::MAX)
        },
        source: source.clone(),
        capacity: Arc::new(room),
        batch: 1,
    };
    let stop = CancellationToken::new();
    let received = || bodies.len() - source.messages.lock().unwrap().len();
    let drive = async {
        for number in 1..=bodies.len() {
            let are_ours = bodies.len().min(number + 2);
            until(|| {
                *inbox.tries.lock().unwrap() as usize == number
                    && received() == are_ours
                    && reading.0.load(Ordering::Relaxed) == are_ours
            })
            .await;
            assert_eq!(source.fates().len() + 1, number);
            inbox.gate.as_ref().unwrap().notify_one();
        }
    };
    tokio::join!(taking.run(&stop), drive);
    let settled = source.settled.lock().unwrap();
    let ids: Vec<_> = settled.iter().map(|one| one.id.as_str()).collect();
    assert_eq!(ids, ["0", "1", "2", "3", "4"]);
}

async fn until(mut holds: impl FnMut() -> bool) {
    while !holds() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn the_end_of_a_source_is_no_empty_round() {
    let inbox = Arc::new(FakeInbox::default());
    let round = intake(&inbox, Duration::ZERO)
        .round(&FakeSource::with(&[]), 10)
        .await
        .unwrap();
    assert!(round.ended);
    assert_eq!(
        *inbox.tries.lock().unwrap(),
        0,
        "no transaction for nothing"
    );
}

//! Defines the tests that hold for every source.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::Duration;

use futures_util::future::join_all;
use nightshift_pipeline::port::{Disposition, OutgoingMessage, Source};
use tokio::sync::Notify;
use tokio::time::timeout;

use super::broker::Broker;
use super::{BOUND, ack, numbered, receive, settled, texts};

/// Generates a test of each function for a source: `suite!(MyBroker::new)`.
macro_rules! suite {
    ($new:path) => {
        suite!($new; messages_come_once_and_are_gone_when_settled,
            g01_what_is_not_settled_comes_again_after_a_reconnect,
            what_is_given_back_comes_again, no_more_come_than_there_is_room_for,
            a_batch_of_a_hundred_is_settled_whole, bodies_come_as_they_were_sent,
            a_mebibyte_comes_whole, attributes_come_along, the_same_message_twice_comes_twice,
            a_receive_that_is_dropped_loses_nothing, closing_gives_back_what_is_not_settled,
            what_settles_nothing_hurts_nothing, two_sources_share_a_queue,
            what_we_put_there_ourselves_comes_as_it_was);
    };
    ($new:path; $($name:ident),*) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                if let Some(broker) = $new().await {
                    crate::conformance::suite::$name(&broker).await;
                }
            }
        )*
    };
}
pub(super) use suite;

pub(super) async fn messages_come_once_and_are_gone_when_settled(broker: &dyn Broker) {
    let source = broker.source().await;
    broker.publish(numbered(0..3), &[]).await;
    let came = receive(&*source, 3).await;
    assert_eq!(
        texts(&came),
        ["message 0000", "message 0001", "message 0002"]
    );
    assert_eq!(source.ready(), Ok(()));
    ack(&*source, &came).await;
    gone(broker, &*source).await;
}

/// Checks that nothing is left. Unsettled messages would be nacked when the source closes.
async fn gone(broker: &dyn Broker, source: &dyn Source) {
    source.close().await;
    let empty = async {
        while broker.left().await > 0 {
            tokio::task::yield_now().await;
        }
    };
    timeout(BOUND, empty)
        .await
        .expect("settled messages are gone");
}

pub(super) async fn g01_what_is_not_settled_comes_again_after_a_reconnect(broker: &dyn Broker) {
    let first = broker.dying().await;
    broker.publish(numbered(0..5), &[]).await;
    let came = receive(&*first, 5).await;
    ack(&*first, &came[..2]).await;
    let mut wanted = texts(&came[2..]);
    drop(first);
    let second = broker.source().await;
    let again = receive(&*second, 3).await;
    wanted.sort();
    assert_eq!(texts(&again), wanted);
    ack(&*second, &again).await;
    gone(broker, &*second).await;
}

pub(super) async fn what_is_given_back_comes_again(broker: &dyn Broker) {
    let source = broker.source().await;
    broker.publish(numbered(0..4), &[]).await;
    let came = receive(&*source, 4).await;
    let (kept, back) = came.split_at(2);
    let mut settlement = settled(kept, Disposition::Ack);
    settlement.extend(settled(back, Disposition::Nack));
    assert_eq!(source.settle(&settlement).await, []);
    let again = receive(&*source, 2).await;
    assert_eq!(texts(&again), texts(back));
    ack(&*source, &again).await;
    gone(broker, &*source).await;
}

pub(super) async fn no_more_come_than_there_is_room_for(broker: &dyn Broker) {
    let source = broker.source().await;
    broker.publish(numbered(0..40), &[]).await;
    let mut came = BTreeSet::new();
    // The room grows, shrinks, and grows again, while earlier messages are still held.
    for most in [1, 7, 3, 25, 2, 1, 1] {
        let messages = receive(&*source, most).await;
        assert!(
            messages.len() <= most,
            "{} came where {most} had room",
            messages.len()
        );
        came.extend(texts(&messages));
        ack(&*source, &messages).await;
    }
    assert_eq!(came.len(), 40, "each once");
    gone(broker, &*source).await;
}

pub(super) async fn a_batch_of_a_hundred_is_settled_whole(broker: &dyn Broker) {
    let source = broker.source().await;
    broker.publish(numbered(0..200), &[]).await;
    let first = receive(&*source, 180).await;
    let second = receive(&*source, 20).await;
    // The later batch is committed first, and is small: each of its messages needs its own operation. Of more than
    // some 30 at once, RabbitMQ forgets those that a quorum queue has not processed when the connection ends.
    ack(&*source, &second).await;
    ack(&*source, &first).await;
    gone(broker, &*source).await;
    let all: BTreeSet<String> = texts(&first).into_iter().chain(texts(&second)).collect();
    assert_eq!(all.len(), 200);
}

pub(super) async fn bodies_come_as_they_were_sent(broker: &dyn Broker) {
    let source = broker.source().await;
    let mut bodies: Vec<Vec<u8>> = vec![
        "ünï ☃ \u{10348}\n\t\"quoted\" <&>".as_bytes().to_vec(),
        b" spaces ".to_vec(),
    ];
    if broker.is_binary() {
        bodies.push((0..=255).collect());
        bodies.push(vec![0xff, 0xfe, 0x00]);
        bodies.push(Vec::new());
    }
    broker.publish(bodies.clone(), &[]).await;
    let came = receive(&*source, bodies.len()).await;
    let mut found: Vec<Vec<u8>> = came.iter().map(|message| message.bytes.clone()).collect();
    found.sort();
    bodies.sort();
    assert_eq!(found, bodies);
    ack(&*source, &came).await;
}

pub(super) async fn a_mebibyte_comes_whole(broker: &dyn Broker) {
    let source = broker.source().await;
    let body: Vec<u8> = (0..1024 * 1024)
        .map(|at: u32| b'a' + (at % 23) as u8)
        .collect();
    broker.publish(vec![body.clone()], &[]).await;
    let came = receive(&*source, 1).await;
    assert!(came[0].bytes == body, "{} bytes came", came[0].bytes.len());
    ack(&*source, &came).await;
    gone(broker, &*source).await;
}

/// Trace context of a producer.
const TRACE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

pub(super) async fn attributes_come_along(broker: &dyn Broker) {
    let source = broker.source().await;
    let sent = [
        ("cloudEvents_specversion", "1.0"),
        ("cloudEvents_type", "finding"),
        ("team", "blau ☃"),
        ("traceparent", TRACE),
    ];
    broker.publish(numbered(0..1), &sent).await;
    let came = receive(&*source, 1).await;
    let value = |name: &str| came[0].attributes.get(name).map(String::as_str);
    if broker.has_attributes() {
        assert_eq!(value("ce-specversion"), Some("1.0"));
        assert_eq!(value("ce-type"), Some("finding"));
        assert_eq!(value("team"), Some("blau ☃"));
        assert_eq!(value("traceparent"), Some(TRACE));
    } else {
        assert!(value("file-name").is_some_and(|name| !name.is_empty()));
    }
    ack(&*source, &came).await;
}

pub(super) async fn the_same_message_twice_comes_twice(broker: &dyn Broker) {
    let source = broker.source().await;
    let same = vec![b"same".to_vec(), b"same".to_vec()];
    broker.publish(same, &[]).await;
    let came = receive(&*source, 2).await;
    assert_ne!(came[0].id, came[1].id);
    ack(&*source, &came).await;
    gone(broker, &*source).await;
}

pub(super) async fn a_receive_that_is_dropped_loses_nothing(broker: &dyn Broker) {
    let source = broker.source().await;
    broker.publish(numbered(0..30), &[]).await;
    let mut came = Vec::new();
    // Calls are dropped sooner and later, until all messages have arrived in between.
    let collecting = async {
        let mut patience = Duration::from_micros(1);
        while came.len() < 30 {
            if let Ok(Ok(messages)) = timeout(patience, source.receive(4)).await {
                let messages = messages.expect("a queue has no end");
                ack(&*source, &messages).await;
                came.extend(messages);
            }
            patience = (patience * 2).min(Duration::from_secs(2));
            if patience > Duration::from_millis(200) && came.len() % 3 == 0 {
                patience = Duration::from_micros(50);
            }
        }
    };
    timeout(BOUND, collecting).await.expect("all come");
    gone(broker, &*source).await;
    let each: BTreeSet<String> = texts(&came).into_iter().collect();
    assert_eq!(each.len(), 30);
}

pub(super) async fn closing_gives_back_what_is_not_settled(broker: &dyn Broker) {
    let first = broker.source().await;
    broker.publish(numbered(0..6), &[]).await;
    let came = receive(&*first, 6).await;
    ack(&*first, &came[..3]).await;
    first.close().await;
    assert!(first.ready().is_err());
    assert_eq!(first.receive(1).await.unwrap(), None);
    let second = broker.source().await;
    let again = receive(&*second, 3).await;
    assert_eq!(texts(&again), texts(&came[3..]));
    ack(&*second, &again).await;
    gone(broker, &*second).await;
}

pub(super) async fn what_settles_nothing_hurts_nothing(broker: &dyn Broker) {
    let source = broker.source().await;
    broker.publish(numbered(0..2), &[]).await;
    assert_eq!(source.settle(&[]).await, []);
    let came = receive(&*source, 1).await;
    let mut strange = settled(&came, Disposition::Ack);
    strange[0].id = "7777777.1".to_owned();
    source.settle(&strange).await;
    ack(&*source, &came).await;
    // The messages are settled already.
    source.settle(&settled(&came, Disposition::Ack)).await;
    assert_eq!(source.extend(&[came[0].id.clone()]).await, []);
    let rest = receive(&*source, 1).await;
    ack(&*source, &rest).await;
    gone(broker, &*source).await;
}

pub(super) async fn two_sources_share_a_queue(broker: &dyn Broker) {
    let sources = [broker.source().await, broker.source().await];
    broker.publish(numbered(0..60), &[]).await;
    let came = Mutex::new(Vec::new());
    let all = Notify::new();
    let taking = sources.iter().map(|source| async {
        loop {
            let Ok(Some(messages)) = source.receive(5).await else {
                continue;
            };
            ack(&**source, &messages).await;
            let mut came = came.lock().unwrap();
            came.extend(texts(&messages));
            if came.len() >= 60 {
                all.notify_one();
            }
        }
    });
    let both = async {
        tokio::select! {
            _ = join_all(taking) => {}
            () = all.notified() => {}
        }
    };
    timeout(BOUND, both).await.expect("all come");
    let mut came = came.into_inner().unwrap();
    came.sort();
    came.dedup();
    assert_eq!(came.len(), 60, "no message has two takers");
    for source in &sources {
        source.close().await;
    }
    gone(broker, &*sources[0]).await;
}

pub(super) async fn what_we_put_there_ourselves_comes_as_it_was(broker: &dyn Broker) {
    let Some(publisher) = broker.publisher().await else {
        return;
    };
    let source = broker.source().await;
    for number in 0..2 {
        let outgoing = OutgoingMessage {
            id: format!("nightshift-canary-{number}"),
            bytes: format!("canary {number} ü").into_bytes(),
        };
        publisher.publish(&outgoing).await.unwrap();
    }
    assert_eq!(publisher.name(), source.name());
    let came = receive(&*source, 2).await;
    let mut bodies = texts(&came);
    bodies.sort_unstable();
    assert_eq!(bodies, ["canary 0 ü", "canary 1 ü"]);
    ack(&*source, &came).await;
    gone(broker, &*source).await;
}

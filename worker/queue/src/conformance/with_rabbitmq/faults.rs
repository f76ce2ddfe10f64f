//! Tests faults between a source and RabbitMQ.

use std::net::SocketAddr;
use std::sync::Mutex;

use super::super::proxy::{Proxy, ProxyMode};
use super::super::{ack, numbered, settled, until_down};
use super::node::{Node, ctl};
use super::*;
use nightshift_pipeline::port::{Disposition, OutgoingMessage};

/// Returns the address of a URL, and the URL through a proxy.
fn through(url: &str, proxy: SocketAddr) -> String {
    let mut url = url::Url::parse(url).unwrap();
    url.set_port(Some(proxy.port())).unwrap();
    url.to_string()
}

fn address(url: &str) -> SocketAddr {
    let port = url::Url::parse(url).unwrap().port().unwrap();
    SocketAddr::from(([127, 0, 0, 1], port))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f06_f07_stopped_or_dead_broker_is_used_again_when_back() {
    if offered("RABBITMQ_DIR").is_none() {
        return;
    }
    let node = Node::start().await;
    let queue = RabbitQueue::made(&node.url, "quorum").await;
    queue.publish(numbered(0..4), &[]).await;
    let source = queue.source().await;
    let mut wanted = texts(&receive(&*source, 4).await);

    node.ctl(&["stop_app"]).await;
    let why = until_down(&*source).await;
    assert!(!why.is_empty());
    node.ctl(&["start_app"]).await;
    let again = receive(&*source, 4).await;
    assert_eq!(texts(&again), wanted, "nothing was settled");
    assert_eq!(source.ready(), Ok(()));
    ack(&*source, &again[..2]).await;
    wanted = texts(&again[2..]);

    node.kill().await;
    until_down(&*source).await;
    node.again().await;
    // The acknowledgements were sent but not confirmed, so those two may be redelivered.
    let back = receive(&*source, 2).await;
    let mut found = texts(&back);
    while !wanted.iter().all(|text| found.contains(text)) {
        found.extend(texts(&receive(&*source, 1).await));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f08_closed_connections_are_made_again_and_nothing_is_lost() {
    let (Some(queue), Some(dir)) = (RabbitQueue::quorum().await, offered("RABBITMQ_DIR")) else {
        return;
    };
    // The test has its own user, so that only its connections are closed.
    let user = format!("u-{}", uuid::Uuid::new_v4());
    ctl(&dir, &["add_user", &user, "secret"]).await;
    // A source that declares nothing needs only the read permission.
    ctl(&dir, &["set_permissions", &user, "^$", "^$", ".*"]).await;
    let url = queue.url.replace("guest:guest", &format!("{user}:secret"));
    let source = queue.source_at(&url, "").await;
    queue.publish(numbered(0..50), &[]).await;
    let first = receive(&*source, 20).await;
    ack(&*source, &first[..5]).await;

    ctl(&dir, &["close_all_user_connections", &user, "test"]).await;
    // The loss is noticed although there is no receiver.
    let noticing = async {
        while source.ready().is_ok() {
            tokio::task::yield_now().await;
        }
    };
    timeout(BOUND, noticing).await.expect("the source notices");
    // The connection of these messages has ended, so the settlement is too late.
    let late = settled(&first[5..10], Disposition::Ack);
    assert_eq!(source.settle(&late).await.len(), 5);
    let mut seen: std::collections::BTreeSet<String> = texts(&first[..5]).into_iter().collect();
    while seen.len() < 50 {
        let messages = receive(&*source, 1).await;
        source.settle(&settled(&messages, Disposition::Ack)).await;
        seen.extend(texts(&messages));
    }
    assert_eq!(source.ready(), Ok(()));
    ctl(&dir, &["delete_user", &user]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f10_a_deleted_queue_is_told_and_its_successor_is_used() {
    for more in ["", "declare = true"] {
        let Some(queue) = RabbitQueue::classic().await else {
            return;
        };
        let source = queue.source_at(&queue.url, more).await;
        queue.publish(numbered(0..1), &[]).await;
        ack(&*source, &receive(&*source, 1).await).await;
        queue.delete().await;
        let why = until_down(&*source).await;
        assert!(
            why.contains("cancelled") || why.contains("NOT_FOUND"),
            "{why}"
        );
        if more.is_empty() {
            declare(&queue.channel, &queue.name, "classic", true).await;
        }
        queue.first(&*source, "fresh").await;
        assert_eq!(source.ready(), Ok(()));
        queue.delete().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f11_silent_network_is_noticed_by_heartbeats_and_reconnected() {
    let Some(queue) = RabbitQueue::quorum().await else {
        return;
    };
    let proxy = Proxy::before(address(&queue.url)).await;
    let url = through(&queue.url, proxy.address);
    let source = queue.source_at(&url, "heartbeat_secs = 1").await;
    queue.publish(numbered(0..3), &[]).await;
    let first = receive(&*source, 3).await;
    for mode in [ProxyMode::Swallow, ProxyMode::Cut] {
        proxy.set(mode);
        let why = until_down(&*source).await;
        assert!(!why.is_empty());
        proxy.set(ProxyMode::Carry);
        let again = receive(&*source, 3).await;
        assert_eq!(texts(&again), texts(&first), "after {mode:?}");
        assert_eq!(source.ready(), Ok(()));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f33_a_changed_password_counts_at_the_next_connect() {
    let Some(queue) = RabbitQueue::quorum().await else {
        return;
    };
    let password = Arc::new(Mutex::new("wrong"));
    let file = Arc::clone(&password);
    let secrets: SecretResolver = Arc::new(move |text| match text {
        "file:password" => Ok(SecretString::from(format!("{}\n", file.lock().unwrap()))),
        "env:NOTHING" => Err("NOTHING is not set".to_owned()),
        other => Ok(SecretString::from(other.to_owned())),
    });
    let url = queue.url.replace("guest:guest@", "guest@");
    let config = queue.config(&url, "password = 'file:password'");
    let source = connect(&config, Arc::clone(&secrets)).await.unwrap();
    queue.publish(numbered(0..1), &[]).await;
    let why = until_down(&*source).await;
    assert!(
        why.contains("ACCESS_REFUSED") || why.contains("ACCESS-REFUSED"),
        "{why}"
    );
    assert!(!why.contains("wrong"), "{why}");
    *password.lock().unwrap() = "guest";
    assert_eq!(texts(&receive(&*source, 1).await), ["message 0000"]);

    let config = queue.config("env:NOTHING", "");
    let source = connect(&config, secrets).await.unwrap();
    assert!(source.receive(1).await.is_err());
    assert_eq!(source.ready(), Err("NOTHING is not set".to_owned()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tls_trusts_a_private_authority_file_and_no_unknown_one() {
    let (Some(queue), Some(dir)) = (RabbitQueue::quorum().await, offered("RABBITMQ_DIR")) else {
        return;
    };
    let Ok(url) = std::fs::read_to_string(format!("{dir}/tls-url")) else {
        eprintln!("skipped: the node speaks no TLS");
        return;
    };
    let url = url.trim();
    queue.publish(numbered(0..1), &[]).await;
    let strict = queue.source_at(url, "").await;
    assert!(strict.receive(1).await.is_err());
    let why = strict.ready().unwrap_err();
    assert!(
        why.contains("certificate") || why.contains("UnknownIssuer"),
        "{why}"
    );
    let source = queue
        .source_at(url, &format!("ca_file = '{dir}/ca.pem'"))
        .await;
    let came = receive(&*source, 1).await;
    ack(&*source, &came).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_missing_queue_is_told_or_made_as_the_configuration_says() {
    let Some(mut queue) = RabbitQueue::quorum().await else {
        return;
    };
    queue.delete().await;
    queue.name = format!("declared-{}", uuid::Uuid::new_v4());
    let passive = queue.source().await;
    assert!(passive.receive(1).await.is_err());
    let why = passive.ready().unwrap_err();
    assert!(
        why.contains(&queue.name) && why.contains("NOT_FOUND"),
        "{why}"
    );

    let declaring = queue.source_at(&queue.url, "declare = true").await;
    queue.first(&*declaring, "first").await;
    // A declaration with other arguments is refused.
    let mut classic = FieldTable::default();
    classic.insert(
        "x-queue-type".into(),
        AMQPValue::LongString("classic".into()),
    );
    let other = queue.connection.create_channel().await.unwrap();
    let durable = QueueDeclareOptions::durable();
    let otherwise = other.queue_declare(queue.name.as_str().into(), durable, classic);
    let refused = otherwise.await.unwrap_err().to_string();
    assert!(refused.contains("'quorum'"), "{refused}");
    queue.delete().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_we_put_into_a_queue_that_is_gone_comes_back() {
    let Some(queue) = RabbitQueue::classic().await else {
        return;
    };
    let publisher = queue.publisher().await.unwrap();
    queue.delete().await;
    let outgoing = OutgoingMessage {
        id: "nightshift-canary-1".to_owned(),
        bytes: b"{}".to_vec(),
    };
    let error = publisher.publish(&outgoing).await.unwrap_err().to_string();
    assert!(error.contains("there is no queue"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn declared_queue_drops_nothing_at_any_delivery_count() {
    let Some(mut queue) = RabbitQueue::quorum().await else {
        return;
    };
    queue.delete().await;
    queue.name = format!("declared-{}", uuid::Uuid::new_v4());
    let declaring = queue.source_at(&queue.url, "declare = true").await;
    queue.first(&*declaring, "again and again").await;
    declaring.close().await;
    let source = queue.source().await;
    // RabbitMQ 4 drops a message after 20 deliveries by default.
    for _ in 0..30 {
        let came = receive(&*source, 1).await;
        assert_eq!(texts(&came), ["again and again"]);
        source.settle(&settled(&came, Disposition::Nack)).await;
    }
    queue.delete().await;
}

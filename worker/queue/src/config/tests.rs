//! Tests valid and invalid `[[source]]` tables.

use std::sync::Arc;

use nightshift_pipeline::port::Source;
use schemars::schema_for;
use secrecy::SecretString;

use super::*;
use crate::connect;

fn checked(text: &str) -> Result<SourceConfig, String> {
    let config: SourceConfig = toml::from_str(text).map_err(|error| error.message().to_owned())?;
    config.check().map_err(|error| error.to_string())?;
    Ok(config)
}

#[test]
fn what_makes_sense_is_taken() {
    for text in [
        "kind = 'rabbitmq'\nname = 'r'\nurl = 'amqps://u@mq.example.com/%2f'\nqueue = 'q'\npassword = 'env:P'",
        "kind = 'rabbitmq'\nname = 'r'\nurl = 'amqp://127.0.0.1'\nqueue = 'q'\ndeclare = true",
        "kind = 'rabbitmq'\nname = 'r'\nurl = 'amqp://mq.internal'\nqueue = 'q'\nallow_private = true",
        "kind = 'rabbitmq'\nname = 'r'\nurl = 'amqp://[::1]/%2f'\nqueue = 'q'",
        "kind = 'rabbitmq'\nname = 'r'\nurl = 'amqps://u@[fd00::1]:5672/%2f'\nqueue = 'q'",
        "kind = 'rabbitmq'\nname = 'r'\nurl = 'file:/run/secrets/url'\nqueue = 'q'",
        "kind = 'sqs'\nname = 'gd'\nqueue_url = 'https://sqs.eu-west-1.amazonaws.com/1/a.fifo'\nbuckets = ['payloads']",
        "kind = 'sqs'\nname = 'gd'\nqueue_url = 'http://localhost:4566/0/a'\nregion = 'eu-west-1'\nendpoint_url = 'http://[::1]:4566'",
        "kind = 'pubsub'\nname = 'p'\nsubscription = 'projects/p-1/subscriptions/s.1'",
        "kind = 'pubsub'\nname = 'p'\nsubscription = 'projects/p/subscriptions/s'\ncredentials = 'file:key.json'",
        "kind = 'pubsub'\nname = 'p'\nsubscription = 'projects/p/subscriptions/s'\ncredentials = 'none'\nendpoint_url = 'http://localhost:8085'",
        "kind = 'spool'\nname = 'files'\ndir = 'in'\nkeep = true\nfeeds = ['guardduty']",
    ] {
        assert!(checked(text).is_ok(), "{text}: {:?}", checked(text));
    }
}

#[test]
fn impossible_pubsub_subscription_is_refused_with_advice() {
    let pubsub = "kind = 'pubsub'\nname = 'p'\nsubscription = ";
    for (text, wanted) in [
        (format!("{pubsub}'alerts'"), "write it as in"),
        (
            format!("{pubsub}'projects/../subscriptions/s'"),
            "write it as in",
        ),
        (
            format!("{pubsub}'projects/p/subscriptions/s'\ncredentials = 'hush'"),
            "write \"metadata\"",
        ),
        (
            format!("{pubsub}'projects/p/subscriptions/s'\ncredentials = 'none'"),
            "the emulator",
        ),
        (
            format!("{pubsub}'projects/p/subscriptions/s'\nack_deadline_secs = 10"),
            "use 30 to 600",
        ),
        (
            format!("{pubsub}'projects/p/subscriptions/s'\nendpoint_url = 'http://p.example.com'"),
            "not encrypted",
        ),
        (
            format!(
                "{pubsub}'projects/p/subscriptions/s'\nendpoint_url = 'http://p.example.com'\nallow_private = true\ncredentials = 'env:KEY'"
            ),
            "unencrypted",
        ),
    ] {
        let error = checked(&text).unwrap_err();
        assert!(error.contains(wanted), "{text}: {error}");
        assert!(!error.contains("hush"), "{error}");
    }
}

#[test]
fn what_makes_no_sense_is_refused_with_what_to_do() {
    let rabbit = "kind = 'rabbitmq'\nname = 'r'\nqueue = 'q'\n";
    let sqs = "kind = 'sqs'\nname = 's'\n";
    let url = "queue_url = 'https://sqs.eu-west-1.amazonaws.com/1/a'\n";
    for (text, wanted) in [
        (format!("{rabbit}url = 'http://mq'"), "expected amqps://"),
        (
            format!("{rabbit}url = 'amqp://u:hush@mq.example.com'"),
            "use amqps://, or set allow_private",
        ),
        (
            format!("{rabbit}url = 'amqp://u:hush@[2001:db8::1]:5672/%2f'"),
            "amqp:// to 2001:db8::1 is not encrypted",
        ),
        (
            format!("{rabbit}url = 'amqp:/u:hush@mq.example.com/%2f'"),
            "expected amqps://",
        ),
        (
            format!("{rabbit}url = 'amqp://127.0.0.1'\nprefetch = 0"),
            "use 1 or more",
        ),
        (
            format!("{rabbit}url = 'amqp://127.0.0.1'\nheartbeat_secs = 0"),
            "use 1 or more",
        ),
        (
            format!("{rabbit}url = 'amqp://127.0.0.1'\nqueues = 'q'"),
            "unknown field `queues`",
        ),
        (
            format!("{sqs}queue_url = 'http://sqs.example.com/1/a'"),
            "not encrypted",
        ),
        (format!("{sqs}queue_url = 'alerts'"), "queue_url"),
        (format!("{sqs}{url}visibility_secs = 5"), "use 30 to 43200"),
        (
            format!("{sqs}{url}buckets = ['https://x']"),
            "no name of a bucket",
        ),
        (
            "kind = 'spool'\nname = 'a b'\ndir = 'in'".to_owned(),
            "1 to 64 characters",
        ),
        (
            "kind = 'kafka'\nname = 'k'".to_owned(),
            "unknown variant `kafka`",
        ),
    ] {
        let told = checked(&text).unwrap_err();
        assert!(told.contains(wanted), "{text}: {told}");
        assert!(!told.contains("hush"), "{told}");
    }
}

#[test]
fn secrets_are_hidden_and_paths_are_relative_to_configuration() {
    let text = "kind = 'rabbitmq'\nname = 'r'\nurl = 'amqps://u:hush@mq/%2f'\nqueue = 'q'\npassword = 'hush'\nca_file = 'ca.pem'";
    let config = checked(text)
        .unwrap()
        .with_base(Path::new("/etc/nightshift"));
    let shown = format!("{config:?}");
    assert!(!shown.contains("hush"), "{shown}");
    assert!(shown.contains("/etc/nightshift/ca.pem"), "{shown}");
}

#[test]
fn feeds_are_a_limit_only_where_there_are_some() {
    let with = |feeds: &str| {
        let text = format!("kind = 'spool'\nname = 's'\ndir = 'in'\nfeeds = {feeds}");
        checked(&text).unwrap().feeds()
    };
    assert_eq!(with("[]"), None);
    assert_eq!(with("['scc']"), Some(vec!["scc".to_owned()]));
}

#[test]
fn the_schema_knows_every_kind_and_describes_every_key() {
    let schema = schema_for!(SourceConfig).to_value();
    let kinds = schema["oneOf"].as_array().unwrap();
    assert_eq!(kinds.len(), 4);
    for kind in kinds {
        for (key, facts) in kind["properties"].as_object().unwrap() {
            let is_told = key == "kind" || facts["description"].is_string();
            assert!(is_told, "{key} of {kind:#}");
        }
    }
}

/// The header of the protocol.
const GREETING: &[u8] = b"AMQP\0\0\x09\x01";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ipv6_broker_address_is_dialled_instead_of_localhost() {
    let Ok(listener) = tokio::net::TcpListener::bind("[::1]:0").await else {
        return eprintln!("this machine has no IPv6");
    };
    let port = listener.local_addr().unwrap().port();
    // A connection to the other address is detected, too: its listener receives nothing.
    let other = std::net::TcpListener::bind(("127.0.0.1", port)).unwrap();
    other.set_nonblocking(true).unwrap();
    let text =
        format!("kind = 'rabbitmq'\nname = 'r'\nurl = 'amqp://[::1]:{port}/%2f'\nqueue = 'q'");
    let secrets = Arc::new(|text: &str| Ok(SecretString::from(text.to_owned())));
    let source = connect(&checked(&text).unwrap(), secrets).await.unwrap();
    let called = async {
        let (mut one, _) = listener.accept().await.unwrap();
        let mut heard = [0; 8];
        tokio::io::AsyncReadExt::read_exact(&mut one, &mut heard)
            .await
            .unwrap();
        heard
    };
    let called = tokio::time::timeout(std::time::Duration::from_secs(60), called);
    let (received, heard) = tokio::join!(source.receive(1), called);
    assert_eq!(heard.expect("nobody calls"), GREETING);
    let error = nightshift_engine::error_chain::format_error_chain(&received.unwrap_err());
    assert!(
        error.contains(&format!("connect to [::1]:{port}")),
        "{error}"
    );
    assert!(other.accept().is_err(), "somebody else was called");
}

#[tokio::test]
async fn a_source_is_made_though_its_broker_is_away() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let text =
        format!("kind = 'rabbitmq'\nname = 'r'\nurl = 'amqp://127.0.0.1:{port}'\nqueue = 'q'");
    let secrets = Arc::new(|text: &str| Ok(SecretString::from(text.to_owned())));
    let source: Arc<dyn Source> = connect(&checked(&text).unwrap(), secrets).await.unwrap();
    assert_eq!(source.name(), "r");
    assert!(source.receive(1).await.is_err());
    let why = source.ready().unwrap_err();
    assert!(
        why.starts_with(&format!("connect to 127.0.0.1:{port}")),
        "{why}"
    );
}

//! Runs the suite on Pub/Sub as a strict fake, and tests possible answers of Google.

use std::sync::Arc;

use async_trait::async_trait;
use nightshift_engine::doctor::CheckSeverity;
use nightshift_pipeline::port::{Disposition, Source};
use secrecy::SecretString;
use serde_json::Value;

use super::broker::Broker;
use super::fake_pubsub::{FakePubsub, SUBSCRIPTION};
use super::suite::suite;
use super::{ack, numbered, receive, settled, texts, until_down};
use crate::SecretResolver;
use crate::pubsub::{PubsubConfig, PubsubSource};

suite!(PubsubBroker::new);

/// A subscription of one test.
struct PubsubBroker(Arc<FakePubsub>);

impl PubsubBroker {
    async fn new() -> Option<Self> {
        Some(Self(FakePubsub::start().await))
    }
}

fn config(endpoint: &str, ack_deadline_secs: u32) -> PubsubConfig {
    let text = format!(
        "name = 'scc'\nsubscription = '{SUBSCRIPTION}'\nendpoint_url = '{endpoint}'\ncredentials = 'file:key.json'\n"
    );
    let mut config: PubsubConfig = toml::from_str(&text).unwrap();
    config.check().unwrap();
    config.ack_deadline_secs = ack_deadline_secs;
    config
}

/// Returns a source with this key of a service account.
fn source_with(
    endpoint: &str,
    key: &Value,
    ack_deadline_secs: u32,
) -> Result<PubsubSource, String> {
    let key = SecretString::from(key.to_string());
    let secrets: SecretResolver = Arc::new(move |_| Ok(key.clone()));
    PubsubSource::new(config(endpoint, ack_deadline_secs), secrets)
}

fn source(fake: &FakePubsub) -> PubsubSource {
    source_with(&fake.url, &fake.key(), 40).unwrap()
}

#[async_trait]
impl Broker for PubsubBroker {
    async fn publish(&self, bodies: Vec<Vec<u8>>, attributes: &[(&str, &str)]) {
        self.0.publish(bodies, attributes);
    }

    async fn source(&self) -> Arc<dyn Source> {
        Arc::new(source(&self.0))
    }

    async fn dying(&self) -> Arc<dyn Source> {
        Arc::new(source_with(&self.0.url, &self.0.key(), 2).unwrap())
    }

    async fn left(&self) -> usize {
        self.0.left()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn token_is_reused_until_refused_and_deadline_is_as_requested() {
    let fake = FakePubsub::start().await;
    let source = source(&fake);
    fake.publish(numbered(0..2), &[]);
    let came = receive(&source, 2).await;
    ack(&source, &came).await;
    assert_eq!(fake.asked("token").len(), 1);
    let held = fake.asked("modifyAckDeadline");
    assert_eq!(held[0]["ackDeadlineSeconds"], 40);
    assert_eq!(held[0]["ackIds"].as_array().unwrap().len(), 2);
    fake.revoke();
    fake.publish(numbered(2..3), &[]);
    let came = receive(&source, 1).await;
    ack(&source, &came).await;
    assert_eq!(fake.asked("token").len(), 2);
    assert_eq!(fake.left(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f13_failed_call_is_retried_and_refused_call_is_reported() {
    let fake = FakePubsub::start().await;
    let source = source(&fake);
    fake.publish(numbered(0..2), &[]);
    let came = receive(&source, 2).await;
    for (status, word) in [
        (503, "UNAVAILABLE"),
        (429, "RESOURCE_EXHAUSTED"),
        (500, "INTERNAL"),
    ] {
        fake.trouble("acknowledge", status, word);
    }
    ack(&source, &came[..1]).await;
    assert_eq!(fake.asked("acknowledge").len(), 4);
    fake.trouble("acknowledge", 400, "INVALID_ARGUMENT");
    let failed = source.settle(&settled(&came[1..], Disposition::Ack)).await;
    assert_eq!(failed.len(), 1);
    assert_eq!(failed[0].why, "acknowledge: 400 INVALID_ARGUMENT so it is");
    assert_eq!(fake.asked("acknowledge").len(), 5);
    assert_eq!(fake.left(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f13_unreadable_subscription_is_not_ready_and_recovers() {
    let fake = FakePubsub::start().await;
    let source = source(&fake);
    fake.trouble("pull", 503, "UNAVAILABLE");
    assert_eq!(until_down(&source).await, "pull: 503 UNAVAILABLE so it is");
    fake.trouble("pull", 403, "PERMISSION_DENIED");
    assert_eq!(
        until_down(&source).await,
        "pull: 403 PERMISSION_DENIED so it is"
    );
    fake.publish(numbered(0..1), &[]);
    let came = receive(&source, 1).await;
    assert_eq!(source.ready(), Ok(()));
    ack(&source, &came).await;
    let other = FakePubsub::start().await;
    let gone = source_with(&other.url, &fake.key(), 40).unwrap();
    // The token of one source is not valid for the other.
    assert_eq!(
        until_down(&gone).await,
        "pull: 401 UNAUTHENTICATED the fake refuses it"
    );
}

#[tokio::test]
async fn f13_messages_arrive_though_the_ack_deadline_is_unknown() {
    let fake = FakePubsub::start().await;
    let source = source_with(&fake.url, &fake.key(), 60).unwrap();
    fake.publish(numbered(0..1), &[]);
    let came = receive(&source, 1).await;
    ack(&source, &came).await;
    // From here on, time advances whenever all tasks are idle.
    tokio::time::pause();
    fake.silence(Some("modifyAckDeadline"));
    fake.publish(numbered(1..3), &[]);
    let before = tokio::time::Instant::now();
    let came = source.receive(2).await.unwrap().unwrap();
    assert_eq!(texts(&came), ["message 0001", "message 0002"]);
    assert!(before.elapsed().as_secs() < 10, "{:?}", before.elapsed());
    assert_eq!(fake.asked("modifyAckDeadline").len(), 2, "one try");
    let why = source.ready().unwrap_err();
    assert!(why.starts_with("modifyAckDeadline: "), "{why}");
    ack(&source, &came).await;
    fake.silence(None);
    fake.publish(numbered(3..4), &[]);
    let came = receive(&source, 1).await;
    assert_eq!(source.ready(), Ok(()));
    ack(&source, &came).await;
    assert_eq!(fake.left(), 0);
}

#[tokio::test]
async fn f13_slow_pull_after_a_failure_is_allowed_once_it_answers() {
    let fake = FakePubsub::start().await;
    let source = source_with(&fake.url, &fake.key(), 60).unwrap();
    fake.trouble("pull", 503, "UNAVAILABLE");
    assert!(source.receive(1).await.is_err());
    fake.publish(numbered(0..1), &[]);
    fake.slow(std::time::Duration::from_secs(8));
    // From here on, time advances whenever all tasks are idle.
    tokio::time::pause();
    let came = receive(&source, 1).await;
    assert_eq!(texts(&came), ["message 0000"]);
    let asked = fake.asked("pull");
    let at_once: Vec<_> = asked.iter().map(|one| &one["returnImmediately"]).collect();
    assert_eq!(at_once, [true, true]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f13_an_extended_message_stays_ours_and_others_come_again() {
    let fake = FakePubsub::start().await;
    fake.publish(numbered(0..2), &[]);
    let brief = source_with(&fake.url, &fake.key(), 2).unwrap();
    let other = source(&fake);
    let came = receive(&brief, 2).await;
    assert_eq!(
        brief.visibility_timeout(),
        Some(std::time::Duration::from_secs(2))
    );
    let (kept, lost) = (came[0].id.clone(), texts(&came[1..]));
    let keeping = async {
        loop {
            assert_eq!(brief.extend(std::slice::from_ref(&kept)).await, []);
        }
    };
    let elsewhere = tokio::select! {
        () = keeping => unreachable!("it never ends"),
        messages = receive(&other, 1) => messages,
    };
    assert_eq!(texts(&elsewhere), lost);
    ack(&other, &elsewhere).await;
    ack(&brief, &came[..1]).await;
    assert_eq!(fake.left(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_account_of_the_machine_is_asked_for_with_its_header() {
    let fake = FakePubsub::start().await;
    let source = PubsubSource::with_metadata(config(&fake.url, 40), &fake.url).unwrap();
    fake.publish(numbered(0..1), &[]);
    let came = receive(&source, 1).await;
    ack(&source, &came).await;
    assert_eq!(fake.asked("metadata").len(), 1);
    assert_eq!(fake.asked("token").len(), 0);
}

#[tokio::test]
async fn a21_a_key_that_cannot_be_used_is_told_of_without_it() {
    let fake = FakePubsub::start().await;
    let with = |name: &str, value: Value| {
        let mut key = fake.key();
        key[name] = value;
        source_with(&fake.url, &key, 40).err().unwrap()
    };
    let mut said = vec![
        with(
            "private_key",
            "-----BEGIN PRIVATE KEY-----\nhush\n-----END PRIVATE KEY-----".into(),
        ),
        with("type", "external_account".into()),
        with("token_uri", "http://token.example.com/".into()),
        with("client_email", Value::Null),
    ];
    said.push(
        source_with(&fake.url, &Value::from("hush"), 40)
            .err()
            .unwrap(),
    );
    let all = said.join("\n");
    assert!(
        said.iter().all(|one| one.starts_with("credentials: ")),
        "{all}"
    );
    assert!(!all.contains("hush") && !all.contains("PRIVATE"), "{all}");
    let shown = fake.key().to_string();
    let kept = shown.split("\\n").nth(3).unwrap();
    assert!(!all.contains(kept));
}

#[tokio::test]
async fn subscription_probe_takes_no_message_and_names_faults() {
    let fake = FakePubsub::start().await;
    fake.publish(numbered(0..1), &[]);
    let look = async |subscription: &str, key: Value| {
        let mut config = config(&fake.url, 40);
        config.subscription = subscription.to_owned();
        let key = SecretString::from(key.to_string());
        let found = crate::pubsub::probe(&config, Arc::new(move |_| Ok(key.clone()))).await;
        let found: Vec<&str> = found.failed_checks.iter().map(|one| one.check).collect();
        found.join(" ")
    };
    assert_eq!(look(SUBSCRIPTION, fake.key()).await, "");
    let gone = "projects/security-tools/subscriptions/gone";
    assert_eq!(look(gone, fake.key()).await, "source.no_queue");
    let mut other = fake.key();
    other["client_email"] = "other@security-tools.iam.gserviceaccount.com".into();
    assert_eq!(look(SUBSCRIPTION, other).await, "source.refused");
    assert_eq!(
        look(SUBSCRIPTION, Value::Null).await,
        "source.configuration"
    );
    fake.trouble("testIamPermissions", 503, "UNAVAILABLE");
    assert_eq!(look(SUBSCRIPTION, fake.key()).await, "source.unreachable");
    fake.may_consume
        .store(false, std::sync::atomic::Ordering::Relaxed);
    assert_eq!(look(SUBSCRIPTION, fake.key()).await, "source.refused");
    assert_eq!(fake.asked("pull").len(), 0);
    assert_eq!(fake.left(), 1);
}

#[tokio::test]
async fn subscription_settings_that_lose_alerts_are_reported() {
    let fake = FakePubsub::start().await;
    let good = fake.settings.lock().unwrap().clone();
    let look = async |name: &str, value: Value| {
        let mut settings = good.clone();
        settings[name] = value;
        settings
            .as_object_mut()
            .unwrap()
            .retain(|_, value| !value.is_null());
        *fake.settings.lock().unwrap() = settings;
        let key = SecretString::from(fake.key().to_string());
        crate::pubsub::probe(&config(&fake.url, 40), Arc::new(move |_| Ok(key.clone()))).await
    };
    for (name, value, check, option) in [
        (
            "deadLetterPolicy",
            Value::Null,
            "source.no_dead_letter",
            "--dead-letter-topic",
        ),
        (
            "messageRetentionDuration",
            "86400s".into(),
            "source.retention",
            "--message-retention-duration 7d",
        ),
        (
            "expirationPolicy",
            serde_json::json!({"ttl": "2678400s"}),
            "source.expires",
            "--expiration-period never",
        ),
    ] {
        let found = look(name, value).await.failed_checks;
        let checks: Vec<&str> = found.iter().map(|one| one.check).collect();
        assert_eq!(checks, [check]);
        assert_eq!(found[0].severity, CheckSeverity::Warning, "{check}");
        let mend = format!("gcloud pubsub subscriptions update {SUBSCRIPTION} {option}");
        assert!(found[0].mend.contains(&mend), "{}", found[0].mend);
    }
    let brief = look("messageRetentionDuration", "600s".into())
        .await
        .failed_checks;
    assert_eq!(
        brief[0].severity,
        CheckSeverity::Error,
        "a rollout may lose alerts"
    );
    fake.trouble("get", 403, "PERMISSION_DENIED");
    let unseen = look("deadLetterPolicy", Value::Null).await;
    assert_eq!(
        unseen.failed_checks.len(),
        0,
        "who may not look there is told no fault"
    );
    let seen = unseen.observations.concat();
    assert!(
        seen.contains("not checked: get: 403 PERMISSION_DENIED"),
        "{seen}"
    );
}

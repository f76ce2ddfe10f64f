//! Tests `/v1/alerts/sns`.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tokio::sync::Barrier;

use super::fixture::{CallBarrier, FakeHttpServer, IntakeFixture, Signer, finding};
use crate::SigningKeyCache;
use crate::testing::TestResponse;

const TOPIC: &str = "arn:aws:sns:eu-west-1:111122223333:guardduty";
const CERTIFICATE: &str = "/SimpleNotificationService-0123abcd.pem";
const OWN_HOST: &str = "https://sns.eu-west-1.amazonaws.com";

/// A worker with an SNS topic, and a fake SNS.
struct SnsFixture {
    world: IntakeFixture,
    called: Arc<FakeHttpServer>,
    signer: Signer,
    keys: SigningKeyCache,
    source: Value,
}

impl SnsFixture {
    async fn new(signer: Signer) -> Self {
        let called = Arc::new(FakeHttpServer::default());
        called.put(CERTIFICATE, signer.certificate.clone());
        let endpoint = called.serve().await;
        let source = json!({"name": "in", "sns": {"topics": [TOPIC], "endpoint_url": endpoint}});
        let keys = SigningKeyCache::default();
        Self {
            world: IntakeFixture::knowing(source.clone(), keys.clone()),
            called,
            signer,
            keys,
            source,
        }
    }

    async fn post(&self, message: &Value) -> TestResponse {
        self.world
            .post("/v1/alerts/sns", &[], message.to_string())
            .await
    }

    /// Returns a signed notification with this finding.
    fn notification(&self, id: &str) -> Value {
        let mut message = json!({
            "Type": "Notification", "MessageId": "m-1", "TopicArn": TOPIC, "Subject": "a finding",
            "Message": finding(id).to_string(), "Timestamp": "2026-11-30T23:59:59.000Z",
            "SignatureVersion": "2", "SigningCertURL": format!("{OWN_HOST}{CERTIFICATE}"),
        });
        sign(&mut message, &self.signer);
        message
    }

    fn confirmation(&self, topic: &str) -> Value {
        let mut message = json!({
            "Type": "SubscriptionConfirmation", "MessageId": "m-2", "TopicArn": topic, "Token": "t0ken",
            "Message": "You have chosen to subscribe", "Timestamp": "2026-11-30T23:59:59.000Z",
            "SubscribeURL": "http://169.254.169.254/?Action=ConfirmSubscription&Token=t0ken",
            "SignatureVersion": "2", "SigningCertURL": format!("{OWN_HOST}{CERTIFICATE}"),
        });
        sign(&mut message, &self.signer);
        message
    }
}

/// Signs as AWS does: the keys of its list that are present, in its order.
fn sign(message: &mut Value, signer: &Signer) {
    let keys = match message["Type"].as_str().unwrap() {
        "Notification" => vec![
            "Message",
            "MessageId",
            "Subject",
            "Timestamp",
            "TopicArn",
            "Type",
        ],
        _ => vec![
            "Message",
            "MessageId",
            "SubscribeURL",
            "Timestamp",
            "Token",
            "TopicArn",
            "Type",
        ],
    };
    let lines = keys
        .iter()
        .filter_map(|key| Some(format!("{key}\n{}\n", message.get(key)?.as_str()?)));
    let words: String = lines.collect();
    message["Signature"] = STANDARD.encode(signer.sign(&words)).into();
}

#[tokio::test]
async fn signed_sns_message_is_accepted_and_certificate_fetched_once() {
    let sns = SnsFixture::new(Signer::new()).await;
    for id in ["one", "two"] {
        let answer = sns.post(&sns.notification(id)).await;
        assert_eq!(
            (answer.status.as_u16(), answer.text.as_str()),
            (200, r#"{"outcome":"accepted"}"#)
        );
    }
    let mut without_subject = sns.notification("three");
    without_subject.as_object_mut().unwrap().remove("Subject");
    sign(&mut without_subject, &sns.signer);
    assert_eq!(sns.post(&without_subject).await.status, 200);
    assert_eq!(sns.world.committed(), ["one", "two", "three"]);
    assert_eq!(sns.called.asked(), [CERTIFICATE]);
}

/// Checks a message that OpenSSL signed with SHA-1, as in version 1.
#[tokio::test]
async fn the_older_signature_is_taken_too() {
    let sns = SnsFixture::new(Signer::new()).await;
    let certificate = include_str!("../../../../../tests/fixtures/sns/certificate.pem");
    sns.called
        .put("/SimpleNotificationService-v1.pem", certificate);
    let message = include_str!("../../../../../tests/fixtures/sns/notification-v1.json");
    let mut message: Value = serde_json::from_str(message).unwrap();
    let answer = sns.post(&message).await;
    assert_eq!(answer.text, r#"{"outcome":"accepted"}"#);
    message["SignatureVersion"] = "2".into();
    assert_eq!(
        sns.post(&message).await.status,
        403,
        "it is no signature over SHA-256"
    );
}

#[tokio::test]
async fn a07_a_forged_message_of_sns_is_refused_and_kept_nowhere() {
    let sns = SnsFixture::new(Signer::new()).await;
    let other = Signer::new();
    let changed = |key: &str, value: &str| {
        let mut message = sns.notification("evil");
        message[key] = value.into();
        message
    };
    let mut by_other = sns.notification("evil");
    sign(&mut by_other, &other);
    for message in [
        by_other,
        changed("Message", &finding("other").to_string()),
        changed("MessageId", "m-9"),
        changed("Subject", "another"),
        changed("Timestamp", "2026-12-01T00:00:00.000Z"),
        changed("SignatureVersion", "1"),
        changed("SignatureVersion", "3"),
        changed("Signature", ""),
        changed("Signature", "RVhBTVBMRQ=="),
        changed("Type", "UnsubscribeConfirmation"),
    ] {
        let answer = sns.post(&message).await;
        assert_eq!(answer.status, 403, "{message}: {}", answer.text);
    }
    assert_eq!(sns.world.committed(), Vec::<String>::new());
    assert_eq!(sns.world.counted("refused"), 10);
}

#[tokio::test]
async fn a07_a08_a09_a_certificate_of_another_host_is_never_asked_for() {
    let sns = SnsFixture::new(Signer::new()).await;
    let evil = Arc::new(FakeHttpServer::default());
    let evil_at = evil.serve().await;
    for address in [
        format!("{evil_at}{CERTIFICATE}"),
        format!("https://evil.com{CERTIFICATE}"),
        format!("https://sns.eu-west-1.amazonaws.com.evil.com{CERTIFICATE}"),
        format!("https://evil.com/sns.eu-west-1.amazonaws.com{CERTIFICATE}"),
        format!("https://sns.eu-west-1.amazonaws.com@evil.com{CERTIFICATE}"),
        format!("https://evil.com#@sns.eu-west-1.amazonaws.com{CERTIFICATE}"),
        format!("https://sns.us-east-1.amazonaws.com{CERTIFICATE}"),
        format!("https://sns.eu-west-1.amazonaws.com.cn{CERTIFICATE}"),
        format!("https://sns.eu-west-1.amazonaws.com:444{CERTIFICATE}"),
        format!("https://SNS.eu-west-1.amazonaws.com.{CERTIFICATE}"),
        format!("http://sns.eu-west-1.amazonaws.com{CERTIFICATE}"),
        format!("{OWN_HOST}/bucket{CERTIFICATE}"),
        format!("{OWN_HOST}{CERTIFICATE}?a=b"),
        format!("{OWN_HOST}{CERTIFICATE}#.pem"),
        format!("{OWN_HOST}/SimpleNotificationService-..%2f..%2fx.pem"),
        format!("{OWN_HOST}/SimpleNotificationService-/../x.pem"),
        format!("{OWN_HOST}/SimpleNotificationService-.pem"),
        format!("{OWN_HOST}/?Action=ConfirmSubscription&TopicArn=x&Token=y"),
        "https://169.254.169.254/SimpleNotificationService-0123abcd.pem".to_owned(),
        "file:///SimpleNotificationService-0123abcd.pem".to_owned(),
        String::new(),
    ] {
        let mut message = sns.notification("evil");
        message["SigningCertURL"] = address.clone().into();
        let answer = sns.post(&message).await;
        assert_eq!(answer.status, 403, "{address}: {}", answer.text);
    }
    assert_eq!(sns.called.asked(), Vec::<String>::new());
    assert_eq!(evil.asked(), Vec::<String>::new());
    assert_eq!(sns.world.committed(), Vec::<String>::new());
}

#[tokio::test]
async fn a07_only_listed_topic_is_confirmed_never_at_the_sent_address() {
    let sns = SnsFixture::new(Signer::new()).await;
    let other = sns.confirmation("arn:aws:sns:eu-west-1:999999999999:guardduty");
    let answer = sns.post(&other).await;
    assert_eq!(answer.status, 403, "{}", answer.text);
    assert_eq!(sns.called.asked(), Vec::<String>::new());
    let call = format!(
        "/?Action=ConfirmSubscription&TopicArn={}&Token=t0ken&Version=2010-03-31",
        TOPIC.replace(':', "%3A")
    );
    // SNS does not answer, so the sender is asked to try again.
    let answer = sns.post(&sns.confirmation(TOPIC)).await;
    assert_eq!(answer.status, 503, "{}", answer.text);
    sns.called.put(&call, "<ConfirmSubscriptionResponse/>");
    let answer = sns.post(&sns.confirmation(TOPIC)).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert_eq!(
        sns.called.asked(),
        [CERTIFICATE.to_owned(), call.clone(), call]
    );
    let mut forged = sns.confirmation(TOPIC);
    forged["Token"] = "another".into();
    assert_eq!(sns.post(&forged).await.status, 403);
    assert_eq!(sns.called.asked().len(), 3);
}

#[tokio::test]
async fn a25_unsigned_keys_are_ignored_and_repeated_keys_refused() {
    let sns = SnsFixture::new(Signer::new()).await;
    let mut message = sns.notification("good");
    message["findings"] = json!([finding("evil")]);
    message["specversion"] = "1.0".into();
    message["source"] = "evil".into();
    message["data"] = finding("evil");
    assert_eq!(sns.post(&message).await.status, 200);
    assert_eq!(sns.world.committed(), ["good"]);
    assert!(!sns.world.kept()[0].contains("evil"));
    let text = sns.notification("good").to_string();
    let twice = text.replacen('{', "{\"Message\": \"evil\", ", 1);
    let answer = sns.world.post("/v1/alerts/sns", &[], twice).await;
    assert_eq!(answer.status, 400, "{}", answer.text);
    for other in ["", "[]", "no json", "{\"Type\": \"Notification\"}"] {
        assert_eq!(
            sns.world.post("/v1/alerts/sns", &[], other).await.status,
            400
        );
    }
    let raw = [("x-amz-sns-rawdelivery", "true")];
    let answer = sns
        .world
        .post("/v1/alerts/sns", &raw, finding("raw").to_string())
        .await;
    assert!(answer.status == 400 && answer.text.contains("raw delivery"));
}

#[tokio::test]
async fn a_signed_message_that_is_no_alert_is_a_dead_letter() {
    let sns = SnsFixture::new(Signer::new()).await;
    let mut message = sns.notification("x");
    message["Message"] = "the budget is nearly spent".into();
    sign(&mut message, &sns.signer);
    let answer = sns.post(&message).await;
    assert!(answer.text.contains("dead_letter"), "{}", answer.text);
    assert_eq!(sns.world.committed(), ["unreadable"]);
}

#[tokio::test]
async fn unavailable_certificate_is_not_fetched_again_at_once() {
    let sns = SnsFixture::new(Signer::new()).await;
    sns.called.is_away.store(true, Ordering::Relaxed);
    for _ in 0..5 {
        let answer = sns.post(&sns.notification("one")).await;
        assert_eq!(answer.status, 503, "SNS tries again");
        assert!(answer.headers.contains_key("retry-after"));
    }
    assert_eq!(sns.called.asked().len(), 1);
    assert_eq!(sns.world.counted("busy"), 5);
}

#[tokio::test]
async fn made_up_names_do_not_keep_the_certificate_from_us() {
    let sns = SnsFixture::new(Signer::new()).await;
    let made_up = |number: usize| {
        let mut message = sns.notification("evil");
        let address = format!("{OWN_HOST}/SimpleNotificationService-{number}.pem");
        message["SigningCertURL"] = address.into();
        message
    };
    for number in [1, 2, 1, 2] {
        assert_eq!(sns.post(&made_up(number)).await.status, 503);
    }
    assert_eq!(sns.called.asked().len(), 2, "each name once");
    assert_eq!(sns.post(&sns.notification("one")).await.status, 200);
    assert_eq!(sns.world.committed(), ["one"]);
}

#[tokio::test]
async fn certificates_are_fetched_four_at_a_time_and_each_once() {
    let sns = SnsFixture::new(Signer::new()).await;
    let (four, most) = (Arc::new(Barrier::new(4)), Arc::new(Mutex::new((0, 0))));
    *sns.called.meets.lock().unwrap() = Some(CallBarrier {
        four,
        most: Arc::clone(&most),
    });
    let messages: Vec<Value> = (0..16)
        .map(|number: usize| {
            let mut message = sns.notification("evil");
            let address = format!("{OWN_HOST}/SimpleNotificationService-{}.pem", number % 8);
            message["SigningCertURL"] = address.into();
            message
        })
        .collect();
    let posted = messages.iter().map(|message| sns.post(message));
    for answer in futures_util::future::join_all(posted).await {
        assert_eq!(answer.status, 503);
    }
    assert_eq!(sns.called.asked().len(), 8);
    assert_eq!(most.lock().unwrap().1, 4);
}

#[tokio::test]
async fn a_certificate_whose_time_is_over_counts_for_nothing() {
    let sns = SnsFixture::new(Signer::until(2026)).await;
    let answer = sns.post(&sns.notification("one")).await;
    assert_eq!(answer.status, 403, "{}", answer.text);
    assert!(
        answer.text.contains("time of its certificate"),
        "{}",
        answer.text
    );
}

#[tokio::test]
async fn certificates_that_came_are_known_to_the_next_configuration() {
    let mut sns = SnsFixture::new(Signer::new()).await;
    assert_eq!(sns.post(&sns.notification("one")).await.status, 200);
    sns.world = IntakeFixture::knowing(sns.source.clone(), sns.keys.clone());
    assert_eq!(sns.post(&sns.notification("two")).await.status, 200);
    assert_eq!(sns.called.asked(), [CERTIFICATE]);
}

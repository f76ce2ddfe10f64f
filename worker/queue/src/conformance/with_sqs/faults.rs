//! Tests guarantee F13 with possible answers of SQS. No broker is needed, so these tests always run.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use super::super::fake_sqs::{FakeAnswer, FakeSqs, SILENCE, message};
use super::super::{BOUND, until_down};
use super::*;

const QUEUE: &str = "https://sqs.eu-west-1.amazonaws.com/111122223333/alerts";

/// Starts an endpoint that delivers these messages once and then none; `other` answers all other calls.
async fn fake(
    messages: Vec<Value>,
    other: impl Fn(&str, &Value, usize) -> FakeAnswer + Send + Sync + 'static,
) -> (FakeSqs, SqsSource) {
    let fake = FakeSqs::answering(move |action, input, before| match action {
        "ReceiveMessage" if before == 0 => Some((200, json!({"Messages": messages}))),
        "ReceiveMessage" => Some((200, json!({}))),
        _ => other(action, input, before),
    })
    .await;
    let source = source(&fake.url, QUEUE, "", 40);
    (fake, source)
}

/// Returns the handles of each call, in the order of its entries.
fn handles(calls: &[Value]) -> Vec<Vec<String>> {
    let of = |call: &Value| {
        let entries = call["Entries"].as_array().unwrap();
        entries
            .iter()
            .map(|entry| entry["ReceiptHandle"].as_str().unwrap().to_owned())
            .collect()
    };
    calls.iter().map(of).collect()
}

/// Returns a batch answer in which every entry succeeds except those with an error for their handle.
fn but(input: &Value, errors: &HashMap<&str, (&str, bool)>) -> FakeAnswer {
    let (mut done, mut failed) = (Vec::new(), Vec::new());
    for entry in input["Entries"].as_array().unwrap() {
        match errors.get(entry["ReceiptHandle"].as_str().unwrap()) {
            None => done.push(json!({"Id": entry["Id"]})),
            Some((code, ours)) => failed.push(
                json!({"Id": entry["Id"], "Code": code, "SenderFault": ours, "Message": "so it is"}),
            ),
        }
    }
    Some((200, json!({"Successful": done, "Failed": failed})))
}

#[tokio::test]
async fn f13_entries_that_fail_are_tried_again_alone() {
    let messages = (0..12)
        .map(|n| message(&n.to_string(), &format!("h{n}")))
        .collect();
    let (fake, source) = fake(messages, |_, input, before| {
        let failing: &[&str] = if before < 4 { &["h3", "h11"] } else { &[] };
        let errors = failing
            .iter()
            .map(|handle| (*handle, ("InternalError", false)));
        but(input, &errors.collect())
    })
    .await;
    let came = receive(&source, 12).await;
    ack(&source, &came).await;
    let asked = handles(&fake.asked("DeleteMessageBatch"));
    assert!(asked.iter().all(|entries| entries.len() <= 10));
    let again: Vec<&Vec<String>> = asked.iter().filter(|entries| entries.len() == 1).collect();
    assert!(again.len() >= 2, "{asked:?}");
    assert!(
        again
            .iter()
            .all(|entries| **entries == ["h3"] || **entries == ["h11"]),
        "{asked:?}"
    );
}

#[tokio::test]
async fn f13_an_expired_handle_is_told_and_not_tried_again() {
    let messages = vec![message("1", "old"), message("2", "good")];
    let (fake, source) = fake(messages, |_, input, _| {
        but(
            input,
            &HashMap::from([("old", ("ReceiptHandleIsInvalid", true))]),
        )
    })
    .await;
    let came = receive(&source, 2).await;
    let failed = source.settle(&settled(&came, Disposition::Ack)).await;
    assert_eq!(failed.len(), 1);
    assert_eq!(
        (failed[0].id.as_str(), failed[0].why.as_str()),
        ("1", "ReceiptHandleIsInvalid: so it is")
    );
    assert_eq!(fake.asked("DeleteMessageBatch").len(), 1);
}

#[tokio::test]
async fn f13_entries_that_never_work_are_told_after_some_tries() {
    let (fake, source) = fake(vec![message("1", "h")], |_, input, _| {
        but(input, &HashMap::from([("h", ("InternalError", false))]))
    })
    .await;
    let came = receive(&source, 1).await;
    let failed = source.settle(&settled(&came, Disposition::Nack)).await;
    assert_eq!(failed.len(), 1);
    let asked = fake.asked("ChangeMessageVisibilityBatch");
    assert_eq!(asked.len(), 6);
    assert_eq!(asked[0]["Entries"][0]["VisibilityTimeout"], 0);
}

#[tokio::test]
async fn f13_message_received_twice_is_settled_by_its_later_handle() {
    let fake = FakeSqs::answering(|action, input, before| match action {
        "ReceiveMessage" if before < 2 => {
            let handle = ["early", "late"][before];
            Some((200, json!({"Messages": [message("1", handle)]})))
        }
        "ReceiveMessage" => Some((200, json!({}))),
        _ => but(input, &HashMap::new()),
    })
    .await;
    let source = source(&fake.url, QUEUE, "", 40);
    let came = [receive(&source, 1).await, receive(&source, 1).await].concat();
    ack(&source, &came[..1]).await;
    ack(&source, &came[1..]).await;
    assert_eq!(handles(&fake.asked("DeleteMessageBatch")), [["late"]]);
}

#[tokio::test]
async fn f13_errors_and_throttling_are_told_and_outlived() {
    let fake = FakeSqs::answering(|action, input, before| match (action, before) {
        ("ReceiveMessage", 0..=3) => Some((500, json!({"__type": "InternalFailure"}))),
        ("ReceiveMessage", 4..=6) => Some((
            400,
            json!({"__type": "com.amazonaws.sqs#RequestThrottled", "message": "slow down"}),
        )),
        ("ReceiveMessage", 7) => None,
        ("ReceiveMessage", 8) => Some((200, json!({"Messages": [message("1", "h")]}))),
        ("ReceiveMessage", _) => Some((200, json!({}))),
        ("DeleteMessageBatch", 0) => Some((503, json!({"__type": "ServiceUnavailable"}))),
        _ => but(input, &HashMap::new()),
    })
    .await;
    let source = source(&fake.url, QUEUE, "", 40);
    assert_eq!(source.ready(), Err("not connected yet".to_owned()));
    let why = until_down(&source).await;
    assert!(!why.is_empty());
    assert!(source.ready().is_err());
    let came = receive(&source, 1).await;
    assert_eq!(source.ready(), Ok(()));
    ack(&source, &came).await;
    assert_eq!(fake.asked("DeleteMessageBatch").len(), 2);
}

#[tokio::test]
async fn f13_a_queue_that_is_not_there_is_loudly_not_ready() {
    let fake = FakeSqs::answering(|_, _, _| {
        let kind = "com.amazonaws.sqs#QueueDoesNotExist";
        Some((
            400,
            json!({"__type": kind, "message": "The specified queue does not exist."}),
        ))
    })
    .await;
    let source = source(&fake.url, QUEUE, "", 40);
    let error = source.receive(1).await.unwrap_err();
    assert_eq!(error.to_string(), "the source sqs cannot be read");
    let why = source.ready().unwrap_err();
    assert!(why.contains("The specified queue does not exist."), "{why}");
}

#[tokio::test]
async fn receive_asks_for_free_room_only_and_polls_concurrently() {
    let fake = FakeSqs::answering(|action, input, before| match action {
        "ReceiveMessage" => {
            let count = input["MaxNumberOfMessages"].as_u64().unwrap();
            let one = |n| message(&format!("{before}-{n}"), &format!("h{before}-{n}"));
            let messages: Vec<Value> = (0..count).map(one).collect();
            Some((200, json!({"Messages": messages})))
        }
        _ => but(input, &HashMap::new()),
    })
    .await;
    let source = source(&fake.url, QUEUE, "", 40);
    let came = source.receive(3).await.unwrap().unwrap();
    assert_eq!(came.len(), 3);
    let first = &fake.asked("ReceiveMessage")[0];
    assert_eq!(first["MaxNumberOfMessages"], 3);
    assert_eq!(first["WaitTimeSeconds"], 0, "the first tells at once");
    assert_eq!(first["VisibilityTimeout"], 40);
    assert_eq!(receive(&source, 95).await.len(), 95);
    let asked = fake.asked("ReceiveMessage");
    assert!(asked[1..].iter().all(|call| call["WaitTimeSeconds"] == 20));
    assert!(
        asked
            .iter()
            .all(|call| call["MaxNumberOfMessages"].as_u64() <= Some(10))
    );
}

#[tokio::test]
async fn f13_a_bucket_that_is_away_is_told_until_it_is_back() {
    told_until_it_is_back(503).await;
}

/// Checks a 404 that says nothing about the payload. A missing bucket, or a gateway in front of the bucket, gives this
/// answer.
#[tokio::test]
async fn f13_404_not_about_the_payload_means_an_unavailable_bucket() {
    told_until_it_is_back(404).await;
}

async fn told_until_it_is_back(status: u16) {
    let is_back = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&is_back);
    let fake = FakeSqs::answering(move |action, _, before| match action {
        "ReceiveMessage" => {
            let mut pointing = message("1", "h1");
            pointing["Body"] = pointer("payloads", "one").into();
            let messages = match (before, seen.load(Ordering::SeqCst)) {
                // One message with an unavailable payload, and its neighbour.
                (0, _) => json!([pointing, message("2", "h2")]),
                (_, false) => json!([]),
                (_, true) => json!([pointing]),
            };
            Some((200, json!({"Messages": messages})))
        }
        "GET /payloads/one" if seen.load(Ordering::SeqCst) => Some((200, json!({"an": "alert"}))),
        _ => Some((status, json!({"Code": "NoSuchBucket"}))),
    })
    .await;
    let source = source(&fake.url, QUEUE, "buckets = ['payloads']", 40);
    let came = source.receive(5).await.unwrap().unwrap();
    assert_eq!(texts(&came), ["body of 2"]);
    // Successful polls show nothing about the bucket.
    for _ in 0..2 {
        assert_eq!(source.receive(5).await.unwrap(), Some(Vec::new()));
        let why = source.ready().unwrap_err();
        assert!(why.starts_with("s3://payloads: "), "{why}");
    }
    is_back.store(true, Ordering::SeqCst);
    let came = receive(&source, 1).await;
    assert_eq!(texts(&came), [r#"{"an":"alert"}"#]);
    assert_eq!(source.ready(), Ok(()));
}

/// Checks the message that a topic without raw delivery sends for a message of the extended client.
#[tokio::test]
async fn f13_pointer_in_notification_is_followed_once_payload_is_back() {
    let is_back = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&is_back);
    let mut sent = message("1", "h1");
    let body =
        json!({"Type": "Notification", "TopicArn": "t", "Message": pointer("payloads", "one")});
    sent["Body"] = body.to_string().into();
    let fake = FakeSqs::answering(move |action, input, before| match action {
        "ReceiveMessage" if before == 0 => Some((200, json!({"Messages": [sent]}))),
        "ReceiveMessage" => Some((200, json!({}))),
        "GET /payloads/one" if seen.load(Ordering::SeqCst) => Some((200, json!({"an": "alert"}))),
        "GET /payloads/one" => Some((404, json!("<Code>NoSuchKey</Code>"))),
        _ => but(input, &HashMap::new()),
    })
    .await;
    let source = source(&fake.url, QUEUE, "buckets = ['payloads']", 40);
    let came = receive(&source, 1).await;
    assert_eq!(
        texts(&came),
        [body.to_string()],
        "as it stands: one dead letter"
    );
    // `nightshift dead-letters retry` does the same.
    let payload = || async { source.fetch_payload(&came[0].bytes).await.unwrap() };
    let gone = "its payload is not there (any more)".to_owned();
    assert_eq!(payload().await, Err(gone));
    is_back.store(true, Ordering::SeqCst);
    assert_eq!(payload().await, Ok(br#"{"an":"alert"}"#.to_vec()));
}

/// Starts an endpoint with scripted messages per call, whose bucket accepts calls but does not answer while the flag
/// is set.
async fn beside_a_hung_bucket(
    hangs: &Arc<AtomicBool>,
    messages: impl Fn(usize) -> Vec<Value> + Send + Sync + 'static,
) -> (FakeSqs, SqsSource) {
    let hangs = Arc::clone(hangs);
    let fake = FakeSqs::answering(move |action, input, before| match action {
        "ReceiveMessage" => Some((200, json!({"Messages": messages(before)}))),
        "GET /payloads/one" if hangs.load(Ordering::SeqCst) => Some((SILENCE, Value::Null)),
        "GET /payloads/one" => Some((200, json!({"an": "alert"}))),
        _ => but(input, &HashMap::new()),
    })
    .await;
    let source = source(&fake.url, QUEUE, "buckets = ['payloads']", 60);
    (fake, source)
}

fn pointing() -> Value {
    let mut pointing = message("p", "hp");
    pointing["Body"] = pointer("payloads", "one").into();
    pointing
}

#[tokio::test]
async fn f13_a_bucket_that_hangs_holds_up_no_other_message() {
    let plain = |n: usize| message(&n.to_string(), &format!("h{n}"));
    let hangs = Arc::new(AtomicBool::new(true));
    let (fake, source) = beside_a_hung_bucket(&hangs, move |before| match before {
        0 => vec![plain(0)],
        1 => vec![pointing(), plain(1)],
        n => vec![plain(n)],
    })
    .await;
    receive(&source, 1).await;
    // From here on, time advances whenever all tasks are idle.
    tokio::time::pause();
    let before = tokio::time::Instant::now();
    let came = source.receive(5).await.unwrap().unwrap();
    assert_eq!(texts(&came), ["body of 1"]);
    assert_eq!(before.elapsed().as_secs(), 10, "a sixth of 60");
    let why = "s3://payloads: no payload within 10s".to_owned();
    assert_eq!(source.ready(), Err(why.clone()));
    // Polls without a pointer are not delayed at all.
    for n in 2..20 {
        let came = source.receive(5).await.unwrap().unwrap();
        assert_eq!(texts(&came), [format!("body of {n}")]);
        assert_eq!(source.ready(), Err(why.clone()));
    }
    assert!(before.elapsed().as_secs() < 20, "{:?}", before.elapsed());
    assert!(fake.asked("ChangeMessageVisibilityBatch").is_empty());
    // The bucket is back. That is noticed beside a busy queue, although the message went to another consumer.
    hangs.store(false, Ordering::SeqCst);
    tokio::time::advance(Duration::from_secs(31)).await;
    let noticed = async {
        while source.ready().is_err() {
            receive(&source, 1).await;
        }
    };
    tokio::time::timeout(BOUND, noticed).await.unwrap();
}

#[tokio::test]
#[expect(
    deprecated,
    reason = "what came after these names is in a crate that nothing else needs"
)]
async fn f33_keys_of_a_profile_that_were_changed_are_used() {
    use aws_config::profile::profile_file::{ProfileFileKind, ProfileFiles};
    use futures_util::FutureExt as _;
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("credentials");
    let write = |key: &str| {
        let text = format!("[default]\naws_access_key_id = {key}\naws_secret_access_key = s\n");
        std::fs::write(&file, text).unwrap();
    };
    write("OLD");
    let (fake, _) = fake(vec![message("1", "h")], |_, input, _| {
        but(input, &HashMap::new())
    })
    .await;
    fake.take_only("OLD");
    let path = file.clone();
    let load = move || {
        let files = ProfileFiles::builder().with_file(ProfileFileKind::Credentials, path.as_path());
        let files = files.include_default_config_file(true).build();
        let provider = aws_config::profile::ProfileFileCredentialsProvider::builder();
        let provider = provider.profile_name("default").profile_files(files);
        let loader = aws_config::defaults(BehaviorVersion::v2026_01_12())
            .region(Region::new("eu-west-1"))
            .credentials_provider(provider.build());
        loader.load().boxed()
    };
    let config = config(&fake.url, QUEUE, "");
    let source = SqsSource::with_loader(config, load).await.unwrap();
    let came = receive(&source, 1).await;
    fake.take_only("NEW");
    write("NEW");
    assert_eq!(source.receive(1).await.unwrap(), Some(Vec::new()));
    assert_eq!(source.ready(), Ok(()));
    ack(&source, &came).await;
}

#[tokio::test]
async fn f03_an_end_is_not_held_up_by_a_queue_that_does_not_answer() {
    let silence = |_: &str, _: &Value, _| Some((SILENCE, Value::Null));
    let (fake, source) = fake(vec![message("1", "h")], silence).await;
    receive(&source, 1).await;
    // From here on, time advances whenever all tasks are idle.
    tokio::time::pause();
    let before = tokio::time::Instant::now();
    source.close().await;
    assert!(before.elapsed() < Duration::from_secs(5));
    assert!(source.ready().is_err());
    assert!(fake.asked("DeleteMessageBatch").is_empty());
}

//! Tests findings about SQS queues, against moto.

use nightshift_tests::Sandbox;
use reqwest::Client;
use serde_json::{Value, json};

use super::fake_vendors::FakeVendors;
use super::{failed_checks, run_doctor, service};

/// Variables that the AWS SDK reads.
pub(crate) const SETTINGS: [(&str, &str); 4] = [
    ("AWS_ACCESS_KEY_ID", "test"),
    ("AWS_SECRET_ACCESS_KEY", "hush"),
    ("AWS_REGION", "eu-west-1"),
    ("AWS_EC2_METADATA_DISABLED", "true"),
];

pub(crate) async fn call(action: &str, input: Value) -> Value {
    let signed = "AWS4-HMAC-SHA256 Credential=test/20261121/eu-west-1/sqs/aws4_request, SignedHeaders=host, Signature=0";
    let asked = Client::new()
        .post(service("SQS"))
        .header("x-amz-target", format!("AmazonSQS.{action}"))
        .header("content-type", "application/x-amz-json-1.0")
        .header("authorization", signed)
        .body(input.to_string());
    let answer = asked.send().await.unwrap();
    assert!(
        answer.status().is_success(),
        "{action}: {}",
        answer.text().await.unwrap()
    );
    serde_json::from_str(&answer.text().await.unwrap()).unwrap_or_default()
}

/// Creates a queue with these attributes and returns its URL and ARN.
pub(crate) async fn queue(attributes: Value) -> (String, String) {
    let end = if attributes["FifoQueue"] == "true" {
        ".fifo"
    } else {
        ""
    };
    let name = format!("doctor-{}{end}", uuid::Uuid::new_v4().simple());
    let made = call(
        "CreateQueue",
        json!({ "QueueName": name, "Attributes": attributes }),
    )
    .await;
    let url = made["QueueUrl"].as_str().unwrap().to_owned();
    let asked = json!({ "QueueUrl": url, "AttributeNames": ["QueueArn"] });
    let arn = call("GetQueueAttributes", asked).await["Attributes"]["QueueArn"].clone();
    (url, arn.as_str().unwrap().to_owned())
}

/// Returns the attributes of a sound queue whose dead letters go to this one.
pub(super) fn good(dead: &str) -> Value {
    let redrive = json!({ "deadLetterTargetArn": dead, "maxReceiveCount": 10 }).to_string();
    json!({ "RedrivePolicy": redrive, "MessageRetentionPeriod": "1209600", "SqsManagedSseEnabled": "true" })
}

pub(super) fn source(url: &str, more: &str) -> String {
    format!(
        "[[source]]\nname = \"gd\"\nkind = \"sqs\"\nqueue_url = \"{url}\"\nendpoint_url = \"{}\"\n{more}",
        service("SQS")
    )
}

fn place() -> Sandbox {
    let mut place = Sandbox::new().unwrap();
    for (name, value) in SETTINGS {
        place.set_env(name, value);
    }
    place
}

#[cfg_attr(not(has_services), ignore = "needs moto: run tests/services")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn queues_as_people_make_them() {
    let place = place();
    let (_, dead) = queue(json!({ "MessageRetentionPeriod": "1209600" })).await;
    let with = |change: Value| {
        let mut attributes = good(&dead);
        for (name, value) in change.as_object().unwrap() {
            attributes[name] = value.clone();
        }
        attributes
            .as_object_mut()
            .unwrap()
            .retain(|_, value| !value.is_null());
        attributes
    };
    let redrive =
        |count: u32| json!({ "deadLetterTargetArn": dead, "maxReceiveCount": count }).to_string();
    for (change, checks) in [
        (json!({}), &[][..]),
        (
            json!({ "RedrivePolicy": null }),
            &["source.no_dead_letter"][..],
        ),
        (json!({ "RedrivePolicy": redrive(1) }), &["source.receives"]),
        (
            json!({ "MessageRetentionPeriod": "3600" }),
            &["source.retention"],
        ),
        (json!({ "DelaySeconds": "600" }), &["source.delay"]),
        (
            json!({ "SqsManagedSseEnabled": "false" }),
            &["source.not_encrypted"],
        ),
        (
            json!({ "KmsMasterKeyId": "alias/aws/sqs", "SqsManagedSseEnabled": null }),
            &["source.key"],
        ),
    ] {
        let (url, _) = queue(with(change.clone())).await;
        assert_eq!(
            failed_checks(&place, &source(&url, ""), "sources"),
            checks,
            "{change}"
        );
    }
}

#[cfg_attr(not(has_services), ignore = "needs moto: run tests/services")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn queues_that_do_not_fit_the_source_or_are_not_there() {
    let place = place();
    let (_, dead) = queue(json!({ "MessageRetentionPeriod": "1209600" })).await;
    let (url, _) = queue(good(&dead)).await;
    let slow = source(&url, "visibility_secs = 3600\n");
    assert_eq!(
        failed_checks(&place, &slow, "sources"),
        ["source.visibility"]
    );
    let (_, short) = queue(json!({ "MessageRetentionPeriod": "3600" })).await;
    let (url, _) = queue(good(&short)).await;
    assert_eq!(
        failed_checks(&place, &source(&url, ""), "sources"),
        ["source.dead_letter_retention"]
    );
    let (_, short) = queue(json!({ "MessageRetentionPeriod": "3600", "FifoQueue": "true" })).await;
    let mut fifo = good(&short);
    fifo["FifoQueue"] = json!("true");
    let (url, _) = queue(fifo).await;
    assert_eq!(
        failed_checks(&place, &source(&url, ""), "sources"),
        Vec::<String>::new(),
        "there the age of a message begins anew when it is moved"
    );
    let (gone, dead) = queue(json!({})).await;
    let (leads_nowhere, _) = queue(good(&dead)).await;
    call("DeleteQueue", json!({ "QueueUrl": gone })).await;
    assert_eq!(
        failed_checks(&place, &source(&leads_nowhere, ""), "sources"),
        ["source.dead_letter_missing"]
    );
    let missing = url.replace("doctor-", "no-such-");
    assert_eq!(
        failed_checks(&place, &source(&missing, ""), "sources"),
        ["source.no_queue"]
    );
    let nobody = "[[source]]\nname = \"gd\"\nkind = \"sqs\"\nqueue_url = \"http://127.0.0.1:1/1/q\"\nendpoint_url = \"http://127.0.0.1:1\"\n";
    assert_eq!(
        failed_checks(&place, nobody, "sources"),
        ["source.unreachable"]
    );
    let mut bare = Sandbox::new().unwrap();
    let nowhere =
        "[[source]]\nname = \"gd\"\nkind = \"sqs\"\nqueue_url = \"http://127.0.0.1:1/1/q\"\n";
    bare.set_env("AWS_EC2_METADATA_DISABLED", "true");
    assert_eq!(
        failed_checks(&bare, nowhere, "sources"),
        ["source.configuration"],
        "no region is known"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_role_that_may_not_take_from_a_queue_is_told() {
    let world = FakeVendors::start().await;
    let no = json!({ "__type": "com.amazon.coral.service#AccessDeniedException", "Message": "not authorised" });
    world.set_response("/", 403, no);
    let source = format!(
        "[[source]]\nname = \"gd\"\nkind = \"sqs\"\nqueue_url = \"{0}/1/q\"\nendpoint_url = \"{0}\"\n",
        world.url
    );
    let said = run_doctor(&place(), &source, "sources");
    assert_eq!(said.failed_checks(), ["source.refused"]);
    let mend = said.only_finding()["mend"].as_str().unwrap();
    assert!(mend.contains("sqs:ReceiveMessage"), "{mend}");
}

//! Tests that the trace of a message at a broker continues through its case to the receiver of the report.

use nightshift_tests::{Collector, Publisher, Sandbox};
use serde_json::{Value, json};

use super::carried::{PARENT, TRACE, WebhookReceiver, alert, between, goes_on};
use crate::doctor::sqs;
use crate::worker::production::service;

/// Runs a worker on this source until the report of the one alert is shown.
async fn taken(source: &str, settings: &[(&str, &str)]) -> (Collector, WebhookReceiver) {
    let (collector, receiver) = (Collector::start().await, WebhookReceiver::start().await);
    let mut place: Sandbox = between(&collector, &receiver, source);
    for (name, value) in settings {
        place.set_env(name, value);
    }
    let mut worker = place.start(&["worker"]).unwrap();
    worker.wait_for_lines("report shown", 2);
    worker.signal("TERM");
    assert_eq!(worker.wait_for_exit().0.code(), Some(0));
    (collector, receiver)
}

/// Checks that the batch links to the producer.
fn is_linked(collector: &Collector) {
    let spans = collector.spans();
    let batch = spans.iter().find(|span| span.name == "accept soar");
    let from = (TRACE.to_owned(), "00f067aa0ba902b7".to_owned());
    assert_eq!(batch.unwrap().links, [from]);
}

#[cfg_attr(not(has_services), ignore = "needs RabbitMQ: run tests/services")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn amqp_message_trace_continues_through_case_to_webhook() {
    let (url, queue) = (
        service("RABBITMQ"),
        format!("it-{}", uuid::Uuid::new_v4().simple()),
    );
    let publisher = Publisher::connect(&url, &queue).await.unwrap();
    let headers = [("traceparent", PARENT), ("tracestate", "vendor=1")];
    let body = alert("c1").to_string();
    publisher
        .publish_with(body.as_bytes(), &headers)
        .await
        .unwrap();
    let source = format!(
        "[[source]]\nname = \"soar\"\nkind = \"rabbitmq\"\nurl = \"{url}\"\nqueue = \"{queue}\"\n"
    );
    let (collector, receiver) = taken(&source, &[]).await;
    goes_on(&collector, &receiver, "rabbitmq", "vendor=1");
    is_linked(&collector);
}

/// Sends one message with these attributes to a new queue and returns the worker's `[[source]]`.
async fn at_sqs(beside: Value) -> String {
    let (url, _) = sqs::queue(json!({})).await;
    let mut message = json!({ "QueueUrl": url, "MessageBody": alert("c1").to_string() });
    for (name, value) in beside.as_object().unwrap() {
        message[name] = value.clone();
    }
    sqs::call("SendMessage", message).await;
    format!(
        "[[source]]\nname = \"soar\"\nkind = \"sqs\"\nqueue_url = \"{url}\"\nendpoint_url = \"{}\"\n",
        service("SQS")
    )
}

#[cfg_attr(not(has_services), ignore = "needs moto: run tests/services")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sqs_message_trace_continues_through_case_to_webhook() {
    let text = |value: &str| json!({ "DataType": "String", "StringValue": value });
    let attributes = json!({ "traceparent": text(PARENT), "tracestate": text("vendor=1") });
    let source = at_sqs(json!({ "MessageAttributes": attributes })).await;
    let (collector, receiver) = taken(&source, &sqs::SETTINGS).await;
    goes_on(&collector, &receiver, "aws_sqs", "vendor=1");
    is_linked(&collector);
}

#[cfg_attr(not(has_services), ignore = "needs moto: run tests/services")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_trace_that_aws_notes_beside_a_message_goes_on_too() {
    let (time, rest) = TRACE.split_at(8);
    let header = format!("Root=1-{time}-{rest};Parent=00f067aa0ba902b7;Sampled=1");
    let header = json!({ "DataType": "String", "StringValue": header });
    let source = at_sqs(json!({ "MessageSystemAttributes": { "AWSTraceHeader": header } })).await;
    let (collector, receiver) = taken(&source, &sqs::SETTINGS).await;
    goes_on(&collector, &receiver, "aws_sqs", "");
    is_linked(&collector);
}

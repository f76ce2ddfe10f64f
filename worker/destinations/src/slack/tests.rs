//! Tests a local Slack: the layout of messages, that each is posted once, and that foreign text is inert.

mod errors;
mod follow;
mod hostile;
mod look;
mod once;
mod view;

use std::collections::VecDeque;

use chrono::Utc;
use nightshift_pipeline::delivery_payload::DeliveredReport;
use nightshift_pipeline::report::Report;
use nightshift_render::{Language, Links};

use super::hands::ManualClock;
use super::stub::{CHANNEL, Slack, SlackFault, TOKEN};
use super::*;
use crate::fixture;
use crate::trial::{read_config, secret};

fn config(url: &str) -> SlackConfig {
    SlackConfig {
        links: Links {
            public_url: Some("https://nightshift.example.com".into()),
        },
        ..read_config(json!({
            "name": "soc", "channel": CHANNEL, "token": "env:T", "api_url": url,
            "signing_secret": "env:S", "analysts": ["U1"],
        }))
    }
}

/// Starts a Slack and a destination that posts to it.
async fn soc() -> (Arc<ManualClock>, Slack, SlackDestination) {
    let clock = ManualClock::new();
    let slack = Slack::start(clock.clone()).await;
    let to = SlackDestination::resting(
        config(&slack.url),
        secret(TOKEN),
        clock.clone(),
        clock.clone(),
    )
    .unwrap();
    (clock, slack, to)
}

/// Returns the report as a case of its own.
fn case(number: usize, mut report: Report) -> DeliveryPayload {
    report.case_id = format!("case-{number:04}");
    DeliveryPayload::new(report)
}

/// Returns a case with only the facts of its alert.
fn early() -> Report {
    let mut report = fixture::failed();
    report.status = CaseStatus::Running;
    report.failed = None;
    report
}

/// Returns a later version of a delivery.
fn later(showing: &DeliveryPayload, remote_id: Option<String>, report: Report) -> DeliveryPayload {
    DeliveryPayload {
        version: showing.version + 1,
        remote_id,
        delivered: Some(DeliveredReport::from_report(&showing.report)),
        report,
        workflow: showing.workflow.clone(),
        is_minor: false,
        in_doubt: false,
    }
}

/// A delivery as the outbox keeps it.
struct QueuedDelivery {
    showing: DeliveryPayload,
    attempts: u32,
    begun: Option<DateTime<Utc>>,
    not_before: DateTime<Utc>,
}

/// Delivers as the delivery loop does, with the clock of the test. Returns what was refused for good.
async fn drive(
    clock: &ManualClock,
    to: &SlackDestination,
    showings: Vec<DeliveryPayload>,
) -> Vec<DeliveryPayload> {
    let mut refused = Vec::new();
    let wish = |showing| QueuedDelivery {
        showing,
        attempts: 0,
        begun: None,
        not_before: clock.now(),
    };
    let mut wishes: VecDeque<QueuedDelivery> = showings.into_iter().map(wish).collect();
    let mut rounds = 0;
    while !wishes.is_empty() {
        rounds += 1;
        assert!(rounds < 20_000, "it never ends");
        let Some(at) = wishes.iter().position(|one| one.not_before <= clock.now()) else {
            clock.wait(Duration::from_secs(1));
            continue;
        };
        let mut wish = wishes.remove(at).unwrap();
        let error = attempt(clock, to, &mut wish).await.err();
        clock.wait(to.send_interval());
        let wait = match error {
            None => continue,
            Some(DeliveryError::Permanent { .. }) => {
                refused.push(wish.showing);
                continue;
            }
            Some(
                DeliveryError::Transient { after_secs, .. }
                | DeliveryError::Partial { after_secs, .. },
            ) => after_secs.unwrap_or(1),
            Some(DeliveryError::NotVisibleYet { after_secs, .. }) => after_secs,
            Some(DeliveryError::Ambiguous { .. }) => 1 << wish.attempts.min(6),
        };
        wish.attempts += 1;
        wish.not_before = clock.now() + TimeDelta::seconds(i64::try_from(wait).unwrap());
        wishes.insert(at, wish);
    }
    refused
}

/// Makes one attempt as the delivery loop does.
async fn attempt(
    clock: &ManualClock,
    to: &SlackDestination,
    wish: &mut QueuedDelivery,
) -> Result<(), DeliveryError> {
    if let (Some(begun), None) = (wish.begun, &wish.showing.remote_id) {
        let ago = (clock.now() - begun).to_std().unwrap();
        match to.find(&wish.showing, ago).await {
            Ok(found) => wish.showing.remote_id = found,
            Err(error) => {
                let what = error.to_string();
                return Err(DeliveryError::Ambiguous { what });
            }
        }
    }
    wish.begun = Some(clock.now());
    let result = to.deliver(&wish.showing).await;
    match &result {
        Err(DeliveryError::Ambiguous { .. }) => {}
        Err(DeliveryError::Partial { remote_id, .. }) => {
            wish.showing.remote_id = Some(remote_id.clone());
            wish.begun = None;
        }
        _ => wish.begun = None,
    }
    result.map(|_| ())
}

/// Returns the case and part of each message.
fn keys(kept: &[stub::PostedMessage]) -> Vec<(String, String)> {
    let mut keys: Vec<_> = kept
        .iter()
        .map(|one| (one.key("case"), one.key("part")))
        .collect();
    keys.sort();
    keys
}

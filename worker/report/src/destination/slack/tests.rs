//! Tests against a local Slack: the layout of messages, that each is posted once, and that foreign text is inert.

mod errors;
mod follow;
mod hostile;
mod look;
mod once;
mod view;

use std::collections::VecDeque;

use chrono::Utc;
use nightshift_pipeline::report::Report;
use nightshift_pipeline::showing::Shown;

use super::hands::Hands;
use super::stub::{CHANNEL, Fault, Slack, TOKEN};
use super::*;
use crate::destination::http::Access;
use crate::{Language, Links, fixture};

fn config(url: &str) -> SlackConfig {
    SlackConfig {
        name: "soc".into(),
        way: SlackWay::Bot {
            channel: CHANNEL.into(),
            token: Arc::new(|| Ok(TOKEN.into())),
            api_url: url.into(),
        },
        interactive: true,
        language: Language::En,
        links: Links {
            public_url: Some("https://nightshift.example.com".into()),
        },
        access: Access::default(),
    }
}

/// Starts a Slack and a destination that posts to it.
async fn soc() -> (Arc<Hands>, Slack, SlackDestination) {
    let clock = Hands::new();
    let slack = Slack::start(clock.clone()).await;
    let to = SlackDestination::resting(config(&slack.url), clock.clone(), clock.clone()).unwrap();
    (clock, slack, to)
}

/// Returns the report as a case of its own.
fn case(number: usize, mut report: Report) -> Showing {
    report.case_id = format!("case-{number:04}");
    Showing::first(report)
}

/// Returns a case with only the facts of its alert.
fn early() -> Report {
    let mut report = fixture::failed();
    report.status = CaseStatus::Running;
    report.failed = None;
    report
}

/// Returns a later version of a delivery.
fn later(showing: &Showing, remote_id: Option<String>, report: Report) -> Showing {
    Showing {
        version: showing.version + 1,
        remote_id,
        shown: Some(Shown::of(&showing.report)),
        report,
        desk: showing.desk.clone(),
        minor: false,
        in_doubt: false,
    }
}

/// A delivery as the outbox keeps it.
struct Wish {
    showing: Showing,
    attempts: u32,
    begun: Option<DateTime<Utc>>,
    not_before: DateTime<Utc>,
}

/// Delivers as the delivery loop does, with the clock of the test. Returns what was refused for good.
async fn drive(clock: &Hands, to: &SlackDestination, showings: Vec<Showing>) -> Vec<Showing> {
    let mut refused = Vec::new();
    let wish = |showing| Wish {
        showing,
        attempts: 0,
        begun: None,
        not_before: clock.now(),
    };
    let mut wishes: VecDeque<Wish> = showings.into_iter().map(wish).collect();
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
        clock.wait(to.pace());
        let wait = match error {
            None => continue,
            Some(DeliveryError::Never { .. }) => {
                refused.push(wish.showing);
                continue;
            }
            Some(
                DeliveryError::Later { after_secs, .. } | DeliveryError::Partly { after_secs, .. },
            ) => after_secs.unwrap_or(1),
            Some(DeliveryError::Settling { after_secs, .. }) => after_secs,
            Some(DeliveryError::Unclear { .. }) => 1 << wish.attempts.min(6),
        };
        wish.attempts += 1;
        wish.not_before = clock.now() + TimeDelta::seconds(i64::try_from(wait).unwrap());
        wishes.insert(at, wish);
    }
    refused
}

/// Makes one attempt as the delivery loop does.
async fn attempt(
    clock: &Hands,
    to: &SlackDestination,
    wish: &mut Wish,
) -> Result<(), DeliveryError> {
    if let (Some(begun), None) = (wish.begun, &wish.showing.remote_id) {
        let ago = (clock.now() - begun).to_std().unwrap();
        match to.find(&wish.showing, ago).await {
            Ok(found) => wish.showing.remote_id = found,
            Err(error) => {
                let what = error.to_string();
                return Err(DeliveryError::Unclear { what });
            }
        }
    }
    wish.begun = Some(clock.now());
    let result = to.deliver(&wish.showing).await;
    match &result {
        Err(DeliveryError::Unclear { .. }) => {}
        Err(DeliveryError::Partly { remote_id, .. }) => {
            wish.showing.remote_id = Some(remote_id.clone());
            wish.begun = None;
        }
        _ => wish.begun = None,
    }
    result.map(|_| ())
}

/// Returns the case and part of each message.
fn keys(kept: &[stub::Kept]) -> Vec<(String, String)> {
    let mut keys: Vec<_> = kept
        .iter()
        .map(|one| (one.key("case"), one.key("part")))
        .collect();
    keys.sort();
    keys
}

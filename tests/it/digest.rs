//! Tests the daily digest through the delivery loop, a store and a strict Slack. The digest is posted once a day at
//! its hour, across changes of the clocks and lost answers.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicI64;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, NaiveTime, Utc};
use nightshift_alert::ReadOptions;
use nightshift_destinations::SlackDestination;
use nightshift_engine::key::KeySource;
use nightshift_engine::port::{Clock, NoMeter};
use nightshift_pipeline::admission::AdmissionPolicy;
use nightshift_pipeline::intake::read_message;
use nightshift_pipeline::loops::{DeliveryLoop, DigestPlan, Failover};
use nightshift_pipeline::port::{Message, WorkNotifier};
use nightshift_pipeline::route::Routes;
use nightshift_store::{Store, StoreOptions};
use serde_json::json;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::vendors::{CHANNEL, Slack, SlackFault, TOKEN};
use crate::worker::production::database;

const MINER: &[u8] = include_bytes!("../fixtures/alerts/scc-crypto-miner.json");

/// A clock that the test sets.
struct ManualClock(Mutex<DateTime<Utc>>);

impl ManualClock {
    fn set(&self, time: &str) {
        *self.0.lock().unwrap() = at(time);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> DateTime<Utc> {
        *self.0.lock().unwrap()
    }
}

/// A notifier that the test triggers, and that reports when the loop waits for it again.
struct ManualNotifier {
    notifications: Semaphore,
    waiting: Semaphore,
}

#[async_trait]
impl WorkNotifier for ManualNotifier {
    async fn wait_for_work(&self, heard: u64) -> u64 {
        self.waiting.add_permits(1);
        self.notifications.acquire().await.unwrap().forget();
        heard + 1
    }
}

fn at(time: &str) -> DateTime<Utc> {
    format!("{time}Z").parse().unwrap()
}

/// A channel that gets the digest at 02:30 in Madrid, an hour that is missing in March and comes twice in October.
struct DigestFixture {
    clock: Arc<ManualClock>,
    slack: Slack,
    notifier: Arc<ManualNotifier>,
    stop: CancellationToken,
    tasks: JoinSet<()>,
}

impl DigestFixture {
    async fn begin(store: &Arc<dyn Store>, time: &str) -> Self {
        let clock = Arc::new(ManualClock(Mutex::new(at(time))));
        let slack = Slack::start(clock.clone()).await;
        let mut mornings = Self {
            notifier: Arc::new(ManualNotifier {
                notifications: Semaphore::new(0),
                waiting: Semaphore::new(0),
            }),
            stop: CancellationToken::new(),
            tasks: JoinSet::new(),
            clock,
            slack,
        };
        mornings.start(store).await;
        mornings
    }

    /// Starts the process that serves the channel, and waits for its first round.
    async fn start(&mut self, store: &Arc<dyn Store>) {
        let keys = json!({
            "name": "soc", "channel": CHANNEL, "token": "env:T", "api_url": self.slack.url,
        });
        let config = serde_json::from_value(keys).unwrap();
        let token: KeySource = Arc::new(|| Ok(TOKEN.into()));
        let destination = SlackDestination::new(config, token, self.clock.clone()).unwrap();
        let delivering = DeliveryLoop {
            kind: String::new(),
            outbox: store.clone(),
            destination: Arc::new(destination),
            failover: Arc::new(Failover {
                outbox: store.clone(),
                cases: store.clone(),
                routes: Routes::default(),
                destinations: Vec::new(),
            }),
            notifier: self.notifier.clone(),
            meter: Arc::new(NoMeter),
            holder: uuid::Uuid::new_v4().to_string(),
            digest: Some(DigestPlan {
                at: NaiveTime::from_hms_opt(2, 30, 0).unwrap(),
                zone: chrono_tz::Europe::Madrid,
                digests: store.clone(),
                mutes: store.clone(),
                clock: self.clock.clone(),
                next: AtomicI64::new(0),
            }),
            canary: None,
        };
        let stop = self.stop.clone();
        self.tasks.spawn(async move { delivering.run(&stop).await });
        self.until_it_waits().await;
    }

    async fn until_it_waits(&self) {
        self.notifier.waiting.acquire().await.unwrap().forget();
    }

    /// Sets the clock and checks the number of digests.
    async fn expect(&self, time: &str, digests: usize) {
        self.clock.set(time);
        self.notifier.notifications.add_permits(1);
        self.until_it_waits().await;
        assert_eq!(self.slack.channel().len(), digests, "at {time}");
    }

    async fn restart(&mut self, store: &Arc<dyn Store>) {
        self.stop.cancel();
        while let Some(ended) = self.tasks.join_next().await {
            ended.unwrap();
        }
        self.stop = CancellationToken::new();
        self.start(store).await;
    }
}

async fn once_a_day(store: Arc<dyn Store>) {
    let message = Message {
        id: "1".into(),
        bytes: MINER.to_vec(),
        attributes: BTreeMap::new(),
    };
    let came = at("2026-10-24T12:00:00");
    let arrivals = read_message("gd", &message, &ReadOptions::default(), came);
    store.accept(arrivals.into()).await.unwrap();

    let mut mornings = DigestFixture::begin(&store, "2026-10-24T00:29:59").await;
    assert_eq!(mornings.slack.channel().len(), 1, "that of the day before");
    mornings.expect("2026-10-24T00:29:59", 1).await;
    mornings.expect("2026-10-24T00:30:00", 2).await;
    mornings.expect("2026-10-24T01:30:00", 2).await;
    an_answer_is_lost(&mut mornings, &store).await;
    clocks_go_back(&mut mornings, &store).await;
    it_is_refused(&mut mornings).await;
    // In March 02:30 does not exist, so the digest is due at 03:30.
    mornings.expect("2027-03-27T01:30:00", 6).await;
    mornings.expect("2027-03-28T00:30:00", 6).await;
    mornings.expect("2027-03-28T01:29:59", 6).await;
    mornings.expect("2027-03-28T01:30:00", 7).await;
    mornings.expect("2027-03-29T00:30:00", 8).await;
}

/// Loses the answer to the post of 25 October.
async fn an_answer_is_lost(mornings: &mut DigestFixture, store: &Arc<dyn Store>) {
    mornings.restart(store).await;
    mornings.expect("2026-10-25T00:29:59", 2).await;
    // Slack posts the digest, and its answer is lost.
    mornings
        .slack
        .breaks(|method, _| (method == "chat.postMessage").then_some(SlackFault::LostAfter));
    mornings.expect("2026-10-25T00:30:00", 3).await;
    mornings.slack.breaks(|_, _| None);
    mornings.expect("2026-10-25T00:31:59", 3).await;
    // The process dies. The next one looks for the post, but only when a request under way must have arrived.
    mornings.restart(store).await;
    mornings.expect("2026-10-25T00:33:58", 3).await;
    let calls = mornings.slack.calls();
    assert_eq!(calls.last().unwrap(), "chat.postMessage");
    mornings.expect("2026-10-25T00:33:59", 3).await;
    let calls = mornings.slack.calls();
    assert_eq!(calls.last().unwrap(), "conversations.history");
    let posts = |calls: &[String]| {
        calls
            .iter()
            .filter(|one| *one == "chat.postMessage")
            .count()
    };
    assert_eq!(posts(&calls), 3, "it was found, and not posted again");
}

/// Passes the end of daylight saving time on 25 October and loses a request on the 26th.
async fn clocks_go_back(mornings: &mut DigestFixture, store: &Arc<dyn Store>) {
    // The clocks went back, so it is 02:30 again.
    mornings.expect("2026-10-25T01:30:00", 3).await;
    mornings.restart(store).await;
    mornings.expect("2026-10-26T01:29:59", 3).await;
    // The request is lost. Two minutes later the post is looked up, not found, and posted.
    mornings
        .slack
        .breaks(|method, _| (method == "chat.postMessage").then_some(SlackFault::LostBefore));
    mornings.expect("2026-10-26T01:30:00", 3).await;
    mornings.slack.breaks(|_, _| None);
    mornings.expect("2026-10-26T01:32:00", 4).await;
    mornings.expect("2026-10-26T12:00:00", 4).await;
    let days: Vec<String> = mornings
        .slack
        .channel()
        .iter()
        .map(|one| one.key("day"))
        .collect();
    assert_eq!(
        days,
        ["2026-10-23", "2026-10-24", "2026-10-25", "2026-10-26"]
    );
    let of_the_25th = mornings.slack.channel()[2].body["blocks"].to_string();
    assert!(of_the_25th.contains("scc"), "{of_the_25th}");
}

/// Makes the post of 27 October fail. Once the cause is fixed, the digest of that day is posted too.
async fn it_is_refused(mornings: &mut DigestFixture) {
    mornings.slack.breaks(|method, _| {
        (method == "chat.postMessage").then_some(SlackFault::Says("not_in_channel"))
    });
    mornings.expect("2026-10-27T01:30:00", 4).await;
    mornings.slack.breaks(|_, _| None);
    mornings.expect("2026-10-27T01:59:59", 4).await;
    mornings.expect("2026-10-27T02:00:00", 5).await;
}

async fn store(url: &str) -> Arc<dyn Store> {
    let options = StoreOptions::new(Duration::from_secs(30), AdmissionPolicy::default());
    nightshift_store::open(url, options).await.unwrap()
}

#[tokio::test]
async fn f26_digest_is_posted_once_a_day_despite_clocks_and_losses() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cases.db");
    once_a_day(store(&format!("sqlite:{}", file.display())).await).await;
}

#[cfg_attr(
    not(has_services),
    ignore = "needs PostgreSQL and RabbitMQ: run tests/services"
)]
#[tokio::test]
async fn f26_a_digest_is_posted_once_a_day_from_postgresql_too() {
    once_a_day(store(&database().await).await).await;
}

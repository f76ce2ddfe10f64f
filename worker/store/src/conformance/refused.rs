//! A channel that took a report, lost its answer, and lets nobody look since; and one that refuses until it is mended.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use async_trait::async_trait;
use nightshift_engine::NoMeter;
use nightshift_pipeline::{Delivering, Destination, Route, Routes, Showing};
use tokio_util::sync::CancellationToken;

use super::*;

on_both_stores! {
    f28_what_nobody_may_look_up_is_shown_by_the_next_and_stays_in_doubt
    f28_f33_what_is_refused_and_no_other_takes_stays_owed_until_a_new_key_counts
}

#[derive(Default)]
struct Closed {
    posts: AtomicUsize,
}

#[async_trait]
impl Destination for Closed {
    fn name(&self) -> &'static str {
        "soc"
    }

    async fn find(&self, _: &Showing, _: Duration) -> Result<Option<String>, DeliveryError> {
        let what = "the token was revoked".to_owned();
        Err(DeliveryError::Never { what })
    }

    async fn deliver(&self, _: &Showing) -> Result<Sent, DeliveryError> {
        self.posts.fetch_add(1, Ordering::Relaxed);
        let what = "the answer was lost".to_owned();
        Err(DeliveryError::Unclear { what })
    }
}

async fn f28_what_nobody_may_look_up_is_shown_by_the_next_and_stays_in_doubt(fixture: Fixture) {
    let accepted = fixture.accept(MINER).await;
    conclude(&fixture.store, &fixture.claim().await).await;
    let id = case_of(&accepted);
    let channel = Arc::new(Closed::default());
    let route = Route {
        destinations: Some(vec!["soc".to_owned()]),
        otherwise: Some(vec!["archive".to_owned()]),
        ..Route::default()
    };
    let delivering = delivering(&fixture, channel.clone(), vec![route]);
    let (ids, stop) = ([id.clone()], CancellationToken::new());
    for _ in 0..3 {
        let tried = delivering.show_cases(&ids, &stop).await.unwrap();
        assert_eq!(tried, Some(1));
        fixture
            .execute("UPDATE deliveries SET retry_at = wished_at WHERE destination = 'soc'")
            .await;
    }
    assert_eq!(channel.posts.load(Ordering::Relaxed), 1, "never again");
    let mut rows = fixture.store.view(&id.0).await.unwrap().deliveries;
    rows.sort_by(|one, other| one.destination.cmp(&other.destination));
    let told: Vec<_> = rows
        .iter()
        .map(|row| (row.destination.as_str(), row.wanted, row.in_doubt))
        .collect();
    assert_eq!(told, [("archive", 1, false), ("soc", 1, true)]);
}

/// Refuses whatever it is shown until its key is mended.
#[derive(Default)]
struct Locked {
    is_mended: AtomicBool,
}

#[async_trait]
impl Destination for Locked {
    fn name(&self) -> &'static str {
        "soc"
    }

    async fn deliver(&self, _: &Showing) -> Result<Sent, DeliveryError> {
        if self.is_mended.load(Ordering::Relaxed) {
            return Ok(Sent { remote_id: None });
        }
        let what = "the token was revoked".to_owned();
        Err(DeliveryError::Never { what })
    }
}

async fn f28_f33_what_is_refused_and_no_other_takes_stays_owed_until_a_new_key_counts(
    fixture: Fixture,
) {
    let accepted = fixture.accept(MINER).await;
    conclude(&fixture.store, &fixture.claim().await).await;
    let id = case_of(&accepted);
    let channel = Arc::new(Locked::default());
    let delivering = delivering(&fixture, channel.clone(), Vec::new());
    let (ids, stop) = ([id.clone()], CancellationToken::new());
    assert_eq!(delivering.show_cases(&ids, &stop).await.unwrap(), Some(1));
    assert_eq!(fixture.store.backlog().await.unwrap().outbox, 1);
    let at_once = delivering.show_cases(&ids, &stop).await.unwrap();
    assert_eq!(at_once, Some(0), "it waits a minute");
    channel.is_mended.store(true, Ordering::Relaxed);
    fixture
        .execute("UPDATE deliveries SET retry_at = wished_at")
        .await;
    assert_eq!(delivering.show_cases(&ids, &stop).await.unwrap(), Some(1));
    let rows = fixture.store.view(&id.0).await.unwrap().deliveries;
    let soc = rows.iter().find(|row| row.destination == "soc").unwrap();
    assert_eq!((soc.sent, soc.given_up, &soc.error), (1, false, &None));
}

fn delivering(
    fixture: &Fixture,
    destination: Arc<dyn Destination>,
    rules: Vec<Route>,
) -> Delivering {
    Delivering {
        kind: String::new(),
        outbox: fixture.store.clone(),
        cases: fixture.store.clone(),
        destination,
        routes: Arc::new(Routes {
            rules,
            ..Routes::default()
        }),
        wake: fixture.store.clone(),
        meter: Arc::new(NoMeter),
        holder: "one".to_owned(),
        digest: None,
        canary: None,
    }
}

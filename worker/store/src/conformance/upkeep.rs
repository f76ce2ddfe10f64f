//! What grows old, and what somebody has to have removed.

use nightshift_pipeline::{Kept, Purge};

use super::admission::arrival;
use super::*;

on_both_stores! {
    what_grew_old_goes_in_batches_and_what_is_young_stays
    nothing_is_left_of_what_is_purged
    the_schema_says_which_migrations_it_has
}

async fn rows(fixture: &Fixture, table: &str) -> i64 {
    fixture
        .count(&format!("SELECT count(*) FROM {table}"))
        .await
}

/// Three cases that are over, a case that waits, a dead letter with its case, and what was set aside.
async fn history(fixture: &Fixture) -> Vec<CaseId> {
    let mut ids = Vec::new();
    for number in 0..3 {
        let came = arrival(number, |alert| {
            alert.key.id = format!("finding {number}");
            alert.account = Some(format!("account {number}"));
        });
        ids.push(case_of(&fixture.take(came).await));
        let claimed = fixture.claim().await;
        conclude(&fixture.store, &claimed).await;
    }
    fixture.accept(b"nonsense").await;
    fixture
        .take(arrival(5, |alert| alert.state.archived = true))
        .await;
    fixture.accept(MINER).await;
    ids
}

async fn what_grew_old_goes_in_batches_and_what_is_young_stays(fixture: Fixture) {
    history(&fixture).await;
    let store = &fixture.store;
    let (future, past) = (at(86_400), at(-86_400));
    for kind in Kept::ALL {
        assert_eq!(store.expire(kind, past, 100).await.unwrap(), 0, "{kind:?}");
    }
    assert_eq!(store.expire(Kept::Raw, future, 2).await.unwrap(), 2);
    assert_eq!(store.expire(Kept::Raw, future, 100).await.unwrap(), 3);
    assert_eq!(rows(&fixture, "{raw}").await, 1, "that of the dead letter");
    assert!(store.expire(Kept::Journals, future, 100).await.unwrap() > 0);
    assert_eq!(rows(&fixture, "journal").await, 0);
    assert_eq!(rows(&fixture, "conclusions").await, 3);
    assert_eq!(store.expire(Kept::Cases, future, 2).await.unwrap(), 2);
    assert_eq!(store.expire(Kept::Cases, future, 2).await.unwrap(), 1);
    assert_eq!(store.expire(Kept::Cases, future, 2).await.unwrap(), 0);
    assert_eq!(rows(&fixture, "cases").await, 2, "those that wait");
    let orphans = "SELECT count(*) FROM indicators WHERE case_id NOT IN (SELECT id FROM cases)";
    assert_eq!(fixture.count(orphans).await, 0);
    assert_eq!(store.expire(Kept::DeadLetters, future, 9).await.unwrap(), 1);
    assert_eq!(rows(&fixture, "{raw}").await, 0);
    assert_eq!(store.expire(Kept::Hidden, future, 9).await.unwrap(), 1);
    assert_eq!(rows(&fixture, "arrivals").await, 2);
}

async fn nothing_is_left_of_what_is_purged(fixture: Fixture) {
    let ids = history(&fixture).await;
    let store = &fixture.store;
    assert_eq!(store.purge(&Purge::default(), 100).await.unwrap(), 0);
    let account = Purge {
        account: Some("account 1".into()),
        before: None,
    };
    assert_eq!(store.purge(&account, 100).await.unwrap(), 1);
    assert_eq!(store.purge(&account, 100).await.unwrap(), 0);
    let gone = store.view(&ids[1].0).await;
    assert!(matches!(gone, Err(StoreError::NoSuchCase(_))));
    assert!(store.view(&ids[0].0).await.is_ok());
    assert_eq!(rows(&fixture, "{raw}").await, 5);
    let running = fixture.claim().await;
    let everything = Purge {
        account: None,
        before: Some(at(86_400)),
    };
    let mut purged = 0;
    loop {
        match store.purge(&everything, 2).await.unwrap() {
            0 => break,
            some => purged += some,
        }
    }
    assert_eq!(purged, 5);
    for table in [
        "{raw}",
        "cases",
        "alerts",
        "indicators",
        "journal",
        "conclusions",
        "deliveries",
        "dead_letters",
        "arrivals",
        "sightings",
    ] {
        assert_eq!(rows(&fixture, table).await, 0, "{table}");
    }
    let event = opened(&running.alert, "x");
    let late = store
        .append(&running.lease, &[event], Charge::default())
        .await;
    assert!(matches!(late, Err(StoreError::LeaseLost)), "{late:?}");
}

async fn the_schema_says_which_migrations_it_has(fixture: Fixture) {
    let names = fixture.store.migrations().await.unwrap();
    assert_eq!(names[0], "V1__cases");
    let again = fixture.another(options()).await;
    assert_eq!(again.migrations().await.unwrap(), names);
}

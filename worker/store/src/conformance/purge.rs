//! Tests purges, and that no byte of removed data is left.

use nightshift_pipeline::maintenance::{Purge, RetentionClass};

use super::admission::arrival;
use super::upkeep::{history, rows};
use super::*;

on_both_stores! {
    nothing_is_left_of_what_is_purged
    no_byte_of_a_purged_account_is_left
    no_byte_of_what_grew_old_is_left
    g2_what_goes_on_is_not_removed_because_it_began_before_a_day
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
    assert_eq!(rows(&fixture, "raw_messages").await, 5);
    // A running case is purged only with its account.
    let runs = arrival(6, |alert| {
        alert.key.id = "runs".into();
        alert.account = Some("account 6".into());
    });
    let id = case_of(&fixture.take(runs).await);
    let running = store.claim_one(&id).await.unwrap().unwrap();
    let account = Purge {
        account: Some("account 6".into()),
        before: Some(at(86_400)),
    };
    assert_eq!(store.purge(&account, 100).await.unwrap(), 1);
    while let Some(claimed) = store.claim(Lane::Any, 1).await.unwrap().pop() {
        conclude(store, &claimed).await;
    }
    let everything = before(86_400);
    assert_eq!(purge(&fixture, &everything).await, 5);
    assert_eq!(store.count_kept_cases(&everything).await.unwrap(), 0);
    for table in [
        "raw_messages",
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

const MARKER: &str = "MARKER-OF-AN-ACCOUNT";

/// Creates cases of two accounts in turn. All data of one account contains a marker.
async fn marked(fixture: &Fixture) {
    for number in 0..60 {
        let is_marked = number % 3 == 0;
        let name = if is_marked { MARKER } else { "another" };
        let mut came = arrival(number, |alert| {
            alert.key.id = format!("{name} {number}");
            alert.account = Some(name.into());
            alert.title = format!("of {name}");
            alert.description = format!("{name} ").repeat(200);
            let kind = nightshift_alert::IndicatorKind::Principal;
            let role = nightshift_alert::IndicatorRole::Actor;
            alert
                .indicators
                .push(nightshift_alert::Indicator::new(kind, name, role));
        });
        came.raw = format!("a message of {name}, ")
            .repeat(50)
            .into_bytes()
            .into();
        fixture.take(came).await;
        if number % 4 == 0 {
            conclude(&fixture.store, &fixture.claim().await).await;
        }
    }
    assert!(fixture.contains(MARKER).await);
}

async fn no_byte_of_a_purged_account_is_left(fixture: Fixture) {
    marked(&fixture).await;
    let account = Purge {
        account: Some(MARKER.into()),
        before: None,
    };
    assert_eq!(purge(&fixture, &account).await, 20);
    assert!(!fixture.contains(MARKER).await);
    assert!(fixture.contains("of another").await);
}

async fn no_byte_of_what_grew_old_is_left(fixture: Fixture) {
    marked(&fixture).await;
    let store = &fixture.store;
    while let Some(claimed) = store.claim(Lane::Any, 1).await.unwrap().pop() {
        conclude(store, &claimed).await;
    }
    for kind in RetentionClass::ALL {
        while store.expire(kind, at(86_400), 7).await.unwrap() > 0 {}
    }
    store.sweep().await.unwrap();
    // On SQLite, parts of moved rows remain until the file is rewritten, at the end of a purge.
    assert_eq!(purge(&fixture, &before(0)).await, 0);
    assert!(!fixture.contains(MARKER).await);
}

fn before(second: i64) -> Purge {
    Purge {
        account: None,
        before: Some(at(second)),
    }
}

/// Purges everything, a few rows at a time.
async fn purge(fixture: &Fixture, what: &Purge) -> u64 {
    let mut purged = 0;
    loop {
        match fixture.store.purge(what, 2).await.unwrap() {
            0 => return purged,
            some => purged += some,
        }
    }
}

async fn g2_what_goes_on_is_not_removed_because_it_began_before_a_day(fixture: Fixture) {
    const DAY: i64 = 86_400;
    let store = &fixture.store;
    let old = |second, id: &str| {
        let mut came = arrival(0, |alert| alert.key.id = id.into());
        came.at = at(second);
        came
    };
    for number in 0..5 {
        let id = format!("over {number}");
        fixture.take(old(number - 400 * DAY, &id)).await;
    }
    for (second, id) in [(10, "is seen again"), (11, "comes again")] {
        fixture.take(old(second - 400 * DAY, id)).await;
    }
    while let Some(claimed) = store.claim(Lane::Any, 1).await.unwrap().pop() {
        conclude(store, &claimed).await;
    }
    let waits = case_of(&fixture.take(old(13 - 400 * DAY, "waits")).await);
    fixture.take(old(0, "is seen again")).await;
    let mut again = old(0, "comes again");
    again.on_demand = true;
    fixture.take(again).await;
    let runs = store.claim_one(&waits).await.unwrap().unwrap();
    fixture.take(old(0, "young")).await;
    for (second, muted) in [(-400 * DAY, "old"), (0, "new")] {
        let mut came = old(second, muted);
        Arc::make_mut(&mut came.alert).state.archived = true;
        fixture.take(came).await;
    }
    let what = before(-DAY);
    assert_eq!(
        purge(&fixture, &what).await,
        6,
        "five that are over, and one that has no case"
    );
    let keys = "SELECT key FROM cases ORDER BY opened_at";
    let kept: Vec<_> = fixture.texts(keys).await.concat();
    assert_eq!(kept.len(), 4, "{kept:?}");
    for (key, id) in kept.iter().zip(["seen", "comes", "waits", "young"]) {
        assert!(key.contains(id), "{kept:?}");
    }
    assert_eq!(store.count_kept_cases(&what).await.unwrap(), 3);
    assert_eq!(
        rows(&fixture, "raw_messages").await,
        7,
        "those of what is kept"
    );
    let event = [opened(&runs.alert, "x")];
    let goes_on = store.append(&runs.lease, &event, Charge::default());
    goes_on.await.unwrap();
}

//! Tests the backlog that metrics report and that stops intake.

use nightshift_pipeline::case::Backlog;

use super::admission::arrival;
use super::*;

on_both_stores! {
    an_empty_store_has_nothing_to_do
    what_waits_runs_and_is_not_shown_is_counted_once
    a_case_that_is_given_back_waits_from_then_on
}

impl Fixture {
    pub(crate) async fn backlog(&self) -> Backlog {
        self.store.backlog().await.unwrap()
    }

    /// Makes a case look as if it had waited for this long.
    pub(crate) async fn let_wait(&self, id: &CaseId, seconds: u32) {
        let since = if self.is_sqlite() {
            format!("strftime('%Y-%m-%dT%H:%M:%f000Z', 'now', '-{seconds} seconds')")
        } else {
            format!("clock_timestamp() - interval '{seconds} seconds'")
        };
        self.execute(&format!(
            "UPDATE cases SET waiting_since = {since} WHERE id = '{id}'"
        ))
        .await;
    }
}

async fn an_empty_store_has_nothing_to_do(fixture: Fixture) {
    assert_eq!(fixture.backlog().await, Backlog::default());
}

async fn what_waits_runs_and_is_not_shown_is_counted_once(fixture: Fixture) {
    let medium = case_of(&fixture.take(arrival(0, |_| {})).await);
    fixture.accept(THEFT).await;
    fixture.accept(MINER).await;
    fixture.accept(b"nonsense").await;
    fixture.let_wait(&medium, 600).await;
    let backlog = fixture.backlog().await;
    assert_eq!((backlog.urgent, backlog.others), (3, 1));
    assert_eq!(backlog.waiting(), 4);
    assert!((600.0..700.0).contains(&backlog.oldest_secs), "{backlog:?}");
    assert!((0.0..60.0).contains(&backlog.urgent_oldest_secs) && backlog.urgent_oldest_secs > 0.0);
    assert_eq!((backlog.running, backlog.outbox), (0, 0));
    assert_eq!(backlog.dead_letters, 1);

    let claimed = fixture.store.claim(Lane::Urgent, 9).await.unwrap();
    conclude(&fixture.store, &claimed[0]).await;
    let backlog = fixture.backlog().await;
    assert_eq!((backlog.urgent, backlog.others), (0, 1));
    assert_eq!((backlog.running, backlog.outbox), (2, 1));
    assert!(backlog.outbox_oldest_secs > 0.0, "{backlog:?}");

    let due = fixture
        .store
        .due_deliveries("soc", 9)
        .await
        .unwrap()
        .remove(0);
    let never = DeliveryError::Permanent {
        what: "gone".into(),
    };
    let failed = fixture.store.record_failed("soc", &due, &never, None);
    failed.await.unwrap();
    let backlog = fixture.backlog().await;
    assert_eq!((backlog.outbox, backlog.outbox_oldest_secs), (0, 0.0));
}

async fn a_case_that_is_given_back_waits_from_then_on(fixture: Fixture) {
    let id = case_of(&fixture.accept(MINER).await);
    fixture.let_wait(&id, 600).await;
    assert!(fixture.backlog().await.urgent_oldest_secs > 599.0);
    let claimed = fixture.claim().await;
    let none = fixture.backlog().await;
    assert_eq!((none.oldest_secs, none.urgent_oldest_secs), (0.0, 0.0));
    fixture.store.release(&claimed.lease).await.unwrap();
    assert!(fixture.backlog().await.oldest_secs < 60.0, "given back");
    fixture.let_wait(&id, 600).await;
    let lost = fixture.claim().await;
    fixture.expire(&lost.lease).await;
    let none = fixture.store.claim(Lane::Any, 0).await.unwrap();
    assert!(none.is_empty());
    assert!(fixture.backlog().await.oldest_secs < 60.0, "lost");
}

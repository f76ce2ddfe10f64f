//! Tests requested, attempted and completed deliveries.

use nightshift_pipeline::case::DeliveryRow;
use nightshift_pipeline::port::{AmbiguousSend, PendingDelivery};
use nightshift_pipeline::report::{FailoverReason, FailoverSource, FailoverSources};

use super::*;

on_both_stores! {
    a_conclusion_wishes_deliveries_and_a_delivery_is_wished_once
    one_process_at_a_time_serves_a_destination
    f26_attempt_without_any_answer_makes_its_report_ambiguous
    f02_a_process_that_was_frozen_before_it_began_sends_nothing
    f26_lost_answer_is_looked_up_later_and_stays_ambiguous
    f26_what_a_look_up_found_is_known_though_its_edit_failed
    what_becomes_of_an_old_version_does_not_put_off_a_new_one
    what_never_will_be_shown_is_seen_and_is_shown_elsewhere
    f28_who_is_shown_a_report_anyway_is_told_once_who_is_not
    delivery_does_not_wait_for_a_clock_that_was_set_back
}

fn never() -> DeliveryError {
    DeliveryError::Permanent {
        what: "channel_not_found".into(),
    }
}

/// Returns the record that `soc` refused the report of this revision.
pub(super) fn refused(revision: u32) -> FailoverSources {
    refused_by("soc", revision)
}

fn refused_by(name: &str, revision: u32) -> FailoverSources {
    let why = FailoverReason::Refused;
    FailoverSources::from([(name.to_owned(), FailoverSource { why, revision })])
}

fn busy() -> DeliveryError {
    DeliveryError::Transient {
        what: "busy".into(),
        after_secs: None,
    }
}

impl Fixture {
    /// Returns the only due report.
    async fn due(&self) -> PendingDelivery {
        let mut due = self.store.due_deliveries("soc", 10).await.unwrap();
        assert_eq!(due.len(), 1);
        due.remove(0)
    }

    async fn concluded_case(&self) -> CaseId {
        let accepted = self.accept(MINER).await;
        conclude(&self.store, &self.claim().await).await;
        case_of(&accepted)
    }

    /// Requests a new version by triaging the case again.
    async fn concluded_again(&self) {
        let mut again = arrivals(MINER).remove(0);
        again.on_demand = true;
        self.take(again).await;
        conclude(&self.store, &self.claim().await).await;
    }

    async fn deliveries(&self, id: &CaseId) -> Vec<DeliveryRow> {
        self.store.view(&id.0).await.unwrap().deliveries
    }
}

async fn one_process_at_a_time_serves_a_destination(fixture: Fixture) {
    let (store, lease) = (&fixture.store, Duration::from_secs(30));
    let other = fixture.another(options()).await;
    assert!(store.acquire_lease("soc", "one", lease).await.unwrap());
    assert!(!other.acquire_lease("soc", "two", lease).await.unwrap());
    assert!(other.acquire_lease("tickets", "two", lease).await.unwrap());
    assert!(
        store.acquire_lease("soc", "one", lease).await.unwrap(),
        "it stays"
    );
    other.release_lease("soc", "two").await.unwrap();
    assert!(!other.acquire_lease("soc", "two", lease).await.unwrap());
    store.release_lease("soc", "one").await.unwrap();
    assert!(other.acquire_lease("soc", "two", lease).await.unwrap());
    assert!(!store.acquire_lease("soc", "one", lease).await.unwrap());
    let past = if fixture.is_sqlite() {
        "0"
    } else {
        "clock_timestamp() - interval '1 second'"
    };
    let sql = format!("UPDATE destination_leases SET lease_until = {past}");
    fixture.execute(&sql).await;
    assert!(
        store.acquire_lease("soc", "one", lease).await.unwrap(),
        "its time is over"
    );
    assert!(!other.acquire_lease("soc", "two", lease).await.unwrap());
}

async fn f26_attempt_without_any_answer_makes_its_report_ambiguous(fixture: Fixture) {
    fixture.concluded_case().await;
    let due = fixture.due().await;
    assert_eq!((due.in_doubt, due.attempt_age), (false, Duration::ZERO));
    assert!(fixture.store.begin_attempt("soc", &due).await.unwrap());
    // The process dies here.
    let due = fixture.due().await;
    assert_eq!((due.in_doubt, due.attempts), (true, 1));
    assert!(due.attempt_age < Duration::from_secs(60));
    assert!(fixture.store.begin_attempt("soc", &due).await.unwrap());
    fixture
        .store
        .record_failed("soc", &due, &busy(), Some(Duration::ZERO))
        .await
        .unwrap();
    let due = fixture.due().await;
    assert_eq!((due.in_doubt, due.attempts), (false, 2));
    assert!(fixture.store.begin_attempt("soc", &due).await.unwrap());
    // A new triage does not resolve an ambiguous send.
    fixture.concluded_again().await;
    let due = fixture.due().await;
    assert_eq!(
        (due.in_doubt, due.payload.version, due.attempts),
        (true, 2, 0)
    );
    assert!(fixture.store.begin_attempt("soc", &due).await.unwrap());
    fixture
        .store
        .record_sent("soc", &due, Some(&DeliveryReceipt::default()))
        .await
        .unwrap();
    assert!(
        fixture
            .store
            .due_deliveries("soc", 10)
            .await
            .unwrap()
            .is_empty()
    );
    fixture.concluded_again().await;
    assert!(!fixture.due().await.in_doubt);
}

async fn f02_a_process_that_was_frozen_before_it_began_sends_nothing(fixture: Fixture) {
    fixture.concluded_case().await;
    let frozen = fixture.due().await;
    let other = fixture.another(options()).await;
    assert!(other.begin_attempt("soc", &frozen).await.unwrap());
    let store = &fixture.store;
    assert!(
        !store.begin_attempt("soc", &frozen).await.unwrap(),
        "it is tried"
    );
    other
        .record_sent("soc", &frozen, Some(&DeliveryReceipt::default()))
        .await
        .unwrap();
    assert!(
        !store.begin_attempt("soc", &frozen).await.unwrap(),
        "it is shown"
    );
    fixture.concluded_again().await;
    assert!(
        !store.begin_attempt("soc", &frozen).await.unwrap(),
        "it is old"
    );
    let due = fixture.due().await;
    assert!(other.begin_attempt("soc", &due).await.unwrap());
    other
        .record_failed("soc", &due, &busy(), Some(Duration::ZERO))
        .await
        .unwrap();
    let second = fixture.due().await;
    assert!(other.begin_attempt("soc", &second).await.unwrap());
    store
        .record_failed("soc", &due, &busy(), Some(Duration::ZERO))
        .await
        .unwrap();
    let due = fixture.due().await;
    assert!(due.in_doubt, "the try of another is not ended by this one");
    assert_eq!(due.attempts, 2);
}

async fn f26_lost_answer_is_looked_up_later_and_stays_ambiguous(fixture: Fixture) {
    fixture.concluded_case().await;
    let due = fixture.due().await;
    let store = &fixture.store;
    assert!(store.begin_attempt("soc", &due).await.unwrap());
    let later = Duration::from_secs(3_600);
    store
        .record_ambiguous("soc", &due, &busy(), AmbiguousSend::AnswerLost, later)
        .await
        .unwrap();
    assert!(store.due_deliveries("soc", 10).await.unwrap().is_empty());
    store
        .record_ambiguous(
            "soc",
            &due,
            &busy(),
            AmbiguousSend::LookupInconclusive,
            Duration::ZERO,
        )
        .await
        .unwrap();
    let due = fixture.due().await;
    assert_eq!((due.in_doubt, due.attempts), (true, 1));
    // Each look-up without a result extends the time in doubt. Another attempt restarts it.
    let store = &fixture.store;
    while fixture.due().await.attempt_age < Duration::from_millis(50) {}
    for (doubt, is_new) in [
        (AmbiguousSend::LookupInconclusive, false),
        (AmbiguousSend::AnswerLost, true),
    ] {
        let before = fixture.due().await;
        store
            .record_ambiguous("soc", &before, &busy(), doubt, Duration::ZERO)
            .await
            .unwrap();
        let after = fixture.due().await.attempt_age;
        assert_eq!(after < before.attempt_age, is_new, "{doubt:?}: {after:?}");
    }
    let row = fixture.deliveries(&due.case_id).await.remove(0);
    assert_eq!((row.in_doubt, row.given_up), (true, false));
    assert_eq!(row.error.as_deref(), Some("busy"));
}

async fn f26_what_a_look_up_found_is_known_though_its_edit_failed(fixture: Fixture) {
    fixture.concluded_case().await;
    let store = &fixture.store;
    let due = fixture.due().await;
    assert!(store.begin_attempt("soc", &due).await.unwrap());
    // The process dies here, and the next one finds its post.
    let mut due = fixture.due().await;
    due.payload.remote_id = Some("C1/1.2".to_owned());
    assert!(store.begin_attempt("soc", &due).await.unwrap());
    let at_once = Some(Duration::ZERO);
    store
        .record_failed("soc", &due, &busy(), at_once)
        .await
        .unwrap();
    let due = fixture.due().await;
    assert_eq!(due.payload.remote_id.as_deref(), Some("C1/1.2"));
    let partly = DeliveryError::Partial {
        what: "the rest follows".into(),
        remote_id: "C1/3.4".into(),
        after_secs: None,
    };
    assert!(store.begin_attempt("soc", &due).await.unwrap());
    store
        .record_failed("soc", &due, &partly, at_once)
        .await
        .unwrap();
    let due = fixture.due().await;
    assert_eq!(due.payload.remote_id.as_deref(), Some("C1/3.4"));
}

async fn what_becomes_of_an_old_version_does_not_put_off_a_new_one(fixture: Fixture) {
    fixture.concluded_case().await;
    let old = fixture.due().await;
    assert!(fixture.store.begin_attempt("soc", &old).await.unwrap());
    fixture.concluded_again().await;
    fixture
        .store
        .record_failed("soc", &old, &never(), None)
        .await
        .unwrap();
    let due = fixture.due().await;
    assert_eq!(
        (due.payload.version, due.attempts, due.in_doubt),
        (2, 0, false)
    );
}

async fn what_never_will_be_shown_is_seen_and_is_shown_elsewhere(fixture: Fixture) {
    let id = fixture.concluded_case().await;
    let due = fixture.due().await;
    let store = &fixture.store;
    assert!(store.begin_attempt("soc", &due).await.unwrap());
    store
        .record_failed("soc", &due, &never(), None)
        .await
        .unwrap();
    assert!(store.due_deliveries("soc", 10).await.unwrap().is_empty());
    let row = fixture.deliveries(&id).await.remove(0);
    assert_eq!((row.given_up, row.sent, row.attempts), (true, 0, 1));
    assert_eq!(row.error.as_deref(), Some("channel_not_found"));
    for _ in 0..2 {
        store.add_fallback(&id, "mail", &refused(1)).await.unwrap();
        store.add_fallback(&id, "soc", &refused(1)).await.unwrap();
    }
    let elsewhere = store.due_deliveries("mail", 10).await.unwrap();
    assert_eq!((elsewhere.len(), elsewhere[0].payload.version), (1, 1));
    assert_eq!(elsewhere[0].payload.report.instead_of, refused(1));
    assert!(store.due_deliveries("soc", 10).await.unwrap().is_empty());
    store
        .record_sent("mail", &elsewhere[0], Some(&DeliveryReceipt::default()))
        .await
        .unwrap();
    store.add_fallback(&id, "mail", &refused(1)).await.unwrap();
    assert!(store.due_deliveries("mail", 10).await.unwrap().is_empty());
    let nobody = CaseId("none".into());
    store
        .add_fallback(&nobody, "mail", &refused(1))
        .await
        .unwrap();
    assert!(store.due_deliveries("mail", 10).await.unwrap().is_empty());
    // The other destination takes over the next refused report too, and once.
    fixture.concluded_again().await;
    let second = store.due_deliveries("mail", 10).await.unwrap();
    assert_eq!(second[0].payload.report.instead_of, FailoverSources::new());
    for _ in 0..2 {
        store.add_fallback(&id, "mail", &refused(1)).await.unwrap();
    }
    let second = store.due_deliveries("mail", 10).await.unwrap();
    assert_eq!((second.len(), second[0].payload.version), (1, 3));
    assert!(!second[0].payload.is_minor);
    assert_eq!(second[0].payload.report.instead_of, refused(1));
}

async fn f28_who_is_shown_a_report_anyway_is_told_once_who_is_not(fixture: Fixture) {
    let id = fixture.concluded_case().await;
    let store = &fixture.store;
    let due = fixture.due().await;
    let sent = DeliveryReceipt {
        remote_id: Some("r1".into()),
    };
    store.record_sent("soc", &due, Some(&sent)).await.unwrap();
    for name in ["tickets", "pager"] {
        for _ in 0..2 {
            let by = refused_by(name, 1);
            store.add_fallback(&id, "soc", &by).await.unwrap();
        }
    }
    // A refusal of another revision is not about this report.
    let other = refused_by("other", 7);
    store.add_fallback(&id, "soc", &other).await.unwrap();
    let due = fixture.due().await;
    assert_eq!((due.payload.version, due.payload.is_minor), (4, true));
    let mut both = refused_by("pager", 1);
    both.extend(refused_by("tickets", 1));
    assert_eq!(due.payload.report.instead_of, both);
    store.record_sent("soc", &due, Some(&sent)).await.unwrap();
    store.add_fallback(&id, "soc", &both).await.unwrap();
    assert!(store.due_deliveries("soc", 10).await.unwrap().is_empty());
}

async fn a_conclusion_wishes_deliveries_and_a_delivery_is_wished_once(fixture: Fixture) {
    fixture.accept(MINER).await;
    let claimed = fixture.claim().await;
    conclude(&fixture.store, &claimed).await;
    let due = fixture.store.due_deliveries("soc", 10).await.unwrap();
    assert_eq!(due.len(), 1);
    assert_eq!(due[0].payload.report.case_id, claimed.lease.case_id.0);
    assert!(
        fixture
            .store
            .due_deliveries("elsewhere", 10)
            .await
            .unwrap()
            .is_empty()
    );
    let busy = busy();
    let retry = Some(Duration::from_secs(3_600));
    fixture
        .store
        .record_failed("soc", &due[0], &busy, retry)
        .await
        .unwrap();
    assert!(
        fixture
            .store
            .due_deliveries("soc", 10)
            .await
            .unwrap()
            .is_empty(),
        "not before its time"
    );
    let second = PendingDelivery {
        attempts: 1,
        ..due[0].clone()
    };
    fixture
        .store
        .record_failed("soc", &second, &busy, Some(Duration::ZERO))
        .await
        .unwrap();
    let due = fixture.store.due_deliveries("soc", 10).await.unwrap();
    assert_eq!(due[0].attempts, 2);
    let sent = DeliveryReceipt {
        remote_id: Some("r1".into()),
    };
    fixture
        .store
        .record_sent("soc", &due[0], Some(&sent))
        .await
        .unwrap();
    assert!(
        fixture
            .store
            .due_deliveries("soc", 10)
            .await
            .unwrap()
            .is_empty()
    );
}

async fn delivery_does_not_wait_for_a_clock_that_was_set_back(fixture: Fixture) {
    fixture.concluded_case().await;
    let due = fixture.due().await;
    assert!(fixture.store.begin_attempt("soc", &due).await.unwrap());
    let longest = nightshift_pipeline::delivery::MAX_WAIT;
    fixture
        .store
        .record_failed("soc", &due, &busy(), Some(longest))
        .await
        .unwrap();
    let waiting = fixture.store.due_deliveries("soc", 10).await.unwrap();
    assert!(waiting.is_empty(), "it waits as long as it may");
    // These rows look as if the clock had been years ahead and was corrected.
    let ahead = "UPDATE deliveries SET retry_at = '2999-01-01T00:00:00.000000Z', begun_at = '2999-01-01T00:00:00.000000Z'";
    fixture.execute(ahead).await;
    let due = fixture.due().await;
    assert_eq!((due.in_doubt, due.attempt_age), (true, Duration::ZERO));
    assert!(fixture.store.begin_attempt("soc", &due).await.unwrap());
    fixture.execute(ahead).await;
    let due = fixture.due().await;
    let doubt = AmbiguousSend::LookupInconclusive;
    fixture
        .store
        .record_ambiguous("soc", &due, &busy(), doubt, Duration::ZERO)
        .await
        .unwrap();
    let ahead = "SELECT count(*) FROM deliveries WHERE begun_at > '2998-01-01T00:00:00.000000Z'";
    assert_eq!(fixture.count(ahead).await, 0, "its age is counted from now");
}

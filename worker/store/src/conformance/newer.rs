//! Tests data of the next version in a rolling upgrade: this version leaves it to that one and loses nothing (F32).

use nightshift_alert::{Indicator, IndicatorKind, IndicatorRole, Severity};
use nightshift_pipeline::admission::RevisionReason;
use nightshift_pipeline::mutes::NewMute;
use nightshift_pipeline::route::Match;

use super::admission::arrival;
use super::outbox::refused;
use super::*;

on_both_stores! {
    f32_unreadable_mute_hides_nothing_and_stops_nothing
    f32_a_report_that_cannot_be_read_waits_for_who_can
    f32_a_reason_that_cannot_be_read_holds_up_no_report
    f32_alert_of_an_unreadable_case_is_compared_as_far_as_known
    f32_pending_and_member_alerts_are_compared_as_far_as_known
    f32_an_alert_of_whose_case_nothing_can_be_read_is_looked_at
    f32_what_ends_is_told_whatever_waits_behind_it
    f32_what_is_called_off_is_whatever_waits_behind_it
}

impl Fixture {
    /// Writes a JSON value to this field of a JSON column, as another version would.
    pub(super) async fn put(&self, table: &str, column: &str, field: &str, value: &str) {
        let changed = if self.is_sqlite() {
            format!("json_set({column}, '$.{field}', json('{value}'))")
        } else {
            format!("jsonb_set({column}, '{{{field}}}', '{value}')")
        };
        let sql = format!("UPDATE {table} SET {column} = {changed} WHERE {column} IS NOT NULL");
        self.execute(&sql).await;
    }

    async fn letters(&self) -> i64 {
        self.count("SELECT count(*) FROM dead_letters").await
    }
}

/// Returns another alert of the same kind.
fn other(second: i64) -> Arrival {
    arrival(second, |alert| alert.key.id = format!("other {second}"))
}

async fn f32_unreadable_mute_hides_nothing_and_stops_nothing(fixture: Fixture) {
    let mute = |kind: &str| NewMute {
        when: Match {
            kind: Some(kind.into()),
            ..Match::default()
        },
        severity: Severity::Medium,
        until: at(1_000),
        why: "known".into(),
        by: "ana".into(),
    };
    let store = &fixture.store;
    store.add_mute(mute("Trojan:*"), at(0)).await.unwrap();
    fixture
        .put("mutes", "conditions", "moon", r#""full""#)
        .await;
    assert_eq!(fixture.take(other(1)).await.admission, Admission::New);
    store.add_mute(mute("Trojan:*"), at(2)).await.unwrap();
    let accepted = fixture.take(other(3)).await;
    assert_eq!(
        accepted.admission,
        Admission::Muted("m2".into()),
        "others hold"
    );
    let listed = store.mutes().await.unwrap();
    let names: Vec<_> = listed.iter().map(|row| row.mute.name.as_str()).collect();
    assert_eq!(names, ["m2"]);
    store.remove_mute("m1", at(4)).await.unwrap();
}

async fn f32_a_report_that_cannot_be_read_waits_for_who_can(fixture: Fixture) {
    let id = case_of(&fixture.accept(MINER).await);
    conclude(&fixture.store, &fixture.claim().await).await;
    fixture
        .execute("CREATE TABLE kept AS SELECT report FROM conclusions")
        .await;
    fixture
        .put("conclusions", "report", "schema", r#""of the moon""#)
        .await;
    fixture
        .put("conclusions", "report", "status", r#""dreamt""#)
        .await;
    for _ in 0..2 {
        assert!(
            fixture
                .store
                .due_deliveries("soc", 10)
                .await
                .unwrap()
                .is_empty()
        );
    }
    let row = fixture
        .texts("SELECT error, sent_version, attempts FROM deliveries WHERE NOT given_up AND retry_at > requested_at")
        .await
        .remove(0);
    assert!(row[0].starts_with("it cannot be read by this version: "));
    assert_eq!(row[1..], ["0", "0"]);
    // A minute later, the other version serves the destination.
    fixture
        .execute(
            "UPDATE conclusions SET report = (SELECT report FROM kept); \
             UPDATE deliveries SET retry_at = NULL",
        )
        .await;
    let due = fixture.store.due_deliveries("soc", 10).await.unwrap();
    assert_eq!((due.len(), &due[0].case_id), (1, &id));
}

async fn f32_a_reason_that_cannot_be_read_holds_up_no_report(fixture: Fixture) {
    let accepted = fixture.accept(MINER).await;
    conclude(&fixture.store, &fixture.claim().await).await;
    let (id, store) = (case_of(&accepted), &fixture.store);
    store.add_fallback(&id, "mail", &refused(1)).await.unwrap();
    let moon = r#"{"why": "moon_phase", "revision": 1}"#;
    fixture.put("deliveries", "instead_of", "moon", moon).await;
    let due = store.due_deliveries("mail", 9).await.unwrap().remove(0);
    let told = due.payload.report.instead_of;
    assert_eq!(told, refused(1), "what can be read is told");
}

async fn f32_alert_of_an_unreadable_case_is_compared_as_far_as_known(fixture: Fixture) {
    let id = case_of(&fixture.take(arrival(0, |_| {})).await);
    let claimed = fixture.claim().await;
    conclude_as(&fixture.store, &claimed, Verdict::TruePositive).await;
    let unread = async || {
        fixture
            .put("alerts", "alert", "provider", r#""moon""#)
            .await;
        let indicators = r#"[{"type":"tide","value":"spring","role":"actor"}]"#;
        fixture.put("alerts", "alert", "flags", indicators).await;
    };
    unread().await;
    // Another alert in the same batch is not blocked.
    let batch = vec![arrival(1, |_| {}), other(2)];
    let accepted = fixture.store.accept(batch.into()).await.unwrap();
    assert_eq!(
        accepted[0].admission,
        Admission::Sighting(id.clone(), SightingReason::Same)
    );
    assert_eq!(accepted[1].admission, Admission::New);
    let actor = arrival(3, |alert| {
        let actor = Indicator::new(IndicatorKind::Ip, "198.51.100.7", IndicatorRole::Actor);
        alert.indicators.push(actor);
    });
    let accepted = fixture.take(actor).await;
    assert_eq!(
        accepted.admission,
        Admission::Revision(id.clone(), RevisionReason::Actor)
    );
    unread().await;
    let severe = arrival(4, |alert| alert.severity = Severity::High);
    let accepted = fixture.take(severe).await;
    assert_eq!(
        accepted.admission,
        Admission::Replaced(id, RevisionReason::Severity)
    );
    assert_eq!(fixture.letters().await, 0);
}

async fn f32_pending_and_member_alerts_are_compared_as_far_as_known(fixture: Fixture) {
    let id = case_of(&fixture.take(arrival(0, |_| {})).await);
    let claimed = fixture.claim().await;
    let event = opened(&claimed.alert, &id.0);
    let (store, lease) = (&fixture.store, &claimed.lease);
    store
        .append(lease, &[event], Charge::default())
        .await
        .unwrap();
    let severe = || arrival(1, |alert| alert.severity = Severity::High);
    let accepted = fixture.take(severe()).await;
    assert_eq!(
        accepted.admission,
        Admission::Revision(id.clone(), RevisionReason::Severity)
    );
    fixture
        .put("pending_revisions", "alert", "provider", r#""moon""#)
        .await;
    let accepted = fixture.take(severe()).await;
    assert_eq!(
        accepted.admission,
        Admission::Sighting(id, SightingReason::Same)
    );

    let mut stormy = options();
    stormy.admission.storm_cases = 1;
    let store = fixture.another(stormy).await;
    let member = || vec![other(9)];
    let accepted = store.accept(member().into()).await.unwrap();
    let Admission::Member(first) = &accepted[0].admission else {
        panic!("{accepted:?}");
    };
    fixture
        .put("arrivals", "alert", "provider", r#""moon""#)
        .await;
    let accepted = store.accept(member().into()).await.unwrap();
    assert_eq!(
        accepted[0].admission,
        Admission::Sighting(first.clone(), SightingReason::Same)
    );
    assert_eq!(fixture.letters().await, 0);
}

async fn f32_an_alert_of_whose_case_nothing_can_be_read_is_looked_at(fixture: Fixture) {
    let id = case_of(&fixture.take(arrival(0, |_| {})).await);
    fixture.execute("UPDATE alerts SET alert = '[]'").await;
    let accepted = fixture.take(arrival(1, |_| {})).await;
    assert_eq!(
        accepted.admission,
        Admission::Replaced(id.clone(), RevisionReason::Type)
    );
    let accepted = fixture.take(arrival(2, |_| {})).await;
    assert_eq!(
        accepted.admission,
        Admission::Sighting(id, SightingReason::Same)
    );
    assert_eq!(fixture.letters().await, 0);
}

/// Starts a triage, followed by an alert that this version cannot read.
async fn before_what_cannot_be_read(fixture: &Fixture) -> ClaimedCase {
    fixture.take(arrival(0, |_| {})).await;
    let claimed = fixture.claim().await;
    let event = opened(&claimed.alert, &claimed.lease.case_id.0);
    let append = fixture.store.append(
        &claimed.lease,
        std::slice::from_ref(&event),
        Charge::default(),
    );
    append.await.unwrap();
    let severe = arrival(1, |alert| {
        alert.severity = Severity::High;
        alert.title = "worse".into();
        let actor = Indicator::new(IndicatorKind::Ip, "198.51.100.7", IndicatorRole::Actor);
        alert.indicators.push(actor);
    });
    let accepted = fixture.take(severe).await;
    assert!(
        matches!(accepted.admission, Admission::Revision(..)),
        "{accepted:?}"
    );
    fixture
        .put("pending_revisions", "alert", "provider", r#""moon""#)
        .await;
    claimed
}

/// Checks that the alert is the second revision of the case and waits for a worker that can read it.
async fn waits_for_a_newer_one(fixture: &Fixture, id: &CaseId) {
    let all = CaseFilter {
        limit: 9,
        ..CaseFilter::default()
    };
    let listed = fixture.store.list(&all).await.unwrap();
    let row = &listed[0];
    assert_eq!((row.revision, row.status), (2, CaseStatus::Queued));
    assert_eq!(
        (row.severity, row.title.as_str()),
        (Severity::High, "worse")
    );
    let actors = "SELECT count(*) FROM indicators WHERE value = '198.51.100.7'";
    assert_eq!(fixture.count(actors).await, 1);
    assert!(fixture.store.claim(Lane::Any, 1).await.unwrap().is_empty());
    let unread = "SELECT count(*) FROM unreadable_journals WHERE revision = 2";
    assert_eq!(fixture.count(unread).await, 1);
    fixture
        .put("alerts", "alert", "provider", r#""other""#)
        .await;
    fixture
        .execute("UPDATE unreadable_journals SET version = 0")
        .await;
    let claimed = fixture.claim().await;
    assert_eq!((&claimed.lease.case_id, claimed.lease.revision), (id, 2));
    assert_eq!(claimed.crashes, 0);
    assert!(
        claimed
            .alert
            .has_indicator(IndicatorKind::Ip, "198.51.100.7")
    );
}

async fn f32_what_ends_is_told_whatever_waits_behind_it(fixture: Fixture) {
    let claimed = before_what_cannot_be_read(&fixture).await;
    let (_, closing) = whole_journal(&claimed);
    let store = &fixture.store;
    store.conclude(&claimed.lease, &closing).await.unwrap();
    assert_eq!(store.due_deliveries("soc", 10).await.unwrap().len(), 1);
    waits_for_a_newer_one(&fixture, &claimed.lease.case_id).await;
}

async fn f32_what_is_called_off_is_whatever_waits_behind_it(fixture: Fixture) {
    let id = before_what_cannot_be_read(&fixture).await.lease.case_id;
    let cancelled = fixture.store.cancel(&id.0, "ana", at(2)).await.unwrap();
    assert_eq!(cancelled.next, Some(2));
    waits_for_a_newer_one(&fixture, &id).await;
}

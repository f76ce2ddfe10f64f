//! What the next version wrote, in a rolling upgrade: this version leaves it to that one, and loses nothing (F32).

use nightshift_alert::{Indicator, IndicatorKind, Role, Severity};
use nightshift_pipeline::{Change, Match, NewMute};

use super::admission::arrival;
use super::*;

on_both_stores! {
    f32_a_mute_that_cannot_be_read_hides_nothing_and_stops_nothing
    f32_a_report_that_cannot_be_read_waits_for_who_can
    f32_an_alert_whose_case_cannot_be_read_is_compared_as_far_as_it_can_be
    f32_what_waits_and_what_is_a_member_is_compared_as_far_as_it_can_be
    f32_an_alert_of_whose_case_nothing_can_be_read_is_looked_at
}

impl Fixture {
    /// Puts a value, as JSON, where another version writes it: in this field of a column of JSON.
    async fn put(&self, table: &str, column: &str, field: &str, value: &str) {
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

/// Another alert of the same kind.
fn other(second: i64) -> Arrival {
    arrival(second, |alert| alert.key.id = format!("other {second}"))
}

async fn f32_a_mute_that_cannot_be_read_hides_nothing_and_stops_nothing(fixture: Fixture) {
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
        assert!(fixture.store.due("soc", 10).await.unwrap().is_empty());
    }
    let row = fixture
        .texts("SELECT error, sent, attempts FROM deliveries WHERE NOT given_up AND retry_at > wished_at")
        .await
        .remove(0);
    assert!(row[0].starts_with("it cannot be read by this version: "));
    assert_eq!(row[1..], ["0", "0"]);
    // A minute later, where the other version serves the destination.
    fixture
        .execute(
            "UPDATE conclusions SET report = (SELECT report FROM kept); \
             UPDATE deliveries SET retry_at = NULL",
        )
        .await;
    let due = fixture.store.due("soc", 10).await.unwrap();
    assert_eq!((due.len(), &due[0].case_id), (1, &id));
}

async fn f32_an_alert_whose_case_cannot_be_read_is_compared_as_far_as_it_can_be(fixture: Fixture) {
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
    // In one batch with another alert, which is not held up.
    let batch = vec![arrival(1, |_| {}), other(2)];
    let accepted = fixture.store.accept(batch.into()).await.unwrap();
    assert_eq!(
        accepted[0].admission,
        Admission::Sighting(id.clone(), Seen::Same)
    );
    assert_eq!(accepted[1].admission, Admission::New);
    let actor = arrival(3, |alert| {
        let actor = Indicator::new(IndicatorKind::Ip, "198.51.100.7", Role::Actor);
        alert.indicators.push(actor);
    });
    let accepted = fixture.take(actor).await;
    assert_eq!(
        accepted.admission,
        Admission::Revision(id.clone(), Change::Actor)
    );
    unread().await;
    let severe = arrival(4, |alert| alert.severity = Severity::High);
    let accepted = fixture.take(severe).await;
    assert_eq!(
        accepted.admission,
        Admission::Replaced(id, Change::Severity)
    );
    assert_eq!(fixture.letters().await, 0);
}

async fn f32_what_waits_and_what_is_a_member_is_compared_as_far_as_it_can_be(fixture: Fixture) {
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
        Admission::Revision(id.clone(), Change::Severity)
    );
    fixture
        .put("pending_revisions", "alert", "provider", r#""moon""#)
        .await;
    let accepted = fixture.take(severe()).await;
    assert_eq!(accepted.admission, Admission::Sighting(id, Seen::Same));

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
        Admission::Sighting(first.clone(), Seen::Same)
    );
    assert_eq!(fixture.letters().await, 0);
}

async fn f32_an_alert_of_whose_case_nothing_can_be_read_is_looked_at(fixture: Fixture) {
    let id = case_of(&fixture.take(arrival(0, |_| {})).await);
    fixture.execute("UPDATE alerts SET alert = '[]'").await;
    let accepted = fixture.take(arrival(1, |_| {})).await;
    assert_eq!(
        accepted.admission,
        Admission::Replaced(id.clone(), Change::Type)
    );
    let accepted = fixture.take(arrival(2, |_| {})).await;
    assert_eq!(accepted.admission, Admission::Sighting(id, Seen::Same));
    assert_eq!(fixture.letters().await, 0);
}

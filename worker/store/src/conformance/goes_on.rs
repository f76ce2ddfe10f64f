//! Tests sightings that continue after the triaged alert: a record must cover all of them, or it clears nothing.

use nightshift_alert::{EventTimes, IndicatorKind, IndicatorRole, Severity};
use nightshift_engine::exoneration::Exoneration;
use nightshift_engine::ledger_row::{CoveredBy, LedgerRow};
use nightshift_pipeline::admission::RevisionReason;
use nightshift_pipeline::feedback::NewPersonVerdict;

use super::admission::{arrival, happens_at};
use super::reopened::{close, is_reopened, workflow_of};
use super::*;

on_both_stores! {
    activity_after_its_exoneration_expired_is_triaged_again
    case_cleared_by_adjoining_records_holds_until_the_last_ends
    what_goes_on_while_it_waits_is_triaged_with_all_its_events
    f32_what_another_version_wrote_of_an_alert_is_kept
    what_nobody_knows_the_time_of_gets_none
    what_was_seen_too_often_is_cleared_with_what_comes_after_it
    what_began_before_its_record_is_triaged_again
    what_goes_on_while_it_waits_opens_nothing
    what_went_on_while_it_was_cleared_is_triaged_again
    what_went_on_while_it_was_cleared_opens_what_was_closed
    what_waits_behind_what_went_on_comes_once
    what_went_on_since_is_triaged_when_somebody_runs_it_again
    f01_what_has_begun_is_not_widened
}

fn lasts(second: i64) -> Arrival {
    arrival(second, happens_at(second))
}

/// Returns a change that was approved until this second, or without end.
fn change(until: Option<i64>) -> Exoneration {
    Exoneration {
        kind: "change".into(),
        subject_type: IndicatorKind::Bucket,
        subject: "payments-ledger".into(),
        from: None,
        until: until.map(at),
        covers: vec!["*".into()],
        approved_by: "linus".into(),
        reference: "CHG-41".into(),
        statement: "change CHG-41 on payments-ledger".into(),
        detection_wrong: false,
        scope: nightshift_engine::exoneration::RecordScope::default(),
        slack_mins: 0,
        extent: nightshift_engine::exoneration::RecordExtent::default(),
        evidence: None,
    }
}

impl Fixture {
    /// Concludes the case with these records.
    async fn clear(&self, claimed: &ClaimedCase, verdict: Verdict, until: &[Option<i64>]) {
        conclude_with(&self.store, claimed, |closing| {
            closing.conclusion.verdict = verdict;
            closing.report.exonerations = until.iter().copied().map(change).collect();
        })
        .await;
    }

    /// Checks that the alert is only a sighting.
    async fn sights(&self, arrival: Arrival) {
        let found = self.take(arrival).await.admission;
        assert!(
            matches!(
                found,
                Admission::Sighting(_, SightingReason::Same | SightingReason::Unchanged)
            ),
            "{found:?}"
        );
    }

    async fn status(&self, id: &CaseId) -> (CaseStatus, u32) {
        let row = self.store.view(&id.0).await.unwrap().row;
        (row.status, row.revision)
    }
}

async fn activity_after_its_exoneration_expired_is_triaged_again(fixture: Fixture) {
    let id = case_of(&fixture.take(lasts(1_000)).await);
    let claimed = fixture.claim().await;
    let ends = [Some(9_000), None, Some(2_000)];
    fixture
        .clear(&claimed, Verdict::BenignTruePositive, &ends)
        .await;
    fixture.sights(lasts(2_000)).await;
    let store = &fixture.store;
    store.retry(&id.0).await.unwrap();
    store.cancel(&id.0, "ana", at(2_000)).await.unwrap();
    fixture.sights(lasts(1_999)).await;
    let found = fixture.take(lasts(2_001)).await.admission;
    assert_eq!(
        found,
        Admission::Revision(id, RevisionReason::NoLongerCleared)
    );
    let claimed = fixture.claim().await;
    assert_eq!(claimed.alert.times.last_seen, Some(at(2_001)));
    conclude(store, &claimed).await;
    fixture.sights(lasts(3_000)).await;
}

async fn case_cleared_by_adjoining_records_holds_until_the_last_ends(fixture: Fixture) {
    let id = case_of(&fixture.take(lasts(1_000)).await);
    let claimed = fixture.claim().await;
    conclude_with(&fixture.store, &claimed, |closing| {
        closing.conclusion.verdict = Verdict::BenignTruePositive;
        let records = [change(Some(900)), change(Some(2_000))];
        closing.report.ledger = vec![LedgerRow {
            subject_type: "bucket".into(),
            subject: "payments-ledger".into(),
            role: IndicatorRole::Target,
            place: "E0:/indicators/0".into(),
            trust: nightshift_engine::tool::Trust::Platform,
            required: true,
            covered_by: Some(CoveredBy::from(&records[1])),
            missing: None,
        }];
        closing.report.exonerations = records.to_vec();
    })
    .await;
    fixture.sights(lasts(1_000)).await;
    fixture.sights(lasts(2_000)).await;
    let found = fixture.take(lasts(2_001)).await.admission;
    assert_eq!(
        found,
        Admission::Revision(id, RevisionReason::NoLongerCleared)
    );
}

async fn what_goes_on_while_it_waits_is_triaged_with_all_its_events(fixture: Fixture) {
    let id = case_of(&fixture.take(lasts(1_000)).await);
    fixture.sights(lasts(2_000)).await;
    fixture.sights(arrival(2_001, happens_at(500))).await;
    fixture.sights(lasts(1_500)).await;
    let archived = |alert: &mut Alert| {
        happens_at(2_500)(alert);
        alert.state.archived = true;
    };
    fixture.take(arrival(2_500, archived)).await;
    let active = fixture.take(arrival(2_500, happens_at(1_500))).await;
    assert_eq!(
        active.admission,
        Admission::Replaced(id.clone(), RevisionReason::State)
    );
    let sample = |alert: &mut Alert| {
        happens_at(2_600)(alert);
        alert.state.sample = true;
    };
    fixture.sights(arrival(2_600, sample)).await;
    let to_come = arrival(2_700, happens_at(2_700 + 901));
    fixture.sights(to_come).await;
    let claimed = fixture.claim().await;
    let window = Some((at(500), at(2_000)));
    assert_eq!(claimed.alert.times.window(), window, "and nothing else");
    let view = fixture.store.view(&id.0).await.unwrap();
    assert_eq!(view.alert, *claimed.alert, "as it was triaged");
    assert_eq!(view.row.sightings, 6, "each is counted");
}

async fn f32_what_another_version_wrote_of_an_alert_is_kept(fixture: Fixture) {
    let id = case_of(&fixture.take(lasts(1_000)).await);
    let whole = match fixture.is_sqlite() {
        true => {
            "UPDATE alerts SET alert = json_set(alert, '$.of_tomorrow', 'x', '$.times.of_tomorrow', 'y')"
        }
        false => {
            "UPDATE alerts SET alert = jsonb_set(alert || '{\"of_tomorrow\": \"x\"}', '{times,of_tomorrow}', '\"y\"')"
        }
    };
    fixture.execute(whole).await;
    fixture.sights(lasts(2_000)).await;
    let claimed = fixture.claim().await;
    assert_eq!(claimed.alert.times.last_seen, Some(at(2_000)));
    let kept = match fixture.is_sqlite() {
        true => "SELECT alert ->> 'of_tomorrow', alert ->> '$.times.of_tomorrow' FROM alerts",
        false => "SELECT alert ->> 'of_tomorrow', alert #>> '{times,of_tomorrow}' FROM alerts",
    };
    assert_eq!(fixture.texts(kept).await, [["x", "y"]]);
    let view = fixture.store.view(&id.0).await.unwrap();
    assert_eq!(view.alert, *claimed.alert);
}

async fn what_nobody_knows_the_time_of_gets_none(fixture: Fixture) {
    let id = case_of(&fixture.take(lasts(1_000)).await);
    fixture.sights(lasts(2_000)).await;
    let timeless = arrival(2_100, |alert| {
        alert.times = EventTimes::default();
        alert.severity = Severity::High;
    });
    let found = fixture.take(timeless).await.admission;
    assert_eq!(found, Admission::Replaced(id, RevisionReason::Severity));
    let claimed = fixture.claim().await;
    assert_eq!(claimed.alert.times.window(), None);
}

async fn what_was_seen_too_often_is_cleared_with_what_comes_after_it(fixture: Fixture) {
    let id = case_of(&fixture.take(lasts(1_000)).await);
    let claimed = fixture.claim().await;
    let benign = Verdict::BenignTruePositive;
    fixture.clear(&claimed, benign, &[Some(2_000)]).await;
    fixture.sights(lasts(1_500)).await;
    fixture.execute("UPDATE alerts SET reason = 'actor'").await;
    let count = "INSERT INTO alerts (case_id, revision, source, received_at, reason, alert) \
         SELECT case_id, {n}, source, received_at, 'actor', alert FROM alerts WHERE revision = 1";
    for revision in 100..124 {
        let sql = count.replace("{n}", &revision.to_string());
        fixture.execute(&sql).await;
    }
    let too_often = fixture.take(lasts(3_000)).await.admission;
    let seen = SightingReason::TooOften(RevisionReason::NoLongerCleared);
    assert_eq!(too_often, Admission::Sighting(id.clone(), seen));
    fixture
        .execute("DELETE FROM alerts WHERE revision >= 100")
        .await;
    let found = fixture.take(arrival(5_000, happens_at(1_600))).await;
    let again = Admission::Revision(id.clone(), RevisionReason::NoLongerCleared);
    assert_eq!(found.admission, again, "nobody asked for 3,000");
    let claimed = fixture.claim().await;
    let window = Some((at(1_600), at(3_000)));
    assert_eq!(claimed.alert.times.window(), window, "1,500 was cleared");
}

async fn what_goes_on_while_it_waits_opens_nothing(fixture: Fixture) {
    let id = case_of(&fixture.take(lasts(1_000)).await);
    close(&fixture, &id).await;
    fixture.sights(lasts(2_000)).await;
    assert!(workflow_of(&fixture, &id).await.0.is_settled());
}

async fn what_went_on_while_it_was_cleared_is_triaged_again(fixture: Fixture) {
    let id = case_of(&fixture.take(lasts(1_000)).await);
    for (revision, went_on, until) in [(1, 3_000, 2_000), (2, 4_000, 3_999), (3, 5_000, 5_000)] {
        let claimed = fixture.claim().await;
        assert_eq!(claimed.lease.revision, revision);
        let why = claimed
            .previous_run
            .as_ref()
            .and_then(|again| again.why.clone());
        let because = (revision > 1).then(|| "no_longer_cleared".to_owned());
        assert_eq!(why, because);
        fixture.sights(lasts(went_on)).await;
        let ends = [None, Some(until)];
        fixture
            .clear(&claimed, Verdict::BenignTruePositive, &ends)
            .await;
        let is_over = until >= went_on;
        let expected = match is_over {
            true => (CaseStatus::Concluded, revision),
            false => (CaseStatus::Queued, revision + 1),
        };
        assert_eq!(fixture.status(&id).await, expected);
    }
    let store = &fixture.store;
    store.retry(&id.0).await.unwrap();
    let claimed = fixture.claim().await;
    let window = Some((at(1_000), at(4_000)));
    assert_eq!(claimed.alert.times.window(), window, "5,000 was cleared");
    fixture.sights(lasts(6_000)).await;
    fixture
        .clear(&claimed, Verdict::FalsePositive, &[None])
        .await;
    assert_eq!(
        fixture.status(&id).await,
        (CaseStatus::Concluded, 4),
        "it never ends"
    );
    store.retry(&id.0).await.unwrap();
    let claimed = fixture.claim().await;
    fixture.sights(lasts(7_000)).await;
    let ends = [Some(6_500)];
    fixture.clear(&claimed, Verdict::TruePositive, &ends).await;
    assert_eq!(
        fixture.status(&id).await,
        (CaseStatus::Concluded, 5),
        "it is not cleared"
    );
}

async fn what_went_on_while_it_was_cleared_opens_what_was_closed(fixture: Fixture) {
    let id = case_of(&fixture.take(lasts(1_000)).await);
    let claimed = fixture.claim().await;
    fixture.sights(lasts(3_000)).await;
    close(&fixture, &id).await;
    let ends = [Some(2_000)];
    fixture
        .clear(&claimed, Verdict::BenignTruePositive, &ends)
        .await;
    is_reopened(&fixture, &id).await;
}

async fn what_began_before_its_record_is_triaged_again(fixture: Fixture) {
    let id = case_of(&fixture.take(lasts(1_000)).await);
    let store = &fixture.store;
    for (from, expected) in [
        (900, (CaseStatus::Queued, 2)),
        (500, (CaseStatus::Concluded, 2)),
    ] {
        let claimed = fixture.claim().await;
        fixture.sights(arrival(1_100, happens_at(500))).await;
        conclude_with(store, &claimed, |closing| {
            closing.conclusion.verdict = Verdict::FalsePositive;
            let mut record = change(None);
            record.from = Some(at(from));
            closing.report.exonerations = vec![record];
        })
        .await;
        assert_eq!(fixture.status(&id).await, expected);
    }
    let view = store.view(&id.0).await.unwrap();
    assert_eq!(view.alert.times.window(), Some((at(500), at(1_000))));
}

async fn what_waits_behind_what_went_on_comes_once(fixture: Fixture) {
    let id = case_of(&fixture.take(lasts(1_000)).await);
    let claimed = fixture.claim().await;
    fixture.sights(lasts(3_000)).await;
    let severe = |alert: &mut Alert| {
        happens_at(2_500)(alert);
        alert.severity = Severity::High;
    };
    let waits = fixture.take(arrival(3_100, severe)).await.admission;
    assert_eq!(
        waits,
        Admission::Revision(id.clone(), RevisionReason::Severity)
    );
    let ends = [Some(2_000)];
    fixture
        .clear(&claimed, Verdict::BenignTruePositive, &ends)
        .await;
    let claimed = fixture.claim().await;
    assert_eq!(claimed.alert.severity, Severity::High);
    let window = Some((at(1_000), at(3_000)));
    assert_eq!(claimed.alert.times.window(), window, "with all of it");
    fixture
        .clear(&claimed, Verdict::BenignTruePositive, &[Some(3_000)])
        .await;
    assert_eq!(fixture.status(&id).await, (CaseStatus::Concluded, 2));
}

async fn what_went_on_since_is_triaged_when_somebody_runs_it_again(fixture: Fixture) {
    let id = case_of(&fixture.take(lasts(1_000)).await);
    let store = &fixture.store;
    conclude_as(store, &fixture.claim().await, Verdict::TruePositive).await;
    fixture.sights(lasts(2_000)).await;
    let says = NewPersonVerdict {
        verdict: Some(Verdict::TruePositive),
        by: "ana".into(),
        at: at(2_000),
        note: String::new(),
    };
    store.add_verdict(&id.0, says).await.unwrap();
    store.retry(&id.0).await.unwrap();
    let claimed = fixture.claim().await;
    let window = Some((at(1_000), at(2_000)));
    assert_eq!(claimed.alert.times.window(), window);
}

async fn f01_what_has_begun_is_not_widened(fixture: Fixture) {
    let id = case_of(&fixture.take(lasts(1_000)).await);
    let other = fixture.another(options()).await;
    let lost = other.claim(Lane::Any, 1).await.unwrap().remove(0);
    let begun = [opened(&lost.alert, &id.0)];
    let charge = Charge::default();
    other.append(&lost.lease, &begun, charge).await.unwrap();
    fixture.sights(lasts(2_000)).await;
    fixture.expire(&lost.lease).await;
    let claimed = fixture.claim().await;
    assert_eq!(claimed.alert, lost.alert, "evidence speaks of it");
    fixture
        .clear(&claimed, Verdict::BenignTruePositive, &[Some(1_500)])
        .await;
    let claimed = fixture.claim().await;
    let window = Some((at(1_000), at(2_000)));
    assert_eq!(claimed.alert.times.window(), window);
}

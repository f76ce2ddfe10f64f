//! Tests canaries: they pass through the whole store, people do not see them, and their arrival is recorded.

use nightshift_alert::{CANARY_FEED, FeedState, Severity};
use nightshift_pipeline::admission::SetAsideReason;
use nightshift_pipeline::canary::CANARY_CLOSER;
use nightshift_pipeline::case::CaseFilter;
use nightshift_pipeline::case_workflow::{CaseAction, CaseActionKind, WorkflowStatus};
use nightshift_pipeline::mutes::NewMute;
use nightshift_pipeline::route::Match;

use super::admission::arrival;
use super::*;

on_both_stores! {
    canary_queues_with_high_cases_and_is_shown_before_milder
    no_mute_hides_a_canary_and_no_storm_takes_it
    a_canary_and_an_alert_of_the_same_key_have_a_case_each
    people_do_not_see_canaries_unless_they_ask_for_them
    the_last_canary_is_the_newest_that_came_through
    f29_a_canary_of_a_clock_that_was_ahead_hides_no_silence
    canaries_without_noted_end_are_listed_with_delivery_time
}

/// The number of seconds in a hundred years, which is ahead of any current time.
const AHEAD: i64 = 3_155_760_000;

pub(super) fn canary(second: i64, number: u32) -> Arrival {
    arrival(second, |alert| {
        alert.feed = CANARY_FEED.to_owned();
        alert.kind = "Nightshift:Canary".to_owned();
        alert.key.id = format!("canary:{number}");
        alert.account = None;
        alert.severity = Severity::Informational;
        alert.state.sample = true;
        alert.indicators.clear();
    })
}

fn all_of(feed: Option<&str>) -> CaseFilter {
    CaseFilter {
        feed: feed.map(str::to_owned),
        limit: 100,
        ..CaseFilter::default()
    }
}

impl Fixture {
    async fn close(&self, id: &CaseId, second: i64, by: &str) {
        let act = CaseAction {
            at: at(second),
            by: by.to_owned(),
            kind: CaseActionKind::Closed,
            note: String::new(),
        };
        self.store.record_action(&id.0, act).await.unwrap();
    }

    async fn conclude_all(&self) {
        for claimed in self.store.claim(Lane::Any, 10).await.unwrap() {
            conclude(&self.store, &claimed).await;
        }
    }

    async fn last(&self) -> Option<i64> {
        let last = self.store.last_canary().await.unwrap();
        last.map(|last| (last - at(0)).num_seconds())
    }
}

async fn canary_queues_with_high_cases_and_is_shown_before_milder(fixture: Fixture) {
    for number in 0..5 {
        let flood = arrival(number, |alert| alert.key.id = format!("flood {number}"));
        fixture.take(flood).await;
    }
    let id = case_of(&fixture.take(canary(9, 1)).await);
    let urgent = fixture.store.claim(Lane::Urgent, 10).await.unwrap();
    assert_eq!(urgent.len(), 1, "the way that must be open");
    assert_eq!(urgent[0].lease.case_id, id);
    assert_eq!(urgent[0].alert.severity, Severity::Informational);
    conclude(&fixture.store, &urgent[0]).await;
    for claimed in fixture.store.claim(Lane::Any, 10).await.unwrap() {
        conclude(&fixture.store, &claimed).await;
    }
    let due = fixture.store.due_deliveries("soc", 1).await.unwrap();
    assert_eq!(due[0].case_id, id, "however many reports wait");
}

async fn no_mute_hides_a_canary_and_no_storm_takes_it(fixture: Fixture) {
    let everything = NewMute {
        when: Match {
            kind: Some("Nightshift:*".into()),
            ..Match::default()
        },
        severity: Severity::High,
        until: at(1_000),
        why: "w".into(),
        by: "ana".into(),
    };
    let preview = fixture.store.preview_mute(&everything, at(-1)).await;
    fixture.store.add_mute(everything, at(0)).await.unwrap();
    for number in 0..25 {
        let taken = fixture.take(canary(1, number)).await;
        assert_eq!(taken.admission, Admission::New, "{number}");
    }
    assert!(preview.unwrap().cases.is_empty());
    let again = fixture.take(canary(2, 3)).await;
    assert!(matches!(
        again.admission,
        Admission::Sighting(_, SightingReason::Same)
    ));
    let mut late = canary(2, 99);
    Arc::make_mut(&mut late.alert).state = FeedState {
        inactive: true,
        ..FeedState::default()
    };
    let late = fixture.take(late).await;
    assert_eq!(
        late.admission,
        Admission::SetAside(SetAsideReason::Inactive)
    );
    assert_eq!(late.case_id, None);
}

async fn a_canary_and_an_alert_of_the_same_key_have_a_case_each(fixture: Fixture) {
    let own = fixture.take(canary(0, 1)).await;
    let key = canary(0, 1).alert.key.clone();
    let forged = arrival(1, |alert| alert.key = key);
    let forged = fixture.take(forged).await;
    assert_eq!(
        forged.admission,
        Admission::New,
        "it does not hide in a canary"
    );
    assert_ne!(forged.case_id, own.case_id);
    let next = fixture.take(canary(2, 1)).await;
    assert_eq!(
        next.admission,
        Admission::New,
        "nor does it take the canary's place"
    );
}

async fn people_do_not_see_canaries_unless_they_ask_for_them(fixture: Fixture) {
    let alert = case_of(&fixture.accept(DNS).await);
    let own = case_of(&fixture.take(canary(0, 1)).await);
    let ids = async |feed| -> Vec<CaseId> {
        let rows = fixture.store.list(&all_of(feed)).await.unwrap();
        rows.into_iter().map(|row| row.id).collect()
    };
    assert_eq!(ids(None).await, [alert]);
    assert_eq!(ids(Some(CANARY_FEED)).await, std::slice::from_ref(&own));
    let claimed = fixture.store.claim_one(&own).await.unwrap().unwrap();
    conclude_with(&fixture.store, &claimed, |closing| {
        closing.report.alert.feed = CANARY_FEED.to_owned();
    })
    .await;
    let far = chrono::Duration::days(4_000);
    let day = fixture
        .store
        .collect_digest(at(0) - far, at(0) + far)
        .await
        .unwrap();
    assert_eq!(day.arrived.len(), 1, "{:?}", day.arrived);
    assert!(day.verdicts.is_empty(), "{:?}", day.verdicts);
    assert!(day.open.is_empty() && day.open_total == 0, "{:?}", day.open);
}

async fn the_last_canary_is_the_newest_that_came_through(fixture: Fixture) {
    assert_eq!(fixture.last().await, None);
    let ids = [
        case_of(&fixture.take(canary(0, 1)).await),
        case_of(&fixture.take(canary(100, 2)).await),
        case_of(&fixture.take(canary(200, 3)).await),
    ];
    fixture.conclude_all().await;
    assert_eq!(fixture.last().await, None, "none has come through");
    fixture.close(&ids[0], 10, CANARY_CLOSER).await;
    assert_eq!(fixture.last().await, Some(10));
    fixture.close(&ids[1], 110, CANARY_CLOSER).await;
    assert_eq!(fixture.last().await, Some(110));
    fixture.close(&ids[2], 210, "maria").await;
    assert_eq!(fixture.last().await, Some(110), "a person proves nothing");
    let alert = case_of(&fixture.accept(DNS).await);
    fixture.close(&alert, 300, CANARY_CLOSER).await;
    assert_eq!(fixture.last().await, Some(110), "nor does another case");
    let failed = case_of(&fixture.take(canary(400, 4)).await);
    let claimed = fixture.store.claim_one(&failed).await.unwrap().unwrap();
    fail(&fixture.store, &claimed).await;
    fixture.close(&failed, 410, CANARY_CLOSER).await;
    assert_eq!(fixture.last().await, Some(110), "nor one that failed");
    let open = CaseFilter {
        workflow_status: Some(WorkflowStatus::Open),
        ..all_of(Some(CANARY_FEED))
    };
    assert!(fixture.store.list(&open).await.unwrap().is_empty());
}

async fn f29_a_canary_of_a_clock_that_was_ahead_hides_no_silence(fixture: Fixture) {
    let ids = [
        case_of(&fixture.take(canary(0, 1)).await),
        case_of(&fixture.take(canary(100, 2)).await),
        case_of(&fixture.take(canary(AHEAD, 3)).await),
    ];
    fixture.conclude_all().await;
    fixture.close(&ids[0], 10, CANARY_CLOSER).await;
    fixture.close(&ids[2], AHEAD + 10, CANARY_CLOSER).await;
    assert_eq!(fixture.last().await, Some(10), "it was opened ahead");
    fixture.close(&ids[1], AHEAD, CANARY_CLOSER).await;
    assert_eq!(fixture.last().await, Some(10), "it was closed ahead");
    let next = case_of(&fixture.take(canary(200, 4)).await);
    fixture.conclude_all().await;
    fixture.close(&next, 210, CANARY_CLOSER).await;
    assert_eq!(fixture.last().await, Some(210), "the clock is right again");
}

async fn canaries_without_noted_end_are_listed_with_delivery_time(fixture: Fixture) {
    let store = &fixture.store;
    let mut ids = Vec::new();
    for number in 0..4 {
        ids.push(case_of(&fixture.take(canary(number.into(), number)).await));
    }
    for claimed in store.claim(Lane::Any, 10).await.unwrap() {
        conclude(store, &claimed).await;
    }
    assert_eq!(store.open_canaries(10).await.unwrap(), [], "none is shown");
    // The third canary was too late to be shown, and the fourth has no attempt yet.
    for due in store.due_deliveries("soc", 10).await.unwrap() {
        let Some(number) = ids[..3].iter().position(|id| *id == due.case_id) else {
            continue;
        };
        let remote_id = Some(format!("C1/{number}"));
        let sent = Some(DeliveryReceipt { remote_id }).filter(|_| number < 2);
        assert!(store.begin_attempt("soc", &due).await.unwrap());
        store.record_sent("soc", &due, sent.as_ref()).await.unwrap();
    }
    let hours_ago = at(50).to_rfc3339_opts(chrono::SecondsFormat::Micros, true);
    let sql = format!("UPDATE deliveries SET sent_at = '{hours_ago}' WHERE sent_version > 0");
    fixture.execute(&sql).await;
    let told = [(ids[1].clone(), at(50)), (ids[0].clone(), at(50))];
    assert_eq!(store.open_canaries(10).await.unwrap(), told);
    assert_eq!(store.open_canaries(1).await.unwrap(), told[..1]);
    fixture.close(&ids[1], 60, CANARY_CLOSER).await;
    assert_eq!(store.open_canaries(10).await.unwrap(), told[1..]);
}

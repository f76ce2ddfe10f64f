//! Tests repeated alerts: sightings, immediate and later revisions, replacements, states at the feed, storms.

use nightshift_alert::{ContentHash, Indicator, IndicatorKind, IndicatorRole, Severity};
use nightshift_engine::conclusion::{Urgency, Verdict};
use nightshift_pipeline::admission::{RevisionReason, SetAsideReason};
use nightshift_pipeline::case::CaseStatus;
use nightshift_pipeline::case_workflow::CaseActionKind;

use super::*;

on_both_stores! {
    a23_concluded_case_is_retriaged_when_another_actor_appears
    what_waits_is_replaced_until_its_triage_has_begun
    running_case_is_retriaged_at_its_end_for_all_later_arrivals
    three_revisions_a_day_and_every_rise_in_severity
    older_message_is_judged_for_what_is_new_in_it
    a25_a_year_that_cannot_be_written_holds_up_nothing
    a_state_at_the_feed_is_noted_on_its_case_and_else_set_aside
    a_storm_is_one_case_with_members
    samples_are_no_part_of_a_storm
    run_always_triages
    a_report_tells_what_arrived_until_the_case_ended
}

/// Returns a real finding of medium severity that arrived at this second, with changes.
pub(super) fn arrival(second: i64, change: impl FnOnce(&mut Alert)) -> Arrival {
    let mut arrival = arrivals(DNS).remove(0);
    arrival.at = at(second);
    let alert = Arc::make_mut(&mut arrival.alert);
    alert.severity = Severity::Medium;
    alert.state.sample = false;
    alert.times.updated = None;
    change(alert);
    let addresses: Vec<_> = alert.with_role(IndicatorRole::Actor).collect();
    let state = &alert.state;
    let content = format!("{} {} {state:?} {addresses:?}", alert.kind, alert.severity);
    alert.content = ContentHash(content);
    arrival
}

/// Adds another actor.
pub(super) fn actor(last: u8) -> impl FnOnce(&mut Alert) {
    move |alert| {
        let address = format!("198.51.100.{last}");
        let actor = Indicator::new(IndicatorKind::Ip, address, IndicatorRole::Actor);
        alert.indicators.push(actor);
    }
}

/// Sets the time of the event to this second.
pub(super) fn happens_at(second: i64) -> impl FnOnce(&mut Alert) {
    move |alert| {
        alert.times.first_seen = Some(at(second));
        alert.times.last_seen = Some(at(second));
    }
}

impl Fixture {
    /// Accepts an alert and concludes its case.
    async fn concluded(&self) -> CaseId {
        self.take(arrival(0, |_| {})).await;
        let claimed = self.claim().await;
        conclude_as(&self.store, &claimed, Verdict::TruePositive).await;
        claimed.lease.case_id
    }
}

async fn a23_concluded_case_is_retriaged_when_another_actor_appears(fixture: Fixture) {
    let id = fixture.concluded().await;
    let again = fixture.take(arrival(10, actor(7))).await;
    assert_eq!(
        again.admission,
        Admission::Revision(id.clone(), RevisionReason::Actor)
    );
    let view = fixture.store.view(&id.0).await.unwrap();
    assert_eq!(
        (view.row.revision, view.row.status),
        (2, CaseStatus::Queued)
    );
    let claimed = fixture.claim().await;
    assert!(
        claimed
            .alert
            .has_indicator(IndicatorKind::Ip, "198.51.100.7")
    );
    assert_eq!((claimed.lease.revision, claimed.events.len()), (2, 0));
    conclude_as(&fixture.store, &claimed, Verdict::TruePositive).await;
    let same = fixture.take(arrival(20, actor(7))).await;
    assert_eq!(
        same.admission,
        Admission::Sighting(id, SightingReason::Same)
    );
}

async fn what_waits_is_replaced_until_its_triage_has_begun(fixture: Fixture) {
    let first = fixture.take(arrival(0, |_| {})).await;
    let id = case_of(&first);
    let second = fixture.take(arrival(1, actor(7))).await;
    assert_eq!(
        second.admission,
        Admission::Replaced(id.clone(), RevisionReason::Actor)
    );
    let claimed = fixture.claim().await;
    assert!(
        claimed
            .alert
            .has_indicator(IndicatorKind::Ip, "198.51.100.7")
    );
    assert_eq!(claimed.lease.revision, 1);
    // The case is released after its journal was opened. The journal is about this alert, so the alert must stay.
    let event = opened(&claimed.alert, &id.0);
    fixture
        .store
        .append(&claimed.lease, &[event], Charge::default())
        .await
        .unwrap();
    fixture.store.release(&claimed.lease).await.unwrap();
    let third = fixture.take(arrival(2, actor(8))).await;
    assert_eq!(
        third.admission,
        Admission::Revision(id.clone(), RevisionReason::Actor)
    );
    let view = fixture.store.view(&id.0).await.unwrap();
    assert_eq!((view.row.revision, view.events.len()), (1, 1));
}

async fn running_case_is_retriaged_at_its_end_for_all_later_arrivals(fixture: Fixture) {
    fixture.take(arrival(0, |_| {})).await;
    let claimed = fixture.claim().await;
    let id = claimed.lease.case_id.clone();
    let later = fixture.take(arrival(1, actor(7))).await;
    assert_eq!(
        later.admission,
        Admission::Revision(id.clone(), RevisionReason::Actor)
    );
    let latest = fixture
        .take(arrival(2, |alert| {
            actor(8)(alert);
            alert.severity = Severity::High;
        }))
        .await;
    assert_eq!(
        latest.admission,
        Admission::Replaced(id.clone(), RevisionReason::Severity)
    );
    let milder = fixture.take(arrival(3, actor(9))).await;
    assert_eq!(
        milder.admission,
        Admission::Revision(id.clone(), RevisionReason::Actor)
    );
    conclude(&fixture.store, &claimed).await;
    let second = fixture.claim().await;
    assert_eq!(
        (second.lease.revision, second.alert.severity),
        (2, Severity::High)
    );
    for actor in ["198.51.100.7", "198.51.100.8"] {
        assert!(
            second.alert.has_indicator(IndicatorKind::Ip, actor),
            "{actor}"
        );
    }
    // The new triage gets the previous result and the reason to repeat it: the replacing alert is more severe.
    let said = second.previous_run.clone().unwrap();
    assert_eq!(
        (said.revision, said.failed, said.verdict, said.urgency),
        (1, false, Verdict::Inconclusive, Urgency::ThisShift)
    );
    assert_eq!(said.why.as_deref(), Some("severity"));
    let new: Vec<&str> = said.new.iter().map(|one| one.value.as_str()).collect();
    assert_eq!(new, ["198.51.100.7", "198.51.100.8"]);
    assert!(claimed.previous_run.is_none());
    conclude(&fixture.store, &second).await;
    let third = fixture.claim().await;
    assert!(third.alert.has_indicator(IndicatorKind::Ip, "198.51.100.9"));
    conclude(&fixture.store, &third).await;
    assert!(fixture.store.claim(Lane::Any, 9).await.unwrap().is_empty());
    let view = fixture.store.view(&id.0).await.unwrap();
    assert_eq!(
        (view.row.revision, view.row.status),
        (3, CaseStatus::Concluded)
    );
}

async fn three_revisions_a_day_and_every_rise_in_severity(fixture: Fixture) {
    let id = fixture.concluded().await;
    let again = async |arrival: Arrival| {
        let accepted = fixture.take(arrival).await;
        for claimed in fixture.store.claim(Lane::Any, 9).await.unwrap() {
            conclude_as(&fixture.store, &claimed, Verdict::TruePositive).await;
        }
        accepted.admission
    };
    for last in 1..=3 {
        let found = again(arrival(60 * i64::from(last), actor(last))).await;
        assert_eq!(
            found,
            Admission::Revision(id.clone(), RevisionReason::Actor)
        );
    }
    let found = again(arrival(300, actor(4))).await;
    let too_often = SightingReason::TooOften(RevisionReason::Actor);
    assert_eq!(found, Admission::Sighting(id.clone(), too_often));
    let found = again(arrival(400, |alert| alert.severity = Severity::High)).await;
    assert_eq!(
        found,
        Admission::Revision(id.clone(), RevisionReason::Severity)
    );
    let day_later = 86_400 + 500;
    let found = again(arrival(day_later, |alert| {
        alert.severity = Severity::High;
        actor(5)(alert);
    }))
    .await;
    assert_eq!(
        found,
        Admission::Revision(id.clone(), RevisionReason::Actor)
    );
    let view = fixture.store.view(&id.0).await.unwrap();
    assert_eq!(view.sightings[0].note.as_deref(), Some("too_often:actor"));
}

async fn older_message_is_judged_for_what_is_new_in_it(fixture: Fixture) {
    let updated = |second: i64, severity: Severity, last: u8| {
        arrival(0, move |alert| {
            alert.times.updated = Some(at(second));
            alert.severity = severity;
            actor(last)(alert);
        })
    };
    let id = case_of(&fixture.take(updated(100, Severity::Medium, 1)).await);
    let severe = fixture.take(updated(99, Severity::Critical, 1)).await;
    let replaced = Admission::Replaced(id.clone(), RevisionReason::Severity);
    assert_eq!(severe.admission, replaced);
    let older = Admission::Sighting(id.clone(), SightingReason::Older);
    let known = fixture.take(updated(99, Severity::Critical, 1)).await;
    assert_eq!(known.admission, older, "the newest is of 100");
    let claimed = fixture.claim().await;
    assert_eq!(claimed.alert.severity, Severity::Critical);
    conclude_as(&fixture.store, &claimed, Verdict::FalsePositive).await;
    let stranger = fixture.take(updated(98, Severity::Low, 2)).await;
    let revision = Admission::Revision(id, RevisionReason::Actor);
    assert_eq!(stranger.admission, revision);
    let claimed = fixture.claim().await;
    assert_eq!(claimed.alert.severity, Severity::Critical);
    for actor in ["198.51.100.1", "198.51.100.2"] {
        assert!(
            claimed.alert.has_indicator(IndicatorKind::Ip, actor),
            "{actor}"
        );
    }
    let known = fixture.take(updated(98, Severity::Low, 2)).await;
    assert_eq!(known.admission, older);
}

async fn a25_a_year_that_cannot_be_written_holds_up_nothing(fixture: Fixture) {
    let far = |alert: &mut Alert| {
        alert.times.updated = chrono::DateTime::from_timestamp(1_000_000_000_000, 0);
    };
    let id = case_of(&fixture.take(arrival(0, far)).await);
    let again = fixture.take(arrival(1, actor(7))).await;
    assert_eq!(case_of(&again), id);
    let other = fixture.take(arrival(2, |alert| alert.key.id = "other".to_owned()));
    assert_ne!(case_of(&other.await), id);
}

async fn a_state_at_the_feed_is_noted_on_its_case_and_else_set_aside(fixture: Fixture) {
    let archived = |alert: &mut Alert| alert.state.archived = true;
    let alone = fixture
        .take(arrival(0, |alert| {
            archived(alert);
            alert.key.id = "another".into();
        }))
        .await;
    assert_eq!(
        alone.admission,
        Admission::SetAside(SetAsideReason::Archived)
    );
    assert_eq!(alone.case_id, None);
    let id = fixture.concluded().await;
    let noted = fixture.take(arrival(10, archived)).await;
    let at_feed = SightingReason::AtFeed(SetAsideReason::Archived);
    assert_eq!(noted.admission, Admission::Sighting(id.clone(), at_feed));
    let active = fixture.take(arrival(20, |_| {})).await;
    assert_eq!(
        active.admission,
        Admission::Revision(id.clone(), RevisionReason::State)
    );
    let active = fixture.take(arrival(30, |_| {})).await;
    assert_eq!(
        active.admission,
        Admission::Sighting(id.clone(), SightingReason::Same)
    );
    let passed = fixture.take(arrival(40, |alert| alert.state.passed = true));
    let at_feed = SightingReason::AtFeed(SetAsideReason::Passed);
    assert_eq!(
        passed.await.admission,
        Admission::Sighting(id.clone(), at_feed)
    );
    let view = fixture.store.view(&id.0).await.unwrap();
    let states = view
        .sightings
        .iter()
        .filter_map(|sighting| sighting.state_at_feed());
    assert_eq!(states.collect::<Vec<_>>(), ["passed", "archived"]);
    assert_eq!(view.row.status, CaseStatus::Queued, "it closes no case");
}

async fn a_storm_is_one_case_with_members(fixture: Fixture) {
    let nth = |second: i64, number: i64| {
        arrival(second, |alert| alert.key.id = format!("finding {number}"))
    };
    let batch = (0..25).map(|number| nth(number, number)).collect();
    let accepted = fixture.store.accept(batch).await.unwrap();
    let first = case_of(&accepted[0]);
    let news = accepted
        .iter()
        .filter(|one| one.admission == Admission::New);
    assert_eq!(news.count(), 20);
    let member = Admission::Member(first.clone());
    assert!(accepted[20..].iter().all(|one| one.admission == member));
    let view = fixture.store.view(&first.0).await.unwrap();
    assert_eq!((view.row.members, view.members.len()), (5, 5));
    assert!(
        view.members[0].key.ends_with("finding 24"),
        "{:?}",
        view.members
    );
    let again = fixture.take(nth(30, 22)).await;
    assert_eq!(
        again.admission,
        Admission::Sighting(first, SightingReason::Same)
    );
    let risen = fixture
        .take(arrival(31, |alert| {
            alert.key.id = "finding 22".into();
            alert.severity = Severity::High;
        }))
        .await;
    assert_eq!(risen.admission, Admission::New, "severe ones never drown");
    let elsewhere = fixture
        .take(arrival(32, |alert| {
            alert.key.id = "finding 40".into();
            alert.account = Some("999988887777".into());
        }))
        .await;
    assert_eq!(elsewhere.admission, Admission::New);
    // A person closed the first case. New alerts do not join it.
    let closed = super::workflow::does(CaseActionKind::Closed, 33);
    let first = case_of(&accepted[0]);
    fixture.store.record_action(&first.0, closed).await.unwrap();
    let [second, third] = [1, 2].map(|at| case_of(&accepted[at]));
    let member = Admission::Member(second.clone());
    assert_eq!(fixture.take(nth(34, 41)).await.admission, member);
    // New alerts do not join the second case either, because it was benign.
    let claimed = fixture.store.claim(Lane::Any, 30).await.unwrap();
    let second = claimed.iter().find(|one| one.lease.case_id == second);
    conclude_as(&fixture.store, second.unwrap(), Verdict::FalsePositive).await;
    let member = Admission::Member(third.clone());
    assert_eq!(fixture.take(nth(35, 42)).await.admission, member);
    // New alerts do not join a case that people called a false positive, until they agree with its verdict.
    let verdict = Verdict::FalsePositive;
    let wrong = super::workflow::does(CaseActionKind::Disagreed { verdict }, 36);
    fixture.store.record_action(&third.0, wrong).await.unwrap();
    let member = Admission::Member(case_of(&accepted[3]));
    assert_eq!(fixture.take(nth(37, 43)).await.admission, member);
    let agreed = super::workflow::does(CaseActionKind::Agreed, 38);
    fixture.store.record_action(&third.0, agreed).await.unwrap();
    let member = Admission::Member(third);
    assert_eq!(fixture.take(nth(39, 44)).await.admission, member);
    assert_eq!(fixture.take(nth(900, 50)).await.admission, Admission::New);
}

async fn samples_are_no_part_of_a_storm(fixture: Fixture) {
    let nth = |number: i64, is_sample: bool| {
        arrival(number, |alert| {
            alert.key.id = format!("finding {number}");
            alert.state.sample = is_sample;
        })
    };
    let is_new = |one: &AcceptedAlert| one.admission == Admission::New;
    fixture.take(nth(0, true)).await;
    // Samples do not count, neither within a batch nor across batches.
    let batch = (1..20).map(|number| nth(number, number < 10)).collect();
    let accepted = fixture.store.accept(batch).await.unwrap();
    assert!(accepted.iter().all(is_new));
    for number in 20..30 {
        assert!(is_new(&fixture.take(nth(number, false)).await), "{number}");
    }
    let member = Admission::Member(case_of(&accepted[9]));
    assert_eq!(fixture.take(nth(30, false)).await.admission, member);
    assert!(is_new(&fixture.take(nth(31, true)).await), "it is no alert");
}

async fn run_always_triages(fixture: Fixture) {
    let asked = |second: i64| {
        let mut arrival = arrival(second, |alert| alert.state.archived = true);
        arrival.on_demand = true;
        arrival
    };
    let first = fixture.take(asked(0)).await;
    assert_eq!(first.admission, Admission::New);
    let id = case_of(&first);
    assert_eq!(
        fixture.take(asked(1)).await.admission,
        Admission::Resumed(id.clone())
    );
    for second in 2..9 {
        let claimed = fixture.claim().await;
        conclude(&fixture.store, &claimed).await;
        let again = fixture.take(asked(second)).await.admission;
        assert_eq!(
            again,
            Admission::Revision(id.clone(), RevisionReason::Asked)
        );
    }
}

async fn a_report_tells_what_arrived_until_the_case_ended(fixture: Fixture) {
    let id = case_of(&fixture.accept(DNS).await).0;
    // The report counts the alerts of the same batch and of later ones.
    let mut batch = arrivals(DNS);
    batch.extend(arrivals(DNS));
    fixture.store.accept(batch.into()).await.unwrap();
    let claimed = fixture.claim().await;
    fixture.accept(DNS).await;
    conclude(&fixture.store, &claimed).await;
    fixture.accept(DNS).await;
    let view = fixture.store.view(&id).await.unwrap();
    let report = view.report.unwrap();
    assert_eq!((report.alert.sightings, report.alert.members), (3, 0));
    assert_eq!(view.row.sightings, 4);
}

//! Tests alerts that are judged together with earlier ones, and the time for which a record clears.

use std::net::Ipv4Addr;

use nightshift_alert::{ContentFlag, EventTimes, TraceContext};

use super::super::material_change::uncleared_window;
use super::*;

#[test]
fn when_sightings_were_is_noted_where_nothing_cleared_them() {
    let mut known = concluded(&alert());
    let (first, last) = known.alert.times.window().unwrap();
    let second = Duration::seconds(1);
    let lasts = |change: &dyn Fn(&mut Alert)| {
        let mut alert = alert();
        alert.times.last_seen = Some(last + second);
        change(&mut alert);
        arrival(alert)
    };
    let later = lasts(&|_| {});
    let until = Some((first, last + second));
    let same = || sighting(SightingReason::Same);
    for stage in [TriageStage::Waiting, TriageStage::Begun, TriageStage::Over] {
        known.stage = stage;
        for seen in [
            SightingReason::Same,
            SightingReason::Unchanged,
            SightingReason::Older,
            SightingReason::TooOften(RevisionReason::Actor),
        ] {
            assert_eq!(
                uncleared_window(&later, &sighting(seen), Some(&known)),
                until
            );
        }
        let go_on = Admission::Resumed(id());
        assert_eq!(uncleared_window(&later, &go_on, Some(&known)), until, "run");
    }
    let began = lasts(&|alert| {
        alert.times.first_seen = Some(first - second);
        alert.times.last_seen = Some(last);
    });
    let from = Some((first - second, last));
    assert_eq!(uncleared_window(&began, &same(), Some(&known)), from);
    let at_feed = sighting(SightingReason::AtFeed(SetAsideReason::Archived));
    assert_eq!(uncleared_window(&later, &at_feed, Some(&known)), None);
    assert_eq!(
        uncleared_window(&later, &revision(RevisionReason::Actor), Some(&known)),
        None
    );
    assert_eq!(uncleared_window(&later, &same(), None), None, "of a storm");
    let changes: [&dyn Fn(&mut Alert); 4] = [
        &|alert| alert.times.last_seen = Some(last),
        &|alert| alert.times.last_seen = Some(now() + Duration::seconds(901)),
        &|alert| alert.state.sample = true,
        &|alert| alert.times = EventTimes::default(),
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let found = uncleared_window(&lasts(change), &same(), Some(&known));
        assert_eq!(found, None, "{number}");
    }
    known.verdict = Some(Verdict::FalsePositive);
    for (cleared_until, expected) in [
        (None, None),
        (Some(last + second), None),
        (Some(last), until),
    ] {
        known.cleared_until = cleared_until;
        assert_eq!(uncleared_window(&later, &same(), Some(&known)), expected);
        let found = uncleared_window(&began, &same(), Some(&known));
        assert_eq!(found, from, "it may have begun before the record");
    }
    known.verdict = None;
    Arc::make_mut(&mut known.alert).times = EventTimes::default();
    assert_eq!(
        uncleared_window(&later, &same(), Some(&known)),
        None,
        "nobody knows"
    );
}

#[test]
fn last_event_of_a_sighting_is_kept_though_its_case_was_cleared() {
    let mut known = concluded(&alert());
    known.verdict = Some(Verdict::FalsePositive);
    let (_, last) = known.alert.times.window().unwrap();
    let mut later = alert();
    later.times.last_seen = Some(last + Duration::seconds(1));
    let same = sighting(SightingReason::Same);
    let times = SightingTimes::new(&arrival(later), &same, Some(&known));
    assert_eq!(times.uncleared, None);
    assert_eq!(times.events_until, Some(last + Duration::seconds(1)));
}

#[test]
fn participants_of_an_uncleared_case_join_its_next_triage() {
    let mut known = concluded(&alert());
    let mut next = alert();
    next.indicators = vec![
        address(IndicatorRole::Actor, 7),
        address(IndicatorRole::Related, 8),
    ];
    next.times.last_seen = next.times.last_seen.map(|last| last + Duration::hours(1));
    let came = |admission: &Admission, known: &KnownCase| {
        let alert = alert_to_triage(&arrival(next.clone()), admission, Some(known));
        let alert = alert.as_ref().unwrap_or(&next);
        let before = known
            .alert
            .indicators
            .iter()
            .filter(|one| one.role < IndicatorRole::Related);
        (before.clone().count() > 0 && before.clone().all(|one| alert.indicators.contains(one)))
            && next
                .indicators
                .iter()
                .all(|one| alert.indicators.contains(one))
    };
    for change in [
        RevisionReason::Actor,
        RevisionReason::Severity,
        RevisionReason::NoLongerCleared,
    ] {
        assert!(came(&Admission::Replaced(id(), change), &known), "{change}");
        assert!(came(&revision(change), &known), "{change}");
    }
    assert!(
        !came(&revision(RevisionReason::Asked), &known),
        "as it was given"
    );
    known.verdict = Some(Verdict::BenignTruePositive);
    assert!(
        !came(&revision(RevisionReason::Actor), &known),
        "it was cleared"
    );
    known.stage = TriageStage::Begun;
    assert!(
        came(&revision(RevisionReason::Actor), &known),
        "before this one"
    );
}

#[test]
fn a_case_that_was_not_begun_stays_in_the_trace_that_opened_it() {
    let trace = |text: &str| TraceContext::parse(&format!("00-{text}-00f067aa0ba902b7-01"), None);
    let mut known = concluded(&alert());
    let mut next = alert();
    next.trace = trace("4bf92f3577b34da6a3ce929d0e0e4736");
    let replaced = |known: &KnownCase| {
        let admission = Admission::Replaced(id(), RevisionReason::Severity);
        let arrival = arrival(next.clone());
        alert_to_triage(&arrival, &admission, Some(known))
            .unwrap()
            .trace
    };
    assert!(next.trace.is_some());
    assert_eq!(replaced(&known), None);
    let first = trace("0af7651916cd43dd8448eb211c80319c");
    Arc::make_mut(&mut known.alert).trace.clone_from(&first);
    assert_eq!(replaced(&known), first);
}

#[test]
fn a25_participants_are_bounded_however_often_others_appear() {
    let many = |role, from: u32| {
        let value = move |number| Ipv4Addr::from(from + number).to_string();
        (0..200).map(move |number| Indicator::new(IndicatorKind::Ip, value(number), role))
    };
    let mut known = concluded(&alert());
    for turn in 1..8 {
        let mut next = alert();
        next.indicators = many(IndicatorRole::Actor, turn << 8).collect();
        next.indicators
            .extend(many(IndicatorRole::Target, turn << 16));
        let arrival = arrival(next.clone());
        let came =
            alert_to_triage(&arrival, &revision(RevisionReason::Actor), Some(&known)).unwrap();
        let has = |one| came.indicators.contains(one);
        assert!(next.indicators.iter().all(has), "{turn}: its own");
        assert!(came.indicators.len() <= 512 && came.indicators.is_sorted());
        assert_eq!(came.unseen, turn > 1, "{turn}: somebody was left out");
        let is_cut = |flag: &&ContentFlag| matches!(flag, ContentFlag::Truncated { .. });
        assert_eq!(
            came.flags.iter().filter(is_cut).count(),
            usize::from(turn > 1)
        );
        if turn == 2 {
            let before = known.alert.indicators.iter().filter(|one| has(one));
            assert!(before.clone().count() > 100);
            assert!(
                before.clone().all(|one| one.role == IndicatorRole::Actor),
                "they come first"
            );
        }
        known.alert = Arc::new(came);
    }
}

#[test]
fn new_indicators_of_a_cleared_case_allow_24_triages_a_day() {
    let mut known = concluded(&alert());
    known.verdict = Some(Verdict::FalsePositive);
    known.revisions_today = 3;
    for role in [
        IndicatorRole::Actor,
        IndicatorRole::Target,
        IndicatorRole::Remote,
    ] {
        assert!(
            matches!(again(&known, add(role)), Admission::Revision(..)),
            "{role:?}"
        );
    }
    known.revisions_today = 24;
    let too_often = sighting(SightingReason::TooOften(RevisionReason::Actor));
    assert_eq!(again(&known, add(IndicatorRole::Actor)), too_often);
    known.revisions_today = 3;
    let other = |alert: &mut Alert| alert.action = Some("DeleteTrail".into());
    assert_eq!(
        again(&known, other),
        sighting(SightingReason::TooOften(RevisionReason::Action))
    );
    known.cleared_until = known.alert.times.window().map(|(_, last)| last);
    let later = |alert: &mut Alert| {
        other(alert);
        alert.times.last_seen = alert.times.last_seen.map(|last| last + Duration::hours(1));
    };
    assert_eq!(again(&known, later), revision(RevisionReason::Action));
}

#[test]
fn activity_after_its_exoneration_expired_is_triaged_again() {
    let mut known = concluded(&alert());
    let (_, last) = known.alert.times.window().unwrap();
    let later = |alert: &mut Alert| alert.times.last_seen = Some(last + Duration::hours(1));
    known.verdict = Some(Verdict::BenignTruePositive);
    assert_eq!(
        again(&known, later),
        sighting(SightingReason::Same),
        "it never ends"
    );
    known.cleared_until = Some(last + Duration::hours(1));
    assert_eq!(
        again(&known, later),
        sighting(SightingReason::Same),
        "it still holds"
    );
    known.cleared_until = Some(last);
    assert_eq!(again(&known, |_| {}), sighting(SightingReason::Same));
    assert_eq!(
        again(&known, later),
        revision(RevisionReason::NoLongerCleared)
    );
    known.last_event = Some(last + Duration::seconds(1));
    let of_sightings = again(&known, |_| {});
    assert_eq!(of_sightings, revision(RevisionReason::NoLongerCleared));
    known.last_event = None;
    let found = again(&known, |alert| {
        later(alert);
        alert.severity = Severity::High;
    });
    assert_eq!(found, revision(RevisionReason::Severity));
    let found = again(&known, |alert| {
        later(alert);
        alert.state.sample = true;
    });
    assert_eq!(
        found,
        sighting(SightingReason::Unchanged),
        "a sample is no news"
    );
    known.stage = TriageStage::Begun;
    assert_eq!(again(&known, later), sighting(SightingReason::Same));
}

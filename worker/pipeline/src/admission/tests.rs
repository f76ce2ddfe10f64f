//! Tests admission, rule by rule.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::Duration;
use nightshift_alert::{
    Alert, ContentFlag, FeedState, FindingClass, Indicator, IndicatorKind, IndicatorRole, Resource,
    Severity,
};
use nightshift_engine::conclusion::Verdict;

use super::fixture::{address, alert, arrival, concluded, now};
use super::*;

mod order;
mod together;

fn id() -> CaseId {
    CaseId("first".into())
}

/// Returns the admission of the alert after `change`, where `known` is its case.
fn again(known: &KnownCase, change: impl FnOnce(&mut Alert)) -> Admission {
    let mut alert = alert();
    change(&mut alert);
    let ground = AdmissionContext {
        known: Some(known),
        ..AdmissionContext::default()
    };
    admit(&arrival(alert), &ground, &AdmissionPolicy::default())
}

fn sighting(seen: SightingReason) -> Admission {
    Admission::Sighting(id(), seen)
}

fn revision(change: RevisionReason) -> Admission {
    Admission::Revision(id(), change)
}

fn add(role: IndicatorRole) -> impl FnOnce(&mut Alert) {
    move |alert| alert.indicators.push(address(role, 7))
}

/// Returns a change that adds a value.
fn named(kind: IndicatorKind, value: &'static str) -> impl Fn(&mut Alert) {
    move |alert| {
        let one = Indicator::new(kind, value, IndicatorRole::Related);
        alert.indicators.push(one);
    }
}

#[test]
fn a23_what_is_new_in_a_concluded_case_makes_a_revision() {
    let known = concluded(&alert());
    let check = |expected: Admission, found: Admission| assert_eq!(found, expected);
    check(sighting(SightingReason::Same), again(&known, |_| {}));
    check(
        sighting(SightingReason::Same),
        again(&known, |alert| alert.count += 1),
    );
    check(
        revision(RevisionReason::Severity),
        again(&known, |alert| alert.severity = Severity::High),
    );
    check(
        revision(RevisionReason::Type),
        again(&known, |alert| alert.kind = "Other:EC2/Type".into()),
    );
    check(
        revision(RevisionReason::Actor),
        again(&known, add(IndicatorRole::Actor)),
    );
    check(
        revision(RevisionReason::Target),
        again(&known, add(IndicatorRole::Target)),
    );
    check(
        revision(RevisionReason::Remote),
        again(&known, add(IndicatorRole::Remote)),
    );
    check(
        sighting(SightingReason::Unchanged),
        again(&known, add(IndicatorRole::Related)),
    );
    check(
        revision(RevisionReason::Related),
        again(&known, named(IndicatorKind::Principal, "mallory")),
    );
    check(
        revision(RevisionReason::Action),
        again(&known, |alert| alert.action = Some("DeleteTrail".into())),
    );
    check(
        sighting(SightingReason::Unchanged),
        again(&known, |alert| alert.severity = Severity::Low),
    );
    check(
        sighting(SightingReason::Unchanged),
        again(&known, |alert| alert.region = Some("eu-south-2".into())),
    );
    check(
        sighting(SightingReason::Unchanged),
        again(&known, |alert| alert.indicators.clear()),
    );
}

#[test]
fn immaterial_change_waits_for_cooldown_or_inconclusive_end() {
    let elsewhere = |alert: &mut Alert| alert.region = Some("eu-south-2".into());
    let mut known = concluded(&alert());
    known.touched_at = now() - Duration::hours(24);
    assert_eq!(
        again(&known, elsewhere),
        revision(RevisionReason::CooledDown)
    );
    assert_eq!(
        again(&known, |_| {}),
        sighting(SightingReason::Same),
        "for ever"
    );
    for verdict in [None, Some(Verdict::Inconclusive)] {
        let mut known = concluded(&alert());
        known.verdict = verdict;
        assert_eq!(
            again(&known, elsewhere),
            revision(RevisionReason::Inconclusive)
        );
        assert_eq!(again(&known, |_| {}), sighting(SightingReason::Same));
    }
}

#[test]
fn new_content_of_a_disputed_case_is_triaged_and_same_is_not() {
    let elsewhere = |alert: &mut Alert| alert.region = Some("eu-south-2".into());
    for verdict in [
        Verdict::TruePositive,
        Verdict::BenignTruePositive,
        Verdict::FalsePositive,
    ] {
        let mut known = concluded(&alert());
        known.verdict = Some(verdict);
        assert_eq!(
            again(&known, elsewhere),
            sighting(SightingReason::Unchanged)
        );
        known.disputed = true;
        assert_eq!(again(&known, elsewhere), revision(RevisionReason::Disputed));
        assert_eq!(again(&known, |_| {}), sighting(SightingReason::Same));
        assert_eq!(
            again(&known, add(IndicatorRole::Actor)),
            revision(RevisionReason::Actor)
        );
        known.revisions_today = 3;
        let too_often = sighting(SightingReason::TooOften(RevisionReason::Disputed));
        assert_eq!(again(&known, elsewhere), too_often);
        known.stage = TriageStage::Begun;
        assert_eq!(
            again(&known, elsewhere),
            sighting(SightingReason::Unchanged)
        );
    }
}

#[test]
fn pending_case_is_replaced_unless_more_severe() {
    let mut known = concluded(&alert());
    known.stage = TriageStage::Waiting;
    let replaced = Admission::Replaced(id(), RevisionReason::Actor);
    assert_eq!(again(&known, add(IndicatorRole::Actor)), replaced);
    known.revisions_today = 3;
    assert_eq!(
        again(&known, add(IndicatorRole::Actor)),
        replaced,
        "no triage more"
    );
    known.revisions_today = 0;
    let milder = |alert: &mut Alert| {
        alert.severity = Severity::Low;
        alert.indicators.push(address(IndicatorRole::Actor, 7));
    };
    assert_eq!(again(&known, milder), revision(RevisionReason::Actor));
    known.stage = TriageStage::Begun;
    assert_eq!(
        again(&known, add(IndicatorRole::Actor)),
        revision(RevisionReason::Actor)
    );
}

#[test]
fn case_is_retriaged_three_times_a_day_unless_severity_rises() {
    let mut known = concluded(&alert());
    known.revisions_today = 2;
    assert_eq!(
        again(&known, add(IndicatorRole::Actor)),
        revision(RevisionReason::Actor)
    );
    known.revisions_today = 3;
    assert_eq!(
        again(&known, add(IndicatorRole::Actor)),
        sighting(SightingReason::TooOften(RevisionReason::Actor))
    );
    assert_eq!(
        again(&known, |alert| alert.severity = Severity::Critical),
        revision(RevisionReason::Severity)
    );
}

#[test]
fn a23_forged_time_that_has_not_come_silences_nothing() {
    let mut known = concluded(&alert());
    known.disputed = true;
    let elsewhere = |alert: &mut Alert| alert.region = Some("eu-south-2".into());
    for (ahead, becomes) in [
        (Duration::minutes(15), sighting(SightingReason::Older)),
        (Duration::minutes(16), revision(RevisionReason::Disputed)),
        (Duration::days(25_000), revision(RevisionReason::Disputed)),
    ] {
        known.updated = Some(now() + ahead);
        assert_eq!(again(&known, elsewhere), becomes, "{ahead}");
        let found = again(&known, add(IndicatorRole::Actor));
        assert_eq!(found, revision(RevisionReason::Actor), "{ahead}");
    }
}

#[test]
fn a_state_at_the_feed_is_noted_and_its_end_is_news() {
    let inactive = |alert: &mut Alert| {
        alert.state.inactive = true;
        alert.severity = Severity::Critical;
    };
    let mut known = concluded(&alert());
    assert_eq!(
        again(&known, inactive),
        sighting(SightingReason::AtFeed(SetAsideReason::Inactive))
    );
    known.state.inactive = true;
    assert_eq!(again(&known, |_| {}), revision(RevisionReason::State));
}

#[test]
fn urgent_threat_muted_after_its_triage_is_noted() {
    let mut high = alert();
    high.severity = Severity::High;
    let known = concluded(&high);
    let muted = |alert: &mut Alert| {
        alert.severity = Severity::High;
        alert.state.suppressed = true;
    };
    assert_eq!(
        again(&known, muted),
        sighting(SightingReason::AtFeed(SetAsideReason::Suppressed))
    );
    let archived = |alert: &mut Alert| {
        alert.severity = Severity::High;
        alert.state.archived = true;
    };
    assert_eq!(
        again(&known, archived),
        sighting(SightingReason::AtFeed(SetAsideReason::Archived))
    );
    let muted_and_elsewhere = |alert: &mut Alert| {
        muted(alert);
        alert.indicators.push(address(IndicatorRole::Actor, 7));
    };
    assert_eq!(
        again(&known, muted_and_elsewhere),
        revision(RevisionReason::Actor),
        "whoever breaks in may mute"
    );
}

#[test]
fn another_resource_under_the_same_id_is_material() {
    let known = concluded(&alert());
    let add = |id: &'static str| {
        move |alert: &mut Alert| {
            alert.resources.push(Resource {
                kind: "Unheard::Of".into(),
                id: id.into(),
                name: None,
                tags: BTreeMap::new(),
            });
        }
    };
    assert_eq!(
        again(&known, add("queue-7")),
        revision(RevisionReason::Target)
    );
    let blue = "arn:aws:ecs:eu-west-1:1:service/blue/api";
    let mut of_blue = alert();
    add(blue)(&mut of_blue);
    let known_blue = concluded(&of_blue);
    let of_green = |alert: &mut Alert| {
        add("arn:aws:ecs:eu-west-1:1:service/green/api")(alert);
        alert.content = known_blue.alert.content.clone();
    };
    assert_eq!(
        again(&known_blue, of_green),
        revision(RevisionReason::Target)
    );
    let first = known.alert.resources[0].short_id().to_owned();
    let as_arn: &'static str = format!("arn:aws:ec2:eu-west-1:1:instance/{first}").leak();
    assert_eq!(
        again(&known, add(as_arn)),
        sighting(SightingReason::Unchanged),
        "the same by its ARN"
    );
}

#[test]
fn sample_changes_no_real_case_and_real_alert_revises_a_sample() {
    let sample = |alert: &mut Alert| {
        alert.state.sample = true;
        alert.severity = Severity::Critical;
    };
    assert_eq!(
        again(&concluded(&alert()), sample),
        sighting(SightingReason::Unchanged)
    );
    let mut known = concluded(&alert());
    Arc::make_mut(&mut known.alert).state.sample = true;
    known.state.sample = true;
    assert_eq!(again(&known, |_| {}), revision(RevisionReason::State));
}

/// Returns the admission of an alert that has no case.
fn first(
    change: impl FnOnce(&mut Alert),
    ground: AdmissionContext<'_>,
    policy: &AdmissionPolicy,
) -> String {
    let mut alert = alert();
    change(&mut alert);
    let found = admit(&arrival(alert), &ground, policy);
    let why = found.reason().unwrap_or_default();
    format!("{} {why}", found.as_str()).trim().to_owned()
}

#[test]
fn states_and_classes_are_set_aside() {
    let policy = AdmissionPolicy {
        class_exceptions: vec![Match {
            class: vec!["posture".into()],
            ..Match::default()
        }],
        ..AdmissionPolicy::default()
    };
    let state = |change: fn(&mut FeedState)| {
        first(
            |alert| change(&mut alert.state),
            AdmissionContext::default(),
            &policy,
        )
    };
    assert_eq!(state(|_| {}), "new");
    assert_eq!(state(|state| state.sample = true), "new");
    assert_eq!(state(|state| state.archived = true), "set_aside archived");
    assert_eq!(state(|state| state.inactive = true), "set_aside inactive");
    assert_eq!(state(|state| state.resolved = true), "set_aside resolved");
    assert_eq!(
        state(|state| state.suppressed = true),
        "set_aside suppressed"
    );
    let class = |class: FindingClass| {
        first(
            |alert| alert.class = class,
            AdmissionContext::default(),
            &policy,
        )
    };
    assert_eq!(state(|state| state.passed = true), "set_aside passed");
    let urgent = |change: fn(&mut Alert)| {
        let of_high_severity = |alert: &mut Alert| {
            alert.severity = Severity::High;
            change(alert);
        };
        first(of_high_severity, AdmissionContext::default(), &policy)
    };
    assert_eq!(urgent(|alert| alert.state.suppressed = true), "new");
    assert_eq!(urgent(|alert| alert.state.archived = true), "new");
    let archived_and_resolved = |alert: &mut Alert| {
        alert.state.archived = true;
        alert.state.resolved = true;
    };
    assert_eq!(urgent(archived_and_resolved), "set_aside resolved");
    assert_eq!(
        urgent(|alert| alert.state.passed = true),
        "set_aside passed"
    );
    assert_eq!(
        urgent(|alert| alert.state.resolved = true),
        "set_aside resolved"
    );
    let check = |alert: &mut Alert| {
        alert.class = FindingClass::Posture;
        alert.state.suppressed = true;
    };
    assert_eq!(urgent(check), "set_aside suppressed");
    assert_eq!(class(FindingClass::Threat), "new");
    assert_eq!(
        class(FindingClass::Vulnerability),
        "set_aside class:vulnerability"
    );
    assert_eq!(class(FindingClass::Other), "set_aside class:other");
    assert_eq!(class(FindingClass::Posture), "new", "a route wants it");
}

fn mute(severity: Severity) -> Mute {
    Mute {
        name: "m1".into(),
        when: Match {
            feed: Some("guardduty".into()),
            ..Match::default()
        },
        severity,
        until: now() + Duration::days(1),
        why: "a known scanner".into(),
        by: "ana".into(),
    }
}

#[test]
fn mute_hides_up_to_its_severity_until_its_end_and_no_critical() {
    let hidden = |mute: &Mute, severity: Severity| {
        let mutes = [mute.clone()];
        let ground = AdmissionContext {
            mutes: &mutes,
            ..AdmissionContext::default()
        };
        let policy = AdmissionPolicy::default();
        first(|alert| alert.severity = severity, ground, &policy) == "muted m1"
    };
    let medium = mute(Severity::Medium);
    assert!(hidden(&medium, Severity::Low) && hidden(&medium, Severity::Medium));
    assert!(!hidden(&medium, Severity::High));
    let critical = mute(Severity::Critical);
    assert!(hidden(&critical, Severity::High) && !hidden(&critical, Severity::Critical));
    let ended = Mute {
        until: now(),
        ..medium.clone()
    };
    assert!(!hidden(&ended, Severity::Low));
    let other = Mute {
        when: Match {
            feed: Some("scc".into()),
            ..Match::default()
        },
        ..medium
    };
    assert!(!hidden(&other, Severity::Low));
}

#[test]
fn mute_stops_retriage_of_concluded_but_not_of_running_cases() {
    let mutes = [mute(Severity::High)];
    let mut known = concluded(&alert());
    let after = |known: &KnownCase, severity: Severity| {
        let mut alert = alert();
        alert.severity = severity;
        let ground = AdmissionContext {
            known: Some(known),
            mutes: &mutes,
            ..AdmissionContext::default()
        };
        admit(&arrival(alert), &ground, &AdmissionPolicy::default())
    };
    assert_eq!(
        after(&known, Severity::Medium),
        sighting(SightingReason::Same)
    );
    assert_eq!(after(&known, Severity::High), Admission::Muted("m1".into()));
    assert_eq!(
        after(&known, Severity::Critical),
        revision(RevisionReason::Severity)
    );
    known.stage = TriageStage::Begun;
    assert_eq!(
        after(&known, Severity::High),
        revision(RevisionReason::Severity)
    );
}

#[test]
fn the_faults_of_a_mute() {
    assert_eq!(mute(Severity::High).faults(), [""; 0]);
    let bad = Mute {
        when: Match {
            severity_at_least: Some(Severity::High),
            kind: Some("*".into()),
            ..Match::default()
        },
        why: " ".into(),
        by: String::new(),
        ..mute(Severity::Medium)
    };
    insta::assert_snapshot!(bad.faults().join("\n"), @"
    the mute would match everything: add a feed, type, account, region or class
    the mute matches no alert: severity_at_least is above the muted severity
    say why
    add the person who mutes (by)
    ");
    assert_eq!(mute(Severity::Critical).faults().len(), 1);
}

#[test]
fn x16_assumed_severity_is_hidden_by_no_mute_below_high() {
    let covers = |muted: Severity, is_assumed: bool| {
        let mut alert = alert();
        alert.severity = Severity::Medium;
        let value = "9.5".to_owned();
        let flag = ContentFlag::UnknownSeverity { value };
        alert.flags.extend(is_assumed.then_some(flag));
        mute(muted).covers(&alert)
    };
    assert!(covers(Severity::Medium, false));
    assert!(!covers(Severity::Medium, true));
    assert!(covers(Severity::High, true));
}

#[test]
fn x16_mute_of_all_types_is_refused_however_it_is_spelt() {
    let faults = |feed: Option<&str>, glob: &str| {
        let when = Match {
            feed: feed.map(str::to_owned),
            kind: Some(glob.to_owned()),
            ..Match::default()
        };
        let mute = Mute {
            when,
            ..mute(Severity::Medium)
        };
        mute.faults().join("\n")
    };
    let everything = "the mute would match everything: add a feed, type, account, region or class";
    for glob in ["", "*", "**", "?*", "*?", "{a,*}", "[a-z]*"] {
        assert_eq!(faults(None, glob), everything, "{glob}");
    }
    for glob in ["*:*", "*/*", "* *", "[!x]*"] {
        let said = faults(None, glob);
        assert!(
            said.starts_with("the type matches every type of a product: use a prefix"),
            "{glob}: {said}"
        );
        assert_eq!(faults(Some("guardduty"), glob), "", "{glob}: of one feed");
    }
    assert_eq!(faults(None, "Recon:EC2/Port*"), "");
}

#[test]
fn beyond_twenty_cases_in_ten_minutes_mild_ones_join_the_storm() {
    let came = |cases: u32, severity: Severity| {
        let window = StormWindow { cases, first: id() };
        let ground = AdmissionContext {
            window: Some(&window),
            ..AdmissionContext::default()
        };
        first(
            |alert| alert.severity = severity,
            ground,
            &AdmissionPolicy::default(),
        )
    };
    assert_eq!(came(19, Severity::Medium), "new");
    assert_eq!(came(20, Severity::Medium), "member");
    assert_eq!(came(500, Severity::High), "new");
}

#[test]
fn repeated_storm_member_is_a_sighting_and_a_risen_one_a_case() {
    let window = StormWindow {
        cases: 20,
        first: id(),
    };
    let member = concluded(&alert());
    let came = |change: fn(&mut Alert)| {
        let ground = AdmissionContext {
            member: Some(&member),
            window: Some(&window),
            ..AdmissionContext::default()
        };
        first(change, ground, &AdmissionPolicy::default())
    };
    assert_eq!(came(|_| {}), "sighting same");
    assert_eq!(
        came(|alert| alert.state.archived = true),
        "sighting at_feed:archived"
    );
    assert_eq!(came(|alert| alert.action = Some("Other".into())), "member");
    assert_eq!(came(|alert| alert.severity = Severity::High), "new");
}

#[test]
fn run_always_triages() {
    let mutes = [mute(Severity::High)];
    let policy = AdmissionPolicy::default();
    let asked = |known: Option<&KnownCase>| {
        let mut alert = alert();
        alert.state.archived = true;
        let mut arrival = arrival(alert);
        arrival.on_demand = true;
        let ground = AdmissionContext {
            known,
            mutes: &mutes,
            ..AdmissionContext::default()
        };
        admit(&arrival, &ground, &policy)
    };
    assert_eq!(asked(None), Admission::New);
    let mut known = concluded(&alert());
    known.revisions_today = 9;
    assert_eq!(asked(Some(&known)), revision(RevisionReason::Asked));
    for stage in [TriageStage::Waiting, TriageStage::Begun] {
        known.stage = stage;
        assert_eq!(asked(Some(&known)), Admission::Resumed(id()));
    }
}

#[test]
fn x10_run_judges_every_state_of_a_message() {
    let asked = |known: &KnownCase, content: &dyn Fn(&mut Alert)| {
        let mut alert = alert();
        content(&mut alert);
        let mut arrival = arrival(alert);
        arrival.on_demand = true;
        let ground = AdmissionContext {
            known: Some(known),
            ..AdmissionContext::default()
        };
        admit(&arrival, &ground, &AdmissionPolicy::default())
    };
    let mallory = |alert: &mut Alert| {
        let name = "mallory".to_owned();
        let one = Indicator::new(IndicatorKind::Principal, name, IndicatorRole::Actor);
        alert.indicators.push(one);
    };
    let milder = |alert: &mut Alert| {
        mallory(alert);
        alert.severity = Severity::Low;
    };
    let mut known = concluded(&alert());
    known.stage = TriageStage::Waiting;
    let joined = Admission::Replaced(id(), RevisionReason::Actor);
    assert_eq!(asked(&known, &mallory), joined);
    assert_eq!(asked(&known, &milder), revision(RevisionReason::Actor));
    known.stage = TriageStage::Begun;
    assert_eq!(asked(&known, &mallory), revision(RevisionReason::Actor));
    known.stage = TriageStage::Over;
    assert_eq!(asked(&known, &mallory), revision(RevisionReason::Asked));
}

#[test]
fn g2_a_dead_letter_is_announced_whatever_is_muted() {
    let everything = Mute {
        when: Match::default(),
        ..mute(Severity::High)
    };
    let mutes = [everything];
    let ground = AdmissionContext {
        mutes: &mutes,
        ..AdmissionContext::default()
    };
    let mut arrival = arrival(alert());
    arrival.unreadable = Some("cut".into());
    let found = admit(&arrival, &ground, &AdmissionPolicy::default());
    assert_eq!(found, Admission::New);
}

//! Tests that content which was not judged is a change in any order of arrival. An arrival without new content is a
//! sighting.

use nightshift_alert::{Caller, Detail, DetailKind, Direction, EventTimes, Outcome};

use super::*;

type AlertEdit = Box<dyn Fn(&mut Alert)>;

/// Returns changes that add content which the fixture's alert lacks, with the expected reason.
fn contents() -> Vec<(RevisionReason, AlertEdit)> {
    let resource = |alert: &mut Alert| {
        alert.resources.push(Resource {
            kind: String::new(),
            id: "queue-7".into(),
            name: None,
            tags: BTreeMap::new(),
        });
    };
    vec![
        (
            RevisionReason::Severity,
            Box::new(|alert| alert.severity = Severity::Critical),
        ),
        (
            RevisionReason::Type,
            Box::new(|alert| alert.kind = "Other:EC2/Type".into()),
        ),
        (RevisionReason::Actor, Box::new(adds(IndicatorRole::Actor))),
        (
            RevisionReason::Actor,
            Box::new(|alert| alert.unreadable = vec!["/service/who".into()]),
        ),
        (RevisionReason::Actor, Box::new(|alert| alert.unseen = true)),
        (
            RevisionReason::Target,
            Box::new(adds(IndicatorRole::Target)),
        ),
        (RevisionReason::Target, Box::new(resource)),
        (
            RevisionReason::Remote,
            Box::new(adds(IndicatorRole::Remote)),
        ),
        (
            RevisionReason::Remote,
            Box::new(|alert| alert.direction = Some(Direction::Outbound)),
        ),
        (
            RevisionReason::Related,
            Box::new(named(IndicatorKind::Principal, "mallory")),
        ),
        (
            RevisionReason::Related,
            Box::new(named(IndicatorKind::Bucket, "backups")),
        ),
        (
            RevisionReason::Action,
            Box::new(|alert| alert.action = Some("AWS_API_CALL StopLogging".into())),
        ),
        (
            RevisionReason::Action,
            Box::new(|alert| alert.outcome = Some(Outcome::Succeeded)),
        ),
    ]
}

fn adds(role: IndicatorRole) -> impl Fn(&mut Alert) {
    move |alert| add(role)(alert)
}

/// Makes the alert older than the one of the case.
fn older(alert: &mut Alert) {
    alert.times.updated = Some(now() - Duration::hours(2));
}

fn known_without_outcome() -> KnownCase {
    let mut known = concluded(&alert());
    Arc::make_mut(&mut known.alert).outcome = None;
    known
}

#[test]
fn x10_unjudged_content_is_material_in_any_order() {
    let known = known_without_outcome();
    for (number, (change, content)) in contents().into_iter().enumerate() {
        for is_older in [false, true] {
            let found = again(&known, |alert| {
                alert.outcome = None;
                content(alert);
                if is_older {
                    older(alert);
                }
            });
            assert_eq!(found, revision(change), "{number}, older: {is_older}");
        }
    }
}

#[test]
fn x10_unjudged_content_joins_the_triage_that_waits() {
    let mut known = known_without_outcome();
    known.stage = TriageStage::Waiting;
    for (number, (change, content)) in contents().into_iter().enumerate() {
        let mut came = alert();
        came.outcome = None;
        content(&mut came);
        older(&mut came);
        let arrival = arrival(came);
        let ground = AdmissionContext {
            known: Some(&known),
            ..AdmissionContext::default()
        };
        let found = admit(&arrival, &ground, &AdmissionPolicy::default());
        let is_of_another_type = change == RevisionReason::Type;
        let expected = match is_of_another_type {
            true => revision(change),
            false => Admission::Replaced(id(), change),
        };
        assert_eq!(found, expected, "{number}");
        // The alert to triage has the content of both, so that neither is new when it arrives again.
        let both = alert_to_triage(&arrival, &found, Some(&known)).unwrap();
        let mut next = known.clone();
        next.alert = Arc::new(both);
        let once_more = admit(
            &arrival,
            &AdmissionContext {
                known: Some(&next),
                ..AdmissionContext::default()
            },
            &AdmissionPolicy::default(),
        );
        assert_eq!(once_more, sighting(SightingReason::Older), "{number}");
        if !is_of_another_type {
            let newest = again(&next, |alert| alert.outcome = None);
            assert!(matches!(newest, Admission::Sighting(..)), "{number}");
        }
    }
}

#[test]
fn older_message_without_news_is_a_sighting() {
    let mut known = concluded(&alert());
    known.touched_at = now() - Duration::days(9);
    known.disputed = true;
    let found = again(&known, |alert| {
        alert.region = Some("eu-south-2".into());
        alert.severity = Severity::Low;
        older(alert);
    });
    assert_eq!(
        found,
        sighting(SightingReason::Older),
        "neither cooled nor disputed"
    );
    known.state.archived = true;
    assert_eq!(
        again(&known, older),
        sighting(SightingReason::Older),
        "not active"
    );
    let inactive = again(&known, |alert| {
        alert.state.inactive = true;
        alert.severity = Severity::Critical;
        older(alert);
    });
    assert_eq!(
        inactive,
        sighting(SightingReason::Older),
        "its feed has done with it"
    );
    let timeless = again(&concluded(&alert()), |alert| {
        alert.severity = Severity::Critical;
        alert.times.updated = None;
    });
    assert_eq!(
        timeless,
        revision(RevisionReason::Severity),
        "no time is no age"
    );
}

#[test]
fn older_revision_keeps_state_and_time_of_the_newest() {
    let mut known = concluded(&alert());
    known.verdict = Some(Verdict::BenignTruePositive);
    known.state.archived = true;
    Arc::make_mut(&mut known.alert).severity = Severity::High;
    let mut came = alert();
    came.severity = Severity::Low;
    came.severity_sent = "2".into();
    add(IndicatorRole::Actor)(&mut came);
    older(&mut came);
    let both = alert_to_triage(
        &arrival(came),
        &revision(RevisionReason::Actor),
        Some(&known),
    )
    .unwrap();
    assert_eq!(both.severity, Severity::High);
    assert_eq!(both.severity_sent, known.alert.severity_sent);
    assert_eq!(both.times.updated, known.updated);
    assert_eq!(both.content, known.alert.content);
    assert!(both.state.archived && !both.state.sample);
    let is_in = |one| both.indicators.contains(one);
    assert!(
        known.alert.with_role(IndicatorRole::Target).all(is_in),
        "of both"
    );
}

#[test]
fn real_alert_older_than_a_sample_is_news() {
    let mut known = concluded(&alert());
    Arc::make_mut(&mut known.alert).state.sample = true;
    known.state.sample = true;
    assert_eq!(again(&known, older), revision(RevisionReason::State));
    let mut came = alert();
    older(&mut came);
    let both = alert_to_triage(
        &arrival(came),
        &revision(RevisionReason::State),
        Some(&known),
    )
    .unwrap();
    assert!(!both.is_sample());
}

#[test]
fn milder_news_join_what_waits_when_triages_are_used_up() {
    let mut known = concluded(&alert());
    known.stage = TriageStage::Waiting;
    known.revisions_today = 3;
    let mut came = alert();
    came.severity = Severity::Low;
    add(IndicatorRole::Actor)(&mut came);
    let arrival = arrival(came);
    let ground = AdmissionContext {
        known: Some(&known),
        ..AdmissionContext::default()
    };
    let found = admit(&arrival, &ground, &AdmissionPolicy::default());
    assert_eq!(found, Admission::Replaced(id(), RevisionReason::Actor));
    let both = alert_to_triage(&arrival, &found, Some(&known)).unwrap();
    assert_eq!(both.severity, Severity::Medium, "the greatest is triaged");
    assert!(both.indicators.contains(&address(IndicatorRole::Actor, 7)));
}

#[test]
fn session_of_a_known_role_is_not_new() {
    let session = |value| named(IndicatorKind::Principal, value);
    let mut first = alert();
    session("AROAEXAMPLE1:run-1")(&mut first);
    let known = concluded(&first);
    let of = |value: &'static str| {
        again(&known, |alert| {
            session("AROAEXAMPLE1:run-1")(alert);
            session(value)(alert);
        })
    };
    assert_eq!(
        of("AROAEXAMPLE1:run-2"),
        sighting(SightingReason::Unchanged)
    );
    assert_eq!(of("AROAEXAMPLE2:run-1"), revision(RevisionReason::Related));
    assert_eq!(of("project:run-1"), revision(RevisionReason::Related));
}

#[test]
fn joined_alert_has_what_the_policy_reads_of_both() {
    let caller = |name: &str| Caller {
        principal: Some(name.into()),
        ..Caller::default()
    };
    let operation = |value: &str| Detail {
        kind: DetailKind::Operation,
        value: value.into(),
        about: None,
    };
    let mut known = concluded(&alert());
    let last = Arc::make_mut(&mut known.alert);
    last.callers = vec![caller("ana")];
    last.unreadable = vec!["/who".into()];
    last.unseen = true;
    last.direction = Some(Direction::Outbound);
    last.details = vec![operation("iam.amazonaws.com CreateUser")];
    last.action = Some("AWS_API_CALL CreateUser".into());
    let mut came = alert();
    came.callers = vec![caller("ben")];
    came.direction = Some(Direction::Inbound);
    came.details = vec![operation("iam.amazonaws.com ListUsers")];
    came.action = Some("AWS_API_CALL ListUsers".into());
    let arrival = arrival(came);
    let both = alert_to_triage(&arrival, &revision(RevisionReason::Action), Some(&known)).unwrap();
    assert_eq!(both.callers, [caller("ana"), caller("ben")]);
    assert_eq!(both.unreadable, ["/who"]);
    assert!(both.unseen);
    assert_eq!(both.direction, Some(Direction::Outbound));
    let operations: Vec<&str> = both.details_of(DetailKind::Operation).collect();
    assert_eq!(
        operations,
        [
            "iam.amazonaws.com CreateUser",
            "iam.amazonaws.com ListUsers"
        ]
    );
    // The previous action is recognised by its operation.
    let before = (*known.alert).clone();
    known.alert = Arc::new(both);
    let found = again(&known, |alert| {
        *alert = before;
        older(alert);
    });
    assert_eq!(found, sighting(SightingReason::Older));
}

/// Returns distinct addresses as actors.
fn actors(from: u32, count: u32) -> impl Iterator<Item = Indicator> {
    (from..from + count).map(|number| {
        let value = std::net::Ipv4Addr::from(0x0a00_0000 + number).to_string();
        Indicator::new(IndicatorKind::Ip, value, IndicatorRole::Actor)
    })
}

#[test]
fn a25_full_case_says_so_once_and_grows_no_more() {
    let mut known = concluded(&alert());
    let mut revisions = 0;
    for turn in 1..20 {
        let mut came = alert();
        came.times = EventTimes::default();
        came.indicators = actors(turn * 100, 100).collect();
        let arrival = arrival(came);
        let ground = AdmissionContext {
            known: Some(&known),
            ..AdmissionContext::default()
        };
        let found = admit(&arrival, &ground, &AdmissionPolicy::default());
        if known.alert.unseen {
            assert_eq!(found, sighting(SightingReason::Full), "{turn}");
            continue;
        }
        assert_eq!(found, revision(RevisionReason::Actor), "{turn}");
        revisions += 1;
        known.alert = Arc::new(alert_to_triage(&arrival, &found, Some(&known)).unwrap());
        assert!(known.alert.indicators.len() <= 512);
    }
    assert!(known.alert.unseen, "it says that somebody was left out");
    assert_eq!(revisions, 6, "five that fit, and one that says so");
    let worse = again(&known, |alert| alert.severity = Severity::High);
    assert_eq!(worse, revision(RevisionReason::Severity));
}

/// Two alerts of one finding in one message. The second is older, more severe, and has another actor.
const OUT_OF_ORDER: &str = r#"[
    {"type": "Discovery:IAMUser/AnomalousBehavior", "id": "f1", "accountId": "444455556666", "severity": 5,
     "createdAt": "2026-02-25T10:00:00Z", "updatedAt": "2026-02-25T10:32:00Z",
     "resource": {"accessKeyDetails": {"userName": "ci-inventory", "userType": "AssumedRole"}},
     "service": {"detectorId": "12abc"}},
    {"type": "Discovery:IAMUser/AnomalousBehavior", "id": "f1", "accountId": "444455556666", "severity": 9.5,
     "createdAt": "2026-02-25T10:00:00Z", "updatedAt": "2026-02-25T10:31:00Z",
     "resource": {"accessKeyDetails": {"userName": "mallory", "userType": "AssumedRole"}},
     "service": {"detectorId": "12abc"}}
]"#;

#[test]
fn x10_older_alert_of_the_same_message_is_judged() {
    let options = nightshift_alert::ReadOptions::default();
    let batch = nightshift_alert::read_message(OUT_OF_ORDER.as_bytes(), &options).unwrap();
    let [first, second] = batch.alerts.as_slice() else {
        panic!("{batch:?}");
    };
    for stage in [TriageStage::Waiting, TriageStage::Begun, TriageStage::Over] {
        let mut known = concluded(first);
        known.stage = stage;
        known.verdict = (stage == TriageStage::Over).then_some(Verdict::BenignTruePositive);
        let arrival = arrival(second.clone());
        let ground = AdmissionContext {
            known: Some(&known),
            ..AdmissionContext::default()
        };
        let found = admit(&arrival, &ground, &AdmissionPolicy::default());
        let is_triaged = match stage {
            TriageStage::Waiting => found == Admission::Replaced(id(), RevisionReason::Severity),
            _ => found == revision(RevisionReason::Severity),
        };
        assert!(is_triaged, "{stage:?}: {found:?}");
        let both = alert_to_triage(&arrival, &found, Some(&known)).unwrap();
        assert_eq!(both.severity, Severity::Critical, "{stage:?}");
        for name in ["ci-inventory", "mallory"] {
            assert!(
                both.has_indicator(IndicatorKind::Principal, name),
                "{stage:?}"
            );
        }
    }
}

use nightshift_alert::IndicatorKind;
use nightshift_engine::exoneration::RecordMismatch;
use nightshift_engine::verdict_policy::{check_record, clears};

use super::*;
use crate::testing::{alert, at};

/// Returns a person's benign verdict of a month ago about the same subjects.
fn decision() -> PersonDecision {
    let alert = alert();
    PersonDecision {
        case_id: "k3f9-x2mq-7d1w".to_owned(),
        verdict: Verdict::BenignTruePositive,
        by: "ana".to_owned(),
        at: at("2026-02-01T09:00:00Z"),
        kind: alert.kind.clone(),
        account: alert.account.clone(),
        actors: alert.with_role(IndicatorRole::Actor).cloned().collect(),
        targets: alert.with_role(IndicatorRole::Target).cloned().collect(),
        remotes: alert.with_role(IndicatorRole::Remote).cloned().collect(),
        resources: alert.resources.clone(),
        severity: alert.severity,
        first_seen: Some(at("2026-02-01T01:00:00Z")),
        ended_at: None,
    }
}

/// Returns whether this decision clears the alert by the rules of the engine.
fn is_cleared(decision: &PersonDecision, alert: &Alert) -> bool {
    let mut facts = exonerations(decision, alert);
    facts.retain(|fact| check_record(fact, alert).is_ok());
    clears(&facts, alert)
}

#[test]
fn benign_verdict_of_a_person_clears_same_type_actors_account() {
    let facts = exonerations(&decision(), &alert());
    assert_eq!(facts.len(), 6, "one for each subject");
    assert!(is_cleared(&decision(), &alert()));
    let fact = &facts[0];
    assert_eq!(
        (fact.kind.as_str(), fact.approved_by.as_str()),
        (KIND, "ana")
    );
    assert_eq!(
        fact.statement,
        "on 2026-02-01 ana decided that the same by the same actor was authorised (case k3f9-x2mq-7d1w)"
    );
    assert!(!fact.detection_wrong);
    let wrong = PersonDecision {
        verdict: Verdict::FalsePositive,
        ..decision()
    };
    assert!(exonerations(&wrong, &alert())[0].detection_wrong);
}

#[test]
fn another_actor_clears_nothing() {
    let address = Indicator::new(IndicatorKind::Ip, "203.0.113.99", IndicatorRole::Actor);
    let mut one_more = alert();
    one_more.indicators.push(address.clone());
    assert!(!is_cleared(&decision(), &one_more), "one actor more");
    let mut none = alert();
    none.indicators
        .retain(|one| one.role != IndicatorRole::Actor);
    assert!(!is_cleared(&decision(), &none), "nobody acts");
    let by_another = PersonDecision {
        actors: vec![address],
        ..decision()
    };
    assert!(!is_cleared(&by_another, &alert()), "another actor");
}

#[test]
fn the_next_key_of_a_session_is_no_other_actor() {
    let with_key = |id: &str| {
        let mut alert = alert();
        alert
            .indicators
            .retain(|one| one.kind != IndicatorKind::AccessKey);
        let key = Indicator::new(IndicatorKind::AccessKey, id, IndicatorRole::Actor);
        alert.indicators.push(key);
        exonerations(&decision(), &alert)
    };
    let facts = with_key("ASIANEXT0000000000001");
    let subjects: Vec<&str> = facts.iter().map(|fact| fact.subject.as_str()).collect();
    let judged = [
        "203.0.113.42",
        "prod-payments-worker",
        "i-0a1b2c3d4e5f60718",
        "payments-ledger",
        "pool.minexmr.com",
    ];
    assert_eq!(subjects, judged);
    assert!(
        facts
            .iter()
            .all(|fact| fact.scope.account == alert().account)
    );
    assert_eq!(with_key("AKIANEXT0000000000001"), [], "a key that lasts");
}

#[test]
fn other_target_or_severity_or_a_later_true_positive_ends_it() {
    let mut other = alert();
    let machine = Indicator::new(IndicatorKind::Instance, "i-2", IndicatorRole::Target);
    other.indicators.push(machine);
    assert!(!is_cleared(&decision(), &other));
    let mut severe = alert();
    severe.severity = nightshift_alert::Severity::Critical;
    assert!(severe.severity > decision().severity);
    assert!(!is_cleared(&decision(), &severe));
    let ended = PersonDecision {
        ended_at: Some(at("2026-02-10T09:00:00Z")),
        ..decision()
    };
    assert!(!is_cleared(&ended, &alert()));
}

#[test]
fn another_type_account_or_verdict_clears_nothing() {
    let mut nowhere = alert();
    nowhere.account = None;
    for (what, decision, alert) in [
        (
            "other type",
            PersonDecision {
                kind: "Discovery:IAMUser/AnomalousBehavior.2".to_owned(),
                ..decision()
            },
            alert(),
        ),
        (
            "a type is no pattern",
            PersonDecision {
                kind: "Discovery:*".to_owned(),
                ..decision()
            },
            alert(),
        ),
        (
            "other account",
            PersonDecision {
                account: Some("999988887777".to_owned()),
                ..decision()
            },
            alert(),
        ),
        (
            "no account on either side",
            PersonDecision {
                account: None,
                ..decision()
            },
            nowhere,
        ),
        (
            "not benign",
            PersonDecision {
                verdict: Verdict::TruePositive,
                ..decision()
            },
            alert(),
        ),
        (
            "not decided",
            PersonDecision {
                verdict: Verdict::Inconclusive,
                ..decision()
            },
            alert(),
        ),
    ] {
        assert!(!is_cleared(&decision, &alert), "{what}");
    }
}

#[test]
fn what_nobody_said_clears_nothing() {
    let nobodys = PersonDecision {
        by: " ".to_owned(),
        ..decision()
    };
    assert!(!is_cleared(&nobodys, &alert()));
}

#[test]
fn it_holds_for_ninety_days_and_not_before_what_was_judged() {
    let mut alert = alert();
    for (first, last, expected) in [
        ("2026-02-01T01:00:00Z", "2026-02-01T02:00:00Z", None),
        ("2026-03-02T02:00:00Z", "2026-05-02T09:00:00Z", None),
        (
            "2026-03-02T02:00:00Z",
            "2026-05-03T09:00:00Z",
            Some(RecordMismatch::OtherTime),
        ),
        (
            "2026-01-31T23:00:00Z",
            "2026-02-01T02:00:00Z",
            Some(RecordMismatch::OtherTime),
        ),
    ] {
        alert.times.first_seen = Some(at(first));
        alert.times.last_seen = Some(at(last));
        let facts = exonerations(&decision(), &alert);
        assert_eq!(
            check_record(&facts[0], &alert).err(),
            expected,
            "{first} {last}"
        );
    }
    alert.times = nightshift_alert::EventTimes::default();
    let facts = exonerations(&decision(), &alert);
    assert_eq!(check_record(&facts[0], &alert), Err(RecordMismatch::NoTime));
}

//! Provides shared test fixtures of the engine: an alert, tools, an opened case.

use std::sync::Arc;

use chrono::{DateTime, TimeZone, Utc};
use nightshift_alert::{
    Alert, AlertKey, CloudProvider, ContentHash, EventTimes, FeedState, Indicator, IndicatorKind,
    IndicatorRole, Resource, Severity,
};

use crate::event::{AnalystKind, CaseSetup, Event, EventBody, JOURNAL_VERSION};
use crate::exoneration::{Exoneration, RecordExtent, RecordScope};
use crate::fold::fold;
use crate::limits::{Cost, TriageLimits};
use crate::state::CaseState;
use crate::strategy::TriageOptions;
use crate::tool::{Argument, ArgumentKind, Reach, ToolSpec};

pub(crate) const ACCOUNT: &str = "444455556666";

pub(crate) fn at(second: i64) -> DateTime<Utc> {
    Utc.timestamp_opt(1_772_419_000 + second, 0).unwrap()
}

pub(crate) fn alert() -> Alert {
    Alert {
        key: AlertKey {
            product: "guardduty".into(),
            id: "f1".into(),
            account: ACCOUNT.into(),
        },
        content: ContentHash("c".into()),
        feed: "guardduty".into(),
        kind: "UnauthorizedAccess:EC2/SSHBruteForce".into(),
        title: "198.51.100.7 is performing SSH brute force attacks against i-1".into(),
        description: String::new(),
        severity: Severity::High,
        severity_sent: "8".into(),
        provider: CloudProvider::Aws,
        account: Some(ACCOUNT.into()),
        account_name: None,
        region: Some("eu-west-1".into()),
        class: nightshift_alert::FindingClass::Threat,
        class_sent: None,
        action: Some("NETWORK_CONNECTION".into()),
        resources: vec![Resource {
            kind: "Instance".into(),
            id: "i-1".into(),
            name: Some("web-1".into()),
            tags: std::collections::BTreeMap::new(),
        }],
        indicators: vec![
            Indicator::new(IndicatorKind::Ip, "198.51.100.7", IndicatorRole::Actor),
            Indicator::new(IndicatorKind::Instance, "i-1", IndicatorRole::Target),
        ],
        principals: Vec::new(),
        addresses: Vec::new(),
        callers: Vec::new(),
        direction: None,
        unreadable: Vec::new(),
        unseen: false,
        details: Vec::new(),
        remediation: None,
        finding_id: None,
        outcome: None,
        techniques: Vec::new(),
        times: EventTimes {
            first_seen: Some(at(0)),
            last_seen: Some(at(60)),
            created: Some(at(90)),
            updated: Some(at(90)),
        },
        count: 3,
        state: FeedState::default(),
        flags: Vec::new(),
        trace: None,
        raw: serde_json::json!({"id": "f1", "service": {"count": 3}}).into(),
    }
}

/// Returns an approved record about a value of the alert's account, valid two hours around its events.
pub(crate) fn record(subject_type: IndicatorKind, subject: &str) -> Exoneration {
    Exoneration {
        kind: "identity".to_owned(),
        subject_type,
        subject: subject.to_owned(),
        from: Some(at(-3_600)),
        until: Some(at(3_600)),
        slack_mins: 0,
        covers: vec!["*".to_owned()],
        approved_by: "grace".to_owned(),
        reference: "R-1".to_owned(),
        statement: "it is expected".to_owned(),
        detection_wrong: false,
        scope: RecordScope {
            account: Some(ACCOUNT.to_owned()),
            ..RecordScope::default()
        },
        extent: RecordExtent::default(),
        evidence: None,
    }
}

pub(crate) fn tools() -> Vec<ToolSpec> {
    let argument = |name: &str, kind, required| Argument {
        name: name.into(),
        description: String::new(),
        kind,
        required,
    };
    vec![
        ToolSpec {
            name: "past_cases".into(),
            kind: "past_cases".into(),
            description: String::new(),
            arguments: Vec::new(),
            reach: Reach::Internal,
            trust: Vec::new(),
            needs: None,
            families: Vec::new(),
        },
        ToolSpec {
            name: "lookup".into(),
            kind: "lookup".into(),
            description: String::new(),
            arguments: vec![
                argument(
                    "indicator",
                    ArgumentKind::Indicator {
                        types: vec![IndicatorKind::Ip, IndicatorKind::Domain],
                    },
                    true,
                ),
                argument("limit", ArgumentKind::Number { min: 1, max: 9 }, false),
                argument("since", ArgumentKind::Time, false),
            ],
            reach: Reach::Internal,
            trust: Vec::new(),
            needs: None,
            families: Vec::new(),
        },
    ]
}

pub(crate) fn opened(limits: TriageLimits) -> CaseSetup {
    CaseSetup {
        version: JOURNAL_VERSION,
        case_id: "case".into(),
        revision: 1,
        alert: Arc::new(alert()),
        profile: "default".into(),
        analyst: AnalystKind::Playbook,
        models: Vec::new(),
        limits,
        reserve: Cost::default(),
        tools: tools().into(),
        actions: Arc::new([]),
        options: TriageOptions::default(),
        delimiter: String::new(),
        pseudonym_key: String::new(),
        prompts_hash: String::new(),
        previous_run: None,
    }
}

pub(crate) fn opening(limits: TriageLimits) -> Vec<Event> {
    vec![
        Event::new(at(100), EventBody::Opened(Box::new(opened(limits)))),
        Event::new(at(100), EventBody::Claimed { epoch: 1 }),
    ]
}

pub(crate) fn opened_state() -> CaseState {
    fold(&opening(TriageLimits::default()))
}

/// Returns the configuration of a property test with `usual` cases, or those of `NIGHTSHIFT_TEST_CASES`.
pub(crate) fn cases(usual: u32) -> proptest::test_runner::Config {
    #[expect(
        clippy::disallowed_methods,
        reason = "a switch for tests: how many cases to generate"
    )]
    let wanted = std::env::var("NIGHTSHIFT_TEST_CASES").ok();
    proptest::test_runner::Config {
        cases: wanted.and_then(|many| many.parse().ok()).unwrap_or(usual),
        failure_persistence: None,
        ..proptest::test_runner::Config::default()
    }
}

//! Tests admission over any sequence of arrivals of a few keys, in any order. No subject is lost, and there are at most
//! three revisions a day. A rise in severity always leads to a triage. The state and time that count are those of the
//! newest alert.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use chrono::{DateTime, Duration, Utc};
use nightshift_alert::{Alert, Indicator, IndicatorRole, Severity};
use nightshift_engine::conclusion::Verdict;
use proptest::prelude::*;

use super::fixture::{address, alert, arrival, now};
use super::*;

/// Event of a sequence.
#[derive(Debug, Clone)]
enum StoryEvent {
    Arrives {
        key: u8,
        updated: i64,
        severity: usize,
        actor: u8,
        archived: bool,
    },
    Begins(u8),
    Ends(u8, bool),
    IsDisputed(u8),
    Passes(i64),
}

fn happens() -> impl Strategy<Value = StoryEvent> {
    // Times lie before the start, because an alert ahead of the worker's clock has no order.
    let arrives = (0..3_u8, -30..1_i64, 0..5_usize, 0..6_u8, any::<u8>()).prop_map(
        |(key, updated, severity, actor, archived)| StoryEvent::Arrives {
            key,
            updated,
            severity,
            actor,
            archived: archived < 32,
        },
    );
    prop_oneof![
        5 => arrives,
        2 => (0..3_u8).prop_map(StoryEvent::Begins),
        2 => (0..3_u8, any::<bool>()).prop_map(|(key, open)| StoryEvent::Ends(key, open)),
        1 => (0..3_u8).prop_map(StoryEvent::IsDisputed),
        1 => (1..30_i64).prop_map(StoryEvent::Passes),
    ]
}

/// A case as a store keeps it: the alerts to triage, the first of them now.
#[derive(Debug)]
struct Case {
    id: CaseId,
    alerts: Vec<Alert>,
    begun: bool,
    over: bool,
    verdict: Option<Verdict>,
    disputed: bool,
    state: FeedState,
    updated: Option<DateTime<Utc>>,
    touched_at: DateTime<Utc>,
    revisions: Vec<(DateTime<Utc>, RevisionReason)>,
    /// The greatest admitted severity, and the greatest whose triage began.
    admitted: Severity,
    triaged: Severity,
    /// Subjects that were admitted, and those in a triage that began.
    let_in: BTreeSet<Indicator>,
    judged: BTreeSet<Indicator>,
}

impl Case {
    fn open(key: u8, alert: Alert, at: DateTime<Utc>) -> Self {
        Self {
            id: CaseId(key.to_string()),
            begun: false,
            over: false,
            verdict: None,
            disputed: false,
            state: alert.state,
            updated: alert.times.updated,
            touched_at: at,
            revisions: Vec::new(),
            admitted: alert.severity,
            triaged: Severity::Informational,
            let_in: alert.indicators.iter().cloned().collect(),
            judged: BTreeSet::new(),
            alerts: vec![alert],
        }
    }

    fn known_case(&self, at: DateTime<Utc>) -> KnownCase {
        let stage = match self.alerts.len() {
            1 if self.over => TriageStage::Over,
            1 if self.begun => TriageStage::Begun,
            _ => TriageStage::Waiting,
        };
        let day_ago = at - Duration::hours(24);
        let today = self.revisions.iter().filter(|(then, _)| *then > day_ago);
        KnownCase {
            id: self.id.clone(),
            stage,
            verdict: self.verdict,
            disputed: self.disputed,
            alert: Arc::new(self.alerts.last().unwrap().clone()),
            state: self.state,
            updated: self.updated,
            cleared_until: None,
            last_event: None,
            touched_at: self.touched_at,
            revisions_today: u32::try_from(today.count()).unwrap(),
        }
    }

    /// Makes this alert the one that counts.
    fn takes(&mut self, alert: &Alert) {
        assert!(alert.times.updated >= self.updated, "what is older has won");
        self.state = alert.state;
        self.updated = alert.times.updated;
    }

    /// Notes the alert as admitted.
    fn admits(&mut self, alert: &Alert) {
        self.admitted = self.admitted.max(alert.severity);
        self.let_in.extend(alert.indicators.iter().cloned());
    }

    fn revise(&mut self, alert: Alert, change: RevisionReason, at: DateTime<Utc>) {
        self.revisions.push((at, change));
        if self.over {
            self.alerts.clear();
            (self.over, self.begun, self.touched_at) = (false, false, at);
        }
        self.alerts.push(alert);
    }

    fn begin(&mut self) {
        if !self.over {
            self.begun = true;
            let alert = self.alerts.first().unwrap();
            self.triaged = self.triaged.max(alert.severity);
            self.judged.extend(alert.indicators.iter().cloned());
        }
    }

    fn end(&mut self, verdict: Verdict, at: DateTime<Utc>) {
        if !self.begun || self.over {
            return;
        }
        (self.verdict, self.touched_at) = (Some(verdict), at);
        if self.alerts.len() > 1 {
            self.alerts.remove(0);
            self.begun = false;
        } else {
            self.over = true;
        }
    }

    fn check_revisions(&self) {
        let mild: Vec<_> = self
            .revisions
            .iter()
            .filter(|(_, why)| *why != RevisionReason::Severity)
            .collect();
        for (at, _) in &mild {
            let day = mild
                .iter()
                .filter(|(then, _)| then <= at && *at - *then < Duration::hours(24));
            assert!(day.count() <= 3, "{:?}", self.revisions);
        }
    }
}

fn arrives(cases: &mut BTreeMap<u8, Case>, key: u8, alert: Alert, at: DateTime<Utc>) {
    let mut arrival = arrival(alert);
    arrival.at = at;
    let alert = (*arrival.alert).clone();
    let known = cases.get(&key).map(|case| case.known_case(at));
    let ground = AdmissionContext {
        known: known.as_ref(),
        ..AdmissionContext::default()
    };
    let found = admit(&arrival, &ground, &AdmissionPolicy::default());
    let Some(known) = known else {
        match found {
            Admission::New => drop(cases.insert(key, Case::open(key, alert, at))),
            other => assert!(
                alert.state.archived && other == Admission::SetAside(SetAsideReason::Archived),
                "{other:?}"
            ),
        }
        return;
    };
    let case = cases.get_mut(&key).unwrap();
    let is_older = alert.times.updated < known.updated;
    let has_risen = alert.severity > known.alert.severity && !alert.state.archived;
    let is_known = |one| known.alert.indicators.contains(one);
    let brings_nothing = alert.state.archived || alert.indicators.iter().all(is_known);
    let triaged = alert_to_triage(&arrival, &found, Some(&known)).unwrap_or_else(|| alert.clone());
    match found {
        Admission::Sighting(_, SightingReason::AtFeed(_)) => case.takes(&alert),
        Admission::Sighting(_, seen) => {
            assert!(!has_risen, "a rise was lost");
            let is_too_often = matches!(seen, SightingReason::TooOften(_));
            assert!(is_too_often || brings_nothing, "somebody was lost: {seen}");
            assert!(is_older || seen != SightingReason::Older);
        }
        Admission::Replaced(_, _) => {
            case.admits(&alert);
            case.takes(&triaged);
            *case.alerts.last_mut().unwrap() = triaged;
        }
        Admission::Revision(_, change) => {
            case.admits(&alert);
            case.takes(&triaged);
            case.revise(triaged, change, at);
        }
        other => panic!("{other:?} of a known key"),
    }
    case.check_revisions();
}

fn play(story: Vec<StoryEvent>) {
    let mut at = now();
    let mut cases: BTreeMap<u8, Case> = BTreeMap::new();
    for one in story {
        match one {
            StoryEvent::Passes(hours) => at += Duration::hours(hours),
            StoryEvent::Begins(key) => cases.get_mut(&key).into_iter().for_each(Case::begin),
            StoryEvent::IsDisputed(key) => cases
                .get_mut(&key)
                .into_iter()
                .for_each(|case| case.disputed = case.over),
            StoryEvent::Ends(key, open) => {
                let verdict = if open {
                    Verdict::Inconclusive
                } else {
                    Verdict::TruePositive
                };
                cases
                    .get_mut(&key)
                    .into_iter()
                    .for_each(|case| case.end(verdict, at));
            }
            StoryEvent::Arrives {
                key,
                updated,
                severity,
                actor,
                archived,
            } => {
                let mut alert = alert();
                alert.times.updated = Some(now() + Duration::hours(updated));
                alert.severity = Severity::ALL[severity];
                alert.indicators = vec![address(IndicatorRole::Actor, actor)];
                alert.state.archived = archived;
                arrives(&mut cases, key, alert, at);
            }
        }
    }
    for case in cases.values_mut() {
        while !case.over {
            case.begin();
            case.end(Verdict::TruePositive, at);
        }
        assert_eq!(case.triaged, case.admitted, "the most severe was triaged");
        assert!(case.let_in.is_subset(&case.judged), "each was judged");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn g2_any_arrivals_keep_the_promises(story in prop::collection::vec(happens(), 1..60)) {
        play(story);
    }
}

//! Provides messages of real products, and the journal of a triaged case.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::{DateTime, TimeZone, Utc};
use nightshift_alert::{Alert, ReadOptions};
use nightshift_engine::event::{
    AnalystKind, CaseSetup, CommandOutcome, Event, EventBody, JOURNAL_VERSION,
};
use nightshift_engine::limits::{Cost, TriageLimits};
use nightshift_engine::tool::ToolOutput;
use nightshift_pipeline::budget::Charge;
use nightshift_pipeline::case::CaseStatus;
use nightshift_pipeline::intake::{Arrival, read_message};
use nightshift_pipeline::port::{CaseClosure, ClaimedCase, Message};
use nightshift_pipeline::report::{ReportProducer, build as build_report};
use serde_json::json;

pub(crate) const DNS: &[u8] =
    include_bytes!("../../../../tests/fixtures/alerts/guardduty-finding.json");
pub(crate) const MINER: &[u8] =
    include_bytes!("../../../../tests/fixtures/alerts/scc-crypto-miner.json");
pub(crate) const THEFT: &[u8] = include_bytes!(
    "../../../../tests/fixtures/alerts/guardduty-eventbridge-credential-exfiltration.json"
);

pub(crate) fn at(second: i64) -> DateTime<Utc> {
    Utc.timestamp_opt(1_772_419_000 + second, 0).unwrap()
}

pub(crate) fn arrivals(bytes: &[u8]) -> Vec<Arrival> {
    let message = Message {
        id: "1".into(),
        bytes: bytes.to_vec(),
        attributes: BTreeMap::new(),
    };
    read_message("test", &message, &ReadOptions::default(), at(0))
}

pub(crate) fn opened(alert: &Alert, case_id: &str) -> Event {
    Event::new(
        at(1),
        EventBody::Opened(Box::new(CaseSetup {
            version: JOURNAL_VERSION,
            case_id: case_id.into(),
            revision: 1,
            alert: Arc::new(alert.clone()),
            profile: "default".into(),
            analyst: AnalystKind::Playbook,
            models: Vec::new(),
            limits: TriageLimits::default(),
            reserve: Cost::default(),
            tools: Arc::new([]),
            actions: Arc::new([]),
            options: nightshift_engine::strategy::TriageOptions::default(),
            delimiter: String::new(),
            pseudonym_key: String::new(),
            prompts_hash: String::new(),
            previous_run: None,
        })),
    )
}

/// Returns the journal of a case that looked at earlier cases and ended in a plain conclusion.
pub(crate) fn whole_journal(claimed: &ClaimedCase) -> (Vec<Event>, CaseClosure) {
    let mut events = vec![
        opened(&claimed.alert, &claimed.lease.case_id.0),
        Event::new(
            at(1),
            EventBody::Claimed {
                epoch: claimed.lease.epoch,
            },
        ),
    ];
    let mut started_and_finished = |id: nightshift_engine::event::CommandId, outcome| {
        events.push(Event::new(
            at(2),
            EventBody::Started {
                id: id.clone(),
                attempt: 1,
                reserved: Cost::default(),
            },
        ));
        events.push(Event::new(
            at(3),
            EventBody::Finished {
                id,
                outcome: Box::new(outcome),
                cost: Cost::default(),
                degraded: None,
                model: None,
                unanswered: Vec::new(),
            },
        ));
    };
    started_and_finished(
        nightshift_engine::event::CommandId::past_cases(),
        CommandOutcome::Called(ToolOutput::from_body(json!({"cases": [], "found": 0}))),
    );
    let conclusion =
        nightshift_engine::conclude::draw_conclusion(&nightshift_engine::fold::fold(&events))
            .unwrap();
    let last = Event::new(at(4), EventBody::Concluded(Box::new(conclusion.clone())));
    let mut all = events.clone();
    all.push(last.clone());
    let report = build_report(
        &nightshift_engine::fold::fold(&all),
        &ReportProducer::default(),
    )
    .unwrap();
    let closing = CaseClosure {
        events: vec![last],
        charge: Charge::default(),
        status: CaseStatus::Concluded,
        conclusion,
        report,
        destinations: vec!["soc".into()],
        wants_model: false,
        recheck_at: None,
    };
    (events, closing)
}

//! Tests re-evaluations of one benign case of a role, after changes of registers and logs.

use std::sync::Mutex;

use async_trait::async_trait;
use nightshift_alert::{Caller, IndicatorKind};
use serde_json::json;

use super::*;
use crate::exoneration::{ListedValues, RecordExtent};
use crate::limits::TriageLimits;
use crate::port::NoMeter;
use crate::tool::{
    Argument, ArgumentKind, CallContext, Reach, ToolOutput, ToolSpec, Trust, TrustedPath,
};
use crate::{fixture, verdict_policy};

const ROLE: &str = "ci-inventory";
const KEY: &str = "ASIAEXAMPLE00000001";
const OURS: &str = "198.51.100.23";
const DAY: i64 = 86_400;

/// Current contents of the registers and the log.
#[derive(Clone)]
struct RecheckFixture {
    rows: Vec<Exoneration>,
    calls: Vec<Value>,
    log_until: i64,
    fails: Option<&'static str>,
    empty: bool,
}

impl RecheckFixture {
    /// Creates the row of the role and its own call, which the alert is about. The log is delivered until a day
    /// later.
    fn new() -> Self {
        Self {
            rows: vec![row()],
            calls: vec![called(30, "ListUsers", true, OURS)],
            log_until: DAY,
            fails: None,
            empty: false,
        }
    }

    async fn recheck(&self) -> RecheckOutcome {
        self.recheck_until(None).await
    }

    async fn recheck_until(&self, events_until: Option<i64>) -> RecheckOutcome {
        let ports = RecheckPorts {
            toolbox: Arc::new(RecheckToolbox(Mutex::new(self.clone()))),
            clock: Arc::new(NoonClock),
            meter: Arc::new(NoMeter),
        };
        let mut opened = fixture::opened(TriageLimits::default());
        opened.alert = Arc::new(alert());
        opened.tools = specs().into();
        let records = [row()];
        let ledger = verdict_policy::build_ledger(&records, &alert());
        let prior = PriorJudgement {
            records: &records,
            ledger: &ledger,
            whole_until: fixture::at(60),
            events_until: events_until.map(fixture::at),
        };
        recheck(&ports, &opened, &prior).await
    }
}

/// Clock at a day and an hour after the events.
struct NoonClock;

impl Clock for NoonClock {
    fn now(&self) -> DateTime<Utc> {
        fixture::at(DAY + 3_600)
    }
}

struct RecheckToolbox(Mutex<RecheckFixture>);

#[async_trait]
impl Toolbox for RecheckToolbox {
    fn specs(&self) -> Vec<ToolSpec> {
        specs()
    }

    async fn call(&self, call: &ToolCall, _: &CallContext) -> Result<ToolOutput, ToolError> {
        let world = self.0.lock().unwrap();
        if world.fails == Some(call.tool.as_str()) {
            let what = "the file is gone".to_owned();
            return Err(ToolError::Unavailable { what });
        }
        let text = |name: &str| call.arguments.get(name).and_then(Value::as_str);
        if call.tool == "identities" {
            let records = usize::from(!world.empty);
            let mut output = ToolOutput::from_body(json!({ "searched": { "records": records } }));
            let rows = world.rows.iter().filter(|_| !world.empty);
            let about = rows.filter(|row| text("principal") == Some(&row.subject));
            output.exonerations = about.cloned().collect();
            return Ok(output);
        }
        if call.tool != "trail" {
            let name = call.tool.clone();
            return Err(ToolError::Unknown { name });
        }
        let time = |name| row_time(&json!({ "at": text(name) })).unwrap();
        let within = |row: &&Value| {
            let at = row_time(row).unwrap();
            let until = world.log_until.min(DAY + 3_600);
            time("since") <= at && at <= time("until").min(fixture::at(until))
        };
        let rows: Vec<&Value> = world.calls.iter().filter(within).collect();
        let mut output = ToolOutput::from_body(json!({
            "searched": {
                "records_from": fixture::at(-9 * DAY),
                "records_until": fixture::at(world.log_until),
                "records_in_time": 9,
            },
            "rows": rows,
        }));
        output.rows = Some(rows.len() as u64);
        Ok(output)
    }
}

fn specs() -> Vec<ToolSpec> {
    let argument = |name: &str, kind| Argument {
        name: name.to_owned(),
        description: String::new(),
        kind,
        required: false,
    };
    let caller = || {
        let types = vec![IndicatorKind::Principal, IndicatorKind::AccessKey];
        argument("principal", ArgumentKind::Indicator { types })
    };
    let spec = |name: &str, kind: &str, arguments, trust| ToolSpec {
        name: name.to_owned(),
        kind: kind.to_owned(),
        description: String::new(),
        arguments,
        reach: Reach::Internal,
        trust: vec![TrustedPath {
            path: String::new(),
            trust,
        }],
        needs: None,
        families: Vec::new(),
    };
    let times = ["since", "until"].map(|name| argument(name, ArgumentKind::Time));
    let of_log = [caller()].into_iter().chain(times).collect();
    vec![
        spec(
            "identities",
            "identity_lookup",
            vec![caller()],
            Trust::Register,
        ),
        spec("trail", "log_search.cloudtrail", of_log, Trust::Platform),
    ]
}

/// Returns the alert of a role that called with a temporary key from an address.
fn alert() -> Alert {
    let mut alert = fixture::alert();
    "Discovery:IAMUser/AnomalousBehavior".clone_into(&mut alert.kind);
    alert.action = Some("AWS_API_CALL ListUsers".to_owned());
    alert.indicators = vec![
        Indicator::new(IndicatorKind::Principal, ROLE, IndicatorRole::Actor),
        Indicator::new(IndicatorKind::AccessKey, KEY, IndicatorRole::Actor),
        Indicator::new(IndicatorKind::Ip, OURS, IndicatorRole::Actor),
    ];
    alert.callers = vec![Caller {
        principal: Some(ROLE.to_owned()),
        access_key: Some(KEY.to_owned()),
        address: Some(OURS.to_owned()),
    }];
    alert
}

fn row() -> Exoneration {
    Exoneration {
        from: Some(fixture::at(-9 * DAY)),
        until: Some(fixture::at(90 * DAY)),
        extent: RecordExtent {
            networks: ListedValues::These(vec!["198.51.100.0/24".to_owned()]),
            calls: ListedValues::These(vec!["TagRole".to_owned()]),
            ..RecordExtent::default()
        },
        ..fixture::record(IndicatorKind::Principal, ROLE)
    }
}

/// Returns a change of the role that is valid in this span.
fn change(from: i64, until: i64) -> Exoneration {
    Exoneration {
        kind: "change".to_owned(),
        reference: "CHG-41".to_owned(),
        from: Some(fixture::at(from)),
        until: Some(fixture::at(until)),
        ..row()
    }
}

fn called(second: i64, action: &str, read_only: bool, source: &str) -> Value {
    json!({
        "at": fixture::at(second), "principal": ROLE, "access_key": KEY, "source_ip": source,
        "action": action, "read_only": read_only,
    })
}

fn covered(until: i64) -> RecheckOutcome {
    RecheckOutcome::Covered {
        whole_until: fixture::at(until),
    }
}

fn describe_outcome(outcome: &RecheckOutcome) -> String {
    match outcome {
        RecheckOutcome::Covered { .. } => "covered".to_owned(),
        RecheckOutcome::NotCovered { cause, detail, at } => {
            let after = at.map(|at| (at - fixture::at(0)).num_seconds());
            format!("{cause:?} {after:?}: {detail}")
        }
        RecheckOutcome::Incomplete {
            detail,
            whole_until,
        } => {
            let after = (*whole_until - fixture::at(0)).num_seconds();
            format!("not whole after {after}: {detail}")
        }
    }
}

#[tokio::test]
async fn unchanged_case_is_covered_until_the_log_ends() {
    assert_eq!(RecheckFixture::new().recheck().await, covered(DAY));
    let mut later = RecheckFixture::new();
    later.log_until = 9 * DAY;
    assert_eq!(later.recheck().await, covered(DAY + 3_600), "until now");
}

#[tokio::test]
async fn row_of_somebody_else_changes_nothing() {
    let mut world = RecheckFixture::new();
    world.rows.push(Exoneration {
        subject: "mallory".to_owned(),
        ..row()
    });
    assert_eq!(world.recheck().await, covered(DAY));
}

#[tokio::test]
async fn withdrawn_row_covers_no_more() {
    let mut world = RecheckFixture::new();
    world.rows = vec![change(-DAY, -3_600)];
    insta::assert_snapshot!(describe_outcome(&world.recheck().await), @"RecordEnded None: identity R-1 does not cover ci-inventory any more");
}

#[tokio::test]
async fn row_that_ended_covers_what_was_before_and_no_later_sighting() {
    let mut world = RecheckFixture::new();
    world.rows[0].until = Some(fixture::at(3_600));
    assert_eq!(world.recheck().await, covered(DAY));
    assert_eq!(world.recheck_until(Some(1_800)).await, covered(DAY));
    insta::assert_snapshot!(describe_outcome(&world.recheck_until(Some(7_200)).await), @"RecordEnded Some(7200): identity R-1 does not cover ci-inventory any more");
}

#[tokio::test]
async fn new_mutating_call_is_not_covered_but_an_expected_one_is() {
    let mut world = RecheckFixture::new();
    world.calls.push(called(7_200, "TagRole", false, OURS));
    world.calls.push(called(7_300, "ListRoles", true, OURS));
    assert_eq!(world.recheck().await, covered(DAY));
    world.calls.push(called(7_400, "CreateUser", false, OURS));
    insta::assert_snapshot!(describe_outcome(&world.recheck().await), @"NewActivity Some(7400): ci-inventory also called CreateUser, which no record expects");
}

#[tokio::test]
async fn new_address_is_not_covered() {
    let mut world = RecheckFixture::new();
    world
        .calls
        .push(called(7_400, "ListRoles", true, "203.0.113.66"));
    insta::assert_snapshot!(describe_outcome(&world.recheck().await), @"NewActivity Some(7400): ci-inventory was also used from 203.0.113.66, which no record covers");
}

#[tokio::test]
async fn new_act_is_covered_by_a_change_in_force_then() {
    let mut world = RecheckFixture::new();
    world.calls.push(called(7_400, "CreateUser", false, OURS));
    world.rows.push(change(7_000, 8_000));
    assert_eq!(world.recheck().await, covered(DAY));
    world.calls.push(called(9_000, "CreateUser", false, OURS));
    insta::assert_snapshot!(describe_outcome(&world.recheck().await), @"NewActivity Some(9000): ci-inventory also called CreateUser, which no record expects");
}

#[tokio::test]
async fn act_before_the_last_whole_judgement_is_not_new() {
    let mut world = RecheckFixture::new();
    world.rows.push(change(0, 60));
    world.calls.push(called(45, "CreateUser", false, OURS));
    assert_eq!(world.recheck().await, covered(DAY));
}

#[tokio::test]
async fn failed_look_up_decides_nothing() {
    for tool in ["identities", "trail"] {
        let mut world = RecheckFixture::new();
        world.fails = Some(tool);
        let outcome = world.recheck().await;
        let is_whole = !matches!(outcome, RecheckOutcome::Incomplete { .. });
        assert!(!is_whole, "{tool}: {outcome:?}");
    }
    let mut empty = RecheckFixture::new();
    empty.empty = true;
    insta::assert_snapshot!(describe_outcome(&empty.recheck().await), @"not whole after 60: identities is empty");
}

#[tokio::test]
async fn log_that_is_not_delivered_decides_nothing() {
    let mut world = RecheckFixture::new();
    world.log_until = 60;
    insta::assert_snapshot!(describe_outcome(&world.recheck().await), @"not whole after 60: trail has nothing after 2026-03-02 02:37 UTC");
}

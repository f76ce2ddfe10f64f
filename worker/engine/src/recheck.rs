//! Re-evaluates a benign case by code alone, without an analyst or a model.
//!
//! It answers two questions. Do the records that cleared the case still cover its events, including later sightings? Do
//! the audit logs show new acts of its actors, since the last evaluation, that no record in force at the time covers? A
//! look-up that is not whole decides nothing: the case does not change and is re-evaluated later.

use std::collections::BTreeSet;
use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use nightshift_alert::{Alert, EventTimes, Indicator, IndicatorRole};
use serde_json::Value;

use crate::driver::call_tool;
use crate::event::{CaseSetup, CommandId, CommandOutcome, Event, EventBody};
use crate::evidence::Evidence;
use crate::exoneration::Exoneration;
use crate::fold::apply;
use crate::ledger_row::LedgerRow;
use crate::limits::Cost;
use crate::log_time_range::LogTimeRange;
use crate::port::{Clock, Meter, Toolbox};
use crate::state::CaseState;
use crate::tool::{ToolCall, ToolError};
use crate::verdict_policy::{Ledger, audit_log, lookup, subject};

/// Maximum time of one search of a log. A search adds an hour at both ends, and takes seven days at most.
const MAX_SPAN: TimeDelta = TimeDelta::hours(7 * 24 - 2);
/// Maximum number of pieces judged in one evaluation. They span more than the 30 days for which a case is
/// re-evaluated.
const MAX_SPANS: usize = 5;
/// Maximum number of rounds of look-ups for the ledger. Answers may name further subjects.
const MAX_ROUNDS: usize = 32;
/// Time after the start of a piece within which a log must have its first record.
const MAX_QUIET: TimeDelta = TimeDelta::minutes(1);
/// Records that are in no register: results of configured rules, and decisions of people.
const NON_REGISTER_KINDS: [&str; 2] = [RULE_KIND, PERSON_KIND];
const RULE_KIND: &str = "benign_when";
const PERSON_KIND: &str = "person_verdict";

/// Ports that a re-evaluation needs.
#[derive(Clone)]
pub struct RecheckPorts {
    /// Tools of the case.
    pub toolbox: Arc<dyn Toolbox>,
    /// Source of the current time.
    pub clock: Arc<dyn Clock>,
    /// Receiver of measurements.
    pub meter: Arc<dyn Meter>,
}

/// Judgement that is re-evaluated.
#[derive(Debug, Clone, Copy)]
pub struct PriorJudgement<'a> {
    /// Records of the report.
    pub records: &'a [Exoneration],
    /// Ledger of the report.
    pub ledger: &'a [LedgerRow],
    /// Time until which the logs were judged whole.
    pub whole_until: DateTime<Utc>,
    /// Last event of later sightings; `None` without a later one.
    pub events_until: Option<DateTime<Utc>>,
}

impl PriorJudgement<'_> {
    fn covered_row(&self, row: &LedgerRow) -> Option<&LedgerRow> {
        self.ledger.iter().find(|prior| {
            prior.covered_by.is_some()
                && prior.subject_type == row.subject_type
                && prior.subject == row.subject
        })
    }
}

/// Reason why a case is no longer covered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecheckCause {
    /// A record that cleared the case has ended or was withdrawn.
    RecordEnded,
    /// A log shows new acts that no record covers.
    NewActivity,
}

/// Outcome of a re-evaluation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecheckOutcome {
    /// Records still cover the case.
    Covered {
        /// Time until which the logs are now judged whole.
        whole_until: DateTime<Utc>,
    },
    /// Records no longer cover the case.
    NotCovered {
        /// Reason for the change.
        cause: RecheckCause,
        /// Reason in half a sentence that names the subject.
        detail: String,
        /// Time of the uncovered event, where it is later than those of the alert.
        at: Option<DateTime<Utc>>,
    },
    /// A look-up was not whole, so nothing is decided.
    Incomplete {
        /// The look-up, in half a sentence.
        detail: String,
        /// Time until which the logs are now judged whole.
        whole_until: DateTime<Utc>,
    },
}

/// Re-evaluates a cleared case. `opened` is the setup that a new triage of it would have.
pub async fn recheck(
    ports: &RecheckPorts,
    opened: &CaseSetup,
    prior: &PriorJudgement<'_>,
) -> RecheckOutcome {
    let recheck = RecheckRun {
        ports,
        opened,
        prior,
    };
    recheck.run().await.unwrap_or_else(|outcome| outcome)
}

struct RecheckRun<'a> {
    ports: &'a RecheckPorts,
    opened: &'a CaseSetup,
    prior: &'a PriorJudgement<'a>,
}

/// Outcome that ends the evaluation, or the value that it continues with.
type RecheckResult<T> = Result<T, RecheckOutcome>;

impl RecheckRun<'_> {
    async fn run(&self) -> RecheckResult<RecheckOutcome> {
        let mut problem = self.judge_alert().await?;
        self.judge_sightings().await?;
        let now = self.ports.clock.now();
        let mut whole_until = self.prior.whole_until;
        for _ in 0..MAX_SPANS {
            if whole_until >= now {
                break;
            }
            let until = now.min(whole_until + MAX_SPAN);
            match self.judge_span(whole_until, until).await? {
                Ok(judged) => {
                    let is_behind = judged < until;
                    whole_until = judged;
                    if is_behind {
                        break;
                    }
                }
                Err(lacks) => {
                    problem.get_or_insert(lacks);
                    break;
                }
            }
        }
        Ok(match problem {
            None => RecheckOutcome::Covered { whole_until },
            Some(detail) => RecheckOutcome::Incomplete {
                detail,
                whole_until,
            },
        })
    }

    /// Judges the alert as its triage did. When records cover it, returns the reason why its look-ups are not whole.
    async fn judge_alert(&self) -> RecheckResult<Option<String>> {
        let mut case = EphemeralCase::open(self, Arc::clone(&self.opened.alert));
        case.load_records().await;
        for _ in 0..MAX_ROUNDS {
            let calls = lookup::required_calls(&case.state);
            if calls.is_empty() {
                break;
            }
            case.call_all(calls).await;
        }
        let Some(ledger) = Ledger::from_state(&case.state) else {
            return Ok(None);
        };
        if ledger.is_covered() {
            return Ok(ledger.missing_lookup(&case.state));
        }
        Err(self.not_covered(&case.state, &ledger, None))
    }

    /// Judges whether the records cover the alert until the last event of later sightings.
    async fn judge_sightings(&self) -> RecheckResult<()> {
        let mut alert = Alert::clone(&self.opened.alert);
        let window = alert.times.window();
        let Some((first, last)) = window
            .zip(self.prior.events_until)
            .map(|((first, _), last)| (first, last))
        else {
            return Ok(());
        };
        if !alert.times.widen(first, last) {
            return Ok(());
        }
        let mut case = EphemeralCase::open(self, Arc::new(alert));
        case.load_records().await;
        case.call_all(lookup::register_calls(case.alert(), &self.opened.tools))
            .await;
        match Ledger::from_state(&case.state) {
            Some(ledger) if !ledger.covers_alert() => {
                Err(self.not_covered(&case.state, &ledger, Some(last)))
            }
            _ => Ok(()),
        }
    }

    /// Distinguishes a subject that lost its record from a new one. Nothing is decided when the registers were not
    /// read whole.
    fn not_covered(
        &self,
        state: &CaseState,
        ledger: &Ledger<'_>,
        at: Option<DateTime<Utc>>,
    ) -> RecheckOutcome {
        let whole_until = self.prior.whole_until;
        if let Some(detail) = incomplete_register(state) {
            return RecheckOutcome::Incomplete {
                detail,
                whole_until,
            };
        }
        let rows = ledger.rows();
        let mut missing = rows.iter().filter(|row| row.missing.is_some());
        if let Some(lost) = missing.find_map(|row| self.prior.covered_row(row)) {
            let record = lost.covered_by.as_ref();
            let named = record.map_or_else(String::new, |record| {
                format!("{} {} ", record.kind.replace('_', " "), record.reference)
            });
            return RecheckOutcome::NotCovered {
                cause: RecheckCause::RecordEnded,
                detail: format!("{named}does not cover {} any more", lost.subject),
                at,
            };
        }
        match ledger.shown_uncovered().filter(|_| ledger.covers_alert()) {
            Some(detail) => RecheckOutcome::NotCovered {
                cause: RecheckCause::NewActivity,
                detail,
                at,
            },
            None => RecheckOutcome::Incomplete {
                detail: "no ledger of the case tells what had cleared it".to_owned(),
                whole_until,
            },
        }
    }

    /// Judges what the logs show of the actors in a span of time. Returns the time until which the logs were searched
    /// whole, or the reason why they were not.
    async fn judge_span(
        &self,
        from: DateTime<Utc>,
        until: DateTime<Utc>,
    ) -> RecheckResult<Result<DateTime<Utc>, String>> {
        let alert = Arc::new(alert_at(&self.opened.alert, from, until));
        let mut case = EphemeralCase::open(self, Arc::clone(&alert));
        let subjects = subject::subjects(&alert);
        let searches = subjects.iter().flat_map(|subject| {
            let specs = audit_log::recording_logs(&self.opened.tools, &alert, subject);
            specs.flat_map(|spec| audit_log::searches(spec, &alert, subject))
        });
        case.call_all(searches.collect()).await;
        let logs: Vec<Arc<Evidence>> = case.answers().cloned().collect();
        let mut judged = until;
        for log in &logs {
            match delivered_until(&case.state, log, from) {
                Ok(last) => judged = judged.min(last),
                Err(lacks) => return Ok(Err(format!("{} {lacks}", log.tool))),
            }
        }
        let shown = audit_log::logged_subjects(&case.state, &alert, &subjects);
        if shown.is_empty() {
            return Ok(Ok(judged));
        }
        case.load_records().await;
        let mut calls = lookup::register_calls(&alert, &self.opened.tools);
        calls.extend(
            shown
                .iter()
                .flat_map(|subject| lookup::register_questions(&self.opened.tools, subject)),
        );
        case.call_all(calls).await;
        if let Some(lacks) = incomplete_register(&case.state) {
            return Ok(Err(lacks));
        }
        for moment in event_times(&logs, from, until) {
            if let Some(detail) = case.find_uncovered(&logs, (moment, moment)) {
                return Err(RecheckOutcome::NotCovered {
                    cause: RecheckCause::NewActivity,
                    detail,
                    at: Some(moment),
                });
            }
        }
        // Repeats of the shown rows are left out and may have any time.
        let repeats = logs.iter().find(|log| log.truncated);
        if let Some(log) = repeats
            && case
                .find_uncovered(&logs, (from + TimeDelta::microseconds(1), until))
                .is_some()
        {
            return Ok(Err(format!("{} was not read whole", log.tool)));
        }
        Ok(Ok(judged))
    }
}

/// Case without a stored journal, used only for look-ups.
struct EphemeralCase<'a> {
    recheck: &'a RecheckRun<'a>,
    state: CaseState,
}

impl<'a> EphemeralCase<'a> {
    fn open(recheck: &'a RecheckRun<'a>, alert: Arc<Alert>) -> Self {
        let opened = CaseSetup {
            alert,
            ..recheck.opened.clone()
        };
        let mut case = Self {
            recheck,
            state: CaseState::default(),
        };
        case.apply_body(EventBody::Opened(Box::new(opened)));
        case.apply_body(EventBody::Claimed { epoch: 1 });
        case
    }

    fn apply_body(&mut self, body: EventBody) {
        let event = Event::new(self.recheck.ports.clock.now(), body);
        apply(&mut self.state, &event);
    }

    fn alert(&self) -> &Alert {
        self.state
            .alert()
            .map_or(&*self.recheck.opened.alert, |alert| alert)
    }

    /// Looks up decisions of people, keeps results of rules, and asks the registers for the records of the prior
    /// judgement.
    async fn load_records(&mut self) {
        let call = ToolCall::new("past_cases", serde_json::Map::new());
        self.call(CommandId::past_cases(), &call).await;
        let prior = self.recheck.prior.records.iter();
        let rules = prior.clone().filter(|record| record.kind == RULE_KIND);
        let rules = CommandOutcome::Exonerated(rules.cloned().collect());
        self.finish(CommandId::exonerate(), rules);
        let of_registers =
            prior.filter(|record| !NON_REGISTER_KINDS.contains(&record.kind.as_str()));
        let calls = of_registers.flat_map(|record| {
            let one = Indicator::new(record.subject_type, &record.subject, IndicatorRole::Related);
            let subject = subject::Subject::from_indicator(self.alert(), 0, &one);
            lookup::register_questions(&self.recheck.opened.tools, &subject)
        });
        let calls = calls.collect();
        self.call_all(calls).await;
    }

    async fn call_all(&mut self, calls: Vec<ToolCall>) {
        for call in calls {
            if !self.state.evidence_by_call.contains_key(&call.identity()) {
                self.call(CommandId::lookup(&call), &call).await;
            }
        }
    }

    async fn call(&mut self, id: CommandId, call: &ToolCall) {
        self.apply_body(EventBody::Started {
            id: id.clone(),
            attempt: 1,
            reserved: Cost::default(),
        });
        let RecheckPorts {
            toolbox,
            clock,
            meter,
        } = self.recheck.ports;
        let opened = self.state.setup.clone();
        let outcome = call_tool(&**toolbox, &**clock, &**meter, opened.as_deref(), call).await;
        self.finish(id, outcome);
    }

    fn finish(&mut self, id: CommandId, outcome: CommandOutcome) {
        self.apply_body(EventBody::Finished {
            id,
            outcome: Box::new(outcome),
            cost: Cost::default(),
            degraded: None,
            model: None,
            unanswered: Vec::new(),
        });
    }

    fn answers(&self) -> impl Iterator<Item = &Arc<Evidence>> {
        let all = self.state.evidence.values();
        all.filter(|evidence| evidence.kind != "alert")
    }

    /// Returns what logs show in this span, both ends included, that no record in force at the time covers.
    fn find_uncovered(
        &self,
        logs: &[Arc<Evidence>],
        (from, until): (DateTime<Utc>, DateTime<Utc>),
    ) -> Option<String> {
        let mut state = self.state.clone();
        let opened = state.setup.as_deref()?;
        let opened = CaseSetup {
            alert: Arc::new(alert_at(&opened.alert, from, until)),
            ..opened.clone()
        };
        state.setup = Some(Arc::new(opened));
        for log in logs {
            let mut part = Evidence::clone(log);
            let mut body = part.body.value();
            if let Some(rows) = body.get_mut("rows").and_then(Value::as_array_mut) {
                rows.retain(|row| row_time(row).is_none_or(|at| from <= at && at <= until));
            }
            part.body = body.into();
            state.evidence.insert(part.id, Arc::new(part));
        }
        Ledger::from_state(&state)?.shown_uncovered()
    }
}

/// Returns the alert as if its events happened in this span.
fn alert_at(alert: &Alert, from: DateTime<Utc>, until: DateTime<Utc>) -> Alert {
    let mut alert = alert.clone();
    alert.times = EventTimes {
        first_seen: Some(from),
        last_seen: Some(until),
        ..alert.times
    };
    alert
}

/// Returns the time until which a log is delivered, or why its answer says nothing about the time after `from`.
fn delivered_until(
    state: &CaseState,
    answer: &Evidence,
    from: DateTime<Utc>,
) -> Result<DateTime<Utc>, String> {
    if let Some(error) = &answer.error {
        return Err(format!("gave no answer: {error}"));
    }
    if state.has_unknown_omissions(answer) {
        return Err("was not read whole".to_owned());
    }
    let searched = LogTimeRange::from_body(answer, &answer.body.value());
    let Some((first, last)) = searched.and_then(|searched| searched.record_range()) else {
        return Err("tells no time of its records".to_owned());
    };
    let told = |at: DateTime<Utc>| at.format("%Y-%m-%d %H:%M UTC");
    if first - from > MAX_QUIET {
        return Err(format!("has nothing before {}", told(first)));
    }
    if last <= from {
        return Err(format!("has nothing after {}", told(last)));
    }
    Ok(last)
}

/// Returns the times of these logs' rows after `from`. A row without a time counts as the end.
fn event_times(
    logs: &[Arc<Evidence>],
    from: DateTime<Utc>,
    until: DateTime<Utc>,
) -> BTreeSet<DateTime<Utc>> {
    let bodies = logs.iter().map(|log| log.body.value());
    let times = bodies.flat_map(|body| {
        let rows = body.get("rows").and_then(Value::as_array);
        let rows = rows.into_iter().flatten();
        let times = rows.map(|row| row_time(row).unwrap_or(until));
        times.collect::<Vec<_>>()
    });
    times.filter(|at| *at > from).collect()
}

fn row_time(row: &Value) -> Option<DateTime<Utc>> {
    let text = row.get("at")?.as_str()?;
    let at = DateTime::parse_from_rfc3339(text).ok()?;
    Some(at.to_utc())
}

/// Returns the first register or look-up of earlier cases without a whole answer.
fn incomplete_register(state: &CaseState) -> Option<String> {
    let of_records = |kind: &str| kind == "past_cases" || lookup::REGISTERS.contains(&kind);
    let mut all = state.evidence.values();
    all.find_map(|evidence| {
        if !of_records(&evidence.kind) || matches!(evidence.error, Some(ToolError::Unknown { .. }))
        {
            return None;
        }
        if let Some(error) = &evidence.error {
            return Some(format!("{} gave no answer: {error}", evidence.tool));
        }
        let body = evidence.body.value();
        let searched = |field: &str| body.pointer(&format!("/searched/{field}"))?.as_u64();
        if searched("records") == Some(0) {
            return Some(format!("{} is empty", evidence.tool));
        }
        let is_cut = evidence.truncated && evidence.kind != "past_cases";
        (is_cut || searched("left_out").is_some_and(|rows| rows > 0))
            .then(|| format!("{} was not read whole", evidence.tool))
    })
}

#[cfg(test)]
mod tests;

//! Re-evaluates a benign case by code alone, without an analyst or a model.
//!
//! It answers two questions. Do the records that cleared the case still cover its events, including later sightings?
//! Do the audit logs show new acts of its actors, since the last evaluation, that no record in force at the time
//! covers? A look-up that is not whole decides nothing: the case stays as it is and is re-evaluated later.

use std::collections::BTreeSet;
use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use nightshift_alert::{Alert, Indicator, Role, Times};
use serde_json::Value;

use crate::driver::make;
use crate::event::{CommandId, Event, EventBody, Opened, Outcome};
use crate::evidence::Evidence;
use crate::exoneration::Exoneration;
use crate::fold::apply;
use crate::ledger_row::LedgerRow;
use crate::limits::Cost;
use crate::port::{Clock, Meter, Toolbox};
use crate::searched::Searched;
use crate::state::State;
use crate::tool::{ToolCall, ToolError};
use crate::verdict_policy::{Ledger, ledger, log, lookup};

/// Maximum time of one search of a log. A search adds an hour at both ends, and takes seven days at most.
const PIECE: TimeDelta = TimeDelta::hours(7 * 24 - 2);
/// Maximum number of pieces judged in one evaluation. They span more than the 30 days for which a case is
/// re-evaluated.
const MOST_PIECES: usize = 5;
/// Maximum number of rounds of look-ups for the ledger. Answers may name further subjects.
const MOST_ROUNDS: usize = 32;
/// Time after the start of a piece within which a log must have its first record.
const QUIET: TimeDelta = TimeDelta::minutes(1);
/// Records that are in no register: results of configured rules, and decisions of people.
const NOT_OF_REGISTERS: [&str; 2] = [RULE, PERSON];
const RULE: &str = "benign_when";
const PERSON: &str = "person_verdict";

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
    fn covered(&self, row: &LedgerRow) -> Option<&LedgerRow> {
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
    NewActs,
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
    NotWhole {
        /// The look-up, in half a sentence.
        detail: String,
        /// Time until which the logs are now judged whole.
        whole_until: DateTime<Utc>,
    },
}

/// Re-evaluates a cleared case. `opened` is the setup that a new triage of it would have.
pub async fn recheck(
    ports: &RecheckPorts,
    opened: &Opened,
    prior: &PriorJudgement<'_>,
) -> RecheckOutcome {
    let recheck = Recheck {
        ports,
        opened,
        prior,
    };
    recheck.run().await.unwrap_or_else(|outcome| outcome)
}

struct Recheck<'a> {
    ports: &'a RecheckPorts,
    opened: &'a Opened,
    prior: &'a PriorJudgement<'a>,
}

/// Outcome that ends the evaluation, or the value that it continues with.
type Step<T> = Result<T, RecheckOutcome>;

impl Recheck<'_> {
    async fn run(&self) -> Step<RecheckOutcome> {
        let mut problem = self.judge_alert().await?;
        self.judge_sightings().await?;
        let now = self.ports.clock.now();
        let mut whole_until = self.prior.whole_until;
        for _ in 0..MOST_PIECES {
            if whole_until >= now {
                break;
            }
            let until = now.min(whole_until + PIECE);
            match self.judge_piece(whole_until, until).await? {
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
            Some(detail) => RecheckOutcome::NotWhole {
                detail,
                whole_until,
            },
        })
    }

    /// Judges the alert as its triage did. When records cover it, returns what keeps its look-ups from being whole.
    async fn judge_alert(&self) -> Step<Option<String>> {
        let mut case = Case::open(self, Arc::clone(&self.opened.alert));
        case.begin().await;
        for _ in 0..MOST_ROUNDS {
            let calls = lookup::demanded(&case.state);
            if calls.is_empty() {
                break;
            }
            case.make_all(calls).await;
        }
        let Some(ledger) = Ledger::of(&case.state) else {
            return Ok(None);
        };
        if ledger.is_covered() {
            return Ok(ledger.not_looked_up(&case.state));
        }
        Err(self.not_covered(&case.state, &ledger, None))
    }

    /// Judges whether the records cover the alert until the last event of later sightings.
    async fn judge_sightings(&self) -> Step<()> {
        let mut alert = Alert::clone(&self.opened.alert);
        let window = alert.times.window();
        let Some((first, last)) = window
            .zip(self.prior.events_until)
            .map(|((first, _), last)| (first, last))
        else {
            return Ok(());
        };
        if !alert.times.cover(first, last) {
            return Ok(());
        }
        let mut case = Case::open(self, Arc::new(alert));
        case.begin().await;
        case.make_all(lookup::register_calls(case.alert(), &self.opened.tools))
            .await;
        match Ledger::of(&case.state) {
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
        state: &State,
        ledger: &Ledger<'_>,
        at: Option<DateTime<Utc>>,
    ) -> RecheckOutcome {
        let whole_until = self.prior.whole_until;
        if let Some(detail) = unread(state) {
            return RecheckOutcome::NotWhole {
                detail,
                whole_until,
            };
        }
        let rows = ledger.rows();
        let mut missing = rows.iter().filter(|row| row.missing.is_some());
        if let Some(lost) = missing.find_map(|row| self.prior.covered(row)) {
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
                cause: RecheckCause::NewActs,
                detail,
                at,
            },
            None => RecheckOutcome::NotWhole {
                detail: "no ledger of the case tells what had cleared it".to_owned(),
                whole_until,
            },
        }
    }

    /// Judges what the logs show of the actors in a span of time. Returns the time until which this was whole, or
    /// what was not.
    async fn judge_piece(
        &self,
        from: DateTime<Utc>,
        until: DateTime<Utc>,
    ) -> Step<Result<DateTime<Utc>, String>> {
        let alert = Arc::new(at_times(&self.opened.alert, from, until));
        let mut case = Case::open(self, Arc::clone(&alert));
        let subjects = ledger::subjects(&alert);
        let searches = subjects.iter().flat_map(|subject| {
            let specs = log::recording(&self.opened.tools, &alert, subject);
            specs.flat_map(|spec| log::searches(spec, &alert, subject))
        });
        case.make_all(searches.collect()).await;
        let logs: Vec<Arc<Evidence>> = case.answers().cloned().collect();
        let mut judged = until;
        for log in &logs {
            match delivered(&case.state, log, from) {
                Ok(last) => judged = judged.min(last),
                Err(lacks) => return Ok(Err(format!("{} {lacks}", log.tool))),
            }
        }
        let shown = log::shown(&case.state, &alert, &subjects);
        if shown.is_empty() {
            return Ok(Ok(judged));
        }
        case.begin().await;
        let mut calls = lookup::register_calls(&alert, &self.opened.tools);
        calls.extend(
            shown
                .iter()
                .flat_map(|subject| lookup::questions(&self.opened.tools, subject)),
        );
        case.make_all(calls).await;
        if let Some(lacks) = unread(&case.state) {
            return Ok(Err(lacks));
        }
        for moment in moments(&logs, from, until) {
            if let Some(detail) = case.uncovered(&logs, (moment, moment)) {
                return Err(RecheckOutcome::NotCovered {
                    cause: RecheckCause::NewActs,
                    detail,
                    at: Some(moment),
                });
            }
        }
        // Repeats of the shown rows are left out and may have any time.
        let repeats = logs.iter().find(|log| log.truncated);
        if let Some(log) = repeats
            && case
                .uncovered(&logs, (from + TimeDelta::microseconds(1), until))
                .is_some()
        {
            return Ok(Err(format!("{} was not read whole", log.tool)));
        }
        Ok(Ok(judged))
    }
}

/// Case without a stored journal, used only for look-ups.
struct Case<'a> {
    recheck: &'a Recheck<'a>,
    state: State,
}

impl<'a> Case<'a> {
    fn open(recheck: &'a Recheck<'a>, alert: Arc<Alert>) -> Self {
        let opened = Opened {
            alert,
            ..recheck.opened.clone()
        };
        let mut case = Self {
            recheck,
            state: State::default(),
        };
        case.note(EventBody::Opened(Box::new(opened)));
        case.note(EventBody::Claimed { epoch: 1 });
        case
    }

    fn note(&mut self, body: EventBody) {
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
    async fn begin(&mut self) {
        let call = ToolCall::new("past_cases", serde_json::Map::new());
        self.make(CommandId::past_cases(), &call).await;
        let prior = self.recheck.prior.records.iter();
        let rules = prior.clone().filter(|record| record.kind == RULE);
        let rules = Outcome::Exonerated(rules.cloned().collect());
        self.finish(CommandId::exonerate(), rules);
        let of_registers = prior.filter(|record| !NOT_OF_REGISTERS.contains(&record.kind.as_str()));
        let calls = of_registers.flat_map(|record| {
            let one = Indicator::new(record.subject_type, &record.subject, Role::Related);
            let subject = ledger::Subject::from_indicator(self.alert(), 0, &one);
            lookup::questions(&self.recheck.opened.tools, &subject)
        });
        let calls = calls.collect();
        self.make_all(calls).await;
    }

    async fn make_all(&mut self, calls: Vec<ToolCall>) {
        for call in calls {
            if !self.state.answers.contains_key(&call.identity()) {
                self.make(CommandId::lookup(&call), &call).await;
            }
        }
    }

    async fn make(&mut self, id: CommandId, call: &ToolCall) {
        self.note(EventBody::Started {
            id: id.clone(),
            attempt: 1,
            reserved: Cost::default(),
        });
        let RecheckPorts {
            toolbox,
            clock,
            meter,
        } = self.recheck.ports;
        let opened = self.state.opened.clone();
        let outcome = make(&**toolbox, &**clock, &**meter, opened.as_deref(), call).await;
        self.finish(id, outcome);
    }

    fn finish(&mut self, id: CommandId, outcome: Outcome) {
        self.note(EventBody::Finished {
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
    fn uncovered(
        &self,
        logs: &[Arc<Evidence>],
        (from, until): (DateTime<Utc>, DateTime<Utc>),
    ) -> Option<String> {
        let mut state = self.state.clone();
        let opened = state.opened.as_deref()?;
        let opened = Opened {
            alert: Arc::new(at_times(&opened.alert, from, until)),
            ..opened.clone()
        };
        state.opened = Some(Arc::new(opened));
        for log in logs {
            let mut part = Evidence::clone(log);
            let mut body = part.body.value();
            if let Some(rows) = body.get_mut("rows").and_then(Value::as_array_mut) {
                rows.retain(|row| moment(row).is_none_or(|at| from <= at && at <= until));
            }
            part.body = body.into();
            state.evidence.insert(part.id, Arc::new(part));
        }
        Ledger::of(&state)?.shown_uncovered()
    }
}

/// Returns the alert as if its events happened in this span.
fn at_times(alert: &Alert, from: DateTime<Utc>, until: DateTime<Utc>) -> Alert {
    let mut alert = alert.clone();
    alert.times = Times {
        first_seen: Some(from),
        last_seen: Some(until),
        ..alert.times
    };
    alert
}

/// Returns the time until which a log is delivered, or why its answer says nothing about the time after `from`.
fn delivered(
    state: &State,
    answer: &Evidence,
    from: DateTime<Utc>,
) -> Result<DateTime<Utc>, String> {
    if let Some(error) = &answer.error {
        return Err(format!("gave no answer: {error}"));
    }
    if state.may_hide(answer) {
        return Err("was not read whole".to_owned());
    }
    let searched = Searched::in_body(answer, &answer.body.value());
    let Some((first, last)) = searched.and_then(|searched| searched.records()) else {
        return Err("tells no time of its records".to_owned());
    };
    let told = |at: DateTime<Utc>| at.format("%Y-%m-%d %H:%M UTC");
    if first - from > QUIET {
        return Err(format!("has nothing before {}", told(first)));
    }
    if last <= from {
        return Err(format!("has nothing after {}", told(last)));
    }
    Ok(last)
}

/// Returns the times of these logs' rows after `from`. A row without a time counts as the end.
fn moments(
    logs: &[Arc<Evidence>],
    from: DateTime<Utc>,
    until: DateTime<Utc>,
) -> BTreeSet<DateTime<Utc>> {
    let bodies = logs.iter().map(|log| log.body.value());
    let times = bodies.flat_map(|body| {
        let rows = body.get("rows").and_then(Value::as_array);
        let rows = rows.into_iter().flatten();
        let times = rows.map(|row| moment(row).unwrap_or(until));
        times.collect::<Vec<_>>()
    });
    times.filter(|at| *at > from).collect()
}

fn moment(row: &Value) -> Option<DateTime<Utc>> {
    let text = row.get("at")?.as_str()?;
    let at = DateTime::parse_from_rfc3339(text).ok()?;
    Some(at.to_utc())
}

/// Returns the first register or look-up of earlier cases without a whole answer.
fn unread(state: &State) -> Option<String> {
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

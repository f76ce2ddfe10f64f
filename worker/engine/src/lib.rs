//! Triage of one alert, sans-IO: `state = fold(events)`, `decide(&state) -> commands`.
//!
//! Each file holds one rule. Only `driver` waits for anything; the rest is pure, so that the same journal always
//! gives the same state. The engine knows no models, clouds or stores; it reaches them through `port`.

#![warn(missing_docs)]

mod again;
mod allowance;
mod arguments;
pub mod audit_event;
mod blank;
mod catalogue;
mod causes;
mod checkup;
mod cloud_name;
mod command;
mod conclude;
mod conclusion;
mod decide;
mod driver;
mod event;
mod evidence;
pub mod evidence_read;
mod exoneration;
mod finding;
mod fold;
mod journal;
mod ledger_row;
mod limits;
mod measure;
mod outward;
mod plan;
mod port;
mod question;
mod quote;
mod reach;
mod recheck;
mod register_row;
mod searched;
mod state;
mod strategy;
mod tool;
mod trail;
mod verdict_advice;
mod verdict_policy;
mod verify;
mod view;
mod watch_list;

#[cfg(test)]
mod fixture;

pub use again::Again;
pub use allowance::{Allowance, Leave};
pub use catalogue::{Action, ActionChoice, ActionTemplate, Known, PLACEHOLDERS, Standing, fill};
pub use causes::{and_causes, with_causes};
pub use checkup::{Checkup, Diagnosis, Gravity};
pub use command::{Command, Question};
pub use conclude::{OVERRIDES, Prose, conclusion, given_up};
pub use conclusion::{
    Conclusion, ConclusionDraft, Confidence, Coverage, Leaning, Override, Reason, Urgency, Verdict,
};
pub use decide::decide;
pub use driver::{DriveError, End, Ports, drive};
pub use event::{AnalystKind, CommandId, Event, EventBody, JOURNAL_VERSION, Opened, Outcome};
pub use evidence::{Evidence, EvidenceId, NoEvidenceId};
pub use exoneration::{
    Exoneration, Extent, Listed, MAX_SLACK_MINS, NotCleared, Scope, type_matches,
};
pub use finding::{Finding, FindingDraft, Quote, QuoteDraft, Stance};
pub use fold::{apply, fold};
pub use journal::{UnreadableEvent, read_event};
pub use ledger_row::{CoveredBy, LedgerRow};
pub use limits::{Cap, Cost, Limits};
pub use measure::{Measure, ModelTokens};
pub use nightshift_alert::JsonText;
pub use outward::acts_outward;
pub use plan::{
    Mode, Plan, PlanUpdate, Step, StepDraft, StepId, StepOutcome, StepStatus, UpdateRecord,
};
pub use port::{
    Analyst, Answer, Clock, Exonerator, Journal, JournalError, Meter, NoAnswer, NoMeter, PastCase,
    PastCases, PastQuery, PersonDecision, Ruled, Toolbox,
};
pub use question::{
    AskError, CallView, ConcludeQuestion, DecideQuestion, Decision, Judgement, Left, PlanAnswer,
    PlanQuestion, ReflectQuestion, Reflection, Setting, StepView, TurnAnswer, TurnQuestion,
};
pub use quote::resolve;
pub use reach::is_loopback;
pub use recheck::{PriorJudgement, RecheckCause, RecheckOutcome, RecheckPorts, recheck};
pub use searched::Searched;
pub use state::{CallRecord, CallState, InFlight, State, Stop, Turn, Work};
pub use strategy::{Conduct, History, ReflectionMode, Strategy};
pub use tool::{
    Argument, ArgumentKind, CallContext, Reach, ToolCall, ToolError, ToolOutput, ToolSpec, Trust,
    TrustedPath,
};
pub use verdict_policy::lookup::{MOST_LOOKUPS, register_calls};
pub use verdict_policy::{check, clears, ledger};
pub use verify::{Checked, Verified, Violation, verify};

//! Planned and done changes, from a register: what was meant to happen to a thing, when, and by whom.
//!
//! A change clears its subject only if it was approved, went ahead, covers the events, and nobody else than its actor acted.

use std::sync::Arc;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use nightshift_alert::{Alert, Indicator, IndicatorKind, Role};
use nightshift_engine::{CallContext, Exoneration, ToolError, ToolOutput, ToolSpec, Trust};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::approval::{self, Approval};
use crate::arguments::{self, Arguments, Subject};
use crate::content::Content;
use crate::moment::Range;
use crate::pattern::Pattern;
use crate::register::{Fields, Record, Register, RegisterReport, Table};
use crate::tool::{Tool, spec};

/// Whatever can be changed or can change something; strict kinds first.
const TYPES: [IndicatorKind; 15] = [
    IndicatorKind::Ip,
    IndicatorKind::Arn,
    IndicatorKind::AccessKey,
    IndicatorKind::Url,
    IndicatorKind::Email,
    IndicatorKind::Domain,
    IndicatorKind::Principal,
    IndicatorKind::Instance,
    IndicatorKind::Bucket,
    IndicatorKind::Cluster,
    IndicatorKind::Container,
    IndicatorKind::Image,
    IndicatorKind::Function,
    IndicatorKind::Database,
    IndicatorKind::Process,
];

/// States in which a change may have happened.
const WENT_AHEAD: [&str; 9] = [
    "approved",
    "scheduled",
    "in_progress",
    "implementing",
    "implemented",
    "completed",
    "complete",
    "done",
    "closed",
];

/// What actors are told by. A name and a mail address are of one kind, for both name somebody.
const ACTORS: [&[IndicatorKind]; 3] = [
    &[IndicatorKind::Principal, IndicatorKind::Email],
    &[IndicatorKind::AccessKey],
    &[IndicatorKind::Ip],
];

const KIND: &str = "change_lookup";

/// Configuration of `change_lookup`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ChangeLookup")]
pub struct Config {
    /// The tool's name.
    pub name: String,
    /// The register, as CSV or JSON.
    pub path: Content,
}

#[derive(Debug)]
struct Change {
    id: String,
    subject: String,
    pattern: Pattern,
    actor: Option<String>,
    status: String,
    summary: Option<String>,
    approval: Approval,
    more: Map<String, Value>,
}

/// A change as it is shown.
#[derive(Debug, Serialize)]
struct Row<'a> {
    id: &'a str,
    subject: &'a str,
    actor: Option<&'a str>,
    from: Option<DateTime<Utc>>,
    until: Option<DateTime<Utc>>,
    status: &'a str,
    approved_by: Option<&'a str>,
    summary: Option<&'a str>,
    expected_findings: &'a [String],
    covers_events: bool,
    actor_in_alert: Option<bool>,
    more: &'a Map<String, Value>,
}

impl Record for Change {
    const COLUMNS: &'static [&'static str] = &[
        "id",
        "subject",
        "actor",
        "from",
        "until",
        "status",
        "approved_by",
        "summary",
        "expected_findings",
    ];
    const REQUIRED: &'static [&'static str] = &["id", "subject", "from", "until"];

    fn read(fields: &Fields<'_>) -> Result<Self, String> {
        let subject = fields.needed("subject")?;
        Ok(Self {
            id: fields.needed("id")?,
            pattern: Pattern::parse(&subject).map_err(|error| format!("`subject` {error}"))?,
            subject,
            actor: fields.text("actor"),
            status: fields
                .text("status")
                .unwrap_or_default()
                .to_ascii_lowercase()
                .replace([' ', '-'], "_"),
            summary: fields.text("summary"),
            approval: Approval::read(fields, "from", "until")?,
            more: fields.more(),
        })
    }

    fn doubts(&self) -> Vec<String> {
        let mut doubts = self.approval.doubts("until");
        if !self.approval.expected_findings.is_empty() && self.status.is_empty() {
            doubts.push("expects findings, but clears none: `status` is empty".to_owned());
        }
        doubts
    }
}

impl Change {
    fn within(&self, range: Range) -> bool {
        self.approval
            .valid_from
            .is_none_or(|from| from <= range.until)
            && self
                .approval
                .valid_until
                .is_none_or(|until| range.from <= until)
    }

    /// Whether its actor, and no other of its kind, acts in the alert; nothing where it names none.
    fn actor_in(&self, alert: &Alert) -> Option<bool> {
        let actor = Pattern::parse(self.actor.as_deref()?).ok();
        Some(actor.is_some_and(|actor| ACTORS.iter().any(|kinds| acts_alone(&actor, kinds, alert))))
    }

    fn exoneration(&self, subject: &Subject, alert: &Alert) -> Option<Exoneration> {
        let went_ahead = WENT_AHEAD.contains(&self.status.as_str());
        if !went_ahead || self.actor_in(alert) == Some(false) {
            return None;
        }
        let summary = self.summary.as_deref().unwrap_or("no summary");
        self.approval.exoneration(
            subject,
            approval::Record {
                kind: "change",
                reference: &self.id,
                statement: format!("change {} on {}: {summary}", self.id, subject.value),
                detection_wrong: false,
            },
        )
    }

    fn row<'a>(&'a self, alert: &Alert) -> Row<'a> {
        Row {
            id: &self.id,
            subject: &self.subject,
            actor: self.actor.as_deref(),
            from: self.approval.valid_from,
            until: self.approval.valid_until,
            status: &self.status,
            approved_by: self.approval.approved_by.as_deref(),
            summary: self.summary.as_deref(),
            expected_findings: &self.approval.expected_findings,
            covers_events: self.approval.holds(alert.times.window()),
            actor_in_alert: self.actor_in(alert),
            more: &self.more,
        }
    }
}

fn acts_alone(actor: &Pattern, kinds: &[IndicatorKind], alert: &Alert) -> bool {
    let mut acting = alert
        .with_role(Role::Actor)
        .filter(|indicator| kinds.contains(&indicator.kind))
        .peekable();
    acting.peek().is_some() && acting.all(|one| actor.matches(&Subject::new(one.kind, &one.value)))
}

/// The tool.
pub(crate) struct ChangeLookup {
    spec: ToolSpec,
    register: Arc<Register<Change>>,
}

impl ChangeLookup {
    pub(crate) fn new(config: Config) -> Self {
        let description = "Changes planned or done on a resource, address or principal around the alert: who, when, what, \
            approved by whom, which findings were expected, and whether the window covers the alert's events. Use it for the \
            target, and for the actor. `found: 0` means that no change is recorded in the searched time.";
        Self {
            spec: spec(
                &config.name,
                KIND,
                description,
                vec![
                    arguments::indicator("indicator", "what may have been changed", &TYPES),
                    arguments::time("since", "start; a day before the first event if left out"),
                    arguments::time("until", "end; a day after the last event if left out"),
                ],
                &[
                    ("/found", Trust::Register),
                    ("/changes", Trust::Register),
                    ("/searched", Trust::Register),
                ],
            ),
            register: Arc::new(Register::new(config.path)),
        }
    }
}

#[async_trait]
impl Tool for ChangeLookup {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(
        &self,
        arguments: Arguments<'_>,
        context: &CallContext,
    ) -> Result<ToolOutput, ToolError> {
        let subject = arguments.indicator("indicator", &TYPES)?;
        let range = arguments.range(context.now)?;
        let alert = Arc::clone(&context.alert);
        self.register
            .search(move |name, table| search(&subject, range, name, table, &alert))
            .await
    }

    fn reports(&self) -> Vec<RegisterReport> {
        vec![self.register.report(&self.spec.name, KIND)]
    }
}

fn search(
    subject: &Subject,
    range: Range,
    name: &str,
    table: &Table<Change>,
    alert: &Alert,
) -> ToolOutput {
    let found: Vec<&Change> = table
        .records
        .iter()
        .filter(|change| change.pattern.matches(subject) && change.within(range))
        .collect();
    let changes: Vec<Row<'_>> = found.iter().map(|change| change.row(alert)).collect();
    let mut searched = table.searched(name);
    if let Some(searched) = searched.as_object_mut() {
        searched.insert("from".to_owned(), json!(range.from));
        searched.insert("until".to_owned(), json!(range.until));
    }
    let mut output = ToolOutput::of(json!({
        "indicator": subject.value,
        "type": subject.kind.as_str(),
        "found": found.len(),
        "changes": changes,
        "searched": searched,
    }));
    output.rows = Some(found.len() as u64);
    output.indicators = found
        .iter()
        .filter_map(|change| change.actor.as_deref())
        .filter(|actor| !actor.contains('*'))
        .filter_map(|actor| {
            Indicator::parse(IndicatorKind::Ip, actor, Role::Related)
                .or_else(|| Indicator::parse(IndicatorKind::Principal, actor, Role::Related))
        })
        .collect();
    output.exonerations = found
        .iter()
        .filter_map(|change| change.exoneration(subject, alert))
        .collect();
    output
}

#[cfg(test)]
mod tests;

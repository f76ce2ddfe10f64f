//! Implements the tool `change_lookup`: planned and finished changes of a register, each with its subject, time and
//! actor.
//!
//! A change covers its subject and, if the row names an actor, the acts of that actor on the subject. A change with an
//! actor clears no act of another or an unknown actor.

use std::sync::Arc;

use async_trait::async_trait;
use nightshift_alert::{Alert, Indicator, IndicatorKind, IndicatorRole};
use nightshift_engine::exoneration::{Exoneration, ListedValues};
use nightshift_engine::tool::{CallContext, ToolError, ToolOutput, ToolSpec, Trust};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::approval::{self, Approval, ApprovalSchema, MatchStrength, SlackMins};
use crate::approval_status::StatusVocabulary;
use crate::arguments::{self, Arguments, Subject};
use crate::content::ContentSource;
use crate::pattern::Pattern;
use crate::register::{
    Register, RegisterColumns, RegisterRecord, RegisterReport, RowFields, Table,
};
use crate::timestamp::TimeRange;
use crate::tool::{Tool, spec};

/// Kinds that can be changed or can make changes, the strictest first.
const SUPPORTED_KINDS: [IndicatorKind; 15] = [
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

/// Kinds that name an actor.
const PRINCIPALS: [IndicatorKind; 2] = [IndicatorKind::Principal, IndicatorKind::Email];

const KIND: &str = "change_lookup";

/// Configuration of `change_lookup`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ChangeLookup")]
pub struct ChangeLookupConfig {
    /// The tool's name.
    pub name: String,
    /// The register, as CSV or JSON.
    pub path: ContentSource,
    /// Minutes by which an event may lie outside the window of a row, at most 15.
    #[serde(default)]
    pub slack_mins: SlackMins,
}

const APPROVAL_SCHEMA: ApprovalSchema = ApprovalSchema {
    exoneration: "change",
    bare_name_kinds: &[
        IndicatorKind::Instance,
        IndicatorKind::Bucket,
        IndicatorKind::Cluster,
        IndicatorKind::Container,
        IndicatorKind::Function,
        IndicatorKind::Database,
        IndicatorKind::Image,
    ],
    dotted_name_kinds: &[IndicatorKind::Domain, IndicatorKind::Bucket],
    supported_kinds: &SUPPORTED_KINDS,
    column_names: &[("valid_from", "from"), ("valid_until", "until")],
    status_vocabulary: StatusVocabulary::Change,
};

#[derive(Debug, Serialize)]
struct Change {
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    r#type: Option<String>,
    actor: Option<String>,
    summary: Option<String>,
    more: Map<String, Value>,
    #[serde(skip)]
    approval: Approval,
    #[serde(skip)]
    actors: Vec<Pattern>,
}

impl RegisterRecord for Change {
    const COLUMNS: RegisterColumns = RegisterColumns {
        own: &["id", "type", "actor", "summary"],
        shared: approval::COLUMNS,
        aliases: &[("from", "valid_from"), ("until", "valid_until")],
    };
    const REQUIRED: &'static [&'static str] = &["id", "subject", "valid_from", "valid_until"];

    fn from_fields(fields: &RowFields<'_>) -> Result<Self, String> {
        Ok(Self {
            id: fields.required("id")?,
            r#type: fields.text("type"),
            actor: fields.text("actor"),
            actors: approval::parse_patterns(&fields.list("actor"), "actor")?,
            summary: fields.text("summary"),
            more: fields.extra_columns(),
            approval: Approval::from_fields(fields, &APPROVAL_SCHEMA)?,
        })
    }

    fn warnings(&self) -> Vec<String> {
        let mut doubts = self.approval.warnings("until");
        let is_nobody = |entry: &Pattern| actor_kinds(entry).is_empty();
        if self.approval.clears() && self.actors.iter().any(is_nobody) {
            let actor = self.actor.as_deref().unwrap_or_default();
            doubts.push(format!(
                "never matches: the actor {actor} is nobody who acts"
            ));
        }
        doubts
    }
}

/// A row that was found.
struct ChangeMatch<'a> {
    change: &'a Change,
    /// The subject entries that name the value; empty when the value is the actor.
    entries: Vec<&'a Pattern>,
    match_strength: MatchStrength,
}

impl Change {
    fn find(&self, subject: &Subject) -> Option<ChangeMatch<'_>> {
        let of_subject = self.approval.match_subject(subject);
        let of_actor = || {
            self.find_actor(subject)
                .map(|_| (Vec::new(), MatchStrength::Exact))
        };
        let (entries, fit) = of_subject.or_else(of_actor)?;
        Some(ChangeMatch {
            change: self,
            entries,
            match_strength: fit,
        })
    }

    /// Returns the entry among the actors that names the value.
    fn find_actor(&self, subject: &Subject) -> Option<&Pattern> {
        self.actors.iter().find(|entry| {
            actor_kinds(entry).contains(&subject.kind)
                && entry.matches(subject)
                && approval::fits_principal(None, entry, subject)
        })
    }

    fn overlaps(&self, range: TimeRange) -> bool {
        let approval = &self.approval;
        approval.valid_from.is_none_or(|from| from <= range.until)
            && approval.valid_until.is_none_or(|until| range.from <= until)
    }

    /// Returns the actors of the alert that the change names, each with the entry that matches.
    fn matching_actors(&self, alert: &Alert) -> Vec<(Subject, &Pattern)> {
        alert
            .with_role(IndicatorRole::Actor)
            .filter_map(|one| {
                let subject = Subject::from_alert(one.kind, &one.value, alert);
                let entry = self.find_actor(&subject)?;
                Some((subject, entry))
            })
            .collect()
    }

    fn exonerations(
        &self,
        subject: &Subject,
        found: &ChangeMatch<'_>,
        alert: &Alert,
    ) -> Vec<Exoneration> {
        let summary = self.summary.as_deref().unwrap_or("no summary");
        let on = self.approval.subject();
        let record = |statement| approval::ExonerationDetails {
            reference: &self.id,
            statement,
            detection_wrong: false,
        };
        let acting = self.matching_actors(alert);
        let mut exonerations = Vec::new();
        let is_about = self.actors.is_empty() || !acting.is_empty();
        if is_about && !self.is_done_by_another(subject, alert) {
            let record = record(format!(
                "change {} on {}: {summary}",
                self.id, subject.value
            ));
            exonerations.extend(self.approval.exonerations(subject, &found.entries, &record));
        }
        for (actor, entry) in &acting {
            let statement = format!("change {} on {on} by {}: {summary}", self.id, actor.value);
            let mut of_actor = self
                .approval
                .exonerations(actor, &[*entry], &record(statement));
            for one in &mut of_actor {
                one.extent.targets = self.targets();
            }
            exonerations.extend(of_actor);
        }
        exonerations
    }

    /// Returns whether the value acts in the alert and is the subject of a change by somebody else. Such a change does
    /// not cover the acts of the subject.
    fn is_done_by_another(&self, subject: &Subject, alert: &Alert) -> bool {
        let acts = |one: &Indicator| one.kind == subject.kind && one.value == subject.value;
        !self.actors.is_empty()
            && PRINCIPALS.contains(&subject.kind)
            && alert.with_role(IndicatorRole::Actor).any(acts)
            && self.find_actor(subject).is_none()
    }

    /// Returns what the actor may change: the subjects of the row and its `targets`.
    fn targets(&self) -> ListedValues {
        let mut targets = self.approval.subjects.clone();
        match &self.approval.extent.targets {
            ListedValues::Any => return ListedValues::Any,
            ListedValues::These(more) => targets.extend(more.iter().cloned()),
            ListedValues::None => {}
        }
        ListedValues::These(targets)
    }

    fn row(&self, alert: &Alert) -> Value {
        let mut row = self.approval.row();
        if let Value::Object(own) = json!(self) {
            row.extend(own);
        }
        let covers = self.approval.covers_window(alert.times.window());
        row.insert("covers_events".to_owned(), Value::Bool(covers));
        let in_alert = (!self.actors.is_empty()).then(|| !self.matching_actors(alert).is_empty());
        row.insert("actor_in_alert".to_owned(), in_alert.into());
        Value::Object(row)
    }
}

/// Returns the kinds of values that an actor entry can name.
fn actor_kinds(entry: &Pattern) -> &'static [IndicatorKind] {
    match entry.kind() {
        Some(IndicatorKind::AccessKey) => &[IndicatorKind::AccessKey],
        Some(IndicatorKind::Ip) => &[IndicatorKind::Ip],
        // Names of people may look like domains: `anna.it`.
        None | Some(IndicatorKind::Email | IndicatorKind::Principal | IndicatorKind::Domain) => {
            &PRINCIPALS
        }
        Some(_) => &[],
    }
}

pub(crate) struct ChangeLookup {
    spec: ToolSpec,
    register: Arc<Register<Change>>,
    slack: SlackMins,
}

impl ChangeLookup {
    pub(crate) fn new(config: ChangeLookupConfig) -> Self {
        let description = "Changes planned or done on a resource, address or principal around the alert: who, when, what, \
            approved by whom, which findings were expected, and whether the window covers the alert's events. Use it for the \
            target, and for the actor. `found: 0` means that no change is recorded in the searched time.";
        Self {
            spec: spec(
                &config.name,
                KIND,
                description,
                vec![
                    arguments::indicator_argument(
                        "indicator",
                        "what may have been changed",
                        &SUPPORTED_KINDS,
                    ),
                    arguments::time_argument(
                        "since",
                        "start; a day before the first event if left out",
                    ),
                    arguments::time_argument(
                        "until",
                        "end; a day after the last event if left out",
                    ),
                ],
                &[
                    ("/found", Trust::Register),
                    ("/changes", Trust::Register),
                    ("/searched", Trust::Register),
                ],
            ),
            register: Arc::new(Register::new(config.path)),
            slack: config.slack_mins,
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
        let subject = arguments.required_indicator("indicator", &SUPPORTED_KINDS)?;
        let range = arguments.range(context.now)?;
        let alert = Arc::clone(&context.alert);
        self.register
            .search(move |name, table| search(&subject, range, name, table, &alert))
            .await
            .map(|output| self.slack.apply(output))
    }

    fn reports(&self) -> Vec<RegisterReport> {
        vec![self.register.to_report(&self.spec.name, KIND)]
    }
}

fn search(
    subject: &Subject,
    range: TimeRange,
    name: &str,
    table: &Table<Change>,
    alert: &Alert,
) -> ToolOutput {
    let found: Vec<ChangeMatch<'_>> = table
        .records
        .iter()
        .filter(|change| change.overlaps(range))
        .filter_map(|change| change.find(subject))
        .collect();
    let changes: Vec<Value> = found.iter().map(|row| row.change.row(alert)).collect();
    let mut searched = table.search_summary(name);
    if let Some(searched) = searched.as_object_mut() {
        searched.insert("from".to_owned(), json!(range.from));
        searched.insert("until".to_owned(), json!(range.until));
    }
    let mut output = ToolOutput::from_body(json!({
        "indicator": subject.value,
        "type": subject.kind.as_str(),
        "found": found.len(),
        "changes": changes,
        "searched": searched,
    }));
    output.rows = Some(found.len() as u64);
    output.indicators = found
        .iter()
        .filter_map(|row| row.change.actor.as_deref())
        .filter(|actor| !actor.contains(['*', ';']))
        .filter_map(|actor| {
            Indicator::parse(IndicatorKind::Ip, actor, IndicatorRole::Related).or_else(|| {
                Indicator::parse(IndicatorKind::Principal, actor, IndicatorRole::Related)
            })
        })
        .collect();
    output.exonerations = found
        .iter()
        .filter(|row| row.match_strength == MatchStrength::Exact)
        .flat_map(|row| row.change.exonerations(subject, row, alert))
        .collect();
    output
}

#[cfg(test)]
mod tests;

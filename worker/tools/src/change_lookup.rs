//! Implements the tool `change_lookup`: planned and finished changes of a register, each with its subject, time and
//! actor.
//!
//! A change covers its subject and, if the row names an actor, the acts of that actor on the subject. A change with an
//! actor clears no act of another or an unknown actor.

use nightshift_alert::{Alert, Indicator, IndicatorKind, IndicatorRole};
use nightshift_engine::exoneration::{Exoneration, ListedValues};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::approval::{self, Approval, ApprovalSchema, SlackMins};
use crate::approval_status::StatusVocabulary;
use crate::arguments::Subject;
use crate::content::ContentSource;
use crate::pattern::Pattern;
use crate::register::{RegisterColumns, RegisterGroup, RegisterRecord, RowFields};
use crate::register_lookup::{LookupRecord, LookupSpec, MatchedBy, RegisterLookup, RowMatch};

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
pub(crate) struct Change {
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

impl LookupRecord for Change {
    const LOOKUP: LookupSpec = LookupSpec {
        kind: "change_lookup",
        description: "Changes planned or done on a resource, address or principal around the alert: who, when, what, \
            approved by whom, which findings were expected, and whether the window covers the alert's events. Use it for the \
            target, and for the actor. `found: 0` means that no change is recorded in the searched time.",
        argument: ("indicator", "what may have been changed"),
        supported_kinds: &SUPPORTED_KINDS,
        rows: "changes",
        has_time_range: true,
    };

    fn approval(&self) -> &Approval {
        &self.approval
    }

    /// Finds the change by its subject or by its actor, who has no entry among the subjects.
    fn find(&self, subject: &Subject) -> Option<RowMatch<'_>> {
        let of_actor = || {
            self.find_actor(subject)
                .map(|_| RowMatch::exact(Vec::new()))
        };
        self.approval.find(subject).or_else(of_actor)
    }

    fn computed_columns(
        &self,
        _matched_by: MatchedBy,
        alert: &Alert,
    ) -> Vec<(&'static str, Value)> {
        let covers = self.approval.covers_window(alert.times.window());
        let in_alert = (!self.actors.is_empty()).then(|| !self.matching_actors(alert).is_empty());
        vec![
            ("covers_events", Value::Bool(covers)),
            ("actor_in_alert", in_alert.into()),
        ]
    }

    fn indicators(&self) -> Vec<Indicator> {
        let actor = self.actor.as_deref();
        let actor = actor.filter(|actor| !actor.contains(['*', ';']));
        let parse = |kind, actor| Indicator::parse(kind, actor, IndicatorRole::Related);
        actor
            .and_then(|actor| {
                parse(IndicatorKind::Ip, actor).or_else(|| parse(IndicatorKind::Principal, actor))
            })
            .into_iter()
            .collect()
    }

    fn exonerations(
        &self,
        subject: &Subject,
        entries: &[&Pattern],
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
            exonerations.extend(self.approval.exonerations(subject, entries, &record));
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
}

impl Change {
    /// Returns the entry among the actors that names the value.
    fn find_actor(&self, subject: &Subject) -> Option<&Pattern> {
        self.actors.iter().find(|entry| {
            actor_kinds(entry).contains(&subject.kind)
                && entry.matches(subject)
                && approval::fits_principal(None, entry, subject)
        })
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

/// The tool `change_lookup`.
pub(crate) type ChangeLookup = RegisterLookup<Change>;

impl ChangeLookup {
    pub(crate) fn new(config: ChangeLookupConfig) -> Self {
        let slack = Some(config.slack_mins);
        Self::with_group(&config.name, config.path, slack, &RegisterGroup::default())
    }
}

#[cfg(test)]
mod tests;

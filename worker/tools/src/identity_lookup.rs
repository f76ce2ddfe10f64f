//! Implements the tool `identity_lookup`: people, services and roles of the organisation's register.
//!
//! An identity whose usual work triggers a detection can be cleared for it. If one of two rows about an identity says
//! that it has ended, neither row clears it, even across registers: their keeper must say which row is right.

use std::net::IpAddr;
use std::sync::Arc;

use async_trait::async_trait;
use nightshift_alert::{Alert, Indicator, IndicatorKind, IndicatorRole};
use nightshift_engine::exoneration::{Exoneration, ListedValues};
use nightshift_engine::tool::{CallContext, ToolError, ToolOutput, ToolSpec, Trust};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::approval::{self, Approval, ApprovalSchema, MatchStrength};
use crate::approval_status::StatusVocabulary;
use crate::arguments::{self, Arguments, Subject};
use crate::content::ContentSource;
use crate::pattern::Pattern;
use crate::register::{
    Problem, Register, RegisterColumns, RegisterGroup, RegisterRecord, RegisterReport, RowFields,
    Table,
};
use crate::tool::{Tool, spec};

const SUPPORTED_KINDS: [IndicatorKind; 3] = [
    IndicatorKind::AccessKey,
    IndicatorKind::Email,
    IndicatorKind::Principal,
];

const KIND: &str = "identity_lookup";

/// Configuration of `identity_lookup`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "IdentityLookup")]
pub struct IdentityLookupConfig {
    /// The tool's name.
    pub name: String,
    /// The register, as CSV or JSON.
    pub path: ContentSource,
}

const APPROVAL_SCHEMA: ApprovalSchema = ApprovalSchema {
    exoneration: "identity",
    bare_name_kinds: &[IndicatorKind::Principal, IndicatorKind::Email],
    dotted_name_kinds: &[IndicatorKind::Principal, IndicatorKind::Email],
    supported_kinds: &SUPPORTED_KINDS,
    column_names: &[
        ("subject", "principal"),
        ("keys", "access_keys"),
        ("networks", "usual_networks"),
    ],
    status_vocabulary: StatusVocabulary::Permanent,
};

#[derive(Debug, Serialize)]
pub(crate) struct Identity {
    id: Option<String>,
    aliases: Vec<String>,
    email: Option<String>,
    owner: Option<String>,
    department: Option<String>,
    mfa: Option<bool>,
    usual_countries: Vec<String>,
    more: Map<String, Value>,
    #[serde(skip)]
    approval: Approval,
}

/// A row that was found.
struct IdentityMatch<'a> {
    identity: &'a Identity,
    /// The entries that name the value, or the principal that owns the key.
    entries: Vec<&'a Pattern>,
    match_strength: MatchStrength,
}

impl RegisterRecord for Identity {
    const COLUMNS: RegisterColumns = RegisterColumns {
        own: &[
            "id",
            "aliases",
            "email",
            "owner",
            "department",
            "mfa",
            "usual_countries",
        ],
        shared: approval::COLUMNS,
        aliases: &[
            ("principal", "subject"),
            ("access_keys", "keys"),
            ("usual_networks", "networks"),
            ("type", "kind"),
        ],
    };
    const REQUIRED: &'static [&'static str] = &["subject"];

    fn from_fields(fields: &RowFields<'_>) -> Result<Self, String> {
        let mut approval = Approval::from_fields(fields, &APPROVAL_SCHEMA)?;
        let (aliases, email) = (fields.list("aliases"), fields.text("email"));
        let more = approval::parse_patterns(&aliases, "aliases")?;
        approval.patterns.extend(more);
        let more = approval::parse_patterns(email.as_slice(), "email")?;
        approval.patterns.extend(more);
        Ok(Self {
            id: fields.text("id"),
            aliases,
            email,
            owner: fields.text("owner"),
            department: fields.text("department"),
            mfa: fields.boolean("mfa")?,
            usual_countries: fields.list("usual_countries"),
            more: fields.extra_columns(),
            approval,
        })
    }

    fn warnings(&self) -> Vec<String> {
        self.approval.warnings("valid_until")
    }

    fn conflicts(rows: &[(u64, Self)]) -> Vec<Problem> {
        approval::find_contradictions(rows.iter().map(|(line, row)| (*line, &row.approval)))
    }
}

impl Identity {
    fn find(&self, subject: &Subject) -> Option<IdentityMatch<'_>> {
        let (entries, fit) = match (subject.kind, &self.approval.extent.keys) {
            (IndicatorKind::AccessKey, ListedValues::These(keys))
                if keys.contains(&subject.value) =>
            {
                (
                    self.approval.patterns.iter().collect(),
                    MatchStrength::Exact,
                )
            }
            _ => self.approval.match_subject(subject)?,
        };
        Some(IdentityMatch {
            identity: self,
            entries,
            match_strength: fit,
        })
    }

    /// Returns addresses that acted in the alert from outside the usual networks.
    fn unusual_addresses<'a>(&self, alert: &'a Alert) -> Vec<&'a str> {
        let networks = &self.approval.networks;
        if networks.is_empty() {
            return Vec::new();
        }
        alert
            .with_role(IndicatorRole::Actor)
            .filter(|indicator| indicator.kind == IndicatorKind::Ip)
            .map(|indicator| indicator.value.as_str())
            .filter(|value| {
                let ip = value.parse::<IpAddr>();
                !ip.is_ok_and(|ip| networks.iter().any(|net| net.contains(&ip)))
            })
            .collect()
    }

    fn row(&self, alert: &Alert) -> Value {
        let mut row = self.approval.row();
        if let Value::Object(own) = json!(self) {
            row.extend(own);
        }
        let unusual = json!(self.unusual_addresses(alert));
        row.insert("outside_usual_networks".to_owned(), unusual);
        Value::Object(row)
    }

    fn exonerations(&self, subject: &Subject, entries: &[&Pattern]) -> Vec<Exoneration> {
        let principal = self.approval.subject();
        let record = approval::ExonerationDetails {
            reference: self.id.as_deref().unwrap_or(&principal),
            statement: self.statement(&principal, &subject.value),
            detection_wrong: false,
        };
        self.approval.exonerations(subject, entries, &record)
    }

    /// Returns a sentence for the report, often its whole conclusion: `ci-drift is a machine identity (ci) of
    /// team-platform, expected to do this`.
    fn statement(&self, principal: &str, asked: &str) -> String {
        let named = match principal {
            principal if principal == asked => String::new(),
            principal => format!(" ({principal} in the register)"),
        };
        let kind = match self.approval.kind.as_deref() {
            Some(kind @ ("ci" | "service")) => format!("a machine identity ({kind})"),
            Some(kind) => format!("an identity ({kind})"),
            None => "an identity".to_owned(),
        };
        let owner = self.owner.as_deref().unwrap_or("nobody named");
        format!("{asked}{named} is {kind} of {owner}, expected to do this")
    }
}

pub(crate) struct IdentityLookup {
    spec: ToolSpec,
    register: Arc<Register<Identity>>,
    group: RegisterGroup<Identity>,
}

impl IdentityLookup {
    pub(crate) fn new(config: IdentityLookupConfig, family: &RegisterGroup<Identity>) -> Self {
        let description = "Who a principal, access key or email address is: person, service, CI or role; owner, department, \
            MFA, usual countries and networks, status, and which findings its work is expected to set off. \
            `outside_usual_networks` lists the alert's acting addresses that are not usual for it. `found: 0` means that the \
            register does not name it.";
        Self {
            spec: spec(
                &config.name,
                KIND,
                description,
                vec![arguments::indicator_argument(
                    "principal",
                    "the principal, access key id or email address",
                    &SUPPORTED_KINDS,
                )],
                &[
                    ("/found", Trust::Register),
                    ("/identities", Trust::Register),
                    ("/searched", Trust::Register),
                ],
            ),
            register: family.add(config.path),
            group: family.clone(),
        }
    }
}

#[async_trait]
impl Tool for IdentityLookup {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(
        &self,
        arguments: Arguments<'_>,
        context: &CallContext,
    ) -> Result<ToolOutput, ToolError> {
        let subject = arguments.required_indicator("principal", &SUPPORTED_KINDS)?;
        let alert = Arc::clone(&context.alert);
        self.group
            .search(&self.register, move |name, table, others| {
                search(&subject, name, table, others, &alert)
            })
            .await
    }

    fn reports(&self) -> Vec<RegisterReport> {
        vec![self.register.to_report(&self.spec.name, KIND)]
    }
}

fn search(
    subject: &Subject,
    name: &str,
    table: &Table<Identity>,
    others: &[Arc<Table<Identity>>],
    alert: &Alert,
) -> ToolOutput {
    let found: Vec<IdentityMatch<'_>> = table
        .records
        .iter()
        .filter_map(|identity| identity.find(subject))
        .collect();
    let elsewhere = others.iter().flat_map(|table| &table.records);
    let elsewhere: Vec<IdentityMatch<'_>> = elsewhere.filter_map(|row| row.find(subject)).collect();
    let is_no_more = |identity: &Identity| {
        let mut rows = found.iter().chain(&elsewhere);
        rows.any(|row| row.identity.approval.revokes(&identity.approval))
    };
    let rows = found.iter().map(|row| row.identity.row(alert));
    let mut output = ToolOutput::from_body(json!({
        "principal": subject.value,
        "type": subject.kind.as_str(),
        "found": found.len(),
        "identities": rows.collect::<Vec<Value>>(),
        "searched": table.search_summary(name),
    }));
    output.rows = Some(found.len() as u64);
    output.indicators = found
        .iter()
        .flat_map(|row| indicators(row.identity))
        .collect();
    output.exonerations = found
        .iter()
        .filter(|row| row.match_strength == MatchStrength::Exact && !is_no_more(row.identity))
        .flat_map(|row| row.identity.exonerations(subject, &row.entries))
        .collect();
    output
}

fn indicators(identity: &Identity) -> Vec<Indicator> {
    let keys = match &identity.approval.extent.keys {
        ListedValues::These(keys) => keys.as_slice(),
        ListedValues::Any | ListedValues::None => &[],
    };
    let keys = keys
        .iter()
        .filter_map(|key| Indicator::parse(IndicatorKind::AccessKey, key, IndicatorRole::Related));
    identity
        .approval
        .subjects
        .iter()
        .chain(&identity.aliases)
        .filter(|name| !name.contains('*'))
        .filter_map(|name| Indicator::parse(IndicatorKind::Principal, name, IndicatorRole::Related))
        .chain(keys)
        .collect()
}

#[cfg(test)]
mod tests;

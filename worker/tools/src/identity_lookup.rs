//! The tool `identity_lookup`: people, services and roles of the organisation's register.
//!
//! An identity whose usual work triggers a detection can be cleared for it. If one of two rows about an identity says
//! that it has ended, neither row clears it, even across registers: their keeper must say which row is right.

use std::net::IpAddr;
use std::sync::Arc;

use async_trait::async_trait;
use nightshift_alert::{Alert, Indicator, IndicatorKind, Role};
use nightshift_engine::exoneration::{Exoneration, Listed};
use nightshift_engine::tool::{CallContext, ToolError, ToolOutput, ToolSpec, Trust};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::approval::{self, Approval, Fit, Form};
use crate::arguments::{self, Arguments, Subject};
use crate::content::Content;
use crate::pattern::Pattern;
use crate::register::{Columns, Family, Fields, Problem, Record, Register, RegisterReport, Table};
use crate::status::Of;
use crate::tool::{Tool, spec};

const TYPES: [IndicatorKind; 3] = [
    IndicatorKind::AccessKey,
    IndicatorKind::Email,
    IndicatorKind::Principal,
];

const KIND: &str = "identity_lookup";

/// Configuration of `identity_lookup`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "IdentityLookup")]
pub struct Config {
    /// The tool's name.
    pub name: String,
    /// The register, as CSV or JSON.
    pub path: Content,
}

const FORM: Form = Form {
    exoneration: "identity",
    bare: &[IndicatorKind::Principal, IndicatorKind::Email],
    dotted: &[IndicatorKind::Principal, IndicatorKind::Email],
    asked: &TYPES,
    names: &[
        ("subject", "principal"),
        ("keys", "access_keys"),
        ("networks", "usual_networks"),
    ],
    status: Of::Standing,
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
struct Found<'a> {
    identity: &'a Identity,
    /// The entries that name the value, or the principal that owns the key.
    entries: Vec<&'a Pattern>,
    fit: Fit,
}

impl Record for Identity {
    const COLUMNS: Columns = Columns {
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

    fn read(fields: &Fields<'_>) -> Result<Self, String> {
        let mut approval = Approval::read(fields, &FORM)?;
        let (aliases, email) = (fields.list("aliases"), fields.text("email"));
        let more = approval::entries(&aliases, "aliases")?;
        approval.entries.extend(more);
        let more = approval::entries(email.as_slice(), "email")?;
        approval.entries.extend(more);
        Ok(Self {
            id: fields.text("id"),
            aliases,
            email,
            owner: fields.text("owner"),
            department: fields.text("department"),
            mfa: fields.flag("mfa")?,
            usual_countries: fields.list("usual_countries"),
            more: fields.more(),
            approval,
        })
    }

    fn doubts(&self) -> Vec<String> {
        self.approval.doubts("valid_until")
    }

    fn conflicts(rows: &[(u64, Self)]) -> Vec<Problem> {
        approval::contradictions(rows.iter().map(|(line, row)| (*line, &row.approval)))
    }
}

impl Identity {
    fn find(&self, subject: &Subject) -> Option<Found<'_>> {
        let (entries, fit) = match (subject.kind, &self.approval.extent.keys) {
            (IndicatorKind::AccessKey, Listed::These(keys)) if keys.contains(&subject.value) => {
                (self.approval.entries.iter().collect(), Fit::Whole)
            }
            _ => self.approval.find(subject)?,
        };
        Some(Found {
            identity: self,
            entries,
            fit,
        })
    }

    /// Returns addresses that acted in the alert from outside the usual networks.
    fn unusual<'a>(&self, alert: &'a Alert) -> Vec<&'a str> {
        let networks = &self.approval.networks;
        if networks.is_empty() {
            return Vec::new();
        }
        alert
            .with_role(Role::Actor)
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
        let unusual = json!(self.unusual(alert));
        row.insert("outside_usual_networks".to_owned(), unusual);
        Value::Object(row)
    }

    fn exonerations(&self, subject: &Subject, entries: &[&Pattern]) -> Vec<Exoneration> {
        let principal = self.approval.subject();
        let record = approval::Record {
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
    family: Family<Identity>,
}

impl IdentityLookup {
    pub(crate) fn new(config: Config, family: &Family<Identity>) -> Self {
        let description = "Who a principal, access key or email address is: person, service, CI or role; owner, department, \
            MFA, usual countries and networks, status, and which findings its work is expected to set off. \
            `outside_usual_networks` lists the alert's acting addresses that are not usual for it. `found: 0` means that the \
            register does not name it.";
        Self {
            spec: spec(
                &config.name,
                KIND,
                description,
                vec![arguments::indicator(
                    "principal",
                    "the principal, access key id or email address",
                    &TYPES,
                )],
                &[
                    ("/found", Trust::Register),
                    ("/identities", Trust::Register),
                    ("/searched", Trust::Register),
                ],
            ),
            register: family.add(config.path),
            family: family.clone(),
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
        let subject = arguments.indicator("principal", &TYPES)?;
        let alert = Arc::clone(&context.alert);
        self.family
            .search(&self.register, move |name, table, others| {
                search(&subject, name, table, others, &alert)
            })
            .await
    }

    fn reports(&self) -> Vec<RegisterReport> {
        vec![self.register.report(&self.spec.name, KIND)]
    }
}

fn search(
    subject: &Subject,
    name: &str,
    table: &Table<Identity>,
    others: &[Arc<Table<Identity>>],
    alert: &Alert,
) -> ToolOutput {
    let found: Vec<Found<'_>> = table
        .records
        .iter()
        .filter_map(|identity| identity.find(subject))
        .collect();
    let elsewhere = others.iter().flat_map(|table| &table.records);
    let elsewhere: Vec<Found<'_>> = elsewhere.filter_map(|row| row.find(subject)).collect();
    let is_no_more = |identity: &Identity| {
        let mut rows = found.iter().chain(&elsewhere);
        rows.any(|row| row.identity.approval.ends(&identity.approval))
    };
    let rows = found.iter().map(|row| row.identity.row(alert));
    let mut output = ToolOutput::of(json!({
        "principal": subject.value,
        "type": subject.kind.as_str(),
        "found": found.len(),
        "identities": rows.collect::<Vec<Value>>(),
        "searched": table.searched(name),
    }));
    output.rows = Some(found.len() as u64);
    output.indicators = found
        .iter()
        .flat_map(|row| indicators(row.identity))
        .collect();
    output.exonerations = found
        .iter()
        .filter(|row| row.fit == Fit::Whole && !is_no_more(row.identity))
        .flat_map(|row| row.identity.exonerations(subject, &row.entries))
        .collect();
    output
}

fn indicators(identity: &Identity) -> Vec<Indicator> {
    let keys = match &identity.approval.extent.keys {
        Listed::These(keys) => keys.as_slice(),
        Listed::Any | Listed::None => &[],
    };
    let keys = keys
        .iter()
        .filter_map(|key| Indicator::parse(IndicatorKind::AccessKey, key, Role::Related));
    identity
        .approval
        .subjects
        .iter()
        .chain(&identity.aliases)
        .filter(|name| !name.contains('*'))
        .filter_map(|name| Indicator::parse(IndicatorKind::Principal, name, Role::Related))
        .chain(keys)
        .collect()
}

#[cfg(test)]
mod tests;

//! The organisation's people, services and roles, from a register.
//!
//! An identity whose work sets off a detection may clear it, but only from its usual networks, where these are told: a
//! stolen key is used from elsewhere, and its owner's approval does not cover the thief.

use std::net::IpAddr;
use std::sync::Arc;

use async_trait::async_trait;
use ipnet::IpNet;
use nightshift_alert::{Alert, Indicator, IndicatorKind, Role};
use nightshift_engine::{CallContext, Exoneration, ToolError, ToolOutput, ToolSpec, Trust};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::approval::{self, Approval};
use crate::arguments::{self, Arguments, Subject};
use crate::content::Content;
use crate::pattern::{Pattern, network};
use crate::register::{Fields, Record, Register, RegisterReport, Table};
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

#[derive(Debug, Serialize)]
struct Identity {
    id: Option<String>,
    principal: String,
    account: Option<String>,
    aliases: Vec<String>,
    email: Option<String>,
    kind: Option<String>,
    owner: Option<String>,
    department: Option<String>,
    mfa: Option<bool>,
    usual_countries: Vec<String>,
    usual_networks: Vec<String>,
    access_keys: Vec<String>,
    status: Option<String>,
    #[serde(flatten)]
    approval: Approval,
    more: Map<String, Value>,
    #[serde(skip)]
    patterns: Vec<Pattern>,
    #[serde(skip)]
    nets: Vec<IpNet>,
}

impl Record for Identity {
    const COLUMNS: &'static [&'static str] = &[
        "id",
        "principal",
        "account",
        "aliases",
        "email",
        "kind",
        "owner",
        "department",
        "mfa",
        "usual_countries",
        "usual_networks",
        "access_keys",
        "status",
        "expected_findings",
        "approved_by",
        "valid_from",
        "valid_until",
    ];
    const REQUIRED: &'static [&'static str] = &["principal"];

    fn read(fields: &Fields<'_>) -> Result<Self, String> {
        let principal = fields.needed("principal")?;
        let (aliases, email) = (fields.list("aliases"), fields.text("email"));
        let patterns = std::iter::once(&principal)
            .chain(&aliases)
            .chain(&email)
            .map(|text| Pattern::parse(text))
            .collect::<Result<_, _>>()?;
        let usual_networks = fields.list("usual_networks");
        let nets = usual_networks
            .iter()
            .map(|text| {
                network(text).ok_or_else(|| format!("`usual_networks` has {text:?}, no network"))
            })
            .collect::<Result<_, _>>()?;
        Ok(Self {
            id: fields.text("id"),
            principal,
            account: fields.text("account"),
            aliases,
            email,
            kind: fields.text("kind"),
            owner: fields.text("owner"),
            department: fields.text("department"),
            mfa: fields.flag("mfa")?,
            usual_countries: fields.list("usual_countries"),
            usual_networks,
            access_keys: fields.list("access_keys"),
            status: fields.text("status").map(|text| text.to_ascii_lowercase()),
            approval: Approval::read(fields, "valid_from", "valid_until")?,
            more: fields.more(),
            patterns,
            nets,
        })
    }

    fn doubts(&self) -> Vec<String> {
        let mut doubts = self.approval.doubts("valid_until");
        // A bare name can be given to somebody in any account; an ARN or an address cannot.
        let is_bare = !self.principal.contains([':', '@', '/']);
        if is_bare && self.account.is_none() && self.nets.is_empty() && self.approval.clears() {
            doubts.push(
                "clears whoever has this name in any account: tell its `account` or its `usual_networks`"
                    .to_owned(),
            );
        }
        doubts
    }
}

impl Identity {
    fn matches(&self, subject: &Subject) -> bool {
        match subject.kind {
            IndicatorKind::AccessKey => self.access_keys.contains(&subject.value),
            _ => self.patterns.iter().any(|pattern| pattern.matches(subject)),
        }
    }

    /// Addresses that acted in the alert from outside the usual networks.
    fn unusual<'a>(&self, alert: &'a Alert) -> Vec<&'a str> {
        if self.nets.is_empty() {
            return Vec::new();
        }
        alert
            .with_role(Role::Actor)
            .filter(|indicator| indicator.kind == IndicatorKind::Ip)
            .map(|indicator| indicator.value.as_str())
            .filter(|value| {
                let ip = value.parse::<IpAddr>();
                !ip.is_ok_and(|ip| self.nets.iter().any(|net| net.contains(&ip)))
            })
            .collect()
    }

    fn exoneration(&self, subject: &Subject, alert: &Alert) -> Option<Exoneration> {
        let active = self
            .status
            .as_deref()
            .is_none_or(|status| status == "active");
        // Names recur in other accounts.
        let other_account = match (&self.account, &alert.account) {
            (Some(ours), Some(theirs)) => ours != theirs,
            (Some(_), None) => true,
            (None, _) => false,
        };
        if !active || other_account || !self.unusual(alert).is_empty() {
            return None;
        }
        self.approval.exoneration(
            subject,
            approval::Record {
                kind: "identity",
                reference: self.id.as_deref().unwrap_or(&self.principal),
                statement: self.statement(&subject.value),
                detection_wrong: false,
            },
        )
    }

    /// `ci-drift is a machine identity (ci) of team-platform, expected to do this`: often the whole conclusion of a report.
    fn statement(&self, asked: &str) -> String {
        let named = match &self.principal {
            principal if principal == asked => String::new(),
            principal => format!(" ({principal} in the register)"),
        };
        let kind = match self.kind.as_deref() {
            Some(kind @ ("ci" | "service")) => format!("a machine identity ({kind})"),
            Some(kind) => format!("an identity ({kind})"),
            None => "an identity".to_owned(),
        };
        let owner = self.owner.as_deref().unwrap_or("nobody named");
        format!("{asked}{named} is {kind} of {owner}, expected to do this")
    }
}

/// The tool.
pub(crate) struct IdentityLookup {
    spec: ToolSpec,
    register: Arc<Register<Identity>>,
}

impl IdentityLookup {
    pub(crate) fn new(config: Config) -> Self {
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
            register: Arc::new(Register::new(config.path)),
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
        self.register
            .search(move |name, table| search(&subject, name, table, &alert))
            .await
    }

    fn reports(&self) -> Vec<RegisterReport> {
        vec![self.register.report(&self.spec.name, KIND)]
    }
}

fn search(subject: &Subject, name: &str, table: &Table<Identity>, alert: &Alert) -> ToolOutput {
    let found: Vec<&Identity> = table
        .records
        .iter()
        .filter(|identity| identity.matches(subject))
        .collect();
    let identities: Vec<Value> = found
        .iter()
        .map(|identity| {
            let mut row = json!(identity);
            if let Some(row) = row.as_object_mut() {
                row.insert(
                    "outside_usual_networks".to_owned(),
                    json!(identity.unusual(alert)),
                );
            }
            row
        })
        .collect();
    let mut output = ToolOutput::of(json!({
        "principal": subject.value,
        "type": subject.kind.as_str(),
        "found": found.len(),
        "identities": identities,
        "searched": table.searched(name),
    }));
    output.rows = Some(found.len() as u64);
    output.indicators = found
        .iter()
        .flat_map(|identity| indicators(identity))
        .collect();
    output.exonerations = found
        .iter()
        .filter_map(|identity| identity.exoneration(subject, alert))
        .collect();
    output
}

fn indicators(identity: &Identity) -> Vec<Indicator> {
    let keys = identity
        .access_keys
        .iter()
        .filter_map(|key| Indicator::parse(IndicatorKind::AccessKey, key, Role::Related));
    std::iter::once(&identity.principal)
        .chain(&identity.aliases)
        .filter(|name| !name.contains('*'))
        .filter_map(|name| Indicator::parse(IndicatorKind::Principal, name, Role::Related))
        .chain(keys)
        .collect()
}

#[cfg(test)]
mod tests;

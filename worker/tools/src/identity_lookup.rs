//! Implements the tool `identity_lookup`: people, services and roles of the organisation's register.
//!
//! An identity whose usual work triggers a detection can be cleared for it. If one of two rows about an identity says
//! that it has ended, neither row clears it, even across registers: their keeper must say which row is right.

use std::net::IpAddr;

use nightshift_alert::{Alert, Indicator, IndicatorKind, IndicatorRole};
use nightshift_engine::exoneration::{Exoneration, ListedValues};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::approval::{self, Approval, ApprovalSchema};
use crate::approval_status::StatusVocabulary;
use crate::arguments::Subject;
use crate::content::ContentSource;
use crate::pattern::Pattern;
use crate::register::{Problem, RegisterColumns, RegisterGroup, RegisterRecord, RowFields};
use crate::register_lookup::{LookupRecord, LookupSpec, MatchedBy, RegisterLookup, RowMatch};

const SUPPORTED_KINDS: [IndicatorKind; 3] = [
    IndicatorKind::AccessKey,
    IndicatorKind::Email,
    IndicatorKind::Principal,
];

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

impl LookupRecord for Identity {
    const LOOKUP: LookupSpec = LookupSpec {
        kind: "identity_lookup",
        description: "Who a principal, access key or email address is: person, service, CI or role; owner, department, \
            MFA, usual countries and networks, status, and which findings its work is expected to set off. \
            `outside_usual_networks` lists the alert's acting addresses that are not usual for it. `found: 0` means that the \
            register does not name it.",
        argument: ("principal", "the principal, access key id or email address"),
        supported_kinds: &SUPPORTED_KINDS,
        rows: "identities",
        has_time_range: false,
    };

    fn approval(&self) -> &Approval {
        &self.approval
    }

    fn find(&self, subject: &Subject) -> Option<RowMatch<'_>> {
        match (subject.kind, &self.approval.extent.keys) {
            // The entries name the principal that owns the key.
            (IndicatorKind::AccessKey, ListedValues::These(keys))
                if keys.contains(&subject.value) =>
            {
                Some(RowMatch::exact(self.approval.patterns.iter().collect()))
            }
            _ => self.approval.find(subject),
        }
    }

    fn computed_columns(
        &self,
        _matched_by: MatchedBy,
        alert: &Alert,
    ) -> Vec<(&'static str, Value)> {
        vec![(
            "outside_usual_networks",
            json!(self.unusual_addresses(alert)),
        )]
    }

    fn indicators(&self) -> Vec<Indicator> {
        let keys = match &self.approval.extent.keys {
            ListedValues::These(keys) => keys.as_slice(),
            ListedValues::Any | ListedValues::None => &[],
        };
        let keys = keys.iter().filter_map(|key| {
            Indicator::parse(IndicatorKind::AccessKey, key, IndicatorRole::Related)
        });
        let names = self.approval.subjects.iter().chain(&self.aliases);
        names
            .filter(|name| !name.contains('*'))
            .filter_map(|name| {
                Indicator::parse(IndicatorKind::Principal, name, IndicatorRole::Related)
            })
            .chain(keys)
            .collect()
    }

    fn exonerations(
        &self,
        subject: &Subject,
        entries: &[&Pattern],
        _alert: &Alert,
    ) -> Vec<Exoneration> {
        let principal = self.approval.subject();
        let record = approval::ExonerationDetails {
            reference: self.id.as_deref().unwrap_or(&principal),
            statement: self.statement(&principal, &subject.value),
            detection_wrong: false,
        };
        self.approval.exonerations(subject, entries, &record)
    }

    fn withdraws_others(_matched_by: MatchedBy) -> bool {
        true
    }
}

impl Identity {
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

/// The tool `identity_lookup`.
pub(crate) type IdentityLookup = RegisterLookup<Identity>;

impl IdentityLookup {
    pub(crate) fn new(config: IdentityLookupConfig, group: &RegisterGroup<Identity>) -> Self {
        Self::with_group(&config.name, config.path, None, group)
    }
}

#[cfg(test)]
mod tests;
